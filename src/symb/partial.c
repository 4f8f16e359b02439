/* Requests a part of a file: of a PDB only the bytes that the frames of one request need, stored or from a server; of
 * a stored Breakpad file only their functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "convert/partial.h"
#include "symb/private.h"
#include "symb/wait.h"

/* Lists the addresses of the request's frames in the module. Returns their number; 0: a part of the PDB cannot
 * answer all of these frames. */
static size_t addresses_of(const struct request *q, const struct wanted *w, uint32_t *out, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_jobs; i++) {
		const struct asked_job *job = &q->jobs[i];

		for (size_t k = 0; k < job->n_stacks; k++) {
			const struct asked_stack *s = &q->stacks[job->stacks + k];

			for (size_t f = 0; f < s->n; f++) {
				const struct asked_frame *frame = &q->frames[s->first + f];
				uint64_t offset;

				if (frame->module == NO_MODULE ||
					&q->wanted[q->refs[job->modules + frame->module]] != w)
					continue;
				if (frame->method || n == most)
					return 0;
				if (request_offset(w, frame, &offset) && offset <= UINT32_MAX)
					out[n++] = (uint32_t)offset;
			}
		}
	}
	return n;
}

bool partial_ask(struct symb *s, const struct request *q, struct wanted *w, const struct artifact *pdb,
	struct question *to)
{
	_cleanup_free_ uint32_t *addrs = calloc(PARTIAL_ADDRESSES_MOST, sizeof(*addrs));
	struct fetched f = {0};
	size_t n = 0;
	int r = addrs ? fetch_try(s->fetch, pdb, 1, FETCH_WHOLE, &f) : -ENOMEM;

	if (r == -EAGAIN || (r == 0 && f.r == 0 && f.blob))
		n = addresses_of(q, w, addrs, r == 0 ? DERIVE_WHOLE_MOST : PARTIAL_ADDRESSES_MOST);
	if (n)
		n = derive_partial(s->derive, pdb, r == 0 ? f.blob : NULL, addrs, n, question_answered, to,
			&to->partial) == 0;
	w->fetched |= n && r == -EAGAIN;
	if (r == 0)
		blob_unref(f.blob);
	return n;
}

bool partial_ask_breakpad(struct symb *s, const struct request *q, const struct wanted *w, const struct artifact *sym,
	struct blob *b, struct question *to)
{
	_cleanup_free_ uint32_t *addrs = calloc(PARTIAL_ADDRESSES_MOST, sizeof(*addrs));
	size_t n = addrs ? addresses_of(q, w, addrs, PARTIAL_ADDRESSES_MOST) : 0;

	return n && derive_partial(s->derive, sym, b, addrs, n, question_answered, to, &to->partial) == 0;
}
