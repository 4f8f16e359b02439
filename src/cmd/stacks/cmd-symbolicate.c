/* symfs symbolicate: opens and unpacks its input, keeps what a pipe sends in a file without a name, and finds its
 * reader (symbolicate.h). Answers requests of Mozilla's symbolication service; prints text with names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "base/view.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/stacks/symbolicate.h"
#include "formats/obj/obj.h"
#include "pack/unpack/unpack.h"
#include "stacks/recognize/recognize.h"
#include "symb/form.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the input ------------------------------------------------------------------- */

#define INPUT_MOST ((uint64_t)16 << 30) /* bytes from a pipe, or of an unpacked file */
#define CHUNK (64 << 10)

/* A file that has no name, so that none is left behind. */
static int nameless(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/symfs-input.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/var/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int keep(void *ctx, const void *p, size_t n)
{
	return atomic_load(&symbolicate_stopped) ? -EINTR : write_all(*(int *)ctx, p, n);
}

/* Makes the file `to` the input. */
static int take_over(struct symbolicate_input *in, int to, int r)
{
	struct stat st;

	close(in->fd);
	in->fd = to;
	if (r == 0 && fstat(to, &st) == 0)
		in->size = (uint64_t)st.st_size;
	return r;
}

static int keep_pipe(struct symbolicate_input *in)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	int to = chunk ? nameless() : -ENOMEM, r = 0;
	uint64_t size = 0;
	ssize_t n;

	if (to < 0)
		return to;
	while (r == 0 && (n = read(in->fd, chunk, CHUNK)) != 0) {
		if (n < 0)
			r = errno == EINTR && !atomic_load(&symbolicate_stopped) ? 0 : -errno;
		else
			r = (size += (uint64_t)n) > INPUT_MOST ? -EFBIG : keep(&to, chunk, (size_t)n);
	}
	return take_over(in, to, r);
}

static int unpack_input(struct symbolicate_input *in, const struct packing *p, struct err *e)
{
	_cleanup_unpack_ struct unpack *u = NULL;
	struct view v = view_of_fd(in->fd, in->size);
	int to = nameless(), r;

	if (to < 0)
		return to;
	r = unpack_new(&u, p, INPUT_MOST, keep, &to);
	if (r == 0) {
		unpack_trust(u);
		r = unpack_more(u, &v, e);
	}
	return take_over(in, to, r);
}

static int open_input(struct symbolicate_input *in, const char *word, struct err *e)
{
	const struct packing *p;
	uint8_t head[UNPACK_HEAD];
	struct stat st;
	ssize_t n;
	int r = 0;

	in->fd = word ? open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return -errno;
	in->size = (uint64_t)st.st_size;
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "is a directory; try: symfs get %s", word);
	if (!S_ISREG(st.st_mode) || lseek(in->fd, 0, SEEK_CUR) != 0)
		r = keep_pipe(in);
	n = pread(in->fd, head, sizeof(head), 0);
	p = r == 0 && n > 0 ? packing_of(head, (size_t)n) : NULL;
	if (p && (strcmp(packing_name(p), "gzip") == 0 || strcmp(packing_name(p), "zstd") == 0))
		return unpack_input(in, p, e);
	in->readable = word && S_ISREG(st.st_mode);
	return r;
}

/* Why the input can have no stack: a text with the command that helps. "": it can. */
static const char *find_kind(struct symbolicate_input *in, const char *file, char room[static 600])
{
	struct view v = view_of_fd(in->fd, in->size);
	const char *unpack = obj_unpacker(&v);
	unsigned char head[18] = {0};
	struct obj_slice s;
	bool elf;

	room[0] = '\0';
	in->kind = INPUT_TEXT;
	if (view_read(&v, 0, head, MIN(in->size, sizeof(head))) < 0)
		return room;
	elf = memcmp(head, "\177ELF", 4) == 0;
	if (memcmp(head, "MDMP", 4) == 0)
		in->kind = INPUT_MINIDUMP;
	else if (elf && head[16] + head[17] == 4 && (head[16] == 4 || head[5] == 2)) /* ET_CORE */
		in->kind = INPUT_CORE;
	else if (!in->size)
		snprintf(room, 600, "is empty; if the system wrote no core, see ulimit -c and coredumpctl(1)");
	else if (elf || obj_identify(&v, 0, &s, NULL) == 0)
		snprintf(room, 600, "is a program or debug file, and has no stack; try: symfs addr2line %.200s "
			"ADDRESS, or: symfs why %.200s", file, file);
	if (memcmp(head, "PERFILE2", 8) == 0)
		snprintf(room, 600, "is a recording of perf; try: perf script -i %.200s | symfs symbolicate", file);
	if (unpack)
		snprintf(room, 600, "is packed by %.*s; try: %s %.200s | symfs symbolicate",
			(int)strcspn(unpack, " "), unpack, unpack, file);
	return room;
}

/* Opens the input; the caller closes in->fd, if it is not negative. `request`: what is neither a core file nor a
 * minidump is taken as a request. Negative: go on; otherwise an exit status, and a message was printed. */
