/* Finds the route of a request, which says what the request asks for, from its method and target. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/route.h"
#include "auth/tokens.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "intake/upload/sentry.h"
#include "intake/upload/sym-upload.h"
#include "names/layout/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct fixed {
	const char *path;
	enum route_what what;
	const char *allow, *api;
} fixed[] = {
	{"", ROUTE_STATUS, "GET, HEAD, POST", NULL},
	{"status", ROUTE_STATUS, "GET, HEAD", NULL},
	{"uploads", ROUTE_STATUS, "GET, HEAD", NULL},
	{"page.css", ROUTE_PAGE_FILE, "GET, HEAD", NULL},
	{"page.js", ROUTE_PAGE_FILE, "GET, HEAD", NULL},
	{"page.svg", ROUTE_PAGE_FILE, "GET, HEAD", NULL},
	{"healthz", ROUTE_HEALTH, "GET, HEAD", NULL},
	{"ready", ROUTE_READY, "GET, HEAD", NULL},
	{"events", ROUTE_EVENTS, "GET, HEAD", NULL},
	{"metadata", ROUTE_METADATA, "GET, HEAD", NULL},
	{"metrics", ROUTE_METRICS, "GET, HEAD", NULL},
	{"missing.csv", ROUTE_MISSING, "GET, HEAD", NULL},
	{"missingsymbols.csv", ROUTE_MISSES, "GET, HEAD", NULL},
	{"symbolicate/minidump", ROUTE_MINIDUMP, "POST", NULL},
	{"symbolicate/text", ROUTE_SYMBOLICATE, "POST", "text"},
	{"symbolicate/v4", ROUTE_SYMBOLICATE, "POST", "v4"},
	{"symbolicate/v5", ROUTE_SYMBOLICATE, "POST", "v5"},
};

/* ---- text --------------------------------------------------------------------------- */

int route_decode(const char *text, size_t n, enum route_text what, char *out, size_t room)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		int high = text[i] == '%' && i + 2 < n ? hex_value(text[i + 1]) : -1;
		int low = high >= 0 ? hex_value(text[i + 2]) : -1, c = (unsigned char)text[i];

		if (low >= 0) {
			c = high << 4 | low;
			i += 2;
		} else if (c == '%' && what != ROUTE_IN_FORM) {
			return -EINVAL;
		} else if (c == '+' && what != ROUTE_IN_PATH) {
			c = ' ';
		}
		if ((c < 0x20 || c == 0x7f) && what != ROUTE_IN_FORM)
			return -EINVAL;
		if (o + 1 >= room)
			return -ENAMETOOLONG;
		out[o++] = c ? (char)c : ' ';
	}
	out[o] = '\0';
	return 0;
}

bool route_query(const char *query, const char *name, char *out, size_t room)
{
	size_t want = strlen(name);

	while (*query) {
		size_t n = strcspn(query, "&");
		const char *equals = memchr(query, '=', n);

		if (equals && (size_t)(equals - query) == want && strncmp(query, name, want) == 0)
			return route_decode(equals + 1, n - want - 1, ROUTE_IN_QUERY, out, room) == 0;
		query += n + (query[n] == '&');
	}
	return false;
}

bool route_has_flag(const char *query, const char *name)
{
	size_t want = strlen(name);

	while (*query) {
		size_t n = strcspn(query, "&");

		if (strncmp(query, name, want) == 0 && (n == want || (n > want && query[want] == '=')))
			return n != want + 2 || query[want + 1] != '0';
		query += n + (query[n] == '&');
	}
	return false;
}

/* ---- Mozilla's symbol server --------------------------------------------------------- */

struct parts {
	const char *name, *id, *file;
	size_t name_n, id_n;
};

/* Splits a path of exactly three parts: NAME/ID/FILE. */
static bool split(const char *path, struct parts *out)
{
	const char *one = strchr(path, '/'), *two = one ? strchr(one + 1, '/') : NULL;

	if (!two || strchr(two + 1, '/') || one == path || two == one + 1 || !two[1])
		return false;
	*out = (struct parts){.name = path, .name_n = (size_t)(one - path), .id = one + 1,
		.id_n = (size_t)(two - one) - 1, .file = two + 1};
	return true;
}

/* A debug id of Breakpad has at least 33 digits; a shorter id may be the code id of a program. */
static void judge_symbol(const struct parts *p, struct route *out)
{
	static const char zeros[] = "000000000000000000000000000000000";

	out->tecken = true;
	out->ignored = strcasecmp(p->file, "file.ptr") == 0 ||
		       (p->id_n == strlen(zeros) && strncmp(p->id, zeros, p->id_n) == 0);
	out->code_id = name_ends(p->file, ".sym") && p->id_n < 33 && p->id_n && hex_only(p->id, p->id_n) &&
		       p->name_n < MODULE_NAME_MAX;
}

