/* Compares paths with the shared vectors of another implementation: symfs must print the same
 * paths, in the same order, and must parse them. Intended differences are in the file
 * path-differences.tsv, each with its reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "layout/layout.h"
#include "unit/table.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LAYOUT, CASING, TYPE, CODE_FILE, CODE_ID, DEBUG_FILE, DEBUG_ID, PATH, OBJECT, ORDER, ORIGIN, COLUMNS };
enum { ROWS_MOST = 4000, PATHS_MOST = 16 };

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

static bool prints_none(const struct row *r, const struct artifact *a)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const struct layout *l = layout_find(r->column[LAYOUT]);

	return l && layout_server_path(l, a, CASING_DEFAULT, 0, &path, NULL) == -ENOENT;
}

static void check_path(const struct row *r)
{
	struct artifact a = artifact_of(r);
	bool none = strcmp(r->column[PATH], "(none)") == 0;
	char what[512];

	compared++;
	if (none ? prints_none(r, &a) : printed(r, &a, (unsigned)strtoul(r->column[ORDER], NULL, 10)))
		return;
	snprintf(what, sizeof(what), "%s %s %s %s", r->column[LAYOUT], r->column[CASING], r->column[TYPE],
		r->column[CODE_FILE]);
	differ("code_file", r->column[CODE_FILE], what, r->column[PATH]);
}

/* ---- reading ------------------------------------------------------------------------ */

static bool is_request(const struct artifact *a, const struct row *r)
{
	const char *debug = value(r->column[5]);
	struct debug_id d = {0};

	if (*debug && debug_id_parse(&d, debug, strlen(debug)) < 0)
		return false;
	/* `_.debug` stands where there is no name. */
	return a->type == filetype_find(r->column[1]) && a->m.object == object_type_find(r->column[2]) &&
		strcmp(a->m.code_id, value(r->column[3])) == 0 && debug_id_equal(&a->m.debug_id, &d) &&
		(!a->m.code_file[0] || strcmp(a->m.code_file, value(r->column[4])) == 0) &&
		strcmp(a->m.debug_file, value(r->column[6])) == 0;
}

static void check_request(const struct row *r)
{
	struct layout_hit hit;
	bool good = false;

	compared++;
	layout_parse(layout_find("symstore"), r->column[0], &hit);
	for (unsigned i = 0; i < hit.n; i++)
		good = good || is_request(&hit.files[i], r);
	if (strcmp(r->column[1], "(reject)") == 0)
		good = hit.n == 0;
	if (!good)
		differ("request_path", r->column[0], r->column[0], r->column[1]);
}

static int run_tests(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");

	load(&paths, top, "../shared/vectors/paths.tsv");
	load(&requests, top, "../shared/vectors/symstore_requests.tsv");
	load(&differences, top, "tests/unit/path-differences.tsv");
	if (!paths.n) {
		printf("1..0 # SKIP no shared vectors beside the source\n");
		return 0;
	}
	for (unsigned i = 1; i < paths.n; i++)
		check_path(&paths.rows[i]);
	for (unsigned i = 1; i < requests.n; i++)
		check_request(&requests.rows[i]);
	printf("# %u rows compared, %u differences, %u of them meant\n", compared, failed + meant, meant);
	printf("1..1\n%sok 1 - %u rows of another tool's paths\n", failed || compared < 1500 ? "not " : "", compared);
	free(paths.text);
	free(requests.text);
	free(differences.text);
	return failed || compared < 1500;
}

UNIT_ROW("path-vectors", run_tests)
