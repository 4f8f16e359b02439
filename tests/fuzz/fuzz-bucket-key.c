/* Fuzzes the key objects and the ends of a bucket: parsing terminates, and what it returns is valid and can be
 * written again. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "source/bucket-key.h"

#include <stdlib.h>
#include <string.h>

static void fuzz_end(const uint8_t *p, size_t n)
{
	struct bucket_end one, two, joined = {.until = 1, .age = 1};
	struct buf out = BUF_UP_TO(100);
	char text[100] = "";

	memcpy(text, p, n < sizeof(text) ? n : sizeof(text) - 1);
	if (bucket_end_parse(text, &one) == 0) {
		if (one.until < 0 || one.age < 0 || bucket_end_write(&one, &out) < 0 ||
			bucket_end_parse(buf_text(&out), &two) < 0 || one.until != two.until || one.age != two.age)
			abort();
		bucket_end_join(&joined, &one, 1000);
		if (joined.until < 1 || (bucket_end_renew(&two, 1000) && two.until <= one.until))
			abort();
	}
	buf_release(&out);
}

FUZZ_TARGET("bucket-key", p, n)
{
	struct blob_facts facts = {.source = "fuzz", .verified = true};
	struct bucket_key one = {0}, two = {0};
	struct buf text;

	fuzz_end(p, n);
	if (bucket_key_parse((const char *)p, n, &one) < 0)
		return 0;
	if (strspn(one.sha256, "0123456789abcdef") != 64 || strlen(one.sha256) != 64)
		abort();
	facts.worth = one.worth;
	facts.fetched = one.time;
	if (bucket_key_write(&one.key, &facts, one.sha256, one.size, &text) == 0 &&
		(bucket_key_parse(buf_text(&text), text.n, &two) < 0 || !key_equal(&one.key, &two.key) ||
			strcmp(one.sha256, two.sha256) != 0 || one.size != two.size || one.time != two.time))
		abort();
	buf_release(&text);
	return 0;
}
