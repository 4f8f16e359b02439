/* Tests net/address.h: networks, in every form of an address, and the allowed targets of
 * redirects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/address.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct address parse(const char *text)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct address a;

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
		ck_assert(address_of((struct sockaddr *)&four, &a));
		return a;
	}
	ck_assert_msg(inet_pton(AF_INET6, text, &six.sin6_addr) == 1, "%s", text);
	ck_assert(address_of((struct sockaddr *)&six, &a));
	return a;
}

static const struct {
	enum address_net net;
	const char *texts[32];
} nets[] = {
	{ADDRESS_PUBLIC, {"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255",
		"128.0.0.1", "169.253.0.1", "169.255.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1",
		"192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "2001:db8::1", "2606:4700::1111",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "fb00::1", "64:ff9c::1", "fe00::1"}},
	{ADDRESS_LOOPBACK, {"127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::1"}},
	{ADDRESS_10, {"10.0.0.1", "10.255.255.255", "::ffff:10.1.2.3", "64:ff9b::10.0.0.1"}},
	{ADDRESS_172, {"172.16.0.1", "172.31.255.255", "::ffff:172.20.0.1"}},
	{ADDRESS_192, {"192.168.0.1", "192.168.255.255"}},
	{ADDRESS_UNIQUE, {"fc00::1", "fd12:3456::1", "fdff::"}},
	{ADDRESS_RESERVED, {"100.64.0.1", "100.127.255.255", "192.0.0.8", "198.18.0.1", "198.19.255.255", "224.0.0.1",
		"239.1.2.3", "240.0.0.1", "255.255.255.255", "fec0::1", "ff02::1", "64:ff9b:1::1"}},
	{ADDRESS_LINK_LOCAL, {"169.254.0.1", "169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254",
		"::169.254.1.1", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::", "0.0.0.0", "0.1.2.3", "::",
		"::ffff:0.0.0.0"}},
};

START_TEST(networks)
{
	struct sockaddr other = {.sa_family = AF_UNIX};
	struct address a;

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		for (const char *const *text = nets[i].texts; *text; text++) {
			a = parse(*text);
			ck_assert_msg(address_net(&a) == nets[i].net, "%s: %d", *text, address_net(&a));
		}
	ck_assert(!address_of(&other, &a));
}
END_TEST

/* "" is a source whose address is not known. */
static const struct {
	const char *from, *to;
	enum redirect_judgement without, with; /* allow-private */
} redirects[] = {
	{"", "8.8.8.8", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"", "127.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"", "10.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"", "169.254.169.254", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
	{"8.8.8.8", "1.1.1.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"8.8.8.8", "10.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"8.8.8.8", "fd00::1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"8.8.8.8", "100.64.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"10.0.0.1", "8.8.8.8", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"10.0.0.1", "10.0.0.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"10.0.0.1", "10.200.0.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"10.0.0.1", "::ffff:10.200.0.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"10.0.0.1", "172.16.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"10.0.0.1", "192.168.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"10.0.0.1", "127.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"10.0.0.1", "fd00::1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"10.0.0.1", "169.254.169.254", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
	{"172.16.0.1", "172.31.0.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"192.168.1.1", "192.168.2.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"192.168.1.1", "10.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"fc00::1", "fdff::1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"127.0.0.1", "127.0.0.2", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"127.0.0.1", "::1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"127.0.0.1", "10.0.0.1", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"127.0.0.1", "0.0.0.0", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
	{"127.0.0.1", "::", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
	{"100.64.0.1", "100.64.0.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"100.64.0.1", "100.64.0.2", REDIRECT_PRIVATE, REDIRECT_ALLOWED},
	{"169.254.1.1", "169.254.1.1", REDIRECT_ALLOWED, REDIRECT_ALLOWED},
	{"169.254.1.1", "169.254.169.254", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
	{"fe80::1", "fe80::2", REDIRECT_LINK_LOCAL, REDIRECT_LINK_LOCAL},
};

START_TEST(where_redirects_lead)
{
	for (size_t i = 0; i < sizeof(redirects) / sizeof(*redirects); i++) {
		const char *from = redirects[i].from, *to = redirects[i].to;
		struct address a = parse(*from ? from : "::"), b = parse(to);

		ck_assert_msg(address_judge(*from ? &a : NULL, &b, false) == redirects[i].without, "%s to %s", from,
			to);
		ck_assert_msg(address_judge(*from ? &a : NULL, &b, true) == redirects[i].with,
			"%s to %s, allow-private", from, to);
	}
}
END_TEST

START_TEST(origins)
{
	static const struct {
		const char *origin, *literal;
	} rows[] = {
		{"http://127.0.0.1:8080", "127.0.0.1"}, {"https://[::1]", "::1"}, {"http://[::1]:80", "::1"},
		{"http://localhost", "127.0.0.1"}, {"https://localhost:1", "127.0.0.1"},
		{"http://localhost.", "127.0.0.1"}, {"http://a.localhost:9", "127.0.0.1"},
		{"http://LOCALHOST", "127.0.0.1"}, {"http://10.1.2.3", "10.1.2.3"},
		{"http://[fe80::1%eth0]:1", "fe80::1"}, {"https://8.8.8.8:443", "8.8.8.8"},
		{"http://[2606:4700::1111]", "2606:4700::1111"}, {"http://[::ffff:10.0.0.1]", "10.0.0.1"},
		/* As inet_aton() reads them, and a proxy's resolver with it. */
		{"http://2130706433", "127.0.0.1"}, {"http://0x7f.1.", "127.0.0.1"}, {"http://012.1:80", "10.0.0.1"},
	};
	static const char *const names[] = {"http://example.org", "http://localhost.example", "http://notlocalhost",
		"http://10.example", "http://127.0.0.1.example", "http://1.2.3.4.5", "http://0x7f.example"};
	struct address a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct address b = parse(rows[i].literal);

		ck_assert_msg(address_of_origin(rows[i].origin, &a), "%s", rows[i].origin);
		ck_assert_mem_eq(a.bytes, b.bytes, 16);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_msg(!address_of_origin(names[i], &a), "%s", names[i]);
}
END_TEST

START_TEST(ports)
{
	ck_assert_uint_eq(origin_port("http://h"), 80);
	ck_assert_uint_eq(origin_port("https://h"), 443);
	ck_assert_uint_eq(origin_port("https://h:8443"), 8443);
	ck_assert_uint_eq(origin_port("http://[::1]"), 80);
	ck_assert_uint_eq(origin_port("http://[fe80::1]:81"), 81);
}
END_TEST

UNIT_MAIN("address", networks, where_redirects_lead, origins, ports)
