/* A local directory tree as a source: a build directory, /usr/lib/debug, a folder of packages. A thread walks the
 * tree, identifies each file with formats/obj/, and follows changes with inotify. If the kernel cannot watch all
 * directories, the thread walks the tree again each minute. The answers are hints: the reader of a file checks its
 * identity.
 *
 * The members of archives (packages of distributions, tar, zip, 7z) are identified by pack/unarchive/, whose worker
 * unpacks them in memory. Several threads read archives, after the walk and at low priority.
 *
 * Links are not followed; other file systems are entered, except symfs mounts. A memory file records the
 * tree's files by inode, size and time, so that the next process reads only changed files. SCAN_FILES and
 * SCAN_DEPTH bound the scan. Any thread may ask. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "names/id/key.h"
#include "names/id/worth.h"

#include <limits.h>

#define SCAN_FILES 1000000u /* files, and members of archives that have keys */
#define SCAN_DEPTH 64u
#define SCAN_MEMBERS 65536u /* members of one archive that have keys */
#define SCAN_NAME 1024u	    /* room for the name of a member */

struct scan;

struct scan_opts {
	const char *path;   /* the root of the tree, which need not exist yet */
	const char *memory; /* the memory file, in an existing directory; NULL: no memory file */
	bool archives;	    /* look into archives */
	bool unsandboxed;   /* also where no system-call filter can be set */
	const char *worker; /* the program that unpacks archives; NULL: `unarchive` of libexec */
};

/* 0, -errno. */
int scan_start(struct scan **out, const struct scan_opts *o, struct err *e);
/* Writes the memory file and ends the thread; NULL is fine. If the tree's file system does not answer, the
 * thread and its data are leaked. */
void scan_stop(struct scan *s);

const char *scan_path(const struct scan *s);
bool scan_archives(const struct scan *s); /* scan_opts.archives */

#define SCAN_BY_NAME UINT64_MAX /* scan_found.member: the member with this name; its number is not known */

/* Where a key is: a file, or a member of an archive. */
struct scan_found {
	char path[PATH_MAX];   /* of the file, below scan_path() */
	uint64_t ino, size;    /* of the file when it was read */
	int64_t mtime;	       /* nanoseconds */
	uint64_t member;       /* the number of the archive's member (unarchive_member.nth); 0: the file itself */
	char name[SCAN_NAME];  /* the member's name; "": it has none */
	struct worth worth;
};

/* Finds the nth file with the key. n counts from 0; the best file comes first, a file before an equally good member.
 * 0. -ENOENT: there are no more such files. -EAGAIN: no more were found so far, but the tree is still being walked.
 * -ENAMETOOLONG. Of a source file: the member with its path, without a look at the build; of several archives the one
 * whose path is most like that of the build's debug file. */
#define SCAN_NAMED UINT_MAX /* as nth: a file of any build, NAME or NAME.debug of the key's name, in any case */
int scan_find(struct scan *s, const struct key *k, unsigned nth, struct scan_found *out);
/* A number for the name of a member: "usr/x.c", "/usr/x.c" and "./usr/y/../x.c" have the same. */
uint64_t scan_name_number(const char *name);
int scan_debug_key(const char *build_id, struct artifact *a, struct key *k); /* of the debug file; 0, -EINVAL */

/* Calls `each` without a lock for at most `most` of the keys known now, in no order; a key can come twice.
 * Stops when `each` returns non-zero, and returns that value. 0, -ENOMEM. */
int scan_each(struct scan *s, size_t most, int (*each)(void *ctx, const struct key *k), void *ctx);

/* Calls `each` under a lock with each key known now, and with its place, in no order, until `each` returns non-zero;
 * returns that value. If the tree changes meanwhile, a file may be left out, or come twice. 0: the walk has ended.
 * -EAGAIN: the tree is still being walked. */
typedef int scan_each_place(void *ctx, const struct key *k, const struct scan_found *at);
int scan_places(struct scan *s, scan_each_place *each, void *ctx);

/* What a memory file records, in words: "1200 artifacts in 3000 files, 40 archives (1 with faults)". 0; -ENOENT: it
 * records no scan. */
int scan_saved(const char *memory, char out[static 200]);

/* The state in words: "there, 1200 artifacts in 3000 files, 40 archives", "being walked, ...", or the error. */
void scan_state(struct scan *s, char out[static 240]);
