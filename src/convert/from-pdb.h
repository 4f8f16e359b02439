/* PDBs into a writer: functions, their lines and inlined calls, and public symbols where there is nothing
 * better. Addresses are relative to the image. What each address is, is what pdb_find() says of it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "gsym/writer.h"

#include <stdbool.h>

bool pdb_file_is(struct span file); /* by its first bytes */

/* `plain`: names have no parameters. `progress` may be NULL. 0; -ENODATA: it has no symbols (of types alone);
 * -EBADMSG, -ENOTSUP, -ENOMEM; `e` says so. */
int gsym_from_pdb(struct gsym_writer *w, struct span file, bool plain,
	void (*progress)(void *ctx, unsigned part), void *ctx, struct err *e);
