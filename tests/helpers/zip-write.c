/* zip-write OUT [OPTIONS NAME FILE]...: makes a zip archive for tests, honest or not. Options
 * apply to the next member:
 *	-0		stored; otherwise deflated
 *	-d		sizes behind the bytes, zeros in front of them
 *	-w		64-bit sizes; for any member: a 64-bit end record
 *	-l		FILE is the target of a symbolic link
 *	-e		claims to be encrypted
 *	-m METHOD	claims this compression method
 *	-s BYTES	claims a size that is larger (or smaller) by BYTES
 *	-c		a wrong checksum
 *	-t SECONDS	its time, in the extra field of Unix
 *	-z BYTES	appends that many zeros to the file's bytes
 *	-n TIMES	that many entries that all refer to this member's bytes
 * A name may have any bytes; FILE `-` is empty. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

struct member {
	const char *name, *file;
	bool stored, behind, wide, link, encrypted, wrong;
	int method; /* -1: as it is */
	long long more, time;
	unsigned long long zeros, times;
	uint64_t at, size, packed;
	uint32_t crc;
};

static FILE *out;
static uint64_t entries;
static char *directory;
static size_t directory_n, directory_room;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void put_in(unsigned char *p, size_t *n, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[(*n)++] = (unsigned char)(value >> 8 * i);
}

static void write_out(const void *p, size_t n)
{
	if (fwrite(p, 1, n, out) != n)
		die("zip-write");
}

static void add_entry(const void *p, size_t n)
{
	if (directory_n + n > directory_room) {
		directory_room = 2 * (directory_n + n);
		directory = realloc(directory, directory_room);
		if (!directory)
			die("zip-write");
	}
	memcpy(directory + directory_n, p, n);
	directory_n += n;
}

static void pack(struct member *m, z_stream *z, const void *p, size_t n, int flush)
{
	unsigned char room[65536];

	m->crc = (uint32_t)crc32(m->crc, p, (uInt)n);
	m->size += n;
	if (m->stored) {
		write_out(p, n);
		m->packed += n;
		return;
	}
	z->next_in = p;
	z->avail_in = (uInt)n;
	do {
		z->next_out = room;
		z->avail_out = sizeof(room);
		deflate(z, flush);
		write_out(room, sizeof(room) - z->avail_out);
		m->packed += sizeof(room) - z->avail_out;
	} while (!z->avail_out);
}

static void pack_file(struct member *m)
{
	static unsigned char room[65536];
	z_stream z = {0};
	FILE *in = strcmp(m->file, "-") == 0 ? fopen("/dev/null", "rb") : fopen(m->file, "rb");
	size_t n;

	if (!in)
		die(m->file);
	if (deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, 0) != Z_OK)
		die("deflate");
	while ((n = fread(room, 1, sizeof(room), in)) > 0)
		pack(m, &z, room, n, Z_NO_FLUSH);
	memset(room, 0, sizeof(room));
	for (unsigned long long left = m->zeros; left; left -= n) {
		n = left < sizeof(room) ? (size_t)left : sizeof(room);
		pack(m, &z, room, n, Z_NO_FLUSH);
	}
	pack(m, &z, room, 0, Z_FINISH);
	deflateEnd(&z);
	fclose(in);
}

static unsigned method_of(const struct member *m)
{
	return m->method >= 0 ? (unsigned)m->method : m->stored ? 0 : 8;
}

static unsigned flags_of(const struct member *m)
{
	return (m->behind ? 8u : 0) | (m->encrypted ? 1u : 0);
}

static size_t local_header(const struct member *m, unsigned char p[64])
{
	bool known = !m->behind;
	size_t n = 0;

	put_in(p, &n, 0x04034b50, 4);
	put_in(p, &n, 20, 2);
	put_in(p, &n, flags_of(m), 2);
	put_in(p, &n, method_of(m), 2);
	put_in(p, &n, 0, 4);
	put_in(p, &n, known ? m->crc : 0, 4);
	put_in(p, &n, known ? m->packed : 0, 4);
	put_in(p, &n, known ? m->size : 0, 4);
	put_in(p, &n, strlen(m->name), 2);
	put_in(p, &n, 0, 2);
	return n;
}

