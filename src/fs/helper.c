/* The daemon's side of the helper: starts the process and sends it requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/helper.h"
#include "base/process.h"
#include "base/util.h"
#include "fs/helper-private.h"
#include "priv/caps.h"
#include "priv/hide.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_SECONDS 5 /* after which the helper counts as hung */
#define END_MS 2000

struct helper {
	/* constant */
	int sock;
	pid_t pid; /* 0: not our child */
	/* under lock: one request at a time */
	pthread_mutex_t lock;
	bool lost; /* the helper has ended or did not answer in time */
};

/* ---- what is mounted ---------------------------------------------------------------- */

static const struct word {
	const char *word;
	unsigned long set, clear;
} words[] = {
	{"dev", 0, MS_NODEV},
	{"nodev", MS_NODEV, 0},
	{"suid", 0, MS_NOSUID},
	{"nosuid", MS_NOSUID, 0},
	{"exec", 0, MS_NOEXEC},
	{"noexec", MS_NOEXEC, 0},
	{"atime", 0, MS_NOATIME},
	{"noatime", MS_NOATIME, 0},
};

static bool is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(p, word, n) == 0;
}

static void take_word(struct helper_mount *m, const char *p, size_t n)
{
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word(p, n, words[i].word))
			m->flags = (m->flags | words[i].set) & ~words[i].clear;
	/* For allow_root, libfuse itself refuses other users. */
	if (is_word(p, n, "allow_other") || is_word(p, n, "allow_root"))
		m->allow_other = true;
	if (is_word(p, n, "default_permissions"))
		m->default_permissions = true;
	if (is_word(p, n, "auto_unmount"))
		m->auto_unmount = true;
}

int helper_mount_fill(struct helper_mount *out, const char *point, const char *source,
	const char *options, struct err *e)
{
	size_t n;

	memset(out, 0, sizeof(*out));
	out->flags = MS_NOSUID | MS_NODEV;
	out->user = out->daemon = getuid();
	out->group = getgid();
	snprintf(out->source, sizeof(out->source), "%s", source && *source ? source : "symfs");
	if ((size_t)snprintf(out->point, sizeof(out->point), "%s", point) >= sizeof(out->point))
		return err_set(e, -ENAMETOOLONG, "%.100s...: %s", point, err_text(ENAMETOOLONG));
	for (; *options; options += n + (options[n] == ',')) {
		n = strcspn(options, ",");
		take_word(out, options, n);
	}
	return 0;
}

/* ---- starting ----------------------------------------------------------------------- */

/* Ignores the signals that a terminal sends to all of its processes: the helper ends with the daemon. */
static void ignore_signals(void)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		signal(all[i], SIG_IGN);
}

/* Closes every descriptor but the socket, or the helper would hold open a pipe or a lock of the caller. */
static int keep_only(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (sock != 3 && dup3(sock, 3, O_CLOEXEC) < 0)
		return -errno;
	close_range(4, UINT_MAX, 0);
	return 3;
}

/* The child. Its first message says whether it could give up its rights. */
static _Noreturn void help(int sock, pid_t daemon, const struct helper_mount *m,
	const struct caps_keep *keep)
{
	struct helper_answer ready;
	struct err e;
	int fd, device;

	prctl(PR_SET_NAME, "symfs-helper");
	ignore_signals();
	fd = keep_only(sock);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC); /* on some systems only root may open it */
	ready.r = fd < 0 ? fd : caps_give_up(keep, &e);
	hide_memory();
	if (fd < 0 || getppid() != daemon || helper_send(fd, &ready, sizeof(ready), -1) < 0 || ready.r < 0)
		_exit(4);
	_exit(helper_serve(fd, device, m));
}

static int new_helper(struct helper **out, int sock, pid_t pid)
{
	const struct timeval most = {.tv_sec = ANSWER_SECONDS};
	struct helper *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	h->sock = sock;
	h->pid = pid;
	pthread_mutex_init(&h->lock, NULL);
	*out = h;
	return 0;
}

static void cleanup_helper(struct helper **h)
{
	helper_free(*h);
}

int helper_start(struct helper **out, const struct helper_mount *m, const struct caps_keep *keep,
	struct err *e)
{
	_cleanup_(cleanup_helper) struct helper *h = NULL;
	pid_t self = getpid(), pid;
	struct helper_answer ready;
	int ends[2], none, r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, -errno, "cannot start the helper of the mount: %s", err_text(errno));
	pid = process_fork();
	if (pid == 0)
		help(ends[1], self, m, keep);
	r = pid < 0 ? -errno : new_helper(&h, ends[0], pid);
	close(ends[1]);
	if (!h)
		close(ends[0]);
	if (r == 0)
		r = helper_receive(h->sock, &ready, sizeof(ready), &none) == sizeof(ready) ? ready.r : -EPIPE;
	if (r < 0)
		return err_set(e, r, "cannot start the helper of the mount: %s", err_text(r));
	*out = take(h);
	return 0;
}

int helper_connect(struct helper **out, const char *path, struct err *e)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	_cleanup_close_ int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (strlen(path) >= sizeof(un.sun_path))
		return err_set(e, -EINVAL, "%s: too long for the path of a socket", path);
	memcpy(un.sun_path, path, strlen(path));
	if (sock < 0 || connect(sock, (struct sockaddr *)&un, sizeof(un)) < 0)
		return err_set(e, -errno, "%s: %s; is the mount helper's socket there?", path,
			err_text(errno));
	r = new_helper(out, sock, 0);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	take_fd(&sock);
	return 0;
}

/* ---- asking ------------------------------------------------------------------------- */

/* A helper that did not answer in time is not asked again: its late answer would be taken for the
 * answer to the next request. */
static int lose(struct helper *h)
{
	h->lost = true;
	shutdown(h->sock, SHUT_RDWR);
	return -EPIPE;
}

static int ask(struct helper *h, enum helper_op op, int32_t arg, int with, int *fd)
{
	struct helper_ask question = {.op = op, .arg = arg};
	struct helper_answer a;
	LOCK_SCOPE(&h->lock);

	*fd = -1;
	if (h->lost || helper_send(h->sock, &question, sizeof(question), with) != sizeof(question) ||
		helper_receive(h->sock, &a, sizeof(a), fd) != sizeof(a))
		return lose(h);
	return a.r;
}

int helper_ask(struct helper *h, enum helper_op op, int arg, int fd)
{
	_cleanup_close_ int none = -1;

	return ask(h, op, arg, fd, &none);
}

int helper_mount(struct helper *h)
{
	int fd, r = ask(h, HELPER_MOUNT, 0, -1, &fd);

	if (r == 0 && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return r < 0 ? r : -EPIPE;
}

int helper_fd(const struct helper *h)
{
	return h->sock;
}

/* ---- the end ------------------------------------------------------------------------ */

void helper_free(struct helper *h)
{
	int status;

	if (!h)
		return;
	close(h->sock);
	if (h->pid > 0) /* it ends when its socket is closed */
		process_wait(h->pid, END_MS, &status);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
