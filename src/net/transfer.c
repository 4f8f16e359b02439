/* One transfer: a libcurl easy handle, its clock, its redirects. libcurl calls back while it
 * holds its own state, so whatever is asked of it from a callback happens in settle(), which a
 * timer of 0 ms runs between two turns. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "net/address.h"
#include "net/net-private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HOPS_MOST 8
#define SKIP_MOST (64 << 10) /* of a body that nobody wants; then the connection is closed */
#define SKIP_MS 2000	     /* the same, in time */
#define CONNECT_MS 5000
#define STALL_MS 30000
#define TURN_MS 1000	     /* of a body, before it should yield to another */
#define LEAST_TURN_MS 250    /* to a more urgent one */
#define FIRST_WAIT_MS 500   /* for a first answer, before it gets a connection more */
#define CODING_RATIO 1000	 /* a byte on the wire becomes no more, on average, */
#define CODING_FREE (16u << 20) /* once so many came of them */

struct transfer {
	struct net *net;
	struct transfer *prev, *next;
	CURL *easy;
	bool added; /* to the multi */
	struct net_sink sink;
	void *ctx;

	/* what was asked */
	struct target first; /* of the request: its origin gets headers, user and password */
	struct curl_slist *headers;
	struct curl_slist *elsewhere; /* those that may go to other origins */
	unsigned connect_ms, stall_ms;
	uint64_t most;
	unsigned connections;
	char *proxy;	    /* as in the request */
	bool allow_private; /* redirects may lead to private addresses */
	bool allow_http;    /* and from https to http */
	struct net_req proof; /* of who we are: only sigv4, cert, key, netrc are set */

	/* this hop */
	char *url;
	char origin[NET_HOST_MAX];
	bool waiting; /* for its turn at the origin */
	bool waited;  /* and it came */
	bool promised; /* another one ends for it */
	enum net_rank rank;
	uint64_t turned; /* clock_ms(): when its turn, or the wait for it, began */
	bool proxied; /* by a proxy, unless an exception from it counts */
	const char *refused; /* why the redirect may not lead there; NULL */
	unsigned hops;
	struct address source; /* of the first hop's server */
	bool source_known;
	struct address first_peer; /* of the first hop's connection: the server's, or its proxy's */
	unsigned first_port;	   /* 0: none yet */
	bool strayed; /* a redirect led to a public host: what comes behind it is its word, not the source's */
	struct head head;
	bool head_over;
	uint64_t skipped;

	struct net_timer clock; /* until connected, then until stalled */
	struct net_timer later; /* settle() */
	uint64_t began, heard;	/* clock_ms(): of net_get(), of the last byte */
	uint64_t received;
	bool wanted;	/* the body goes to the sink */
	bool paused;	/* no body(), says transfer_pause() or the sink */
	bool held;	/* libcurl keeps bytes back and waits for curl_easy_pause() */
	bool cancelled;

	struct net_reply reply;
	char words[CURL_ERROR_SIZE]; /* libcurl's */
};

static void transfer_free(struct transfer *t)
{
	struct net *n = t->net;

	net_timer_stop(n, &t->clock);
	net_timer_stop(n, &t->later);
	n->waiting -= t->waiting;
	if (t->added)
		curl_multi_remove_handle(n->multi, t->easy);
	curl_easy_cleanup(t->easy);
	if (t->prev)
		t->prev->next = t->next;
	else if (n->transfers == t)
		n->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->elsewhere);
	target_release(&t->first);
	net_req_release(&t->proof);
	head_release(&t->head);
	free(t->proxy);
	free(t->url);
	free(t);
}

static void cleanup_transfer(struct transfer **t)
{
	if (*t)
		transfer_free(*t);
}

void transfers_drop(struct net *n)
{
	while (n->transfers)
		transfer_free(n->transfers);
}

void transfers_stopped(struct net *n, uint64_t ms)
{
	uint64_t now = clock_ms();

	/* Never later than now: some of it was heard in that same turn, before the long wait or behind it. */
	for (struct transfer *t = n->transfers; t; t = t->next) {
		t->heard = MIN(t->heard + ms, now);
		t->turned = MIN(t->turned + ms, now);
	}
}

