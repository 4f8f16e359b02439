/* Where artifacts come from. A source does no I/O: it plans what to ask and judges what was
 * answered, with plain values, so that every kind is tested without a network. Refcounted as a
 * set (sources.h); immutable once made; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "layout/layout.h"
#include "net/request.h"

struct source;

/* What any `[source "NAME"]` may say; see source_fields. Keys of one kind are in that kind's file. */
struct source_opts {
	char *url, *path, *type, *layout, *casing, *on_403;
	char **headers, **filetypes;
	char **patterns, **never; /* globs of names: only these; not these */
	char **ptr_map; /* PREFIX=DIRECTORY: where a file.ptr may lead; NULL: none is read */
	bool follow_links; /* of a directory: any link may lead out of it to files that prove what they are */
	bool has_index; /* it lists in 000Admin what it has */
	bool enabled, requires_checksum, checksum_placeholder, allow_unverified;
	unsigned tier; /* higher ones are asked when those before have nothing */
	unsigned connect_ms, stall_ms; /* 0: those of [symfs] */
	int64_t miss_seconds;
	uint64_t max_file_size;

	/* how it is reached */
	unsigned connections; /* 0: those of all hosts */
	bool accept_invalid_certs, allow_private, allow_http_redirects;
	char *proxy, *ca_file, *cert, *key, *netrc;
};
extern const struct conf_field source_fields[];

/* One thing worth asking for. */
struct source_ask {
	char *where;	   /* URL, percent-encoded, with credentials; or a path below source_path() */
	char *header;	   /* one more for this request; or NULL */
	char spelling[64]; /* "debuginfod", "gdb, without .build-id" */
	bool ptr;	   /* what it holds says where the file is: ptr.h */
};
void source_ask_release(struct source_ask *a);

struct judgement;

/* What was found out about a source, beside its configuration. NULL is nothing. */
struct source_facts {
	bool two_tier; /* its symbol store has the first two characters of names in front */
	struct admin_index *admin; /* all that it has; NULL: not known */
};

/* The layout in which it is asked. */
const struct layout *source_layout(const struct source *s, const struct source_facts *facts);

/* A kind of source: a row of kinds.c. */
struct source_kind {
	const char *name;
	const char *layout;	  /* when the configuration names none */
	bool local;		  /* asked by open(2), not over the net */
	bool no_ranges;		  /* its servers send whole files only, in any layout */
	bool by_layout;		  /* a url with this layout, and no type, is of this kind */
	const char *place;	  /* the key, beside url and path, that says where it is: implies the kind */
	const struct conf_field *fields; /* keys of its own: NULL, or they fill a struct of `size` bytes, s->own */
	size_t size;
	/* The nth thing to ask for (0 first), best first. -ENOENT past the last; -ENOMEM. */
	int (*plan)(const struct source *s, const struct source_facts *facts, const struct artifact *a,
		unsigned nth, struct source_ask *out);

	/* The rest may be NULL. */
	/* Its own words to s->o.url. 0, -ENOMEM; -EINVAL, and `e` says what. */
	int (*init)(struct source *s, const struct conf_section *c, struct err *e);
	/* Adds credentials to a request. 0, -ENOMEM; -EACCES: there are none. */
	int (*sign)(const struct source *s, struct net_req *out);
	/* Adds url or path, and the kind's own keys, as .symfs/config shows them; no secret. NULL: url or path alone. */
	void (*show)(const struct source *s, struct buf *out);
	/* A second word on what a reply means. */
	void (*judge)(const struct source *s, const struct net_reply *r, struct judgement *out);
};

struct source {
	const struct source_kind *kind;
	const struct layout *layout;
	enum casing casing;
	uint64_t types;			/* a bit for each enum filetype */
	bool missing_403;		/* a 403 says that it is not there */
	char name[64];
	char memory[64];		/* misses are remembered under this: another URL is another source */
	char origin[NET_HOST_MAX];	/* "" for a local one */
	char *shown;			/* URL or path without credentials */
	struct source_opts o;
	void *own;			/* as kind->fields fills it */
};

