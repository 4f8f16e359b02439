/* Reads the configuration from its places: files, presets, --source on the command line, variables of
 * other programs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "conf/conf.h"

/* Reads the user's file, the system's file, sources.d and the presets, in this order. A missing file is skipped. */
int places_read(struct conf *c, struct err *e);

/* Reads the presets alone. */
int places_presets(struct conf *c, struct err *e);

/* Whether a word of --source is a URL of a server without a layout: its layout is then `native`. */
bool place_is_native_url(const char *word);

/* Makes a section for each word of --source: a URL, a path, the name of a configured source, or else the name of a
 * directory. These sections come before all others, in the order of the words. */
int places_command_line(struct conf *c, const char *const *words, unsigned n, struct err *e);

/* Gives each section whose `url` is a path the layout that --source would give it, if it has none. 0, -ENOMEM. */
int places_directories(struct conf *c);

/* Returns a pointer into the word of --source to the directory that the word names. NULL: the word is a URL, or
 * the name of a source. */
const char *place_path(const char *word);

/* The path of the user's file: $XDG_CONFIG_HOME/symfs/symfs.conf, else ~/.config/symfs/symfs.conf; free() it. "":
 * neither XDG_CONFIG_HOME nor HOME is an absolute path. NULL: no memory. */
char *place_user_file(void);

/* Appends the sources of other programs' variables. The first sources are the servers of DEBUGINFOD_URLS or the
 * .urls files of /etc/debuginfod. They get the settings of DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXSIZE and
 * DEBUGINFOD_HEADERS_FILE. Then come the places of _NT_SYMBOL_PATH and _NT_ALT_SYMBOL_PATH. Skips words that
 * symfs cannot use, and logs them. 0, -ENOMEM. */
int places_environment(struct conf *c, struct err *e);

/* Adds a section for the URL or path `where`, before all others (`first`: with the settings of a source at this URL)
 * or after them. Its name has layout and place. Layout "": the place decides. `out` may be NULL. 0, -ENOMEM. */
int place_add(struct conf *c, bool first, const char *layout, const char *where, const char *from,
	struct conf_section **out);
