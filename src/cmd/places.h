/* Where configuration comes from: files, presets, the command line's --source, the variables
 * that users already have. Known to app.c alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "conf/conf.h"

/* The user's file, the system's file, sources.d: those that exist, in this order. */
int places_read(struct conf *c, struct err *e);

/* Each --source word becomes a section in front of all others, in order. */
int places_command_line(struct conf *c, const char *const *words, unsigned n, struct err *e);

/* The last of the `n` sections that places_command_line() put in front; NULL for none. */
const struct conf_section *places_last(const struct conf *c, unsigned n);

/* Behind: DEBUGINFOD_URLS or the .urls files of /etc/debuginfod, with what DEBUGINFOD_TIMEOUT,
 * DEBUGINFOD_MAXSIZE and DEBUGINFOD_HEADERS_FILE say of them; then _NT_SYMBOL_PATH and
 * _NT_ALT_SYMBOL_PATH. Values that only other programs can use are named in the
 * log and skipped: a mistake in a variable costs that word alone. */
int places_environment(struct conf *c, struct err *e);

/* A section for a URL or a path, in front of the others or behind them; layout "": by what it is.
 * The section is named after both. `out` may be NULL. -ENOMEM. */
int place_add(struct conf *c, bool first, const char *layout, const char *where, const char *from,
	struct conf_section **out);

/* The store's directory when no option or key names one: $CACHE_DIRECTORY (systemd), $XDG_CACHE_HOME/symfs,
 * ~/.cache/symfs, /var/cache/symfs. NULL: no memory. */
char *place_cache(void);
