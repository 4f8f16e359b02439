/* Judges what a reply means: found, a miss, a refusal, or a failure. Only a reply that says that the file is
 * not there is a miss. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

static const struct status_row {
	int from, to;
	enum verdict verdict;
	int error;
	enum blame blame;
	bool again; /* a proxy in front of the server may have failed for a moment */
} statuses[] = {
	{200, 200, VERDICT_FOUND, 0, BLAME_NONE},
	/* The request had no range, so symfs cannot know which part of the file this is. */
	{206, 206, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
	{401, 401, VERDICT_REFUSED, -EACCES, BLAME_NONE},
	{403, 403, VERDICT_REFUSED, -EACCES, BLAME_NONE},
	{404, 404, VERDICT_MISSING, -ENOENT, BLAME_NONE},
	{407, 407, VERDICT_REFUSED, -EACCES, BLAME_NONE},
	{408, 408, VERDICT_LATER, -ETIMEDOUT, BLAME_SOFT, true},
	{410, 410, VERDICT_MISSING, -ENOENT, BLAME_NONE},
	{429, 429, VERDICT_LATER, -EREMOTEIO, BLAME_CHEAP},
	{451, 451, VERDICT_REFUSED, -EACCES, BLAME_NONE},
	{508, 508, VERDICT_LOOP, -ELOOP, BLAME_NONE},
	{500, 501, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
	{502, 504, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT, true},
	{505, 599, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
	/* Anything else: the server does not speak the protocol of the request. */
	{0, 999, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
};

static const struct status_row *row_of(int status)
{
	const struct status_row *row = statuses;

	while (status < row->from || status > row->to)
		row++;
	return row;
}

/* Errors of a transfer. -EHOSTUNREACH: no server was reached. -EREMOTEIO: a server was reached, but its
 * answer is useless. */
static const struct error_row {
	int from, error;
	enum blame blame;
	bool again;
} transfer_errors[] = {
	{-ETIMEDOUT, -ETIMEDOUT, BLAME_COSTLY},
	{-EHOSTUNREACH, -EHOSTUNREACH, BLAME_COSTLY}, /* a failed DNS query can also take long */
	{-EPIPE, -EREMOTEIO, BLAME_SOFT, true},
	{-ECONNRESET, -EREMOTEIO, BLAME_SOFT, true},
	{-EPROTO, -EREMOTEIO, BLAME_SOFT},
	{-EKEYREJECTED, -EACCES, BLAME_CHEAP},
	{-ENOMEM, -ENOMEM, BLAME_UNKNOWN},
	{-EMFILE, -EMFILE, BLAME_UNKNOWN},
	{-EFBIG, -EFBIG, BLAME_NONE},
	{-ELOOP, -EREMOTEIO, BLAME_NONE},
	{-EPERM, -EREMOTEIO, BLAME_NONE},
	{-EPROTONOSUPPORT, -EREMOTEIO, BLAME_NONE},
	{0, -EHOSTUNREACH, BLAME_CHEAP},
};

static void judge_error(const struct net_reply *r, struct judgement *out)
{
	const struct error_row *row = transfer_errors;

	while (row->from && row->from != r->error)
		row++;
	out->verdict = VERDICT_LATER;
	out->error = row->error;
	out->blame = row->blame;
	out->again = row->again;
	snprintf(out->text, sizeof(out->text), "%.190s", r->text[0] ? r->text : err_text(r->error));
}

void source_judge(const struct source *s, const struct net_reply *r, struct judgement *out)
{
	const struct status_row *row = row_of(r->status);

	memset(out, 0, sizeof(*out));
	if (r->error < 0) {
		judge_error(r, out);
		if (s && s->kind->judge)
			s->kind->judge(s, r, out);
		return;
	}
	/* Object stores answer 403 for a missing file when the client may not list the store. */
	if (r->status == 403 && s && s->missing_403)
		row = row_of(404);
	out->verdict = row->verdict;
	out->error = row->error;
	out->blame = row->blame;
	/* If the server names a time, symfs asks again at that time, not at once. */
	out->again = row->again && r->retry_after < 0;
	if (row->verdict == VERDICT_FOUND)
		return;
	if (r->retry_after > 0 && out->blame != BLAME_NONE) {
		/* A gateway that names a time, as symfs does, works itself: it may have other files. */
		out->blame = r->status == 502 || r->status == 504 ? BLAME_NONE : BLAME_CHEAP;
		snprintf(out->text, sizeof(out->text), "HTTP %d, ask again in %lld s", r->status,
			(long long)r->retry_after);
	} else {
		snprintf(out->text, sizeof(out->text), "HTTP %d", r->status);
	}
	if (s && s->kind->judge)
		s->kind->judge(s, r, out);
	if (row->verdict == VERDICT_LOOP)
		snprintf(out->text, sizeof(out->text),
			"HTTP 508: the source leads back to this symfs");
}
