/* Starts the HTTP server of symfs serve and of symfs mount --serve: options, signals, socket. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/serving.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/namespaces.h"
#include "http/http.h"
#include "store/store.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define FILES_LEAST 256
#define ARENAS 4 /* of a server: a low number bounds the freed memory that stays with the process */
#define STACK_SIZE (2 << 20)

void serving_prepare(struct serving *s, struct app_args *a)
{
	if (!s->listen || http_id(s->id) < 0)
		return;
	snprintf(s->agent, sizeof(s->agent), "serve/%s", s->id);
	a->agent = s->agent;
}

static int read_number(const char *name, const char *text, unsigned most, unsigned *out, struct err *e)
{
	size_t n = text ? strlen(text) : 0;

	if (!text)
		return 0;
	*out = n && n < 8 && strspn(text, "0123456789") == n ? (unsigned)strtoul(text, NULL, 10) : 0;
	return *out && *out <= most ? 0 :
		err_set(e, -EINVAL, "--%s %s: expected a number from 1 to %u", name, text, most);
}

int serving_open(struct serving *s, struct err *e)
{
	return s->listen ? http_listen(s->listen, &s->socket, e) : 0;
}

void serving_close(struct serving *s)
{
	if (s->socket)
		http_unlisten(s->listen, s->socket);
	s->socket = 0;
}

int serving_start(struct serving *s, struct app *app, struct http **out, struct err *e)
{
	struct http_opts o = {.listen = s->listen, .access_log = s->access_log, .anyone = s->anyone,
		.token_file = s->token_file,
		.audit_log = s->audit_log,
		.open_space = namespaces_open,
		/* Without a limit for files (max-file-size = none), uploads have none. */
		.upload_most = !s->upload ? 0 : app->settings.max_file_size ? app->settings.max_file_size : INT64_MAX,
		.allow_unsandboxed = app->settings.allow_unsandboxed,
		.bucket = app->bucket, .id = s->id[0] ? s->id : NULL, .limits = &app->limits,
		.names = app->settings.server_names, .origins = app->settings.allow_origins};
	unsigned seconds = 0;
	int r = read_number("connections", s->connections, 100000, &o.connections, e);

	if (r == 0)
		r = read_number("idle-seconds", s->idle_seconds, 86400, &seconds, e);
	o.idle_ms = seconds * 1000;
	if (r == 0)
		r = classes_read(app->conf, s->classes, &o.n_classes, e);
	o.classes = s->classes;
	if (r == 0 && (r = namespaces_new(&s->namespaces, app)) < 0)
		return err_set(e, r, "out of memory");
	o.ctx = s->namespaces;
	if (r == 0) {
		o.socket = s->socket;
		s->socket = 0;
		r = http_start(out, app->fetch, &o, e);
	}
	if (r < 0)
		return r;
	printf("listening on %s\n", http_where(*out));
	fflush(stdout);
	return 0;
}

int serving_reload(struct serving *s, struct err *e)
{
	return s->namespaces ? namespaces_reload(s->namespaces, e) : 0;
}

void serving_expire(struct serving *s, struct app *app)
{
	struct store_expired done;
	int r = store_expire(app->store, &done);

	if (r < 0)
		log_warn("expired files cannot be removed: %s", err_text(r));
	if (s->namespaces)
		namespaces_expire(s->namespaces);
}

void serving_end(struct serving *s)
{
	namespaces_free(take(s->namespaces));
}

/* A limit of address space counts what is reserved: 8 MiB for each stack of 60 threads, 64 MiB for each arena. */
static void spare_address_space(void)
{
	pthread_attr_t attr;

	mallopt(M_ARENA_MAX, 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int serving_limits(const struct serving *s, struct err *e)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	if (l.rlim_max < FILES_LEAST)
		return err_set(e, -EMFILE, "the limit of open files is %llu, and symfs needs %d: raise it with "
			"ulimit -n, or LimitNOFILE= of a unit", (unsigned long long)l.rlim_max, FILES_LEAST);
	if (s->listen)
		mallopt(M_ARENA_MAX, ARENAS);
	if (getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
		spare_address_space();
	return 0;
}

void serving_signals(sigset_t *taken)
{
	sigemptyset(taken);
	sigaddset(taken, SIGTERM);
	sigaddset(taken, SIGINT);
	sigaddset(taken, SIGHUP);
	pthread_sigmask(SIG_BLOCK, taken, NULL);
	signal(SIGCHLD, SIG_DFL); /* or the end of a worker would be lost if the caller ignores the signal */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() then returns an error at the limit of the file size */
	signal(SIGUSR1, SIG_IGN); /* log rotation can send these two: other daemons then reopen their log */
	signal(SIGUSR2, SIG_IGN);
}

bool serving_hup_ends(void)
{
	struct sigaction was;

	return isatty(STDIN_FILENO) && (sigaction(SIGHUP, NULL, &was) < 0 || was.sa_handler != SIG_IGN);
}
