/* What symfs gsym prints of a GSYM file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "gsym/gsym.h"

/* To stdout, one function after the other. -EBADMSG: broken there, what came before is printed. */
int gsym_dump_text(const struct gsym *g, struct err *e);
int gsym_dump_json(const struct gsym *g, struct err *e);
int gsym_stats(const struct gsym *g, bool json, struct err *e);

/* "name@dir/base:line < outer@…", "-" for an address in no function. A frame without a file is "name", or
 * with `fields` "name@:0". -EBADMSG. */
int gsym_frames_text(const struct gsym *g, uint64_t addr, bool fields, struct buf *out, struct err *e);

/* "0x1f". */
int gsym_address_text(uint64_t addr, struct buf *out);

/* An object with the address and a list of frames. -EBADMSG. */
struct json_object;
int gsym_frames_json(const struct gsym *g, uint64_t addr, struct json_object **out, struct err *e);
