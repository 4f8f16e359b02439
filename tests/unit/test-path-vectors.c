/* Compares paths with tables: symfs must print the paths of the table in the same order, and must parse its
 * requests. Our own tables, tests/data/tables/paths.tsv and spellings.tsv, say what symfs-layouts(7) promises, and
 * have all paths of a file and all files of a request. The shared tables beside the source are of another
 * implementation. Intended differences from these are in the file path-differences.tsv, each with its reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "names/layout/layout.h"
#include "names/layout/tree.h"
#include "unit/row.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LAYOUT, CASING, TYPE, CODE_FILE, CODE_ID, DEBUG_FILE, DEBUG_ID, PATH, OBJECT, ORDER, ORIGIN, COLUMNS };
enum { ROWS_MOST = 4000, PATHS_MOST = 16 };

/* The columns of a request in our own table; a row of the shared table has no layout. */
enum { R_LAYOUT, R_PATH, R_TYPE, R_OBJECT, R_CODE_ID, R_CODE_FILE, R_DEBUG_ID, R_DEBUG_FILE };

struct row {
	char *column[COLUMNS];
};

struct table {
	char *text;
	unsigned n;
	struct row rows[ROWS_MOST];
};

static struct table paths, requests, differences;
static unsigned compared, failed, meant;

static void take_line(struct table *t, char *line)
{
	static char none[] = "";

	if (!*line || *line == '#')
		return;
	if (t->n == ROWS_MOST)
		abort();
	for (unsigned i = 0; i < COLUMNS; i++)
		t->rows[t->n].column[i] = line ? strsep(&line, "\t") : none;
	t->n++;
}

static void load(struct table *t, const char *top, const char *name)
{
	char path[4096], *rest;
	size_t n;

	free(t->text);
	t->text = NULL;
	t->n = 0;
	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	if (path_read(AT_FDCWD, path, 16 << 20, &t->text, &n) < 0)
		return;
	rest = t->text;
	while (rest)
		take_line(t, strsep(&rest, "\n"));
}

static bool is_meant(const char *column, const char *value)
{
	for (unsigned i = 0; i < differences.n; i++)
		if (strcmp(differences.rows[i].column[0], column) == 0 &&
			strcmp(differences.rows[i].column[1], value) == 0)
			return true;
	return false;
}

static void differ(const char *column, const char *value, const char *what, const char *want)
{
	if (is_meant(column, value)) {
		meant++;
		return;
	}
	failed++;
	printf("# %s: not %s\n", what, want);
}

static const char *value(const char *column)
{
	return strcmp(column, "-") == 0 ? "" : column;
}

/* ---- printing ----------------------------------------------------------------------- */

static struct artifact artifact_of(const struct row *r)
{
	struct artifact a = {.type = filetype_find(r->column[TYPE]), .m.object = object_type_find(r->column[OBJECT])};
	const char *code = value(r->column[CODE_ID]), *debug = value(r->column[DEBUG_ID]);

	if (a.type == FILETYPE_SOURCE || a.type == FILETYPE_SECTION)
		snprintf(a.m.path, sizeof(a.m.path), "%s", r->column[CODE_FILE]);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "%s", path_base(value(r->column[CODE_FILE])));
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "%s", path_base(value(r->column[DEBUG_FILE])));
	if (*code)
		module_set_code_id(&a.m, code, strlen(code));
	if (*debug)
		debug_id_parse(&a.m.debug_id, debug, strlen(debug));
	return a;
}

static bool same_question(const struct row *a, const struct row *b)
{
	for (unsigned i = LAYOUT; i <= OBJECT; i++)
		if (i != PATH && strcmp(a->column[i], b->column[i]) != 0)
			return false;
	return true;
}

static const char *expected(const struct row *r, unsigned order)
{
	for (unsigned i = 1; i < paths.n; i++)
		if (same_question(&paths.rows[i], r) && strtoul(paths.rows[i].column[ORDER], NULL, 10) == order)
			return paths.rows[i].column[PATH];
	return NULL;
}

/* The paths up to that of the row stand in ours in that order. */
static bool printed(const struct row *r, const struct artifact *a, unsigned order)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const struct layout *l = layout_find(r->column[LAYOUT]);
	int casing = casing_find(r->column[CASING]);
	unsigned at = 1;

	for (unsigned nth = 0; at <= order; nth++) {
		const char *want = expected(r, at);

		buf_clear(&path);
		if (!l || casing < 0 || !want || nth > 1000 ||
			layout_server_path(l, a, (enum casing)casing, nth, &path, NULL) < 0)
			return false;
		at += strcmp(buf_text(&path), want) == 0;
	}
	return true;
}

