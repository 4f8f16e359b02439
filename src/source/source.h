/* A source: a server or directory that artifacts come from. A source does no I/O: it plans requests and
 * judges replies, as plain values, so every kind can be tested without a network. Sources are
 * reference-counted as a set (sources.h) and immutable; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "names/layout/layout.h"
#include "net/request.h"

#include <limits.h>

struct source;

/* The keys that any `[source "NAME"]` may have; see source_fields. Keys of a single kind are in that kind's
 * file. */
struct source_opts {
	char *url, *path, *type, *layout, *casing, *on_403;
	char **headers, **filetypes;
	char **patterns, **never; /* globs of names. `patterns`: ask only for these names; `never`: never
				     ask for these */
	char **ptr_map; /* PREFIX=DIRECTORY: where a file.ptr may lead; NULL: symfs reads no file.ptr */
	bool follow_links; /* of a directory: links may lead out of it, to files whose contents identify
			      them */
	bool has_index; /* the store lists its files in 000Admin */
	bool enabled, requires_checksum, checksum_placeholder, allow_unverified;
	unsigned tier; /* a higher tier is asked if the lower tiers do not have the file */
	unsigned connect_ms, stall_ms; /* 0: the values of [symfs] */
	int64_t miss_seconds, again_seconds; /* `again`: from a miss to one more request, in background; 0: none */
	uint64_t max_file_size;

	/* how the server is reached */
	unsigned connections; /* concurrent requests; 0: the limit that applies to every host */
	bool accept_invalid_certs, allow_private, allow_http_redirects;
	char *proxy, *ca_file, *cert, *key, *netrc;
};

/* One planned request. */
struct source_ask {
	char *where;	   /* URL, percent-encoded, with credentials; or a path below o.path */
	char *header;	   /* an additional header of this request; NULL: none */
	char spelling[64]; /* "debuginfod", "gdb, without .build-id" */
	bool ptr;	   /* the answer names the file: a file.ptr (ptr.h), or with `leads` a key object */
	bool leads;	   /* the answer is the key object of a bucket: bucket-key.h */
	bool late;	   /* to be asked for only when all other spellings are missing */
	unsigned wait_ms;  /* connect and stall timeout of this request; 0: those of the source */
	bool any_case;	   /* the file names have no capitals, so the request shows no preference of a case */
	bool as_given;	   /* the names are spelled as in the client's request */
	uint16_t code;	   /* the spelling as a number, for source_teach() */
};
void source_ask_release(struct source_ask *a);

struct judgement;

/* How a source spelled the paths of earlier files. These facts order the next requests, but exclude
 * none. */
struct source_taught {
	uint16_t spelling[FILETYPES]; /* source_ask.code of the last file of each type; 0: none so far */
	uint16_t last;		      /* source_ask.code of the last file of any type; 0: none so far */
};
/* Notes the request that found a file. */
void source_teach(struct source_taught *t, enum filetype type, const struct source_ask *ask);
/* How much a request resembles the requests that found files, as a number: higher means more. 0: nothing is
 * known. */
unsigned source_likeness(const struct source_taught *t, enum filetype type, uint16_t code);

/* Facts about a source that are not in its configuration but found out at run time. A NULL pointer: no
 * facts. */
struct source_facts {
	bool two_tier; /* its symbol store is two-tier: the first two characters of the name come first */
	struct admin_index *admin; /* the index of all its files; NULL: not known */
	struct source_taught taught;

	/* the following facts are about one artifact */
	char blob[65]; /* SHA-256 of the file, as the source's key object has it; "": not known */
	char *code_file, *debug_file; /* the names as the source spells them; NULL: not known */
};

/* The layout in which the source is asked. */
const struct layout *source_layout(const struct source *s, const struct source_facts *facts);

/* A kind of source: a row of kinds.c. */
struct source_kind {
	const char *name;
	const char *layout;	  /* the layout if the configuration names none */
	bool local;		  /* asked by open(2), not over the network */
	bool first;		  /* asked before the sources of all other kinds, in a tier of its own */
	bool no_ranges;		  /* its servers send whole files only, in any layout */
	bool by_layout;		  /* a source with a url, this layout and no type is of this kind */
	const char *place;	  /* the key that names the place of the source instead of url or path, and
				     implies the kind */
	const struct source_kind *shares; /* the kind whose `fields` and options this kind has, too; NULL: none */
	const struct conf_field *fields; /* the kind's own keys, which fill s->own, a struct of `size`
					    bytes; NULL: none */
	size_t size;
	/* Plans the nth request (0 first), best first. 0; -ENOENT past the last; -ENOMEM. */
	int (*plan)(const struct source *s, const struct source_facts *facts, const struct artifact *a,
		unsigned nth, struct source_ask *out);

	/* The following functions may be NULL. */
	/* Makes s->o.url from the kind's own keys. 0, -ENOMEM; -EINVAL and `e`. */
	int (*init)(struct source *s, const struct conf_section *c, struct err *e);
	/* Adds credentials to a request. 0, -ENOMEM; -EACCES: the configuration has no credentials. */
	int (*sign)(const struct source *s, struct net_req *out);
	/* Writes the place of the source and the kind's own keys, as .symfs/config shows them, without
	 * secrets. NULL: url or path alone is shown. */
	void (*show)(const struct source *s, struct buf *out);
	/* Corrects the judgement of a reply for this kind. */
	void (*judge)(const struct source *s, const struct net_reply *r, struct judgement *out);
};

