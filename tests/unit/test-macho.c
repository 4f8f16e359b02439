/* Tests formats/obj/macho.c on images built in memory: thin files of both word sizes and both byte orders,
 * fat files of both widths, hostile values, and files of which only the beginning is present. Also
 * tests the output of a compiler and linker, where they are installed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"
#include "worths.h"
#include "scratch.h"

enum { SEGMENT = 1, SYMTAB = 2, DYSYMTAB = 11, SEGMENT_64 = 25, UUID = 27 };
enum { OBJECT = 1, EXECUTE = 2, CORE = 4, DYLIB = 6, BUNDLE = 8, STUB = 9, DSYM = 10, KEXT = 11 };

#define UUID_A "67e9247c814e392ba027dbde6748fcbf"
#define UUID_A_TEXT "67e9247c-814e-392b-a027-dbde6748fcbf"
#define UUID_B "2556f1515a403847be6ce2c1b5be4df8"

static const uint8_t uuid_a[16] = {0x67, 0xe9, 0x24, 0x7c, 0x81, 0x4e, 0x39, 0x2b, 0xa0, 0x27, 0xdb,
	0xde, 0x67, 0x48, 0xfc, 0xbf};
static const uint8_t uuid_b[16] = {0x25, 0x56, 0xf1, 0x51, 0x5a, 0x40, 0x38, 0x47, 0xbe, 0x6c, 0xe2,
	0xc1, 0xb5, 0xbe, 0x4d, 0xf8};

/* ---- building ----------------------------------------------------------------------- */

struct image {
	bool is64, big;
	uint8_t p[8192];
	size_t n;
	unsigned count;
};

