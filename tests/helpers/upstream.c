/* A symbol server for tests: HTTP/1.1 on 127.0.0.1, files with ranges from a directory, faults on
 * demand. It has a thread for each connection; `upstream --help` prints the options and the
 * control paths. It shares no code with symfs, so that it cannot share symfs's mistakes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "virtual.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX (64 << 10)  /* of a request */
#define PATH_ROOM 4096
#define CONNS_MAX 2000
#define GZIP_MOST (256 << 20) /* files that --gzip packs in memory */
#define CHUNK (64 << 10)
#define SHORT_BODY 1000

static const char help[] =
	"upstream [options]: a symbol server for tests, on 127.0.0.1 only\n"
	"  --port N      listen there; 0 (default): any free port\n"
	"  --root DIR    serve the files below (default .)\n"
	"  --virtual N   also Breakpad files that need no disk, of N bytes in the mean\n"
	"  --log FILE    append a line for each request: METHOD PATH STATUS BYTES RANGE\n"
	"  --heads FILE  append the head of each request, as it came\n"
	"  --ready FILE  write the URL there when it listens\n"
	"  --delay MS    wait so long before each answer\n"
	"  --rate N      at most N bytes per second for each body\n"
	"  --link N      at most N bytes per second for all bodies together, as on one line\n"
	"  --no-range    know no ranges\n"
	"  --one-range   send the whole file to a request for several ranges\n"
	"  --no-head     answer 405 to HEAD\n"
	"  --no-validators  send neither ETag nor Last-Modified\n"
	"  --gzip        compress for clients that accept it\n"
	"  --no-accept   listen, and let every connect hang\n"
	"  --stdin       end when standard input closes\n"
	"Prints `listening on http://127.0.0.1:PORT`; ends on SIGTERM and SIGINT.\n"
	"\n"
	"/_control/count[?path=GLOB]  requests get head other ranges bytes inflight held connections\n"
	"/_control/reset              sets these numbers to 0; later bytes of requests that began before\n"
	"                             are not counted\n"
	"/_control/fault?path=GLOB&kind=K[&arg=A][&times=N][&only=ranges|wholes][&hold=BYTES]  the first\n"
	"                             rule that matches counts; after N times (0, default: never) it is\n"
	"                             gone. Its answers stop before that byte of the body (0: before the\n"
	"                             head) until the next /_control/go\n"
	"/_control/step               continues the answers that are held now\n"
	"/_control/go                 does the same, and the rules of that time hold no further ones\n"
	"/_control/clear              drops all rules\n"
	"Kinds: status (403 or 429,SECONDS)  html  file (PATH)  cut (BYTES)  cut-nolen (BYTES)\n"
	"  endless (BYTES/S[,STATUS])  silent  silent-after (BYTES)  reset (BYTES)  slow (MS)\n"
	"  trickle (BYTES/S)  redirect ([CODE ]URL, `loop`, or URL* and the path follows)\n"
	"  wrong-length (DELTA)  garbage  long-header (BYTES)  trailers  bad-range  no-range\n"
	"  no-if-range  lying-range (DELTA)  gzip-bomb (MIB)  echo-headers  none\n";

struct options {
	unsigned port, delay_ms;
	uint64_t rate, link, virtual_mean;
	const char *root, *log, *heads, *ready;
	bool no_range, one_range, no_head, no_validators, gzip, no_accept, watch_stdin;
};

struct rule {
	struct rule *next;
	char path[PATH_ROOM], arg[PATH_ROOM];
	const struct fault *fault;
	char only; /* 'r': for requests of ranges; 'w': for others; else for all */
	unsigned left; /* 0: for ever */
	uint64_t hold; /* the byte before which an answer stops; UINT64_MAX: none */
	unsigned gate; /* until so many /_control/go have come */
};

struct counts {
	uint64_t requests, get, head, other, ranges, bytes, inflight, inflight_max, held;
};

struct path_counts {
	struct path_counts *next;
	struct counts n;
	char path[];
};

struct upstream {
	struct options o;
	int root, log, heads, listener;
	unsigned port;

	pthread_mutex_t lock;
	pthread_cond_t idle;
	/* under lock */
	struct counts all;
	struct path_counts *paths;
	struct rule *rules;
	struct conn *conns;
	unsigned n_conns;
	uint64_t connections;
	unsigned goes, steps, resets; /* /_control/go, step and reset so far */
	bool stopping;

	pthread_mutex_t line;
	uint64_t line_free; /* under `line`: when the bytes so far have gone through, in ns */
};

struct request {
	char method[16], raw[PATH_ROOM], path[PATH_ROOM]; /* raw: as sent; path: decoded, no query */
	char query[PATH_ROOM];
	char range[8192], if_range[128], if_none_match[128];
	bool accepts_gzip;
	uint64_t body;
	/* what became of it */
	struct path_counts *counts;
	uint64_t hold; /* as in struct rule */
	unsigned gate;
	int status;
	uint64_t sent;
	char sent_range[64];
	bool open; /* begun and not yet counted as ended */
	unsigned resets; /* before it began */
};

struct conn {
	struct upstream *up;
	struct conn *prev, *next;
	int fd;
	bool keep;
	size_t have, head; /* bytes in buf; bytes of the request's head in it */
	struct request rq;
	char buf[HEAD_MAX + 1];
};

/* How an answer ends once `limit` bytes of the body are out. */
enum ending { END_WELL, END_CLOSE, END_SILENT, END_RESET };

struct reply {
	int status;
	const char *type;
	int fd;		 /* the body's file; -1: mem */
	const char *mem; /* may be NULL when len is 0 */
	long virtual_n;	 /* of a virtual file, when it is not -1 */
	uint64_t start, len, total;
	uint64_t limit;
	enum ending ending;
	bool no_length;
	int64_t length_delta;
	uint64_t rate;
	char extra[PATH_ROOM + 512]; /* more header lines, each with its CRLF */
};

#define REPLY(code)                                                                               \
	((struct reply){.status = (code), .fd = -1, .virtual_n = -1, .limit = UINT64_MAX})

/* ---- numbers and texts -------------------------------------------------------------- */

static const char *reason(int status)
{
	switch (status) {
	case 200: return "OK";
	case 206: return "Partial Content";
	case 301: return "Moved Permanently";
	case 302: return "Found";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 410: return "Gone";
	case 416: return "Range Not Satisfiable";
	case 429: return "Too Many Requests";
	case 500: return "Internal Server Error";
	case 503: return "Service Unavailable";
	default: return "Status";
	}
}

static void copy(char *out, size_t room, const char *in)
{
	snprintf(out, room, "%.*s", (int)room - 1, in);
}

