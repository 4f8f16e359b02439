/* symfs symbolicate --text: recognizes stacks in text, takes local files that it names, and prints it with names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/symbolicate-text.h"
#include "base/jtext.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate.h"
#include "recognize/recognize.h"

#include <stdio.h>

#define REQUEST_TOKENS (64u << 20)

bool text_is_request(struct span bytes)
{
	_cleanup_jtext_ struct jtext j = {0};

	if (jtext_read(&j, bytes, REQUEST_TOKENS, NULL) < 0)
		return false;
	/* minidump-stackwalk --json */
	return j.token[0].kind != JTEXT_OBJECT || jtext_member(&j, 0, "memoryMap") || jtext_member(&j, 0, "jobs") ||
	       !jtext_member(&j, 0, "modules") || !jtext_member(&j, 0, "threads");
}

/* Opens the files at the paths that the text names, and makes links to those that are of the right build. */
static void take_files(struct recognized *r, struct local_files *l)
{
	for (uint32_t i = 0; i < recognized_modules(r); i++) {
		const char *path = recognized_path(r, i);
		_cleanup_close_ int fd = -1;
		char id[RECOGNIZE_ID];
		struct err e = {0};
		uint64_t size;
		bool debug;

		if (!path || path_open_file(path, &fd, &size, &e) < 0 ||
			recognize_file(r, i, fd, size, id, &debug) < 0)
			continue;
		local_files_add(l, path, id, debug);
	}
}

static int ask(struct app_args *args, const char *shown, const struct symb_flags *flags, struct recognized *r)
{
	struct symb *symb = NULL;
	struct err e = {0};
	struct app app;
	int status = app_open(&app, args, &e), http = 200;

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
		app_close(&app);
		return app_exit(status);
	}
	status = EXIT_DONE;
	if (symb_new(&symb, app.fetch, &app.limits, &e) < 0) {
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
		status = EXIT_LOCAL;
	} else {
		symbolicate_running(symb);
		http = recognize_ask(r, symb, app.fetch, flags, &e);
		symbolicate_running(NULL);
		symb_free(symb);
	}
	app_close(&app);
	if (atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (http != 200) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown, e.text);
		status = http < 500 ? EXIT_NO : EXIT_LOCAL;
	}
	return status;
}

static int print(const struct recognized *r)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(RECOGNIZE_OUT);
	int status = recognize_write(r, &out);

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s\n", err_text(status));
		return EXIT_LOCAL;
	}
	return fwrite(buf_text(&out), 1, out.n, stdout) == out.n ? EXIT_DONE : EXIT_LOCAL;
}

int text_symbolicate(struct app_args *args, const char *shown, const struct symb_flags *flags, struct span text)
{
	struct recognized *r = NULL;
	struct local_files files = {0};
	int status = recognize_read(&r, text), printed;

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown,
			status == -EFBIG ? "the text has more than 64 MiB" : err_text(status));
		return status == -EFBIG ? EXIT_NO : EXIT_LOCAL;
	}
	if (recognized_frames(r)) {
		take_files(r, &files);
		local_files_source(&files, args);
		status = ask(args, shown, flags, r);
		local_files_release(&files);
	} else {
		fprintf(stderr,
			"symfs symbolicate: %s: Payload is not valid JSON, and it has no stack in a known format\n",
			shown);
		status = EXIT_NO;
	}
	printed = status == EXIT_INTERRUPTED || status == EXIT_USAGE ? EXIT_DONE : print(r);
	recognized_free(r);
	return status != EXIT_DONE ? status : printed;
}
