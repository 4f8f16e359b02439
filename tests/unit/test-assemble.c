/* Tests intake/upload/assemble.c and filed.c: chunks become files of the store, and the client learns their state at
 * each step and after a restart; also refusals, and files that were removed since. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scratch.h"
#include "sha1s.h"
#include "base/clock.h"
#include "intake/upload/assemble.h"
#include "intake/upload/filed.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define ID "00112233445566778899AABBCCDDEEFF0"
#define SYM "MODULE Linux x86_64 " ID " prog\nFILE 0 a.c\nFUNC 1000 10 0 main\n1000 10 7 0\n"

static struct store *store;
static struct assembly *assembly;
static atomic_uint events;
static uint64_t last_size;
static char last_what[32], last_detail[SENTRY_TEXT_MAX], last_user[64];

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned left; /* files that it lets pass */
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, UINT_MAX};

/* The files of the clients "hog" and "hog2" keep their workers until the gate lets them pass. */
static void pass_gate(const char *user)
{
	if (strncmp(user, "hog", 3) != 0)
		return;
	pthread_mutex_lock(&gate.lock);
	while (!gate.left)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.left--;
	pthread_mutex_unlock(&gate.lock);
}

static void open_gate(unsigned files)
{
	pthread_mutex_lock(&gate.lock);
	gate.left = files;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

/* On any worker's thread. A test reads the counters at any time, the rest only when no worker has a job. */
static void on_event(void *ctx, const struct assembly_event *ev)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pass_gate(ev->user);
	if (strcmp(ev->user, "removed") == 0)
		store_remove_file(store, ev->key);
	pthread_mutex_lock(&lock);
	events++;
	last_size = ev->size;
	snprintf(last_what, sizeof(last_what), "%s", ev->what);
	snprintf(last_detail, sizeof(last_detail), "%s", ev->detail);
	snprintf(last_user, sizeof(last_user), "%s", ev->user);
	pthread_mutex_unlock(&lock);
}

static struct key sym_key(void)
{
	return key_of_text("breakpad " ID " prog.sym");
}

static void start(void)
{
	const struct assembly_opts o = {.store = store, .file_most = 1 << 20, .done = on_event};
	struct err e = {0};

	ck_assert_msg(assembly_new(&assembly, &o, &e) == 0, "%s", e.text);
}

static void begin(void)
{
	scratch_dir();
	store = open_scratch();
	start();
}

static void end(void)
{
	assembly_free(assembly);
	store_close(store);
	scratch_end();
}

/* A file in chunks of `piece` bytes. */
struct upload {
	struct sentry_file file;
	struct sha1 chunks[64];
};

static struct upload upload_of(const char *text, size_t piece, const char *name)
{
	struct upload u = {.file = {.sha1 = sha1_of(text, strlen(text))}};

	snprintf(u.file.name, sizeof(u.file.name), "%s", name);
	for (size_t at = 0; at < strlen(text); at += piece)
		u.chunks[u.file.n++] = sha1_of(text + at, MIN(piece, strlen(text) - at));
	return u;
}

static void send(const char *text, size_t piece, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		size_t at = i * piece, n = MIN(piece, strlen(text) - at);
		struct sha1 name = sha1_of(text + at, n);
		struct chunk *k = NULL;

		ck_assert_int_eq(chunk_begin(&k, assembly_chunks(assembly), &name, false), 0);
		ck_assert_int_eq(chunk_add(k, text + at, n), 0);
		ck_assert_int_eq(chunk_end(k), 0);
	}
}

static struct sentry_answer ask_by(const char *user, const struct upload *u)
{
	static struct sha1 missing[64];
	const struct assembly_for by = {.user = user, .project = "o/p"};
	struct sentry_answer a;

	assembly_ask(assembly, &u->file, u->chunks, &by, missing, &a);
	return a;
}

static struct sentry_answer ask(const struct upload *u)
{
	return ask_by("ci", u);
}

/* Asks until the file has come to an end. */
static struct sentry_answer ask_all(const struct upload *u)
{
	struct sentry_answer a = ask(u);

	while (a.state == SENTRY_CREATED || a.state == SENTRY_ASSEMBLING) {
		usleep(10000);
		a = ask(u);
	}
	return a;
}

/* Another client states the SHA-1 of this file with chunks that are not its own. */
START_TEST(test_refusal_of_another)
{
	struct upload u, wrong;
	struct sentry_answer a;

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	wrong = u;
	wrong.file.n = 1;
	a = ask_all(&wrong);
	ck_assert_int_eq(a.state, SENTRY_ERROR);
	a = ask(&wrong); /* the refusal is remembered */
	ck_assert_int_eq(a.state, SENTRY_ERROR);
	a = ask_all(&u);
	ck_assert_int_eq(a.state, SENTRY_OK);
	end();
}
END_TEST

