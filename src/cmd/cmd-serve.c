/* symfs serve: what the mount has, over HTTP, for hosts that cannot mount. Stays in the foreground. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/notify.h"
#include "cmd/serving.h"
#include "http/http.h"

#include <signal.h>
#include <stdio.h>

static void reload(struct app *app, struct http *h, const char *socket)
{
	struct err e = {0};

	notify_reloading(socket);
	http_reopen_log(h);
	if (app_reload(app, &e) < 0)
		log_error("nothing reloaded: %s", e.text);
	else
		log_info("configuration reloaded");
	notify_send(socket, "READY=1");
}

/* Until a signal that ends it. A terminal that closes sends HUP, too. */
static void serve(struct app *app, struct http *h, const sigset_t *signals, const char *socket)
{
	bool hup_ends = isatty(STDIN_FILENO);
	int sig = 0;

	notify_send(socket, "READY=1");
	while (sigwait(signals, &sig) == 0 && sig == SIGHUP && !hup_ends)
		reload(app, h, socket);
	notify_send(socket, "STOPPING=1");
}

static int run_server(const struct app_args *args, const struct serving *s)
{
	const char *socket = getenv("NOTIFY_SOCKET");
	struct http *h = NULL;
	struct app app = {0};
	struct err e = {0};
	sigset_t signals;
	int r;

	serving_raise_limits();
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a draft that may not grow is an error of its write */
	r = app_open(&app, args, &e);
	if (r == 0)
		r = serving_start(s, &app, &h, &e);
	if (r == 0)
		serve(&app, h, &signals, socket);
	else
		fprintf(stderr, "symfs serve: %s\n", e.text);
	/* First whoever waits gets an answer, then what it stood on goes. */
	http_stop(h);
	app_close(&app);
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

static int run_serve(int argc, char **argv)
{
	struct serving s = {.listen = "127.0.0.1:8737"};
	const struct opt own[] = {
		{"listen", 0, "WHERE", "ADDR:PORT, unix:PATH, systemd; 127.0.0.1:8737", &s.listen},
		{"token-file", 0, "FILE", "who asks must show the token in it", &s.token_file},
		{"anyone", 0, NULL, "without a token, also for other machines", &s.anyone},
		{"connections", 0, "N", "so many at once (4096)", &s.connections},
		{"idle-seconds", 0, "N", "for a head, and between two requests (60)", &s.idle_seconds},
		{"access-log", 0, "FILE", "a line for each request; -: stderr", &s.access_log},
		{0},
	};
	struct app_args args;
	int status = app_options(&args, &cmd_serve, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc != 1) {
		fprintf(stderr, "symfs serve: no words, only options; try: symfs serve --help\n");
		return EXIT_USAGE;
	}
	log_open("symfs serve", false);
	serving_prepare(&s, &args);
	return run_server(&args, &s);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.args = "[--listen WHERE] [OPTIONS]",
	.help = "Serves over HTTP what the mount has: every layout under /LAYOUT/, and at the\n"
		"root what debuginfod, symbol servers and Breakpad's tools ask for",
	.run = run_serve,
};
