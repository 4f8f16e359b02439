/* Recognizes stacks in text that people paste: backtraces of debuggers, reports of sanitizers, crash reports. Writes
 * the same text with names put in. A recognizer is one file and one row of read.c. Used by one thread at a time;
 * functions that wait say so. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "symb/symb.h"

#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct recognized;

#define RECOGNIZE_MOST (64u << 20) /* bytes of a text */
#define RECOGNIZE_LINE (64u << 10) /* bytes of a line; a longer line stays as it is */
#define RECOGNIZE_FRAMES 100000u   /* frames in one text; further frames stay as they are */
#define RECOGNIZE_MODULES 4096u    /* modules in one text */
#define RECOGNIZE_ID 129	   /* room for a build id as text */
#define RECOGNIZE_OUT ((size_t)1 << 30) /* a limit of the text with names that no text needs */

/* Reads a text, whose bytes must stay in place until recognized_free(). 0, -ENOMEM; -EFBIG: more than
 * RECOGNIZE_MOST bytes. */
int recognize_read(struct recognized **out, struct span text);
void recognized_free(struct recognized *r); /* NULL is fine */

/* The number of frames that were recognized. */
size_t recognized_frames(const struct recognized *r);

/* The path of module `i` if a file there can be the module; NULL: there is no such file, because the text says that
 * it was deleted, or has no path, or no frame needs it. */
uint32_t recognized_modules(const struct recognized *r);
const char *recognized_path(const struct recognized *r, uint32_t i);
/* The path of module `i` if its frames cannot be named, because neither the text nor a file at the path has its id;
 * NULL: they can, or no frame needs the module. */
const char *recognized_unknown(const struct recognized *r, uint32_t i);
/* The caller found this file at the path of module `i`. If the text has no id of the module, the file's id is taken,
 * and the module's frames are marked `[unverified]`. 0: the file is used, `id` is its build id ("": a program for
 * Windows), `debug` says whether it has debug information; -ESTALE: the text has another id; -ENODATA: the file
 * has no build id, or is a Mach-O file; errors of obj_identify(). */
int recognize_file(struct recognized *r, uint32_t i, int fd, uint64_t size, char id[static RECOGNIZE_ID],
	bool *debug);

/* Asks for the names, and adds the text with names to `out`. Needs a module's program to convert some forms of
 * addresses; `fetch` gets it. (waits for files) 0; errors of symb_load() and of `out`, with the reason in `e`. */
int recognize_name(struct recognized *r, struct symb *s, struct fetch *f, const struct symb_flags *flags,
	struct buf *out, struct err *e);

/* Adds the text to `out`, with the names that the request of recognize_name() found; NULL: without names. `demangle`:
 * mangled names in the rest of the text are demangled, too, unless it is JSON. 0, -ENOMEM, -EFBIG. */
int recognize_write(const struct recognized *r, struct symb_request *names, bool demangle, struct buf *out);
