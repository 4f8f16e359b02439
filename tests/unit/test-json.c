/* Tests cmd/json.h: documents byte for byte, and random documents, which json-c must read as the same values; and the
 * errors of base/buf.h. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/json.h"
#include "base/jtext.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static struct json j;

static void is(const char *expected)
{
	ck_assert_int_eq(j.text.r, 0);
	ck_assert_str_eq(buf_text(&j.text), expected);
	json_release(&j);
}

static void begin_sample(bool compact)
{
	json_init(&j, compact);
	json_begin_object(&j, NULL);
	json_text(&j, "a", "x");
	json_text(&j, "b", "");
	json_text(&j, "c", NULL);
	json_string(&j, "d", "");
	json_number(&j, "e", -5);
	json_number_or_null(&j, "f", 0);
	json_number_or_null(&j, "g", 7);
	json_begin_array(&j, "h");
	json_boolean(&j, NULL, true);
	json_boolean(&j, NULL, false);
	json_begin_object(&j, NULL);
	json_end(&j);
	json_begin_array(&j, NULL);
	json_end(&j);
	json_end(&j);
	json_null(&j, "i");
}

START_TEST(bytes_of_a_document)
{
	begin_sample(false);
	json_end(&j);
	is("{\n  \"a\":\"x\",\n  \"b\":null,\n  \"c\":null,\n  \"d\":\"\",\n  \"e\":-5,\n  \"f\":null,\n  \"g\":7,\n"
	   "  \"h\":[\n    true,\n    false,\n    {},\n    []\n  ],\n  \"i\":null\n}");
	begin_sample(true);
	json_end(&j);
	is("{\"a\":\"x\",\"b\":null,\"c\":null,\"d\":\"\",\"e\":-5,\"f\":null,\"g\":7,"
	   "\"h\":[true,false,{},[]],\"i\":null}");
}
END_TEST

/* The comma after a string is not confused by what the string ends with. */
START_TEST(bytes_of_strings)
{
	json_init(&j, true);
	json_begin_array(&j, NULL);
	json_string(&j, NULL, "[");
	json_string(&j, NULL, "{");
	json_string(&j, NULL, "a/\"\\\b\f\n\r\t\x01");
	json_string(&j, NULL, "\xff\xc3\xa4");
	json_end(&j);
	is("[\"[\",\"{\",\"a/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\",\"\\\\xff\xc3\xa4\"]");
}
END_TEST

START_TEST(too_deep_is_an_error)
{
	json_init(&j, true);
	for (unsigned i = 0; i < JSON_DEPTH; i++)
		json_begin_array(&j, NULL);
	ck_assert_int_eq(j.text.r, 0);
	json_begin_array(&j, NULL);
	ck_assert_int_eq(j.text.r, -EFBIG);
	for (unsigned i = 0; i < JSON_DEPTH + 2; i++)
		json_end(&j);
	ck_assert_int_eq(json_print(&j), 4);
}
END_TEST

/* json_clear() forgets the open values and the error. */
START_TEST(a_new_document_in_the_same_memory)
{
	json_init(&j, false);
	json_begin_array(&j, NULL);
	j.text.r = -ENOMEM;
	json_clear(&j);
	json_number(&j, NULL, 1);
	is("1");
}
END_TEST

/* ---- json-c as the oracle ---------------------------------------------------------------- */

static uint32_t seed;

/* Below `n`. */
static unsigned draw(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static struct json_object *random_value(const char *name, unsigned depth);

static void random_text(char text[static 16])
{
	unsigned n = draw(15);

	for (unsigned i = 0; i < n; i++)
		text[i] = (char)(1 + draw(126));
	text[n] = '\0';
}

static struct json_object *random_list(const char *name, unsigned depth, bool object)
{
	struct json_object *o = object ? json_object_new_object() : json_object_new_array();

	if (object)
		json_begin_object(&j, name);
	else
		json_begin_array(&j, name);
	for (unsigned i = 0, n = draw(6); i < n; i++) {
		char member[40], text[16];

		random_text(text);
		snprintf(member, sizeof(member), "%u%s", i, text);
		if (object)
			json_object_object_add(o, member, random_value(member, depth + 1));
		else
			json_object_array_add(o, random_value(NULL, depth + 1));
	}
	json_end(&j);
	return o;
}

static struct json_object *random_value(const char *name, unsigned depth)
{
	char text[16];
	long long n = (long long)draw(1u << 20) * (draw(2) ? 1 : -1) * (1ll << draw(30));

	switch (draw(depth < 6 ? 7 : 5)) {
	case 0:
		json_null(&j, name);
		return NULL;
	case 1:
		json_boolean(&j, name, n > 0);
		return json_object_new_boolean(n > 0);
	case 2:
		json_number(&j, name, n);
		return json_object_new_int64(n);
	case 3:
	case 4:
		random_text(text);
		json_string(&j, name, text);
		return json_object_new_string(text);
	default:
		return random_list(name, depth, draw(2));
	}
}

START_TEST(json_c_reads_the_same)
{
	seed = unit_seed(7);
	for (unsigned i = 0; i < 2000; i++) {
		struct json_object *expected, *got;

		json_init(&j, i % 2);
		expected = random_list(NULL, 0, draw(2));
		ck_assert_int_eq(j.text.r, 0);
		got = json_tokener_parse(buf_text(&j.text));
		ck_assert_msg(json_object_equal(expected, got), "%s\nis not\n%s", buf_text(&j.text),
			json_object_to_json_string(expected));
		json_object_put(expected);
		json_object_put(got);
		json_release(&j);
	}
}
END_TEST

/* After a text that does not fit, shorter texts are not added either, until the buffer is cut or cleared. */
START_TEST(a_buffer_keeps_its_first_error)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(8);

	ck_assert_int_eq(buf_adds(&b, "1234"), 0);
	ck_assert_int_eq(buf_adds(&b, "56789"), -EFBIG);
	ck_assert_int_eq(buf_adds(&b, "5"), -EFBIG);
	ck_assert_int_eq(buf_adds(&b, ""), -EFBIG);
	ck_assert_int_eq(buf_addf(&b, "%d", 5), -EFBIG);
	ck_assert_int_eq(jtext_add(&b, "x"), -EFBIG);
	ck_assert_str_eq(buf_text(&b), "1234");
	buf_cut(&b, 3);
	ck_assert_int_eq(jtext_add(&b, "x") | buf_addf(&b, "%d", 45), 0);
	ck_assert_str_eq(buf_text(&b), "123\"x\"45");
	ck_assert_int_eq(buf_addf(&b, "%d", 6), -EFBIG);
	buf_clear(&b);
	ck_assert_int_eq(buf_adds(&b, "12345678"), 0);
}
END_TEST

UNIT_MAIN("json", bytes_of_a_document, bytes_of_strings, too_deep_is_an_error, a_new_document_in_the_same_memory,
	json_c_reads_the_same, a_buffer_keeps_its_first_error)
