/* Compares listings from the index with a model: every path that layout_each() prints for any
 * stored key, and each name once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "behind.h"
#include "names/layout/name.h"
#include "names/layout/pattern.h"
#include "scratch.h"
#include "store/browse.h"
#include "store/session.h"

#include <ctype.h>
#include <sqlite3.h>

static uint32_t seed = 1;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (unsigned)(((uint64_t)seed * n) >> 32);
}

/* ---- keys --------------------------------------------------------------------------- */

static const char *const file_names[] = {"Crash.pdb", "crash.PDB", "crash.exe", "CRASH.exe", "ab",
	"AB", "abcd", "_.debug", "_", "_.x", "libc.so.6", "x", ".hidden", ".x", "d.dll", "D.dll",
	"\xc3\xa9t\xc3\xa9.dll", "\xc3\xa9.pdb", "a\\b.pdb", "foo.dwp", "", "", "Demo", "demo",
	"mscordaccore.dll", "libmscordaccore.so", "two words.pdb", "pingme.txt", "\xff\xfe.pdb"};
static const char *const inner_names[] = {"/usr/src/a.c", "/usr/src/A.c", "/usr/src/deep/b.c",
	"/usr/include/x.h", "/a.c", "/USR/src/a.c", "/usr/src/x.dwp"};
static const char *const section_names[] = {".text", ".debug_info", ".TEXT", ".gnu_debuglink"};

/* Ids of few values each, so that they meet. */
static void any_id(char *out, size_t room, unsigned type)
{
	static const unsigned lengths[] = {40, 40, 32, 32, 13, 33, 33, 34, 40, 9, 10, 16, 8, 2, 35, 128};
	unsigned n = lengths[dice(ARRAY_SIZE(lengths))], from = dice(4), value = dice(40);
	size_t at = 0;

	for (unsigned i = 0; i < n && at + 1 < room; i++)
		out[at++] = "0123456789abcdef"[i < from ? 10 : (value * (i / 3 + 1) + i) % 16];
	if (n > 32 && dice(2))
		out[32] = '0';
	if (dice(8) == 0) { /* mostly zeros, which look like another kind of id, or like none */
		unsigned begin = dice(2) ? 0 : dice(n), end = dice(2) ? n : begin + dice(n - begin + 1);

		memset(out + begin, '0', end - begin);
	}
	out[at] = '\0';
	if (dice(2))
		for (size_t i = 0; i < at; i++)
			out[i] = (char)toupper((unsigned char)out[i]);
}

/* Build ids have whole bytes. */
static bool is_cut(const struct key *k)
{
	struct artifact a;

	key_artifact(k, &a);
	return strlen(a.m.code_id) % 2 && (a.m.object == OBJECT_ELF || a.m.object == OBJECT_WASM);
}

/* The size in a code id of a PE file has no zeros before it where symfs prints it. */
static bool is_padded(const struct key *k)
{
	return filetypes[k->type].flags & TYPE_PE_ID && strlen(k->id) > 9 && k->id[8] == '0';
}

static struct key any_key(void)
{
	struct key k, again;
	char text[KEY_TEXT];

	do {
		memset(&k, 0, sizeof(k));
		k.type = 1 + dice(FILETYPES - 1);
		any_id(k.id, sizeof(k.id), k.type);
		snprintf(k.name, sizeof(k.name), "%s",
			k.type == FILETYPE_SOURCE ? inner_names[dice(ARRAY_SIZE(inner_names))]
			: k.type == FILETYPE_SECTION
				? section_names[dice(ARRAY_SIZE(section_names))]
				: file_names[dice(ARRAY_SIZE(file_names))]);
	} while (is_cut(&k) || is_padded(&k) || key_parse(&again, key_text(&k, text)) < 0);
	return k;
}

static void put_all(struct store *s, const struct key *keys, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	char sha256[SHA256_TEXT];
	int64_t object;

	memset(sha256, 'a', sizeof(sha256) - 1);
	sha256[sizeof(sha256) - 1] = '\0';
	while (session_next(&ses)) {
		ses.r = index_begin(ses.ix);
		if (ses.r == 0)
			ses.r = index_object_put(ses.ix, sha256, 1, 1, &(struct worth){.known = false}, &object);
		for (unsigned i = 0; i < n && ses.r == 0; i++)
			ses.r = index_key_put(ses.ix, &keys[i], object, &FACTS);
		if (ses.r == 0)
			ses.r = index_commit(ses.ix);
	}
	ck_assert_int_eq(ses.r, 0);
}