static void put_at(struct image *m, size_t at, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		m->p[at + (m->big ? n - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

static void put(struct image *m, uint64_t value, unsigned n)
{
	put_at(m, m->n, value, n);
	m->n += n;
}

static void put_name(struct image *m, const char *name)
{
	strncpy((char *)m->p + m->n, name, 16);
	m->n += 16;
}

static void begin(struct image *m, bool is64, bool big, uint32_t cpu, uint32_t subtype, uint32_t type)
{
	memset(m, 0, sizeof(*m));
	m->is64 = is64;
	m->big = big;
	put(m, is64 ? 0xfeedfacf : 0xfeedface, 4);
	put(m, cpu, 4);
	put(m, subtype, 4);
	put(m, type, 4);
	m->n = is64 ? 32 : 28;
}

static void uuid(struct image *m, const uint8_t id[16])
{
	put(m, UUID, 4);
	put(m, 24, 4);
	memcpy(m->p + m->n, id, 16);
	m->n += 16;
	m->count++;
}

/* One section in a segment, whose bytes are `off` and `size`. */
static void segment(struct image *m, const char *name, const char *section, uint64_t off, uint64_t size,
	unsigned flags)
{
	unsigned w = m->is64 ? 8 : 4;

	put(m, m->is64 ? SEGMENT_64 : SEGMENT, 4);
	put(m, m->is64 ? 72 + 80 : 56 + 68, 4);
	put_name(m, name);
	put(m, 0x1000, w);
	put(m, 0x1000, w);
	put(m, off, w);
	put(m, size, w);
	put(m, 5, 4);
	put(m, 5, 4);
	put(m, 1, 4);
	put(m, 0, 4);
	put_name(m, section);
	put_name(m, name);
	put(m, 0x1000, w);
	put(m, size, w);
	put(m, off, 4);
	put(m, 0, 4);
	put(m, 0, 4);
	put(m, 0, 4);
	put(m, flags, 4);
	m->n += m->is64 ? 12 : 8;
	m->count++;
}

static void symbols(struct image *m, unsigned count, int local)
{
	put(m, SYMTAB, 4);
	put(m, 24, 4);
	put(m, 1024, 4);
	put(m, count, 4);
	put(m, 1024 + count * 16, 4);
	put(m, 16, 4);
	m->count++;
	if (local < 0)
		return;
	put(m, DYSYMTAB, 4);
	put(m, 80, 4);
	put(m, 0, 4);
	put(m, (unsigned)local, 4);
	put(m, (unsigned)local, 4);
	put(m, count - (unsigned)local, 4);
	m->n += 80 - 24;
	m->count++;
}

static struct image *end(struct image *m, size_t n)
{
	put_at(m, 16, m->count, 4);
	put_at(m, 20, m->n - (m->is64 ? 32 : 28), 4);
	m->n = n;
	return m;
}

/* A program with symbols of its own, 2048 bytes. */
static struct image *program(struct image *m, bool is64, bool big, const uint8_t id[16])
{
	begin(m, is64, big, is64 ? 0x01000007 : 7, 3, EXECUTE);
	segment(m, "__TEXT", "__text", 768, 64, 0);
	segment(m, "__TEXT", "__unwind_info", 832, 8, 0);
	uuid(m, id);
	symbols(m, 4, 2);
	return end(m, 2048);
}

/* Its dSYM: headers of sections without their bytes. */
static struct image *dsym(struct image *m, const uint8_t id[16])
{
	begin(m, true, false, 0x0100000c, 0, DSYM);
	uuid(m, id);
	segment(m, "__TEXT", "__unwind_info", 0, 1 << 20, 0);
	segment(m, "__DWARF", "__debug_info", 900, 40, 0);
	symbols(m, 4, -1);
	return end(m, 2048);
}

/* A fat file of a program (x86_64) and a dSYM (arm64). */
static size_t fat(uint8_t p[8192], bool wide)
{
	static struct image a, b;
	struct image head = {.big = true};

	program(&a, true, false, uuid_a);
	dsym(&b, uuid_b);
	put(&head, wide ? 0xcafebabf : 0xcafebabe, 4);
	put(&head, 2, 4);
	for (unsigned i = 0; i < 2; i++) {
		put(&head, i ? 0x0100000c : 0x01000007, 4);
		put(&head, i ? 0 : 3, 4);
		put(&head, i ? 4096 : 1024, wide ? 8 : 4);
		put(&head, 2048, wide ? 8 : 4);
		put(&head, 10, wide ? 8 : 4);
	}
	memset(p, 0, 8192);
	memcpy(p, head.p, head.n);
	memcpy(p + 1024, a.p, 2048);
	memcpy(p + 4096, b.p, 2048);
	return 4096 + 2048;
}

static struct image image, other;

/* ---- thin --------------------------------------------------------------------------- */

START_TEST(both_sizes_both_orders)
{
	for (unsigned i = 0; i < 4; i++) {
		struct image *m = program(&image, i & 1, i & 2, uuid_a);
		struct obj_slice s = object_must(m->p, m->n, 0);
		struct err e;

		ck_assert_str_eq(s.format, "macho");
		ck_assert_str_eq(s.arch, i & 1 ? "x86_64" : "x86");
		ck_assert_int_eq(s.kind, OBJ_EXECUTABLE);
		ck_assert_int_eq(s.big_endian, !!(i & 2));
		ck_assert_int_eq(s.module.object, OBJECT_MACHO);
		ck_assert_str_eq(s.module.code_id, UUID_A);
		object_debug_id(&s, UUID_A_TEXT); /* never swapped */
		ck_assert_worth(s, "symbols=full unwind");
		ck_assert(s.code);
		ck_assert(object_serves(&s, FILETYPE_MACH_CODE));
		ck_assert(object_serves(&s, FILETYPE_MACH_DEBUG));
		ck_assert_int_eq(object_identify(m->p, m->n, 1, &s, &e), -ENOENT);
	}
}
END_TEST

START_TEST(a_stripped_program_is_no_debug_file)
{
	struct obj_slice s;
	struct err e;

	begin(&image, true, false, 0x01000007, 3, EXECUTE);
	segment(&image, "__TEXT", "__text", 768, 64, 0);
	uuid(&image, uuid_a);
	symbols(&image, 4, 0);
	end(&image, 2048);
	s = object_must(image.p, image.n, 0);
	ck_assert(object_serves(&s, FILETYPE_MACH_CODE) && !object_serves(&s, FILETYPE_MACH_DEBUG));
	ck_assert_int_eq(s.worth.symbols, WORTH_EXPORTS);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_MACH_CODE, UUID_A, &s, &e), 1);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_MACH_DEBUG, UUID_A, &s, &e), -EBADMSG);
}
END_TEST

START_TEST(dsym_has_no_code)
{
	struct obj_slice s;
	struct err e;

	dsym(&image, uuid_b);
	s = object_must(image.p, image.n, 0);
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_str_eq(s.arch, "arm64");
	ck_assert_worth(s, "symbols=full debug=full");
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_MACH_DEBUG, UUID_B, &s, &e), 1);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_MACH_CODE, UUID_B, &s, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "is the debug file of UUID " UUID_B));
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_MACH_DEBUG, UUID_A, &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is UUID " UUID_B ", not " UUID_A);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_ELF_DEBUG, UUID_B, &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is macho, not elf_debug");
}
END_TEST

