/* The intake: claims of paths, better and equal files, names in archives, many intakes of one key at once, and
 * workers that fail. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/intake.h"
#include "pack/unarchive/unarchive.h"
#include "names/layout/layout.h"
#include "scratch.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ID "C0BCC3F19827FE653058404B2831D9E60"
#define OTHER "D0BCC3F19827FE653058404B2831D9E60"
#define PUBLICS "PUBLIC 1000 0 main\n"
#define LINES "FILE 0 /src/a.c\nFUNC 1000 40 0 main\n1000 40 7 0\n"
#define SYM(id, name, rest) "MODULE Linux x86_64 " id " " name "\n" rest

/* What an intake reported: a line for each part. */
struct seen {
	unsigned n, added, improved, present, refused;
	bool differs;
	int error;
	struct key key;
	char text[4096];
};

static void note(void *ctx, const struct intake_report *r)
{
	struct seen *s = ctx;
	size_t at = strlen(s->text);

	s->n++;
	s->added += r->what == INTAKE_ADDED;
	s->improved += r->what == INTAKE_IMPROVED;
	s->present += r->what == INTAKE_PRESENT;
	s->refused += r->what == INTAKE_REFUSED;
	s->differs |= r->differs;
	if (r->what == INTAKE_REFUSED) {
		s->error = r->error;
		ck_assert_ptr_nonnull(r->why);
		snprintf(s->text + at, sizeof(s->text) - at, "%s: %s\n", r->shown, r->why);
	} else {
		s->key = r->key;
		ck_assert_ptr_nonnull(r->format);
	}
}

static const char *unarchive_program(void)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/libexec/unarchive", top ? top : ".");
	return path;
}

static int in_memory(const void *p, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
	return fd;
}

static struct intake_opts *intake_of(struct store *s, const char *worker)
{
	struct intake_opts o = {.store = s, .source = "upload", .worker = worker ? worker : unarchive_program()};
	struct intake_opts *in = malloc(sizeof(*in));

	*in = o;
	return in;
}

/* Takes the descriptor, and closes it. */
static int take_fd_as(struct intake_opts *in, int fd, const struct intake_item *like, struct seen *out)
{
	struct intake_item it = *like;
	struct stat st;
	int r;

	memset(out, 0, sizeof(*out));
	ck_assert_int_eq(fstat(fd, &st), 0);
	it.fd = fd;
	it.size = (uint64_t)st.st_size;
	it.shown = it.shown ? it.shown : "file";
	it.name = it.name ? it.name : "file";
	it.from = "test:file";
	r = intake_take(in, &it, note, out);
	close(fd);
	return r;
}

static int take_text(struct intake_opts *in, const char *text, const struct intake_item *like, struct seen *out)
{
	return take_fd_as(in, in_memory(text, strlen(text)), like, out);
}

static struct intake_item claiming(const char *layout, const char *path, struct layout_hit *hit)
{
	layout_parse(layout_find(layout), path, hit);
	ck_assert_uint_gt(hit->n, 0);
	return (struct intake_item){.claims = hit->files, .n_claims = hit->n, .compare = true};
}

