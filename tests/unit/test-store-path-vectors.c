/* Compares `symfs paths` with tables of where files are in each layout. Our own table,
 * tests/data/tables/file-paths.tsv, has all that is printed for files of tests/data/broken. The shared table is about
 * the shared fixtures: the paths of another tool must be among those printed for the file, in that order. Intended
 * differences are in the file store-path-differences.tsv, each with its reason. A listed difference that no longer
 * exists is a failure, too. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "unit/row.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REPO, PATH, INDEX, LAYOUT, TYPE, STORE_PATH, ORDER, COLUMNS };
enum { ROWS_MOST = 2000 };

struct row {
	char *column[COLUMNS];
	bool used; /* of the differences: some row differs so */
};

struct table {
	char *text;
	unsigned n;
	struct row rows[ROWS_MOST];
};

static struct table table, differences, printed;
static unsigned compared, absent, failed, meant;

/* ---- tables ------------------------------------------------------------------------- */

static void take_line(struct table *t, char *line)
{
	static char none[] = "";

	if (!*line || *line == '#')
		return;
	if (t->n == ROWS_MOST)
		abort();
	t->rows[t->n].used = false;
	for (unsigned i = 0; i < COLUMNS; i++)
		t->rows[t->n].column[i] = line ? strsep(&line, "\t") : none;
	t->n++;
}

static void take_text(struct table *t, char *text)
{
	free(t->text);
	t->text = text;
	t->n = 0;
	while (text)
		take_line(t, strsep(&text, "\n"));
}

static void load(struct table *t, const char *top, const char *name)
{
	char path[4096], *text;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	if (path_read(AT_FDCWD, path, 16 << 20, &text, &n) == 0)
		take_text(t, text);
}

/* ---- what the command prints ---------------------------------------------------------- */

static char *rest_of(FILE *f)
{
	long n = ftell(f);
	char *text = calloc(1, (size_t)MAX(n, 0) + 1);

	rewind(f);
	if (!text || fread(text, 1, (size_t)MAX(n, 0), f) != (size_t)n)
		abort();
	return text;
}

