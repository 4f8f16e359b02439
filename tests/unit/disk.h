/* A simulated disk that loses power. A test that includes this file has its own write(2), fsync(2)
 * and the like, also for the libraries that it is linked with (SQLite). They work on the real
 * files below `disk_root`, and record what a disk would have: for each sector the last synced
 * contents and all contents since then. After a given number of calls the power fails. Then an
 * image is written. In it every sector has one of its possible contents, and every file one of its
 * possible sizes. The names are those after some number of changes, which includes at least those
 * before the last sync of their directory. Then the process is killed.
 *
 * Nothing is really synced, so this is fast. Shared memory (-shm) does not survive a power loss
 * and is left out; SQLite creates it anew. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK_PATH 512
#define DISK_SECTORS 16384
#define DISK_FILES 512
#define DISK_CHANGES 4096
#define DISK_SIZES 8

struct disk_content {
	struct disk_content *older;
	uint8_t bytes[];
};

struct disk_file {
	ino_t ino;
	bool data;     /* a file with holes: larger sectors, and its syncs may be lost */
	size_t sector; /* bytes of one */
	struct disk_content **at; /* newest first; the last one of a list is what was synced */
	bool *dirty;
	uint64_t sizes[DISK_SIZES]; /* the first is what was synced */
	unsigned n_sizes;
};

struct disk_name {
	char path[DISK_PATH];
	int file;
};

struct disk_change {
	char path[DISK_PATH], to[DISK_PATH]; /* "": none */
	int file;			     /* a new one: -1: `path` goes, or moves to `to` */
};

static char disk_root[DISK_PATH], disk_image[DISK_PATH];
static bool disk_on, disk_loses_syncs;
static unsigned long disk_calls, disk_ends_at;
static uint64_t disk_random_state;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static struct disk_file *disk_files;
static struct disk_name *disk_first; /* the names before the first change */
static struct disk_change *disk_changes;
static unsigned disk_n_files, disk_n_first, disk_n_changes, disk_sure;

static inline void disk_die(const char *what)
{
	fprintf(stderr, "disk.h: %s\n", what);
	abort();
}

static inline unsigned disk_random(unsigned n)
{
	disk_random_state = disk_random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(disk_random_state >> 33) % n;
}

static inline bool disk_has(const char *path)
{
	size_t n = strlen(disk_root), all = strlen(path);

	return strncmp(path, disk_root, n) == 0 && path[n] == '/' &&
	       (all < 4 || strcmp(path + all - 4, "-shm") != 0);
}

static inline bool disk_path(int dirfd, const char *path, char out[static DISK_PATH])
{
	char link[64];
	ssize_t n;

	if (path[0] == '/') {
		snprintf(out, DISK_PATH, "%s", path);
		return disk_has(out);
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	n = readlink(link, out, DISK_PATH - 1);
	if (n <= 0)
		return false;
	snprintf(out + n, (size_t)(DISK_PATH - n), "/%s", path);
	return disk_has(out);
}

/* ---- files ---------------------------------------------------------------------------- */

static inline int disk_new_file(ino_t ino, const char *path)
{
	struct disk_file *f = &disk_files[disk_n_files];

	if (disk_n_files == DISK_FILES)
		disk_die("too many files");
	f->ino = ino;
	f->data = strstr(path, "/sparse/") != NULL;
	f->sector = f->data ? 4096 : 512;
	f->at = calloc(DISK_SECTORS, sizeof(*f->at));
	f->dirty = calloc(DISK_SECTORS, sizeof(*f->dirty));
	f->n_sizes = 1;
	return (int)disk_n_files++;
}

/* The latest of that number: others with it are gone. */
static inline struct disk_file *disk_file_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	for (unsigned i = disk_n_files; i-- > 0;)
		if (disk_files[i].ino == st.st_ino)
			return &disk_files[i];
	return NULL;
}

static inline void disk_put(struct disk_file *f, uint64_t sector, size_t from, const uint8_t *p, size_t n)
{
	struct disk_content *c = calloc(1, sizeof(*c) + f->sector), *now;

	if (sector >= DISK_SECTORS || !c)
		disk_die("a file is too large");
	now = f->at[sector];
	if (!now) /* synced as zeros */
		now = calloc(1, sizeof(*c) + f->sector);
	memcpy(c->bytes, now->bytes, f->sector);
	if (p)
		memcpy(c->bytes + from, p, n);
	else
		memset(c->bytes + from, 0, n);
	c->older = now;
	f->at[sector] = c;
	f->dirty[sector] = true;
}

