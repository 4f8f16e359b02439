/* Finds the route of a request that uploads or removes files, on a server that accepts uploads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/tokens.h"
#include "base/util.h"
#include "http/route.h"
#include "upload/sentry.h"
#include "upload/sym-upload.h"

#include <string.h>

#define FILE_METHODS "GET, HEAD, PUT, DELETE"

/* Whether the path is that of a file which a client may store. Files that symfs makes itself, such as GSYM,
 * are not. A path of Tecken that names a code id only redirects to a file. */
static bool is_file(const struct route *r)
{
	return r->hit.n && tree_names_file(&r->hit) && !r->ignored;
}

static void find_file(const char *method, struct route *out)
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
	{"upload/symbol_file", ROUTE_SYM_FORM, true},
};

static enum route_what of_step(enum sym_upload_step step)
{
	switch (step) {
	case SYM_UPLOAD_CHECK:
		return ROUTE_SYM_CHECK;
	case SYM_UPLOAD_CREATE:
		return ROUTE_SYM_CREATE;
	case SYM_UPLOAD_BYTES:
		return ROUTE_SYM_BYTES;
	default:
		return ROUTE_SYM_COMPLETE;
	}
}

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
		take_route(method, path.method, of_step(path.step), out);
	} else if (is_file(out)) {
		find_file(method, out);
	}
}

bool route_is_upload(const struct route *r)
{
	return r->what >= ROUTE_PUT;
}
