/* Tests the PDB reader on shared PDBs of MSVC, clang and rustc: the frames of each address that
 * independent readers agree on, from GSYM of this address alone and from the GSYM of the whole PDB, and the
 * names of functions with their parameters. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "derive/convert/make.h"
#include "derive/convert/partial.h"
#include "formats/pdb/module.h"
#include "unit/row.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP "../shared/fixtures/pdb"
#define SHOWN_MOST 5 /* differences of a fixture */

static const char *const fixtures[] = {"basic32", "basic32-min", "cl32", "cl64", "cl64d", "cl64glt", "cl64lto",
	"cl64page", "cl64utf8", "cl_ec", "cla64", "conpty_console_list-arm64", "conpty_console_list-x64", "crash",
	"crash_with_srcsrv", "dump_syms_regtest64", "omap_reorder_funcs", "omap_stretched_filled", "rsapp",
	"windows_process_tree", "winpty-x64"};

/* pdb-addr2line names these by addresses of before the image was rearranged. */
static const char *const names_of_others[] = {"omap_reorder_funcs", "omap_stretched_filled"};

struct opened {
	struct span file;
	struct pdb pdb;
	struct msf_io io;
	struct partial_pdb *plain, *full;
	struct buf partial_gsym, gsym;
	struct gsym partial, g;
	struct gsym_hit hit;
};

static int test_number;
static unsigned failed;

static void result(bool ok, const char *what, const char *fixture, unsigned equal, unsigned all)
{
	printf("%sok %d - %s: %s: %u of %u\n", ok ? "" : "not ", ++test_number, fixture, what, equal, all);
	failed += !ok;
}

/* ---- what symfs says ---------------------------------------------------------------------- */

static int make_gsym(struct opened *o, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts opts = {.plain_names = true};
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	o->gsym = BUF_UP_TO(256u << 20);
	if (r == 0)
		r = gsym_make(w, o->file, &opts, &made, e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, false, "", &o->gsym, NULL, e);
	if (r == 0)
		r = gsym_open(&o->g, (struct span){(const uint8_t *)buf_text(&o->gsym), o->gsym.n}, e);
	return r;
}

static int open_fixture(struct opened *o, const char *path, struct err *e)
{
	struct view v;
	int r = map_file(&o->file, path, e);

	if (r < 0)
		return r;
	v = view_of_mem(o->file.p, o->file.n);
	msf_io_init(&o->io, &v);
	r = pdb_open(&o->pdb, &o->io, e);
	if (r == 0)
		r = partial_open(&o->plain, &v, true, NULL, NULL, e);
	if (r == 0)
		r = partial_open(&o->full, &v, false, NULL, NULL, e);
	return r < 0 ? r : make_gsym(o, e);
}

static void close_fixture(struct opened *o)
{
	partial_free(o->plain);
	partial_free(o->full);
	pdb_release(&o->pdb);
	msf_io_release(&o->io);
	buf_release(&o->partial_gsym);
	buf_release(&o->gsym);
	map_release(&o->file);
	free(o);
}

/* "NAME\tFILE\tLINE" for each frame, outermost first, as the table has it; "-": nothing is there. */
static void add_frame(struct buf *out, const char *name, const char *file, unsigned line)
{
	buf_addf(out, "%s%s\t%s\t%u", out->n ? "\t" : "", name[0] ? name : "?", file[0] ? file : "?", line);
}

static void add_frames(struct opened *o, int r, bool offsets, struct buf *out)
{
	char path[4096];

	buf_clear(out);
	for (unsigned i = r == 0 ? o->hit.n : 0; i-- > 0;) {
		const struct gsym_frame *f = &o->hit.frame[i];

		add_frame(out, f->name, gsym_path_text(f->dir, f->base, path, sizeof(path)), f->line);
		if (offsets)
			buf_addf(out, "+%llx", (unsigned long long)f->offset);
	}
	if (!out->n)
		buf_adds(out, "-");
}

/* Looks up an address in the GSYM of that address alone. */
static int find_partial(struct opened *o, struct partial_pdb *p, uint32_t rva)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = partial_write(p, w, &rva, 1, NULL);
	o->partial_gsym.most = 16u << 20;
	if (r == 0)
		r = gsym_write(w, GSYM_V1, false, "", &o->partial_gsym, NULL, NULL);
	if (r == 0)
		r = gsym_open(&o->partial,
			(struct span){(const uint8_t *)o->partial_gsym.p, o->partial_gsym.n}, NULL);
	return r < 0 ? r : gsym_lookup(&o->partial, rva, &o->hit, NULL);
}

