/* symfs symbolicate: finds the reader of its input (symbolicate.h), and answers requests of Mozilla's symbolication
 * service. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate.h"
#include "recognize/recognize.h"
#include "symb/form.h"

#include <stdio.h>

struct wishes {
	const struct symb_api *api;
	/* of answers to a request or a minidump in JSON, as from a server; all else has demangled names */
	struct symb_flags flags;
	bool mangled;
	bool request; /* the input can be nothing else */
};

static int symbolicate(struct app *app, const struct wishes *w, const char *shown, struct span request)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(SYMB_REPLY_MOST);
	struct symbolicating g;
	int status;

	if (symbolicate_begin(&g, app, &app->limits, &w->flags) < 0)
		return EXIT_LOCAL;
	status = symb_answer(g.symb, w->api, request, w->flags.text ? &g.flags : &w->flags, &out);
	symbolicate_finish(&g);
	if (atomic_load(&symbolicate_stopped))
		return symbolicate_close(&g, app, EXIT_INTERRUPTED);
	if (!w->flags.text)
		printf("%s\n", buf_text(&out));
	else if (status == 200)
		printf("%s", buf_text(&out));
	else
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown, buf_text(&out));
	status = status == 200 ? EXIT_DONE : status < 500 ? EXIT_NO : EXIT_LOCAL;
	return w->flags.text ? symbolicate_close(&g, app, status) : status;
}

/* Everything but text. */
static int run_opened(const struct wishes *w, struct app_args *args, const struct symbolicate_input *in,
	struct span request)
{
	_cleanup_local_files_ struct local_files files = {0};
	struct err e = {0};
	struct app app;
	int status;

	if (in->kind == INPUT_CORE || in->kind == INPUT_PROCESS)
		symbolicate_core_files(args, in, &files);
	status = app_open(&app, args, &e);
	if (status < 0)
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
	status = status < 0 ? app_exit(status)
		 : in->kind == INPUT_TEXT ? symbolicate(&app, w, in->shown, request)
					  : symbolicate_stacks(&app, in, &w->flags);
	app_close(&app);
	return status;
}

/* Finds out whether the input is a request or text, unless that is known. */
static int run_input(struct wishes *w, struct app_args *args, const struct symbolicate_input *in)
{
	struct symb_flags names = w->flags;
	struct span bytes = {0};
	struct err e = {0};
	int status = in->kind == INPUT_TEXT ? map_fd(&bytes, in->fd, &e) : 0;

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", in->shown, e.text);
		return EXIT_LOCAL;
	}
	names.demangle = !w->mangled;
	if (in->kind == INPUT_TEXT ? w->flags.text : in->kind != INPUT_MINIDUMP || !args->json)
		w->flags = names;
	status = -1;
	if (in->kind == INPUT_TEXT && !w->request && !text_is_request(bytes))
		status = text_symbolicate(args, in->shown, &names, bytes);
	if (status < 0)
		status = run_opened(w, args, in, bytes);
	map_release(&bytes);
	return status;
}

static int run_symbolicate(int argc, char **argv)
{
	struct wishes w = {0};
	const char *api = NULL;
	const struct opt own[] = {
		{"api", 0, "v4|v5", "FILE is a request of this version (v5)", &api},
		{"debug", 0, NULL, "v5: add downloads and times", &w.flags.debug},
		{"lenient", 0, NULL, "skip bad lines of a .sym file", &w.flags.lenient},
		{"demangle", 0, NULL, "demangle names in the answer to a request, too", &w.flags.demangle},
		{"brief", 0, NULL, "a crash: only its thread, without modules", &w.flags.brief},
		{"mangled", 0, NULL, "print names as the files have them", &w.mangled},
		{"function-size", 0, NULL, "v5: add the sizes of functions", &w.flags.function_size},
		{"module-errors", 0, NULL, "add why a module was not found", &w.flags.module_errors},
		{"text", 0, NULL, "print the answer to a request as text", &w.flags.text},
		{0}};
	struct symbolicate_input in;
	struct app_args args;
	int status = app_options(&args, &cmd_symbolicate, own, &argc, argv);

	if (status >= 0)
		return status;
	w.api = symb_api_find(api ? api : "v5");
	if (!w.api || argc > 2) {
		fprintf(stderr, "symfs symbolicate: %s; try: symfs symbolicate --help\n",
			w.api ? "expected at most one FILE" : "--api: expected v4 or v5");
		return EXIT_USAGE;
	}
	w.request = (api || args.json) && !w.flags.text;
	symbolicate_catch();
	status = symbolicate_open(&in, argc > 1 ? argv[1] : NULL, w.request);
	if (status < 0)
		status = run_input(&w, &args, &in);
	if (in.fd >= 0)
		close(in.fd);
	if (fflush(stdout) != 0)
		status = status == EXIT_DONE ? EXIT_LOCAL : status;
	symbolicate_end();
	return status;
}

const struct cmd cmd_symbolicate = {
	.name = "symbolicate",
	.args = "[--json] [--mangled] [FILE|PID|-]",
	.help = "Names the functions in a core, a minidump, a process, or a text such as a log,\n"
		"a backtrace or a crash report; also packed by gzip or zstd, and from stdin. A\n"
		"request of Mozilla's symbolication service is answered in JSON",
	.examples = {"symfs symbolicate --source ./build core",
		"symfs symbolicate --source debian <report.txt"},
	.configured = true,
	.json = true,
	.run = run_symbolicate,
};
