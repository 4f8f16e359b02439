/* Tests the parts of uploads that do no I/O: their routes, Tecken's rules and answers, and the requests of
 * Breakpad's sym_upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/tokens.h"
#include "http/route.h"
#include "intake/upload/sym-upload.h"
#include "intake/upload/tecken.h"
#include "names/id/key.h"
#include "zips.h"

#include <stdio.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"
#define GUID "3249D99D0C4049318610F4E4FB0B6936"
#define KEY "00112233445566778899aabbccddeeff"

static struct route route;

static enum route_what at(const char *method, const char *target)
{
	route_find(method, target, &route);
	route_upload(method, &route);
	return route.what;
}

/* ---- routes ------------------------------------------------------------------------- */

static const struct {
	const char *method, *target;
	enum route_what what;
	unsigned needs;
} targets[] = {
	{"PUT", "/buildid/" ID "/debuginfo", ROUTE_PUT, AUTH_TRY},
	{"PUT", "/debuginfod/buildid/" ID "/executable", ROUTE_PUT, AUTH_TRY},
	{"PUT", "/gdb/.build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug", ROUTE_PUT, AUTH_TRY},
	{"PUT", "/crash.pdb/" GUID "1/crash.sym", ROUTE_PUT, AUTH_TRY},
	{"PUT", "/try/crash.pdb/" GUID "1/crash.sym?class=try", ROUTE_PUT, AUTH_TRY},
	{"DELETE", "/symstore/crash.pdb/" GUID "1/crash.pdb", ROUTE_DELETE, AUTH_PURGE},
	{"GET", "/crash.pdb/" GUID "1/crash.pdb", ROUTE_FILE, 0},
	{"POST", "/crash.pdb/" GUID "1/crash.pdb", ROUTE_METHOD, 0},
	{"put", "/crash.pdb/" GUID "1/crash.pdb", ROUTE_METHOD, 0},
	{"PUT", "/", ROUTE_METHOD, 0},
	{"PUT", "/healthz", ROUTE_METHOD, 0},
	{"PUT", "/symbolicate/v5", ROUTE_METHOD, 0},
	{"PUT", "/gsym/buildid/" ID "/debuginfo.gsym", ROUTE_METHOD, 0},
	{"PUT", "/unified/df/b85de42daffd09640c8fe377d572de3e168920/debuginfo.meta", ROUTE_METHOD, 0},
	{"PUT", "/pingme.txt", ROUTE_METHOD, 0},
	{"PUT", "/.symfs/config", ROUTE_NONE, 0},
	{"PUT", "/nothing", ROUTE_NONE, 0},
	{"PUT", "/buildid/" ID "/source/../../etc/passwd", ROUTE_NONE, 0},
	{"PUT", "/a%00b", ROUTE_BAD, 0},
	{"POST", "/upload/", ROUTE_TECKEN, AUTH_TRY},
	{"POST", "/upload", ROUTE_TECKEN, AUTH_TRY},
	{"POST", "/upload/auth_info/", ROUTE_TECKEN_AUTH, AUTH_TRY},
	{"POST", "/upload/v2/", ROUTE_TECKEN_BEGIN, AUTH_TRY},
	{"GET", "/upload/v2/", ROUTE_METHOD, 0},
	{"GET", "/upload/", ROUTE_METHOD, 0},
	{"OPTIONS", "/upload/", ROUTE_OPTIONS, 0},
	{"POST", "/upload/symbol_file?key=x", ROUTE_SYM_FORM, AUTH_TRY},
	{"GET", "/v1/symbols/a%20b.pdb/" GUID "1:checkStatus?key=x", ROUTE_SYM_CHECK, AUTH_TRY},
	{"POST", "/v1/uploads:create?key=x", ROUTE_SYM_CREATE, AUTH_TRY},
	{"PUT", "/v1/uploads/" KEY, ROUTE_SYM_BYTES, AUTH_TRY},
	{"POST", "/v1/uploads/" KEY ":complete", ROUTE_SYM_COMPLETE, AUTH_TRY},
	{"GET", "/v1/uploads/" KEY ":complete", ROUTE_METHOD, 0},
	{"POST", "/v1/uploads/" KEY, ROUTE_METHOD, 0},
	{"PUT", "/v1/uploads/" KEY "0", ROUTE_METHOD, 0},
	{"PUT", "/v1/uploads/", ROUTE_NONE, 0},
	{"PUT", "/v1/uploads/..", ROUTE_METHOD, 0},
};