static int packed_text(const char *text)
{
	char command[2048];
	int fd;

	unlink(in_scratch("packed.gz"));
	unlink(in_scratch("packed"));
	write_file(in_scratch("packed"), text, strlen(text));
	snprintf(command, sizeof(command), "gzip '%s'", in_scratch("packed"));
	ck_assert_int_eq(system(command), 0);
	fd = open(in_scratch("packed.gz"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(claims)
{
	const char *text = SYM(ID, "a.so", LINES);
	struct layout_hit *hit = calloc(1, sizeof(*hit));
	struct intake_item it;
	struct intake_opts *in;
	struct store *s;
	struct seen seen;

	scratch_dir();
	s = open_scratch();
	in = intake_of(s, NULL);
	it = claiming("breakpad", "a.so/" OTHER "/a.so.sym", hit);
	ck_assert_int_eq(take_text(in, text, &it, &seen), 0);
	ck_assert_uint_eq(seen.refused, 1);
	ck_assert_int_eq(seen.error, -EBADMSG);
	ck_assert_msg(strstr(seen.text, "does not fit its path: is debug id C0BCC3F1"), "%s", seen.text);
	it = claiming("symstore", "a.pdb/" ID "/a.pdb", hit);
	ck_assert_int_eq(take_text(in, text, &it, &seen), 0);
	ck_assert_msg(seen.refused == 1 && strstr(seen.text, "does not fit its path"), "%s", seen.text);
	it = claiming("debuginfod", "buildid/f1c3bcc02798" "65fe3058404b2831d9e600000000/source/src/a.c", hit);
	ck_assert_int_eq(take_text(in, "int main;\n", &it, &seen), 0);
	ck_assert_uint_eq(seen.refused, 1);
	ck_assert_int_eq(store_count(s, &(struct store_totals){0}), 0);
	it = claiming("breakpad", "a.so/" ID "/a.so.sym", hit);
	ck_assert_int_eq(take_text(in, text, &it, &seen), 0);
	ck_assert_msg(seen.added == 1, "%s", seen.text);
	ck_assert(store_has(s, &seen.key, NULL));
	/* The content of a compressed file is compared with the claim. */
	it.named = true;
	ck_assert_int_eq(take_fd_as(in, packed_text(text), &it, &seen), 0);
	ck_assert_msg(seen.present == 1 && !seen.differs, "%s", seen.text);
	it = claiming("breakpad", "a.so/" OTHER "/a.so.sym", hit);
	ck_assert_int_eq(take_fd_as(in, packed_text(text), &it, &seen), 0);
	ck_assert_msg(seen.refused == 1 && strstr(seen.text, "does not fit its path"), "%s", seen.text);
	ck_assert_int_eq(verify_quiet(s), 0);
	free(in);
	store_close(s);
	free(hit);
	scratch_end();
}
END_TEST

START_TEST(better_and_equal)
{
	struct intake_item it = {.name = "a.so.sym", .compare = true, .hold = {.class = "try", .age = 1000}};
	const char *poor = SYM(ID, "a.so", PUBLICS), *rich = SYM(ID, "a.so", LINES);
	struct store_totals t;
	struct intake_opts *in;
	struct store *s;
	struct seen seen;

	scratch_dir();
	s = open_scratch();
	in = intake_of(s, NULL);
	ck_assert_int_eq(take_text(in, poor, &it, &seen), 0);
	ck_assert_uint_eq(seen.added, 1);
	ck_assert_int_eq(take_text(in, poor, &it, &seen), 0);
	ck_assert(seen.present == 1 && !seen.differs);
	ck_assert_int_eq(take_text(in, SYM(ID, "a.so", "PUBLIC 1000 0 niam\n"), &it, &seen), 0);
	ck_assert(seen.present == 1 && seen.differs);
	ck_assert_int_eq(take_text(in, rich, &it, &seen), 0);
	ck_assert_msg(seen.improved == 1, "%u %u %s", seen.added, seen.present, seen.text);
	ck_assert_int_eq(take_text(in, poor, &it, &seen), 0);
	ck_assert(seen.present == 1 && seen.differs);
	ck_assert_int_eq(store_count(s, &t), 0);
	ck_assert_uint_eq(t.artifacts, 1);
	ck_assert_uint_eq(t.pinned, 1);
	ck_assert_int_eq(take_text(in, "<html></html>", &it, &seen), 0);
	ck_assert(seen.refused == 1 && seen.error == -ENOMSG);
	ck_assert_int_eq(take_text(in, "", &it, &seen), 0);
	ck_assert_msg(seen.refused == 1 && strstr(seen.text, "is empty"), "%s", seen.text);
	ck_assert_int_eq(verify_quiet(s), 0);
	free(in);
	store_close(s);
	scratch_end();
}
END_TEST

struct purging {
	struct store *s;
	struct key k;
	atomic_bool stop;
};

static void *purge_on(void *ctx)
{
	struct purging *p = ctx;

	while (!atomic_load(&p->stop))
		store_purge(p->s, &p->k, "purged", true);
	return NULL;
}

/* A file that is removed while the same file comes is no other file. */
START_TEST(beside_a_removal)
{
	struct intake_item it = {.name = "a.so.sym", .compare = true, .hold = {.class = "try", .age = 1000}};
	const char *text = SYM(ID, "a.so", PUBLICS);
	struct purging p = {.stop = false};
	struct intake_opts *in;
	struct seen seen;
	pthread_t thread;

	scratch_dir();
	p.s = open_scratch();
	in = intake_of(p.s, NULL);
	ck_assert_int_eq(take_text(in, text, &it, &seen), 0);
	p.k = seen.key;
	ck_assert_int_eq(pthread_create(&thread, NULL, purge_on, &p), 0);
	for (unsigned i = 0; i < 400; i++) {
		ck_assert_int_eq(take_text(in, text, &it, &seen), 0);
		ck_assert_msg(!seen.differs, "upload %u", i);
	}
	atomic_store(&p.stop, true);
	pthread_join(thread, NULL);
	free(in);
	store_close(p.s);
	scratch_end();
}
END_TEST

/* Trouble of the store is no refusal of the file, whatever its error is. */
START_TEST(store_in_trouble)
{
	struct intake_item it = {.name = "a.so.sym", .compare = true};
	struct intake_opts *in;
	struct seen seen;
	struct store *s;

	scratch_dir();
	s = open_scratch();
	in = intake_of(s, NULL);
	ck_assert_int_eq(rmdir(in_scratch("blobs")), 0);
	write_file(in_scratch("blobs"), "x", 1);
	ck_assert_int_eq(take_text(in, SYM(ID, "a.so", PUBLICS), &it, &seen), -EIO);
	ck_assert_msg(strstr(seen.text, "cannot be stored in ") != NULL, "%s", seen.text);
	ck_assert_int_eq(unlink(in_scratch("blobs")), 0);
	ck_assert_int_eq(take_text(in, SYM(ID, "a.so", PUBLICS), &it, &seen), 0);
	ck_assert_uint_eq(seen.added, 1);
	free(in);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- archives ----------------------------------------------------------------------------- */

/* Writes an archive of NAME, TEXT, ..., NULL by the helper, and opens it. */
static int archive_of(const char *format, const char *filter, ...)
{
	static char helper[4096];
	char command[8192];
	const char *name, *text;
	unsigned n = 0;
	va_list ap;
	int fd;

	snprintf(helper, sizeof(helper), "%s/tests/helpers/archive-write", getenv("top_builddir"));
	snprintf(command, sizeof(command), "'%s' '%s' %s %s", helper, in_scratch("archive"), format, filter);
	va_start(ap, filter);
	while ((name = va_arg(ap, const char *))) {
		char file[512];

		text = va_arg(ap, const char *);
		snprintf(file, sizeof(file), "%s/member-%u", scratch, n++);
		unlink(file);
		write_file(file, text, strlen(text));
		snprintf(command + strlen(command), sizeof(command) - strlen(command), " '%s' '%s'", name, file);
	}
	va_end(ap);
	ck_assert_int_eq(system(command), 0);
	fd = open(in_scratch("archive"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(strict_names)
{
	struct intake_item it = {.shown = "u", .named = true, .strict = true};
	const char *text = SYM(ID, "a.so", LINES);
	struct intake_opts *in;
	struct store *s;
	struct seen seen;

	scratch_dir();
	s = open_scratch();
	in = intake_of(s, NULL);
	ck_assert_int_eq(take_fd_as(in, archive_of("tar", "gz", "a.so/" OTHER "/a.so.sym", text, "/a.sym", text,
		"../b.sym", text, "notes", "words", "notes", "other words", "a.so/" ID "/a.so.sym", text, NULL),
		&it, &seen), 0);
	ck_assert_msg(seen.added == 1 && seen.refused == 5, "%s", seen.text);
	ck_assert_ptr_nonnull(strstr(seen.text, "u!a.so/" OTHER "/a.so.sym: does not fit its path: is debug id"));
	ck_assert_ptr_nonnull(strstr(seen.text, "u!/a.sym: has an absolute name"));
	ck_assert_ptr_nonnull(strstr(seen.text, "u!../b.sym: has a name that leads out of the archive"));
	ck_assert_ptr_nonnull(strstr(seen.text, "u!notes: of no format"));
	ck_assert_ptr_nonnull(strstr(seen.text, "u!notes: has the name of an earlier member"));
	/* Without `strict` the bytes alone count. */
	it.strict = false;
	ck_assert_int_eq(take_fd_as(in, archive_of("7z", "none", "a.so/" OTHER "/a.so.sym", text, "/a.sym", text,
		NULL), &it, &seen), 0);
	ck_assert_msg(seen.present == 2 && !seen.refused, "%s", seen.text);
	ck_assert_int_eq(verify_quiet(s), 0);
	free(in);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(limits_of_a_file)
{
	struct intake_opts o = {.source = "upload", .worker = unarchive_program(), .max_file_size = 60};
	struct intake_item it = {.named = true};
	struct intake_opts *in = &o;
	struct seen seen;

	scratch_dir();
	o.store = open_scratch();
		ck_assert_int_eq(take_text(in, SYM(ID, "a.so", LINES), &it, &seen), 0);
	ck_assert_msg(seen.error == -EFBIG && strstr(seen.text, "the limit is 60"), "%s", seen.text);
	ck_assert_int_eq(take_fd_as(in, packed_text(SYM(ID, "a.so", LINES)), &it, &seen), 0);
	ck_assert_msg(seen.error == -EFBIG, "%d %s", seen.error, seen.text);
	ck_assert_int_eq(take_fd_as(in, archive_of("tar", "xz", "a.sym", SYM(ID, "a.so", LINES), NULL), &it, &seen),
		0);
	ck_assert_msg(strstr(seen.text, "has more than 60 bytes (max-file-size)"), "%s", seen.text);
	store_close(o.store);
	scratch_end();
}
END_TEST

/* ---- at once -------------------------------------------------------------------------------- */

#define THREADS 8

struct racer {
	pthread_t thread;
	struct intake_opts *in;
	char text[256];
	int r;
	struct seen seen;
};

static void *race(void *ctx)
{
	struct racer *c = ctx;
	struct intake_item it = {.name = "a.so.sym"};

	c->r = take_text(c->in, c->text, &it, &c->seen);
	return NULL;
}

/* Equally good files of other bytes: one wins, and all others find it. Better ones: the best wins. */
START_TEST(one_key_at_once)
{
	static struct racer all[THREADS];
	struct store_totals t;
	struct store *s;
	unsigned added = 0, present = 0, improved = 0;

	scratch_dir();
	s = open_scratch();
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < THREADS; i++) {
			all[i].in = intake_of(s, NULL);
			snprintf(all[i].text, sizeof(all[i].text), SYM("%08X9827FE653058404B2831D9E60", "a.so",
				"FILE 0 /src/a%u.c\n%s"), round, i,
				i % 2 ? "PUBLIC 1000 0 m\n" : "FUNC 1000 40 0 m\n1000 40 7 0\n");
			ck_assert_int_eq(pthread_create(&all[i].thread, NULL, race, &all[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			pthread_join(all[i].thread, NULL);
			ck_assert_msg(all[i].r == 0 && !all[i].seen.refused, "%d %s", all[i].r, all[i].seen.text);
			added += all[i].seen.added;
			present += all[i].seen.present;
			improved += all[i].seen.improved;
			free(all[i].in);
		}
	}
	ck_assert_uint_eq(added + improved + present, 5 * THREADS);
	ck_assert_int_eq(store_count(s, &t), 0);
	ck_assert_msg(t.artifacts == 5 && t.pinned == 5 && t.drafts == 0, "%llu files, %llu pinned",
		(unsigned long long)t.artifacts, (unsigned long long)t.pinned);
	ck_assert_int_eq(verify_quiet(s), 0);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- workers that fail ------------------------------------------------------------------------ */

START_TEST(broken_workers)
{
	static const struct {
		const char *body, *words;
	} all[] = {
		{"kill -SEGV $$", "ended by signal 11"},
		{"kill -XCPU $$", "takes too long to unpack"},
		{"kill -KILL $$", "ended by signal 9"},
		{"exit 3", "ended with status 3"},
		{"exit 0", "ended with status 0"},
		{"exit 127", "restart symfs"},
		{"printf 1234567 >&4", "unexpected message"},
		{"exec 4>&-; exec sleep 100", "ended by signal 9"},
	};
	struct intake_item it = {.named = true};

	scratch_dir();
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		char text[256];
		const char *path = in_scratch("worker");
		struct store *s = open_scratch();
		struct intake_opts *in;
		struct seen seen;
		int r;

		unlink(path);
		snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", all[i].body);
		write_file(path, text, strlen(text));
		ck_assert_int_eq(chmod(path, 0700), 0);
		in = intake_of(s, path);
		do {
			int fd = archive_of("tar", "none", "a.sym", SYM(ID, "a.so", LINES), NULL);

			r = take_fd_as(in, fd, &it, &seen);
			/* Again if the worker had no processor: the intake does not know how such a worker ended. */
		} while (waitpid(-1, NULL, 0) > 0);
		ck_assert_msg(r == (strstr(all[i].body, "127") ? -EIO : 0), "%s: %d", all[i].body, r);
		ck_assert_msg(seen.refused == 1 && strstr(seen.text, all[i].words), "%s: %s", all[i].body, seen.text);
		free(in);
		store_close(s);
	}
	scratch_end();
}
END_TEST

/* A worker that says nothing is ended, and `stop` ends one at once. */
START_TEST(silent_workers)
{
	atomic_bool stop = false;
	struct unarchive_opts o = {.stall_seconds = 1, .stop = &stop, .limits = {1000, 1000}};
	struct unarchive_member m;
	struct err e = {0};

	for (int i = 0; i < 2; i++) {
		struct unarchive *u;
		int pair[2];

		atomic_store(&stop, i == 1);
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		ck_assert_int_eq(unarchive_over(&u, &o, pair[0], &e), 0);
		ck_assert_int_eq(unarchive_next(u, &m, &e), i ? -EINTR : -ETIME);
		unarchive_close(u);
		close(pair[1]);
	}
}
END_TEST

static void *tick(void *ctx)
{
	struct wire w = {.kind = WIRE_TICK};

	while (send(*(int *)ctx, &w, sizeof(w), MSG_NOSIGNAL) == sizeof(w))
		usleep(20000);
	return NULL;
}

/* A worker that sends only signs of progress is ended, too. */
START_TEST(endless_workers)
{
	struct unarchive_opts o = {.stall_seconds = 60, .wait_seconds = 1, .limits = {1000, 1000}};
	struct unarchive_member m;
	struct unarchive *u;
	struct err e = {0};
	pthread_t thread;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, tick, &pair[1]), 0);
	ck_assert_int_eq(unarchive_over(&u, &o, pair[0], &e), 0);
	ck_assert_int_eq(unarchive_next(u, &m, &e), -EFBIG);
	ck_assert_msg(strstr(e.text, "takes too long"), "%s", e.text);
	unarchive_close(u);
	pthread_join(thread, NULL);
	close(pair[1]);
}
END_TEST

static void say(int socket, enum wire_kind kind, uint64_t nth, uint32_t n)
{
	struct { struct wire w; char bytes[1000]; } all = {.w = {.kind = kind, .nth = nth, .n = n}};

	memset(all.bytes, 'x', n);
	ck_assert_int_eq(send(socket, &all, sizeof(all.w) + n, MSG_NOSIGNAL), (ssize_t)(sizeof(all.w) + n));
}

/* A worker that sends more bytes than it may unpack, or a member twice, is ended. */
START_TEST(greedy_workers)
{
	struct unarchive_opts o = {.limits = {1000, 1000}};
	struct unarchive_member m;
	struct err e = {0};

	for (unsigned i = 0; i < 3; i++) {
		uint32_t second = i == 1 ? 501 : 500;
		struct unarchive *u;
		const uint8_t *p;
		int pair[2];
		size_t n;

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		say(pair[1], WIRE_MEMBER, 1, 1);
		say(pair[1], WIRE_BYTES, 1, 500);
		say(pair[1], WIRE_MEMBER, i == 2 ? 1 : 2, 1);
		say(pair[1], WIRE_BYTES, 2, second);
		ck_assert_int_eq(unarchive_over(&u, &o, pair[0], &e), 0);
		ck_assert_int_eq(unarchive_next(u, &m, &e), 0);
		ck_assert_int_eq(unarchive_head(u, &p, &n, &e), 0);
		ck_assert_int_eq(unarchive_next(u, &m, &e), i == 2 ? -EBADMSG : 0);
		if (i < 2)
			ck_assert_int_eq(unarchive_head(u, &p, &n, &e), i ? -EBADMSG : 0);
		ck_assert_msg(i == 0 || strstr(e.text, "unexpected message"), "%s", e.text);
		unarchive_close(u);
		close(pair[1]);
	}
}
END_TEST

/* ---- archives that were changed at random ------------------------------------------------------- */

static uint64_t state;

static uint64_t roll(uint64_t most)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return most ? (state >> 20) % most : 0;
}

static void change(uint8_t *p, size_t n)
{
	for (uint64_t i = 1 + roll(4); i--;) {
		size_t at = roll(4) ? roll(n) : roll(MIN(n, (size_t)64)), len = roll(9);

		switch (roll(3)) {
		case 0:
			p[at] = (uint8_t)roll(256);
			break;
		case 1:
			p[at] ^= (uint8_t)(1u << roll(8));
			break;
		default:
			memset(p + at, roll(2) ? 0xff : 0, MIN(n - at, len));
		}
	}
}

/* No archive ends a worker by a signal, and nothing but the members is ever stored. */
START_TEST(changed_archives)
{
	static const char *const kinds[][2] = {{"tar", "none"}, {"tar", "gz"}, {"tar", "xz"}, {"tar", "bz2"},
		{"tar", "zst"}, {"pax", "none"}, {"7z", "none"}, {"deb", "xz"}, {"rpm", "gz"}};
	const char *seed = getenv("SYMFS_TEST_SEED"), *times = getenv("SYMFS_INTAKE_TIMES");
	struct intake_item it = {.named = true};
	unsigned tried = 0, stored = 0;

	state = seed ? strtoull(seed, NULL, 10) : 1;
	scratch_dir();
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct store *s = open_scratch();
		struct intake_opts *in = intake_of(s, NULL);
		int fd = archive_of(kinds[i][0], kinds[i][1], "words", "some words\n", "a.sym",
			SYM(ID, "a.so", LINES), "b.sym", SYM(OTHER, "b.so", PUBLICS), NULL);
		off_t n = lseek(fd, 0, SEEK_END);
		uint8_t *p = malloc((size_t)n), *copy = malloc((size_t)n);

		ck_assert_int_eq(pread(fd, p, (size_t)n, 0), n);
		close(fd);
		for (unsigned j = times ? (unsigned)strtoul(times, NULL, 10) : 12; j--; tried++) {
			size_t size = roll(8) ? (size_t)n : (size_t)roll((uint64_t)n);
			struct store_totals t;
			struct seen seen;

			memcpy(copy, p, (size_t)n);
			if (size)
				change(copy, size);
			ck_assert_int_eq(take_fd_as(in, in_memory(copy, size), &it, &seen), 0);
			ck_assert_msg(!strstr(seen.text, "signal") && !strstr(seen.text, "status") &&
				!strstr(seen.text, "unexpected"), "%s %s, seed %s: %s", kinds[i][0], kinds[i][1],
				seed ? seed : "1", seen.text);
			ck_assert_int_eq(store_count(s, &t), 0);
			ck_assert_uint_eq(t.drafts, 0);
			stored += seen.added + seen.present;
		}
		ck_assert_int_eq(verify_quiet(s), 0);
		free(p);
		free(copy);
		free(in);
		store_close(s);
	}
	printf("# %u changed archives, %u members stored\n", tried, stored);
	ck_assert_uint_gt(stored, 0);
	scratch_end();
}
END_TEST

UNIT_MAIN("intake", claims, better_and_equal, beside_a_removal, store_in_trouble, strict_names, limits_of_a_file,
	one_key_at_once, broken_workers, silent_workers, endless_workers, greedy_workers, changed_archives)
