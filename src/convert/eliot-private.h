/* What the files of eliot share: places, marks, and the tree of the FUNC under way. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/grow.h"
#include "convert/eliot.h"

#define NONE UINT32_MAX
#define MARK '\1'

/* A function, or an inlined one. */
struct function {
	uint32_t entry, name;
};

/* Line of a file in a function; and where that was inlined. */
struct place {
	uint32_t function, file, line, into;
};

/* What is told of one address. Later ones count more, but not all of them: */
enum how {
	HOW_ALWAYS,  /* a line */
	HOW_IF_FREE, /* a function, a PUBLIC: not where there is a place */
	HOW_END      /* nothing, where nothing was told */
};

struct mark {
	uint32_t addr, place;
	enum how how;
	uint32_t order;
};

/* A function under way, in a tree of inlined calls. */
struct branch {
	uint64_t addr, size;
	uint32_t name;
	uint32_t first_line, last_line, first_child, last_child, next;
};

struct branch_line {
	struct eliot_line l;
	uint32_t next;
};

struct called {
	uint32_t addr, place;
};

struct covered {
	uint32_t start, end, order;
};

#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n, room;                                                                    \
	}
#define MORE(list) grow(&(list)->at, &(list)->room, (list)->n, sizeof(*(list)->at))

struct eliot {
	struct gsym_writer *w;
	LIST(struct function) functions;
	LIST(struct place) places;
	LIST(struct mark) marks;
	LIST(struct called) publics; /* `place` is the name */
	/* of the function under way */
	struct nest_list nested;
	LIST(struct branch) branches;
	LIST(struct branch_line) lines;
	LIST(struct called) calls;    /* of all levels, one behind the other */
	LIST(struct covered) covered; /* likewise */
	bool marks_told;  /* names and files say more than names */
	uint32_t no_file; /* for calls without a file */
};

static inline uint64_t end_of(uint64_t addr, uint64_t size)
{
	return addr + size < addr ? UINT64_MAX : addr + size;
}

/* (eliot-lists.c) Each appends to its list. -ENOMEM, -EFBIG. */
int eliot_add_function(struct eliot *x, uint32_t entry, uint32_t name, uint32_t *out);
int eliot_add_place(struct eliot *x, struct place p, uint32_t *out);
int eliot_add_mark(struct eliot *x, uint32_t addr, uint32_t place, enum how how);

/* (eliot-tree.c) The tree of a FUNC, in x->branches and x->lines, of x->nested and of its lines, which it
 * sorts. -ENOMEM. */
int eliot_grow_tree(struct eliot *x, const struct eliot_func *f);
/* (eliot-marks.c) From that tree to places and marks. -ENOMEM, -EFBIG. */
int eliot_mark_tree(struct eliot *x);
/* (eliot-functions.c) All marks to the writer, as functions. -ENOMEM, -EFBIG. */
int eliot_tell(struct eliot *x);
