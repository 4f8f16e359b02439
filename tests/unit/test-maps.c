/* Tests formats/obj/uuidmap.c, bcsymbolmap.c and perfmap.c: valid maps, and text that only looks like one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"
#include "worths.h"

#define UUID "2d10c42f591d3265b14778ba0868073f"
#define PLIST "<?xml version=\"1.0\"?><!DOCTYPE plist>\n<plist version=\"1.0\"><dict>\n"
#define MAP PLIST "<key>DBGOriginalUUID</key>\n  <string>C8374B6D-6E96-34D8-AE38-EFAA5FEC424F</string>" \
	"</dict></plist>"

static int identify(const char *text, struct obj_slice *s)
{
	struct err e;

	return object_identify(text, strlen(text), 0, s, &e);
}

static int check(const char *text, enum filetype t, const char *id, struct err *e)
{
	struct obj_slice s;

	return object_check(text, strlen(text), t, id, &s, e);
}

START_TEST(uuidmap)
{
	static const char *const none[] = {PLIST "</dict></plist>",
		PLIST "<key>DBGOriginalUUID</key></dict>", PLIST "<key>DBGOriginalUUID</key><string>",
		PLIST "<key>DBGOriginalUUID</key><string>C8374B6D</string>",
		"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "<?xml", "<plist>"};
	struct obj_slice s;
	struct err e;

	ck_assert_int_eq(identify(MAP, &s), 0);
	ck_assert_str_eq(s.format, "uuidmap");
	ck_assert_int_eq(identify("\xef\xbb\xbf" MAP, &s), 0);
	/* The file name has the identity of a map; the bytes only show that a file is not a map. */
	ck_assert_int_eq(check(MAP, FILETYPE_UUIDMAP, UUID, &e), 0);
	ck_assert_int_eq(check(MAP, FILETYPE_BCSYMBOLMAP, UUID, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is uuidmap, not bcsymbolmap");
	ck_assert_int_eq(check(MAP, FILETYPE_MACH_DEBUG, UUID, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is uuidmap, not mach_debug");
	for (unsigned i = 0; i < ARRAY_SIZE(none); i++) {
		ck_assert_int_eq(identify(none[i], &s), -ENOMSG);
		ck_assert_int_eq(check(none[i], FILETYPE_UUIDMAP, UUID, &e), -EBADMSG);
		ck_assert_int_eq(check(none[i], FILETYPE_MACH_DEBUG, UUID, &e), -EBADMSG);
	}
	ck_assert_int_eq(check(none[4], FILETYPE_UUIDMAP, UUID, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is an XML document");
	ck_assert_int_eq(check("<html>", FILETYPE_UUIDMAP, UUID, &e), -EBADMSG);
	ck_assert(obj_may_be(FILETYPE_UUIDMAP, MAP, 64));
	ck_assert(!obj_may_be(FILETYPE_UUIDMAP, "<html>", 6));
}
END_TEST

/* Larger than any map is: not even looked through. */
START_TEST(uuidmap_large)
{
	size_t n = (64u << 10) + 1;
	_cleanup_free_ char *p = malloc(n + 1);
	struct obj_slice s;
	struct err e;

	memset(p, ' ', n);
	memcpy(p, MAP, strlen(MAP));
	ck_assert_int_eq(object_identify(p, n - 1, 0, &s, &e), 0);
	ck_assert_int_eq(object_identify(p, n, 0, &s, &e), -ENOMSG);
	ck_assert_int_eq(object_part(p, n, VIEW_UNKNOWN, NULL, 0, &s, &e), -ENOMSG);
}
END_TEST

START_TEST(bcsymbolmap)
{
	struct obj_slice s;
	struct err e;

	ck_assert_int_eq(identify("BCSymbolMap Version: 2.0\n-[A b]\n", &s), 0);
	ck_assert_str_eq(s.format, "bcsymbolmap");
	ck_assert_int_eq(check("BCSymbolMap Version: 2.0\n", FILETYPE_BCSYMBOLMAP, UUID, &e), 0);
	ck_assert_int_eq(identify("BCSymbolMap Version: 2.0", &s), -EBADMSG);
	ck_assert_int_eq(identify("BCSymbolMap", &s), -ENOMSG);
	ck_assert_int_eq(check("BCSymbolMap", FILETYPE_BCSYMBOLMAP, UUID, &e), -EBADMSG);
	ck_assert_int_eq(check("BCSymbolMap Version: 2.0\n", FILETYPE_UUIDMAP, UUID, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is bcsymbolmap, not uuidmap");
}
END_TEST

#define SIGNATURE "28abf60879eb36ba0a52ef7047051f3c"
#define PERFMAP "FFFFFFFF 00 " SIGNATURE "\nFFFFFFFE 00 1\nFFFFFFFD 00 2\nFFFFFFFC 00 3\nFFFFFFFB 00 1\n"

START_TEST(perfmap)
{
	static const char *const bad[] = {"FFFFFFFF 00 \n", "FFFFFFFF 00 zz\nFFFFFFFE 00 1\n",
		"FFFFFFFF 00 " SIGNATURE "\n", "FFFFFFFF 00 " SIGNATURE "\nFFFFFFFE 00 x\n",
		"FFFFFFFF 00 " SIGNATURE "\nFFFFFFFE 00 99999999999\n", "FFFFFFFF 00 28abf608\nFFFFFFFE 00 1\n"};
	struct obj_slice s;
	struct err e;

	ck_assert_int_eq(identify(PERFMAP "00001000 20 System.Void A::B()\n", &s), 0);
	ck_assert_str_eq(s.format, "perfmap");
	ck_assert_str_eq(s.arch, "x86_64");
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_worth(s, "symbols=full");
	object_debug_id(&s, "28abf608-79eb-36ba-0a52-ef7047051f3c-1");
	ck_assert_int_eq(identify(PERFMAP, &s), 0);
	ck_assert_worth(s, "none");
	ck_assert_int_eq(identify("FFFFFFFF 00 28abf608-79eb-36ba-0a52-ef7047051f3c\r\nFFFFFFFE 00 1\r\n"
		"FFFFFFFC 00 99\r\n", &s), 0);
	ck_assert_str_eq(s.arch, "unknown");
	object_debug_id(&s, "28abf608-79eb-36ba-0a52-ef7047051f3c-1");
	ck_assert_int_eq(check(PERFMAP, FILETYPE_PERFMAP, SIGNATURE "1", &e), 1);
	ck_assert_int_eq(check(PERFMAP, FILETYPE_PERFMAP, SIGNATURE "2", &e), -EBADMSG);
	ck_assert_int_eq(check("7f00 20 main\n", FILETYPE_PERFMAP, SIGNATURE "1", &e), -EBADMSG);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(identify(bad[i], &s), -EBADMSG);
}
END_TEST

START_TEST(prefixes_agree)
{
	static const char *const texts[] = {MAP, "BCSymbolMap Version: 2.0\n-[A b]\n",
		(PERFMAP "1000 20 A\n"), PERFMAP, ("FFFFFFFF 00 " SIGNATURE), "<?xml?><Error/>"};
	static const enum filetype types[] = {FILETYPE_UUIDMAP, FILETYPE_BCSYMBOLMAP, FILETYPE_PERFMAP,
		FILETYPE_MACH_DEBUG};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		object_prefixes_agree((const uint8_t *)texts[i], strlen(texts[i]), NULL, 0);
		for (unsigned t = 0; t < ARRAY_SIZE(types); t++) {
			struct key k = {.type = types[t], .id = SIGNATURE};

			object_prefixes_agree((const uint8_t *)texts[i], strlen(texts[i]), &k, 0);
		}
	}
}
END_TEST

UNIT_MAIN("maps", uuidmap, uuidmap_large, bcsymbolmap, perfmap, prefixes_agree)
