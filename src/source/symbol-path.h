/* Parses the symbol path of Microsoft's debuggers (_NT_SYMBOL_PATH). Semicolons separate elements. Each is a
 * directory, or a keyword and stores separated by asterisks:
 *	srv*DIR*DIR*URL	  a chain of stores, from the nearest store to the store that has every file
 *	symsrv*DLL*…	  as srv; the DLL is ignored
 *	srv*		  the default: the debugger's cache and Microsoft's public server
 *	cache*DIR	  a store that the debugger fills
 *	DebugInfoD*URL*…  servers of the debuginfod protocol
 * Parses text only: does not look at the stores. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

enum symbol_place_kind {
	SYMBOL_DIR,	/* an absolute path of this system */
	SYMBOL_URL,	/* http, https or file */
	SYMBOL_DEFAULT, /* Microsoft's public server; `where` is "" */
	SYMBOL_SHARE,	/* \\server\share: not available on this system */
	SYMBOL_DRIVE,	/* C:\symbols: not available either */
	SYMBOL_NONSENSE /* none of these: a relative path, for example */
};

struct symbol_place {
	enum symbol_place_kind kind;
	bool debuginfod;   /* a server of the debuginfod protocol; else a symbol store */
	const char *where; /* as given, without surrounding blanks and quotes */
};

/* Calls `each` for every store, in order of the path; stops when it returns non-zero, and returns
 * that. 0, -ENOMEM. */
int symbol_path_parse(const char *path, int (*each)(void *ctx, const struct symbol_place *p),
	void *ctx);
