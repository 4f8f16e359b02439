/* Tests the contract of fetch/ against real upstreams and a real store: exactly one answer for
 * each ticket, one GET for all requests, and no miss unless every source answered so. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/job.h"
#include "fetches.h"

#include <semaphore.h>
#include <sys/resource.h>

/* ---- found -------------------------------------------------------------------------- */

START_TEST(whole)
{
	struct world w;
	struct asker a;

	world_begin(&w);
	put("one", 1, 100000);
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	ck_assert(a.blob);
	ck_assert_uint_eq(a.size, 100000);
	ck_assert_str_eq(a.source, "one");
	ck_assert_int_eq(try_now(w.fetch, 1), 0);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	world_end(&w);
}
END_TEST

START_TEST(exists_then_whole_is_one_get)
{
	static const size_t sizes[] = {sizeof(struct tiny_elf), 5000, 300000, BIG};
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct asker a;

		put("one", i, sizes[i]);
		ck_assert_int_eq(ask_and_wait(&a, w.fetch, i, FETCH_EXISTS), 0);
		ck_assert_int_eq(ask_and_wait(&a, w.fetch, i, FETCH_WHOLE), 0);
		ck_assert_uint_eq(a.size, sizes[i]);
		ck_assert_uint_eq(upstream_count(&w.one, "get"), i + 1);
	}
	world_end(&w);
}
END_TEST

/* Files that come whole while they are parked make no room for others. */
START_TEST(many_lookups_then_opens)
{
	enum { MANY = 8 };
	struct asker a[MANY];
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < MANY; i++)
		put("one", i, 200000);
	for (unsigned i = 0; i < MANY; i++)
		ask(&a[i], w.fetch, i, FETCH_EXISTS);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(answer_of(&a[i]), 0);
	for (unsigned i = 0; i < MANY; i++)
		upstream_until(&w.one, "inflight", 0);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(ask_and_wait(&a[i], w.fetch, i, FETCH_WHOLE), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), MANY);
	world_end(&w);
}
END_TEST

START_TEST(joiners)
{
	enum { MANY = 40 };
	struct asker a[MANY];
	struct world w;

	world_begin(&w);
	put("one", 1, BIG);
	upstream_fault(&w.one, "path=*&kind=none&hold=0");
	for (unsigned i = 0; i < MANY; i++)
		ask(&a[i], w.fetch, 1, i % 3 ? FETCH_WHOLE : FETCH_EXISTS);
	upstream_go(&w.one);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(answer_of(&a[i]), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	ck_assert_uint_eq(atomic_load(&fetch_stats(w.fetch)->flights), 1);
	world_end(&w);
}
END_TEST

START_TEST(parked_is_over)
{
	struct world w;
	struct asker a;

	waits.park_ms = 600;
	world_begin(&w);
	put("one", 1, 64u << 20); /* more than sockets hold */
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_EXISTS), 0);
	upstream_until(&w.one, "inflight", 0); /* no OPEN came, so the transfer was ended */
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 2);
	world_end(&w);
}
END_TEST

/* ---- several sources ---------------------------------------------------------------- */

/* The first source answers after the second has sent its file. */
START_TEST(the_first_wins_within_the_grace)
{
	struct world w;
	struct asker a;

	world_begin(&w);
	put("one", 1, 5000);
	put("two", 1, 5000);
	upstream_fault(&w.one, "path=*&kind=none&hold=0");
	ask(&a, w.fetch, 1, FETCH_WHOLE);
	upstream_until(&w.two, "get", 1);
	upstream_until(&w.two, "inflight", 0);
	upstream_go(&w.one);
	ck_assert_int_eq(answer_of(&a), 0);
	ck_assert_str_eq(a.source, "one");
	world_end(&w);
}
END_TEST

START_TEST(the_next_wins_after_the_grace)
{
	struct world w;
	struct asker a;

	waits.grace_ms = 300;
	world_begin(&w);
	put("one", 1, 5000);
	put("two", 1, 5000);
	upstream_fault(&w.one, "path=*&kind=silent");
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	ck_assert_str_eq(a.source, "two");
	world_end(&w);
}
END_TEST

START_TEST(the_next_when_the_winner_fails)
{
	static const char *const faults[] = {"path=*&kind=cut&arg=300000", "path=*&kind=reset&arg=300000",
		"path=*&kind=status&arg=500", "path=*&kind=html", "path=*&kind=garbage"};
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
		struct asker a;

		put("one", i, BIG);
		put("two", i, BIG);
		upstream_fault(&w.one, "%s", faults[i]);
		ck_assert_msg(ask_and_wait(&a, w.fetch, i, FETCH_WHOLE) == 0, "%s: %s", faults[i], a.why);
		ck_assert_str_eq(a.source, "two");
		upstream_clear(&w.one);
	}
	world_end(&w);
}
END_TEST