/* Prints our path number `order`, from 1. A path that is equal to an earlier one does not count: a casing can make
 * two paths equal, and a server is asked once. False: there are fewer paths. */
static bool print_distinct(const struct row *r, const struct artifact *a, unsigned order, struct buf *out)
{
	const struct layout *l = layout_find(r->column[LAYOUT]);
	int casing = casing_find(r->column[CASING]);
	char *before[PATHS_MOST];
	unsigned n = 0;
	bool more = l && casing >= 0;

	for (unsigned nth = 0; more && n < order && n < PATHS_MOST; nth++) {
		bool seen = false;

		buf_clear(out);
		more = layout_server_path(l, a, (enum casing)casing, nth, out, NULL) == 0;
		for (unsigned i = 0; more && i < n; i++)
			seen = seen || strcmp(before[i], buf_text(out)) == 0;
		if (more && !seen)
			before[n++] = strdup(buf_text(out));
	}
	for (unsigned i = 0; i < n; i++)
		free(before[i]);
	return more && n == order;
}

/* Whether ours has the row's path at its place, and no path behind the last row of the file. */
static bool printed_exactly(const struct row *r, const struct artifact *a, unsigned order)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX), more = BUF_UP_TO(LAYOUT_PATH_MAX);

	if (!order || !print_distinct(r, a, order, &path) || strcmp(buf_text(&path), r->column[PATH]) != 0) {
		printf("# %s instead:\n", buf_text(&path));
		return false;
	}
	if (expected(r, order + 1) || !print_distinct(r, a, order + 1, &more))
		return true;
	printf("# %s, too:\n", buf_text(&more));
	return false;
}

static bool prints_none(const struct row *r, const struct artifact *a)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const struct layout *l = layout_find(r->column[LAYOUT]);

	return l && layout_server_path(l, a, CASING_DEFAULT, 0, &path, NULL) == -ENOENT;
}

static void check_path(const struct row *r, bool own)
{
	struct artifact a = artifact_of(r);
	unsigned order = (unsigned)strtoul(r->column[ORDER], NULL, 10);
	bool good;
	char what[512];

	compared++;
	if (strcmp(r->column[PATH], "(none)") == 0)
		good = prints_none(r, &a);
	else
		good = own ? printed_exactly(r, &a, order) : printed(r, &a, order);
	if (good)
		return;
	snprintf(what, sizeof(what), "%s %s %s %s", r->column[LAYOUT], r->column[CASING], r->column[TYPE],
		r->column[CODE_FILE]);
	differ("code_file", r->column[CODE_FILE], what, r->column[PATH]);
}

/* ---- reading ------------------------------------------------------------------------ */

/* `c` is the row without the layout. */
static bool is_request(const struct artifact *a, char *const *c)
{
	const char *debug = value(c[R_DEBUG_ID]), *name = value(c[R_CODE_FILE]);
	bool path = a->type == FILETYPE_SOURCE || a->type == FILETYPE_SECTION;
	struct debug_id d = {0};

	if (*debug && debug_id_parse(&d, debug, strlen(debug)) < 0)
		return false;
	/* `_.debug` stands where there is no name. */
	return a->type == filetype_find(c[R_TYPE]) &&
		(strcmp(c[R_OBJECT], "any") == 0 || a->m.object == object_type_find(c[R_OBJECT])) &&
		strcmp(a->m.code_id, value(c[R_CODE_ID])) == 0 && debug_id_equal(&a->m.debug_id, &d) &&
		(path ? strcmp(a->m.path, name) == 0 : !a->m.code_file[0] || strcmp(a->m.code_file, name) == 0) &&
		strcmp(a->m.debug_file, value(c[R_DEBUG_FILE])) == 0;
}

/* The columns of the shared table: those of our tables, in another order. */
static void shared_columns(const struct row *r, char *c[static R_DEBUG_FILE + 1])
{
	static char symstore[] = "symstore";
	static const unsigned from[] = {[R_PATH] = 0, [R_TYPE] = 1, [R_OBJECT] = 2, [R_CODE_ID] = 3,
		[R_CODE_FILE] = 4, [R_DEBUG_ID] = 5, [R_DEBUG_FILE] = 6};

	c[R_LAYOUT] = symstore;
	for (unsigned i = R_PATH; i <= R_DEBUG_FILE; i++)
		c[i] = r->column[from[i]];
}

