/* The daemon of symfs mount: its start, its messages, signals, reload and end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/mount/mounting.h"
#include "cmd/no-source.h"
#include "fs/helper.h"
#include "http/http.h"
#include "priv/worker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Called when the mount answers. Notifies systemd, or the command that started the daemon in the background. */
static void mount_is_up(void *ctx)
{
	struct mounting *m = ctx;
	char text[64];

	snprintf(text, sizeof(text), "READY=1\nMAINPID=%d", (int)getpid());
	notify_send(m->notify, text);
	/* The write fails if the command has ended, for example after Ctrl-C during the start. */
	if (m->up >= 0 && write(m->up, "u", 1) != 1)
		kill(getpid(), SIGTERM);
}

/* Messages go to the file from now on. Prints so while the caller still sees stderr. */
static void start_log(struct mounting *m)
{
	cmd_say(0, "%s: logs to %s", m->fs_opts.mountpoint, m->log_path);
	log_to_file(m->log_fd);
	close(take_fd(&m->log_fd));
}

static void start_syslog(const struct mounting *m, int null)
{
	if (log_to_syslog())
		cmd_say(0, "%s: logs to syslog", m->fs_opts.mountpoint);
	else
		cmd_say(0, "%s: logs nothing: no syslog listens at /dev/log; --log-file FILE keeps the messages",
			m->fs_opts.mountpoint);
	dup2(null, STDERR_FILENO);
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Detaches from the terminal, and from pipes: a reader of a pipe waits until all writers have closed it. Keeps
 * stderr if it is a file. */
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

/* The text that explains EACCES during a reload: the daemon reads the configuration with the rights that it kept.
 * "": no explanation. */
static const char *why_unread(const struct mounting *m, int code)
{
	if (code != -EACCES || !m->rights.drop)
		return "";
	return m->rights.user[0] ? " (the daemon runs as the user of run-as or of the store, and that user must be "
		"able to read it)"
				 : " (the daemon gave up its rights when it started; restart it)";
}

static void add_types(const struct source *one, struct buf *out)
{
	buf_adds(out, "filetypes =");
	for (unsigned t = 1; t < FILETYPES; t++)
		if (one->types >> t & 1)
			buf_addf(out, " %s", filetypes[t].name);
	buf_adds(out, "\n");
}

static void add_words(const char *key, char *const *words, struct buf *out)
{
	for (; words && *words; words++)
		buf_addf(out, "%s = %s\n", key, *words);
}

/* Adds the keys for the requests that a source gets, and for the meaning of its answers. */
static void add_rules(const struct source *one, struct buf *out)
{
	add_words("path-patterns", one->o.patterns, out);
	add_words("never", one->o.never, out);
	if (one->o.has_index)
		buf_adds(out, "has-index = yes\n");
	add_words("ptr-map", one->o.ptr_map, out);
	if (one->o.follow_links)
		buf_adds(out, "follow-links = yes\n");
	if (one->o.requires_checksum)
		buf_adds(out, "requires-checksum = yes\n");
	if (one->o.checksum_placeholder)
		buf_adds(out, "checksum-placeholder = yes\n");
	if (!one->o.allow_unverified)
		buf_adds(out, "allow-unverified = no\n");
	if (one->missing_403)
		buf_adds(out, "on-403 = miss\n");
	if (one->o.tier)
		buf_addf(out, "tier = %u\n", one->o.tier);
}

static void add_text(const char *key, const char *value, struct buf *out)
{
	if (value)
		buf_addf(out, "%s = %s\n", key, value);
}

/* Adds the keys for the connection to a source. */
static void add_way(const struct source *one, struct buf *out)
{
	if (one->o.allow_private)
		buf_adds(out, "allow-private = yes\n");
	if (one->o.allow_http_redirects)
		buf_adds(out, "allow-http-redirects = yes\n");
	if (one->o.connections)
		buf_addf(out, "connections = %u\n", one->o.connections);
	add_text("ca-file", one->o.ca_file, out);
	add_text("cert", one->o.cert, out);
	add_text("key", one->o.key, out);
	add_text("netrc", one->o.netrc, out);
	if (one->o.proxy) {
		buf_adds(out, "proxy = ");
		url_without_credentials(one->o.proxy, out);
		buf_adds(out, "\n");
	}
	if (one->o.accept_invalid_certs)
		buf_adds(out, "accept-invalid-certs = yes\n");
}

/* Adds a section that can be read as the same source, without its secrets. */
static void add_source(const struct source *one, const struct settings *s, struct buf *out)
{
	buf_addf(out, "\n[source \"%s\"]\ntype = %s\nlayout = %s\n", one->name, one->kind->name,
		one->layout->name);
	if (one->kind->show)
		one->kind->show(one, out);
	else
		buf_addf(out, "%s = %s\n", one->kind->local ? "path" : "url", one->shown);
	if (one->casing != CASING_DEFAULT)
		buf_addf(out, "casing = %s\n", one->o.casing);
	if (one->types != UINT64_MAX)
		add_types(one, out);
	add_rules(one, out);
	add_way(one, out);
	if (one->o.connect_ms != s->connect_ms)
		buf_addf(out, "connect-timeout = %ums\n", one->o.connect_ms);
	if (one->o.stall_ms != s->stall_ms)
		buf_addf(out, "stall-timeout = %ums\n", one->o.stall_ms);
	if (one->o.miss_seconds != s->miss_seconds)
		buf_addf(out, "miss-lifetime = %" PRId64 "s\n", one->o.miss_seconds);
	if (one->o.again_seconds)
		buf_addf(out, "ask-again = %" PRId64 "s\n", one->o.again_seconds);
	if (one->o.max_file_size != s->max_file_size)
		buf_addf(out, "max-file-size = %" PRIu64 "\n", one->o.max_file_size);
	for (char **h = one->o.headers; h && *h; h++)
		buf_addf(out, "# header = %.*s: (not shown)\n", (int)strcspn(*h, ":"), *h);
}

/* Appends the settings and sources in force to `out`, in the syntax of symfs.conf, without secrets. 0; -errno: the
 * sources cannot be made. */
static int app_config_text(struct app *app, struct buf *out)
{
	const struct settings *s = &app->settings;
	struct sources *so;
	struct err e;
	int r = app_sources(app, &so, &e);

	buf_addf(out, "[symfs]\ncache-dir = %s\nquota = %" PRIu64 "\nmin-free = %" PRIu64 "\n",
		s->cache_dir, s->quota, s->min_free);
	buf_addf(out, "lookup-deadline = %ums\nconnect-timeout = %ums\nstall-timeout = %ums\n",
		s->lookup_deadline_ms, s->connect_ms, s->stall_ms);
	buf_addf(out, "miss-lifetime = %" PRId64 "s\nbreaker-seconds = %ums\n", s->miss_seconds,
		s->breaker_ms);
	buf_addf(out, "max-file-size = %" PRIu64 "\nkeep-seconds = %" PRId64 "s\n",
		s->max_file_size, s->keep_seconds);
	buf_addf(out, "ask-on = %s\nbyte-ranges = %s\n", s->ask_on ? "yes" : "no", s->byte_ranges);
	buf_addf(out, "synthesize = %s\n", s->synthesize ? "yes" : "no");
	buf_addf(out, "allow-unsandboxed = %s\n", s->allow_unsandboxed ? "yes" : "no");
	buf_addf(out, "read-all = %s\n", s->read_all ? "yes" : "no");
	if (s->run_as)
		buf_addf(out, "run-as = %s\n", s->run_as);
	add_words("server-names", s->server_names, out);
	add_words("allow-origins", s->allow_origins, out);
	buf_addf(out, "\n[symbolicate]\nbytes = %" PRIu64 "\njobs = %u\nmodules = %u\nstacks = %u\nframes = %u\n",
		app->limits.bytes, app->limits.jobs, app->limits.modules, app->limits.stacks,
		app->limits.frames);
	for (unsigned i = 0; r == 0 && i < so->n; i++)
		add_source(so->list[i], s, out);
	if (r == 0)
		sources_unref(so);
	return r;
}

static void daemon_reload(struct mounting *m)
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
	if (r == 0)
		r = serving_reload(&m->serving, &e);
	if (r < 0)
		log_error("the reload failed: %s%s", e.text, why_unread(m, e.code));
	else if (app_config_text(&m->app, &text) == 0 &&
		 fs_set_config_text(m->fs, buf_text(&text)) == 0)
		log_info("configuration reloaded");
	if (r == 0)
		rights_check(&m->rights, &m->app);
	if (!m->foreground && chdir("/") < 0)
		log_warn("/: %s", err_text(errno));
	notify_send(m->notify, "READY=1");
}