/* After a winner failed, a silent next one costs one deadline and not its stall, which would take an hour. */
START_TEST(silence_after_a_failed_winner)
{
	struct world w;
	struct asker a;

	waits.lookup_ms = 1500;
	world_begin(&w);
	put("one", 1, BIG);
	put("two", 1, BIG);
	upstream_fault(&w.one, "path=*&kind=cut&arg=300000");
	upstream_fault(&w.two, "path=*&kind=silent");
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), -ETIMEDOUT);
	world_end(&w);
}
END_TEST

START_TEST(wrong_files)
{
	struct world w;
	struct asker a;
	char path[512];
	uint64_t requests;

	world_begin(&w);
	put("two", 1, BIG);
	make_dir("%s/one/buildid/%s", scratch, id_text(1));
	snprintf(path, sizeof(path), "%.200s/one/buildid/%.128s/executable", scratch, id_text(1));
	write_elf(path, 2, 20, BIG); /* another build */
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	ck_assert_str_eq(a.source, "two");
	ck_assert_uint_eq(atomic_load(&fetch_stats(w.fetch)->mismatches), 1);
	/* Alone, it is no answer, and no miss either. */
	make_dir("%s/one/buildid/%s", scratch, id_text(3));
	snprintf(path, sizeof(path), "%s/one/buildid/%s/executable", scratch, id_text(3));
	write_elf(path, 2, 20, 5000);
	world_sources(&w, only(&w.one, "one"));
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_WHOLE), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(a.why, "one: "));
	ck_assert_int_eq(try_now(w.fetch, 3), -EAGAIN);
	/* It is not fetched again at once; after a reload it is, and from another URL of the name. */
	requests = atomic_load(&fetch_stats(w.fetch)->requests);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_WHOLE), -EBADMSG);
	ck_assert(atomic_load(&fetch_stats(w.fetch)->requests) == requests);
	put("two", 3, 5000);
	world_sources(&w, only(&w.two, "one"));
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_WHOLE), 0);
	world_end(&w);
}
END_TEST

/* ---- not there ---------------------------------------------------------------------- */

START_TEST(misses)
{
	struct world w;
	struct artifact missing = nth(1);
	struct asker a;
	struct key k;

	world_begin(&w);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_EXISTS), -ENOENT);
	ck_assert_uint_gt(a.miss_ms, 0);
	ck_assert_int_eq(try_now(w.fetch, 1), -ENOENT);
	/* The miss holds for a set without one of the sources, but not for another source or URL. */
	world_sources(&w, only(&w.two, "two"));
	ck_assert_int_eq(try_now(w.fetch, 1), -ENOENT);
	ck_assert_int_eq(key_of(&k, &missing), 0);
	ck_assert_int_eq(miss_counts_get(w.fetch, &k), 2);
	world_sources(&w, only(&w.two, "three"));
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	world_sources(&w, only(&w.one, "two"));
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	world_end(&w);
}
END_TEST

#define SYM_ID "3249D99D0C4049318610F4E4FB0B69360"

static struct artifact sym_named(const char *name)
{
	struct artifact a = {.type = FILETYPE_BREAKPAD, .m.object = OBJECT_ELF};

	debug_id_parse(&a.m.debug_id, SYM_ID, strlen(SYM_ID));
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "%s", name);
	return a;
}

/* Sources are asked by a name that is not part of the key. A request never gets a miss by another
 * request's name, neither a remembered one nor that of a flight that it joined. */
START_TEST(names)
{
	static const char text[] = "MODULE Linux x86_64 " SYM_ID " right\nPUBLIC 1000 0 main\n";
	struct artifact wrong = sym_named("wrong"), right = sym_named("right");
	struct asker a, b;
	char conf[512];
	struct world w;

	world_begin(&w);
	snprintf(conf, sizeof(conf), "[source \"syms\"]\nurl=%s\nlayout=breakpad\ncasing=default\n", w.one.url);
	world_sources(&w, sources_of(conf));
	ask_for(&a, w.fetch, &wrong, 1, FETCH_EXISTS);
	ck_assert_int_eq(answer_of(&a), -ENOENT);
	ck_assert_int_eq(try_artifact(w.fetch, &wrong), -ENOENT);
	ck_assert_int_eq(try_artifact(w.fetch, &right), -EAGAIN);
	store_misses_clear(w.store, NULL);

	make_dir("%s/one/right/" SYM_ID, scratch);
	write_file(in_scratch("one/right/" SYM_ID "/right.sym"), text, strlen(text));
	upstream_fault(&w.one, "path=/wrong/*&kind=none&hold=0");
	ask_for(&a, w.fetch, &wrong, 1, FETCH_EXISTS);
	upstream_until(&w.one, "held", 1);
	ask_for(&b, w.fetch, &right, 1, FETCH_WHOLE);
	while (!atomic_load(&fetch_stats(w.fetch)->joined))
		poll(NULL, 0, 5);
	upstream_go(&w.one);
	ck_assert_int_eq(answer_of(&a), -ENOENT);
	ck_assert_msg(answer_of(&b) == 0, "%d %s", b.r, b.why);
	ck_assert(b.blob);
	ck_assert_uint_eq(fetch_stats(w.fetch)->joined, 1);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 3);
	world_end(&w);
}
END_TEST

