/* Tests intake/upload/sentry.c: requests and answers survive writing and reading, requests of real clients are read,
 * and others are refused with a reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"
#include "base/util.h"
#include "intake/upload/sentry.h"

#include <stdio.h>
#include <string.h>

#define A "00112233445566778899aabbccddeeff00112233"
#define B "ffeeddccbbaa99887766554433221100ffeeddcc"

static struct span span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static struct sha1 sha1_of(const char *hex)
{
	struct sha1 s;

	ck_assert_int_eq(sha1_read(hex, &s), 0);
	return s;
}

START_TEST(test_paths)
{
	static const struct {
		const char *path;
		enum sentry_path what;
		const char *project;
	} rows[] = {
		{"api/0/organizations/o/chunk-upload/", SENTRY_PATH_CHUNKS, "o"},
		{"api/0/projects/o/p/files/difs/assemble/", SENTRY_PATH_ASSEMBLE, "o/p"},
		{"api/0/organizations//chunk-upload/", SENTRY_PATH_NONE, ""},
		{"api/0/organizations/chunk-upload/", SENTRY_PATH_NONE, ""},
		{"api/0/organizations/o/p/chunk-upload/", SENTRY_PATH_NONE, ""},
		{"api/0/organizations/o/chunk-upload", SENTRY_PATH_NONE, ""},
		{"api/0/projects/o/files/difs/assemble/", SENTRY_PATH_NONE, ""},
		{"api/0/projects/o/p/q/files/difs/assemble/", SENTRY_PATH_NONE, ""},
		{"api/0/", SENTRY_PATH_NONE, ""}, {"", SENTRY_PATH_NONE, ""},
	};
	char project[SENTRY_PROJECT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		project[0] = '\0';
		ck_assert_int_eq(sentry_path_parse(rows[i].path, project), rows[i].what);
		ck_assert_str_eq(project, rows[i].project);
	}
}
END_TEST

/* As sentry-cli 3.8 sends it. */
START_TEST(test_request)
{
	static const char body[] = "{\"" A "\":{\"name\":\"lib/prog.debug\",\"debug_id\":"
				   "\"dfb85de4-0c40-4931-8610-f4e4fb0b6936-a\",\"chunks\":[\"" A "\",\"" B "\"]},"
				   "\"" B "\":{\"name\":\"C:\\\\x\\\\one.pdb\",\"chunks\":[\"" B "\"]}}";
	char id[DEBUG_ID_TEXT];
	struct sentry_request q, again;
	struct buf text = BUF_UP_TO(4096);
	struct sha1 a = sha1_of(A), b = sha1_of(B);
	struct err e = {0};

	ck_assert_int_eq(sentry_request_read(&q, span_of(body), &e), 0);
	ck_assert_uint_eq(q.n_files, 2);
	ck_assert_uint_eq(q.n_chunks, 3);
	ck_assert(sha1_equal(&q.files[0].sha1, &a) && sha1_equal(&q.files[1].sha1, &b));
	ck_assert_str_eq(q.files[0].name, "prog.debug");
	ck_assert_str_eq(q.files[1].name, "one.pdb");
	ck_assert_str_eq(debug_id_text(&q.files[0].debug_id, id), "dfb85de4-0c40-4931-8610-f4e4fb0b6936-a");
	ck_assert(!q.files[1].debug_id.set);
	ck_assert_uint_eq(q.files[0].n, 2);
	ck_assert_uint_eq(q.files[1].first, 2);
	ck_assert(sha1_equal(&q.chunks[1], &b));

	ck_assert_int_eq(sentry_request_write(&text, &q), 0);
	ck_assert_int_eq(sentry_request_read(&again, span_of(buf_text(&text)), &e), 0);
	ck_assert_uint_eq(again.n_files, 2);
	ck_assert_mem_eq(again.files, q.files, 2 * sizeof(*q.files));
	ck_assert_mem_eq(again.chunks, q.chunks, 3 * sizeof(*q.chunks));
	buf_release(&text);
	sentry_request_release(&q);
	sentry_request_release(&again);
}
END_TEST