START_TEST(test_routes)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		enum route_what got = at(targets[i].method, targets[i].target);

		ck_assert_msg(got == targets[i].what, "%s %s is %d", targets[i].method, targets[i].target, got);
		ck_assert_msg(route.needs == targets[i].needs, "%s needs %u", targets[i].target, route.needs);
		ck_assert(route_is_upload(&route) == (got >= ROUTE_PUT));
	}
	at("GET", "/buildid/" ID "/debuginfo");
	ck_assert_str_eq(route.allow, "GET, HEAD, PUT, DELETE");
	at("GET", "/healthz");
	ck_assert_str_eq(route.allow, "GET, HEAD");
	ck_assert(at("POST", "/upload/?key=x") == ROUTE_TECKEN && !route.key);
	ck_assert(at("POST", "/v1/uploads:create") == ROUTE_SYM_CREATE && route.key);
}
END_TEST

/* ---- Tecken ------------------------------------------------------------------------- */

static struct image image;
static struct err e;

static int judge(const char *file_name)
{
	struct view v = view_of_mem(image.p, image.n);

	memset(&e, 0, sizeof(e));
	return tecken_judge(&v, file_name, &e);
}

static void zip_of(const char *one, const char *two)
{
	memset(&image, 0, sizeof(image));
	if (one)
		member(&image, one, "text", 8, false);
	if (two)
		member(&image, two, "longer text", 0, false);
	end_with(&image, false, "");
}

#define UNRECOGNIZED                                                                                          \
	"Unrecognized file pattern. Should only be <module>/<hex>/<file> or <name>-symbols.txt and nothing else. " \
	"(First unrecognized pattern was '"

static const struct {
	const char *name, *text; /* NULL: accepted */
} names[] = {
	{"xul.pdb/" GUID "1/xul.sym", NULL},
	{"xul.pdb/0/xul.sym", NULL},
	{"xul-symbols.txt", NULL},
	{"XUL-Symbols.TXT", NULL},
	{".DS_Store", NULL},
	{"a/b/c/.DS_Store", NULL},
	{"xul.sym", UNRECOGNIZED "xul.sym')"},
	{"a/xul-symbols.txt", UNRECOGNIZED "a/xul-symbols.txt')"},
	{"a/nohex/xul.sym", UNRECOGNIZED "a/nohex/xul.sym')"},
	{"a/0/b/xul.sym", UNRECOGNIZED "a/0/b/xul.sym')"},
	{"../0/../xul.sym", UNRECOGNIZED "../0/../xul.sym')"},
	{"../0/xul.sym", UNRECOGNIZED "../0/xul.sym')"},
	{"xul.pdb/0/..", UNRECOGNIZED "xul.pdb/0/..')"},
	{"xul.pdb/0/", NULL}, /* a directory */
	{"/0/xul.sym", UNRECOGNIZED "/0/xul.sym')"},
	{"a//xul.sym", UNRECOGNIZED "a//xul.sym')"},
	{"a b/0/xul.sym", NULL},
	{"a|b/0/xul.sym", "Invalid character in filename 'a|b/0/xul.sym'"},
	{"a/0/x\xc3\xbcl.sym", "Invalid character in filename 'a/0/x\xc3\xbcl.sym'"},
	{"a/0/x\nl.sym", "Invalid character in filename 'a/0/x\nl.sym'"},
};

START_TEST(test_members)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int r;

		zip_of("good.pdb/0/good.sym", names[i].name);
		r = judge("symbols.zip");
		ck_assert_msg(r == (names[i].text ? -EINVAL : 0), "%s: %d %s", names[i].name, r, e.text);
		if (names[i].text)
			ck_assert_str_eq(e.text, names[i].text);
	}
}
END_TEST

