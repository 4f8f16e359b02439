/* Digests (libcrypto): SHA-256 for names and contents, other algorithms for checksums that a file
 * contains, and a short hash for tables in memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_TEXT 65 /* 64 hex digits and NUL */

void sha256_of(const void *p, size_t n, uint8_t out[static 32]);
void sha256_text(const void *p, size_t n, char out[static SHA256_TEXT]);

/* The digest of `size` bytes of a file from its start. 0, -EIO, -ENODATA (the file is shorter), -ENOMEM. */
int sha256_of_fd(int fd, uint64_t size, char out[static SHA256_TEXT]);
#define DIGEST_BYTES 64
int digest_of_fd(const char *name, int fd, uint64_t size, uint8_t out[static DIGEST_BYTES]); /* by digest_new() */

/* An inode number of the first bytes of a digest: 1, which is the root of a mount, and 0 become 2. */
uint64_t digest_number(const uint8_t digest[static 8]);

/* Begins a digest by an algorithm whose name a file contains: "SHA1", "SHA256", "SHA384" or "SHA512", or by "MD5", in
 * any case. NULL: an unknown name, or out of memory (errno). */
struct digest;
struct digest *digest_new(const char *name);
void digest_add(struct digest *d, const void *p, size_t n);
size_t digest_finish(struct digest *d, uint8_t out[static DIGEST_BYTES]); /* frees `d`; returns the length */
void digest_free(struct digest *d);

uint32_t crc32c(const void *p, size_t n); /* detects damage by a disk, not by an attacker */

uint64_t hash_mix(const void *p, size_t n); /* FNV-1a: for tables in memory only */

/* A set of hashes, none of which is 0. Zeroed: empty. */
struct hash_set {
	uint64_t *slots; /* 0: free */
	size_t n, room;
};
int hash_set_add(struct hash_set *s, uint64_t hash); /* 0; -EEXIST: the set has it; -ENOMEM */
void hash_set_release(struct hash_set *s);

/* Writes the digits of a number backwards from `end`. Returns the first. For long outputs: faster than printf(). */
static inline char *digits_back(char *end, uint64_t v, unsigned base)
{
	do
		*--end = "0123456789abcdef"[v % base];
	while (v /= base);
	return end;
}

void base64_print(const uint8_t *p, size_t n, char *out); /* 4 bytes for each 3, and NUL */
void hex_print(const uint8_t *p, size_t n, char *out); /* 2n digits, lower case, and NUL */
int hex_random(size_t n, char *out); /* 2n digits of n random bytes, at most 32, and NUL: 0, -EIO */
int hex_value(char c);				       /* 0..15; -1: not a digit */
bool hex_only(const char *p, size_t n);		       /* whether all n characters are digits, in either case */
/* Converts n hexadecimal digits, an even number, to bytes. 0; -EINVAL: other characters. */
int hex_read(const char *digits, size_t n, uint8_t *out);