static void frames_of_pdb(struct opened *o, uint32_t rva, bool offsets, struct buf *out)
{
	add_frames(o, find_partial(o, o->plain, rva), offsets, out);
}

static void frames_of_gsym(struct opened *o, uint32_t rva, bool offsets, struct buf *out)
{
	add_frames(o, gsym_lookup(&o->g, rva, &o->hit, NULL), offsets, out);
}

/* ---- both ways ---------------------------------------------------------------------------- */

#define RANDOM_EACH 500 /* addresses of a fixture: more than 10,000 together */

/* The same frames with offsets, of a PDB that was not converted and of one that was. */
static bool answers_alike(struct opened *o, uint32_t rva, struct buf *a, struct buf *b)
{
	frames_of_pdb(o, rva, true, a);
	frames_of_gsym(o, rva, true, b);
	return strcmp(buf_text(a), buf_text(b)) == 0;
}

/* A byte of the image's sections: of code two times of three. */
static uint32_t random_address(const struct pdb *p, uint64_t *state)
{
	const struct pdb_section *s;

	do {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		s = &p->sections[(*state >> 33) % p->n_sections];
	} while (!(s->flags & 0x20) && (*state >> 60) % 3);
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return s->addr + (uint32_t)((*state >> 33) % (s->size + 16ull));
}