static int fail(struct transfer *t, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(struct transfer *t, int error, const char *fmt, ...)
{
	va_list ap;

	t->reply.error = error;
	va_start(ap, fmt);
	vsnprintf(t->reply.text, sizeof(t->reply.text), fmt, ap);
	va_end(ap);
	return error;
}

/* A query may carry a signature: it stays out of the log. */
static void transfer_log(const struct transfer *t, const char *how)
{
	log_debug(LOG_NET, "%d, %llu bytes, %llu ms, %s%.*s%s", t->reply.status,
		(unsigned long long)t->received, (unsigned long long)(clock_ms() - t->began), how,
		(int)strcspn(t->url, "?"), t->url, strchr(t->url, '?') ? "?..." : "");
}

/* The end: the sink hears of it, the transfer is gone. Never inside libcurl. */
static void finish(struct transfer *t)
{
	struct net_sink sink = t->sink;
	char how[sizeof(t->reply.text) + 8] = "";

	/* Out of libcurl's hands first: done() may start and cancel others, and may take its time.
	 */
	if (t->added)
		curl_multi_remove_handle(t->net->multi, t->easy);
	t->added = false;
	if (t->reply.error)
		snprintf(how, sizeof(how), "%s: ", t->reply.text);
	transfer_log(t, how);
	sink.done(t->ctx, &t->reply);
	transfer_free(t);
}

/* ---- the clock ---------------------------------------------------------------------- */

/* Nothing more of a body that is only skipped: the answer is complete without it. */
static void skip_over(void *ctx)
{
	transfer_ended(ctx, CURLE_WRITE_ERROR);
}

static void stall_check(void *ctx)
{
	struct transfer *t = ctx;
	uint64_t quiet = clock_ms() - t->heard;

	/* Nobody can send to who takes nothing; transfer_resume() starts the clock again. */
	if (t->paused && t->head_over)
		return;
	if (quiet < t->stall_ms) {
		net_timer_set(t->net, &t->clock, t->stall_ms - (unsigned)quiet, stall_check, t);
		return;
	}
	fail(t, -ETIMEDOUT, "no byte for %u ms", t->stall_ms);
	finish(t);
}

static void stall_start(struct transfer *t)
{
	t->heard = clock_ms();
	net_timer_set(t->net, &t->clock, t->stall_ms, stall_check, t);
}

static void connect_over(void *ctx)
{
	struct transfer *t = ctx;

	fail(t, -ETIMEDOUT, "no connection in %u ms", t->connect_ms);
	finish(t);
}

/* The time for connecting begins here and not in net_get(): a transfer that waits for one of the
 * host's connections to become free has not begun to connect. Resolving comes before sockets. */
static int on_resolve(void *state, void *reserved, void *ctx)
{
	struct transfer *t = ctx;

	if (!t->clock.due || t->clock.fn != connect_over)
		net_timer_set(t->net, &t->clock, t->connect_ms, connect_over, t);
	return 0;
}

/* ---- who is reached ----------------------------------------------------------------- */

static bool is_home(const struct transfer *t)
{
	return strcmp(t->origin, t->first.origin) == 0;
}

static bool env_has(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* The proxy that the settings name for the hop, or NULL. Exceptions (no_proxy) are not looked at. */
static const char *proxy_of(const struct transfer *t)
{
	const char *const names[] = {
		strncmp(t->origin, "https:", 6) == 0 ? "https_proxy" : "http_proxy",
		strncmp(t->origin, "https:", 6) == 0 ? "HTTPS_PROXY" : "http_proxy",
		"all_proxy", "ALL_PROXY"};

	if (t->proxy)
		return *t->proxy && strcasecmp(t->proxy, "none") != 0 ? t->proxy : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (env_has(names[i]))
			return getenv(names[i]);
	return NULL;
}

/* The server itself is at the other end, or its proxy: a connection to another port than the origin's is
 * the proxy's. */
static bool is_direct(const struct transfer *t, unsigned port)
{
	return !t->proxied || port == origin_port(t->origin);
}

/* A proxy at the origin's own port cannot be told from the server. */
static bool is_surely_direct(const struct transfer *t, unsigned port)
{
	const char *proxy = proxy_of(t);
	char origin[NET_HOST_MAX];

	if (!is_direct(t, port))
		return false;
	return !proxy || (net_origin(proxy, origin) == 0 && origin_port(origin) != port);
}

/* The source itself may be anywhere. */
static bool may_lead_to(struct transfer *t, const struct address *to)
{
	const struct address *from = t->source_known && !t->strayed ? &t->source : NULL;

	if (is_home(t))
		return true;
	switch (address_judge(from, to, t->allow_private)) {
	case REDIRECT_ALLOWED:
		return true;
	case REDIRECT_PRIVATE:
		t->refused = "a redirect to a private address (allow-private)";
		break;
	case REDIRECT_LINK_LOCAL:
		t->refused = "a redirect to a link-local address";
		break;
	}
	return false;
}

/* What lies behind a proxy, only the proxy can tell. A proxy that has the port of the origins is told from
 * a server by its address, which the first hop met. */
static bool may_connect(struct transfer *t, const struct address *to, unsigned port)
{
	if (!is_direct(t, port))
		return true;
	if (t->proxied && port == t->first_port && memcmp(to, &t->first_peer, sizeof(*to)) == 0)
		return true;
	return may_lead_to(t, to);
}

static unsigned port_of(const struct sockaddr *a)
{
	return ntohs(a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = ctx;
	struct address to;

	on_resolve(NULL, NULL, ctx);
	/* A name may have several addresses: refusing one does not end the transfer. */
	if (!address_of(&a->addr, &to) || !may_connect(t, &to, port_of(&a->addr)))
		return CURL_SOCKET_BAD;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* What is not an address becomes ::, where no redirect may lead. */
static struct address address_of_text(const char *ip)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	char plain[INET6_ADDRSTRLEN];
	struct address a;

	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(ip, "%"), ip);
	if (inet_pton(AF_INET, plain, &four.sin_addr) == 1) {
		address_of((struct sockaddr *)&four, &a);
		return a;
	}
	inet_pton(AF_INET6, plain, &six.sin6_addr);
	address_of((struct sockaddr *)&six, &a);
	return a;
}

/* Remembers who the source is, or that a redirect left its network. */
static void note_reached(struct transfer *t, const struct address *at, unsigned port)
{
	struct address literal;
	bool named, direct = is_surely_direct(t, port);

	if (t->hops == 0) {
		t->first_peer = *at;
		t->first_port = port;
	}
	if (t->hops == 0 && direct) {
		t->source = *at;
		t->source_known = true;
	}
	if (is_home(t))
		return;
	named = !direct && !address_of_origin(t->origin, &literal);
	if (!named && !direct)
		at = &literal;
	if (named || address_net(at) == ADDRESS_PUBLIC)
		t->strayed = true;
}

/* Judged again, for a connection that another transfer has opened. */
static int on_connected(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = ctx;
	const struct address at = address_of_text(ip);

	stall_start(t);
	/* One that was refused before does not matter any more. */
	t->refused = NULL;
	if (!may_connect(t, &at, (unsigned)port))
		return CURL_PREREQFUNC_ABORT;
	note_reached(t, &at, (unsigned)port);
	return CURL_PREREQFUNC_OK;
}

static int refuse(struct transfer *t)
{
	return fail(t, -EPERM, "%s", t->refused);
}

/* ---- turns -------------------------------------------------------------------------- */

static uint64_t origin_hash(const char *origin)
{
	return hash_mix(origin, strlen(origin)) | 1;
}

static uint64_t *many(struct net *n, const char *origin)
{
	return &n->many[origin_hash(origin) / 2 % MANY_ORIGINS];
}

/* How many requests of its origin may run at once; 0: as many as libcurl lets. */
static unsigned turns(const struct transfer *t)
{
	struct net *n = t->net;

	if (t->connections && is_home(t))
		return t->connections;
	return *many(n, t->origin) == origin_hash(t->origin) ? 0 : n->host_usual;
}

static bool same_origin(const struct transfer *a, const struct transfer *b)
{
	return strcmp(a->origin, b->origin) == 0;
}

static unsigned urgency(enum net_rank rank)
{
	return rank == NET_FIRST ? 2 : rank == NET_WANTED;
}

/* Nobody may hear whether there is anything, because of bodies that take their time: a few more may. */
static bool may_exceed(const struct transfer *t, unsigned running)
{
	return t->rank == NET_FIRST && t->waiting && !(t->connections && is_home(t)) &&
		running < 2 * t->net->host_usual && clock_ms() - t->turned >= FIRST_WAIT_MS;
}

static bool may_run(const struct transfer *t)
{
	unsigned most = turns(t), running = 0;

	if (!most)
		return true;
	for (const struct transfer *o = t->net->transfers; o; o = o->next)
		running += o->added && same_origin(o, t);
	return running < most || may_exceed(t, running);
}

/* Somebody as urgent was there before it. */
static bool is_behind(const struct transfer *t)
{
	for (const struct transfer *o = t->net->waiting ? t->net->transfers : NULL; o; o = o->next)
		if (o != t && o->waiting && !o->cancelled && same_origin(o, t) &&
			urgency(o->rank) >= urgency(t->rank))
			return true;
	return false;
}

/* The next one: the most urgent, and of those the oldest. The list has the newest first. */
static struct transfer *next_in_turn(struct net *n)
{
	struct transfer *next = NULL;

	for (struct transfer *t = n->waiting ? n->transfers : NULL; t; t = t->next)
		if (t->waiting && !t->cancelled && (!next || urgency(t->rank) >= urgency(next->rank)) &&
			may_run(t))
			next = t;
	return next;
}

static void turn_comes(void *ctx)
{
	/* transfers_admit() looks at it in each turn of the loop: this is one. */
}

static void wait_for_turn(struct transfer *t)
{
	t->waiting = true;
	t->turned = clock_ms();
	t->net->waiting++;
	if (t->rank == NET_FIRST)
		net_timer_set(t->net, &t->clock, FIRST_WAIT_MS, turn_comes, t);
}

bool transfer_is_queued(const struct transfer *t)
{
	return t->waiting || (!t->added && !t->cancelled);
}

uint64_t transfer_its_turn(const struct transfer *t)
{
	return t->waited && t->added ? t->turned : 0;
}

void transfer_set_rank(struct transfer *t, enum net_rank rank)
{
	t->rank = rank;
}

bool transfer_should_yield(struct transfer *t)
{
	uint64_t now = clock_ms(), ran = now - t->turned;
	struct transfer *oldest = NULL;

	if (!t->net->waiting || !turns(t) || ran < LEAST_TURN_MS)
		return false;
	for (struct transfer *o = t->net->transfers; o; o = o->next) {
		if (!o->waiting || o->cancelled || o->promised || !same_origin(o, t))
			continue;
		if (urgency(o->rank) > urgency(t->rank) || (o->rank == t->rank && ran >= TURN_MS))
			oldest = o;
	}
	if (oldest)
		oldest->promised = true;
	return oldest != NULL;
}

/* ---- the answer --------------------------------------------------------------------- */

static bool is_redirect(const struct transfer *t)
{
	int s = t->reply.status;

	return t->head.location && (s == 301 || s == 302 || s == 303 || s == 307 || s == 308);
}

static int told_too_big(struct transfer *t)
{
	if (!t->most || t->reply.size < 0 || (uint64_t)t->reply.size <= t->most)
		return 0;
	return fail(t, -EFBIG, "%lld bytes, more than %llu", (long long)t->reply.size,
		(unsigned long long)t->most);
}

static int http_version(CURL *easy)
{
	long v = 0;

	curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &v);
	switch (v) {
	case CURL_HTTP_VERSION_1_0: return 10;
	case CURL_HTTP_VERSION_1_1: return 11;
	case CURL_HTTP_VERSION_2_0: return 20;
	case CURL_HTTP_VERSION_3: return 30;
	default: return 0;
	}
}

/* All header lines are here. */
static int head_complete(struct transfer *t)
{
	long status = 0;
	int r;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 100 && status < 200)
		return 0; /* another head follows */
	t->head_over = true;
	t->reply.status = (int)status;
	t->reply.http = http_version(t->easy);
	head_finish(&t->head, &t->reply);
	t->wanted = status >= 200 && status < 300;
	if (t->reply.http >= 20)
		*many(t->net, t->origin) = origin_hash(t->origin);
	if (!t->wanted)
		net_timer_set(t->net, &t->clock, MIN(t->stall_ms, SKIP_MS), skip_over, t);
	if (is_redirect(t))
		return 0;
	r = t->wanted ? told_too_big(t) : 0;
	if (r < 0)
		return r;
	r = t->sink.head(t->ctx, &t->reply);
	return r < 0 ? fail(t, r, "stopped: %s", err_text(r)) : 0;
}

