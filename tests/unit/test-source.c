/* Tests source/: sources made from sections, the requests that they plan, the meaning of replies,
 * and failing hosts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "source/breaker.h"
#include "source/admin.h"
#include "source/ptr.h"
#include "source/kinds.h"
#include "source/sources.h"
#include "base/clock.h"
#include "source/s3.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"

static int sources_of(const char *text, struct sources **out, struct err *e)
{
	struct source_opts defaults = {.connect_ms = 1, .stall_ms = 2, .miss_seconds = 3, .max_file_size = 4};
	struct conf *c;
	int r;

	ck_assert_int_eq(conf_new(&c), 0);
	r = conf_read(c, "t.conf", text, strlen(text), e);
	if (r == 0)
		r = sources_new(out, c, &defaults, e);
	conf_free(c);
	return r;
}

static struct sources *sources_good(const char *text)
{
	struct sources *so;
	struct err e;

	ck_assert_msg(sources_of(text, &so, &e) == 0, "%s", e.text);
	return so;
}

static struct artifact artifact_of(enum filetype type, const char *id, const char *name)
{
	struct artifact a = {.type = type, .m.object = OBJECT_ELF};

	snprintf(a.m.code_id, sizeof(a.m.code_id), "%s", id);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "%s", name);
	snprintf(a.m.path, sizeof(a.m.path), "%s", name);
	return a;
}

START_TEST(sections)
{
	struct sources *so = sources_good("[source \"a\"]\nurl = https://u:p@Example.com/sym/\nstall-timeout = 9s\n"
					  "[source \"off\"]\nurl = http://x/\nenabled = no\n"
					  "[source \"a\"]\nurl = http://second/\n"
					  "[source \"d\"]\npath = /usr/lib/debug\nfiletypes = elf_debug, elf_code\n"
					  "[source \"f\"]\nurl = file:///srv/x\nlayout = debuginfod\n"
					  "[source \"i\"]\nurl = http://127.0.0.1:8002\nlayout = debuginfod\n");

	ck_assert_uint_eq(so->n, 4);
	ck_assert_str_eq(so->list[0]->shown, "https://Example.com/sym/");
	ck_assert_str_eq(so->list[0]->origin, "https://example.com");
	ck_assert_str_eq(so->list[0]->layout->name, "native");
	ck_assert_uint_eq(so->list[0]->o.stall_ms, 9000);
	ck_assert_uint_eq(so->list[0]->o.connect_ms, 1);
	ck_assert(so->list[1]->kind == &source_dir);
	ck_assert_str_eq(so->list[1]->layout->name, "gdb");
	ck_assert_uint_eq(so->list[1]->types, 1u << FILETYPE_ELF_CODE | 1u << FILETYPE_ELF_DEBUG);
	ck_assert(so->list[2]->kind == &source_dir);
	ck_assert_str_eq(so->list[2]->o.path, "/srv/x");
	ck_assert(so->list[3]->kind == &source_debuginfod);
	sources_keep_local(so);
	ck_assert_uint_eq(so->n, 2);
	sources_unref(so);
}
END_TEST

START_TEST(mistakes)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"[source \"a\"]\n", "t.conf:1: [source \"a\"] needs either url or path"},
		{"[source \"a\"]\nurl=http://x\npath=/y\n", "needs either url or path"},
		{"[source \"a\"]\nurl=ftp://x/\n", "expected http://HOST"},
		{"[source \"a\"]\nurl=http://x\nlayout=gbd\n", "layout = gbd: expected gdb lldb"},
		{"[source \"a\"]\nurl=http://x\ntype=dir\n", "type = dir: expected http or debuginfod"},
		{"[source \"a\"]\nurl=http://x\ncasing=upper\n", "casing = upper: expected default"},
		{"[source \"a\"]\nurl=http://x\nfiletypes=elf\n", "filetypes = elf: expected file types"},
		{"[source \"a\"]\nurl=http://x\nheader=nonsense\n", "expected Name: value"},
		{"[source \"a\"]\nurl=http://x\non-403=ignore\n", "on-403 = ignore: expected refused or miss"},
		{"[source \"a\"]\nurl=http://x\nkey=/k\n", "key = /k: expected a cert"},
		{"[source \"a\"]\nurl=http://x\nproxy=socks://u:pw@h\n", "proxy = (not shown): expected http"},
		{"[source \"a\"]\nurl=http://x\nconnections=65\n", "connections = 65: expected at most 64"},
		{"[source \"a\"]\nurl=http://x\ntier=first\n", "tier = first: expected a number"},
		{"[source \"a\"]\nurl=http://x\nkind=ftp\n", "type = ftp: expected"},
		{"[source \"a\"]\nurl=http://x\nptr-map=/srv\n", "ptr-map = /srv: expected"},
		{"[source \"a\"]\nurl=http://x\nptr-map=//b/d=srv\n", "ptr-map = //b/d=srv: expected"},
		{"[source \"a\"]\nurl=http://x\nulr=y\n", "t.conf:3: [source] has no key \"ulr\""},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sources *so;
		struct err e = {0};

		ck_assert_int_eq(sources_of(rows[i].text, &so, &e), -EINVAL);
		ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "%s: %s", rows[i].text, e.text);
	}
}
END_TEST

/* A new kind or layout is in the words that a mistyped one meets. */
START_TEST(mistakes_name_all)
{
	struct sources *so;
	struct err e = {0};

	ck_assert_int_eq(sources_of("[source \"a\"]\nurl=http://x\ntype=ftp\n", &so, &e), -EINVAL);
	for (size_t i = 0; i < SOURCE_KINDS; i++) {
		/* The team's bucket has a section of its own. */
		bool type = source_kinds[i] != &source_bucket;

		ck_assert((strstr(e.text, source_kinds[i]->name) != NULL) == type);
		ck_assert_ptr_eq(source_kind_find(source_kinds[i]->name), source_kinds[i]);
	}
	ck_assert_int_eq(sources_of("[source \"a\"]\nurl=http://x\nlayout=gbd\n", &so, &e), -EINVAL);
	for (unsigned i = 0; layout_at(i); i++)
		if (!(layout_at(i)->flags & LAYOUT_MOUNT_ONLY))
			ck_assert_ptr_nonnull(strstr(e.text, layout_at(i)->name));
}
END_TEST

START_TEST(kinds_implied)
{
	static const struct {
		const char *keys;
		const struct source_kind *kind;
		bool ranges;
	} rows[] = {
		{"url=http://x\n", &source_http, true},
		{"url=http://x\nlayout=debuginfod\n", &source_debuginfod, false},
		{"url=http://x\ntype=debuginfod\nlayout=gdb\n", &source_debuginfod, false},
		{"url=http://x\ntype=http\nlayout=debuginfod\n", &source_http, false},
		{"url=http://x\nlayout=gdb\n", &source_http, true},
		{"bucket=b\n", &source_s3, true},
		{"path=/x\n", &source_dir, true},
		{"path=/x\nlayout=scan\n", &source_scan, true},
		{"url=file:///x\n", &source_dir, true},
		/* Keys of another kind are read and not used. */
		{"url=http://x\nregion=eu\naccess-key=a\n", &source_http, true},
	};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200];
		struct sources *so;

		snprintf(text, sizeof(text), "[source \"a\"]\n%s", rows[i].keys);
		so = sources_good(text);
		ck_assert_ptr_eq(so->list[0]->kind, rows[i].kind);
		ck_assert_int_eq(source_sends_ranges(so->list[0]), rows[i].ranges);
		ck_assert_int_eq(so->list[0]->own != NULL, rows[i].kind->fields != NULL);
		sources_unref(so);
	}
	ck_assert_int_eq(sources_of("[source \"a\"]\nurl=http://x\nanonymous=maybe\n", NULL, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "anonymous = maybe: expected yes or no"));
}
END_TEST

