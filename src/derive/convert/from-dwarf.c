/* Converts DWARF: several threads read units, and one thread at a time passes them to the writer, in
 * order. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/from-dwarf.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/util.h"
#include "formats/dwarf/batch.h"
#include "formats/dwarf/split.h"
#include "derive/convert/make.h"

/* Bytes of units that were read ahead and wait for earlier ones. Beyond this, the threads that read ahead
 * wait. */
#define AHEAD_MOST (64u << 20)
/* After so many bytes of units the pages of the input are given back. */
#define REST_EACH (8u << 20)
#define NUMBER_NONE UINT32_MAX

enum { DW_UT_type = 2, DW_UT_split_type = 6 };

struct job {
	struct gsym_writer *w;
	struct strays *strays;
	const struct gsym_make_opts *o;
	struct dwarf_file file, alt, package;
	struct dwarf_file inside; /* the sections of split units in the input itself */
	bool asked_package, has_package; /* protected by `finding` */
	struct dwarf_split **splits; /* by unit; an entry belongs to one thread until all threads have ended */
	pthread_mutex_t finding;
	struct text_range *text;
	size_t n_text;
	struct dwarf_told told;
	bool apart; /* units that were told are not read again */
	uint64_t rested; /* the end of the units that were told when pages were given back */
	uint32_t *texts, *files; /* maps from a batch's numbers to the writer's, for the thread that writes */
	size_t texts_room, files_room;

	pthread_mutex_t lock;
	pthread_cond_t moved;
	/* under lock */
	size_t next, turn;	/* the unit to read next; the unit to write next */
	struct batch **pending; /* batches that were read, by unit; NULL: not read, or written already */
	size_t ahead;		/* bytes in `pending` */
	bool telling;
	int failed;
};

/* ---- from a batch to the writer -------------------------------------------------------- */

static int numbers_room(uint32_t **numbers, size_t *room, size_t n)
{
	if (n > *room) {
		uint32_t *more = realloc(*numbers, n * sizeof(**numbers));

		if (!more)
			return -ENOMEM;
		*numbers = more;
		*room = n;
	}
	if (n)
		memset(*numbers, 0xff, n * sizeof(**numbers));
	return 0;
}

static uint32_t text_number(struct job *j, const struct batch *b, uint32_t i)
{
	const char *s = i == BATCH_NONE ? NULL : b->names[i].text;

	if (!s)
		return 0;
	if (j->texts[i] == NUMBER_NONE)
		j->texts[i] = gsym_name(j->w, s, strlen(s));
	return j->texts[i];
}

static uint32_t file_number(struct job *j, const struct batch *b, uint32_t i)
{
	if (j->files[i] == NUMBER_NONE)
		j->files[i] = gsym_add_path(j->w, b->files[i], strlen(b->files[i]));
	return j->files[i];
}

/* Whether inlined calls have addresses before the first row. Compilers begin the lines of some parts of functions,
 * such as those that they move away ("cold"), behind the part's first instructions. */
static bool calls_before_rows(const struct batch *b, const struct batch_func *f)
{
	uint64_t first = f->n_rows ? b->rows[f->rows].addr : f->addr + f->size;

	for (uint32_t i = f->nodes; first > f->addr && i < f->end_nodes; i++) {
		const struct batch_node *n = &b->nodes[i];

		for (uint32_t k = n->ranges; n->owner == f->owner && k < n->ranges + n->n_ranges; k++)
			if (b->ranges.all[k].start >= f->addr && b->ranges.all[k].start < first)
				return true;
	}
	return false;
}

/* Look-ups find calls only where a row with a file is, so calls before the first row get one with an unnamed file. */
static void tell_rows(struct job *j, const struct batch *b, const struct batch_func *f)
{
	if (calls_before_rows(b, f))
		gsym_add_row(j->w, f->addr, gsym_add_unnamed_file(j->w), 0);
	for (uint32_t i = f->rows; i < f->rows + f->n_rows; i++)
		gsym_add_row(j->w, b->rows[i].addr, file_number(j, b, b->rows[i].file), b->rows[i].line);
}

static void tell_node(struct job *j, const struct batch *b, const struct batch_node *n)
{
	uint32_t name = text_number(j, b, n->name);

	gsym_add_inline(j->w, n->depth, name, file_number(j, b, n->file), n->line);
	for (uint32_t i = n->ranges; i < n->ranges + n->n_ranges; i++)
		gsym_add_range(j->w, b->ranges.all[i].start, b->ranges.all[i].end - b->ranges.all[i].start);
}

