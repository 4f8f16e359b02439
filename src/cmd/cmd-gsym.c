/* symfs gsym: makes GSYM files, shows them, asks them for addresses, and compares them. It needs no
 * mount, no store and no source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/gsym-files.h"
#include "cmd/gsym-text.h"
#include "cmd/json.h"
#include "convert/embed.h"
#include "convert/make.h"
#include "convert/object.h"
#include "convert/worker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* From so many addresses on it pays to look at all functions first. */
#define MANY 64
/* So many differences are shown. */
#define SHOWN_MOST 20

struct run {
	struct app_args args;
	const char *out, *against, *format, *threads, *arch;
	unsigned n_threads; /* 0: not said */
	bool dump, strict, from_stdin, shorten, full, embed;
	struct opt_words addresses; /* of --address */
	int argc;
	char **argv; /* words behind the subcommand */
};

static int fail(const char *path, const struct err *e)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(16 << 10), text = BUF_UP_TO(4 << 10);

	fprintf(stderr, "symfs gsym: %s%s%s\n", path ? text_shown(path, true, &name) : "",
		path ? ": " : "",
		text_shown(e->text[0] ? e->text : err_text(e->code), true, &text));
	return e->code == -ENOMSG || e->code == -ENODATA || e->code == -ENOTSUP ? EXIT_NO
										: EXIT_LOCAL;
}

static int usage(const char *what)
{
	fprintf(stderr, "symfs gsym: %s; try: symfs gsym --help\n", what);
	return EXIT_USAGE;
}

static int flushed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "symfs gsym: %s\n", err_text(errno));
	return EXIT_LOCAL;
}

/* A file that is mapped and opened. */
struct opened {
	struct span file;
	struct gsym g;
};

static void opened_release(struct opened *o)
{
	gsym_release(&o->g);
	map_release(&o->file);
}
#define _cleanup_opened_ __attribute__((cleanup(opened_release)))

/* -1: go on. Else it was told, and this is the exit status. */
static int open_gsym(struct opened *o, const char *path)
{
	struct err e = {0};
	int r = map_file(&o->file, path, &e);

	if (r == 0)
		r = gsym_open(&o->g, o->file, &e);
	return r < 0 ? fail(path, &e) : -1;
}

/* ---- create -------------------------------------------------------------------------- */

struct making {
	struct gsym_files files;
	const char *path;
	unsigned told; /* per cent */
};

static void show_progress(void *ctx, unsigned part)
{
	struct making *p = ctx;

	if (part / 10 == p->told)
		return;
	p->told = part / 10;
	fprintf(stderr, "\r%s: %u %%", path_base(p->path), p->told);
}

static int find_file(void *ctx, const struct gsym_want *want, struct span *out)
{
	struct making *p = ctx;

	return gsym_files_find(&p->files, want, out);
}

/* What a file has to say, in a writer. */
static int make(const struct run *run, const char *path, struct gsym_writer **out,
	struct gsym_made *made, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_map_ struct span map = {0};
	struct span file = {0};
	struct making p = {.path = path, .files = {.path = path}};
	struct gsym_make_opts o = {.strict = run->strict, .shorten = run->shorten, .threads = run->n_threads,
		.find = find_file, .ctx = &p};
	int r;

	if (isatty(STDERR_FILENO))
		o.progress = show_progress;
	r = gsym_files_open(&map, &file, path, run->arch, e);
	if (r == 0)
		r = gsym_writer_new(&w);
	if (r == 0)
		r = gsym_make(w, file, &o, made, e);
	if (p.told)
		fputs("\r\033[K", stderr);
	gsym_files_release(&p.files);
	if (r == 0)
		*out = take(w);
	return r;
}

/* Who interrupts a conversion ends it at once. While the file is written, which does not take long,
 * that waits: what was begun would stay. */
