/* What the files that write an answer share: the answer that is being written, and its numbers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "symb/private.h"

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

#define HEX_ROOM 24

/* Writes the digits from the end of `room` on. Returns the start of the text. */
static inline char *hex_back(bool minus, uint64_t v, char *end)
{
	end = digits_back(end, v, 16);
	*--end = 'x';
	*--end = '0';
	if (minus)
		*--end = '-';
	return end;
}

/* Writes v in hexadecimal, as Python prints it: the sign comes before the 0x. Returns the text, which is in
 * `room`. */
static inline const char *hex_text(bool minus, uint64_t v, char room[static HEX_ROOM])
{
	room[HEX_ROOM - 1] = '\0';
	return hex_back(minus, v, room + HEX_ROOM - 1);
}

/* "-0x1f" in quotes. */
static inline void reply_hex(struct writing *w, bool minus, uint64_t v)
{
	char room[HEX_ROOM], *at;

	room[HEX_ROOM - 1] = '"';
	at = hex_back(minus, v, room + HEX_ROOM - 1);
	*--at = '"';
	buf_add(w->out, at, (size_t)(room + HEX_ROOM - at));
}

static inline void reply_number(struct writing *w, uint32_t v)
{
	char room[12], *at = room + sizeof(room);

	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	buf_add(w->out, at, (size_t)(room + sizeof(room) - at));
}

/* The module of a frame, or NULL; the name of a module for people; the offset of a frame, as Python prints it, in
 * `room` or in the request. */
static inline const struct wanted *writing_wanted(const struct symb_request *q, const struct asked_frame *f)
{
	return f->module == SYMB_NO_MODULE ? NULL : &q->wanted[f->module];
}

static inline const char *writing_module(const struct wanted *w)
{
	if (w && w->file && w->file->name[0])
		return w->file->name;
	return w && w->name[0] ? w->name : "<unknown>";
}

static inline const char *writing_offset(const struct symb_request *q, const struct asked_frame *f,
	char room[static HEX_ROOM])
{
	return f->big ? q->bigs.p + f->big - 1 : hex_text(f->minus, f->offset, room);
}

/* Looks a frame up, and writes it as v4 does: "function (in module)". */
void writing_line(struct symb_request *q, size_t frame, struct buf *out);
