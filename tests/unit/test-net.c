/* Tests net/: every promise of net.h and request.h, against an upstream that misbehaves on demand. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/net.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "net/net-private.h"
#include "times.h"
#include "unit.h"
#include "upstream.h"

#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define BIG 700001u /* bytes of /big */

/* ---- what a transfer told ----------------------------------------------------------- */

struct got {
	struct net *n;
	struct net_req req;
	struct transfer *t;
	char events[64]; /* h: head, b: body (once for any number), d: done */
	struct buf body;
	struct net_reply reply;
	int started;	   /* of net_get() */
	int head_r, body_r; /* what the sink returns */
	int then_r;	   /* of body(), after the last -EAGAIN */
	unsigned hold;	   /* answer -EAGAIN so many times */
	unsigned hold_ms;  /* and resume after that */
	unsigned held;
	uint64_t began, took, rounds; /* rounds: of the net thread, from the last hold to its end */
	struct net_timer timer;
	void (*on_done)(struct got *g);
	struct got *other;

	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done; /* under lock */
};

static void event(struct got *g, char c)
{
	size_t n = strlen(g->events);

	ck_assert_msg(!strchr(g->events, 'd'), "%c after done", c);
	if (c == 'b' && n && g->events[n - 1] == 'b')
		return;
	ck_assert_uint_lt(n, sizeof(g->events) - 1);
	g->events[n] = c;
}

static bool is_here(const struct net *n)
{
	return pthread_equal(n->thread, pthread_self());
}

static int got_head(void *ctx, const struct net_reply *r)
{
	struct got *g = ctx;

	ck_assert(is_here(g->n));
	event(g, 'h');
	g->reply = *r;
	return g->head_r;
}

static void got_resume(void *ctx)
{
	struct got *g = ctx;

	g->rounds = g->n->rounds - g->rounds;
	transfer_resume(g->t);
}

static int got_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct got *g = ctx;

	event(g, 'b');
	ck_assert_uint_eq(off, g->body.n);
	if (g->body_r)
		return g->body_r;
	if (g->held < g->hold) {
		g->held++;
		g->rounds = g->n->rounds;
		net_timer_set(g->n, &g->timer, g->hold_ms, got_resume, g);
		return -EAGAIN;
	}
	ck_assert_int_eq(buf_add(&g->body, p, n), 0);
	return g->then_r;
}

static void got_done(void *ctx, const struct net_reply *r)
{
	struct got *g = ctx;

	event(g, 'd');
	g->reply = *r;
	g->took = clock_ms() - g->began;
	if (g->on_done)
		g->on_done(g);
	LOCK_SCOPE(&g->lock);
	g->done = true;
	pthread_cond_signal(&g->over);
}

static const struct net_sink got_sink = {got_head, got_body, got_done};

static void got_start(void *ctx)
{
	struct got *g = ctx;

	g->began = clock_ms();
	g->started = net_get(g->n, &g->req, &got_sink, g, &g->t);
	ck_assert_str_eq(g->events, "");
}

/* Its deadlines never expire; a case that waits for one of them makes it short. */
static void got_init(struct got *g, struct net *n, const char *base, const char *path)
{
	memset(g, 0, sizeof(*g));
	g->n = n;
	g->req.connect_ms = g->req.stall_ms = UNIT_HOUR_MS;
	g->body = BUF_UP_TO(64 << 20);
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->over, NULL);
	ck_assert_int_ge(asprintf(&g->req.url, "%s%s", base, path), 0);
}

static void got_header(struct got *g, const char *line)
{
	size_t n = 0;

	while (g->req.headers && g->req.headers[n])
		n++;
	g->req.headers = realloc(g->req.headers, (n + 2) * sizeof(char *));
	g->req.headers[n] = strdup(line);
	g->req.headers[n + 1] = NULL;
}

static void got_release(struct got *g)
{
	net_req_release(&g->req);
	ck_assert_ptr_null(g->req.url);
	buf_release(&g->body);
}

static void got_wait(struct got *g)
{
	LOCK_SCOPE(&g->lock);
	while (!g->done)
		pthread_cond_wait(&g->over, &g->lock);
}

static void got_go(struct got *g)
{
	net_call(g->n, got_start, g);
	ck_assert_int_eq(g->started, 0);
}

static void got_run(struct got *g)
{
	got_go(g);
	got_wait(g);
}

/* ---- a place to be ------------------------------------------------------------------ */

struct place {
	char root[64];
	char *big;
	struct upstream up;
	struct net *n;
};

static void write_file(const char *dir, const char *name, const void *p, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	fclose(f);
}

static struct net *start_net(unsigned host_connections)
{
	struct net_opts o = {.user_agent = "symfs/test", .host_connections = host_connections};
	struct net *n = NULL;
	struct err e;

	ck_assert_int_eq(net_start(&n, &o, &e), 0);
	return n;
}

