/* Builds what a command works with: options and configuration -> store, sources, fetch. The only place that
 * knows every constructor, and the only one that reads the environment. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "source/sources.h"
#include "symb/symb.h"

#include <stdbool.h>
#include <stdint.h>

struct cmd;
struct fetch;
struct store;

#define APP_SOURCES_MOST 64

/* [symfs] */
struct settings {
	char *cache_dir;
	uint64_t quota, min_free, max_file_size;
	unsigned lookup_deadline_ms, connect_ms, stall_ms, breaker_ms;
	int64_t miss_seconds, keep_seconds;
	bool allow_unsandboxed, read_all;
	char *run_as; /* NULL */
	char **server_names, **allow_origins; /* lists; NULL: none */
};
extern const struct conf_field settings_fields[];
/* [symbolicate]: into struct symb_limits */
extern const struct conf_field limits_fields[];

/* The values of an option that may be given more than once. */
struct opt_words {
	unsigned n;
	const char *word[32];
};

/* An option of one command. Ends with a NULL name. */
struct opt {
	const char *name; /* "ask": --ask */
	char letter;	  /* 'f': -f; 0: none */
	const char *arg;  /* "FILE": the name of its value; NULL: it has no value */
	const char *help;
	void *into;	  /* const char ** when it has a value, else bool * */
	struct opt_words *words; /* instead: it has a value, and may be given more than once */
};

/* What a command line says, without the command's own options and words. */
struct app_args {
	const char *config, *cache;
	bool offline, no_default_sources, json;
	unsigned n_sources;
	const char *sources[APP_SOURCES_MOST];
	unsigned n_set;
	struct {
		const struct conf_field *field;
		const char *value;
	} set[32]; /* --KEY VALUE of [symfs] */
	const char *agent; /* what User-Agent says beside the version; NULL */
	char *adopted; /* app_adopt_mount()'s; app_close() frees it */
};

/* Takes all options out of argv, common ones and the command's own; words are left in order,
 * argv[0] included. `--` ends options. Negative: continue. Else the command ends with this exit
 * status, after --help or a message. */
int app_options(struct app_args *a, const struct cmd *c, const struct opt *own, int *argc, char **argv);

/* One `KEY=VALUE` of [symfs], as `mount -o` has them. -ENOENT: no such key. -EINVAL. */
int app_set(struct app_args *a, const char *key, const char *value, struct err *e);

struct app {
	struct app_args args;
	struct settings settings;
	struct symb_limits limits;
	struct conf *conf;
	bool warned; /* the log names the sources that lack credentials */
	struct sources *prepared; /* by app_prepare(), until app_start() */
	struct store *store;
	struct fetch *fetch; /* NULL after app_open_store() */
};

/* -EINVAL: configuration. Others: the store. `e` is filled. */
int app_open(struct app *app, const struct app_args *a, struct err *e);
/* The two halves of app_open(): reads everything that configures; then opens the store and starts threads. */
int app_prepare(struct app *app, const struct app_args *a, struct err *e);
int app_start(struct app *app, struct err *e);
int app_open_store(struct app *app, const struct app_args *a, struct err *e);
void app_close(struct app *app);

/* The first part of app_close(): every waiting caller gets an answer, and no download continues. */
void app_stop_fetching(struct app *app);

/* Only settings and sources; opens nothing, but needs app_close(). */
int app_configure(struct app *app, const struct app_args *a, struct err *e);
int app_sources(struct app *app, struct sources **out, struct err *e);

/* Reads the configuration again and replaces the sources; an error changes nothing. */
int app_reload(struct app *app, struct err *e);

/* The settings and sources in force, as symfs.conf would say them, without secrets. */
int app_config_text(struct app *app, struct buf *out);

/* The exit status for a negative errno: EXIT_UNASKED, EXIT_LOCAL, … */
int app_exit(int error);

/* Where a PATH of the command line leads: "LAYOUT/REST" or an absolute path inside a symfs
 * mount -> the path under the mount, without leading slash; free() it. -ENOENT: neither. */
int app_tree_path(const char *word, char **out);

/* A path inside a mount, without options that choose sources or a store, means that mount: uses its store
 * and its sources (from .symfs/config, so without their secrets). 0 also when it does nothing. */
int app_adopt_mount(struct app_args *a, const char *word);
