/* symfs setup: enables the mount, makes the installed debuggers ask it, asks each of them, and takes that back. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/process.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/setup/setup.h"
#include "formats/obj/obj.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define RECORD_MOST (1u << 20)
#define UNIT_MS 120000u
#define CLIENT_MS 120000u
#define FILE_MOST (64u << 20) /* of a program that clients are asked about */
#define OUTPUT_MOST (8u << 20)

/* ---- the unit ------------------------------------------------------------------------ */

/* Runs `systemctl [--user] WORD... symfs.service`. */
static int unit(const struct setup *s, const char *word, const char *option)
{
	const char *argv[6] = {"systemctl"};
	unsigned n = 1;

	if (!s->system)
		argv[n++] = "--user";
	argv[n++] = word;
	if (option)
		argv[n++] = option;
	argv[n] = "symfs.service";
	return process_run(argv, UNIT_MS, NULL);
}

static bool has_manager(const struct setup *s)
{
	const char *argv[] = {"systemctl", s->system ? "show-environment" : "--user",
		s->system ? NULL : "show-environment", NULL};

	return process_run(argv, UNIT_MS, NULL) == 0;
}

static void start_unit(struct setup *s)
{
	const char *user = s->system ? "" : " --user";

	if (!has_manager(s)) {
		printf("by hand  no service manager answers (systemctl%s); start the mount yourself:\n"
		       "\tmkdir -p %s && symfs mount %s\n", user, s->mount, s->mount);
	} else if (unit(s, "is-enabled", "--quiet") == 0 && unit(s, "is-active", "--quiet") == 0) {
		printf("there    symfs.service (systemctl%s): enabled and active\n", user);
	} else if (s->dry) {
		printf("to start symfs.service (systemctl%s enable --now)\n", user);
	} else if (unit(s, "enable", "--now") == 0) {
		printf("started  symfs.service (systemctl%s enable --now)\n", user);
		setup_add_record(s, "unit", "", "symfs.service");
	} else {
		printf("failed   systemctl%s enable --now symfs.service; journalctl%s -u symfs says why\n", user,
			user);
		s->failed = true;
	}
}

static void stop_unit(struct setup *s)
{
	if (!strstr(buf_text(&s->written), "unit\t\tsymfs.service\n"))
		return;
	printf("%s symfs.service\n", s->dry ? "to stop " : "stopped ");
	if (!s->dry && unit(s, "disable", "--now") != 0) {
		printf("failed   systemctl disable --now symfs.service\n");
		s->failed = true;
	}
}

/* ---- --check --------------------------------------------------------------------------- */

/* A client, its question about the FILE, and the words of its output that tell whether it has the debug file. */
static const struct client {
	const char *name, *argv[8];
	const char *has, *lacks; /* NULL: the exit status tells */
} clients[] = {
	{"gdb", {"gdb", "-q", "-ex", "quit", "FILE"}, NULL, "No debugging symbols found"},
	{"lldb", {"lldb", "-b", "-o", "image list -S", "FILE"}, "MOUNT", NULL},
	{"elfutils", {"eu-unstrip", "-n", "-e", "FILE"}, NULL, " - "},
	{"debuginfod-find", {"debuginfod-find", "debuginfo", "FILE"}, NULL, NULL},
};

struct check {
	char dir[64];	  /* for the copy, and for the cache of debuginfod's client */
	char copy[80];	  /* the path of a copy of the file with another build id */
	struct buf bytes; /* the content of the file */
	uint8_t id[64];	  /* its build id of `n` bytes */
	size_t n;
};

static int read_id(struct check *c, const char *path, struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice slice = {.format = NULL};
	uint64_t size = 0;
	struct view v;
	int r = path_open_file(path, &fd, &size, e);

	if (r < 0)
		return r;
	v = view_of_fd(fd, size);
	r = obj_identify(&v, 0, &slice, e);
	c->n = strlen(slice.module.code_id) / 2;
	if (r == 0 && (slice.module.object != OBJECT_ELF || c->n < 8 || c->n > sizeof(c->id)))
		return err_set(e, -ENOMSG, "has no build id");
	return r < 0 ? r : hex_read(slice.module.code_id, 2 * c->n, c->id);
}

/* Whether the mount has the debug file of a program. */
static bool is_there(struct check *c, const struct setup *s, const char *path)
{
	_cleanup_free_ char *file = NULL;
	struct err e = {0};
	char hex[129];

	if (read_id(c, path, &e) < 0)
		return false;
	hex_print(c->id, c->n, hex);
	if (asprintf(&file, "%s/gdb/.build-id/%.2s/%s.debug", s->mount, hex, hex + 2) < 0)
		return false;
	return access(file, R_OK) == 0;
}

