/* Tests convert/frames.c: a program's unwind tables become text in a process of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/sanitized.h"
#include "base/util.h"
#include "derive/convert/worker.h"
#include "priv/worker.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *frames_program(void)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/libexec/frames", top ? top : ".");
	return path;
}

static int run(const char *program, int in, int *out, struct unwind_counts *c, struct err *e)
{
	struct frames_work w = {.program = program, .seconds = 60};

	return frames_text(&w, in, out, c, e);
}

static int run_bytes(const void *p, size_t n, struct err *e)
{
	int in = memfd_create("test", MFD_CLOEXEC), out = -1, r;
	struct unwind_counts c;

	ck_assert_int_ge(in, 0);
	ck_assert_int_eq(write(in, p, n), (ssize_t)n);
	r = run(frames_program(), in, &out, &c, e);
	close(in);
	ck_assert(r == 0 || out == -1);
	if (out >= 0)
		close(out);
	return r;
}

/* Each line is a record; the runs are in order and do not overlap. */
static uint64_t check_lines(struct span text)
{
	char *all = strndup((const char *)text.p, text.n), *save = NULL;
	unsigned long long at, n, end = 0, rows = 0;

	ck_assert_uint_eq(strlen(all), text.n);
	for (char *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save), rows++) {
		if (sscanf(line, "STACK CFI INIT %llx %llx .", &at, &n) == 2) {
			ck_assert_msg(at >= end && n > 0, "%s", line);
			ck_assert_msg(strstr(line, " .cfa: ") && strstr(line, " .ra: "), "%s", line);
			end = at + n;
		} else {
			ck_assert_msg(sscanf(line, "STACK CFI %llx ", &at) == 1 && at < end, "%s", line);
		}
	}
	free(all);
	return rows;
}

START_TEST(writes_text)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = -1, r;
	struct unwind_counts c;
	struct err e = {0};
	struct span text;

	r = run(frames_program(), in, &out, &c, &e);
	ck_assert_msg(r == 0, "%s", e.text);
	ck_assert_int_eq(map_fd(&text, out, &e), 0);
	ck_assert_uint_gt(check_lines(text), 100);
	ck_assert_uint_gt(c.functions, 10);
	ck_assert_uint_eq(c.rows, c.said);
	map_release(&text);
	close(out);
	close(in);
}
END_TEST

START_TEST(says_why_not)
{
	static const uint8_t head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 3, [18] = 62, [20] = 1, [52] = 64,
		[54] = 56, [58] = 64};
	struct unwind_counts c;
	struct err e = {0};
	uint8_t odd[64];
	int out = -1;

	ck_assert_int_eq(run_bytes("hello there, nothing", 20, &e), -ENOMSG);
	ck_assert_int_eq(run_bytes(head, sizeof(head), &e), -ENODATA);
	ck_assert_str_eq(e.text, "has no unwind tables");
	memcpy(odd, head, sizeof(odd));
	odd[16] = 1;
	ck_assert_int_eq(run_bytes(odd, sizeof(odd), &e), -ENOMSG);
	memcpy(odd, head, sizeof(odd));
	odd[18] = 2;
	ck_assert_int_eq(run_bytes(odd, sizeof(odd), &e), -ENOTSUP);
	ck_assert_int_lt(run("/nonexistent/frames", -1, &out, &c, &e), 0);
	ck_assert_int_eq(run("/bin/false", -1, &out, &c, &e), -EBADMSG);
	ck_assert_int_eq(run("/bin/true", -1, &out, &c, &e), -EBADMSG);
	ck_assert_int_eq(out, -1);
}
END_TEST

struct frames_word {
	struct worker_word word;
	struct unwind_counts counts;
};

/* What frames_text() returns when a program sends this word and ends. */
static int run_word(const struct frames_word *word, bool *bare)
{
	char dir[] = "/tmp/symfs-test-XXXXXX", program[64], file[64];
	struct frames_work w = {.program = program, .bare = bare};
	int out = -1, r;
	struct unwind_counts c;
	struct err e = {0};
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(file, sizeof(file), "%s/word", dir);
	f = fopen(program, "we");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "#!/bin/sh\nexec /bin/cat %s >&%d\n", file, WORKER_WORD);
	fchmod(fileno(f), 0700);
	fclose(f);
	f = fopen(file, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(word, sizeof(*word), 1, f), 1);
	fclose(f);
	r = frames_text(&w, -1, &out, &c, &e);
	if (out >= 0)
		close(out);
	unlink(program);
	unlink(file);
	rmdir(dir);
	return r;
}

/* A program that was taken over sends any bytes. It cannot claim trouble of this machine, after which the caller
 * would try again. */
START_TEST(doubts_the_word)
{
	static const int plain[] = {0, -ENODATA, -ENOTSUP, -ENOMSG, -EFBIG, -EPERM, -ENOMEM, -EBADMSG},
		others[] = {-EINTR, -ETIME, -ETIMEDOUT, -EAGAIN, -ENOENT, INT_MIN, 1};
	struct frames_word word = {.word.bare = 2};
	bool bare = false;

	for (unsigned i = 0; i < ARRAY_SIZE(plain); i++, bare = false) {
		word.word.r = plain[i];
		ck_assert_int_eq(run_word(&word, &bare), plain[i]);
		ck_assert(bare);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		word.word.r = others[i];
		ck_assert_int_eq(run_word(&word, &bare), -EBADMSG);
	}
}
END_TEST

START_TEST(stops)
{
	atomic_bool stop = true;
	struct frames_work w = {.program = frames_program(), .stop = &stop};
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = -1, r;
	struct unwind_counts c;
	struct err e = {0};

	r = frames_text(&w, in, &out, &c, &e);
	ck_assert(r == -EINTR || r == 0); /* it may have ended before */
	close(in);
	if (out >= 0)
		close(out);
}
END_TEST

UNIT_MAIN("frames", writes_text, says_why_not, doubts_the_word, stops)
