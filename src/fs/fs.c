/* Mounts, runs the loop that answers the kernel, and unmounts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/fs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fs/helper.h"
#include "fs/private.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define STUCK_MS 10000
#define MOUNT_MS 30000
#define OPTIONS_MAX 8192

/* ---- options ------------------------------------------------------------------------ */

/* A comma would end the value, for libfuse and for the kernel. */
static void add_escaped(struct buf *b, const char *text)
{
	for (; *text; text++)
		buf_addf(b, "%s%c", *text == ',' || *text == '\\' ? "\\" : "", *text);
}

static bool is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(p, word, n) == 0;
}

struct options {
	struct buf *program; /* for fusermount3 */
	bool nonempty, auto_unmount, allow_root;
};

/* Adds the caller's options, without those that fusermount3 does not know. For allow_root, libfuse refuses other
 * users. */
static void add_options(struct options *o, const char *options)
{
	while (*options) {
		size_t n = strcspn(options, ",");

		if (is_word(options, n, "nonempty"))
			o->nonempty = true;
		else if (is_word(options, n, "allow_root"))
			o->allow_root = true;
		else if (n)
			buf_addf(o->program, ",%.*s", (int)n, options);
		o->auto_unmount |= is_word(options, n, "auto_unmount");
		options += n;
		options += *options == ',';
	}
}

static int make_options(const struct fs_opts *o, struct options *out)
{
	buf_adds(out->program, "nosuid,nodev,subtype=symfs,fsname=");
	add_escaped(out->program, o->source && *o->source ? o->source : "symfs");
	add_options(out, o->options ? o->options : "");
	/* The mount is always read-only: the last option overrides the ones before it. */
	return buf_adds(out->program, out->allow_root ? ",allow_other,ro" : ",ro");
}

/* ---- mounting ----------------------------------------------------------------------- */

static void session_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];

	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	if (level <= FUSE_LOG_ERR)
		log_error("%s", line);
	else
		log_debug(LOG_FS, "%s", line);
}

static int session_new(struct fs *fs, const struct options *o, struct err *e)
{
	char *argv[] = {(char *)"symfs", (char *)"-o", (char *)(o->allow_root ? "allow_root" : "ro"), NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	fuse_set_log_func(session_log);
	fs->session = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), fs);
	fuse_opt_free_args(&args);
	if (!fs->session)
		return err_set(e, -EIO, "libfuse made no session");
	return 0;
}

/* Sets an error that says how to repair the cause. libfuse has logged only what failed. */
static int explain(const char *point, struct err *e)
{
	if (access("/dev/fuse", F_OK) < 0)
		return err_set(e, -ENODEV, "%s: there is no /dev/fuse; load the kernel module "
			"(modprobe fuse), or give it to the container", point);
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return err_set(e, -EPERM,
			"%s: /dev/fuse is not yours to open; it should have mode 0666", point);
	if (geteuid() != 0)
		return err_set(e, -EPERM,
			"%s: fusermount3 did not mount; is the package fuse3 installed, "
			"is the directory yours? Its messages above may say more",
			point);
	return err_set(e, -EPERM, "%s: the kernel refused to mount; in a container it takes "
		"CAP_SYS_ADMIN and /dev/fuse", point);
}

static int init(struct fs *fs, struct fetch *f, const struct fs_opts *o)
{
	fs->fetch = f;
	fs->uid = o->uid;
	fs->mounter = getuid();
	fs->page = (size_t)MAX(sysconf(_SC_PAGESIZE), 4096L);
	fs->gid = o->gid;
	fs->exact_size = o->exact_size;
	fs->pass_wanted = !o->no_passthrough;
	fs->helper = o->helper;
	fs->up = o->up;
	fs->up_ctx = o->up_ctx;
	fs->mounted = clock_wall();
	atomic_store(&fs->finished_ms, clock_ms());
	pthread_mutex_init(&fs->pass_lock, NULL);
	pthread_mutex_init(&fs->files_lock, NULL);
	pthread_mutex_init(&fs->config_lock, NULL);
	pthread_mutex_init(&fs->watch_lock, NULL);
	if (derive_new(&fs->derive, f) < 0)
		return -ENOMEM;
	fs->has_room = pthread_key_create(&fs->room, free) == 0;
	if (!fs->has_room)
		return -EAGAIN;
	fs->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fs->nodes = nodes_new();
	fs->config_text = strdup(o->config_text ? o->config_text : "");
	if (fs->wake < 0)
		return -errno;
	return fs->nodes && fs->config_text ? 0 : -ENOMEM;
}

