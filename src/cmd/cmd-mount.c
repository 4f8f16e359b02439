/* symfs mount: the daemon. In the background by default, and then only after the mount answers;
 * with -f it stays, as a systemd service of Type=notify wants it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/notify.h"
#include "cmd/rights.h"
#include "cmd/serving.h"
#include "fetch/fetch.h"
#include "fs/fs.h"
#include "fs/helper.h"
#include "http/http.h"
#include "source/source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct mounting {
	/* what was asked for */
	struct app_args args;
	struct fs_opts fs_opts;
	struct serving serving;
	bool foreground, hup_ends;
	const char *log_word; /* --log-file; NULL */
	char *log_path;	      /* the same, absolute */
	struct buf options; /* for libfuse */
	struct buf shown;   /* SRC without a password */
	char *cwd;	    /* where relative words of the command line count from */
	int notify;	    /* NOTIFY_SOCKET; -1 */
	unsigned watchdog_ms;

	const char *helper_socket; /* --mount-helper; NULL */

	/* the daemon */
	struct app app;
	struct rights rights;
	struct helper *helper; /* NULL: fusermount3 mounts */
	struct fs *fs;
	struct http *http; /* NULL: nobody is served */
	sigset_t signals;
	pthread_t listener;
	int up; /* a byte goes here when the mount answers; -1 */
	int log_fd; /* of log_path, until the mount answers; -1 */
	atomic_bool over;
};

/* ---- -o ----------------------------------------------------------------------------- */

/* What libfuse or the kernel takes as it is. */
static const char *const passed[] = {"allow_other", "allow_root", "auto_unmount", "nonempty",
	"default_permissions", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "atime",
	"noatime"};

/* What mount(8), fstab and systemd write beside it. */
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

static int take_pair(struct mounting *m, const char *key, const char *value, struct err *e)
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
		return 0;
	}
	return app_set(a, key, value, e);
}

/* What holds an @ may be the rest of a URL whose password has a comma. */
static int unknown_option(const char *word, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	bool rest = strchr(word, '@') != NULL;

	url_for_message(word, &shown);
	return err_set(e, -EINVAL, "no such option: -o %.*s%s",
		(int)(rest ? shown.n : strcspn(word, "=") + 1), buf_text(&shown),
		rest ? " (in a password, a comma is %2C)" : "");
}

/* `word` stays alive as long as `m`. */
static int take_word(struct mounting *m, char *word, struct err *e)
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
		return unknown_option(word, e);
	if (!equals)
		return 0;
	*equals = '\0';
	r = take_pair(m, word, equals + 1, e);
	*equals = '=';
	return r == -ENOENT ? unknown_option(word, e) : r;
}

static int take_options(struct mounting *m, char *list, struct err *e)
{
	char *word;
	int r = 0;

	while (r == 0 && list && (word = strsep(&list, ",")))
		r = take_word(m, word, e);
	return r;
}

/* Each `-o LIST` may stand by itself: they become one, and leave argv. */
static int collect_options(int *argc, char **argv, struct buf *list)
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

/* ---- the daemon --------------------------------------------------------------------- */

/* The kernel and the loop have met: who waits for the mount may go on. */
static void mount_is_up(void *ctx)
{
	struct mounting *m = ctx;
	char text[64];

	snprintf(text, sizeof(text), "READY=1\nMAINPID=%d", (int)getpid());
	notify_send(m->notify, text);
	/* Nobody waits any more: Ctrl-C during the start. */
	if (m->up >= 0 && write(m->up, "u", 1) != 1)
		kill(getpid(), SIGTERM);
}

/* Says where messages go from now on, while the caller still listens. */
static void say_where(const struct mounting *m, const char *to, const char *more)
{
	fprintf(stderr, "symfs mount: %s: %s%s\n", m->fs_opts.mountpoint, to, more);
}

static void start_log(struct mounting *m)
{
	say_where(m, "logs to ", m->log_path);
	log_to_file(m->log_fd);
	close(take_fd(&m->log_fd));
}

