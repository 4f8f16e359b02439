/* The program `convert`: sets its limits and its filter, converts one file, and reports the result. symfs starts it
 * (derive/convert/worker.h). It is a program of its own so that it loads few libraries, and starts in a few
 * milliseconds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "derive/convert/from-dwarf.h"
#include "derive/convert/make.h"
#include "derive/convert/object.h"
#include "derive/convert/to-breakpad.h"
#include "derive/convert/worker-private.h"
#include "derive/convert/worker.h"
#include "priv/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* A .dwo file. The parent process puts all .dwo files into one input file (struct gsym_work_unit). */
struct unit {
	uint64_t id;
	struct span bytes;
};

/* Another file of debug information. `word` is WORKER_NONE, WORKER_ASK or WORKER_HERE. */
struct other {
	const char *word;
	struct span bytes;
};

struct work {
	unsigned threads;
	enum gsym_work_form form;
	const char *sym, *name, *code_id, *code_file;
	struct other alt, package, units;
	struct unit *known; /* the units in `units`, sorted by id */
	size_t n_known;
	uint64_t *lacked;
	size_t n_lacked, lacked_room;
	struct gsym_work_lack lack;
	struct worker_word word;
};

static int compare_units(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return COMPARE(x->id, y->id);
}

/* Lists the .dwo files in the input file that contains them all. */
static int open_units(struct work *w)
{
	struct span all = w->units.bytes;
	size_t room = 0;
	uint64_t at = 0;

	for (struct gsym_work_unit h; span_at(all, at, sizeof(h)); at += (h.size + 7) & ~7ull) {
		memcpy(&h, all.p + at, sizeof(h));
		at += sizeof(h);
		if (h.size > all.n || !span_at(all, at, h.size))
			return -EBADMSG;
		if (APPEND(w->known, room, w->n_known, (struct unit){h.id, {all.p + at, h.size}}) < 0)
			return -ENOMEM;
	}
	sort_array(w->known, w->n_known, sizeof(*w->known), compare_units);
	return 0;
}

/* Finds a unit. The conversion continues without a missing one, so that the worker asks for all missing
 * units at once. */
static int find_unit(struct work *w, uint64_t id, struct span *out)
{
	struct unit want = {.id = id},
		    *u = w->n_known ? bsearch(&want, w->known, w->n_known, sizeof(want), compare_units) : NULL;

	if (u) {
		*out = u->bytes;
		return 0;
	}
	if (strcmp(w->units.word, WORKER_ASK) != 0 || w->n_lacked == GSYM_WORK_UNITS_MOST)
		return -ENOENT;
	if (APPEND(w->lacked, w->lacked_room, w->n_lacked, id) < 0)
		return -ENOMEM;
	return -ENOENT;
}

static int find(void *ctx, const struct gsym_want *want, struct span *out)
{
	struct work *w = ctx;
	struct other *o = want->kind == GSYM_ALT ? &w->alt : &w->package;
	struct gsym_work_lack *lack = &w->lack;

	if (want->kind == GSYM_DWO)
		return find_unit(w, want->dwo_id, out);
	*out = o->bytes;
	if (strcmp(o->word, WORKER_ASK) != 0)
		return o->bytes.n ? 0 : -ENOENT;
	lack->kind = want->kind;
	lack->id_len = (uint8_t)MIN(want->id.n, sizeof(lack->id));
	if (lack->id_len)
		memcpy(lack->id, want->id.p, lack->id_len);
	return -EAGAIN;
}

/* Writes a Breakpad file. -ENODATA: it would have no functions. */
static int write_sym(const struct work *o, const struct gsym_writer *w, const struct gsym_made *made,
	struct span file, struct err *e)
{
	struct sym_counts counts;
	struct sym_head h;
	int r = sym_head_of(&h, file, o->name, e);

	if (r < 0)
		return r;
	if (strcmp(made->from, "breakpad") == 0 || strcmp(made->from, "gsym") == 0)
		return err_set(e, -ENOTSUP, "is not a program or debug file");
	if (o->name[0])
		snprintf(h.name, sizeof(h.name), "%s", o->name);
	sym_head_set_code(&h, o->code_id, o->code_file);
	h.no_rules = strstr(o->sym, WORKER_NO_RULES) != NULL;
	r = sym_write(&h, w, WORKER_OUT, &counts);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	if (!counts.funcs && !counts.publics && !strstr(o->sym, WORKER_BARE))
		return err_set(e, -ENODATA, "has no functions");
	return 0;
}

/* Writes the output. */
static int write_made(const struct work *o, struct gsym_writer *w, const struct gsym_made *made, struct span file,
	struct err *e)
{
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(UINT32_MAX);
	int r;

