/* Tests stacks/: the lists, what is asked, and the names in text and JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/util.h"
#include "stacks/dump/state.h"
#include "stacks/libdw/wire.h"
#include "stacks/records.h"
#include "stacks/stacks.h"
#include "symb/form.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in place of symb/: keeps what is asked, and answers with the names of the table ---- */

struct symb_request {
	struct buf asked;
	size_t frame;
};
static char asked[4096];

static const struct symb_name names[][2] = {
	[1] = {{.function = "poll", .offset = 0xf}},
	[2] = {{.inlined = true, .function = "in\033", .file = "i.h", .line = 3},
		{.function = "main", .offset = 4, .file = "m.c", .line = 12}},
	[3] = {{.function = "start", .offset = 9}},
	[4] = {{0}},
};

struct symb_request *symb_request_new(struct symb *s, const struct symb_flags *flags)
{
	struct symb_request *q = calloc(1, sizeof(*q));

	ck_assert_ptr_nonnull(q);
	q->asked = BUF_UP_TO(sizeof(asked) - 1);
	return q;
}

void symb_request_free(struct symb_request *q)
{
	if (q)
		buf_release(&q->asked);
	free(q);
}

uint32_t symb_add_module(struct symb_request *q, const struct module *m, const uint64_t *linked_at)
{
	ck_assert_ptr_null(linked_at);
	buf_addf(&q->asked, "%s %s %s\n", m->debug_file, m->code_file, m->code_id);
	return 0;
}

void symb_add_stack(struct symb_request *q)
{
	buf_adds(&q->asked, "stack\n");
}

void symb_add_frame(struct symb_request *q, uint32_t module, bool linked, uint64_t offset)
{
	buf_addf(&q->asked, "%d %d\n", (int)module, (int)offset);
}

int symb_load(struct symb_request *q, struct err *e)
{
	snprintf(asked, sizeof(asked), "%s", buf_text(&q->asked));
	return 0;
}

unsigned symb_look_up(struct symb_request *q, size_t frame)
{
	q->frame = frame;
	return names[frame][0].inlined ? 2 : names[frame][0].function ? 1 : 0;
}

const struct symb_name *symb_name(struct symb_request *q, unsigned i)
{
	return &names[q->frame][i];
}

int symb_write(struct symb_request *q, struct buf *out)
{
	return buf_adds(out, "[7]");
}

/* ---- the test ---------------------------------------------------------------------- */

/* Two modules and two threads; the second thread crashed. */
static void fill(struct stacks *s)
{
	struct stack_module a = {.m = {.object = OBJECT_ELF}, .path = (char *)"/opt/a\033b", .base = 0x1000,
		.end = 0x3000};
	struct stack_module b = {.path = (char *)"/lib/libb.so.1", .base = 0x8000, .end = 0x9000, .unverified = true};
	const char id[] = "0123456789ABCDEF0123456789abcdef01234567";

	ck_assert_int_eq(module_set_code_id(&a.m, id, strlen(id)), 0);
	ck_assert_int_eq(debug_id_parse(&a.m.debug_id, "67452301AB89EFCD0123456789ABCDEF0", 33), 0);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){.module = STACKS_NO_MODULE}), -EINVAL);
	ck_assert_int_eq(stacks_module(s, &b), 0);
	ck_assert_int_eq(stacks_module(s, &a), 1);
	ck_assert_int_eq(stacks_thread(s, &(struct stack_thread){.id = 7, .name = "idle"}), 0);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){0, 0x8010, 0x8010, STACK_CONTEXT, false}), 0);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){0, 0x8020, 0x801f, STACK_SCAN, false}), 1);
	ck_assert_int_eq(stacks_thread(s, &(struct stack_thread){.id = 8, .crashed = true, .end = "no rules"}), 1);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){1, 0x1234, 0x1234, STACK_CONTEXT, false}), 2);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){1, 0x2001, 0x2000, STACK_RULES, false}), 3);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){STACKS_NO_MODULE, 0x77, 0x76, STACK_POINTER, false}),
		4);
	ck_assert_int_eq(stacks_frame(s, &(struct stack_frame){2, 0, 0, STACK_RULES, false}), -EINVAL);
	snprintf(s->reason, sizeof(s->reason), "SIGSEGV at 0x0");
}

static const char request[] =
	"{\"jobs\": [{\"memoryMap\": [{\"debug_id\": \"\", \"debug_file\": \"libb.so.1\", \"code_file\": "
	"\"libb.so.1\"}, "
	"{\"debug_id\": \"67452301AB89EFCD0123456789ABCDEF0\", \"type\": \"elf\", "
	"\"code_id\": \"0123456789abcdef0123456789abcdef01234567\", "
	"\"debug_file\": \"a\\u001bb\", \"code_file\": \"a\\u001bb\"}], "
	"\"stacks\": [[[0, 16], [0, 31]], [[1, 564], [1, 4096], [-1, 118]]]}]}";

static const char as_values[] =
	"libb.so.1 libb.so.1 \n"
	"a\033b a\033b 0123456789abcdef0123456789abcdef01234567\n"
	"stack\n0 16\n0 31\nstack\n1 564\n1 4096\n-1 118\n";

static const char text[] = "SIGSEGV at 0x0\n"
			   "\nThread 8, crashed:\n"
			   "  0  a\\x1bb  in\\x1b (inlined) at i.h:3\n"
			   "  0  a\\x1bb  main + 0x4 at m.c:12\n"
			   "  1  a\\x1bb  start + 0xa\n"
			   "  2  0x77  [fp]\n"
			   "     no rules\n"
			   "\nThread 7 idle:\n"
			   "  0  libb.so.1 + 0x10  [unverified]\n"
			   "  1  libb.so.1  poll + 0x10  [scan]  [unverified]\n";

