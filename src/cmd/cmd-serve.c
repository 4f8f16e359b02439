/* symfs serve: serves the files of the mount over HTTP, for hosts that cannot mount. Stays in the foreground. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/no-source.h"
#include "cmd/serving.h"
#include "config.h"
#include "http/http.h"
#include "priv/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct server {
	struct serving serving;
	struct app app;
	struct http *http;
	const char *drain_seconds, *drain_grace; /* numbers, as text; NULL: the default */
	unsigned drain_ms, grace_ms, sources; /* `sources`: their number at the start */
	int notify;	      /* the socket of $NOTIFY_SOCKET; -1: no socket */
	const char *log_path; /* the value of --log-file; NULL: the option is not given */
};

static void reload(struct server *s)
{
	struct err e = {0};

	notify_reloading(s->notify);
	http_reopen_log(s->http);
	if (s->log_path && log_reopen_file(s->log_path, &e) < 0)
		log_error("%s", e.text);
	if (app_reload(&s->app, &e) < 0 || serving_reload(&s->serving, &e) < 0)
		log_error("the reload failed: %s", e.text);
	else
		log_info("configuration reloaded");
	notify_send(s->notify, "READY=1");
}

/* Waits for `ms` milliseconds, or until no request runs. True: a further signal ends the server at once. */
static bool wait_or_signal(struct server *s, const sigset_t *signals, unsigned ms, bool until_idle)
{
	uint64_t end = clock_ms() + ms;

	while (clock_ms() < end && (!until_idle || http_running(s->http)))
		if (sigtimedwait(signals, NULL, &(struct timespec){.tv_nsec = 20000000}) > 0)
			return true;
	return false;
}

/* Lets the requests that run end. A reverse proxy that asks /ready sends new requests elsewhere meanwhile. */
static void drain(struct server *s, const sigset_t *signals)
{
	http_drain(s->http);
	if (wait_or_signal(s, signals, s->grace_ms, false))
		return;
	http_refuse(s->http);
	wait_or_signal(s, signals, s->drain_ms, true);
	if (http_running(s->http))
		log_info("%u request%s did not end in time", http_running(s->http), PLURAL(http_running(s->http)));
}

/* Waits for a signal, and removes expired files meanwhile. */
static int next_signal(struct server *s, const sigset_t *signals)
{
	const struct timespec hour = {.tv_sec = 3600};
	int sig;

	do {
		serving_expire(&s->serving, &s->app);
		sig = sigtimedwait(signals, NULL, &hour);
	} while (sig < 0 && (errno == EAGAIN || errno == EINTR));
	return sig;
}

/* Serves until a signal ends the command. */
static void serve(struct server *s, const sigset_t *signals)
{
	bool hup_ends = serving_hup_ends();
	int sig;

	log_info("version " PACKAGE_VERSION " at %s; store: %s; sources: %u; tokens: %s", http_where(s->http),
		s->app.settings.cache_dir, s->sources, s->serving.token_file ? s->serving.token_file : "none");
	notify_send(s->notify, "READY=1");
	while ((sig = next_signal(s, signals)) == SIGHUP && !hup_ends)
		reload(s);
	notify_send(s->notify, "STOPPING=1");
	drain(s, signals);
	log_info("ended by the signal %s; requests: %" PRIu64, strsignal(sig), http_requests(s->http));
}

static int start(struct server *s, const struct app_args *args, struct err *e)
{
	_cleanup_close_ int log_fd = -1;
	unsigned drain = 10, grace = 0;
	int r = serving_number("drain-seconds", s->drain_seconds, 0, 86400, &drain, e);

	if (r == 0)
		r = serving_number("drain-grace", s->drain_grace, 0, 86400, &grace, e);
	s->drain_ms = drain * 1000;
	s->grace_ms = grace * 1000;
	if (r == 0 && s->log_path)
		r = log_open_file(s->log_path, &log_fd, e);
	if (r == 0)
		r = app_prepare(&s->app, args, e);
	s->sources = r == 0 ? s->app.prepared->n : 0;
	/* A server of uploads alone has no source on purpose. */
	if (r == 0 && !args->offline && !(s->serving.upload && args->no_default_sources && s->sources == 0))
		no_source_warn(s->app.prepared, args);
	if (r == 0)
		r = worker_check(NULL, NULL, e);
	if (r == 0)
		r = app_start_serving(&s->app, e);
	if (r == 0)
		r = serving_start(&s->serving, &s->app, &s->http, e);
	if (r == 0 && log_fd >= 0) {
		cmd_say(0, "logs to %s", s->log_path);
		log_to_file(log_fd);
	}
	return r;
}

static int run_server(struct server *s, const struct app_args *args)
{
	struct err e = {0};
	sigset_t signals;
	int r;

	s->notify = notify_open(getenv("NOTIFY_SOCKET"));
	serving_signals(&signals);
	r = serving_limits(&s->serving, &e);
	if (r == 0)
		r = start(s, args, &e);
	if (r == 0)
		serve(s, &signals);
	else
		cmd_say(0, "%s", e.text);
	/* Answers waiting requests first, then closes the store and the sources. */
	http_stop(s->http);
	serving_end(&s->serving);
	app_close(&s->app);
	if (s->notify >= 0)
		close(s->notify);
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

static int run_serve(int argc, char **argv)
{
	struct server server = {.serving = {.listen = "127.0.0.1:8737"}};
	struct serving *s = &server.serving;
	const struct opt own[] = {
		{"listen", 0, "WHERE", "ADDR:PORT, unix:PATH, systemd; 127.0.0.1:8737", &s->listen},
		{"token-file", 0, "FILE", "require the token in FILE from clients", &s->token_file},
		{"anyone", 0, NULL, "serve other machines without a token", &s->anyone},
		{"upload", 0, NULL, "accept uploads of files, and their removal", &s->upload},
		{"connections", 0, "N", "maximum of simultaneous connections (4096)", &s->connections},
		{"idle-seconds", 0, "N", "limit for a head, and between requests (60)", &s->idle_seconds},
		{"access-log", 0, "FILE", "append a line for each request; -: stderr", &s->access_log},
		{"drain-seconds", 0, "N", "at the end, time for running requests (10)",
			&server.drain_seconds},
		{"drain-grace", 0, "N", "accept requests N s after /ready says no (0)",
			&server.drain_grace},
		{"audit-log", 0, "FILE", "append a JSON line for each upload and refusal", &s->audit_log},
		{"log-file", 0, "FILE", "append messages to FILE; SIGHUP reopens it",
			&server.log_path},
		{0},
	};
	struct app_args args;
	int status = app_options(&args, &cmd_serve, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc != 1)
		return cmd_usage("expected options only");
	log_open("symfs serve", false);
	serving_prepare(s, &args);
	return run_server(&server, &args);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.args = "[--listen WHERE] [OPTIONS]",
	.help = "Serves the contents of a mount over HTTP: every layout under /LAYOUT/, and at\n"
		"the root the paths of debuginfod, symbol servers and Breakpad's tools.\n"
		"`symfs serve token add|rotate|ls|rm` manages its clients' tokens",
	.examples = {"symfs serve --source debian",
		"symfs serve --listen 0.0.0.0:8737 --token-file token"},
	.configured = true,
	.run = run_serve,
};
