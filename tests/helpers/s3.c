/* A store on 127.0.0.1 that supports what symfs uses of S3: GET with one range, HEAD, PUT with If-None-Match: *
 * or If-Match, DELETE, copies, and ListObjectsV2. It verifies signatures (SigV4) by
 * recomputing them from the received request. It shares no code with symfs, so that it cannot
 * share symfs's mistakes. `s3 --help` prints the options. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MOST (64 << 10)
#define HEADERS_MOST 64
#define SKEW 900 /* seconds */

static const char help[] =
	"s3 --root DIR --bucket NAME --access-key K --secret-key S [options]\n"
	"  --region R   (default us-east-1)   --token T  wants that session token, signed\n"
	"  --public     serves unsigned requests, too\n"
	"  --no-list    answers 403 for missing objects, as S3 does without the right to list\n"
	"  --ignore-conditions  ignores If-None-Match and If-Match    --clock N  its clock differs by N seconds\n"
	"  --bare-etag  compares If-Match with the ETag without quotes, as Ceph does\n"
	"  --empty-page  begins each listing with a page without objects\n"
	"  --empty-pages  has only such pages, without an end\n"
	"  --foreign-pages  has only pages with one object that symfs did not write, without an end\n"
	"  --same-pages  answers each request for a further page with the first page\n"
	"  --no-delete  answers 403 to DELETE\n"
	"  --hook FILE  runs FILE METHOD NAME, if it exists: after GET has read an object, after PUT and DELETE\n"
	"  --port N     listens there; 0 (default): any free port\n"
	"  --log FILE   a line for each request: METHOD PATH STATUS CODE\n"
	"Prints `listening on http://127.0.0.1:PORT`.\n";

static struct options {
	const char *root, *bucket, *access_key, *secret_key, *region, *token, *hook;
	bool public, no_list, ignore, empty_page, empty_pages, same_pages, foreign_pages, no_delete, bare_etag;
	long clock, port;
	int log;
} o = {.root = ".", .bucket = "bucket", .access_key = "", .secret_key = "", .region = "us-east-1", .log = -1};

struct header {
	char *name, *value;
};

struct request {
	char method[16], raw[8192], *query, path[8192]; /* path: decoded */
	struct header headers[HEADERS_MOST];
	unsigned n;
	char body[256]; /* a file with the body; "": none */
	char digest[65]; /* of the body */
};

struct answer {
	int status;
	const char *code; /* of the error; NULL */
};

/* ---- texts -------------------------------------------------------------------------- */

static const char *header_of(const struct request *rq, const char *name)
{
	for (unsigned i = 0; i < rq->n; i++)
		if (strcasecmp(rq->headers[i].name, name) == 0)
			return rq->headers[i].value;
	return NULL;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
		: -1;
}

