/* The main function of the fuzz targets without a fuzzer: tests/fuzz/replay, to which each tests/fuzz/fuzz-NAME is a
 * link. The name of the program, or else the first argument, chooses the target. It runs on the named files and
 * folders, or on tests/data/broken/NAME. Each input that once crashed becomes a file there. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "base/path.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (64u << 20)

static struct fuzz_target *targets;
static unsigned seen, failed;

/* In scripts/check undefined behavior is a trap: AddressSanitizer's report has its line. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "handle_sigill=1";
}

void fuzz_add(struct fuzz_target *t)
{
	t->next = targets;
	targets = t;
}

/* NAME may begin with `fuzz-`, as a source does. */
static const struct fuzz_target *find_target(const char *name)
{
	const struct fuzz_target *t = targets;

	if (strncmp(name, "fuzz-", strlen("fuzz-")) == 0)
		name += strlen("fuzz-");
	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	return t;
}

static void replay_file(const struct fuzz_target *t, const char *path)
{
	_cleanup_free_ char *text = NULL;
	uint8_t *exact;
	size_t n;
	int r = path_read(AT_FDCWD, path, FILE_MOST, &text, &n);

	if (r == 0) { /* to the byte, so that a read behind it is seen */
		exact = malloc(n ? n : 1);
		memcpy(exact, text, n);
		t->run(exact, n);
		free(exact);
	} else {
		failed++;
	}
	printf("%sok %u - %s\n", r == 0 ? "" : "not ", ++seen, path_base(path));
	fflush(stdout);
}

static void replay(const struct fuzz_target *t, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0) {
		replay_file(t, path);
		return;
	}
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			replay_file(t, file);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const struct fuzz_target *t = find_target(path_base(argv[0]));
	const char *top = getenv("top_srcdir");
	char dir[4096];

	if (!t && argc > 1) {
		t = find_target(argv[1]);
		argc--, argv++;
	}
	if (!t) {
		fprintf(stderr, "usage: replay TARGET [FILE...], where TARGET is one of:");
		for (t = targets; t; t = t->next)
			fprintf(stderr, " %s", t->name);
		fputc('\n', stderr);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		replay(t, argv[i]);
	if (argc < 2) {
		snprintf(dir, sizeof(dir), "%s/tests/data/broken/%s", top ? top : ".", t->name);
		replay(t, dir);
	}
	printf("1..%u\n", seen);
	return failed || !seen;
}
