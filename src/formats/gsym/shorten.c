/* Shortens names of C++: std::vector<T, std::allocator<T> > becomes std::vector<T>. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/shorten.h"
#include "base/util.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define STD "std::"
#define NAME_MOST (16u << 10) /* a longer name stays unchanged */
#define DEPTH_MOST 32
#define ARGS_MOST 8

#define ALLOCATOR "std::allocator<$0>"
#define TRAITS "std::char_traits<$0>"

/* The default of each template parameter; NULL: the parameter has no default. $0 and $1 are the first two
 * arguments. The comparison with an argument ignores spaces, and accepts `const` before or after the type. */
static const struct defaults {
	const char *name;
	const char *of[ARGS_MOST];
} table[] = {
	{"vector", {NULL, ALLOCATOR}},
	{"deque", {NULL, ALLOCATOR}},
	{"list", {NULL, ALLOCATOR}},
	{"forward_list", {NULL, ALLOCATOR}},
	{"set", {NULL, "std::less<$0>", ALLOCATOR}},
	{"multiset", {NULL, "std::less<$0>", ALLOCATOR}},
	{"map", {NULL, NULL, "std::less<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
	{"multimap", {NULL, NULL, "std::less<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
	{"unordered_set", {NULL, "std::hash<$0>", "std::equal_to<$0>", ALLOCATOR}},
	{"unordered_multiset", {NULL, "std::hash<$0>", "std::equal_to<$0>", ALLOCATOR}},
	{"unordered_map", {NULL, NULL, "std::hash<$0>", "std::equal_to<$0>",
		"std::allocator<std::pair<$0 const, $1>>"}},
	{"unordered_multimap", {NULL, NULL, "std::hash<$0>", "std::equal_to<$0>",
		"std::allocator<std::pair<$0 const, $1>>"}},
	{"unique_ptr", {NULL, "std::default_delete<$0>"}},
	{"stack", {NULL, "std::deque<$0>"}},
	{"queue", {NULL, "std::deque<$0>"}},
	{"priority_queue", {NULL, "std::vector<$0>", "std::less<$0>"}},
	{"basic_string", {NULL, TRAITS, ALLOCATOR}},
	{"basic_string_view", {NULL, TRAITS}},
	{"basic_ios", {NULL, TRAITS}},
	{"basic_streambuf", {NULL, TRAITS}},
	{"basic_istream", {NULL, TRAITS}},
	{"basic_ostream", {NULL, TRAITS}},
	{"basic_iostream", {NULL, TRAITS}},
	{"basic_filebuf", {NULL, TRAITS}},
	{"basic_ifstream", {NULL, TRAITS}},
	{"basic_ofstream", {NULL, TRAITS}},
	{"basic_fstream", {NULL, TRAITS}},
	{"basic_stringbuf", {NULL, TRAITS, ALLOCATOR}},
	{"basic_istringstream", {NULL, TRAITS, ALLOCATOR}},
	{"basic_ostringstream", {NULL, TRAITS, ALLOCATOR}},
	{"basic_stringstream", {NULL, TRAITS, ALLOCATOR}},
	{"istreambuf_iterator", {NULL, TRAITS}},
	{"ostreambuf_iterator", {NULL, TRAITS}},
};

struct text {
	const char *p, *end;
};

static int shorten(struct text t, unsigned depth, struct buf *out);

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool begins(struct text t, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(t.end - t.p) >= n && memcmp(t.p, word, n) == 0;
}

/* ---- parameters ------------------------------------------------------------------------- */

struct args {
	unsigned n;
	struct buf arg[ARGS_MOST];
};

static void args_release(struct args *a)
{
	for (unsigned i = 0; i < a->n; i++)
		buf_release(&a->arg[i]);
}

static int add_arg(struct args *a, struct text t, unsigned depth)
{
	if (a->n == ARGS_MOST)
		return -E2BIG;
	while (t.p < t.end && *t.p == ' ')
		t.p++;
	while (t.p < t.end && t.end[-1] == ' ')
		t.end--;
	a->arg[a->n] = BUF_UP_TO(NAME_MOST);
	return shorten(t, depth + 1, &a->arg[a->n++]);
}

/* Takes the arguments from after the `<` up to and including the `>`. -ENOENT: the `>` is missing; -E2BIG:
 * there are more arguments than any known template has. */
static int take_args(struct text *t, unsigned depth, struct args *a)
{
	const char *from = t->p;
	unsigned open = 0;
	int r;

	for (const char *p = t->p; p < t->end; p++) {
		if (*p == '<' || *p == '(' || *p == '[' || *p == '{') {
			open++;
		} else if (open && (*p == '>' || *p == ')' || *p == ']' || *p == '}')) {
			open -= *p != '>' || p[-1] != '-';
		} else if (!open && (*p == ',' || *p == '>')) {
			r = add_arg(a, (struct text){from, p}, depth);
			from = p + 1;
			if (r < 0)
				return r;
			if (*p == '>') {
				t->p = p + 1;
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* Writes a default with $0 and $1 replaced by the arguments `a`. */
static int fill(const char *pattern, const struct args *a, bool const_first, struct buf *out)
{
	for (const char *p = pattern; *p; p++) {
		unsigned i = p[0] == '$' ? (unsigned)(p[1] - '0') : ARGS_MOST;
		bool is_const = i < a->n && strncmp(p + 2, " const", 6) == 0;

		if (i >= a->n) {
			buf_add(out, p, *p != ' ');
			continue;
		}
		buf_addf(out, "%s%s%s", is_const && const_first ? "const " : "", buf_text(&a->arg[i]),
			is_const && !const_first ? " const" : "");
		p += is_const ? 7 : 1;
	}
	return out->r;
}

static bool same_but_spaces(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b || !*a)
			return *a == *b;
	}
}

static bool is_default(const struct defaults *d, const struct args *a, unsigned i)
{
	bool is = false;

	for (unsigned first = 0; d->of[i] && !is && first < 2; first++) {
		_cleanup_buf_ struct buf want = BUF_UP_TO(2 * NAME_MOST);

		is = fill(d->of[i], a, first, &want) == 0 &&
			same_but_spaces(buf_text(&want), buf_text(&a->arg[i]));
	}
	return is;
}

/* ---- one template ------------------------------------------------------------------------ */

static const struct defaults *known(struct text name)
{
	size_t n = (size_t)(name.end - name.p);

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		if (strlen(table[i].name) == n && memcmp(table[i].name, name.p, n) == 0)
			return &table[i];
	return NULL;
}

static int put(const struct defaults *d, const struct args *a, unsigned n, struct buf *out)
{
	bool narrow = strcmp(buf_text(&a->arg[0]), "char") == 0,
	     wide = strcmp(buf_text(&a->arg[0]), "wchar_t") == 0;
	const char *last = buf_text(&a->arg[n - 1]);

	if (n == 1 && (narrow || wide) && strncmp(d->name, "basic_", 6) == 0)
		return buf_addf(out, STD "%s%s", wide ? "w" : "", d->name + 6);
	buf_addf(out, STD "%s<", d->name);
	for (unsigned i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		buf_adds(out, buf_text(&a->arg[i]));
	}
	return buf_adds(out, *last && last[strlen(last) - 1] == '>' ? " >" : ">");
}

/* Shortens the template after "std::", and moves *t after it. -ENOENT: the template is unknown. */
static int take_template(struct text *t, unsigned depth, struct buf *out)
{
	struct text name = {t->p, t->p}, rest = *t;
	struct args a = {.n = 0};
	const struct defaults *d;
	unsigned n;
	int r;

	while (name.end < t->end && in_word(*name.end))
		name.end++;
	d = known(name);
	if (!d || name.end == t->end || *name.end != '<')
		return -ENOENT;
	rest.p = name.end + 1;
	r = take_args(&rest, depth, &a);
	n = a.n;
	while (r == 0 && n > 1 && is_default(d, &a, n - 1))
		n--;
	if (r == 0)
		r = put(d, &a, n, out);
	args_release(&a);
	if (r == 0)
		t->p = rest.p;
	return r == -E2BIG ? -ENOENT : r;
}

static int shorten(struct text t, unsigned depth, struct buf *out)
{
	const char *start = t.p;
	int r = 0;

	while (r == 0 && t.p < t.end) {
		bool here = (t.p == start || (!in_word(t.p[-1]) && t.p[-1] != ':')) && begins(t, STD);

		if (!here) {
			r = buf_add(out, t.p++, 1);
			continue;
		}
		t.p += strlen(STD);
		/* Drop the inline namespaces that libraries use for their versions. */
		if (begins(t, "__cxx11::"))
			t.p += 9;
		else if (begins(t, "__1::"))
			t.p += 5;
		r = depth < DEPTH_MOST ? take_template(&t, depth, out) : -ENOENT;
		if (r == -ENOENT)
			r = buf_adds(out, STD);
	}
	return r;
}

int shorten_cpp(const char *p, size_t n, struct buf *out)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(NAME_MOST);
	int r;

	if (n >= NAME_MOST || !memmem(p, n, STD, strlen(STD)))
		return 0;
	r = shorten((struct text){p, p + n}, 0, &b);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (b.n >= n)
		return 0;
	r = buf_add(out, b.p, b.n);
	return r < 0 ? r : 1;
}