/* Through a file: the command's stdout is that of the process. */
static void run_paths(const char *path)
{
	char name[] = "paths", file[8192];
	char *argv[] = {name, file, NULL};
	FILE *f = tmpfile();
	int out = dup(STDOUT_FILENO);

	if (!f || out < 0)
		abort();
	snprintf(file, sizeof(file), "%s", path);
	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	cmd_paths.run(2, argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	fseek(f, 0, SEEK_END);
	take_text(&printed, rest_of(f));
	fclose(f);
}

/* One fixture is stored packed, and its rows are of what is inside. False: nothing unpacks it. */
static bool run_unpacked(const char *file, const char *base)
{
	char dir[] = "/tmp/symfs-vectors-XXXXXX", to[4096], command[13000];
	bool good;

	if (!mkdtemp(dir))
		abort();
	snprintf(to, sizeof(to), "%s/%.*s", dir, (int)MIN(strlen(base) - 4, 255), base);
	snprintf(command, sizeof(command), "zstd -dqf -o '%s' '%s' 2>/dev/null", to, file);
	good = system(command) == 0;
	if (good)
		run_paths(to);
	else
		printf("# skipped: no zstd to unpack %s\n", file);
	unlink(to);
	rmdir(dir);
	return good;
}

/* False: there is nothing to compare with. */
static bool run_row(const char *shared, const struct row *r)
{
	const char *path = r->column[PATH], *base = path_base(path);
	char file[8192];
	size_t n = strlen(path);

	snprintf(file, sizeof(file), "%s/fixtures/%s/%s", shared, r->column[REPO], path);
	if (access(file, F_OK) < 0) {
		printf("# not there: %s\n", file);
		return false;
	}
	if (n > 4 && strcmp(path + n - 4, ".zst") == 0)
		return run_unpacked(file, base);
	run_paths(file);
	return true;
}

/* ---- comparing -------------------------------------------------------------------------- */

static bool is_meant(const struct row *r)
{
	for (unsigned i = 0; i < differences.n; i++) {
		struct row *d = &differences.rows[i];

		if (strcmp(d->column[0], r->column[PATH]) == 0 && strcmp(d->column[1], r->column[TYPE]) == 0 &&
			d->column[2][0])
			return d->used = true;
	}
	return false;
}

/* The line of a path, behind line `from`; 0: none. */
static unsigned line_of(const struct row *r, unsigned from)
{
	for (unsigned i = from; i < printed.n; i++)
		if (strcmp(printed.rows[i].column[0], r->column[LAYOUT]) == 0 &&
			strcmp(printed.rows[i].column[1], r->column[TYPE]) == 0 &&
			strcmp(printed.rows[i].column[2], r->column[STORE_PATH]) == 0)
			return i + 1;
	return 0;
}

static bool prints_any(const struct row *r)
{
	for (unsigned i = 0; i < printed.n; i++)
		if (strcmp(printed.rows[i].column[0], r->column[LAYOUT]) == 0 &&
			strcmp(printed.rows[i].column[1], r->column[TYPE]) == 0)
			return true;
	return false;
}

static bool same_list(const struct row *a, const struct row *b)
{
	return strcmp(a->column[PATH], b->column[PATH]) == 0 && strcmp(a->column[INDEX], b->column[INDEX]) == 0 &&
		strcmp(a->column[LAYOUT], b->column[LAYOUT]) == 0 &&
		strcmp(a->column[TYPE], b->column[TYPE]) == 0;
}

/* `at`: the line of the row before it in the same list, 0 at its first. */
static void check_row(const struct row *r, unsigned *at)
{
	bool none = strcmp(r->column[STORE_PATH], "(none)") == 0;
	unsigned line = none ? !prints_any(r) : line_of(r, *at);

	compared++;
	if (line) {
		*at = none ? 0 : line;
	} else if (is_meant(r)) {
		meant++;
	} else {
		failed++;
		printf("# %s, slice %s: %s %s: not %s (in its order)\n", r->column[PATH], r->column[INDEX],
			r->column[LAYOUT], r->column[TYPE], r->column[STORE_PATH]);
	}
}

/* Rows of one file follow each other, and of one list in the order of its paths. */
static void check_all(const char *shared)
{
	const struct row *before = NULL;
	bool there = false;
	unsigned at = 0;

	for (unsigned i = 1; i < table.n; i++) {
		const struct row *r = &table.rows[i];

		if (!before || strcmp(before->column[PATH], r->column[PATH]) != 0)
			there = run_row(shared, r);
		if (!before || !same_list(before, r))
			at = 0;
		before = r;
		if (there)
			check_row(r, &at);
		else
			absent++;
	}
}

static void check_differences(void)
{
	for (unsigned i = 0; i < differences.n; i++) {
		if (differences.rows[i].used)
			continue;
		failed++;
		printf("# listed, and no difference: %s %s\n", differences.rows[i].column[0],
			differences.rows[i].column[1]);
	}
}

/* ---- our own table ------------------------------------------------------------------------ */

enum { OWN_FILE, OWN_LAYOUT }; /* behind it: type and path, as in the lines that are printed */

static bool is_printed(const struct row *r, unsigned line)
{
	for (unsigned i = 0; line < printed.n && i < 3; i++)
		if (strcmp(printed.rows[line].column[i], r->column[OWN_LAYOUT + i]) != 0)
			return false;
	return line < printed.n;
}

/* Rows of one file follow each other. Returns the number of these rows. */
static unsigned check_own(const char *top, const struct row *rows, unsigned left)
{
	const char *name = rows->column[OWN_FILE];
	char file[8192];
	unsigned n = 0;

	snprintf(file, sizeof(file), "%s/tests/data/broken/%s", top, name);
	run_paths(file);
	for (; n < left && strcmp(rows[n].column[OWN_FILE], name) == 0; n++, compared++) {
		if (is_printed(&rows[n], n))
			continue;
		failed++;
		printf("# %s: line %u is not %s %s\n", name, n + 1, rows[n].column[1], rows[n].column[3]);
	}
	if (printed.n > n) {
		failed++;
		printf("# %s: %u more paths\n", name, printed.n - n);
	}
	return n;
}

static int result(unsigned nth, unsigned least, const char *what)
{
	bool bad = failed || compared < least;

	printf("# %u rows compared, %u without their file, %u differences, %u of them meant\n", compared,
		absent, failed + meant, meant);
	printf("%sok %u - %u rows of %s\n", bad ? "not " : "", nth, compared, what);
	compared = failed = 0;
	return bad;
}

static int run_tests(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	char shared[3072];
	int bad;

	top = top ? top : ".";
	printf("1..2\n");
	load(&table, top, "tests/data/tables/file-paths.tsv");
	for (unsigned i = 1; i < table.n;)
		i += check_own(top, &table.rows[i], table.n - i);
	bad = result(1, 70, "our own table of files");
	snprintf(shared, sizeof(shared), "%s/../shared", top);
	take_text(&table, NULL);
	load(&table, top, "../shared/vectors/fixture_store_paths.tsv");
	load(&differences, top, "tests/unit/store-path-differences.tsv");
	if (table.n) {
		check_all(shared);
		check_differences();
		bad |= result(2, 500, "where other tools keep the fixtures");
	} else {
		printf("ok 2 - where other tools keep files # SKIP no ../shared/vectors/fixture_store_paths.tsv\n");
	}
	free(table.text);
	free(differences.text);
	free(printed.text);
	return bad;
}

UNIT_ROW("store-path-vectors", run_tests)
