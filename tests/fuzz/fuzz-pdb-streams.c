/* Each kind of stream of a PDB with any bytes, in a container that is whole. The first byte of an input chooses the
 * stream. Patches of a good stream follow: an offset of 16 bits, a length of 8 bits, and the bytes; offset 0xffff
 * ends the stream at the next 16 bits. So each input reaches the reader of its stream: the PDB is identified, made
 * into GSYM and asked for addresses with all of its bytes and with half of them. It ends, and what is made is
 * whole. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "derive/convert/make.h"
#include "formats/gsym/writer.h"
#include "formats/pdb/publics.h"
#include "fuzz/fuzz-pdb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512u
#define STREAMS 16u
#define STREAM_MOST 4096u

/* Numbers of streams. 1 to 4 are fixed. */
enum { INFO = 1, TYPES, DBI, IDS, RECORDS, PUBLICS, SECTIONS, MODULE, NAMES, OMAP, OTHER, HASHES };
enum { MSFZ = STREAMS }; /* a row, not a stream: the whole file in the other container */

static const uint8_t rows[] = {INFO, DBI, MODULE, RECORDS, PUBLICS, TYPES, IDS, HASHES, SECTIONS, OMAP, NAMES, OTHER,
	MSFZ};

struct bytes {
	uint8_t p[STREAM_MOST * STREAMS];
	size_t n;
};

static void add(struct bytes *b, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		b->p[b->n++] = (uint8_t)(v >> (8 * i));
}

static void add_text(struct bytes *b, const char *text)
{
	memcpy(b->p + b->n, text, strlen(text) + 1);
	b->n += strlen(text) + 1;
}

static void align(struct bytes *b, size_t start)
{
	while ((b->n - start) % 4)
		add(b, 0, 1);
}

static void set(struct bytes *b, size_t at, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		b->p[at + i] = (uint8_t)(v >> (8 * i));
}

/* ---- good streams ------------------------------------------------------------------------- */

static void make_info(struct bytes *b)
{
	add(b, 20000404, 4);
	add(b, 1, 4);
	add(b, 1, 4);
	for (unsigned i = 0; i < 16; i++)
		add(b, i + 1, 1);
	add(b, 7, 4);
	add_text(b, "/names");
	add(b, 1, 4); /* one name in a table of one word */
	add(b, 1, 4);
	add(b, 1, 4);
	add(b, 1, 4);
	add(b, 0, 4);
	add(b, 0, 4);
	add(b, NAMES, 4);
	add(b, 0, 4);
	add(b, 20140508, 4);
}

static size_t begin(struct bytes *b, unsigned kind)
{
	add(b, 0, 2);
	add(b, kind, 2);
	return b->n - 4;
}

static void end(struct bytes *b, size_t at)
{
	align(b, at);
	set(b, at, b->n - at - 2, 2);
}

