/* Tests base/demangle.h: names that are demangled, and names that stay as they are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/util.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct buf out = BUF_UP_TO(1 << 20);

static const char *const names[][2] = {
	{"_ZN7mozilla3dom9AutoJSAPI4InitEv", "mozilla::dom::AutoJSAPI::Init()"},
	{"__ZN7mozilla3dom9AutoJSAPI4InitEv", "mozilla::dom::AutoJSAPI::Init()"},
	{"_Z1fIiEvT_", "f<int>(int)"},
	{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{"_ZL4workPKc.cold", "work(char const*) [clone .cold]"},
	{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"},
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	{"_RNvNtCs1234_7mycrate8from_u643bar", "mycrate::from_u64::bar"},
	{"?test1@@YAXPAH@Z", "test1(int *)"},
	{"?work@C@ns@@UEBA?AV?$vector@H@std@@H@Z", "ns::C::work(int) const"},
};

START_TEST(names_of_compilers)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		ck_assert_msg(demangle(names[i][0], &out), "%s", names[i][0]);
		ck_assert_str_eq(buf_text(&out), names[i][1]);
	}
}
END_TEST

/* A name that is not mangled stays unchanged. So do names for which the demangler's printer cannot be stopped. */
START_TEST(other_names)
{
	static const char *const none[] = {"", "main", "_", "_Z", "_R", "_ZN", "Z1fv", "f(int)", "i",
		"?f@@YAXX", "_f@4", "_ZN7mozilla", "_RNvCs1234_7mycrateu8gdel_5qa"};

	for (unsigned i = 0; i < ARRAY_SIZE(none); i++) {
		ck_assert_msg(!demangle(none[i], &out), "%s: %s", none[i], buf_text(&out));
		ck_assert_uint_eq(out.n, 0);
	}
}
END_TEST

/* Each pair is two of the pair before. */
START_TEST(more_text_than_there_is_memory)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(1 << 16);

	buf_adds(&name, "_Z1f1aIiiE");
	for (const char *digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"; *digit; digit++)
		buf_addf(&name, "S_IS%c_S%c_E", *digit, *digit);
	ck_assert(!demangle(buf_text(&name), &out));
	ck_assert_uint_eq(out.n, 0);
	buf_clear(&name);
	buf_adds(&name, "_RNvC1a1f");
	for (unsigned i = 0; i < 60000; i++)
		buf_adds(&name, "T");
	ck_assert(!demangle(buf_text(&name), &out));
	ck_assert(demangle(names[0][0], &out));
}
END_TEST

UNIT_MAIN("demangle", names_of_compilers, other_names, more_text_than_there_is_memory)
