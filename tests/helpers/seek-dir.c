/* Reads a directory and seeks in it.
 *
 *	seek-dir DIR [COUNT COMMAND]
 *
 * Prints the names in the order of the listing. When COUNT of them were read, the shell runs
 * COMMAND. Then the program seeks to the offsets of some of the names, where the same names must
 * follow, and to the start, where the first name must follow. Exit status 1: a name was another
 * one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct seen {
	char *name;
	long at; /* telldir() in front of it */
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* How many, or -1. */
static long read_all(DIR *d, struct seen **out, long pause, const char *command)
{
	long n = 0, room = 0, at;
	struct dirent *e;

	*out = NULL;
	for (errno = 0; at = telldir(d), (e = readdir(d)); errno = 0) {
		if (is_dots(e->d_name))
			continue;
		if (n == room) {
			room = room * 2 + 64;
			*out = reallocarray(*out, (size_t)room, sizeof(**out));
		}
		(*out)[n++] = (struct seen){.name = strdup(e->d_name), .at = at};
		if (n == pause && system(command) != 0)
			return -1;
	}
	return errno ? -1 : n;
}

static bool stands_at(DIR *d, const struct seen *s)
{
	struct dirent *e;

	seekdir(d, s->at);
	while ((e = readdir(d)) && is_dots(e->d_name))
		;
	if (e && strcmp(e->d_name, s->name) == 0)
		return true;
	fprintf(stderr, "at %ld: %s was, %s is\n", s->at, s->name, e ? e->d_name : "nothing");
	return false;
}

int main(int argc, char **argv)
{
	struct seen *s, *again;
	DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
	long n, m, stride;
	bool good = true;

	if (!d) {
		perror(argc > 1 ? argv[1] : "seek-dir");
		return 2;
	}
	n = read_all(d, &s, argc > 3 ? atol(argv[2]) : -1, argc > 3 ? argv[3] : "");
	if (n < 0) {
		perror(argv[1]);
		return 1;
	}
	for (long i = 0; i < n; i++)
		puts(s[i].name);
	stride = n / 300 + 1;
	if (argc <= 3) {
		for (long i = n - 1; i >= 0; i -= stride)
			good = stands_at(d, &s[i]) && good;
		for (long i = 0; i < n; i += stride)
			good = stands_at(d, &s[i * 7919 % n]) && good;
	}
	rewinddir(d);
	m = read_all(d, &again, -1, "");
	if (argc <= 3)
		good = good && m == n;
	for (long i = 0; i < n; i++)
		free(s[i].name);
	for (long i = 0; i < m; i++)
		free(again[i].name);
	free(s);
	free(again);
	closedir(d);
	return good ? 0 : 1;
}
