/* The input of symfs symbolicate: unpacks it, keeps what a pipe sends in a file without a name, and finds out by the
 * first bytes what it is. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/cmd.h"
#include "cmd/symbolicate.h"
#include "obj/obj.h"
#include "unpack/unpack.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MOST ((uint64_t)16 << 30) /* bytes from a pipe, or of an unpacked file */
#define CHUNK (64 << 10)

/* A file that has no name, so that none is left behind. */
static int nameless(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/symfs-input.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/var/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int put(void *ctx, const void *p, size_t n)
{
	return atomic_load(&symbolicate_stopped) ? -EINTR : write_all(*(int *)ctx, p, n);
}

/* Makes the file `to` the input. */
static int take_over(struct symbolicate_input *in, int to, int r)
{
	struct stat st;

	close(in->fd);
	in->fd = to;
	if (r == 0 && fstat(to, &st) == 0)
		in->size = (uint64_t)st.st_size;
	return r;
}

static int keep_pipe(struct symbolicate_input *in)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	int to = chunk ? nameless() : -ENOMEM, r = 0;
	uint64_t size = 0;
	ssize_t n;

	if (to < 0)
		return to;
	while (r == 0 && (n = read(in->fd, chunk, CHUNK)) != 0) {
		if (n < 0)
			r = errno == EINTR && !atomic_load(&symbolicate_stopped) ? 0 : -errno;
		else
			r = (size += (uint64_t)n) > INPUT_MOST ? -EFBIG : put(&to, chunk, (size_t)n);
	}
	return take_over(in, to, r);
}

static int unpack_input(struct symbolicate_input *in, const struct packing *p, struct err *e)
{
	_cleanup_unpack_ struct unpack *u = NULL;
	struct view v = view_of_fd(in->fd, in->size);
	int to = nameless(), r;

	if (to < 0)
		return to;
	r = unpack_new(&u, p, INPUT_MOST, put, &to);
	if (r == 0) {
		unpack_trust(u);
		r = unpack_more(u, &v, e);
	}
	return take_over(in, to, r);
}

static int open_input(struct symbolicate_input *in, const char *word, struct err *e)
{
	const struct packing *p;
	uint8_t head[UNPACK_HEAD];
	struct stat st;
	ssize_t n;
	int r = 0;

	in->fd = word ? open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return -errno;
	in->size = (uint64_t)st.st_size;
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "is a directory; try: symfs warm %s", word);
	if (!S_ISREG(st.st_mode) || lseek(in->fd, 0, SEEK_CUR) != 0)
		r = keep_pipe(in);
	n = pread(in->fd, head, sizeof(head), 0);
	p = r == 0 && n > 0 ? packing_of(head, (size_t)n) : NULL;
	return p && (strcmp(packing_name(p), "gzip") == 0 || strcmp(packing_name(p), "zstd") == 0)
		? unpack_input(in, p, e) : r;
}

/* Inputs that another program turns into one for this command. */
static const struct {
	const char *magic, *what, *command;
} others[] = {
	{"PERFILE2", "is a recording of perf", "perf script -i"},
	{"\xfd" "7zXZ", "is packed by xz", "xz -dc"},
	{"\x04\"M\x18", "is packed by lz4", "lz4 -dc"},
	{"BZh", "is packed by bzip2", "bzip2 -dc"},
};

/* Why the input can have no stack: a text with the command that helps. "": it can. */
static const char *find_kind(struct symbolicate_input *in, const char *file, char room[static 600])
{
	struct view v = view_of_fd(in->fd, in->size);
	unsigned char head[18] = {0};
	struct obj_slice s;
	bool elf;

	room[0] = '\0';
	in->kind = INPUT_TEXT;
	if (view_read(&v, 0, head, MIN(in->size, sizeof(head))) < 0)
		return room;
	elf = memcmp(head, "\177ELF", 4) == 0;
	if (memcmp(head, "MDMP", 4) == 0)
		in->kind = INPUT_MINIDUMP;
	else if (elf && head[16] + head[17] == 4 && (head[16] == 4 || head[5] == 2)) /* ET_CORE */
		in->kind = INPUT_CORE;
	else if (!in->size)
		snprintf(room, 600, "is empty; if the system wrote no core, see ulimit -c and coredumpctl(1)");
	else if (elf || obj_identify(&v, 0, &s, NULL) == 0)
		snprintf(room, 600, "is a program or debug file, and has no stack; try: symfs addr2line %.200s "
			"ADDRESS, or: symfs why %.200s", file, file);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (memcmp(head, others[i].magic, strlen(others[i].magic)) == 0)
			snprintf(room, 600, "%s; try: %s %.200s | symfs symbolicate", others[i].what,
				others[i].command, file);
	return room;
}

int symbolicate_open(struct symbolicate_input *in, const char *word, bool request)
{
	struct err e = {0};
	char room[600];
	int r;

	if (word && strcmp(word, "-") == 0)
		word = NULL;
	*in = (struct symbolicate_input){.kind = INPUT_PROCESS, .shown = word ? word : "stdin", .fd = -1};
	in->pid = symbolicate_process(word);
	if (in->pid)
		return -1;
	if (!word && isatty(STDIN_FILENO))
		fprintf(stderr, "symfs symbolicate: reads the terminal: paste a stack, then press Ctrl-D\n");
	r = open_input(in, word, &e);
	if (atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (r < 0) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", in->shown, e.text[0] ? e.text : err_text(r));
		return r == -EBADMSG || r == -EFBIG ? EXIT_NO : EXIT_LOCAL;
	}
	if (find_kind(in, word ? word : "FILE", room)[0] && !request) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", in->shown, room);
		return EXIT_NO;
	}
	return -1;
}