static int symbolicate_open(struct symbolicate_input *in, const char *word, bool request)
{
	struct err e = {0};
	char room[600];
	int r;

	if (word && strcmp(word, "-") == 0)
		word = NULL;
	*in = (struct symbolicate_input){.kind = INPUT_PROCESS, .shown = word ? word : "stdin", .fd = -1};
	in->pid = symbolicate_process(word);
	if (in->pid)
		return -1;
	if (!word && isatty(STDIN_FILENO))
		cmd_say(0, "reads the terminal: paste a stack, then press Ctrl-D");
	r = open_input(in, word, &e);
	if (atomic_load(&symbolicate_stopped))
		return EXIT_INTERRUPTED;
	if (r < 0)
		return cmd_say(r == -EBADMSG || r == -EFBIG ? EXIT_NO : EXIT_LOCAL, "%s: %s", in->shown,
			err_why(&e, r));
	if (find_kind(in, word ? word : "FILE", room)[0] && !request)
		return cmd_say(EXIT_NO, "%s: %s", in->shown, room);
	return -1;
}

/* ---- text ------------------------------------------------------------------------ */

#define REQUEST_TOKENS (64u << 20)

/* Whether the bytes begin as JSON does, in any encoding and with a mark of its order. */
static bool is_json(struct span text)
{
	size_t i = 0;

	while (i < text.n && memchr("\0 \t\r\n\xef\xbb\xbf\xfe\xff", text.p[i], 10))
		i++;
	return i < text.n && text.p[i] == '{';
}

/* Whether the bytes are a request in JSON, rather than text with stacks in it. */
static bool text_is_request(struct span bytes)
{
	_cleanup_jtext_ struct jtext j = {0};

	/* A document with modules and threads is of minidump-stackwalk --json. */
	return is_json(bytes) && jtext_read(&j, bytes, REQUEST_TOKENS, NULL) == 0 &&
	       (jtext_member(&j, 0, "memoryMap") || jtext_member(&j, 0, "jobs") || !jtext_member(&j, 0, "modules") ||
		       !jtext_member(&j, 0, "threads"));
}

/* Opens the file at the path. WinDbg names modules without their suffix. */
static int open_there(const char *path, int *fd, uint64_t *size)
{
	static const char *const suffixes[] = {"", ".exe", ".dll"};
	char name[PATH_MAX];
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(suffixes); i++)
		r = snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) < PATH_MAX
			? path_open_file(name, fd, size, NULL) : -ENAMETOOLONG;
	return r;
}

/* Opens the files at the paths that the text names, and makes links to those that are of the right build. */
static void take_files(struct recognized *r, struct local_files *l)
{
	for (uint32_t i = 0; i < recognized_modules(r); i++) {
		const char *path = recognized_path(r, i);
		_cleanup_close_ int fd = -1;
		char id[RECOGNIZE_ID];
		uint64_t size;
		bool debug;

		if (!path || open_there(path, &fd, &size) < 0 || recognize_file(r, i, fd, size, id, &debug) < 0)
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

	return status < 0 ? cmd_say(EXIT_LOCAL, "%s", err_text(status)) : put(&out);
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
	for (uint32_t i = 0; i < recognized_modules(r); i++)
		if (recognized_unknown(r, i))
			symbolicate_unknown(&g, recognized_unknown(r, i));
	if (atomic_load(&symbolicate_stopped))
		return symbolicate_close(&g, app, EXIT_INTERRUPTED);
	if (asked < 0)
		cmd_say(EXIT_LOCAL, "%s: %s", shown, e.text);
	status = asked < 0 ? print(r, g.flags.demangle) : put(&out);
	return symbolicate_close(&g, app, asked == 0 ? status : asked == -E2BIG ? EXIT_NO : EXIT_LOCAL);
}

static void local_files_release(struct local_files *l)
{
	if (l->dir[0])
		path_remove_tree(l->dir);
	l->dir[0] = '\0';
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
	status = status < 0 ? cmd_say(app_exit(status), "%s", e.text) : ask(&app, shown, flags, r);
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
	cmd_say(EXIT_NO, "%s: has no stack in a known format, or all its frames have names; symfs-symbolicate(1) "
		"lists the formats", shown);
	return binary ? EXIT_NO : MAX(print(r, false), EXIT_NO);
}

/* Prints the text with names. `shown` is the file's name, for messages. `args` may get another source. Returns an
 * exit status; -1: there is no stack in it, and it may be a broken request. */
static int text_symbolicate(struct app_args *args, const char *shown, const struct symb_flags *flags,
	struct span text)
{
	struct recognized *r = NULL;
	int status = recognize_read(&r, text);

	if (status == -EFBIG)
		return cmd_say(EXIT_NO, "%s: the text has more than 64 MiB", shown);
	if (status < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", shown, err_text(status));
	status = recognized_frames(r) ? name_text(args, shown, flags, r)
		 : is_json(text)      ? -1
				      : print_names(shown, flags->demangle, r, text);
	recognized_free(r);
	return status;
}

/* ---- the command --------------------------------------------------------------------- */

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
	_cleanup_(local_files_release) struct local_files files = {0};
	struct err e = {0};
	struct app app;
	int status;

	if (in->kind == INPUT_CORE || in->kind == INPUT_PROCESS)
		symbolicate_core_files(args, in, &files);
	status = app_open(&app, args, &e);
	status = status < 0		   ? cmd_say(app_exit(status), "%s", e.text)
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

	if (status < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", in->shown, e.text);
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
	if (!w.api || argc > 2)
		return cmd_usage(!w.api ? "--api: expected v4 or v5"
			: "expected one FILE; a program is in a source: symfs symbolicate --source DIR CORE");
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
