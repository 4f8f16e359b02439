/* symfs dsym: prints where the debug files of Mach-O UUIDs are, as dsymForUUID does on macOS. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/downloads.h"
#include "cmd/no-source.h"
#include "cmd/what.h"
#include "fetch/bundle.h"
#include "formats/obj/obj.h"
#include "names/layout/layout.h"
#include "store/search.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLACE_PATH_MOST 16384
#define DIRECTORY "dsym/"
#define CONTENTS "/Contents/"
#define BUNDLE ".dSYM"

/* ---- copies -------------------------------------------------------------------------- */

static bool has_size(const char *path, uint64_t size)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

static int fill_blob(void *ctx, int fd)
{
	return files_copy(blob_fd(ctx), fd);
}

/* ---- bundles ------------------------------------------------------------------------- */

/* Appends "INTO/UUID/NAME.dSYM/Contents/REST" of a told file, whose canonical path in the mount begins with
 * "dsym/". */
static int below(struct buf *out, const char *into, const char *told)
{
	const char *rest = strstr(told, DIRECTORY);

	return rest ? buf_addf(out, "%s/%s", into, rest + strlen(DIRECTORY)) : -EINVAL;
}

static int place_plist(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found)
{
	_cleanup_buf_ struct buf told = BUF_UP_TO(PLACE_PATH_MOST), path = BUF_UP_TO(PLACE_PATH_MOST),
				 text = BUF_UP_TO(64 << 10);
	int r = bundle_write(f, TOLD_PLIST, a, found, &told, &text);

	if (r == 0)
		r = below(&path, into, buf_text(&told));
	if (r == 0)
		r = path_make_parents(path.p, 0755);
	return r == 0 && !has_size(path.p, text.n) ? path_replace(path.p, 0644, path_fill_buf, &text) : r;
}

/* Turns "UUID/NAME.dSYM/Contents/Resources/DWARF/NAME" into "UUID/NAME". */
static void beside_bundle(struct buf *path)
{
	char *contents = memmem(path->p, path->n, BUNDLE CONTENTS, strlen(BUNDLE CONTENTS));

	if (!contents)
		return;
	*contents = '\0';
	path->n = (size_t)(contents - path->p);
}

/* The name of a program chooses its path as the name of a debug file chooses that of a bundle. */
static int path_of(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found,
	struct buf *path)
{
	_cleanup_buf_ struct buf link = BUF_UP_TO(PLACE_PATH_MOST), target = BUF_UP_TO(PLACE_PATH_MOST);
	struct artifact debug = *a;
	int r;

	debug.type = FILETYPE_MACH_DEBUG;
	r = bundle_write(f, TOLD_LINK, &debug, found, &link, &target);

	if (r == 0)
		r = below(path, into, buf_text(&target));
	if (r == 0 && a->type == FILETYPE_MACH_CODE)
		beside_bundle(path);
	return r;
}

/* Copies a stored debug file or program into the directory `into`, below a directory of its UUID, with shared blocks
 * where the file system has them. `a` is the artifact, `found` its answer with a blob. A file that is there already
 * with the same size stays. *out: the absolute path of the copy, which the caller frees. 0; -errno, with a text in
 * `e`. (waits for the disk) */
static int dsym_place(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found,
	char **out, struct err *e)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PLACE_PATH_MOST);
	int r = path_of(f, into, a, found, &path);

	if (r == 0)
		r = path_make_parents(path.p, 0755);
	if (r == 0 && !has_size(path.p, blob_size(found->blob)))
		r = path_replace(path.p, 0644, fill_blob, found->blob);
	if (r == 0 && a->type == FILETYPE_MACH_DEBUG)
		r = place_plist(f, into, a, found);
	if (r == 0 && !(*out = strdup(path.p)))
		r = -ENOMEM;
	return r < 0 ? err_set(e, r, "%s: %s", into, err_text(r)) : 0;
}

/* ---- a mount ------------------------------------------------------------------------- */

/* Finds the file of an artifact in the mount `mount`. *path as above, inside the mount. 0; -ENOENT: the mount does
 * not have it; other -errno. (waits for the mount) */
static int dsym_in_mount(const char *mount, const struct artifact *a, char **out, struct err *e)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(PLACE_PATH_MOST);
	_cleanup_free_ char *resolved = NULL;
	int r = buf_addf(&path, "%s/lldb/", mount);

	if (r == 0)
		r = layout_path(layout_find("lldb"), a, CASING_DEFAULT, 0, &path);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	resolved = realpath(path.p, NULL); /* the path of a debug file is a link into its bundle */
	if (!resolved)
		return err_set(e, -errno, "%s: %s", mount, err_text(errno));
	*out = take(resolved);
	return 0;
}