static void teach(struct world *w, unsigned content, const char *key, const char *code,
	const char *debug)
{
	struct store_learned l = {.m = {.object = OBJECT_ELF}};
	struct key k = key_of_text(key);
	struct draft *d;

	snprintf(l.m.code_id, sizeof(l.m.code_id), "%.128s", code);
	debug_id_parse(&l.m.debug_id, debug, strlen(debug));
	ck_assert_int_eq(draft_new(&d, w->store, NULL), 0);
	ck_assert_int_eq(draft_write(d, 0, &content, sizeof(content)), 0);
	ck_assert_int_eq(store_publish_learned(w->store, d, &k, &FACTS, &l, NULL, NULL), 0);
}

/* A request by debug id gets the file with the build id from which the debug id follows, whatever other
 * files claim; and the answer has the same key as that of any other request. */
START_TEST(taught)
{
	struct artifact victim = {.type = FILETYPE_ELF_CODE, .m.object = OBJECT_ELF}, own;
	struct fetched now;
	struct asker a;
	struct world w;
	char key[160];

	world_begin(&w);
	put("one", 1, 100000);
	debug_id_parse(&victim.m.debug_id, "44332211665588779900AABBCCDDEEFF0", 33);
	own = victim;
	snprintf(key, sizeof(key), "elf_code %.128s", id_text(2));
	teach(&w, 7, key, id_text(2), "44332211665588779900AABBCCDDEEFF0"); /* that is a lie */
	ck_assert_int_eq(try_artifact(w.fetch, &victim), -ENOENT); /* no source can be asked */
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	snprintf(own.m.code_id, sizeof(own.m.code_id), "%.128s", id_text(1));
	own.m.debug_id.set = false;
	ck_assert_int_eq(module_debug_id(&own.m, false, &own.m.debug_id), 0);
	own.m.code_id[0] = '\0';
	ck_assert_int_eq(fetch_try(w.fetch, &own, 1, FETCH_WHOLE, &now), 0);
	ck_assert_int_eq(now.r, 0);
	ck_assert_str_eq(now.key.id, id_text(1));
	ck_assert_uint_eq(blob_size(now.blob), 100000);
	blob_unref(now.blob);
	ck_assert_uint_eq(upstream_count(&w.one, "get") + upstream_count(&w.two, "get"), 2);
	world_end(&w);
}
END_TEST

/* Programs of Windows share ids: one completes a request only under the same name. */
START_TEST(names_of_pe_files)
{
	static const char id[] = "5ab380779000", debug[] = "3249D99D0C4049318610F4E4FB0B69361";
	const struct key k = {.type = FILETYPE_PE, .id = "5ab380779000", .name = "a.exe"};
	struct obj_slice s = {.module = {.object = OBJECT_PE, .debug_file = "a.pdb"}};
	struct world w;

	world_begin(&w);
	snprintf(s.module.code_id, sizeof(s.module.code_id), "%s", id);
	debug_id_parse(&s.module.debug_id, debug, strlen(debug));
	learn_early(w.fetch, &s, &k);
	for (unsigned other = 0; other < 2; other++) {
		struct artifact a = {.type = FILETYPE_PE, .m.object = OBJECT_PE};

		snprintf(a.m.code_id, sizeof(a.m.code_id), "%s", id);
		snprintf(a.m.code_file, sizeof(a.m.code_file), "%s", other ? "b.exe" : "A.exe");
		ck_assert_int_eq(fetch_complete(w.fetch, &a), !other);
		ck_assert_int_eq(a.m.debug_id.set, !other);
	}
	world_end(&w);
}
END_TEST

