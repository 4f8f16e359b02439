/* symfs mount: starts the daemon in the background, and returns when the mount answers. With -f, the
 * process is the daemon itself, as a systemd service of Type=notify requires. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/process.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/mount/mounting.h"
#include "source/source.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Parses the option -o of symfs mount. Its words are options for libfuse, for symfs, and of mount(8) and fstab. */

/* Options for libfuse or the kernel, passed on unchanged. */
static const char *const passed[] = {"allow_other", "allow_root", "auto_unmount", "nonempty",
	"default_permissions", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "atime",
	"noatime"};

/* Options of mount(8), fstab and systemd that have no effect on symfs. */
static const char *const ignored[] = {"ro", "rw", "defaults", "auto", "noauto", "user", "nouser",
	"users", "nousers", "owner", "group", "_netdev", "nofail", "relatime"};

static bool is_in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static bool take_id(const char *value, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || n >= UINT_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

static int option_take_pair(struct mounting *m, const char *key, const char *value, struct err *e)
{
	struct app_args *a = &m->args;

	if (strcmp(key, "uid") == 0 || strcmp(key, "gid") == 0)
		return take_id(value, *key == 'u' ? &m->fs_opts.uid : &m->fs_opts.gid) ? 0 :
			err_set(e, -EINVAL, "-o %s=%s: not a number", key, value);
	if (strcmp(key, "config") == 0) {
		a->config = value;
		return 0;
	}
	if (strcmp(key, "log-file") == 0 || strcmp(key, "log_file") == 0) {
		m->log_word = value;
		return 0;
	}
	if (strcmp(key, "source") == 0) {
		if (a->n_sources == APP_SOURCES_MOST)
			return err_set(e, -EINVAL, "-o source: more than %d", APP_SOURCES_MOST);
		a->sources[a->n_sources++] = value;
		a->sources_later = true;
		return 0;
	}
	return app_set(a, key, value, e);
}

/* Reports an unknown option. A word with an @ can be the rest of a URL whose password has a comma. */
static int option_unknown(const char *word, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	bool rest = strchr(word, '@') != NULL;

	url_for_message(word, &shown);
	return err_set(e, -EINVAL, "no such option: -o %.*s%s",
		(int)(rest ? shown.n : strcspn(word, "=") + 1), buf_text(&shown),
		rest ? " (in a password, a comma is %2C)" : "");
}

/* Takes an option. `word` must live as long as `m`, because `m` can keep pointers into `word`. */
static int option_take(struct mounting *m, char *word, struct err *e)
{
	char *equals = strchr(word, '=');
	int r;

	if (!*word || is_in(ignored, ARRAY_SIZE(ignored), word) ||
		strncasecmp(word, "x-", 2) == 0 || strncmp(word, "comment=", 8) == 0 ||
		strncmp(word, "user=", 5) == 0)
		return 0;
	if (is_in(passed, ARRAY_SIZE(passed), word))
		return buf_addf(&m->options, "%s%s", m->options.n ? "," : "", word);
	if (strcmp(word, "exact_size") == 0)
		m->fs_opts.exact_size = true;
	else if (strcmp(word, "no_passthrough") == 0)
		m->fs_opts.no_passthrough = true;
	else if (strcmp(word, "offline") == 0)
		m->args.offline = true;
	else if (strcmp(word, "no-default-sources") == 0 || strcmp(word, "no_default_sources") == 0)
		m->args.no_default_sources = true;
	else if (!equals)
		return option_unknown(word, e);
	if (!equals)
		return 0;
	*equals = '\0';
	r = option_take_pair(m, word, equals + 1, e);
	*equals = '=';
	return r == -ENOENT ? option_unknown(word, e) : r;
}

/* Parses the options of the list into `m`, and modifies the list. 0, -EINVAL, -ENOMEM; `e` has the reason. */
static int mount_options_parse(struct mounting *m, char *list, struct err *e)
{
	char *word;
	int r = 0;

	while (r == 0 && list && (word = strsep(&list, ",")))
		r = option_take(m, word, e);
	return r;
}

/* The function `offer` of the command: completes the last word of OPTS. */
static bool mount_options_offer(const char *noun, const char *typed)
{
	static const char *const words[] = {
		"allow_other", "ro", "uid=", "gid=", "exact_size", "no_passthrough", "source=", "log_file="};
	const char *comma = strrchr(typed, ',');
	int n = comma ? (int)(comma - typed) + 1 : 0;

	if (strcmp(noun, "OPTS") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		printf("%.*s%s\t\n", n, typed, words[i]);
	for (const struct conf_field *f = settings_fields; f->name; f++)
		printf("%.*s%s=\t%s\n", n, typed, f->name, f->help);
	return true;
}

/* Takes each `-o LIST` out of argv and joins the lists in `list`. 0, -ENOMEM, -EFBIG. */
static int mount_options_collect(int *argc, char **argv, struct buf *list)
{
	int n = 1, r = 0;

	for (int i = 1; r == 0 && i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			while (i < *argc)
				argv[n++] = argv[i++];
		} else if (strncmp(argv[i], "-o", 2) == 0 && (argv[i][2] || i + 1 < *argc)) {
			const char *words = argv[i][2] ? argv[i] + 2 : argv[++i];

			r = buf_addf(list, "%s%s", list->n ? "," : "", words);
		} else {
			argv[n++] = argv[i];
		}
	}
	argv[n] = NULL;
	*argc = n;
	return r;
}

#define DAEMON_MS 300000 /* time for the start of the daemon, of which fusermount3 may take a tenth */

/* ---- the background ----------------------------------------------------------------- */

/* Ends a daemon that hangs, and prints so. */
static int give_up(pid_t pid, const char *point, unsigned ms)
{
	int status;

	process_wait(pid, 0, &status);
	return cmd_say(EXIT_LOCAL, "%s: the daemon, process %d, did not mount within %u s and was ended; -f shows "
		"its messages", point, (int)pid, ms / 1000);
}

/* Waits for the daemon. The daemon writes a byte when the mount answers, and stat() confirms it. If the pipe ends
 * without a byte, the daemon has ended, and has printed why. */
static int wait_for_daemon(pid_t pid, int from, const char *point, unsigned ms)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	struct stat st;
	int status, ready;
	ssize_t n;
	char c;

	do
		ready = poll(&p, 1, (int)ms);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return give_up(pid, point, ms);
	n = read(from, &c, 1);
	if (n == 1 && stat(point, &st) < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", point, err_text(errno));
	if (n == 1)
		return EXIT_DONE;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_LOCAL;
	return cmd_say(EXIT_LOCAL, "the daemon ended by signal %d", WTERMSIG(status));
}

/* Closes the inherited descriptors except for the standard streams. A descriptor of a file in this mount would
 * keep the mount from being unmounted. */
static void close_inherited(int keep)
{
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, UINT_MAX, 0);
}