/* Reads NAME/ID/FILE, also after "try/", which stands for builds that were not released. */
static void find_symbol(struct route *out)
{
	char *path = out->path;
	struct parts p;

	if (strncmp(path, "try/", 4) == 0 && split(path + 4, &p))
		memmove(path, path + 4, strlen(path + 4) + 1);
	if (strncasecmp(path, "breakpad/", 9) == 0)
		path += 9;
	if (split(path, &p))
		judge_symbol(&p, out);
}

/* ---- paths -------------------------------------------------------------------------- */

/* Compilers name "/usr/src/a/../b.c" and "/usr/src//b.c". Resolves such parts of a source's path, as the kernel does
 * in a mount, unless the path leads up and out. */
static void clean_source(char *path)
{
	bool by_source = strncasecmp(path, "source/", 7) == 0;
	char *rest = by_source ? strchr(path + 7, '/') : strcasestr(path, "/source/");
	_cleanup_free_ char *marked = NULL, *clean = NULL;

	if (!rest || (!by_source && strncasecmp(path, "buildid/", 8) != 0 &&
			strncasecmp(path, "debuginfod/", 11) != 0))
		return;
	rest += by_source ? 0 : 7;
	/* No path has the control character: route_decode() refuses it. */
	clean = asprintf(&marked, "/\1%s", rest) < 0 ? NULL : path_absolute(marked);
	if (clean && strncmp(clean, "/\1/", 3) == 0 && strlen(clean + 2) < strlen(rest))
		memcpy(rest, clean + 2, strlen(clean + 2) + 1);
}

static enum route_what what_of(const struct tree_hit *hit)
{
	switch (hit->what) {
	case TREE_LEAF:
		return hit->gsym ? ROUTE_MADE : ROUTE_FILE;
	case TREE_EITHER: /* clients do not ask for directories */
		return hit->n ? ROUTE_FILE : ROUTE_NONE;
	case TREE_TOLD: /* over HTTP a link is the file that it leads to */
		return hit->told == TOLD_LINK ? ROUTE_FILE : ROUTE_GENERATED;
	case TREE_TEXT:
		return ROUTE_TEXT;
	default:
		return ROUTE_NONE;
	}
}

/* Endings of files that Mozilla's server looks up. Other paths that fit no layout are "ignored". */
static bool has_symbols_ending(const char *path)
{
	static const char *const endings[] = {".sym", ".dl_", ".ex_", ".pd_", ".dbg.gz", ".tar.bz2"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (name_ends(path, endings[i]))
			return true;
	return false;
}

static void find_file(struct route *out)
{
	out->debuginfod = strncasecmp(out->path, "buildid/", 8) == 0 ||
			  strncasecmp(out->path, "debuginfod/", 11) == 0;
	if (!out->debuginfod)
		find_symbol(out);
	tree_parse(out->path, &out->hit);
	if (out->hit.layout && !(out->hit.layout->flags & LAYOUT_TECKEN))
		out->tecken = out->ignored = out->code_id = false;
	out->allow = "GET, HEAD";
	out->what = what_of(&out->hit);
	out->code_id = out->code_id && (out->what == ROUTE_NONE || out->what == ROUTE_FILE);
	if (out->what == ROUTE_NONE) {
		out->hit.n = 0;
		out->ignored |= out->tecken && !has_symbols_ending(out->path);
	}
	if (out->code_id)
		out->what = ROUTE_FILE;
}

/* Reads "dsym/UUID.zip": the archive of the bundle of this UUID, whatever its name. */
static bool find_dsym_zip(struct route *out)
{
	_cleanup_buf_ struct buf file = BUF_UP_TO(ROUTE_PATH_MAX);
	const char *uuid;
	int n;

	if (strncasecmp(out->path, "dsym/", 5) != 0)
		return false;
	uuid = out->path + 5;
	n = (int)strcspn(uuid, "./");
	if (strcasecmp(uuid + n, ".zip") != 0 ||
		buf_addf(&file, "dsym/%.*s/%.*s.dSYM/Contents/Resources/DWARF/%.*s", n, uuid, n, uuid, n, uuid) < 0)
		return false;
	tree_parse(buf_text(&file), &out->hit);
	if (out->hit.what != TREE_LEAF)
		return false;
	out->what = ROUTE_DSYM_ZIP;
	out->allow = "GET, HEAD";
	return true;
}

static bool find_fixed(struct route *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (strcmp(fixed[i].path, out->path) != 0)
			continue;
		out->what = fixed[i].what;
		out->allow = fixed[i].allow;
		out->api = fixed[i].api;
		return true;
	}
	return false;
}

/* Reads "events/PATH" if PATH means a file. Otherwise the path can be that of a module called "events". */
static bool find_events(struct route *out)
{
	if (strncmp(out->path, "events/", 7) != 0)
		return false;
	tree_parse(out->path + 7, &out->hit);
	if (!out->hit.n || !tree_names_file(&out->hit))
		return false;
	out->what = ROUTE_EVENTS;
	out->allow = "GET, HEAD";
	return true;
}

