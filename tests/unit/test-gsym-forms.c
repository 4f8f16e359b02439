/* Tests formats/gsym/shorten.c (which parts of C++ names are left out) and derive/convert/object.c (object files
 * of each format, byte order and width are read back, function by function). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/object.h"
#include "formats/gsym/shorten.h"
#include "gsyms.h"
#include "unit.h"

/* ---- names ------------------------------------------------------------------------------ */

static const struct {
	const char *name, *wanted; /* NULL: stays */
} names[] = {
	{"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int>::push_back(int&&)"},
	{"std::vector<int, std::allocator<int>>::size() const", "std::vector<int>::size() const"},
	{"std::__1::vector<int, std::__1::allocator<int>>", "std::vector<int>"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::~basic_string()",
		"std::string::~basic_string()"},
	{"std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >", "std::wstring"},
	{"std::basic_string<char16_t, std::char_traits<char16_t>, std::allocator<char16_t> >",
		"std::basic_string<char16_t>"},
	{"std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >"
	 "(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
		"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)"},
	{"std::map<int, a::b, std::less<int>, std::allocator<std::pair<int const, a::b> > >::operator[](int&&)",
		"std::map<int, a::b>::operator[](int&&)"},
	{"std::map<int, a::b, std::less<int>, std::allocator<std::pair<const int, a::b> > >",
		"std::map<int, a::b>"},
	{"std::map<int, a::b, std::greater<int>, std::allocator<std::pair<int const, a::b> > >",
		"std::map<int, a::b, std::greater<int> >"},
	{"std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, int> "
	"> >",
		"std::unordered_map<int, int>"},
	{"f(std::set<std::vector<int, std::allocator<int> >, std::less<std::vector<int, std::allocator<int> > >, "
	 "std::allocator<std::vector<int, std::allocator<int> > > >)", "f(std::set<std::vector<int> >)"},
	{"std::unique_ptr<a, std::default_delete<a> >::get()", "std::unique_ptr<a>::get()"},
	{"std::stack<int, std::deque<int, std::allocator<int> > >", "std::stack<int>"},
	{"std::vector<a, my::allocator<a> >", NULL},
	{"std::vector<a<b, (c)1>, std::allocator<a<b, (c)1> > >", "std::vector<a<b, (c)1> >"},
	{"mystd::vector<int, std::allocator<int> >", NULL},
	{"my::std::vector<int, std::allocator<int> >", NULL},
	{"::std::vector<int, std::allocator<int> >", NULL},
	{"std::vector<int, std::allocator<int>", NULL},
	{"std::vector<>", NULL},
	{"std::thread::join()", NULL},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi", NULL},
	{"main", NULL},
	{"", NULL},
};

START_TEST(short_names)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(1 << 16);
		int r = shorten_cpp(names[i].name, strlen(names[i].name), &b);

		ck_assert_msg(r == (names[i].wanted != NULL), "%s: %d %s", names[i].name, r, buf_text(&b));
		ck_assert_str_eq(buf_text(&b), names[i].wanted ? names[i].wanted : "");
	}
}
END_TEST

/* ---- objects ---------------------------------------------------------------------------- */

static void tell(struct gsym_writer *w, uint64_t at, const char *name)
{
	uint32_t n, file;

	n = gsym_name(w, name, strlen(name));
	file = gsym_add_path(w, "/src/a.c", 8);
	gsym_begin(w, at, 0x20, n, GSYM_DEBUG);
	gsym_add_row(w, at, file, 7);
	gsym_end(w);
}

START_TEST(objects)
{
	static const struct gsym_made all[] = {
		{.kind = IMAGE_ELF, .machine = 62, .type = 2},
		{.kind = IMAGE_ELF, .machine = 20, .is32 = true, .big = true},
		{.kind = IMAGE_MACHO, .machine = 0x1000007},
		{.kind = IMAGE_MACHO, .machine = 18, .is32 = true, .big = true},
		{.kind = IMAGE_COFF, .machine = 0x8664},
		{.kind = IMAGE_COFF, .machine = 0x14c, .is32 = true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
		_cleanup_buf_ struct buf file = BUF_UP_TO(1 << 20), line = BUF_UP_TO(1 << 10);
		struct err e = {0};
		struct gsym g;

		ck_assert_int_eq(gsym_writer_new(&w), 0);
		gsym_set_shorten(w, i % 2);
		tell(w, 0x1000, "one");
		tell(w, 0x2000, "std::vector<int, std::allocator<int> >::size()");
		ck_assert_int_eq(gsym_write_object(w, &all[i], &file, &e), 0);
		ck_assert_msg(gsym_open(&g, (struct span){(uint8_t *)file.p, file.n}, &e) == 0,
			"%u: %s", i, e.text);
		ck_assert_int_eq(g.form, GSYM_SECT0);
		ck_assert_int_eq(g.big, all[i].big);
		ck_assert_int_eq(gsym_check(&g, &e), 0);
		ck_assert_str_eq(gsyms_frames(&g, 0x1004, &line), "one@/src/a.c:7");
		ck_assert_str_eq(gsyms_frames(&g, 0x2004, &line),
			i % 2 ? "std::vector<int>::size()@/src/a.c:7"
			      : "std::vector<int, std::allocator<int> >::size()@/src/a.c:7");
	}
}
END_TEST

UNIT_MAIN("gsym-forms", short_names, objects)