/* Forks before threads, transfers and SQLite exist: they do not survive a fork. */
static int run_background(struct mounting *m)
{
	unsigned ms = (unsigned)clock_limit("SYMFS_TEST_MOUNT_MS", DAEMON_MS);
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = process_fork()) < 0)
		return cmd_say(EXIT_LOCAL, "%s", err_text(errno));
	if (pid > 0) {
		close(ends[1]);
		return wait_for_daemon(pid, ends[0], m->fs_opts.mountpoint, ms);
	}
	close(ends[0]);
	m->up = ends[1];
	m->fs_opts.mount_ms = ms / 10;
	close_inherited(m->up);
	setsid();
	return mount_daemon(m);
}

/* ---- the command -------------------------------------------------------------------- */

/* SRC is the first source when it is a URL or an absolute path; any other word is a name for the mount
 * table, which every user can read. */
static int mount_take_source(struct mounting *m, const char *word, struct err *e)
{
	struct app_args *a = &m->args;
	bool url = strstr(word, "://") != NULL;

	m->fs_opts.source = word;
	if (!url && url_is_meant(word))
		return url_for_message(word, &m->shown) < 0 ? -ENOMEM :
			err_set(e, -EINVAL, "%.100s: expected :// after http or https", buf_text(&m->shown));
	if (!url && word[0] != '/')
		return 0;
	if (a->n_sources == APP_SOURCES_MOST)
		return err_set(e, -EINVAL, "more than %d sources", APP_SOURCES_MOST);
	memmove(a->sources + 1, a->sources, a->n_sources++ * sizeof(*a->sources));
	a->sources[0] = word;
	a->sources_later = true;
	if (!url)
		return 0;
	if (url_for_message(word, &m->shown) < 0)
		return err_set(e, -EINVAL, "the source is longer than 8191 bytes");
	m->fs_opts.source = buf_text(&m->shown);
	return 0;
}