static void check_random(struct opened *o, const char *fixture)
{
	const char *word = getenv("SYMFS_TEST_SEED");
	uint64_t state = word ? strtoull(word, NULL, 10) : 15;
	struct buf a = BUF_UP_TO(1u << 20), b = BUF_UP_TO(1u << 20);
	unsigned equal = 0, shown = 0;

	for (unsigned i = 0; i < RANDOM_EACH; i++) {
		uint32_t rva = random_address(&o->pdb, &state);

		if (answers_alike(o, rva, &a, &b))
			equal++;
		else if (shown++ < SHOWN_MOST)
			printf("# %x\n#  PDB  %s\n#  GSYM %s\n", rva, buf_text(&a), buf_text(&b));
	}
	result(equal == RANDOM_EACH, "random addresses alike with and without conversion", fixture, equal,
		RANDOM_EACH);
	buf_release(&a);
	buf_release(&b);
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Calls `each` for every row of a table. False: it could not be read. */
static bool each_row(const char *path, void (*each)(void *ctx, uint32_t rva, char *rest), void *ctx)
{
	_cleanup_free_ char *text = NULL;
	char *at, *line;
	size_t n;

	if (path_read(AT_FDCWD, path, 64u << 20, &text, &n) < 0)
		return false;
	at = text;
	while ((line = strsep(&at, "\n"))) {
		char *rest = line;
		const char *rva = strsep(&rest, "\t");

		if (line[0] && line[0] != '#' && rest)
			each(ctx, (uint32_t)strtoul(rva, NULL, 16), rest);
	}
	return true;
}

struct counted {
	struct opened *o;
	bool letters; /* the first column names the readers that agree */
	struct buf text;
	unsigned all, from_pdb, from_gsym, shown, jumps;
};

static void show(struct counted *c, const char *from, uint32_t rva, const char *wanted)
{
	if (c->shown++ < SHOWN_MOST)
		printf("# %x, %s\n#  wanted %s\n#  got    %s\n", rva, from, wanted, buf_text(&c->text));
}

/* Jumps of incremental links have no symbol of their own. symfs names them after their target, and no other reader
 * does: a name without a file and a line, which the address that it leads to has, too. */
static bool is_named_jump(struct counted *c, uint32_t rva)
{
	_cleanup_buf_ struct buf target = BUF_UP_TO(1u << 20), own = BUF_UP_TO(1u << 20);
	struct pdb_code code = {0};
	uint32_t source, off, to = 0;
	unsigned section;
	const struct pdb_contrib *k;
	const struct pdb_func *f = NULL;
	bool same = false;

	if (!pdb_source(&c->o->pdb, rva, &source) || !pdb_section_of(&c->o->pdb, source, &section, &off))
		return false;
	k = pdb_contrib_of(&c->o->pdb, section, off);
	if (k && pdb_code_open(&code, &c->o->pdb, &c->o->io, k->module, NULL) == 0)
		f = pdb_func_at(&code, section, off);
	if (f && f->kind == PDB_TRAMPOLINE && pdb_address(&c->o->pdb, f->target_section, f->target, &to)) {
		frames_of_pdb(c->o, to, false, &target);
		frames_of_pdb(c->o, rva, false, &own);
		same = strcmp(strchrnul(buf_text(&own), '\t'), "\t?\t0") == 0 &&
			strncmp(buf_text(&own), buf_text(&target), own.n - 4) == 0;
	}
	pdb_code_release(&code);
	return same;
}

static void compare_frames(void *ctx, uint32_t rva, char *rest)
{
	struct counted *c = ctx;
	const char *agree = c->letters ? strsep(&rest, "\t") : "A";

	if (!rest || strcmp(agree, "-") == 0)
		return;
	if (strcmp(rest, "-") == 0 && is_named_jump(c, rva)) {
		c->jumps++;
		return;
	}
	c->all++;
	frames_of_pdb(c->o, rva, false, &c->text);
	if (strcmp(buf_text(&c->text), rest) == 0)
		c->from_pdb++;
	else
		show(c, "PDB", rva, rest);
	frames_of_gsym(c->o, rva, false, &c->text);
	if (strcmp(buf_text(&c->text), rest) == 0)
		c->from_gsym++;
	else
		show(c, "GSYM", rva, rest);
}

static void compare_name(void *ctx, uint32_t rva, char *rest)
{
	struct counted *c = ctx;
	const char *wanted;
	int r = find_partial(c->o, c->o->full, rva);

	strsep(&rest, "\t"); /* the name as the record has it */
	wanted = strsep(&rest, "\t");
	c->all++;
	buf_clear(&c->text);
	if (r == 0)
		buf_adds(&c->text, c->o->hit.frame[c->o->hit.n - 1].name);
	if (wanted && strcmp(buf_text(&c->text), wanted) == 0)
		c->from_pdb++;
	else
		show(c, "name", rva, wanted ? wanted : "");
}

/* ---- fixtures ----------------------------------------------------------------------------- */

static void check_frames(struct opened *o, const char *fixture, const char *table, bool letters)
{
	struct counted c = {.o = o, .letters = letters, .text = BUF_UP_TO(1u << 20)};
	bool read = each_row(table, compare_frames, &c);

	result(read && c.all && c.from_pdb == c.all, "frames of the PDB", fixture, c.from_pdb, c.all);
	result(read && c.all && c.from_gsym == c.all, "frames of the GSYM", fixture, c.from_gsym, c.all);
	if (c.jumps)
		printf("# %s: %u jumps without a symbol have the name of their target\n", fixture, c.jumps);
	buf_release(&c.text);
}

static void check_names(struct opened *o, const char *fixture, const char *table)
{
	struct counted c = {.o = o, .text = BUF_UP_TO(1u << 20)};
	bool read = each_row(table, compare_name, &c), others = false;

	for (unsigned i = 0; i < ARRAY_SIZE(names_of_others); i++)
		others |= strcmp(fixture, names_of_others[i]) == 0;
	result(others || (read && c.from_pdb == c.all), "names with parameters", fixture, c.from_pdb, c.all);
	buf_release(&c.text);
}

static void check_fixture(const char *top, const char *fixture)
{
	struct opened *o = calloc(1, sizeof(*o));
	char path[4096], frames[4096], names[4096];
	struct err e = {0};

	if (!o)
		abort();
	snprintf(path, sizeof(path), "%s/" TOP "/fixtures/%s.pdb", top, fixture);
	snprintf(frames, sizeof(frames), "%s/" TOP "/expected/%s.tsv", top, fixture);
	snprintf(names, sizeof(names), "%s/" TOP "/names/%s.tsv", top, fixture);
	if (open_fixture(o, path, &e) < 0) {
		printf("# %s %s\n", fixture, e.text);
		result(false, "cannot be read", fixture, 0, 0);
	} else {
		check_frames(o, fixture, frames, true);
		check_names(o, fixture, names);
		check_random(o, fixture);
	}
	close_fixture(o);
}

/* A PDB and the table that it is to answer: variants that a script made. */
static int check_one(const char *path, const char *table, bool letters)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct err e = {0};

	if (!o)
		abort();
	if (open_fixture(o, path, &e) < 0) {
		printf("# %s %s\n", path, e.text);
		result(false, "cannot be read", path, 0, 0);
	} else {
		check_frames(o, path, table, letters);
		check_random(o, path);
	}
	close_fixture(o);
	return failed != 0;
}

static int run_tests(int argc, char **argv)
{
	const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
	char path[4096];

	if (argc == 4)
		return check_one(argv[1], argv[2], strcmp(argv[3], "letters") == 0);
	snprintf(path, sizeof(path), "%s/" TOP "/README.md", top);
	if (access(path, R_OK) < 0) {
		printf("1..0 # SKIP no ../shared/fixtures/pdb: PDBs of MSVC, clang and rustc\n");
		return 0;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(fixtures); i++)
		check_fixture(top, fixtures[i]);
	printf("1..%d\n", test_number);
	return failed != 0;
}

UNIT_ROW("pdb-vectors", run_tests)
