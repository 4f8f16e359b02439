/* Decides which user, capabilities, files and system calls the daemon of a mount keeps, and gives up the
 * rest. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/mount/mounting.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "priv/filter.h"
#include "priv/landlock.h"
#include "priv/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OWN_USER "symfs" /* the daemon runs as this user if it owns the store */

/* The directory that contains an absolute path. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, (size_t)MAX(slash - path, 1));
}

/* ---- which user --------------------------------------------------------------------- */

static void become(struct rights *r, const struct passwd *pw)
{
	snprintf(r->user, sizeof(r->user), "%s", pw->pw_name);
	r->keep.user = r->user;
	r->keep.uid = pw->pw_uid;
	r->keep.gid = pw->pw_gid;
}

/* Creates the directory of a store for a user. Missing parents get mode 0755, so that the user can reach
 * the store. Does not follow a link that another user puts there meanwhile. */
static int make_owned(const char *dir, const struct passwd *pw)
{
	_cleanup_free_ char *whole = path_absolute(dir);
	_cleanup_free_ char *parent = whole ? parent_of(whole) : NULL;
	_cleanup_close_ int fd = -1;
	int r = parent ? path_mkdirs(parent, 0755) : -ENOMEM;

	if (r < 0)
		return r;
	if (mkdir(whole, 0700) < 0)
		return -errno;
	fd = open(whole, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fchown(fd, pw->pw_uid, pw->pw_gid) < 0 ? -errno : 0;
}

/* Creates a missing store, which then belongs to the user of the daemon. Does not change an existing store:
 * store_open() reports a store of another user. */
static int make_store(const char *dir, const struct passwd *pw, struct err *e)
{
	struct stat st;
	int r;

	if (lstat(dir, &st) == 0)
		return 0;
	r = make_owned(dir, pw);
	return r < 0 ? err_set(e, r, "%s: cannot be made for user %s: %s", dir, pw->pw_name, err_text(r)) : 0;
}

static int become_named(struct rights *r, const struct settings *s, struct err *e)
{
	const struct passwd *pw = getpwnam(s->run_as);

	if (!pw)
		return err_set(e, -EINVAL, "run-as = %.60s: no such user", s->run_as);
	if (pw->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return err_set(e, -EPERM, "run-as = %.60s: only root can become another user", s->run_as);
	become(r, pw);
	return make_store(s->cache_dir, pw, e);
}

static void become_owner(struct rights *r, const struct settings *s)
{
	const struct passwd *pw = geteuid() == 0 ? getpwnam(OWN_USER) : NULL;
	struct stat st;

	if (pw && pw->pw_uid != 0 && stat(s->cache_dir, &st) == 0 && st.st_uid == pw->pw_uid)
		become(r, pw);
}

int rights_choose(struct rights *r, const struct settings *s, bool helped, struct err *e)
{
	int result = 0;

	memset(r, 0, sizeof(*r));
	r->admin = caps_have(CAP_SYS_ADMIN);
	r->drop = r->admin || helped;
	r->keep.uid = geteuid();
	r->keep.gid = getegid();
	r->keep.read_all = s->read_all && caps_have(CAP_DAC_READ_SEARCH);
	if (s->read_all && !r->keep.read_all)
		log_warn("read-all = yes: this process was not given CAP_DAC_READ_SEARCH; "
			 "it reads what its user may");
	if (s->run_as)
		result = become_named(r, s, e);
	else if (r->admin)
		become_owner(r, s);
	return result;
}

/* ---- Landlock ----------------------------------------------------------------------- */

/* Directories in / that the daemon may not read: they have files of other users, devices, files of the boot
 * loader. */
static const char *const private[] = {"root", "home", "boot", "dev", "lost+found"};

/* Whether a path is one of the private directories, or lies in one. */
static bool is_below_private(const char *path)
{
	for (unsigned i = 0; path[0] == '/' && i < ARRAY_SIZE(private); i++) {
		size_t n = strlen(private[i]);

		if (strncmp(path + 1, private[i], n) == 0 && (path[n + 1] == '/' || !path[n + 1]))
			return true;
	}
	return false;
}

/* Allows only these devices. Other devices are terminals, and disks, from which a daemon of root could read any
 * file. */
static int allow_devices(struct landlock *l)
{
	static const char *const devices[] = {"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"};
	int r = landlock_allow(l, "/dev/null", LANDLOCK_WRITE); /* used for the standard streams of workers */

	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
		r = landlock_allow(l, devices[i], LANDLOCK_READ);
	return r;
}

/* Allows reading all files outside the private directories: sources can have links to anywhere, and libraries
 * read many files. */
static int allow_tree(struct landlock *l)
{
	DIR *d = opendir("/");
	struct dirent *entry;
	char path[300];
	int r = allow_devices(l);

	if (!d)
		return -errno;
	while (r == 0 && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "/%s", entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !is_below_private(path))
			r = landlock_allow(l, path, LANDLOCK_READ);
	}
	closedir(d);
	return r;
}

/* The state of a search for the mount that contains a path. The search only compares names, and does not access the
 * mount. */
struct holder {
	const char *path;
	size_t longest; /* length of the mount point */
	bool far;	/* the mount is a network file system or FUSE */
};

static int note_holder(void *ctx, const struct mount_row *m)
{
	static const char *const far[] = {"fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "autofs"};
	struct holder *h = ctx;
	size_t n = strlen(m->point);

	if (strncmp(h->path, m->point, n) != 0 || n < h->longest ||
		(n > 1 && h->path[n] != '/' && h->path[n] != '\0'))
		return 0;
	h->longest = n;
	h->far = false;
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++)
		h->far = h->far || strncmp(m->type, far[i], strlen(far[i])) == 0;
	return 0;
}

/* Whether the path is on a network file system or FUSE: such a directory may never answer, and an access to it would
 * block the mount. */
static bool may_hang(const char *path)
{
	struct holder h = {.path = path};

	mounts_each(note_holder, &h);
	return h.far;
}

/* Allows reading the path. Does nothing if `path` is NULL. */
static int allow_read(struct landlock *l, const char *path)
{
	return path ? landlock_allow(l, path, LANDLOCK_READ) : 0;
}

static int allow_ptr_map(struct landlock *l, char *const *map)
{
	int r = 0;

	for (; r == 0 && map && *map; map++)
		r = allow_read(l, strchr(*map, '=') ? strchr(*map, '=') + 1 : NULL);
	return r;
}

static int allow_source(struct landlock *l, const struct source *s)
{
	const char *const files[] = {s->o.ca_file, s->o.cert, s->o.key, s->o.netrc};
	bool look = s->kind->local && (is_below_private(s->shown) || !may_hang(s->shown));
	int r = look ? allow_read(l, s->shown) : 0;
	struct source_root root;

	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		r = allow_read(l, files[i]);
	for (unsigned i = 1; r == 0 && source_scans(s) && source_root(s, i, &root); i++)
		r = allow_read(l, root.dir);
	return r == 0 ? allow_ptr_map(l, s->o.ptr_map) : r;
}

/* Whether a directory usually also contains other files of root. */
static bool is_shared(const char *dir)
{
	static const char *const shared[] = {"/var/cache", "/var/lib", "/var/tmp", "/var/log", "/usr/local",
		"/dev/shm"};
	const char *home = getenv("HOME");

	/* directories such as "/", "/root", "/tmp" */
	if (strrchr(dir, '/') == dir || (home && strcmp(dir, home) == 0))
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(shared); i++)
		if (strcmp(dir, shared[i]) == 0)
			return true;
	return false;
}

