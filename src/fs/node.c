/* The table of nodes: inode numbers, what the kernel holds of each, and the generations of a file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/node.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* An artifact without unused space: 100 bytes in place of 2 KiB. The kernel may hold a million nodes. */
struct packed {
	enum filetype type;
	enum object_type object;
	struct debug_id debug_id;
	char text[]; /* code_id, code_file, debug_file, path: each ends with NUL */
};

/* Two texts of blob_facts, without unused space. */
struct origin {
	bool verified;
	char text[]; /* source, url */
};

struct node {
	/* constant */
	uint64_t ino;
	uint64_t base; /* of a leaf: the inode number that follows from its key alone */
	enum node_kind kind;
	char *text; /* target of a link, or content; NULL: no text */
	struct packed *packed;
	char *name; /* the path; of a leaf, the canonical key */
	/* under the table's lock */
	struct node *next;
	uint64_t nlookup, refs; /* how often the kernel and symfs refer to the node */
	struct node_bytes bytes;
	uint64_t newer; /* in the node `base`: number of the node with the current bytes; 0: this node */
	bool missed;    /* an OPEN found nothing, and no bytes were found since */
	struct origin *origin; /* of bytes that are not in the store */
	struct node_io io; /* under a lock of passthrough.c */
};

struct nodes {
	pthread_mutex_t lock;
	/* under lock */
	struct node **buckets;
	size_t n_buckets; /* a power of two */
	uint64_t count;
};

static const char *const kind_names[NODE_KINDS] = {
	[NODE_DIR] = "dir", [NODE_LEAF] = "leaf",   [NODE_LINK] = "link",
	[NODE_TEXT] = "text", [NODE_STATE] = "state",
};

/* ---- numbers ------------------------------------------------------------------------ */

static uint64_t number_of(const void *p, size_t n)
{
	uint8_t raw[32];

	sha256_of(p, n, raw);
	return digest_number(raw);
}

uint64_t node_number(enum node_kind kind, const char *path)
{
	char room[4096 + 16];
	int n;

	if (kind == NODE_DIR && !*path)
		return NODE_ROOT;
	n = snprintf(room, sizeof(room), "%s:%s", kind_names[kind], path);
	return number_of(room, MIN((size_t)n, sizeof(room) - 1));
}

/* The inode number of one generation of an artifact. */
static uint64_t number_mix(uint64_t base, uint64_t bytes)
{
	uint64_t both[2] = {base, bytes};

	return number_of(both, sizeof(both));
}

/* ---- artifacts ---------------------------------------------------------------------- */

static struct packed *pack(const struct artifact *a)
{
	const char *const parts[] = {a->m.code_id, a->m.code_file, a->m.debug_file, a->m.path};
	struct packed *p;
	size_t n = 0;
	char *to;

	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
		n += strlen(parts[i]) + 1;
	p = malloc(sizeof(*p) + n);
	if (!p)
		return NULL;
	p->type = a->type;
	p->object = a->m.object;
	p->debug_id = a->m.debug_id;
	to = p->text;
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
		to = stpcpy(to, parts[i]) + 1;
	return p;
}

void node_artifact(const struct node *n, struct artifact *out)
{
	const struct packed *p = n->packed;
	const char *from = p->text;

	memset(out, 0, sizeof(*out));
	out->type = p->type;
	out->m.object = p->object;
	out->m.debug_id = p->debug_id;
	snprintf(out->m.code_id, sizeof(out->m.code_id), "%s", from);
	from += strlen(from) + 1;
	snprintf(out->m.code_file, sizeof(out->m.code_file), "%s", from);
	from += strlen(from) + 1;
	snprintf(out->m.debug_file, sizeof(out->m.debug_file), "%s", from);
	from += strlen(from) + 1;
	snprintf(out->m.path, sizeof(out->m.path), "%s", from);
}

/* ---- the table ---------------------------------------------------------------------- */

static struct node **bucket(struct nodes *t, uint64_t ino)
{
	/* Inode numbers, except the root's, are bits of a digest already. */
	return &t->buckets[ino & (t->n_buckets - 1)];
}

static struct node *seek(struct nodes *t, uint64_t ino)
{
	struct node *n = *bucket(t, ino);

	while (n && n->ino != ino)
		n = n->next;
	return n;
}

