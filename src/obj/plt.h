/* The table of imported functions (PLT) of a program: its entries have no symbols, and are named NAME@plt as gdb
 * does. Pure functions over a view. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/view.h"

struct plt {
	struct plt_entry {
		uint64_t addr; /* as the file was linked */
		uint32_t of;   /* the name in `names`; "": the address is behind the entries of a section */
	} *entry; /* sorted */
	size_t n, room;
	struct buf names;
};

/* Reads the entries of an ELF file for x86, x86-64 or arm64; those that import no symbol are left out. 0, also if the
 * file has none; -ENOMEM; -ENOMSG, -EBADMSG: not ELF, or broken; -EAGAIN, errors of the disk. */
int plt_read(struct plt *out, struct view *v);
/* The entry that has the address, which reaches to the one after it; NULL: it is in none. */
const struct plt_entry *plt_find(const struct plt *p, uint64_t addr);
const char *plt_name(const struct plt *p, const struct plt_entry *e);
void plt_release(struct plt *p);