/* Allows the directory of the file, because editors replace a file by a new one. If is_shared() is true for the
 * directory, allows only the file. */
static int allow_config_file(struct landlock *l, const char *path)
{
	_cleanup_free_ char *whole = path_absolute(path);
	_cleanup_free_ char *dir = whole ? parent_of(whole) : NULL;

	if (!dir)
		return -ENOMEM;
	return allow_read(l, is_shared(dir) ? whole : dir);
}

/* Allows the directories of the user's configuration, because a file can be new at the next SIGHUP. */
static int allow_configuration(struct landlock *l, const struct app_args *a)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	static const char *const below[] = {".config/symfs", ".aws"};
	char path[PATH_MAX];
	int r = a->config ? allow_config_file(l, a->config) : 0;

	for (unsigned i = 0; r == 0 && home && i < ARRAY_SIZE(below); i++) {
		snprintf(path, sizeof(path), "%s/%s", home, below[i]);
		r = allow_read(l, path);
	}
	snprintf(path, sizeof(path), "%s/symfs", xdg ? xdg : "");
	return r == 0 && xdg ? allow_read(l, path) : r;
}

/* Allows the store. Also allows the store's parent, in which a removed store is created again, unless is_shared()
 * is true for the parent. */
static int allow_store(struct landlock *l, const char *dir)
{
	_cleanup_free_ char *whole = path_absolute(dir);
	_cleanup_free_ char *parent = whole ? parent_of(whole) : NULL;
	int r;

	if (!parent)
		return -ENOMEM;
	path_mkdirs(whole, 0700); /* store_open() reports errors */
	r = landlock_allow(l, whole, LANDLOCK_WRITE);
	return r < 0 || is_shared(parent) ? r : landlock_allow(l, parent, LANDLOCK_WRITE);
}

/* Allows the directory of the log, because a rotated log is created again. In / and in the directories in /,
 * allows only the log itself. */
static int allow_log(struct landlock *l, const char *path)
{
	_cleanup_free_ char *dir = parent_of(path);

	if (!dir)
		return -ENOMEM;
	return landlock_allow(l, strrchr(dir, '/') == dir ? path : dir, LANDLOCK_LOG);
}

static int allow_socket(struct landlock *l, const char *path)
{
	_cleanup_free_ char *whole = path_absolute(path);
	_cleanup_free_ char *dir = whole ? parent_of(whole) : NULL;

	if (!dir)
		return -ENOMEM;
	return strcmp(dir, "/") == 0 ? 0 : landlock_allow(l, dir, LANDLOCK_REMOVE);
}

