/* Which network an address belongs to, and whether a redirect may lead there: a server must not make this
 * machine ask hosts that the server itself cannot ask. Pure, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv6 address; IPv4 in any of the forms that IPv6 has for it is the mapped one (::ffff:a.b.c.d). */
struct address {
	uint8_t bytes[16];
};

enum address_net {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK,
	ADDRESS_10,		/* 10/8 */
	ADDRESS_172,	/* 172.16/12 */
	ADDRESS_192,	/* 192.168/16 */
	ADDRESS_UNIQUE,	/* fc00::/7 */
	ADDRESS_RESERVED,	/* shared, for benchmarks, multicast, site-local, ... */
	ADDRESS_LINK_LOCAL	/* 169.254/16 (a cloud's metadata), fe80::/10; and 0/8, ::, which are this machine */
};

bool address_of(const struct sockaddr *a, struct address *out); /* false: neither IPv4 nor IPv6 */

/* The address of an origin ("https://host:port") whose host is a literal address or localhost. False: a
 * resolver is needed. */
bool address_of_origin(const char *origin, struct address *out);

enum address_net address_net(const struct address *a);

enum redirect_judgement {
	REDIRECT_ALLOWED,
	REDIRECT_PRIVATE,   /* only with allow-private */
	REDIRECT_LINK_LOCAL /* never */
};

/* Whether a redirect may lead from one address (NULL: unknown, or public) to another. The same address is
 * the same host. */
enum redirect_judgement address_judge(const struct address *from, const struct address *to, bool allow_private);

unsigned origin_port(const char *origin); /* also when it is the usual one */
