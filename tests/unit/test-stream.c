/* Tests files that are read during their download: what readers get when the download breaks off,
 * changes version, or turns out to be wrong at its end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "readers.h"
#include "fetch/flight/flight.h"

#define SIZE (2u << 20)
#define EARLY (256u << 10)
#define CUT 900000 /* bytes after which a download breaks off */
/* An answer stops until upstream_go(), so that a file is identified, and a reader has it, before the download
 * breaks. */
#define HELD "hold=600000"

static void stored_soon(struct fetch *f, unsigned n)
{
	unit_wait(try_now(f, n) == 0);
}

/* ---- tests -------------------------------------------------------------------------- */

START_TEST(readers_do_not_wait_for_the_whole)
{
	struct world w;
	struct reader a, b;
	char head[4096];

	world_begin(&w);
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=none&" HELD);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_ptr_nonnull(a.part);
	ck_assert_ptr_null(a.blob);
	ck_assert_uint_eq(part_size(a.part), SIZE);
	ck_assert_int_eq(part_read(a.part, 0, head, sizeof(head)), sizeof(head));
	ck_assert_int_eq(part_read(a.part, SIZE - 10, head, sizeof(head)), -EAGAIN);
	ck_assert_int_eq(reader_open(&b, w.fetch, 1), 0);
	ck_assert_ptr_eq(a.part, b.part);
	upstream_go(&w.one);
	same_as(&a, "one", 1, 0);
	same_as(&b, "one", 1, 0);
	stored_soon(w.fetch, 1);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	/* A later reader gets the stored file, marked as having the same bytes. */
	{
		struct waited seal = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
		struct part_wait *pw = NULL;
		struct artifact art = nth(1);
		struct fetched out;

		if (part_wait(a.part, PART_SEALED, 0, 0, waited_ready, &seal, &pw) == 0)
			waited_for(&seal, 0);
		part_wait_unref(pw);
		ck_assert_int_eq(fetch_try(w.fetch, &art, 1, FETCH_OPEN, &out), 0);
		ck_assert_uint_eq(out.was, part_number(a.part));
		ck_assert_uint_ne(out.was, blob_number(out.blob));
		blob_unref(out.blob);
	}
	reader_close(&a);
	reader_close(&b);
	world_end(&w);
}
END_TEST

/* The nth once more, as a debug file: with a section of debug information, and nothing in it. */
static void put_debug(const char *root, unsigned n)
{
	static const char names[] = "\0.shstrtab\0.debug_info";
	const Elf64_Off at = 4096, table = 8192;
	Elf64_Shdr sections[3] = {{0},
		{.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names), .sh_addralign = 1},
		{.sh_name = 11, .sh_type = SHT_PROGBITS, .sh_offset = at + 512, .sh_size = 512, .sh_addralign = 1}};
	Elf64_Ehdr head;
	char path[512];
	int fd;

	put(root, n, 50000);
	snprintf(path, sizeof(path), "%s/%s/buildid/%.40s/debuginfo", scratch, root, id_text(n));
	write_elf(path, n, 20, 50000);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &head, sizeof(head), 0), sizeof(head));
	head.e_shoff = table;
	head.e_shentsize = sizeof(*sections);
	head.e_shnum = ARRAY_SIZE(sections);
	head.e_shstrndx = 1;
	ck_assert_int_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	ck_assert_int_eq(pwrite(fd, names, sizeof(names), (off_t)at), sizeof(names));
	ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), (off_t)table), sizeof(sections));
	close(fd);
}

static int open_debug(struct fetch *f, unsigned n, struct reader *rd)
{
	struct artifact a = nth(n);

	a.type = FILETYPE_ELF_DEBUG;
	return reader_open_file(rd, f, &a);
}

/* A small file is complete before a worker examines it. OPEN of a debug file waits for the examination, but
 * not for the disk. OPEN of a wrong file fails. */
