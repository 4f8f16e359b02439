/* A scanned tree in memory: its directories, files and index. Used by source/scan/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/obj/obj.h"
#include "source/scan/scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SLICES_MOST 64u
#define SCAN_NAMES (4u << 20)  /* names of members without keys, of all archives */
#define NAME_DIGITS 12	       /* of the number of such a name */
#define SCAN_KEYS_TEXT (32u << 20) /* bytes of the keys of one file */

enum scan_kind {
	SCAN_PLAIN,
	SCAN_ARCHIVE_NEW,   /* an archive that was not read yet */
	SCAN_ARCHIVE,
	SCAN_ARCHIVE_FAULTY /* an archive of which not all could be read */
};

struct scan_file {
	char *name;
	uint64_t ino, size;
	int64_t mtime; /* nanoseconds; -1: the file could not be read, and is read again after the next walk */
	enum scan_kind kind;
	uint32_t members; /* of an archive: the members that have keys */
	/* "WORTH TAB KEY", each with a line end after it; NULL: the file has no key. Of an archive: "TAB NTH SIZE
	 * NAME" for a member, and then its keys; before them a line "n" with the digits of all members without keys,
	 * sorted: they may be sources. */
	char *keys;
};

struct scan_dir {
	char *path; /* "" for the root */
	int watch;  /* inotify watch descriptor; -1: not watched */
	bool dirty; /* an event came; the directory must be read again */
	bool seen;  /* the current walk has found it */
	struct scan_file *files; /* sorted by name */
	size_t n;
};

/* An entry of the index: a key, and a file that has it. */
struct scan_ref {
	uint64_t number; /* key_number() */
	const struct scan_dir *dir;
	const struct scan_file *file;
	uint32_t member; /* the offset of the member's line in the file's `keys`; NO_MEMBER: the file itself */
	uint32_t line;	 /* the offset of the key's line */
	unsigned rank;	 /* worth_rank() */
};
#define NO_MEMBER UINT32_MAX

/* The result of reading one directory. */
struct reading {
	struct scan_file *files;
	size_t n, room;
	char **subs; /* names of subdirectories */
	size_t n_subs, subs_room;
};

struct scan {
	/* constant */
	char *path;    /* root of the tree */
	char *memory;  /* path of the memory file; NULL: there is no memory file */
	uint64_t most; /* the most files and members that are kept */
	bool archives, unsandboxed; /* as in scan_opts */
	char *worker; /* as in scan_opts */
	int inotify;   /* inotify descriptor; -1: nothing is watched */
	int stop;      /* eventfd; readable: the thread shall end */
	atomic_bool stopping; /* the same, for the workers that read archives */
	atomic_int trouble; /* the last error of this machine that the log has; 0: none since an archive was read */
	pthread_t thread;

	/* used by the scan thread alone */
	uint64_t indexed_ms; /* clock_ms() when the index was built last */
	uint64_t saved_ms; /* clock_ms() when the memory file was written last */
	uint64_t again_ms; /* clock_ms() from which the tree is walked to read archives again; 0: there are none */
	bool seen_all; /* a walk of the whole tree has ended, but archives may still have to be read */
	bool changed; /* files changed since the memory file was written */
	bool watches_full; /* a directory could not be watched, so the tree is walked again each minute */
	struct scan_dir *old; /* the directories in the memory file, sorted by path; their files by name */
	size_t n_old;
	void *by_path; /* tree of tsearch(3): directories by path */
	struct scan_dir **by_watch; /* directories by watch descriptor */
	size_t n_watches; /* size of `by_watch` */
	struct reading *dead; /* files of removed directories to which the index still refers */
	size_t n_dead;

	/* under `lock`; only the scan thread writes, and it reads without the lock */
	pthread_mutex_t lock;
	uint64_t files; /* number of files in all directories */
	uint64_t members; /* number of members with keys in all archives */
	uint64_t names;   /* of members without keys in all archives */
	struct scan_dir **dirs;
	size_t n_dirs, room;
	struct scan_ref *refs; /* the index, sorted by compare_refs() */
	size_t n_refs;
	size_t n_keys; /* keys in the files themselves; the other references are derived debug ids */
	uint64_t archives_read, archives_new, archives_faulty; /* numbers of archives by kind */
	bool walked; /* a walk of the whole tree has ended, and all archives of it were read */
	int error; /* 0; -errno: the root could not be opened */
};

/* ---- file.c: files, directories, and what a file is ---------------------------------- */

void files_free(struct scan_file *files, size_t n);
void dir_release(struct scan_dir *d);
void dir_free(struct scan_dir *d);
int compare_files(const void *a, const void *b); /* orders by name */
int compare_dirs(const void *a, const void *b);	 /* orders by path */

int64_t mtime_of(const struct stat *st); /* nanoseconds */

/* Append a file, or the name of a subdirectory. 0, -ENOMEM. */
int reading_file(struct reading *r, const struct scan_file *f);
/* Moves the files to the directory, with no more memory than they need. */
void reading_give(struct reading *r, struct scan_dir *d);

/* Fills `out` with the file as it is now. Does not read the file again if one of the two directory records has it
 * with the same inode, size and time. 0, -ENOMEM. */
int look_at(const struct scan *s, const struct scan_dir *before, const struct scan_dir *remembered, int dir,
	const char *name, const struct stat *st, struct scan_file *out);

/* ---- index.c -------------------------------------------------------------------------- */

void index_build(struct scan *s);
void index_bury(struct scan *s); /* frees `dead`; no index may refer to these files any more */

/* ---- walk.c --------------------------------------------------------------------------- */

bool scan_stopping(const struct scan *s);
void walk_all(struct scan *s);	 /* reads the whole tree */
void walk_dirty(struct scan *s); /* reads the directories that changed */

/* ---- archive.c ------------------------------------------------------------------------ */

/* Reads the keys of an archive's members. `shown` is the path for the log. 0: *keys (NULL: no keys) and *members are
 * set, and *kind to SCAN_ARCHIVE or, after a line in the log, to SCAN_ARCHIVE_FAULTY. -errno: trouble of this
 * machine, or the scan is to end; then the archive must be read again. *kind is SCAN_ARCHIVE_FAULTY if the log has
 * the trouble, or else is left as it is. */
int archive_keys(struct scan *s, int fd, uint64_t size, const char *shown, char **keys, uint32_t *members,
	enum scan_kind *kind);

/* Appends the keys of all slices of a file to `out`, a text as scan_file.keys. -ENOENT: after the last slice; -ENOMSG
 * and others: errors of obj_identify() and of buf_add(). */
int add_slices(struct view *v, const char *name, struct buf *out);
/* Reads a line of a file's `keys`, of n bytes. `w` may be NULL. 0, -EINVAL. */
int known_key(const char *line, size_t n, struct key *k, struct worth *w);

/* The digits of the names of an archive's members without keys, and their number. */
const char *names_of(const struct scan_file *f, size_t *n);
int compare_names(const void *a, const void *b); /* orders them */

/* ---- archives.c ----------------------------------------------------------------------- */

/* Reads the archives that were not read yet. Returns early if the thread is to end; and if files of the tree changed,
 * but not before an archive was read. True: all were read. */
bool archives_read(struct scan *s);

/* ---- memory.c ------------------------------------------------------------------------- */

void memory_read(struct scan *s);  /* reads the memory file into `old` */
void memory_write(struct scan *s); /* writes the memory file, if files changed */
