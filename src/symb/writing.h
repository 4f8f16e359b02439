/* Helpers of the files that write an answer: a buffer for JSON, and the answers to frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/private.h"

#define PATH_MOST 16384

/* The answer to one frame: its place in writing.parts, and the frame's place in the list of its module. */
struct part {
	uint32_t module; /* index into the request's modules; their number if the frame has no module */
	uint32_t number; /* index of the frame in its stack */
	uint32_t next;	 /* the next frame of the same module; NO_PART: this is the last */
	uint32_t n;
	size_t at;	 /* the answer is bytes [at, at + n) of writing.parts */
};
#define NO_PART UINT32_MAX

struct writing {
	struct request *q;
	const struct symb_flags *flags;
	struct buf *out, parts;
	struct buf name; /* a demangled function name */
	struct part *part; /* one for each frame of the request, in the same order */
	int r; /* the first error, after which calls do nothing; 0: no error */
	uint64_t frames, named;
	struct gsym_hit hit;
	char path[PATH_MOST];
};

/* Each adds to w->out, unless w->r says that an error came before. */
void reply_put(struct writing *w, const char *text);
void reply_string(struct writing *w, const char *text); /* in quotes */
void reply_putf(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_key(struct writing *w, const struct wanted *m); /* "FILE/ID" of a module */

/* frames.c: writes the frames of all stacks into w->parts, and their positions into w->part. An error goes
 * into w->r. `first` has room for one more entry than the request has modules. */
void frames_write(struct writing *w, struct symb *s, const struct symb_api *api, uint32_t *first);
/* reply-debug.c: writes what the header Debug asks for. `took`: seconds until the modules were ready. */
void reply_debug(struct writing *w, double took);
