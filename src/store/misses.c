/* Remembered misses: which source does not have which key. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "store/session.h"

int store_miss_add(struct store *s, const struct key *k, const char *name, const char *source,
	int64_t seconds, const char *reason)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	int64_t now = clock_wall(), until;

	if (seconds <= 0)
		return 0;
	until = seconds > INT64_MAX - now ? INT64_MAX : now + seconds;
	while (session_next(&ses)) {
		ses.r = index_misses_expire(ses.ix, now);
		if (ses.r == 0)
			ses.r = index_miss_put(ses.ix, k, name, source, now, until, reason ? reason : "");
	}
	return ses.r;
}

int store_misses_asked(struct store *s, const struct store_asked *asked, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		for (unsigned i = 0; ses.r == 0 && i < n; i++) {
			char canon[KEY_TEXT];

			ses.r = index_miss_asked(ses.ix, key_canon(&asked[i].key, canon), asked[i].times);
		}
	return ses.r;
}

int64_t store_miss_until(struct store *s, const struct key *k, const char *name, const char *source)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];
	int64_t until = 0;

	key_canon(k, canon);
	while (session_next(&ses))
		ses.r = index_miss_until(ses.ix, canon, name, source, &until);
	return ses.r == 0 && until > clock_wall() ? until : 0;
}

int store_misses_clear(struct store *s, const struct key *k)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	char canon[KEY_TEXT];

	if (k)
		key_canon(k, canon);
	while (session_next(&ses))
		session_count(&ses, index_misses_drop(ses.ix, k ? canon : NULL));
	return session_counted(&ses);
}

int store_list_misses(struct store *s, int64_t *after, struct store_miss_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};
	int64_t cursor = *after;

	while (session_next(&ses)) {
		cursor = *after;
		session_count(&ses, index_list_misses(ses.ix, &cursor, clock_wall(), rows, n));
	}
	if (ses.r == 0)
		*after = cursor;
	return session_counted(&ses);
}
