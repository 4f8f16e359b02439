/* Tests files that are made from other files: a stored result or a remembered failure is answered
 * at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/private.h"
#include "fetches.h"
#include "unit.h"

#include <sys/mman.h>

/* A few addresses of a Breakpad file are answered without a worker process. */
bool partial_can_ask(const struct blob *whole)
{
	return true;
}

int partial_make_asked(struct partial *p, int *fd, struct err *e)
{
	*fd = memfd_create("asked", MFD_CLOEXEC);
	return *fd >= 0 && write(*fd, "GSYM", 4) == 4 ? 0 : -EIO;
}

static struct derive *derive_of(struct world *w)
{
	struct derive *d = NULL;

	ck_assert_int_eq(derive_new(&d, w->fetch), 0);
	return d;
}

static struct artifact gsym_of(unsigned n)
{
	struct artifact input = nth(n), a;

	ck_assert_int_eq(derive_artifact(&input, false, &a), 0);
	return a;
}

static void store_made_by(struct world *w, const struct artifact *a, const char *maker)
{
	struct blob_facts facts = {.source = "gsym", .verified = true};
	struct draft *draft;
	struct blob *b = NULL;
	struct err e = {0};
	struct key k;

	snprintf(facts.url, sizeof(facts.url), "%s of it", maker);
	ck_assert_int_eq(derive_key(a, &k), 0);
	ck_assert_int_eq(draft_new(&draft, w->store, &e), 0);
	ck_assert_int_eq(draft_write(draft, 0, "GSYM", 4), 0);
	ck_assert_msg(store_publish(w->store, draft, &k, &facts, &b, &e) == 0, "%s", e.text);
	blob_unref(b);
}

START_TEST(a_file_of_another_maker_is_made_anew)
{
	struct artifact mine = gsym_of(1), other = gsym_of(2);
	char maker[64];
	struct derive *d;
	struct fetched f;
	struct world w;

	world_begin(&w);
	d = derive_of(&w);
	store_made_by(&w, &mine, derive_gsym.maker);
	snprintf(maker, sizeof(maker), "%s0", derive_gsym.maker);
	store_made_by(&w, &other, maker);
	ck_assert_int_eq(derive_try(d, &mine, NULL, &f), 0);
	ck_assert_int_eq(f.r, 0);
	blob_unref(f.blob);
	ck_assert_int_eq(derive_try(d, &other, NULL, &f), -EAGAIN);
	derive_free(d);
	world_end(&w);
}
END_TEST

START_TEST(a_fault_is_remembered)
{
	static const int errors[DERIVE_FAULTS] = {[DERIVE_NOTHING] = -ENOENT, [DERIVE_BROKEN] = -EBADMSG,
		[DERIVE_SLOW] = -ETIMEDOUT, [DERIVE_SHORT] = -ENOMEM};
	struct derive *d;
	struct world w;

	world_begin(&w);
	d = derive_of(&w);
	for (unsigned i = 0; i < DERIVE_FAULTS; i++) {
		struct artifact a = gsym_of(i);
		struct fetched f;
		struct key k;

		ck_assert_int_eq(derive_try(d, &a, NULL, &f), -EAGAIN);
		ck_assert_int_eq(derive_key(&a, &k), 0);
		store_miss_add(w.store, &k, "", derive_gsym.faults[i], 100, "it is so");
		ck_assert_int_eq(derive_try(d, &a, NULL, &f), 0);
		ck_assert_int_eq(f.r, errors[i]);
	}
	derive_free(d);
	world_end(&w);
}
END_TEST

/* A Breakpad file with the unwind rules of a program is not used any more once the program was purged. */
START_TEST(a_file_ends_with_the_program)
{
	struct artifact sym = nth(1), a, code;
	_cleanup_blob_ struct blob *in = NULL;
	struct blob_facts facts = FACTS;
	struct key made, debug, program;
	char text[41];
	uint8_t id[20];
	struct derive *d;
	struct fetched f;
	struct world w;

	world_begin(&w);
	w.fetch->opts.synthesize = true;
	d = derive_of(&w);
	id_nth(1, id, text);
	debug_id_from_build_id(&sym.m.debug_id, id, sizeof(id), false);
	sym.type = FILETYPE_BREAKPAD;
	ck_assert_int_eq(derive_breakpad(d, &sym, &a), 0);
	ck_assert_int_eq(derive_key(&a, &made), 0);
	sym.type = FILETYPE_ELF_DEBUG;
	ck_assert_int_eq(key_of(&debug, &sym), 0);
	ck_assert_int_eq(publish_facts(w.store, &debug, 1, 1000, &FACTS, &in), 0);
	snprintf(facts.url, sizeof(facts.url), "%s of %064d of %s", derive_sym.maker, 7, blob_sha256(in));
	ck_assert_int_eq(publish_facts(w.store, &made, 2, 1000, &facts, NULL), 0);
	ck_assert_int_eq(derive_try(d, &a, in, &f), 0);
	ck_assert_int_eq(f.r, 0);
	blob_unref(f.blob);
	ck_assert(derive_code_of(&a, FILETYPE_ELF_DEBUG, &code) && key_of(&program, &code) == 0);
	ck_assert_int_eq(publish(w.store, &program, 3, 1000), 0);
	ck_assert_int_eq(store_purge(w.store, &program, "purged by ci", true), 0);
	ck_assert_int_eq(derive_try(d, &a, in, &f), -EAGAIN);
	derive_free(d);
	world_end(&w);
}
END_TEST