static void grow(struct nodes *t)
{
	size_t old = t->n_buckets;
	struct node **more = calloc(old * 2, sizeof(*more)), **from = t->buckets;

	if (!more)
		return; /* only the chains become longer */
	t->buckets = more;
	t->n_buckets = old * 2;
	for (size_t i = 0; i < old; i++) {
		while (from[i]) {
			struct node *n = from[i], **to = bucket(t, n->ino);

			from[i] = n->next;
			n->next = *to;
			*to = n;
		}
	}
	free(from);
}

static void destroy(struct node *n)
{
	free(n->packed);
	free(n->origin);
	free(n->text);
	free(n->name);
	free(n);
}

static void drop_if_unused(struct nodes *t, struct node *n)
{
	struct node **at;

	if (n->nlookup || n->refs)
		return;
	at = bucket(t, n->ino);
	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	t->count--;
	destroy(n);
}

static bool same(const struct node *n, enum node_kind kind, const char *name)
{
	return n->kind == kind && strcmp(n->name, name) == 0;
}

/* Returns `ino`, the inode number that follows from a name. If a different name already has it, returns a free
 * number: digests can have the same 63 bits. */
static uint64_t free_number(struct nodes *t, uint64_t ino, enum node_kind kind, const char *name)
{
	struct node *n;

	while ((n = seek(t, ino)) && !same(n, kind, name))
		ino = number_mix(ino, 0);
	return ino;
}

static struct node *insert(struct nodes *t, uint64_t ino, enum node_kind kind, const char *name)
{
	struct node *n = calloc(1, sizeof(*n)), **to;

	if (!n)
		return NULL;
	n->ino = ino;
	n->kind = kind;
	n->name = strdup(name);
	if (!n->name) {
		free(n);
		return NULL;
	}
	if (t->count >= t->n_buckets)
		grow(t);
	to = bucket(t, ino);
	n->next = *to;
	*to = n;
	t->count++;
	return n;
}

struct nodes *nodes_new(void)
{
	struct nodes *t = calloc(1, sizeof(*t));
	struct node *root;

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	t->n_buckets = 1024;
	t->buckets = calloc(t->n_buckets, sizeof(*t->buckets));
	root = t->buckets ? insert(t, NODE_ROOT, NODE_DIR, "") : NULL;
	if (!root) {
		nodes_free(t);
		return NULL;
	}
	root->nlookup = 1;
	root->refs = 1; /* no FORGET removes the root */
	return t;
}

void nodes_free(struct nodes *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->buckets && i < t->n_buckets; i++) {
		while (t->buckets[i]) {
			struct node *n = t->buckets[i];

			t->buckets[i] = n->next;
			destroy(n);
		}
	}
	free(t->buckets);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

uint64_t nodes_count(struct nodes *t)
{
	LOCK_SCOPE(&t->lock);

	return t->count;
}

struct node *node_find(struct nodes *t, uint64_t ino)
{
	LOCK_SCOPE(&t->lock);
	struct node *n = seek(t, ino);

	if (n)
		n->refs++;
	return n;
}

void node_unref(struct nodes *t, struct node *n)
{
	if (!n)
		return;
	LOCK_SCOPE(&t->lock);
	n->refs--;
	drop_if_unused(t, n);
}

void node_forget(struct nodes *t, uint64_t ino, uint64_t count)
{
	LOCK_SCOPE(&t->lock);
	struct node *n = seek(t, ino);

	if (!n)
		return;
	n->nlookup -= MIN(count, n->nlookup);
	drop_if_unused(t, n);
}

/* ---- names -------------------------------------------------------------------------- */

/* The inode number of a path with this text. It follows from the path alone, unless the kernel holds that number
 * for a different text. */
static uint64_t text_number(struct nodes *t, enum node_kind kind, const char *path, const char *text)
{
	uint64_t ino = free_number(t, node_number(kind, path), kind, path);
	struct node *n = seek(t, ino);

	if (!n || strcmp(node_text(n), text) == 0)
		return ino;
	return free_number(t, number_mix(ino, hash_mix(text, strlen(text))), kind, path);
}

int node_of_path(struct nodes *t, enum node_kind kind, const char *path, const char *text,
	struct node **out)
{
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	LOCK_SCOPE(&t->lock);
	uint64_t ino = text_number(t, kind, path, text ? text : "");
	struct node *n = seek(t, ino);

	if (text && !copy)
		return -ENOMEM;
	if (!n) {
		n = insert(t, ino, kind, path);
		if (!n)
			return -ENOMEM;
		n->text = take(copy);
	}
	n->nlookup++;
	n->refs++;
	*out = n;
	return 0;
}

