/* Fuzzes the recognizers of stacks with any text: without names the text stays as it is; with a name for each frame,
 * it only grows, and the work is bounded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "stacks/recognize/private.h"
#include "symb/private.h"
#include "unit/asked.h"

#include <stdlib.h>
#include <string.h>

static void must(bool what)
{
	if (!what)
		abort();
}

/* A Breakpad file with names that could move the cursor. */
static const char sym[] = "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 a\nFILE 0 a\\b\n"
			  "INLINE_ORIGIN 0 g\007\nFUNC 10 10 0 f\033\nINLINE 0 7 0 0 10 10\n10 10 7 0\n";

/* Gives each frame the same answer, as symb/ would. */
static struct symb_request *answer_all(struct recognized *r, struct symb *s)
{
	static struct loaded file = {.refs = 1, .form = LOADED_EXACT};
	static struct buf gsym = BUF_UP_TO(1 << 20);
	struct symb_request *q = symb_request_new(s, NULL);

	must(q && (gsym.n || asked_make(sym, sizeof(sym) - 1, NULL, 0, &gsym, &file.g) == 0));
	symb_add_module(q, &(struct module){.code_id = "01234567"}, NULL);
	symb_add_stack(q);
	symb_add_frame(q, 0, false, 0x11);
	must(q->r == 0);
	q->wanted[0].file = &file;
	file.refs++;
	must(symb_look_up(q, 0) == 2);
	for (size_t i = 0; i < r->n_frames; i++)
		if (r->frames[i].module != NO_SEEN)
			r->frames[i].ask = 0;
	return q;
}

static void check_frames(const struct recognized *r)
{
	must(r->n_frames <= RECOGNIZE_FRAMES && r->n_seen <= RECOGNIZE_MODULES);
	for (size_t i = 0; i < r->n_frames; i++) {
		const struct frame *f = &r->frames[i];

		must(f->line <= f->at && f->at + f->cut <= f->end && f->end <= r->text.n);
		must(f->module == NO_SEEN || f->module < r->n_seen);
	}
	for (uint32_t i = 0; i < recognized_modules(r); i++)
		must(!recognized_path(r, i) || recognized_path(r, i)[0]);
}

FUZZ_TARGET("recognize", p, n)
{
	_cleanup_free_ uint8_t *copy = malloc(n ? n : 1); /* that ends where the text ends */
	_cleanup_buf_ struct buf out = BUF_UP_TO(RECOGNIZE_OUT);
	struct symb s = {.limits = symb_limits_default};
	struct recognized *r = NULL;
	struct symb_request *q;

	must(copy != NULL);
	if (n)
		memcpy(copy, p, n);
	must(recognize_read(&r, (struct span){copy, n}) == 0);
	check_frames(r);
	must(recognize_write(r, NULL, false, &out) == 0 && out.n == n &&
		(!n || memcmp(buf_text(&out), copy, n) == 0));
	buf_clear(&out);
	q = answer_all(r, &s);
	must(recognize_write(r, q, true, &out) == 0);
	for (size_t i = 0; i < out.n && r->frames && r->frames[0].style == STYLE_LINE; i++)
		must(buf_text(&out)[i] != 7 || memchr(copy, 7, n));
	symb_request_free(q);
	recognized_free(r);
	return 0;
}
