/* Reads the modules of a running process from /proc/PID/maps and its memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "stacks/dump/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAPS_MOST (64u << 20)

struct process {
	struct memory mem; /* the first member, because read_memory() casts a pointer to it */
	int fd;
};

static int read_memory(const struct memory *m, uint64_t at, void *p, size_t n)
{
	const struct process *x = (const struct process *)m;

	/* If the file of a mapping was truncated, pread() fails; access through memory would raise
	 * SIGBUS. */
	return x->fd >= 0 && pread(x->fd, p, n, (off_t)at) == (ssize_t)n ? 0 : -ENODATA;
}

/* "from-to perms offset dev inode   path"; newlines in a path are written as \012. */
static int take_line(struct joining *j, char *line)
{
	uint64_t from, to, offset;
	int at = 0;
	bool deleted;
	int r;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &from, &to, &offset, &at) < 3 ||
		!at || line[at] != '/')
		return joining_flush(j);
	deleted = dump_is_deleted(line + at);
	if (deleted)
		line[strlen(line) - strlen(DUMP_DELETED)] = '\0';
	r = joining_add(j, from, to, offset, line + at);
	if (r == 0 && j->open && j->now.base == from)
		j->now.deleted = deleted;
	return r;
}

/* Whether the program is a 64-bit one. Its file can be read even after it was deleted. */
static bool is_64(int proc)
{
	_cleanup_close_ int fd = openat(proc, "exe", O_RDONLY | O_CLOEXEC);
	uint8_t head[5];

	return fd < 0 || pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) || head[4] != 1;
}

/* Reads where the program and its dynamic linker are. */
static void read_auxv(int proc, struct joining *j)
{
	bool is64 = is_64(proc);

	_cleanup_free_ char *text = NULL;
	size_t n;

	if (path_read(proc, "auxv", 64 << 10, &text, &n) < 0)
		return;
	j->entry = aux_value((uint8_t *)text, n, is64, false, AUX_ENTRY);
	j->loader = aux_value((uint8_t *)text, n, is64, false, AUX_BASE);
}

int dump_process(pid_t pid, dump_each *each, void *ctx, struct err *e)
{
	struct process x = {.mem = {.read = read_memory}, .fd = -1};
	struct joining j = {.mem = &x.mem, .each = each, .ctx = ctx};
	_cleanup_close_ int proc = -1, mem = -1;
	_cleanup_free_ char *maps = NULL;
	char name[40], *save = NULL;
	int r;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	proc = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return err_set(e, -ESRCH, "no such process: %d", (int)pid);
	r = path_read(proc, "maps", MAPS_MOST, &maps, NULL);
	if (r < 0)
		return err_set(e, r, "process %d: cannot read its mappings: %s", (int)pid, err_text(r));
	mem = x.fd = openat(proc, "mem", O_RDONLY | O_CLOEXEC);
	read_auxv(proc, &j);
	for (char *line = strtok_r(maps, "\n", &save); r == 0 && line; line = strtok_r(NULL, "\n", &save))
		r = take_line(&j, line);
	return r == 0 ? joining_flush(&j) : r;
}

/* The links of /proc/PID/map_files are called "FROM-TO". */
int dump_process_link(pid_t pid, const struct dump_module *d, char out[static DUMP_LINK])
{
	const struct dirent *entry;
	char *end;
	DIR *all;
	int r = -ENOENT;

	if (d->program) {
		snprintf(out, DUMP_LINK, "/proc/%d/exe", (int)pid);
		return 0;
	}
	snprintf(out, DUMP_LINK, "/proc/%d/map_files", (int)pid);
	all = opendir(out);
	if (!all)
		return -errno;
	while (r < 0 && (entry = readdir(all)))
		if (strtoull(entry->d_name, &end, 16) == d->base && end > entry->d_name && *end == '-') {
			snprintf(out, DUMP_LINK, "/proc/%d/map_files/%.40s", (int)pid, entry->d_name);
			r = 0;
		}
	closedir(all);
	return r;
}