/* A library of this process whose debug file the mount has, or NULL. The caller frees the path. */
static char *find_library(struct check *c, const struct setup *s)
{
	_cleanup_free_ char *last = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352], *found = NULL;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (last && strcmp(path, last) == 0)
			continue;
		free(last);
		last = strdup(path);
		if (strstr(path, ".so") && is_there(c, s, path))
			found = strdup(path);
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Writes the copy, with a random build id in every place where the file has its own. */
static int write_copy(struct check *c)
{
	char *at = c->bytes.p;
	uint8_t id[64];

	if (getrandom(id, c->n, 0) != (ssize_t)c->n)
		return -EIO;
	while ((at = memmem(at, c->bytes.n - (size_t)(at - c->bytes.p), c->id, c->n)))
		memcpy(at, id, c->n);
	memcpy(c->id, id, c->n);
	return path_replace(c->copy, 0700, path_fill_buf, &c->bytes);
}

/* Asks for a file. 1: it has symbols, 0: it has none, -1: the client is not installed. */
static int ask(const struct setup *s, const struct client *client, const char *file, uint64_t *ms)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(OUTPUT_MOST);
	const char *argv[ARRAY_SIZE(client->argv) + 1] = {NULL};
	uint64_t begin = clock_ms();
	int status;

	for (unsigned i = 0; client->argv[i]; i++)
		argv[i] = strcmp(client->argv[i], "FILE") == 0 ? file : client->argv[i];
	status = process_run(argv, CLIENT_MS, &out);
	*ms = clock_ms() - begin;
	if (status == 127)
		return -1;
	if (client->has)
		return strstr(buf_text(&out), s->mount) != NULL;
	return client->lacks ? !strstr(buf_text(&out), client->lacks) : status == 0;
}

/* Prints a row. Whether the client is right, or not installed. */
static bool ask_both(const struct setup *s, struct check *c, const struct client *client, const char *file)
{
	uint64_t hit_ms, miss_ms = 0;
	int hit = ask(s, client, file, &hit_ms), miss;

	if (hit < 0) {
		printf("%-16s not installed\n", client->name);
		return true;
	}
	miss = write_copy(c) < 0 ? -1 : ask(s, client, c->copy, &miss_ms);
	printf("%-16s %-6s %6llu %6llu%s\n", client->name, hit ? "yes" : "no", (unsigned long long)hit_ms,
		(unsigned long long)miss_ms, miss == 0 ? "" : "  (it found what does not exist)");
	return hit && miss == 0;
}

static int check_file(const struct setup *s, struct check *c, const char *file)
{
	_cleanup_free_ char *urls = NULL, *bytes = NULL;
	struct err e = {0};
	size_t n = 0;
	bool right = true;
	int r = read_id(c, file, &e);

	if (r == 0)
		r = path_read(AT_FDCWD, file, FILE_MOST, &bytes, &n);
	if (r == 0)
		r = buf_add(&c->bytes, bytes, n);
	if (r < 0 || asprintf(&urls, "file://%s/debuginfod", s->mount) < 0)
		return cmd_say(EXIT_NO, "%s: %s", file, err_why(&e, r));
	/* As in a new login, and without what debuginfod's client remembers. */
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", c->dir, 1);
	printf("%s, and a copy of it with another build id:\n%-16s %-6s %6s %6s\n", file, "client", "found", "ms",
		"miss");
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++)
		right &= ask_both(s, c, &clients[i], file);
	printf("perf and valgrind ask as debuginfod-find does.\n");
	return right ? EXIT_DONE : EXIT_NO;
}

/* Asks each installed client for the debug file of `file`, NULL: of a library of this program whose debug file the
 * mount has, and for one that does not exist. Prints a table. Returns an exit status. */
static int setup_check(const struct setup *s, const char *file)
{
	struct check c = {.dir = "/tmp/symfs-setup.XXXXXX", .bytes = BUF_UP_TO(FILE_MOST)};
	_cleanup_free_ char *found = NULL;
	int status = EXIT_NO;

	if (!mkdtemp(c.dir))
		return cmd_say(EXIT_LOCAL, "/tmp: %s", err_text(-errno));
	snprintf(c.copy, sizeof(c.copy), "%s/copy", c.dir);
	if (!file)
		file = found = find_library(&c, s);
	if (file)
		status = check_file(s, &c, file);
	else
		cmd_say(0, "%s has the debug file of none of this program's libraries; name a program that your "
			"sources know: symfs setup --check FILE; `symfs status %s` shows the sources", s->mount,
			s->mount);
	path_remove_tree(c.dir);
	buf_release(&c.bytes);
	return status;
}

/* ---- the command --------------------------------------------------------------------- */

static char *xdg(const char *variable, const char *home, const char *rest)
{
	const char *value = getenv(variable);
	char *path;

	if (value && value[0] == '/')
		return strdup(value);
	return asprintf(&path, "%s/%s", home, rest) < 0 ? NULL : path;
}