/* Of each, no part of the password "hun?ter2" is shown, whatever stands in its middle. */
START_TEST(passwords)
{
	static const struct {
		const char *url, *shown;
		bool clear;
	} rows[] = {
		{"https://u:hunter2@h/x", "https://h/x", true},
		{"https://h/x", "https://h/x", true},
		{"https://u@h", "https://h", true},
		{"https://u:hun/ter2@h/x", "https://h/x", false},
		{"https://u:12/ter2@h/x", "https://h/x", false},
		{"https://u:hun#ter2@h/x", "https://h/x", false},
		{"https://u:hun?ter2@h/x", "https://h/x", false},
		{"https://u:hun@ter2@h/x", "https://h/x", false},
		{"https://u:hun@ter2/hunter2@h/x", "https://h/x", false},
		{"https://u:hunter2@h/a@b", "https://b", false},
		{"htp://u:hunter2@h/x", "htp://h/x", true},
		{"https://u:hunter2@h/x # a comment", "https://h/x # a comment", true},
		{"https://u:hunter2@h/x?sig=hunter2 # a comment", "https://h/x?... # a comment", true},
		{"https://u:hun", "https://...", false},
		{"https://u:hun/x?y#z", "https://.../x?...#z", false},
		{"https://h:80/x", "https://h:80/x", true},
		{"https://[::1]:80", "https://[::1]:80", true},
		{"https://[::1]/x:y", "https://[::1]/x:y", true},
		{"https://u:hun%00ter2@h/x", "https://h/x", false},
		{"https://u%1f:hunter2@h/x", "https://h/x", false},
		{"https://u:%2F%3F%23%40@h/%00", "https://h/%00", true},
		{"u:hunter2@h/x", "h/x", false},
		{"https:/u:hunter2@h/x", "h/x", false},
		{"/srv/a@b", "/srv/a@b", false},
		{"file:///srv/a@b", "file:///srv/a@b", false},
		{"./https://u:hunter2", "./https://u:hunter2", true},
		{"", "", true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf shown = BUF_UP_TO(200);

		ck_assert_int_eq(url_for_message(rows[i].url, &shown), 0);
		ck_assert_str_eq(buf_text(&shown), rows[i].shown);
		ck_assert_msg(url_is_clear(rows[i].url) == rows[i].clear, "%s", rows[i].url);
	}
}
END_TEST

START_TEST(mistaken_urls)
{
	static const char *const parts[] = {"hun", "ter2"};
	static const struct {
		const char *url, *says;
	} rows[] = {
		{"htp://u:hunter2@h/x", "url = htp://h/x: expected http://HOST"},
		{"https://u:hunter2@h/x # ours", "url = https://h/x # ours: expected http://HOST"},
		{"https://u:hunter2@h:p/", "url = https://h:p/: expected http://HOST"},
		{"https://u:hunter2", "url = https://...: expected http://HOST"},
		{"https://u:hun%0Ater2@h/", "url = https://h/: expected at most one @"},
		{"file://u:hunter2@h/", "url = file://h/: expected http://HOST"},
		{"u:hunter2@h/", "url = h/: expected http://HOST"},
		{"https://u:hun/ter2@h/", "url = https://h/: expected at most one @"},
		{"https://u:12/ter2@h/", "url = https://h/: expected at most one @"},
		{"https://u:hun#ter2@h/", "%23"},
		{"https://u:hun?ter2@h/", "%3F"},
		{"https://u:hun@ter2@h/", "%40"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sources *so;
		struct err e = {0};
		char text[200];

		snprintf(text, sizeof(text), "[source \"a\"]\nurl = %s\n", rows[i].url);
		ck_assert_int_eq(sources_of(text, &so, &e), -EINVAL);
		ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "%s: %s", rows[i].url, e.text);
		for (unsigned j = 0; j < ARRAY_SIZE(parts); j++)
			ck_assert_msg(!strstr(e.text, parts[j]), "%s: %s", rows[i].url, e.text);
	}
}
END_TEST

START_TEST(urls_as_paths)
{
	static const struct {
		const char *path, *says; /* NULL: it is a path */
	} rows[] = {
		{"http://u:hunter2@h/", "path = http://h/: expected a directory"},
		{"http:/u:hunter2@h/", "path = h/: expected a directory"},
		{"HTTPS:u:hunter2@h/x", "path = h/x: expected a directory"},
		{"/srv/http://x", NULL},
		{"./http:/x", NULL},
		{"https/x", NULL},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sources *so;
		struct err e = {0};
		char text[200];
		int r;

		snprintf(text, sizeof(text), "[source \"a\"]\npath = %s\n", rows[i].path);
		r = sources_of(text, &so, &e);
		ck_assert_msg(r == (rows[i].says ? -EINVAL : 0), "%s: %d", rows[i].path, r);
		ck_assert_msg(!rows[i].says || strstr(e.text, rows[i].says), "%s: %s", rows[i].path, e.text);
		if (r == 0)
			sources_unref(so);
	}
}
END_TEST

/* Files of the store are named by it. */
START_TEST(memory_without_password)
{
	struct sources *one = sources_good("[source \"a\"]\nurl = https://u:one@h/x\n");
	struct sources *two = sources_good("[source \"a\"]\nurl = https://v:two@h/x\n");
	struct sources *bare = sources_good("[source \"a\"]\nurl = https://h/x\n");
	struct sources *other = sources_good("[source \"a\"]\nurl = https://u:one@h/y\n");

	ck_assert_str_eq(one->list[0]->memory, two->list[0]->memory);
	ck_assert_str_eq(one->list[0]->memory, bare->list[0]->memory);
	ck_assert_str_ne(one->list[0]->memory, other->list[0]->memory);
	sources_unref(one);
	sources_unref(two);
	sources_unref(bare);
	sources_unref(other);
}
END_TEST

static void check_plan(const char *section, const struct artifact *a, const char *const *want)
{
	struct sources *so = sources_good(section);
	unsigned nth = 0;

	for (;; nth++) {
		struct source_ask ask;
		int r = source_plan(so->list[0], NULL, a, nth, &ask);

		if (r == -ENOENT)
			break;
		ck_assert_int_eq(r, 0);
		ck_assert_msg(want[nth] != NULL, "more: %s", ask.where);
		ck_assert_str_eq(ask.where, want[nth]);
		source_ask_release(&ask);
	}
	ck_assert_ptr_null(want[nth]);
	sources_unref(so);
}

START_TEST(plans)
{
	static const char padded[] = "11223344556677889900aabbccddeeff00000000";
	struct artifact debug = artifact_of(FILETYPE_ELF_DEBUG, ID, "");
	struct artifact source = artifact_of(FILETYPE_SOURCE, ID, "/a b/#c?.c");
	struct artifact code = artifact_of(FILETYPE_ELF_CODE, "11223344556677889900aabbccddeeff", "x y");

	check_plan("[source \"a\"]\nurl=http://h/x/\nlayout=debuginfod\n", &debug,
		(const char *const[]){"http://h/x/buildid/" ID "/debuginfo", NULL});
	check_plan("[source \"a\"]\nurl=http://h/buildid/\nlayout=debuginfod\n", &debug,
		(const char *const[]){"http://h/buildid/" ID "/debuginfo", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=debuginfod\n", &source,
		(const char *const[]){"http://h/buildid/" ID "/source/a%20b/%23c%3F.c", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=gdb\n", &debug,
		(const char *const[]){"http://h/.build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug",
			"http://h/df/b85de42daffd09640c8fe377d572de3e168920.debug", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=native\ncasing=uppercase\n", &debug,
		(const char *const[]){"http://h/DF/B85DE42DAFFD09640C8FE377D572DE3E168920.DEBUG", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=debuginfod\n", &code,
		(const char *const[]){"http://h/buildid/11223344556677889900aabbccddeeff/executable",
			"http://h/buildid/11223344556677889900aabbccddeeff00000000/executable", NULL});
	code = artifact_of(FILETYPE_ELF_CODE, padded, "x y");
	check_plan("[source \"a\"]\nurl=http://h\nlayout=symstore\n", &code,
		(const char *const[]){"http://h/x%20y/elf-buildid-11223344556677889900aabbccddeeff00000000/x%20y",
			"http://h/x%20y/elf-buildid-11223344556677889900aabbccddeeff/x%20y", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=debuginfod\nfiletypes=elf_code\n", &debug,
		(const char *const[]){NULL});
	check_plan("[source \"a\"]\npath=/usr/lib/debug/.build-id\n", &debug,
		(const char *const[]){"df/b85de42daffd09640c8fe377d572de3e168920.debug", NULL});
}
END_TEST

/* The spellings of a PDB, each once, whatever the casing makes of them. */
START_TEST(plans_of_windows)
{
	struct artifact pdb = {.type = FILETYPE_PDB, .m = {.object = OBJECT_PE, .code_id = "5ab380779000",
		.code_file = "a.exe", .debug_file = "a.pdb"}};

	debug_id_parse(&pdb.m.debug_id, "3249D99D0C4049318610F4E4FB0B6936a", 33);
	check_plan("[source \"a\"]\nurl=http://h\nlayout=symstore\n", &pdb,
		(const char *const[]){"http://h/a.pdb/3249D99D0C4049318610F4E4FB0B6936A/a.pdb",
			"http://h/a.pdb/3249D99D0C4049318610F4E4FB0B6936A/a.pd_",
			"http://h/a.pdb/3249D99D0C4049318610F4E4FB0B6936a/a.pdb",
			"http://h/a.pdb/3249D99D0C4049318610F4E4FB0B6936a/a.pd_",
			"http://h/a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pdb",
			"http://h/a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pd_", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=symstore\ncasing=lowercase\n", &pdb,
		(const char *const[]){"http://h/a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pdb",
			"http://h/a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pd_", NULL});
	check_plan("[source \"a\"]\nurl=http://h\nlayout=slashsymbols\ncasing=uppercase\n", &pdb,
		(const char *const[]){"http://h/A.EXE/5AB380779000/SYMBOLS",
			"http://h/A.EXE/5AB380779000/SYMBOL_", NULL});
}
END_TEST

/* The requests to a symbol store: the name as given, in lower case, then file.ptr; each also compressed. */
START_TEST(plans_of_stores)
{
	static const char section[] = "[source \"a\"]\nurl=http://h\nlayout=symstore\n"
				      "ptr-map = \\\\build\\drop=/srv/drop\n";
	const struct source_facts facts = {.two_tier = true};
	struct artifact pe = {.type = FILETYPE_PE, .m = {.object = OBJECT_PE, .code_id = "5ab380779000",
		.code_file = "Foo.DLL"}};
	struct sources *so = sources_good(section);
	struct source_ask ask;

	check_plan(section, &pe,
		(const char *const[]){"http://h/Foo.DLL/5AB380779000/Foo.DLL",
			"http://h/Foo.DLL/5AB380779000/Foo.DL_",
			"http://h/Foo.DLL/5AB380779000/file.ptr",
			"http://h/foo.dll/5AB380779000/foo.dll",
			"http://h/foo.dll/5AB380779000/foo.dl_",
			"http://h/foo.dll/5AB380779000/file.ptr",
			"http://h/foo.dll/5ab380779000/foo.dll",
			"http://h/foo.dll/5ab380779000/foo.dl_",
			"http://h/foo.dll/5ab380779000/file.ptr",
			"http://h/Foo.DLL/5AB3807700009000/Foo.DLL", NULL}); /* no other with a padded id */
	check_plan("[source \"a\"]\nurl=http://h\nlayout=ssqp\n", &pe,
		(const char *const[]){"http://h/foo.dll/5ab380779000/foo.dll",
			"http://h/foo.dll/5ab380779000/foo.dl_",
			"http://h/foo.dll/5ab3807700009000/foo.dll", NULL});
	snprintf(pe.m.code_id, sizeof(pe.m.code_id), "5ab3807700009000");
	check_plan("[source \"a\"]\nurl=http://h\nlayout=ssqp\n", &pe, /* as it was asked for, too */
		(const char *const[]){"http://h/foo.dll/5ab380779000/foo.dll",
			"http://h/foo.dll/5ab380779000/foo.dl_",
			"http://h/foo.dll/5ab3807700009000/foo.dll",
			"http://h/foo.dll/5ab3807700009000/foo.dl_", NULL});
	snprintf(pe.m.code_id, sizeof(pe.m.code_id), "5ab380779000");
	check_plan("[source \"a\"]\npath=/srv\nlayout=ssqp\n", &pe,
		(const char *const[]){"foo.dll/5ab380779000/foo.dll", "foo.dll/5ab380779000/foo.dl_",
			"foo.dll/5ab3807700009000/foo.dll", "foo.dll/5ab3807700009000/foo.dl_", NULL});
	ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 5, &ask), 0);
	ck_assert_str_eq(ask.where, "http://h/fo/foo.dll/5AB380779000/file.ptr");
	ck_assert_str_eq(ask.spelling, "symstore_index2, name in lower case, file.ptr");
	ck_assert(ask.ptr);
	source_ask_release(&ask);
	ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 0, &ask), 0);
	ck_assert_str_eq(ask.where, "http://h/Fo/Foo.DLL/5AB380779000/Foo.DLL");
	ck_assert(!ask.ptr);
	source_ask_release(&ask);
	sources_unref(so);
}
END_TEST

/* The case in which a store lists a file is the first that is asked for. */
START_TEST(listed_case)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{"\"FOO.dll\\5ab380779ABC\",", "http://h/FO/FOO.dll/5ab380779ABC/FOO.dll"},
		{"\"foo.dll\\5AB380779abc\",", "http://h/fo/foo.dll/5AB380779abc/foo.dll"},
		{"\"fOO.DLL\\5AB380779ABC\",", "http://h/fO/fOO.DLL/5AB380779ABC/fOO.DLL"},
		{"\"Foo.Dll/5ab380779abc\"", "http://h/Fo/Foo.Dll/5ab380779abc/Foo.Dll"},
	};
	struct artifact pe = {.type = FILETYPE_PE, .m = {.object = OBJECT_PE, .code_id = "5ab380779abc",
		.code_file = "Foo.DLL"}};
	struct sources *so = sources_good("[source \"a\"]\nurl=http://h\nlayout=symstore\n");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source_facts facts = {.two_tier = true};
		_cleanup_buf_ struct buf saved = BUF_UP_TO(1000);
		struct admin_index *first;
		struct source_ask ask;

		ck_assert_int_eq(admin_new(&first), 0);
		ck_assert_int_eq(admin_feed(first, rows[i].line, strlen(rows[i].line)), 0);
		ck_assert(admin_end(first));
		ck_assert_int_eq(admin_dump(first, &saved), 0);
		admin_unref(first);
		for (size_t n = 0; n < 8; n++) /* cut short */
			ck_assert(admin_load(&first, saved.p, n) == -EINVAL);
		ck_assert_int_eq(admin_load(&facts.admin, saved.p, saved.n), 0);
		ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 0, &ask), 0);
		ck_assert_str_eq(ask.where, rows[i].want);
		source_ask_release(&ask);
		admin_unref(facts.admin);
	}
	sources_unref(so);
}
END_TEST