static uint64_t number(const char *s, uint64_t otherwise)
{
	return isdigit((unsigned char)s[0]) ? strtoull(s, NULL, 10) : otherwise;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* %XX to bytes. False: a bad escape, or a NUL. */
static bool decode(const char *in, size_t n, char *out, size_t room)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		char c = in[i];

		if (c == '%') {
			if (i + 2 >= n || hex(in[i + 1]) < 0 || hex(in[i + 2]) < 0)
				return false;
			c = (char)(hex(in[i + 1]) << 4 | hex(in[i + 2]));
			i += 2;
		}
		if (!c || o + 1 >= room)
			return false;
		out[o++] = c;
	}
	out[o] = '\0';
	return true;
}

static bool path_is_inside(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		if (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/'))
			return false;
	}
	return true;
}

/* The value of `name=` in a query, decoded; "" when it is not there. */
static void query_value(const char *query, const char *name, char *out, size_t room)
{
	size_t n = strlen(name);

	out[0] = '\0';
	while (*query) {
		size_t part = strcspn(query, "&");

		if (part > n && strncmp(query, name, n) == 0 && query[n] == '=') {
			if (!decode(query + n + 1, part - n - 1, out, room))
				out[0] = '\0';
			return;
		}
		query += part;
		query += *query == '&';
	}
}