static int allow_writes(struct landlock *l, const struct rights_writes *writes)
{
	int r = writes->log_path ? allow_log(l, writes->log_path) : 0;

	return r == 0 && writes->socket_path ? allow_socket(l, writes->socket_path) : r;
}

static int allow_program(void *ctx, int dir, const char *path)
{
	return landlock_allow_at(ctx, dir, path, LANDLOCK_READ);
}

static int allow_all(struct landlock *l, const struct app *app, const struct rights_writes *writes)
{
	int r = allow_tree(l);

	if (r == 0)
		r = allow_configuration(l, &app->args);
	for (unsigned i = 0; r == 0 && i < app->prepared->n; i++)
		r = allow_source(l, app->prepared->list[i]);
	if (r == 0)
		r = allow_store(l, app->settings.cache_dir);
	return r == 0 ? allow_writes(l, writes) : r;
}

/* Refuses system calls that give access to root's files in spite of Landlock. Such calls make sockets to services
 * that obey root, or set file modes that give other users access. */
static void refuse_calls(void)
{
	int r = filter_set_for_root();

	if (r < 0)
		log_warn("the daemon runs as root without a system-call filter, which cannot be set here: %s; "
			 "run-as = USER gives the daemon its own user", err_text(r));
}

/* Removes the access to root's other files from a daemon that stays root. */
static int close_files(const struct app *app, const struct rights_writes *writes, struct err *e)
{
	struct landlock l;
	int r = landlock_new(&l);

	if (r == -ENOTSUP) {
		log_warn("the daemon runs as root and can write root's files: this kernel has no Landlock; "
			 "run-as = USER gives the daemon its own user");
		return 0;
	}
	if (r == 0)
		r = allow_all(&l, app, writes);
	r = r < 0 ? err_set(e, r, "Landlock: %s", err_text(r)) : worker_check(allow_program, &l, e);
	if (r == 0 && (r = landlock_apply(&l)) < 0)
		err_set(e, r, "Landlock: %s", err_text(r));
	landlock_release(&l);
	return r;
}

/* ---- giving up ---------------------------------------------------------------------- */

/* Whether the directory that a variable names has a configuration of symfs. */
static bool has_configuration(const char *variable, const char *name)
{
	const char *dir = getenv(variable);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", name);
	return dir && access(path, F_OK) == 0;
}

/* Unsets the variables with root's home directory, unless it has a configuration. Another user usually cannot
 * enter the directory: at each reload, even files that do not exist there would give EACCES, and the reload
 * would fail. */
static void leave_home(void)
{
	if (has_configuration("XDG_CONFIG_HOME", "symfs") || has_configuration("HOME", ".config/symfs") ||
		has_configuration("HOME", ".aws"))
		return;
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
}

int rights_give_up(const struct rights *r, const struct app *app, const struct rights_writes *writes,
	struct err *e)
{
	int result;

	if (!r->drop)
		return 0;
	/* SQLite writes large sorts to files, by default where the daemon may no longer write. */
	setenv("SQLITE_TMPDIR", app->settings.cache_dir, 0);
	if (r->keep.user)
		leave_home();
	worker_keep_open();
	result = caps_give_up(&r->keep, e);
	if (result < 0 || r->keep.uid != 0)
		return result;
	refuse_calls();
	return close_files(app, writes, e);
}

/* The arguments of the thread that checks whether the daemon can read directory sources. */
struct look {
	struct sources *so;
	char daemon[96]; /* the name of the daemon in messages */
	const char *way_out;
};

static void look_at(const struct look *l, const struct source *s)
{
	int fd = s->kind->local ? open(s->shown, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd >= 0)
		close(fd);
	else if (s->kind->local && (errno == EACCES || errno == EPERM))
		log_warn("source %s: the daemon, %s, cannot read %s: %s", s->name, l->daemon, s->shown, l->way_out);
}

static void *look_main(void *arg)
{
	struct look *l = arg;

	for (unsigned i = 0; i < l->so->n; i++)
		look_at(l, l->so->list[i]);
	sources_unref(l->so);
	free(l);
	return NULL;
}

/* Runs on its own thread, for which no caller waits: a directory may never answer. */
void rights_check(const struct rights *r, struct app *app)
{
	struct look *l = r->drop ? calloc(1, sizeof(*l)) : NULL;
	pthread_t thread;
	struct err e;

	if (!l || app_sources(app, &l->so, &e) < 0) {
		free(l);
		return;
	}
	if (r->user[0])
		snprintf(l->daemon, sizeof(l->daemon), "user %s", r->user);
	else
		snprintf(l->daemon, sizeof(l->daemon), "which gave up its rights when it started");
	l->way_out = r->keep.uid == 0 ? "restart it, with read-all = yes if another user owns the directory"
				      : "give that user access, or set read-all = yes";
	if (pthread_create(&thread, NULL, look_main, l) == 0)
		pthread_detach(thread);
	else
		look_main(l);
}
