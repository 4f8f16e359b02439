/* The queue of files that a team's bucket does not have yet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/outbox.h"
#include "base/clock.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>

int store_outbox_open(struct store *s, const char *bucket)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};

	while (session_next(&ses))
		ses.r = index_outbox_begin(ses.ix, bucket, clock_wall());
	return ses.r;
}

int store_outbox_next(struct store *s, int64_t after, struct outbox_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_outbox_next(ses.ix, clock_wall(), after, rows, n));
	return session_counted(&ses);
}

int store_outbox_keys(struct store *s, const struct outbox_row *row,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		ses.r = index_keys_of_object(ses.ix, row->object, each, ctx);
	return ses.r;
}

int store_outbox_done(struct store *s, const struct outbox_row *row)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};

	while (session_next(&ses))
		ses.r = index_outbox_done(ses.ix, row);
	return ses.r;
}

bool store_outbox_lists(struct store *s, const struct outbox_row *row)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_outbox_lists(ses.ix, row->object));
	return session_counted(&ses) != 0; /* also after an error */
}

int store_outbox_later(struct store *s, const struct outbox_row *row, int64_t seconds)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		ses.r = index_outbox_later(ses.ix, row, clock_wall() + seconds);
	return ses.r;
}

int store_outbox_keep(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	uint64_t most = s->quota ? s->quota / 2 : INT64_MAX;

	while (session_next(&ses))
		ses.r = index_outbox_keep(ses.ix, clock_wall(), most);
	return ses.r;
}

bool store_outbox_has(struct store *s, const struct key *k)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];

	store_canon(s, k, canon);
	while (session_next(&ses))
		session_count(&ses, index_outbox_has(ses.ix, canon));
	return session_counted(&ses) != 0;
}

int store_outbox_add(struct store *s, const struct key *k)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	char canon[KEY_TEXT];

	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = index_outbox_add(ses.ix, canon, clock_wall());
	return ses.r;
}

bool store_outgone_has(struct store *s, const char *canon)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_outgone_has(ses.ix, canon));
	return session_counted(&ses) != 0; /* also after an error */
}

int store_outbox_count(struct store *s, struct outbox_totals *out)
{
	_cleanup_session_ struct session ses = {.s = s};

	memset(out, 0, sizeof(*out));
	while (session_next(&ses))
		ses.r = index_outbox_count(ses.ix, out);
	return ses.r == -ENOTSUP ? 0 : ses.r;
}

int store_outbox_read(struct store *s, const struct outbox_row *row, int *fd)
{
	struct stat st;
	int r = dir_sha256_ok(row->sha256) ? dir_blob_open(s->dirfd, row->sha256, fd, &st) : -ENOENT;

	if (r == 0 && (uint64_t)st.st_size != row->size) {
		close(*fd);
		return -ENOENT;
	}
	return r;
}

int store_outgone_next(struct store *s, const char *after, struct outgone_row *out)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		ses.r = index_outgone_next(ses.ix, clock_wall(), after, out);
	return ses.r;
}

int store_outgone_done(struct store *s, const struct outgone_row *row)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		ses.r = index_outgone_done(ses.ix, row);
	return ses.r;
}

int store_outgone_later(struct store *s, const struct outgone_row *row, int64_t due)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		ses.r = index_outgone_later(ses.ix, row, due);
	return ses.r;
}

int store_uses_next(struct store *s, struct use_row *out)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		ses.r = index_uses_next(ses.ix, out);
	return ses.r;
}

int store_uses_done(struct store *s, const struct use_row *row)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		ses.r = index_uses_done(ses.ix, row);
	return ses.r;
}