/* The nth file at an offset of a file, as a part of it. */
static int publish_part_of(struct fetch *f, unsigned n, struct key *k)
{
	struct artifact a = nth(1);
	struct obj_slice s = {.off = 100, .size = 8000};
	struct blob_facts facts = {.source = "test", .verified = true};
	char bytes[9000] = "in front";
	_cleanup_close_ int in = -1, fd = -1;
	struct err e = {0};
	int r;

	unlink(in_scratch("elf"));
	unlink(in_scratch("parts"));
	write_elf(in_scratch("elf"), n, 20, (size_t)s.size);
	in = open(in_scratch("elf"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(pread(in, bytes + s.off, (size_t)s.size, 0), (ssize_t)s.size);
	write_file(in_scratch("parts"), bytes, sizeof(bytes));
	fd = open(in_scratch("parts"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(key_of(k, &a), 0);
	r = learn_publish_part(f, fd, &s, k, &facts, NULL, &e);
	if (r < 0)
		ck_assert_str_ne(e.text, "");
	return r;
}

/* A file of a directory that is written anew while a part of it is copied. */
START_TEST(part_that_changed)
{
	struct world w;
	struct key k;

	world_begin(&w);
	ck_assert_int_eq(publish_part_of(w.fetch, 2, &k), -EBADMSG);
	ck_assert(!store_has(w.store, &k, NULL));
	ck_assert_int_eq(publish_part_of(w.fetch, 1, &k), 0);
	ck_assert(store_has(w.store, &k, NULL));
	world_end(&w);
}
END_TEST

START_TEST(no_miss_when_one_could_not_be_asked)
{
	static const struct {
		const char *fault;
		int r;
	} rows[] = {
		{"path=*&kind=status&arg=503", -EREMOTEIO}, {"path=*&kind=status&arg=403", -EACCES},
		{"path=*&kind=html", -EBADMSG}, {"path=*&kind=reset&arg=0", -EREMOTEIO},
	};
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct asker a;

		put("one", i, 5000);
		upstream_fault(&w.one, "%s", rows[i].fault);
		ck_assert_msg(ask_and_wait(&a, w.fetch, i, FETCH_WHOLE) == rows[i].r, "%s: %d %s", rows[i].fault,
			a.r, a.why);
		ck_assert_int_eq(try_now(w.fetch, i), -EAGAIN);
		/* A source that answered "not there" is not asked again; one that could not be asked is. */
		ck_assert_int_eq(ask_and_wait(&a, w.fetch, i, FETCH_WHOLE), rows[i].r);
		upstream_clear(&w.one);
		if (rows[i].r != -EBADMSG)
			ck_assert_msg(ask_and_wait(&a, w.fetch, i, FETCH_WHOLE) == 0, "%s: %s", rows[i].fault,
				a.why);
	}
	upstream_until(&w.two, "inflight", 0);
	ck_assert_uint_eq(upstream_count(&w.two, "get"), ARRAY_SIZE(rows));
	world_end(&w);
}
END_TEST

/* Who sent a wrong file is not asked for it again, until sources are configured anew. */
/* No source has to be asked, so the store alone could say that the file is missing. */
START_TEST(no_miss_when_the_store_cannot_be_read)
{
	struct rlimit had, none;
	struct world w;
	struct asker a;

	world_begin(&w);
	put("one", 1, 5000);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	world_sources(&w, sources_of(""));
	ck_assert_int_eq(try_now(w.fetch, 1), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){0, had.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0); /* the file cannot be opened */
	ck_assert_int_eq(try_now(w.fetch, 1), -EAGAIN);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_EXISTS), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &had), 0);
	ck_assert_int_eq(try_now(w.fetch, 1), 0);
	world_end(&w);
}
END_TEST

START_TEST(a_reload_forgets_wrong_files)
{
	struct asker a;
	struct world w;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, 5000);
	upstream_fault(&w.one, "path=*&kind=html");
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), -EBADMSG);
	upstream_clear(&w.one);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), -EBADMSG);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	world_sources(&w, only(&w.one, "one"));
	ck_assert_msg(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE) == 0, "%d %s", a.r, a.why);
	world_end(&w);
}
END_TEST

/* A 404 with a slow body for the first spelling: the second spelling must still be asked. */
START_TEST(a_spelling_is_not_the_source)
{
	struct artifact short_id = nth(1);
	struct asker a;
	struct world w;
	char path[512];

	world_begin(&w);
	short_id.m.code_id[16] = '\0';
	make_dir("%s/one/buildid/%s%024d", scratch, short_id.m.code_id, 0);
	snprintf(path, sizeof(path), "%s/one/buildid/%s%024d/executable", scratch, short_id.m.code_id, 0);
	write_elf(path, 1, 8, 5000);
	upstream_fault(&w.one, "path=/buildid/%s/*&kind=endless&arg=100000,404", short_id.m.code_id);
	upstream_fault(&w.two, "path=*&kind=slow&arg=100");
	ask_for(&a, w.fetch, &short_id, 1, FETCH_WHOLE);
	ck_assert_msg(answer_of(&a) == 0, "%d %s", a.r, a.why);
	ck_assert_str_eq(a.source, "one");
	world_end(&w);
}
END_TEST

