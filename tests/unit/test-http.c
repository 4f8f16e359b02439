/* Tests http/: parsed requests, the header fields that decide something, and what a connection
 * remembers of its client. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/fields.h"
#include "http/private.h"
#include "http/route.h"
#include "names/id/key.h"
#include "names/layout/layout.h"
#include "unit.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"
#define GUID "3249D99D0C4049318610F4E4FB0B6936"

static struct route route;

static enum route_what at(const char *method, const char *target)
{
	route_find(method, target, &route);
	return route.what;
}

/* ---- percent-encoding ---------------------------------------------------------------- */

static const struct {
	const char *text, *path, *query, *form; /* the decoded text; NULL: refused */
} encoded[] = {
	{"a%20b+c%2B", "a b+c+", "a b c+", "a b c+"},
	{"a%0Ab%09%7f", NULL, NULL, "a\nb\t\x7f"},
	{"100%", NULL, NULL, "100%"},
	{"%4", NULL, NULL, "%4"},
	{"%4x%x4%%41", NULL, NULL, "%4x%x4%A"},
	{"a%00b", NULL, NULL, "a b"},
	{"%ff", "\xff", "\xff", "\xff"},
	{"", "", "", ""},
};

START_TEST(test_decode)
{
	char out[16];

	for (size_t i = 0; i < ARRAY_SIZE(encoded); i++) {
		const char *const want[] = {[ROUTE_IN_PATH] = encoded[i].path, [ROUTE_IN_QUERY] = encoded[i].query,
			[ROUTE_IN_FORM] = encoded[i].form};

		for (unsigned what = 0; what < ARRAY_SIZE(want); what++) {
			int r = route_decode(encoded[i].text, strlen(encoded[i].text), what, out, sizeof(out));

			ck_assert_msg(r == (want[what] ? 0 : -EINVAL), "%s, %u: %d", encoded[i].text, what, r);
			if (r == 0)
				ck_assert_str_eq(out, want[what]);
		}
	}
	ck_assert_int_eq(route_decode("0123456789abcdef", 16, ROUTE_IN_FORM, out, sizeof(out)), -ENAMETOOLONG);
}
END_TEST

/* ---- pasted text -------------------------------------------------------------------- */

static const struct {
	const char *text, *id, *name; /* the first identifier; NULL: none */
} pasted[] = {
	{"Module libc.so.6 with build-id " ID, ID, "libc.so.6"},
	{"Module prog with build-id " ID, ID, "prog"},
	{"0x400000+0x204000 " ID "@0x400284 /usr/bin/prog /usr/lib/debug/prog.debug prog", ID, "prog.debug"},
	{"    #00 pc 0000000000042f89  /system/lib64/libfoo.so (offset 0x3000) (BuildId: deadbeef01)", "deadbeef01",
		"libfoo.so"},
	{"0x10 - 0x20 +MyApp arm64 <" GUID "> /Users/x/MyApp.app/MyApp", GUID, "MyApp"},
	{"Format: RSDS, {3249D99D-0C40-4931-8610-F4E4FB0B6936}, 10, c:\\b\\crash.pdb", GUID "a", "crash.pdb"},
	{"Module|crash.exe|1.0|crash.pdb|" GUID "1|0x00400000|0x00402fff|1", GUID "1", "crash.pdb"},
	{"    #0 0x55d0 in main (/tmp/prog+0x1271) (BuildId: " ID ")", ID, "prog"},
	{"{" GUID "}", GUID, ""},
	{"#1 0x00007f1234567890 in main () at a.c:10", NULL, NULL},
	{"rip 00007ff612345678 rsp 00000012345678ff", NULL, NULL},
	{"0x" GUID, NULL, NULL},
	{"build id", NULL, NULL},
	{"", NULL, NULL},
};

START_TEST(test_pasted)
{
	struct pasted_id found[4];

	for (size_t i = 0; i < ARRAY_SIZE(pasted); i++) {
		unsigned n = pasted_ids(pasted[i].text, found, 4);

		ck_assert_msg((n > 0) == (pasted[i].id != NULL), "%s: %u", pasted[i].text, n);
		if (n == 0)
			continue;
		ck_assert_msg(strcmp(found[0].id, pasted[i].id) == 0, "%s: %s", pasted[i].text, found[0].id);
		ck_assert_msg(strcmp(found[0].name, pasted[i].name) == 0, "%s: %s", pasted[i].text, found[0].name);
	}
	ck_assert_uint_eq(pasted_ids(ID "\n" ID "\n" GUID "\n" GUID "1\n" ID "0", found, 4), 4);
}
END_TEST