static size_t on_trailer(struct transfer *t, size_t n)
{
	if (head_trailer(&t->head, n) == 0)
		return n;
	fail(t, -EPROTO, "what follows the body is too large");
	return 0;
}

static int header_too_long(struct transfer *t, unsigned most)
{
	return fail(t, -EPROTO, "sent a header longer than %u bytes", most);
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	int r;

	n *= size;
	t->heard = clock_ms();
	if (t->cancelled || t->reply.error)
		return 0;
	if (t->head_over)
		return on_trailer(t, n);
	if (n <= 2 && (p[0] == '\r' || p[0] == '\n'))
		return head_complete(t) < 0 ? 0 : n;
	r = head_line(&t->head, &t->reply, p, n);
	if (r == -ENOMEM)
		fail(t, r, "out of memory");
	else if (r < 0)
		header_too_long(t, t->head.bytes > HEAD_MOST ? HEAD_MOST : HEAD_LOCATION_MAX);
	return r < 0 ? 0 : n;
}

static size_t skip(struct transfer *t, size_t n)
{
	t->skipped += n;
	return t->skipped > SKIP_MOST ? 0 : n;
}

static size_t hold(struct transfer *t)
{
	t->paused = t->held = true;
	return CURL_WRITEFUNC_PAUSE;
}