static void list(const struct member *m)
{
	uint64_t size = m->size + (uint64_t)m->more;
	unsigned char p[128];
	size_t n = 0;

	put_in(p, &n, 0x02014b50, 4);
	put_in(p, &n, 20 | 3 << 8, 2);
	put_in(p, &n, 20, 2);
	put_in(p, &n, flags_of(m), 2);
	put_in(p, &n, method_of(m), 2);
	put_in(p, &n, 0, 4);
	put_in(p, &n, m->wrong ? ~m->crc : m->crc, 4);
	put_in(p, &n, m->wide ? UINT32_MAX : m->packed, 4);
	put_in(p, &n, m->wide ? UINT32_MAX : size, 4);
	put_in(p, &n, strlen(m->name), 2);
	put_in(p, &n, (m->wide ? 28 : 0) + (m->time ? 9 : 0), 2);
	put_in(p, &n, 0, 6);
	put_in(p, &n, (uint64_t)(m->link ? 0120777 : 0100644) << 16, 4);
	put_in(p, &n, m->wide ? UINT32_MAX : m->at, 4);
	add_entry(p, n);
	add_entry(m->name, strlen(m->name));
	n = 0;
	if (m->wide) {
		put_in(p, &n, 1, 2);
		put_in(p, &n, 24, 2);
		put_in(p, &n, size, 8);
		put_in(p, &n, m->packed, 8);
		put_in(p, &n, m->at, 8);
	}
	if (m->time) {
		put_in(p, &n, 0x5455, 2);
		put_in(p, &n, 5, 2);
		put_in(p, &n, 1, 1);
		put_in(p, &n, (uint64_t)m->time, 4);
	}
	add_entry(p, n);
	entries++;
}

static void add(struct member *m)
{
	unsigned char p[64];
	size_t n;

	m->at = (uint64_t)ftello(out);
	write_out(p, local_header(m, p)); /* written again when it is known */
	write_out(m->name, strlen(m->name));
	pack_file(m);
	n = 0;
	if (m->behind) {
		put_in(p, &n, 0x08074b50, 4);
		put_in(p, &n, m->crc, 4);
		put_in(p, &n, m->packed, 4);
		put_in(p, &n, m->size, 4);
		write_out(p, n);
	}
	if (fseeko(out, (off_t)m->at, SEEK_SET) < 0)
		die("seek");
	write_out(p, local_header(m, p));
	if (fseeko(out, 0, SEEK_END) < 0)
		die("seek");
	for (unsigned long long i = 0; i < m->times; i++)
		list(m);
}

static void finish(bool wide)
{
	uint64_t at = (uint64_t)ftello(out);
	unsigned char p[128];
	size_t n = 0;

	write_out(directory, directory_n);
	if (wide) {
		put_in(p, &n, 0x06064b50, 4);
		put_in(p, &n, 44, 8);
		put_in(p, &n, 0, 8);
		put_in(p, &n, 0, 4);
		put_in(p, &n, entries, 8);
		put_in(p, &n, entries, 8);
		put_in(p, &n, directory_n, 8);
		put_in(p, &n, at, 8);
		put_in(p, &n, 0x07064b50, 4);
		put_in(p, &n, 0, 4);
		put_in(p, &n, at + directory_n, 8);
		put_in(p, &n, 1, 4);
	}
	put_in(p, &n, 0x06054b50, 4);
	put_in(p, &n, 0, 4);
	put_in(p, &n, wide ? 0xffff : entries, 2);
	put_in(p, &n, wide ? 0xffff : entries, 2);
	put_in(p, &n, wide ? UINT32_MAX : directory_n, 4);
	put_in(p, &n, wide ? UINT32_MAX : at, 4);
	put_in(p, &n, 0, 2);
	write_out(p, n);
}

int main(int argc, char **argv)
{
	bool wide = false;
	int c;

	if (argc < 2 || !(out = fopen(argv[1], "w+b")))
		die("zip-write OUT [OPTIONS NAME FILE]...");
	for (optind = 2; optind < argc;) {
		struct member m = {.method = -1, .times = 1};

		while ((c = getopt(argc, argv, "+0dwlem:s:ct:z:n:")) != -1)
			switch (c) {
			case '0': m.stored = true; break;
			case 'd': m.behind = true; break;
			case 'w': m.wide = wide = true; break;
			case 'l': m.link = true; break;
			case 'e': m.encrypted = true; break;
			case 'm': m.method = atoi(optarg); break;
			case 's': m.more = atoll(optarg); break;
			case 'c': m.wrong = true; break;
			case 't': m.time = atoll(optarg); break;
			case 'z': m.zeros = strtoull(optarg, NULL, 10); break;
			case 'n': m.times = strtoull(optarg, NULL, 10); break;
			default: return 2;
			}
		if (argc - optind < 2)
			die("which file?");
		m.name = argv[optind++];
		m.file = argv[optind++];
		add(&m);
	}
	finish(wide);
	free(directory);
	return fclose(out) == 0 ? 0 : 1;
}