/* Runs the only thread that takes signals. This thread also sends WATCHDOG=1. */
static void *signals_main(void *arg)
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
			daemon_reload(m);
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

/* Connects to the helper of --mount-helper. Without this option, starts a helper if the process has the right to
 * mount; otherwise m->helper stays NULL, and fusermount3 mounts. */
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

/* Gives up all rights that the daemon does not need. */
static int give_up_rights(struct mounting *m, struct err *e)
{
	const char *listen = m->serving.listen;
	bool local = listen && strncmp(listen, "unix:", 5) == 0;
	const struct rights_writes writes = {m->log_path, local ? listen + 5 : NULL};

	return rights_give_up(&m->rights, &m->app, &writes, e);
}

/* Opens the socket early, for a process that later gives up the right to open sockets. 0; -EINVAL: bad options;
 * other -errno. */
static int serving_open(struct serving *s, struct err *e)
{
	return s->listen ? http_listen(s->listen, &s->socket, e) : 0;
}

/* Does all work that needs more rights than the daemon keeps, before there are threads. */
static int daemon_prepare(struct mounting *m, struct err *e)
{
	int r = m->log_path ? log_open_file(m->log_path, &m->log_fd, e) : 0;

	m->notify = notify_open(getenv("NOTIFY_SOCKET"));
	if (!m->foreground && !m->log_path)
		log_open_syslog();
	if (r == 0)
		r = app_prepare(&m->app, &m->args, e);
	if (r == 0 && !m->args.offline)
		no_source_warn(m->app.prepared, &m->args);
	if (r == 0)
		r = rights_choose(&m->rights, &m->app.settings, m->helper_socket != NULL, e);
	if (r == 0)
		r = serving_open(&m->serving, e);
	if (r == 0)
		r = start_helper(m, e);
	if (r == 0)
		r = give_up_rights(m, e);
	return r == 0 ? worker_check(NULL, NULL, e) : r;
}