START_TEST(test_pasted_path)
{
	static const struct {
		const char *text, *path;
	} rows[] = {
		{" 'buildid/ab/debuginfo' \n", "buildid/ab/debuginfo"},
		{"https://h/a%20b/c?x#y", "a b/c"},
		{"<https://h:1//a>", "a"},
		{"http://h", ""},
		{"://x", "://x"},
	};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ck_assert_msg(pasted_path(rows[i].text, path, sizeof(path)), "%s", rows[i].text);
		ck_assert_str_eq(path, rows[i].path);
	}
	ck_assert(!pasted_path("https://h/%zz", path, sizeof(path)));
	ck_assert(!pasted_path("0123456789", path, 10));
	ck_assert(pasted_is_long("a\nb") && !pasted_is_long("\n a \n\n") && !pasted_is_long(""));
}
END_TEST

/* ---- routes ------------------------------------------------------------------------- */

static const struct {
	const char *target;
	enum route_what what;
	enum filetype type; /* of the first file */
} targets[] = {
	{"/", ROUTE_STATUS, 0},
	{"/status?path=x", ROUTE_STATUS, 0},
	{"/uploads", ROUTE_STATUS, 0},
	{"/page.css?v=1", ROUTE_PAGE_FILE, 0},
	{"/healthz", ROUTE_HEALTH, 0},
	{"/metadata?key=glob&value=/usr/bin/*", ROUTE_METADATA, 0},
	{"/metrics", ROUTE_METRICS, 0},
	{"/ready", ROUTE_READY, 0},
	{"/events", ROUTE_EVENTS, 0},
	{"/events/buildid/" ID "/debuginfo", ROUTE_EVENTS, FILETYPE_ELF_DEBUG},
	{"/events/", ROUTE_NONE, 0},
	{"/events/metrics", ROUTE_NONE, 0},
	{"/missingsymbols.csv", ROUTE_MISSES, 0},
	{"/missing.csv", ROUTE_MISSING, 0},
	{"/pingme.txt", ROUTE_TEXT, 0},
	{"/symstore2/index2.txt", ROUTE_TEXT, 0},
	{"/buildid/" ID "/debuginfo", ROUTE_FILE, FILETYPE_ELF_DEBUG},
	{"//buildid/" ID "/executable", ROUTE_FILE, FILETYPE_ELF_CODE},
	{"/buildid/" ID "/source/usr/src/a%20b.c", ROUTE_FILE, FILETYPE_SOURCE},
	{"/buildid/" ID "/source/usr/src/makefile-of-nothing", ROUTE_FILE, FILETYPE_SOURCE},
	{"/buildid/" ID "/section/.text", ROUTE_FILE, FILETYPE_SECTION},
	{"/debuginfod/buildid/" ID "/debuginfo", ROUTE_FILE, FILETYPE_ELF_DEBUG},
	{"/crash.pdb/" GUID "1/crash.sym", ROUTE_FILE, FILETYPE_BREAKPAD},
	{"/try/crash.pdb/" GUID "1/crash.sym", ROUTE_FILE, FILETYPE_BREAKPAD},
	{"/breakpad/crash.pdb/" GUID "1/crash.sym", ROUTE_FILE, FILETYPE_BREAKPAD},
	{"/crash.pdb/" GUID "1/crash.pdb", ROUTE_FILE, FILETYPE_PDB},
	{"/Crash.exe/5ab380779000/crash.exe", ROUTE_FILE, FILETYPE_PE},
	{"http://host/Crash.exe/5ab380779000/crash.exe", ROUTE_FILE, FILETYPE_PE},
	{"/gsym/debuginfod/buildid/" ID "/debuginfo.gsym", ROUTE_MADE, FILETYPE_ELF_DEBUG},
	{"/gdb/.build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug", ROUTE_FILE, FILETYPE_ELF_DEBUG},
	{"/lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF", ROUTE_FILE, FILETYPE_MACH_DEBUG},
	{"/unified/df/b85de42daffd09640c8fe377d572de3e168920/debuginfo.meta", ROUTE_GENERATED, FILETYPE_ELF_DEBUG},
	{"/dsym/67E9247C-814E-392B-A027-DBDE6748FCBF.zip", ROUTE_DSYM_ZIP, FILETYPE_MACH_DEBUG},
	{"/dsym/67e9247c814e392ba027dbde6748fcbf.zip", ROUTE_DSYM_ZIP, FILETYPE_MACH_DEBUG},
	{"/dsym/67E9247C-814E-392B-A027-DBDE6748FCB.zip", ROUTE_NONE, 0},
	{"/dsym/.zip", ROUTE_NONE, 0},
	{"/dsym/67E9247C-814E-392B-A027-DBDE6748FCBF", ROUTE_NONE, 0},
	{"/symstore", ROUTE_NONE, 0},
	{"/.symfs/config", ROUTE_NONE, 0},
	{"/desktop.ini", ROUTE_NONE, 0},
	{"/buildid/" ID "/source/../../etc/passwd", ROUTE_NONE, 0},
	{"/buildid/" ID "/source/%2e%2e/%2e%2e/etc/passwd", ROUTE_NONE, 0},
	{"/buildid/" ID "/source/a/../../etc/passwd", ROUTE_NONE, 0},
	{"/buildid/" ID "/source/usr/src/a/../b.c", ROUTE_FILE, FILETYPE_SOURCE},
	{"/debuginfod/buildid/" ID "/source//usr/./src//b.c", ROUTE_FILE, FILETYPE_SOURCE},
	{"/source/" ID "/usr/src/%2e%2e/b.c", ROUTE_FILE, FILETYPE_SOURCE},
	{"/source/" ID "/usr/../../b.c", ROUTE_NONE, 0},
	{"/source/../b.c", ROUTE_NONE, 0},
	{"/symbolicate/v6", ROUTE_NONE, 0},
	{"/a%00b", ROUTE_BAD, 0},
	{"/a%0d%0ab", ROUTE_BAD, 0},
	{"/a%4", ROUTE_BAD, 0},
	{"/a%zz", ROUTE_BAD, 0},
	{"/%", ROUTE_BAD, 0},
	{"relative", ROUTE_BAD, 0},
	{"", ROUTE_BAD, 0},
};