/* ---- time --------------------------------------------------------------------------- */

START_TEST(overdue)
{
	struct asker a, b, c;
	struct world w;

	waits.lookup_ms = 1500;
	world_begin(&w);
	put("one", 1, 5000);
	world_sources(&w, only(&w.one, "one"));
	upstream_fault(&w.one, "path=*&kind=silent");
	ask(&a, w.fetch, 1, FETCH_EXISTS);
	ask(&b, w.fetch, 1, FETCH_WHOLE);
	ck_assert_int_eq(answer_of(&a), -ETIMEDOUT);
	ck_assert_int_eq(answer_of(&b), -ETIMEDOUT);
	/* Neither the same again nor another file of the dead host costs a wait: it would take an hour. */
	waits.lookup_ms = UNIT_HOUR_MS;
	world_waits(&w);
	ck_assert_int_eq(ask_and_wait(&c, w.fetch, 1, FETCH_WHOLE), -ETIMEDOUT);
	ck_assert_int_eq(ask_and_wait(&c, w.fetch, 2, FETCH_EXISTS), -EHOSTUNREACH);
	world_end(&w);
}
END_TEST

/* The host answers for the second file before the deadline for the first passes. */
static bool others_come_from_a_slow_host(unsigned ms)
{
	struct world w;
	struct asker a, b;
	bool both;

	waits.lookup_ms = ms;
	world_begin(&w);
	for (unsigned i = 1; i < 4; i++)
		put("one", i, 5000);
	world_sources(&w, only(&w.one, "one"));
	upstream_fault(&w.one, "path=*%s*&kind=silent", id_text(1));
	ask(&a, w.fetch, 1, FETCH_EXISTS);
	upstream_until(&w.one, "inflight", 1);
	waits.lookup_ms = UNIT_HOUR_MS;
	world_waits(&w);
	both = ask_and_wait(&b, w.fetch, 2, FETCH_WHOLE) == 0;
	ck_assert_int_eq(answer_of(&a), -ETIMEDOUT);
	both = ask_and_wait(&b, w.fetch, 3, FETCH_WHOLE) == 0 && both;
	world_end(&w);
	return both;
}

/* One file that a live host is silent about does not keep it out for all others. */
START_TEST(one_slow_file_is_no_dead_host)
{
	unit_holds(others_come_from_a_slow_host, 1000);
}
END_TEST

/* Nor does it when nothing else was asked meanwhile, of a host that answered before. */
START_TEST(a_slow_file_alone)
{
	struct world w;
	struct asker a;

	world_begin(&w);
	for (unsigned i = 1; i < 4; i++)
		put("one", i, 5000);
	world_sources(&w, only(&w.one, "one"));
	upstream_fault(&w.one, "path=*%s*&kind=silent", id_text(2));
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), 0);
	waits.lookup_ms = 1500;
	world_waits(&w);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 2, FETCH_EXISTS), -ETIMEDOUT);
	waits.lookup_ms = UNIT_HOUR_MS;
	world_waits(&w);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 3, FETCH_WHOLE), 0);
	world_end(&w);
}
END_TEST

/* A host answers a few requests at a time, each in less than the deadline, but all of them in more. When
 * the deadline passes for all at once, some requests have only just been sent. */
static bool eight_have_their_turn(unsigned ms)
{
	enum { MANY = 8 };
	struct asker a[MANY];
	unsigned found = 0;
	struct world w;
	char text[200];

	waits.lookup_ms = ms;
	world_begin(&w);
	for (unsigned i = 0; i < MANY; i++)
		put("one", i, 5000);
	upstream_fault(&w.one, "path=*&kind=slow&arg=%u", ms * 6 / 10);
	snprintf(text, sizeof(text), "[source \"one\"]\nurl=%s\nlayout=debuginfod\nconnections=4\n", w.one.url);
	world_sources(&w, sources_of(text));
	for (unsigned i = 0; i < MANY; i++)
		ask(&a[i], w.fetch, i, FETCH_WHOLE);
	for (unsigned i = 0; i < MANY; i++)
		found += answer_of(&a[i]) == 0;
	world_end(&w);
	return found == MANY;
}

START_TEST(the_deadline_begins_with_the_turn)
{
	unit_holds(eight_have_their_turn, 1500);
}
END_TEST