START_TEST(test_file)
{
	struct upload u;
	struct sentry_answer a;
	struct key k = sym_key();

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	a = ask(&u);
	ck_assert_int_eq(a.state, SENTRY_NOT_FOUND);
	ck_assert_uint_eq(a.n_missing, u.file.n);
	send(SYM, 20, 1, 3);
	a = ask(&u);
	ck_assert_int_eq(a.state, SENTRY_NOT_FOUND);
	ck_assert_uint_eq(a.n_missing, u.file.n - 2);
	ck_assert(sha1_equal(&a.missing[0], &u.chunks[0]) && sha1_equal(&a.missing[1], &u.chunks[3]));
	send(SYM, 20, 0, u.file.n);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_OK, "state %d, %s", a.state, a.detail);
	ck_assert_str_eq(a.dif.what, "added");
	ck_assert_str_eq(a.dif.name, "prog.sym");
	ck_assert_str_eq(a.dif.arch, "x86_64");
	ck_assert_str_eq(a.dif.format, "breakpad");
	ck_assert_str_eq(a.dif.debug_id, "00112233-4455-6677-8899-aabbccddeeff");
	ck_assert_uint_eq(a.dif.size, strlen(SYM));
	ck_assert(store_has(store, &k, NULL));
	ck_assert_uint_eq(events, 1);
	ck_assert_str_eq(last_what, "added");
	ck_assert_str_eq(last_user, "ci");
	/* Once more, by a server that was started anew, and without a chunk. */
	assembly_free(assembly);
	start();
	chunks_sweep(assembly_chunks(assembly), clock_wall() + CHUNKS_SECONDS);
	count_below(in_scratch("uploads/chunks"));
	ck_assert_uint_eq(below.files, 0);
	a = ask(&u);
	ck_assert_int_eq(a.state, SENTRY_OK);
	ck_assert_str_eq(a.dif.debug_id, "00112233-4455-6677-8899-aabbccddeeff");
	ck_assert_uint_eq(events, 1);
	end();
}
END_TEST

/* The chunks survive the server; the file is assembled by the next one. */
START_TEST(test_restart)
{
	struct upload u;
	struct sentry_answer a;

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	assembly_free(assembly);
	start();
	a = ask_all(&u);
	ck_assert_int_eq(a.state, SENTRY_OK);
	end();
}
END_TEST

START_TEST(test_removed)
{
	struct upload u;
	struct sentry_answer a;
	struct key k = sym_key();

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	ck_assert_int_eq(store_remove_file(store, &k), 0);
	chunks_sweep(assembly_chunks(assembly), clock_wall() + CHUNKS_SECONDS + 60);
	a = ask(&u);
	ck_assert_int_eq(a.state, SENTRY_NOT_FOUND);
	ck_assert_uint_eq(a.n_missing, u.file.n);
	send(SYM, 20, 0, u.file.n);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	ck_assert(store_has(store, &k, NULL));
	end();
}
END_TEST

/* The file is removed before its record is written: it is no file that the server has. */
START_TEST(test_removed_at_once)
{
	struct upload u;
	struct sentry_answer a;
	struct key k = sym_key();

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	for (a = ask_by("removed", &u); events == 0; a = ask(&u)) {
		ck_assert_int_ne(a.state, SENTRY_OK);
		usleep(10000);
	}
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	ck_assert(store_has(store, &k, NULL));
	end();
}
END_TEST

/* Another file gets the id after the file was removed. */
START_TEST(test_replaced)
{
	struct upload u, other;
	struct sentry_answer a;
	struct key k = sym_key();

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	other = upload_of(SYM "1008 8 8 0\n", 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	ck_assert_int_eq(store_remove_file(store, &k), 0);
	send(SYM "1008 8 8 0\n", 20, 0, other.file.n);
	ck_assert_int_eq(ask_all(&other).state, SENTRY_OK);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_OK && strcmp(a.dif.what, "present") == 0, "%d %s", a.state, a.dif.what);
	ck_assert(strstr(a.detail, "another file is stored under its id"));
	ck_assert_int_eq(ask_all(&other).state, SENTRY_OK);
	/* It is taken once the other file is removed. */
	ck_assert_int_eq(store_remove_file(store, &k), 0);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	ck_assert(store_has(store, &k, NULL));
	end();
}
END_TEST

