/* The kind "s3": stores with the S3 API, any layout below a prefix of a bucket. This file prepares URLs and
 * credentials; libcurl signs the requests (SigV4). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "source/kinds.h"
#include "source/plan.h"
#include "source/s3.h"
#include "source/section.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The SHA-256 of an empty body. A signed request must have it, and libcurl 7.88 does not add it. */
#define EMPTY_DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define REGION "us-east-1"

/* A store accepts requests whose date differs from its clock by up to 15 minutes. */
#define SKEW_LEAST 600 /* seconds: a refusal of a date that differs by less has another cause */

const struct conf_field s3_fields[] = {
	{"bucket", CONF_TEXT, offsetof(struct s3_opts, bucket), NULL, "of an S3 store"},
	{"prefix", CONF_TEXT, offsetof(struct s3_opts, prefix), NULL, "in the bucket"},
	{"endpoint", CONF_TEXT, offsetof(struct s3_opts, endpoint), NULL,
		"URL of the store; Amazon's"},
	{"region", CONF_TEXT, offsetof(struct s3_opts, region), NULL, "us-east-1"},
	{"style", CONF_TEXT, offsetof(struct s3_opts, style), NULL, "path, virtual"},
	{"access-key", CONF_TEXT, offsetof(struct s3_opts, access_key), NULL, "ID of the credentials"},
	{"secret-key", CONF_TEXT, offsetof(struct s3_opts, secret_key), NULL, "secret of the credentials"},
	{"session-token", CONF_TEXT, offsetof(struct s3_opts, session_token), NULL, ""},
	{"profile", CONF_TEXT, offsetof(struct s3_opts, profile), NULL,
		"of the AWS files, in place of keys"},
	{"anonymous", CONF_BOOL, offsetof(struct s3_opts, anonymous), "no", "sign nothing"},
	{"read-only", CONF_BOOL, offsetof(struct s3_opts, read_only), "no", "of [bucket]: never write to it"},
	{"timeout", CONF_MS, offsetof(struct s3_opts, wait_ms), "500ms",
		"of [bucket]: longest wait for a small object"},
	{0},
};

/* Whether a text consists of letters, digits, - and _; if `dots` is true, also of dots, but not first. */
static bool is_word(const char *text, bool dots)
{
	for (const char *p = text; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
			!(*p >= '0' && *p <= '9') && *p != '-' && *p != '_' &&
			!(dots && *p == '.' && p > text))
			return false;
	return text[0] != '\0';
}

/* Chooses whether the bucket is part of the host's name or of the path. By default the bucket is in the
 * host's name on Amazon's own servers, whose certificate covers bucket names without a dot. Else the bucket
 * is in the path. */
static int choose_style(const struct source *s, const struct conf_section *c, bool *virtual,
	struct err *e)
{
	const struct s3_opts *o = s->own;
	const char *style = o->style;

	*virtual = !o->endpoint && !strchr(o->bucket, '.');
	if (!style)
		return 0;
	*virtual = strcmp(style, "virtual") == 0;
	return *virtual || strcmp(style, "path") == 0
		? 0
		: source_mistake(c, e, "style", style, "path or virtual");
}

/* Adds the prefix, encoded as a path, without empty parts and without slashes at its ends. */
static int add_prefix(struct buf *out, const char *prefix)
{
	int r = 0;

	while (r == 0 && *prefix) {
		size_t n = strcspn(prefix, "/");
		_cleanup_free_ char *part = strndup(prefix, n);

		if (!part)
			return out->r = -ENOMEM;
		buf_adds(out, n ? "/" : "");
		r = url_add_strict(out, part);
		prefix += n + (prefix[n] == '/');
	}
	return r;
}

int s3_prefix(const struct source *s, struct buf *out)
{
	const struct s3_opts *o = s->own;

	return o->prefix ? add_prefix(out, o->prefix) : 0;
}

