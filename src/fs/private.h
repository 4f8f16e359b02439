/* What the files of this folder share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#define FUSE_USE_VERSION 314
#include "base/buf.h"
#include "fetch/derive.h"
#include "fetch/fetch.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "layout/tree.h"

#include <fuse_lowlevel.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define FS_THREADS 16
#define FS_PATH_MAX 4096

/* For how long the kernel may believe. A whole artifact never changes under its inode number;
 * no layout will ever mean what none means now. */
#define FS_FOREVER 86400.0
#define FS_STRUCTURAL 3600.0
/* What is not whole yet, or lies in a foreign directory, may be gone when it is opened: short
 * enough that nobody has to tell the kernel. */
#define FS_SOON 1.0
#define FS_MISS_MS 2000
/* What stat(2) sees until somebody knows: clients look only whether it is 0. */
#define FS_SIZE_UNKNOWN ((uint64_t)1 << 40)

struct fs_counters {
	atomic_uint_fast64_t lookups, negative, opens, passthrough, reads, bytes, listings, interrupted;
};

struct fs;
struct listing;

/* An open file or directory: what `fh` points at. It is constant but for `listing`, so a read
 * takes no lock. */
struct file {
	struct blob *blob;	 /* of a leaf */
	struct node *node;	 /* a reference, where passthrough.c counts its handles; NULL */
	int backing;		 /* the kernel's number of the blob, which it reads by itself; 0 */
	struct part *part;	 /* of one that is still coming */
	char *text;		 /* of a state file: as it was at open */
	size_t text_n;
	struct listing *listing; /* of a directory */
	/* under fs->files_lock */
	struct file *next, **at;
};

struct helper;
struct waiting;
/* Replies to a request that waited (wait.c), once. */
typedef void wait_answer(struct waiting *w, const struct fetched *f);

struct fs {
	/* constant once mounted */
	struct fetch *fetch;
	struct derive *derive;
	struct nodes *nodes;
	struct fuse_session *session;
	struct helper *helper; /* NULL: this process mounts by itself */
	char *point;
	int mount_id; /* -1: not mounted */
	uid_t uid;	/* as files show it */
	uid_t mounter;
	gid_t gid;
	size_t page; /* of the kernel's memory: bytes */
	bool exact_size, pass_wanted;
	int64_t mounted; /* wall clock */
	void (*up)(void *ctx);
	void *up_ctx;
	bool parallel; /* since INIT: the kernel offers parallel directory operations */
	uint64_t offered; /* by the kernel at INIT, where libfuse does not tell: bits 32 to 63 */
	bool helper_gone; /* thread of fs_loop() only: the log knows of it */
	int wake; /* eventfd: the loop has something to look at */
	pthread_key_t room; /* file.c: what a thread reads to */
	bool has_room;

	/* any thread */
	struct fs_counters counters;
	atomic_bool stopping;
	atomic_bool shaken; /* INIT was answered (handshake.c) */
	atomic_uint waiting;   /* requests that wait for fetch/ */
	atomic_uint busy;      /* threads inside a request */
	atomic_uint_fast64_t finished_ms; /* when a thread last left one */