START_TEST(test_bad_requests)
{
	static const char *const bad[] = {"", "[]", "7", "{", "{\"x\":{\"chunks\":[]}}",
		"{\"" A "\":[]}", "{\"" A "\":{}}", "{\"" A "\":{\"chunks\":{}}}", "{\"" A "\":{\"chunks\":[1]}}",
		"{\"" A "\":{\"chunks\":[\"x\"]}}", "{\"" A "0\":{\"chunks\":[]}}"};
	static const char *const names[] = {"..", ".", "a/..", "x/", "\\u0000", "a\\u0007", "\\ud800"};
	struct sentry_request q;
	char body[256];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {0};

		ck_assert_int_eq(sentry_request_read(&q, span_of(bad[i]), &e), -EBADMSG);
		ck_assert_str_ne(e.text, "");
		ck_assert(!q.files && !q.chunks);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) { /* a bad name is no name */
		snprintf(body, sizeof(body), "{\"" A "\":{\"name\":\"%s\",\"debug_id\":\"x\",\"chunks\":[]}}",
			names[i]);
		ck_assert_int_eq(sentry_request_read(&q, span_of(body), NULL), 0);
		ck_assert_str_eq(q.files[0].name, "");
		ck_assert(!q.files[0].debug_id.set);
		sentry_request_release(&q);
	}
	ck_assert_int_eq(sentry_request_read(&q, span_of("{}"), NULL), 0);
	ck_assert_uint_eq(q.n_files, 0);
	sentry_request_release(&q);
}
END_TEST

START_TEST(test_request_bounds)
{
	struct buf text = BUF_UP_TO(64 << 20);
	struct sentry_request q;
	struct err e = {0};

	buf_adds(&text, "{\"" A "\":{\"chunks\":[");
	for (unsigned i = 0; i <= SENTRY_CHUNKS_MOST; i++)
		buf_addf(&text, "%s\"" B "\"", i ? "," : "");
	buf_adds(&text, "]}}");
	ck_assert_int_eq(sentry_request_read(&q, span_of(buf_text(&text)), &e), -E2BIG);
	buf_clear(&text);
	buf_adds(&text, "{");
	for (unsigned i = 0; i <= SENTRY_FILES_MOST; i++)
		buf_addf(&text, "%s\"%040x\":{\"chunks\":[]}", i ? "," : "", i);
	buf_adds(&text, "}");
	ck_assert_int_eq(sentry_request_read(&q, span_of(buf_text(&text)), &e), -E2BIG);
	ck_assert_str_eq(e.text, "has more than 4096 files");
	buf_release(&text);
}
END_TEST

static unsigned answers;

static int check_answer(void *ctx, const struct sentry_answer *a)
{
	const struct sentry_answer *want = (const struct sentry_answer *)ctx + answers++;

	ck_assert(sha1_equal(&a->sha1, &want->sha1));
	ck_assert_int_eq(a->state, want->state);
	ck_assert_uint_eq(a->n_missing, want->n_missing);
	ck_assert_mem_eq(a->missing, want->missing, want->n_missing * sizeof(*want->missing));
	ck_assert_str_eq(a->detail, want->detail);
	ck_assert_str_eq(a->dif.name, want->dif.name);
	ck_assert_str_eq(a->dif.arch, want->dif.arch);
	ck_assert_str_eq(a->dif.kind, want->dif.kind);
	ck_assert_str_eq(a->dif.debug_id, want->dif.debug_id);
	ck_assert_str_eq(a->dif.code_id, want->dif.code_id);
	ck_assert_str_eq(a->dif.what, want->dif.what);
	ck_assert_uint_eq(a->dif.size, want->dif.size);
	return 0;
}

START_TEST(test_answers)
{
	struct sha1 lack[2] = {sha1_of(A), sha1_of(B)};
	struct sentry_answer want[5] = {
		{.sha1 = sha1_of(A), .state = SENTRY_NOT_FOUND, .missing = lack, .n_missing = 2},
		{.sha1 = sha1_of(B), .state = SENTRY_ERROR, .missing = lack, .detail = "is cut short: \"\xc3\xa4\""},
		{.sha1 = sha1_of(A), .state = SENTRY_ASSEMBLING, .missing = lack},
		{.sha1 = sha1_of(A), .state = SENTRY_CREATED, .missing = lack},
		{.sha1 = sha1_of(B), .state = SENTRY_OK, .missing = lack,
			.dif = {.name = "prog", .arch = "x86_64", .format = "elf", .kind = "dbg", .code_id = "abcd",
				.debug_id = "dfb85de4-0c40-4931-8610-f4e4fb0b6936", .size = 7, .what = "added"}},
	};
	struct buf text = BUF_UP_TO(8192);
	struct err e = {0};

	buf_adds(&text, "{");
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_int_eq(sentry_answer_write(&text, i == 0, &want[i]), 0);
	buf_adds(&text, "}");
	ck_assert_msg(sentry_answers_read(span_of(buf_text(&text)), check_answer, want, &e) == 0, "%s", e.text);
	ck_assert_uint_eq(answers, ARRAY_SIZE(want));
	ck_assert_int_eq(sentry_answers_read(span_of("{\"" A "\":{\"state\":\"odd\"}}"), check_answer, want, &e),
		-EBADMSG);
	ck_assert_int_eq(sentry_answers_read(span_of("{\"" A "\":{\"state\":\"not_found\"}}"), check_answer, want,
		&e), -EBADMSG);
	buf_release(&text);
}
END_TEST