START_TEST(kinds)
{
	static const struct {
		uint32_t type;
		enum obj_kind kind;
	} rows[] = {{OBJECT, OBJ_OBJECT}, {EXECUTE, OBJ_EXECUTABLE}, {CORE, OBJ_OTHER},
		{DYLIB, OBJ_LIBRARY}, {BUNDLE, OBJ_LIBRARY}, {STUB, OBJ_OTHER}, {DSYM, OBJ_DEBUG},
		{KEXT, OBJ_LIBRARY}, {99, OBJ_OTHER}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct obj_slice s;

		program(&image, true, false, uuid_a);
		put_at(&image, 12, rows[i].type, 4);
		s = object_must(image.p, image.n, 0);
		ck_assert_int_eq(s.kind, rows[i].kind);
		ck_assert(s.kind != OBJ_OTHER || s.n_types == 0);
	}
}
END_TEST

START_TEST(architectures)
{
	static const struct {
		uint32_t cpu, subtype;
		const char *arch;
	} rows[] = {{7, 3, "x86"}, {0x01000007, 0x80000003, "x86_64"}, {0x01000007, 8, "x86_64h"},
		{12, 9, "armv7"}, {12, 11, "armv7s"}, {12, 12, "armv7k"}, {12, 0, "arm"},
		{0x0100000c, 0, "arm64"}, {0x0100000c, 0x80000002, "arm64e"}, {0x0200000c, 1, "arm64_32v8"},
		{18, 0, "ppc"}, {0x01000012, 0, "ppc64"}, {99, 0, "unknown"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct obj_slice s;

		program(&image, true, false, uuid_a);
		put_at(&image, 4, rows[i].cpu, 4);
		put_at(&image, 8, rows[i].subtype, 4);
		s = object_must(image.p, image.n, 0);
		ck_assert_str_eq(s.arch, rows[i].arch);
	}
}
END_TEST

/* None, or one of zeros, which is none; with two, the first counts. */
START_TEST(uuids)
{
	static const uint8_t zeros[16];
	struct obj_slice s;

	program(&image, true, false, zeros);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, "");
	ck_assert(debug_id_is_nil(&s.module.debug_id));
	begin(&image, true, false, 0x01000007, 3, EXECUTE);
	end(&image, 64);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, "");
	begin(&image, false, true, 18, 0, DYLIB);
	uuid(&image, uuid_b);
	uuid(&image, uuid_a);
	end(&image, 256);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, UUID_B);
}
END_TEST

START_TEST(broken_files)
{
	program(&image, true, false, uuid_a);
	object_broken(image.p, 3 * 4, "cut short before the end of its header");
	object_broken(image.p, 100, "cut short before the end of its load commands");
	object_broken(image.p, 900, "cut short: it has 900 bytes");
	put_at(&image, 20, 0xffffffff, 4);
	object_broken(image.p, image.n, "4294967295 bytes of load commands");
	program(&image, true, false, uuid_a);
	put_at(&image, 16, 99, 4);
	object_broken(image.p, image.n, "load command 5 has 0 bytes");
	program(&image, true, false, uuid_a);
	put_at(&image, 32 + 4, 7, 4);
	object_broken(image.p, image.n, "load command 0 has 7 bytes");
	program(&image, true, false, uuid_a);
	put_at(&image, 32 + 64, 2, 4);
	object_broken(image.p, image.n, "2 sections in a segment");
	program(&image, true, false, uuid_a);
	put_at(&image, 32, SEGMENT, 4);
	object_broken(image.p, image.n, "other word size");
	program(&image, true, false, uuid_a);
	put_at(&image, 32 + 40, UINT64_MAX - 3, 8);
	object_broken(image.p, image.n, "cut short");
}
END_TEST

/* ---- fat ---------------------------------------------------------------------------- */