/* Another process drops a key. */
static void drop(const struct key *k)
{
	char canon[KEY_TEXT], *text = sqlite3_mprintf("DELETE FROM keys WHERE canon = %Q", key_canon(k, canon));

	sql(text);
	sqlite3_free(text);
}

/* ---- the model: a sorted set of folded paths ---------------------------------------- */

struct paths {
	char **p;
	size_t n, room;
};

/* The layout at hand has paths of source files, whose case counts, below an identifier. */
static bool of_sources;

static void choose(const struct layout *l)
{
	of_sources = strcmp(l->name, "source") == 0;
}

/* Names of sources and sections keep their case. */
static char *folded(const char *path)
{
	char *out = strdup(path), *end = strstr(out, "/source/");

	if (!end)
		end = strstr(out, "/section/");
	if (of_sources)
		end = strchr(out, '/');
	for (char *p = out; *p && p != end; p++)
		*p = (char)tolower((unsigned char)*p);
	return out;
}

static void paths_add(struct paths *to, char *take)
{
	if (to->n == to->room) {
		to->room = to->room * 2 + 64;
		to->p = reallocarray(to->p, to->room, sizeof(*to->p));
	}
	to->p[to->n++] = take;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void paths_sort(struct paths *p, bool unique)
{
	size_t n = 0;

	if (p->n)
		qsort(p->p, p->n, sizeof(*p->p), by_text);
	for (size_t i = 0; i < p->n; i++) {
		if (unique && n && strcmp(p->p[n - 1], p->p[i]) == 0)
			free(p->p[i]);
		else
			p->p[n++] = p->p[i];
	}
	p->n = n;
}

static void paths_free(struct paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->p[i]);
	free(p->p);
	*p = (struct paths){NULL};
}

static bool can_be_seen(const char *path)
{
	const char *p = path;

	if (strcasestr(path, "/source/"))
		return true;
	for (;;) {
		size_t n = strcspn(p, "/");

		if (layout_never(p, n) || memchr(p, '\\', n))
			return false;
		if (!p[n])
			return true;
		p += n + 1;
	}
}

static int model_path(void *ctx, unsigned row, const char *path)
{
	char *all;

	if (!can_be_seen(path))
		return 0;
	all = folded(path);
	for (char *p = all; (p = strchr(p, '/')); p++)
		paths_add(ctx, strndup(all, (size_t)(p - all)));
	paths_add(ctx, all);
	return 0;
}

/* A tier is there for any key of the class: those of its names may all have ids of which no path is listed. */
static int model_tier(void *ctx, unsigned row, const char *path)
{
	char *all;

	if (!can_be_seen(path))
		return 0;
	all = folded(path);
	all[strcspn(all, "/")] = '\0';
	paths_add(ctx, all);
	return 0;
}

static bool came_before(const struct key *keys, unsigned i)
{
	for (unsigned j = 0; j < i; j++)
		if (key_equal(&keys[j], &keys[i]))
			return true;
	return false;
}

/* Each spelling of a name is shown as the first that is left, which case does not change. */
static void model(const struct layout *l, const struct key *keys, unsigned n, struct paths *out)
{
	for (unsigned i = 0; i < n; i++) {
		struct artifact a;
		struct key any;

		key_artifact(&keys[i], &a);
		layout_each(l, &a, model_path, out);
		if (!(l->flags & LAYOUT_TWO_TIER) || key_sample(key_class(&keys[i]), keys[i].name, &any) < 0)
			continue;
		key_artifact(&any, &a);
		layout_each(l, &a, model_tier, out);
	}
	paths_sort(out, true);
}

/* ---- what is listed ----------------------------------------------------------------- */

/* Below the prefix, which is a fixed entry. */
static void in_layout(const struct layout *l, const char *dir, struct listing_plan *out)
{
	char *at = NULL;

	ck_assert_int_ge(asprintf(&at, "%s%s%s", l->prefix, *l->prefix && *dir ? "/" : "", dir), 0);
	ck_assert_int_eq(listing_plan_of(l, at, out), 0);
	free(at);
}

