/* Requests for generated files: a bundle's Info.plist, and .meta. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/bundle.h"
#include "base/util.h"
#include "http/private.h"

#define TEXT_MOST (64 << 10)

/* .meta describes the content of the file; Info.plist only needs the file to exist. */
static const enum fetch_need *need_for(enum tree_told told)
{
	static const enum fetch_need exists = FETCH_EXISTS, whole = FETCH_WHOLE;

	return told == TOLD_META ? &whole : &exists;
}

static const struct artifact *asked_for(const struct tree_hit *hit, const struct key *k)
{
	for (unsigned i = 0; i < hit->n; i++)
		if (hit->files[i].type == k->type)
			return &hit->files[i];
	return &hit->files[0];
}

static enum MHD_Result generated_reply(struct exchange *x)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(TEXT_MOST), text = BUF_UP_TO(TEXT_MOST);
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {.key = x->answer.key, .blob = x->answer.blob, .why = ""};
	int r = x->answer.r;

	if (r == 0)
		r = bundle_write(x->space->fetch, hit->told, asked_for(hit, &f.key), &f, &path, &text);
	if (r < 0) {
		x->answer.r = r;
		return exchange_error(x, &x->answer);
	}
	/* Not cached: the text contains the name of the file, which may become known later. */
	return exchange_buf(x, 200,
		hit->told == TOLD_META ? "application/json" : "text/xml; charset=utf-8", "no-cache", &text);
}

enum MHD_Result generated_handle(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	const enum fetch_need *need = need_for(hit->told);
	struct fetched f = {0};
	int r;

	if (x->step == STEP_ANSWER)
		return generated_reply(x);
	hops_pass_on(x);
	r = fetch_try(x->space->fetch, hit->files, hit->n, *need, &f);
	if (r == -EAGAIN)
		return exchange_wait(x, STEP_ANSWER, hit->files, hit->n, need);
	exchange_answered(x, STEP_ANSWER, r, &f);
	return generated_reply(x);
}
