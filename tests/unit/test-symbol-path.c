/* Tests source/symbol-path: the stores that each form of _NT_SYMBOL_PATH names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/symbol-path.h"
#include "base/buf.h"
#include "base/util.h"
#include "unit.h"

#include <string.h>

static int say(void *ctx, const struct symbol_place *p)
{
	static const char *const kinds[] = {
		[SYMBOL_DIR] = "dir",	  [SYMBOL_URL] = "url",	    [SYMBOL_DEFAULT] = "default",
		[SYMBOL_SHARE] = "share", [SYMBOL_DRIVE] = "drive", [SYMBOL_NONSENSE] = "none",
	};
	struct buf *out = ctx;

	return buf_addf(out, "%s%s%s%s%s", out->n ? " " : "", kinds[p->kind],
		p->debuginfod ? "+d" : "", p->where[0] ? "=" : "", p->where);
}

static const struct {
	const char *path, *says;
} rows[] = {
	{"", ""},
	{" ; ;", ""},
	{"/a", "dir=/a"},
	{"/a;/b c ; /d", "dir=/a dir=/b c dir=/d"},
	{"\"/quoted dir\"", "dir=/quoted dir"},
	{"http://h/s;https://h/t", "url=http://h/s url=https://h/t"},
	{"HTTP://h/s", "url=HTTP://h/s"},
	{"file:///srv/x", "url=file:///srv/x"},
	{"srv*/a", "dir=/a"},
	{"SRV*/a*http://h/s", "dir=/a url=http://h/s"},
	{"srv*/a*/b*/c*http://h/s", "dir=/a dir=/b dir=/c url=http://h/s"},
	{"srv*c:\\sym*http://h/s", "drive=c:\\sym url=http://h/s"},
	{"srv**http://h/s", "url=http://h/s"},
	{"srv* /a * http://h/s ", "dir=/a url=http://h/s"},
	{"symsrv*symsrv.dll*/a*http://h/s", "dir=/a url=http://h/s"},
	{"SymSrv*SYMSRV.DLL*http://h/s", "url=http://h/s"},
	{"symsrv*other.dll*http://h/s", "url=http://h/s"},
	{"symsrv*http://h/s", "url=http://h/s"},
	{"symsrv*symsrv.dll", "default"},
	{"srv*", "default"},
	{"/a;srv*;/b", "dir=/a default dir=/b"},
	{"srv*;srv*http://h/s", "default url=http://h/s"},
	{"srv*/a*srv*http://h/s", "dir=/a url=http://h/s"},
	{"cache*", ""},
	{"cache*/c", "dir=/c"},
	{"cache*/c;srv*http://h/s", "dir=/c url=http://h/s"},
	{"cache*/c*srv*http://h/s", "dir=/c url=http://h/s"},
	{"cache*;srv*", "default"},
	{"DebugInfoD*https://d", "url+d=https://d"},
	{"debuginfod*https://d*http://e;http://h/s", "url+d=https://d url+d=http://e url=http://h/s"},
	{"DebugInfoD*https://d*srv*http://h/s", "url+d=https://d url=http://h/s"},
	{"DebugInfoD*", ""},
	{"\\\\server\\share", "share=\\\\server\\share"},
	{"srv*/a*\\\\server\\share", "dir=/a share=\\\\server\\share"},
	{"C:\\Windows\\Symbols", "drive=C:\\Windows\\Symbols"},
	{"srv", "none=srv"},
	{"symbols", "none=symbols"},
	{"ftp://h/s", "none=ftp://h/s"},
	{"%SYSTEMROOT%\\x", "none=%SYSTEMROOT%\\x"},
	{"*", ""},
};

START_TEST(forms)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf out = BUF_UP_TO(4096);

		ck_assert_int_eq(symbol_path_parse(rows[i].path, say, &out), 0);
		ck_assert_msg(strcmp(buf_text(&out), rows[i].says) == 0, "%s: \"%s\", wanted \"%s\"",
			rows[i].path, buf_text(&out), rows[i].says);
	}
}
END_TEST

static int stop(void *ctx, const struct symbol_place *p)
{
	return ++*(int *)ctx == 2 ? -ECANCELED : 0;
}

START_TEST(stops)
{
	int seen = 0;

	ck_assert_int_eq(symbol_path_parse("/a*/b*/c;/d", stop, &seen), -ECANCELED);
	ck_assert_int_eq(seen, 2);
}
END_TEST

UNIT_MAIN("symbol-path", forms, stops)
