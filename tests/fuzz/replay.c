/* The main function of a fuzz target without a fuzzer. It runs the target on the named files and
 * folders, or on tests/data/broken/NAME if the program is called fuzz-NAME. Each input that once
 * crashed becomes a file there. */
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

static unsigned seen, failed;

static void replay_file(const char *path)
{
	_cleanup_free_ char *text = NULL;
	uint8_t *exact;
	size_t n;
	int r = path_read(AT_FDCWD, path, FILE_MOST, &text, &n);

	if (r == 0) { /* to the byte, so that a read behind it is seen */
		exact = malloc(n ? n : 1);
		memcpy(exact, text, n);
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	} else {
		failed++;
	}
	printf("%sok %u - %s\n", r == 0 ? "" : "not ", ++seen, path_base(path));
	fflush(stdout);
}

static void replay(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0) {
		replay_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			replay_file(file);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir"), *name = strstr(path_base(argv[0]), "fuzz-");
	char dir[4096];

	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc < 2 && name) {
		snprintf(dir, sizeof(dir), "%s/tests/data/broken/%s", top ? top : ".",
			name + strlen("fuzz-"));
		replay(dir);
	}
	printf("1..%u\n", seen);
	return failed || !seen;
}
