/* Writes the unwind tables of a program as STACK CFI records, and those of a PDB as STACK WIN records. One thread.
 * The bytes are hostile, and libdwarf reads them, so only the program `frames` calls this, in its sandbox, and
 * tests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "formats/unwind/text.h"

/* Passes the text to pass(), in parts. *counts is set also on errors. 0; -ENODATA: the file has no unwind tables;
 * -ENOTSUP: the records have no names for the registers of its processor; -ENOMSG: it is no program; -EBADMSG: its
 * tables are broken; -ENOMEM; -EFBIG; errors of pass(). */
int frames_convert(struct span file, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e);
