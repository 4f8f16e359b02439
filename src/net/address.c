/* Addresses that are not of the public Internet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/address.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct range4 {
	uint32_t net;
	unsigned bits;
} ranges4[] = {
	{0x00000000, 8},  /* this network; 0.0.0.0 connects to this machine */
	{0x0a000000, 8},  /* private */
	{0x64400000, 10}, /* shared, behind a provider's NAT */
	{0x7f000000, 8},  /* loopback */
	{0xa9fe0000, 16}, /* link-local; a cloud's metadata */
	{0xac100000, 12}, /* private */
	{0xc0000000, 24}, /* assignments of protocols */
	{0xc0a80000, 16}, /* private */
	{0xc6120000, 15}, /* benchmarks */
	{0xe0000000, 4},  /* multicast */
	{0xf0000000, 4},  /* reserved; broadcast */
};

static bool is_private4(uint32_t a)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges4); i++)
		if ((a ^ ranges4[i].net) >> (32 - ranges4[i].bits) == 0)
			return true;
	return false;
}

/* IPv4 in IPv6, at a byte of it: mapped, compatible (::1 and :: are of these), NAT64, 6to4. */
static const struct form {
	uint8_t prefix[12];
	unsigned n, at;
} forms[] = {
	{{[10] = 0xff, [11] = 0xff}, 12, 12},
	{{0}, 12, 12},
	{{0x00, 0x64, 0xff, 0x9b}, 12, 12},
	{{0x20, 0x02}, 2, 2},
};

static const struct range6 {
	uint8_t first, second, mask; /* of the second byte */
} ranges6[] = {
	{0xfc, 0, 0},	    /* unique local */
	{0xfd, 0, 0},
	{0xfe, 0x80, 0xc0}, /* link-local */
	{0xfe, 0xc0, 0xc0}, /* site-local */
	{0xff, 0, 0},	    /* multicast */
};

static bool is_private6(const uint8_t a[static 16])
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges6); i++)
		if (a[0] == ranges6[i].first && (a[1] & ranges6[i].mask) == ranges6[i].second)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const uint8_t *p = a + forms[i].at;

		if (memcmp(a, forms[i].prefix, forms[i].n) == 0)
			return is_private4((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
					   (uint32_t)p[2] << 8 | p[3]);
	}
	/* NAT64 of one's own network */
	return memcmp(a, "\x00\x64\xff\x9b\x00\x01", 6) == 0;
}

bool address_is_private(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return is_private4(ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr));
	return a->sa_family != AF_INET6 ||
	       is_private6(((const struct sockaddr_in6 *)a)->sin6_addr.s6_addr);
}

/* The host of an origin, without the brackets of IPv6, a zone, and a dot at the end. */
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

bool origin_is_private(const char *origin)
{
	_cleanup_free_ char *host = host_of(origin);
	size_t n = host ? strlen(host) : 0;
	struct in6_addr six;
	struct in_addr four;

	if (!host)
		return true; /* memory has run out: nothing is allowed by that */
	if (inet_pton(AF_INET, host, &four) == 1)
		return is_private4(ntohl(four.s_addr));
	if (inet_pton(AF_INET6, host, &six) == 1)
		return is_private6(six.s6_addr);
	return strcasecmp(host, "localhost") == 0 ||
	       (n > 10 && strcasecmp(host + n - 10, ".localhost") == 0);
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
