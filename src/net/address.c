/* Classifies addresses by network, in every form of an address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/address.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static struct address of_four(const void *four)
{
	struct address a;

	memcpy(a.bytes, mapped, 12);
	memcpy(a.bytes + 12, four, 4);
	return a;
}

/* Other IPv6 forms of an IPv4 address (compatible, NAT64, 6to4): a prefix of `n` bytes, and the offset
 * `at` of the IPv4 address. */
static const struct form {
	uint8_t prefix[12];
	unsigned n, at;
} forms[] = {
	{{0}, 12, 12},
	{{0x00, 0x64, 0xff, 0x9b}, 12, 12},
	{{0x20, 0x02}, 2, 2},
};

static struct address of_six(const uint8_t six[static 16])
{
	struct address a;

	memcpy(a.bytes, six, 16);
	if (IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)&a) || IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)&a))
		return a;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (memcmp(six, forms[i].prefix, forms[i].n) == 0)
			return of_four(six + forms[i].at);
	return a;
}

bool address_of(const struct sockaddr *a, struct address *out)
{
	if (a->sa_family == AF_INET)
		*out = of_four(&((const struct sockaddr_in *)a)->sin_addr);
	else if (a->sa_family == AF_INET6)
		*out = of_six(((const struct sockaddr_in6 *)a)->sin6_addr.s6_addr);
	else
		return false;
	return true;
}

/* The host of an origin, without the brackets of IPv6, a zone or a final dot. NULL: out of memory. */
static char *host_of(const char *origin)
{
	const char *host = strstr(origin, "://");
	char *copy;
	size_t n;

	host = host ? host + 3 : origin;
	copy = *host == '[' ? strndup(host + 1, strcspn(host + 1, "]%"))
			    : strndup(host, strcspn(host, ":/"));
	n = copy ? strlen(copy) : 0;
	if (n && copy[n - 1] == '.')
		copy[n - 1] = '\0';
	return copy;
}

bool address_of_origin(const char *origin, struct address *out)
{
	static const uint8_t loopback[4] = {127, 0, 0, 1};
	_cleanup_free_ char *host = host_of(origin);
	size_t n = host ? strlen(host) : 0;
	struct in_addr four;
	uint8_t raw[16];

	if (!host)
		return false; /* out of memory; the address of the connection is judged later */
	/* Resolvers, and therefore proxies, read 0x7f.1 and 2130706433 as 127.0.0.1. */
	if (inet_aton(host, &four))
		*out = of_four(&four);
	else if (inet_pton(AF_INET6, host, raw) == 1)
		*out = of_six(raw);
	else if (strcasecmp(host, "localhost") == 0 ||
		 (n > 10 && strcasecmp(host + n - 10, ".localhost") == 0))
		*out = of_four(loopback);
	else
		return false;
	return true;
}

unsigned origin_port(const char *origin)
{
	const char *host = strstr(origin, "://"), *colon;

	host = host ? host + 3 : origin;
	colon = strrchr(host + (*host == '[' ? strcspn(host, "]") : 0), ':');
	if (colon)
		return (unsigned)strtoul(colon + 1, NULL, 10);
	return strncasecmp(origin, "https:", 6) == 0 ? 443 : 80;
}

/* ---- networks ----------------------------------------------------------------------- */

/* The first range that contains an address decides its network. */
static const struct range {
	uint8_t prefix[16];
	unsigned bits;
	enum address_net net;
} ranges[] = {
#define FOUR(a, b, c, bits, net) {{[10] = 0xff, [11] = 0xff, [12] = a, [13] = b, [14] = c}, 96 + (bits), net}
	FOUR(0, 0, 0, 8, ADDRESS_LINK_LOCAL), /* a connection to such an address reaches this machine */
	FOUR(10, 0, 0, 8, ADDRESS_10),
	FOUR(100, 64, 0, 10, ADDRESS_RESERVED), /* shared, behind a provider's NAT */
	FOUR(127, 0, 0, 8, ADDRESS_LOOPBACK),
	FOUR(169, 254, 0, 16, ADDRESS_LINK_LOCAL),
	FOUR(172, 16, 0, 12, ADDRESS_172),
	FOUR(192, 0, 0, 24, ADDRESS_RESERVED), /* assignments of protocols */
	FOUR(192, 168, 0, 16, ADDRESS_192),
	FOUR(198, 18, 0, 15, ADDRESS_RESERVED), /* benchmarks */
	FOUR(224, 0, 0, 3, ADDRESS_RESERVED),	/* multicast, reserved, broadcast */
#undef FOUR
	{{[15] = 1}, 128, ADDRESS_LOOPBACK},
	{{0}, 128, ADDRESS_LINK_LOCAL},
	{{0xfc}, 7, ADDRESS_UNIQUE},
	{{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, ADDRESS_RESERVED}, /* site-local */
	{{0xff}, 8, ADDRESS_RESERVED},	      /* multicast */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_RESERVED}, /* NAT64 of a local network */
};

static bool is_in(const struct address *a, const struct range *r)
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;

	return memcmp(a->bytes, r->prefix, whole) == 0 &&
	       (!rest || (a->bytes[whole] ^ r->prefix[whole]) >> (8 - rest) == 0);
}

enum address_net address_net(const struct address *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (is_in(a, &ranges[i]))
			return ranges[i].net;
	return ADDRESS_PUBLIC;
}

enum redirect_judgement address_judge(const struct address *from, const struct address *to, bool allow_private)
{
	enum address_net net = address_net(to);

	if (net == ADDRESS_PUBLIC || (from && memcmp(from, to, sizeof(*to)) == 0))
		return REDIRECT_ALLOWED;
	if (net == ADDRESS_LINK_LOCAL)
		return REDIRECT_LINK_LOCAL;
	if (allow_private || (from && net != ADDRESS_RESERVED && address_net(from) == net))
		return REDIRECT_ALLOWED;
	return REDIRECT_PRIVATE;
}