/* Takes the operands: DIR, or SRC and DIR, which mount(8) passes. */
static int mount_take_words(struct mounting *m, int argc, char **argv, char **point, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	int r;

	if (argc != 2 && argc != 3)
		return err_set(e, -EINVAL, "expected one directory; try: symfs mount --help");
	r = argc == 3 ? mount_take_source(m, argv[1], e) : 0;
	if (r < 0)
		return r;
	r = fs_point(argv[argc - 1], point);
	if (r < 0)
		return err_set(e, r, "%s: %s",
			url_for_message(argv[argc - 1], &shown) == 0 ? buf_text(&shown) : "", err_text(r));
	m->fs_opts.mountpoint = *point;
	return 0;
}

static int mount_run(struct mounting *m, int argc, char **argv, char *list)
{
	_cleanup_free_ char *point = NULL;
	struct err e = {0};
	int r = mount_options_parse(m, list, &e);

	if (r == 0)
		r = mount_take_words(m, argc, argv, &point, &e);
	if (r < 0)
		return cmd_say(r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL, "%s", e.text);
	m->log_path = m->log_word ? path_absolute(m->log_word) : NULL;
	if (m->log_word && !m->log_path)
		return EXIT_LOCAL;
	m->hup_ends = m->foreground && serving_hup_ends();
	return m->foreground ? mount_daemon(m) : run_background(m);
}

/* Whether stderr leads to the journal. JOURNAL_STREAM is "DEV:INO" of the stream that systemd opened; a
 * process with another stderr can inherit the variable. */
static bool stderr_is_journal(const char *stream)
{
	char here[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(here, sizeof(here), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	return strcmp(here, stream) == 0;
}

static int run_mount(int argc, char **argv)
{
	struct mounting m = {.up = -1, .log_fd = -1, .notify = -1, .options = BUF_UP_TO(8192),
		.shown = BUF_UP_TO(8192), .fs_opts = {.uid = getuid(), .gid = getgid()}};
	_cleanup_buf_ struct buf list = BUF_UP_TO(64 << 10);
	const char *late = NULL; /* the LIST of `-fo LIST` or `--options LIST` */
	const struct opt own[] = {
		{"foreground", 'f', NULL, "stay in the foreground", &m.foreground},
		{"options", 'o', "OPTS", "allow_other, exact_size, uid=N, source=S, ...",
			&late},
		{"serve", 0, "WHERE", "also serve over HTTP, as symfs serve --listen", &m.serving.listen},
		{"log-file", 0, "FILE", "append messages to FILE; SIGHUP reopens it", &m.log_word},
		{"mount-helper", 0, "SOCKET", "let `symfs mount-helper` at SOCKET mount", &m.helper_socket},
		{0},
	};
	int r;

	if (mount_options_collect(&argc, argv, &list) < 0)
		return cmd_say(EXIT_USAGE, "-o is too long");
	r = app_options(&m.args, &cmd_mount, own, &argc, argv);
	if (r >= 0)
		return r;
	if (late && buf_addf(&list, ",%s", late) < 0)
		return EXIT_USAGE;
	serving_prepare(&m.serving, &m.args);
	log_open("symfs mount", stderr_is_journal(getenv("JOURNAL_STREAM")));
	m.watchdog_ms = notify_watchdog_ms(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	m.cwd = path_absolute(".");
	r = m.cwd ? mount_run(&m, argc, argv, list.p) : EXIT_LOCAL;
	buf_release(&m.options);
	buf_release(&m.shown);
	free(m.cwd);
	free(m.log_path);
	return r;
}

const struct cmd cmd_mount = {
	.name = "mount",
	.args = "[-f] [-o OPTS] [--serve WHERE] DIR",
	.help = "Mounts at DIR and returns when the mount answers; the daemon continues in the\n"
		"background",
	.examples = {"symfs mount --source debian ~/symbols",
		"symfs mount -f -o allow_other,exact_size /run/symfs"},
	.configured = true,
	.offer = mount_options_offer,
	.run = run_mount,
};
