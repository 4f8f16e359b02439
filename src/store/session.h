/* A session with the index: to read it, or to change the store under its write lock. At any time only one
 * thread, of all processes, has the write lock; readers wait for no lock. Both kinds of session recover
 * from a damaged index:
 *
 *	_cleanup_session_ struct session ses = {.s = s, .write = true};
 *	while (session_next(&ses))
 *		ses.r = index_...(ses.ix, ...);
 *	return ses.r;
 *
 * If the body sets ses.r to -EUCLEAN, the index is rebuilt, and the body runs once more. If the store's
 * directory was removed, or its path leads to another directory, the directory at that path is opened or
 * made first. As long as this fails, each session fails with -EIO. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

struct session {
	struct store *s;
	bool write;	  /* the write lock is held in the body */
	bool whole;	  /* the body is a transaction, which ends with it; if ses.r is not 0, nothing is changed */
	struct index *ix; /* set while the body runs */
	int r;
	int count; /* session_count() */

	/* session.c only */
	unsigned tries;
	bool held;
};

bool session_next(struct session *ses);
void session_end(struct session *ses);
#define _cleanup_session_ __attribute__((cleanup(session_end)))

/* For a body that calls a function which returns a number or -errno. session_counted() is the result of the
 * session: the number or -errno. */
static inline void session_count(struct session *ses, int n)
{
	ses->count = n;
	ses->r = n < 0 ? n : 0;
}
static inline int session_counted(const struct session *ses)
{
	return ses->r < 0 ? ses->r : ses->count;
}

/* now.c: looks at the clocks, and keeps what they say. The caller holds the write lock. 0, -errno. */
int now_look(struct session *ses);

/* Settles every intent. The caller holds the write lock, and has no transaction open. 0, -errno. */
int session_settle(struct session *ses);

/* Opens the index of a new handle, and makes or rebuilds the index if necessary. */
int session_first(struct store *s, struct err *e);

/* Notes a use of an artifact, or, with `broken`, that its file is gone or has another size. Writes the noted uses if
 * they are due, and no other thread or process is writing. Never waits. */
void session_note_use(struct store *s, const struct index_hit *h, bool broken);
