/* Tests recognize/: which frames and modules it reads from a text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/recognize/private.h"
#include "unit.h"

#include <string.h>

/* Compares the frames of a text with `want`, a line for each: number, module, id; `back` for a caller, `named` for a
 * frame with a name. */
static void reads(const char *text, const char *format, const char *want)
{
	_cleanup_buf_ struct buf got = BUF_UP_TO(4096), same = BUF_UP_TO(4096);
	struct recognized *r = NULL;

	ck_assert_int_eq(recognize_read(&r, span_text(text)), 0);
	ck_assert_str_eq(r->format ? r->format : "", format);
	for (size_t i = 0; i < r->n_frames; i++) {
		const struct frame *f = &r->frames[i];
		const struct seen *s = f->module == NO_SEEN ? NULL : &r->seen[f->module];

		/* The module that has the id, if the text has the id elsewhere. */
		for (uint32_t m = 0; s && !s->has_id && m < r->n_seen; m++)
			if (r->seen[m].has_id && strcmp(r->seen[m].path, s->path) == 0)
				s = &r->seen[m];
		buf_addf(&got, "%llx %s %s%s%s\n", (unsigned long long)f->number, s ? s->path : "?",
			s && s->has_id ? s->m.code_id : "-", f->back ? " back" : "", f->named ? " named" : "");
	}
	ck_assert_str_eq(buf_text(&got), want);
	ck_assert_int_eq(recognize_write(r, NULL, false, &same), 0);
	ck_assert_str_eq(buf_text(&same), text);
	recognized_free(r);
}

/* As systemd-coredump 257 writes it: the program has its path, libraries have their names. */
START_TEST(systemd_257)
{
	reads("MESSAGE=Process 100 (prog) of user 0 dumped core.\n\n"
		"Module /opt/x/bin/prog from deb y-1.amd64\n"
		"Module libcrash.so from deb y-1.amd64\n"
		"Stack trace of thread 100:\n"
		"#0  0x00007ffff7fb9132 deep (libcrash.so + 0x1132)\n"
		"#1  0x00007ffff7fb9142 outer (libcrash.so + 0x1142)\n"
		"#2  0x0000555555555142 n/a (/opt/x/bin/prog + 0x1142)\n"
		"#3  0x00007ffff7de6ca8 __libc_start_call_main (libc.so.6 + 0x29ca8)\n"
		"ELF object binary architecture: AMD x86-64\n"
		"COREDUMP_PACKAGE_JSON={\"elfType\":\"coredump\",\"elfArchitecture\":\"AMD x86-64\","
		"\"/opt/x/bin/prog\":{\"type\":\"deb\",\"name\":\"y\",\"version\":\"1\","
		"\"architecture\":\"amd64\",\"buildId\":\"f590dada0aa4cc86408484f07764dda7821642fa\"},"
		"\"libcrash.so\":{\"type\":\"deb\",\"name\":\"y\",\"version\":\"1\",\"architecture\":\"amd64\","
		"\"buildId\":\"59b1bdef0af91adf1ef37ed6933c42a74f9d23dd\"}}\n",
		"systemd-coredump",
		"1132 libcrash.so 59b1bdef0af91adf1ef37ed6933c42a74f9d23dd named\n"
		"1142 libcrash.so 59b1bdef0af91adf1ef37ed6933c42a74f9d23dd back named\n"
		"1142 /opt/x/bin/prog f590dada0aa4cc86408484f07764dda7821642fa back\n"
		"29ca8 libc.so.6 - back named\n");
}
END_TEST

/* As systemd-coredump 252 writes it, below the words of coredumpctl. */
START_TEST(systemd_252)
{
	reads("    Executable: /opt/x/bin/fixed\n"
		"       Message: Process 7 (fixed) of user 0 dumped core.\n"
		"                Module libcrash.so with build-id 59b1bdef0af91adf1ef37ed6933c42a74f9d23dd\n"
		"                Stack trace of thread 7:\n"
		"                #0  0x00007ffff7fb9132 n/a (libcrash.so + 0x1132)\n"
		"                #1  0x000000000040112f n/a (fixed + 0x112f)\n",
		"systemd-coredump",
		"1132 libcrash.so 59b1bdef0af91adf1ef37ed6933c42a74f9d23dd\n"
		"112f /opt/x/bin/fixed - back\n");
}
END_TEST

/* As gdb 16 lists mappings: a blank ends each line. */
START_TEST(mappings_of_gdb_16)
{
	static const char text[] =
		"Start Addr         End Addr           Size               Offset             Perms File \n"
		"0x0000555555554000 0x0000555555555000 0x1000             0x0                r--p  /x/bin/prog \n"
		"0x0000555555555000 0x0000555555556000 0x1000             0x1000             r-xp  /x/bin/prog \n"
		"0x00007ffff7dba000 0x00007ffff7dbd000 0x3000             0x0                rw-p   \n";
	struct recognized *r = NULL;

	ck_assert_int_eq(recognize_read(&r, span_text(text)), 0);
	ck_assert_uint_eq(r->n_seen, 1);
	ck_assert_str_eq(r->seen[0].path, "/x/bin/prog");
	ck_assert_uint_eq(r->n_based, 1);
	ck_assert_uint_eq(r->based[0].from, 0x555555554000);
	ck_assert_uint_eq(r->based[0].to, 0x555555556000);
	recognized_free(r);
}
END_TEST

/* A frame that has a function is left, as are lines that only look like an offset. */
START_TEST(windbg)
{
	reads("00 000000e7`d0aff8c8 00007ff6`4a011234     app+0x1234\r\n"
	      "01 000000e7`d0aff8d0 00007ff6`4a011400     app!main+0x12\r\n"
	      "02 000000e7`d0aff8e0 00007ff6`4a011500     lib+0x20\r\n"
	      "  app.exe+0x1300\nmain+0x10\nat app.exe+0x1300\napp.exe+0x1300 (x)\n",
		"windbg", "1234 app -\n20 lib - back\n1300 app.exe -\n");
	reads("ChildEBP RetAddr  Args to Child\n"
	      "0012ff7c 00402915 00000001 00000002 app+0x1234 (FPO: [0,0,0])\n"
	      "0012ffc0 77e614c7 00000000 app+0x2915\n0012ffc0 app+0x1\ndeadbeef cafe0000 app+0x2 x\n"
	      "0012ffc0\t77e614c7\tapp+0x3\n",
		"windbg", "1234 app -\n2915 app - back\n2 app - back\n");
}
END_TEST

UNIT_MAIN("recognize", systemd_257, systemd_252, mappings_of_gdb_16, windbg)
