/* Helpers of the files that write an answer: a buffer for JSON, and the answers to frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/jtext.h"
#include "symb/form.h"
#include "symb/private.h"

#include <string.h>

/* The answer to one frame: its place in writing.parts, and the frame's place in the list of its module. */
struct part {
	uint32_t number; /* index of the frame in its stack */
	uint32_t next;	 /* the next frame of the same module; NO_PART: this is the last */
	uint32_t n;
	size_t at;	 /* the answer is bytes [at, at + n) of writing.parts */
};
#define NO_PART UINT32_MAX
#define PART_BETWEEN ", " /* follows each answer in writing.parts */

struct writing {
	struct symb_request *q;
	struct buf *out, parts; /* out->r: the first error, also -EAGAIN; later calls do nothing */
	struct part *part; /* one for each frame of the request, in the same order */
	uint64_t until; /* clock_own() after which the look-ups end with -EAGAIN; 0: never */
};

/* Each adds to w->out. */
static inline void reply_put(struct writing *w, const char *text)
{
	struct buf *b = w->out;
	size_t n = strlen(text);

	if (!buf_fits(b, n)) {
		buf_add(b, text, n);
		return;
	}
	memcpy(b->p + b->n, text, n); /* n is a constant for most callers */
	b->n += n;
	b->p[b->n] = '\0';
}
void reply_hex(struct writing *w, bool minus, uint64_t v); /* "-0x1f" in quotes */
void reply_number(struct writing *w, uint32_t v);
void reply_string(struct writing *w, const char *text); /* in quotes */
void reply_quoted(struct writing *w, const struct buf *text); /* the same; takes over the error of `text` */
void reply_putf(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_key(struct writing *w, const struct wanted *m); /* "FILE/ID" of a module */

/* Writes v in hexadecimal, as Python prints it: the sign comes before the 0x. Returns the text, which is in
 * `room`. */
#define HEX_ROOM 24
const char *hex_text(bool minus, uint64_t v, char room[static HEX_ROOM]);

/* The module of a frame, or NULL; the name of a module for people; the offset of a frame, as Python prints it, in
 * `room` or in the request. */
const struct wanted *writing_wanted(const struct symb_request *q, const struct asked_frame *f);
const char *writing_module(const struct wanted *w);
const char *writing_offset(const struct symb_request *q, const struct asked_frame *f, char room[static HEX_ROOM]);
/* Looks a frame up, and writes it as v4 does: "function (in module)". */
void writing_line(struct symb_request *q, size_t frame, struct buf *out);
