/* What the files of fs/ share: the mount, its open files, and the requests that wait. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#define FUSE_USE_VERSION 314
#include "base/buf.h"
#include "derive/derive.h"
#include "fetch/fetch.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "names/layout/tree.h"

#include <fuse_lowlevel.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define FS_THREADS 16
#define FS_PATH_MAX 4096

/* Seconds for which the kernel may cache an answer. A stored file never changes under its inode number
 * (FOREVER). A path that fits no layout does not exist until symfs itself changes (STRUCTURAL). */
#define FS_FOREVER 86400.0
#define FS_STRUCTURAL 3600.0
/* A file that is downloading, or is in a directory source, can be gone when it is opened. One second is
 * short enough that the kernel needs no invalidation. */
#define FS_SOON 1.0
/* The longest time for which the kernel may cache that a file does not exist, in milliseconds. */
#define FS_MISS_MS 2000
/* The size in stat(2) while it is unknown: clients only compare it with 0. */
#define FS_SIZE_UNKNOWN ((uint64_t)1 << 40)

struct fs_counters {
	atomic_uint_fast64_t lookups, negative, opens, passthrough, reads, bytes, listings, interrupted;
};

struct fs;
struct listing;

/* An open file or directory, to which `fh` points. Constant except `listing`, so a read takes no lock. */
struct file {
	struct blob *blob;	 /* a stored file */
	struct node *node;	 /* a reference; passthrough.c counts the node's handles; NULL: not counted */
	int backing;		 /* the kernel's number of the blob, for passthrough; 0: no passthrough */
	struct part *part;	 /* a file that is downloading */
	char *text;		 /* content of a state file, made at OPEN; or a fixed text */
	size_t text_n;
	struct listing *listing; /* the listing of a directory */
	/* under fs->files_lock */
	struct file *next, **at;
};

struct helper;
struct server;
struct waiting;
/* Replies to a request that waited (wait.c), once. */
typedef void wait_answer(struct waiting *w, const struct fetched *f);

struct fs {
	/* constant once mounted */
	struct fetch *fetch;
	struct derive *derive;
	struct nodes *nodes;
	struct fuse_session *session;
	struct helper *helper; /* NULL: fusermount3 mounts */
	char *point;
	int mount_id; /* -1: not mounted */
	int comm; /* auto_unmount: the socket to fusermount3; else -1 */
	uid_t uid;	/* the owner that files show */
	uid_t mounter;	/* the user that mounted */
	gid_t gid;
	size_t page; /* bytes of a page of memory */
	bool exact_size, pass_wanted;
	int64_t mounted; /* when symfs mounted: seconds of the wall clock */
	void (*up)(void *ctx);
	void *up_ctx;
	bool parallel; /* since INIT: the kernel offers parallel directory operations */
	uint64_t offered; /* flags of INIT that libfuse drops: bits 32 to 63 */
	bool helper_gone; /* thread of fs_loop() only: the end of the helper was logged */
	int wake; /* eventfd that wakes the loop */
	pthread_key_t room; /* file.c: the read buffer of a thread */
	bool has_room;

	/* any thread */
	struct fs_counters counters;
	atomic_bool stopping;
	atomic_bool shaken; /* INIT was answered (handshake.c) */
	atomic_uint waiting;   /* requests that wait for fetch/ */
	atomic_uint busy;      /* threads inside a request */
	atomic_uint_fast64_t finished_ms; /* clock_ms() when a thread last finished a request */