/* What a store lists, in whatever pieces it comes, and that nothing else is asked for. */
START_TEST(listed)
{
	static const char lines[] = "\"foo.dll\\5AB380779000\",\"c:\\x\"\r\n\n\"B.pdb\\12\"\n";
	struct artifact pe = {.type = FILETYPE_PE, .m = {.object = OBJECT_PE, .code_id = "5ab380779000",
		.code_file = "Foo.DLL"}};
	struct sources *so = sources_good("[source \"a\"]\nurl=http://h\nlayout=symstore\n");
	struct source_facts facts = {.two_tier = true};
	struct source_ask ask;
	unsigned last;

	ck_assert_int_eq(admin_new(&facts.admin), 0);
	ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 0, &ask), -ENOENT);
	for (size_t i = 0; i + 1 < sizeof(lines); i++)
		ck_assert_int_eq(admin_feed(facts.admin, lines + i, 1), 0);
	ck_assert(admin_end(facts.admin));
	ck_assert_uint_eq(admin_count(facts.admin), 2);
	ck_assert(admin_has(facts.admin, "b.PDB/12/b.pd_") && admin_has(facts.admin, "b.pdb/12"));
	ck_assert(!admin_has(facts.admin, "b.pdb/1/b.pdb") && !admin_has(facts.admin, "b.pdb"));
	ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 1, &ask), 0);
	ck_assert_str_eq(ask.where, "http://h/fo/foo.dll/5AB380779000/foo.dl_");
	source_ask_release(&ask);
	snprintf(pe.m.code_file, sizeof(pe.m.code_file), "bar.dll");
	ck_assert_int_eq(source_plan(so->list[0], &facts, &pe, 0, &ask), -ENOENT);
	ck_assert_int_eq(admin_feed(facts.admin, "<html>", 6), 0);
	ck_assert(!admin_end(facts.admin) && admin_end(facts.admin));
	ck_assert_uint_eq(admin_count(facts.admin), 2);
	ck_assert_int_eq(admin_lastid("0000000012\r\n", 12, &last), 0);
	ck_assert_uint_eq(last, 12);
	ck_assert_int_eq(admin_lastid("", 0, &last), -EINVAL);
	ck_assert_int_eq(admin_lastid("12a", 3, &last), -EINVAL);
	ck_assert_int_eq(admin_lastid("10001", 5, &last), -EINVAL);
	admin_unref(facts.admin);
	sources_unref(so);
}
END_TEST

