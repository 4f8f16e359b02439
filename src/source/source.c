/* Makes a source from its section of the configuration, and implements what all kinds of sources share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "source/ptr.h"
#include "source/section.h"
#include "source/kinds.h"
#include "source/url.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CONNECTIONS_MOST 64

static const struct conf_field source_fields[] = {
	{"url", CONF_TEXT, offsetof(struct source_opts, url), NULL, "base URL of a server"},
	{"path", CONF_TEXT, offsetof(struct source_opts, path), NULL, "a directory instead"},
	{"type", CONF_TEXT, offsetof(struct source_opts, type), NULL,
		"the kind of source"},
	{"kind", CONF_TEXT, offsetof(struct source_opts, type), NULL, "alias of type"},
	{"layout", CONF_TEXT, offsetof(struct source_opts, layout), NULL,
		"how its files are laid out"},
	{"casing", CONF_TEXT, offsetof(struct source_opts, casing), "default",
		"default, lowercase, uppercase"},
	{"header", CONF_LIST, offsetof(struct source_opts, headers), NULL,
		"Name: value, sent to it"},
	{"headers", CONF_LIST, offsetof(struct source_opts, headers), NULL, "alias of header"},
	{"filetypes", CONF_LIST, offsetof(struct source_opts, filetypes), NULL, "only these types"},
	{"types", CONF_LIST, offsetof(struct source_opts, filetypes), NULL, "alias of filetypes"},
	{"path-patterns", CONF_LIST, offsetof(struct source_opts, patterns), NULL,
		"only these names"},
	{"never", CONF_LIST, offsetof(struct source_opts, never), NULL, "names never sent to it"},
	{"requires-checksum", CONF_BOOL, offsetof(struct source_opts, requires_checksum), "no",
		"ask only with a checksum"},
	{"checksum-placeholder", CONF_BOOL, offsetof(struct source_opts, checksum_placeholder),
		"no", "send a placeholder"},
	{"allow-unverified", CONF_BOOL, offsetof(struct source_opts, allow_unverified), "yes",
		"accept files without an identifier"},
	{"on-403", CONF_TEXT, offsetof(struct source_opts, on_403), "refused", "refused, miss"},
	{"tier", CONF_COUNT, offsetof(struct source_opts, tier), "0", "asked after sources of lower tiers"},
	{"has-index", CONF_BOOL, offsetof(struct source_opts, has_index), "no",
		"000Admin lists what it has"},
	{"ptr-map", CONF_LIST, offsetof(struct source_opts, ptr_map), NULL,
		"prefix=directory that file.ptr may name"},
	{"follow-links", CONF_BOOL, offsetof(struct source_opts, follow_links), "no",
		"links may lead out of the directory"},
	{"enabled", CONF_BOOL, offsetof(struct source_opts, enabled), "yes", "whether to ask it"},
	{"connections", CONF_COUNT, offsetof(struct source_opts, connections), "0",
		"requests at once"},
	{"proxy", CONF_TEXT, offsetof(struct source_opts, proxy), NULL, "URL, or none"},
	{"ca-file", CONF_TEXT, offsetof(struct source_opts, ca_file), NULL,
		"CA certificates for verifying it"},
	{"cert", CONF_TEXT, offsetof(struct source_opts, cert), NULL, "client certificate"},
	{"key", CONF_TEXT, offsetof(struct source_opts, key), NULL, "private key of the client certificate"},
	{"netrc", CONF_TEXT, offsetof(struct source_opts, netrc), NULL,
		"a file of names and passwords"},
	{"accept-invalid-certs", CONF_BOOL, offsetof(struct source_opts, accept_invalid_certs),
		"no", "do not verify TLS"},
	{"allow-private", CONF_BOOL, offsetof(struct source_opts, allow_private), "no",
		"it may redirect to private addresses"},
	{"allow-http-redirects", CONF_BOOL, offsetof(struct source_opts, allow_http_redirects), "no",
		"it may redirect from https to http"},
	{"connect-timeout", CONF_MS, offsetof(struct source_opts, connect_ms), NULL, ""},
	{"stall-timeout", CONF_MS, offsetof(struct source_opts, stall_ms), NULL, ""},
	{"miss-lifetime", CONF_SECONDS, offsetof(struct source_opts, miss_seconds), NULL, ""},
	{"ask-again", CONF_SECONDS, offsetof(struct source_opts, again_seconds), NULL,
		"ask once more for a missing file, after this time"},
	{"max-file-size", CONF_SIZE, offsetof(struct source_opts, max_file_size), NULL, ""},
	{0},
};

void source_ask_release(struct source_ask *a)
{
	free(a->where);
	free(a->header);
	a->where = a->header = NULL;
}

static void own_free(const struct source_kind *kind, void *own)
{
	if (own)
		conf_release(kind->fields, own);
	free(own);
}

void source_free(struct source *s)
{
	if (!s)
		return;
	conf_release(source_fields, &s->o);
	own_free(s->kind, s->own);
	free(s->shown);
	free(s);
}

/* The kind of a source whose section names no type. */
static const struct source_kind *implied_kind(const struct source *s, const struct conf_section *c)
{
	const struct source_opts *o = &s->o;

	if (o->path)
		return &source_dir;
	for (size_t i = 0; i < SOURCE_KINDS; i++)
		if (source_kinds[i]->place && conf_get(c, source_kinds[i]->place))
			return source_kinds[i];
	for (size_t i = 0; i < SOURCE_KINDS; i++)
		if (source_kinds[i]->by_layout && o->layout && strcmp(o->layout, source_kinds[i]->layout) == 0)
			return source_kinds[i];
	return &source_http;
}

