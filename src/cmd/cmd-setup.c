/* symfs setup: enables the mount, makes the installed debuggers ask it, and takes that back. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/process.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/setup.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RECORD_MOST (1u << 20)
#define UNIT_MS 120000u
#define SYSTEM_CONF SYSCONFDIR "/symfs/symfs.conf"

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

/* ---- the configuration --------------------------------------------------------------- */

/* Writes a first configuration if there is none. The daemon of all users reads it as the group symfs. */
static void write_conf(struct setup *s)
{
	_cleanup_free_ char *own = NULL, *dir = NULL;
	const char *path = s->system ? SYSTEM_CONF : own;
	char *argv[] = {(char[]){"init"}, (char[]){"-o"}, NULL, NULL};
	const struct group *group;
	char *slash;

	if (!s->system && asprintf(&own, "%s/symfs/symfs.conf", s->config) < 0)
		return;
	path = s->system ? SYSTEM_CONF : own;
	if (access(path, F_OK) == 0) {
		printf("there    %s\n", path);
		return;
	}
	if (s->dry) {
		printf("to write %s (symfs init)\n", path);
		return;
	}
	dir = strdup(path);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = '\0';
	argv[2] = (char *)path;
	if (!slash || setup_make_dirs(s, dir) < 0 || cmd_init.run(3, argv) != EXIT_DONE) {
		printf("failed   %s\n", path);
		s->failed = true;
		return;
	}
	group = s->system ? getgrnam("symfs") : NULL;
	if (group && (chown(path, (uid_t)-1, group->gr_gid) < 0 || chmod(path, 0640) < 0))
		s->failed = true;
	setup_record_file(s, path);
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

static int do_setup(struct setup *s)
{
	_cleanup_free_ char *dir = strdup(s->record);

	if (!s->dry && dir) {
		*strrchr(dir, '/') = '\0';
		if (setup_make_dirs(s, dir) < 0)
			printf("failed   %s\n", dir);
	}
	write_conf(s);
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
		"client for a symbol that exists and one that does not; --undo takes all back",
	.examples = {"symfs setup",
		"symfs setup --check /usr/bin/ls"},
	.run = run_setup,
};
