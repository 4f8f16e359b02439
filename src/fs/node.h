/* Nodes: the inodes that the kernel holds. A node lives while the kernel remembers it (nlookup) or symfs
 * uses it (a reference). So the table is as large as the caches of the kernel. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/key.h"
#include "store/files/blob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_kind {
	NODE_DIR,   /* one for each path as spelled: the kernel keeps one dentry per directory */
	NODE_LEAF,  /* one for each artifact, whatever its spelling or layout */
	NODE_LINK,  /* node_text() is the target */
	NODE_TEXT,  /* node_text() is the content */
	NODE_STATE, /* a file under .symfs */
	NODE_KINDS
};

#define NODE_ROOT 1

struct node;
struct nodes;

/* The bytes behind a leaf, as far as they are known. */
struct node_bytes {
	bool exact;	  /* false: `size` is a guess, and the other fields are not set */
	bool settled;	  /* the bytes are in the store, and no better file is looked for */
	uint64_t number;  /* as blob_number() or part_number() returns it */
	uint64_t was;	  /* the number of the same bytes during their download; 0: there is no such number */
	uint64_t size;
	int64_t time;	  /* the times that stat(2) shows: seconds of the wall clock */
	const struct blob_facts *facts; /* where the bytes come from; node_bytes() sets it to NULL */
};

struct nodes *nodes_new(void); /* with the root in it; NULL: out of memory */
void nodes_free(struct nodes *t);
uint64_t nodes_count(struct nodes *t);

/* Returns a reference; NULL: no node has this number. */
struct node *node_find(struct nodes *t, uint64_t ino);
void node_unref(struct nodes *t, struct node *n); /* NULL is fine */

/* The node of a path that is not a leaf. Counts it as known to the kernel (nlookup). `text` is
 * copied, and may be NULL. A different text gets a different node, because the kernel caches the text.
 * 0, -ENOMEM. */
int node_of_path(struct nodes *t, enum node_kind kind, const char *path, const char *text,
	struct node **out);

/* Like node_of_path(), for an artifact; `a` is the artifact as the path names it. If `bytes` are exact, and
 * the kernel may have other bytes of the artifact in its page cache, the result is a new node. */
int node_of_leaf(struct nodes *t, const struct key *k, const struct artifact *a,
	const struct node_bytes *bytes, struct node **out);

/* FORGET: the kernel drops `n` of its references to a node. An inode number without a node is ignored. */
void node_forget(struct nodes *t, uint64_t ino, uint64_t n);

/* An OPEN found these exact bytes. 0: the node has them, and the kernel never cached other pages for
 * it. -ESTALE: the node has different bytes; the next node_of_leaf() gives a new node. */
int node_settle(struct nodes *t, struct node *n, const struct node_bytes *bytes);

/* Records that an OPEN found nothing. True: it is the first such OPEN since bytes were found. */
bool node_missed(struct nodes *t, struct node *n);

/* What is known of the bytes of a leaf. */
void node_bytes(struct nodes *t, const struct node *n, struct node_bytes *out);

/* Where the bytes come from, for files of directory sources; the store knows its own files. False: their origin is
 * not known. */
bool node_facts(struct nodes *t, const struct node *n, struct blob_facts *out);

/* How the handles of a leaf are read. Only passthrough.c uses it, under its lock. */
struct node_io {
	unsigned cached, passed; /* handles; never both */
	int backing;		 /* the kernel's number of the file; 0: the kernel does not have it */
};
struct node_io *node_io(struct node *n);

/* Constant for the life of a node. */
uint64_t node_ino(const struct node *n);
enum node_kind node_kind(const struct node *n);
const char *node_path(const struct node *n); /* without a leading slash; "" for a leaf */
const char *node_text(const struct node *n);
void node_artifact(const struct node *n, struct artifact *out); /* the artifact of a leaf */

/* For readdir: the number of the node of a path, unless it collides. */
uint64_t node_number(enum node_kind kind, const char *path);