START_TEST(small_files_are_read_before_they_are_stored)
{
	struct world w;
	struct reader a, b;
	char head[16];

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put_debug("one", 1);
	ck_assert_int_eq(open_debug(w.fetch, 1, &a), 0);
	ck_assert_ptr_nonnull(a.part);
	ck_assert_int_eq(part_read(a.part, 49990, head, sizeof(head)), 10);
	stored_soon(w.fetch, 1);
	/* Who comes while its download has not ended yet still joins that. */
	ck_assert_int_eq(open_debug(w.fetch, 1, &b), 0);
	while (!b.blob) {
		reader_close(&b);
		poll(NULL, 0, 10);
		ck_assert_int_eq(open_debug(w.fetch, 1, &b), 0);
	}
	reader_close(&a);
	reader_close(&b);
	upstream_fault(&w.one, "path=*&kind=html");
	ck_assert_int_eq(open_debug(w.fetch, 2, &a), -EBADMSG);
	world_end(&w);
}
END_TEST

START_TEST(the_rest_of_what_broke_off)
{
	struct world w;
	struct reader a;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=cut&arg=%d&times=1&" HELD, CUT);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_ptr_nonnull(a.part);
	upstream_go(&w.one);
	same_as(&a, "one", 1, 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 2);
	ck_assert_uint_eq(upstream_count(&w.one, "ranges"), 1);
	ck_assert_uint_le(upstream_count(&w.one, "bytes"), SIZE + 1000);
	reader_close(&a);
	stored_soon(w.fetch, 1);
	world_end(&w);
}
END_TEST

/* The download breaks off four times, and continues each time. */
START_TEST(again_and_again)
{
	struct world w;
	struct reader a;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=cut&arg=600000&times=4&hold=500000");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	upstream_go(&w.one);
	same_as(&a, "one", 1, 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 4);
	reader_close(&a);
	world_end(&w);
}
END_TEST

static void both_go(const struct world *w)
{
	upstream_go(&w->one);
	upstream_go(&w->two);
}

/* A server that knows no ranges sends all of it again; other sources do, too. */
START_TEST(all_of_it_again)
{
	struct world w;
	struct reader a;

	world_begin(&w);
	put("one", 1, SIZE);
	put("two", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=cut&arg=%d&times=1&" HELD, CUT);
	upstream_fault(&w.one, "path=*&kind=status&arg=503");
	upstream_fault(&w.two, "path=*&kind=none&hold=0");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_ptr_nonnull(a.part);
	both_go(&w);
	same_as(&a, "two", 1, 0);
	reader_close(&a);
	stored_soon(w.fetch, 1);

	upstream_clear(&w.one);
	put("one", 2, SIZE);
	world_sources(&w, only(&w.one, "one"));
	upstream_fault(&w.one, "path=*&kind=cut&arg=%d&times=1&" HELD, CUT);
	upstream_fault(&w.one, "path=*&kind=no-range");
	ck_assert_int_eq(reader_open(&a, w.fetch, 2), 0);
	upstream_go(&w.one);
	same_as(&a, "one", 2, 0);
	reader_close(&a);
	world_end(&w);
}
END_TEST

/* The nth at both sources; the second has other bytes under the same identity. */
static void put_two_versions(unsigned n, size_t size, size_t other_size)
{
	char path[512];
	int fd;

	put("one", n, size);
	put("two", n, other_size);
	snprintf(path, sizeof(path), "%s/two/buildid/%.40s/executable", scratch, id_text(n));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "other", 5, CUT - 100), 5);
	close(fd);
}

/* The nth at both sources, in two versions. The first answer of "one" breaks off, and its others have the fault. All
 * answers are held until breaks_off(). */