static void make_symbols(struct bytes *b)
{
	static const uint8_t annotations[] = {3, 4, 11, 0x22, 12, 3, 6, 5, 8, 6, 4, 4, 2, 3, 1, 1, 0, 0};
	size_t proc, at;

	add(b, 4, 4);
	proc = begin(b, 0x1110); /* S_GPROC32 */
	for (unsigned i = 0; i < 3; i++)
		add(b, 0, 4);
	add(b, 0x40, 4);
	add(b, 0, 4);
	add(b, 0, 4);
	add(b, 0x1006, 4); /* the type */
	add(b, 0x10, 4);
	add(b, 1, 2);
	add(b, 0, 1);
	add_text(b, "ns::outer");
	end(b, proc);
	for (unsigned i = 0; i < 2; i++) {
		at = begin(b, i ? 0x115d : 0x114d); /* S_INLINESITE2, S_INLINESITE */
		add(b, 0, 4);
		add(b, 0, 4);
		add(b, i ? 0x80000000 : 0x1001, 4); /* an id of another module */
		if (i)
			add(b, 3, 4);
		memcpy(b->p + b->n, annotations, sizeof(annotations));
		b->n += sizeof(annotations);
		end(b, at);
	}
	end(b, begin(b, 0x114e));
	end(b, begin(b, 0x114e));
	set(b, proc + 8, b->n, 4);
	end(b, begin(b, 6));
	at = begin(b, 0x1102); /* S_THUNK32 */
	for (unsigned i = 0; i < 3; i++)
		add(b, 0, 4);
	add(b, 0x60, 4);
	add(b, 1, 2);
	add(b, 8, 2);
	add(b, 0, 1);
	add_text(b, "thunk");
	end(b, at);
	end(b, begin(b, 6));
	at = begin(b, 0x112c); /* S_TRAMPOLINE */
	add(b, 0, 2);
	add(b, 5, 2);
	add(b, 0x70, 4);
	add(b, 0x10, 4);
	add(b, 1, 2);
	add(b, 1, 2);
	end(b, at);
	at = begin(b, 0x1132); /* S_SEPCODE */
	add(b, 0, 4);
	add(b, 0, 4);
	add(b, 0x10, 4);
	add(b, 0, 4);
	add(b, 0x80, 4);
	add(b, 0x10, 4);
	add(b, 1, 2);
	add(b, 1, 2);
	end(b, at);
	end(b, begin(b, 6));
}

static void part(struct bytes *b, uint32_t kind, const uint32_t *words, size_t n)
{
	add(b, kind, 4);
	add(b, 4 * n, 4);
	for (size_t i = 0; i < n; i++)
		add(b, words[i], 4);
}

static void make_lines(struct bytes *b)
{
	static const uint32_t checksums[] = {1, 0}, inlinees[] = {1, 0x1001, 0, 7, 1, 0, 0x80000000, 0, 9, 0},
		lines[] = {0x10, 1, 0x50, 0, 3, 12 + 24, 0, 5, 8, 0xfeefee, 0x10, 0x80000006},
		imports[] = {1, 1, 0x1001}, exports[] = {0x1001, 0x1002};

	part(b, 0xf4, checksums, ARRAY_SIZE(checksums));
	part(b, 0xf2, lines, ARRAY_SIZE(lines));
	part(b, 0xf6, inlinees, ARRAY_SIZE(inlinees));
	part(b, 0xf7, imports, ARRAY_SIZE(imports));
	part(b, 0xf8, exports, ARRAY_SIZE(exports));
}

static void public(struct bytes *b, uint32_t off, const char *name)
{
	size_t at = begin(b, 0x110e);

	add(b, 2, 4);
	add(b, off, 4);
	add(b, 1, 2);
	add_text(b, name);
	end(b, at);
}

static void make_publics(struct bytes *b, size_t second)
{
	add(b, 0, 4);
	add(b, 8, 4); /* the order of two symbols */
	for (unsigned i = 0; i < 5; i++)
		add(b, 0, 4);
	add(b, 0, 4);
	add(b, second, 4);
}

static void make_header(struct bytes *b, uint32_t types, size_t at)
{
	static const uint32_t rest[] = {HASHES | 0xffffu << 16, 4, 64, 0, 0, 0, 0, 0, 0};

	set(b, at, 20040203, 4);
	set(b, at + 4, 56, 4);
	set(b, at + 8, 0x1000, 4);
	set(b, at + 12, 0x1000 + types, 4);
	set(b, at + 16, b->n - 56, 4);
	for (unsigned i = 0; i < ARRAY_SIZE(rest); i++)
		set(b, at + 20 + 4 * i, rest[i], 4);
	set(b, at + 36, 4 * types, 4); /* of the hashes, and the marks behind them */
	set(b, at + 40, 4 * types, 4);
	set(b, at + 44, 8, 4);
}