static void walk(struct store *s, const struct layout *l, const char *dir, struct paths *out)
{
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry e[8];
	uint64_t after = 0;
	int n;

	in_layout(l, dir, ro);
	while ((n = store_browse(s, ro, after, e, 1 + dice(8))) > 0) {
		for (int i = 0; i < n; i++) {
			char *path = NULL;

			ck_assert(e[i].offset && e[i].offset >> 63 == 0);
			ck_assert_int_ge(asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", e[i].name), 0);
			paths_add(out, folded(path));
			ck_assert(e[i].dir || e[i].number > 1);
			if (dice(8) == 0)
				ck_assert_int_eq(store_browse_has(s, ro, e[i].name), 1);
			if (e[i].dir)
				walk(s, l, path, out);
			free(path);
		}
		after = e[n - 1].offset;
	}
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(store_browse_has(s, ro, "nobody-has-this"), 0);
	free(ro);
}

static void compare(const char *layout, const struct paths *want, const struct paths *have)
{
	for (size_t i = 0; i < want->n || i < have->n; i++)
		ck_assert_msg(i < want->n && i < have->n && strcmp(want->p[i], have->p[i]) == 0,
			"%s: %zu wanted, %zu listed; %zu: %s wanted, %s listed", layout, want->n,
			have->n, i, i < want->n ? want->p[i] : "nothing",
			i < have->n ? have->p[i] : "nothing");
}

static size_t check_all(struct store *s, const struct key *keys, unsigned n)
{
	size_t seen = 0;

	for (unsigned i = 0; layout_at(i); i++) {
		struct paths want = {NULL}, have = {NULL};

		choose(layout_at(i));
		model(layout_at(i), keys, n, &want);
		walk(s, layout_at(i), "", &have);
		paths_sort(&have, false);
		compare(layout_at(i)->name, &want, &have);
		seen += have.n;
		paths_free(&want);
		paths_free(&have);
	}
	return seen;
}

START_TEST(every_path_once)
{
	enum { N = 1700 };
	struct key *keys = calloc(N, sizeof(*keys));
	struct store *s;
	size_t seen;

	scratch_dir();
	s = open_scratch();
	ck_assert_uint_eq(check_all(s, keys, 0), 0);
	seed = unit_seed(7);
	for (unsigned i = 0; i < N; i++) /* a key keeps the name that it was first given */
		do
			keys[i] = any_key();
		while (came_before(keys, i));
	put_all(s, keys, N);
	seen = check_all(s, keys, N);
	printf("# %zu entries\n", seen);
	ck_assert_uint_gt(seen, 5000);
	/* Half of them go, and leave nothing behind. */
	for (unsigned i = N / 2; i < N; i++)
		drop(&keys[i]);
	for (unsigned i = 0; i < N / 2; i++)
		put_all(s, &keys[i], 1);
	check_all(s, keys, N / 2);
	for (unsigned i = 0; i < N / 2; i++)
		drop(&keys[i]);
	ck_assert_uint_eq(check_all(s, keys, 0), 0);
	free(keys);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- while keys come and go --------------------------------------------------------- */

static size_t find(const struct paths *p, const char *text)
{
	char **hit = !p->n ? NULL : bsearch(&text, p->p, p->n, sizeof(*p->p), by_text);

	return hit ? (size_t)(hit - p->p) : SIZE_MAX;
}

/* The folded names in a directory that the first n keys print. */
static void children(const struct layout *l, const struct key *keys, unsigned n, const char *dir,
	struct paths *out)
{
	_cleanup_free_ char *in = folded(dir);
	struct paths all = {NULL};
	size_t len = strlen(in);

	model(l, keys, n, &all);
	for (size_t i = 0; i < all.n; i++) {
		const char *p = all.p[i];

		if (len && (strncmp(p, in, len) != 0 || p[len] != '/'))
			continue;
		p += len + (len > 0);
		if (!strchr(p, '/'))
			paths_add(out, strdup(p));
	}
	paths_free(&all);
	paths_sort(out, true);
}

/* The names of the keys that stay. A name that other keys share depends on the first key, and those keys come
 * and go, so it does not count. */
static void staying(const struct layout *l, const struct key *keys, unsigned stay, unsigned n, const char *dir,
	struct paths *out)
{
	struct paths others = {NULL};
	size_t kept = 0;

	children(l, keys, stay, dir, out);
	children(l, keys + stay, n - stay, dir, &others);
	for (size_t i = 0; i < out->n; i++)
		if (find(&others, out->p[i]) == SIZE_MAX)
			out->p[kept++] = out->p[i];
		else
			free(out->p[i]);
	out->n = kept;
	paths_free(&others);
}

/* Lists a directory in steps, between which keys behind the first `stay` go or come back. */
static void churned(struct store *s, const struct layout *l, const char *dir, const struct key *keys,
	unsigned stay, unsigned n)
{
	struct paths want = {NULL};
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry e[3];
	unsigned *seen;
	uint64_t after = 0;
	size_t missed = 0, first = 0;
	int got;

	staying(l, keys, stay, n, dir, &want);
	seen = calloc(want.n + 1, sizeof(*seen));
	in_layout(l, dir, ro);
	while ((got = store_browse(s, ro, after, e, 1 + dice(3))) > 0) {
		for (int i = 0; i < got; i++) {
			_cleanup_free_ char *name = strdup(e[i].name);
			size_t at;

			for (char *p = name; *p && !strstr(dir, "/source") && !strstr(dir, "/section") &&
				!(of_sources && *dir); p++)
				*p = (char)tolower((unsigned char)*p);
			at = find(&want, name);
			if (at != SIZE_MAX)
				ck_assert_msg(seen[at]++ == 0, "%s/%s/%s: twice", l->name, dir, name);
		}
		after = e[got - 1].offset;
		for (unsigned i = 0; i < 3; i++) {
			unsigned k = stay + dice(n - stay);

			if (dice(2))
				drop(&keys[k]);
			else
				put_all(s, &keys[k], 1);
		}
	}
	ck_assert_int_eq(got, 0);
	for (size_t i = 0; i < want.n; i++)
		if (!seen[i]) {
			missed++;
			first = i;
		}
	ck_assert_msg(!missed, "%s/%s: %zu of %zu missed, %s", l->name, dir, missed, want.n,
		missed ? want.p[first] : "");
	free(seen);
	free(ro);
	paths_free(&want);
}

START_TEST(stays_are_seen_once)
{
	enum { N = 700, STAY = 350 };
	struct key *keys = calloc(N, sizeof(*keys));
	struct store *s;

	scratch_dir();
	s = open_scratch();
	seed = unit_seed(11);
	for (unsigned i = 0; i < N; i++)
		do
			keys[i] = any_key();
		while (came_before(keys, i));
	put_all(s, keys, N);
	for (unsigned i = 0; layout_at(i); i++) {
		const struct layout *l = layout_at(i);
		struct paths some = {NULL};

		choose(l);
		churned(s, l, "", keys, STAY, N);
		model(l, keys, STAY, &some);
		for (unsigned j = 0; some.n && j < 12; j++) {
			_cleanup_free_ char *dir = strdup(some.p[dice((unsigned)some.n)]);

			if (strchr(dir, '/'))
				*strrchr(dir, '/') = '\0';
			churned(s, l, dir, keys, STAY, N);
		}
		paths_free(&some);
	}
	free(keys);
	store_close(s);
	scratch_end();
}
END_TEST

START_TEST(offsets_stay_good)
{
	enum { N = 400 };
	struct key *keys = calloc(N, sizeof(*keys));
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry *e = calloc(N, sizeof(*e)), one;
	static const char *const where[][2] = {{"symstore", ""}, {"symstore_index2", ""},
		{"gdb", ".build-id"}, {"debuginfod", "buildid"}, {"native", ""}, {"unified", ""},
		{"symstore", "many.dll"}};
	struct store *s;
	int n;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < N; i++) {
		static const enum filetype types[] = {FILETYPE_ELF_DEBUG, FILETYPE_PE};

		keys[i].type = types[i % 2];
		snprintf(keys[i].id, sizeof(keys[i].id), i % 2 ? "%08x12000" : "%08x%032x",
			i * 0x1234567u, i);
		snprintf(keys[i].name, sizeof(keys[i].name), i % 4 == 1 ? "many.dll" : "%x.dll",
			i * 0x7654321u);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(where); i++) {
		put_all(s, keys, N);
		ck_assert_int_eq(listing_plan_of(layout_find(where[i][0]), where[i][1], ro), 0);
		n = store_browse(s, ro, 0, e, N);
		ck_assert_int_gt(n, 20);
		for (unsigned j = 0; j < 50; j++) {
			unsigned at = dice((unsigned)n - 1);

			ck_assert_int_eq(store_browse(s, ro, e[at].offset, &one, 1), 1);
			ck_assert_str_eq(one.name, e[at + 1].name);
			ck_assert_uint_eq(one.offset, e[at + 1].offset);
		}
		ck_assert_int_eq(store_browse(s, ro, e[n - 1].offset, &one, 1), 0);
		/* One that no listing ever gave. */
		ck_assert_int_ge(store_browse(s, ro, (1ull << 62) | 1, &one, 1), 0);
		ck_assert_int_ge(store_browse(s, ro, INT64_MAX, &one, 1), 0);
		/* What an offset stands at may go: the next is the next that is left. */
		for (unsigned k = 0; k < N; k += 3)
			drop(&keys[k]);
		for (unsigned k = 1; k < N; k += 3)
			drop(&keys[k]);
		for (int at = 0; at < n - 1; at++) {
			int next = at + 1;

			while (next < n && store_browse_has(s, ro, e[next].name) == 0)
				next++;
			ck_assert_int_eq(store_browse(s, ro, e[at].offset, &one, 1), next < n);
			if (next < n)
				ck_assert_str_eq(one.name, e[next].name);
		}
		for (unsigned k = 2; k < N; k += 3)
			drop(&keys[k]);
		ck_assert_int_eq(store_browse(s, ro, e[n / 2].offset, &one, 1), 0);
	}
	free(keys);
	free(ro);
	free(e);
	store_close(s);
	scratch_end();
}
END_TEST

/* A file that is listed by its debug id has the number that a look-up tells: that of its code id. */
START_TEST(numbers_by_debug_id)
{
	static const char *const texts[] = {"pe 5ab380779000 a.exe", "pe 3249D99D0C4049318610F4E4FB0B69361 a.exe",
		"elf_code 3249D99D0C4049318610F4E4FB0B69350"};
	static const char *const dirs[] = {"32/49d99d0c4049318610f4e4fb0b69361",
		"32/49d99d0c4049318610f4e4fb0b69350"};
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry e[2];
	struct key keys[3];
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(key_parse(&keys[i], texts[i]), 0);
	put_all(s, keys, 3);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(listing_plan_of(layout_find("unified"), dirs[i], ro), 0);
		ck_assert_int_eq(store_browse(s, ro, 0, e, 2), 1);
		ck_assert_str_eq(e[0].name, "executable");
		ck_assert_uint_eq(e[0].number, key_number(&keys[i ? 2 : 0]));
	}
	free(ro);
	store_close(s);
	scratch_end();
}
END_TEST