static void place_up(struct place *p, const char *option, const char *value)
{
	const char *const options[] = {"--root", p->root, option, value, NULL};

	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	snprintf(p->root, sizeof(p->root), "/tmp/symfs-net.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(p->root));
	p->big = malloc(BIG);
	for (uint32_t i = 0, x = 1; i < BIG; i++, x = x * 1664525 + 1013904223)
		p->big[i] = (char)(x >> 24);
	write_file(p->root, "big", p->big, BIG);
	write_file(p->root, "small", "hello\n", 6);
	upstream_start(&p->up, options);
	p->n = start_net(0);
}

static void place_down(struct place *p)
{
	char path[128];

	net_stop(p->n);
	upstream_stop(&p->up);
	snprintf(path, sizeof(path), "%s/big", p->root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/small", p->root);
	unlink(path);
	ck_assert_int_eq(rmdir(p->root), 0);
	free(p->big);
}

static void got_is_big(const struct got *g, const struct place *p)
{
	ck_assert_int_eq(g->reply.error, 0);
	ck_assert_uint_eq(g->body.n, BIG);
	ck_assert_int_eq(memcmp(g->body.p, p->big, BIG), 0);
	ck_assert_str_eq(g->events, "hbd");
}

/* ---- transfers ---------------------------------------------------------------------- */

START_TEST(whole_file)
{
	struct place p;
	struct got g;
	char want[160];

	place_up(&p, NULL, NULL);
	got_init(&g, p.n, p.up.url, "/big");
	got_run(&g);
	got_is_big(&g, &p);
	ck_assert_int_eq(g.reply.status, 200);
	ck_assert_int_eq(g.reply.size, BIG);
	ck_assert(g.reply.ranges);
	ck_assert_str_eq(g.reply.type, "application/octet-stream");
	ck_assert_str_ne(g.reply.etag, "");
	ck_assert_ptr_nonnull(strstr(g.reply.modified, "GMT"));
	ck_assert_int_eq(g.reply.retry_after, -1);
	ck_assert_int_eq(g.reply.range_start, -1);
	ck_assert_str_eq(g.reply.text, "");
	snprintf(want, sizeof(want), "%s/big", p.up.url);
	ck_assert_str_eq(g.reply.url, want);
	got_release(&g);
	place_down(&p);
}
END_TEST

START_TEST(ranges)
{
	struct place p;
	struct got g;

	place_up(&p, "--gzip", NULL);
	got_init(&g, p.n, p.up.url, "/big");
	got_header(&g, "Range: bytes=100000-100999");
	got_run(&g);
	ck_assert_int_eq(g.reply.status, 206);
	ck_assert_int_eq(g.reply.size, 1000);
	ck_assert_int_eq(g.reply.range_start, 100000);
	ck_assert_int_eq(g.reply.range_total, BIG);
	ck_assert_uint_eq(g.body.n, 1000);
	ck_assert_int_eq(memcmp(g.body.p, p.big + 100000, 1000), 0);
	got_release(&g);

	upstream_fault(&p.up, "path=*&kind=bad-range&times=1");
	got_init(&g, p.n, p.up.url, "/big");
	got_header(&g, "Range: bytes=100000-100999");
	got_run(&g);
	ck_assert_int_eq(g.reply.status, 206);
	ck_assert_int_eq(g.reply.range_start, 0);
	got_release(&g);

	/* No range of a compressed body is asked for, even where a server has no ranges. */
	upstream_fault(&p.up, "path=*&kind=no-range&times=1");
	got_init(&g, p.n, p.up.url, "/big");
	got_header(&g, "Range: bytes=100000-100999");
	got_run(&g);
	ck_assert_int_eq(g.reply.status, 200);
	ck_assert_int_eq(g.reply.size, BIG);
	got_is_big(&g, &p);
	got_release(&g);
	place_down(&p);
}
END_TEST

START_TEST(gzip)
{
	struct place p;
	struct got g;

	place_up(&p, "--gzip", NULL);
	got_init(&g, p.n, p.up.url, "/big");
	got_run(&g);
	got_is_big(&g, &p);
	ck_assert_int_eq(g.reply.size, -1);
	got_release(&g);
	place_down(&p);
}
END_TEST

START_TEST(statuses)
{
	static const struct {
		const char *arg;
		int status;
		int64_t least, most; /* retry_after */
	} rows[] = {
		{"404", 404, -1, -1},
		{"403", 403, -1, -1},
		{"410", 410, -1, -1},
		{"204", 204, -1, -1},
		{"304", 304, -1, -1},
		{"302", 302, -1, -1}, /* and no Location */
		{"500", 500, -1, -1},
		{"429,2", 429, 2, 2},
		{"503,1000000", 503, 86400, 86400},
		{"503,soon", 503, -1, -1},
		{"503,-5", 503, -1, -1},
		{"503,99999999999999999999999", 503, -1, -1},
		{"503,Fri,%2031%20Dec%202099%2023:59:59%20GMT", 503, 86400, 86400},
		{"503,Fri,%2031%20Dec%201999%2023:59:59%20GMT", 503, 0, 0},
	};
	struct place p;

	place_up(&p, NULL, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct got g;

		upstream_fault(&p.up, "path=*&kind=status&arg=%s&times=1", rows[i].arg);
		got_init(&g, p.n, p.up.url, "/small");
		got_run(&g);
		ck_assert_msg(g.reply.error == 0, "%s: %s", rows[i].arg, g.reply.text);
		ck_assert_int_eq(g.reply.status, rows[i].status);
		ck_assert_int_ge(g.reply.retry_after, rows[i].least);
		ck_assert_int_le(g.reply.retry_after, rows[i].most);
		ck_assert_str_eq(g.events, "hd");
		got_release(&g);
	}
	/* All on one connection; the others are those that set the faults and ask this. */
	ck_assert_uint_eq(upstream_count(&p.up, "connections"), ARRAY_SIZE(rows) + 2);
	place_down(&p);
}
END_TEST

START_TEST(bodies_that_nobody_wants)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=endless&arg=50000000,404&times=1");
	got_init(&g, p.n, p.up.url, "/x");
	got_run(&g);
	ck_assert_int_eq(g.reply.status, 404);
	ck_assert_int_eq(g.reply.error, 0);
	ck_assert_str_eq(g.events, "hd");
	got_release(&g);

	upstream_fault(&p.up, "path=*&kind=endless&arg=100,404&times=1");
	got_init(&g, p.n, p.up.url, "/x");
	got_run(&g); /* to the end of its body this would take for ever */
	ck_assert_int_eq(g.reply.status, 404);
	ck_assert_int_eq(g.reply.error, 0);
	got_release(&g);
	upstream_until(&p.up, "inflight", 0);
	place_down(&p);
}
END_TEST

static const struct fault_row {
	const char *fault;
	int error, status;
	uint64_t received; /* at least */
	uint64_t most;
} fault_rows[] = {
	{"silent", -ETIMEDOUT, 0, 0},
	{"silent-after&arg=1000", -ETIMEDOUT, 200, 1000},
	{"silent-after&arg=0", -ETIMEDOUT, 200, 0},
	{"reset", -ECONNRESET, 0, 0},
	{"reset&arg=5000", -ECONNRESET, 200, 0},
	{"cut&arg=1000", -EPIPE, 200, 1000},
	{"cut&arg=0", -EPIPE, 200, 0},
	{"cut-nolen&arg=1000", 0, 200, 1000},
	{"wrong-length", -EPIPE, 200, BIG},
	{"wrong-length&arg=-100", 0, 200, BIG - 100},
	{"garbage", -EPROTO, 0, 0},
	{"long-header&arg=1000000", -EPROTO, 0, 0},
	{"trailers", -EPROTO, 200, 16},
	{"html", 0, 200, 100},
	{"redirect&arg=loop", -ELOOP, 0, 0},
	{"redirect&arg=file:///etc/passwd", -EPROTONOSUPPORT, 0, 0},
	{"redirect&arg=ftp://127.0.0.1/x", -EPROTONOSUPPORT, 0, 0},
	{"redirect&arg=gopher://127.0.0.1:1/x", -EPROTONOSUPPORT, 0, 0},
	{"redirect&arg=http://", -EPROTONOSUPPORT, 0, 0},
	{"endless&arg=50000000", -EFBIG, 200, 1, 1 << 20},
	{"gzip-bomb&arg=8", -EFBIG, 200, 1, 1 << 20},
	{"slow&arg=100", 0, 200, BIG, BIG},
	{"slow&arg=100", -EFBIG, 200, 0, BIG - 1},
	{"slow&arg=3600000", -ETIMEDOUT, 0, 0},
};
/* A transfer that stalls does so after `stall_ms`. On a busy machine it may stall before the bytes that it should
 * get: then it is tried again, with a longer time. */
static void fault_run(struct place *p, struct got *g, const struct fault_row *row, unsigned stall_ms)
{
	got_init(g, p->n, p->up.url, "/big");
	g->req.stall_ms = stall_ms;
	g->req.most = row->most;
	got_run(g);
	if (g->reply.error != -ETIMEDOUT || stall_ms > 60000 ||
		(g->reply.status == row->status && g->body.n >= row->received))
		return;
	got_release(g);
	fault_run(p, g, row, stall_ms * 4);
}

START_TEST(faults)
{
	struct place p;

	place_up(&p, NULL, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(fault_rows); i++) {
		const struct fault_row *row = &fault_rows[i];
		struct got g;

		upstream_fault(&p.up, "path=*&kind=%s", row->fault);
		fault_run(&p, &g, row, row->error == -ETIMEDOUT ? 400 : UNIT_HOUR_MS);
		ck_assert_msg(g.reply.error == row->error && (row->error == -ELOOP ||
			      g.reply.status == row->status || row->error == -EPROTONOSUPPORT),
			"%s: %d %s, %s", row->fault, g.reply.status, err_name(g.reply.error), g.reply.text);
		ck_assert_msg(g.body.n >= row->received, "%s: %zu", row->fault, g.body.n);
		ck_assert_msg(!row->most || g.body.n <= row->most, "%s", row->fault);
		ck_assert_msg((g.reply.text[0] != 0) == (row->error != 0), "%s: \"%s\"", row->fault, g.reply.text);
		got_release(&g);
		upstream_clear(&p.up);
	}
	upstream_until(&p.up, "inflight", 0);
	place_down(&p);
}
END_TEST

START_TEST(too_big_is_told_before_the_head)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	got_init(&g, p.n, p.up.url, "/big");
	g.req.most = BIG - 1;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -EFBIG);
	ck_assert_str_eq(g.events, "d");
	got_release(&g);
	place_down(&p);
}
END_TEST