static int find_places(struct setup *s, const char *mount, bool undo)
{
	_cleanup_free_ char *state = NULL;
	const char *home = getenv("HOME"), *run = getenv("XDG_RUNTIME_DIR");
	int n;

	if (!s->system && (!home || home[0] != '/'))
		return cmd_say(-EINVAL, "HOME is not set");
	if (!s->system && !mount && !undo && (!run || run[0] != '/'))
		return cmd_say(-EINVAL, "XDG_RUNTIME_DIR is not set; use --mount DIR");
	s->home = strdup(home ? home : "/");
	s->config = xdg("XDG_CONFIG_HOME", s->home, ".config");
	s->cache = xdg("XDG_CACHE_HOME", s->home, ".cache");
	state = xdg("XDG_STATE_HOME", s->home, ".local/state");
	n = s->system ? asprintf(&s->record, "/var/lib/symfs/setup")
		      : asprintf(&s->record, "%s/symfs/setup", state ? state : "");
	if (n < 0)
		s->record = NULL;
	if (mount)
		s->mount = path_absolute(mount);
	else if (s->system)
		s->mount = strdup("/run/symfs");
	else if (asprintf(&s->mount, "%s/symfs", run ? run : "") < 0)
		s->mount = NULL;
	if (!s->home || !s->config || !s->cache || !state || !s->record || !s->mount)
		return cmd_say(-ENOMEM, "out of memory");
	/* The path becomes part of shell lines, gdb's commands and URLs. */
	if (s->mount[strspn(s->mount, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")])
		return cmd_say(-EINVAL, "%s: a mount for other programs has only letters, digits and /._-+ in its "
			"path", s->mount);
	return 0;
}

static void free_setup(struct setup *s)
{
	free(s->mount);
	free(s->home);
	free(s->config);
	free(s->cache);
	free(s->record);
	buf_release(&s->written);
}

/* Saves the record, or removes it if it is empty. 0, -errno. */
static int setup_save_record(struct setup *s)
{
	if (s->dry)
		return 0;
	if (!s->written.n)
		return unlink(s->record) == 0 || errno == ENOENT ? 0 : -errno;
	return path_replace(s->record, 0600, path_fill_buf, &s->written);
}

static int do_setup(struct setup *s)
{
	setup_write_files(s);
	start_unit(s);
	return setup_save_record(s);
}

static int undo_setup(struct setup *s)
{
	if (!s->written.n)
		printf("nothing to take back: %s does not exist\n", s->record);
	stop_unit(s);
	/* The record's directory can be removed only without it. */
	if (!s->dry)
		unlink(s->record);
	setup_undo_files(s);
	return s->written.n ? setup_save_record(s) : 0;
}

static int run_setup(int argc, char **argv)
{
	struct setup s = {.written = BUF_UP_TO(RECORD_MOST)};
	bool user = false, check = false, undo = false;
	const char *mount = NULL;
	const struct opt own[] = {
		{"user", 0, NULL, "for this user (the default, but for root)", &user},
		{"system", 0, NULL, "for all users", &s.system},
		{"check", 0, NULL, "ask each installed client, and change nothing", &check},
		{"undo", 0, NULL, "take back what was written, and stop the unit", &undo},
		{"dry-run", 'n', NULL, "print what would be done", &s.dry},
		{"mount", 0, "DIR", "the mount, if it is not the unit's", &mount}, {0}};
	struct app_args args;
	int status = app_options(&args, &cmd_setup, own, &argc, argv), r;

	if (status >= 0)
		return status;
	if ((user && s.system) || check + undo > 1 || argc > 1 + check)
		return cmd_usage("%s", user && s.system ? "--user or --system, not both"
			: check + undo > 1 ? "--check or --undo, not both" : "too many words");
	s.system |= !user && getuid() == 0;
	if (s.system && !check && !s.dry && getuid() != 0)
		return cmd_say(EXIT_USAGE, "--system needs root: sudo symfs setup --system");
	if (s.system)
		umask(022); /* all users read what is written */
	r = find_places(&s, mount, undo);
	if (r == 0 && check) {
		status = setup_check(&s, argv[1]);
	} else if (r == 0) {
		r = setup_read_record(&s);
		if (r == 0)
			r = undo ? undo_setup(&s) : do_setup(&s);
		if (r < 0)
			printf("failed   %s: %s\n", s.record, err_text(r));
		if (r == 0 && !undo && !s.dry)
			printf("\nLog in again, or start a new terminal. `symfs setup --check` asks each client.\n");
		status = r < 0 || s.failed ? EXIT_LOCAL : EXIT_DONE;
	} else {
		status = EXIT_USAGE;
	}
	free_setup(&s);
	return status;
}

const struct cmd cmd_setup = {
	.name = "setup",
	.args = "[--system] [--mount DIR] [-n] [--undo | --check [FILE]]",
	.help = "Sets up this machine once: enables the unit that mounts symfs, and makes gdb,\n"
		"lldb, Delve and every client of debuginfod (elfutils, perf, valgrind) ask the\n"
		"mount. Files that exist are kept, and get a few marked lines. --check asks each\n"
		"client for a symbol that exists and one that does not; --undo reverts the setup",
	.examples = {"symfs setup",
		"symfs setup --check /usr/bin/ls"},
	.run = run_setup,
};