static void put_breaking(const struct world *w, unsigned n, size_t other_size, const char *fault)
{
	const char *id = id_text(n);

	put_two_versions(n, SIZE, other_size);
	upstream_fault(&w->one, "path=*%s*&kind=cut&arg=%d&times=1&" HELD, id, CUT);
	upstream_fault(&w->one, "path=*%s*&%s&hold=0", id, fault);
	upstream_fault(&w->two, "path=*%s*&kind=none&hold=0", id);
}

struct look {
	struct fetch *f;
	bool other;
};

static void look_for_other(void *ctx)
{
	struct look *l = ctx;

	l->other = !l->f->flights || version_has_other(l->f->flights);
}

/* Whether "two" has shown its other version, which may have ended the flight. */
static bool has_seen_other(struct fetch *f)
{
	struct look l = {.f = f};

	net_call(f->net, look_for_other, &l);
	return l.other;
}

/* Lets "one" break off. Its next answer comes after "two" has shown its other version: before, the flight would
 * continue the version of "one". */
static void breaks_off(struct world *w)
{
	upstream_until(&w->one, "held", 1);
	waits.grace_ms = 1; /* "one" holds "two" back for this time */
	world_waits(w);
	upstream_go(&w->two);
	upstream_step(&w->one);
	unit_wait(has_seen_other(w->fetch));
	waits.grace_ms = UNIT_HOUR_MS;
	world_waits(w);
	upstream_go(&w->one);
	upstream_until(&w->one, "held", 0);
}

/* Opens it anew: all of it is what `root` has, and no deadline passes before: each takes an hour. */
static void opens_at_once(struct fetch *f, unsigned n, const char *root)
{
	struct reader a;

	ck_assert_int_eq(reader_open(&a, f, n), 0);
	if (a.part)
		same_as(&a, root, n, 0);
	reader_close(&a);
	stored_soon(f, n);
}

static void reads_first_bytes(struct reader *a)
{
	char room[4096];

	ck_assert_ptr_nonnull(a->part);
	ck_assert_int_eq(reader_read(a, 0, room, sizeof(room)), sizeof(room));
}

/* Two versions with one identity are never mixed. A reader with bytes of the first version gets an error,
 * and a later reader gets the second version, at once. */
START_TEST(another_version)
{
	static const char *const faults[] = {"kind=no-range", "kind=status&arg=503", "kind=reset&arg=0",
		"kind=silent"};
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
		struct reader a;
		char room[4096];

		put_breaking(&w, i, SIZE, faults[i]);
		ck_assert_int_eq(reader_open(&a, w.fetch, i), 0);
		reads_first_bytes(&a);
		breaks_off(&w);
		ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
		/* What was here stays what it was. */
		ck_assert_int_eq(reader_read(&a, CUT - 4096, room, 4096 - 200), 4096 - 200);
		reader_close(&a);
		opens_at_once(w.fetch, i, "two");
	}
	world_end(&w);
}
END_TEST

/* It breaks off at the same place each time. */
START_TEST(never_more_than_half)
{
	struct world w;
	struct reader a, b;
	struct asker whole;
	char room[10];

	world_begin(&w);
	put_two_versions(1, SIZE, SIZE + 5000);
	upstream_fault(&w.one, "path=*&kind=reset&arg=%d&only=wholes&" HELD, CUT);
	upstream_fault(&w.one, "path=*&kind=reset&arg=0");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reads_first_bytes(&a);
	/* Who waits for the whole has seen nothing of it. */
	ask(&whole, w.fetch, 1, FETCH_WHOLE);
	upstream_go(&w.one);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
	ck_assert_int_eq(reader_open(&b, w.fetch, 1), 0);
	if (b.part)
		same_as(&b, "two", 1, 0);
	ck_assert_msg(answer_of(&whole) == 0, "%d %s", whole.r, whole.why);
	ck_assert_str_eq(whole.source, "two");
	reader_close(&a);
	reader_close(&b);
	world_end(&w);
}
END_TEST

