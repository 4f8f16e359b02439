/* Looks in the team's bucket for a file that another server made (GSYM), before derive/ makes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "bucket/made.h"
#include "fetch/fetch-private.h"

#include <stdio.h>

/* Informs the breaker, so that a bucket that does not answer delays few conversions. */
static void tell(struct fetch *f, const struct source *s, const struct net_reply *reply, int r)
{
	struct judgement j;

	if (r == -EINTR || (!reply->status && !reply->error)) {
		breaker_unheard(f->breakers, s->origin);
		return;
	}
	source_judge(s, reply, &j);
	breaker_tell(f->breakers, s->origin, clock_ms(), &j, 0);
}

static int look(struct fetch *f, struct sources *so, const struct key *k, const char *url, atomic_bool *stop,
	struct draft *d)
{
	const struct source *s = bucket_find(so);
	struct net_reply reply;
	uint8_t head[OBJ_HEAD];
	ssize_t n;
	char why[240];
	int r;

	if (!breaker_may(f->breakers, s->origin, clock_ms(), why))
		return -ENOENT;
	r = bucket_get_made(f->net, so, k, url, f->opts.max_file_size, d, stop, &reply);
	tell(f, s, &reply, r);
	if (r < 0)
		return r;
	n = pread(draft_fd(d), head, sizeof(head), 0);
	return n > 0 && obj_may_be(k->type, head, (size_t)n) ? 0 : -EBADMSG;
}

int fetch_made(struct fetch *f, const struct key *k, const char *url, atomic_bool *stop, struct blob **out)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	const struct source *s = bucket_find(so);
	struct blob_facts facts = {.verified = true, .fetched = clock_wall()};
	char room[KEY_TEXT];
	struct draft *d = NULL;
	int r = s ? draft_new(&d, f->store, NULL) : -ENOENT;

	if (r == 0)
		r = look(f, so, k, url, stop, d);
	if (r == 0) {
		snprintf(facts.source, sizeof(facts.source), "%s", s->name);
		snprintf(facts.url, sizeof(facts.url), "%s", url);
		r = store_publish(f->store, take(d), k, &facts, out, NULL);
	}
	if (r == 0)
		log_debug(LOG_FETCH, "%s: from the bucket", key_text(k, room));
	else if (r == -EBADMSG)
		log_warn("%s: the bucket has a wrong file; it is made here", key_text(k, room));
	draft_discard(d);
	return r;
}