#define MODULES_MOST 4096
#define PLIST_MOST (64u << 20)

/* One entry of the property list. */
struct dsym {
	char key[MODULE_PATH_MAX]; /* the UUID as LLDB prints it; a word that is not a UUID: the word */
	struct artifact debug, program;
	const char *arch; /* NULL: unknown */
	char *debug_path, *program_path; /* NULL: no source has the file */
	char error[sizeof(((struct err *)NULL)->text)]; /* "": the debug file is there */
};

struct dsyms {
	struct app app;
	struct downloads all;
	const char *mount, *into;
	char *beside;	 /* the directory of the bundles if no option names one */
	struct dsym *of; /* the entry that a callback fills */
	const char *word;
	struct dsym **list;
	size_t room;
	unsigned n;
	int worst;
};

/* ---- words --------------------------------------------------------------------------- */

/* *out: a new entry; NULL: the list has the key. 0, -ENOMEM. */
static int entry_add(struct dsyms *d, const char *key, struct dsym **out)
{
	*out = NULL;
	for (unsigned i = 0; i < d->n; i++)
		if (strcmp(d->list[i]->key, key) == 0)
			return 0;
	if (d->n == MODULES_MOST || grow(&d->list, &d->room, d->n, sizeof(struct dsym *)) < 0 ||
		!(*out = calloc(1, sizeof(**out))))
		return -ENOMEM;
	snprintf((*out)->key, sizeof((*out)->key), "%s", key);
	d->list[d->n++] = *out;
	return 0;
}

static int add_failed(struct dsyms *d, const char *word, const char *why)
{
	struct dsym *one;
	int r = entry_add(d, word, &one);

	d->worst = MAX(d->worst, EXIT_NO);
	if (one)
		snprintf(one->error, sizeof(one->error), "%s", why);
	return r;
}

/* 32 digits -> upper case with dashes, the form in which LLDB looks a UUID up in the list. */
static void dashed(const char digits[static 33], char out[static 37])
{
	unsigned at = 0;

	for (unsigned i = 0; i < 32; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			out[at++] = '-';
		out[at++] = (char)toupper((unsigned char)digits[i]);
	}
	out[at] = '\0';
}

static int add_module(struct dsyms *d, const struct module *m)
{
	char digits[33], key[37];
	struct dsym *one;
	int r;

	if (m->object != OBJECT_MACHO || module_uuid(m, digits) < 0)
		return add_failed(d, d->word, "is not a Mach-O file with a UUID");
	dashed(digits, key);
	r = entry_add(d, key, &one);
	if (one) {
		one->debug = (struct artifact){.type = FILETYPE_MACH_DEBUG, .m = *m};
		one->program = (struct artifact){.type = FILETYPE_MACH_CODE, .m = *m};
	}
	return r;
}

static int add_slice(void *ctx, const struct what *w)
{
	return add_module(ctx, &w->m);
}

static int add_file(struct dsyms *d, const char *path)
{
	struct what_opts o = {.type = FILETYPE_MACH_DEBUG};
	_cleanup_free_ char *whole = path_absolute(path);
	struct err e = {0};
	int r = whole ? what_named(&o, whole, add_slice, d, &e) : -ENOMEM;

	if (r == -ENOMEM)
		return r;
	return r < 0 ? add_failed(d, d->word, err_why(&e, r)) : 0;
}

/* Reads a word: a UUID, a Mach-O file, or a dSYM bundle. */
static int take_word(struct dsyms *d, const char *word)
{
	struct module m = {.object = OBJECT_MACHO};
	char digits[MODULE_ID_TEXT];
	struct err e = {0};
	int r;

	d->word = word;
	if (search_digits(word, digits) && strlen(digits) == 32) {
		r = module_set_code_id(&m, digits, 32);
		return r < 0 ? r : add_module(d, &m);
	}
	_cleanup_bundle_ struct bundle files = {0};

	r = bundle_open(&files, word, &e);
	if (r < 0)
		return r == -ENOMEM ? r : add_failed(d, word, err_why(&e, r));
	for (unsigned i = 0; r == 0 && i < files.n; i++)
		r = add_file(d, files.files[i]);
	return r;
}

/* ---- files --------------------------------------------------------------------------- */