static void tell_func(struct job *j, const struct batch *b, const struct batch_func *f)
{
	uint32_t name = text_number(j, b, f->name);

	if (!name)
		return;
	gsym_begin(j->w, f->addr, f->size, name, GSYM_DEBUG);
	tell_rows(j, b, f);
	for (uint32_t i = f->nodes; i < f->end_nodes; i++)
		if (b->nodes[i].owner == f->owner)
			tell_node(j, b, &b->nodes[i]);
	gsym_end(j->w);
}

static int keep_stray(struct job *j, const struct batch *b, const struct batch_orphan *o)
{
	struct strays *s = j->strays;
	struct stray_lines l = {o->low, o->high, o->high, s->n_rows, o->n_rows};
	int r = 0;

	for (uint32_t i = o->rows; r == 0 && i < o->rows + o->n_rows; i++) {
		struct stray_row row = {b->rows[i].addr, file_number(j, b, b->rows[i].file), b->rows[i].line};

		r = APPEND(s->rows, s->rows_room, s->n_rows, row);
	}
	return r < 0 ? r : APPEND(s->all, s->room, s->n, l);
}

static int tell(struct job *j, const struct batch *b)
{
	int r = numbers_room(&j->texts, &j->texts_room, b->n_names);

	if (r == 0)
		r = numbers_room(&j->files, &j->files_room, b->n_files);
	gsym_set_order(j->w, (uint32_t)MIN(j->turn, (size_t)UINT32_MAX));
	for (size_t i = 0; r == 0 && i < b->n_funcs; i++)
		tell_func(j, b, &b->funcs[i]);
	for (size_t i = 0; r == 0 && i < b->n_orphans; i++)
		r = keep_stray(j, b, &b->orphans[i]);
	j->told.broken += b->broken;
	j->told.split += b->split;
	return r < 0 ? r : gsym_error(j->w);
}

/* ---- reading --------------------------------------------------------------------------- */

static int find_file(struct job *j, const struct gsym_want *want, struct span *out)
{
	int r = -ENOENT;

	if (!j->o->find)
		return r;
	pthread_mutex_lock(&j->finding);
	r = j->o->find(j->o->ctx, want, out);
	pthread_mutex_unlock(&j->finding);
	return r;
}

/* Opens the package of split units (.dwp) at the first skeleton. Called under j->finding. */
static int open_package(struct job *j)
{
	struct gsym_want want = {.kind = GSYM_DWP, .name = "", .dir = ""};
	struct err e = {0};
	struct span bytes;
	struct image m;
	int r;

	if (j->asked_package || !j->o->find)
		return 0;
	j->asked_package = true;
	r = j->o->find(j->o->ctx, &want, &bytes);
	if (r < 0 || image_open(&m, bytes, &e) < 0)
		return r == -EAGAIN ? r : 0;
	r = dwarf_open(&j->package, &m, true, &e);
	j->has_package = r == 0;
	return r == -ENOMEM ? r : 0;
}

static int has_package(struct job *j, bool *out)
{
	LOCK_SCOPE(&j->finding);
	int r = open_package(j);

	*out = j->has_package;
	return r;
}

/* Finds the split unit of a skeleton, in the input, in the package or in a .dwo file. -ENOENT: it was not found. */
static int find_split(
	struct job *j, struct dwarf_walker *w, const struct dwarf_unit *u, struct dwarf_split *s)
{
	struct gsym_want want = {.kind = GSYM_DWO, .name = u->dwo_name, .dir = u->comp_dir,
		.dwo_id = u->dwo_id};
	struct span bytes;
	bool package;
	int r = dwarf_split_of_package(s, &w->reader, &j->inside, u->dwo_id);

	if (r == 0 || r == -ENOMEM)
		return r;
	dwarf_close(&s->file);
	r = has_package(j, &package);
	if (r == 0)
		r = package ? dwarf_split_of_package(s, &w->reader, &j->package, u->dwo_id) : -ENOENT;
	if (r == 0 || r == -ENOMEM || r == -EAGAIN)
		return r;
	dwarf_close(&s->file);
	r = find_file(j, &want, &bytes);
	return r < 0 ? r : dwarf_split_open(s, &w->reader, bytes, u->dwo_id);
}

/* Reads the split unit of a skeleton. If the split unit is missing, the lines still come from the
 * skeleton, and the names from the symbols of the linked file. */