static void http_date(time_t t, char out[static 40])
{
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(out, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		out[0] = '\0';
}

/* ---- counting and the log ----------------------------------------------------------- */

static struct path_counts *path_counts(struct upstream *u, const char *path)
{
	struct path_counts *p;
	size_t n = strlen(path) + 1;

	for (p = u->paths; p; p = p->next)
		if (strcmp(p->path, path) == 0)
			return p;
	p = calloc(1, sizeof(*p) + n);
	if (!p)
		abort();
	memcpy(p->path, path, n);
	p->next = u->paths;
	u->paths = p;
	return p;
}

static void count_one(struct counts *n, const struct request *rq)
{
	n->requests++;
	if (strcmp(rq->method, "GET") == 0)
		n->get++;
	else if (strcmp(rq->method, "HEAD") == 0)
		n->head++;
	else
		n->other++;
	n->ranges += rq->range[0] != '\0';
	n->inflight++;
	if (n->inflight > n->inflight_max)
		n->inflight_max = n->inflight;
}

static void request_begin(struct conn *c)
{
	struct upstream *u = c->up;

	pthread_mutex_lock(&u->lock);
	c->rq.counts = path_counts(u, c->rq.path);
	count_one(&c->rq.counts->n, &c->rq);
	count_one(&u->all, &c->rq);
	c->rq.resets = u->resets;
	c->rq.open = true;
	pthread_mutex_unlock(&u->lock);
}

/* Bytes are counted before they are sent, so that a client that has them finds them counted. Those of a request from
 * before the last reset are not: a client may have all that it needs while the rest of a range is on its way. */
static void request_bytes(struct conn *c, uint64_t n)
{
	pthread_mutex_lock(&c->up->lock);
	c->rq.sent += n;
	if (c->rq.open && c->rq.resets == c->up->resets) {
		c->rq.counts->n.bytes += n;
		c->up->all.bytes += n;
	}
	pthread_mutex_unlock(&c->up->lock);
}

/* Called before the last bytes leave, for the same reason; later calls do nothing. */
static void request_end(struct conn *c)
{
	struct request *rq = &c->rq;
	struct upstream *u = c->up;

	pthread_mutex_lock(&u->lock);
	if (rq->open) {
		rq->open = false;
		rq->counts->n.inflight--;
		u->all.inflight--;
		if (u->log >= 0)
			dprintf(u->log, "%s %s %d %llu %s\n", rq->method, rq->raw, rq->status,
				(unsigned long long)rq->sent, rq->sent_range[0] ? rq->sent_range : "-");
	}
	pthread_mutex_unlock(&u->lock);
}

/* ---- the wire ----------------------------------------------------------------------- */

/* Waits `ms` (-1: for ever). False: the client left, or we end. */
static bool conn_wait(struct conn *c, int ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

/* Stops an answer of a rule with `hold` until /_control/go, if the next byte of its body is `at`. False: the client
 * left, or we end. */
static bool conn_hold(struct conn *c, uint64_t at)
{
	struct upstream *u = c->up;
	bool there = true, wait;
	unsigned steps;

	if (at != c->rq.hold)
		return true;
	pthread_mutex_lock(&u->lock);
	steps = u->steps;
	c->rq.counts->n.held++;
	u->all.held++;
	for (;;) {
		wait = u->goes < c->rq.gate && u->steps == steps;
		pthread_mutex_unlock(&u->lock);
		there = !wait || conn_wait(c, 2);
		pthread_mutex_lock(&u->lock);
		if (!wait || !there)
			break;
	}
	if (u->steps == steps) {
		c->rq.counts->n.held--;
		u->all.held--;
	}
	pthread_mutex_unlock(&u->lock);
	return there;
}

static bool conn_send(struct conn *c, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t r = send(c->fd, at, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

/* The end of a connection that the client sees as ECONNRESET, after what was sent before. */
static void conn_reset(struct conn *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	int queued = 1;

	for (unsigned i = 0; i < 1000 && queued > 0; i++)
		if (ioctl(c->fd, SIOCOUTQ, &queued) < 0 || (queued > 0 && !conn_wait(c, 2)))
			break;
	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	c->keep = false;
}

/* Bytes for one step of a body that goes at `rate`, and the pause after it. */
static size_t pace(uint64_t rate, int *ms)
{
	*ms = 0;
	if (!rate)
		return CHUNK;
	*ms = rate >= 20 ? 50 : (int)(1000 / rate);
	if (rate / 20 > CHUNK) {
		*ms = (int)(CHUNK * 1000ull / rate);
		return CHUNK;
	}
	return rate >= 20 ? (size_t)(rate / 20) : 1;
}

#define LINE_LATE 4000000 /* ns: a thread that wakes so late makes up for it; an idle line gathers nothing */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --link: waits until n bytes have gone through the line that all connections share. False: the client left. */
static bool line_pass(struct conn *c, size_t n)
{
	struct upstream *u = c->up;
	uint64_t now = clock_ns(), at;
	struct timespec t;

	if (!u->o.link)
		return true;
	pthread_mutex_lock(&u->line);
	at = u->line_free + LINE_LATE < now ? now : u->line_free;
	at += (uint64_t)((double)n * 1e9 / (double)u->o.link);
	u->line_free = at;
	pthread_mutex_unlock(&u->line);
	t = (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
	while (at > now && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
	return conn_wait(c, 0);
}

/* Bytes of a body that go at once: a millisecond of the line. */
static size_t line_step(const struct upstream *u, size_t step)
{
	size_t most = u->o.link / 1000 > 4096 ? (size_t)(u->o.link / 1000) : 4096;

	return u->o.link && most < step ? most : step;
}

static ssize_t body_at(const struct reply *r, uint64_t off, char *room, size_t n)
{
	if (r->fd >= 0)
		return pread(r->fd, room, n, (off_t)(r->start + off));
	if (r->virtual_n >= 0) {
		virtual_bytes((unsigned)r->virtual_n, r->start + off, room, n);
		return (ssize_t)n;
	}
	memcpy(room, r->mem + r->start + off, n);
	return (ssize_t)n;
}

static bool send_body(struct conn *c, const struct reply *r)
{
	uint64_t end = r->len < r->limit ? r->len : r->limit;
	char room[CHUNK];
	int ms;
	size_t step = line_step(c->up, pace(r->rate, &ms));

	for (uint64_t off = 0; off < end;) {
		uint64_t stop = off < c->rq.hold && c->rq.hold < end ? c->rq.hold : end;
		size_t want = step < sizeof(room) ? step : sizeof(room);
		ssize_t n = body_at(r, off, room, want < stop - off ? want : (size_t)(stop - off));

		if (n <= 0 || (off && !conn_hold(c, off)) || !line_pass(c, (size_t)n))
			return false;
		request_bytes(c, (uint64_t)n);
		off += (uint64_t)n;
		if (off == end && r->ending != END_SILENT)
			request_end(c);
		if (!conn_send(c, room, (size_t)n) || (off < end && ms && !conn_wait(c, ms)))
			return false;
	}
	return true;
}

static size_t print_head(struct conn *c, const struct reply *r, char *out, size_t room)
{
	char length[64] = "";
	int n;

	if (!r->no_length)
		snprintf(length, sizeof(length), "Content-Length: %lld\r\n",
			(long long)r->len + (long long)r->length_delta);
	n = snprintf(out, room, "HTTP/1.1 %d %s\r\n%s%s%s%s%sConnection: %s\r\n\r\n", r->status,
		reason(r->status), r->type ? "Content-Type: " : "", r->type ? r->type : "",
		r->type ? "\r\n" : "", length, r->extra, c->keep ? "keep-alive" : "close");
	return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Whether the body leaves in one send with the head. A client closes the connection if a body that it skips does not
 * come within 2 s, and this thread may have no processor for longer. */
static bool is_short(const struct conn *c, const struct reply *r)
{
	return r->mem && r->len <= SHORT_BODY && r->ending == END_WELL && c->rq.hold >= r->len && !r->rate &&
		!c->up->o.link;
}

static void reply_send(struct conn *c, const struct reply *r)
{
	bool head_only = strcmp(c->rq.method, "HEAD") == 0;
	char head[PATH_ROOM + 2048 + SHORT_BODY];
	size_t n;

	if (r->ending != END_WELL || r->no_length || r->length_delta)
		c->keep = false;
	c->rq.status = r->status;
	n = print_head(c, r, head, sizeof(head) - SHORT_BODY);
	if (!head_only && is_short(c, r)) {
		memcpy(head + n, r->mem + r->start, r->len);
		n += r->len;
		request_bytes(c, r->len);
		request_end(c);
		c->keep = conn_send(c, head, n) && c->keep;
		return;
	}
	if ((head_only || r->len == 0 || r->limit == 0) && r->ending != END_SILENT)
		request_end(c);
	if (!conn_send(c, head, n) || (!head_only && !send_body(c, r)))
		c->keep = false;
	else if (r->ending == END_SILENT)
		conn_wait(c, -1);
	else if (r->ending == END_RESET)
		conn_reset(c);
}

static void reply_text(struct conn *c, int status, const char *type, const char *text)
{
	struct reply r = REPLY(status);

	r.type = type;
	r.mem = text;
	r.len = r.total = strlen(text);
	reply_send(c, &r);
}

static void reply_add(struct reply *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void reply_add(struct reply *r, const char *fmt, ...)
{
	size_t n = strlen(r->extra);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->extra + n, sizeof(r->extra) - n, fmt, ap);
	va_end(ap);
}

/* ---- gzip without a library --------------------------------------------------------- */

static uint32_t crc_add(uint32_t crc, const uint8_t *p, size_t n)
{
	/* Four bits at a time: small, and quick enough for tests. */
	static const uint32_t t[16] = {0, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0,
		0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc = t[(crc ^ p[i]) & 15] ^ crc >> 4;
		crc = t[(crc ^ (uint32_t)(p[i] >> 4)) & 15] ^ crc >> 4;
	}
	return ~crc;
}

static const char gzip_head[10] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";

static void put_le32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* A gzip file of stored blocks: not smaller, but what a client must decode. */
static char *gzip_stored(int fd, uint64_t size, uint64_t *out_n)
{
	size_t blocks = size / 65535 + 1, o = sizeof(gzip_head);
	uint8_t *p = size <= GZIP_MOST ? malloc(size + 5 * blocks + 18) : NULL;
	uint32_t crc = 0;

	if (!p)
		return NULL;
	memcpy(p, gzip_head, sizeof(gzip_head));
	for (size_t b = 0; b < blocks; b++) {
		uint16_t n = b + 1 < blocks ? 65535 : (uint16_t)(size % 65535);

		p[o] = b + 1 == blocks;
		p[o + 1] = (uint8_t)n;
		p[o + 2] = (uint8_t)(n >> 8);
		p[o + 3] = (uint8_t)~n;
		p[o + 4] = (uint8_t)(~n >> 8);
		o += 5;
		if (n && pread(fd, p + o, n, (off_t)b * 65535) != n) {
			free(p);
			return NULL;
		}
		crc = crc_add(crc, p + o, n);
		o += n;
	}
	put_le32(p + o, crc);
	put_le32(p + o + 4, (uint32_t)size);
	*out_n = o + 8;
	return (char *)p;
}

struct bits {
	uint8_t *p;
	size_t n; /* in bits */
};

/* Huffman codes go out with their highest bit first. */
static void bits_code(struct bits *b, unsigned code, unsigned len)
{
	while (len--) {
		b->p[b->n / 8] |= (uint8_t)((code >> len & 1) << (b->n % 8));
		b->n++;
	}
}

/* Zeros, packed 159 to 1: one literal, then matches of 258 bytes at distance 1. */
static char *gzip_zeros(uint64_t size, uint64_t *out_n)
{
	static const uint8_t zeros[4096];
	uint64_t matches = size / 258;
	struct bits b = {calloc(1, matches * 13 / 8 + 64), 8 * sizeof(gzip_head)};
	uint32_t crc = 0;
	uint64_t real = matches * 258 + 1;
	size_t o;

	if (!b.p)
		return NULL;
	memcpy(b.p, gzip_head, sizeof(gzip_head));
	bits_code(&b, 6, 3); /* last block; fixed codes */
	bits_code(&b, 0x30, 8);
	for (uint64_t i = 0; i < matches; i++)
		bits_code(&b, 0xc5 << 5, 13);
	bits_code(&b, 0, 7);
	for (uint64_t left = real; left; left -= left < sizeof(zeros) ? left : sizeof(zeros))
		crc = crc_add(crc, zeros, left < sizeof(zeros) ? left : sizeof(zeros));
	o = (b.n + 7) / 8;
	put_le32(b.p + o, crc);
	put_le32(b.p + o + 4, (uint32_t)real);
	*out_n = o + 8;
	return (char *)b.p;
}

/* ---- files -------------------------------------------------------------------------- */

/* "bytes=a-b", "bytes=a-", "bytes=-n". 1: take it; 0: send all; -1: 416. */
static int range_read(const char *text, uint64_t size, uint64_t *start, uint64_t *len)
{
	const char *p = strncmp(text, "bytes=", 6) == 0 ? text + 6 : "", *dash = strchr(p, '-');
	uint64_t a, b;

	if (!dash || strchr(p, ','))
		return 0;
	if (dash == p) {
		a = number(dash + 1, 0);
		if (a == 0 || size == 0)
			return -1;
		*len = a < size ? a : size;
		*start = size - *len;
		return 1;
	}
	a = number(p, UINT64_MAX);
	b = number(dash + 1, UINT64_MAX);
	if (a >= size || b < a)
		return -1;
	*start = a;
	*len = (b < size - 1 ? b : size - 1) - a + 1;
	return 1;
}

struct file_opts {
	bool no_range, bad_range, no_if_range;
	int64_t range_delta; /* added to the size that Content-Range tells */
	void (*change)(struct reply *r, const char *arg);
	const char *arg;
};

static void add_validators(struct conn *c, struct reply *r, const struct stat *st, const struct file_opts *o,
	bool *range_ok)
{
	char etag[64], date[40];
	const char *want = c->rq.if_range;

	snprintf(etag, sizeof(etag), "\"%llx-%llx-%lx\"", (unsigned long long)st->st_mtime,
		(unsigned long long)st->st_size, st->st_mtim.tv_nsec);
	http_date(st->st_mtime, date);
	if (c->up->o.no_validators) {
		*range_ok = *range_ok && !want[0];
		return;
	}
	reply_add(r, "ETag: %s\r\nLast-Modified: %s\r\n", etag, date);
	if (c->rq.if_none_match[0] && strcmp(c->rq.if_none_match, etag) == 0)
		r->status = 304;
	if (want[0] && !o->no_if_range && strcmp(want, etag) != 0 && strcmp(want, date) != 0)
		*range_ok = false;
}

#define SEVERAL_MOST (16u << 20)
#define BOUNDARY "the-upstream-of-tests"

/* "bytes=a-b,c-d": the body, parts and what stands between them; it is the caller's. NULL: send all. */
static char *several_ranges(struct conn *c, struct reply *r)
{
	char *body = NULL, one[64];
	size_t n = 0;
	FILE *f = open_memstream(&body, &n);

	for (const char *p = c->rq.range + strlen("bytes="); f; p += 1) {
		uint64_t start = 0, len = 0;
		char *part;

		snprintf(one, sizeof(one), "bytes=%.*s", (int)strcspn(p, ","), p);
		if (range_read(one, r->total, &start, &len) != 1 || n + len > SEVERAL_MOST)
			break;
		part = malloc(len);
		if (!part || pread(r->fd, part, len, (off_t)start) != (ssize_t)len)
			abort();
		fprintf(f, "\r\n--" BOUNDARY "\r\nContent-Type: application/octet-stream\r\n"
			"Content-Range: bytes %llu-%llu/%llu\r\n\r\n", (unsigned long long)start,
			(unsigned long long)(start + len - 1), (unsigned long long)r->total);
		fwrite(part, 1, len, f);
		free(part);
		p += strcspn(p, ",");
		if (*p)
			continue;
		fputs("\r\n--" BOUNDARY "--\r\n", f);
		fclose(f);
		r->status = 206;
		r->type = "multipart/byteranges; boundary=" BOUNDARY;
		close(r->fd);
		r->fd = -1;
		r->mem = body;
		r->len = r->total = n;
		return body;
	}
	if (f)
		fclose(f);
	free(body);
	return NULL;
}

static void plan_range(struct conn *c, struct reply *r)
{
	uint64_t start = 0, len = 0;
	int got = range_read(c->rq.range, r->total, &start, &len);

	if (got == 0)
		return;
	if (got < 0) {
		r->status = 416;
		r->len = 0;
		reply_add(r, "Content-Range: bytes */%llu\r\n", (unsigned long long)r->total);
		return;
	}
	r->status = 206;
	r->start = start;
	r->len = len;
}

/* Another range than the one that was asked for, told truthfully. */
static void shift_range(struct reply *r)
{
	if (r->start > 0) {
		r->start = 0;
	} else {
		r->start = r->total > 1;
		if (r->len > r->total - r->start)
			r->len = r->total - r->start;
	}
}

static void tell_range(struct conn *c, struct reply *r, int64_t delta)
{
	snprintf(c->rq.sent_range, sizeof(c->rq.sent_range), "%llu-%llu",
		(unsigned long long)r->start, (unsigned long long)(r->start + r->len - 1));
	reply_add(r, "Content-Range: bytes %s/%llu\r\n", c->rq.sent_range,
		(unsigned long long)r->total + (unsigned long long)delta);
}

/* 0: the reply has a body, of a file or of a virtual one. */
static int open_body(struct upstream *u, const char *path, struct reply *r, struct stat *st)
{
	long n = u->o.virtual_mean ? virtual_number(path) : -1;

	if (n >= 0) {
		*st = (struct stat){.st_mtime = 1700000000,
			.st_size = (off_t)virtual_size((unsigned)n, u->o.virtual_mean)};
		r->virtual_n = n;
		return 0;
	}
	r->fd = path_is_inside(path) ? openat(u->root, path, O_RDONLY | O_CLOEXEC) : -1;
	if (r->fd >= 0 && fstat(r->fd, st) == 0 && S_ISREG(st->st_mode))
		return 0;
	if (r->fd >= 0)
		close(r->fd);
	return -1;
}

static void serve_file(struct conn *c, const char *path, const struct file_opts *o)
{
	struct upstream *u = c->up;
	struct reply r = REPLY(200);
	bool range_ok = !u->o.no_range && !o->no_range;
	char *packed = NULL;
	struct stat st;

	path += strspn(path, "/");
	if (open_body(u, path, &r, &st) < 0) {
		reply_text(c, 404, "text/plain", "not found\n");
		return;
	}
	r.type = "application/octet-stream";
	r.len = r.total = (uint64_t)st.st_size;
	r.rate = u->o.rate;
	if (range_ok)
		reply_add(&r, "Accept-Ranges: bytes\r\n");
	add_validators(c, &r, &st, o, &range_ok);
	if (r.status == 304)
		r.len = r.total = 0;
	if (range_ok && strchr(c->rq.range, ',') && !u->o.one_range && r.fd >= 0)
		packed = several_ranges(c, &r);
	else if (range_ok && c->rq.range[0])
		plan_range(c, &r);
	if (r.status == 206 && o->bad_range && !packed)
		shift_range(&r);
	if (r.status == 206 && !packed)
		tell_range(c, &r, o->range_delta);
	if (r.status == 200 && r.fd >= 0 && u->o.gzip && c->rq.accepts_gzip)
		packed = gzip_stored(r.fd, r.len, &r.len);
	if (packed && r.fd >= 0) {
		close(r.fd);
		r.fd = -1;
		r.mem = packed;
		reply_add(&r, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
	}
	if (o->change)
		o->change(&r, o->arg);
	reply_send(c, &r);
	if (r.fd >= 0)
		close(r.fd);
	free(packed);
}

/* ---- faults ------------------------------------------------------------------------- */

struct fault {
	const char *kind;
	void (*serve)(struct conn *c, const char *arg);
	void (*change)(struct reply *r, const char *arg); /* serves the file, with this change */
	bool bad_range, no_range, no_if_range, lying_range;
};

static void fault_status(struct conn *c, const char *arg)
{
	struct reply r = REPLY((int)number(arg, 500) % 1000);
	const char *after = strchr(arg, ',');

	r.type = "text/plain";
	r.mem = "no\n";
	r.len = r.total = r.status == 204 || r.status == 304 ? 0 : 3;
	if (after)
		reply_add(&r, "Retry-After: %s\r\n", after + 1);
	reply_send(c, &r);
}

static void fault_html(struct conn *c, const char *arg)
{
	(void)arg;
	reply_text(c, 200, "text/html; charset=utf-8",
		"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n<body><form "
		"method=\"post\"><input name=\"user\"><input name=\"password\" type=\"password\">"
		"</form></body></html>\n");
}

static void fault_file(struct conn *c, const char *arg)
{
	serve_file(c, arg, &(struct file_opts){0});
}

static void fault_silent(struct conn *c, const char *arg)
{
	(void)arg;
	conn_wait(c, -1);
	c->keep = false;
}

static void fault_slow(struct conn *c, const char *arg)
{
	if (conn_wait(c, (int)(number(arg, 1000) % INT_MAX)))
		serve_file(c, c->rq.path, &(struct file_opts){0});
	else
		c->keep = false;
}

static void fault_redirect(struct conn *c, const char *arg)
{
	struct reply r = REPLY(302);
	size_t n;

	if (isdigit((unsigned char)arg[0]) && strlen(arg) > 4 && arg[3] == ' ') {
		r.status = (int)number(arg, 302);
		arg += 4;
	}
	n = strlen(arg);
	if (strcmp(arg, "loop") == 0)
		reply_add(&r, "Location: %s\r\n", c->rq.raw);
	else if (n && arg[n - 1] == '*')
		reply_add(&r, "Location: %.*s%s\r\n", (int)n - 1, arg, c->rq.raw);
	else
		reply_add(&r, "Location: %s\r\n", arg);
	r.mem = "elsewhere\n";
	r.len = r.total = 10;
	reply_send(c, &r);
}

static void fault_garbage(struct conn *c, const char *arg)
{
	static const char noise[] = "\x01\x02 this is not HTTP\n\x7f\xff\xfe and goes on\r\n\r\n";

	(void)arg;
	request_end(c);
	conn_send(c, noise, sizeof(noise) - 1);
	c->keep = false;
}

/* One header line of `arg` bytes, and the connection ends inside it. */
static void fault_long_header(struct conn *c, const char *arg)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nX-Long: ";
	uint64_t left = number(arg, 1 << 20);
	char room[1000];
	size_t n;

	memset(room, 'y', sizeof(room));
	c->keep = false;
	request_end(c);
	for (bool sent = conn_send(c, head, sizeof(head) - 1); sent && left; left -= n) {
		n = left < sizeof(room) ? left : sizeof(room);
		sent = conn_send(c, room, n);
	}
}

/* All of it, and then lines that never end. */
static void fault_trailers(struct conn *c, const char *arg)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
		"chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n";
	char line[1000];

	(void)arg;
	memset(line, 'y', sizeof(line));
	memcpy(line, "X-More: ", 8);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	c->keep = false;
	if (conn_send(c, head, sizeof(head) - 1))
		while (conn_send(c, line, sizeof(line)) && conn_wait(c, 1))
			;
}

static void fault_endless(struct conn *c, const char *arg)
{
	static const char magic[] = "\x7f" "ELF\x02\x01\x01";
	struct reply r = REPLY(200);
	char head[1024], room[CHUNK] = {0};
	int ms;
	size_t n, step = pace(number(arg, 4 << 20), &ms);

	if (strchr(arg, ','))
		r.status = (int)number(strchr(arg, ',') + 1, 200) % 1000;
	c->keep = false;
	r.no_length = true;
	r.type = "application/octet-stream";
	c->rq.status = r.status;
	n = print_head(c, &r, head, sizeof(head));
	if (!conn_send(c, head, n))
		return;
	memcpy(room, magic, sizeof(magic));
	/* At least one step out of 50 ms in any case: not even arg=0 may fill a disk at once. */
	for (n = step < CHUNK ? step : CHUNK; conn_send(c, room, n); memset(room, 0, 8)) {
		request_bytes(c, n);
		if (!conn_wait(c, ms ? (int)((uint64_t)ms * n / step) : 1))
			return;
	}
}

static void fault_bomb(struct conn *c, const char *arg)
{
	struct reply r = REPLY(200);
	char *p = gzip_zeros(number(arg, 64) % 4096 << 20, &r.len);

	if (!p) {
		c->keep = false;
		return;
	}
	r.total = r.len;
	r.mem = p;
	r.type = "application/octet-stream";
	reply_add(&r, "Content-Encoding: gzip\r\n");
	reply_send(c, &r);
	free(p);
}

static void fault_echo(struct conn *c, const char *arg)
{
	struct reply r = REPLY(200);

	(void)arg;
	r.type = "text/plain";
	r.mem = c->buf;
	r.len = r.total = c->head;
	reply_send(c, &r);
}

static void change_cut(struct reply *r, const char *arg)
{
	r->limit = number(arg, r->len / 2);
	r->ending = END_CLOSE;
}

static void change_cut_nolen(struct reply *r, const char *arg)
{
	change_cut(r, arg);
	r->no_length = true;
}

static void change_silent_after(struct reply *r, const char *arg)
{
	r->limit = number(arg, r->len / 2);
	r->ending = END_SILENT;
}

static void change_reset(struct reply *r, const char *arg)
{
	r->limit = number(arg, 0);
	r->ending = END_RESET;
}

static void change_trickle(struct reply *r, const char *arg)
{
	r->rate = number(arg, 100);
}

static void change_length(struct reply *r, const char *arg)
{
	r->length_delta = arg[0] ? strtoll(arg, NULL, 10) : 100;
	if (r->length_delta < -(int64_t)r->len)
		r->length_delta = -(int64_t)r->len;
}

/* RST before any answer, when no byte of the body is asked for. */
static void fault_reset(struct conn *c, const char *arg)
{
	if (number(arg, 0) > 0) {
		serve_file(c, c->rq.path, &(struct file_opts){.change = change_reset, .arg = arg});
		return;
	}
	request_end(c);
	conn_reset(c);
}

static const struct fault faults[] = {
	{"status", fault_status},
	{"html", fault_html},
	{"file", fault_file},
	{"cut", .change = change_cut},
	{"cut-nolen", .change = change_cut_nolen},
	{"endless", fault_endless},
	{"trailers", fault_trailers},
	{"silent", fault_silent},
	{"silent-after", .change = change_silent_after},
	{"reset", fault_reset},
	{"slow", fault_slow},
	{"trickle", .change = change_trickle},
	{"redirect", fault_redirect},
	{"wrong-length", .change = change_length},
	{"garbage", fault_garbage},
	{"long-header", fault_long_header},
	{"bad-range", .bad_range = true},
	{"no-range", .no_range = true},
	{"no-if-range", .no_if_range = true},
	{"lying-range", .lying_range = true},
	{"gzip-bomb", fault_bomb},
	{"echo-headers", fault_echo},
	{"none"},
};

static bool is_for(const struct rule *rule, const struct request *rq)
{
	return fnmatch(rule->path, rq->path, 0) == 0 && rule->only != (rq->range[0] ? 'w' : 'r');
}

/* The first rule for the request; `arg` is its own copy. NULL: none. */
static const struct fault *fault_for(struct upstream *u, struct request *rq, char arg[static PATH_ROOM])
{
	const struct fault *found = NULL;
	struct rule **at, *rule;

	pthread_mutex_lock(&u->lock);
	for (at = &u->rules; *at && !is_for(*at, rq);)
		at = &(*at)->next;
	rule = *at;
	if (rule) {
		found = rule->fault;
		copy(arg, PATH_ROOM, rule->arg);
		rq->hold = rule->hold;
		rq->gate = rule->gate;
		if (rule->left && --rule->left == 0) {
			*at = rule->next;
			free(rule);
		}
	}
	pthread_mutex_unlock(&u->lock);
	return found;
}

/* ---- control ------------------------------------------------------------------------ */

static void counts_add(struct counts *to, const struct counts *n)
{
	to->requests += n->requests;
	to->get += n->get;
	to->head += n->head;
	to->other += n->other;
	to->ranges += n->ranges;
	to->bytes += n->bytes;
	to->inflight += n->inflight;
	to->inflight_max += n->inflight_max;
	to->held += n->held;
}

static void control_count(struct conn *c)
{
	struct upstream *u = c->up;
	struct counts n = {0};
	char path[PATH_ROOM], text[512];
	uint64_t connections;

	query_value(c->rq.query, "path", path, sizeof(path));
	pthread_mutex_lock(&u->lock);
	if (!path[0])
		n = u->all;
	for (struct path_counts *p = path[0] ? u->paths : NULL; p; p = p->next)
		if (strcmp(path, p->path) == 0 || fnmatch(path, p->path, 0) == 0)
			counts_add(&n, &p->n);
	connections = u->connections;
	pthread_mutex_unlock(&u->lock);
#define N(x) (unsigned long long)(x)
	snprintf(text, sizeof(text), "requests %llu\nget %llu\nhead %llu\nother %llu\nranges %llu\n"
		"bytes %llu\ninflight %llu\ninflight_max %llu\nheld %llu\nconnections %llu\n", N(n.requests),
		N(n.get), N(n.head), N(n.other), N(n.ranges), N(n.bytes), N(n.inflight),
		N(n.inflight_max), N(n.held), N(connections));
#undef N
	reply_text(c, 200, "text/plain", text);
}

static void counts_reset(struct counts *n)
{
	*n = (struct counts){.inflight = n->inflight, .inflight_max = n->inflight, .held = n->held};
}

static void control_reset(struct conn *c)
{
	struct upstream *u = c->up;

	pthread_mutex_lock(&u->lock);
	counts_reset(&u->all);
	for (struct path_counts *p = u->paths; p; p = p->next)
		counts_reset(&p->n);
	u->connections = 0;
	u->resets++;
	pthread_mutex_unlock(&u->lock);
	reply_text(c, 200, "text/plain", "ok\n");
}

static void control_fault(struct conn *c)
{
	struct rule *rule = calloc(1, sizeof(*rule)), **at = &c->up->rules;
	char kind[64], times[32], only[16], hold[32];

	if (!rule)
		abort();
	query_value(c->rq.query, "path", rule->path, sizeof(rule->path));
	query_value(c->rq.query, "arg", rule->arg, sizeof(rule->arg));
	query_value(c->rq.query, "kind", kind, sizeof(kind));
	query_value(c->rq.query, "times", times, sizeof(times));
	query_value(c->rq.query, "only", only, sizeof(only));
	query_value(c->rq.query, "hold", hold, sizeof(hold));
	rule->only = only[0];
	rule->hold = number(hold, UINT64_MAX);
	rule->left = (unsigned)number(times, 0);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(faults[i].kind, kind) == 0)
			rule->fault = &faults[i];
	if (!rule->fault || !rule->path[0]) {
		free(rule);
		reply_text(c, 400, "text/plain", "fault?path=GLOB&kind=K: no such kind, or no path\n");
		return;
	}
	pthread_mutex_lock(&c->up->lock);
	rule->gate = c->up->goes + 1;
	while (*at)
		at = &(*at)->next;
	*at = rule;
	pthread_mutex_unlock(&c->up->lock);
	reply_text(c, 200, "text/plain", "ok\n");
}

static void rules_drop(struct upstream *u)
{
	struct rule *next;

	for (struct rule *r = u->rules; r; r = next) {
		next = r->next;
		free(r);
	}
	u->rules = NULL;
}

static void control_clear(struct conn *c)
{
	pthread_mutex_lock(&c->up->lock);
	rules_drop(c->up);
	pthread_mutex_unlock(&c->up->lock);
	reply_text(c, 200, "text/plain", "ok\n");
}

/* The released answers no longer count as held, even if their threads run later. */
static void control_step(struct conn *c)
{
	struct upstream *u = c->up;

	pthread_mutex_lock(&u->lock);
	u->steps++;
	u->all.held = 0;
	for (struct path_counts *p = u->paths; p; p = p->next)
		p->n.held = 0;
	pthread_mutex_unlock(&u->lock);
	reply_text(c, 200, "text/plain", "ok\n");
}

static void control_go(struct conn *c)
{
	pthread_mutex_lock(&c->up->lock);
	c->up->goes++;
	pthread_mutex_unlock(&c->up->lock);
	reply_text(c, 200, "text/plain", "ok\n");
}

static void control(struct conn *c, const char *what)
{
	static const struct {
		const char *name;
		void (*call)(struct conn *c);
	} calls[] = {{"count", control_count}, {"reset", control_reset}, {"fault", control_fault},
		{"clear", control_clear}, {"step", control_step},
		{"go", control_go}};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, what) == 0) {
			calls[i].call(c);
			return;
		}
	reply_text(c, 404, "text/plain", help);
}

/* ---- requests ----------------------------------------------------------------------- */

static void header_line(struct conn *c, const char *line)
{
	struct request *rq = &c->rq;
	const char *value = strchr(line, ':');
	size_t n = value ? (size_t)(value - line) : 0;

	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
#define IS(name) (n == strlen(name) && strncasecmp(line, name, n) == 0)
	if (IS("Range"))
		copy(rq->range, sizeof(rq->range), value);
	else if (IS("If-None-Match"))
		copy(rq->if_none_match, sizeof(rq->if_none_match), value);
	else if (IS("If-Range"))
		copy(rq->if_range, sizeof(rq->if_range), value);
	else if (IS("Accept-Encoding"))
		rq->accepts_gzip = strstr(value, "gzip") != NULL;
	else if (IS("Content-Length"))
		rq->body = number(value, 0);
	else if (IS("Connection") && strcasecmp(value, "close") == 0)
		c->keep = false;
#undef IS
}

/* Parses the request head in buf into c->rq. False: it is not a valid head. */
static bool request_read(struct conn *c)
{
	struct request *rq = &c->rq;
	char line[8192], *question;
	const char *p = c->buf, *end = c->buf + c->head;

	memset(rq, 0, sizeof(*rq));
	rq->hold = UINT64_MAX;
	c->keep = true;
	if (sscanf(p, "%15[A-Z] %4095[^ \r\n] HTTP/1.", rq->method, rq->raw) != 2)
		return false;
	copy(line, sizeof(line), rq->raw);
	question = strchr(line, '?');
	if (question) {
		*question++ = '\0';
		copy(rq->query, sizeof(rq->query), question);
	}
	/* A client that uses this server as a proxy names the host, too. */
	if (strncmp(line, "http://", 7) == 0)
		memmove(line, line + 7 + strcspn(line + 7, "/"), strlen(line + 7 + strcspn(line + 7, "/")) + 1);
	if (line[0] != '/' || !decode(line, strlen(line), rq->path, sizeof(rq->path)))
		return false;
	for (p = strchr(p, '\n'); p && p + 2 < end; p = strchr(p + 1, '\n')) {
		size_t n = strcspn(p + 1, "\r\n");

		if (n < sizeof(line)) {
			memcpy(line, p + 1, n);
			line[n] = '\0';
			header_line(c, line);
		}
	}
	return true;
}

static void serve_request(struct conn *c)
{
	struct request *rq = &c->rq;
	const struct fault *f;
	char arg[PATH_ROOM] = "";

	if (strncmp(rq->path, "/_control/", 10) == 0) {
		control(c, rq->path + 10);
		return;
	}
	if (c->up->heads >= 0)
		dprintf(c->up->heads, "%.*s", (int)c->head, c->buf);
	request_begin(c);
	if (c->up->o.delay_ms && !conn_wait(c, (int)c->up->o.delay_ms)) {
		c->keep = false;
		return;
	}
	f = fault_for(c->up, rq, arg);
	if (!conn_hold(c, 0))
		c->keep = false;
	else if (f && f->serve)
		f->serve(c, arg);
	else if (strcmp(rq->method, "GET") != 0 && strcmp(rq->method, "HEAD") != 0)
		reply_text(c, 405, "text/plain", "GET and HEAD only\n");
	else if (rq->method[0] == 'H' && c->up->o.no_head)
		reply_text(c, 405, "text/plain", "no HEAD\n");
	else
		serve_file(c, rq->path, &(struct file_opts){.change = f ? f->change : NULL, .arg = arg,
			.bad_range = f && f->bad_range, .no_range = f && f->no_range,
			.no_if_range = f && f->no_if_range,
			.range_delta = f && f->lying_range ? strtoll(arg, NULL, 10) : 0});
}

/* More bytes into buf. False: the end. */
static bool conn_more(struct conn *c)
{
	ssize_t n;

	if (c->have == HEAD_MAX)
		return false;
	do
		n = recv(c->fd, c->buf + c->have, HEAD_MAX - c->have, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	c->have += (size_t)n;
	c->buf[c->have] = '\0';
	return true;
}

static void conn_drop(struct conn *c, size_t n)
{
	memmove(c->buf, c->buf + n, c->have - n + 1);
	c->have -= n;
}

/* Throws the request and its body away: nothing here wants a body. */
static bool conn_next(struct conn *c)
{
	uint64_t body = c->rq.body;

	conn_drop(c, c->head);
	while (body) {
		size_t n = body < c->have ? (size_t)body : c->have;

		conn_drop(c, n);
		body -= n;
		if (body && !conn_more(c))
			return false;
	}
	return true;
}

static void conn_serve(struct conn *c)
{
	char *end;

	do {
		while (!(end = strstr(c->buf, "\r\n\r\n")))
			if (!conn_more(c) || !isupper((unsigned char)c->buf[0]))
				return; /* also for a client that speaks TLS */
		c->head = (size_t)(end - c->buf) + 4;
		if (!request_read(c)) {
			c->keep = false;
			reply_text(c, 400, "text/plain", "not a request\n");
			return;
		}
		serve_request(c);
		request_end(c);
	} while (c->keep && conn_next(c));
}

static void *conn_main(void *arg)
{
	struct conn *c = arg;
	struct upstream *u = c->up;

	conn_serve(c);
	pthread_mutex_lock(&u->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		u->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	close(c->fd);
	free(c);
	if (--u->n_conns == 0)
		pthread_cond_signal(&u->idle);
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

/* ---- the program -------------------------------------------------------------------- */

static int conn_thread(struct conn *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, conn_main, c);
	pthread_attr_destroy(&attr);
	return r;
}

static void conn_accept(struct upstream *u)
{
	int fd = accept4(u->listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
	struct conn *c;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	pthread_mutex_lock(&u->lock);
	c = u->n_conns < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (c) {
		c->up = u;
		c->fd = fd;
		c->next = u->conns;
		if (conn_thread(c) == 0) {
			if (c->next)
				c->next->prev = c;
			u->conns = c;
			u->n_conns++;
			u->connections++;
			c = NULL;
			fd = -1;
		}
	}
	pthread_mutex_unlock(&u->lock);
	free(c);
	if (fd >= 0)
		close(fd);
}

static int listen_on(struct upstream *u)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)u->o.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int one = 1;

	u->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(u->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (u->listener < 0 || bind(u->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		listen(u->listener, u->o.no_accept ? 0 : 512) < 0 ||
		getsockname(u->listener, (struct sockaddr *)&a, &n) < 0)
		return -errno;
	u->port = ntohs(a.sin_port);
	/* Fills the backlog, so that no other client connects; the sockets stay open until the server ends. */
	for (unsigned i = 0; u->o.no_accept && i < 4; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS)
			return -errno;
	}
	return 0;
}

static int tell_ready(const struct upstream *u)
{
	char beside[PATH_MAX];
	FILE *f;

	printf("listening on http://127.0.0.1:%u\n", u->port);
	fflush(stdout);
	if (!u->o.ready)
		return 0;
	snprintf(beside, sizeof(beside), "%s.new", u->o.ready);
	f = fopen(beside, "we");
	if (!f)
		return -errno;
	fprintf(f, "http://127.0.0.1:%u\n", u->port);
	fclose(f);
	return rename(beside, u->o.ready) < 0 ? -errno : 0;
}

static void serve(struct upstream *u, int signals)
{
	struct pollfd p[] = {{signals, POLLIN, 0}, {u->o.no_accept ? -1 : u->listener, POLLIN, 0},
		{u->o.watch_stdin ? STDIN_FILENO : -1, POLLIN, 0}};
	char room[256];

	for (;;) {
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[0].revents)
			return;
		if (p[2].revents && read(STDIN_FILENO, room, sizeof(room)) <= 0)
			return;
		if (p[1].revents)
			conn_accept(u);
	}
}

static void finish(struct upstream *u)
{
	struct path_counts *next;

	pthread_mutex_lock(&u->lock);
	for (struct conn *c = u->conns; c; c = c->next)
		shutdown(c->fd, SHUT_RDWR);
	while (u->n_conns)
		pthread_cond_wait(&u->idle, &u->lock);
	rules_drop(u);
	for (struct path_counts *p = u->paths; p; p = next) {
		next = p->next;
		free(p);
	}
	pthread_mutex_unlock(&u->lock);
}

/* False: told why on stderr, or the help on stdout. */
static bool options_read(struct options *o, int argc, char **argv)
{
	static const struct option list[] = {{"port", 1, NULL, 'p'}, {"root", 1, NULL, 'r'},
		{"log", 1, NULL, 'l'}, {"heads", 1, NULL, 'e'}, {"ready", 1, NULL, 'f'}, {"delay", 1, NULL, 'd'},
		{"rate", 1, NULL, 'b'}, {"no-range", 0, NULL, 'R'}, {"no-head", 0, NULL, 'H'},
		{"one-range", 0, NULL, 'O'},
		{"no-validators", 0, NULL, 'V'}, {"gzip", 0, NULL, 'z'}, {"no-accept", 0, NULL, 'A'},
		{"stdin", 0, NULL, 'i'}, {"virtual", 1, NULL, 'v'}, {"link", 1, NULL, 'L'}, {"help", 0, NULL, 'h'},
		{0}};
	int c;

	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		switch (c) {
		case 'p': o->port = (unsigned)number(optarg, 0); break;
		case 'r': o->root = optarg; break;
		case 'l': o->log = optarg; break;
		case 'e': o->heads = optarg; break;
		case 'f': o->ready = optarg; break;
		case 'd': o->delay_ms = (unsigned)number(optarg, 0); break;
		case 'b': o->rate = number(optarg, 0); break;
		case 'L': o->link = number(optarg, 0); break;
		case 'R': o->no_range = true; break;
		case 'O': o->one_range = true; break;
		case 'H': o->no_head = true; break;
		case 'V': o->no_validators = true; break;
		case 'z': o->gzip = true; break;
		case 'A': o->no_accept = true; break;
		case 'i': o->watch_stdin = true; break;
		case 'v': o->virtual_mean = number(optarg, 0); break;
		default: fputs(help, c == 'h' ? stdout : stderr); return false;
		}
	return true;
}

static int files_open(struct upstream *u)
{
	u->root = open(u->o.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (u->root < 0) {
		fprintf(stderr, "upstream: %s: %s\n", u->o.root, strerror(errno));
		return -1;
	}
	if (u->o.log)
		u->log = open(u->o.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (u->o.log && u->log < 0) {
		fprintf(stderr, "upstream: %s: %s\n", u->o.log, strerror(errno));
		return -1;
	}
	if (u->o.heads)
		u->heads = open(u->o.heads, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (u->o.heads && u->heads < 0) {
		fprintf(stderr, "upstream: %s: %s\n", u->o.heads, strerror(errno));
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct upstream u = {.o.root = ".", .root = -1, .log = -1, .heads = -1, .listener = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER,
		.line = PTHREAD_MUTEX_INITIALIZER};
	sigset_t set;
	int r;

	if (!options_read(&u.o, argc, argv))
		return 2;
	if (files_open(&u) < 0)
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1000); /* ns, for --link; threads inherit it */
	r = listen_on(&u);
	if (r == 0)
		r = tell_ready(&u);
	if (r < 0) {
		fprintf(stderr, "upstream: %s\n", strerror(-r));
		return 1;
	}
	serve(&u, signalfd(-1, &set, SFD_CLOEXEC));
	finish(&u);
	return 0;
}