struct source {
	const struct source_kind *kind;
	const struct layout *layout;
	enum casing casing;
	bool one_casing;		/* the configuration names a casing: symfs asks in no other casing */
	uint64_t types;			/* a bit for each enum filetype */
	bool missing_403;		/* a 403 means that the file is missing */
	char name[64];
	char memory[64];		/* the name under which misses are remembered; depends on the URL */
	char origin[NET_HOST_MAX];	/* "https://host:port"; "" for a local source */
	char *shown;			/* the URL or path, without credentials */
	struct source_opts o;
	void *own;			/* the options of kind->fields; NULL: the kind has none */
};

/* Makes a source from a section of configuration. Times and sizes that the section does not set come from
 * `defaults`, of which nothing else is read. 0, -ENOMEM; -EINVAL: `e` names the file, the line and what was
 * expected. */
int source_new(struct source **out, const struct conf_section *c, const struct source_opts *defaults,
	struct err *e);
void source_free(struct source *s);

/* The tier in which the source is asked, counted from 0. Tier 0 is for kinds that are `first`. */
unsigned source_tier(const struct source *s);
/* Whether the source is a team's bucket. */
bool source_is_bucket(const struct source *s);

/* Whether the source is a tree without a layout, in which source/scan/ finds files by their contents. The requests
 * of such a source name no path. */
bool source_scans(const struct source *s);
/* Whether such a tree is searched in archives, too. */
bool source_archives(const struct source *s);
/* A directory below which the sources of the tree's builds are: the file FROM/x.c of a build is DIR/x.c here. */
struct source_root {
	char from[PATH_MAX];
	const char *dir;
};
/* The ith root (0 first), which is the tree itself. False: there are no more. */
bool source_root(const struct source *s, unsigned i, struct source_root *out);

int source_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out);

/* Writes all paths of the artifact below a directory source, each with its NUL, into the empty `out`. 0, -ENOMEM;
 * -EFBIG: they are too many. */
int source_paths(const struct source *s, const struct source_facts *facts, const struct artifact *a, struct buf *out);

/* Plans the request for a file that a source may have beside artifacts ("index2.txt"). 0, -ENOMEM. */
int source_file(const struct source *s, const char *path, struct source_ask *out);

/* Whether the source's server may send byte ranges of a file. */
bool source_sends_ranges(const struct source *s);

/* Whether the source is a symbol store on a server, about which facts can be found out. */
bool source_is_store(const struct source *s);

/* Whether the configuration allows asking the source for the artifact: file types, names, checksum. */
bool source_allows(const struct source *s, const struct artifact *a);

/* Whether a glob matches a name: `*` also matches slashes, a backslash counts as a slash, and case does not
 * matter. */
bool source_glob(const char *glob, const char *name);

/* Fills the net_req of a planned request. 0, -ENOMEM; -EACCES: the source requires credentials, and the
 * configuration has none. */
int source_request(const struct source *s, const struct source_ask *a, struct net_req *out);
/* As source_request(), without the signature. */
int source_request_with(const struct source *s, const struct source_ask *a, struct net_req *out);
int source_add_header(struct net_req *req, const char *line); /* 0, -ENOMEM */

enum verdict {
	VERDICT_FOUND,	  /* a body comes, which must be checked */
	VERDICT_MISSING,  /* the file is not there; the miss may be remembered */
	VERDICT_REFUSED,  /* refused, as with wrong credentials: 401, 403 */
	VERDICT_LATER,	  /* the source could not answer now */
	VERDICT_LOOP	  /* the request came back to this symfs: 508 */
};

/* How a reply counts against its host in the breaker (breaker.h). */
enum blame {
	BLAME_NONE,    /* the host works */
	BLAME_SOFT,    /* a useless answer; a few in a row count as a failure */
	BLAME_CHEAP,   /* the host is down, and the failure was quick */
	BLAME_COSTLY,  /* the host is down, and the failure cost a wait */
	BLAME_SILENT,  /* the host stalled, which cost a wait; perhaps it is slow with this file alone */
	BLAME_UNKNOWN  /* not known: the request was cancelled, or this machine failed */
};

struct judgement {
	enum verdict verdict;
	int error;	/* the error to report when no other source has the file: -EACCES, -ETIMEDOUT,
			   -EREMOTEIO, … */
	enum blame blame;
	bool again;	/* a second request, soon, may well succeed */
	char text[200]; /* the reason, for people; "" for VERDICT_FOUND */
};
void source_judge(const struct source *s, const struct net_reply *r, struct judgement *out);

/* Turns a source's `memory`, in place, back into the name of the source. */
void source_name_of_memory(char *memory);

/* Passes each word of a list, separated by blanks or commas, to `each`, until that returns non-zero. Returns
 * that value, or 0; -ENOMEM. */
int source_words(char *const *list, int (*each)(void *ctx, const char *word), void *ctx);

/* Writes a URL without user:password@ and without its query, which may be just as secret. The URL must be
 * clear (see below), or made from a clear URL. */
int url_without_credentials(const char *url, struct buf *out);

/* Whether a URL is clear: it is certain where user and password end, and both can be sent. The only @ is
 * before the host; or the URL has no @, and its host is not the beginning of a password
 * ("http://user:secr"). In a URL that is not clear, a password may contain characters that should be
 * percent-encoded (/ ? # @). */
bool url_is_clear(const char *url);

/* Whether a word is meant as a URL, not as a path: it begins like a URL, even if a slash is missing. */
bool url_is_meant(const char *word);

/* Writes a word that a user gave as a URL, for a message. Leaves out all between :// and the last @, the
 * possible beginning of a password, and the query. A path or a file:/// URL stays as it is. */
int url_for_message(const char *word, struct buf *out);