static void start_syslog(const struct mounting *m, int null)
{
	if (log_to_syslog())
		say_where(m, "logs to syslog", "");
	else
		say_where(m, "logs nothing: no syslog listens at /dev/log",
			"; --log-file FILE keeps the messages");
	dup2(null, STDERR_FILENO);
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Lets go of the terminal and of pipes that their readers read to the end. A file that the caller
 * put on stderr stays there. */
static void detach_streams(struct mounting *m)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	if (m->log_fd >= 0)
		start_log(m);
	else if (!is_regular(STDERR_FILENO))
		start_syslog(m, null);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

static void foreground_is_up(void *ctx)
{
	struct mounting *m = ctx;

	if (m->log_fd >= 0)
		start_log(m);
	mount_is_up(m);
}

static void background_is_up(void *ctx)
{
	detach_streams(ctx);
	mount_is_up(ctx);
}

/* Configuration is read again with the rights that are left. */
static const char *why_unread(const struct mounting *m, int code)
{
	if (code != -EACCES || !m->rights.drop)
		return "";
	return m->rights.user[0] ? " (the daemon runs as the user of run-as or of the store, who must be able to "
				   "read it)"
				 : " (the daemon gave up its rights at the start; start it anew)";
}

static void reload(struct mounting *m)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(1 << 20);
	struct err e = {0};
	int r;

	notify_reloading(m->notify);
	if (m->log_path && log_reopen_file(m->log_path, &e) < 0)
		log_error("%s", e.text);
	if (chdir(m->cwd) < 0)
		log_warn("%s: %s", m->cwd, err_text(errno));
	r = app_reload(&m->app, &e);
	if (r < 0)
		log_error("nothing reloaded: %s%s", e.text, why_unread(m, e.code));
	else if (app_config_text(&m->app, &text) == 0 &&
		 fs_set_config_text(m->fs, buf_text(&text)) == 0)
		log_info("configuration reloaded");
	if (r == 0)
		rights_check(&m->rights, &m->app);
	if (!m->foreground && chdir("/") < 0)
		log_warn("/: %s", err_text(errno));
	notify_send(m->notify, "READY=1");
}

/* The only thread that takes signals; it also tells the watchdog. */
static void *listen_main(void *arg)
{
	struct mounting *m = arg;
	struct timespec pause = {.tv_sec = m->watchdog_ms / 1000,
		.tv_nsec = m->watchdog_ms % 1000 * 1000000};
	int sig;

	for (;;) {
		sig = m->watchdog_ms ? sigtimedwait(&m->signals, NULL, &pause)
				     : sigwaitinfo(&m->signals, NULL);
		if (atomic_load(&m->over))
			return NULL;
		if (sig == SIGHUP && !m->hup_ends) {
			reload(m);
		} else if (sig > 0) {
			log_debug(LOG_FS, "signal %d: ending", sig);
			notify_send(m->notify, "STOPPING=1");
			fs_stop(m->fs);
		} else if (sig < 0 && errno == EAGAIN && fs_alive(m->fs)) {
			notify_send(m->notify, "WATCHDOG=1");
		}
	}
}

/* ---- rights ------------------------------------------------------------------------- */

/* Without the right to mount, and without a helper that listens, fusermount3 is asked. */
static int start_helper(struct mounting *m, struct err *e)
{
	struct caps_keep keep = m->rights.keep;
	struct helper_mount what;
	int r;

	if (m->helper_socket)
		return helper_connect(&m->helper, m->helper_socket, e);
	if (!m->rights.admin)
		return 0;
	r = helper_mount_fill(&what, m->fs_opts.mountpoint, m->fs_opts.source,
		m->options.n ? buf_text(&m->options) : "", e);
	what.daemon = keep.uid;
	keep.admin = true;
	keep.read_all = false;
	return r == 0 ? helper_start(&m->helper, &what, &keep, e) : r;
}

/* From here on the process has what the daemon needs, and no more. */
static int give_up_rights(struct mounting *m, struct err *e)
{
	const char *listen = m->serving.listen;
	bool local = listen && strncmp(listen, "unix:", 5) == 0;
	const struct rights_writes writes = {m->log_path, local ? listen + 5 : NULL};

	return rights_give_up(&m->rights, &m->app, &writes, e);
}

