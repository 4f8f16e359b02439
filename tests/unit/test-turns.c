/* Tests many long downloads from one host, which accepts only a few requests at once. Every
 * request soon learns whether its file exists, every download makes progress, and none reaches its
 * deadline because of others. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "readers.h"

#define MANY 16
#define SIZE (768u << 10)

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

/* `rate`: bytes a second. 0: a server without ranges, whose answers stop before their ends until upstream_go(). */
static void begin(struct world *w, unsigned connections, unsigned rate)
{
	char text[512];

	snprintf(text, sizeof(text), "%u", rate);
	world_begin_slow(w, rate ? text : NULL);
	if (!rate)
		upstream_fault(&w->one, "path=*&kind=no-range&hold=600000");
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

static void readers_join(struct task *tasks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(tasks[i].thread, NULL);
}

static void readers_end(struct task *tasks, unsigned n)
{
	readers_join(tasks, n);
	for (unsigned i = 0; i < n; i++)
		ck_assert_msg(tasks[i].r == 0, "reader %u: %s", i, err_text(tasks[i].r));
}

/* The lookup deadline is `ms`, and each download takes longer. */
static bool all_have_their_turns(unsigned ms)
{
	struct task tasks[MANY];
	unsigned failed = 0;
	struct world w;
	struct asker a;

	waits.lookup_ms = ms;
	begin(&w, 0, SIZE / ms * 600);
	readers_start(&w, tasks, MANY);
	readers_read(tasks, MANY);
	failed += ask_and_wait(&a, w.fetch, MANY + 1, FETCH_EXISTS) != 0;
	readers_join(tasks, MANY);
	for (unsigned i = 0; i < MANY; i++)
		failed += tasks[i].r != 0;
	failed += atomic_load(&fetch_stats(w.fetch)->timeouts) != 0;
	world_end(&w);
	return failed == 0;
}

/* At the default: eight at once. */
START_TEST(ranges_take_turns)
{
	unit_holds(all_have_their_turns, 1500);
}
END_TEST

/* Two very long downloads of whole files pause when another request needs less, and continue later. */
START_TEST(as_few_as_was_said)
{
	struct reader readers[2];
	struct asker whole[2], a;
	struct world w;

	begin(&w, 2, 1000000);
	for (unsigned i = 0; i < 2; i++) {
		char path[512];

		path_of(path, i + 1);
		write_elf(path, i + 1, 20, 20 * SIZE);
		ck_assert_int_eq(reader_open(&readers[i], w.fetch, i + 1), 0);
	}
	upstream_fault(&w.one, "path=*%.38s&kind=trickle&arg=20000", id_text(1) + 2);
	upstream_fault(&w.one, "path=*%.38s&kind=trickle&arg=20000", id_text(2) + 2);
	for (unsigned i = 0; i < 2; i++)
		ask(&whole[i], w.fetch, i + 1, FETCH_WHOLE);
	upstream_until(&w.one, "inflight", 2);
	for (unsigned n = 3; n < 6; n++)
		ck_assert_int_eq(ask_and_wait(&a, w.fetch, n, FETCH_EXISTS), 0);
	ck_assert_uint_eq(whole[0].times + whole[1].times, 0);
	for (unsigned i = 0; i < 2; i++) {
		ticket_cancel(whole[i].ticket);
		ck_assert_int_eq(answer_of(&whole[i]), -EINTR);
	}
	upstream_clear(&w.one);
	for (unsigned i = 0; i < 2; i++) {
		char room[4096];

		ck_assert_int_gt(reader_read(&readers[i], SIZE, room, sizeof(room)), 0);
		reader_close(&readers[i]);
	}
	world_end(&w);
}
END_TEST

/* Whoever sends whole files only cannot be interrupted: a few more are asked. Without that, the ninth request would
 * wait for ever. */
START_TEST(first_answers_get_more)
{
	struct task tasks[8];
	struct world w;
	struct asker a;

	begin(&w, 0, 0);
	readers_start(&w, tasks, 8);
	upstream_until(&w.one, "held", 8);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 12, FETCH_EXISTS), 0);
	upstream_go(&w.one);
	readers_end(tasks, 8);
	world_end(&w);
}
END_TEST

/* The lookup deadline is `ms`. False: it has passed once more after the turn of the request that waits. */
static bool waits_behind_one_connection(unsigned ms)
{
	struct task tasks[2];
	struct world w;
	struct asker a;

	waits.lookup_ms = UNIT_HOUR_MS;
	begin(&w, 1, 0);
	tasks[0] = (struct task){.w = &w, .n = 1};
	ck_assert_int_eq(pthread_create(&tasks[0].thread, NULL, read_it, &tasks[0]), 0);
	upstream_until(&w.one, "held", 1);
	waits.lookup_ms = ms;
	world_waits(&w);
	tasks[1] = (struct task){.w = &w, .n = 2};
	ck_assert_int_eq(pthread_create(&tasks[1].thread, NULL, read_it, &tasks[1]), 0);
	unit_wait(atomic_load(&fetch_stats(w.fetch)->flights) == 2);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_EXISTS), -ETIMEDOUT);
	/* From its turn on, the request that waits has the whole lookup deadline. */
	upstream_go(&w.one);
	readers_join(tasks, 2);
	ck_assert_int_eq(tasks[0].r, 0);
	ck_assert(tasks[1].r == 0 || tasks[1].r == -ETIMEDOUT);
	ck_assert_uint_gt(tasks[1].waited, ms);
	ck_assert_uint_eq(upstream_count(&w.one, "inflight_max"), 1);
	world_end(&w);
	return tasks[1].r == 0;
}

/* A host with a single connection: a request that may wait does, any other gets ETIMEDOUT, and neither
 * counts against the host. */
START_TEST(behind_one_connection)
{
	unit_holds(waits_behind_one_connection, 1000);
}
END_TEST

UNIT_MAIN("turns", ranges_take_turns, as_few_as_was_said, first_answers_get_more, behind_one_connection)
