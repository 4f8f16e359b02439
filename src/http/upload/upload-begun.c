/* The table of uploads between their requests. It is in memory, and its files are drafts of the store. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/upload/upload-begun.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "intake/upload/sym-upload.h"

#include <string.h>

#define KEPT_MOST 256	  /* of BEGUN_MOST, those with a file here. One token has half of both at most */
#define BEGUN_MS (3600u * 1000) /* how long one may last */

/* Frees an entry. Under begun_lock; the caller gets its file, for release(). */
static struct upload_file clear(struct begun *p)
{
	struct upload_file was = p->body;

	memset(p, 0, sizeof(*p));
	return was;
}

static void release(struct upload_file *was)
{
	draft_discard(was->draft);
	if (was->keep && was->fd >= 0)
		close(was->fd);
}

bool begun_sweep(struct uploads *u, bool all)
{
	struct upload_file over;
	uint64_t now;
	bool left;

	do {
		left = over.keep = false;
		pthread_mutex_lock(&u->begun_lock);
		now = clock_ms(); /* under the lock, so that no upload began later */
		for (unsigned i = 0; i < BEGUN_MOST && !over.keep; i++) {
			struct begun *p = &u->begun[i];

			left |= p->body.keep;
			if (p->body.keep && (all || (!atomic_load(&p->busy) && now - p->since >= BEGUN_MS)))
				over = clear(p);
		}
		pthread_mutex_unlock(&u->begun_lock);
		if (over.keep)
			release(&over);
	} while (over.keep);
	return left;
}

static bool is_owner(const struct exchange *x, const struct begun *p)
{
	return p->space == x->space && p->known == x->known && strcmp(p->token.name, x->token.name) == 0;
}

/* Whether n more uploads fit, or with `kept` n more files. Under begun_lock. */
static bool fits(struct exchange *x, bool kept, unsigned n)
{
	unsigned most = kept ? KEPT_MOST : BEGUN_MOST, all = n, own = n;

	for (unsigned i = 0; i < BEGUN_MOST; i++) {
		const struct begun *p = &x->h->uploads->begun[i];

		all += kept ? p->kept : p->body.keep;
		own += (kept ? p->kept : p->body.keep) && is_owner(x, p);
	}
	if (all <= most && own <= most / 2)
		return true;
	upload_refuse(x, 503, "too many uploads were begun and are not complete; try again later");
	return false;
}

static bool is_sent(const struct tecken_file *f)
{
	return !f->error && !f->here;
}

int begun_add(struct exchange *x, struct tecken_file *files, unsigned n, const struct upload_ops *bytes)
{
	struct begun *p = x->h->uploads->begun;
	bool sym = n && !files->name[0];
	unsigned sent = 0;

	begun_sweep(x->h->uploads, false);
	LOCK_SCOPE(&x->h->uploads->begun_lock);
	for (unsigned i = 0; i < n; i++)
		sent += is_sent(&files[i]);
	if (!fits(x, false, sent) || (sym && !fits(x, true, sent)))
		return x->upload->status;
	for (unsigned i = 0; i < n; i++) {
		if (!is_sent(&files[i]))
			continue;
		while (p->file.upload[0])
			p++;
		if (hex_random(16, files[i].upload) < 0) /* the earlier files end with their time */
			return upload_refuse_errno(x, -EIO, NULL);
		*p = (struct begun){.file = files[i], .bytes = bytes, .since = clock_ms(), .space = x->space,
			.token = x->token, .known = x->known, .kept = sym, .body = {.fd = -1, .keep = true}};
	}
	return 0;
}

/* Under begun_lock. NULL: no upload has the key of the request's path; refused. */
static struct begun *find_asked(struct exchange *x)
{
	struct begun *p = x->h->uploads->begun, *end = p + BEGUN_MOST;
	struct sym_upload_path path;

	sym_upload_parse(x->route->path, &path);
	while (p < end && (!path.key[0] || strcmp(p->file.upload, path.key) != 0))
		p++;
	if (p == end)
		upload_refuse(x, 404, "no such upload, or it is over");
	return p == end ? NULL : p;
}

int begun_admit(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->begun_lock);
	struct begun *p = find_asked(x);

	if (!p)
		return 404;
	x->space = p->space;
	x->token = p->token;
	x->known = p->known;
	x->upload->ops = p->bytes ? p->bytes : x->upload->ops;
	return rights_still(x) ? 0 : upload_refuse(x, 401, "the token that began this upload has ended");
}

struct begun *begun_take(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->begun_lock);
	struct begun *p = find_asked(x);

	if (p && !is_owner(x, p))
		upload_refuse(x, 404, "no such upload, or it is over");
	else if (p && atomic_exchange(&p->busy, true))
		upload_refuse(x, 503, "another request completes this upload now; try again later");
	else
		return p;
	return NULL;
}

void begun_end(struct exchange *x, struct begun *p, int status)
{
	struct upload_file was;

	if (status == 503 || status == 507) {
		atomic_store(&p->busy, false);
		return;
	}
	pthread_mutex_lock(&x->h->uploads->begun_lock);
	was = clear(p);
	pthread_mutex_unlock(&x->h->uploads->begun_lock);
	release(&was);
}

int begun_draft(struct exchange *x, struct begun *p)
{
	struct err e = {0};
	int r;

	pthread_mutex_lock(&x->h->uploads->begun_lock);
	p->kept = p->kept || fits(x, true, 1);
	pthread_mutex_unlock(&x->h->uploads->begun_lock);
	if (!p->kept)
		return x->upload->status;
	r = draft_new(&p->body.draft, x->space->store, &e);
	return r < 0 ? upload_refuse_errno(x, r, e.text) : 0;
}