static int save(const char *path, const struct buf *b, mode_t mode, struct err *e)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int dir = -1;
	char *slash = copy ? strrchr(copy, '/') : NULL;
	sigset_t ends, before;
	int r;

	if (!copy)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	if (slash)
		*slash = '\0';
	dir = open(!slash ? "." : copy[0] ? copy : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	r = dir < 0 ? -errno : path_write_synced(dir, path_base(path), b->p, b->n, 0644);
	if (r == 0 && mode && fchmodat(dir, path_base(path), mode, 0) < 0)
		r = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

static void tell_left_out(const char *path, const struct gsym_made *made)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(16 << 10);

	if (made->left_out)
		fprintf(stderr, "symfs gsym: %s: bad lines left out: %" PRIu64
			", the first is line %" PRIu64 "\n", text_shown(path, true, &name),
			made->left_out, made->first_left_out);
	if (made->broken)
		fprintf(stderr, "symfs gsym: %s: broken units of debug information: %zu\n",
			text_shown(path, true, &name), made->broken);
	if (made->split)
		fprintf(stderr,
			"symfs gsym: %s: units whose debug information is in other files, not found: "
			"%zu\n",
			text_shown(path, true, &name), made->split);
	if (made->no_alt)
		fprintf(stderr, "symfs gsym: %s: what dwz took out of it was not found\n",
			text_shown(path, true, &name));
}

static bool is_object(const struct run *run)
{
	return run->embed || (run->format && strcmp(run->format, "object") == 0);
}

/* What create writes. */
static int render(const struct run *run, const char *path, struct gsym_writer *w,
	const struct gsym_made *made, struct buf *out, struct err *e)
{
	_cleanup_map_ struct span map = {0};
	struct span file = {0};
	int r;

	if (!is_object(run))
		return gsym_write(w, GSYM_V1, made->big, NULL, out, NULL, e);
	if (!run->embed)
		return gsym_write_object(w, made, out, e);
	r = gsym_files_open(&map, &file, path, run->arch, e);
	return r < 0 ? r : gsym_embed(w, made, file, out, e);
}

/* -1: go on. */
static int check_form(struct run *run)
{
	if (run->format && strcmp(run->format, "v1") != 0 && strcmp(run->format, "object") != 0)
		return usage("--format is v1 or object");
	if (run->shorten && run->full)
		return usage("--shorten-cpp and --full-names do not go together");
	if (run->embed && run->format && strcmp(run->format, "v1") == 0)
		return usage("--embed writes the form that lies in objects");
	if (run->embed && !run->out)
		return usage("--embed needs -o: it does not write to the file itself");
	run->shorten = run->shorten || (is_object(run) && !run->full);
	return -1;
}

/* Of a bundle its one file. */
static int open_bundle(struct bundle *b, const char *word, struct err *e)
{
	int r = bundle_open(b, word, e);

	return r == 0 && b->n > 1 ? err_set(e, -ENOTSUP, "holds %u debug files, of which %s is one: name one",
					    b->n, b->files[0])
				  : r;
}

/* Where it goes when -o does not say so: beside the file, or the bundle. */
static const char *beside(const struct run *run, const char *word, struct buf *room)
{
	int len = (int)strlen(word);

	while (len > 1 && word[len - 1] == '/')
		len--;
	buf_addf(room, "%.*s.gsym%s", len, word, is_object(run) ? ".o" : "");
	return buf_text(room);
}

/* A copy of a file has its permissions, but no set-user-ID bit. 0: those of any new file. */
static mode_t mode_of(const struct run *run, const char *path)
{
	struct stat st;

	return run->embed && stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static int create(struct run *run)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(1ull << 36), name = BUF_UP_TO(1 << 16);
	_cleanup_bundle_ struct bundle bundle = {0};
	const char *path = run->argc ? run->argv[0] : NULL, *to = run->out;
	struct gsym_made made;
	struct err e = {0};
	int r;

	if (run->argc != 1)
		return usage(path ? "only one file at a time" : "of which file?");
	r = check_form(run);
	if (r >= 0)
		return r;
	if (!to)
		to = beside(run, path, &name);
	r = open_bundle(&bundle, path, &e);
	if (r < 0)
		return fail(path, &e);
	path = bundle.files[0];
	r = make(run, path, &w, &made, &e);
	if (r < 0)
		return fail(path, &e);
	tell_left_out(path, &made);
	r = render(run, path, w, &made, &bytes, &e);
	if (r < 0)
		return fail(path, &e);
	if (strcmp(to, "-") == 0)
		return flushed(
			fwrite(bytes.p, 1, bytes.n, stdout) == bytes.n ? EXIT_DONE : EXIT_LOCAL);
	r = save(to, &bytes, mode_of(run, path), &e);
	return r < 0 ? fail(to, &e) : EXIT_DONE;
}