START_TEST(test_targets)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		enum route_what got = at("GET", targets[i].target);

		ck_assert_msg(got == targets[i].what, "%s is %d", targets[i].target, got);
		if (targets[i].type)
			ck_assert_msg(route.hit.n && route.hit.files[0].type == targets[i].type, "%s",
				targets[i].target);
	}
}
END_TEST

START_TEST(test_methods)
{
	ck_assert_int_eq(at("POST", "/symbolicate/minidump?json"), ROUTE_MINIDUMP);
	ck_assert_int_eq(at("GET", "/symbolicate/minidump"), ROUTE_METHOD);
	ck_assert(route_has_flag("a=1&json", "json") && route_has_flag("json=1", "json"));
	ck_assert(!route_has_flag("json=0&a", "json") && !route_has_flag("jsonx", "json") &&
		!route_has_flag("", "json"));
	ck_assert_int_eq(at("POST", "/symbolicate/v5"), ROUTE_SYMBOLICATE);
	ck_assert_str_eq(route.api, "v5");
	ck_assert_int_eq(at("GET", "/symbolicate/v4"), ROUTE_METHOD);
	ck_assert_str_eq(route.allow, "POST");
	ck_assert_int_eq(at("OPTIONS", "/symbolicate/v4"), ROUTE_OPTIONS);
	ck_assert_int_eq(at("OPTIONS", "*"), ROUTE_OPTIONS);
	ck_assert_int_eq(at("GET", "*"), ROUTE_BAD);
	ck_assert_int_eq(at("HEAD", "/buildid/" ID "/debuginfo"), ROUTE_FILE);
	ck_assert_int_eq(at("PUT", "/buildid/" ID "/debuginfo"), ROUTE_METHOD);
	ck_assert_int_eq(at("GE", "/healthz"), ROUTE_METHOD);
	ck_assert_int_eq(at("GET,", "/healthz"), ROUTE_METHOD);
	ck_assert_int_eq(at("DELETE", "/nothing"), ROUTE_NONE);
}
END_TEST

START_TEST(test_debuginfod)
{
	at("GET", "/buildid/" ID "/debuginfo");
	ck_assert(route.debuginfod && !route.tecken);
	at("GET", "/crash.pdb/" GUID "1/crash.pdb");
	ck_assert(!route.debuginfod && route.tecken);
}
END_TEST