static inline void disk_fill(struct disk_file *f, uint64_t off, const uint8_t *p, size_t n)
{
	while (n) {
		size_t from = off % f->sector, part = f->sector - from < n ? f->sector - from : n;

		disk_put(f, off / f->sector, from, p, part);
		p = p ? p + part : NULL;
		off += part;
		n -= part;
	}
}

static inline uint64_t disk_size(const struct disk_file *f)
{
	return f->sizes[f->n_sizes - 1];
}

static inline void disk_resize(struct disk_file *f, uint64_t size)
{
	if (size == disk_size(f))
		return;
	if (f->n_sizes == DISK_SIZES) /* one that is between goes */
		f->n_sizes--;
	f->sizes[f->n_sizes++] = size;
}

static inline void disk_cut(struct disk_file *f, uint64_t size)
{
	if (size < disk_size(f)) /* what grows again is zeros */
		disk_fill(f, size, NULL, disk_size(f) - size);
	disk_resize(f, size);
}

static inline void disk_sync(struct disk_file *f)
{
	for (unsigned i = 0; i < DISK_SECTORS; i++) {
		struct disk_content *c;

		if (!f->dirty[i])
			continue;
		while ((c = f->at[i]->older)) {
			f->at[i]->older = c->older;
			free(c);
		}
		f->dirty[i] = false;
	}
	f->sizes[0] = disk_size(f);
	f->n_sizes = 1;
}

/* ---- names ---------------------------------------------------------------------------- */

static inline int disk_apply(struct disk_name *names, unsigned *n, const struct disk_change *c)
{
	unsigned at = 0;

	if (c->file >= 0) {
		if (*n == DISK_FILES)
			disk_die("too many names");
		snprintf(names[*n].path, DISK_PATH, "%s", c->path);
		names[(*n)++].file = c->file;
		return 0;
	}
	while (at < *n && strcmp(names[at].path, c->path) != 0)
		at++;
	if (at == *n)
		return 0;
	if (c->to[0]) {
		struct disk_name moved = {.file = names[at].file};
		struct disk_change over = {.file = -1};

		memcpy(moved.path, c->to, DISK_PATH);
		memcpy(over.path, c->to, DISK_PATH);
		names[at] = names[--*n];
		disk_apply(names, n, &over);
		names[(*n)++] = moved;
	} else {
		names[at] = names[--*n];
	}
	return 0;
}

static inline unsigned disk_names(struct disk_name *names, unsigned changes)
{
	unsigned n = disk_n_first;

	memcpy(names, disk_first, n * sizeof(*names));
	for (unsigned i = 0; i < changes; i++)
		disk_apply(names, &n, &disk_changes[i]);
	return n;
}

static inline void disk_change(const char *path, const char *to, int file)
{
	struct disk_change *c = &disk_changes[disk_n_changes];

	if (disk_n_changes == DISK_CHANGES)
		disk_die("too many changes");
	c->file = file;
	snprintf(c->path, sizeof(c->path), "%s", path);
	snprintf(c->to, sizeof(c->to), "%s", to);
	disk_n_changes++;
}

static inline bool disk_is_named(const char *path)
{
	struct disk_name *names = calloc(DISK_FILES, sizeof(*names));
	unsigned n = disk_names(names, disk_n_changes);
	bool found = false;

	for (unsigned i = 0; i < n; i++)
		found = found || strcmp(names[i].path, path) == 0;
	free(names);
	return found;
}

static inline bool disk_in_dir(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

/* What changed in a directory that is synced, and all that was before. */
static inline void disk_sync_dir(int fd)
{
	char link[64], dir[DISK_PATH] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, dir, sizeof(dir) - 1) <= 0)
		return;
	for (unsigned i = disk_sure; i < disk_n_changes; i++)
		if (disk_in_dir(disk_changes[i].path, dir) || disk_in_dir(disk_changes[i].to, dir))
			disk_sure = i + 1;
}

/* ---- the power goes ------------------------------------------------------------------- */

