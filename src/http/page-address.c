/* The URL of this server as a client sees it, for the lines that a person copies from the page. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/page.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Letters of host names, addresses and ports. These are no letters of a shell, so a copied line is one command. */
static bool is_plain(const char *host)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";

	return *host && *host != '-' && strspn(host, chars) == strlen(host);
}

void page_address(struct exchange *x, char out[static PAGE_ADDRESS])
{
	const char *host = exchange_header(x, "Host"), *proto = exchange_header(x, "X-Forwarded-Proto");
	char name[FIELD_HOST];

	if (host && strlen(host) < FIELD_HOST && field_host(host, strlen(host), name) && *name && is_plain(host))
		snprintf(out, PAGE_ADDRESS, "%s://%s", proto && strcasecmp(proto, "https") == 0 ? "https" : "http",
			host);
	else
		snprintf(out, PAGE_ADDRESS, "%s", strncmp(x->h->where, "http", 4) == 0 ? x->h->where
			: "http://localhost");
}
