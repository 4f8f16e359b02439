/* Tests priv/ and fs/helper: dropped privileges are gone, and the mount helper does nothing that a
 * compromised daemon could use. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sanitized.h"
#include "base/util.h"
#include "fs/helper-private.h"
#include "fs/helper.h"
#include "priv/caps.h"
#include "priv/filter.h"
#include "priv/landlock.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* The exit status of a process that does this. */
static int status_of(int (*fn)(const char *dir), const char *dir)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn(dir));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make_file(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, (strncmp(name, "log/", 4) == 0 ? O_WRONLY : O_RDWR) | O_CREAT | O_CLOEXEC, 0644);
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC);
}

/* ---- filters ------------------------------------------------------------------------ */

static int behind_filter_of_root(const char *dir)
{
	int f = make_file(dir, "f"), r = filter_set_for_root();

	if (r < 0)
		return r == -ENOTSUP ? 77 : 1;
	if (socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		return 2;
	if (fchmod(f, 0644) == 0 || fchmod(f, 04700) == 0 || fchmod(f, 0400) < 0 || fchmod(f, 0600) < 0)
		return 3;
	if (fchown(f, getuid(), getgid()) == 0 || fsetxattr(f, "user.x", "y", 1, 0) == 0)
		return 4;
	return syscall(SYS_io_uring_setup, 1, NULL) == 0 || errno != EPERM ? 5 : 0;
}

START_TEST(filter_of_root)
{
	char dir[] = "/tmp/test-priv.XXXXXX", command[64];
	int r;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	r = status_of(behind_filter_of_root, dir);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_msg(r == 0 || r == 77, "step %d", r);
}
END_TEST

static int behind_filter(const char *dir)
{
	static const char *const calls[] = {"exit_group", "write", "no_such_call"};

	if (filter_set(calls, ARRAY_SIZE(calls), false) < 0)
		return 1;
	if (syscall(SYS_getppid) != -1 || errno != EPERM)
		return 2;
	return syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY) != -1 ? 3 : 0;
}

START_TEST(filters)
{
	if (!SANITIZED) /* there it lets everything pass */
		ck_assert_int_eq(status_of(behind_filter, NULL), 0);
}
END_TEST

/* ---- Landlock ----------------------------------------------------------------------- */

static int behind_landlock(const char *dir)
{
	char path[128];
	struct landlock l;
	int r = landlock_new(&l);

	if (r < 0)
		return r == -ENOTSUP ? 77 : 1;
	snprintf(path, sizeof(path), "%s/read", dir);
	r = landlock_allow(&l, path, LANDLOCK_READ);
	snprintf(path, sizeof(path), "%s/write", dir);
	r = r == 0 ? landlock_allow(&l, path, LANDLOCK_WRITE) : r;
	snprintf(path, sizeof(path), "%s/log", dir);
	r = r == 0 ? landlock_allow(&l, path, LANDLOCK_LOG) : r;
	r = r == 0 ? landlock_allow(&l, "/no/such/place", LANDLOCK_WRITE) : r;
	if (r < 0 || landlock_apply(&l) < 0)
		return 2;
	landlock_release(&l);
	if (make_file(dir, "write/new") < 0 || open_in(dir, "read/f", O_RDONLY) < 0)
		return 3;
	if (make_file(dir, "log/new") < 0 || open_in(dir, "log/new", O_RDONLY) >= 0)
		return 5;
	if (open_in(dir, "f", O_RDONLY) >= 0 || open_in(dir, "read/f", O_WRONLY) >= 0 ||
		make_file(dir, "read/new") >= 0)
		return 4;
	return 0;
}

START_TEST(landlock)
{
	char dir[] = "/tmp/test-priv.XXXXXX", command[64];
	int r;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	r = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(r, "read", 0755) | mkdirat(r, "write", 0755) | mkdirat(r, "log", 0755), 0);
	close(r);
	close(make_file(dir, "f"));
	close(make_file(dir, "read/f"));
	r = status_of(behind_landlock, dir);
	ck_assert_msg(r == 0 || r == 77, "step %d", r);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- the helper --------------------------------------------------------------------- */

static void passes(struct helper *h, int fd, bool taken)
{
	int r = helper_ask(h, HELPER_PASS, 0, fd);

	/* Nobody serves this mount, so the kernel itself says no to what the helper lets through. */
	ck_assert_msg(r < 0 && (r != -EBADF) == taken, "%d", r);
	close(fd);
}