static void check_refused(const struct upload *u, const char *text, size_t piece, const char *why)
{
	struct sentry_answer a;
	unsigned before = events;

	send(text, piece, 0, u->file.n);
	a = ask_all(u);
	ck_assert_msg(a.state == SENTRY_ERROR && strstr(a.detail, why), "state %d, %s", a.state, a.detail);
	ck_assert_uint_eq(events, before + 1);
	ck_assert_str_eq(last_what, "refused");
	ck_assert_int_eq(ask(u).state, SENTRY_ERROR); /* and it is remembered */
	ck_assert_uint_eq(events, before + 1);
}

START_TEST(test_refusals)
{
	static char large[(1 << 20) + 200];
	struct sentry_answer a;
	struct upload u;
	struct key k = sym_key();

	begin();
	u = upload_of("just a text\n", 5, "notes.txt");
	check_refused(&u, "just a text\n", 5, "of no format that symfs knows");
	u = upload_of(SYM, 20, "prog.sym");
	ck_assert_int_eq(debug_id_parse(&u.file.debug_id, "11112233-4455-6677-8899-aabbccddeeff", 36), 0);
	check_refused(&u, SYM, 20, "has the debug id 00112233-4455-6677-8899-aabbccddeeff, but the request says "
		"1111");
	u = upload_of(SYM "\n", 20, "prog.sym");
	u.file.sha1.bytes[3] ^= 1;
	check_refused(&u, SYM "\n", 20, "has another SHA-1 than the request says");
	memset(large, 'x', sizeof(large) - 1);
	memcpy(large, SYM, strlen(SYM));
	u = upload_of(large, 1 << 15, "large.sym");
	check_refused(&u, large, 1 << 15, "is larger than 1048576 bytes");
	u = upload_of("", 5, "empty");
	a = ask(&u);
	ck_assert_int_eq(a.state, SENTRY_ERROR);
	ck_assert_str_eq(a.detail, "is empty");
	ck_assert(!store_has(store, &k, NULL));
	end();
}
END_TEST

/* One small chunk that is named many times makes no large draft: not if the sum is above the limit, and not if the
 * file has another SHA-1. */
START_TEST(test_repeated_chunk)
{
	static char piece[20481];
	struct upload u = {.file = {.name = "large.sym"}};
	struct rlimit small, was;
	struct sentry_answer a;

	begin();
	memset(piece, 'x', sizeof(piece) - 1);
	send(piece, sizeof(piece) - 1, 0, 1);
	for (; u.file.n < 60; u.file.n++)
		u.chunks[u.file.n] = sha1_of(piece, sizeof(piece) - 1);
	u.file.sha1 = sha1_of("one", 3);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 65536; /* bytes of any file */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_ERROR && strstr(a.detail, "is larger than 1048576 bytes"), "state %d, %s",
		a.state, a.detail);
	ck_assert_uint_eq(last_size, 60 * 20480);
	u.file.n = 50;
	u.file.sha1 = sha1_of("two", 3);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_ERROR && strstr(a.detail, "has another SHA-1"), "state %d, %s", a.state,
		a.detail);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	end();
}
END_TEST

/* A file that is far larger than what its client has sent is refused before it is read. */
START_TEST(test_repeated_too_often)
{
	struct assembly_opts o = {.done = on_event};
	_cleanup_free_ char *piece = malloc((8 << 20) + 1);
	struct upload u = {.file = {.name = "large.sym", .sha1 = sha1_of("one", 3)}};
	struct sentry_answer a;
	struct err e;

	begin();
	assembly_free(assembly);
	o.store = store;
	ck_assert_int_eq(assembly_new(&assembly, &o, &e), 0);
	memset(piece, 'x', 8 << 20);
	piece[8 << 20] = '\0';
	send(piece, 8 << 20, 0, 1);
	for (; u.file.n < 60; u.file.n++)
		u.chunks[u.file.n] = sha1_of(piece, 8 << 20);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_ERROR && strstr(a.detail, "than its distinct chunks"), "%s", a.detail);
	end();
}
END_TEST

/* One client's files do not keep all workers: another client's file comes to its end before them. */
START_TEST(test_fair)
{
	struct upload u, hogs[5];
	char text[32];

	begin();
	open_gate(0);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++) {
		snprintf(text, sizeof(text), "no symbol file %u", i);
		hogs[i] = upload_of(text, sizeof(text), "hog");
		send(text, sizeof(text), 0, 1);
		ask_by("hog", &hogs[i]);
	}
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	open_gate(UINT_MAX);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++)
		ck_assert_int_eq(ask_all(&hogs[i]).state, SENTRY_ERROR);
	end();
}
END_TEST

