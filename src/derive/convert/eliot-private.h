/* What the files of eliot share: places, marks, and the tree of the FUNC under way.
 *
 * A FUNC goes through these states:
 *
 * 1. (eliot-functions.c) Its inlined calls, in any order in the file, become `nested`: sorted, and each within
 *    its caller.
 * 2. (eliot.c) Its lines and `nested` become a tree of branches. A branch is the FUNC or a call, and
 *    has lines and further calls. In the caller's branch a call is also a line: that of its call site.
 * 3. (eliot.c) The tree becomes places and marks. A place is the meaning of an address: a line in a
 *    function, and the place that the function was inlined into. A mark is the address from which a place
 *    holds. FUNCs can overlap, so the marks of all FUNCs are in one list.
 *
 * When all FUNCs and PUBLICs are in that list, (eliot-functions.c)
 *
 * 4. the marks are sorted, and one mark stays at each address: see enum how; of these, eliot_ask() leaves only some;
 * 5. each run of marks in one FUNC becomes a function of GSYM. A FUNC that another FUNC interrupts becomes
 *    several functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/grow.h"
#include "derive/convert/eliot.h"

#define NONE UINT32_MAX
#define MARK '\1'

/* A FUNC, a PUBLIC or an inlined function. `entry` is its first address; NONE: the function is inlined. */
struct function {
	uint64_t entry;
	uint32_t name;
};

/* The meaning of an address: a line in a function. `into` is the place that the function was inlined into; NONE:
 * the function was called. */
struct place {
	uint32_t function, file, line, into;
};

/* Decides which of several marks at one address stays. The marks are compared in the order in which they were
 * added. */
enum how {
	HOW_ALWAYS,  /* a line: replaces any mark before it */
	HOW_IF_FREE, /* the start of a FUNC or PUBLIC: replaces only HOW_END */
	HOW_END      /* the end of a FUNC or a call: replaces nothing */
};

/* `place` holds from `addr` to the next mark. `place` NONE: no place holds there. */
struct mark {
	uint64_t addr;
	uint32_t place;
	enum how how : 2;
	uint32_t order : 30; /* the number of the mark; for sorting, because qsort() is not stable */
};
#define MARKS_MOST (1u << 30)

/* A node of the tree: the FUNC or an inlined call. Lists of lines and children are linked by index; NONE is
 * the end. */
struct branch {
	uint64_t addr, size;
	uint32_t name;
	uint32_t first_line, last_line, first_child, last_child, next;
};

struct branch_line {
	struct eliot_line l;
	uint32_t next;
};

/* An inlined call: its code begins at `addr`, and it was called from `place`. */
struct called {
	uint64_t addr;
	uint32_t place;
};

/* Addresses of a call's lines, which hide the caller's line. */
struct covered {
	uint64_t start, end;
	uint32_t order;
};

#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n, room;                                                                    \
	}
#define ADD(list, ...) APPEND((list)->at, (list)->room, (list)->n, __VA_ARGS__) /* 0, -ENOMEM */

struct eliot {
	struct gsym_writer *w;
	uint64_t most; /* the last address, and a mask: with marks 2^32 - 1, because the service has 32 bits */
	LIST(struct function) functions;
	LIST(struct place) places;
	LIST(struct mark) marks;
	LIST(struct called) publics; /* `place` is the number of the name */
	/* of the FUNC under way */
	struct nest_list nested;
	LIST(struct branch) branches;
	LIST(struct branch_line) lines;
	LIST(struct called) calls;    /* of all levels of the tree, one level after the other */
	LIST(struct covered) covered; /* of all levels of the tree, as `calls` */
	const uint32_t *asked; /* addresses, sorted: see eliot_ask(); NULL: all addresses */
	size_t n_asked;
	bool marks_told;  /* write marks into names and files: see eliot.h */
	uint32_t no_file; /* the writer's number of the file for calls without a file */
};

static inline uint64_t end_of(uint64_t addr, uint64_t size)
{
	return addr + size < addr ? UINT64_MAX : addr + size;
}

/* Each appends to its list. 0, -ENOMEM, -EFBIG. */
static inline int eliot_add_function(struct eliot *x, uint64_t entry, uint32_t name, uint32_t *out)
{
	*out = (uint32_t)x->functions.n;
	return *out == NONE ? -EFBIG : ADD(&x->functions, (struct function){entry, name});
}

static inline int eliot_add_place(struct eliot *x, struct place p, uint32_t *out)
{
	*out = (uint32_t)x->places.n;
	return *out == NONE ? -EFBIG : ADD(&x->places, p);
}

static inline int eliot_add_mark(struct eliot *x, uint64_t addr, uint32_t place, enum how how)
{
	struct mark m = {addr, place, how, (uint32_t)x->marks.n};

	return x->marks.n == MARKS_MOST ? -EFBIG : ADD(&x->marks, m);
}

/* (eliot-functions.c) Passes all marks to the writer, as functions. 0, -ENOMEM, -EFBIG. */
int eliot_tell(struct eliot *x);
