/* Starts the HTTP server of symfs serve and of symfs mount --serve: options, signals, socket, messages to systemd. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/serving.h"
#include "auth/tokens.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "conf/conf.h"
#include "http/http.h"
#include "store/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

/* Reads the classes of uploaded files, and after which age without a use their files expire. */

struct class_keys {
	char *age;
};

static const struct conf_field fields[] = {
	{"age", CONF_TEXT, offsetof(struct class_keys, age), NULL, "after this time without a use a file expires"},
	{0},
};

static struct http_class *find(struct http_class *classes, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(classes[i].name, name) == 0)
			return &classes[i];
	return NULL;
}

/* Reads "30d" or "never". */
static int read_age(const char *text, const char *where, int64_t *out, struct err *e)
{
	static const struct conf_field field = {"age", CONF_SECONDS, 0, NULL, NULL};
	int64_t age = 0;
	int r;

	if (strcasecmp(text, "never") == 0) {
		*out = 0;
		return 0;
	}
	r = conf_value(&field, text, &age, where, e);
	if (r == 0 && age <= 0)
		return err_set(e, -EINVAL, "%s: age = %.40s: expected a time such as 30d, or never", where, text);
	*out = age;
	return r;
}

static int read_class(const struct conf_section *s, struct http_class *classes, unsigned *n, struct err *e)
{
	struct class_keys keys = {NULL};
	struct http_class *c;
	char where[HOLD_CLASS + 16];
	int64_t age = 0;
	int r;

	if (!hold_class_ok(s->name))
		return err_set(e, -EINVAL, "[class \"%.60s\"]: a class has lower-case letters, digits and -, at most "
			"%d", s->name, HOLD_CLASS - 1);
	snprintf(where, sizeof(where), "[class \"%s\"]", s->name);
	r = conf_fill(s, fields, &keys, e);
	c = find(classes, *n, s->name);
	if (r == 0 && !keys.age && c)
		return 0; /* the class keeps its age */
	if (r == 0 && !keys.age)
		r = err_set(e, -EINVAL, "%s: the key age is missing", where);
	if (r == 0)
		r = read_age(keys.age, where, &age, e);
	conf_release(fields, &keys);
	if (r < 0)
		return r;
	if (!c && *n == CLASSES_MOST)
		return err_set(e, -EINVAL, "%s: more than %d classes", where, CLASSES_MOST);
	if (!c)
		c = &classes[(*n)++];
	snprintf(c->name, sizeof(c->name), "%s", s->name);
	c->age = age;
	return 0;
}

/* Reads the classes: "try", "default" and "keep", and those of the configuration. 0; -EINVAL: `e` has the
 * reason. */
static int classes_read(const struct conf *c, struct http_class out[static CLASSES_MOST], unsigned *n, struct err *e)
{
	static const struct http_class usual[] = {{"try", 30 * 86400}, {"default", 730 * 86400}, {"keep", 0}};
	const struct conf_section *all[CLASSES_MOST];
	unsigned sections = 0;
	int r = 0;

	memcpy(out, usual, sizeof(usual));
	*n = ARRAY_SIZE(usual);
	for (const struct conf_section *s = NULL; (s = conf_next(c, "class", s));) {
		if (sections == ARRAY_SIZE(all))
			return err_set(e, -EINVAL, "more than %d sections [class]", CLASSES_MOST);
		all[sections++] = s;
	}
	/* The section that was read first has the highest priority, so it comes last. */
	while (r == 0 && sections)
		r = read_class(all[--sections], out, n, e);
	return r;
}

/* The namespaces of a server: each has a store and a fetch/ of its own, opened when a token first needs it. Any
 * thread may open one; a single thread reloads and closes them. */

struct namespace {
	char name[AUTH_SPACE];
	struct app app;
	struct namespace *next;
};

struct namespaces {
	const struct app *app;
	pthread_mutex_t lock;
	struct namespace *first; /* under lock */
};

/* `app` must outlive the namespaces; its options and its configuration count for all of them. 0, -ENOMEM. */
static int namespaces_new(struct namespaces **out, const struct app *app)
{
	struct namespaces *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->app = app;
	pthread_mutex_init(&all->lock, NULL);
	*out = all;
	return 0;
}

/* Opens the namespace `name`, with its store in CACHE-DIR/namespaces/NAME and its prefix in the bucket. `ctx` is the
 * struct namespaces, which keeps *out and *bucket until namespaces_free(). 0, -errno; `e` has the reason. */