START_TEST(fat_slices)
{
	static uint8_t p[8192];

	for (unsigned wide = 0; wide < 2; wide++) {
		size_t n = fat(p, wide);
		struct obj_slice s = object_must(p, n, 0);
		struct err e;

		ck_assert_str_eq(s.module.code_id, UUID_A);
		ck_assert_uint_eq(s.off, 1024);
		s = object_must(p, n, 1);
		ck_assert_str_eq(s.module.code_id, UUID_B);
		ck_assert_int_eq(s.kind, OBJ_DEBUG);
		ck_assert_int_eq(object_identify(p, n, 2, &s, &e), -ENOENT);
		/* The request for one UUID is answered with where that slice is. */
		ck_assert_int_eq(object_check(p, n, FILETYPE_MACH_DEBUG, UUID_B, &s, &e), 1);
		ck_assert_uint_eq(s.off, 4096);
		ck_assert_uint_eq(s.size, 2048);
		ck_assert_int_eq(object_check(p, n, FILETYPE_MACH_CODE, UUID_A, &s, &e), 1);
		ck_assert_uint_eq(s.off, 1024);
		ck_assert_int_eq(object_check(p, n, FILETYPE_MACH_CODE, UUID_B, &s, &e), -EBADMSG);
		ck_assert_int_eq(object_check(p, n, FILETYPE_MACH_CODE,
			"00000000000000000000000000000001", &s, &e), -EBADMSG);
		object_broken(p, n - 1, "needs");
	}
}
END_TEST

START_TEST(java_class)
{
	uint8_t p[72] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52};
	struct obj_slice s;
	struct err e;

	for (unsigned n = 8; n <= sizeof(p); n += 32) {
		ck_assert_int_eq(object_identify(p, n, 0, &s, &e), -ENOMSG);
		ck_assert_str_eq(e.text, "is a Java class");
		ck_assert_int_eq(object_check(p, n, FILETYPE_MACH_CODE, UUID_A, &s, &e), -EBADMSG);
		ck_assert_str_eq(e.text, "is a Java class");
		ck_assert_int_eq(object_check(p, n, FILETYPE_ELF_CODE, UUID_A, &s, &e), -EBADMSG);
	}
	p[7] = 45;
	ck_assert_int_eq(object_identify(p, sizeof(p), 0, &s, &e), -ENOMSG);
	p[7] = 44;
	object_broken(p, sizeof(p), "cut short");
	p[7] = 0;
	object_broken(p, sizeof(p), "a fat file of 0 slices");
	p[3] = 0xbf; /* of which there are no classes */
	p[7] = 45;
	object_broken(p, sizeof(p), "a fat file of 45 slices");
}
END_TEST

/* A slice that is the whole file again, one that is an archive, two that are one, one of nothing:
 * no identity, and the others keep theirs. */
START_TEST(strange_slices)
{
	static uint8_t p[8192];
	struct image at = {.big = true};
	size_t n = fat(p, false);
	struct obj_slice s;
	struct err e;

	memcpy(at.p, p, n);
	put_at(&at, 8 + 8, 0, 4); /* from 0: the fat file itself */
	put_at(&at, 8 + 12, n, 4);
	s = object_must(at.p, n, 0);
	ck_assert_int_eq(s.kind, OBJ_OTHER);
	ck_assert_str_eq(s.arch, "x86_64");
	ck_assert_int_eq(s.n_types, 0);
	ck_assert_int_eq(object_check(at.p, n, FILETYPE_MACH_DEBUG, UUID_B, &s, &e), 1);
	put_at(&at, 8 + 8, 4096, 4);
	put_at(&at, 8 + 12, 2048, 4);
	s = object_must(at.p, n, 0);
	ck_assert_str_eq(s.module.code_id, UUID_B);
	memcpy(at.p + 4096, "!<arch>\n", 8);
	s = object_must(at.p, n, 1);
	ck_assert_int_eq(s.kind, OBJ_OTHER);
	put_at(&at, 8 + 12, 2, 4);
	s = object_must(at.p, n, 0);
	ck_assert_int_eq(s.kind, OBJ_OTHER);
	put_at(&at, 8 + 8, 0xfffffff0, 4);
	put_at(&at, 8 + 12, 0xfffffff0, 4);
	object_broken(at.p, n, "needs");
	/* A slice's own bytes end where it ends, though the file goes on. */
	n = fat(p, false);
	memcpy(at.p, p, n);
	put_at(&at, 8 + 12, 1024, 4);
	object_broken(at.p, n, "cut short: it has 1024 bytes");
}
END_TEST

/* ---- all of it ---------------------------------------------------------------------- */

START_TEST(hostile)
{
	static uint8_t p[8192];
	unsigned bad = 0;

	for (unsigned i = 0; i < 4; i++) {
		program(&image, i & 1, i & 2, uuid_a);
		bad += object_hostile(image.p, image.n, 4);
		if (i & 1)
			bad += object_hostile(image.p, image.n, 8);
	}
	bad += object_hostile(p, fat(p, false), 4);
	bad += object_hostile(p, fat(p, true), 8);
	ck_assert_uint_gt(bad, 200);
}
END_TEST