/* A Content-Encoding is taken off by curl as the bytes come: what becomes of few may be endless. */
static bool is_bomb(struct transfer *t, size_t n)
{
	curl_off_t wire = 0;

	if (t->received + n <= CODING_FREE)
		return false;
	curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	return (t->received + n) / CODING_RATIO > (uint64_t)wire;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	int r;

	n *= size;
	t->heard = clock_ms();
	if (t->cancelled || t->reply.error)
		return n ? 0 : 1;
	if (!t->wanted)
		return skip(t, n);
	if (t->paused)
		return hold(t);
	if (t->most && (t->received > t->most || n > t->most - t->received)) {
		fail(t, -EFBIG, "more than %llu bytes", (unsigned long long)t->most);
		return 0;
	}
	if (is_bomb(t, n)) {
		fail(t, -EFBIG, "a bomb: its coding unpacks to more than %u times its size",
			CODING_RATIO);
		return 0;
	}
	r = n ? t->sink.body(t->ctx, t->received, p, n) : 0;
	if (r == -EAGAIN)
		return hold(t);
	if (r < 0) {
		fail(t, r, "stopped: %s", err_text(r));
		return 0;
	}
	t->received += n;
	return n;
}

/* ---- the hops ----------------------------------------------------------------------- */

static int add_to_multi(struct transfer *t)
{
	CURLMcode c = curl_multi_add_handle(t->net->multi, t->easy);

	if (c != CURLM_OK)
		return fail(
			t, c == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO, "%s", curl_multi_strerror(c));
	t->added = true;
	t->promised = false;
	t->turned = clock_ms();
	return 0;
}

