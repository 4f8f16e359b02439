/* Passthrough: the kernel gets the file of the store, and reads and maps it by itself. Without
 * passthrough the first read of each page goes through the daemon, and the page is in memory twice.
 *
 * Passthrough needs Linux 6.9, CAP_SYS_ADMIN (which a helper has), and a store that is not on a stacked
 * file system. The first open shows whether it works. If the kernel refuses, symfs does not try again, and
 * reads go through the daemon.
 *
 * While an inode has open handles, all of them read through the daemon, or all read the same file of the
 * store directly. The kernel fails an open that breaks this rule. So all handles of an inode are read in the
 * way, and from the file, of its first open, until its last release. The counts here are never lower than the
 * kernel's counts: the kernel drops a handle before it sends RELEASE.
 *
 * Debuggers open a file several times in a row. So after its last release the kernel keeps the file for another
 * second. Not longer: the file may have been evicted, and occupies the disk while the kernel has it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fs/helper.h"
#include "fs/kernel.h"
#include "fs/private.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#define KEEP_MS 1000

/* Calls the ioctl itself: libfuse's fuse_passthrough_open() logs every refusal as an error, and
 * fuse_passthrough_close() needs a request, which does not always exist. */
static int backing_open(struct fs *fs, int fd)
{
	struct fuse_backing_map map = {.fd = fd};
	int id;

	if (fs->helper)
		return helper_ask(fs->helper, HELPER_PASS, 0, fd);
	id = ioctl(fuse_session_fd(fs->session), FUSE_DEV_IOC_BACKING_OPEN, &map);

	return id > 0 ? id : id < 0 ? -errno : -EIO;
}

static void backing_close(struct fs *fs, int id)
{
	uint32_t number = (uint32_t)id;

	if (!fs->session)
		return; /* the registration ended with the connection */
	if (fs->helper)
		helper_ask(fs->helper, HELPER_PASS_END, id, -1);
	else
		ioctl(fuse_session_fd(fs->session), FUSE_DEV_IOC_BACKING_CLOSE, &number);
}

/* Whether the error is a shortage that may be over at the next open. */
static bool is_transient(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EINTR || r == -ENOSPC;
}

static int try_backing(struct fs *fs, int fd)
{
	int r = backing_open(fs, fd);

	if (r > 0 && !fs->passed_once) {
		log_debug(LOG_FS, "passthrough works: the kernel reads stored files by itself");
		fs->passed_once = true;
	}
	if (r < 0 && !is_transient(r)) {
		log_debug(LOG_FS, "no passthrough: %s", strerror(-r));
		fs->passes = false;
	}
	return r;
}

/* ---- files without handles ----------------------------------------------------------- */

/* Takes the node from the list, and returns the list's reference to it. */
static struct node *unkeep(struct fs *fs, unsigned i)
{
	struct node *n = fs->kept[i].node;

	memmove(&fs->kept[i], &fs->kept[i + 1], (--fs->n_kept - i) * sizeof(fs->kept[0]));
	return n;
}

static void drop_oldest(struct fs *fs)
{
	struct node *n = unkeep(fs, 0);

	backing_close(fs, node_io(n)->backing);
	node_io(n)->backing = 0;
	node_unref(fs->nodes, n);
}

/* Takes over the reference. */
static void keep(struct fs *fs, struct node *n)
{
	uint64_t until = clock_ms() + KEEP_MS;

	if (!fs->kept_due) {
		fs->kept_due = until;
		eventfd_write(fs->wake, 1); /* fs_loop() calls pass_look() */
	}
	if (fs->n_kept == ARRAY_SIZE(fs->kept))
		drop_oldest(fs);
	fs->kept[fs->n_kept].node = n;
	fs->kept[fs->n_kept++].until = until;
}

int pass_look(struct fs *fs)
{
	uint64_t now = clock_ms();
	LOCK_SCOPE(&fs->pass_lock);

	while (fs->n_kept && (fs->kept[0].until <= now || !fs->session))
		drop_oldest(fs);
	/* A file that is opened and closed again and again wakes the loop once a second, not at each close. */
	if (fs->n_kept)
		fs->kept_due = fs->kept[0].until;
	else if (fs->kept_due <= now)
		fs->kept_due = 0;
	return fs->kept_due ? (int)(fs->kept_due - now) : -1;
}

/* ---- handles ------------------------------------------------------------------------ */

/* Whether a new handle of the node is passed through. If so, registers its file with the kernel. */
static bool enter(struct fs *fs, struct node *n, const struct file *file)
{
	struct node_io *io = node_io(n);
	int id;

	if (io->cached)
		return false;
	for (unsigned i = 0; !io->passed && io->backing && i < fs->n_kept; i++)
		if (fs->kept[i].node == n)
			node_unref(fs->nodes, unkeep(fs, i));
	if (io->backing)
		return true; /* node_settle() made sure that these are the same bytes */
	if (!fs->passes || !file->blob || !*blob_sha256(file->blob))
		return false;
	id = try_backing(fs, blob_fd(file->blob));
	if (id > 0)
		io->backing = id;
	return id > 0;
}

void pass_open(struct fs *fs, struct node *n, struct file *file, struct fuse_file_info *fi)
{
	struct node_io *io = node_io(n);
	LOCK_SCOPE(&fs->pass_lock);

	file->node = node_find(fs->nodes, node_ino(n));
	if (enter(fs, n, file)) {
		io->passed++;
		file->backing = io->backing;
		fi->keep_cache = 0; /* there are no pages to keep, and the kernel rejects the flag */
		atomic_fetch_add(&fs->counters.passthrough, 1);
	} else {
		io->cached++;
	}
}

void pass_close(struct fs *fs, struct file *file)
{
	struct node *n = take(file->node);

	if (!n)
		return;
	pthread_mutex_lock(&fs->pass_lock);
	if (!file->backing)
		node_io(n)->cached--;
	else if (--node_io(n)->passed == 0)
		keep(fs, take(n));
	pthread_mutex_unlock(&fs->pass_lock);
	node_unref(fs->nodes, n);
}
