/* The entries of a directory, for READDIR. A layout has more valid names than can be listed, so a listing
 * shows only known names. Fixed names come first, then stored files, then the files of directory sources.
 * Stored files come from the index in batches, and their offsets are places in the index. Directory sources
 * are walked when the reader has passed the stored files; the listing keeps the result as a snapshot. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "fs/private.h"
#include "names/layout/tree.h"
#include "store/browse.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAMES_MAX 100000u /* in a snapshot */
#define BATCH 128u
#define DOTS 2 /* the entries . and .. */

struct name {
	uint64_t ino; /* inode number of a leaf; 0: entry_ino() makes it from the path */
	size_t at;    /* offset of the name in `text` */
	mode_t mode;
	bool dir;
	struct gsym_listed file;
};

struct listing {
	pthread_mutex_t lock;
	/* constant */
	char *dir;	/* path of the directory */
	const char *of; /* in gsym/, the path of the directory that it mirrors; else `dir` */
	/* under lock */
	struct listing_plan *plan; /* NULL: nothing of a layout is listed here */
	mode_t dir_mode;       /* S_IFDIR; S_IFLNK where the layout has links in place of directories */
	bool opened;
	/* of stored files: the batch behind the offset `after` */
	struct browse_entry *batch;
	uint64_t after;
	unsigned n_batch;
	/* of directory sources: the snapshot */
	bool made;
	struct name *names;
	size_t n, room;
	uint32_t *set; /* index + 1 of a name, at its hash; 0: free */
	size_t n_set;  /* a power of two */
	struct buf text;
};

void listing_free(struct listing *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	buf_release(&l->text);
	free(l->names);
	free(l->set);
	free(l->plan);
	free(l->batch);
	free(l->dir);
	free(l);
}

/* ---- a snapshot: a list and a set of names ------------------------------------------- */

/* The slot of a name in the set. The slot holds 0 if the name is new. */
static uint32_t *slot(struct listing *l, const char *name, size_t len)
{
	size_t i = hash_mix(name, len) & (l->n_set - 1);

	for (;; i = (i + 1) & (l->n_set - 1)) {
		const char *have;

		if (!l->set[i])
			return &l->set[i];
		have = l->text.p + l->names[l->set[i] - 1].at;
		if (strncmp(have, name, len) == 0 && !have[len])
			return &l->set[i];
	}
}

static int more_room(struct listing *l)
{
	size_t room = l->room ? l->room * 2 : 64;
	struct name *names = reallocarray(l->names, room, sizeof(*names));
	uint32_t *set = calloc(room * 2, sizeof(*set));

	if (names)
		l->names = names;
	if (!names || !set) {
		free(set);
		return -ENOMEM;
	}
	free(l->set);
	l->set = set;
	l->n_set = room * 2;
	l->room = room;
	for (size_t i = 0; i < l->n; i++) {
		const char *name = l->text.p + l->names[i].at;

		*slot(l, name, strlen(name)) = (uint32_t)i + 1;
	}
	return 0;
}

/* Adds a name unless the snapshot has it. 0, -ENOMEM; -EFBIG: the snapshot has NAMES_MAX names. */
static int name_add(struct listing *l, const char *name, size_t len, const struct name *what)
{
	size_t at = l->text.n;
	uint32_t *to;
	int r;

	if (l->n >= l->room) {
		r = more_room(l);
		if (r < 0)
			return r;
	}
	to = slot(l, name, len);
	if (*to)
		return 0;
	if (l->n >= NAMES_MAX)
		return -EFBIG;
	buf_add(&l->text, name, len);
	r = buf_add(&l->text, "", 1);
	if (r < 0)
		return r;
	l->names[l->n] = *what;
	l->names[l->n].at = at;
	*to = (uint32_t)++l->n;
	return 0;
}

/* ---- directory sources -------------------------------------------------------------- */

struct scan {
	struct fs *fs;
	struct listing *l;
	const struct key *k;
};

static bool is_fixed(const struct listing *l, const char *name)
{
	const char *fixed;

	for (unsigned nth = 0; (fixed = tree_entry(l->of, nth, NULL)); nth++)
		if (strcasecmp(fixed, name) == 0)
			return true;
	return false;
}

static mode_t leaf_mode(const struct listing *l, enum filetype t)
{
	return tree_is_link(l->plan->layout, t) ? S_IFLNK : S_IFREG;
}

static uint64_t leaf_ino(const struct listing *l, enum filetype t, uint64_t number)
{
	return tree_is_link(l->plan->layout, t) ? 0 : number;
}

static int scan_path(void *ctx, unsigned row, const char *path)
{
	struct scan *s = ctx;
	const char *name = listing_component(s->l->plan, path);
	size_t n = name ? strcspn(name, "/") : 0;
	bool dir = name && name[n];
	struct name what;

	if (!name || !path_name_ok(name, n))
		return 0;
	what = (struct name){.dir = dir, .file = {s->k->type, key_number(s->k)}};
	what.mode = dir ? s->l->dir_mode : leaf_mode(s->l, s->k->type);
	what.ino = dir ? 0 : leaf_ino(s->l, s->k->type, what.file.number);
	return name_add(s->l, name, n, &what);
}

