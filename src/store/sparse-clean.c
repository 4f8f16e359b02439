/* Removes sparse files that no row names, and rows whose file is gone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "store/session.h"
#include "store/sparse-file.h"
#include "store/sparse.h"

#include <dirent.h>
#include <fcntl.h>

static bool has_row(struct store *s, const char *name)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct store_sparse_row row;

	while (session_next(&ses))
		ses.r = index_sparse_find_name(ses.ix, name, &row);
	return ses.r != -ENOENT; /* on any other error the file stays */
}

int store_list_sparse(struct store *s, int64_t after, struct store_sparse_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_sparse_list(ses.ix, after, rows, n));
	return session_counted(&ses);
}

/* Whether a row has no file, or a file of another size. A process leaves such a row when it is killed after
 * it removed or published the file, and before it dropped the row. */
static bool has_unsound_row(struct store *s)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes;

	while (store_list_sparse(s, row.id, &row, 1) > 0)
		if (!sparse_file_is_sound(s, row.name, row.validator.size, &bytes))
			return true;
	return false;
}

static void sweep_rows(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};

	while (session_next(&ses))
		ses.r = sparses_sweep(s, ses.ix);
}

void sparses_clean(struct store *s)
{
	int fd = openat(s->dirfd, "sparse", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned n = 0;

	if (has_unsound_row(s))
		sweep_rows(s);
	while (d && (entry = readdir(d)))
		n += sparse_file_is_name(entry->d_name) && sparse_file_remove_orphan(s, entry->d_name, has_row);
	if (n)
		log_debug(LOG_STORE, "%s: removed %u sparse files that no row names", s->dir, n);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}