/* Who opened it and read nothing gets the other version when it is as long; else an error. */
START_TEST(another_version_for_readers_of_nothing)
{
	struct world w;
	struct reader a, b;
	char room[10];

	world_begin(&w);
	put_breaking(&w, 1, SIZE, "kind=no-range");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_int_eq(reader_open(&b, w.fetch, 1), 0);
	ck_assert_ptr_nonnull(a.part);
	breaks_off(&w);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), 10);
	same_as(&a, "two", 1, 0);
	same_as(&b, "two", 1, 0);
	reader_close(&a);
	reader_close(&b);

	put_breaking(&w, 2, SIZE - 5000, "kind=no-range");
	ck_assert_int_eq(reader_open(&a, w.fetch, 2), 0);
	breaks_off(&w);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
	reader_close(&a);
	opens_at_once(w.fetch, 2, "two");
	world_end(&w);
}
END_TEST

START_TEST(longer_by_its_own_words)
{
	struct world w;
	struct reader a;
	char room[10];

	world_begin(&w);
	put_two_versions(1, SIZE, SIZE);
	upstream_fault(&w.one, "path=*&kind=wrong-length&arg=1000&" HELD);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reads_first_bytes(&a);
	upstream_go(&w.one);
	ck_assert_int_eq(reader_read(&a, SIZE + 100, room, 10), -EIO);
	reader_close(&a);
	opens_at_once(w.fetch, 1, "two");
	world_end(&w);
}
END_TEST

/* A source that has another version now, and no other has any: that one is read. */
START_TEST(the_only_source_changes)
{
	struct world w;
	struct reader a;
	char path[512], room[10];

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=cut&arg=%d&times=1&" HELD, CUT);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reads_first_bytes(&a);
	/* Another file, as long, under the same name. */
	snprintf(path, sizeof(path), "%s/one/buildid/%.40s/executable", scratch, id_text(1));
	ck_assert_int_eq(unlink(path), 0);
	write_elf(path, 1, 20, SIZE + 4096);
	upstream_go(&w.one);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
	reader_close(&a);
	opens_at_once(w.fetch, 1, "one");
	world_end(&w);
}
END_TEST

/* In place of the first version: as long, with other bytes behind its identity. */
static void replace_with_other(const char *path, unsigned n)
{
	char new[520];
	int fd;

	snprintf(new, sizeof(new), "%s.new", path);
	write_elf(new, n, 20, SIZE);
	fd = open(new, O_WRONLY | O_CLOEXEC);
	for (off_t at = 4096; at < SIZE; at += 4096)
		ck_assert_int_eq(pwrite(fd, "other", 5, at), 5);
	close(fd);
	ck_assert_int_eq(rename(new, path), 0);
}

/* A server that sends a range of whatever it has now: only its ETag tells that this is another file. */
START_TEST(a_server_that_ignores_if_range)
{
	struct world w;
	struct reader a;
	char path[512], room[10];

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, SIZE);
	snprintf(path, sizeof(path), "%s/one/buildid/%.40s/executable", scratch, id_text(1));
	upstream_fault(&w.one, "path=*&kind=cut&arg=%d&times=1&" HELD, CUT);
	upstream_fault(&w.one, "path=*&kind=no-if-range");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reads_first_bytes(&a);
	replace_with_other(path, 1);
	upstream_go(&w.one);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
	reader_close(&a);
	opens_at_once(w.fetch, 1, "one");
	world_end(&w);
}
END_TEST

