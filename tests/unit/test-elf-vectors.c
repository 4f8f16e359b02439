/* `symfs id --json` against the identifiers that another tool found in the shared fixtures:
 * code id, debug id, architecture, format, features. Differences that are meant stand in the
 * file elf-differences.tsv, each with its reason. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/util.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 16

static char shared[3072], differences[4096];

/* What one row says; NULL: it does not say. "" is a null of ours. */
struct row {
	const char *file, *code_id, *debug_id, *arch, *features, *kind;
};

static unsigned compared, failed, meant;

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
	struct json_object *list = id_json(row->file), *o;

	compared++;
	if (!list || json_object_array_length(list) != 1) {
		differ(row->file, "slices", "not one", "one");
		json_object_put(list);
		return;
	}
	o = json_object_array_get_idx(list, 0);
	same(row, o, "format", "elf");
	same(row, o, "code_id", row->code_id);
	same(row, o, "debug_id", row->debug_id);
	same(row, o, "arch", row->arch);
	same(row, o, "kind", row->kind);
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

static void check_ids(char *const *c)
{
	char file[8192];
	struct row row = {.file = file, .arch = c[6], .code_id = id_or_none(c[7]),
		.debug_id = id_or_none(c[8]), .features = c[11]};

	if (strcmp(c[4], "elf") != 0)
		return;
	snprintf(file, sizeof(file), "%s/fixtures/%s/%s", shared, c[0], c[1]);
	check_row(&row);
}

static void check_built(char *const *c)
{
	static const struct {
		const char *theirs, *ours;
	} kinds[] = {{"elf executable", "executable"}, {"elf library", "library"},
		{"elf debug companion", "debug"}, {"elf object", "object"}};
	char file[8192];
	struct row row = {.file = file, .debug_id = id_or_none(c[2]), .code_id = id_or_none(c[3]),
		.arch = c[4]};

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(c[1], kinds[i].theirs) == 0)
			row.kind = kinds[i].ours;
	if (!row.kind)
		return;
	snprintf(file, sizeof(file), "%s/fixtures/built/%s", shared, c[0]);
	check_row(&row);
}

static void each_row(const char *name, void (*f)(char *const *columns))
{
	static char none[] = "";
	char path[4096], line[4096];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", shared, name);
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

int main(void)
{
	const char *top = getenv("top_srcdir");

	snprintf(shared, sizeof(shared), "%s/../shared", top ? top : ".");
	snprintf(differences, sizeof(differences), "%s/tests/unit/elf-differences.tsv", top ? top : ".");
	if (access(shared, R_OK) < 0) {
		printf("1..0 # SKIP no shared fixtures beside the source\n");
		return 0;
	}
	each_row("vectors/fixture_ids.tsv", check_ids);
	each_row("fixtures/built/ids.sentry-cli.tsv", check_built);
	printf("# %u rows compared, %u differences, %u of them meant\n", compared, failed + meant,
		meant);
	printf("1..1\n%sok 1 - %u rows of other tools' identifiers\n",
		failed || compared < 50 ? "not " : "", compared);
	return failed || compared < 50;
}