static char service; /* any address */

static void print(const struct stacks *s, bool named, bool json, struct buf *out)
{
	struct err e = {0};

	buf_clear(out);
	ck_assert_int_eq(stacks_print(s, named ? (struct symb *)&service : NULL, NULL, json, out, &e), 0);
}

START_TEST(printed)
{
	struct stacks s = {0};
	struct buf b = BUF_UP_TO(1 << 20);
	struct jtext j = {0};
	struct err e = {0};

	fill(&s);
	print(&s, true, false, &b);
	ck_assert_str_eq(buf_text(&b), text);
	ck_assert_str_eq(asked, as_values);
	print(&s, true, true, &b);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), request));
	ck_assert_ptr_nonnull(strstr(buf_text(&b), ", \"answer\": [7]}"));
	ck_assert_int_eq(jtext_read(&j, (struct span){(const uint8_t *)b.p, b.n}, 10000, &e), 0);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "\"threads\": [{\"id\": 7, \"name\": \"idle\", \"crashed\": "
		"false, "
		"\"end\": null, \"frames\": [{\"address\": \"0x8010\", \"found\": \"context\", \"unverified\": "
		"true, \"module\": \"libb.so.1\", \"function\": null, \"file\": null, \"line\": null}"));
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "\"module\": \"a\\u001bb\", \"inlines\": [{\"function\": "
		"\"in\\u001b\", \"file\": \"i.h\", \"line\": 3}], \"function\": \"main\", \"file\": \"m.c\", "
		"\"line\": 12}"));
	jtext_release(&j);
	buf_release(&b);
	stacks_release(&s);
}
END_TEST

START_TEST(without_an_answer)
{
	struct stacks s = {0};
	struct buf b = BUF_UP_TO(1 << 20);

	fill(&s);
	print(&s, false, false, &b);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "  1  a\\x1bb + 0x1001\n"));
	print(&s, false, true, &b);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "\"answer\": null}"));
	buf_release(&b);
	stacks_release(&s);
}
END_TEST

START_TEST(without_threads)
{
	struct buf b = BUF_UP_TO(1 << 20);
	struct stacks s = {0};
	struct err e = {0};

	ck_assert_int_eq(stacks_print(&s, (struct symb *)&service, NULL, false, &b, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "there are no threads");
}
END_TEST

START_TEST(modules_at)
{
	struct stacks s = {0};

	ck_assert_uint_eq(stacks_module_at(&s, 0), STACKS_NO_MODULE);
	fill(&s);
	ck_assert_uint_eq(stacks_module_at(&s, 0xfff), STACKS_NO_MODULE);
	ck_assert_uint_eq(stacks_module_at(&s, 0x1000), 1);
	ck_assert_uint_eq(stacks_module_at(&s, 0x2fff), 1);
	ck_assert_uint_eq(stacks_module_at(&s, 0x3000), STACKS_NO_MODULE);
	ck_assert_uint_eq(stacks_module_at(&s, 0x8fff), 0);
	ck_assert_uint_eq(stacks_module_at(&s, UINT64_MAX), STACKS_NO_MODULE);
	ck_assert_int_eq(stacks_module(&s, &(struct stack_module){.base = UINT64_MAX - 9, .end = UINT64_MAX}), 2);
	ck_assert_uint_eq(stacks_module_at(&s, UINT64_MAX - 1), 2);
	stacks_release(&s);
}
END_TEST

/* A frame pointer that leads out of all modules does not hide why the stack ends. */
START_TEST(ends)
{
	struct dump_thread thread = {.id = 1, .pc = 0x1234, .n = 17};
	const struct stacks_records of = {.thread = &thread, .n_threads = 1};
	const struct stack_module m = {.path = (char *)"/opt/prog", .base = 0x1000, .end = 0x3000};
	static const struct {
		unsigned frames;
		uint64_t pc; /* of the second frame */
		uint8_t kind, rules;
		const char *end;
	} rows[] = {
		{1, 0, UNWINDER_END, 0, ""},
		{1, 0, UNWINDER_STUCK, 0, "unwinding stopped: prog has no build id"},
		{2, 0x7fe2, UNWINDER_STUCK, 0, "unwinding stopped: prog has no build id"},
		{2, 0x7fe2, UNWINDER_END, 0, "unwinding stopped: prog has no build id"},
		{2, 0x7fe2, UNWINDER_STUCK, 1, "unwinding stopped: 0x7fe2 is in no module"},
		{2, 0x1300, UNWINDER_END, 0, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwinder_record x[3] = {{.pc = 0x1234, .activation = 1},
			{.pc = rows[i].pc, .rules = rows[i].rules}};
		struct stacks s = {0};
		struct stacks_cut at;

		x[rows[i].frames].kind = rows[i].kind;
		ck_assert_int_eq(stacks_module(&s, &m), 0);
		ck_assert_int_eq(stacks_records(&s, &of, x, rows[i].frames + 1, &at), 0);
		ck_assert_uint_eq(s.thread[0].n, rows[i].frames);
		ck_assert_str_eq(s.thread[0].end, rows[i].end);
		stacks_release(&s);
	}
}
END_TEST

UNIT_MAIN("stacks", printed, without_an_answer, without_threads, modules_at, ends)