static inline void disk_write_file(const struct disk_file *f, const char *path)
{
	unsigned mood = disk_random(4); /* all is lost, all is there, twice any of it */
	uint64_t size = f->sizes[mood == 0 ? 0 : mood == 1 ? f->n_sizes - 1 : disk_random(f->n_sizes)];
	int fd;

	for (char *slash = strchr(strstr(path, disk_image) + strlen(disk_image) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		char dir[DISK_PATH];

		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		mkdir(dir, 0700);
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_ftruncate, fd, size) < 0)
		disk_die("the image cannot be written");
	for (uint64_t i = 0; i * f->sector < size; i++) {
		const struct disk_content *c = i < DISK_SECTORS ? f->at[i] : NULL;
		unsigned n = 0;
		size_t part = f->sector;

		for (const struct disk_content *d = c; d; d = d->older)
			n++;
		n = n == 0 || mood == 1 ? 0 : mood == 0 ? n - 1 : disk_random(n);
		for (; n > 0; n--)
			c = c->older;
		if (i * f->sector + part > size)
			part = size - i * f->sector;
		if (c && syscall(SYS_pwrite64, fd, c->bytes, part, i * f->sector) != (long)part)
			disk_die("the image cannot be written");
	}
	close(fd);
}

static inline void disk_end(void)
{
	struct disk_name *names = calloc(DISK_FILES, sizeof(*names));
	unsigned n = disk_names(names, disk_sure + disk_random(disk_n_changes - disk_sure + 1));

	mkdir(disk_image, 0700);
	for (unsigned i = 0; i < n; i++) {
		char path[2 * DISK_PATH];

		snprintf(path, sizeof(path), "%s%s", disk_image, names[i].path + strlen(disk_root));
		disk_write_file(&disk_files[names[i].file], path);
	}
	kill(getpid(), SIGKILL);
}

/* Under the lock: every call is a moment at which it can happen. */
static inline bool disk_enter(void)
{
	if (!disk_on)
		return false;
	pthread_mutex_lock(&disk_lock);
	if (++disk_calls == disk_ends_at)
		disk_end();
	return true;
}

static inline void disk_leave(bool entered)
{
	if (entered)
		pthread_mutex_unlock(&disk_lock);
}

/* ---- the calls ------------------------------------------------------------------------ */

static inline int disk_open(int dirfd, const char *path, int flags, mode_t mode)
{
	bool in = (flags & O_CREAT) && disk_enter();
	char full[DISK_PATH];
	int fd = (int)syscall(SYS_openat, dirfd, path, flags, mode);
	struct stat st;

	if (in && fd >= 0 && disk_path(dirfd, path, full) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (!disk_is_named(full))
			disk_change(full, "", disk_new_file(st.st_ino, full));
		else if (flags & O_TRUNC)
			disk_cut(disk_file_of(fd), 0);
	}
	disk_leave(in);
	return fd;
}

#define DISK_MODE(flags, mode)                                                                     \
	do {                                                                                       \
		va_list ap_;                                                                       \
		va_start(ap_, flags);                                                              \
		if ((flags) & (O_CREAT | O_TMPFILE))                                               \
			mode = (mode_t)va_arg(ap_, int);                                           \
		va_end(ap_);                                                                       \
	} while (0)

/* By their names for the linker: where files may be large, `open` of C is open64 there, and libraries
 * call either. */
#define DISK_OPEN(name)                                                                            \
	int disk_call_##name(const char *path, int flags, ...) __asm__(#name);                     \
	int disk_call_##name(const char *path, int flags, ...)                                     \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
		DISK_MODE(flags, mode);                                                            \
		return disk_open(AT_FDCWD, path, flags, mode);                                     \
	}
#define DISK_OPENAT(name)                                                                          \
	int disk_call_##name(int dirfd, const char *path, int flags, ...) __asm__(#name);          \
	int disk_call_##name(int dirfd, const char *path, int flags, ...)                          \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
		DISK_MODE(flags, mode);                                                            \
		return disk_open(dirfd, path, flags, mode);                                        \
	}
DISK_OPEN(open)
DISK_OPEN(open64)
DISK_OPENAT(openat)
DISK_OPENAT(openat64)

static inline ssize_t disk_pwrite(int fd, const void *p, size_t n, off_t off, bool at)
{
	bool in = disk_enter();
	struct disk_file *f = in ? disk_file_of(fd) : NULL;
	ssize_t w;

	if (!at && f)
		off = lseek(fd, 0, SEEK_CUR);
	w = at ? syscall(SYS_pwrite64, fd, p, n, off) : syscall(SYS_write, fd, p, n);
	if (f && w > 0) {
		disk_fill(f, (uint64_t)off, p, (size_t)w);
		if ((uint64_t)(off + w) > disk_size(f))
			disk_resize(f, (uint64_t)(off + w));
	}
	disk_leave(in);
	return w;
}