static int explain_helper(const struct fs *fs, int r, struct err *e)
{
	if (r == -EACCES || r == -ENOENT)
		return err_set(e, r, "%s: the daemon's user cannot enter a directory above it, or cannot open "
			"/dev/fuse: %s; mount elsewhere, or let that user enter (chmod o+x)", fs->point, err_text(r));
	return err_set(e, r, "%s: the kernel refused to mount: %s; in a container it takes CAP_SYS_ADMIN and "
		"/dev/fuse", fs->point, err_text(r));
}

static int mount_by_program(struct fs *fs, const struct options *o, unsigned ms, struct err *e)
{
	int fd = fusermount_mount(fs->point, buf_text(o->program), ms, o->auto_unmount ? &fs->comm : NULL);

	if (fd == -ETIMEDOUT)
		return err_set(e, fd, "%s: fusermount3 did not mount within %u s and was ended; does the directory "
			"above answer?", fs->point, ms / 1000);
	return fd < 0 ? explain(fs->point, e) : fd;
}

static int mount_by_helper(struct fs *fs, struct err *e)
{
	int fd = helper_mount(fs->helper);

	return fd < 0 ? explain_helper(fs, fd, e) : fd;
}

static void unmount_by_helper(struct fs *fs)
{
	int r = helper_ask(fs->helper, HELPER_UNMOUNT, 0, -1);

	if (r < 0)
		log_error("%s: cannot unmount: %s; try: symfs umount %s", fs->point, err_text(r), fs->point);
}

static void unmount(struct fs *fs)
{
	struct err e;

	if (fs->helper)
		unmount_by_helper(fs);
	else if (fs_detach(fs->point, true, &e) < 0)
		log_error("%s", e.text);
}

/* Another process opens /dev/fuse and mounts; libfuse then takes over the descriptor. */
static int mount_here(struct fs *fs, const struct options *o, unsigned ms, struct err *e)
{
	int fd = fs->helper ? mount_by_helper(fs, e) : mount_by_program(fs, o, ms ? ms : MOUNT_MS, e);
	char name[32];

	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	if (fuse_session_mount(fs->session, name) == 0)
		return 0;
	close(fd);
	unmount(fs);
	return err_set(e, -EIO, "%s: libfuse rejected the connection", fs->point);
}

static int mount_session(struct fs *fs, const struct fs_opts *o, struct err *e)
{
	_cleanup_buf_ struct buf program = BUF_UP_TO(OPTIONS_MAX);
	struct options options = {.program = &program};
	int r = make_options(o, &options);

	if (r < 0)
		return err_set(e, r, "the mount options are too long");
	r = fs_point(o->mountpoint, &fs->point);
	if (r < 0)
		return err_set(e, r, "%s: %s", o->mountpoint, err_text(r));
	r = point_prepare(fs->point, fs->helper, options.nonempty, e);
	if (r == 0)
		r = session_new(fs, &options, e);
	if (r == 0)
		r = mount_here(fs, &options, o->mount_ms, e);
	if (r < 0)
		return r;
	fs->mount_id = fs_mount_id(fs->point);
	r = handshake_prepare(fs);
	return r < 0 ? err_set(e, r, "%s: %s", fs->point, err_text(r)) : 0;
}

static void cleanup_fs(struct fs **fs)
{
	fs_free(*fs);
}

int fs_mount(struct fs **out, struct fetch *f, const struct fs_opts *o, struct err *e)
{
	_cleanup_(cleanup_fs) struct fs *fs = calloc(1, sizeof(*fs));
	int r;

	if (!fs)
		return err_set(e, -ENOMEM, "out of memory");
	fs->wake = fs->comm = fs->mount_id = -1;
	r = init(fs, f, o);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	r = mount_session(fs, o, e);
	if (r < 0)
		return r;
	*out = take(fs);
	return 0;
}

int fs_set_config_text(struct fs *fs, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	LOCK_SCOPE(&fs->config_lock);
	free(fs->config_text);
	fs->config_text = copy;
	return 0;
}

/* ---- the loop ----------------------------------------------------------------------- */

struct server {
	struct fs *fs;
	pthread_t thread;
	struct fuse_buf buf; /* used by the thread alone, until it was joined */
	int r;
};

