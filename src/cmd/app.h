/* Opens the store, the sources and fetch/ for a command, from its options and the configuration. Only app.c
 * knows every constructor. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "source/sources.h"
#include "symb/symb.h"

#include <stdbool.h>
#include <stdint.h>

struct bucket;
struct cmd;
struct fetch;
struct store;

#define APP_SOURCES_MOST 64

/* The keys of section [symfs]. */
struct settings {
	char *cache_dir;
	uint64_t quota, min_free, max_file_size; /* bytes */
	unsigned lookup_deadline_ms, connect_ms, stall_ms, breaker_ms;
	int64_t miss_seconds, keep_seconds;
	bool ask_on, synthesize, allow_unsandboxed, read_all;
	char *run_as; /* a user name; NULL: the key is not set */
	char *byte_ranges; /* "auto", "always" or "never" */
	char **server_names, **allow_origins; /* each a list; NULL: empty */
};
extern const struct conf_field settings_fields[];

/* The values of an option that a command line can have more than once. */
struct opt_words {
	unsigned n;
	const char *word[32];
};

/* An option of one command. A table of options ends with a NULL name. */
struct opt {
	const char *name; /* "ask" for --ask */
	char letter;	  /* 'f' for -f; 0: the option has no letter */
	const char *arg;  /* the name of the option's value, such as "FILE"; NULL: the option has no value */
	const char *help;
	void *into;	  /* a const char ** if the option has a value, else a bool * */
	struct opt_words *words; /* used instead of `into` if the option can be repeated; NULL: use `into` */
};

/* The values of the common options on a command line. */
struct app_args {
	const char *config, *cache;
	bool offline, no_default_sources, json;
	unsigned n_sources;
	const char *sources[APP_SOURCES_MOST];
	bool sources_later; /* `sources` come from fstab: their directories can be missing until a later mount */
	unsigned n_set;
	struct {
		const struct conf_field *field;
		const char *value;
	} set[32]; /* options --KEY VALUE, for keys of section [symfs] */
	const char *space; /* a namespace of a server, which has a store and a part of the bucket; NULL: "public" */
	const char *agent; /* text to add to User-Agent; NULL: no text */
	const char *links; /* a directory of the command's own with links to files (symbolicate.h): the first source;
			      NULL: none */
	char *adopted; /* the path of a mount's .symfs/config; set by app_adopt_mount(), freed by app_close() */
};

/* Removes the common options and the command's own options from argv. The other words, with argv[0], keep their
 * order. `--` ends options. Returns a negative number if the command continues. Otherwise the command ends with
 * the returned exit status: the help or an error message was printed. */
int app_options(struct app_args *a, const struct cmd *c, const struct opt *own, int *argc, char **argv);

/* Adds the options by which a hint's command finds the same sources and store. Returns the text of `out`. */
const char *app_options_again(const struct app_args *a, struct buf *out);
/* Adds a word of a hint, in single quotes if a shell needs them. PLACE: it has a password, a quote or control
 * characters. Returns the text of `out`. */
const char *app_word_again(const char *word, struct buf *out);

/* Prints the options that commands share. */
void app_print_options(void);

/* Sets a key of [symfs], as in `mount -o KEY=VALUE`. 0; -ENOENT: no such key; -EINVAL. */
int app_set(struct app_args *a, const char *key, const char *value, struct err *e);

struct app {
	struct app_args args;
	struct settings settings;
	struct symb_limits limits;
	struct conf *conf;
	bool warned; /* the sources that lack credentials were logged */
	struct sources *prepared; /* set by app_prepare(), taken by app_start() */
	struct store *store;
	struct fetch *fetch; /* NULL after app_open_store() */
	struct bucket *bucket; /* uploads into the team's bucket: app_start_bucket(); NULL: nothing is uploaded */
};

/* Reads the configuration, opens the store and starts threads. 0; -EINVAL: an error of the configuration;
 * other -errno: an error of the store or of the system. `e` has the reason. */
int app_open(struct app *app, const struct app_args *a, struct err *e);
/* The two halves of app_open(): app_prepare() reads the configuration; app_start() opens the store and
 * starts threads. */
int app_prepare(struct app *app, const struct app_args *a, struct err *e);
int app_start(struct app *app, struct err *e);
/* As app_start(), for a server: if the sources contain a bucket that may be written, files of the store are uploaded
 * from now on. */
int app_start_serving(struct app *app, struct err *e);
/* Reads the configuration and opens the store, without sources and threads. */
int app_open_store(struct app *app, const struct app_args *a, struct err *e);
void app_close(struct app *app);

/* The first part of app_close(): every waiting caller gets an answer, and no download continues. */
void app_stop_fetching(struct app *app);

/* Reads the configuration and opens nothing; app_close() is still needed. app_sources() makes the
 * configured sources. */
int app_configure(struct app *app, const struct app_args *a, struct err *e);
int app_sources(struct app *app, struct sources **out, struct err *e);

/* Reads the configuration again and replaces the sources. After an error, the old sources stay. */
int app_reload(struct app *app, struct err *e);

/* The exit status for a negative errno: EXIT_UNASKED, EXIT_LOCAL, … */
int app_exit(int error);

/* Converts a PATH of the command line, "LAYOUT/REST" or an absolute path inside a symfs mount, to the path
 * below the mount, without leading slash; free() it. -ENOENT: an absolute path outside every mount;
 * -ENOMEM. */
int app_tree_path(const char *word, char **out);

/* If the path `word` is inside a mount, uses the store and the sources of that mount. They are read from
 * .symfs/config, which has no secrets. Does nothing if options choose sources or a store. 0, -ENOMEM. */
int app_adopt_mount(struct app_args *a, const char *word);

/* ---- complete.c: completions of shells in etc/completions ---- */

/* The shells call `symfs --complete=WORDS`, and app_options() knows the same option of each command. WORDS has a line
 * for each word; the last line is the unfinished word. */
#define COMPLETE_OPTION "--complete="

/* Prints a line for a word: the word, a tab and its meaning. `:file`, `:directory`, `:user` and `:hostname` are names
 * that the shell completes. */
void complete_offer(const char *word, const char *meaning);

/* Prints the words for the last line of `words`, which come after the command's name. `common`: the options that
 * the command shares with others. Reads tables and the configuration only. */
void complete_command(const struct cmd *c, const struct opt *own, const struct opt *common, const char *words);
