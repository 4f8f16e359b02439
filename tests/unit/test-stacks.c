/* Tests stacks/: the lists, the request, the answer and its names, text and JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/stacks.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static const char answer[] =
	"{\"results\": [{\"stacks\": [[{\"frame\": 0, \"module\": \"libb.so.1\", \"module_offset\": \"0x10\"}, "
	"{\"frame\": 1, \"module\": \"libb.so.1\", \"module_offset\": \"0x1f\", \"function\": \"poll\", "
	"\"function_offset\": \"0xf\"}], "
	"[{\"frame\": 0, \"module\": \"a\", \"module_offset\": \"0x234\", \"function\": \"main\", "
	"\"function_offset\": \"0x4\", \"file\": \"m.c\", \"line\": 12, "
	"\"inlines\": [{\"function\": \"in\\u001b\", \"file\": \"i.h\", \"line\": 3}]}, "
	"{\"frame\": 1, \"module\": \"a\", \"function\": \"start\", \"function_offset\": \"0x9\"}, "
	"{\"frame\": 2, \"module\": \"<unknown>\"}]], \"found_modules\": {}}]}";

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

static int take_answer(struct stacks *s, const char *what, struct err *e)
{
	struct buf b = BUF_UP_TO(1 << 20);
	int r;

	ck_assert_int_eq(buf_adds(&b, what), 0);
	r = stacks_answer(s, &b, e);
	buf_release(&b);
	return r;
}

START_TEST(printed)
{
	struct stacks s = {0};
	struct buf b = BUF_UP_TO(1 << 20);
	struct jtext j = {0};
	struct err e = {0};

	fill(&s);
	ck_assert_int_eq(stacks_request(&s, &b), 0);
	ck_assert_str_eq(buf_text(&b), request);
	ck_assert_int_eq(take_answer(&s, answer, &e), 0);
	buf_clear(&b);
	ck_assert_int_eq(stacks_text(&s, &b), 0);
	ck_assert_str_eq(buf_text(&b), text);
	buf_clear(&b);
	ck_assert_int_eq(stacks_json(&s, &b), 0);
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
	ck_assert_int_eq(stacks_text(&s, &b), 0);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "  1  a\\x1bb + 0x1001\n"));
	buf_clear(&b);
	ck_assert_int_eq(stacks_json(&s, &b), 0);
	ck_assert_ptr_nonnull(strstr(buf_text(&b), "\"answer\": null}"));
	buf_release(&b);
	stacks_release(&s);
}
END_TEST

/* An answer that does not fit is refused; a part of it that has another type is a name that is not known. */
START_TEST(other_answers)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{"", -EBADMSG}, {"[]", -EBADMSG}, {"{}", -EBADMSG}, {"{\"results\": 1}", -EBADMSG},
		{"{\"results\": []}", -EBADMSG}, {"{\"results\": [1]}", -EBADMSG}, {"{\"results\": [{}]}", -EBADMSG},
		{"{\"results\": [{\"stacks\": 1}]}", -EBADMSG}, {"{\"results\": [{\"stacks\": [[], []]}]}", -EBADMSG},
		{"{\"results\": [{\"stacks\": [[{}, {}], [{}, {}, 1]]}]}", -EBADMSG},
		{"{\"results\": [{\"stacks\": [[{}, {}], [{}, {}, {}]]}]}", 0},
		{"{\"results\": [{\"stacks\": [[{\"inlines\": 1}, {\"inlines\": [1]}], [{\"function\": 1}, "
		 "{\"file\": [], \"line\": -1}, {\"function\": \"f\", \"function_offset\": 7, \"line\": \"x\"}]]}]}",
		 0},
	};
	struct stacks s = {0};

	fill(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf b = BUF_UP_TO(1 << 20);
		struct err e = {0};

		ck_assert_msg(take_answer(&s, rows[i].text, &e) == rows[i].r, "row %zu", i);
		ck_assert_int_eq(stacks_text(&s, &b), 0);
		buf_release(&b);
	}
	stacks_release(&s);
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

UNIT_MAIN("stacks", printed, without_an_answer, other_answers, modules_at)