START_TEST(sinks_that_refuse)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	got_init(&g, p.n, p.up.url, "/big");
	g.head_r = -ECANCELED;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ECANCELED);
	ck_assert_str_eq(g.events, "hd");
	got_release(&g);

	got_init(&g, p.n, p.up.url, "/big");
	g.body_r = -ENOSPC;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ENOSPC);
	ck_assert_int_eq(g.reply.status, 200);
	ck_assert_str_eq(g.events, "hbd");
	got_release(&g);

	/* The same for bytes that were kept back and come again. */
	got_init(&g, p.n, p.up.url, "/big");
	g.hold = 1;
	g.then_r = -ENOSPC;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ENOSPC);
	ck_assert_str_eq(g.events, "hbd");
	got_release(&g);
	place_down(&p);
}
END_TEST

/* ---- no server ---------------------------------------------------------------------- */

START_TEST(nobody_there)
{
	static const char *const no_accept[] = {"--no-accept", NULL};
	struct upstream deaf, gone;
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	got_init(&g, p.n, "http://nonexistent.invalid", "/");
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -EHOSTUNREACH);
	ck_assert_int_eq(g.reply.status, 0);
	ck_assert_str_eq(g.events, "d");
	got_release(&g);

	upstream_start(&gone, NULL);
	upstream_stop(&gone);
	got_init(&g, p.n, gone.url, "/");
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ECONNREFUSED);
	got_release(&g);

	upstream_start(&deaf, no_accept);
	got_init(&g, p.n, deaf.url, "/");
	g.req.connect_ms = 300;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(g.reply.text, "no connection"));
	ck_assert_uint_ge(g.took, 290);
	got_release(&g);
	upstream_stop(&deaf);
	place_down(&p);
}
END_TEST

START_TEST(urls_that_are_none)
{
	static const char *const rows[] = {"", "file:///etc/passwd", "ftp://h/x", "http://",
		"/etc/passwd", "h/x", "http://h:99999/", "http://a b/", "javascript:alert(1)"};
	struct net *n = start_net(0);

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct got g;

		got_init(&g, n, rows[i], "");
		net_call(n, got_start, &g);
		ck_assert_msg(g.started == -EINVAL, "%s: %d", rows[i], g.started);
		got_release(&g);
	}
	net_stop(n);
}
END_TEST

START_TEST(headers_that_are_none)
{
	struct net *n = start_net(0);
	struct got g;

	got_init(&g, n, "http://127.0.0.1:1", "/");
	got_header(&g, "X: y\r\nZ: z");
	net_call(n, got_start, &g);
	ck_assert_int_eq(g.started, -EINVAL);
	got_release(&g);
	net_stop(n);
}
END_TEST

/* ---- time --------------------------------------------------------------------------- */

/* Six requests on one connection: each takes less than `ms`, five of them take more. */
static bool waits_for_a_connection(unsigned ms)
{
	unsigned came = 0;
	struct place p;
	struct got g[6];
	struct net *n;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=slow&arg=%u", ms / 4);
	n = start_net(1);
	for (unsigned i = 0; i < 6; i++) {
		got_init(&g[i], n, p.up.url, "/small");
		g[i].req.connect_ms = g[i].req.stall_ms = ms;
		got_go(&g[i]);
	}
	for (unsigned i = 0; i < 6; i++) {
		got_wait(&g[i]);
		came += g[i].reply.error == 0;
		got_release(&g[i]);
	}
	if (came == 6)
		ck_assert_uint_eq(upstream_count(&p.up, "inflight_max"), 1);
	net_stop(n);
	place_down(&p);
	return came == 6;
}