static bool allows(const char *list, const char *method)
{
	size_t n = strlen(method);

	for (const char *p = list; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
		if (strncmp(p, method, n) == 0 && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

/* A target is a path, or a whole URL as clients send it to proxies. */
static const char *path_of(const char *target)
{
	bool url = strncasecmp(target, "http://", 7) == 0;
	const char *p = url ? target + 7 + strcspn(target + 7, "/?#") : target;

	return url || *p == '/' ? p + strspn(p, "/") : NULL;
}

void route_find(const char *method, const char *target, struct route *out)
{
	const char *path = path_of(target);
	size_t n = path ? strcspn(path, "?#") : 0;
	int r;

	memset(out, 0, offsetof(struct route, hit));
	out->hit.n = 0;
	out->allow = out->query = "";
	out->path[0] = '\0';
	if (strcmp(target, "*") == 0) {
		out->what = strcmp(method, "OPTIONS") == 0 ? ROUTE_OPTIONS : ROUTE_BAD;
		out->allow = "GET, HEAD, POST";
		return;
	}
	r = path ? route_decode(path, n, ROUTE_IN_PATH, out->path, sizeof(out->path)) : -EINVAL;
	if (r < 0) {
		out->path[0] = '\0';
		out->what = r == -ENAMETOOLONG ? ROUTE_LONG : ROUTE_BAD;
		return;
	}
	if (path[n] == '?')
		out->query = path + n + 1;
	clean_source(out->path);
	if (!find_fixed(out) && !find_events(out) && !find_dsym_zip(out))
		find_file(out);
	if (out->what == ROUTE_NONE && !out->tecken)
		return;
	if (strcmp(method, "OPTIONS") == 0)
		out->what = ROUTE_OPTIONS;
	else if (!allows(out->allow, method))
		out->what = ROUTE_METHOD;
}

/* ---- uploads --------------------------------------------------------------------- */

#define FILE_METHODS "GET, HEAD, PUT, DELETE"

/* Whether the path is that of a file which a client may store. Files that symfs makes itself, such as GSYM,
 * are not. A path of Tecken that names a code id only redirects to a file. */
static bool is_file(const struct route *r)
{
	return r->hit.n && tree_names_file(&r->hit) && !r->ignored;
}

static void find_method(const char *method, struct route *out)
{
	bool asked = out->what == ROUTE_METHOD;

	if (out->what != ROUTE_FILE && out->what != ROUTE_OPTIONS && !asked)
		return;
	out->allow = FILE_METHODS;
	if (asked && strcmp(method, "PUT") == 0) {
		out->what = ROUTE_PUT;
		out->needs = AUTH_TRY;
	} else if (asked && strcmp(method, "DELETE") == 0) {
		out->what = ROUTE_DELETE;
		out->needs = AUTH_PURGE;
	}
}

/* Takes the route of a path that has one method. */
static void take_route(const char *method, const char *allow, enum route_what what, struct route *out)
{
	out->tecken = out->ignored = out->code_id = false;
	out->hit.n = 0;
	out->api = NULL;
	out->allow = allow;
	if (strcmp(method, "OPTIONS") == 0) {
		out->what = ROUTE_OPTIONS;
	} else if (strcmp(method, allow) != 0) {
		out->what = ROUTE_METHOD;
	} else {
		out->what = what;
		out->needs = AUTH_TRY;
	}
}

static const struct {
	const char *path;
	enum route_what what;
	bool key; /* the client can send its token in the query */
} forms[] = {
	{"upload", ROUTE_TECKEN, false},
	{"upload/", ROUTE_TECKEN, false},
	{"upload/auth_info/", ROUTE_TECKEN_AUTH, false},
	{"upload/symbol_file", ROUTE_SYM_FORM, true},
	{"upload/v2/", ROUTE_TECKEN_BEGIN, false},
};

/* The path of the chunks has two methods: a GET asks for the limits. */
static bool find_sentry(const char *method, struct route *out)
{
	char project[SENTRY_PROJECT_MAX];
	enum sentry_path path = sentry_path_parse(out->path, project);
	bool get = strcmp(method, "GET") == 0;

	if (path == SENTRY_PATH_ASSEMBLE)
		take_route(method, "POST", ROUTE_SENTRY_ASSEMBLE, out);
	if (path == SENTRY_PATH_CHUNKS) {
		take_route(method, get ? "GET" : "POST", get ? ROUTE_SENTRY_OPTIONS : ROUTE_SENTRY_CHUNKS, out);
		out->allow = "GET, POST";
	}
	return path != SENTRY_PATH_NONE;
}

void route_upload(const char *method, struct route *out)
{
	struct sym_upload_path path;

	if (out->what == ROUTE_BAD || out->what == ROUTE_LONG)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (strcmp(out->path, forms[i].path) == 0) {
			out->key = forms[i].key;
			take_route(method, "POST", forms[i].what, out);
			return;
		}
	if (find_sentry(method, out))
		return;
	if (sym_upload_parse(out->path, &path)) {
		out->key = true;
		take_route(method, path.method, ROUTE_SYM_CHECK + path.step - SYM_UPLOAD_CHECK, out);
	} else if (is_file(out)) {
		find_method(method, out);
	}
}