/* A section [source] has no type bucket: see app.c. */
static int wrong_type(const struct conf_section *c, const char *type, struct err *e)
{
	_cleanup_buf_ struct buf expected = BUF_UP_TO(200);

	for (size_t i = 0; i < SOURCE_KINDS; i++)
		if (source_kinds[i] != &source_bucket)
			buf_addf(&expected, "%s%s", expected.n ? ", " : "", source_kinds[i]->name);
	return source_mistake(c, e, "type", type, buf_text(&expected));
}

static int choose_kind(struct source *s, const struct conf_section *c, struct err *e)
{
	const char *type = s->o.type ? s->o.type : implied_kind(s, c)->name;

	s->kind = source_kind_find(type);
	if (!s->kind)
		return wrong_type(c, type, e);
	if (s->kind == &source_dir && s->o.layout && strcmp(s->o.layout, source_anywhere.name) == 0)
		s->kind = &source_scan;
	if (s->kind->local != (s->o.path != NULL))
		return source_mistake(c, e, "type", type,
			s->o.path ? "dir for a path" : "http or debuginfod for a url, s3 for a bucket");
	return 0;
}

/* Some kinds have one layout, which no other kind has. */
static const struct layout *find_layout(const struct source *s, const char *name)
{
	const struct layout *only = s->kind == &source_scan	? &source_anywhere
				    : s->kind == &source_bucket ? &source_keyed
								: NULL;

	return !only ? layout_find(name) : strcmp(name, only->name) == 0 ? only : NULL;
}

static int wrong_layout(const struct conf_section *c, const char *name, struct err *e)
{
	_cleanup_buf_ struct buf expected = BUF_UP_TO(400);
	const struct layout *l;

	for (unsigned i = 0; (l = layout_at(i)); i++)
		if (!(l->flags & LAYOUT_MOUNT_ONLY))
			buf_addf(&expected, "%s%s", expected.n ? " " : "", l->name);
	buf_adds(&expected, ", or scan for a path");
	return source_mistake(c, e, "layout", name, buf_text(&expected));
}

static int choose_layout(struct source *s, const struct conf_section *c, struct err *e)
{
	const char *name = s->o.layout ? s->o.layout : s->kind->layout;
	int casing = casing_find(s->o.casing);

	s->layout = find_layout(s, name);
	if (!s->layout)
		return wrong_layout(c, name, e);
	if (casing < 0)
		return source_mistake(c, e, "casing", s->o.casing, "default, lowercase or uppercase");
	s->casing = (enum casing)casing;
	s->one_casing = conf_get(c, "casing") != NULL;
	return 0;
}

struct typing {
	struct source *s;
	char bad[40];
};

static int add_type(void *ctx, const char *word)
{
	struct typing *t = ctx;
	enum filetype type = filetype_find(word);

	if (type == FILETYPE_NONE) {
		snprintf(t->bad, sizeof(t->bad), "%.39s", word);
		return -EINVAL;
	}
	t->s->types |= 1ull << type;
	return 0;
}

/* Reads the file types: words separated by blanks or commas, on one line or several. */
static int choose_types(struct source *s, const struct conf_section *c, struct err *e)
{
	struct typing t = {.s = s};
	int r = source_words(s->o.filetypes, add_type, &t);

	if (!s->o.filetypes)
		s->types = UINT64_MAX;
	return r == -EINVAL ? source_mistake(c, e, "filetypes", t.bad,
				      "file types such as elf_code elf_debug pdb")
			    : r;
}