START_TEST(test_tecken)
{
	at("GET", "/xul.pdb/" GUID "1/xul.sym");
	ck_assert(route.tecken && !route.ignored && !route.code_id);
	at("GET", "/xul.pdb/" GUID "1/file.ptr");
	ck_assert(route.tecken && route.ignored);
	at("GET", "/xul.pdb/000000000000000000000000000000000/xul.sym");
	ck_assert(route.tecken && route.ignored);
	at("GET", "/xul.dll/5AB380779000/xul.sym?code_file=xul.dll");
	ck_assert(route.tecken && route.code_id);
	ck_assert_str_eq(route.query, "code_file=xul.dll");
	at("GET", "/a/b");
	ck_assert(!route.tecken);
	ck_assert_str_eq(route.query, "");
}
END_TEST

START_TEST(test_query)
{
	char out[8];

	ck_assert(route_query("a=1&path=x%2Fy+z&b", "path", out, sizeof(out)));
	ck_assert_str_eq(out, "x/y z");
	ck_assert(!route_query("apath=1", "path", out, sizeof(out)));
	ck_assert(!route_query("path", "path", out, sizeof(out)));
	ck_assert(!route_query("path=%", "path", out, sizeof(out)));
	ck_assert(!route_query("path=12345678", "path", out, sizeof(out)));
	ck_assert(!route_query("", "path", out, sizeof(out)));
}
END_TEST

START_TEST(test_long)
{
	static char target[3 * ROUTE_PATH_MAX];

	memset(target, 'a', sizeof(target) - 1);
	target[0] = '/';
	ck_assert_int_eq(at("GET", target), ROUTE_LONG);
	target[ROUTE_PATH_MAX] = '\0';
	ck_assert_int_eq(at("GET", target), ROUTE_NONE);
}
END_TEST

/* ---- fields ------------------------------------------------------------------------- */

static const struct {
	const char *range;
	uint64_t size;
	enum field_range what;
	uint64_t off, n;
} ranges[] = {
	{NULL, 10, RANGE_WHOLE, 0, 0},
	{"bytes=0-0", 10, RANGE_PART, 0, 1},
	{"bytes=2-5", 10, RANGE_PART, 2, 4},
	{"Bytes=2-", 10, RANGE_PART, 2, 8},
	{"bytes=2-99", 10, RANGE_PART, 2, 8},
	{"bytes=-3", 10, RANGE_PART, 7, 3},
	{"bytes=-99", 10, RANGE_PART, 0, 10},
	{"bytes=9-9 ", 10, RANGE_PART, 9, 1},
	{"bytes=10-", 10, RANGE_NEVER, 0, 0},
	{"bytes=-0", 10, RANGE_NEVER, 0, 0},
	{"bytes=0-", 0, RANGE_NEVER, 0, 0},
	{"bytes=-1", 0, RANGE_NEVER, 0, 0},
	{"bytes=5-2", 10, RANGE_WHOLE, 0, 0},
	{"bytes=0-1,3-4", 10, RANGE_WHOLE, 0, 0},
	{"bytes=-", 10, RANGE_WHOLE, 0, 0},
	{"bytes=a-b", 10, RANGE_WHOLE, 0, 0},
	{"lines=1-2", 10, RANGE_WHOLE, 0, 0},
	{"bytes=18446744073709551616-", 10, RANGE_NEVER, 0, 0},
	{"bytes=0-18446744073709551616", 10, RANGE_PART, 0, 10},
	{"bytes=0-18446744073709551615", 10, RANGE_PART, 0, 10},
	{"bytes=1--2", 10, RANGE_WHOLE, 0, 0},
};

START_TEST(test_ranges)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		uint64_t off = 0, n = 0;
		enum field_range got = field_range(ranges[i].range, ranges[i].size, &off, &n);

		ck_assert_msg(got == ranges[i].what, "%s is %d", ranges[i].range, got);
		if (got == RANGE_PART)
			ck_assert_msg(off == ranges[i].off && n == ranges[i].n, "%s", ranges[i].range);
	}
}
END_TEST

