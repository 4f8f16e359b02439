/* Decides which addresses a transfer may reach: the source's own server, its proxy, and the targets of
 * redirects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "net/transfer-private.h"

#include <stdlib.h>
#include <string.h>

bool peer_is_home(const struct transfer *t)
{
	return strcmp(t->origin, t->first.origin) == 0;
}

static bool env_has(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Ignores the exceptions in no_proxy, so the transfer may bypass the returned proxy. */
const char *peer_proxy(const struct transfer *t)
{
	const char *const names[] = {
		strncmp(t->origin, "https:", 6) == 0 ? "https_proxy" : "http_proxy",
		strncmp(t->origin, "https:", 6) == 0 ? "HTTPS_PROXY" : "http_proxy",
		"all_proxy", "ALL_PROXY"};

	if (t->proxy)
		return *t->proxy && strcasecmp(t->proxy, "none") != 0 ? t->proxy : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (env_has(names[i]))
			return getenv(names[i]);
	return NULL;
}

/* Whether the peer may be the server itself. If the port is not the origin's, the peer is the proxy. */
static bool is_direct(const struct transfer *t, unsigned port)
{
	return !t->proxied || port == origin_port(t->origin);
}

/* Whether the peer must be the server itself. False if a proxy at the origin's own port is possible. */
static bool is_surely_direct(const struct transfer *t, unsigned port)
{
	const char *proxy = peer_proxy(t);
	char origin[NET_HOST_MAX];

	if (!is_direct(t, port))
		return false;
	return !proxy || (net_origin(proxy, origin) == 0 && origin_port(origin) != port);
}

/* The source itself may have any address. */
bool peer_may_lead_to(struct transfer *t, const struct address *to)
{
	const struct address *from = t->source_known && !t->strayed ? &t->source : NULL;

	if (peer_is_home(t))
		return true;
	switch (address_judge(from, to, t->allow_private)) {
	case REDIRECT_ALLOWED:
		return true;
	case REDIRECT_PRIVATE:
		t->refused = "a redirect to a private address (allow-private)";
		break;
	case REDIRECT_LINK_LOCAL:
		t->refused = "a redirect to a link-local address";
		break;
	}
	return false;
}

/* Allows any connection to a proxy, because only the proxy knows which server it connects to. A proxy at
 * the origin's port is recognized by its address, which is the address of the first hop. */
bool peer_may_connect(struct transfer *t, const struct address *to, unsigned port)
{
	if (!is_direct(t, port))
		return true;
	if (t->proxied && port == t->first_port && memcmp(to, &t->first_peer, sizeof(*to)) == 0)
		return true;
	return peer_may_lead_to(t, to);
}

/* Records the source's address, or that a redirect led to a public host. */
void peer_reached(struct transfer *t, const struct address *at, unsigned port)
{
	struct address literal;
	bool named, direct = is_surely_direct(t, port);

	if (t->hops == 0) {
		t->first_peer = *at;
		t->first_port = port;
	}
	if (t->hops == 0 && direct) {
		t->source = *at;
		t->source_known = true;
	}
	if (peer_is_home(t))
		return;
	named = !direct && !address_of_origin(t->origin, &literal);
	if (!named && !direct)
		at = &literal;
	if (named || address_net(at) == ADDRESS_PUBLIC)
		t->strayed = true;
}
