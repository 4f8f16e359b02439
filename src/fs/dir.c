/* Listings. Any name that a layout can mean answers, so a directory lists only what is known:
 * fixed names, and the canonical spelling of each known artifact. A listing is made when it is
 * read from its start, and is a snapshot: its offsets are indexes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "fs/private.h"
#include "layout/tree.h"

#include <string.h>
#include <strings.h>

#define NAMES_MAX 100000u
#define PATHS_OF_ONE 16u /* an artifact has no more paths in a layout */

struct name {
	uint64_t ino; /* of a leaf; 0: a directory's is made from its path */
	size_t at;    /* in `text` */
	mode_t mode;
};

struct listing {
	pthread_mutex_t lock;
	char *dir; /* constant: path of the directory */
	/* under lock */
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
	free(l->dir);
	free(l);
}

static struct listing *listing_new(const char *dir)
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
	return l;
}

/* ---- names, each once --------------------------------------------------------------- */

/* Where a name stands in the set, or would. */
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

/* 0, -ENOMEM, -EFBIG: as many as are shown. */
static int name_add(struct listing *l, const char *name, size_t len, mode_t mode, uint64_t ino)
{
	size_t at = l->text.n;
	uint32_t *to;
	int r;

	if (!path_name_ok(name, len))
		return 0;
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
	r = buf_add(&l->text, name, len);
	if (r == 0)
		r = buf_add(&l->text, "", 1);
	if (r < 0)
		return r;
	l->names[l->n] = (struct name){.ino = ino, .at = at, .mode = mode};
	*to = (uint32_t)++l->n;
	return 0;
}

/* ---- what is known ------------------------------------------------------------------ */

struct scan {
	struct listing *l;
	const struct layout *layout;
	const char *under; /* the directory within the layout, without the layout's prefix */
	struct buf path;
};

/* Adds the component of `path` that lies in the directory, which may be spelled in any case. */
static int scan_path(struct scan *s, const char *path, const struct key *k)
{
	size_t n = strlen(s->under), len;

	if (n && (strncasecmp(path, s->under, n) != 0 || path[n] != '/'))
		return 0;
	path += n ? n + 1 : 0;
	len = strcspn(path, "/");
	if (path[len])
		return name_add(s->l, path, len, S_IFDIR, 0);
	return tree_is_link(s->layout, k->type)
		? name_add(s->l, path, len, S_IFLNK, 0)
		: name_add(s->l, path, len, S_IFREG, key_number(k));
}

static int scan_key(void *ctx, const struct key *k, uint64_t size)
{
	struct scan *s = ctx;
	struct artifact a;
	int r = 0;

	key_artifact(k, &a);
	for (unsigned nth = 0; r == 0 && nth < PATHS_OF_ONE; nth++) {
		buf_clear(&s->path);
		if (layout_path(s->layout, &a, CASING_DEFAULT, nth, &s->path) < 0)
			break;
		r = scan_path(s, buf_text(&s->path), k);
	}
	return r;
}

/* Drops the layout's prefix. false: it stands there alone, between `rest` and every artifact. */
static bool under_prefix(const struct layout *l, const char **rest)
{
	size_t n = strlen(l->prefix);

	if (n == 0)
		return true;
	if (!**rest)
		return false;
	if (strncasecmp(*rest, l->prefix, n) == 0 && (!(*rest)[n] || (*rest)[n] == '/'))
		*rest += (*rest)[n] ? n + 1 : n;
	return true;
}

static int list_known(struct fs *fs, struct listing *l, const struct tree_hit *hit)
{
	struct scan s = {.l = l, .layout = hit->layout, .under = hit->rest,
		.path = BUF_UP_TO(LAYOUT_PATH_MAX)};
	int r;

	if (!hit->layout || !under_prefix(hit->layout, &s.under))
		return 0;
	r = fetch_known(fs->fetch, scan_key, &s);
	buf_release(&s.path);
	if (r == -EFBIG) {
		log_warn("%s: listed %u names, and there are more", l->dir, NAMES_MAX);
		r = 0;
	}
	return r;
}