static bool decode(const char *in, char *out, size_t room)
{
	size_t n = 0;

	for (; *in; in++) {
		char c = *in;

		if (c == '%') {
			if (hex(in[1]) < 0 || hex(in[2]) < 0)
				return false;
			c = (char)(hex(in[1]) << 4 | hex(in[2]));
			in += 2;
		}
		if (!c || n + 1 >= room)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

/* The canonical form: what is not unreserved as %XX, a slash as it is. */
static void encode(const char *in, char *out, size_t room)
{
	size_t n = 0;

	for (; *in && n + 4 < room; in++) {
		if (isalnum((unsigned char)*in) || strchr("-._~/", *in))
			out[n++] = *in;
		else
			n += (size_t)sprintf(out + n, "%%%02X", (unsigned char)*in);
	}
	out[n] = '\0';
}

static void hex_of(const uint8_t *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

static void hmac(const void *key, size_t n, const char *text, uint8_t out[32])
{
	unsigned len = 32;

	HMAC(EVP_sha256(), key, (int)n, (const uint8_t *)text, strlen(text), out, &len);
}

static void sha256(const char *text, char out[65])
{
	uint8_t d[32];
	unsigned len = 32;

	EVP_Digest(text, strlen(text), d, &len, EVP_sha256(), NULL);
	hex_of(d, 32, out);
}

/* ---- the signature ------------------------------------------------------------------ */

/* NAME=… of the Authorization header, up to a comma. */
static bool field(const char *auth, const char *name, char *out, size_t room)
{
	const char *at = strstr(auth, name);
	size_t n;

	if (!at)
		return false;
	at += strlen(name);
	n = strcspn(at, ", ");
	if (n >= room)
		return false;
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

/* Names of signed headers, each with its value; false: one of them is not there. */
static bool canonical_headers(const struct request *rq, const char *names, char *out, size_t room)
{
	char list[2048], *rest = list, *name;
	size_t n = 0;

	snprintf(list, sizeof(list), "%s", names);
	while ((name = strsep(&rest, ";"))) {
		const char *value = header_of(rq, name);

		if (!value)
			return false;
		n += (size_t)snprintf(out + n, room - n, "%s:%s\n", name, value);
		if (n >= room)
			return false;
	}
	return true;
}

/* Host, and everything of Amazon's, has to be signed; and the names stand in order. */
static bool signs_enough(const struct request *rq, const char *names)
{
	char list[2048 + 8], *rest = list, *name, before[128] = "";
	bool host = false;

	snprintf(list, sizeof(list), "%s", names);
	while ((name = strsep(&rest, ";"))) {
		if (strcmp(before, name) >= 0)
			return false;
		snprintf(before, sizeof(before), "%s", name);
		host |= strcmp(name, "host") == 0;
	}
	for (unsigned i = 0; i < rq->n; i++) {
		char want[140];

		if (strncasecmp(rq->headers[i].name, "x-amz-", 6) != 0)
			continue;
		snprintf(want, sizeof(want), ";%s;", rq->headers[i].name);
		for (char *p = want; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		snprintf(list, sizeof(list), ";%.2040s;", names);
		if (!strstr(list, want))
			return false;
	}
	return host;
}

static bool date_is_now(const char *date)
{
	struct tm tm = {0};
	time_t t, now = time(NULL) + o.clock;

	if (!strptime(date, "%Y%m%dT%H%M%SZ", &tm))
		return false;
	t = timegm(&tm);
	return t > now - SKEW && t < now + SKEW;
}

static void signature(const struct request *rq, const char *day, const char *scope, const char *names,
	const char *date, const char *payload, char out[65])
{
	static __thread char canonical[40000], headers[20000];
	char path[8192], digest[65], text[1024], secret[256];
	uint8_t k[32];

	encode(rq->path, path, sizeof(path));
	canonical_headers(rq, names, headers, sizeof(headers));
	snprintf(canonical, sizeof(canonical), "%s\n%s\n%s\n%s\n%s\n%s", rq->method, path,
		rq->query ? rq->query : "", headers, names, payload);
	sha256(canonical, digest);
	snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, digest);
	snprintf(secret, sizeof(secret), "AWS4%s", o.secret_key);
	hmac(secret, strlen(secret), day, k);
	hmac(k, 32, o.region, k);
	hmac(k, 32, "s3", k);
	hmac(k, 32, "aws4_request", k);
	hmac(k, 32, text, k);
	hex_of(k, 32, out);
}

static struct answer verify(const struct request *rq)
{
	static const char prefix[] = "AWS4-HMAC-SHA256 ";
	const char *auth = header_of(rq, "Authorization"), *date = header_of(rq, "x-amz-date"),
		   *payload = header_of(rq, "x-amz-content-sha256"), *token = header_of(rq, "x-amz-security-token");
	char credential[512], names[2048], given[128], want[65], day[16], scope[256], *slash;
	static __thread char room[20000];

	if (!auth)
		return o.public ? (struct answer){200, NULL} : (struct answer){403, "AccessDenied"};
	if (strncmp(auth, prefix, strlen(prefix)) != 0 || !field(auth, "Credential=", credential,
		sizeof(credential)) ||
		!field(auth, "SignedHeaders=", names, sizeof(names)) ||
		!field(auth, "Signature=", given, sizeof(given)))
		return (struct answer){400, "AuthorizationHeaderMalformed"};
	if (!payload)
		return (struct answer){400, "InvalidRequest"};
	if (!date || !date_is_now(date))
		return (struct answer){403, "RequestTimeTooSkewed"};
	slash = strchr(credential, '/');
	if (!slash)
		return (struct answer){400, "AuthorizationHeaderMalformed"};
	*slash++ = '\0';
	snprintf(day, sizeof(day), "%.8s", date);
	snprintf(scope, sizeof(scope), "%s/%s/s3/aws4_request", day, o.region);
	if (strcmp(slash, scope) != 0)
		return (struct answer){400, "AuthorizationHeaderMalformed"};
	if (strcmp(credential, o.access_key) != 0)
		return (struct answer){403, "InvalidAccessKeyId"};
	if (o.token && (!token || strcmp(token, o.token) != 0))
		return (struct answer){403, "InvalidToken"};
	if (!signs_enough(rq, names) || !canonical_headers(rq, names, room, sizeof(room)))
		return (struct answer){403, "SignatureDoesNotMatch"};
	signature(rq, day, scope, names, date, payload, want);
	return strcmp(want, given) == 0 ? (struct answer){200, NULL} : (struct answer){403, "SignatureDoesNotMatch"};
}

/* ---- objects ------------------------------------------------------------------------ */

/* The key below the bucket: by path, or by the name of the host. NULL: another bucket. */
static const char *key_of(const struct request *rq)
{
	const char *host = header_of(rq, "Host");
	size_t n = strlen(o.bucket);

	if (host && strncmp(host, o.bucket, n) == 0 && host[n] == '.')
		return rq->path + 1;
	if (strncmp(rq->path + 1, o.bucket, n) == 0 && (rq->path[n + 1] == '/' || !rq->path[n + 1]))
		return rq->path + n + 1 + (rq->path[n + 1] == '/');
	return NULL;
}

static bool send_all(int fd, const void *p, size_t n)
{
	for (const char *at = p; n;) {
		ssize_t r = send(fd, at, n, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

/* "Date: …", by the store's clock. */
static const char *date_line(char out[static 64])
{
	time_t now = time(NULL) + o.clock;
	struct tm tm;

	strftime(out, 64, "Date: %a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	return out;
}

static bool send_error(int fd, struct answer a, bool no_body)
{
	char body[512], head[1024], date[64];
	int n = snprintf(body, sizeof(body),
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>no</Message></Error>\n",
		a.code);

	snprintf(head, sizeof(head), "HTTP/1.1 %d Status\r\nContent-Type: application/xml\r\n%s\r\nContent-Length: "
		"%d\r\n\r\n%s", a.status, date_line(date), n, no_body ? "" : body);
	return send_all(fd, head, strlen(head));
}

/* Changes what the bucket has in a certain moment, as another server could. */
static void run_hook(const char *method, const char *key)
{
	char line[10000];

	if (!o.hook || access(o.hook, X_OK) < 0)
		return;
	snprintf(line, sizeof(line), "'%s' %s '%s'", o.hook, method, key);
	if (system(line) != 0)
		fprintf(stderr, "s3: %s failed\n", line);
}

/* A small object has an ETag of its bytes, as in S3. That of a larger one does not show that its bytes were
 * damaged. */
static void etag_of(int file, uint64_t size, char out[static 65])
{
	char text[129] = "";

	if (size < sizeof(text) && pread(file, text, size, 0) == (ssize_t)size)
		sha256(text, out);
	else
		snprintf(out, 65, "%llx", (unsigned long long)size);
}

/* GET and HEAD of an object, with one range at most. */
static bool send_object(int fd, const struct request *rq, int file, uint64_t size)
{
	const char *range = header_of(rq, "Range");
	char head[512], room[65536], date[64], modified[64], etag[65];
	unsigned long long from = 0, to = size ? size - 1 : 0;
	bool part = range && size && sscanf(range, "bytes=%llu-%llu", &from, &to) >= 1 && from < size;
	struct stat st;
	struct tm tm;

	fstat(file, &st);
	strftime(modified, sizeof(modified), "%a, %d %b %Y %H:%M:%S GMT",
		gmtime_r(&(time_t){st.st_mtime + o.clock}, &tm));
	if (to >= size)
		to = size ? size - 1 : 0;
	etag_of(file, size, etag);
	snprintf(head, sizeof(head),
		"HTTP/1.1 %s\r\nContent-Type: binary/octet-stream\r\nAccept-Ranges: bytes\r\nETag: \"%s\"\r\n"
		"%s\r\nLast-Modified: %s\r\nContent-Length: %llu\r\n", part ? "206 Partial Content" : "200 OK",
		etag, date_line(date), modified, (unsigned long long)(size ? to - from + 1 : 0));
	if (part)
		snprintf(head + strlen(head), sizeof(head) - strlen(head), "Content-Range: bytes %llu-%llu/%llu\r\n",
			from, to, (unsigned long long)size);
	strcat(head, "\r\n");
	if (!send_all(fd, head, strlen(head)))
		return false;
	if (strcmp(rq->method, "HEAD") == 0)
		return true;
	for (uint64_t at = from; size && at <= to;) {
		size_t want = to - at + 1 < sizeof(room) ? (size_t)(to - at + 1) : sizeof(room);
		ssize_t n = pread(file, room, want, (off_t)at);

		if (n <= 0 || !send_all(fd, room, (size_t)n))
			return false;
		at += (uint64_t)n;
	}
	return true;
}

static bool send_text(int fd, int status, const char *text)
{
	char head[256], date[64];

	snprintf(head, sizeof(head), "HTTP/1.1 %d Status\r\n%s\r\nContent-Length: %zu\r\n\r\n", status,
		date_line(date), strlen(text));
	return send_all(fd, head, strlen(head)) && send_all(fd, text, strlen(text));
}

static struct answer get(int fd, const struct request *rq, int root, const char *key, bool *sent, bool *ok)
{
	int file = openat(root, key, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (file >= 0)
			close(file);
		return o.no_list ? (struct answer){403, "AccessDenied"} : (struct answer){404, "NoSuchKey"};
	}
	run_hook(rq->method, key);
	*ok = send_object(fd, rq, file, (uint64_t)st.st_size);
	*sent = true;
	close(file);
	return (struct answer){200, NULL};
}

static void make_dirs(int root, const char *key)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s", key);
	for (char *p = path; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdirat(root, path, 0755);
		*p = '/';
	}
}

/* Whether an object has the ETag of an If-Match header. */
static bool is_match(int root, const char *key, const char *match)
{
	int file = openat(root, key, O_RDONLY | O_CLOEXEC);
	char etag[65], quoted[70];
	struct stat st;

	if (file < 0)
		return false;
	fstat(file, &st);
	etag_of(file, (uint64_t)st.st_size, etag);
	close(file);
	snprintf(quoted, sizeof(quoted), "\"%s\"", etag);
	return strcmp(match, o.bare_etag ? etag : quoted) == 0;
}

/* Replaces an object if it has the ETag `match`. */
static struct answer replace(const struct request *rq, int root, const char *key, const char *match)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct answer a = {200, NULL};

	pthread_mutex_lock(&lock);
	if (match && !o.ignore && !is_match(root, key, match))
		a = (struct answer){412, "PreconditionFailed"};
	else if (renameat(AT_FDCWD, rq->body, root, key) < 0)
		a = (struct answer){500, "InternalError"};
	pthread_mutex_unlock(&lock);
	return a;
}

/* The condition `*` holds for one of several requests at once: link(2) fails for the others. */
static struct answer put(const struct request *rq, int root, const char *key)
{
	const char *condition = header_of(rq, "If-None-Match"), *payload = header_of(rq, "x-amz-content-sha256"),
		*from = header_of(rq, "x-amz-copy-source");
	bool once = condition && strcmp(condition, "*") == 0 && !o.ignore;
	char source[8192];
	int file;

	make_dirs(root, key);
	if (from) {
		size_t n = strlen(o.bucket);

		from += *from == '/';
		if (!decode(from, source, sizeof(source)) || strncmp(source, o.bucket, n) != 0 || source[n] != '/')
			return (struct answer){400, "InvalidArgument"};
		unlinkat(root, key, 0);
		if (linkat(root, source + n + 1, root, key, 0) < 0)
			return (struct answer){404, "NoSuchKey"};
		return (struct answer){200, NULL};
	}
	if (payload && strcmp(payload, "UNSIGNED-PAYLOAD") != 0 && strcmp(payload, rq->digest) != 0)
		return (struct answer){400, "XAmzContentSHA256Mismatch"};
	file = open(rq->body, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return (struct answer){411, "MissingContentLength"};
	close(file);
	if (once)
		return linkat(AT_FDCWD, rq->body, root, key, 0) == 0 ? (struct answer){200, NULL}
								     : (struct answer){412, "PreconditionFailed"};
	return replace(rq, root, key, header_of(rq, "If-Match"));
}

/* ---- ListObjectsV2 ------------------------------------------------------------------ */

#define LIST_MOST 200000
struct names {
	char **list;
	size_t n;
};

static void collect(struct names *all, int dir, const char *path)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char name[4096];
		int below;

		if (e->d_name[0] == '.' || all->n == LIST_MOST)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "/" : "", e->d_name);
		below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0)
			collect(all, below, name);
		else
			all->list[all->n++] = strdup(name);
	}
	if (d)
		closedir(d);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void query_value(const struct request *rq, const char *name, char *out, size_t room)
{
	char copy[8192], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", rq->query);
	out[0] = '\0';
	while ((word = strsep(&rest, "&")))
		if (strncmp(word, name, strlen(name)) == 0 && word[strlen(name)] == '=')
			decode(word + strlen(name) + 1, out, room);
}

/* A name behind all earlier ones. */
static const char *next_foreign(const char *prefix, char out[static 8192])
{
	static atomic_uint number;

	snprintf(out, 8192, "%szz%010u", prefix, atomic_fetch_add(&number, 1));
	return out;
}

static bool list(int fd, const struct request *rq, int root)
{
	struct names all = {calloc(LIST_MOST, sizeof(char *)), 0};
	char prefix[4096], after[4096], most[32], foreign[8192] = "";
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	unsigned n = 0, max;
	const char *last = "";
	bool more = false, ok;

	query_value(rq, "prefix", prefix, sizeof(prefix));
	query_value(rq, "continuation-token", after, sizeof(after));
	query_value(rq, "max-keys", most, sizeof(most));
	max = *most ? (unsigned)strtoul(most, NULL, 10) : 1000;
	if (o.same_pages)
		after[0] = '\0';
	if (o.empty_pages || (o.empty_page && !*after)) {
		max = 0;
		last = "!"; /* sorts before the names of symfs */
	}
	if (o.foreign_pages)
		last = next_foreign(prefix, foreign);
	collect(&all, openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "");
	qsort(all.list, all.n, sizeof(char *), by_name);
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult>");
	if (o.foreign_pages)
		fprintf(out, "<Contents><Key>%s</Key><LastModified>2026-11-22T22:33:44.000Z</LastModified>"
			"<Size>1</Size></Contents>", foreign);
	for (size_t i = 0; i < all.n; i++) {
		struct stat st;
		struct tm tm;
		char date[64];

		if (strncmp(all.list[i], prefix, strlen(prefix)) != 0 || strcmp(all.list[i], after) <= 0 ||
			fstatat(root, all.list[i], &st, 0) < 0)
			continue;
		more = n == max;
		if (more)
			break;
		n++;
		last = all.list[i];
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S.000Z",
			gmtime_r(&(time_t){st.st_mtime + o.clock}, &tm));
		fprintf(out, "<Contents><Key>%s</Key><LastModified>%s</LastModified><Size>%lld</Size></Contents>",
			all.list[i], date, (long long)st.st_size);
	}
	more = more || o.empty_pages || o.same_pages;
	fprintf(out, "<IsTruncated>%s</IsTruncated>", more ? "true" : "false");
	if (more)
		fprintf(out, "<NextContinuationToken>%s</NextContinuationToken>", last);
	fprintf(out, "</ListBucketResult>");
	fclose(out);
	ok = send_text(fd, 200, text);
	free(text);
	for (size_t i = 0; i < all.n; i++)
		free(all.list[i]);
	free(all.list);
	return ok;
}

/* ---- one request -------------------------------------------------------------------- */

static bool is_listing(const struct request *rq, const char *key)
{
	return rq->query && strstr(rq->query, "list-type=2") && !*key;
}

/* Objects whose names begin with the text of the file .refuse in the root are refused. */
static bool is_refused(int root, const char *key)
{
	int file = openat(root, ".refuse", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n;

	if (file < 0)
		return false;
	n = read(file, text, sizeof(text));
	close(file);
	return n > 0 && strncmp(key, text, (size_t)n) == 0;
}

static bool serve(int fd, const struct request *rq)
{
	struct answer a = verify(rq);
	const char *key = key_of(rq);
	bool sent = false, ok = true;
	int root = open(o.root, O_PATH | O_CLOEXEC);

	/* The bucket is away while a file of this name is in its root. */
	if (a.status == 200 && (!key || faccessat(root, ".no-bucket", F_OK, 0) == 0))
		a = (struct answer){404, "NoSuchBucket"};
	else if (a.status == 200 && is_refused(root, key))
		a = (struct answer){403, "AccessDenied"};
	if (a.status != 200 || strstr(key, "..")) {
		a = a.status != 200 ? a : (struct answer){404, "NoSuchKey"};
	} else if (is_listing(rq, key)) {
		ok = list(fd, rq, root);
		sent = true;
	} else if (strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0) {
		a = get(fd, rq, root, key, &sent, &ok);
	} else if (strcmp(rq->method, "PUT") == 0) {
		a = put(rq, root, key);
		run_hook(rq->method, key);
	} else if (strcmp(rq->method, "DELETE") == 0 && o.no_delete) {
		a = (struct answer){403, "AccessDenied"};
	} else if (strcmp(rq->method, "DELETE") == 0) {
		unlinkat(root, key, 0);
		run_hook(rq->method, key);
		a.status = 204;
	} else {
		a = (struct answer){405, "MethodNotAllowed"};
	}
	if (o.log >= 0)
		dprintf(o.log, "%s %s%s%s %d %s\n", rq->method, rq->raw, rq->query ? "?" : "",
			rq->query ? rq->query : "", a.status, a.code ? a.code : "-");
	if (!sent)
		ok = a.code ? send_error(fd, a, strcmp(rq->method, "HEAD") == 0) : send_text(fd, a.status, "");
	close(root);
	return ok;
}

/* Receives the body into a file; `have` bytes of it have come. */
static bool receive(int fd, struct request *rq, const char *have, size_t n)
{
	const char *length = header_of(rq, "Content-Length"), *expect = header_of(rq, "Expect");
	unsigned long long left = length ? strtoull(length, NULL, 10) : 0;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	char room[65536];
	uint8_t digest[32];
	unsigned len = 32;
	int file;

	snprintf(rq->body, sizeof(rq->body), "%.240s/.body-XXXXXX", o.root);
	file = mkstemp(rq->body);
	EVP_DigestInit_ex(md, EVP_sha256(), NULL);
	if (expect && !send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25))
		left = 0;
	while (file >= 0 && left) {
		ssize_t r = n ? (ssize_t)n : recv(fd, room, left < sizeof(room) ? (size_t)left : sizeof(room), 0);

		if (r <= 0 || write(file, n ? have : room, (size_t)r) != r)
			break;
		EVP_DigestUpdate(md, n ? have : room, (size_t)r);
		left -= (unsigned long long)r;
		n = 0;
	}
	EVP_DigestFinal_ex(md, digest, &len);
	EVP_MD_CTX_free(md);
	hex_of(digest, 32, rq->digest);
	if (file >= 0)
		close(file);
	return file >= 0 && !left;
}

/* ---- connections -------------------------------------------------------------------- */

static bool parse(char *head, struct request *rq)
{
	char *rest = head, *line = strsep(&rest, "\n");

	if (sscanf(line, "%15[A-Z] %8191s", rq->method, rq->raw) != 2 || rq->raw[0] != '/')
		return false;
	rq->query = strchr(rq->raw, '?');
	if (rq->query)
		*rq->query++ = '\0';
	if (!decode(rq->raw, rq->path, sizeof(rq->path)))
		return false;
	while ((line = strsep(&rest, "\n")) && *line && *line != '\r') {
		char *value = strchr(line, ':'), *end;

		if (!value || rq->n == HEADERS_MOST)
			return false;
		*value++ = '\0';
		value += strspn(value, " \t");
		for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]);)
			*--end = '\0';
		rq->headers[rq->n++] = (struct header){line, value};
	}
	return true;
}