static int walk_skeleton(struct job *j, struct dwarf_walker *w, size_t i,
	const struct dwarf_unit *u, struct batch *out)
{
	struct dwarf_split *s = calloc(1, sizeof(*s));
	struct dwarf_unit split;
	int r = s ? find_split(j, w, u, s) : -ENOMEM;

	j->splits[i] = s;
	if (r == 0)
		r = dwarf_unit_open(&split, &w->reader, &s->file, s->head, u);
	if (r == -ENOMEM || r == -EAGAIN)
		return r;
	if (r < 0) {
		out->split = true;
		return dwarf_walk(w, u, out);
	}
	r = dwarf_walk(w, &split, out);
	dwarf_unit_close(&split);
	return r;
}

static int read_unit(struct job *j, struct dwarf_walker *w, size_t i, struct batch *out)
{
	const struct dwarf_head *h = &j->file.units[i];
	struct dwarf_unit u;
	int r;

	/* Type units have no code. */
	if (h->version >= 5 && (h->kind == DW_UT_type || h->kind == DW_UT_split_type))
		return 0;
	r = dwarf_unit_open(&u, &w->reader, &j->file, h, NULL);
	if (r == -EBADMSG) {
		out->broken = true;
		return 0;
	}
	if (r < 0)
		return r;
	/* A partial unit is read only through the units that refer to its entries. */
	if (u.dwo_name)
		r = walk_skeleton(j, w, i, &u, out);
	else if (u.tag != DW_TAG_partial_unit)
		r = dwarf_walk(w, &u, out);
	dwarf_unit_close(&u);
	return r;
}

/* Gives memory back that was used to read the units up to `end`. */
static void rest(struct job *j, uint64_t end)
{
	if (j->apart)
		dwarf_spend(&j->file, end);
	if (end - j->rested < REST_EACH)
		return;
	map_rest(j->o->map);
	j->rested = end;
}

/* Gives the next units to the writer, unless another thread is doing so. The caller holds the lock, which is
 * released while the writer works. */
static void tell_pending(struct job *j)
{
	if (j->telling)
		return;
	j->telling = true;
	while (!j->failed && j->turn < j->file.n_units && j->pending[j->turn]) {
		struct batch *b = take(j->pending[j->turn]);
		int r;

		pthread_mutex_unlock(&j->lock);
		r = tell(j, b);
		rest(j, j->file.units[j->turn].end);
		if (j->o->progress)
			j->o->progress(j->o->ctx, (unsigned)(j->file.units[j->turn].end * 1000 /
							     j->file.s[DWARF_INFO].n));
		pthread_mutex_lock(&j->lock);
		j->ahead -= batch_size(b);
		batch_release(b);
		free(b);
		j->turn++;
		j->failed = j->failed ? j->failed : r;
		pthread_cond_broadcast(&j->moved);
	}
	j->telling = false;
}

/* Reads one unit and queues it for the writer. The caller holds the lock, which is released while the unit is
 * read. */
static void one_unit(struct job *j, struct dwarf_walker *w)
{
	size_t i = j->next++;
	struct batch *b;
	int r;

	pthread_mutex_unlock(&j->lock);
	b = calloc(1, sizeof(*b));
	r = b ? read_unit(j, w, i, b) : -ENOMEM;
	pthread_mutex_lock(&j->lock);
	j->failed = j->failed ? j->failed : r;
	if (!b)
		return;
	j->pending[i] = b;
	j->ahead += batch_size(b);
	tell_pending(j);
	/* The thread that reads the next unit for the writer never waits. */
	while (!j->failed && j->ahead > AHEAD_MOST && j->turn < j->next && !j->pending[j->turn])
		pthread_cond_wait(&j->moved, &j->lock);
	if (j->failed)
		pthread_cond_broadcast(&j->moved);
}

static void *read_units(void *ctx)
{
	struct job *j = ctx;
	struct dwarf_walker w = {.text = j->text, .n_text = j->n_text};

	pthread_mutex_lock(&j->lock);
	while (!j->failed && j->next < j->file.n_units)
		one_unit(j, &w);
	pthread_mutex_unlock(&j->lock);
	dwarf_walker_release(&w);
	return NULL;
}

