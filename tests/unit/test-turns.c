/* Tests many long downloads from one host, which accepts only a few requests at once. Every
 * request soon learns whether its file exists, every download makes progress, and none reaches its
 * deadline because of others. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "readers.h"

#define MANY 16
#define SIZE (768u << 10)
#define RATE "300000" /* bytes a second: one takes longer than the lookup deadline */

static void path_of(char out[static 512], unsigned n)
{
	uint8_t id[20];
	char text[41];

	id_nth(n, id, text);
	snprintf(out, 512, "%s/one/.build-id/%.2s/%s", scratch, text, text + 2);
}

static void put_files(unsigned most)
{
	char path[512];

	for (unsigned n = 1; n <= most; n++) {
		make_dir("%s/one/.build-id/%.2s", scratch, id_text(n));
		path_of(path, n);
		write_elf(path, n, 20, SIZE);
	}
}

static void begin(struct world *w, unsigned connections, bool ranges)
{
	char text[512];

	world_begin_slow(w, RATE);
	if (!ranges)
		upstream_fault(&w->one, "path=*&kind=no-range");
	put_files(MANY + 1);
	snprintf(text, sizeof(text), "[source \"one\"]\nurl=%s\nlayout=gdb\nconnections=%u\n", w->one.url,
		connections);
	world_sources(w, sources_of(text));
}

struct task {
	struct world *w;
	unsigned n;
	pthread_t thread;
	struct reader rd;
	int r;
	atomic_uint_fast64_t waited; /* ms until the first bytes, and 1 */
};

static void *read_it(void *ctx)
{
	struct task *t = ctx;
	uint64_t began = clock_ms();
	char path[512], room[4096];

	t->r = reader_open(&t->rd, t->w->fetch, t->n);
	if (t->r == 0 && t->rd.part)
		t->r = (int)MIN(reader_read(&t->rd, 0, room, sizeof(room)), 0);
	atomic_store(&t->waited, clock_ms() - began + 1);
	if (t->r == 0 && t->rd.part) {
		path_of(path, t->n);
		same_as_file(&t->rd, path, 0);
	}
	reader_close(&t->rd);
	return NULL;
}

static void readers_start(struct world *w, struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		tasks[i].w = w;
		tasks[i].n = i + 1;
		atomic_init(&tasks[i].waited, 0);
		ck_assert_int_eq(pthread_create(&tasks[i].thread, NULL, read_it, &tasks[i]), 0);
	}
}

/* Each has some bytes: from now on there are only bodies. */
static void readers_read(struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		while (!atomic_load(&tasks[i].waited))
			poll(NULL, 0, 5);
}

static void readers_end(struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(tasks[i].thread, NULL);
	for (unsigned i = 0; i < n; i++)
		ck_assert_msg(tasks[i].r == 0, "reader %u: %s", i, err_text(tasks[i].r));
}

/* At the default: eight at once. */
START_TEST(ranges_take_turns)
{
	struct task tasks[MANY];
	struct world w;
	struct asker a;

	begin(&w, 0, true);
	readers_start(&w, tasks, MANY);
	readers_read(tasks, MANY);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, MANY + 1, FETCH_EXISTS), 0);
	readers_end(tasks, MANY);
	ck_assert_uint_eq(atomic_load(&fetch_stats(w.fetch)->timeouts), 0);
	world_end(&w);
}
END_TEST

/* Two very long downloads of whole files pause when another request needs less, and continue later. */
START_TEST(as_few_as_was_said)
{
	struct reader readers[2];
	struct asker whole[2], a;
	struct world w;

	begin(&w, 2, true);
	for (unsigned i = 0; i < 2; i++) {
		char path[512];

		path_of(path, i + 1);
		write_elf(path, i + 1, 20, 20 * SIZE);
		ck_assert_int_eq(reader_open(&readers[i], w.fetch, i + 1), 0);
		ask(&whole[i], w.fetch, i + 1, FETCH_WHOLE);
	}
	upstream_until(&w.one, "inflight", 2);
	for (unsigned n = 3; n < 6; n++)
		ck_assert_int_eq(ask_and_wait(&a, w.fetch, n, FETCH_EXISTS), 0);
	ck_assert_uint_eq(whole[0].times + whole[1].times, 0);
	for (unsigned i = 0; i < 2; i++) {
		char room[4096];

		ticket_cancel(whole[i].ticket);
		ck_assert_int_eq(answer_of(&whole[i]), -EINTR);
		ck_assert_int_gt(reader_read(&readers[i], SIZE, room, sizeof(room)), 0);
		reader_close(&readers[i]);
	}
	world_end(&w);
}
END_TEST

/* Whoever sends whole files only cannot be interrupted: a few more are asked. */
START_TEST(first_answers_get_more)
{
	struct task tasks[8];
	struct world w;
	struct asker a;

	begin(&w, 0, false);
	readers_start(&w, tasks, 8);
	upstream_until(&w.one, "inflight", 8);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 12, FETCH_EXISTS), 0);
	readers_end(tasks, 8);
	world_end(&w);
}
END_TEST

/* A host with a single connection: a request that may wait does, any other gets ETIMEDOUT, and neither
 * counts against the host. */
START_TEST(behind_one_connection)
{
	struct task tasks[2];
	struct world w;
	struct asker a;

	begin(&w, 1, false);
	tasks[0] = (struct task){.w = &w, .n = 1};
	ck_assert_int_eq(pthread_create(&tasks[0].thread, NULL, read_it, &tasks[0]), 0);
	upstream_until(&w.one, "inflight", 1);
	tasks[1] = (struct task){.w = &w, .n = 2};
	ck_assert_int_eq(pthread_create(&tasks[1].thread, NULL, read_it, &tasks[1]), 0);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_EXISTS), -ETIMEDOUT);
	readers_end(tasks, 2);
	ck_assert_uint_gt(tasks[1].waited, DEADLINE_MS);
	ck_assert_uint_eq(upstream_count(&w.one, "inflight_max"), 1);
	world_end(&w);
}
END_TEST

UNIT_MAIN("turns", ranges_take_turns, as_few_as_was_said, first_answers_get_more, behind_one_connection)