/* scheme://[BUCKET.]HOST[/BUCKET][/PREFIX] */
static int add_base(const struct source *s, const char *endpoint, bool virtual, struct buf *out)
{
	const struct s3_opts *o = s->own;
	const char *host = strstr(endpoint, "://") + 3;
	size_t n = strlen(endpoint);

	while (n && endpoint[n - 1] == '/')
		n--;
	buf_add(out, endpoint, (size_t)(host - endpoint));
	if (virtual)
		buf_addf(out, "%s.", o->bucket);
	buf_add(out, host, (size_t)(endpoint + n - host));
	if (!virtual)
		buf_addf(out, "/%s", o->bucket);
	return o->prefix ? add_prefix(out, o->prefix) : out->r;
}

static bool is_endpoint(const char *url)
{
	char origin[NET_HOST_MAX];
	const char *host = strstr(url, "://");

	/* A scheme, then a host that is not empty. */
	return host && !memchr(url, '/', (size_t)(host - url)) && host[3] && host[3] != '/' &&
	       !strpbrk(url, "@?#") && net_origin(url, origin) == 0;
}

static int check_words(const struct source *s, const struct conf_section *c, struct err *e)
{
	const struct s3_opts *o = s->own;

	if (s->o.url || s->o.path)
		return source_mistake(c, e, s->o.url ? "url" : "path", "(not shown)",
			"endpoint and bucket in its place");
	if (!o->bucket || !is_word(o->bucket, true))
		return source_mistake(
			c, e, "bucket", o->bucket ? o->bucket : "", "the name of a bucket");
	if (o->region && !is_word(o->region, false))
		return source_mistake(c, e, "region", o->region, "a word such as eu-central-1");
	if (!o->access_key != !o->secret_key)
		return source_mistake(c, e, o->access_key ? "access-key" : "secret-key",
			"(not shown)", "both of access-key and secret-key");
	if (o->access_key && o->anonymous)
		return source_mistake(c, e, "anonymous", "yes", "no access-key beside it");
	return 0;
}

int s3_init(struct source *s, const struct conf_section *c, struct err *e)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(4096);
	struct s3_opts *o = s->own;
	char amazon[128];
	const char *endpoint = o->endpoint;
	bool virtual;
	int r = check_words(s, c, e);

	if (r == 0 && !o->region && !(o->region = strdup(REGION)))
		r = -ENOMEM;
	if (r == 0)
		r = choose_style(s, c, &virtual, e);
	if (r < 0)
		return r;
	snprintf(amazon, sizeof(amazon), "https://s3.%.60s.amazonaws.com", o->region);
	if (!endpoint)
		endpoint = amazon;
	if (!is_endpoint(endpoint))
		return source_mistake(
			c, e, "endpoint", "(not shown)", "http://HOST:PORT or https://HOST:PORT");
	r = add_base(s, endpoint, virtual, &url);
	if (r < 0 && r != -ENOMEM)
		return source_mistake(c, e, o->prefix ? "prefix" : "endpoint", "(not shown)",
			"a shorter one");
	if (r < 0)
		return r;
	s->o.url = buf_take(&url, NULL);
	return s->o.url ? 0 : -ENOMEM;
}

static int s3_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), url = BUF_UP_TO(8192);
	int r = plan_path(s, facts, a, nth, &path, out);

	buf_addf(&url, "%s/", s->o.url);
	/* The signature covers the path as sent, so send it in the encoding that the signature requires. */
	if (r == 0)
		r = url_add_strict(&url, buf_text(&path));
	if (r < 0)
		return r;
	out->where = buf_take(&url, NULL);
	return out->where ? 0 : -ENOMEM;
}

/* Adds the date by the store's clock, if this machine's clock is wrong. libcurl signs with this date. */
static int add_date(const struct s3_opts *o, struct net_req *out)
{
	long long skew = atomic_load(&o->skew);
	time_t now = (time_t)(clock_wall() + skew);
	char line[64];
	struct tm tm;

	if (!skew || !gmtime_r(&now, &tm) || !strftime(line, sizeof(line), "X-Amz-Date: %Y%m%dT%H%M%SZ", &tm))
		return 0;
	return source_add_header(out, line);
}