/* Two clients have all workers, and many files wait: another client's file comes before most of them. */
START_TEST(test_turns)
{
	struct upload u, hogs[16];
	char text[32];

	begin();
	open_gate(0);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++) {
		snprintf(text, sizeof(text), "no symbol file %u", i);
		hogs[i] = upload_of(text, sizeof(text), "hog");
		send(text, sizeof(text), 0, 1);
		ask_by(i < 8 ? "hog" : "hog2", &hogs[i]);
	}
	u = upload_of("another text", 20, "ci");
	send("another text", 20, 0, 1);
	ask(&u);
	/* Three files have workers. When these end, one file of each of the two clients may come before this one. */
	open_gate(3);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_ERROR);
	open_gate(UINT_MAX);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++)
		ask_all(&hogs[i]);
	end();
}
END_TEST

/* The remembered refusals of one client's files do not keep out the files of others. */
START_TEST(test_many_refusals)
{
	struct upload u, wrong = {.file = {.n = 1}};

	begin();
	send("x", 1, 0, 1);
	wrong.chunks[0] = sha1_of("x", 1);
	for (unsigned i = 0; i < 4200; i++) {
		wrong.file.sha1 = sha1_of(&i, sizeof(i));
		ask(&wrong);
		if (i % 64 == 0)
			ask_all(&wrong);
	}
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	end();
}
END_TEST

/* A chunk that is damaged on disk is sent again. */
START_TEST(test_damaged_chunk)
{
	struct sentry_answer a;
	char hex[SHA1_TEXT], path[128];
	struct upload u;

	begin();
	u = upload_of(SYM, 20, "prog.sym");
	send(SYM, 20, 0, u.file.n);
	sha1_text(&u.chunks[2], hex);
	snprintf(path, sizeof(path), "uploads/chunks/%.2s/%s", hex, hex + 2);
	write_file(in_scratch(path), "damaged", 7);
	a = ask_all(&u);
	ck_assert_msg(a.state == SENTRY_NOT_FOUND, "state %d, %s", a.state, a.detail);
	ck_assert_uint_eq(a.n_missing, 1);
	ck_assert(sha1_equal(&a.missing[0], &u.chunks[2]));
	send(SYM, 20, 2, 3);
	ck_assert_int_eq(ask_all(&u).state, SENTRY_OK);
	end();
}
END_TEST

START_TEST(test_record)
{
	struct filed *f = calloc(1, sizeof(*f)), *was = calloc(1, sizeof(*was));
	struct sha1 s = sha1_of("x", 1);
	char hex[SHA1_TEXT], path[128];

	scratch_dir();
	ck_assert_int_eq(filed_read(scratch, &s, was), -ENOENT);
	snprintf(f->dif.name, sizeof(f->dif.name), "a b");
	snprintf(f->dif.arch, sizeof(f->dif.arch), "x\nkey y");
	snprintf(f->detail, sizeof(f->detail), "one \"two\"");
	f->dif.size = 1ull << 40;
	f->dif.stored = 77;
	snprintf(f->sha256[0], SHA256_TEXT, "%064d", 7);
	f->keys[f->n++] = sym_key();
	ck_assert_int_eq(filed_write(scratch, &s, f), 0);
	ck_assert_int_eq(filed_read(scratch, &s, was), 0);
	ck_assert_str_eq(was->dif.name, "a b");
	ck_assert_str_eq(was->dif.arch, "");
	ck_assert_str_eq(was->detail, "one \"two\"");
	ck_assert_uint_eq(was->dif.size, 1ull << 40);
	ck_assert_int_eq(was->dif.stored, 77);
	ck_assert_uint_eq(was->n, 1);
	ck_assert(key_equal(&was->keys[0], &f->keys[0]) && strcmp(was->sha256[0], f->sha256[0]) == 0);
	/* A damaged record is no record. */
	sha1_text(&s, hex);
	snprintf(path, sizeof(path), "files/%.2s/%s", hex, hex + 2);
	ck_assert_int_eq(unlink(in_scratch(path)), 0);
	write_file(in_scratch(path), "x", 1);
	ck_assert_int_eq(filed_read(scratch, &s, was), -ENOENT);
	filed_remove(scratch, &s);
	ck_assert_int_eq(filed_read(scratch, &s, was), -ENOENT);
	free(f);
	free(was);
	scratch_end();
}
END_TEST

UNIT_MAIN("assemble", test_file, test_refusal_of_another, test_restart, test_removed, test_removed_at_once,
	test_replaced, test_refusals, test_repeated_chunk, test_repeated_too_often, test_fair, test_turns,
	test_many_refusals, test_damaged_chunk, test_record)