/* The word of LLVM for an architecture; the others are the same in symfs. */
static const char *arch_word(const char *arch)
{
	static const char *const words[][2] = {
		{"x86", "i386"}, {"arm64v8", "arm64"}, {"arm64_32v8", "arm64_32"}, {"unknown", NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i][0], arch) == 0)
			return words[i][1];
	return arch;
}

static void read_arch(struct dsym *one, int fd, uint64_t size, const struct artifact *a)
{
	struct view v = view_of_fd(fd, size);
	struct obj_slice s;
	struct key k;

	if (!one->arch && key_of(&k, a) == 0 && obj_check(&v, &k, &s, NULL) == 1)
		one->arch = arch_word(s.arch);
}

static void failed(struct dsym *one, int r, const char *why)
{
	snprintf(one->error, sizeof(one->error), "%s%s%.450s", r == -ENOENT ? "no source has the dSYM" : "",
		r == -ENOENT && why[0] ? ": " : "", r == -ENOENT || why[0] ? why : err_text(r));
}

static int got_file(struct dsyms *d, struct dsym *one, const struct artifact *a, struct download *got)
{
	struct fetched found = {.key = got->key, .blob = got->blob, .why = ""};
	bool debug = a->type == FILETYPE_MACH_DEBUG;
	struct err e = {0};
	int r = got->begun ? got->r : -EINTR;

	if (r == 0) {
		read_arch(one, blob_fd(got->blob), blob_size(got->blob), a);
		r = dsym_place(d->app.fetch, d->into, a, &found, debug ? &one->debug_path : &one->program_path, &e);
		if (r < 0)
			cmd_say(0, "%s", e.text);
	}
	if (r < 0 && debug)
		failed(one, r, e.text[0] ? e.text : got->why);
	/* A program that no source has is an expected answer. */
	return r == 0 || (!debug && r == -ENOENT) ? EXIT_DONE : app_exit(r);
}

static void over(void *ctx, struct download *got)
{
	struct dsyms *d = ctx;
	struct dsym *one = got->of;
	int status = got_file(d, one, got->cands[0].type == FILETYPE_MACH_DEBUG ? &one->debug : &one->program, got);

	d->worst = MAX(d->worst, status);
}

static int fetch_all(struct dsyms *d)
{
	int r = 0;

	downloads_init(&d->all, d->app.fetch);
	for (unsigned i = 0; r == 0 && i < d->n; i++) {
		struct dsym *one = d->list[i];

		if (one->error[0])
			continue;
		r = downloads_add(&d->all, &one->debug, 1, one);
		if (r == 0)
			r = downloads_add(&d->all, &one->program, 1, one);
	}
	if (r == 0 && downloads_run(&d->all, over, d))
		d->worst = EXIT_INTERRUPTED;
	return r;
}

/* Forgets that no source had the files. */
static void forget_misses(struct dsyms *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		const struct artifact *both[] = {&d->list[i]->debug, &d->list[i]->program};
		struct key k;

		for (unsigned j = 0; j < ARRAY_SIZE(both) && !d->list[i]->error[0]; j++)
			if (key_of(&k, both[j]) == 0)
				store_misses_clear(d->app.store, &k);
	}
}

/* ---- a mount ------------------------------------------------------------------------- */

static void arch_from_mount(struct dsym *one, const char *path, const struct artifact *a)
{
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	uint64_t size;

	if (path_open_file(path, &fd, &size, &e) == 0)
		read_arch(one, fd, size, a);
}

static void find_in_mount(struct dsyms *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		struct dsym *one = d->list[i];
		struct err e = {0};
		int r;

		if (one->error[0])
			continue;
		r = dsym_in_mount(d->mount, &one->debug, &one->debug_path, &e);
		if (r < 0) {
			failed(one, r, r == -ENOENT ? "" : e.text);
			d->worst = MAX(d->worst, app_exit(r));
		} else {
			arch_from_mount(one, one->debug_path, &one->debug);
		}
		if (dsym_in_mount(d->mount, &one->program, &one->program_path, &e) == 0 && !one->arch)
			arch_from_mount(one, one->program_path, &one->program);
	}
}

/* ---- the property list ---------------------------------------------------------------- */

static void add_pair(struct buf *out, const char *key, const char *value)
{
	if (!value || !value[0])
		return;
	buf_addf(out, "\t\t<key>%s</key>\n\t\t<string>", key);
	bundle_xml(out, value);
	buf_adds(out, "</string>\n");
}