/* Six deadlines, one for each candidate, would leave time for all answers: that no candidate exists. */
START_TEST(one_deadline_for_all_candidates)
{
	struct artifact cands[6];
	struct world w;
	struct asker a;

	waits.lookup_ms = 1500;
	world_begin(&w);
	for (unsigned i = 0; i < 6; i++)
		cands[i] = nth(i);
	upstream_fault(&w.one, "path=*&kind=slow&arg=1000");
	ask_for(&a, w.fetch, cands, 6, FETCH_EXISTS);
	ck_assert_int_eq(answer_of(&a), -ETIMEDOUT);
	world_end(&w);
}
END_TEST

START_TEST(candidates_in_order)
{
	struct artifact cands[3] = {nth(1), nth(2), nth(3)};
	struct world w;
	struct asker a;

	world_begin(&w);
	put("two", 2, 5000);
	put("one", 3, 6000);
	ask_for(&a, w.fetch, cands, 3, FETCH_WHOLE);
	ck_assert_int_eq(answer_of(&a), 0);
	ck_assert_uint_eq(a.size, 5000);
	world_end(&w);
}
END_TEST

/* ---- leaving ------------------------------------------------------------------------ */

START_TEST(cancel)
{
	static const char *const faults[] = {"path=*&kind=silent", "path=*&kind=silent-after&arg=500000"};
	struct world w;
	struct asker a, b;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
		put("one", i, BIG);
		upstream_fault(&w.one, "%s", faults[i]);
		ask(&a, w.fetch, i, FETCH_WHOLE);
		ask(&b, w.fetch, i, FETCH_WHOLE);
		upstream_until(&w.one, "get", i + 1);
		ticket_cancel(a.ticket);
		ck_assert_int_eq(answer_of(&a), -EINTR);
		ck_assert_uint_eq(upstream_count(&w.one, "inflight"), 1); /* b still waits */
		ticket_cancel(b.ticket);
		ticket_cancel(b.ticket);
		ck_assert_int_eq(answer_of(&b), -EINTR);
		upstream_until(&w.one, "inflight", 0);
		upstream_clear(&w.one);
	}
	/* At once, before anything began; and once more when all is over. */
	put("one", 3, 5000);
	ask(&a, w.fetch, 3, FETCH_WHOLE);
	ticket_cancel(a.ticket);
	answer_of(&a);
	ck_assert(a.r == -EINTR || a.r == 0);
	ask(&a, w.fetch, 3, FETCH_WHOLE);
	b.ticket = a.ticket;
	a.ticket = NULL;
	ck_assert_int_eq(answer_of(&a), 0);
	ticket_cancel(b.ticket);
	ticket_unref(b.ticket);
	world_end(&w);
	ck_assert_uint_eq(a.times, 1);
}
END_TEST

START_TEST(free_with_flights_at_every_stage)
{
	enum { MANY = 6 };
	struct asker a[MANY];
	struct world w;

	world_begin(&w);
	for (unsigned i = 0; i < MANY; i++)
		put("one", i, BIG);
	upstream_fault(&w.one, "path=*%s*&kind=silent", id_text(0));
	upstream_fault(&w.one, "path=*%s*&kind=silent-after&arg=500000", id_text(1));
	upstream_fault(&w.two, "path=*&kind=silent");
	for (unsigned i = 0; i < MANY; i++)
		ask(&a[i], w.fetch, i, i == 2 ? FETCH_EXISTS : FETCH_WHOLE);
	ck_assert_int_eq(answer_of(&a[2]), 0); /* parked now; others may be asking, coming, sealing */
	fetch_free(take(w.fetch));
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_uint_eq(a[i].times, 1);
		ck_assert_msg(a[i].r == 0 || a[i].r == -EINTR, "%u: %d %s", i, a[i].r, a[i].why);
		ticket_unref(a[i].ticket);
	}
	ck_assert_int_eq(a[0].r, -EINTR);
	ck_assert_int_eq(a[1].r, -EINTR);
	upstream_until(&w.one, "inflight", 0);
	world_end(&w);
}
END_TEST

/* ---- processes: two stores of one directory ----------------------------------------- */