static mode_t tree_mode(enum tree_what what)
{
	return what == TREE_LINK ? S_IFLNK : what == TREE_TEXT ? S_IFREG : S_IFDIR;
}

static int list_fixed(struct listing *l)
{
	enum tree_what what;
	const char *name;
	int r = 0;

	for (unsigned nth = 0; r == 0 && (name = tree_entry(l->dir, nth, &what)); nth++)
		r = name_add(l, name, strlen(name), tree_mode(what), 0);
	return r;
}

static int list_state(struct listing *l, const char *rest)
{
	enum node_kind kind;
	const char *name;
	int r = 0;

	for (unsigned nth = 0; !*rest && r == 0 && (name = state_entry(nth, &kind)); nth++)
		r = name_add(l, name, strlen(name), kind == NODE_DIR ? S_IFDIR : S_IFREG, 0);
	return r;
}

/* Under the listing's lock. */
static int listing_make(struct fs *fs, struct listing *l)
{
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));
	int r;

	if (!hit)
		return -ENOMEM;
	l->n = l->room = l->n_set = 0;
	buf_clear(&l->text);
	tree_parse(l->dir, hit);
	if (hit->what == TREE_STATE)
		return list_state(l, hit->rest);
	r = list_fixed(l);
	return r < 0 ? r : list_known(fs, l, hit);
}

/* ---- ops ---------------------------------------------------------------------------- */

static struct file *dir_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static int open_dir(struct fs *fs, const struct node *n, struct fuse_file_info *fi)
{
	struct file *file;

	if (node_kind(n) != NODE_DIR)
		return -ENOTDIR;
	file = file_new(fs);
	if (!file)
		return -ENOMEM;
	file->listing = listing_new(node_path(n));
	if (!file->listing) {
		file_free(fs, file);
		return -ENOMEM;
	}
	fi->fh = (uintptr_t)file;
	return 0;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct node *n = node_find(fs->nodes, ino);
	int r = n ? open_dir(fs, n, fi) : -ESTALE;

	node_unref(fs->nodes, n);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_open(req, fi) < 0)
		file_free(fs, dir_of(fi));
}

static uint64_t name_ino(const struct listing *l, const struct name *name)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(FS_PATH_MAX);

	if (name->ino)
		return name->ino;
	buf_addf(&path, "%s%s%s", l->dir, *l->dir ? "/" : "", l->text.p + name->at);
	return node_number(S_ISDIR(name->mode) ? NODE_DIR : S_ISLNK(name->mode) ? NODE_LINK :
		strncmp(l->dir, ".symfs", 6) == 0 ? NODE_STATE : NODE_TEXT, buf_text(&path));
}

/* As many entries as fit, from the index on. */
static size_t fill(fuse_req_t req, const struct listing *l, size_t from, char *p, size_t size)
{
	size_t used = 0;

	for (size_t i = from; i < l->n; i++) {
		const struct name *name = &l->names[i];
		struct stat st = {.st_ino = name_ino(l, name), .st_mode = name->mode};
		size_t n = fuse_add_direntry(req, p + used, size - used, l->text.p + name->at, &st,
			(off_t)i + 1);

		if (n > size - used)
			break;
		used += n;
	}
	return used;
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct listing *l = dir_of(fi)->listing;
	_cleanup_free_ char *p = malloc(size);
	size_t n = 0;
	int r = p ? 0 : -ENOMEM;

	atomic_fetch_add(&fs->counters.listings, off == 0);
	pthread_mutex_lock(&l->lock);
	if (r == 0 && (off == 0 || !l->made)) {
		r = listing_make(fs, l);
		l->made = r == 0;
	}
	if (r == 0 && off >= 0)
		n = fill(req, l, (size_t)off, p, size);
	pthread_mutex_unlock(&l->lock);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_buf(req, p, n);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);

	file_free(fs, dir_of(fi));
	fuse_reply_err(req, 0);
}
