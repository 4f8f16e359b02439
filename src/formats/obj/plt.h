/* The table of imported functions (PLT) of an ELF program for x86, x86-64 or arm64: its entries have no symbols, and
 * are named NAME@plt as gdb does. Pure functions over a view. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

#define PLT_NAME 4096

/* Finds the entry that has the address, as the file was linked: where it begins, and its name. `*budget`: the bytes
 * of headers and relocations that may still be read. 1; 0: there is no such entry, or the budget is spent; -ENOMSG,
 * -EBADMSG: not ELF, or broken; -EAGAIN, errors of the disk. */
int plt_find(struct view *v, uint64_t addr, uint64_t *budget, uint64_t *start, char name[static PLT_NAME]);