	pthread_mutex_t pass_lock; /* outside of the nodes' own */
	bool passes, passed_once;  /* under pass_lock, but for INIT: before there is an open */
	pthread_mutex_t files_lock;
	struct file *files;    /* under files_lock */
	pthread_mutex_t config_lock;
	char *config_text;     /* under config_lock */
	pthread_mutex_t watch_lock;
	struct waiting *watched; /* under watch_lock: interrupted, and may be meant to end */
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* What a helper of an op returns when somebody else replies. */
#define FS_WAITS 1

/* ---- ops.c -------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops fs_ops;

/* ---- attr.c ------------------------------------------------------------------------- */

/* A thread of the loop is inside a request until the end of the enclosing block. */
#define FS_OP(fs, req) struct fs *fs _cleanup_(fs_op_end) = fs_op_begin(req)
struct fs *fs_op_begin(fuse_req_t req);
void fs_op_end(struct fs **fs);

/* How stat(2) sees a node, and for how long the kernel may believe it. */
double fs_attr(struct fs *fs, const struct node *n, struct stat *st);

/* What an answer says of the bytes: exact when there is a blob. */
struct node_bytes fs_bytes_of(const struct fetched *f);

/* ---- lookup.c ----------------------------------------------------------------------- */

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ---- file.c ------------------------------------------------------------------------- */

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

void room_free(void *p); /* at the end of a thread */

/* ---- handle.c ----------------------------------------------------------------------- */

struct file *file_new(struct fs *fs); /* NULL: out of memory */
void file_free(struct fs *fs, struct file *file);

/* ---- passthrough.c ------------------------------------------------------------------ */

void pass_init(struct fs *fs, struct fuse_conn_info *conn); /* within INIT */
/* A new handle of a leaf, whose blob it has: decides how it is read. */
void pass_open(struct fs *fs, struct node *n, struct file *file, struct fuse_file_info *fi);
/* Before the blob of a handle is let go. Handles that pass_open() never saw are fine. */
void pass_close(struct fs *fs, struct file *file);

/* ---- gsym.c ------------------------------------------------------------------------- */

/* The leaf of what would be made of `input`, which exists. -ENOENT, -EBADMSG: it cannot be made. */
int gsym_node(struct fs *fs, const struct artifact *input, bool object, struct node **out);
/* A file that is listed. */
struct gsym_listed {
	enum filetype type;
	uint64_t number; /* of its key */
};
/* The entry of a directory in gsym/ for an entry of the directory that it mirrors: a directory (`file` is
 * NULL), or the name of a file, which gets ".gsym" behind it. False: nothing is listed for it. `*ino`: 0: a
 * directory's is made from its path. Starts no traffic, and makes nothing. */
bool gsym_mirror(struct fs *fs, const char *dir, const struct gsym_listed *file, char name[static NAME_MAX + 1],
	mode_t *mode, uint64_t *ino);
/* 0: it is here; f->blob is the caller's. -EAGAIN; -ENOENT, -EBADMSG: it cannot be made. */
int gsym_stored(struct fs *fs, const struct node *n, struct fetched *f);
/* Gets what it is made of and makes it; then `answer` replies. FS_WAITS, -errno. */
int gsym_make_leaf(struct fs *fs, fuse_req_t req, struct node *n, const struct fuse_file_info *fi,
	wait_answer *answer);

/* ---- dir.c -------------------------------------------------------------------------- */

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ---- listing.c ---------------------------------------------------------------------- */

struct listing *listing_new(const char *dir); /* NULL: out of memory */
void listing_free(struct listing *l);	      /* NULL is fine */
/* Whether it has fixed names alone; before it is read. */
bool listing_is_fixed(struct listing *l);
/* As many entries as fit, from the offset on. Their bytes, -errno when there is not even one. */
ssize_t listing_fill(struct fs *fs, fuse_req_t req, struct listing *l, uint64_t off, char *p, size_t size);

/* ---- state.c ------------------------------------------------------------------------ */

/* What `rest` is under .symfs. 0, -ENOENT. */
int state_kind(const char *rest, enum node_kind *kind);
const char *state_entry(unsigned nth, enum node_kind *kind); /* NULL past the last */
int state_text(struct fs *fs, const char *rest, struct buf *out);
const char *state_rest(const struct node *n); /* of its path, behind ".symfs/" */
/* Whether a file is 0400, and whether a user may open it. */
bool state_owner_only(const struct node *n);
bool state_may_read(const struct fs *fs, const struct node *n, uid_t who);

/* ---- xattr.c ------------------------------------------------------------------------ */

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

/* ---- wait.c ------------------------------------------------------------------------- */

/* A request that waits for fetch/, as a value. */
struct waiting {
	/* constant once started */
	struct fs *fs;
	fuse_req_t req;
	pid_t pid;
	wait_answer *answer; /* replies, once */
	struct node *node;   /* a reference, or NULL */
	struct fuse_file_info fi;
	/* One of the three is written before the function below returns */
	struct ticket *ticket;
	struct making *making;
	struct part_wait *bytes;
	/* constant: of a READ */
	struct part *part;
	uint64_t off;
	size_t size;
	/* any thread */
	atomic_uint refs;
	/* under fs->watch_lock */
	bool started, over;
	bool on_list;
	uint64_t look_at; /* clock_ms() */
	struct waiting *next, **at;
	/* constant */
	unsigned n;
	struct artifact cands[];
};

/* Takes `node` (may be NULL), also on error. 0: `answer` will reply. -ENOMEM: the caller does. */
int wait_start(struct fs *fs, fuse_req_t req, const struct artifact *cands, unsigned n,
	enum fetch_need need, wait_answer *answer, struct node *node,
	const struct fuse_file_info *fi);

/* The same for what is made of others (fetch/derive.h): `a` is what. */
int wait_making(struct fs *fs, fuse_req_t req, const struct artifact *a, wait_answer *answer,
	struct node *node, const struct fuse_file_info *fi);
/* A READ of bytes that are not here yet. 0: `answer` will reply; f->r and those of `part`, `off` and
 * `size` are what it has. 1: they are here by now. -ENOMEM. */
int wait_bytes(struct fs *fs, fuse_req_t req, struct part *p, uint64_t off, size_t size,
	wait_answer *answer);

/* What is whole and here already: 0 and f->blob is the caller's, or -EAGAIN, -ENOENT. Starts no
 * traffic. */
int fs_stored(struct fs *fs, const struct artifact *cands, unsigned n, struct fetched *f);

/* Looks at the interrupted ones. In how many milliseconds to come again; -1: none is left.
 * Thread of fs_loop() only. */
int wait_look(struct fs *fs);

/* ---- handshake.c -------------------------------------------------------------------- */

/* Between mount and loop. 0, -errno. */
int handshake_prepare(struct fs *fs);
/* Within INIT: whether the kernel can pass files through; then it is asked for it. */
bool handshake_passes(const struct fs *fs, struct fuse_conn_info *conn);
/* fuse_reply_open(); `backing` is the kernel's number of the file that it reads by itself, or 0. */
int handshake_open(fuse_req_t req, const struct fuse_file_info *fi, int backing);

/* ---- mountpoint.c ------------------------------------------------------------------- */

/* Makes the place free for a mount, or says why not. */
int point_prepare(const char *point, struct helper *helper, bool nonempty, struct err *e);
int point_mount_id(const char *point); /* of the uppermost symfs mount there; -1 */
bool point_is_mounted(int mount_id);
