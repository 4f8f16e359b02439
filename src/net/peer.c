/* Decides which addresses a transfer may reach: the source's own server, its proxy, and the targets of redirects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "net/transfer-private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
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
static bool may_lead_to(struct transfer *t, const struct address *to)
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
static bool may_connect(struct transfer *t, const struct address *to, unsigned port)
{
	if (!is_direct(t, port))
		return true;
	if (t->proxied && port == t->first_port && memcmp(to, &t->first_peer, sizeof(*to)) == 0)
		return true;
	return may_lead_to(t, to);
}

/* Records the source's address, or that a redirect led to a public host. */
static void reached(struct transfer *t, const struct address *at, unsigned port)
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

bool peer_may_begin(struct transfer *t)
{
	struct address to;

	if (!address_of_origin(t->origin, &to))
		return true;
	if (!may_lead_to(t, &to))
		return false;
	if (t->hops == 0) {
		t->source = to;
		t->source_known = true;
	}
	return true;
}

static unsigned port_of(const struct sockaddr *a)
{
	return ntohs(a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

bool peer_may_connect(struct transfer *t, const struct sockaddr *a)
{
	struct address to;

	return address_of(a, &to) && may_connect(t, &to, port_of(a));
}

/* A text that is not an address becomes ::, where no redirect may lead. */
static struct address address_of_text(const char *ip)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	char plain[INET6_ADDRSTRLEN];
	struct address a;

	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(ip, "%"), ip);
	if (inet_pton(AF_INET, plain, &four.sin_addr) == 1) {
		address_of((struct sockaddr *)&four, &a);
		return a;
	}
	inet_pton(AF_INET6, plain, &six.sin6_addr);
	address_of((struct sockaddr *)&six, &a);
	return a;
}

/* Judges the peer again, because another transfer may have opened this connection. */
bool peer_connected(struct transfer *t, const char *ip, unsigned port)
{
	const struct address at = address_of_text(ip);

	/* A refusal of another address of the host no longer matters. */
	t->refused = NULL;
	if (!may_connect(t, &at, port))
		return false;
	reached(t, &at, port);
	return true;
}
