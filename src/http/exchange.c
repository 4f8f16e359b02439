/* One request: creates and frees it, reads its header fields, and writes the URL by which its client knows the
 * server. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *exchange_header(struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->c, MHD_HEADER_KIND, name);
}

void exchange_drop_body(struct exchange *x)
{
	atomic_fetch_sub(&x->h->bodies, x->body.n);
	buf_release(&x->body);
}

bool exchange_is_head(const struct exchange *x)
{
	return strcmp(x->method, "HEAD") == 0;
}

bool exchange_wants_page(struct exchange *x)
{
	const char *accept = exchange_header(x, "Accept");

	return accept && strstr(accept, "text/html") && strcmp(x->method, "GET") == 0;
}

bool exchange_has_parts(struct exchange *x)
{
	const char *type = exchange_header(x, "Content-Type");

	return type && strncasecmp(type, "multipart/form-data", 19) == 0;
}

const char *exchange_user(const struct exchange *x)
{
	return x->known ? x->token.name : "-";
}

void hops_pass_on(struct exchange *x)
{
	_Static_assert(sizeof(x->via) <= ARTIFACT_VIA, "an artifact takes them along");
	for (unsigned i = 0; i < x->route->hit.n; i++)
		snprintf(x->route->hit.files[i].via, ARTIFACT_VIA, "%s", x->via);
}

void answer_release(struct answer *a)
{
	blob_unref(a->blob);
	if (a->part)
		part_close(a->part);
	part_unref(a->part);
	memset(a, 0, sizeof(*a));
}

/* ---- its life ------------------------------------------------------------------------ */

void *exchange_new(void *ctx, const char *target, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->h = ctx;
	x->space = x->h->public;
	x->c = c;
	x->conn = info ? info->socket_context : NULL;
	x->began = clock_ms();
	x->body = BUF_UP_TO(x->h->body_most);
	x->reply = BUF_UP_TO(SYMB_REPLY_MOST);
	x->target = strdup(target);
	x->route = malloc(sizeof(*x->route));
	atomic_init(&x->refs, 1);
	if (!x->target || !x->route || !x->conn) {
		exchange_unref(x);
		return NULL;
	}
	return x;
}

void exchange_unref(struct exchange *x)
{
	if (atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	answer_release(&x->answer);
	if (x->ticket)
		ticket_unref(x->ticket);
	making_unref(x->making);
	part_wait_unref(x->awaited);
	exchange_drop_body(x);
	if (x->upload)
		x->upload_free(x);
	buf_release(&x->reply);
	listener_free(x->listener);
	free(x->where);
	free(x->checksum);
	free(x->route);
	free(x->target);
	free(x);
}

/* ---- the URL of this server as a client sees it ------------------------------------------------ */

/* Letters of host names, addresses and ports. These are no letters of a shell, so a copied line is one command. */
static bool is_plain(const char *host)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";

	return *host && *host != '-' && strspn(host, chars) == strlen(host);
}

void exchange_address(struct exchange *x, char out[static ADDRESS_TEXT])
{
	const char *host = exchange_header(x, "Host"), *proto = exchange_header(x, "X-Forwarded-Proto");
	char name[FIELD_HOST];

	if (host && strlen(host) < FIELD_HOST && field_host(host, strlen(host), name) && *name && is_plain(host))
		snprintf(out, ADDRESS_TEXT, "%s://%s", proto && strcasecmp(proto, "https") == 0 ? "https" : "http",
			host);
	else
		snprintf(out, ADDRESS_TEXT, "%s", strncmp(x->h->where, "http", 4) == 0 ? x->h->where
			: "http://localhost");
}
