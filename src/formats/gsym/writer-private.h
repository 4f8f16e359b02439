/* Shared by the files of the writer: functions as they were added. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/gsym/texts.h"
#include "formats/gsym/writer.h"

#include <pthread.h>

struct row {
	uint32_t at, file, line; /* `at` from the start of the function */
};

struct range {
	uint32_t at, size; /* from the start of the function */
};

struct node {
	uint32_t name, call_file, call_line, depth, n_ranges;
};

struct entry {
	const struct gsym_writer *of; /* has the rows, nodes and ranges */
	uint64_t addr;
	uint32_t size, name;
	size_t rows, nodes, ranges; /* indices of the first row, node and range */
	uint32_t n_rows, n_nodes, n_ranges;
	enum gsym_rank rank;
	uint32_t order;
	bool preferred; /* gsym_prefer() */
};

struct gsym_writer {
	struct gsym_writer *main; /* the writer with the texts and files: itself, or the one that it was split from */
	struct gsym_writer *next; /* the next writer that was split from `main` */
	pthread_mutex_t lock;	  /* of main: texts, files, unnamed, next */
	struct texts texts;
	struct texts files; /* as texts_pair() reads them */
	struct entry *entries;
	size_t n_entries, entries_room;
	struct row *rows;
	size_t n_rows, rows_room;
	struct node *nodes;
	size_t n_nodes, nodes_room;
	struct range *ranges;
	size_t n_ranges, ranges_room;
	struct entry now; /* the function between gsym_begin() and gsym_end(); `of` is NULL outside of these calls,
			     and for a function that is dropped */
	struct {
		size_t node, ranges;
	} open[GSYM_DEPTH_MOST]; /* by depth: the parent of the next, deeper call */
	uint32_t unnamed; /* the name of gsym_no_name(); 0: not made yet */
	uint32_t order; /* of the functions that are added now: gsym_set_order() */
	unsigned skip;	  /* calls deeper than this are children of a dropped call; 0: no call was dropped */
	struct span shared;
	uint64_t base, shift;
	bool has_base, shorten;
	bool last; /* the next gsym_write() is the last use */
	int r;	   /* the first error */
	uint8_t id[GSYM_ID_MOST];
	size_t id_len;
};