/* Whether the result of a read means that the mount is gone. The next read of a cut connection gets
 * ENODEV, for which libfuse returns 0. A read that held a request at that moment (the last handle's
 * RELEASE) gets ECONNABORTED. */
static bool is_cut(int r)
{
	return r == 0 || r == -ECONNABORTED;
}

/* Reads a request and answers it, or hands it to fetch/. The thread can be cancelled only during
 * the read, when it has no request. */
static void *serve(void *arg)
{
	struct server *s = arg;
	struct fuse_session *session = s->fs->session;
	int r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!fuse_session_exited(session)) {
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		r = fuse_session_receive_buf(session, &s->buf);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (r > 0) {
			fuse_session_process_buf(session, &s->buf);
		} else if (r != -EINTR && r != -EAGAIN) {
			s->r = is_cut(r) ? 0 : r;
			break;
		}
	}
	fuse_session_exit(session);
	eventfd_write(s->fs->wake, 1);
	return NULL;
}

/* Returns the number of threads that run. They block signals, which the caller's threads handle. */
static unsigned serve_start(struct fs *fs, struct server *servers)
{
	sigset_t all, old;
	unsigned n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; n < FS_THREADS; n++) {
		servers[n] = (struct server){.fs = fs};
		if (pthread_create(&servers[n].thread, NULL, serve, &servers[n]) != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

static int serve_end(struct server *servers, unsigned n)
{
	int r = 0;

	for (unsigned i = 0; i < n; i++)
		pthread_cancel(servers[i].thread);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(servers[i].thread, NULL);
		free(servers[i].buf.mem);
		if (servers[i].r < 0)
			r = servers[i].r;
	}
	return r;
}

/* The mount continues without passthrough. */
static void log_helper_gone(struct fs *fs)
{
	fs->helper_gone = true;
	log_error("%s: the helper of this mount has ended. No more files are passed to the kernel, and when symfs "
		"stops, the mount stays in the mount table until `symfs umount` or the next mount there", fs->point);
}

int fs_loop(struct fs *fs)
{
	struct server servers[FS_THREADS];
	unsigned n = serve_start(fs, servers);
	struct pollfd p[2] = {{.fd = fs->wake, .events = POLLIN},
		{.fd = fs->helper ? helper_fd(fs->helper) : -1}};
	int wait_ms = -1;
	eventfd_t none;

	while (n && !atomic_load(&fs->stopping) && !fuse_session_exited(fs->session)) {
		if (poll(p, 2, wait_ms) > 0 && p[0].revents)
			eventfd_read(fs->wake, &none);
		if (p[1].revents && !fs->helper_gone) {
			log_helper_gone(fs);
			p[1].fd = -1;
		}
		wait_ms = (int)MIN((unsigned)wait_look(fs), (unsigned)pass_look(fs)); /* -1 is the greatest */
	}
	fuse_session_exit(fs->session);
	derive_stop(fs->derive);
	store_hurry(fetch_store(fs->fetch));
	return n ? serve_end(servers, n) : -EAGAIN;
}

void fs_stop(struct fs *fs)
{
	uint64_t one = 1;
	ssize_t r;

	atomic_store(&fs->stopping, true);
	r = write(fs->wake, &one, sizeof(one));
	(void)r; /* it fails only if the counter is full, and then the loop wakes anyway */
}

bool fs_alive(struct fs *fs)
{
	return atomic_load(&fs->busy) < FS_THREADS ||
		clock_ms() - atomic_load(&fs->finished_ms) < STUCK_MS;
}

/* ---- the end ------------------------------------------------------------------------ */

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	derive_free(fs->derive); /* answers requests that wait, so before the session ends */
	/* Another process may have unmounted, and another mount may be at the place. */
	if (fs->mount_id >= 0 && fs_mount_id(fs->point) == fs->mount_id)
		unmount(fs);
	if (fs->session)
		fuse_session_destroy(take(fs->session));
	if (fs->comm >= 0)
		close(fs->comm);
	while (fs->files)
		file_free(fs, fs->files);
	pass_look(fs);
	nodes_free(fs->nodes);
	if (fs->wake >= 0)
		close(fs->wake);
	if (fs->has_room)
		pthread_key_delete(fs->room);
	pthread_mutex_destroy(&fs->watch_lock);
	pthread_mutex_destroy(&fs->config_lock);
	pthread_mutex_destroy(&fs->files_lock);
	pthread_mutex_destroy(&fs->pass_lock);
	free(fs->config_text);
	free(fs->point);
	free(fs);
}
