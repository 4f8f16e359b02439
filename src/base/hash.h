/* Digests: SHA-256 (libcrypto) for names and contents, and a short mix
 * for tables in memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SHA256_TEXT 65 /* 64 hex digits and NUL */

struct sha256; /* one digest under way; one thread at a time */

struct sha256 *sha256_new(void); /* NULL: out of memory */
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_finish(struct sha256 *s, uint8_t out[static 32]); /* frees it */
void sha256_free(struct sha256 *s);

void sha256_of(const void *p, size_t n, uint8_t out[static 32]);
void sha256_text_of(const void *p, size_t n, char out[static SHA256_TEXT]);

/* The digest of `size` bytes of a file from its start. 0, -EIO, -ENODATA (shorter), -ENOMEM. */
int sha256_of_fd(int fd, uint64_t size, char out[static SHA256_TEXT]);

uint64_t hash_mix(const void *p, size_t n); /* FNV-1a: for tables in memory only */

void hex_print(const uint8_t *p, size_t n, char *out); /* 2n digits, lower case, and NUL */
int hex_value(char c);				       /* 0..15, -1 */
/* Digits to bytes; n digits, even. 0, -EINVAL. */
int hex_read(const char *digits, size_t n, uint8_t *out);
