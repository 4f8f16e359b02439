/* Detects loops between symfs servers. When a server asks another server, it names itself in User-Agent,
 * and in X-Symfs-Via the servers that the request came through. (Not in Via: many servers do not compress
 * the response to a request with Via.) A server that finds its own id there would wait for itself. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>

#define HOPS_MOST 8

/* Adds a word to the list if it is an id. False: it is the id of this server, or the list is full. */
static bool add_hop(struct exchange *x, const char *id, size_t n)
{
	size_t used = strlen(x->via);

	if (n != HTTP_ID_TEXT - 1 || strspn(id, "0123456789abcdef") < n)
		return true;
	if (strncmp(id, x->h->id, n) == 0 || used + n + 2 > sizeof(x->via))
		return false;
	snprintf(x->via + used, sizeof(x->via) - used, "%s%.*s", used ? " " : "", (int)n, id);
	return true;
}

static bool add_list(struct exchange *x, const char *list)
{
	for (size_t n; list && *list; list += n + strspn(list + n, ", \t")) {
		n = strcspn(list, ", \t");
		if (!add_hop(x, list, n))
			return false;
	}
	return true;
}

bool hops_may_pass(struct exchange *x)
{
	const char *agent = exchange_header(x, "User-Agent"), *at = agent ? strstr(agent, " serve/") : NULL;
	bool ours;

	_Static_assert(sizeof(x->via) == HOPS_MOST * HTTP_ID_TEXT + 1, "room for each hop and a blank");
	if (field_via(exchange_header(x, "Via"), x->h->id, &ours) > HOPS_MOST || ours)
		return false;
	at = at ? at + strlen(" serve/") : "";
	return add_list(x, exchange_header(x, "X-Symfs-Via")) && add_hop(x, at, strcspn(at, " ;,\t"));
}

void hops_pass_on(struct exchange *x)
{
	_Static_assert(sizeof(x->via) <= ARTIFACT_VIA, "an artifact takes them along");
	for (unsigned i = 0; i < x->route->hit.n; i++)
		snprintf(x->route->hit.files[i].via, ARTIFACT_VIA, "%s", x->via);
}