static struct key key_of_sym(const char *name, enum filetype of)
{
	struct artifact a = nth(1);
	struct key k;

	a.type = FILETYPE_SYM;
	snprintf(a.m.path, sizeof(a.m.path), "elf_debug.sym");
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "%s", name);
	ck_assert_int_eq(of ? derive_key_of(&a, of, &k) : derive_key(&a, &k), 0);
	return k;
}

/* The MODULE record has the name that was asked for, so a file made for one name is not found for another. */
START_TEST(a_breakpad_file_has_one_name)
{
	struct key one = key_of_sym("one.so", FILETYPE_NONE), two = key_of_sym("two.so", FILETYPE_NONE),
		   same = key_of_sym("one.so", FILETYPE_ELF_DEBUG), code = key_of_sym("one.so", FILETYPE_ELF_CODE);
	char room[KEY_TEXT];
	struct key parsed;

	ck_assert(key_equal(&one, &same));
	ck_assert(!key_equal(&one, &two));
	ck_assert(!key_equal(&one, &code));
	ck_assert_int_eq(key_parse(&parsed, key_text(&one, room)), 0);
	ck_assert(key_equal(&one, &parsed));
}
END_TEST

/* Whether or not the request has the build id, the made file has one key: that of the debug id. */
START_TEST(a_breakpad_file_is_found_by_its_debug_id)
{
	static const enum filetype inputs[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE};
	struct artifact both = nth(1), bare;
	char text[41], room[KEY_TEXT];
	uint8_t id[20];

	id_nth(1, id, text);
	ck_assert_str_eq(both.m.code_id, text);
	debug_id_from_build_id(&both.m.debug_id, id, sizeof(id), false);
	both.type = FILETYPE_SYM;
	snprintf(both.m.path, sizeof(both.m.path), "elf_debug.sym");
	snprintf(both.m.debug_file, sizeof(both.m.debug_file), "one.so");
	bare = both;
	bare.m.code_id[0] = '\0';
	bare.m.object = OBJECT_UNKNOWN;
	for (unsigned i = 0; i < ARRAY_SIZE(inputs); i++) {
		struct key one, two;

		ck_assert_int_eq(derive_key_of(&both, inputs[i], &one), 0);
		ck_assert_int_eq(derive_key_of(&bare, inputs[i], &two), 0);
		ck_assert_msg(key_equal(&one, &two), "%s", key_text(&one, room));
	}
}
END_TEST

static void ask_addresses(struct derive *d, const struct artifact *a, struct blob *whole)
{
	struct asker by = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	const uint32_t addrs[] = {0x1000};
	struct partial *p;

	ck_assert_int_eq(derive_partial(d, a, whole, addrs, 1, on_ready, &by, &p), 0);
	ck_assert_msg(answer_of(&by) == 0, "%s", by.why);
	partial_unref(p);
}

/* How many conversions have begun after `n` requests, and how many files wait until the server is idle. */
static uint64_t conversions_of(struct derive *d, unsigned n, unsigned *waiting)
{
	LOCK_SCOPE(&d->lock);

	while (d->conversions) /* a later request would join it */
		pthread_cond_wait(&d->idle_change, &d->lock);
	*waiting = d->n_idle;
	return d->begun - n;
}

static void never_idle(struct derive *d, struct partial *busy, bool on)
{
	LOCK_SCOPE(&d->lock);
	struct partial **at = &d->partials;

	if (on) {
		busy->next = d->partials;
		d->partials = busy;
		return;
	}
	while (*at != busy)
		at = &(*at)->next;
	*at = busy->next;
}

/* While requests follow each other without a pause, each third one begins a conversion. With less load the file would
 * wait until the server is idle. A command begins none: it ends after its answer. */
START_TEST(a_busy_server_converts_after_three_requests)
{
	struct artifact sym = nth(1);
	_cleanup_blob_ struct blob *whole = NULL;
	struct derive *d, *command;
	struct partial busy = {.refs = 1};
	unsigned waiting;
	struct world w;
	struct key k;
	char text[41];
	uint8_t id[20];

	world_begin(&w);
	id_nth(1, id, text);
	debug_id_from_build_id(&sym.m.debug_id, id, sizeof(id), false);
	sym.type = FILETYPE_BREAKPAD;
	snprintf(sym.m.debug_file, sizeof(sym.m.debug_file), "prog");
	ck_assert_int_eq(key_of(&k, &sym), 0);
	ck_assert_int_eq(publish_facts(w.store, &k, 1, 1000, &FACTS, &whole), 0);
	d = derive_of(&w);
	derive_convert_idle(d);
	never_idle(d, &busy, true);
	for (unsigned n = 1; n <= 7; n++) {
		ask_addresses(d, &sym, whole);
		ck_assert_uint_eq(conversions_of(d, n, &waiting), n / 3);
		ck_assert_uint_eq(waiting, 1);
	}
	never_idle(d, &busy, false);
	derive_free(d);
	command = derive_of(&w);
	for (unsigned n = 1; n <= 7; n++) {
		ask_addresses(command, &sym, whole);
		ck_assert_uint_eq(conversions_of(command, n, &waiting), 0);
		ck_assert_uint_eq(waiting, 0);
	}
	derive_free(command);
	world_end(&w);
}
END_TEST

UNIT_MAIN("derive", a_breakpad_file_has_one_name, a_breakpad_file_is_found_by_its_debug_id,
	a_file_of_another_maker_is_made_anew, a_fault_is_remembered, a_file_ends_with_the_program,
	a_busy_server_converts_after_three_requests)