START_TEST(waiting_for_a_connection_is_no_stall)
{
	unit_holds(waits_for_a_connection, 1200);
}
END_TEST

/* It is paused twice for longer than it may stall. */
static bool comes_after_pauses(unsigned ms)
{
	struct place p;
	struct got g;
	bool came;

	place_up(&p, NULL, NULL);
	got_init(&g, p.n, p.up.url, "/big");
	g.req.stall_ms = ms;
	g.hold = 2;
	g.hold_ms = ms * 3 / 2;
	got_run(&g);
	came = g.reply.error == 0;
	if (came)
		got_is_big(&g, &p);
	ck_assert(!came || g.took >= 3 * ms);
	got_release(&g);
	place_down(&p);
	return came;
}

/* Once it goes on, the clock does too. */
static bool stalls_after_a_pause(unsigned ms)
{
	struct place p;
	struct got g;
	bool paused;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=silent-after&arg=1000");
	got_init(&g, p.n, p.up.url, "/big");
	g.req.stall_ms = ms;
	g.hold = 1;
	g.hold_ms = 300;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ETIMEDOUT);
	paused = g.held == 1;
	if (paused) {
		ck_assert_uint_eq(g.body.n, 1000);
		ck_assert_uint_ge(g.took, ms + 290);
	}
	got_release(&g);
	place_down(&p);
	return paused;
}

START_TEST(paused_is_not_stalled)
{
	unit_holds(comes_after_pauses, 400);
	unit_holds(stalls_after_a_pause, 400);
}
END_TEST

/* All of it takes twice as long as any pause may. */
static bool comes_slowly(unsigned ms)
{
	struct place p;
	struct got g;
	bool came;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=trickle&arg=%u", BIG / ms * 500);
	got_init(&g, p.n, p.up.url, "/big");
	g.req.stall_ms = ms;
	got_run(&g);
	came = g.reply.error == 0;
	if (came) {
		got_is_big(&g, &p);
		ck_assert_uint_gt(g.took, ms);
	}
	got_release(&g);
	place_down(&p);
	return came;
}

START_TEST(slow_is_not_stalled)
{
	unit_holds(comes_slowly, 500);
}
END_TEST

/* A paused transfer costs no turns of the thread while its socket has more to say. */
START_TEST(paused_is_idle)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=endless&arg=50000000");
	got_init(&g, p.n, p.up.url, "/x");
	g.req.most = 1 << 20;
	g.hold = 1;
	g.hold_ms = 500;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -EFBIG);
	ck_assert_uint_ge(g.took, 500);
	ck_assert_uint_lt(g.rounds, 20);
	got_release(&g);
	place_down(&p);
}
END_TEST

/* ---- TLS ---------------------------------------------------------------------------- */

/* Starts a server with a self-signed certificate, which prints its port; 0 when it, or openssl, is not installed. */
static pid_t tls_start(const char *root, const char *server, char url[static 64])
{
	char script[PATH_MAX + 512], line[256];
	const char *const argv[] = {"sh", "-c", script, NULL};
	posix_spawn_file_actions_t fa;
	extern char **environ;
	unsigned port = 0;
	pid_t pid = 0;
	int out[2];
	FILE *f;

	snprintf(script, sizeof(script), "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
		"-subj /CN=127.0.0.1 -keyout key -out cert 2>/dev/null && "
		"exec %s 2>/dev/null", root, server);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out[1], STDOUT_FILENO);
	ck_assert_int_eq(posix_spawn(&pid, "/bin/sh", &fa, NULL, (char **)argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	close(out[1]);
	f = fdopen(out[0], "r");
	while (!port && fgets(line, sizeof(line), f))
		sscanf(line, "%*[^1]127.0.0.1:%u", &port);
	snprintf(url, 64, "https://127.0.0.1:%u", port);
	/* The pipe stays open: a server that cannot write ends. */
	return port ? pid : 0;
}

static void tls_stop(const char *root, pid_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/key", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/cert", root);
	unlink(path);
	if (pid) {
		kill(pid, SIGTERM);
		waitpid(pid, NULL, 0);
	}
}

START_TEST(certificates)
{
	struct place p;
	struct got g;
	char url[64];
	pid_t pid;

	place_up(&p, NULL, NULL);
	pid = tls_start(p.root, "openssl s_server -accept 127.0.0.1:0 -WWW -key key -cert cert", url);
	if (pid) {
		got_init(&g, p.n, url, "/small");
		got_run(&g);
		ck_assert_msg(g.reply.error == -EKEYREJECTED, "%s", g.reply.text);
		ck_assert_str_eq(g.events, "d");
		got_release(&g);
		got_init(&g, p.n, url, "/small");
		g.req.insecure = true;
		got_run(&g);
		ck_assert_msg(g.reply.error == 0, "%s", g.reply.text);
		ck_assert_str_eq(buf_text(&g.body), "hello\n");
		got_release(&g);
		tls_stop(p.root, pid);
	}
	/* TLS to a server without TLS */
	got_init(&g, p.n, "https", p.up.url + 4);
	got_run(&g);
	ck_assert_msg(g.reply.error == -EPROTO, "%s", g.reply.text);
	got_release(&g);
	tls_stop(p.root, 0);
	place_down(&p);
}
END_TEST

/* The flood ends because watch.c notices it, and then the next request uses HTTP/1.1. A libcurl that bounds what it
 * reads at once holds no other transfer: with it the flood ends by its deadline. */