/* Two files of one id have the same path: what is listed is the one that a look-up tries first. */
START_TEST(numbers_of_equal_paths)
{
	static const char *const texts[] = {"elf_code dfb85de42daffd09640c8fe377d572de3e168920",
		"wasm_code dfb85de42daffd09640c8fe377d572de3e168920"};
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry e[2];
	struct key keys[2];
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(key_parse(&keys[i], texts[i]), 0);
	put_all(s, keys, 2);
	ck_assert_int_eq(listing_plan_of(layout_find("unified"), "df/b85de42daffd09640c8fe377d572de3e168920", ro), 0);
	ck_assert_int_eq(store_browse(s, ro, 0, e, 2), 1);
	ck_assert_str_eq(e[0].name, "executable");
	ck_assert_uint_eq(e[0].number, key_number(&keys[0]));
	free(ro);
	store_close(s);
	scratch_end();
}
END_TEST

/* A WASM module with an id too short for a path does not list its name; one with a longer id does. */
START_TEST(names_without_paths)
{
	struct listing_plan *ro = malloc(sizeof(*ro));
	struct browse_entry e[2];
	struct key keys[2];
	struct store *s;

	scratch_dir();
	s = open_scratch();
	ck_assert_int_eq(key_parse(&keys[0], "wasm_code 0123456789 short.wasm"), 0);
	ck_assert_int_eq(key_parse(&keys[1], "wasm_code 0123456789abcdef long.wasm"), 0);
	put_all(s, keys, 2);
	ck_assert_int_eq(listing_plan_of(layout_find("slashsymbols"), "", ro), 0);
	ck_assert_int_eq(store_browse(s, ro, 0, e, 2), 1);
	ck_assert_str_eq(e[0].name, "long.wasm");
	free(ro);
	store_close(s);
	scratch_end();
}
END_TEST