	pthread_mutex_t pass_lock; /* taken before the lock of `nodes` */
	bool passes, passed_once;  /* under pass_lock, except in INIT, which comes before any OPEN */
	struct {
		struct node *node; /* a reference */
		uint64_t until;	   /* clock_ms() */
	} kept[16]; /* under pass_lock: nodes that the kernel has a file of, without handles; oldest first */
	unsigned n_kept;
	uint64_t kept_due; /* clock_ms() at which fs_loop() calls pass_look(); 0: it does not */
	pthread_mutex_t files_lock;
	struct file *files;    /* under files_lock */
	pthread_mutex_t config_lock;
	char *config_text;     /* under config_lock */
	pthread_mutex_t watch_lock;
	struct waiting *watched; /* under watch_lock: requests that a signal interrupted */
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* A function returns this when the request has to wait; its wait_answer will reply. */
#define FS_WAITS 1

/* ---- ops.c -------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops fs_ops;

/* ---- attr.c ------------------------------------------------------------------------- */

/* Marks the thread as inside a request until the end of the enclosing block. */
#define FS_OP(fs, req) struct fs *fs _cleanup_(fs_op_end) = fs_op_begin(req)
struct fs *fs_op_begin(fuse_req_t req);
void fs_op_end(struct fs **fs);

/* Fills in `st`. Returns for how many seconds the kernel may cache it. */
double fs_attr(struct fs *fs, const struct node *n, struct stat *st);

/* The bytes that fetch/ found: their size, number and time. `exact` is set if `f` has a blob or a part. */
struct node_bytes fs_bytes_of(const struct fetched *f);

/* ---- lookup.c ----------------------------------------------------------------------- */

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ---- file.c ------------------------------------------------------------------------- */

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

struct file *file_new(struct fs *fs); /* NULL: out of memory */
void file_free(struct fs *fs, struct file *file);

/* ---- passthrough.c ------------------------------------------------------------------ */

/* Decides how a new handle of a leaf is read. */
void pass_open(struct fs *fs, struct node *n, struct file *file, struct fuse_file_info *fi);
/* Call it for each handle, before its blob is freed. */
void pass_close(struct fs *fs, struct file *file);
/* Takes files from the kernel that were closed a while ago. Returns after how many milliseconds to call it again; -1:
 * no such file is left. */
int pass_look(struct fs *fs);

/* ---- gsym.c ------------------------------------------------------------------------- */

/* Finds the node of the GSYM file of `input`, which was found as `found`. 0; -ENOENT, -EBADMSG: `input` cannot be
 * converted. */
int gsym_node(struct fs *fs, const struct artifact *input, bool object, const struct fetched *found,
	struct node **out);
/* A file in a listing. */
struct gsym_listed {
	enum filetype type;
	uint64_t number; /* key_number() of its key */
};
/* The entry in gsym/ for an entry of the mirrored directory: a directory (`file` is NULL), or a file,
 * whose name gets ".gsym". `*ino` 0: the inode number follows from the path. False: gsym/ has no such
 * entry. Asks no source and converts nothing. */
bool gsym_mirror(struct fs *fs, const char *dir, const struct gsym_listed *file, char name[static NAME_MAX + 1],
	mode_t *mode, uint64_t *ino);
/* Looks for the stored file of a leaf. 0: the caller owns f->blob; -EAGAIN: it is not stored, or not made yet;
 * -ENOENT, -EBADMSG: it cannot be made. Asks no source. */
int leaf_stored(struct fs *fs, const struct node *n, struct fetched *f);
/* Fetches the file of a leaf, or makes it; then `answer` replies. FS_WAITS, -errno. */
int leaf_wait(struct fs *fs, fuse_req_t req, const struct node *n, enum fetch_need need, wait_answer *answer,
	const struct fuse_file_info *fi);

/* ---- listing.c ---------------------------------------------------------------------- */

/* *fixed: whether the directory has only fixed names. NULL: out of memory. */
struct listing *listing_new(const char *dir, bool *fixed);
void listing_free(struct listing *l);	      /* NULL is fine */
/* Writes as many entries as fit to `p`, from the offset on. Returns their bytes; -errno if it failed before
 * the first entry. */
ssize_t listing_fill(struct fs *fs, fuse_req_t req, struct listing *l, uint64_t off, char *p, size_t size);

/* ---- state.c ------------------------------------------------------------------------ */

/* The kind of the path hit->rest under .symfs. NODE_LINK: hit->text is the target. 0, -ENOENT. */
int state_kind(struct tree_hit *hit, enum node_kind *kind);
const char *state_entry(unsigned nth, enum node_kind *kind); /* NULL past the last */
/* Writes the content of a file under .symfs that `user` opens. 0, -EACCES, -ENOENT, -ENOMEM. */
int state_text(struct fs *fs, const struct node *n, uid_t user, struct buf *out);
bool state_owner_only(const struct node *n); /* whether the file has mode 0400 */

/* ---- xattr.c ------------------------------------------------------------------------ */

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

/* ---- wait.c ------------------------------------------------------------------------- */

/* What a LOOKUP shows of the file that it finds. */
enum found_as { AS_LEAF, AS_GSYM, AS_OBJECT, AS_LINK, AS_PLIST };

/* A request that waits for fetch/. */
struct waiting {
	/* constant once started */
	struct fs *fs;
	fuse_req_t req;
	pid_t pid;
	wait_answer *answer; /* replies, once */
	struct node *node;   /* a reference; may be NULL */
	struct fuse_file_info fi;
	/* What the request waits for: one of these, written before wait_*() returns. */
	struct ticket *ticket;
	struct making *making;
	struct part_wait *bytes;
	/* constant; only for a READ */
	struct part *part;
	uint64_t off;
	size_t size;
	/* any thread */
	atomic_uint refs;
	/* under fs->watch_lock */
	bool started, over; /* the request can be cancelled; its answer has come */
	bool on_list;
	uint64_t look_at; /* clock_ms() of the next check for signals */
	struct waiting *next, **at;
	/* constant */
	enum found_as as; /* only for a LOOKUP (lookup.c) */
	unsigned n;
	struct artifact cands[];
};

/* Starts to wait for the first candidate that is found. `like` has what the caller says of the request: answer, node,
 * fi, as. Takes over the reference like->node (may be NULL), also on error. FS_WAITS: `answer` will reply; -errno:
 * the caller replies. */
int wait_start(struct fs *fs, fuse_req_t req, const struct artifact *cands, unsigned n,
	enum fetch_need need, const struct waiting *like);

/* As wait_start(), but for a derived file (derive/derive.h): `a` is the file to make. */
int wait_making(struct fs *fs, fuse_req_t req, const struct artifact *a, const struct waiting *like);
/* Starts to wait for the missing bytes of a READ. 0: `answer` will reply, with f->r as the result and
 * `part`, `off` and `size` in its struct waiting; 1: the bytes have arrived by now; -ENOMEM. */
int wait_bytes(struct fs *fs, fuse_req_t req, struct part *p, uint64_t off, size_t size,
	wait_answer *answer);

/* Looks for a stored file. 0: the caller owns f->blob; -EAGAIN: it is not stored; -ENOENT. Asks no source. */
int fs_stored(struct fs *fs, const struct artifact *cands, unsigned n, struct fetched *f);

/* Checks the interrupted requests. Returns after how many milliseconds to check again; -1: no such request
 * is left. Thread of fs_loop() only. */
int wait_look(struct fs *fs);

/* ---- handshake.c -------------------------------------------------------------------- */

/* Call it after the mount and before the loop. 0, -errno. */
int handshake_prepare(struct fs *fs);
/* Within INIT: whether the kernel supports passthrough; if so, requests it. */
bool handshake_passes(const struct fs *fs, struct fuse_conn_info *conn);
/* As fuse_reply_open(); `backing` is the kernel's number of the file for passthrough, or 0. */
int handshake_open(fuse_req_t req, const struct fuse_file_info *fi, int backing);

/* ---- mountpoint.c ------------------------------------------------------------------- */

/* Detaches a dead mount from the place. 0; -errno: symfs cannot mount there, and `e` says why. */
int point_prepare(const char *point, struct helper *helper, bool nonempty, struct err *e);

/* Lets fusermount3 mount, which may take `ms` milliseconds. *comm: the socket whose end makes the program unmount,
 * for the option auto_unmount; else `comm` is NULL. Returns a descriptor of /dev/fuse; -ETIMEDOUT; other -errno: the
 * program did not start, or has printed its reason. */
int fusermount_mount(const char *point, const char *options, unsigned ms, int *comm);
