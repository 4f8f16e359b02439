/* Fuzzes the conversion of Breakpad symbol files to GSYM. In one piece or in many, the text gives
 * the same file, which is whole. A file that the strict mode accepts loses no line. The same holds
 * for the form for look-ups as Mozilla's service answers them. GSYM of a few addresses gives the answers of the whole
 * file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "derive/convert/from-breakpad.h"
#include "unit/asked.h"
#include "unit/gsyms.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int make(const uint8_t *p, size_t n, unsigned strict, size_t piece, struct buf *out,
	struct breakpad_counts *counts)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_breakpad_ struct breakpad *b = NULL;
	struct err e = {0};
	struct gsym g;
	int r = 0;

	memset(counts, 0, sizeof(*counts));
	buf_clear(out);
	if (gsym_writer_new(&w) < 0 || breakpad_new(&b, w, strict & 1, strict & 2) < 0)
		return 0;
	for (size_t at = 0; r == 0 && at < n; at += piece)
		r = breakpad_feed(b, (const char *)p + at, MIN(piece, n - at), &e);
	if (r == 0)
		r = breakpad_finish(b, counts, &e);
	if (r == 0)
		r = gsyms_write(w, GSYM_V1, false, out, &e);
	must(r == 0 || e.text[0], "an error without words");
	if (r < 0)
		return r;
	must(gsym_open(&g, (struct span){(uint8_t *)out->p, out->n}, &e) == 0, e.text);
	must(gsym_check(&g, &e) == 0, e.text);
	return 0;
}

/* Asks for the ends of some functions of the whole file. */
static void check_asked(const char *text, size_t n)
{
	struct buf whole = BUF_UP_TO(64 << 20), part = BUF_UP_TO(64 << 20), x = BUF_UP_TO(1 << 20),
		y = BUF_UP_TO(1 << 20);
	uint32_t addrs[16];
	size_t n_addrs = 0;
	struct gsym g, p;
	int r = asked_make(text, n, NULL, 0, &whole, &g);

	for (uint32_t i = 0; r == 0 && i < g.count && n_addrs + 2 <= ARRAY_SIZE(addrs); i += 1 + g.count / 8)
		if (gsym_addr(&g, i) <= UINT32_MAX - 16) {
			addrs[n_addrs++] = (uint32_t)gsym_addr(&g, i);
			addrs[n_addrs] = addrs[n_addrs - 1] + (uint32_t)n % 16;
			n_addrs++;
		}
	for (size_t i = 1; i < n_addrs; i++) /* sorted */
		addrs[i] = MAX(addrs[i], addrs[i - 1]);
	must(asked_make(text, n, addrs, n_addrs, &part, &p) == r, "a part is judged otherwise");
	for (size_t i = 0; r == 0 && i < n_addrs; i++)
		must(strcmp(asked_text(&g, addrs[i], &x), asked_text(&p, addrs[i], &y)) == 0,
			"a part answers otherwise");
	buf_release(&whole);
	buf_release(&part);
	buf_release(&x);
	buf_release(&y);
}

FUZZ_TARGET("gsym-breakpad", p, n)
{
	struct buf whole = BUF_UP_TO(64 << 20), parts = BUF_UP_TO(64 << 20);
	struct breakpad_counts all, some;

	check_asked((const char *)p, n);
	for (unsigned strict = 0; strict < 4; strict++) {
		int r = make(p, n, strict, n ? n : 1, &whole, &all);

		must(make(p, n, strict, 1 + n / 7, &parts, &some) == r, "pieces make a difference");
		must(whole.n == parts.n && !memcmp(buf_text(&whole), buf_text(&parts), whole.n),
			"pieces make another file");
		must(memcmp(&all, &some, sizeof(all)) == 0, "pieces are counted otherwise");
	}
	buf_release(&whole);
	buf_release(&parts);
	return 0;
}