static int scan_key(void *ctx, const struct key *k)
{
	struct scan *s = ctx;
	struct artifact a;

	s->k = k;
	key_artifact(k, &a);
	return layout_each(s->l->plan->layout, &a, scan_path, s) < 0;
}

/* Removes fixed and stored names, which the listing has shown before. */
static int drop_listed(struct fs *fs, struct listing *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *name = l->text.p + l->names[i].at;
		int has = is_fixed(l, name) ? 1
					    : store_browse_has(fetch_store(fs->fetch), l->plan, name);

		if (has < 0)
			return has;
		if (!has)
			l->names[kept++] = l->names[i];
	}
	l->n = kept;
	return 0;
}

static int snapshot_make(struct fs *fs, struct listing *l)
{
	struct scan s = {.fs = fs, .l = l};

	l->n = l->room = l->n_set = 0;
	buf_clear(&l->text);
	if (!l->plan || !l->plan->n)
		return 0;
	if (fetch_local(fs->fetch, l->plan, scan_key, &s) > 0)
		log_warn("%s: listing cut off after %zu names from directory sources",
			l->dir, l->n);
	return drop_listed(fs, l);
}

/* ---- entries ------------------------------------------------------------------------ */

struct entry {
	const char *name;
	mode_t mode;
	bool dir; /* a directory, or a link to one */
	struct gsym_listed file; /* of a file of a layout */
	uint64_t ino; /* inode number; 0: entry_ino() makes it from the path */
	uint64_t next; /* the offset behind this entry */
};

static mode_t tree_mode(enum tree_what what)
{
	return what == TREE_LINK ? S_IFLNK : what == TREE_TEXT ? S_IFREG : S_IFDIR;
}

static bool in_state(const struct listing *l)
{
	return strncmp(l->dir, ".symfs", 6) == 0 && (!l->dir[6] || l->dir[6] == '/');
}

/* Finds the nth fixed entry. 1: `out` has it; 0: there are no more. */
static int next_fixed(const struct listing *l, uint64_t nth, struct entry *out)
{
	enum tree_what what;
	enum node_kind kind;

	out->ino = 0;
	out->next = (nth + 1) << BROWSE_PART_BITS;
	nth -= DOTS;
	if (in_state(l)) {
		out->name = l->dir[6] ? NULL : state_entry((unsigned)nth, &kind);
		out->mode = out->name && kind == NODE_DIR ? S_IFDIR : S_IFREG;
	} else {
		out->name = tree_entry(l->of, (unsigned)nth, &what);
		out->mode = out->name ? tree_mode(what) : 0;
	}
	out->dir = !S_ISREG(out->mode);
	out->file = (struct gsym_listed){0};
	return out->name != NULL;
}

/* The index in the batch of the entry behind an offset; l->n_batch: it is not in the batch. */
static unsigned in_batch(const struct listing *l, uint64_t off)
{
	if (off == l->after)
		return 0;
	for (unsigned i = 0; i < l->n_batch; i++)
		if (l->batch[i].offset == off)
			return i + 1;
	return l->n_batch;
}

static int read_batch(struct fs *fs, struct listing *l, uint64_t off)
{
	int n;

	if (!l->batch)
		l->batch = calloc(BATCH, sizeof(*l->batch));
	l->n_batch = 0;
	if (!l->batch)
		return -ENOMEM;
	n = store_browse(fetch_store(fs->fetch), l->plan, off, l->batch, BATCH);
	if (n < 0)
		return n;
	l->after = off;
	l->n_batch = (unsigned)n;
	return 0;
}

/* Finds the stored entry behind an offset. 1: `out` has it; 0: there are no more; -errno. */
static int next_stored(struct fs *fs, struct listing *l, uint64_t off, struct entry *out)
{
	unsigned i = in_batch(l, off);
	int r = 0;

	for (;; i++) {
		const struct browse_entry *e;

		if (i >= l->n_batch) {
			r = read_batch(fs, l, off);
			if (r < 0 || !l->n_batch)
				return r;
			i = 0;
		}
		e = &l->batch[i];
		off = e->offset;
		if (is_fixed(l, e->name))
			continue;
		*out = (struct entry){.name = e->name, .next = off, .dir = e->dir,
			.file = {e->type, e->number},
			.mode = e->dir ? l->dir_mode : leaf_mode(l, e->type),
			.ino = e->dir ? 0 : leaf_ino(l, e->type, e->number)};
		return 1;
	}
}

static int next_local(struct fs *fs, struct listing *l, uint64_t nth, struct entry *out)
{
	const struct name *name;
	int r = 0;

	if (!l->made) {
		r = snapshot_make(fs, l);
		l->made = r == 0;
	}
	if (r < 0 || nth >= l->n)
		return r;
	name = &l->names[nth];
	*out = (struct entry){.name = l->text.p + name->at, .mode = name->mode, .ino = name->ino,
		.dir = name->dir, .file = name->file,
		.next = (nth + 1) << BROWSE_PART_BITS | BROWSE_PART_FREE};
	return 1;
}

