/* Prints the contents of a GSYM file as text and as JSON, for `symfs gsym`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "cmd/json.h"
#include "formats/gsym/gsym.h"

/* Calls `each` for all functions, in order. It returns what is wrong with the function, or NULL. 0; -EBADMSG: a
 * function is broken, and `each` was called for the functions before it. */
typedef const char *gsym_function(void *ctx, const struct gsym *g, uint32_t i, const struct gsym_func *f);
int gsym_each_function(const struct gsym *g, gsym_function *each, void *ctx, struct err *e);

/* Prints to stdout, function by function; `demangled`: names are demangled. Returns the same values. */
int gsym_dump(const struct gsym *g, bool json, bool demangled, struct err *e);

/* Appends "name@dir/base:line < outer@…", or "-" for no frames. A frame without a file is "name", or with
 * `fields` "name@:0". 0, -ENOMEM, -EFBIG. */
int gsym_hit_text(const struct gsym_hit *hit, bool fields, struct buf *out);

/* Reads an address: hexadecimal with 0x or with a letter, else decimal. False: the word is not a number. */
bool gsym_address_of(const char *word, uint64_t *out);

/* Appends an address such as "0x1f". 0, -ENOMEM, -EFBIG. */
int gsym_address_text(uint64_t addr, struct buf *out);

/* Helpers of the files gsym-*.c. */
void gsym_add_head(struct json *j, const struct gsym *g); /* adds the form, the byte order, the base, the id, ... */
const char *gsym_id_text(const struct gsym *g, char room[static 64]); /* hexadecimal; "": the file has no id */