static int namespaces_open(void *ctx, const char *name, struct fetch **out, struct bucket **bucket, struct err *e)
{
	struct namespaces *all = ctx;
	struct namespace *one = calloc(1, sizeof(*one));
	struct app_args args = all->app->args;
	int r;

	if (!one)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(one->name, sizeof(one->name), "%s", name);
	args.adopted = NULL; /* freed by the first app */
	args.space = one->name;
	LOCK_SCOPE(&all->lock);
	r = app_configure(&one->app, &args, e); /* not app_prepare(), which would check --source again and fork */
	if (r == 0)
		r = app_sources(&one->app, &one->app.prepared, e);
	if (r == 0)
		r = app_start_serving(&one->app, e);
	if (r < 0) {
		app_close(&one->app);
		free(one);
		err_wrap(e, name);
		return r;
	}
	one->next = all->first;
	all->first = one;
	*out = one->app.fetch;
	*bucket = one->app.bucket;
	return 0;
}

/* A namespace is appended to the front and stays until namespaces_free(), so the list needs the lock only here. */
static struct namespace *first_of(struct namespaces *all)
{
	LOCK_SCOPE(&all->lock);

	return all->first;
}

/* Removes the expired files of all namespaces. Errors are logged. */
static void namespaces_expire(struct namespaces *all)
{
	for (struct namespace *one = first_of(all); one; one = one->next) {
		struct store_expired done;
		int r = store_expire(one->app.store, &done);

		if (r < 0)
			log_warn("namespace %s: expired files cannot be removed: %s", one->name, err_text(r));
	}
}

/* Replaces the sources of all namespaces, as app_reload() does. 0, or the last error. */
static int namespaces_reload(struct namespaces *all, struct err *e)
{
	LOCK_SCOPE(&all->lock);
	int r = 0;

	for (struct namespace *one = all->first; one; one = one->next) {
		int done = app_reload(&one->app, e);

		r = done < 0 ? done : r;
	}
	return r;
}

static void namespaces_free(struct namespaces *all)
{
	if (!all)
		return;
	while (all->first) {
		struct namespace *one = all->first;

		all->first = one->next;
		app_close(&one->app);
		free(one);
	}
	pthread_mutex_destroy(&all->lock);
	free(all);
}

#define FILES_LEAST 256
#define ARENAS 4 /* of a server: a low number bounds the freed memory that stays with the process */
#define STACK_SIZE (2 << 20)
#define SPACE_LEAST (200ull << 20) /* of addresses; with less, libfuse ends the mount when it finds no memory */

void serving_prepare(struct serving *s, struct app_args *a)
{
	if (!s->listen || hex_random(16, s->id) < 0)
		return;
	snprintf(s->agent, sizeof(s->agent), "serve/%s", s->id);
	a->agent = s->agent;
}

int serving_number(const char *name, const char *text, unsigned least, unsigned most, unsigned *out, struct err *e)
{
	size_t n = text ? strlen(text) : 0;
	unsigned value = n && n < 8 && strspn(text, "0123456789") == n ? (unsigned)strtoul(text, NULL, 10) : UINT_MAX;

	if (!text)
		return 0;
	*out = value;
	return value >= least && value <= most ? 0 :
		err_set(e, -EINVAL, "--%s %s: expected a number from %u to %u", name, text, least, most);
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
	int r = serving_number("connections", s->connections, 1, 100000, &o.connections, e);

	if (r == 0)
		r = serving_number("idle-seconds", s->idle_seconds, 1, 86400, &seconds, e);
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
	if (getrlimit(RLIMIT_AS, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
		return 0;
	if (l.rlim_cur < SPACE_LEAST)
		return err_set(e, -ENOMEM, "the limit of address space is %llu MiB, and symfs needs %llu: raise it "
			"with ulimit -v, or LimitAS= of a unit", (unsigned long long)l.rlim_cur >> 20,
			SPACE_LEAST >> 20);
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

/* Sends datagrams to systemd by the protocol of sd_notify(3), which is too small to need a library. */

int notify_open(const char *socket_name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	size_t n = socket_name ? strlen(socket_name) : 0;

	if (n < 2 || n >= sizeof(to.sun_path) || (socket_name[0] != '/' && socket_name[0] != '@'))
		return -1;
	memcpy(to.sun_path, socket_name, n);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0'; /* the abstract namespace */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		return -1;
	return take_fd(&fd);
}

void notify_send(int fd, const char *text)
{
	if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

void notify_reloading(int fd)
{
	struct timespec t;
	char text[96];

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		(uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
	notify_send(fd, text);
}

unsigned notify_watchdog_ms(const char *usec, const char *pid)
{
	unsigned long long n = usec ? strtoull(usec, NULL, 10) : 0;

	if (pid && *pid && strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	return n ? (unsigned)MAX(MIN(n / 2000, 3600000ull), 1ull) : 0;
}