/* ---- the table ---------------------------------------------------------------------- */

static int row_of(void *ctx, unsigned row, const char *path)
{
	((bool *)ctx)[row] = true;
	return 0;
}

static void rows_of_key(const struct layout *l, const struct key *k, bool rows[static LISTING_ROWS])
{
	struct artifact a;

	memset(rows, 0, LISTING_ROWS * sizeof(bool));
	key_artifact(k, &a);
	layout_each_printed(l, &a, row_of, rows);
}

/* One key of a class stands for all of them: whatever its length, the same rows print it. */
START_TEST(classes_are_uniform)
{
	unsigned seen = 0;

	for (unsigned type = 1; type < FILETYPES; type++)
		for (unsigned len = 1; len < KEY_ID_MAX; len++)
			for (unsigned ends = 0; ends < 2; ends++) {
				struct key k = {.type = type}, sample;

				memset(k.id, '1', len);
				memset(k.id + (len > 32 ? 32 : len - 1), ends ? '0' : '1', 1);
				snprintf(k.name, sizeof(k.name), "/n");
				if (type != FILETYPE_SOURCE)
					snprintf(k.name, sizeof(k.name), "n");
				if (key_class(&k) % KEY_FORMS == KEY_FORM_NONE)
					continue;
				ck_assert_int_eq(key_sample(key_class(&k), k.name, &sample), 0);
				for (unsigned i = 0; layout_at(i); i++) {
					bool of_key[LISTING_ROWS], of_sample[LISTING_ROWS];

					rows_of_key(layout_at(i), &k, of_key);
					rows_of_key(layout_at(i), &sample, of_sample);
					ck_assert_msg(memcmp(of_key, of_sample, sizeof(of_key)) == 0,
						"%s: %s %s", layout_at(i)->name, filetypes[type].name, k.id);
					seen++;
				}
			}
	ck_assert_uint_gt(seen, 1000);
}
END_TEST

