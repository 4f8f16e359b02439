/* Finds the route of a request from its method and target. The layout rows of the mount say what a path
 * means, so mount and server cannot differ. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/tree.h"

#include <stdbool.h>
#include <stddef.h>

#define ROUTE_PATH_MAX 4096

enum route_what {
	ROUTE_NONE,	   /* neither a path of a layout nor a path of the server's own */
	ROUTE_BAD,	   /* the target is not a path: 400 */
	ROUTE_LONG,	   /* the path is longer than any that means something: 414 */
	ROUTE_METHOD,	   /* the path needs another method: 405, `allow` says which */
	ROUTE_OPTIONS,	   /* answer with the methods of the path, and whether pages of other origins may
			      use them */
	ROUTE_FILE,	   /* one of hit.files */
	ROUTE_MADE,	   /* GSYM of one of hit.files */
	ROUTE_GENERATED,   /* generated from one of hit.files, as hit.told says */
	ROUTE_DSYM_ZIP,	   /* the bundle of hit.files[0], as an archive */
	ROUTE_TEXT,	   /* hit.text */
	ROUTE_SYMBOLICATE, /* a request to symbolicate; `api` is the version of the API */
	/* pages about the server, from here to ROUTE_METADATA */
	ROUTE_HEALTH,
	ROUTE_READY,
	ROUTE_METRICS,
	ROUTE_EVENTS,	   /* keys that arrive; with hit.n, only those of hit.files */
	ROUTE_STATUS,	   /* a part of the page; POST only sends the text to find */
	ROUTE_PAGE_FILE,   /* the page's stylesheet, script or icon */
	ROUTE_MISSING,
	ROUTE_MISSES,
	ROUTE_METADATA,	   /* debuginfod's search for files by name */
	/* only from route_upload() */
	ROUTE_PUT,	   /* a file to store, which is one of hit.files */
	ROUTE_DELETE,	   /* remove hit.files from the store */
	ROUTE_TECKEN,	   /* an archive for Mozilla's symbol server */
	ROUTE_TECKEN_AUTH, /* ... what a client may upload, and by which version */
	ROUTE_TECKEN_BEGIN, /* ... version 2: where to send which files */
	ROUTE_SYM_CHECK,   /* Breakpad's sym_upload, in the order of enum sym_upload_step: is the file here? */
	ROUTE_SYM_CREATE,  /* ... where to send it? */
	ROUTE_SYM_BYTES,   /* ... its bytes, or those of a file by version 2 of Tecken's protocol */
	ROUTE_SYM_COMPLETE, /* ... what it is */
	ROUTE_SYM_FORM,	   /* ... all in one form */
	ROUTE_SENTRY_OPTIONS,  /* Sentry's chunk upload: the limits of the server */
	ROUTE_SENTRY_CHUNKS,   /* ... chunks of files */
	ROUTE_SENTRY_ASSEMBLE, /* ... make files of chunks */
	ROUTE_MINIDUMP	   /* a minidump to answer: received as an upload, and not stored; on every server */
};

struct route {
	enum route_what what;
	const char *allow; /* a static string */
	const char *api;   /* "v5"; a static string */
	const char *query; /* in the target, behind the `?`; "": none */
	bool tecken;	   /* a path of Mozilla's symbol server (Tecken): answer a miss with Tecken's text */
	bool ignored;	   /* a path that Tecken does not look up at all */
	bool code_id;	   /* NAME/ID/x.sym whose id may be a code id; hit.n may be 0 */
	bool debuginfod;
	bool key;	   /* the protocol sends the token as `key` in the query */
	unsigned needs;	   /* the right (enum auth_right) without which the request is refused before its body is
			      read; 0: AUTH_READ, if there are tokens */
	struct tree_hit hit; /* its `rest` points into `path` */
	char path[ROUTE_PATH_MAX]; /* decoded, without leading slashes */
};

/* `target` is the unchanged target of the request line; it must stay valid while out->query is used. */
void route_find(const char *method, const char *target, struct route *out);

/* The decoded value of a field of a query. False: the query has no such field, or the value does not
 * fit. */
bool route_query(const char *query, const char *name, char *out, size_t room);

/* Whether a query has `name`, or `name=` with a value that is not 0. */
bool route_has_flag(const char *query, const char *name);

/* Percent-decodes n characters of a path; of a query, where a `+` is a space; or of a form, whose values can have
 * line ends. 0; -EINVAL: broken, or a NUL or another control character; -ENAMETOOLONG. In a form a broken escape
 * stays as it is, and a NUL becomes a space. */
enum route_text { ROUTE_IN_PATH, ROUTE_IN_QUERY, ROUTE_IN_FORM };
int route_decode(const char *text, size_t n, enum route_text what, char *out, size_t room);

/* Call it after route_find() on a server that accepts uploads: turns the route into that of an upload, if
 * the method and the path say so, and adds the methods of uploads to `allow`. */
void route_upload(const char *method, struct route *out);
static inline bool route_is_upload(const struct route *r)
{
	return r->what >= ROUTE_PUT;
}
