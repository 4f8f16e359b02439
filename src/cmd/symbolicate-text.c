/* symfs symbolicate TEXT: recognizes stacks in text, takes local files that it names, and prints it with names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/local-files.h"
#include "cmd/symbolicate.h"
#include "recognize/recognize.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_TOKENS (64u << 20)

/* Whether the bytes begin as JSON does, in any encoding and with a mark of its order. */
static bool is_json(struct span text)
{
	size_t i = 0;

	while (i < text.n && memchr("\0 \t\r\n\xef\xbb\xbf\xfe\xff", text.p[i], 10))
		i++;
	return i < text.n && text.p[i] == '{';
}

bool text_is_request(struct span bytes)
{
	_cleanup_jtext_ struct jtext j = {0};

	/* A document with modules and threads is of minidump-stackwalk --json. */
	return is_json(bytes) && jtext_read(&j, bytes, REQUEST_TOKENS, NULL) == 0 &&
	       (jtext_member(&j, 0, "memoryMap") || jtext_member(&j, 0, "jobs") || !jtext_member(&j, 0, "modules") ||
		       !jtext_member(&j, 0, "threads"));
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
		if (id[0])
			local_files_add(l, path, id, debug);
	}
}

static int put(const struct buf *out)
{
	return fwrite(buf_text(out), 1, out->n, stdout) == out->n && fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

static int print(const struct recognized *r, bool demangle)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(RECOGNIZE_OUT);
	int status = recognize_write(r, NULL, demangle, &out);

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s\n", err_text(status));
		return EXIT_LOCAL;
	}
	return put(&out);
}

/* Prints the text with names, or as it is after an error. */
static int ask(struct app *app, const char *shown, const struct symb_flags *flags, struct recognized *r)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(RECOGNIZE_OUT);
	struct symbolicating g;
	struct err e = {0};
	int asked, status;

	if (symbolicate_begin(&g, app, &app->limits, flags) < 0)
		return EXIT_LOCAL;
	asked = recognize_name(r, g.symb, app->fetch, &g.flags, &out, &e);
	symbolicate_finish(&g);
	g.frames = recognized_frames(r);
	if (atomic_load(&symbolicate_stopped))
		return symbolicate_close(&g, app, EXIT_INTERRUPTED);
	if (asked < 0)
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown, e.text);
	status = asked < 0 ? print(r, g.flags.demangle) : put(&out);
	return symbolicate_close(&g, app, asked == 0 ? status : asked == -E2BIG ? EXIT_NO : EXIT_LOCAL);
}

/* Opens the store and the sources; if that fails, the text is printed as it is. */
static int name_text(struct app_args *args, const char *shown, const struct symb_flags *flags, struct recognized *r)
{
	struct local_files files = {0};
	struct err e = {0};
	struct app app;
	int status;

	take_files(r, &files);
	local_files_source(&files, args);
	status = app_open(&app, args, &e);
	if (status < 0)
		fprintf(stderr, "symfs symbolicate: %s\n", e.text);
	status = status < 0 ? app_exit(status) : ask(&app, shown, flags, r);
	app_close(&app);
	local_files_release(&files);
	return status;
}

/* A text of which symfs knows no frame can have mangled names. */
static int print_names(const char *shown, bool demangle, struct recognized *r, struct span text)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(RECOGNIZE_OUT);
	bool binary = memchr(text.p, '\0', MIN(text.n, (size_t)4096));

	if (!binary && demangle && recognize_write(r, NULL, true, &out) == 0 && out.n != text.n)
		return print(r, true);
	fprintf(stderr, "symfs symbolicate: %s: has no stack in a known format, or all its frames have "
		"names; symfs-symbolicate(1) lists the formats\n", shown);
	return binary ? EXIT_NO : MAX(print(r, false), EXIT_NO);
}

int text_symbolicate(struct app_args *args, const char *shown, const struct symb_flags *flags, struct span text)
{
	struct recognized *r = NULL;
	int status = recognize_read(&r, text);

	if (status < 0) {
		fprintf(stderr, "symfs symbolicate: %s: %s\n", shown,
			status == -EFBIG ? "the text has more than 64 MiB" : err_text(status));
		return status == -EFBIG ? EXIT_NO : EXIT_LOCAL;
	}
	if (recognized_frames(r)) {
		status = name_text(args, shown, flags, r);
	} else if (is_json(text)) {
		status = -1;
	} else {
		status = print_names(shown, flags->demangle, r, text);
	}
	recognized_free(r);
	return status;
}