/* Reads all units. The calling thread takes part; if no other can be started, it works alone. */
static int run(struct job *j)
{
	unsigned n = gsym_threads(j->o, j->file.n_units), started = 0;
	pthread_t threads[GSYM_THREADS_MOST];

	j->pending = calloc(j->file.n_units + 1, sizeof(struct batch *));
	j->splits = calloc(j->file.n_units + 1, sizeof(struct dwarf_split *));
	if (!j->pending || !j->splits)
		return -ENOMEM;
	while (started + 1 < n &&
		pthread_create(&threads[started], NULL, read_units, j) == 0)
		started++;
	read_units(j);
	while (started)
		pthread_join(threads[--started], NULL);
	for (size_t i = 0; i < j->file.n_units; i++)
		if (j->pending[i]) {
			batch_release(j->pending[i]);
			free(j->pending[i]);
		}
	return j->failed;
}

static void release_splits(struct job *j)
{
	for (size_t i = 0; j->splits && i < j->file.n_units; i++)
		if (j->splits[i]) {
			dwarf_close(&j->splits[i]->file);
			free(j->splits[i]);
		}
	free(j->splits);
	free(j->pending);
}

/* Opens the file to which dwz moved entries. .gnu_debugaltlink has its name and its build id. */
static int open_alt(struct job *j, const struct image *m)
{
	struct gsym_want want = {.kind = GSYM_ALT, .dir = ""};
	struct image_section s;
	struct image alt;
	struct span bytes, id;
	struct err e = {0};
	const uint8_t *nul;
	int r;

	if (image_find(m, ".gnu_debugaltlink", &s) < 0 || !s.bytes.n)
		return 0;
	nul = memchr(s.bytes.p, 0, s.bytes.n);
	j->told.no_alt = true;
	if (!nul)
		return 0;
	want.name = (const char *)s.bytes.p;
	want.id = (struct span){nul + 1, s.bytes.n - (size_t)(nul + 1 - s.bytes.p)};
	r = find_file(j, &want, &bytes);
	if (r < 0 || image_open(&alt, bytes, &e) < 0)
		return r == -EAGAIN ? r : 0;
	id = image_build_id(&alt);
	if (id.n != want.id.n || memcmp(id.p, want.id.p, id.n) != 0)
		return 0;
	r = dwarf_open(&j->alt, &alt, false, &e);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	j->file.alt = &j->alt;
	j->told.no_alt = false;
	return 0;
}

static int open_files(struct job *j, const struct image *m, struct err *e)
{
	struct err ignored = {0};
	int r = dwarf_open(&j->file, m, false, e);

	if (r < 0 || !j->file.n_units)
		return r;
	r = open_alt(j, m);
	if (r == 0 && dwarf_open(&j->inside, m, true, &ignored) == -ENOMEM)
		r = -ENOMEM;
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

static int tell_all(struct job *j, const struct image *m, struct err *e)
{
	int r = open_files(j, m, e);

	if (r < 0)
		return r;
	j->apart = dwarf_units_are_apart(&j->file);
	r = text_ranges(m, &j->text, &j->n_text);
	if (r == 0)
		r = run(j);
	map_rest(j->o->map);
	if (r == -E2BIG)
		return err_set(e, -EBADMSG, "is broken: too many entries share its lists of ranges");
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

int gsym_from_dwarf(struct gsym_writer *w, const struct image *m, const struct gsym_make_opts *o,
	struct strays *strays, struct dwarf_told *out, struct err *e)
{
	struct job j = {.w = w, .strays = strays, .o = o, .lock = PTHREAD_MUTEX_INITIALIZER,
		.moved = PTHREAD_COND_INITIALIZER, .finding = PTHREAD_MUTEX_INITIALIZER};
	size_t before = gsym_functions(w);
	int r = tell_all(&j, m, e);

	j.told.functions = gsym_functions(w) - before;
	*out = j.told;
	release_splits(&j);
	dwarf_close(&j.file);
	dwarf_close(&j.package);
	dwarf_close(&j.inside);
	dwarf_close(&j.alt);
	free(j.text);
	free(j.texts);
	free(j.files);
	return r;
}

int dwarf_sources(struct span file, const struct gsym_make_opts *o, int (*each)(void *ctx, const char *path),
	void *ctx, struct err *e)
{
	struct job j = {.o = o, .finding = PTHREAD_MUTEX_INITIALIZER};
	struct image m;
	int r = image_open(&m, file, e);

	if (r < 0)
		return r;
	r = open_files(&j, &m, e);
	if (r == 0) {
		r = dwarf_each_source(&j.file, each, ctx);
		if (r < 0)
			err_set(e, r, "%s", err_text(r));
	}
	dwarf_close(&j.file);
	dwarf_close(&j.inside);
	dwarf_close(&j.alt);
	return r;
}
