/* Requests a part of a file: of a PDB only the bytes that the frames of one request need, stored or from a server; of
 * a stored Breakpad file only their functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "derive/convert/partial.h"
#include "symb/private.h"
#include "symb/wait.h"

/* Lists the addresses of the request's frames in the module. Returns their number; 0: a part of the PDB cannot
 * answer all of these frames. */
static size_t addresses_of(const struct symb_request *q, const struct wanted *w, uint32_t *out, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_frames; i++) {
		const struct asked_frame *f = &q->frames[i];
		uint64_t offset;

		if (f->module == SYMB_NO_MODULE || &q->wanted[f->module] != w)
			continue;
		if (f->method || n == most)
			return 0;
		if (request_offset(w, f, &offset) && offset <= UINT32_MAX)
			out[n++] = (uint32_t)offset;
	}
	return n;
}

bool partial_ask(const struct symb_request *q, struct wanted *w, const struct artifact *pdb, struct question *to)
{
	_cleanup_free_ uint32_t *addrs = calloc(PARTIAL_ADDRESSES_MOST, sizeof(*addrs));
	struct fetched f = {0};
	size_t n = 0;
	int r = addrs ? fetch_try(q->symb->fetch, pdb, 1, FETCH_WHOLE, &f) : -ENOMEM;

	if (r == -EAGAIN || (r == 0 && f.r == 0 && f.blob))
		n = addresses_of(q, w, addrs, r == 0 ? DERIVE_WHOLE_MOST : PARTIAL_ADDRESSES_MOST);
	if (n)
		n = derive_partial(q->symb->derive, pdb, r == 0 ? f.blob : NULL, addrs, n, question_answered, to,
			&to->partial) == 0;
	w->fetched |= n && r == -EAGAIN;
	if (r == 0)
		blob_unref(f.blob);
	return n;
}

bool partial_ask_breakpad(const struct symb_request *q, const struct wanted *w, const struct artifact *sym,
	struct blob *b, struct question *to)
{
	_cleanup_free_ uint32_t *addrs = calloc(PARTIAL_ADDRESSES_MOST, sizeof(*addrs));
	size_t n = addrs ? addresses_of(q, w, addrs, PARTIAL_ADDRESSES_MOST) : 0;

	return n && derive_partial(q->symb->derive, sym, b, addrs, n, question_answered, to, &to->partial) == 0;
}
