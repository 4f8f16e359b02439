/* Prints the contents of a GSYM file as text and as JSON, for `symfs gsym`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "cmd/json.h"
#include "gsym/gsym.h"

/* These print to stdout, function by function. 0; -EBADMSG: a function is broken, and the functions before it
 * were printed. */
int gsym_dump_text(const struct gsym *g, struct err *e);
int gsym_dump_json(const struct gsym *g, struct err *e);

/* Appends "name@dir/base:line < outer@…", or "-" for no frames. A frame without a file is "name", or with
 * `fields` "name@:0". 0, -ENOMEM, -EFBIG. */
int gsym_hit_text(const struct gsym_hit *hit, bool fields, struct buf *out);
/* Appends the frames of an address in the format of gsym_hit_text(): "-" if no function contains the address.
 * 0, -ENOMEM, -EFBIG; -EBADMSG: the function of the address is broken. */
int gsym_frames_text(const struct gsym *g, uint64_t addr, bool fields, struct buf *out, struct err *e);

/* Reads an address: hexadecimal with 0x or with a letter, else decimal. False: the word is not a number. */
bool gsym_address_of(const char *word, uint64_t *out);

/* Appends an address such as "0x1f". 0, -ENOMEM, -EFBIG. */
int gsym_address_text(uint64_t addr, struct buf *out);

/* Adds an object with the address and a list of frames, which may be empty. */
void gsym_hit_json(const struct gsym_hit *hit, uint64_t addr, struct json *j);

/* Helpers of the files gsym-*.c. */
void gsym_add_head(struct json *j, const struct gsym *g); /* adds the form, the byte order, the base, the id, ... */
const char *gsym_id_text(const struct gsym *g, char room[static 64]); /* hexadecimal; "": the file has no id */
void gsym_file_text(const struct gsym *g, uint64_t index, char *room, size_t n); /* writes "" for no such file */
int gsym_bad_function(uint32_t i, const char *why, struct err *e); /* sets `e`; returns -EBADMSG */
