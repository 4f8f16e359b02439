/* symfs parse: prints every candidate that a path of a layout can mean, the best candidate first. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "names/layout/layout.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The name of the program is the name of the module. If the module has no name, it is the last component of the
 * path, but only if an earlier component is equal to the last one. In layouts without names the last component is
 * a fixed word ("_.debug"). */
static const char *name_in(const struct module *m, const char *path)
{
	const char *last = strrchr(path, '/'), *first = path;
	size_t n;

	if (m->code_file[0] || m->debug_file[0] || !last)
		return m->code_file;
	for (last++; first < last; first += n + 1) {
		n = strcspn(first, "/");
		if (n == strlen(last) && strncasecmp(first, last, n) == 0)
			return last;
	}
	return "";
}

static void add_candidate(struct json *j, const struct artifact *a, const char *path)
{
	char id[DEBUG_ID_TEXT], code[CODE_ID_MAX + 1];

	memcpy(code, a->m.code_id, sizeof(code));
	if (a->m.object == OBJECT_PE)
		pe_id_trim(code);
	json_begin_object(j, NULL);
	json_text(j, "request_path", path);
	json_text(j, "filetype", filetypes[a->type].name);
	json_text(j, "object_type", object_types[a->m.object].name);
	json_text(j, "code_id", code);
	json_text(j, "code_file", name_in(&a->m, path));
	json_text(j, "debug_id", debug_id_text(&a->m.debug_id, id));
	json_text(j, "debug_file", a->m.debug_file);
	if (a->m.path[0])
		json_text(j, a->type == FILETYPE_SECTION ? "section" : "path", a->m.path);
	json_end(j);
}

static int parse(const struct layout *l, const char *path)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	struct json j;

	if (!hit)
		return cmd_say(EXIT_LOCAL, "%s", err_text(-ENOMEM));
	layout_parse(l, path, hit);
	json_init(&j, false);
	json_begin_array(&j, NULL);
	for (unsigned i = 0; i < hit->n; i++)
		add_candidate(&j, &hit->files[i], path);
	return json_finish(&j, true, hit->n ? EXIT_DONE : EXIT_NO);
}

static int run_parse(int argc, char **argv)
{
	struct app_args args;
	int status = app_options(&args, &cmd_parse, NULL, &argc, argv);
	const struct layout *l;

	if (status >= 0)
		return status;
	if (argc != 3)
		return cmd_usage("expected LAYOUT PATH");
	l = layout_find(argv[1]);
	if (!l)
		return cmd_say(EXIT_USAGE, "no such layout: %s", argv[1]);
	return parse(l, argv[2]);
}

const struct cmd cmd_parse = {
	.name = "parse",
	.args = "LAYOUT PATH",
	.help = "Prints in JSON what a path of a layout means: every file that it can name, the\n"
		"best candidate first. The exit status is 1 if the path names a directory or\n"
		"nothing",
	.examples = {"symfs parse symstore crash.pdb/3249D99D0C4049318610F4E4FB0B69361/crash.pdb",
		"symfs parse gdb .build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug"},
	.json = true,
	.run = run_parse,
};
