/* Compares `symfs id --json` with tables of identifiers: code id, debug id in both forms, name, architecture,
 * format, kind, features, slice by slice. Our own table, tests/data/tables/files.tsv, is about files of
 * tests/data/broken. The shared tables have what another tool found in the shared fixtures; intended differences
 * from these are in the file obj-differences.tsv, each with its reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/path.h"
#include "base/util.h"
#include "unit/row.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 16

static char shared[3072], own[3000], differences[4096];

/* Their words for formats, and ours. What is not here, the test does not look at. */
static const struct word {
	const char *theirs, *ours;
} formats[] = {
	{"elf", "elf"},
	{"dsym", "macho"},
	{"breakpad", "breakpad"},
	{"wasm", "wasm"},
	{"pe", "pe"},
	{"pdb", "pdb"},
	{"portablepdb", "portablepdb"},
};

static const struct word kinds[] = {
	{"executable", "executable"},
	{"library", "library"},
	{"debug companion", "debug"},
	{"object", "object"},
};

/* The value in one row; NULL: the row has none. "" stands for our null. */
struct row {
	const char *file, *format, *code_id, *debug_id, *breakpad_id, *name, *arch, *features, *kind, *checksum;
	unsigned index;
};

static unsigned compared, absent, failed, meant;

/* The command's own words, through a file: its stdout is that of the process. */
static struct json_object *id_json(const char *path)
{
	char id[] = "id", json[] = "--json", file[4096];
	char *argv[] = {id, json, file, NULL};
	FILE *f = tmpfile();
	int out = dup(STDOUT_FILENO);
	struct json_object *o = NULL;

	snprintf(file, sizeof(file), "%s", path);
	if (f && out >= 0) {
		fflush(stdout);
		dup2(fileno(f), STDOUT_FILENO);
		cmd_id.run(3, argv);
		fflush(stdout);
		dup2(out, STDOUT_FILENO);
		lseek(fileno(f), 0, SEEK_SET);
		o = json_object_from_fd(fileno(f));
	}
	if (f)
		fclose(f);
	close(out);
	return o;
}

/* "FILE<TAB>COLUMN<TAB>REASON": file's end, column. */
static bool is_meant(const char *file, const char *column)
{
	FILE *f = fopen(differences, "re");
	char line[1024];
	bool yes = false;

	while (f && !yes && fgets(line, sizeof(line), f)) {
		char *rest = line, *name = strsep(&rest, "\t"), *what = rest ? strsep(&rest, "\t") : NULL;
		size_t n = strlen(name), have = strlen(file);

		yes = line[0] != '#' && what && rest && n <= have && strcmp(file + have - n, name) == 0 &&
			strcmp(what, column) == 0;
	}
	if (f)
		fclose(f);
	return yes;
}

static void differ(const char *file, const char *column, const char *ours, const char *theirs)
{
	if (is_meant(file, column)) {
		meant++;
		printf("# meant: %s: %s is %s, not %s\n", file, column, ours, theirs);
		return;
	}
	failed++;
	printf("# %s: %s is %s, not %s\n", file, column, ours, theirs);
}

static void same(const struct row *row, struct json_object *o, const char *column, const char *want)
{
	const char *have = json_object_get_string(json_object_object_get(o, column));

	if (want && strcmp(have ? have : "", want) != 0)
		differ(row->file, column, have ? have : "null", want);
}

static void same_features(const struct row *row, struct json_object *o)
{
	struct json_object *list = json_object_object_get(o, "features");
	char text[256] = "";
	size_t n = 0;

	if (!row->features)
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
			json_object_get_string(json_object_array_get_idx(list, i)));
	if (strcmp(text, strcmp(row->features, "none") == 0 ? "" : row->features) != 0)
		differ(row->file, "features", text, row->features);
}

static void check_row(const struct row *row)
{
	struct json_object *list, *o;

	/* Shared data may lack a file; how many are compared is printed, and none is a failure. */
	if (access(row->file, F_OK) < 0) {
		absent++;
		printf("# not there: %s\n", row->file);
		return;
	}
	list = id_json(row->file);
	compared++;
	if (!list || json_object_array_length(list) <= row->index) {
		differ(row->file, "slices", "not there", "one more");
		json_object_put(list);
		return;
	}
	o = json_object_array_get_idx(list, row->index);
	same(row, o, "format", row->format);
	same(row, o, "code_id", row->code_id);
	same(row, o, "debug_id", row->debug_id);
	same(row, o, "breakpad_id", row->breakpad_id);
	same(row, o, "name", row->name);
	same(row, o, "arch", row->arch);
	same(row, o, "kind", row->kind);
	same(row, o, "checksum", row->checksum);
	same(row, o, "error", "");
	same_features(row, o);
	json_object_put(list);
}

/* "-" and an id of zeros are no id. */
static const char *id_or_none(const char *text)
{
	return strcmp(text, "-") == 0 || strncmp(text, "00000000-0000-0000-0000-000000000000", 36) == 0
		? "" : text;
}

static const char *ours(const struct word *words, size_t n, const char *theirs)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i].theirs, theirs) == 0)
			return words[i].ours;
	return NULL;
}

/* What they cannot read must be an error here too, and no format. */
static void check_unreadable(const char *file)
{
	struct json_object *list = id_json(file), *o = list ? json_object_array_get_idx(list, 0) : NULL;

	compared++;
	if (!o || json_object_object_get(o, "format"))
		differ(file, "format", o ? json_object_get_string(json_object_object_get(o, "format"))
			: "none", "no format");
	json_object_put(list);
}

/* One fixture is stored packed, and its row describes the contents. For it, `temp` is the unpacked file, which
 * the caller removes; otherwise `temp` is "". False: no program here can unpack the fixture. */