START_TEST(prefixes_agree)
{
	static uint8_t p[8192];
	struct key k = {.type = FILETYPE_MACH_DEBUG, .id = UUID_B};

	for (unsigned i = 0; i < 4; i++) {
		program(&image, i & 1, i & 2, uuid_a);
		object_prefixes_agree(image.p, image.n, NULL, 0);
		object_prefixes_agree(image.p, image.n, &k, 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		size_t n = fat(p, i);

		object_prefixes_agree(p, n, NULL, 0);
		object_prefixes_agree(p, n, NULL, 1);
		object_prefixes_agree(p, n, &k, 0);
	}
}
END_TEST

/* Another build is refused after its load commands. */
START_TEST(refused_early)
{
	struct key k = {.type = FILETYPE_MACH_CODE, .id = UUID_B};
	struct obj_slice s;
	struct err e;

	program(&other, true, false, uuid_a);
	ck_assert_int_eq(object_part(other.p, 700, VIEW_UNKNOWN, &k, 0, &s, &e), -EBADMSG);
	snprintf(k.id, sizeof(k.id), UUID_A);
	ck_assert_int_eq(object_part(other.p, 700, VIEW_UNKNOWN, &k, 0, &s, &e), -EAGAIN);
	ck_assert(obj_may_be(FILETYPE_MACH_CODE, other.p, 64));
	ck_assert(!obj_may_be(FILETYPE_MACH_CODE, "\177ELF", 4));
}
END_TEST

/* ---- what compilers make ------------------------------------------------------------ */

static bool runs(const char *line)
{
	return system(line) == 0; /* NOLINT: a fixed line */
}

static struct obj_slice of_file(const char *dir, const char *name, unsigned index)
{
	char path[512];
	struct obj_slice s;
	struct err e = {0};
	struct stat st;
	struct view v;
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
	v = view_of_fd(fd, (uint64_t)st.st_size);
	r = obj_identify(&v, index, &s, &e);
	close(fd);
	ck_assert_msg(r == 0, "%s: %s", path, e.text);
	return s;
}

START_TEST(compiled)
{
	const char *dir;
	char line[4096];
	struct obj_slice thin, debug, slice;

	if (!runs("for t in clang ld64.lld-14 dsymutil-14 llvm-lipo-14; do "
		  "command -v $t >/dev/null || exit 1; done")) {
		printf("# compiled: skipped, clang, ld64.lld-14, dsymutil-14 and llvm-lipo-14 are not "
		       "all here\n");
		return;
	}
	dir = scratch_dir();
	snprintf(line, sizeof(line),
		"cd %s && echo 'int main(void) { return 0; }' >m.c && "
		"for a in x86_64 arm64; do clang -target $a-apple-macos11 -g -c m.c -o $a.o && "
		"ld64.lld-14 -arch $a -platform_version macos 11.0 11.0 -e _main -o $a $a.o && "
		"dsymutil-14 $a || exit 1; done && "
		"llvm-lipo-14 -create x86_64 arm64 -output both >out 2>&1", dir);
	ck_assert_msg(runs(line), "the tools are here, and fail");
	thin = of_file(dir, "arm64", 0);
	debug = of_file(dir, "arm64.dSYM/Contents/Resources/DWARF/arm64", 0);
	slice = of_file(dir, "both", 1);
	ck_assert_int_eq(thin.kind, OBJ_EXECUTABLE);
	ck_assert(thin.code);
	ck_assert_int_eq(debug.kind, OBJ_DEBUG);
	ck_assert(debug.worth.debug == WORTH_DEBUG && !debug.code);
	ck_assert_uint_eq(strlen(thin.module.code_id), 32);
	ck_assert_str_eq(thin.module.code_id, debug.module.code_id);
	ck_assert_str_eq(thin.module.code_id, slice.module.code_id);
	thin = of_file(dir, "x86_64.o", 0);
	ck_assert_int_eq(thin.kind, OBJ_OBJECT);
	scratch_end();
}
END_TEST

UNIT_MAIN("macho", both_sizes_both_orders, a_stripped_program_is_no_debug_file, dsym_has_no_code, kinds,
	architectures, uuids, broken_files, fat_slices, java_class, strange_slices, hostile,
	prefixes_agree, refused_early, compiled)
