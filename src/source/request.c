/* Requests to a server: what is sent beside the URL, and how the server is reached. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "source/source.h"

#include <string.h>

/* Those of the configuration, those that the kind of source adds, one of this ask. */
static char **all_headers(const struct source *s, const struct source_ask *a)
{
	char **list;
	size_t n = 0, room = 2;

	while (s->o.headers && s->o.headers[room - 2])
		room++;
	list = calloc(room, sizeof(char *));
	if (!list)
		return NULL;
	for (char **h = s->o.headers; h && *h; h++)
		list[n++] = strdup(*h);
	if (a->header)
		list[n++] = strdup(a->header);
	for (size_t i = 0; i < n; i++)
		if (!list[i]) {
			for (i = 0; i < n; i++)
				free(list[i]);
			free(list);
			return NULL;
		}
	return list;
}

static int copy_text(char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return *out || !text ? 0 : -ENOMEM;
}

int source_request(const struct source *s, const struct source_ask *a, struct net_req *out)
{
	*out = (struct net_req){
		.connect_ms = s->o.connect_ms,
		.stall_ms = s->o.stall_ms,
		.most = s->o.max_file_size,
		.insecure = s->o.accept_invalid_certs,
		.connections = s->o.connections,
	};
	out->headers = all_headers(s, a);
	if (out->headers && copy_text(&out->url, a->where) == 0 &&
		copy_text(&out->proxy, s->o.proxy) == 0 &&
		copy_text(&out->ca_file, s->o.ca_file) == 0 &&
		copy_text(&out->cert, s->o.cert) == 0 && copy_text(&out->key, s->o.key) == 0 &&
		copy_text(&out->netrc, s->o.netrc) == 0)
		return 0;
	net_req_release(out);
	return -ENOMEM;
}
