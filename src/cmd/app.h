/* Opens what a command works with: options and configuration -> store, sources, fetch. Only app.c knows
 * every constructor. */
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
	bool ask_on, allow_unsandboxed, read_all;
	char *run_as; /* NULL */
	char *byte_ranges; /* auto, always, never */
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

/* An option of one command. A table of options ends with a NULL name. */
struct opt {
	const char *name; /* "ask": --ask */
	char letter;	  /* 'f': -f; 0: none */
	const char *arg;  /* "FILE": the name of its value; NULL: it has no value */
	const char *help;
	void *into;	  /* const char ** when it has a value, else bool * */
	struct opt_words *words; /* used instead of `into`: the option has a value, and may be repeated */
};

/* The values of the common options on a command line. */
struct app_args {
	const char *config, *cache;
	bool offline, no_default_sources, json;
	unsigned n_sources;
	const char *sources[APP_SOURCES_MOST];
	bool sources_later; /* a directory of `sources` may not be there yet: they come from fstab */
	unsigned n_set;
	struct {
		const struct conf_field *field;
		const char *value;
	} set[32]; /* --KEY VALUE of [symfs] */
	const char *agent; /* an addition to User-Agent; NULL: none */
	char *adopted; /* set by app_adopt_mount(), freed by app_close() */
};

/* Removes the common options and the command's own from argv; the words stay in order, argv[0] included.
 * `--` ends options. Negative: the command continues. Otherwise it ends with this exit status: the help or
 * an error message was printed. */
int app_options(struct app_args *a, const struct cmd *c, const struct opt *own, int *argc, char **argv);

/* Prints the options that commands share. */
void app_print_options(void);

/* Sets a key of [symfs], as in `mount -o KEY=VALUE`. 0; -ENOENT: no such key; -EINVAL. */
int app_set(struct app_args *a, const char *key, const char *value, struct err *e);

struct app {
	struct app_args args;
	struct settings settings;
	struct symb_limits limits;
	struct conf *conf;
	bool warned; /* the log has named the sources that lack credentials */
	struct sources *prepared; /* set by app_prepare(), taken by app_start() */
	struct store *store;
	struct fetch *fetch; /* NULL after app_open_store() */
};

/* Reads the configuration, opens the store and starts threads. 0; -EINVAL: an error of the configuration;
 * other -errno: of the store. `e` has the reason. */
int app_open(struct app *app, const struct app_args *a, struct err *e);
/* The two halves of app_open(): app_prepare() reads the configuration; app_start() opens the store and
 * starts threads. */
int app_prepare(struct app *app, const struct app_args *a, struct err *e);
int app_start(struct app *app, struct err *e);
/* Reads the configuration and opens the store, without sources and threads. */
int app_open_store(struct app *app, const struct app_args *a, struct err *e);
void app_close(struct app *app);

/* The first part of app_close(): every waiting caller gets an answer, and no download continues. */
void app_stop_fetching(struct app *app);

/* Reads the configuration and opens nothing; app_close() is still needed. app_sources() makes the
 * configured sources. */
int app_configure(struct app *app, const struct app_args *a, struct err *e);
int app_sources(struct app *app, struct sources **out, struct err *e);

/* Reads the configuration again and replaces the sources; an error changes nothing. */
int app_reload(struct app *app, struct err *e);

/* The settings and sources in force, as symfs.conf would say them, without secrets. */
int app_config_text(struct app *app, struct buf *out);

/* The exit status for a negative errno: EXIT_UNASKED, EXIT_LOCAL, … */
int app_exit(int error);

/* Converts a PATH of the command line, "LAYOUT/REST" or an absolute path inside a symfs mount, to the path
 * below the mount, without leading slash; free() it. -ENOENT: an absolute path outside every mount;
 * -ENOMEM. */
int app_tree_path(const char *word, char **out);

/* If the path is inside a mount, uses the store and the sources of that mount (from .symfs/config, so
 * without secrets). Does nothing if options choose sources or a store. 0, -ENOMEM. */
int app_adopt_mount(struct app_args *a, const char *word);