/* The same of a file of which only that is fetched which is read. */
START_TEST(ranges_of_a_server_that_ignores_if_range)
{
	struct world w;
	struct reader a;
	char text[256], path[512], room[4096];
	const char *id = id_text(1);

	world_begin(&w);
	snprintf(text, sizeof(text), "[source \"one\"]\nurl=%s\nlayout=gdb\n", w.one.url);
	world_sources(&w, sources_of(text));
	make_dir("%s/one/.build-id/%.2s", scratch, id);
	snprintf(path, sizeof(path), "%s/one/.build-id/%.2s/%.38s", scratch, id, id + 2);
	write_elf(path, 1, 20, SIZE);
	upstream_fault(&w.one, "path=*&kind=no-if-range");
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reads_first_bytes(&a);
	ck_assert_int_eq(reader_read(&a, SIZE / 2, room, sizeof(room)), sizeof(room));
	ck_assert_uint_ge(upstream_count(&w.one, "ranges"), 2);
	replace_with_other(path, 1);
	ck_assert_int_eq(reader_read(&a, SIZE - 10, room, 10), -EIO);
	reader_close(&a);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	same_as_file(&a, path, 0);
	reader_close(&a);
	world_end(&w);
}
END_TEST

/* The nth at both sources, as gdb names it; the second has other bytes from the first block on. */
static void put_for_gdb(struct world *w, unsigned n, char path_of_two[static 512])
{
	const char *id = id_text(n), *const roots[] = {"one", "two"};
	char text[512], path[512];
	int fd;

	for (unsigned i = 0; i < ARRAY_SIZE(roots); i++) {
		make_dir("%s/%s/.build-id/%.2s", scratch, roots[i], id);
		snprintf(path, sizeof(path), "%s/%s/.build-id/%.2s/%.38s", scratch, roots[i], id, id + 2);
		write_elf(path, n, 20, SIZE);
	}
	memcpy(path_of_two, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (off_t at = 4096; at < SIZE; at += 4096)
		ck_assert_int_eq(pwrite(fd, "other", 5, at), 5);
	close(fd);
	snprintf(text, sizeof(text), "[source \"one\"]\nurl=%s\nlayout=gdb\n[source \"two\"]\nurl=%s\nlayout=gdb\n",
		w->one.url, w->two.url);
	world_sources(w, sources_of(text));
}

/* The same for a file that is fetched by ranges, and for a reader that has read nothing of it. */
START_TEST(ranges_of_another_version)
{
	struct world w;
	struct reader a;
	char path[512], room[4096];

	world_begin(&w);
	for (unsigned i = 1; i <= 2; i++) {
		put_for_gdb(&w, i, path);
		upstream_fault(&w.two, "path=*%.38s&kind=none&hold=0", id_text(i) + 2);
		ck_assert_int_eq(reader_open(&a, w.fetch, i), 0);
		ck_assert_ptr_nonnull(a.part);
		upstream_go(&w.two);
		if (i == 2)
			reads_first_bytes(&a);
		upstream_fault(&w.one, "path=*&kind=status&arg=500");
		/* The beginning is here, the end is not. */
		ck_assert_int_eq(reader_read(&a, SIZE - 4096, room, sizeof(room)), i == 2 ? -EIO : (int)sizeof(room));
		if (i == 1)
			same_as_file(&a, path, 0);
		reader_close(&a);
		ck_assert_int_eq(reader_open(&a, w.fetch, i), 0);
		if (a.part)
			same_as_file(&a, path, 0);
		reader_close(&a);
		stored_soon(w.fetch, i);
		upstream_clear(&w.one);
	}
	world_end(&w);
}
END_TEST

START_TEST(what_becomes_of_a_version)
{
	static const struct {
		struct {
			bool other, same; /* a source has another version; a source may have this version */
			bool asking, grace_over;
			unsigned changes;
			unsigned stuck_ms, most_ms;
		} left;
		enum version_next next;
	} rows[] = {
		/* No other version: sources are asked until nothing came for too long. */
		{{.same = true, .stuck_ms = 10, .most_ms = 100000}, VERSION_WAIT},
		{{.same = true, .stuck_ms = 100000, .most_ms = 100000}, VERSION_LOST},
		{{.same = true, .asking = true, .stuck_ms = 100000, .most_ms = 100000}, VERSION_WAIT},
		{{.stuck_ms = 10, .most_ms = 100000}, VERSION_LOST},
		/* Another one: what is asked may still answer, for a moment. */
		{{.other = true, .same = true, .most_ms = 100000}, VERSION_CHANGE},
		{{.other = true, .most_ms = 100000}, VERSION_CHANGE},
		{{.other = true, .same = true, .asking = true, .most_ms = 100000}, VERSION_WAIT},
		{{.other = true, .same = true, .asking = true, .grace_over = true, .most_ms = 100000},
			VERSION_CHANGE},
		/* Not for ever. */
		{{.other = true, .changes = 100, .most_ms = 100000}, VERSION_LOST},
		{{.other = true, .same = true, .changes = 100, .stuck_ms = 10, .most_ms = 100000}, VERSION_WAIT},
	};

	struct flight *fl = calloc(1, sizeof(*fl) + 2 * sizeof(struct attempt));
	struct fetch *f = calloc(1, sizeof(*f));

	ck_assert(fl && f);
	fl->f = f;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		fl->n = 0;
		if (rows[i].left.same)
			fl->attempts[fl->n++].retry.stale = false;
		if (rows[i].left.other)
			fl->attempts[fl->n++].retry.stale = true;
		fl->race.grace_over = rows[i].left.grace_over;
		fl->body.versions_left = rows[i].left.changes;
		fl->body.stuck_since = clock_ms() - rows[i].left.stuck_ms;
		f->opts.lookup_deadline_ms = rows[i].left.most_ms;
		ck_assert_msg(version_look(fl, rows[i].left.asking) == rows[i].next, "row %u", i);
	}
	free(fl);
	free(f);
}
END_TEST