/* From a section of configuration; times and sizes that it does not set are those of `defaults`
 * (only these are read of it). -EINVAL: `e` names file, line and what was expected. */
int source_new(struct source **out, const struct conf_section *c, const struct source_opts *defaults,
	struct err *e);
void source_free(struct source *s);

/* Whether it is a tree without a layout, where scan/ finds what files are: what was planned names
 * no path then. */
bool source_scans(const struct source *s);

int source_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out);

/* A file that a source may have beside artifacts ("index2.txt"), as something to ask for. 0, -ENOMEM. */
int source_file(const struct source *s, const char *path, struct source_ask *out);

/* Whether its server may send byte ranges of a file. */
bool source_sends_ranges(const struct source *s);

/* Is it a symbol store on a server, so that facts can be found out about it? */
bool source_is_store(const struct source *s);

/* Whether the source may be asked for the artifact, and may have it: types, names, checksum. */
bool source_allows(const struct source *s, const struct artifact *a);

/* Whether a glob means a name: `*` crosses slashes, a backslash is one, case does not matter. */
bool source_glob(const char *glob, const char *name);

/* Fills a request for what was planned. 0, -ENOMEM; -EACCES: it may not be made without
 * credentials, and there are none. */
int source_request(const struct source *s, const struct source_ask *a, struct net_req *out);
int source_add_header(struct net_req *req, const char *line); /* 0, -ENOMEM */

enum verdict {
	VERDICT_FOUND,	  /* a body comes, to be checked */
	VERDICT_MISSING,  /* it is not there: may be remembered */
	VERDICT_REFUSED,  /* not with these credentials: 401, 403 */
	VERDICT_LATER,	  /* it could not be asked now */
	VERDICT_LOOP	  /* the request came back to this symfs: 508 */
};

/* How a reply counts against its host in the breaker (breaker.h). */
enum blame {
	BLAME_NONE,    /* it is alive */
	BLAME_SOFT,    /* odd; a few in a row count */
	BLAME_CHEAP,   /* down, and it said so at once */
	BLAME_COSTLY,  /* down, and it cost a wait */
	BLAME_SILENT,  /* a wait, too; but it may be slow with one file alone */
	BLAME_UNKNOWN  /* unknown: the request was cancelled, or this machine failed */
};

struct judgement {
	enum verdict verdict;
	int error;	/* what to report when no other source has it: -EACCES, -ETIMEDOUT, -EREMOTEIO, … */
	enum blame blame;
	bool again;	/* a second try, soon, may well go better */
	char text[200]; /* in words, "" for FOUND */
};
void source_judge(const struct source *s, const struct net_reply *r, struct judgement *out);

/* A `memory` becomes the name that it was made of. */
void source_name_of_memory(char *memory);

/* The words of a list, separated by blanks or commas, each to `each`, until it returns non-zero:
 * that is returned. */
int source_words(char *const *list, int (*each)(void *ctx, const char *word), void *ctx);

/* The URL without user:password@ and without a query, which may be as secret. It is clear, or made of one
 * that is. */
int url_without_credentials(const char *url, struct buf *out);

/* Whether it is certain where user and password end, and both can be sent. The only @ is before the host;
 * or the URL has no @, and its host is not the beginning of a password ("http://user:secr"). In a URL
 * that is not clear, a password may contain characters that should be percent-encoded (/ ? # @). */
bool url_is_clear(const char *url);

/* A word that begins as a URL does, also when a slash is missing: it is not meant as a path. */
bool url_is_meant(const char *word);

/* What a user wrote in place of a URL, for a message: without anything between :// and the last @, without
 * what may be the beginning of a password, and without the text of a query. A path, also as file:///, stays
 * as it is. */
int url_for_message(const char *word, struct buf *out);