START_TEST(flood_ends)
{
	struct place p;
	struct got flood, good, again;
	const char *top = getenv("top_srcdir");
	char url[64], path[PATH_MAX], server[PATH_MAX + 64];
	pid_t pid;

	place_up(&p, NULL, NULL);
	ck_assert_ptr_nonnull(realpath(top ? top : ".", path));
	snprintf(server, sizeof(server), "python3 '%s/tests/helpers/flood.py' cert key", path);
	pid = tls_start(p.root, server, url);
	if (!pid)
		unit_part_skipped("no python3 with TLS: a server that floods a connection of HTTP/2");
	if (pid) {
		got_init(&flood, p.n, url, "/x");
		flood.req.insecure = true;
		flood.req.stall_ms = 3000;
		got_go(&flood);
		got_init(&good, p.n, p.up.url, "/big");
		got_run(&good);
		got_is_big(&good, &p);
		got_release(&good);
		got_wait(&flood);
		ck_assert_msg(flood.reply.error < 0, "%s", flood.reply.text);
	}
	if (pid && flood.reply.error != -ETIMEDOUT) {
		got_init(&again, p.n, url, "/x");
		again.req.insecure = true;
		got_run(&again);
		ck_assert_msg(again.reply.error == 0 && again.reply.http == 11, "%s", again.reply.text);
		ck_assert_str_eq(buf_text(&again.body), "hello\n");
		got_release(&again);
	}
	if (pid)
		got_release(&flood);
	tls_stop(p.root, pid);
	place_down(&p);
}
END_TEST

/* ---- pause and cancel --------------------------------------------------------------- */

static void hold_some(const char *option, const char *path, unsigned hold, unsigned ms)
{
	struct place p;
	struct got g;

	place_up(&p, option, NULL);
	got_init(&g, p.n, p.up.url, path);
	g.hold = hold;
	g.hold_ms = ms;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, 0);
	if (strcmp(path, "/big") == 0)
		got_is_big(&g, &p);
	else
		ck_assert_str_eq(buf_text(&g.body), "hello\n");
	ck_assert_uint_eq(g.held, hold);
	got_release(&g);
	place_down(&p);
}

START_TEST(held_bytes_come_again)
{
	hold_some(NULL, "/big", 40, 1);
	hold_some("--gzip", "/big", 40, 1);
	hold_some(NULL, "/small", 3, 20);
	hold_some("--gzip", "/small", 3, 20);
	hold_some(NULL, "/big", 5, 0);
}
END_TEST

START_TEST(held_bomb)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=gzip-bomb&arg=20");
	got_init(&g, p.n, p.up.url, "/x");
	g.hold = 20;
	g.hold_ms = 5;
	got_run(&g);
	ck_assert_int_eq(g.reply.error, 0);
	ck_assert_uint_gt(g.body.n, (20 << 20) - 300);
	ck_assert_int_eq(g.body.p[0], 0);
	ck_assert_int_eq(memcmp(g.body.p, g.body.p + 1, g.body.n - 1), 0); /* all zeros */
	got_release(&g);
	place_down(&p);
}
END_TEST

static void cancel_other(struct got *g)
{
	transfer_cancel(g->other->t);
}

static int cancel_in_head(void *ctx, const struct net_reply *r)
{
	struct got *g = ctx;

	if (g->other)
		transfer_cancel(take(g->other)->t);
	return got_head(g, r);
}

static void start_canceller(void *ctx)
{
	static const struct net_sink sink = {cancel_in_head, got_body, got_done};
	struct got *g = ctx;

	ck_assert_int_eq(net_get(g->n, &g->req, &sink, g, &g->t), 0);
}

static void cancel(void *ctx)
{
	struct got *g = ctx;

	transfer_cancel(g->t);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static void start_and_cancel(void *ctx)
{
	got_start(ctx);
	cancel(ctx);
}

START_TEST(cancelled)
{
	struct place p;
	struct got v[3], g;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=/slow&kind=silent");
	for (unsigned i = 0; i < 3; i++) {
		got_init(&v[i], p.n, p.up.url, "/slow");
		got_go(&v[i]);
	}
	upstream_until(&p.up, "inflight", 3);
	net_call(p.n, cancel, &v[0]);
	upstream_until(&p.up, "inflight", 2);
	/* from another's done(), from another's head() */
	got_init(&g, p.n, p.up.url, "/small");
	g.on_done = cancel_other;
	g.other = &v[1];
	got_run(&g);
	upstream_until(&p.up, "inflight", 1);
	got_release(&g);
	got_init(&g, p.n, p.up.url, "/small");
	g.other = &v[2];
	net_call(p.n, start_canceller, &g);
	got_wait(&g);
	upstream_until(&p.up, "inflight", 0);
	got_release(&g);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_str_eq(v[i].events, "");
		got_release(&v[i]);
	}
	/* before it began */
	got_init(&g, p.n, p.up.url, "/small");
	net_call(p.n, start_and_cancel, &g);
	net_call(p.n, nothing, NULL); /* the turn is over that would have begun it */
	net_call(p.n, nothing, NULL);
	ck_assert_str_eq(g.events, "");
	got_release(&g);
	place_down(&p);
}
END_TEST

static void start_three(void *ctx)
{
	struct got *v = ctx;

	for (unsigned i = 0; i < 3; i++)
		got_start(&v[i]);
}

START_TEST(stop_drops_what_is_left)
{
	struct place p;
	struct got v[3];
	char none[64];

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=/small&kind=silent");
	got_init(&v[0], p.n, p.up.url, "/small");
	got_init(&v[1], p.n, p.up.url, "/big");
	got_init(&v[2], p.n, "http://nonexistent.invalid", "/");
	v[1].hold = 1;
	v[1].hold_ms = 60000;
	net_call(p.n, start_three, v);
	upstream_until(&p.up, "requests", 2);
	net_stop(p.n);
	p.n = start_net(0);
	ck_assert_str_eq(v[0].events, "");
	ck_assert_ptr_null(strchr(v[1].events, 'd'));
	upstream_control(&p.up, "clear", none, sizeof(none));
	for (unsigned i = 0; i < 3; i++)
		got_release(&v[i]);
	place_down(&p);
}
END_TEST

/* ---- redirects and credentials ------------------------------------------------------ */