/* Its front is right, its table of sections is not. */
START_TEST(wrong_at_the_end)
{
	struct world w;
	struct reader a;
	char path[512], room[16];
	Elf64_Shdr sections[2] = {{0}, {.sh_type = SHT_PROGBITS, .sh_offset = SIZE, .sh_size = 4096}};
	Elf64_Ehdr h;
	int fd;

	world_begin(&w);
	put("one", 1, SIZE);
	put("two", 1, SIZE);
	snprintf(path, sizeof(path), "%s/one/buildid/%.40s/executable", scratch, id_text(1));
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &h, sizeof(h), 0), sizeof(h));
	h.e_shoff = SIZE - 2 * sizeof(Elf64_Shdr);
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum = 2;
	ck_assert_int_eq(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), (off_t)h.e_shoff), sizeof(sections));
	close(fd);
	upstream_fault(&w.one, "path=*&kind=none&" HELD);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_ptr_nonnull(a.part);
	ck_assert_int_eq(part_read(a.part, 0, room, sizeof(room)), sizeof(room));
	upstream_go(&w.one);
	unit_wait(part_read(a.part, 0, room, sizeof(room)) < 0);
	ck_assert_int_eq(part_read(a.part, 0, room, sizeof(room)), -EIO);
	ck_assert_int_eq(part_read(a.part, SIZE - 10, room, 10), -EIO);
	reader_close(&a);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	if (a.part)
		same_as(&a, "two", 1, 0);
	reader_close(&a);
	stored_soon(w.fetch, 1);
	world_end(&w);
}
END_TEST

/* The download stalls after 900,000 bytes for `ms`. False: it did so before, also before its first bytes, or the rest
 * came too soon. */
