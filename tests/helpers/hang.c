/* hang DIR FLAG [symfs]: mounts an empty directory at DIR. While the file FLAG exists, the mount
 * answers no LOOKUP, like a dead file server. Waiting processes get an answer when FLAG is removed
 * or when they are killed, as with NFS. With `symfs` the mount has the type fuse.symfs, and
 * killing the processes does not help. The program ends with its mount, with the process that
 * started it, or after an hour. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MOST 1000

static const char *flag;
static bool deaf;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fuse_req_t waiting[WAITING_MOST]; /* under lock */
static unsigned n_waiting;

static void hang_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	bool hangs = access(flag, F_OK) == 0;

	pthread_mutex_lock(&lock);
	if (hangs && n_waiting < WAITING_MOST)
		waiting[n_waiting++] = req;
	else
		fuse_reply_err(req, ENOENT);
	pthread_mutex_unlock(&lock);
}

static void hang_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = {.st_ino = ino, .st_mode = S_IFDIR | 0755, .st_nlink = 2};

	fuse_reply_attr(req, &st, 0);
}

/* The requests that may end: all, or those of a killed process. */
static void let_some_go(bool all)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_waiting;) {
		if (all || (!deaf && fuse_req_interrupted(waiting[i]))) {
			fuse_reply_err(waiting[i], ENOENT);
			waiting[i] = waiting[--n_waiting];
		} else {
			i++;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void *let_go(void *arg)
{
	static const struct timespec tick = {.tv_nsec = 20000000};

	for (;;) {
		nanosleep(&tick, NULL); /* between two looks at the flag */
		let_some_go(access(flag, F_OK) < 0);
	}
	return arg;
}

static const struct fuse_lowlevel_ops ops = {.lookup = hang_lookup, .getattr = hang_getattr};

int main(int argc, char **argv)
{
	char name[] = "hang", options[] = "-ofsname=hang", as_symfs[] = "-ofsname=hang,subtype=symfs";
	char *args[] = {name, argc == 4 ? as_symfs : options, NULL};
	struct fuse_args fuse = FUSE_ARGS_INIT(2, args);
	struct fuse_session *s;
	pthread_t thread;

	if (argc != 3 && (argc != 4 || strcmp(argv[3], "symfs") != 0)) {
		fprintf(stderr, "usage: hang DIR FLAG [symfs]\n");
		return 2;
	}
	flag = argv[2];
	deaf = argc == 4;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	alarm(3600);
	s = fuse_session_new(&fuse, &ops, sizeof(ops), NULL);
	if (!s || fuse_session_mount(s, argv[1]) < 0)
		return 1;
	fuse_set_signal_handlers(s);
	signal(SIGALRM, SIG_DFL);
	if (pthread_create(&thread, NULL, let_go, NULL) != 0)
		return 1;
	fuse_session_loop(s);
	fuse_session_unmount(s);
	_exit(0); /* what still waits gets its error with the mount */
}