START_TEST(headers_stay_at_home)
{
	struct upstream other;
	struct place p;
	struct got g;
	char want[160], base[128];

	place_up(&p, NULL, NULL);
	upstream_start(&other, NULL);
	upstream_fault(&p.up, "path=/home&kind=redirect&arg=/echo");
	upstream_fault(&p.up, "path=/away&kind=redirect&arg=307%%20http://eve:pw@127.0.0.1:%u*",
		other.port);
	upstream_fault(&p.up, "path=/there&kind=redirect&arg=301%%20//127.0.0.1:%u/back", other.port);
	upstream_fault(&other, "path=/back&kind=redirect&arg=308%%20%s/echo", p.up.url);
	upstream_fault(&p.up, "path=/echo&kind=echo-headers");
	upstream_fault(&other, "path=*&kind=echo-headers");
	snprintf(base, sizeof(base), "http://bob:s%%65cret@127.0.0.1:%u", p.up.port);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const paths[] = {"/home", "/away", "/there"};
		const char *text;

		got_init(&g, p.n, base, paths[i]);
		got_header(&g, "X-Token: hush");
		got_header(&g, "Range: bytes=0-9");
		got_run(&g);
		ck_assert_msg(g.reply.error == 0, "%s: %s", paths[i], g.reply.text);
		ck_assert_str_eq(g.events, "hbd");
		snprintf(want, sizeof(want), "%s%s", i == 1 ? other.url : p.up.url,
			i == 1 ? "/away" : "/echo");
		ck_assert_str_eq(g.reply.url, want);
		text = buf_text(&g.body);
		ck_assert_ptr_nonnull(strstr(text, "Range: bytes=0-9"));
		ck_assert_int_eq(strstr(text, "hush") != NULL, i != 1);
		/* bob:secret */
		ck_assert_int_eq(strstr(text, "Authorization: Basic Ym9iOnNlY3JldA==") != NULL, i != 1);
		ck_assert_int_eq(strstr(text, "Authorization") != NULL, i != 1);
		got_release(&g);
	}
	upstream_stop(&other);
	place_down(&p);
}
END_TEST

START_TEST(eight_hops)
{
	struct place p;
	struct got g;
	char none[64];

	place_up(&p, NULL, NULL);
	for (unsigned i = 0; i < 9; i++)
		upstream_fault(&p.up, "path=/%u&kind=redirect&arg=/%u", i, i + 1);
	upstream_fault(&p.up, "path=/9&kind=html");
	upstream_control(&p.up, "reset", none, sizeof(none));
	got_init(&g, p.n, p.up.url, "/1");
	got_run(&g);
	ck_assert_int_eq(g.reply.status, 200);
	ck_assert_str_eq(g.events, "hbd");
	got_release(&g);
	got_init(&g, p.n, p.up.url, "/0");
	got_run(&g);
	ck_assert_int_eq(g.reply.error, -ELOOP);
	ck_assert_str_eq(g.events, "d");
	got_release(&g);
	/* All on one connection; the other is the question's own. */
	ck_assert_uint_le(upstream_count(&p.up, "connections"), 2);
	place_down(&p);
}
END_TEST