static void record(struct bytes *b, unsigned leaf, const uint32_t *words, size_t n, const char *name)
{
	size_t at = begin(b, leaf);

	for (size_t i = 0; i < n; i++)
		add(b, words[i], 4);
	if (name)
		add_text(b, name);
	end(b, at);
}

static void make_types(struct bytes *b)
{
	static const uint32_t declared[] = {0x80 << 16, 0, 0, 0}, pointer[] = {0x1000, 0x1000c},
		array[] = {0x1000, 0x23},
		modifier[] = {0x1001, 1}, list[] = {3, 0x1003, 0x1002, 0x670}, procedure[] = {0x74, 3 << 16, 0x1004},
		member[] = {3, 0x1000, 0x1001, 3 << 16, 0x1004, 0}, defined[] = {0, 0, 0, 0};

	b->n = 56;
	record(b, 0x1505, declared, ARRAY_SIZE(declared), "\1S"); /* its size is in front of its name */
	b->p[56 + 4 + 16] = 8;
	b->p[56 + 4 + 17] = 0;
	record(b, 0x1002, pointer, ARRAY_SIZE(pointer), NULL);
	record(b, 0x1503, array, ARRAY_SIZE(array), " ");
	record(b, 0x1001, modifier, ARRAY_SIZE(modifier), NULL);
	record(b, 0x1201, list, ARRAY_SIZE(list), NULL);
	record(b, 0x1008, procedure, ARRAY_SIZE(procedure), NULL);
	record(b, 0x1009, member, ARRAY_SIZE(member), NULL);
	record(b, 0x1505, defined, ARRAY_SIZE(defined), "\1S");
	make_header(b, 8, 0);
}

static void make_ids(struct bytes *b)
{
	static const uint32_t scope[] = {0}, func[] = {0x1000, 0x1005}, method[] = {0x1000, 0x1006};

	b->n = 56;
	record(b, 0x1605, scope, ARRAY_SIZE(scope), "ns");
	record(b, 0x1601, func, ARRAY_SIZE(func), "inner");
	record(b, 0x1602, method, ARRAY_SIZE(method), "method");
	make_header(b, 3, 0);
}

static void make_dbi(struct bytes *b, size_t symbols, size_t lines)
{
	static const uint16_t slots[] = {0xffff, 0xffff, 0xffff, OMAP, 0xffff, SECTIONS, 0xffff, 0xffff, 0xffff,
		0xffff, SECTIONS};
	size_t modules, contribs;

	add(b, UINT32_MAX, 4);
	add(b, 19990903, 4);
	add(b, 2, 4);
	add(b, 0xffff, 4);
	add(b, PUBLICS, 4);
	add(b, RECORDS, 4);
	b->n = 64;
	set(b, 56, 1, 2); /* incremental */
	set(b, 58, 0x8664, 2);
	modules = b->n;
	for (unsigned i = 0; i < 2; i++) {
		size_t at = b->n;

		b->n += 64;
		set(b, at + 34, i ? OTHER : MODULE, 2);
		set(b, at + 36, i ? 0 : symbols, 4);
		set(b, at + 44, i ? 64 : lines, 4);
		add_text(b, i ? "b.obj" : "a.obj");
		add_text(b, "");
		align(b, at);
	}
	set(b, 24, b->n - modules, 4);
	contribs = b->n;
	add(b, 0xf12eba2d, 4);
	for (unsigned i = 0; i < 2; i++) {
		add(b, 1, 4);
		add(b, i ? 0xa0 : 0x10, 4);
		add(b, i ? 0x20 : 0x90, 4);
		add(b, 0x60000020, 4);
		add(b, i, 4);
		add(b, 0, 8);
	}
	set(b, 28, b->n - contribs, 4);
	for (unsigned i = 0; i < ARRAY_SIZE(slots); i++)
		add(b, slots[i], 2);
	set(b, 48, 2 * ARRAY_SIZE(slots), 4);
}