static void check_resolve(const char *path, int want, const char *dir, const char *rest)
{
	struct sources *so = sources_good("[source \"a\"]\nurl=http://h\nlayout=symstore\n"
					  "ptr-map = \\\\build\\drop = /srv/drop\n"
					  "ptr-map = \\\\build\\drop\\deep\\=/srv/deep\nptr-map = /mnt/x=/srv/x\n");
	struct buf out = BUF_UP_TO(2048);
	char *got = NULL;
	int r = ptr_resolve(so->list[0], path, &got, &out);

	ck_assert_msg(r == want, "%s: %d", path, r);
	if (r == 0) {
		ck_assert_str_eq(got, dir);
		ck_assert_str_eq(buf_text(&out), rest);
	}
	free(got);
	buf_release(&out);
	sources_unref(so);
}

START_TEST(pointers)
{
	char out[1024], huge[3000];

	ck_assert_int_eq(ptr_parse("PATH:\\\\b\\d\\f.pdb\r\n", sizeof("PATH:\\\\b\\d\\f.pdb\r\n") - 1, out),
		PTR_PATH);
	ck_assert_str_eq(out, "\\\\b\\d\\f.pdb");
	ck_assert_int_eq(ptr_parse("path: /x", sizeof("path: /x") - 1, out), PTR_PATH);
	ck_assert_str_eq(out, "/x");
	ck_assert_int_eq(ptr_parse("\\\\b\\d", sizeof("\\\\b\\d") - 1, out), PTR_PATH);
	ck_assert_str_eq(out, "\\\\b\\d");
	ck_assert_int_eq(ptr_parse("\xef\xbb\xbfMSG: gone\nfor good\n",
		sizeof("\xef\xbb\xbfMSG: gone\nfor good\n") - 1, out), PTR_MESSAGE);
	ck_assert_str_eq(out, "gone for good");
	ck_assert_int_eq(ptr_parse("", sizeof("") - 1, out), PTR_NONSENSE);
	ck_assert_int_eq(ptr_parse("PATH:  \r\n", sizeof("PATH:  \r\n") - 1, out), PTR_NONSENSE);
	ck_assert_int_eq(ptr_parse("a\0b", sizeof("a\0b") - 1, out), PTR_NONSENSE);
	ck_assert_int_eq(ptr_parse("a\nb", sizeof("a\nb") - 1, out), PTR_NONSENSE);
	memset(huge, 'x', sizeof(huge));
	ck_assert_int_eq(ptr_parse(huge, sizeof(huge), out), PTR_NONSENSE);

	check_resolve("\\\\build\\drop\\a\\b.pdb", 0, "/srv/drop", "a/b.pdb");
	check_resolve("//BUILD/Drop//a/./B.pdb", 0, "/srv/drop", "a/B.pdb");
	check_resolve("\\\\build\\drop\\Deep\\b", 0, "/srv/deep", "b");
	check_resolve("\\\\build\\drop\\deeper\\b", 0, "/srv/drop", "deeper/b");
	check_resolve("/mnt/x/y", 0, "/srv/x", "y");
	check_resolve("\\\\build\\drop", -EINVAL, NULL, NULL);
	check_resolve("\\\\build\\drop\\..\\x", -EINVAL, NULL, NULL);
	check_resolve("\\\\build\\drop\\a\\..\\..\\x", -EINVAL, NULL, NULL);
	check_resolve("\\\\build\\dropped\\x", -ENOENT, NULL, NULL);
	check_resolve("\\\\other\\drop\\x", -ENOENT, NULL, NULL);
	check_resolve("/etc/passwd", -ENOENT, NULL, NULL);
}
END_TEST

