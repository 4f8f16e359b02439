/* What the readers of Breakpad files share: the file that is being read. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-breakpad-text.h"
#include "derive/convert/from-breakpad.h"

/* symbolic decodes this many bytes as UTF-8 before it looks for the MODULE line. */
#define HEADER_BYTES 320

/* Maps the numbers of FILE and INLINE_ORIGIN records, which may have gaps, to numbers of the writer. */
struct numbers {
	struct {
		uint64_t key;
		uint32_t value, old; /* `old`: an INLINE_ORIGIN's name in the syntax of 2020, see
					without_old_file() */
		bool used;
	} *slot;
	size_t room, n;
};

enum place { AT_START, OUTSIDE, IN_FUNC, AFTER_BAD_FUNC, AT_END };

struct breakpad {
	struct gsym_writer *w;
	struct eliot *eliot;
	bool strict, marks;
	enum place place;
	bool in_head; /* only MODULE, INFO and FILE lines came so far */
	struct breakpad_counts counts;
	struct numbers files, origins;
	struct buf half; /* a line whose end has not come yet */
	bool too_long;	 /* the line in `half` is longer than a line may be */
	char header[HEADER_BYTES + 1];
	size_t n_header;

	/* the FUNC under way */
	struct eliot_func func;
	size_t lines_room;
	struct text func_name; /* after breakpad_ask(): not passed to the writer yet; p NULL: func.name is set */
	bool asks;	       /* breakpad_ask() was called */
	struct nest_queue calls;

	bool id_from_code;
	uint32_t module; /* the name of the program; 0: unknown */
	bool module_sought, no_line_end;
};

enum breakpad_record {
	RECORD_FILE, RECORD_ORIGIN, RECORD_FUNC, RECORD_INLINE, RECORD_PUBLIC, RECORD_MODULE, RECORD_INFO
};

/* Each takes the text after the first word, and accepts what symbolic accepts. 0; -EBADMSG: the text does not fit the
 * first word; -ENOMEM, -EFBIG. */
int breakpad_read(struct breakpad *b, enum breakpad_record kind, struct text t);
int breakpad_read_line(struct breakpad *b, struct text t);

/* Passes the name of the FUNC to the writer, unless it was passed already. */
void breakpad_name_func(struct breakpad *b);
