/* Fills a request to a server: URL, headers, credentials, and how the server is reached. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "source/source.h"

#include <string.h>

int source_add_header(struct net_req *req, const char *line)
{
	size_t n = 0;
	char **p;

	while (req->headers && req->headers[n])
		n++;
	p = realloc(req->headers, (n + 2) * sizeof(char *));
	if (!p)
		return -ENOMEM;
	req->headers = p;
	p[n] = strdup(line);
	p[n + 1] = NULL;
	return p[n] ? 0 : -ENOMEM;
}

/* Adds the headers of the configuration, and the header of this request. */
static int add_headers(const struct source *s, const struct source_ask *a, struct net_req *out)
{
	int r = 0;

	for (char **h = s->o.headers; r == 0 && h && *h; h++)
		r = source_add_header(out, *h);
	return r == 0 && a->header ? source_add_header(out, a->header) : r;
}

static int copy_text(char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return *out || !text ? 0 : -ENOMEM;
}

int source_request_with(const struct source *s, const struct source_ask *a, struct net_req *out)
{
	int r = 0;

	*out = (struct net_req){
		.connect_ms = a->wait_ms ? a->wait_ms : s->o.connect_ms,
		.stall_ms = a->wait_ms ? a->wait_ms : s->o.stall_ms,
		.most = s->o.max_file_size,
		.insecure = s->o.accept_invalid_certs,
		.allow_private = s->o.allow_private,
		.allow_http = s->o.allow_http_redirects,
		.connections = s->o.connections,
	};
	if (add_headers(s, a, out) < 0 || copy_text(&out->url, a->where) < 0 ||
		copy_text(&out->proxy, s->o.proxy) < 0 ||
		copy_text(&out->ca_file, s->o.ca_file) < 0 ||
		copy_text(&out->cert, s->o.cert) < 0 || copy_text(&out->key, s->o.key) < 0 ||
		copy_text(&out->netrc, s->o.netrc) < 0)
		r = -ENOMEM;
	if (r < 0)
		net_req_release(out);
	return r;
}

int source_request(const struct source *s, const struct source_ask *a, struct net_req *out)
{
	int r = source_request_with(s, a, out);

	if (r == 0 && s->kind->sign)
		r = s->kind->sign(s, out);
	if (r < 0)
		net_req_release(out);
	return r;
}