/* ---- lookup -------------------------------------------------------------------------- */

/* "0x1f" is hexadecimal, "31" is not; with a letter in it there is no doubt. */
static bool parse_address(const char *word, uint64_t *out)
{
	bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	const char *p = word + (hex ? 2 : 0);
	uint64_t base = hex || strpbrk(p, "abcdefABCDEF") ? 16 : 10, v = 0;

	if (!p[0])
		return false;
	for (; *p; p++) {
		unsigned letter = (unsigned char)(*p | 0x20) - 'a', digit = (unsigned char)*p - '0';

		if (digit > 9 && base == 16 && letter < 6)
			digit = letter + 10;
		if (digit >= base || v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	*out = v;
	return true;
}

struct lookup {
	const struct gsym *g;
	const char *path;
	struct json_object *list; /* NULL: text */
	bool fields;		  /* text for programs */
	struct buf line;
	int status;
};

static void look_up(struct lookup *l, uint64_t addr)
{
	struct json_object *o;
	struct err e = {0};
	int r;

	if (l->list) {
		r = gsym_frames_json(l->g, addr, &o, &e);
		if (r == 0)
			json_object_array_add(l->list, o);
	} else {
		buf_clear(&l->line);
		gsym_address_text(addr, &l->line);
		buf_add(&l->line, "\t", 1);
		r = gsym_frames_text(l->g, addr, l->fields, &l->line, &e);
		if (r < 0) { /* each address has its line */
			buf_clear(&l->line);
			gsym_address_text(addr, &l->line);
			buf_adds(&l->line, "\t-");
		}
		buf_add(&l->line, "\n", 1);
		fwrite(l->line.p, 1, l->line.n, stdout);
	}
	if (r < 0)
		l->status = fail(l->path, &e);
}

static int look_up_lines(struct lookup *l)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) >= 0) {
		char *word = line + strspn(line, " \t");
		uint64_t addr;

		word[strcspn(word, " \t\r\n")] = '\0';
		if (!word[0])
			continue;
		if (!parse_address(word, &addr)) {
			_cleanup_buf_ struct buf shown = BUF_UP_TO(1 << 16);

			fprintf(stderr, "symfs gsym: no address: %.100s\n",
				text_shown(word, true, &shown));
			return EXIT_USAGE;
		}
		look_up(l, addr);
	}
	return l->status;
}

static int look_up_words(struct lookup *l, const struct run *run)
{
	uint64_t addr;

	for (unsigned pass = 0; pass < 2;
		pass++) { /* all of them are addresses, or none is asked */
		for (unsigned i = 0; i < run->addresses.n + (unsigned)run->argc - 1; i++) {
			const char *word = i < run->addresses.n ? run->addresses.word[i]
								: run->argv[i - run->addresses.n];

			if (!parse_address(word, &addr)) {
				fprintf(stderr, "symfs gsym: no address: %.100s\n", word);
				return EXIT_USAGE;
			}
			if (pass)
				look_up(l, addr);
		}
	}
	return l->status;
}

static int lookup(struct run *run)
{
	_cleanup_opened_ struct opened o = {0};
	struct lookup l = {.g = &o.g, .fields = run->from_stdin, .line = BUF_UP_TO(16 << 20)};
	unsigned n = run->addresses.n + (unsigned)run->argc - 1;
	struct err e = {0};
	int status;

	if (!run->argc)
		return usage("in which file?");
	if (run->from_stdin ? n > 0 : n == 0)
		return usage(n ? "--stdin takes no other addresses" : "which address?");
	l.path = run->argv[run->argc - 1];
	status = open_gsym(&o, l.path);
	if (status >= 0)
		return status;
	if ((run->from_stdin || n >= MANY) && gsym_prepare(&o.g, &e) < 0)
		return fail(l.path, &e);
	if (run->args.json)
		l.list = json_object_new_array();
	status = run->from_stdin ? look_up_lines(&l) : look_up_words(&l, run);
	if (l.list && status == EXIT_USAGE)
		json_object_put(l.list);
	else if (l.list && json_print(l.list) != EXIT_DONE)
		status = EXIT_LOCAL;
	buf_release(&l.line);
	return flushed(status);
}

