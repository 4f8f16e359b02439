/* What the files that write an answer share: a buffer for JSON, and the answers to frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/private.h"

#define PATH_MOST 16384

/* The answer to a frame, in `parts`. */
struct part {
	uint32_t module; /* of the request; their number when it is of none */
	uint32_t number; /* in its stack */
	uint32_t next;	 /* of the same module; NO_PART */
	uint32_t n;
	size_t at;
};
#define NO_PART UINT32_MAX

struct writing {
	struct request *q;
	const struct symb_flags *flags;
	struct buf *out, parts;
	struct buf name; /* of a function, for people */
	struct part *part; /* by frame */
	int r; /* the first error; what follows does nothing */
	uint64_t frames, named;
	struct gsym_hit hit;
	char path[PATH_MOST];
};

/* Each adds to w->out, unless w->r says that an error came before. */
void reply_put(struct writing *w, const char *text);
void reply_string(struct writing *w, const char *text); /* in quotes */
void reply_putf(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_key(struct writing *w, const struct wanted *m); /* "FILE/ID" */

/* frames.c: the frames of all stacks into w->parts, and where each is. -ENOMEM is in w->r. */
void frames_write(struct writing *w, struct symb *s, const struct symb_api *api, uint32_t *first);
/* reply-debug.c: what the header Debug asks for. */
void reply_debug(struct writing *w, double took);