static void passes_only_what_is_open(struct helper *h, const char *dir)
{
	int fd = make_file(dir, "file"), other = make_file(dir, "other");

	ck_assert_int_eq(fchown(other, 65534, 65534), 0);
	passes(h, fd, false); /* open for writing, too */
	close(other);
	passes(h, open_in(dir, "file", O_RDONLY), true);
	passes(h, open_in(dir, "file", O_PATH), false);
	passes(h, open_in(dir, "other", O_RDONLY), false);
	passes(h, open_in(dir, ".", O_RDONLY), false);
	passes(h, open("/dev/null", O_RDONLY), false);
}

static unsigned open_in_process(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static pid_t only_child(void)
{
	char path[64], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	fclose(f);
	return (pid_t)strtol(text, NULL, 10);
}

/* The padding of a control message has room for a second descriptor. */
static void send_two(int sock, int fd)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} with = {0};
	struct helper_ask ask = {.op = HELPER_PASS};
	struct iovec iov = {.iov_base = &ask, .iov_len = sizeof(ask)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = with.room,
		.msg_controllen = sizeof(with.room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	const int two[] = {fd, fd};
	struct helper_answer a;
	int none;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(two));
	memcpy(CMSG_DATA(c), two, sizeof(two));
	ck_assert_int_eq(sendmsg(sock, &msg, 0), sizeof(ask));
	ck_assert_int_eq(helper_receive(sock, &a, sizeof(a), &none), sizeof(a));
}

static void keeps_no_descriptor(struct helper *h)
{
	pid_t pid = only_child();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned before;

	/* What came with a message is closed when the next one is answered. */
	helper_ask(h, HELPER_PASS_END, 0, -1);
	before = open_in_process(pid);
	for (unsigned i = 0; i < 10; i++)
		send_two(helper_fd(h), fd);
	close(fd);
	helper_ask(h, HELPER_PASS_END, 0, -1);
	ck_assert_uint_eq(open_in_process(pid), before);
}

START_TEST(helper)
{
	const struct caps_keep keep = {.admin = true};
	char dir[] = "/tmp/test-priv.XXXXXX", point[64], command[64];
	struct helper_mount m;
	struct helper *h;
	struct err e;
	int fuse, r;

	if (getuid() != 0 || !caps_have(CAP_SYS_ADMIN) || access("/dev/fuse", R_OK | W_OK) < 0)
		return;
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0); /* no mount of this test is seen outside */
	r = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (r < 0 && errno == EINVAL) { /* a chroot */
		puts("# not tried: the helper; / is not a mount point here, so other namespaces would see the mount");
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(point, sizeof(point), "%s/point", dir);
	ck_assert_int_eq(mkdir(point, 0755), 0);
	ck_assert_int_eq(helper_mount_fill(&m, point, "name", "allow_other,noexec", &e), 0);
	r = helper_start(&h, &m, &keep, &e);
	ck_assert_msg(r == 0, "%s", e.text);
	passes(h, open("/dev/null", O_RDONLY), false);
	ck_assert_int_eq(helper_ask(h, HELPER_UNMOUNT, 0, -1), -EINVAL);
	ck_assert_int_eq(helper_ask(h, HELPER_CLEAR, 0, -1), -EINVAL); /* nothing dead is there */
	fuse = helper_mount(h);
	ck_assert_int_ge(fuse, 0);
	ck_assert_int_eq(helper_mount(h), -EALREADY);
	passes_only_what_is_open(h, dir);
	keeps_no_descriptor(h);
	/* No process serves the mount: a helper that looked at it would wait. */
	ck_assert_int_eq(helper_ask(h, HELPER_CLEAR, 0, -1), -EINVAL);

	/* What stands on top is not its own. */
	ck_assert_int_eq(mount("none", point, "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(helper_ask(h, HELPER_UNMOUNT, 0, -1), -EINVAL);
	ck_assert_int_eq(umount(point), 0);
	ck_assert_int_eq(helper_ask(h, HELPER_UNMOUNT, 0, -1), 0);
	close(fuse);

	/* A message of another size: it ends. */
	ck_assert_int_eq(helper_send(helper_fd(h), point, sizeof(struct helper_ask) + 1, -1),
		sizeof(struct helper_ask) + 1);
	ck_assert_int_eq(helper_ask(h, HELPER_UNMOUNT, 0, -1), -EPIPE);
	helper_free(h);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

UNIT_MAIN("priv", filters, filter_of_root, landlock, helper)