/* ---- dump, stats --------------------------------------------------------------------- */

static int show(
	struct run *run, int (*print)(const struct run *run, const struct gsym *g, struct err *e))
{
	_cleanup_opened_ struct opened o = {0};
	struct err e = {0};
	int status;

	if (run->argc != 1)
		return usage(run->argc ? "only one file at a time" : "which file?");
	status = open_gsym(&o, run->argv[0]);
	if (status >= 0)
		return status;
	if (print(run, &o.g, &e) < 0) {
		fflush(stdout);
		return fail(run->argv[0], &e);
	}
	return flushed(EXIT_DONE);
}

static int print_dump(const struct run *run, const struct gsym *g, struct err *e)
{
	return run->args.json ? gsym_dump_json(g, e) : gsym_dump_text(g, e);
}

static int print_stats(const struct run *run, const struct gsym *g, struct err *e)
{
	return gsym_stats(g, run->args.json, e);
}

static int dump(struct run *run)
{
	return show(run, print_dump);
}

static int stats(struct run *run)
{
	return show(run, print_stats);
}

/* ---- verify -------------------------------------------------------------------------- */

struct comparison {
	const struct gsym *ours, *theirs;
	struct buf a, b;
	uint64_t asked, differ;
	struct err e;
	int r;
};

static void compare_at(struct comparison *c, uint64_t addr)
{
	if (c->r < 0)
		return;
	buf_clear(&c->a);
	buf_clear(&c->b);
	c->r = gsym_frames_text(c->ours, addr, false, &c->a, &c->e);
	if (c->r == 0)
		c->r = gsym_frames_text(c->theirs, addr, false, &c->b, &c->e);
	c->asked++;
	if (c->r < 0 || strcmp(buf_text(&c->a), buf_text(&c->b)) == 0)
		return;
	if (c->differ++ < SHOWN_MOST)
		printf("0x%" PRIx64 "\t%s\t%s\n", addr, buf_text(&c->a), buf_text(&c->b));
}

/* Answers change only where something begins or ends. */
static void compare_function(struct comparison *c, const struct gsym *g, uint32_t i)
{
	struct gsym_func f;
	struct gsym_rows rows;
	struct gsym_row row;
	struct gsym_nodes nodes;
	struct gsym_node node;
	uint64_t start, size;

	if (gsym_func_at(g, i, &f, &c->e) < 0 || gsym_rows_begin(&rows, &f) < 0) {
		c->r = -EBADMSG;
		return;
	}
	compare_at(c, f.addr - 1);
	compare_at(c, f.addr);
	compare_at(c, f.addr + f.size);
	while (gsym_rows_next(&rows, &row) > 0)
		compare_at(c, row.addr);
	gsym_nodes_begin(&nodes, g, &f);
	while (gsym_nodes_next(&nodes, &node) > 0)
		for (size_t at = 0; gsym_node_range(&node, &at, &start, &size);) {
			compare_at(c, start);
			compare_at(c, start + size);
		}
}

static int compare(struct gsym *ours, struct gsym *theirs, const char *path)
{
	struct comparison c = {.ours = ours, .theirs = theirs, .a = BUF_UP_TO(16 << 20),
		.b = BUF_UP_TO(16 << 20)};
	int status;

	c.r = gsym_prepare(ours, &c.e);
	if (c.r == 0)
		c.r = gsym_prepare(theirs, &c.e);
	for (unsigned side = 0; side < 2; side++) {
		const struct gsym *g = side ? theirs : ours;

		for (uint32_t i = 0; c.r == 0 && i < g->count; i++)
			compare_function(&c, g, i);
	}
	status = c.r < 0 ? fail(path, &c.e) : c.differ ? EXIT_NO : EXIT_DONE;
	if (c.r == 0)
		printf("%" PRIu64 " addresses compared, %" PRIu64 " differ\n", c.asked, c.differ);
	buf_release(&c.a);
	buf_release(&c.b);
	return status;
}