static int add_token(const struct s3_opts *o, struct net_req *out)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(16384);

	if (!o->session_token)
		return 0;
	if (buf_addf(&line, "x-amz-security-token: %s", o->session_token) < 0)
		return -ENOMEM;
	return source_add_header(out, buf_text(&line));
}

int s3_sign_body(const struct source *s, const char *digest, struct net_req *out)
{
	const struct s3_opts *o = s->own;
	char line[128];

	if (o->anonymous)
		return 0;
	if (!o->access_key)
		return -EACCES;
	snprintf(line, sizeof(line), "x-amz-content-sha256: %.64s", digest ? digest : EMPTY_DIGEST);
	out->user = strdup(o->access_key);
	out->password = strdup(o->secret_key);
	if (asprintf(&out->sigv4, "aws:amz:%s:s3", o->region) < 0)
		out->sigv4 = NULL;
	if (!out->user || !out->password || !out->sigv4 || source_add_header(out, line) < 0 ||
		add_date(o, out) < 0)
		return -ENOMEM;
	return add_token(o, out);
}

int s3_sign(const struct source *s, struct net_req *out)
{
	return s3_sign_body(s, NULL, out);
}

/* Whether a refusal is due to the date of the request, and the next request will have another date: either the skew
 * in use is wrong, and the store's date replaces it, or the request began before the skew was replaced. */
static bool is_skewed(struct s3_opts *o, const struct net_reply *r)
{
	long long skew = r->date - clock_wall();

	if (r->status != 403 || o->anonymous || r->date <= 0)
		return false;
	if (llabs(skew - atomic_load(&o->skew)) < SKEW_LEAST)
		return r->began && r->began < atomic_load(&o->skew_set);
	/* 0: libcurl's own date is good enough again. */
	atomic_store(&o->skew, llabs(skew) < SKEW_LEAST ? 0 : skew);
	atomic_store(&o->skew_set, clock_ms());
	return true;
}

/* A store refuses a request whose date is wrong: the request is repeated with the store's date.
 * A store answers 400, 301 or 307 to a signature for another region, so the message names the region. */
void s3_judge(const struct source *s, const struct net_reply *r, struct judgement *out)
{
	struct s3_opts *o = s->own;

	if (r->error == 0 && is_skewed(o, r)) {
		*out = (struct judgement){.verdict = VERDICT_LATER, .error = -EACCES, .again = true};
		snprintf(out->text, sizeof(out->text), "HTTP %d: this machine's clock differs by %lld s",
			r->status, -(long long)atomic_load(&o->skew));
		return;
	}
	if (r->error < 0 || (r->status != 400 && r->status != 301 && r->status != 307))
		return;
	out->verdict = VERDICT_REFUSED;
	out->error = -EACCES;
	snprintf(out->text, sizeof(out->text), "HTTP %d: is the region %.40s?", r->status,
		o->region);
}

static void add_text(const char *key, const char *value, struct buf *out)
{
	if (value)
		buf_addf(out, "%s = %s\n", key, value);
}

void s3_show(const struct source *s, struct buf *out)
{
	const struct s3_opts *o = s->own;

	add_text("bucket", o->bucket, out);
	add_text("prefix", o->prefix, out);
	add_text("endpoint", o->endpoint, out);
	add_text("region", o->region, out);
	add_text("style", o->style, out);
	add_text("profile", o->profile, out);
	if (o->anonymous)
		buf_adds(out, "anonymous = yes\n");
	if (o->access_key)
		buf_adds(out, "# access-key, secret-key: (not shown)\n");
}

const struct source_kind source_s3 = {
	.name = "s3",
	.layout = "native",
	.place = "bucket",
	.fields = s3_fields,
	.size = sizeof(struct s3_opts),
	.init = s3_init,
	.plan = s3_plan,
	.show = s3_show,
	.sign = s3_sign,
	.judge = s3_judge,
};
