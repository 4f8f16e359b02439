/* Answers of requests that found no file: the status for each error of fetch/, and the texts of a miss. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/upload/upload.h"

#include <inttypes.h>
#include <stdio.h>

/* 404 is only for files that are known to be missing: clients remember a 404. */
static const struct error_row {
	int error, status;
	const char *text;
} errors[] = {
	{-ENOENT, 404, "Not Found"},
	{-ETIMEDOUT, 504, "no source answered in time"},
	{-EHOSTUNREACH, 502, "a source that may have the file could not be reached"},
	{-EREMOTEIO, 502, "a source that may have the file sent an unusable reply"},
	{-EACCES, 502, "a source that may have the file denied access"},
	{-EBADMSG, 502, "a source sent a different file"},
	{-EFBIG, 502, "the file is larger than max-file-size"},
	{-ELOOP, 508, "a source leads back to this server"},
	{-EINTR, 503, "the request was cancelled"},
	{-ENOSPC, 503, "the disk of the cache is full"},
	{-ENOMEM, 503, "out of memory"},
	{-EMFILE, 503, "too many open files"},
	{0, 500, "a local error"},
};

static const struct error_row *error_row(int error)
{
	const struct error_row *row = errors;

	while (row->error && row->error != error)
		row++;
	return row;
}

/* Writes when and why the file of the path was removed. False: it was never here. */
static bool why_ended(struct exchange *x, char *out, size_t room)
{
	const struct tree_hit *hit = &x->route->hit;
	struct store_tomb t;
	char when[24];
	struct key k;

	for (unsigned i = 0; i < hit->n; i++)
		if (key_of(&k, &hit->files[i]) == 0 && store_tomb(x->space->store, &k, &t) == 0) {
			clock_print(t.when, when);
			snprintf(out, room, "%s: %s", when, t.why);
			return true;
		}
	return false;
}

static void save_missed(void *ctx)
{
	missed_save(ctx);
}

/* Counts the file for the page's list of the day. */
static void note_missed(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	struct key k;

	if (hit->n && !x->route->ignored && key_of(&k, &hit->files[0]) == 0 && missed_note(x->space->missed, &k))
		workers_post(x->h->workers, save_missed, x->space->missed);
}

const char *exchange_missing_text(const struct exchange *x)
{
	return !x->route->tecken ? "Not Found\n"
	       : x->route->ignored ? "Symbol Not Found (and ignored)" : "Symbol Not Found";
}

enum MHD_Result exchange_missing(struct exchange *x)
{
	const char *text = exchange_missing_text(x);
	enum MHD_Result result;
	char ended[400];

	misses_note(x);
	note_missed(x);
	if (page_not_found(x, &result))
		return result;
	if (!x->route->ignored && why_ended(x, ended, sizeof(ended))) {
		char both[sizeof(ended) + 64];

		snprintf(both, sizeof(both), "%s%s%s\n", text, x->route->tecken ? "\n" : "", ended);
		return exchange_text(x, 404, PLAIN, "no-cache", both);
	}
	/* The file may be added at any moment, and a further request costs little. */
	return exchange_text(x, 404, PLAIN, "no-cache", text);
}

enum MHD_Result exchange_error(struct exchange *x, const struct answer *a)
{
	const struct error_row *row = error_row(a->r);
	char text[400];

	if (row->status == 404)
		return exchange_missing(x);
	snprintf(text, sizeof(text), "%s%s%s\n", row->text, a->why[0] ? ": " : "", a->why);
	return exchange_wants_page(x) ? page_error(x, row->status, text)
		: exchange_plain(x, row->status, text);
}

/* ---- refusals ----------------------------------------------------------------------- */

enum MHD_Result exchange_refuse(struct exchange *x, int status)
{
	char json[120], room[REFUSAL_TEXT];
	const char *text = refusal_text(x, status, room);

	if (text && exchange_wants_page(x) && !x->route->api && !x->upload)
		return page_error(x, status, text);
	if (status == 403 && x->lacks)
		return exchange_plain(x, 403, text);
	if (status == 413 && x->route->api) {
		snprintf(json, sizeof(json), "{\"title\": \"please limit the size of a request to <= %"
			PRIu64 " bytes\"}", x->h->body_most);
		return exchange_text(x, 413, "application/json", "no-store", json);
	}
	if (x->upload)
		return upload_send_error(x, status, text ? text : "a local error");
	if (!text)
		return MHD_NO;
	if (!x->route->api)
		return exchange_plain(x, status, text);
	snprintf(json, sizeof(json), "{\"title\": \"%d %.*s\"}", status, (int)strcspn(text, ":\n"), text);
	return exchange_text(x, status, "application/json", "no-store", json);
}