static int verify_against(const struct run *run, struct gsym *g, const char *path)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(UINT32_MAX);
	struct gsym_made made;
	struct gsym theirs;
	struct err e = {0};
	int status, r = make(run, run->against, &w, &made, &e);

	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &bytes, NULL, &e);
	if (r == 0)
		r = gsym_open(&theirs, (struct span){(const uint8_t *)bytes.p, bytes.n}, &e);
	if (r < 0)
		return fail(run->against, &e);
	status = compare(g, &theirs, path);
	gsym_release(&theirs);
	return status;
}

static int verify(struct run *run)
{
	_cleanup_opened_ struct opened o = {0};
	struct err e = {0};
	int status;

	if (run->argc != 1)
		return usage(run->argc ? "only one file at a time" : "which file?");
	status = open_gsym(&o, run->argv[0]);
	if (status >= 0)
		return status;
	if (gsym_check(&o.g, &e) < 0)
		return fail(run->argv[0], &e);
	if (run->against)
		return flushed(verify_against(run, &o.g, run->argv[0]));
	printf("%" PRIu32 " functions, all whole\n", o.g.count);
	return flushed(EXIT_DONE);
}

/* ---- the command --------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct run *run);
} subcommands[] = {
	{"create", create},
	{"dump", dump},
	{"lookup", lookup},
	{"verify", verify},
	{"stats", stats},
};

/* `symfs gsym -o OUT FILE`, `--dump FILE`, `--address 0x1000 FILE`: as the first tool of this
 * format was called. That tool wrote the object form. */
static int run_bare(struct run *run)
{
	if (run->dump)
		return dump(run);
	if (run->addresses.n)
		return lookup(run);
	if (run->out) {
		if (!run->format)
			run->format = "object";
		return create(run);
	}
	return usage(run->argc ? "no such command" : "what to do?");
}

static int run_gsym(int argc, char **argv)
{
	struct run run = {0};
	const struct opt own[] = {
		{"output", 'o', "FILE", "create: the output; - is the standard output", &run.out},
		{"format", 0, "v1|object", "create: the form of the output (v1)", &run.format},
		{"arch", 0, "NAME", "part of a fat Mach-O file: x86_64, arm64", &run.arch},
		{"threads", 0, "N", "create: up to 8 threads (all processors)", &run.threads},
		{"embed", 0, NULL, "create: write a copy of FILE with GSYM in it", &run.embed},
		{"shorten-cpp", 0, NULL, "omit default template arguments from names",
			&run.shorten},
		{"full-names", 0, NULL, "keep full names in an object", &run.full},
		{"strict", 0, NULL, "reject a Breakpad file with a bad line", &run.strict},
		{"stdin", 0, NULL, "lookup: read addresses from stdin, one a line", &run.from_stdin},
		{"against", 0, "FILE", "verify: compare with a GSYM made from FILE", &run.against},
		{"dump", 0, NULL, "the same as the command dump", &run.dump},
		{"address", 0, "ADDR", "the same as lookup; may be repeated",
			.words = &run.addresses},
		{0},
	};
	int status;

	/* For the daemon, not for people. */
	if (argc > 1 && strcmp(argv[1], GSYM_WORKER_WORD) == 0)
		return gsym_worker_main(argc - 1, argv + 1);
	status = app_options(&run.args, &cmd_gsym, own, &argc, argv);

	if (status >= 0)
		return status;
	if (run.threads) {
		run.n_threads = (unsigned)strtoul(run.threads, NULL, 10);
		if (run.n_threads < 1 || run.n_threads > 8 || strlen(run.threads) != 1)
			return usage("--threads takes a number from 1 to 8");
	}
	run.argc = argc - 1;
	run.argv = argv + 1;
	for (unsigned i = 0; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name) != 0 || run.dump || run.addresses.n)
			continue;
		run.argc--;
		run.argv++;
		return subcommands[i].run(&run);
	}
	return run_bare(&run);
}

const struct cmd cmd_gsym = {
	.name = "gsym",
	.args = "create|dump|lookup|verify|stats [ADDR...] FILE",
	.help = "Creates, searches and prints GSYM files: addresses to functions, files and\n"
		"lines. create makes a GSYM file from a Breakpad symbol file, from DWARF and\n"
		"symbols of an ELF, Mach-O or PE file, or from another GSYM file. lookup prints\n"
		"a line for each address. The exit status of verify is 1 if something differs",
	.run = run_gsym,
};
