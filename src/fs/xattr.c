/* Extended attributes user.symfs.*: what is known of a file. Reading one never fetches. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/view.h"
#include "formats/obj/obj.h"
#include "fs/private.h"
#include "store/files/blob.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define VALUE_MAX 2048
#define PREFIX "user.symfs."

/* What the values are read from. */
struct known {
	struct artifact a;
	struct blob *blob; /* NULL: the file is not in the store */
	bool whole;	   /* the file is in the store, or was opened in a directory source */
	unsigned percent;  /* of its download; 0: no download */
	struct blob_facts facts;
	char value[VALUE_MAX], maker[BLOB_MAKER];
};

static const char *value_kind(struct known *t)
{
	return filetypes[t->a.type].name;
}

static const char *value_code_id(struct known *t)
{
	return t->a.m.code_id;
}

static const char *value_debug_id(struct known *t)
{
	return debug_id_text(&t->a.m.debug_id, t->value);
}

static const char *value_source(struct known *t)
{
	return t->facts.source;
}

static const char *value_url(struct known *t)
{
	return t->facts.url;
}

static const char *value_sha256(struct known *t)
{
	return t->blob ? blob_sha256(t->blob) : "";
}

static const char *value_state(struct known *t)
{
	if (t->whole || !t->percent)
		return t->whole ? "whole" : "remote";
	snprintf(t->value, sizeof(t->value), "partial %u %%", t->percent);
	return t->value;
}

static const char *value_verified(struct known *t)
{
	return !t->whole ? "" : t->facts.verified ? "yes" : "no";
}

/* The maker of a file that symfs made: "symfs sym 1"; "symfs" if the file is not stored yet. */
static const char *value_synthesized(struct known *t)
{
	const char *end = strstr(t->facts.url, " of ");

	if (!(filetypes[t->a.type].flags & TYPE_MADE))
		return blob_maker(&t->facts, t->maker);
	snprintf(t->value, sizeof(t->value), "%.*s", end ? (int)(end - t->facts.url) : 5,
		end ? t->facts.url : "symfs");
	return t->value;
}

static const struct xattr_row {
	const char *name;
	const char *(*value)(struct known *t); /* returns "" if the file has no such attribute */
} rows[] = {
	{"kind", value_kind},
	{"code-id", value_code_id},
	{"debug-id", value_debug_id},
	{"source", value_source},
	{"url", value_url},
	{"sha256", value_sha256},
	{"state", value_state},
	{"verified", value_verified},
	{"synthesized", value_synthesized},
};

/* Reads the identifier that the key lacks (code id or debug id) from the file. Not for a source file or a
 * section, whose bytes can be anything. */
static void learn_ids(struct fs *fs, struct known *t)
{
	_cleanup_close_ int own = -1;
	int fd = t->blob ? blob_fd(t->blob) : -1;
	struct view v;
	struct stat st;
	_cleanup_free_ struct obj_slice *s = malloc(sizeof(*s));
	struct module *m = &t->a.m;

	/* For a file that is served in place, the URL is a path. */
	if (fd < 0 && fetch_in_place(fs->fetch, t->facts.source, t->facts.url, t->a.type, &own) == 0)
		fd = own;
	if (!s || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	v = view_of_fd(fd, (uint64_t)st.st_size);
	if (obj_identify(&v, 0, s, NULL) < 0)
		return;
	if (!m->code_id[0])
		snprintf(m->code_id, sizeof(m->code_id), "%s", s->module.code_id);
	if (debug_id_is_nil(&m->debug_id))
		m->debug_id = s->module.debug_id;
}

/* At least 1 during a download; 0: no download, or its size is unknown. */
static unsigned percent_of(struct fs *fs, const struct artifact *a)
{
	uint64_t have, size;
	struct key k;

	if (key_of(&k, a) < 0 || !fetch_progress(fs->fetch, &k, &have, &size) ||
		size == FETCH_SIZE_UNKNOWN || !size)
		return 0;
	return (unsigned)MAX(have * 100 / size, 1);
}

/* Reads what is known of the inode. 0; -ENODATA: it is not a leaf. The caller calls blob_unref(t->blob). */
static int read_known(struct fs *fs, fuse_ino_t ino, struct known *t)
{
	struct node *n = node_find(fs->nodes, ino);
	struct fetched f;
	int r;

	memset(t, 0, sizeof(*t));
	if (!n || node_kind(n) != NODE_LEAF) {
		node_unref(fs->nodes, n);
		return -ENODATA;
	}
	node_artifact(n, &t->a);
	t->whole = node_facts(fs->nodes, n, &t->facts);
	r = leaf_stored(fs, n, &f);
	node_unref(fs->nodes, n);
	if (r == 0) {
		t->blob = f.blob;
		t->facts = *blob_facts(f.blob);
		t->whole = true;
	}
	if (!t->whole)
		t->percent = percent_of(fs, &t->a);
	if (t->whole && !(filetypes[t->a.type].flags & TYPE_ANY_BYTES) &&
		(!t->a.m.code_id[0] || debug_id_is_nil(&t->a.m.debug_id)))
		learn_ids(fs, t);
	return 0;
}

/* The two-step size protocol of getxattr(2) and listxattr(2). */
static void sized_reply(fuse_req_t req, int r, const char *p, size_t n, size_t size)
{
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (size == 0)
		fuse_reply_xattr(req, n);
	else if (n > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, p, n);
}

static const struct xattr_row *row_find(const char *name)
{
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, name + strlen(PREFIX)) == 0)
			return &rows[i];
	return NULL;
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	FS_OP(fs, req);
	const struct xattr_row *row = row_find(name);
	struct known t = {0};
	const char *value = "";
	int r = row ? read_known(fs, ino, &t) : -ENODATA;

	if (r == 0)
		value = row->value(&t);
	if (r == 0 && !*value)
		r = -ENODATA;
	sized_reply(req, r, value, strlen(value), size);
	blob_unref(t.blob);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	FS_OP(fs, req);
	_cleanup_buf_ struct buf names = BUF_UP_TO(4096);
	struct known t;
	int r = read_known(fs, ino, &t);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		if (*rows[i].value(&t))
			r = buf_addf(&names, PREFIX "%s%c", rows[i].name, '\0');
	if (r == -ENODATA)
		r = 0; /* other nodes have an empty list */
	sized_reply(req, r, names.p, names.n, size);
	blob_unref(t.blob);
}