START_TEST(one_get_for_two_processes)
{
	struct store *other_store;
	struct fetch *other;
	struct asker a[4];
	struct world w;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	other_store = open_cache();
	other = fetch_with(other_store, only(&w.one, "one"));
	put("one", 1, BIG);
	upstream_fault(&w.one, "path=*&kind=none&hold=0");
	for (unsigned i = 0; i < 4; i++)
		ask(&a[i], i % 2 ? other : w.fetch, 1, i < 2 ? FETCH_EXISTS : FETCH_WHOLE);
	upstream_until(&w.one, "held", 1);
	upstream_go(&w.one);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(answer_of(&a[i]), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	upstream_clear(&w.one);

	/* One process looks the file up, the other opens it: the parked flight continues for the OPEN. */
	put("one", 2, BIG);
	ck_assert_int_eq(ask_and_wait(&a[0], w.fetch, 2, FETCH_EXISTS), 0);
	ck_assert_int_eq(ask_and_wait(&a[1], other, 2, FETCH_WHOLE), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 2);
	fetch_free(other);
	store_close(other_store);
	world_end(&w);
}
END_TEST

/* The leader's asker leaves in the middle of the body: the other process still gets it. */
START_TEST(the_leader_goes_on_for_others)
{
	struct store *other_store;
	struct fetch *other;
	struct asker a, b;
	struct world w;
	struct artifact one = nth(1);
	struct key k;

	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	other_store = open_cache();
	other = fetch_with(other_store, only(&w.one, "one"));
	put("one", 1, BIG);
	upstream_fault(&w.one, "path=*&kind=none&hold=%u", BIG / 2);
	ask(&a, w.fetch, 1, FETCH_WHOLE);
	upstream_until(&w.one, "held", 1);
	ask(&b, other, 1, FETCH_WHOLE);
	ck_assert_int_eq(key_of(&k, &one), 0);
	unit_wait(flights_wanted(w.store, key_number(&k)) && flights_found(other_store, key_number(&k)));
	ticket_cancel(a.ticket);
	ck_assert_int_eq(answer_of(&a), -EINTR);
	upstream_go(&w.one);
	ck_assert_int_eq(answer_of(&b), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	fetch_free(other);
	store_close(other_store);
	world_end(&w);
}
END_TEST

/* Another process leads, says "found", and dies; or leads and says nothing. */
START_TEST(following)
{
	struct artifact one = nth(1);
	struct store *other;
	struct asker a, b;
	struct world w;
	struct key k;

	waits.lookup_ms = 1500;
	world_begin(&w);
	other = open_cache();
	ck_assert_int_eq(key_of(&k, &one), 0);
	ck_assert_int_eq(flights_lead(other, key_number(&k)), 0);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_WHOLE), -ETIMEDOUT);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 0);
	flights_say_found(other, key_number(&k));
	waits.lookup_ms = UNIT_HOUR_MS;
	world_waits(&w);
	ck_assert_int_eq(ask_and_wait(&a, w.fetch, 1, FETCH_EXISTS), 0);
	ask(&b, w.fetch, 1, FETCH_WHOLE);
	store_close(other);
	ck_assert_int_eq(answer_of(&b), -ENOENT); /* and no other source has it either */
	ck_assert_int_eq(try_now(w.fetch, 1), -ENOENT);
	world_end(&w);
}
END_TEST

/* Another process leads, reports "found", and is then stopped. Its bytes are not lost, and a follower
 * downloads the file itself. A leader that makes progress is followed without a time limit. */
static bool is_left_when_silent(unsigned ms)
{
	struct artifact one = nth(1);
	struct store *stopped;
	struct asker a;
	struct world w;
	struct key k;
	bool in_time;

	waits.silence_ms = ms;
	world_begin(&w);
	world_sources(&w, only(&w.one, "one"));
	put("one", 1, BIG);
	stopped = open_cache();
	ck_assert_int_eq(key_of(&k, &one), 0);
	ck_assert_int_eq(flights_lead(stopped, key_number(&k)), 0);
	flights_say_found(stopped, key_number(&k));
	flights_beat(stopped, key_number(&k), true);
	ask(&a, w.fetch, 1, FETCH_WHOLE);
	for (unsigned i = 0; i < 35; i++) { /* longer than a silence would be */
		flights_beat(stopped, key_number(&k), i % 2);
		poll(NULL, 0, (int)ms / 25);
	}
	in_time = upstream_count(&w.one, "get") == 0;
	ck_assert_int_eq(answer_of(&a), 0);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 1);
	ck_assert_int_eq(try_now(w.fetch, 1), 0);
	ck_assert_int_eq(flights_lead(w.store, key_number(&k)), -EAGAIN); /* it leads still */
	store_close(stopped);
	world_end(&w);
	return in_time;
}

START_TEST(a_silent_leader_is_left)
{
	unit_holds(is_left_when_silent, 1000);
}
END_TEST

/* ---- jobs --------------------------------------------------------------------------- */

/* A job that reports twice before it ends, as one does that finds a packed file in each of two directories. */
struct reports {
	struct job job; /* first: the job */
	struct flight flight;
	sem_t ran, over; /* the job has run; it is back */
	unsigned told, others;
};

static struct reports *reports_of(struct flight *fl)
{
	return (struct reports *)((char *)fl - offsetof(struct reports, flight));
}