#define DISK_PWRITE(name)                                                                          \
	ssize_t disk_call_##name(int fd, const void *p, size_t n, int64_t off) __asm__(#name);     \
	ssize_t disk_call_##name(int fd, const void *p, size_t n, int64_t off)                     \
	{                                                                                          \
		return disk_pwrite(fd, p, n, off, true);                                           \
	}
DISK_PWRITE(pwrite)
DISK_PWRITE(pwrite64)

ssize_t write(int fd, const void *p, size_t n)
{
	return disk_pwrite(fd, p, n, 0, false);
}

static inline int disk_truncate(int fd, off_t size)
{
	bool in = disk_enter();
	struct disk_file *f = in ? disk_file_of(fd) : NULL;
	int r = (int)syscall(SYS_ftruncate, fd, size);

	if (f && r == 0)
		disk_cut(f, (uint64_t)size);
	disk_leave(in);
	return r;
}

#define DISK_TRUNCATE(name)                                                                        \
	int disk_call_##name(int fd, int64_t size) __asm__(#name);                                 \
	int disk_call_##name(int fd, int64_t size)                                                 \
	{                                                                                          \
		return disk_truncate(fd, size);                                                    \
	}
DISK_TRUNCATE(ftruncate)
DISK_TRUNCATE(ftruncate64)

static inline int disk_flush(int fd, bool data_only)
{
	bool in = disk_enter();
	struct disk_file *f;

	if (!in)
		return (int)syscall(data_only ? SYS_fdatasync : SYS_fsync, fd);
	f = disk_file_of(fd);
	if (!f)
		disk_sync_dir(fd);
	else if (!(disk_loses_syncs && data_only && f->data))
		disk_sync(f);
	disk_leave(in);
	return 0;
}

int fsync(int fd)
{
	return disk_flush(fd, false);
}

int fdatasync(int fd)
{
	return disk_flush(fd, true);
}

int renameat(int from, const char *old, int to, const char *new)
{
	bool in = disk_enter();
	char a[DISK_PATH], b[DISK_PATH];
	bool ours = in && disk_path(from, old, a) && disk_path(to, new, b);
	int r = (int)syscall(SYS_renameat2, from, old, to, new, 0);

	if (ours && r == 0)
		disk_change(a, b, -1);
	disk_leave(in);
	return r;
}

int rename(const char *old, const char *new)
{
	return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int unlinkat(int dirfd, const char *path, int flags)
{
	bool in = disk_enter();
	char full[DISK_PATH];
	bool ours = in && !(flags & AT_REMOVEDIR) && disk_path(dirfd, path, full);
	int r = (int)syscall(SYS_unlinkat, dirfd, path, flags);

	if (ours && r == 0)
		disk_change(full, "", -1);
	disk_leave(in);
	return r;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

/* ---- the test's side ------------------------------------------------------------------ */

static inline int disk_load_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	uint8_t room[4096];
	struct disk_file *file;
	ssize_t n;
	int fd, at;

	if (type != FTW_F || !S_ISREG(st->st_mode) || !disk_has(path))
		return 0;
	at = disk_new_file(st->st_ino, path);
	file = &disk_files[at];
	snprintf(disk_first[disk_n_first].path, DISK_PATH, "%s", path);
	disk_first[disk_n_first++].file = at;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	for (uint64_t off = 0; (n = pread(fd, room, sizeof(room), (off_t)off)) > 0; off += (uint64_t)n)
		disk_fill(file, off, room, (size_t)n);
	close(fd);
	disk_resize(file, (uint64_t)st->st_size);
	disk_sync(file);
	return 0;
}

/* From now on the disk records the calls of this process below `root` (a real path). After `calls` calls the
 * power fails, and the contents of the disk are written to `image`. */
static inline void disk_begin(const char *root, const char *image, uint64_t seed, unsigned long calls)
{
	snprintf(disk_root, sizeof(disk_root), "%s", root);
	snprintf(disk_image, sizeof(disk_image), "%s", image);
	disk_files = calloc(DISK_FILES, sizeof(*disk_files));
	disk_first = calloc(DISK_FILES, sizeof(*disk_first));
	disk_changes = calloc(DISK_CHANGES, sizeof(*disk_changes));
	disk_random_state = seed * 2654435761u + 12345;
	disk_ends_at = calls;
	if (!disk_files || !disk_first || !disk_changes || nftw(root, disk_load_one, 16, FTW_PHYS) < 0)
		disk_die("the directory cannot be read");
	disk_on = true;
}
