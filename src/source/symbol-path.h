/* The symbol path of Microsoft's debuggers (_NT_SYMBOL_PATH), taken apart: elements between
 * semicolons, each a directory, or a word and stores between asterisks:
 *	srv*DIR*DIR*URL	  a chain of stores: from the nearest to the one that has everything
 *	symsrv*DLL*…	  the same; the DLL is the debugger's own business
 *	srv*		  the default: their cache and Microsoft's public server
 *	cache*DIR	  a store that their debuggers fill
 *	DebugInfoD*URL*…  servers of the debuginfod protocol
 * Nothing is looked up and nothing is written: the words alone. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

enum symbol_place_kind {
	SYMBOL_DIR,	/* an absolute path of this system */
	SYMBOL_URL,	/* http, https or file */
	SYMBOL_DEFAULT, /* Microsoft's public server; `where` is "" */
	SYMBOL_SHARE,	/* \\server\share: not available on this system */
	SYMBOL_DRIVE,	/* C:\symbols: neither */
	SYMBOL_NONSENSE /* nor is it anything else, a relative path for one */
};

struct symbol_place {
	enum symbol_place_kind kind;
	bool debuginfod;   /* a server of that protocol; else a symbol store */
	const char *where; /* as given, without blanks and quotes around it */
};

/* Calls `each` for every store, in order of the path; stops when it returns non-zero, and returns
 * that. 0, -ENOMEM. */
int symbol_path_parse(const char *path, int (*each)(void *ctx, const struct symbol_place *p),
	void *ctx);