START_TEST(test_validators)
{
	char date[DATE_TEXT];

	ck_assert(field_has_tag("\"a\"", "\"a\"", true));
	ck_assert(field_has_tag("\"b\", W/\"a\" ", "\"a\"", true));
	ck_assert(field_has_tag("*", "\"a\"", true));
	ck_assert(field_has_tag("* ", "\"a\"", true));
	ck_assert(!field_has_tag("*x", "\"a\"", true));
	ck_assert(!field_has_tag("\"x\", *", "\"a\"", true));
	ck_assert(!field_has_tag("\"ab\"", "\"a\"", true));
	ck_assert(!field_has_tag("\"a\"b", "\"a\"", true));
	ck_assert(!field_has_tag("", "\"a\"", true));
	date_print(784111777, date);
	ck_assert_str_eq(date, "Sun, 06 Nov 1994 08:49:37 GMT");
	ck_assert_int_eq(date_read(date), 784111777);
	ck_assert_int_eq(date_read("Mon, 06 Nov 1994 08:49:37 GMT"), -1);
	ck_assert_int_eq(date_read("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
	ck_assert_int_eq(date_read("Sunday, 06-Nov-33 08:49:37 GMT"), 2014879777);
	ck_assert_int_eq(date_read("Sun Nov  6 08:49:37 1994"), 784111777);
	ck_assert_int_eq(date_read("Sun Nov 06 08:49:37 1994"), -1);
	ck_assert_int_eq(date_read("Monday, 06-Nov-94 08:49:37 GMT"), -1);
	ck_assert_int_eq(date_read("Sun, 06 Nov 1994 08:49:37 CET"), -1);
	ck_assert_int_eq(date_read("Sun, 31 Feb 2094 08:49:37 GMT"), -1);
	ck_assert_int_eq(date_read("Sun, 06 Nov 1994 08:49:37 GMT "), 784111777);
	ck_assert_int_eq(date_read("Sun, 06 Nov 1994 08:49:37 GMT x"), -1);
	ck_assert_int_eq(date_read(NULL), -1);
	ck_assert_int_eq(date_read("Sun, 06 ovD 1994 08:49:37 GMT"), -1);
	ck_assert(field_if_range(NULL, "\"a\"", 784111777));
	ck_assert(field_if_range("\"a\"", "\"a\"", 784111777));
	ck_assert(field_if_range(date, "\"a\"", 784111777));
	ck_assert(field_if_range("Sun Nov  6 08:49:37 1994", "\"a\"", 784111777));
	ck_assert(!field_if_range(date, "\"a\"", 784111778));
	ck_assert(!field_if_range(date, "\"a\"", -1));
	ck_assert(!field_if_range("", "\"a\"", -1));
	ck_assert(!field_if_range("W/\"a\"", "\"a\"", 784111777));
}
END_TEST

START_TEST(test_codings)
{
	static const char *const yes[] = {"gzip", "deflate, gzip, br", "GZIP;q=0.5", "x-gzip", "br;q=1.0, *;q=0.1",
		"identity;q=0,gzip ; q=1", "gzip;q=0.001", "gzip;", "gzip;q=", "*;q=0, gzip"};
	static const char *const no[] = {"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000", "gzip;Q=0",
		"*, gzip;q=0.0", "*;q=0", "gzipped", "xgzip", ", ,"};

	for (unsigned i = 0; i < ARRAY_SIZE(yes); i++)
		ck_assert_msg(field_accepts_gzip(yes[i]), "%s", yes[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(no); i++)
		ck_assert_msg(!field_accepts_gzip(no[i]), "%s", no[i]);
	ck_assert(!field_accepts_gzip(NULL));
}
END_TEST

/* Whether Authorization gives this token. */
static bool gives(const char *value, const char *token)
{
	char out[64];

	return field_secret(value, out, sizeof(out)) && strcmp(out, token) == 0;
}

START_TEST(test_tokens)
{
	char out[9];

	ck_assert(gives("Bearer sesame123", "sesame123"));
	ck_assert(gives("bearer  sesame123", "sesame123"));
	ck_assert(gives("Basic eDpzZXNhbWUxMjM=", "sesame123")); /* x:sesame123 */
	ck_assert(!gives("Basic c2VzYW1lMTIz", "sesame123"));
	ck_assert(!gives("Basic ====", "sesame123"));
	ck_assert(!gives("Basic eDoA", "")); /* x: and a NUL */
	ck_assert(!gives("Bearer ", ""));
	ck_assert(!gives("Digest sesame123", "sesame123"));
	ck_assert(!field_secret("Bearer sesame123", out, sizeof(out)));
	ck_assert(field_secret("Bearer sesame12", out, sizeof(out)));
}
END_TEST

START_TEST(test_via)
{
	bool ours;

	ck_assert_uint_eq(field_via(NULL, "ab", &ours), 0);
	ck_assert(!ours);
	ck_assert_uint_eq(field_via("1.1 nginx, 1.1 symfs/cd, 1.1 symfs/ab", "ab", &ours), 2);
	ck_assert(ours);
	ck_assert_uint_eq(field_via("1.1 symfs/abc", "ab", &ours), 1);
	ck_assert(!ours);
}
END_TEST

START_TEST(test_hosts)
{
	static const struct {
		const char *value, *host; /* NULL: of another form */
	} rows[] = {
		{"localhost", "localhost"}, {"localhost:8737", "localhost"}, {"Symbols.Example.", "Symbols.Example"},
		{"127.0.0.1:1", "127.0.0.1"}, {"[::1]", "::1"}, {"[::1]:80", "::1"}, {"", ""}, {":80", ""},
		{"a:", "a"}, {"[::ffff:127.0.0.1]", "::ffff:127.0.0.1"}, {"::1", NULL}, {"[::1", NULL},
		{"[::1]80", NULL}, {"a b", NULL}, {"a\tb", NULL}, {"a:8x", NULL}, {"user@a", NULL}, {"a/b", NULL},
		{"a,b", NULL}, {"[a]b", NULL}, {"a:80:80", NULL}, {"[g]", NULL},
	};
	char host[FIELD_HOST], longest[FIELD_HOST + 2];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool got = field_host(rows[i].value, strlen(rows[i].value), host);

		ck_assert_msg(got == (rows[i].host != NULL), "%s", rows[i].value);
		if (got)
			ck_assert_str_eq(host, rows[i].host);
	}
	ck_assert(field_host("a.b/c", 3, host));
	ck_assert_str_eq(host, "a.b");
	memset(longest, 'a', sizeof(longest));
	ck_assert(field_host(longest, FIELD_HOST - 1, host));
	ck_assert(!field_host(longest, FIELD_HOST, host));
}
END_TEST

/* Stands in for libmicrohttpd's function, of which newer versions overwrite the answer in the next call. */
static struct sockaddr_in client = {.sin_family = AF_INET};
const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *c,
	enum MHD_ConnectionInfoType what, ...)
{
	static union MHD_ConnectionInfo answer;

	(void)c;
	memset(&answer, 0, sizeof(answer));
	if (what == MHD_CONNECTION_INFO_CONNECTION_FD)
		answer.connect_fd = 1234;
	else if (what == MHD_CONNECTION_INFO_CLIENT_ADDRESS)
		answer.client_addr = (struct sockaddr *)(void *)&client;
	else
		return NULL;
	return &answer;
}

START_TEST(test_connection)
{
	struct http h = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = -1, .most = 10};
	struct loop l = {.http = &h};
	void *socket_context = NULL;
	struct conn *c;

	client.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	conn_event(&l, NULL, &socket_context, MHD_CONNECTION_NOTIFY_STARTED);
	c = socket_context;
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(c->fd, 1234);
	ck_assert_str_eq(c->peer, "127.0.0.1");
	conn_event(&l, NULL, &socket_context, MHD_CONNECTION_NOTIFY_CLOSED);
	ck_assert_ptr_null(socket_context);
}
END_TEST

START_TEST(test_bodies)
{
	struct http h = {.body_most = 100, .bodies_most = 10};
	struct exchange x = {.h = &h, .body = BUF_UP_TO(100), .route = &route};

	at("POST", "/symbolicate/v5");
	ck_assert(exchange_take_body(&x, "123456", 6));
	ck_assert_uint_eq(atomic_load(&h.bodies), 6);
	ck_assert_int_eq(x.refuse, 0);
	ck_assert(exchange_take_body(&x, "123456", 6));
	ck_assert_int_eq(x.refuse, 503);
	ck_assert_uint_eq(atomic_load(&h.bodies), 0);
}
END_TEST

UNIT_MAIN("http", test_decode, test_targets, test_methods, test_debuginfod, test_tecken, test_query, test_long,
	test_ranges, test_validators, test_codings, test_tokens, test_via, test_hosts,
	test_connection, test_bodies, test_pasted, test_pasted_path)
