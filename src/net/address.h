/* Classifies IP addresses by network, and decides whether a redirect may lead to an address. A server
 * must not use a redirect to make this machine contact hosts that the server itself cannot reach. Plain
 * values, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv6 address. An IPv4 address, in whichever form IPv6 writes it, is stored as the mapped address
 * (::ffff:a.b.c.d). */
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
	ADDRESS_LINK_LOCAL	/* 169.254/16 (cloud metadata), fe80::/10; also 0/8 and ::, which reach
				   this machine */
};

bool address_of(const struct sockaddr *a, struct address *out); /* false: neither IPv4 nor IPv6 */

/* The address of an origin ("https://host:port") whose host is a literal address or localhost. False: the
 * host is a name, which only a resolver can look up. */
bool address_of_origin(const char *origin, struct address *out);

enum address_net address_net(const struct address *a);

enum redirect_judgement {
	REDIRECT_ALLOWED,
	REDIRECT_PRIVATE,   /* only with allow-private */
	REDIRECT_LINK_LOCAL /* never */
};

/* Whether a redirect may lead from one address (NULL: unknown, or public) to another. A redirect to the
 * same address is allowed: it is the same host. */
enum redirect_judgement address_judge(const struct address *from, const struct address *to, bool allow_private);

unsigned origin_port(const char *origin); /* 80 or 443 when the origin names no port */