static void *connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *head = malloc(HEAD_MOST + 1);
	struct request *rq = malloc(sizeof(*rq));
	size_t n = 0;

	for (bool on = head && rq; on;) {
		ssize_t r = recv(fd, head + n, HEAD_MOST - n, 0);
		char *end;

		if (r <= 0)
			break;
		n += (size_t)r;
		head[n] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (!end) {
			on = n < HEAD_MOST;
			continue;
		}
		memset(rq, 0, sizeof(*rq));
		end[2] = '\0';
		on = parse(head, rq);
		if (on && strcmp(rq->method, "PUT") == 0)
			on = receive(fd, rq, end + 4, (size_t)(head + n - (end + 4)));
		on = on && serve(fd, rq);
		if (rq->body[0])
			unlink(rq->body);
		n = 0; /* no client pipelines */
	}
	free(rq);
	free(head);
	close(fd);
	return NULL;
}

static bool options_read(int argc, char **argv)
{
	static const struct option list[] = {{"root", 1, NULL, 'r'}, {"bucket", 1, NULL, 'b'},
		{"access-key", 1, NULL, 'a'}, {"secret-key", 1, NULL, 's'}, {"region", 1, NULL, 'R'},
		{"token", 1, NULL, 't'}, {"public", 0, NULL, 'p'}, {"no-list", 0, NULL, 'n'},
		{"ignore-conditions", 0, NULL, 'i'}, {"clock", 1, NULL, 'c'}, {"log", 1, NULL, 'l'},
		{"bare-etag", 0, NULL, 'E'},
		{"empty-page", 0, NULL, 'e'},
		{"empty-pages", 0, NULL, 'Z'}, {"same-pages", 0, NULL, 'S'}, {"foreign-pages", 0, NULL, 'F'},
		{"no-delete", 0, NULL, 'd'}, {"hook", 1, NULL, 'H'},
		{"port", 1, NULL, 'P'}, {"help", 0, NULL, 'h'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		switch (c) {
		case 'r': o.root = optarg; break;
		case 'b': o.bucket = optarg; break;
		case 'a': o.access_key = optarg; break;
		case 's': o.secret_key = optarg; break;
		case 'R': o.region = optarg; break;
		case 't': o.token = optarg; break;
		case 'H': o.hook = optarg; break;
		case 'P': o.port = strtol(optarg, NULL, 10); break;
		case 'p': o.public = true; break;
		case 'n': o.no_list = true; break;
		case 'i': o.ignore = true; break;
		case 'E': o.bare_etag = true; break;
		case 'e': o.empty_page = true; break;
		case 'Z': o.empty_pages = true; break;
		case 'S': o.same_pages = true; break;
		case 'F': o.foreign_pages = o.empty_pages = true; break;
		case 'd': o.no_delete = true; break;
		case 'c': o.clock = strtol(optarg, NULL, 10); break;
		case 'l': o.log = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644); break;
		default: fputs(help, c == 'h' ? stdout : stderr); return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	pthread_attr_t detached;
	int listener, on = 1;

	if (!options_read(argc, argv))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_port = htons((uint16_t)o.port);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* a store that was killed starts again */
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) < 0 || listen(listener, 64) < 0 ||
		getsockname(listener, (struct sockaddr *)&a, &len) < 0) {
		perror("s3");
		return 1;
	}
	printf("listening on http://127.0.0.1:%u\n", ntohs(a.sin_port));
	fflush(stdout);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t t;

		if (fd >= 0 && pthread_create(&t, &detached, connection, (void *)(intptr_t)fd) != 0)
			close(fd);
	}
}
