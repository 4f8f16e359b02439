/* symfs setup --check: asks each installed client for a debug file that exists and for one that does not. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/process.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/cmd.h"
#include "cmd/setup.h"
#include "obj/obj.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FILE_MOST (64u << 20)
#define OUTPUT_MOST (8u << 20)
#define CLIENT_MS 120000u

/* A client, its question about the FILE, and the words of its output that tell whether it has the debug file. */
static const struct client {
	const char *name, *argv[8];
	const char *has, *lacks; /* NULL: the exit status tells */
} clients[] = {
	{"gdb", {"gdb", "-q", "-ex", "quit", "FILE"}, NULL, "No debugging symbols found"},
	{"lldb", {"lldb", "-b", "-o", "image list -S", "FILE"}, "MOUNT", NULL},
	{"elfutils", {"eu-unstrip", "-n", "-e", "FILE"}, NULL, " - "},
	{"debuginfod-find", {"debuginfod-find", "debuginfo", "FILE"}, NULL, NULL},
};

struct check {
	char dir[64];	  /* for the copy, and for the cache of debuginfod's client */
	char copy[80];	  /* the path of a copy of the file with another build id */
	struct buf bytes; /* the content of the file */
	uint8_t id[64];	  /* its build id of `n` bytes */
	size_t n;
};

static int read_id(struct check *c, const char *path, struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice slice = {.format = NULL};
	uint64_t size = 0;
	struct view v;
	int r = path_open_file(path, &fd, &size, e);

	if (r < 0)
		return r;
	v = view_of_fd(fd, size);
	r = obj_identify(&v, 0, &slice, e);
	c->n = strlen(slice.module.code_id) / 2;
	if (r == 0 && (slice.module.object != OBJECT_ELF || c->n < 8 || c->n > sizeof(c->id)))
		return err_set(e, -ENOMSG, "has no build id");
	return r < 0 ? r : hex_read(slice.module.code_id, 2 * c->n, c->id);
}

/* Whether the mount has the debug file of a program. */
static bool is_there(struct check *c, const struct setup *s, const char *path)
{
	_cleanup_free_ char *file = NULL;
	struct err e = {0};
	char hex[129];

	if (read_id(c, path, &e) < 0)
		return false;
	hex_print(c->id, c->n, hex);
	if (asprintf(&file, "%s/gdb/.build-id/%.2s/%s.debug", s->mount, hex, hex + 2) < 0)
		return false;
	return access(file, R_OK) == 0;
}

/* A library of this process whose debug file the mount has; free() it. NULL: there is none. */
static char *find_library(struct check *c, const struct setup *s)
{
	_cleanup_free_ char *last = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352], *found = NULL;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (last && strcmp(path, last) == 0)
			continue;
		free(last);
		last = strdup(path);
		if (strstr(path, ".so") && is_there(c, s, path))
			found = strdup(path);
	}
	if (maps)
		fclose(maps);
	return found;
}

static int write_bytes(void *ctx, int fd)
{
	const struct buf *b = ctx;

	return write_all(fd, b->p, b->n);
}

/* Writes the copy, with a random build id in every place where the file has its own. */
static int write_copy(struct check *c)
{
	char *at = c->bytes.p;
	uint8_t id[64];

	if (getrandom(id, c->n, 0) != (ssize_t)c->n)
		return -EIO;
	while ((at = memmem(at, c->bytes.n - (size_t)(at - c->bytes.p), c->id, c->n)))
		memcpy(at, id, c->n);
	memcpy(c->id, id, c->n);
	return path_replace(c->copy, 0700, write_bytes, &c->bytes);
}

/* Asks for a file. 1: it has symbols, 0: it has none, -1: the client is not installed. */
static int ask(const struct setup *s, const struct client *client, const char *file, uint64_t *ms)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(OUTPUT_MOST);
	const char *argv[ARRAY_SIZE(client->argv) + 1] = {NULL};
	uint64_t begin = clock_ms();
	int status;

	for (unsigned i = 0; client->argv[i]; i++)
		argv[i] = strcmp(client->argv[i], "FILE") == 0 ? file : client->argv[i];
	status = process_run(argv, CLIENT_MS, &out);
	*ms = clock_ms() - begin;
	if (status == 127)
		return -1;
	if (client->has)
		return strstr(buf_text(&out), s->mount) != NULL;
	return client->lacks ? !strstr(buf_text(&out), client->lacks) : status == 0;
}

/* Prints a row. Whether the client is right, or not installed. */
static bool ask_both(const struct setup *s, struct check *c, const struct client *client, const char *file)
{
	uint64_t hit_ms, miss_ms = 0;
	int hit = ask(s, client, file, &hit_ms), miss;

	if (hit < 0) {
		printf("%-16s not installed\n", client->name);
		return true;
	}
	miss = write_copy(c) < 0 ? -1 : ask(s, client, c->copy, &miss_ms);
	printf("%-16s %-6s %6llu %6llu%s\n", client->name, hit ? "yes" : "no", (unsigned long long)hit_ms,
		(unsigned long long)miss_ms, miss == 0 ? "" : "  (it found what does not exist)");
	return hit && miss == 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int check_file(const struct setup *s, struct check *c, const char *file)
{
	_cleanup_free_ char *urls = NULL, *bytes = NULL;
	struct err e = {0};
	size_t n = 0;
	bool right = true;
	int r = read_id(c, file, &e);

	if (r == 0)
		r = path_read(AT_FDCWD, file, FILE_MOST, &bytes, &n);
	if (r == 0)
		r = buf_add(&c->bytes, bytes, n);
	if (r < 0 || asprintf(&urls, "file://%s/debuginfod", s->mount) < 0)
		return cmd_say(EXIT_NO, "%s: %s", file, err_why(&e, r));
	/* As in a new login, and without what debuginfod's client remembers. */
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", c->dir, 1);
	printf("%s, and a copy of it with another build id:\n%-16s %-6s %6s %6s\n", file, "client", "found", "ms",
		"miss");
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++)
		right &= ask_both(s, c, &clients[i], file);
	printf("perf and valgrind ask as debuginfod-find does.\n");
	return right ? EXIT_DONE : EXIT_NO;
}

int setup_check(const struct setup *s, const char *file)
{
	struct check c = {.dir = "/tmp/symfs-setup.XXXXXX", .bytes = BUF_UP_TO(FILE_MOST)};
	_cleanup_free_ char *found = NULL;
	int status = EXIT_NO;

	if (!mkdtemp(c.dir))
		return cmd_say(EXIT_LOCAL, "/tmp: %s", err_text(-errno));
	snprintf(c.copy, sizeof(c.copy), "%s/copy", c.dir);
	if (!file)
		file = found = find_library(&c, s);
	if (file)
		status = check_file(s, &c, file);
	else
		cmd_say(0, "%s has the debug file of none of this program's libraries; name a program that your "
			"sources know: symfs setup --check FILE; `symfs status %s` shows the sources", s->mount,
			s->mount);
	nftw(c.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	buf_release(&c.bytes);
	return status;
}
