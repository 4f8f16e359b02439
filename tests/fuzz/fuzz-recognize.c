/* Fuzzes the recognizers of stacks with any text: without names the text stays as it is; with a name for each frame,
 * it only grows, and the work is bounded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "recognize/private.h"

#include <stdlib.h>
#include <string.h>

static void must(bool what)
{
	if (!what)
		abort();
}

/* Gives each frame the same answer, as symb/ would. */
static void answer_all(struct recognized *r)
{
	static const char reply[] = "{\"function\": \"f\\u001b\", \"function_offset\": \"0x1\", \"file\": "
		"\"a\\\\b\", \"line\": 7,"
		" \"inlines\": [{\"function\": \"g\\u0007\"}]}";

	must(jtext_read(&r->j, span_text(reply), 100, NULL) == 0);
	r->asked = calloc(1, sizeof(*r->asked));
	r->answer = calloc(1, sizeof(*r->answer));
	must(r->asked && r->answer && r->j.n > 1);
	for (size_t i = 0; i < r->n_frames; i++)
		if (r->frames[i].module != NO_SEEN) {
			r->asked[0].module = r->frames[i].module;
			r->frames[i].ask = 0;
		}
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
	struct recognized *r = NULL;

	must(copy != NULL);
	if (n)
		memcpy(copy, p, n);
	must(recognize_read(&r, (struct span){copy, n}) == 0);
	check_frames(r);
	must(recognize_write(r, false, &out) == 0 && out.n == n && (!n || memcmp(buf_text(&out), copy, n) == 0));
	buf_clear(&out);
	answer_all(r);
	must(recognize_write(r, true, &out) == 0);
	for (size_t i = 0; i < out.n && r->frames && r->frames[0].style == STYLE_LINE; i++)
		must(buf_text(&out)[i] != 7 || memchr(copy, 7, n));
	recognized_free(r);
	return 0;
}