/* Whether these are the bytes that the kernel may have cached. */
static bool are_bytes(const struct node *n, const struct node_bytes *b)
{
	return n->bytes.number == b->number || (b->was && n->bytes.number == b->was);
}

/* The inode number that answers a LOOKUP now. An artifact whose bytes changed while the kernel held its inode
 * gets a new inode: its next generation. */
static uint64_t generation(struct nodes *t, uint64_t base, const struct node_bytes *b)
{
	struct node *first = seek(t, base);

	if (!first)
		return base;
	if (b->exact)
		first->newer = first->bytes.exact && !are_bytes(first, b)
			? number_mix(base, b->number) : 0;
	return first->newer ? first->newer : base;
}

static struct origin *origin_of(const struct blob_facts *f)
{
	struct origin *o = malloc(sizeof(*o) + strlen(f->source) + strlen(f->url) + 2);

	if (o) {
		o->verified = f->verified;
		stpcpy(stpcpy(o->text, f->source) + 1, f->url);
	}
	return o;
}

static void learn(struct node *n, const struct node_bytes *b)
{
	/* An exact size stays: the kernel may have cached it, and pages of the file. */
	if (!n->bytes.exact)
		n->bytes = *b;
	else if (b->exact && are_bytes(n, b)) {
		n->bytes.settled |= b->settled;
		n->bytes.number = b->number;
	}
	n->bytes.facts = NULL;
	if (b->exact && !b->settled && b->facts && !n->origin)
		n->origin = origin_of(b->facts);
	if (b->exact)
		n->missed = false;
}

/* The inode number of a key. It changes when a better file replaces the stored one, and survives a restart. */
static uint64_t number_of_key(const struct key *k, const struct node_bytes *b)
{
	uint32_t generation = b->facts ? b->facts->generation : 0;

	return generation ? number_mix(key_number(k), generation) : key_number(k);
}

int node_of_leaf(struct nodes *t, const struct key *k, const struct artifact *a,
	const struct node_bytes *bytes, struct node **out)
{
	uint64_t number = number_of_key(k, bytes), base;
	char room[KEY_TEXT];
	const char *name = key_canon(k, room);
	struct packed *packed = pack(a);
	LOCK_SCOPE(&t->lock);
	struct node *n;

	base = free_number(t, number, NODE_LEAF, name);
	number = free_number(t, generation(t, base, bytes), NODE_LEAF, name);
	n = seek(t, number);
	if (!n && packed) {
		n = insert(t, number, NODE_LEAF, name);
		if (n) {
			n->base = base;
			n->packed = take(packed);
		}
	}
	free(packed);
	if (!n)
		return -ENOMEM;
	learn(n, bytes);
	n->nlookup++;
	n->refs++;
	*out = n;
	return 0;
}

int node_settle(struct nodes *t, struct node *n, const struct node_bytes *bytes)
{
	LOCK_SCOPE(&t->lock);

	if (!n->bytes.exact || are_bytes(n, bytes)) {
		learn(n, bytes);
		return 0;
	}
	generation(t, n->base, bytes);
	return -ESTALE;
}

bool node_missed(struct nodes *t, struct node *n)
{
	LOCK_SCOPE(&t->lock);
	bool first = !n->missed;

	n->missed = first;
	return first;
}

void node_bytes(struct nodes *t, const struct node *n, struct node_bytes *out)
{
	LOCK_SCOPE(&t->lock);

	*out = n->bytes;
}

bool node_facts(struct nodes *t, const struct node *n, struct blob_facts *out)
{
	LOCK_SCOPE(&t->lock);
	const struct origin *o = n->origin;

	if (!o)
		return false;
	memset(out, 0, sizeof(*out));
	out->verified = o->verified;
	out->fetched = n->bytes.time;
	snprintf(out->source, sizeof(out->source), "%s", o->text);
	snprintf(out->url, sizeof(out->url), "%s", o->text + strlen(o->text) + 1);
	return true;
}

struct node_io *node_io(struct node *n)
{
	return &n->io;
}

uint64_t node_ino(const struct node *n)
{
	return n->ino;
}

enum node_kind node_kind(const struct node *n)
{
	return n->kind;
}

const char *node_path(const struct node *n)
{
	return n->kind == NODE_LEAF ? "" : n->name;
}

const char *node_text(const struct node *n)
{
	return n->text ? n->text : "";
}
