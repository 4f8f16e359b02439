/* net/address.h: what is private, in every form that an address can have. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/address.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static bool is_private(const char *text)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		return address_is_private((struct sockaddr *)&four);
	ck_assert_msg(inet_pton(AF_INET6, text, &six.sin6_addr) == 1, "%s", text);
	return address_is_private((struct sockaddr *)&six);
}

static const char *const private_ones[] = {"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
	"100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254",
	"172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.0.1", "198.18.0.1", "198.19.255.255",
	"224.0.0.1", "239.1.2.3", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
	"::ffff:10.1.2.3", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::1",
	"2002:a9fe:a9fe::", "fc00::1", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "ff02::1"};

static const char *const public_ones[] = {"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255",
	"100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.0.1", "169.255.0.1", "172.15.0.1",
	"172.32.0.1", "192.0.1.1", "192.167.0.1", "192.169.0.1", "198.17.0.1", "198.20.0.1",
	"223.255.255.255", "2001:db8::1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	"2002:808:808::1", "fb00::1", "64:ff9c::1"};

START_TEST(addresses)
{
	struct sockaddr other = {.sa_family = AF_UNIX};

	for (size_t i = 0; i < sizeof(private_ones) / sizeof(*private_ones); i++)
		ck_assert_msg(is_private(private_ones[i]), "%s", private_ones[i]);
	for (size_t i = 0; i < sizeof(public_ones) / sizeof(*public_ones); i++)
		ck_assert_msg(!is_private(public_ones[i]), "%s", public_ones[i]);
	ck_assert(address_is_private(&other));
}
END_TEST

START_TEST(origins)
{
	static const char *const yes[] = {"http://127.0.0.1:8080", "https://[::1]", "http://[::1]:80",
		"http://localhost", "https://localhost:1", "http://localhost.", "http://a.localhost:9",
		"http://10.1.2.3", "http://[fe80::1%eth0]:1", "http://169.254.169.254",
		"http://LOCALHOST"};
	static const char *const no[] = {"http://example.org", "https://8.8.8.8:443",
		"http://[2606:4700::1111]", "http://localhost.example", "http://notlocalhost",
		"http://10.example", "http://127.0.0.1.example"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		ck_assert_msg(origin_is_private(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		ck_assert_msg(!origin_is_private(no[i]), "%s", no[i]);
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

UNIT_MAIN("address", addresses, origins, ports)