static bool has_first_bytes_and_then_the_seal(unsigned ms)
{
	struct waited first = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	struct waited seal = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	struct part_wait *pw = NULL, *sealed = NULL;
	struct world w;
	struct reader a;
	bool in_time;
	char c;

	waits.stall_ms = ms;
	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=silent-after&arg=900000&times=1");
	if (reader_open(&a, w.fetch, 1) < 0 || !a.part) {
		reader_close(&a);
		world_end(&w);
		return false;
	}
	/* A read across the end of the received bytes returns only the received ones. */
	ck_assert_uint_ge(part_here(a.part, 0, SIZE), EARLY);
	ck_assert_uint_eq(part_here(a.part, SIZE, 1), 0);
	if (part_wait(a.part, PART_FIRST, 890000, SIZE, waited_ready, &first, &pw) == 0)
		waited_for(&first, 0);
	part_wait_unref(take(pw));
	ck_assert_int_eq(part_read(a.part, 890000, &c, 1), 1);
	in_time = part_wait(a.part, PART_SEALED, 0, 0, waited_ready, &seal, &sealed) == 0;
	in_time = in_time && part_here(a.part, SIZE - 1, 1) == 0 && !part_is_sealed(a.part);
	/* It stalls, and the rest comes: then it is judged. */
	if (sealed)
		waited_for(&seal, 0);
	ck_assert(part_is_sealed(a.part));
	ck_assert_int_eq(part_wait(a.part, PART_SEALED, 0, 0, waited_ready, &seal, &pw), 1);
	part_wait_unref(sealed);
	same_as(&a, "one", 1, 0);
	reader_close(&a);
	world_end(&w);
	return in_time;
}

/* One reader takes bytes as they arrive, another needs the whole judged file. */
START_TEST(first_bytes_and_the_seal)
{
	unit_holds(has_first_bytes_and_then_the_seal, 1000);
}
END_TEST

START_TEST(the_last_reader_ends_it)
{
	struct world w;
	struct reader a;
	char room[64];

	waits.park_ms = 300;
	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, 3 * SIZE);
	upstream_fault(&w.one, "path=*&kind=none&" HELD);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_int_eq(part_read(a.part, 0, room, sizeof(room)), sizeof(room));
	reader_close(&a);
	upstream_until(&w.one, "inflight", 0);
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	/* A reader that returns soon continues with the same file. */
	waits.park_ms = UNIT_HOUR_MS;
	world_waits(&w);
	upstream_control(&w.one, "reset", room, sizeof(room));
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	reader_close(&a);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	upstream_clear(&w.one);
	reader_close(&a);
	world_end(&w);
}
END_TEST

START_TEST(waits_can_be_cancelled_and_end_with_fetch)
{
	struct world w;
	struct reader a;
	struct waited one = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER}, two = one;
	struct part_wait *pw = NULL;

	world_begin(&w);
	put("one", 1, SIZE);
	upstream_fault(&w.one, "path=*&kind=silent-after&arg=%d", CUT);
	ck_assert_int_eq(reader_open(&a, w.fetch, 1), 0);
	ck_assert_int_eq(part_wait(a.part, PART_ALL, SIZE - 1, 1, waited_ready, &one, &pw), 0);
	part_wait_cancel(pw);
	ck_assert_uint_eq(one.times, 1);
	ck_assert_int_eq(one.r, -EINTR);
	part_wait_cancel(pw);
	ck_assert_uint_eq(one.times, 1);
	part_wait_unref(pw);
	ck_assert_int_eq(part_wait(a.part, PART_ALL, SIZE - 1, 1, waited_ready, &two, &pw), 0);
	fetch_free(w.fetch);
	ck_assert_uint_eq(two.times, 1);
	ck_assert_int_eq(two.r, -EIO);
	part_wait_unref(pw);
	w.fetch = NULL;
	reader_close(&a);
	world_end(&w);
}
END_TEST

UNIT_MAIN("stream", readers_do_not_wait_for_the_whole, small_files_are_read_before_they_are_stored,
	the_rest_of_what_broke_off, again_and_again,
	all_of_it_again, another_version, never_more_than_half, another_version_for_readers_of_nothing,
	longer_by_its_own_words, the_only_source_changes, a_server_that_ignores_if_range,
	ranges_of_a_server_that_ignores_if_range, ranges_of_another_version, what_becomes_of_a_version,
	wrong_at_the_end, first_bytes_and_the_seal,
	the_last_reader_ends_it, waits_can_be_cancelled_and_end_with_fetch)