static void reports_hear(void *flight)
{
	reports_of(flight)->told++;
}

static void reports_hear_other(void *ctx)
{
	((struct reports *)ctx)->others++;
}

static void reports_run(struct job *j)
{
	struct reports *r = (struct reports *)j;

	job_tell(j, reports_hear);
	net_post(j->flight->f->net, reports_hear_other, r); /* of another thread, say */
	job_tell(j, reports_hear);
	sem_post(&r->ran);
}

static void reports_nothing(struct job *j)
{
}

static void reports_event(struct flight *fl, const struct event *e)
{
	sem_post(&reports_of(fl)->over);
}

/* The net thread takes no report before the job has run. */
static void reports_start(void *ctx)
{
	static const struct job_kind kind = {reports_run, reports_nothing, reports_nothing};
	struct reports *r = ctx;

	ck_assert_int_eq(job_start(&r->job, &r->flight, &kind), 0);
	sem_wait(&r->ran);
}

START_TEST(a_job_reports_twice)
{
	struct reports r = {.flight.event = reports_event};
	struct world w;

	world_begin(&w);
	r.flight.f = w.fetch;
	sem_init(&r.ran, 0, 0);
	sem_init(&r.over, 0, 0);
	net_call(w.fetch->net, reports_start, &r);
	sem_wait(&r.over);
	ck_assert_uint_eq(r.told, 1);
	ck_assert_uint_eq(r.others, 1);
	world_end(&w);
}
END_TEST

/* Two lookups wait for the index2.txt of one symbol store: both get its answer. */
START_TEST(a_symbol_store_answers_all_lookups)
{
	struct artifact pdb = {.type = FILETYPE_PDB, .m.object = OBJECT_PE};
	struct asker a[2];
	char conf[512];
	struct world w;

	world_begin(&w);
	snprintf(conf, sizeof(conf), "[source \"store\"]\nurl=%s\nlayout=symstore\ncasing=default\n", w.one.url);
	world_sources(&w, sources_of(conf));
	debug_id_parse(&pdb.m.debug_id, SYM_ID, strlen(SYM_ID));
	snprintf(pdb.m.debug_file, sizeof(pdb.m.debug_file), "a.pdb");
	upstream_fault(&w.one, "path=/index2.txt&kind=none&hold=0");
	for (unsigned i = 0; i < 2; i++) {
		pdb.m.debug_id.age = i + 1;
		ask_for(&a[i], w.fetch, &pdb, 1, FETCH_EXISTS);
	}
	upstream_until(&w.one, "get", 5);
	upstream_go(&w.one);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_msg(answer_of(&a[i]) == -ENOENT, "%d %s", a[i].r, a[i].why);
	ck_assert_uint_eq(upstream_count(&w.one, "get"), 5); /* two paths of each file, and one index2.txt */
	world_end(&w);
}
END_TEST

/* First bytes mean a packed file for any type, also without a reader, but not where the packing may be wanted. */
START_TEST(packed_types)
{
	static const uint8_t gzip[HEAD_MOST] = {0x1f, 0x8b, 8}, elf[HEAD_MOST] = {0x7f, 'E', 'L', 'F'};

	ck_assert_ptr_nonnull(packed_as(FILETYPE_ELF_CODE, gzip, sizeof(gzip)));
	ck_assert_ptr_nonnull(packed_as(FILETYPE_IL2CPP, gzip, sizeof(gzip)));
	ck_assert_ptr_null(packed_as(FILETYPE_SOURCE, gzip, sizeof(gzip)));
	ck_assert_ptr_null(packed_as(FILETYPE_ELF_CODE, elf, sizeof(elf)));
}
END_TEST

UNIT_MAIN("fetch", whole, exists_then_whole_is_one_get, many_lookups_then_opens, joiners, parked_is_over,
	the_first_wins_within_the_grace, the_next_wins_after_the_grace, the_next_when_the_winner_fails,
	silence_after_a_failed_winner,
	wrong_files, misses, names, taught, part_that_changed, no_miss_when_one_could_not_be_asked,
	no_miss_when_the_store_cannot_be_read,
	a_reload_forgets_wrong_files, a_spelling_is_not_the_source, overdue,
	one_slow_file_is_no_dead_host, a_slow_file_alone, the_deadline_begins_with_the_turn,
	one_deadline_for_all_candidates, candidates_in_order, cancel, free_with_flights_at_every_stage,
	one_get_for_two_processes, the_leader_goes_on_for_others, following, a_silent_leader_is_left,
	names_of_pe_files, a_job_reports_twice, a_symbol_store_answers_all_lookups, packed_types)
