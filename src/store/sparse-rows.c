/* The index rows of sparse files: compares them with the files on disk, and changes them. The caller holds the
 * write lock. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sparse-rows.h"
#include "base/util.h"
#include "store/sparse-file.h"

#include <string.h>

int sparses_sweep(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes;
	int r;

	while ((r = index_sparse_next(ix, row.id, &row)) == 0) {
		if (!sparse_file_is_sound(s, row.name, row.validator.size, &bytes))
			r = index_sparse_drop(ix, row.name);
		else if (bytes > row.allocated)
			r = index_sparse_grew(ix, row.name, row.present, bytes, row.used);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

uint64_t sparses_uncommitted(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes, n = 0;

	while (index_sparse_next(ix, row.id, &row) == 0)
		if (sparse_file_is_sound(s, row.name, row.validator.size, &bytes) && bytes > row.allocated)
			n += bytes - row.allocated;
	return n;
}

int sparse_forget(struct index *ix, const char *canon, char name[static 17])
{
	struct store_sparse_row row;
	int r = index_sparse_get(ix, canon, &row);

	name[0] = '\0';
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	memcpy(name, row.name, sizeof(row.name));
	return index_sparse_drop(ix, row.name);
}
