/* The SHA-1 of bytes, for tests of chunks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "unit.h"
#include "base/hash.h"
#include "intake/upload/chunks.h"

#include <string.h>

static inline struct sha1 sha1_of(const void *p, size_t n)
{
	struct digest *d = digest_new("SHA1");
	uint8_t made[DIGEST_BYTES];
	struct sha1 s;

	digest_add(d, p, n);
	ck_assert_uint_eq(digest_finish(d, made), sizeof(s.bytes));
	memcpy(s.bytes, made, sizeof(s.bytes));
	return s;
}