/* What proves who we are goes to the origin that was asked first, and nowhere else. */
static CURLcode set_proof(struct transfer *t, bool home)
{
	const struct net_req *p = &t->proof;
	const struct option {
		CURLoption option;
		const char *value;
	} options[] = {
		{CURLOPT_USERNAME, t->first.user},
		{CURLOPT_PASSWORD, t->first.password},
		{CURLOPT_SSLCERT, p->cert},
		{CURLOPT_SSLKEY, p->key},
		{CURLOPT_NETRC_FILE, p->netrc},
		{CURLOPT_AWS_SIGV4, p->sigv4},
	};
	CURLcode c = CURLE_OK;

	for (size_t i = 0; c == CURLE_OK && i < ARRAY_SIZE(options); i++)
		c = curl_easy_setopt(t->easy, options[i].option, home ? options[i].value : NULL);
	curl_easy_setopt(t->easy, CURLOPT_NETRC,
		(long)(home && p->netrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
	curl_easy_setopt(t->easy, CURLOPT_HTTPAUTH,
		(long)(home && p->sigv4 ? CURLAUTH_AWS_SIGV4 : CURLAUTH_BASIC));
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, home ? t->headers : t->elsewhere);
	return c;
}

void transfers_admit(struct net *n)
{
	struct transfer *t;

	while ((t = next_in_turn(n))) {
		t->waiting = false;
		t->waited = true;
		n->waiting--;
		net_timer_stop(n, &t->clock);
		if (add_to_multi(t) < 0)
			finish(t);
	}
}

static int hop_start(struct transfer *t, const char *origin)
{
	struct address to;
	bool literal;

	head_begin(&t->head, &t->reply);
	t->head.bytes = 0;
	t->head_over = t->wanted = false;
	t->skipped = 0;
	t->reply.status = 0;
	snprintf(t->reply.url, sizeof(t->reply.url), "%s", t->url);
	snprintf(t->origin, sizeof(t->origin), "%s", origin);
	t->proxied = proxy_of(t) != NULL;
	t->refused = NULL;
	literal = address_of_origin(origin, &to);
	if (literal && !may_lead_to(t, &to))
		return refuse(t);
	if (literal && t->hops == 0) {
		t->source = to;
		t->source_known = true;
	}
	if (curl_easy_setopt(t->easy, CURLOPT_URL, t->url) != CURLE_OK ||
		set_proof(t, is_home(t)) != CURLE_OK)
		return fail(t, -ENOMEM, "out of memory");
	if (may_run(t) && !is_behind(t))
		return add_to_multi(t);
	wait_for_turn(t);
	return 0;
}

static int hop(struct transfer *t)
{
	_cleanup_(target_release) struct target next = {0};
	int r;

	if (++t->hops > HOPS_MOST)
		return fail(t, -ELOOP, "more than %d redirects", HOPS_MOST);
	r = target_of(&next, t->url, t->head.location);
	if (r == -ENOMEM)
		return fail(t, r, "out of memory");
	if (r < 0)
		return fail(t, -EPROTONOSUPPORT, "a redirect to something that is not http(s)");
	if (!t->allow_http && strncmp(t->origin, "https:", 6) == 0 && strncmp(next.origin, "http:", 5) == 0)
		return fail(t, -EPERM, "a redirect from https to http (allow-http-redirects)");
	/* A user and a password that a server sent are not ours to try: next's own stay unused. */
	free(t->url);
	t->url = take(next.url);
	return hop_start(t, next.origin);
}

/* libcurl before 8.6 reports a header line that it does not take (CURL_MAX_HTTP_HEADER) as a lack of
 * memory. A real lack between the request and the end of the head is read as that, too: it is rare, and
 * the next request reports it. */
static bool is_long_line(const struct transfer *t, CURLcode result)
{
	curl_off_t sent = 0;

	curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
	return !t->head_over && sent > 0 && (result == CURLE_OUT_OF_MEMORY || result == CURLE_TOO_LARGE);
}

/* libcurl quotes the URL of a proxy that it cannot read, and names what it takes for the host. A proxy of
 * the environment is such a URL as a user wrote it. */
static bool quotes_proxy(const struct transfer *t)
{
	const char *proxy = proxy_of(t), *at = proxy ? strrchr(proxy, '@') : NULL, *host;

	if (strncmp(t->words, "Unsupported proxy", 17) == 0)
		return true;
	if (!at)
		return false;
	host = strstr(proxy, "://");
	host = host ? host + 3 : proxy;
	return strchr(proxy, '@') != at || at > host + strcspn(host, "/?#");
}

static void curl_failed(struct transfer *t, CURLcode result)
{
	long os_errno = 0;

	if (is_long_line(t, result)) {
		header_too_long(t, CURL_MAX_HTTP_HEADER);
		return;
	}

	/* While a body is held back, libcurl goes on with what it has read, and keeps up to 64 MiB
	 * of what that becomes. */
	if (result == CURLE_OUT_OF_MEMORY && t->head.encoded) {
		fail(t, -EFBIG, "a bomb: its coding makes more of a few bytes than can be held");
		return;
	}
	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
	if (quotes_proxy(t)) {
		fail(t, error_of_curl(result, os_errno),
			"the URL of the proxy is mistyped (in a password, / ? # @ are %%2F %%3F %%23 %%40)");
		return;
	}
	fail(t, error_of_curl(result, os_errno), "%.190s",
		t->words[0] ? t->words : curl_easy_strerror(result));
}

void transfer_ended(struct transfer *t, CURLcode result)
{
	curl_multi_remove_handle(t->net->multi, t->easy);
	t->added = false;
	net_timer_stop(t->net, &t->clock);
	if (t->cancelled)
		return; /* settle() is on its way */
	if (!t->reply.error && t->head_over && is_redirect(t)) {
		if (hop(t) == 0)
			return;
	} else if (!t->reply.error && result != CURLE_OK && !(t->head_over && !t->wanted)) {
		/* The body of a 404 may break off: the status has said it all. */
		if (t->refused && !t->head_over)
			refuse(t);
		else
			curl_failed(t, result);
	}
	finish(t);
}

/* ---- settle ------------------------------------------------------------------------- */

/* libcurl 7.88 calls body() right here, 8.14 in the next turn. An error from here would not be
 * told in a message in all versions. */
static void let_go(struct transfer *t)
{
	CURLcode c;

	t->held = false;
	c = curl_easy_pause(t->easy, CURLPAUSE_CONT);
	if (c != CURLE_OK)
		transfer_ended(t, c);
}

static void settle(void *ctx)
{
	struct transfer *t = ctx;

	if (t->cancelled) {
		transfer_free(t);
	} else if (!t->added && !t->waiting) {
		if (hop_start(t, t->first.origin) < 0)
			finish(t);
	} else if (t->held && !t->paused) {
		let_go(t);
	}
}

static void settle_later(struct transfer *t)
{
	net_timer_set(t->net, &t->later, 0, settle, t);
}

void transfer_pause(struct transfer *t)
{
	t->paused = true; /* on_body() tells libcurl, when it comes */
}

void transfer_resume(struct transfer *t)
{
	if (!t->paused)
		return;
	t->paused = false;
	if (t->wanted)
		stall_start(t);
	if (t->held)
		settle_later(t);
}

void transfer_cancel(struct transfer *t)
{
	t->cancelled = true;
	net_timer_stop(t->net, &t->clock);
	transfer_log(t, "cancelled: ");
	settle_later(t);
}

uint64_t transfer_received(const struct transfer *t)
{
	return t->received;
}

/* ---- the beginning ------------------------------------------------------------------ */

static bool header_is(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncasecmp(line, name, n) == 0 && line[n] == ':';
}

static int slist_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *l = curl_slist_append(*list, line);

	if (!l)
		return -ENOMEM;
	*list = l;
	return 0;
}