START_TEST(test_archives)
{
	zip_of("a/0/a.sym", NULL);
	ck_assert_int_eq(judge("S.ZIP"), 0);
	ck_assert_int_eq(judge("dir.zip/x.tar"), -EINVAL);
	ck_assert_str_eq(e.text, "Unrecognized archive file extension \".tar\"");
	ck_assert_int_eq(judge("zip"), -EINVAL);
	ck_assert_str_eq(e.text, "Unrecognized archive file extension \"\"");
	zip_of("a/0/a.sym", "a/0/a.sym");
	ck_assert_int_eq(judge("s.zip"), -EINVAL);
	ck_assert_str_eq(e.text, "The zipfile buffer contains two files both called a/0/a.sym and they have "
		"difference "
				 "sizes (11 != 4)");
	memset(&image, 'x', sizeof(image.p));
	image.n = 1000;
	ck_assert_int_eq(judge("s.zip"), -EINVAL);
	ck_assert_str_eq(e.text, "File is not a zip file");
	image.n = 0;
	ck_assert_int_eq(judge("s.zip"), -EINVAL);
}
END_TEST

START_TEST(test_answer)
{
	struct buf skipped = BUF_UP_TO(100), refused = BUF_UP_TO(100), out = BUF_UP_TO(4096);
	struct tecken_upload u = {.id = 7, .size = 1ull << 40, .file_name = "a\"b.zip", .bucket = "public",
		.user = "ci", .try = true, .began = 0, .ended = 86399, .skipped = &skipped, .refused = &refused};

	buf_add(&skipped, "a/1/a.sym\0b/2/b.sym", 20);
	buf_add(&refused, "c/3/c.sym\0is \"empty\"", 21);
	ck_assert_int_eq(tecken_answer(&u, &out), 0);
	ck_assert_str_eq(buf_text(&out),
		"{\"upload\": {\"id\": 7, \"size\": 1099511627776, \"filename\": \"a\\\"b.zip\", \"bucket\": "
		"\"public\", "
		"\"download_url\": null, \"try_symbols\": true, \"redirect_urls\": [], "
		"\"completed_at\": \"1970-01-01T23:59:59Z\", \"created_at\": \"1970-01-01T00:00:00Z\", \"user\": "
		"\"ci\", "
		"\"skipped_keys\": [\"a/1/a.sym\", \"b/2/b.sym\"], "
		"\"refused_keys\": [{\"key\": \"c/3/c.sym\", \"error\": \"is \\\"empty\\\"\"}]}}");
	buf_release(&skipped);
	buf_release(&refused);
	buf_release(&out);
}
END_TEST

#define MD5 "d41d8cd98f00b204e9800998ecf8427e"
#define ONE(key, size, md5) "{\"files\": [{\"key\": " key ", \"size\": " size ", \"md5_hash\": " md5 "}]}"

static const struct {
	const char *body;
	int r;
	const char *error; /* of the first file; NULL: none */
} asked[] = {
	{ONE("\"a/0/a.sym\"", "5", "\"" MD5 "\""), 0, NULL},
	{ONE("\"a/0/a.sym\"", "18446744073709551615", "\"" MD5 "\""), 0, NULL},
	{ONE("\"a/0/xul-symbols.txt\"", "5", "\"" MD5 "\""), 0, NULL},
	{ONE("\"xul-symbols.txt\"", "5", "\"" MD5 "\""), 0, "invalid key"},
	{ONE("\"a/g/a.sym\"", "5", "\"" MD5 "\""), 0, "invalid key"},
	{ONE("\"a/0/\\u0010\"", "5", "\"" MD5 "\""), 0, "invalid key"},
	{ONE("\"a/0/a\"", "5", "\"\""), 0, "invalid MD5 hex digest"},
	{ONE("\"a/0/a\"", "5", "\"D" MD5 "\""), 0, "invalid MD5 hex digest"},
	{ONE("\"a/0/a\"", "5", "\"D41D8CD98F00B204E9800998ECF8427E\""), 0, "invalid MD5 hex digest"},
	{ONE("\"a/0/\\u0000\"", "5", "\"" MD5 "\""), -EBADMSG, NULL},
	{ONE("\"a/0/a\"", "18446744073709551616", "\"" MD5 "\""), -EBADMSG, NULL},
	{ONE("\"a/0/a\"", "5.0", "\"" MD5 "\""), -EBADMSG, NULL},
	{ONE("\"a/0/a\"", "\"5\"", "\"" MD5 "\""), -EBADMSG, NULL},
	{ONE("\"a/0/a\"", "5", "5"), -EBADMSG, NULL},
	{ONE("null", "5", "\"" MD5 "\""), -EBADMSG, NULL},
	{"{\"files\": {}}", -EBADMSG, NULL},
	{"", -EBADMSG, NULL},
};