/* Globs as another tool's tests have them, and ours. */
START_TEST(globs)
{
	static const struct {
		const char *glob, *name;
		bool means;
	} rows[] = {
		{"c:/windows/*", "C:\\Windows\\System32\\kernel32.dll", true},
		{"?:/windows/*", "C:\\Windows\\System32\\kernel32.dll", true},
		{"d:/windows/**", "C:\\Windows\\System32\\kernel32.dll", false},
		{"?:\\windows\\*", "c:/windows/system32/kernel32.dll", true},
		{"*electron*", "Electron Framework", true},
		{"*electron*", "my-ELECTRON.exe.pdb", true},
		{"*node*", "libEGL.dll.pdb", false},
		{"secret.pdb", "SECRET.PDB", true},
		{"secret.pdb", "secret.pdb.old", false},
		{"/home/*", "/home/me/deep/er.c", true},
		{"[a-c]*", "bottom.dll", true},
		{"[a-c]*", "top.dll", false},
		{"", "x", false},
		{"*", "", true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(source_glob(rows[i].glob, rows[i].name) == rows[i].means, "%s on %s",
			rows[i].glob, rows[i].name);
}
END_TEST

static void check_allows(const char *keys, const struct artifact *a, bool may)
{
	struct source_ask ask;
	struct sources *so;
	char text[512];
	int r;

	snprintf(text, sizeof(text), "[source \"a\"]\nurl=http://h\nlayout=debuginfod\n%s\n", keys);
	so = sources_good(text);
	r = source_plan(so->list[0], NULL, a, 0, &ask);
	ck_assert_msg(r == (may ? 0 : -ENOENT), "%s: %d", keys, r);
	ck_assert_int_eq(source_allows(so->list[0], a), may);
	source_ask_release(&ask);
	sources_unref(so);
}

START_TEST(names_and_types_allowed)
{
	struct artifact named = artifact_of(FILETYPE_ELF_CODE, ID, "libSecret.so");
	struct artifact nameless = artifact_of(FILETYPE_ELF_DEBUG, ID, "");
	struct artifact source = artifact_of(FILETYPE_SOURCE, ID, "/home/me/x.c");
	struct artifact section = artifact_of(FILETYPE_SECTION, ID, ".text");

	source.m.code_file[0] = '\0';
	named.m.path[0] = section.m.code_file[0] = '\0';
	check_allows("", &named, true);
	check_allows("never = *secret*", &named, false);
	check_allows("never = *.exe", &named, true);
	check_allows("never = *.exe, *.SO", &named, false);
	check_allows("never = a b\nnever = libsecret.so", &named, false);
	check_allows("never = *", &nameless, true);
	check_allows("never = /home/*", &source, false);
	check_allows("never = x.c", &source, false);
	check_allows("never = /srv/*", &source, true);
	snprintf(nameless.m.debug_file, sizeof(nameless.m.debug_file), "libsecret.so.debug");
	check_allows("never = *.debug", &nameless, false);
	nameless.m.debug_file[0] = '\0';
	check_allows("path-patterns = lib*", &named, true);
	check_allows("path-patterns = *.exe", &named, false);
	check_allows("path-patterns = *", &nameless, false);
	check_allows("path-patterns = lib*\nnever = *secret*", &named, false);
	check_allows("requires-checksum = yes", &named, false);
	snprintf(named.m.checksum, sizeof(named.m.checksum), "SHA256:00");
	check_allows("requires-checksum = yes", &named, true);
	check_allows("allow-unverified = no", &named, true);
	check_allows("allow-unverified = no", &source, false);
	check_allows("allow-unverified = no", &section, false);
	check_allows("types = elf_debug", &named, false);
	check_allows("types = elf_debug elf_code", &named, true);
}
END_TEST

START_TEST(checksums)
{
	static const char none[] = "SymbolChecksum: SHA256:"
				   "0000000000000000000000000000000000000000000000000000000000000000";
	struct artifact a = {.type = FILETYPE_PORTABLEPDB, .m = {.object = OBJECT_PE_DOTNET, .debug_file = "a.pdb"}};
	const struct {
		const char *keys, *checksum, *header;
	} rows[] = {
		{"", "", NULL},
		{"checksum-placeholder = yes\n", "", none},
		{"", "SHA256:0011", "SymbolChecksum: SHA256:0011"},
		{"checksum-placeholder = yes\n", "SHA256:0011", "SymbolChecksum: SHA256:0011"},
	};

	debug_id_parse(&a.m.debug_id, "0C1033F78632492E91C6C314B72E1920ffffffff", 40);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source_ask ask;
		struct sources *so;
		struct net_req req;
		char text[200];

		snprintf(text, sizeof(text), "[source \"a\"]\nurl=http://h\nlayout=symstore\nheader=A: b\n%s",
			rows[i].keys);
		snprintf(a.m.checksum, sizeof(a.m.checksum), "%s", rows[i].checksum);
		so = sources_good(text);
		ck_assert_int_eq(source_plan(so->list[0], NULL, &a, 0, &ask), 0);
		ck_assert_int_eq(source_request(so->list[0], &ask, &req), 0);
		ck_assert_str_eq(req.headers[0], "A: b");
		if (rows[i].header)
			ck_assert_str_eq(req.headers[1], rows[i].header);
		ck_assert_ptr_null(req.headers[rows[i].header ? 2 : 1]);
		net_req_release(&req);
		source_ask_release(&ask);
		sources_unref(so);
	}
}
END_TEST

START_TEST(requests)
{
	struct artifact a = artifact_of(FILETYPE_ELF_DEBUG, ID, "");
	struct sources *so = sources_good("[source \"a\"]\nurl=http://h\nheaders=X: y\nproxy=http://p:3128\n"
					  "ca-file=/ca\ncert=/c\nkey=/k\nnetrc=/n\nconnections=3\n");
	struct source_ask ask;
	struct net_req req;

	ck_assert_int_eq(source_plan(so->list[0], NULL, &a, 0, &ask), 0);
	ck_assert_int_eq(source_request(so->list[0], &ask, &req), 0);
	ck_assert_str_eq(req.headers[0], "X: y");
	ck_assert_str_eq(req.proxy, "http://p:3128");
	ck_assert_str_eq(req.ca_file, "/ca");
	ck_assert_str_eq(req.cert, "/c");
	ck_assert_str_eq(req.key, "/k");
	ck_assert_str_eq(req.netrc, "/n");
	ck_assert_uint_eq(req.connections, 3);
	ck_assert_ptr_null(req.sigv4);
	net_req_release(&req);
	source_ask_release(&ask);
	sources_unref(so);
}
END_TEST

/* Where a bucket is, what is signed, and in which spelling. */
START_TEST(s3)
{
	static const struct {
		const char *keys, *where, *sigv4;
	} rows[] = {
		{"bucket=b\n", "https://b.s3.us-east-1.amazonaws.com", "aws:amz:us-east-1:s3"},
		{"bucket=b\nregion=eu-central-1\n", "https://b.s3.eu-central-1.amazonaws.com",
			"aws:amz:eu-central-1:s3"},
		{"bucket=my.b\n", "https://s3.us-east-1.amazonaws.com/my.b", "aws:amz:us-east-1:s3"},
		{"bucket=b\nstyle=path\n", "https://s3.us-east-1.amazonaws.com/b", "aws:amz:us-east-1:s3"},
		{"bucket=b\nendpoint=http://h:9000/\n", "http://h:9000/b", "aws:amz:us-east-1:s3"},
		{"bucket=b\nendpoint=http://h:9000\nstyle=virtual\n", "http://b.h:9000", "aws:amz:us-east-1:s3"},
		{"bucket=b\nendpoint=https://h/s3\nprefix=/x//y z/\n", "https://h/s3/b/x/y%20z",
			"aws:amz:us-east-1:s3"},
	};
	struct artifact a = artifact_of(FILETYPE_ELF_CODE, ID, "lib++(1).so");

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source_ask ask;
		struct net_req req;
		struct sources *so;
		char text[400];

		snprintf(text, sizeof(text), "[source \"a\"]\nlayout=symstore\n%saccess-key=AK\nsecret-key=SK\n"
			"session-token=ST\nheader=X: y\n", rows[i].keys);
		so = sources_good(text);
		ck_assert(so->list[0]->kind == &source_s3);
		ck_assert_str_eq(so->list[0]->shown, rows[i].where);
		ck_assert_int_eq(source_plan(so->list[0], NULL, &a, 0, &ask), 0);
		snprintf(text, sizeof(text), "%s/lib%%2B%%2B%%281%%29.so/elf-buildid-" ID "/lib%%2B%%2B%%281%%29.so",
			rows[i].where);
		ck_assert_str_eq(ask.where, text);
		ck_assert_int_eq(source_request(so->list[0], &ask, &req), 0);
		ck_assert_str_eq(req.sigv4, rows[i].sigv4);
		ck_assert_str_eq(req.user, "AK");
		ck_assert_str_eq(req.password, "SK");
		ck_assert_str_eq(req.headers[0], "X: y");
		ck_assert_ptr_nonnull(strstr(req.headers[1], "x-amz-content-sha256: e3b0"));
		ck_assert_str_eq(req.headers[2], "x-amz-security-token: ST");
		ck_assert_ptr_null(req.headers[3]);
		net_req_release(&req);
		source_ask_release(&ask);
		sources_unref(so);
	}
}
END_TEST

