/* Digests, checksums and hexadecimal digits. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "base/view.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

void sha256_of(const void *p, size_t n, uint8_t out[static 32])
{
	EVP_Digest(p, n, out, NULL, EVP_sha256(), NULL);
}

void sha256_text(const void *p, size_t n, char out[static SHA256_TEXT])
{
	uint8_t raw[32];

	sha256_of(p, n, raw);
	hex_print(raw, sizeof(raw), out);
}

int digest_of_fd(const char *name, int fd, uint64_t size, uint8_t out[static DIGEST_BYTES])
{
	const size_t room = 256 << 10;
	_cleanup_free_ uint8_t *chunk = malloc(room);
	struct digest *d = chunk ? digest_new(name) : NULL;
	int r = d ? 0 : -ENOMEM;

	for (uint64_t off = 0; r == 0 && off < size; off += room) {
		r = pread_all(fd, off, chunk, (size_t)MIN(room, size - off));
		if (r == 0)
			digest_add(d, chunk, (size_t)MIN(room, size - off));
	}
	if (d)
		digest_finish(d, out);
	return r;
}

int sha256_of_fd(int fd, uint64_t size, char out[static SHA256_TEXT])
{
	uint8_t raw[DIGEST_BYTES];
	int r = digest_of_fd("SHA256", fd, size, raw);

	if (r == 0)
		hex_print(raw, 32, out);
	return r;
}

struct digest {
	EVP_MD_CTX *md;
};

static const EVP_MD *family(const char *name)
{
	static const struct {
		const char *name;
		const EVP_MD *(*md)(void);
	} families[] = {{"SHA1", EVP_sha1}, {"SHA256", EVP_sha256}, {"SHA384", EVP_sha384},
		{"SHA512", EVP_sha512}, {"MD5", EVP_md5}};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strcasecmp(families[i].name, name) == 0)
			return families[i].md();
	errno = ENOTSUP;
	return NULL;
}

struct digest *digest_new(const char *name)
{
	const EVP_MD *md = family(name);
	struct digest *d = md ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return NULL;
	d->md = EVP_MD_CTX_new();
	if (!d->md || EVP_DigestInit_ex(d->md, md, NULL) != 1) {
		digest_free(d);
		errno = ENOMEM;
		return NULL;
	}
	return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	EVP_DigestUpdate(d->md, p, n);
}

size_t digest_finish(struct digest *d, uint8_t out[static DIGEST_BYTES])
{
	unsigned n = 0;

	EVP_DigestFinal_ex(d->md, out, &n);
	digest_free(d);
	return n;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->md);
	free(d);
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

/* The set must have a free slot. */
static int put(struct hash_set *s, uint64_t hash)
{
	size_t i = (size_t)hash & (s->room - 1);

	for (; s->slots[i]; i = (i + 1) & (s->room - 1))
		if (s->slots[i] == hash)
			return -EEXIST;
	s->slots[i] = hash;
	s->n++;
	return 0;
}

int hash_set_add(struct hash_set *s, uint64_t hash)
{
	if (2 * (s->n + 1) > s->room) {
		struct hash_set more = {.room = s->room ? 2 * s->room : 64};

		more.slots = calloc(more.room, sizeof(*more.slots));
		if (!more.slots)
			return -ENOMEM;
		for (size_t i = 0; i < s->room; i++)
			if (s->slots[i])
				put(&more, s->slots[i]);
		free(s->slots);
		*s = more;
	}
	return put(s, hash);
}

void hash_set_release(struct hash_set *s)
{
	free(s->slots);
	*s = (struct hash_set){.n = 0};
}

uint64_t digest_number(const uint8_t digest[static 8])
{
	uint64_t n = 0;

	for (unsigned i = 0; i < 8; i++)
		n = n << 8 | digest[i];
	n &= INT64_MAX;
	return n > 1 ? n : 2;
}

void base64_print(const uint8_t *p, size_t n, char *out)
{
	EVP_EncodeBlock((uint8_t *)out, p, (int)n);
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

int hex_random(size_t n, char *out)
{
	uint8_t bytes[32];

	if (getrandom(bytes, n, 0) != (ssize_t)n)
		return -EIO;
	hex_print(bytes, n, out);
	return 0;
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

bool hex_only(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hex_value(p[i]) < 0)
			return false;
	return true;
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

/* ---- CRC-32C: by eight tables, eight bytes a step, or by the instruction of the processor ---- */

static uint32_t crc_table[8][256];

static void crc_fill(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
		crc_table[0][i] = c;
	}
	for (unsigned t = 1; t < 8; t++)
		for (unsigned i = 0; i < 256; i++)
			crc_table[t][i] = crc_table[0][crc_table[t - 1][i] & 255] ^
					  crc_table[t - 1][i] >> 8;
}

static uint32_t crc_by_table(uint32_t c, const uint8_t *p, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, crc_fill);
	for (; n >= 8; p += 8, n -= 8) {
		c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		     (uint32_t)p[3] << 24;
		c = crc_table[7][c & 255] ^ crc_table[6][c >> 8 & 255] ^
		    crc_table[5][c >> 16 & 255] ^ crc_table[4][c >> 24] ^ crc_table[3][p[4]] ^
		    crc_table[2][p[5]] ^ crc_table[1][p[6]] ^ crc_table[0][p[7]];
	}
	for (; n; p++, n--)
		c = crc_table[0][(c ^ *p) & 255] ^ c >> 8;
	return c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_machine(uint32_t c, const uint8_t *p,
	size_t n)
{
	uint64_t wide = c;

	for (; n >= 8; p += 8, n -= 8) {
		uint64_t eight;

		memcpy(&eight, p, 8);
		wide = __builtin_ia32_crc32di(wide, eight);
	}
	for (; n; p++, n--)
		wide = __builtin_ia32_crc32qi((uint32_t)wide, *p);
	return (uint32_t)wide;
}
#endif

uint32_t crc32c(const void *p, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_by_machine(~0u, p, n);
#endif
	return ~crc_by_table(~0u, p, n);
}