static bool unpack(char *file, size_t room, char temp[static 256])
{
	char command[9000], to[256];
	const char *name = path_base(file); /* stays at the end, for the file of differences */
	int fd;

	temp[0] = '\0';
	if (strcmp(file + strlen(file) - 4, ".zst") != 0)
		return true;
	snprintf(to, sizeof(to), "/tmp/symfs-vectors-XXXXXX-%.200s", name);
	fd = mkstemps(to, (int)MIN(strlen(name), 200u) + 1);
	if (fd < 0)
		return false;
	close(fd);
	snprintf(command, sizeof(command), "zstd -dqf -o %s '%s' 2>/dev/null", to, file);
	if (system(command) != 0) {
		printf("# skipped: no zstd to unpack %s\n", file);
		unlink(to);
		return false;
	}
	snprintf(file, room, "%s", to);
	snprintf(temp, 256, "%s", to);
	return true;
}

static void check_ids(char *const *c)
{
	char file[8192], temp[256];
	struct row row = {.file = file, .index = (unsigned)strtoul(c[5], NULL, 10), .arch = c[6],
		.code_id = id_or_none(c[7]), .debug_id = id_or_none(c[8]), .features = c[11]};

	snprintf(file, sizeof(file), "%s/fixtures/%s/%s", shared, c[0], c[1]);
	if (strcmp(c[4], "(unknown)") == 0)
		check_unreadable(file);
	row.format = ours(formats, ARRAY_SIZE(formats), c[4]);
	if (!row.format)
		return;
	row.breakpad_id = row.debug_id[0] ? c[9] : "";
	if (strcmp(c[4], "breakpad") == 0)
		row.name = strcmp(c[10], "<unknown>") == 0 ? "" : c[10];
	if (strcmp(c[4], "pe") == 0)
		row.name = strcmp(c[10], "-") == 0 ? "" : path_base(c[10]);
	if (!unpack(file, sizeof(file), temp))
		return;
	check_row(&row);
	if (temp[0]) /* only what unpack() made: a checkout may well lie in /tmp, too */
		unlink(temp);
}

static void check_built(char *const *c)
{
	static char last[4096]; /* a file's slices stand in rows that follow each other */
	static unsigned index;
	char file[8192], *kind = strchr(c[1], ' ');
	struct row row = {.file = file, .debug_id = id_or_none(c[2]), .code_id = id_or_none(c[3]),
		.arch = c[4]};

	index = strcmp(last, c[0]) == 0 ? index + 1 : 0;
	snprintf(last, sizeof(last), "%s", c[0]);
	row.index = index;
	if (!kind)
		return;
	*kind++ = '\0';
	row.format = ours(formats, ARRAY_SIZE(formats), c[1]);
	row.kind = ours(kinds, ARRAY_SIZE(kinds), kind);
	if (!row.format || !row.kind)
		return;
	snprintf(file, sizeof(file), "%s/fixtures/built/%s", shared, c[0]);
	check_row(&row);
}

static const char *value(const char *column)
{
	return strcmp(column, "-") == 0 ? "" : column;
}

/* In our own table the words are those of symfs, and blanks are between the features. */
static void check_own(char *const *c)
{
	char file[8192], features[256] = "";
	struct row row = {.file = file, .index = (unsigned)strtoul(c[1], NULL, 10), .format = c[2], .kind = c[3],
		.arch = c[4], .code_id = value(c[5]), .debug_id = value(c[6]), .breakpad_id = value(c[7]),
		.name = value(c[8]), .checksum = value(c[9]), .features = features};
	size_t n = 0;

	if (c[0][0] == '#' || strcmp(c[0], "file") == 0)
		return;
	snprintf(file, sizeof(file), "%s/tests/data/broken/%s", own, c[0]);
	if (strcmp(c[2], "(none)") == 0) {
		check_unreadable(file);
		return;
	}
	for (const char *p = value(c[10]); *p && n < sizeof(features) - 2; p++)
		n += (size_t)snprintf(features + n, sizeof(features) - n, *p == ' ' ? ", " : "%c", *p);
	check_row(&row);
}

static void each_row(const char *dir, const char *name, void (*f)(char *const *columns))
{
	static char none[] = "";
	char path[4096], line[4096];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		char *columns[COLUMNS], *rest = line;

		line[strcspn(line, "\n")] = '\0';
		for (unsigned i = 0; i < COLUMNS; i++)
			columns[i] = rest ? strsep(&rest, "\t") : none;
		f(columns);
	}
	if (in)
		fclose(in);
}

static int result(unsigned nth, unsigned least, const char *what)
{
	bool bad = failed || compared < least;

	printf("# %u rows compared, %u without their file, %u differences, %u of them meant\n", compared, absent,
		failed + meant, meant);
	printf("%sok %u - %u rows of %s\n", bad ? "not " : "", nth, compared, what);
	compared = absent = failed = meant = 0;
	return bad;
}

static int run_tests(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	int bad;

	snprintf(own, sizeof(own), "%s", top ? top : ".");
	snprintf(shared, sizeof(shared), "%s/../shared", own);
	printf("1..2\n");
	each_row(own, "tests/data/tables/files.tsv", check_own);
	failed += absent;
	bad = result(1, 40, "our own table of files");
	if (access(shared, R_OK) < 0) {
		printf("ok 2 - other tools' identifiers # SKIP no ../shared/vectors, no ../shared/fixtures\n");
		return bad;
	}
	snprintf(differences, sizeof(differences), "%s/tests/unit/obj-differences.tsv", own);
	each_row(shared, "vectors/fixture_ids.tsv", check_ids);
	each_row(shared, "fixtures/built/ids.sentry-cli.tsv", check_built);
	return bad | result(2, 50, "other tools' identifiers");
}

UNIT_ROW("obj-vectors", run_tests)