START_TEST(test_files)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct span body = {(const uint8_t *)asked[i].body, strlen(asked[i].body)};
		struct tecken_file *files = NULL;
		unsigned n = 0;
		int r = tecken_files_read(body, &files, &n);

		ck_assert_msg(r == asked[i].r, "%s: %d", asked[i].body, r);
		if (r == 0)
			ck_assert_pstr_eq(files[n - 1].error, asked[i].error);
		free(files);
	}
}
END_TEST

START_TEST(test_begin)
{
	struct tecken_upload u = {.id = 7, .user = "ci", .try = true, .began = 60};
	struct tecken_file f[] = {{.name = "a/0/a.sym", .packed = true, .upload = KEY},
		{.name = "a/0/a.dll", .upload = KEY}, {.name = "b/1/b", .here = true},
		{.name = "\x10\"", .error = "invalid key"}};
	struct buf out = BUF_UP_TO(4096);

	ck_assert_int_eq(tecken_begin_answer(&u, f, ARRAY_SIZE(f), "http://h:1", "class=try", &out), 0);
	ck_assert_str_eq(buf_text(&out),
		"{\"id\": 7, \"created_at\": 60, \"try_symbols\": true, \"user\": \"ci\", "
		"\"upload_protocol\": \"gcs-resumable\", \"files\": ["
		"{\"action\": {\"type\": \"upload\", \"url\": \"http://h:1/v1/uploads/" KEY "?class=try\", "
		"\"content_encoding\": \"gzip\"}, \"key\": \"a/0/a.sym\"}, "
		"{\"action\": {\"type\": \"upload\", \"url\": \"http://h:1/v1/uploads/" KEY "?class=try\"}, "
		"\"key\": \"a/0/a.dll\"}, "
		"{\"action\": {\"type\": \"skip\"}, \"key\": \"b/1/b\"}, "
		"{\"action\": {\"type\": \"error\", \"msg\": \"invalid key\"}, "
		"\"key\": \"\\u0010\\\"\"}]}");
	buf_clear(&out);
	ck_assert_int_eq(tecken_auth_answer("ci", false, 0, &out), 0);
	ck_assert_str_eq(buf_text(&out), "{\"token_expires_at\": 253402300799, \"try_symbols\": false, "
		"\"upload_api_version\": 2, \"email\": \"ci\"}");
	buf_clear(&out);
	ck_assert_int_eq(tecken_object_answer("public", &f[0], 3, (const uint8_t *)"0123456789abcdef", &out), 0);
	ck_assert_str_eq(buf_text(&out), "{\"kind\": \"storage#object\", \"size\": \"3\", \"md5Hash\": "
		"\"MDEyMzQ1Njc4OWFiY2RlZg==\", \"bucket\": \"public\", \"name\": \"a/0/a.sym\"}");
	buf_release(&out);
}
END_TEST

/* ---- sym_upload --------------------------------------------------------------------- */

START_TEST(test_paths)
{
	struct sym_upload_path p;

	ck_assert(sym_upload_parse("v1/symbols/a b.pdb/" GUID "1:checkStatus", &p) && p.step == SYM_UPLOAD_CHECK);
	ck_assert_str_eq(p.debug_file, "a b.pdb");
	ck_assert_str_eq(p.debug_id, GUID "1");
	ck_assert(sym_upload_parse("v1/uploads/" KEY ":complete", &p) && p.step == SYM_UPLOAD_COMPLETE);
	ck_assert_str_eq(p.key, KEY);
	ck_assert(!sym_upload_parse("v1/symbols/a/b/c:checkStatus", &p));
	ck_assert(!sym_upload_parse("v1/symbols/a/b:checkStatus/", &p));
	ck_assert(!sym_upload_parse("v1/symbols//b:checkStatus", &p));
	ck_assert(!sym_upload_parse("v1/uploads/" KEY ":complete:complete", &p));
	ck_assert(!sym_upload_parse("v1/uploads:creates", &p));
	ck_assert(!sym_upload_parse("v1/uploads/G0112233445566778899aabbccddeeff", &p));
	ck_assert(!sym_upload_parse("v1/uploads/00112233445566778899AABBCCDDEEFF", &p));
}
END_TEST