/* Range and If-Range say nothing about who asks; without them every server that redirects to
 * another host (a store of objects, say) would send whole files. */
static int headers_add(struct transfer *t, char *const *lines, bool *range)
{
	int r = 0;

	for (; r == 0 && lines && *lines; lines++) {
		bool plain = header_is(*lines, "Range") || header_is(*lines, "If-Range");

		if ((*lines)[strcspn(*lines, "\r\n")])
			return -EINVAL;
		*range = *range || plain;
		r = slist_add(&t->headers, *lines);
		if (r == 0 && plain)
			r = slist_add(&t->elsewhere, *lines);
	}
	return r;
}

static void easy_callbacks(struct transfer *t)
{
	CURL *e = t->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
	curl_easy_setopt(e, CURLOPT_RESOLVER_START_DATA, t);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->words);
}

static int easy_options(struct transfer *t, bool range, const struct net_req *req)
{
	const char *proxy = req->proxy && strcasecmp(req->proxy, "none") == 0 ? "" : req->proxy;
	CURL *e = t->easy;

	easy_callbacks(t);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 128L << 10);
	/* Ours is `clock`; libcurl's would count the wait for a free connection. */
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 24L * 3600 * 1000);
	/* Else the end of a transfer waits for getaddrinfo(), and with it this whole thread. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, req->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, req->insecure ? 0L : 2L);
	if (req->ca_file && curl_easy_setopt(e, CURLOPT_CAINFO, req->ca_file) != CURLE_OK)
		return -ENOMEM;
	if (proxy && curl_easy_setopt(e, CURLOPT_PROXY, proxy) != CURLE_OK)
		return -ENOMEM;
	/* A range of a compressed body is no range of the file. */
	if (curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, range ? "identity" : "") != CURLE_OK ||
		curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
		curl_easy_setopt(e, CURLOPT_USERAGENT, t->net->user_agent) != CURLE_OK)
		return -ENOMEM;
	return 0;
}

