/* symfs mount-helper: mounts for a daemon that systemd starts without privileges. The helper listens at a
 * socket that only the daemon's user can reach, serves one daemon, and ends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "fs/fs.h"
#include "fs/helper.h"
#include "priv/caps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define PASSED_FIRST 3 /* the first descriptor that systemd passes */

/* The socket that systemd passed. */
static int passed(int *fd, struct err *e)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	if (!pid || !count || strtol(pid, NULL, 10) != getpid() || strcmp(count, "1") != 0)
		return err_set(e, -EINVAL, "systemd passed no socket, or more than one");
	*fd = PASSED_FIRST;
	return 0;
}

/* Makes a socket that only this user may connect to. */
static int make_socket(const char *path, int *out, struct err *e)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct stat st;

	if (!*path || strlen(path) >= sizeof(un.sun_path))
		return err_set(e, -EINVAL, "--listen %s: expected systemd, or a path of at most %zu bytes",
			path, sizeof(un.sun_path) - 1);
	memcpy(un.sun_path, path, strlen(path));
	umask(0177);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path); /* left by a helper that ended */
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 || listen(fd, 1) < 0)
		return err_set(e, -errno, "%s: %s", path, err_text(errno));
	*out = take_fd(&fd);
	return 0;
}

/* Accepts a daemon of the same user only. If the helper mounted for another user, that user could serve files with
 * the rights of the helper's user. */
static int accept_own(int listener, int *out, struct err *e)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof(peer);
	_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return err_set(e, -errno, "cannot accept the daemon's connection: %s", err_text(errno));
	if (peer.uid != getuid())
		return err_set(e, -EPERM, "user %u asked for a mount; this helper mounts for user %u alone",
			(unsigned)peer.uid, (unsigned)getuid());
	*out = take_fd(&fd);
	return 0;
}

static int help(const char *listen_at, const struct helper_mount *m, struct err *e)
{
	const struct caps_keep keep = {.uid = getuid(), .gid = getgid(), .admin = true};
	_cleanup_close_ int listener = -1, sock = -1;
	int r;

	if (!caps_have(CAP_SYS_ADMIN))
		return err_set(e, -EPERM, "this process cannot mount: it lacks CAP_SYS_ADMIN");
	r = strcmp(listen_at, "systemd") == 0 ? passed(&listener, e) : make_socket(listen_at, &listener, e);
	if (r == 0)
		r = accept_own(listener, &sock, e);
	if (r == 0)
		r = caps_give_up(&keep, e);
	if (r < 0)
		return r;
	close(take_fd(&listener));
	return helper_serve(sock, -1, m) == 0 ? 0 : err_set(e, -EIO, "no system-call filter can be set");
}

static int run_mount_helper(int argc, char **argv)
{
	const char *listen_at = NULL, *options = "";
	const struct opt own[] = {
		{"listen", 0, "SOCKET", "a path, or systemd for a passed socket", &listen_at},
		{"options", 'o', "OPTS", "as for symfs mount: allow_other, ...", &options},
		{0},
	};
	_cleanup_free_ char *point = NULL;
	struct helper_mount m;
	struct app_args args;
	struct err e = {0};
	int r = app_options(&args, &cmd_mount_helper, own, &argc, argv);

	if (r >= 0)
		return r;
	if (argc != 2 || !listen_at)
		return cmd_usage("expected --listen and one directory");
	r = fs_point(argv[1], &point);
	if (r < 0)
		err_set(&e, r, "%s: %s", argv[1], err_text(r));
	if (r == 0)
		r = helper_mount_fill(&m, point, "symfs", options, &e);
	if (r == 0)
		r = help(listen_at, &m, &e);
	if (r < 0)
		cmd_say(0, "%s", e.text);
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

const struct cmd cmd_mount_helper = {
	.name = "mount-helper",
	.args = "--listen SOCKET [-o OPTS] DIR",
	.help = "Mounts for an unprivileged daemon; systemd starts it",
	.examples = {"symfs mount-helper --listen /run/symfs-mount.sock /run/symfs",
		"symfs mount-helper --listen systemd -o allow_other /run/symfs"},
	.run = run_mount_helper,
};