static const struct {
	const char *body; /* NULL file: refused */
	const char *file, *id, *type;
} claims[] = {
	/* Linux, Windows, macOS */
	{"{ symbol_id: {debug_file: \"a.pdb\", debug_id: \"" GUID "1\" }, symbol_upload_type: \"BREAKPAD\" }",
		"a.pdb",
		GUID "1", "BREAKPAD"},
	{"{ symbol_id: {debug_file: \"a.pdb\", debug_id: \"" GUID "1\" }, metadata: {product_name: \"x\"},"
	 "symbol_upload_type: \"PE\", use_async_processing: true }", "a.pdb", GUID "1", "PE"},
	{"{\n  \"symbol_id\" : {\n    \"debug_file\" : \"dir\\/a.pdb\",\n    \"debug_id\" : \"" GUID "1\"\n  },\n  "
	 "\"symbol_upload_type\" : \"MACHO\", \"use_async_processing\" : \"true\"\n}", "dir/a.pdb", GUID "1",
	 "MACHO"},
	{"debug_file:\"a\" debug_id:\"1\"", "a", "1", ""},
	{"{debug_file: \"a\"}", NULL, NULL, NULL},
	{"{debug_id: \"a\"}", NULL, NULL, NULL},
	{"{debug_file: \"a, debug_id: ", NULL, NULL, NULL},
	{"{debug_file: \"\", debug_id: \"1\"}", NULL, NULL, NULL},
	{"{debug_file: \"a\nb\", debug_id: \"1\"}", NULL, NULL, NULL},
	{"", NULL, NULL, NULL},
	{"debug_filedebug_file\"", NULL, NULL, NULL},
};

START_TEST(test_claims)
{
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct sym_upload_claim c;
		int r = sym_upload_read_claim(claims[i].body, strlen(claims[i].body), &c);

		ck_assert_msg(r == (claims[i].file ? 0 : -EINVAL), "%s: %d", claims[i].body, r);
		if (!claims[i].file)
			continue;
		ck_assert_str_eq(c.debug_file, claims[i].file);
		ck_assert_str_eq(c.debug_id, claims[i].id);
		ck_assert_str_eq(c.type, claims[i].type);
	}
}
END_TEST

START_TEST(test_artifacts)
{
	static const char *const types[] = {"BREAKPAD", "", "ELF", "DEBUG_ONLY", "PE", "PDB", "MACHO", "DSYM", "elf"};
	struct artifact a[SYM_UPLOAD_CLAIMS_MOST];
	struct sym_upload_claim c = {"a.pdb", GUID "0", ""};
	struct key k;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		unsigned n;

		snprintf(c.type, sizeof(c.type), "%s", types[i]);
		n = sym_upload_artifacts(&c, a);
		ck_assert_msg(n > 0, "%s", types[i]);
		while (n)
			ck_assert_msg(key_of(&k, &a[--n]) == 0, "%s", types[i]);
	}
	snprintf(c.type, sizeof(c.type), "SOURCE_MAP");
	ck_assert_uint_eq(sym_upload_artifacts(&c, a), 0);
	snprintf(c.type, sizeof(c.type), "ELF");
	snprintf(c.debug_id, sizeof(c.debug_id), "nonsense");
	ck_assert_uint_eq(sym_upload_artifacts(&c, a), 0);
}
END_TEST

/* The programs search the answers with regular expressions, such as "uploadUrl": "([^"]+)". */
START_TEST(test_replies)
{
	struct buf out = BUF_UP_TO(1000);

	ck_assert_int_eq(sym_upload_created(&out, "http://h:1/v1/uploads/" KEY, KEY), 0);
	ck_assert_str_eq(buf_text(&out), "{\"uploadUrl\": "
		"\"http://h:1/v1/uploads/" KEY "\", \"uploadKey\": \"" KEY "\"}");
	buf_clear(&out);
	sym_upload_status(&out, true);
	sym_upload_status(&out, false);
	sym_upload_result(&out, true);
	sym_upload_result(&out, false);
	ck_assert_str_eq(buf_text(&out), "{\"status\": \"FOUND\"}{\"status\": \"MISSING\"}{\"result\": "
		"\"DUPLICATE_DATA\"}"
					 "{\"result\": \"OK\"}");
	buf_release(&out);
}
END_TEST

UNIT_MAIN("upload", test_routes, test_members, test_archives, test_answer, test_files, test_begin, test_paths,
	test_claims, test_artifacts, test_replies)
