/* Digests and hex. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"

#include <openssl/evp.h>
#include <string.h>

struct sha256 {
	EVP_MD_CTX *md;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->md = EVP_MD_CTX_new();
	if (!s->md || EVP_DigestInit_ex(s->md, EVP_sha256(), NULL) != 1) {
		sha256_free(s);
		return NULL;
	}
	return s;
}

void sha256_add(struct sha256 *s, const void *p, size_t n)
{
	EVP_DigestUpdate(s->md, p, n);
}

void sha256_finish(struct sha256 *s, uint8_t out[static 32])
{
	EVP_DigestFinal_ex(s->md, out, NULL);
	sha256_free(s);
}

void sha256_free(struct sha256 *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->md);
	free(s);
}

void sha256_of(const void *p, size_t n, uint8_t out[static 32])
{
	EVP_Digest(p, n, out, NULL, EVP_sha256(), NULL);
}

void sha256_text_of(const void *p, size_t n, char out[static SHA256_TEXT])
{
	uint8_t raw[32];

	sha256_of(p, n, raw);
	hex_print(raw, sizeof(raw), out);
}

int sha256_of_fd(int fd, uint64_t size, char out[static SHA256_TEXT])
{
	const size_t room = 256 << 10;
	_cleanup_free_ uint8_t *chunk = malloc(room);
	struct sha256 *s = chunk ? sha256_new() : NULL;
	uint8_t raw[32];
	uint64_t off = 0;

	if (!s)
		return -ENOMEM;
	while (off < size) {
		ssize_t n = pread(fd, chunk, (size_t)MIN(room, size - off), (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -ENODATA;

			sha256_free(s);
			return r;
		}
		sha256_add(s, chunk, (size_t)n);
		off += (uint64_t)n;
	}
	sha256_finish(s, raw);
	hex_print(raw, sizeof(raw), out);
	return 0;
}

uint64_t hash_mix(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t h = 0xcbf29ce484222325u;

	while (n--) {
		h ^= *b++;
		h *= 0x100000001b3u;
	}
	return h ^ h >> 32;
}

void hex_print(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hex_read(const char *digits, size_t n, uint8_t *out)
{
	if (n % 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 2) {
		int hi = hex_value(digits[i]), lo = hex_value(digits[i + 1]);

		if (hi < 0 || lo < 0)
			return -EINVAL;
		out[i / 2] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}