	if (o->form == GSYM_WORK_SYM)
		return write_sym(o, w, made, file, e);
	r = o->form == GSYM_WORK_OBJECT ? gsym_write_object(w, made, &bytes, e)
					 : gsym_write(w, GSYM_V1, made->big, NULL, &bytes, NULL, e);
	if (r < 0)
		return r;
	r = write_all(WORKER_OUT, bytes.p, bytes.n);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

static int convert(struct work *o, struct span file, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	bool asked = o->form == GSYM_WORK_ASKED, strict = asked || o->form == GSYM_WORK_ELIOT;
	struct gsym_make_opts opts = {.threads = o->threads, .find = find, .ctx = o,
		.shorten = o->form == GSYM_WORK_OBJECT, .eliot = strict || o->form == GSYM_WORK_LENIENT,
		.strict = strict, .map = file};
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	if (asked) { /* the parent process put the addresses into the place of another file */
		if (!o->alt.bytes.n)
			return err_set(e, -EIO, "cannot be read: no addresses");
		opts.asked = (const uint32_t *)o->alt.bytes.p;
		opts.n_asked = o->alt.bytes.n / sizeof(uint32_t);
	}
	if (o->form != GSYM_WORK_SYM)
		gsym_set_last(w);
	r = gsym_make(w, file, &opts, &made, e);
	if (o->n_lacked && (r == 0 || r == -ENODATA)) {
		o->lack.kind = GSYM_DWO;
		qsort(o->lacked, o->n_lacked, sizeof(*o->lacked), compare_u64);
		return err_set(e, -EAGAIN, "lacks %zu units", o->n_lacked);
	}
	return r < 0 ? r : write_made(o, w, &made, file, e);
}

static int take_source(void *ctx, const char *path)
{
	struct hash_set *all = ctx;
	int r = hash_set_add(all, hash_mix(path, strlen(path)));

	return r < 0 && r != -EEXIST ? r : all->n > WORK_SOURCES_MOST ? -EFBIG : 0;
}

static int list_sources(struct work *o, struct span file, struct err *e)
{
	struct hash_set all = {0};
	struct gsym_make_opts opts = {.find = find, .ctx = o};
	int r = dwarf_sources(file, &opts, take_source, &all, e);
	size_t n = 0;

	for (size_t i = 0; r == 0 && i < all.room; i++)
		if (all.slots[i])
			all.slots[n++] = all.slots[i];
	if (r == 0 && write_all(WORKER_OUT, all.slots, n * sizeof(*all.slots)) < 0)
		r = err_set(e, -EIO, "%s", err_text(EIO));
	hash_set_release(&all);
	return r;
}

/* Maps another file. One that cannot be mapped counts as missing. */
static void open_other(struct other *o, int fd)
{
	struct err e = {0};

	if (strcmp(o->word, WORKER_HERE) == 0)
		map_fd(&o->bytes, fd, &e);
}

/* ---- some addresses of a PDB: asks the parent process for bytes ---------------------------- */

#define PAGE 4096u

/* The PDB in the worker's memory. Pages are present once their bytes have come. */
struct pages {
	int socket;
	uint64_t size;
	uint8_t *bytes;
	uint8_t *present; /* a byte for each page */
};

static bool has_pages(const void *ctx, uint64_t off, uint64_t n)
{
	const struct pages *p = ctx;

	for (uint64_t i = off / PAGE; i * PAGE < off + n; i++)
		if (!p->present[i])
			return false;
	return true;
}

/* Turns the missing ranges into ranges of whole missing pages, ascending; a range ends where a page is present or
 * not needed. */
static unsigned list_pages(const struct pages *p, const struct msf_lack *lacks, unsigned n, uint8_t *wanted,
	struct msf_lack out[static MSF_LACKS_MOST])
{
	uint64_t pages = (p->size + PAGE - 1) / PAGE;
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		for (uint64_t at = lacks[i].off / PAGE; at < pages && at * PAGE < lacks[i].off + lacks[i].n; at++)
			wanted[at] = !p->present[at];
	for (uint64_t at = 0; at < pages; at++) {
		uint64_t off = at * PAGE;

		if (!wanted[at])
			continue;
		if (k && out[k - 1].off + out[k - 1].n == off)
			out[k - 1].n += MIN(PAGE, p->size - off);
		else if (k < MSF_LACKS_MOST)
			out[k++] = (struct msf_lack){off, MIN(PAGE, p->size - off)};
	}
	return k;
}

static int read_range(struct pages *p, const struct msf_lack *range)
{
	for (uint64_t at = range->off; at < range->off + range->n;) {
		ssize_t n = read(p->socket, p->bytes + at, (size_t)MIN(PARTIAL_PACKET, range->off + range->n - at));

		if (n <= 0)
			return -EIO;
		at += (uint64_t)n;
	}
	memset(p->present + range->off / PAGE, 1, (size_t)((range->n + PAGE - 1) / PAGE));
	return 0;
}

static int ask(void *ctx, const struct msf_lack *lacks, unsigned n)
{
	struct pages *p = ctx;
	_cleanup_free_ struct msf_lack *ranges = malloc(MSF_LACKS_MOST * sizeof(*ranges));
	_cleanup_free_ uint8_t *wanted = calloc((size_t)(p->size / PAGE + 1), 1);
	int r = ranges && wanted ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	n = list_pages(p, lacks, n, wanted, ranges);
	if (!n || write(p->socket, ranges, n * sizeof(*ranges)) != (ssize_t)(n * sizeof(*ranges)))
		return -EIO;
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = read_range(p, &ranges[i]);
	return r;
}

static int write_addresses(const struct work *o, struct pages *p, const uint32_t *addrs, uint32_t n, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_made made = {0};
	struct partial_pdb *pdb;
	struct view v = view_of_mem(p->bytes, (size_t)p->size);
	int r;

	v.has = has_pages;
	v.ctx = p;
	r = partial_open(&pdb, &v, false, ask, p, e);
	if (r == 0 && gsym_writer_new(&w) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r == 0)
		r = partial_write(pdb, w, addrs, n, e);
	partial_free(pdb);
	return r < 0 ? r : write_made(o, w, &made, (struct span){0}, e);
}

/* Converts only some functions of a PDB. The socket supplies the addresses of the functions, and the bytes of
 * the PDB. */
static int convert_part(const struct work *o, struct err *e)
{
	const size_t most = sizeof(struct partial_ask) + PARTIAL_ADDRESSES_MOST * sizeof(uint32_t);
	_cleanup_free_ uint8_t *packet = malloc(most), *present = NULL;
	struct pages p = {.socket = WORKER_IN};
	struct partial_ask q = {0};
	ssize_t n = packet ? read(WORKER_IN, packet, most) : -1;

	if (n >= (ssize_t)sizeof(q))
		memcpy(&q, packet, sizeof(q));
	if (n < (ssize_t)sizeof(q) || (size_t)n != sizeof(q) + q.n * sizeof(uint32_t) || !q.size ||
		q.size > SIZE_MAX / 2)
		return err_set(e, -EIO, "cannot be read: no addresses");
	p.size = q.size;
	/* Memory that is never touched takes no space, whatever the size of the file. */
	p.bytes = mmap(NULL, (size_t)p.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		0);
	p.present = present = calloc((size_t)(p.size / PAGE + 1), 1);
	if (p.bytes == MAP_FAILED || !p.present)
		return err_set(e, -ENOMEM, "out of memory");
	return write_addresses(o, &p, (const uint32_t *)(packet + sizeof(q)), q.n, e);
}

/* ---- the program ---------------------------------------------------------------------------- */

static int work(struct work *w, char **argv, struct err *e)
{
	static const struct worker_filter filter = {
		.more = {"set_robust_list", "rseq", "sched_yield", "sched_getaffinity"},
		.threads = true, .done = "converted"};
	bool partial = w->form == GSYM_WORK_PARTIAL;
	struct span file = {0};
	int r = partial ? 0 : map_fd(&file, WORKER_IN, e);

	if (r < 0)
		return r;
	open_other(&w->alt, WORKER_ALT);
	open_other(&w->package, WORKER_PACKAGE);
	open_other(&w->units, WORKER_UNITS);
	r = worker_enter(argv, &filter, 4ull << 30, &w->word, e);
	if (r < 0)
		return r;
	if (partial)
		return convert_part(w, e);
	if (w->form == GSYM_WORK_SOURCES)
		return list_sources(w, file, e);
	r = open_units(w);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : convert(w, file, e);
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf more = BUF_UP_TO(1u << 20);
	struct work w = {0};
	struct err e = {0};
	int r;

	worker_arguments(argc, argv, 9);
	w.threads = (unsigned)strtoul(argv[4], NULL, 10);
	w.form = (enum gsym_work_form)strtoul(argv[5], NULL, 10);
	w.alt.word = argv[6];
	w.package.word = argv[7];
	w.units.word = argv[8];
	w.sym = argv[9];
	w.name = argv[10];
	w.code_id = argv[11];
	w.code_file = argv[12];
	r = work(&w, argv, &e);
	if (buf_add(&more, &w.lack, sizeof(w.lack)) < 0 ||
		buf_add(&more, w.lacked, r == -EAGAIN ? w.n_lacked * sizeof(*w.lacked) : 0) < 0)
		r = -ENOMEM;
	worker_leave(&w.word, r, &e, more.p, more.n);
}