/* Each row that prints is listed on every level of its paths, and nothing has no part. */
START_TEST(every_row_has_a_part)
{
	struct listing_plan *ro = malloc(sizeof(*ro));
	unsigned seen = 0;

	for (unsigned i = 0; layout_at(i); i++)
		for (unsigned class = 0; class < KEY_CLASSES; class++) {
			bool rows[LISTING_ROWS];
			struct key k;

			if (key_sample(class, "/n", &k) < 0)
				continue;
			if (k.type != FILETYPE_SOURCE)
				snprintf(k.name, sizeof(k.name), "name");
			rows_of_key(layout_at(i), &k, rows);
			for (unsigned row = 0; row < LISTING_ROWS; row++) {
				_cleanup_buf_ struct buf path = BUF_UP_TO(4096);
				struct artifact a;

				if (!rows[row])
					continue;
				key_artifact(&k, &a);
				ck_assert_int_eq(layout_path(layout_at(i), &a, CASING_DEFAULT, 0, &path), 0);
				for (char *p = path.p + path.n; (p = memrchr(path.p, '/', path.n)); seen++) {
					bool has = false;

					*p = '\0';
					path.n = (size_t)(p - path.p);
					ck_assert_int_eq(listing_plan_of(layout_at(i), path.p, ro), 0);
					for (unsigned part = 0; part < ro->n; part++)
						has = has || (ro->parts[part].range.classes[class]);
					ck_assert_msg(has, "%s: %s", layout_at(i)->name, path.p);
				}
			}
		}
	ck_assert_uint_gt(seen, 100);
	free(ro);
}
END_TEST

UNIT_MAIN("browse", every_path_once, stays_are_seen_once, offsets_stay_good, numbers_by_debug_id,
	numbers_of_equal_paths, names_without_paths, classes_are_uniform, every_row_has_a_part)