static void make_rest(struct bytes *all)
{
	static const uint32_t omap[] = {0x1000, 0x1000, 0x1020, 0x1040, 0x1030, 0, 0x1050, 0x1060};
	struct bytes *b = &all[SECTIONS];

	add_text(b, ".text\0");
	b->n = 8;
	add(b, 0x1000, 4);
	add(b, 0x1000, 4);
	b->n = 36;
	add(b, 0x60000020, 4);
	for (unsigned i = 0; i < ARRAY_SIZE(omap); i++)
		add(&all[OMAP], omap[i], 4);
	b = &all[NAMES];
	add(b, 0xeffeeffe, 4);
	add(b, 1, 4);
	add(b, 7, 4);
	add(b, 0, 1);
	add_text(b, "b.obj");
	part(&all[OTHER], 0xf8, (const uint32_t[]){0x1001, 0x1002}, 2);
	all[OTHER].n = 64;
	for (unsigned i = 0; i < 8; i++)
		add(&all[HASHES], i * 7 % 64, 4);
	add(&all[HASHES], 0x1000, 4);
	add(&all[HASHES], 0, 4);
}

static void make_streams(struct bytes *all)
{
	size_t symbols;

	memset(all, 0, STREAMS * sizeof(*all));
	make_info(&all[INFO]);
	make_symbols(&all[MODULE]);
	symbols = all[MODULE].n;
	make_lines(&all[MODULE]);
	make_dbi(&all[DBI], symbols, all[MODULE].n - symbols);
	make_types(&all[TYPES]);
	make_ids(&all[IDS]);
	public(&all[RECORDS], 0x10, "?outer@ns@@YAXXZ");
	make_publics(&all[PUBLICS], all[RECORDS].n);
	public(&all[RECORDS], 0xa0, "_assembler");
	make_rest(all);
}

/* ---- containers --------------------------------------------------------------------------- */

static void put_in(struct bytes *out, const void *p, size_t n)
{
	memcpy(out->p + out->n, p, n);
	out->n += n;
}

static void to_block(struct bytes *out)
{
	out->n = (out->n + BLOCK - 1) / BLOCK * BLOCK;
}

/* Block 3 lists the blocks of the directory, and each stream follows in one run. */
static void make_msf(const struct bytes *all, struct bytes *out)
{
	struct bytes *directory = calloc(1, sizeof(*directory));
	uint32_t block = 5;

	if (!directory)
		abort();
	add(directory, STREAMS, 4);
	for (unsigned i = 0; i < STREAMS; i++)
		add(directory, all[i].n, 4);
	for (unsigned i = 0; i < STREAMS; i++)
		for (size_t at = 0; at < all[i].n; at += BLOCK)
			add(directory, block++, 4);
	memset(out, 0, sizeof(*out));
	put_in(out, "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0", 32);
	add(out, BLOCK, 4);
	add(out, 1, 4);
	add(out, block, 4);
	add(out, directory->n, 4);
	add(out, 0, 4);
	add(out, 3, 4);
	out->n = 3 * BLOCK;
	add(out, 4, 4);
	out->n = 4 * BLOCK;
	put_in(out, directory->p, MIN(directory->n, (size_t)BLOCK));
	to_block(out);
	for (unsigned i = 0; i < STREAMS; i++) {
		put_in(out, all[i].p, all[i].n);
		to_block(out);
	}
	free(directory);
}