START_TEST(s3_without_keys)
{
	struct artifact a = artifact_of(FILETYPE_ELF_CODE, ID, "x");
	struct sources *so = sources_good("[source \"a\"]\nbucket=b\nlayout=gdb\n"
					  "[source \"b\"]\nbucket=b\nlayout=gdb\nanonymous=yes\n");

	for (unsigned i = 0; i < 2; i++) {
		struct source_ask ask;
		struct net_req req;

		ck_assert_int_eq(source_plan(so->list[i], NULL, &a, 0, &ask), 0);
		ck_assert_int_eq(source_request(so->list[i], &ask, &req), i == 0 ? -EACCES : 0);
		ck_assert_ptr_null(req.sigv4);
		ck_assert_ptr_null(req.headers);
		net_req_release(&req);
		source_ask_release(&ask);
	}
	sources_unref(so);
}
END_TEST

static bool judged_again(struct source *s, int64_t skew, uint64_t began)
{
	struct net_reply r = {.status = 403, .date = clock_wall() + skew, .retry_after = -1, .began = began};
	struct judgement j;

	source_judge(s, &r, &j);
	return j.again;
}

/* A wrong clock of this machine, several requests under way, and a clock that is set right again. */
START_TEST(s3_skew)
{
	struct sources *so = sources_good("[source \"a\"]\nbucket=b\nlayout=gdb\naccess-key=A\nsecret-key=S\n");
	const struct s3_opts *o = so->list[0]->own;
	uint64_t now = clock_ms();

	ck_assert(!judged_again(so->list[0], 30, now - 100));
	ck_assert(judged_again(so->list[0], 3600, now - 100));
	ck_assert_int_ge(atomic_load(&o->skew), 3599);
	ck_assert(judged_again(so->list[0], 3600, now - 50));	  /* was under way with the old date */
	ck_assert(!judged_again(so->list[0], 3600, clock_ms() + 1000)); /* had the right date: another cause */
	ck_assert(judged_again(so->list[0], 5, clock_ms() + 2000));	  /* the clock was set right */
	ck_assert_int_eq(atomic_load(&o->skew), 0);
	ck_assert(!judged_again(so->list[0], 5, clock_ms() + 2000));
	sources_unref(so);
}
END_TEST

/* Lower tiers first, whatever the order of the file; in a tier the order of the file. */
START_TEST(tiers)
{
	struct sources *so = sources_good("[source \"c\"]\nurl=http://c\ntier=2\n[source \"a\"]\nurl=http://a\n"
					  "[source \"d\"]\nurl=http://d\ntier=2\n[source \"b\"]\nurl=http://b\n"
					  "[source \"e\"]\nurl=http://e\ntier=1\n");
	char order[8] = "";

	for (unsigned i = 0; i < so->n; i++)
		order[i] = so->list[i]->name[0];
	ck_assert_str_eq(order, "abecd");
	sources_unref(so);
}
END_TEST