/* All that takes more rights than the daemon keeps, before there are threads. */
static int prepare(struct mounting *m, struct err *e)
{
	int r = m->log_path ? log_open_file(m->log_path, &m->log_fd, e) : 0;

	m->notify = notify_open(getenv("NOTIFY_SOCKET"));
	if (!m->foreground && !m->log_path)
		log_open_syslog();
	if (r == 0)
		r = app_prepare(&m->app, &m->args, e);
	if (r == 0)
		r = rights_choose(&m->rights, &m->app.settings, m->helper_socket != NULL, e);
	if (r == 0)
		r = serving_open(&m->serving, e);
	if (r == 0)
		r = start_helper(m, e);
	return r == 0 ? give_up_rights(m, e) : r;
}

static int start(struct mounting *m, struct err *e)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(1 << 20);
	int r = prepare(m, e);

	if (r == 0)
		r = app_start(&m->app, e);
	if (r < 0)
		return r;
	r = app_config_text(&m->app, &text);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	rights_check(&m->rights, &m->app);
	m->fs_opts.options = buf_text(&m->options);
	m->fs_opts.helper = m->helper;
	m->fs_opts.config_text = buf_text(&text);
	m->fs_opts.up = m->foreground ? foreground_is_up : background_is_up;
	m->fs_opts.up_ctx = m;
	r = fs_mount(&m->fs, m->app.fetch, &m->fs_opts, e);
	return r == 0 && m->serving.listen ? serving_start(&m->serving, &m->app, &m->http, e) : r;
}

/* Serves until the end; what is left when this returns is app_close()'s. */
static int serve(struct mounting *m, struct err *e)
{
	int r = pthread_create(&m->listener, NULL, listen_main, m);

	if (r != 0)
		return err_set(e, -r, "cannot start a thread: %s", err_text(r));
	/* A directory that is only the daemon's working directory could not be unmounted. */
	if (!m->foreground && chdir("/") < 0)
		log_warn("/: %s", err_text(errno));
	r = fs_loop(m->fs);
	atomic_store(&m->over, true);
	pthread_kill(m->listener, SIGTERM);
	pthread_join(m->listener, NULL);
	notify_send(m->notify, "STOPPING=1");
	return r < 0 ? err_set(e, r, "the mount broke: %s", err_text(r)) : 0;
}

/* The exit status of a daemon, or of the whole command with -f. */
static int run_daemon(struct mounting *m)
{
	struct err e = {0};
	int r;

	serving_raise_limits();
	serving_signals(&m->signals);
	r = start(m, &e);
	if (r == 0)
		r = serve(m, &e);
	if (r < 0)
		fprintf(stderr, "symfs mount: %s\n", e.text);
	/* First whoever waits gets an answer, then the mount goes, then what it stood on. */
	http_stop(m->http);
	app_stop_fetching(&m->app);
	fs_free(m->fs);
	helper_free(m->helper);
	serving_close(&m->serving);
	app_close(&m->app);
	if (m->log_fd >= 0)
		close(m->log_fd);
	if (m->notify >= 0)
		close(m->notify);
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

/* ---- the background ----------------------------------------------------------------- */

/* The one who waits. A byte: the mount answers, and is looked at once to make sure. None: the
 * daemon has said what is wrong. */
static int wait_for(pid_t pid, int from, const char *point)
{
	struct stat st;
	int status;
	ssize_t n;
	char c;

	do
		n = read(from, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1 && stat(point, &st) < 0) {
		fprintf(stderr, "symfs mount: %s: %s\n", point, err_text(errno));
		return EXIT_LOCAL;
	}
	if (n == 1)
		return EXIT_DONE;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_LOCAL;
	fprintf(stderr, "symfs mount: the daemon ended by signal %d\n", WTERMSIG(status));
	return EXIT_LOCAL;
}

/* What the caller had open beside its streams is no business of a daemon: it may be a file of the
 * very mount that somebody wants to unmount. */
static void close_inherited(int keep)
{
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, UINT_MAX, 0);
}