/* Every second stream is in a chunk, the others are plain. */
static void make_msfz(const struct bytes *all, struct bytes *out)
{
	uint64_t where[STREAMS];
	size_t directory, chunks;
	unsigned n_chunks = 0;

	memset(out, 0, sizeof(*out));
	put_in(out, "Microsoft MSFZ Container\r\n\x1a" "ALD\0", 32);
	out->n = 80;
	for (unsigned i = 0; i < STREAMS; i++) {
		where[i] = out->n;
		put_in(out, all[i].p, all[i].n);
	}
	directory = out->n;
	for (unsigned i = 0; i < STREAMS; i++) {
		if (all[i].n) {
			add(out, all[i].n, 4);
			add(out, i % 2 ? 1ull << 63 | (uint64_t)n_chunks++ << 32 : where[i], 8);
		}
		add(out, 0, 4);
	}
	chunks = out->n;
	for (unsigned i = 1; i < STREAMS; i += 2)
		if (all[i].n) {
			add(out, where[i], 8);
			add(out, 0, 4);
			add(out, all[i].n, 4);
			add(out, all[i].n, 4);
		}
	set(out, 40, directory, 8);
	set(out, 48, chunks, 8);
	set(out, 56, STREAMS, 4);
	set(out, 64, chunks - directory, 4);
	set(out, 68, chunks - directory, 4);
	set(out, 72, n_chunks, 4);
	set(out, 76, out->n - chunks, 4);
}

/* ---- what is done with the file ------------------------------------------------------------ */

static unsigned convert(struct span file)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {.threads = 1};
	struct buf out = BUF_UP_TO(64u << 20);
	struct gsym_made made;
	struct err e = {0};
	unsigned n = 0;
	struct gsym g;
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = gsym_make(w, file, &o, &made, &e);
	fuzz_must(r == 0 || e.text[0], "an error without words");
	if (r == 0 && gsym_write(w, GSYM_V1, false, "", &out, NULL, &e) == 0) {
		fuzz_must(gsym_open(&g, (struct span){(uint8_t *)out.p, out.n}, &e) == 0, e.text);
		fuzz_must(gsym_check(&g, &e) == 0, e.text);
		n = g.count;
	}
	buf_release(&out);
	return n;
}

/* Returns how many addresses have frames. */
static unsigned ask(struct span file, uint64_t here)
{
	uint32_t addrs[0xd0 / 4];

	for (uint32_t i = 0; i < ARRAY_SIZE(addrs); i++)
		addrs[i] = 0x1000 + 4 * i;
	return fuzz_pdb_ask(file, here, addrs, ARRAY_SIZE(addrs));
}

/* Changes the bytes of a good stream. */
static void patch(struct bytes *b, struct span in)
{
	while (in.n >= 3) {
		size_t at = in.p[0] | (size_t)in.p[1] << 8, n = in.p[2];

		in.p += 3;
		in.n -= 3;
		if (at == 0xffff && in.n) {
			b->n = MIN((size_t)(n | (size_t)in.p[0] << 8), (size_t)STREAM_MOST);
			in.p++;
			in.n--;
			continue;
		}
		n = MIN(n, in.n);
		if (at + n > STREAM_MOST)
			return;
		memcpy(b->p + at, in.p, n);
		b->n = MAX(b->n, at + n);
		in.p += n;
		in.n -= n;
	}
}

FUZZ_TARGET("pdb-streams", p, n)
{
	struct bytes *all = calloc(STREAMS, sizeof(*all)), *file = calloc(1, sizeof(*file));
	struct span exact;
	unsigned row = n ? rows[p[0] % ARRAY_SIZE(rows)] : INFO;
	uint8_t *copy;

	if (!all || !file)
		abort();
	make_streams(all);
	if (n && row != MSFZ)
		patch(&all[row], (struct span){p + 1, n - 1});
	if (row == MSFZ)
		make_msfz(all, file);
	else
		make_msf(all, file);
	if (n && row == MSFZ)
		patch(file, (struct span){p + 1, n - 1});
	copy = malloc(file->n + 1); /* exact, so that a read past its end is seen */
	if (!copy)
		abort();
	memcpy(copy, file->p, file->n);
	exact = (struct span){copy, file->n};
	/* Without a patch all of it works. */
	if (n <= 1)
		fuzz_must(convert(exact) >= 5 && ask(exact, exact.n) > 20, "the good streams are not read");
	convert(exact);
	ask(exact, exact.n);
	ask(exact, exact.n / 2);
	free(copy);
	free(all);
	free(file);
	return 0;
}
