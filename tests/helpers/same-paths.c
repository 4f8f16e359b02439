/* Reads files through a mount by each of their paths, and by other spellings of these paths.
 * Reports whether the bytes are those of the file, and whether all spellings are one inode.
 *
 *	same-paths MNT SPELLINGS SEED <lines
 *
 * A line: GROUP, FILE, SLICE, PATH, separated by tabs. PATH is below MNT. SLICE is the number of
 * the slice of a fat Mach-O file, and 0 for all other files. Lines of one GROUP are one inode; `-`
 * means no group. "!" in place of a group: the path exists in no spelling. Each path is tried in
 * SPELLINGS spellings, in which the case of each letter is random.
 *
 * The last line: paths N spellings N bytes N absent N wrong N. Exit status 1 if anything was
 * wrong. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM (1 << 20)

struct wanted {
	char *file;
	unsigned slice;
	const uint8_t *map, *p; /* the whole file, and the slice in it */
	size_t size, n;
};

struct group {
	char *name;
	uint64_t ino;
	struct group *next;
};

static const char *mnt;
static struct wanted now;
static struct group *groups;
static uint64_t paths, spellings, bytes, absent, wrong, lot;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void is_wrong(const char *path, const char *why)
{
	wrong++;
	printf("%s: %s\n", path, why);
}

/* ---- what is expected ----------------------------------------------------------------- */

static uint64_t big(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void take_slice(struct wanted *w)
{
	bool fat = w->size > 8 && (big(w->map, 4) | 1) == 0xcafebabf, wide = fat && w->map[3] == 0xbf;
	size_t entry = wide ? 32 : 20;
	const uint8_t *e = w->map + 8 + w->slice * entry;

	w->p = w->map;
	w->n = w->size;
	if (!fat)
		return;
	if (w->slice >= big(w->map + 4, 4) || 8 + (w->slice + 1) * entry > w->size) {
		fprintf(stderr, "%s has no slice %u\n", w->file, w->slice);
		exit(2);
	}
	w->p = w->map + big(e + 8, wide ? 8 : 4);
	w->n = (size_t)big(e + (wide ? 16 : 12), wide ? 8 : 4);
}

static void want(const char *file, unsigned slice)
{
	struct stat st;
	int fd;

	if (now.file && strcmp(now.file, file) == 0 && now.slice == slice)
		return;
	if (now.file)
		munmap((void *)now.map, now.size);
	free(now.file);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(file);
	now = (struct wanted){.file = strdup(file), .slice = slice, .size = (size_t)st.st_size};
	now.map = mmap(NULL, now.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (now.map == MAP_FAILED)
		die(file);
	close(fd);
	take_slice(&now);
}

/* ---- what is there ---------------------------------------------------------------------- */

static bool same_bytes(int fd)
{
	static uint8_t room[ROOM];
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, room, sizeof(room))) > 0) {
		if ((size_t)n > now.n - at || memcmp(room, now.p + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
		bytes += (uint64_t)n;
	}
	return n == 0 && at == now.n;
}

/* The inode; 0: it is not the file, and that was said. */
static uint64_t look(const char *path)
{
	char full[32768];
	struct stat st;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", mnt, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		is_wrong(path, strerror(errno));
		return 0;
	}
	if ((uint64_t)st.st_size != now.n)
		is_wrong(path, "has another size");
	else if (!same_bytes(fd))
		is_wrong(path, "has other bytes");
	else
		return close(fd), st.st_ino;
	close(fd);
	return 0;
}

static void look_absent(const char *path)
{
	char full[32768];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", mnt, path);
	if (stat(full, &st) == 0)
		is_wrong(path, "is there");
	else if (errno != ENOENT)
		is_wrong(path, strerror(errno));
}

static void in_group(const char *name, const char *path, uint64_t ino)
{
	struct group *g = groups;

	if (strcmp(name, "-") == 0)
		return;
	while (g && strcmp(g->name, name) != 0)
		g = g->next;
	if (g && g->ino != ino)
		is_wrong(path, "has another inode than other paths of the same file");
	if (g)
		return;
	g = malloc(sizeof(*g));
	if (!g)
		die("malloc");
	*g = (struct group){strdup(name), ino, groups};
	groups = g;
}

/* ---- spellings ---------------------------------------------------------------------------- */

static uint64_t draw(void)
{
	lot ^= lot << 13;
	lot ^= lot >> 7;
	lot ^= lot << 17;
	return lot;
}

static void respell(char *path)
{
	for (; *path; path++)
		if (isalpha((unsigned char)*path) && draw() & 1024)
			*path ^= 0x20;
}

static void check_path(const char *group, char *path, unsigned n)
{
	bool none = strcmp(group, "!") == 0;
	uint64_t ino = none ? 0 : look(path);

	if (none)
		look_absent(path);
	else if (ino)
		in_group(group, path, ino);
	*(none ? &absent : &paths) += 1;
	for (unsigned i = 0; i < n && (none || ino); i++) {
		uint64_t other;

		respell(path);
		spellings++;
		if (none) {
			look_absent(path);
			continue;
		}
		other = look(path);
		if (other && other != ino)
			is_wrong(path, "has another inode than the same path in another case");
	}
}

static void check_line(char *line, unsigned n)
{
	const char *group = strsep(&line, "\t"), *file = line ? strsep(&line, "\t") : NULL,
		   *slice = line ? strsep(&line, "\t") : NULL;

	if (!line) {
		fprintf(stderr, "same-paths: a line without four columns\n");
		exit(2);
	}
	if (strcmp(group, "!") != 0)
		want(file, (unsigned)strtoul(slice, NULL, 10));
	check_path(group, line, n);
}

int main(int argc, char **argv)
{
	char line[16384];

	if (argc != 4)
		return 2;
	mnt = argv[1];
	lot = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		check_line(line, (unsigned)strtoul(argv[2], NULL, 10));
	}
	printf("paths %" PRIu64 " spellings %" PRIu64 " bytes %" PRIu64 " absent %" PRIu64 " wrong %" PRIu64 "\n",
		paths, spellings, bytes, absent, wrong);
	while (groups) {
		struct group *g = groups;

		groups = g->next;
		free(g->name);
		free(g);
	}
	free(now.file);
	return wrong != 0;
}