/* Before there are threads, transfers and SQLite: none of them survives a fork. */
static int run_background(struct mounting *m)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		fprintf(stderr, "symfs mount: %s\n", err_text(errno));
		return EXIT_LOCAL;
	}
	if (pid > 0) {
		close(ends[1]);
		return wait_for(pid, ends[0], m->fs_opts.mountpoint);
	}
	close(ends[0]);
	m->up = ends[1];
	close_inherited(m->up);
	setsid();
	return run_daemon(m);
}

/* ---- the command -------------------------------------------------------------------- */

/* SRC is the first source when it is a URL or an absolute path; any other word is a name for the mount
 * table, which every user can read. */
static int take_source(struct mounting *m, const char *word, struct err *e)
{
	struct app_args *a = &m->args;
	bool url = strstr(word, "://") != NULL;

	m->fs_opts.source = word;
	if (!url && url_is_meant(word))
		return url_for_message(word, &m->shown) < 0 ? -ENOMEM :
			err_set(e, -EINVAL, "%.100s: a URL has :// behind http or https", buf_text(&m->shown));
	if (!url && word[0] != '/')
		return 0;
	if (a->n_sources == APP_SOURCES_MOST)
		return err_set(e, -EINVAL, "more than %d sources", APP_SOURCES_MOST);
	memmove(a->sources + 1, a->sources, a->n_sources++ * sizeof(*a->sources));
	a->sources[0] = word;
	if (!url)
		return 0;
	if (url_for_message(word, &m->shown) < 0)
		return err_set(e, -EINVAL, "the source is longer than 8191 bytes");
	m->fs_opts.source = buf_text(&m->shown);
	return 0;
}

/* `mount DIR`, or `SRC DIR` as mount(8) calls it. */
static int take_words(struct mounting *m, int argc, char **argv, char **point, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	int r;

	if (argc != 2 && argc != 3)
		return err_set(e, -EINVAL, "which directory? try: symfs mount --help");
	r = argc == 3 ? take_source(m, argv[1], e) : 0;
	if (r < 0)
		return r;
	r = fs_point(argv[argc - 1], point);
	if (r < 0)
		return err_set(e, r, "%s: %s",
			url_for_message(argv[argc - 1], &shown) == 0 ? buf_text(&shown) : "", err_text(r));
	m->fs_opts.mountpoint = *point;
	return 0;
}

static int run_with(struct mounting *m, int argc, char **argv, char *list)
{
	_cleanup_free_ char *point = NULL;
	struct err e = {0};
	int r = take_options(m, list, &e);

	if (r == 0)
		r = take_words(m, argc, argv, &point, &e);
	if (r < 0) {
		fprintf(stderr, "symfs mount: %s\n", e.text);
		return r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL;
	}
	m->log_path = m->log_word ? path_absolute(m->log_word) : NULL;
	if (m->log_word && !m->log_path)
		return EXIT_LOCAL;
	/* A terminal that closes sends HUP, too. */
	m->hup_ends = m->foreground && isatty(STDIN_FILENO);
	return m->foreground ? run_daemon(m) : run_background(m);
}

/* JOURNAL_STREAM is "DEV:INO" of what systemd made stderr; children inherit the word. */
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
	struct mounting m = {.up = -1, .log_fd = -1, .notify = -1, .options = BUF_UP_TO(8192), .shown = BUF_UP_TO(8192),
		.fs_opts = {.uid = getuid(), .gid = getgid()}};
	_cleanup_buf_ struct buf list = BUF_UP_TO(64 << 10);
	const char *late = NULL; /* `-fo LIST`, `--options LIST` */
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

	if (collect_options(&argc, argv, &list) < 0) {
		fprintf(stderr, "symfs mount: -o is too long\n");
		return EXIT_USAGE;
	}
	r = app_options(&m.args, &cmd_mount, own, &argc, argv);
	if (r >= 0)
		return r;
	if (late && buf_addf(&list, ",%s", late) < 0)
		return EXIT_USAGE;
	serving_prepare(&m.serving, &m.args);
	log_open("symfs mount", stderr_is_journal(getenv("JOURNAL_STREAM")));
	m.watchdog_ms = notify_watchdog_ms(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	m.cwd = path_absolute(".");
	r = m.cwd ? run_with(&m, argc, argv, list.p) : EXIT_LOCAL;
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
	.run = run_mount,
};