static void check_request(const struct row *r)
{
	struct layout_hit hit;
	char *c[R_DEBUG_FILE + 1];
	bool good = false;

	compared++;
	shared_columns(r, c);
	layout_parse(layout_find(c[R_LAYOUT]), c[R_PATH], &hit);
	for (unsigned i = 0; i < hit.n; i++)
		good = good || is_request(&hit.files[i], c);
	if (strcmp(c[R_TYPE], "(reject)") == 0)
		good = hit.n == 0;
	if (!good)
		differ("request_path", c[R_PATH], c[R_PATH], c[R_TYPE]);
}

/* What a request of our own table means: its files, best first, or one of these words. */
struct meaning {
	const char *word;
	unsigned n;
	const struct artifact *files;
};

static struct meaning meaning_of(const char *layout, const char *path)
{
	static const char *const words[] = {[TREE_NONE] = "(none)", [TREE_DIR] = "(directory)", [TREE_LEAF] = "",
		[TREE_EITHER] = "", [TREE_TEXT] = "(text)", [TREE_STATE] = "(state)", [TREE_LINK] = "(link)",
		[TREE_TOLD] = ""};
	static struct layout_hit hit;
	static struct tree_hit tree;

	if (strcmp(layout, "mount") == 0) {
		tree_parse(path, &tree);
		return (struct meaning){words[tree.what], *words[tree.what] ? 0 : tree.n, tree.files};
	}
	layout_parse(layout_find(layout), path, &hit);
	if (!(hit.what & LAYOUT_FILE))
		return (struct meaning){hit.what & LAYOUT_DIR ? "(directory)" : "(none)", 0, NULL};
	return (struct meaning){"", hit.n, hit.files};
}

/* Rows of one request follow each other, in the order of its files. Returns the number of these rows. */
static unsigned check_spelling(const struct row *rows, unsigned left)
{
	struct meaning m = meaning_of(rows->column[R_LAYOUT], rows->column[R_PATH]);
	unsigned n = 0;

	do {
		char *const *c = rows[n].column;

		compared++;
		if (c[R_TYPE][0] == '(' ? strcmp(m.word, c[R_TYPE]) != 0 : n >= m.n || !is_request(&m.files[n], c)) {
			failed++;
			printf("# %s %s: file %u is not %s\n", c[R_LAYOUT], c[R_PATH], n + 1, c[R_TYPE]);
		}
		n++;
	} while (n < left && strcmp(rows[n].column[R_LAYOUT], rows->column[R_LAYOUT]) == 0 &&
		strcmp(rows[n].column[R_PATH], rows->column[R_PATH]) == 0);
	if (m.n > n) {
		failed++;
		printf("# %s %s: %u more files\n", rows->column[R_LAYOUT], rows->column[R_PATH], m.n - n);
	}
	return n;
}

/* ---- tables ------------------------------------------------------------------------- */

static int result(unsigned nth, unsigned least, const char *what)
{
	bool bad = failed || compared < least;

	printf("# %u rows compared, %u differences, %u of them meant\n", compared, failed + meant, meant);
	printf("%sok %u - %u rows of %s\n", bad ? "not " : "", nth, compared, what);
	compared = failed = meant = 0;
	return bad;
}

static int own_tables(const char *top)
{
	int bad;

	load(&paths, top, "tests/data/tables/paths.tsv");
	load(&requests, top, "tests/data/tables/spellings.tsv");
	for (unsigned i = 1; i < paths.n; i++)
		check_path(&paths.rows[i], true);
	bad = result(1, 800, "our own table of paths");
	for (unsigned i = 1; i < requests.n;)
		i += check_spelling(&requests.rows[i], requests.n - i);
	return bad | result(2, 150, "our own table of spellings");
}

static int shared_tables(const char *top)
{
	load(&paths, top, "../shared/vectors/paths.tsv");
	load(&requests, top, "../shared/vectors/symstore_requests.tsv");
	load(&differences, top, "tests/unit/path-differences.tsv");
	if (!paths.n) {
		printf("ok 3 - rows of another tool's paths # SKIP no ../shared/vectors/paths.tsv\n");
		return 0;
	}
	for (unsigned i = 1; i < paths.n; i++)
		check_path(&paths.rows[i], false);
	for (unsigned i = 1; i < requests.n; i++)
		check_request(&requests.rows[i]);
	return result(3, 1500, "another tool's paths");
}

static int run_tests(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	int bad;

	printf("1..3\n");
	bad = own_tables(top);
	bad |= shared_tables(top);
	free(paths.text);
	free(requests.text);
	free(differences.text);
	return bad;
}

UNIT_ROW("path-vectors", run_tests)