/* What a section of the same name as another takes over from it. `=` begins the presets. */
START_TEST(overriding)
{
	static const struct {
		const char *text, *presets, *where;
		unsigned n;
		const char *layout;
		unsigned stall_ms;
	} rows[] = {
		/* of its own place: only a preset gives the rest */
		{"[source \"a\"]\nurl=http://x/\n[source \"a\"]\nurl=http://y/\nlayout=gdb\n", "", "http://x/", 1,
			"native", 2},
		{"[source \"a\"]\nurl=http://x/\n", "[source \"a\"]\nurl=http://y/\nlayout=gdb\nenabled=no\n", "",
			0, "", 0},
		{"[source \"a\"]\nurl=http://x/\nenabled=yes\n",
			"[source \"a\"]\nurl=http://y/\nlayout=gdb\nenabled=no\n", "http://x/", 1, "gdb", 2},
		/* without: it changes what it says */
		{"[source \"a\"]\nstall-timeout=7s\n[source \"a\"]\nurl=http://y/\nlayout=gdb\n", "", "http://y/", 1,
			"gdb", 7000},
		{"[source \"a\"]\nenabled=no\n[source \"a\"]\nurl=http://y/\n", "", "", 0, "", 0},
		{"[source \"a\"]\nenabled=yes\n", "[source \"a\"]\nurl=http://y/\nenabled=no\nstall-timeout=8s\n",
			"http://y/", 1, "native", 8000},
		/* another kind of place: not the type */
		{"[source \"a\"]\npath=/p\nenabled=yes\n",
			"[source \"a\"]\nurl=http://y/\ntype=http\nlayout=symstore\nenabled=no\n", "/p", 1,
			"symstore", 2},
		/* nor the place */
		{"[source \"a\"]\nurl=http://x/\nenabled=yes\n",
			"[source \"a\"]\nbucket=b\nregion=eu\nlayout=gdb\nenabled=no\n", "http://x/", 1, "gdb", 2},
		{"[source \"a\"]\nbucket=b\nenabled=yes\n",
			"[source \"a\"]\nurl=http://y/\nlayout=gdb\nenabled=no\n",
			"https://b.s3.us-east-1.amazonaws.com", 1, "gdb", 2},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source_opts defaults = {.stall_ms = 2};
		const struct conf_section *last;
		struct sources *so;
		struct conf *c;
		struct err e;

		ck_assert_int_eq(conf_new(&c), 0);
		ck_assert_int_eq(conf_read(c, "t.conf", rows[i].text, strlen(rows[i].text), &e), 0);
		last = conf_last(c);
		ck_assert_int_eq(conf_read(c, "p.conf", rows[i].presets, strlen(rows[i].presets), &e), 0);
		conf_mark_presets(c, last);
		ck_assert_int_eq(sources_inherit(c), 0);
		ck_assert_msg(sources_new(&so, c, &defaults, &e) == 0, "%u: %s", i, e.text);
		ck_assert_msg(so->n == rows[i].n, "row %u: %u sources", i, so->n);
		if (so->n) {
			ck_assert_str_eq(so->list[0]->shown, rows[i].where);
			ck_assert_str_eq(so->list[0]->layout->name, rows[i].layout);
			ck_assert_uint_eq(so->list[0]->o.stall_ms, rows[i].stall_ms);
		}
		sources_unref(so);
		conf_free(c);
	}
}
END_TEST

/* A mistake in an inherited key is reported with the file and line of the mistake. */
START_TEST(inherited_mistake)
{
	const char *text = "[source \"a\"]\nstall-timeout=7s\n",
		*more = "[source \"a\"]\nurl=http://y/\nlayout=gbd\n";
	struct source_opts defaults = {0};
	struct sources *so;
	struct conf *c;
	struct err e;

	ck_assert_int_eq(conf_new(&c), 0);
	ck_assert_int_eq(conf_read(c, "t.conf", text, strlen(text), &e), 0);
	ck_assert_int_eq(conf_read(c, "p.conf", more, strlen(more), &e), 0);
	ck_assert_int_eq(sources_inherit(c), 0);
	ck_assert_int_eq(sources_new(&so, c, &defaults, &e), -EINVAL);
	ck_assert_msg(strstr(e.text, "p.conf:3: ") != NULL, "%s", e.text);
	conf_free(c);
}
END_TEST

START_TEST(judges_by_source)
{
	static const struct {
		const char *keys;
		int status;
		enum verdict verdict;
		int gives;
	} rows[] = {
		{"", 403, VERDICT_REFUSED, -EACCES},
		{"on-403 = refused\n", 403, VERDICT_REFUSED, -EACCES},
		{"on-403 = miss\n", 403, VERDICT_MISSING, -ENOENT},
		{"on-403 = miss\n", 401, VERDICT_REFUSED, -EACCES},
		{"", 400, VERDICT_LATER, -EREMOTEIO},
		{"", 406, VERDICT_LATER, -EREMOTEIO},
		{"type = debuginfod\n", 406, VERDICT_LATER, -EFBIG},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_reply r = {.status = rows[i].status, .retry_after = -1};
		struct judgement j;
		struct sources *so;
		char text[200];

		snprintf(text, sizeof(text), "[source \"a\"]\nurl=http://h\n%s", rows[i].keys);
		so = sources_good(text);
		source_judge(so->list[0], &r, &j);
		ck_assert_msg(j.verdict == rows[i].verdict && j.error == rows[i].gives, "row %u: %d %d", i,
			j.verdict, j.error);
		sources_unref(so);
	}
}
END_TEST