static int choose_names(struct source *s, const struct conf_section *c, struct err *e)
{
	int r = source_split_words(&s->o.patterns);

	if (r == 0)
		r = source_split_words(&s->o.never);
	if (r < 0)
		return r;
	s->missing_403 = strcasecmp(s->o.on_403, "miss") == 0;
	return s->missing_403 || strcasecmp(s->o.on_403, "refused") == 0
		? 0
		: source_mistake(c, e, "on-403", s->o.on_403, "refused or miss");
}

static int check_ptrs(const struct source *s, const struct conf_section *c, struct err *e)
{
	for (char **p = s->o.ptr_map; p && *p; p++)
		if (!ptr_map_valid(*p))
			return source_mistake(c, e, "ptr-map", *p, "\\\\SERVER\\SHARE=/DIRECTORY");
	return 0;
}

/* Checks how the source is reached, so that a key without a certificate or a malformed proxy is reported
 * before the first request. */
static int check_way(const struct source *s, const struct conf_section *c, struct err *e)
{
	char origin[NET_HOST_MAX];

	if (s->o.connections > CONNECTIONS_MOST)
		return source_mistake(c, e, "connections", conf_get(c, "connections"), "at most 64");
	if (s->o.key && !s->o.cert)
		return source_mistake(c, e, "key", s->o.key, "a cert that it belongs to");
	if (s->o.proxy && strcasecmp(s->o.proxy, "none") != 0 &&
		(!url_is_clear(s->o.proxy) || net_origin(s->o.proxy, origin) < 0))
		return source_mistake(c, e, "proxy", "(not shown)", "http://HOST:PORT, https://HOST:PORT or none");
	return 0;
}

static int check_headers(const struct source *s, const struct conf_section *c, struct err *e)
{
	for (char **h = s->o.headers; h && *h; h++)
		if (!strchr(*h, ':') || **h == ':' || strpbrk(*h, "\r\n"))
			return source_mistake(c, e, "header", "(not shown)", "Name: value");
	return 0;
}

/* Turns a file:/// URL, or a path in place of a URL, into the path of a directory. */
static int take_file_url(struct source *s)
{
	if (!s->o.url || (s->o.url[0] != '/' && strncmp(s->o.url, "file:///", 8) != 0) || s->o.path)
		return 0;
	s->o.path = strdup(s->o.url + (s->o.url[0] == '/' ? 0 : 7));
	free(s->o.url);
	s->o.url = NULL;
	return s->o.path ? 0 : -ENOMEM;
}

static int url_mistake(const char *url, const struct conf_section *c, struct err *e, const char *what,
	const char *expected)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);

	return url_for_message(url, &shown) < 0
		? -ENOMEM
		: source_mistake(c, e, what, buf_text(&shown), expected);
}

static int choose_place(struct source *s, const struct conf_section *c, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	char *path;

	if (!s->o.url == !s->o.path)
		return err_set(e, -EINVAL, "%.200s:%u: [source \"%.60s\"] needs either url or path, or bucket",
			c->file, c->line, c->name);
	if (s->o.url) {
		if (strstr(s->o.url, "://") && strchr(s->o.url, '@') && !url_is_clear(s->o.url))
			return url_mistake(s->o.url, c, e, "url",
				"at most one @, in front of the host, and no %00 to %1F "
				"(in a password, write / ? # @ as %2F %3F %23 %40)");
		if (net_origin(s->o.url, s->origin) < 0)
			return url_mistake(s->o.url, c, e, "url", "http://HOST/…, https://HOST/… or /DIRECTORY");
		if (url_without_credentials(s->o.url, &shown) < 0)
			return -ENOMEM;
		s->shown = buf_take(&shown, NULL);
		return s->shown ? 0 : -ENOMEM;
	}
	if (url_is_meant(s->o.path))
		return url_mistake(s->o.path, c, e, "path", "a directory (a URL has ://, and its key is url)");
	path = path_absolute(s->o.path);
	free(s->o.path);
	s->o.path = path;
	s->shown = path ? strdup(path) : NULL;
	return s->shown ? 0 : -ENOMEM;
}

/* Makes the paths of files absolute, because a daemon leaves the directory in which it was started. */
static int make_absolute(struct source *s)
{
	char **paths[] = {&s->o.ca_file, &s->o.cert, &s->o.key, &s->o.netrc};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *path = *paths[i] ? path_absolute(*paths[i]) : NULL;

		if (*paths[i] && !path)
			return -ENOMEM;
		free(*paths[i]);
		*paths[i] = path;
	}
	return 0;
}

/* Chooses the name under which misses are remembered. The name depends on the URL, so that the misses of a
 * mistyped URL do not count once the URL is corrected. The name is visible in the store, so it contains no
 * hash of a password. */