/* `.` (0) and `..` (1), which come before the fixed names. */
static void dot_entry(const struct listing *l, uint64_t nth, struct entry *out)
{
	const char *slash = nth ? strrchr(l->dir, '/') : l->dir + strlen(l->dir);
	_cleanup_free_ char *path = slash ? strndup(l->dir, (size_t)(slash - l->dir)) : NULL;

	*out = (struct entry){.name = nth ? ".." : ".", .next = (nth + 1) << BROWSE_PART_BITS, .dir = true,
		.mode = S_IFDIR, .ino = path && *path ? node_number(NODE_DIR, path) : FUSE_ROOT_ID};
}

/* Finds the entry behind an offset, in any of the three parts. 1: `out` has it; 0: there are no more;
 * -errno. */
static int next_entry(struct fs *fs, struct listing *l, uint64_t off, struct entry *out)
{
	unsigned part = off & BROWSE_PART_FREE;
	int r = 0;

	if (part == 0 && off >> BROWSE_PART_BITS < DOTS) {
		dot_entry(l, off >> BROWSE_PART_BITS, out);
		return 1;
	}
	if (part == 0) {
		r = next_fixed(l, off >> BROWSE_PART_BITS, out);
		if (r != 0 || !l->plan)
			return r;
		off = 0;
	}
	if (part != BROWSE_PART_FREE) {
		r = next_stored(fs, l, off, out);
		if (r != 0)
			return r;
		off = 0;
	}
	return next_local(fs, l, off >> BROWSE_PART_BITS, out);
}

/* Finds the layout of the directory. Called once for each OPENDIR. */
static int listing_open(struct listing *l)
{
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));
	int r = 0;

	if (!hit)
		return -ENOMEM;
	tree_parse(l->of, hit);
	if (hit->layout && hit->what != TREE_STATE) {
		free(l->plan); /* of an earlier call that failed */
		l->plan = malloc(sizeof(*l->plan));
		r = l->plan ? listing_plan_of(hit->layout, hit->rest, l->plan) : -ENOMEM;
		l->dir_mode = tree_links_dirs(hit->layout, hit->rest) ? S_IFLNK : S_IFDIR;
	}
	l->opened = r == 0;
	return r;
}

struct listing *listing_new(const char *dir, bool *fixed)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->text = BUF_UP_TO(64 << 20);
	l->dir = strdup(dir);
	if (!l->dir) {
		listing_free(l);
		return NULL;
	}
	l->of = tree_mirrored(l->dir);
	if (!l->of)
		l->of = l->dir;
	*fixed = listing_open(l) == 0 && (!l->plan || !l->plan->n);
	return l;
}

static uint64_t entry_ino(const struct listing *l, const struct entry *e)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(FS_PATH_MAX);

	if (e->ino)
		return e->ino;
	buf_addf(&path, "%s%s%s", l->dir, *l->dir ? "/" : "", e->name);
	return node_number(S_ISDIR(e->mode) ? NODE_DIR : S_ISLNK(e->mode) ? NODE_LINK :
		in_state(l) ? NODE_STATE : NODE_TEXT, buf_text(&path));
}

/* Whether the entry is listed. In gsym/, makes `e` the entry of its GSYM file, with the name in `room`. */
static bool listed(struct fs *fs, const struct listing *l, struct entry *e, char room[static NAME_MAX + 1])
{
	if (l->of == l->dir || !e->name[strspn(e->name, ".")])
		return true;
	if ((size_t)snprintf(room, NAME_MAX + 1, "%s", e->name) > NAME_MAX)
		return false;
	e->name = room;
	return gsym_mirror(fs, l->dir, e->dir ? NULL : &e->file, room, &e->mode, &e->ino);
}

static ssize_t listing_fill_from(struct fs *fs, fuse_req_t req, struct listing *l, uint64_t off, char *p,
	size_t size)
{
	size_t used = 0;
	int r = l->opened ? 0 : listing_open(l);

	while (r == 0) {
		char room[NAME_MAX + 1];
		struct entry e;
		size_t n;

		r = next_entry(fs, l, off, &e);
		if (r <= 0)
			break;
		r = 0;
		if (!listed(fs, l, &e, room)) {
			off = e.next;
			continue;
		}
		n = fuse_add_direntry(req, p + used, size - used, e.name,
			&(struct stat){.st_ino = entry_ino(l, &e), .st_mode = e.mode},
			(off_t)e.next);
		if (n > size - used)
			break;
		used += n;
		off = e.next;
	}
	return r < 0 && !used ? r : (ssize_t)used;
}

ssize_t listing_fill(struct fs *fs, fuse_req_t req, struct listing *l, uint64_t off, char *p, size_t size)
{
	LOCK_SCOPE(&l->lock);

	if (off == 0) { /* after rewinddir(3), new files appear */
		l->n_batch = 0;
		l->made = false;
	}
	return listing_fill_from(fs, req, l, off, p, size);
}
