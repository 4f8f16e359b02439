/* Sets libcurl's options for one transfer: headers, credentials, TLS, proxy. Turns its errors into net_errors
 * (request.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "net/transfer-private.h"

#include <string.h>
#include <sys/stat.h>

CURLcode easy_netrc(CURL *easy, const char *path)
{
	struct stat st;
	bool use = path && stat(path, &st) == 0 && S_ISREG(st.st_mode);

	curl_easy_setopt(easy, CURLOPT_NETRC, (long)(use ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
	return curl_easy_setopt(easy, CURLOPT_NETRC_FILE, use ? path : NULL);
}

/* Credentials go to the origin of the first URL, and nowhere else. */
CURLcode easy_set_hop(struct transfer *t, bool home)
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
		{CURLOPT_AWS_SIGV4, p->sigv4},
	};
	CURLcode c = curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
		(long)(queue_has_flooded(t) ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));

	for (size_t i = 0; c == CURLE_OK && i < ARRAY_SIZE(options); i++)
		c = curl_easy_setopt(t->easy, options[i].option, home ? options[i].value : NULL);
	if (c == CURLE_OK)
		c = easy_netrc(t->easy, home ? p->netrc : NULL);
	curl_easy_setopt(t->easy, CURLOPT_HTTPAUTH,
		(long)(home && p->sigv4 ? CURLAUTH_AWS_SIGV4 : CURLAUTH_BASIC));
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, home ? t->headers : t->elsewhere);
	return c;
}

static bool header_is(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncasecmp(line, name, n) == 0 && line[n] == ':';
}

int slist_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *l = curl_slist_append(*list, line);

	if (!l)
		return -ENOMEM;
	*list = l;
	return 0;
}

/* Range and If-Range are not secret, so they go to other origins too. Otherwise a server that redirects
 * to another host (to an object store, for example) would send whole files. */
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

int easy_way(CURL *e, const struct net_req *req)
{
	const char *proxy = req->proxy && strcasecmp(req->proxy, "none") == 0 ? "" : req->proxy;

	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, req->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, req->insecure ? 0L : 2L);
	if (req->ca_file && curl_easy_setopt(e, CURLOPT_CAINFO, req->ca_file) != CURLE_OK)
		return -ENOMEM;
	return proxy && curl_easy_setopt(e, CURLOPT_PROXY, proxy) != CURLE_OK ? -ENOMEM : 0;
}

static int easy_options(struct transfer *t, bool range, const struct net_req *req)
{
	CURL *e = t->easy;

	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 128L << 10);
	/* transfer.c has its own connect timeout; libcurl's timeout would include the wait for a free
	 * connection. */
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 24L * 3600 * 1000);
	/* Without this option, ending a transfer blocks the net thread until getaddrinfo() returns. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	if (easy_way(e, req) < 0)
		return -ENOMEM;
	/* A range of a compressed body is not a range of the file, so the body must come uncompressed. */
	if (curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, range ? "identity" : "") != CURLE_OK ||
		curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
		curl_easy_setopt(e, CURLOPT_USERAGENT, t->net->user_agent) != CURLE_OK)
		return -ENOMEM;
	return 0;
}

/* Replaces a string by a copy of `text`, or keeps it if `text` is NULL. */
static int replace_text(char **out, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (!text)
		return 0;
	free(*out);
	*out = copy;
	return copy ? 0 : -ENOMEM;
}

static int copy_proof(struct transfer *t, const struct net_req *req)
{
	if (replace_text(&t->first.user, req->user) < 0 ||
		replace_text(&t->first.password, req->password) < 0 ||
		replace_text(&t->proof.sigv4, req->sigv4) < 0 ||
		replace_text(&t->proof.cert, req->cert) < 0 || replace_text(&t->proof.key, req->key) < 0 ||
		replace_text(&t->proof.netrc, req->netrc) < 0)
		return -ENOMEM;
	return 0;
}

/* libcurl applies one limit to every host, so this function raises it to the largest limit requested.
 * queue.c enforces the limit of each origin. */
static void raise_limit(struct net *n, unsigned connections)
{
	if ((long)connections <= n->host_most)
		return;
	n->host_most = (long)connections;
	curl_multi_setopt(n->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n->host_most);
}

/* A PUT without a body is an upload of 0 bytes, so that it has a Content-Length: object stores require it. */
static int easy_method(struct transfer *t)
{
	bool sends = t->body || (t->method && strcmp(t->method, "PUT") == 0);
	CURL *e = t->easy;

	if (!t->method)
		return 0;
	if (strcmp(t->method, "HEAD") == 0) {
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
		return 0;
	}
	if (sends) {
		curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->body_size);
	}
	return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, t->method) == CURLE_OK ? 0 : -ENOMEM;
}

int easy_open(struct transfer *t, const struct net_req *req)
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
	if (!t->url || !t->easy || replace_text(&t->proxy, req->proxy) < 0 || copy_proof(t, req) < 0)
		return -ENOMEM;
	raise_limit(t->net, req->connections);
	r = easy_method(t);
	return r == 0 ? easy_options(t, range && !req->coded, req) : r;
}

/* ---- errors ------------------------------------------------------------------------- */

/* libcurl has one code for all failures to connect; the system's errno distinguishes them. */
static int error_of_connect(long os_errno)
{
	switch (os_errno) {
	case ECONNREFUSED: return -ECONNREFUSED;
	case ETIMEDOUT: return -ETIMEDOUT;
	case ECONNRESET: return -ECONNRESET;
	case EMFILE:
	case ENFILE: return -EMFILE;
	default: return -EHOSTUNREACH;
	}
}

int error_of_curl(CURLcode code, long os_errno)
{
	switch (code) {
	case CURLE_OK: return 0;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY: return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
	case CURLE_PROXY:
	case CURLE_INTERFACE_FAILED: return error_of_connect(os_errno);
	case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_HTTP2_STREAM: return -ECONNRESET;
	case CURLE_PARTIAL_FILE: return -EPIPE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM: /* a problem with the client certificate */
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return -EKEYREJECTED;
	case CURLE_FILESIZE_EXCEEDED: return -EFBIG;
	case CURLE_TOO_MANY_REDIRECTS: return -ELOOP;
	case CURLE_OUT_OF_MEMORY: return -ENOMEM;
	case CURLE_TOO_LARGE: return -EPROTO;
	case CURLE_URL_MALFORMAT: return -EINVAL;
	/* CURLE_UNSUPPORTED_PROTOCOL means HTTP/0.9 here, because the scheme was checked before */
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP2:
	case CURLE_HTTP3:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_SSL_SHUTDOWN_FAILED:
	case CURLE_USE_SSL_FAILED: return -EPROTO;
	default: return -EIO;
	}
}