START_TEST(no_secret_is_told)
{
	struct place p;
	struct got g;
	char base[128], log[128], text[4096] = "";
	int saved = dup(STDERR_FILENO), fd;
	FILE *f;

	place_up(&p, NULL, NULL);
	snprintf(log, sizeof(log), "%s.log", p.root);
	fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(fd, STDERR_FILENO);
	log_topics("net");
	snprintf(base, sizeof(base), "http://bob:secret@127.0.0.1:%u", p.up.port);
	for (unsigned i = 0; i < 2; i++) {
		got_init(&g, p.n, base, i ? "/small?sig=secret" : "/small");
		if (i)
			upstream_fault(&p.up, "path=*&kind=garbage");
		got_run(&g);
		ck_assert_ptr_null(strstr(g.reply.text, "secret"));
		ck_assert_ptr_null(strstr(g.reply.url, "bob"));
		got_release(&g);
	}
	got_init(&g, p.n, "http://bob:secret@nonexistent.invalid", "/");
	got_run(&g);
	ck_assert_ptr_null(strstr(g.reply.text, "bob"));
	got_release(&g);
	dup2(saved, STDERR_FILENO);
	f = fdopen(fd, "r");
	rewind(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	unlink(log);
	ck_assert_ptr_null(strstr(text, "secret"));
	ck_assert_ptr_null(strstr(text, "bob"));
	ck_assert_ptr_nonnull(strstr(text, "[net] 200, 6 bytes, "));
	ck_assert_ptr_nonnull(strstr(text, "/small?..."));
	place_down(&p);
}
END_TEST

START_TEST(user_agent)
{
	struct place p;
	struct got g;

	place_up(&p, NULL, NULL);
	upstream_fault(&p.up, "path=*&kind=echo-headers");
	got_init(&g, p.n, p.up.url, "/");
	got_run(&g);
	ck_assert_ptr_nonnull(strstr(buf_text(&g.body), "User-Agent: symfs/test\r\n"));
	ck_assert_ptr_nonnull(strstr(buf_text(&g.body), "gzip"));
	got_release(&g);
	got_init(&g, p.n, p.up.url, "/");
	got_header(&g, "User-Agent: Microsoft-Symbol-Server/10");
	got_run(&g);
	ck_assert_ptr_nonnull(strstr(buf_text(&g.body), "User-Agent: Microsoft-Symbol-Server/10\r\n"));
	ck_assert_ptr_null(strstr(buf_text(&g.body), "symfs/test"));
	got_release(&g);
	place_down(&p);
}
END_TEST

/* A server that sends a head and a body of our own. */
struct writes {
	int fd;
	const char *head, *body;
	pthread_t thread;
	char url[64];
};

/* Answers all requests of one connection; head and body are separate writes, under Nagle's algorithm. */
static void *two_writes(void *arg)
{
	struct writes *w = arg;
	int fd = accept(w->fd, NULL, NULL);
	char request[4096];
	size_t n = 0;

	for (ssize_t r; (r = recv(fd, request + n, sizeof(request) - 1 - n, 0)) > 0;) {
		n += (size_t)r;
		request[n] = '\0';
		if (!strstr(request, "\r\n\r\n"))
			continue;
		n = 0;
		if (send(fd, w->head, strlen(w->head), MSG_NOSIGNAL) < 0 ||
			send(fd, w->body, strlen(w->body), MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void writes_up(struct writes *w)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);

	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(w->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(w->fd, 1), 0);
	ck_assert_int_eq(getsockname(w->fd, (struct sockaddr *)&at, &size), 0);
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%u", ntohs(at.sin_port));
	ck_assert_int_eq(pthread_create(&w->thread, NULL, two_writes, w), 0);
}

/* Call it when no client has a connection to it. */
static void writes_down(struct writes *w)
{
	pthread_join(w->thread, NULL);
	close(w->fd);
}

/* A debuginfod server packs what it sends, and says in a field of its own how long the file is. */
START_TEST(size_of_debuginfod)
{
	struct writes w = {.head = "HTTP/1.1 200 OK\r\nX-Debuginfod-Size: 6\r\nTransfer-Encoding: chunked\r\n"
				   "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
		.body = "6\r\nhello\n\r\n0\r\n\r\n"};
	struct net *n;
	struct got g;

	writes_up(&w);
	n = start_net(0);
	got_init(&g, n, w.url, "/");
	got_run(&g);
	ck_assert_str_eq(buf_text(&g.body), "hello\n");
	ck_assert_int_eq(g.reply.size, 6);
	ck_assert_str_eq(g.reply.modified, "Sun, 06 Nov 1994 08:49:37 GMT");
	got_release(&g);
	net_stop(n);
	writes_down(&w);
}
END_TEST

/* A delayed acknowledgement of the head would cost each answer 40 ms, once the connection has been used a few
 * times. */
START_TEST(timed_body_waits_for_no_acknowledgement)
{
	struct writes w = {.head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n", .body = "hello\n"};
	uint64_t best = UINT64_MAX;
	struct net *n;
	struct got g;

	writes_up(&w);
	n = start_net(0);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t began = clock_ms();

		got_init(&g, n, w.url, "/");
		got_run(&g);
		ck_assert_str_eq(buf_text(&g.body), "hello\n");
		got_release(&g);
		if (i >= 10)
			best = MIN(best, clock_ms() - began);
	}
	ck_assert_uint_lt(best, MIN(unit_scaled(30), 38u));
	net_stop(n);
	writes_down(&w);
}
END_TEST

/* ---- many --------------------------------------------------------------------------- */

START_TEST(sixty_four)
{
	static struct got g[64];
	struct place p;

	place_up(&p, NULL, NULL);
	for (unsigned i = 0; i < 64; i++) {
		got_init(&g[i], p.n, p.up.url, "/big");
		g[i].hold = i % 3;
		g[i].hold_ms = i % 5;
		got_go(&g[i]);
	}
	for (unsigned i = 0; i < 64; i++) {
		got_wait(&g[i]);
		got_is_big(&g[i], &p);
		got_release(&g[i]);
	}
	ck_assert_uint_le(upstream_count(&p.up, "inflight_max"), 8);
	ck_assert_uint_eq(upstream_count(&p.up, "get"), 64);
	place_down(&p);
}
END_TEST

#define IN_ORDER 5

struct in_order {
	struct got g[IN_ORDER];
	unsigned order[IN_ORDER], n;
};

static struct in_order in_order;

static void in_order_done(struct got *g)
{
	in_order.order[in_order.n++] = (unsigned)(g - in_order.g);
}

static void in_order_start(void *ctx)
{
	for (unsigned i = 0; i < IN_ORDER; i++)
		got_start(&in_order.g[i]);
}

/* With one slot at the origin: after the running one the most urgent, and of those the oldest. */
START_TEST(urgent_first_then_oldest)
{
	static const enum net_rank ranks[IN_ORDER] = {NET_WANTED, NET_SPARE, NET_WANTED, NET_WANTED, NET_FIRST};
	static const unsigned expected[IN_ORDER] = {0, 4, 2, 3, 1};
	struct place p;

	place_up(&p, NULL, NULL);
	for (unsigned i = 0; i < IN_ORDER; i++) {
		got_init(&in_order.g[i], p.n, p.up.url, "/big");
		in_order.g[i].req.connections = 1;
		in_order.g[i].req.rank = ranks[i];
		in_order.g[i].on_done = in_order_done;
	}
	net_call(p.n, in_order_start, NULL);
	for (unsigned i = 0; i < IN_ORDER; i++)
		got_wait(&in_order.g[i]);
	for (unsigned i = 0; i < IN_ORDER; i++) {
		ck_assert_msg(in_order.order[i] == expected[i], "number %u is transfer %u", i, in_order.order[i]);
		got_release(&in_order.g[i]);
	}
	place_down(&p);
}
END_TEST

/* ---- calls and timers --------------------------------------------------------------- */

struct poster {
	struct net *n;
	unsigned next; /* net thread only */
	struct post {
		struct poster *of;
		unsigned i;
	} posts[500];
};

static void post_ran(void *ctx)
{
	struct post *post = ctx;

	ck_assert(is_here(post->of->n));
	ck_assert_uint_eq(post->i, post->of->next);
	post->of->next++;
}

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < ARRAY_SIZE(p->posts); i++) {
		p->posts[i] = (struct post){p, i};
		ck_assert_int_eq(net_post(p->n, post_ran, &p->posts[i]), 0);
	}
	return NULL;
}

struct nested {
	struct net *n;
	bool inner, outer_over, called;
};

static void nested_inner(void *ctx)
{
	struct nested *x = ctx;

	ck_assert(x->outer_over);
	x->inner = true;
}

static void nested_called(void *ctx)
{
	((struct nested *)ctx)->called = true;
}

static void nested_outer(void *ctx)
{
	struct nested *x = ctx;

	ck_assert_int_eq(net_post(x->n, nested_inner, x), 0);
	ck_assert_int_eq(net_call(x->n, nested_called, x), 0);
	ck_assert(x->called && !x->inner);
	x->outer_over = true;
}

START_TEST(calls)
{
	struct net *n = start_net(0);
	struct poster a = {.n = n}, b = {.n = n};
	struct nested x = {.n = n};
	pthread_t other;

	ck_assert(!is_here(n));
	ck_assert_int_eq(pthread_create(&other, NULL, post_all, &b), 0);
	post_all(&a);
	pthread_join(other, NULL);
	net_call(n, nested_outer, &x);
	/* What was posted before, and by what was posted before, runs. */
	net_stop(n);
	ck_assert(x.inner);
	ck_assert_uint_eq(a.next, ARRAY_SIZE(a.posts));
	ck_assert_uint_eq(b.next, ARRAY_SIZE(b.posts));
}
END_TEST

/* The wakeup of net_stop() may come together with that of a call. If one was lost, the end would take a minute. */
START_TEST(timed_stop)
{
	uint64_t began = clock_ms();

	for (unsigned i = 0; i < 300; i++) {
		struct net *n = start_net(0);
		struct poster a = {.n = n};

		for (unsigned k = 0; k < i % 7; k++) {
			a.posts[k] = (struct post){&a, k};
			ck_assert_int_eq(net_post(n, post_ran, &a.posts[k]), 0);
		}
		net_stop(n);
		ck_assert_uint_eq(a.next, i % 7);
	}
	ck_assert_uint_lt(clock_ms() - began, MIN(unit_scaled(15000), 59000u));
}
END_TEST

struct ticker {
	struct net *n;
	struct net_timer t[5];
	char fired[16];
	uint64_t began, last;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done;
};

static void tick(struct ticker *k, char c)
{
	k->fired[strlen(k->fired)] = c;
}

static void tick_c(void *ctx);
static void tick_last(void *ctx);

/* The second time it sets the last ones, which may be due in one turn, too. */
static void tick_a(void *ctx)
{
	struct ticker *k = ctx;

	tick(k, 'a');
	if (strcmp(k->fired, "aba") != 0)
		return;
	do { /* again if this thread had no processor meanwhile */
		k->began = clock_ms();
		net_timer_set(k->n, &k->t[4], 800, tick_last, k);
		net_timer_set(k->n, &k->t[3], 1500, tick_c, k);
		net_timer_set(k->n, &k->t[3], 400, tick_c, k);
	} while (k->t[3].due >= k->t[4].due);
}

/* Stops one that is due in the same turn, and sets one of 0 ms, which waits for the next. */
static void tick_b(void *ctx)
{
	struct ticker *k = ctx;

	tick(k, 'b');
	net_timer_stop(k->n, &k->t[2]);
	net_timer_set(k->n, &k->t[0], 0, tick_a, k);
}

static void tick_c(void *ctx)
{
	tick(ctx, 'c');
}

static void tick_last(void *ctx)
{
	struct ticker *k = ctx;

	tick(k, 'z');
	k->last = clock_ms() - k->began;
	LOCK_SCOPE(&k->lock);
	k->done = true;
	pthread_cond_signal(&k->over);
}

static void ticks(void *ctx)
{
	struct ticker *k = ctx;
	struct net *n = k->n;

	net_timer_stop(n, &k->t[0]);
	do { /* again if this thread had no processor meanwhile */
		net_timer_set(n, &k->t[1], 30, tick_b, k);
		net_timer_set(n, &k->t[2], 30, tick_c, k);
		net_timer_set(n, &k->t[0], 10, tick_a, k);
		net_timer_set(n, &k->t[0], 20, tick_a, k);
	} while (k->t[0].due >= k->t[1].due);
}

START_TEST(timers)
{
	struct ticker k = {.n = start_net(0), .lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER};

	net_call(k.n, ticks, &k);
	pthread_mutex_lock(&k.lock);
	while (!k.done)
		pthread_cond_wait(&k.over, &k.lock);
	pthread_mutex_unlock(&k.lock);
	net_stop(k.n);
	ck_assert_str_eq(k.fired, "abacz");
	ck_assert_uint_ge(k.last, 800);
}
END_TEST

static void tick_in_an_hour(void *ctx)
{
	struct ticker *k = ctx;

	net_timer_set(k->n, &k->t[0], UNIT_HOUR_MS, tick_a, k);
}

START_TEST(timers_end_with_the_thread)
{
	struct ticker k = {.n = start_net(0)};

	net_call(k.n, tick_in_an_hour, &k);
	net_stop(k.n);
	ck_assert_str_eq(k.fired, "");
}
END_TEST

START_TEST(origins)
{
	static const struct {
		const char *url, *origin;
	} rows[] = {
		{"http://Example.COM/a/b", "http://example.com"},
		{"HTTP://example.com:80/", "http://example.com"},
		{"https://example.com:443", "https://example.com"},
		{"https://example.com:80/", "https://example.com:80"},
		{"http://example.com:443/", "http://example.com:443"},
		{"http://user:pass@example.com:8080/x?y#z", "http://example.com:8080"},
		{"http://a@b@example.com/", NULL},
		{"http://[::1]:8000/x", "http://[::1]:8000"},
		{"http://127.0.0.1:65535/x", "http://127.0.0.1:65535"},
		{"http://example.com?x@evil.org/", "http://example.com"},
		{"http://example.com#@evil.org/", "http://example.com"},
		{"http://example.com\\@evil.org/", NULL},
		{"http://example.com:0x50/", NULL},
		{"http://example.com:70000/", NULL},
		{"ftp://example.com/", NULL},
		{"file:///etc/passwd", NULL},
		{"example.com", NULL},
		{"", NULL},
		{"http:////x", NULL},
		{"//example.com/", NULL},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[NET_HOST_MAX] = "untouched";
		int r = net_origin(rows[i].url, out);

		ck_assert_msg((r == 0) == (rows[i].origin != NULL) || strchr(rows[i].url, '@'),
			"%s: %d %s", rows[i].url, r, out);
		if (r == 0 && rows[i].origin)
			ck_assert_str_eq(out, rows[i].origin);
		else if (r < 0)
			ck_assert_int_eq(r, -EINVAL);
	}
}
END_TEST

START_TEST(origin_that_is_too_long)
{
	char url[1024], out[NET_HOST_MAX];

	memset(url, 'a', sizeof(url));
	memcpy(url, "http://", 7);
	url[sizeof(url) - 1] = '\0';
	ck_assert_int_eq(net_origin(url, out), -EINVAL);
}
END_TEST

UNIT_MAIN("net", whole_file, ranges, gzip, statuses, bodies_that_nobody_wants, faults,
	too_big_is_told_before_the_head, sinks_that_refuse, nobody_there, urls_that_are_none,
	headers_that_are_none, waiting_for_a_connection_is_no_stall, paused_is_not_stalled,
	slow_is_not_stalled, paused_is_idle, certificates, flood_ends, held_bytes_come_again, held_bomb,
	cancelled, stop_drops_what_is_left, headers_stay_at_home, eight_hops, no_secret_is_told, user_agent,
	size_of_debuginfod, timed_body_waits_for_no_acknowledgement, sixty_four,
	urgent_first_then_oldest, calls, timed_stop, timers, timers_end_with_the_thread, origins,
	origin_that_is_too_long)