static int daemon_start(struct mounting *m, struct err *e)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(1 << 20);
	int r = daemon_prepare(m, e);

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

/* Serves until the mount ends. The caller closes everything that is open. */
static int daemon_serve(struct mounting *m, struct err *e)
{
	int r = pthread_create(&m->listener, NULL, signals_main, m);

	if (r != 0)
		return err_set(e, -r, "cannot start a thread: %s", err_text(r));
	/* The daemon's working directory would keep its file system from being unmounted. */
	if (!m->foreground && chdir("/") < 0)
		log_warn("/: %s", err_text(errno));
	r = fs_loop(m->fs);
	atomic_store(&m->over, true);
	pthread_kill(m->listener, SIGTERM);
	pthread_join(m->listener, NULL);
	notify_send(m->notify, "STOPPING=1");
	return r < 0 ? err_set(e, r, "an error ended the mount: %s", err_text(r)) : 0;
}

/* Closes the socket if serving_start() has not taken it. */
static void serving_close(struct serving *s)
{
	if (s->socket)
		http_unlisten(s->listen, s->socket);
	s->socket = 0;
}

/* Returns the exit status of the daemon; with -f, it is the exit status of the command. */
int mount_daemon(struct mounting *m)
{
	struct err e = {0};
	int r;

	serving_signals(&m->signals);
	r = serving_limits(&m->serving, &e);
	if (r == 0)
		r = daemon_start(m, &e);
	if (r == 0)
		r = daemon_serve(m, &e);
	if (r < 0)
		cmd_say(0, "%s", e.text);
	/* Answers waiting callers first, then ends the mount, then closes the helper, the store and the sources. */
	http_stop(m->http);
	serving_end(&m->serving);
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