/* A copy in place of what stood there. */
static int replace(char **out, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (!text)
		return 0;
	free(*out);
	*out = copy;
	return copy ? 0 : -ENOMEM;
}

static int proof_fill(struct transfer *t, const struct net_req *req)
{
	if (replace(&t->first.user, req->user) < 0 ||
		replace(&t->first.password, req->password) < 0 ||
		replace(&t->proof.sigv4, req->sigv4) < 0 ||
		replace(&t->proof.cert, req->cert) < 0 || replace(&t->proof.key, req->key) < 0 ||
		replace(&t->proof.netrc, req->netrc) < 0)
		return -ENOMEM;
	return 0;
}

/* libcurl has one number for all hosts; turns() keeps each to its own. */
static void raise_limit(struct net *n, unsigned connections)
{
	if ((long)connections <= n->host_most)
		return;
	n->host_most = (long)connections;
	curl_multi_setopt(n->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n->host_most);
}

static int transfer_fill(struct transfer *t, const struct net_req *req)
{
	bool range = false;
	int r = target_of(&t->first, NULL, req->url);

	if (r < 0)
		return r;
	r = headers_add(t, req->headers, &range);
	if (r < 0)
		return r;
	t->url = strdup(t->first.url);
	t->easy = curl_easy_init();
	if (!t->url || !t->easy || replace(&t->proxy, req->proxy) < 0 || proof_fill(t, req) < 0)
		return -ENOMEM;
	raise_limit(t->net, req->connections);
	return easy_options(t, range && !req->coded, req);
}

int net_get(struct net *n, const struct net_req *req, const struct net_sink *sink, void *ctx,
	struct transfer **out)
{
	_cleanup_(cleanup_transfer) struct transfer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	*t = (struct transfer){
		.net = n,
		.sink = *sink,
		.ctx = ctx,
		.connect_ms = req->connect_ms ? req->connect_ms : CONNECT_MS,
		.stall_ms = req->stall_ms ? req->stall_ms : STALL_MS,
		.most = req->most,
		.connections = req->connections,
		.rank = req->rank,
		.allow_private = req->allow_private,
		.allow_http = req->allow_http,
		.began = clock_ms(),
	};
	head_begin(&t->head, &t->reply);
	r = transfer_fill(t, req);
	if (r < 0)
		return r;
	t->next = n->transfers;
	if (t->next)
		t->next->prev = t;
	n->transfers = t;
	settle_later(t);
	*out = take(t);
	return 0;
}