static void add_entry(struct buf *out, const struct dsym *one)
{
	buf_adds(out, "\t<key>");
	bundle_xml(out, one->key);
	buf_adds(out, "</key>\n\t<dict>\n");
	add_pair(out, "DBGArchitecture", one->arch);
	add_pair(out, "DBGDSYMPath", one->debug_path);
	add_pair(out, "DBGError", one->error);
	add_pair(out, "DBGSymbolRichExecutable", one->program_path);
	buf_adds(out, "\t</dict>\n");
}

static int print_list(const struct dsyms *d)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(PLIST_MOST);
	int r;

	buf_adds(&out, BUNDLE_PLIST_HEAD "<dict>\n");
	for (unsigned i = 0; i < d->n; i++)
		add_entry(&out, d->list[i]);
	r = buf_adds(&out, "</dict>\n</plist>\n");
	if (r == 0 && (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0))
		r = -errno;
	return r;
}

/* ---- the command --------------------------------------------------------------------- */

/* The directory of the bundles, absolute: "STORE-dsym" if no option names one. */
static int find_into(struct dsyms *d)
{
	_cleanup_buf_ struct buf beside = BUF_UP_TO(PATH_MAX);

	if (buf_addf(&beside, "%s-dsym", d->app.settings.cache_dir) < 0)
		return -ENAMETOOLONG;
	d->beside = path_absolute(d->into ? d->into : buf_text(&beside));
	d->into = d->beside;
	return d->beside ? 0 : -ENOMEM;
}

static int answer(struct dsyms *d, const struct app_args *args, bool afresh)
{
	struct err e = {0};
	int r = 0;

	if (d->mount) {
		find_in_mount(d);
	} else {
		r = app_open(&d->app, args, &e);
		if (r < 0)
			return cmd_say(app_exit(r), "%s", e.text);
		r = find_into(d);
		if (r == 0 && afresh)
			forget_misses(d);
		if (r == 0)
			r = fetch_all(d);
		if (d->worst == EXIT_NO)
			no_source_hint(args->sources, args->n_sources);
	}
	if (r == 0)
		r = print_list(d);
	return r < 0 ? cmd_say(EXIT_LOCAL, "%s", err_text(r)) : d->worst;
}

static void release(struct dsyms *d)
{
	app_close(&d->app); /* from here on no callback reaches a download */
	if (d->all.fetch)
		downloads_release(&d->all);
	for (unsigned i = 0; i < d->n; i++) {
		free(d->list[i]->debug_path);
		free(d->list[i]->program_path);
		free(d->list[i]);
	}
	free(d->list);
	free(d->beside);
}

static int run_dsym(int argc, char **argv)
{
	struct dsyms d = {.worst = EXIT_DONE};
	bool afresh = false, copy = false;
	const struct opt own[] = {
		{"copyExecutable", 0, NULL, "accepted: the program is always copied", &copy},
		{"ignoreNegativeCache", 0, NULL, "forget that no source had the files", &afresh},
		{"into", 0, "DIR", "make the bundles in DIR", &d.into},
		{"mount", 0, "DIR", "print paths in the mount DIR, and copy nothing", &d.mount}, {0}};
	struct app_args args;
	int status = app_options(&args, &cmd_dsym, own, &argc, argv), r = 0;

	if (status >= 0)
		return status;
	if (argc < 2 || (d.mount && d.into))
		return cmd_usage("%s", argc < 2 ? "expected a UUID or a file"
			: "--mount and --into exclude each other");
	for (int i = 1; r == 0 && i < argc; i++)
		r = take_word(&d, argv[i]);
	status = r < 0 ? cmd_say(EXIT_LOCAL, "%s", err_text(r)) : answer(&d, &args, afresh);
	release(&d);
	return status;
}

const struct cmd cmd_dsym = {
	.name = "dsym",
	.args = "[--into DIR | --mount DIR] UUID|FILE...",
	.help = "Finds the dSYM of a UUID as macOS's dsymForUUID does; prints its property list,\n"
		"which names the dSYM and the program. Fetches both files, and makes a dSYM\n"
		"bundle. FILE is a Mach-O file or a .dSYM bundle; the command looks up the UUIDs\n"
		"in it. The exit status is 1 if a dSYM is missing",
	.examples = {"symfs dsym 67E9247C-814E-392B-A027-DBDE6748FCBF",
		"symfs dsym --mount /run/symfs 67E9247C-814E-392B-A027-DBDE6748FCBF"},
	.configured = true,
	.run = run_dsym,
};
