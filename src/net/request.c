/* Requests and their URLs. libcurl's own parser takes URLs apart, so that symfs checks exactly the URL
 * that libcurl requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/request.h"
#include "base/util.h"
#include "net/net-private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void cleanup_curlu(CURLU **u)
{
	curl_url_cleanup(*u);
}

static void cleanup_curl_text(char **s)
{
	curl_free(*s);
}

#define _cleanup_curlu_ _cleanup_(cleanup_curlu)
#define _cleanup_curl_text_ _cleanup_(cleanup_curl_text)

void net_req_release(struct net_req *r)
{
	for (char **h = r->headers; h && *h; h++)
		free(*h);
	free(r->headers);
	free(r->url);
	free(r->user);
	free(r->password);
	free(r->sigv4);
	free(r->cert);
	free(r->key);
	free(r->netrc);
	free(r->ca_file);
	free(r->proxy);
	*r = (struct net_req){0};
}

static int url_error(CURLUcode c)
{
	return c == CURLUE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
}

/* Copies a part of the URL. 0, with NULL in *out, if the URL has no such part. */
static int url_part(CURLU *u, CURLUPart part, unsigned flags, char **out)
{
	_cleanup_curl_text_ char *text = NULL;

	/* The only other failure is a part that decodes to control characters, which no password has. */
	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return 0;
	*out = strdup(text);
	return *out ? 0 : -ENOMEM;
}

static int url_origin(CURLU *u, char out[static NET_HOST_MAX])
{
	_cleanup_curl_text_ char *scheme = NULL, *host = NULL, *port = NULL;
	int n;

	if (curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
		curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK || !host[0])
		return -EINVAL;
	if (strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0)
		return -EINVAL;
	curl_url_get(u, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT);
	n = snprintf(NULL, 0, "%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : "");
	if (n < 0 || n >= NET_HOST_MAX)
		return -EINVAL;
	snprintf(out, NET_HOST_MAX, "%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : "");
	for (char *p = out; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return 0;
}

static int url_open(CURLU **out, const char *base, const char *ref)
{
	_cleanup_curlu_ CURLU *u = curl_url();
	/* Other schemes are parsed as well, so that they can be named and refused. */
	const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE;
	CURLUcode c = CURLUE_OK;

	if (!u)
		return -ENOMEM;
	if (base)
		c = curl_url_set(u, CURLUPART_URL, base, 0);
	if (c == CURLUE_OK)
		c = curl_url_set(u, CURLUPART_URL, ref, flags);
	if (c != CURLUE_OK)
		return url_error(c);
	*out = take(u);
	return 0;
}

int net_origin(const char *url, char out[static NET_HOST_MAX])
{
	_cleanup_curlu_ CURLU *u = NULL;
	int r = url_open(&u, NULL, url);

	return r < 0 ? r : url_origin(u, out);
}

void target_release(struct target *t)
{
	free(t->url);
	free(t->user);
	free(t->password);
	*t = (struct target){0};
}

/* On failure `out` may hold some parts, which the caller releases. */
static int target_fill(struct target *out, CURLU *u)
{
	int r = url_origin(u, out->origin);

	if (r == 0)
		r = url_part(u, CURLUPART_USER, CURLU_URLDECODE, &out->user);
	if (r == 0)
		r = url_part(u, CURLUPART_PASSWORD, CURLU_URLDECODE, &out->password);
	if (r < 0)
		return r;
	curl_url_set(u, CURLUPART_USER, NULL, 0);
	curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
	curl_url_set(u, CURLUPART_OPTIONS, NULL, 0);
	curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	r = url_part(u, CURLUPART_URL, 0, &out->url);
	return r < 0 ? r : out->url ? 0 : -EINVAL;
}

int target_of(struct target *out, const char *base, const char *ref)
{
	_cleanup_(target_release) struct target t = {0};
	_cleanup_curlu_ CURLU *u = NULL;
	int r = url_open(&u, base, ref);

	if (r == 0)
		r = target_fill(&t, u);
	if (r < 0)
		return r;
	*out = t;
	t = (struct target){0};
	return 0;
}