START_TEST(judges)
{
	static const struct {
		int status, error;
		enum verdict verdict;
		int gives;
		enum blame blame;
	} rows[] = {
		{200, 0, VERDICT_FOUND, 0, BLAME_NONE},
		{206, 0, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
		{204, 0, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
		{304, 0, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
		{400, 0, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
		{401, 0, VERDICT_REFUSED, -EACCES, BLAME_NONE},
		{403, 0, VERDICT_REFUSED, -EACCES, BLAME_NONE},
		{404, 0, VERDICT_MISSING, -ENOENT, BLAME_NONE},
		{410, 0, VERDICT_MISSING, -ENOENT, BLAME_NONE},
		{408, 0, VERDICT_LATER, -ETIMEDOUT, BLAME_SOFT},
		{429, 0, VERDICT_LATER, -EREMOTEIO, BLAME_CHEAP},
		{500, 0, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
		{503, 0, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
		{508, 0, VERDICT_LOOP, -ELOOP, BLAME_NONE},
		{0, -ETIMEDOUT, VERDICT_LATER, -ETIMEDOUT, BLAME_COSTLY},
		{0, -EHOSTUNREACH, VERDICT_LATER, -EHOSTUNREACH, BLAME_COSTLY},
		{0, -ECONNREFUSED, VERDICT_LATER, -EHOSTUNREACH, BLAME_CHEAP},
		{200, -EPIPE, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
		{0, -ECONNRESET, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
		{0, -EPROTO, VERDICT_LATER, -EREMOTEIO, BLAME_SOFT},
		{302, -ELOOP, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
		{200, -EFBIG, VERDICT_LATER, -EFBIG, BLAME_NONE},
		{0, -EMFILE, VERDICT_LATER, -EMFILE, BLAME_UNKNOWN},
		{0, -ENOMEM, VERDICT_LATER, -ENOMEM, BLAME_UNKNOWN},
		{0, -EKEYREJECTED, VERDICT_LATER, -EACCES, BLAME_CHEAP},
		{302, -EPROTONOSUPPORT, VERDICT_LATER, -EREMOTEIO, BLAME_NONE},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_reply r = {.status = rows[i].status, .error = rows[i].error, .retry_after = -1};
		struct judgement j;

		source_judge(NULL, &r, &j);
		ck_assert_msg(j.verdict == rows[i].verdict && j.error == rows[i].gives && j.blame == rows[i].blame,
			"row %u: %d %d %d", i, j.verdict, j.error, j.blame);
		ck_assert(rows[i].verdict == VERDICT_FOUND || j.text[0]);
	}
	/* With Retry-After: a gateway that names a time works itself. */
	for (int status = 500; status <= 504; status++) {
		struct net_reply r = {.status = status, .retry_after = 5};
		struct judgement j;

		source_judge(NULL, &r, &j);
		ck_assert(j.verdict == VERDICT_LATER && !j.again);
		ck_assert(j.blame == (status == 502 || status == 504 ? BLAME_NONE : BLAME_CHEAP));
	}
}
END_TEST

static void tell(struct breakers *b, const char *origin, uint64_t now, enum blame blame, uint64_t hold,
	const char *text)
{
	struct judgement j = {.blame = blame, .error = -ETIMEDOUT};

	snprintf(j.text, sizeof(j.text), "%s", text);
	breaker_tell(b, origin, now, &j, hold);
}

START_TEST(answer_while_failing)
{
	static const struct {
		int error, gives;
	} rows[] = {{-EREMOTEIO, -EREMOTEIO}, {-EHOSTUNREACH, -EHOSTUNREACH}, {-ETIMEDOUT, -EHOSTUNREACH},
		{-EACCES, -EHOSTUNREACH}};
	struct judgement well = {.blame = BLAME_NONE};
	struct breakers *b;
	char why[240];

	ck_assert_int_eq(breakers_new(&b, 60000), 0);
	ck_assert_int_eq(breaker_error(b, "http://h"), -EHOSTUNREACH);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct judgement j = {.blame = BLAME_CHEAP, .error = rows[i].error, .text = "trouble"};

		breaker_tell(b, "http://h", 1000, &j, 0);
		ck_assert(!breaker_may(b, "http://h", 1001, why));
		ck_assert_int_eq(breaker_error(b, "http://h"), rows[i].gives);
		breaker_tell(b, "http://h", 1002, &well, 0);
		ck_assert_int_eq(breaker_error(b, "http://h"), -EHOSTUNREACH);
	}
	breakers_free(b);
}
END_TEST

START_TEST(outrun)
{
	struct breakers *b;
	const char *h = "http://h";

	ck_assert_int_eq(breakers_new(&b, 60000), 0);
	ck_assert(breaker_may_hold(b, h));
	breaker_outrun(b, h);
	ck_assert(!breaker_may_hold(b, h));
	ck_assert(breaker_may_hold(b, "http://other"));
	tell(b, h, 1000, BLAME_COSTLY, 0, "timed out"); /* which is no answer */
	ck_assert(!breaker_may_hold(b, h));
	tell(b, h, 2000, BLAME_NONE, 0, "");
	ck_assert(breaker_may_hold(b, h));
	breakers_free(b);
}
END_TEST

START_TEST(breaker)
{
	struct breakers *b;
	const char *h = "http://h";
	char why[240];

	ck_assert_int_eq(breakers_new(&b, 60000), 0);
	ck_assert(breaker_may(b, h, 1000, why) && breaker_well(b, h));
	/* Odd answers: three in a row. A good one in between forgives. */
	for (unsigned i = 0; i < 2; i++)
		tell(b, h, 1000, BLAME_SOFT, 0, "HTTP 500");
	tell(b, h, 1000, BLAME_NONE, 0, "");
	for (unsigned i = 0; i < 2; i++)
		tell(b, h, 1000, BLAME_SOFT, 0, "HTTP 500");
	ck_assert(breaker_may(b, h, 1000, why));
	tell(b, h, 1000, BLAME_SOFT, 0, "HTTP 500");
	ck_assert(!breaker_may(b, h, 1001, why));
	ck_assert_ptr_nonnull(strstr(why, "HTTP 500"));
	ck_assert(!breaker_well(b, h));
	/* Half open: one request tries, the others are refused until its result is known. */
	ck_assert(breaker_may(b, h, 2001, why));
	ck_assert(!breaker_may(b, h, 2002, why));
	ck_assert_ptr_nonnull(strstr(why, "failing, retrying now"));
	ck_assert_ptr_nonnull(strstr(why, "HTTP 500 (since 20"));
	tell(b, h, 2003, BLAME_COSTLY, 0, "timed out");
	ck_assert(!breaker_may(b, h, 62002, why));
	ck_assert(breaker_may(b, h, 62004, why));
	/* The one that tries was cancelled: nothing is known, and the next may try. */
	tell(b, h, 62004, BLAME_UNKNOWN, 0, "");
	ck_assert(breaker_may(b, h, 62004, why));
	ck_assert(!breaker_may(b, h, 62004, why));
	tell(b, h, 62005, BLAME_NONE, 0, "");
	tell(b, h, 62005, BLAME_UNKNOWN, 0, "");
	ck_assert(breaker_alive(b, h, 62005) && !breaker_alive(b, h, 62006));
	ck_assert(!breaker_alive(b, "http://other", 0));
	ck_assert(breaker_may(b, h, 62006, why));
	ck_assert(breaker_may(b, h, 62006, why));
	/* A time that the server names, within reason; and another host is another matter. */
	tell(b, h, 70000, BLAME_CHEAP, 5000, "HTTP 429");
	ck_assert(!breaker_may(b, h, 74999, why));
	ck_assert(breaker_may(b, "http://other", 74999, why));
	ck_assert(breaker_may(b, h, 75001, why));
	tell(b, h, 80000, BLAME_CHEAP, 1ull << 40, "HTTP 429");
	ck_assert(breaker_may(b, h, 80001 + 3600000, why));
	/* Stalls: the first of a host that answered recently, the second in a row, and one of a host without a
	 * recent answer. */
	tell(b, h, 4000000, BLAME_NONE, 0, "");
	tell(b, h, 4010000, BLAME_SILENT, 0, "no answer");
	ck_assert(breaker_may(b, h, 4010001, why));
	tell(b, h, 4020000, BLAME_SILENT, 0, "no answer");
	ck_assert(!breaker_may(b, h, 4079999, why) && breaker_may(b, h, 4080001, why));
	tell(b, h, 4080002, BLAME_NONE, 0, "");
	tell(b, h, 4400000, BLAME_SILENT, 0, "no answer");
	ck_assert(!breaker_may(b, h, 4459999, why));
	tell(b, h, 4400000, BLAME_NONE, 0, "");
	tell(b, h, 4400001, BLAME_COSTLY, 0, "no connection");
	ck_assert(!breaker_may(b, h, 4400002, why));
	tell(b, "http://new", 4400000, BLAME_SILENT, 0, "no answer");
	ck_assert(!breaker_may(b, "http://new", 4400001, why));
	tell(b, h, 4500000, BLAME_NONE, 0, "");
	tell(b, h, 4500000, BLAME_CHEAP, 0, "refused");
	ck_assert(breaker_may(b, h, 4502000, why));
	/* One that tries and never comes back does not keep the host out for ever. */
	ck_assert(!breaker_may(b, h, 4502001, why) && breaker_may(b, h, 4502000 + 60001, why));
	breakers_free(b);
}
END_TEST

UNIT_MAIN("source", mistakes_name_all, kinds_implied, sections, mistakes, passwords,
	mistaken_urls, urls_as_paths, memory_without_password, plans, plans_of_windows,
	plans_of_stores, listed_case, listed, pointers, globs, names_and_types_allowed, checksums, requests, s3,
	s3_without_keys, s3_skew, tiers, overriding, inherited_mistake, judges, judges_by_source, breaker,
	outrun, answer_while_failing)