static void choose_memory(struct source *s)
{
	uint64_t h = hash_mix(s->shown, strlen(s->shown)) ^
		     hash_mix(s->layout->name, strlen(s->layout->name)) * 31;

	snprintf(s->memory, sizeof(s->memory), "%.54s#%08x", s->name, (unsigned)(h ^ s->casing));
}

void source_name_of_memory(char *memory)
{
	char *hash = strrchr(memory, '#');

	if (hash && strlen(hash) == 9)
		*hash = '\0';
}

/* Fills the options from a section. Every section accepts the keys of all kinds, because a section that
 * inherits from a preset may have keys of two kinds. */
static int fill(struct source *s, const struct conf_section *c, void *own[static SOURCE_KINDS], struct err *e)
{
	struct conf_part parts[SOURCE_KINDS + 2] = {{source_fields, &s->o}};
	unsigned n = 1;
	int r = conf_defaults(source_fields, &s->o);

	for (size_t i = 0; r == 0 && i < SOURCE_KINDS; i++) {
		const struct source_kind *kind = source_kinds[i];

		if (!kind->fields || kind->shares)
			continue;
		own[i] = calloc(1, kind->size);
		r = own[i] ? conf_defaults(kind->fields, own[i]) : -ENOMEM;
		parts[n++] = (struct conf_part){kind->fields, own[i]};
	}
	return r == 0 ? conf_fill_parts(c, parts, e) : r;
}

/* Reads the section, and keeps only the options of its own kind. */
static int read_section(struct source *s, const struct conf_section *c, struct err *e)
{
	void *own[SOURCE_KINDS] = {0};
	const struct source_kind *owner;
	int r = fill(s, c, own, e);

	if (r == 0)
		r = take_file_url(s);
	if (r == 0)
		r = choose_kind(s, c, e);
	owner = s->kind && s->kind->shares ? s->kind->shares : s->kind;
	for (size_t i = 0; i < SOURCE_KINDS; i++) {
		if (r == 0 && source_kinds[i] == owner)
			s->own = own[i];
		else
			own_free(source_kinds[i], own[i]);
	}
	return r;
}

static int source_init(struct source *s, const struct conf_section *c, struct err *e)
{
	int r = read_section(s, c, e);

	if (r == 0 && s->kind->init)
		r = s->kind->init(s, c, e);
	if (r == 0)
		r = choose_place(s, c, e);
	if (r == 0)
		r = choose_layout(s, c, e);
	if (r == 0)
		choose_memory(s);
	if (r == 0)
		r = choose_types(s, c, e);
	if (r == 0)
		r = choose_names(s, c, e);
	if (r == 0)
		r = check_ptrs(s, c, e);
	if (r == 0)
		r = check_way(s, c, e);
	if (r == 0)
		r = make_absolute(s);
	return r == 0 ? check_headers(s, c, e) : r;
}

static void take_defaults(struct source_opts *o, const struct source_opts *d)
{
	if (!o->connect_ms)
		o->connect_ms = d->connect_ms;
	if (!o->stall_ms)
		o->stall_ms = d->stall_ms;
	if (!o->miss_seconds)
		o->miss_seconds = d->miss_seconds;
	if (!o->max_file_size)
		o->max_file_size = d->max_file_size;
}

int source_new(struct source **out, const struct conf_section *c,
	const struct source_opts *defaults, struct err *e)
{
	struct source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%.63s", c->name);
	r = source_init(s, c, e);
	take_defaults(&s->o, defaults);
	if (r < 0) {
		source_free(s);
		return r;
	}
	*out = s;
	return 0;
}

int source_file(const struct source *s, const char *path, struct source_ask *out)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);

	*out = (struct source_ask){0};
	if (url_join(&url, s->o.url, path) < 0)
		return -ENOMEM;
	out->where = buf_take(&url, NULL);
	return out->where ? 0 : -ENOMEM;
}

unsigned source_tier(const struct source *s)
{
	return s->kind->first ? 0 : MIN(s->o.tier, UINT_MAX - 1) + 1;
}

bool source_is_bucket(const struct source *s)
{
	return s->kind == &source_bucket;
}

bool source_sends_ranges(const struct source *s)
{
	return !s->kind->no_ranges && !(s->layout->flags & LAYOUT_NO_RANGES);
}

bool source_is_store(const struct source *s)
{
	return !s->kind->local && s->layout->flags & LAYOUT_SYMBOL_STORE;
}

int source_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	*out = (struct source_ask){0};
	return s->kind->plan(s, facts, a, nth, out);
}