/* Byte for byte, as clients of Sentry read it. */
START_TEST(test_answer_text)
{
	static const char want[] =
		"\"" B "\":{\"state\":\"ok\",\"missingChunks\":[],\"detail\":null,"
		"\"dif\":{\"id\":\"ffeeddccbbaa9988\",\"uuid\":\"dfb85de4-0c40-4931-8610-f4e4fb0b6936\","
		"\"debugId\":\"dfb85de4-0c40-4931-8610-f4e4fb0b6936-a\",\"codeId\":null,\"cpuName\":\"any\","
		"\"objectName\":\"a.pdb\",\"symbolType\":\"pdb\",\"sha1\":\"" B "\",\"size\":7,"
		"\"headers\":{},\"dateCreated\":\"1970-01-01T00:00:00Z\",\"data\":{\"type\":\"dbg\",\"features\":[]},"
		"\"symfs\":\"added\"}}";
	struct sentry_answer a = {.sha1 = sha1_of(B), .state = SENTRY_OK,
		.dif = {.name = "a.pdb", .format = "pdb", .kind = "dbg", .size = 7, .what = "added",
			.debug_id = "dfb85de4-0c40-4931-8610-f4e4fb0b6936-a"}};
	struct buf text = BUF_UP_TO(4096);

	ck_assert_int_eq(sentry_answer_write(&text, true, &a), 0);
	ck_assert_str_eq(buf_text(&text), want);
	buf_release(&text);
}
END_TEST

START_TEST(test_options)
{
	static const char recorded[] =
		"{\"url\":\"http://127.0.0.1/api/0/organizations/o/chunk-upload/\",\"chunkSize\":"
				       "65536,\"chunksPerRequest\":64,\"maxFileSize\":2147483648,\"maxRequestSize\":"
				       "33554432,\"concurrency\":2,\"hashAlgorithm\":\"sha1\","
				       "\"compression\":[\"gzip\"],\"accept\":[\"debug_files\"]}";
	static const char *const bad[] = {"[]", "{}", "{\"url\":\"x\",\"hashAlgorithm\":\"md5\"}",
		"{\"url\":\"x\",\"hashAlgorithm\":\"sha1\",\"chunkSize\":1,\"chunksPerRequest\":1,"
		"\"maxRequestSize\":9}",
		"{\"url\":\"x\",\"hashAlgorithm\":\"sha1\",\"chunkSize\":4096,\"chunksPerRequest\":0,"
		"\"maxRequestSize\":8192}",
		"{\"url\":\"x\",\"hashAlgorithm\":\"sha1\",\"chunkSize\":4096,\"chunksPerRequest\":1,"
		"\"maxRequestSize\":4095}"};
	struct sentry_options o, again;
	struct buf text = BUF_UP_TO(4096);
	struct err e = {0};

	ck_assert_int_eq(sentry_options_read(&o, span_of(recorded), &e), 0);
	ck_assert_uint_eq(o.chunk, 65536);
	ck_assert_uint_eq(o.concurrency, 2);
	ck_assert(o.gzip);
	ck_assert_int_eq(sentry_options_write(&text, &o), 0);
	ck_assert_int_eq(sentry_options_read(&again, span_of(buf_text(&text)), &e), 0);
	ck_assert_mem_eq(&o, &again, sizeof(o));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(sentry_options_read(&o, span_of(bad[i]), &e), -EBADMSG);
	buf_release(&text);
}
END_TEST

START_TEST(test_refusals)
{
	char text[SENTRY_TEXT_MAX];

	sentry_refusal_read(span_of("{\"error\":\"Too many chunks\"}"), text);
	ck_assert_str_eq(text, "Too many chunks");
	sentry_refusal_read(span_of("{\"detail\":\"no\"}"), text);
	ck_assert_str_eq(text, "no");
	sentry_refusal_read(span_of("<html>"), text);
	ck_assert_str_eq(text, "");
}
END_TEST

UNIT_MAIN("sentry", test_paths, test_request, test_bad_requests, test_request_bounds, test_answers, test_answer_text,
	test_options, test_refusals)
