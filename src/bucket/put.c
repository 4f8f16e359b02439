/* Uploads one file into a team's bucket. The end of a held file is written first, because another server may remove
 * its expired key in this moment (removal.c); the references before the bytes, because clear.c removes bytes that no
 * reference names; the key objects last, because they make the file visible. If another server removes one of the
 * keys in this moment, all is written once more when it is done. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/view.h"
#include "bucket/pages.h"
#include "bucket/private.h"
#include "source/bucket-key.h"
#include "store/files/blob.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEYS_MOST 4096 /* of one file */
#define PUT_TRIES 4 /* after a conflict with another server */
#define REMOVAL_LOOKS 50 /* for another server's removal of a key to end */
#define REMOVAL_LOOK_MS 100

struct put_key {
	struct key key;
	struct blob_facts facts;
	bool lesser; /* the bucket has a better file under the key */
};

struct put {
	struct caller *c;
	const struct outbox_row *row;
	bool conditions;
	struct put_key *keys;
	unsigned n;
	int r;
};

static int put_collect(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct put *p = ctx;
	struct put_key *more;

	/* GSYM of a file in a directory of this machine stays here: no other server looks for GSYM of that file. */
	if (filetypes[k->type].flags & TYPE_MADE && strstr(facts->url, " of @"))
		return 0;
	/* The bucket would give a file that another symfs made the place of a published one. */
	if (blob_is_made(facts))
		return 0;
	/* A source out of a Portable PDB stays here, too, and a section: other servers take them from their file. */
	if (strcmp(facts->source, "embedded") == 0)
		return 0;
	more = p->n < KEYS_MOST ? realloc(p->keys, (p->n + 1) * sizeof(*more)) : NULL;

	if (!more)
		return p->n < KEYS_MOST ? -ENOMEM : 1;
	p->keys = more;
	more[p->n].key = *k;
	more[p->n].facts = *facts;
	more[p->n].lesser = false;
	more[p->n++].facts.worth = p->row->worth;
	return 0;
}

static const char *digest_of(const struct put_key *k, char out[static SHA256_TEXT])
{
	if (bucket_made_digest(&k->key, k->facts.url, out) < 0)
		bucket_key_digest(&k->key, out);
	return out;
}

static int put_refs(struct put *p)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = call_put_text(p->c, bucket_ref_name(p->row->sha256, digest_of(&p->keys[i], digest), name), NULL,
			NULL);
	return r;
}

/* Notes of which files the file was made, so that it ends with each of them (end.c). */
static int put_made(struct put *p)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < p->n; i++) {
		const char *url = p->keys[i].facts.url;

		if (bucket_made_digest(&p->keys[i].key, url, digest) < 0)
			continue;
		while (r == 0 && bucket_made_name(&url, digest, name) == 0)
			r = call_put_text(p->c, name, NULL, NULL);
	}
	return r;
}

/* Whether the server can read the file to its end. A disk error in an upload looks like an error of the transfer. */
static bool is_readable(int fd, uint64_t size)
{
	char room[65536];

	for (uint64_t at = 0; at < size; at += sizeof(room))
		if (pread_all(fd, at, room, (size_t)MIN(size - at, sizeof(room))) < 0)
			return false;
	return true;
}

/* Writes the bytes, unless the bucket has them. */
static int put_bytes(struct put *p, int fd, uint64_t *sent)
{
	char name[BUCKET_NAME];
	struct call call = {.method = "HEAD", .name = bucket_blob_name(p->row->sha256, name)};
	int r = call_run(p->c, &call);

	if (r == 0 && call.reply.size == (int64_t)p->row->size)
		return 0;
	if (r < 0 && r != -ENOENT)
		return r;
	call = (struct call){.method = "PUT", .name = name, .fd = fd, .size = p->row->size, .digest = p->row->sha256};
	r = call_run(p->c, &call);
	if (r == 0)
		*sent = p->row->size;
	else if (call.reply.error == r && r != -EINTR && !is_readable(fd, p->row->size))
		return -EUCLEAN;
	return r;
}

/* Whether this server's file takes the key from the file that the bucket has: 1, 0; others: errors of call_run(). Of
 * equal files the first stays. */
static int is_better(const struct put *p, const struct put_key *k, const struct bucket_key *had)
{
	enum hold_rank theirs;
	int r = end_rank(p->c, had->sha256, &theirs);

	if (r < 0)
		return r;
	r = hold_compare(hold_rank(&p->row->held), theirs);
	if (!r && p->row->worth.known && had->worth.known)
		r = worth_compare(&p->row->worth, &had->worth, k->key.type);
	return r > 0;
}

static int drop_ref(struct put *p, const char *sha256, const char *digest)
{
	char name[BUCKET_NAME];

	return call_delete(p->c, bucket_ref_name(sha256, digest, name));
}

/* Replaces the key object that was read, under the condition that it is still the same one. A store may know
 * If-None-Match alone; its answer is then 400 or 501. */
static int replace_key(struct put *p, const char *name, const struct buf *text, const char *condition)
{
	int r = p->conditions && condition[0] ? call_put_text(p->c, name, text, condition) : -EINVAL;

	if (r == -ENOENT)
		return -EEXIST; /* another server has removed it */
	return r == -EINVAL || r == -EREMOTEIO ? call_put_text(p->c, name, text, NULL) : r;
}

/* One try to write a key object. -EEXIST: another server wrote it first, or may have. */
static int put_key_once(struct put *p, struct put_key *k, const char *digest, const struct buf *text, bool fresh)
{
	char name[BUCKET_NAME], condition[CONDITION_MOST];
	struct bucket_key had;
	bool replaces;
	int r, better;

	bucket_key_name(digest, name);
	if (fresh && p->conditions)
		return call_put_text(p->c, name, text, ONCE);
	r = get_key_version(p->c, name, &had, condition);
	if (r == 0 && strcmp(had.sha256, p->row->sha256) == 0)
		return 0;
	better = r == 0 ? is_better(p, k, &had) : 0;
	if (better < 0)
		return better;
	if (r == 0 && !better) {
		k->lesser = true;
		return drop_ref(p, p->row->sha256, digest);
	}
	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return r;
	if (r == -ENOENT && p->conditions)
		return call_put_text(p->c, name, text, ONCE);
	replaces = r == 0;
	r = replace_key(p, name, text, condition);
	if (r < 0 || !replaces)
		return r;
	log_info("%s: this server's file has replaced a lesser one in the bucket", name);
	return drop_ref(p, had.sha256, digest);
}

static int put_key(struct put *p, struct put_key *k)
{
	_cleanup_buf_ struct buf text = {0};
	char digest[SHA256_TEXT];
	int r;

	k->lesser = false;
	r = bucket_key_write(&k->key, &k->facts, p->row->sha256, p->row->size, &text);

	digest_of(k, digest);
	if (r == 0)
		r = put_key_once(p, k, digest, &text, true);
	for (unsigned i = 0; i < PUT_TRIES && (r == -EEXIST || r == -EAGAIN); i++)
		r = put_key_once(p, k, digest, &text, false);
	return r;
}

/* Whether a removal of the key is under way, so that the key must be written again after it. Settles a removal that
 * was broken off. 1, 0; others: errors of call_run(). */
static int is_marked(struct caller *c, const char *digest)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it = NULL;
	char what[BUCKET_NAME], word[SHA256_TEXT];
	int r;

	snprintf(what, sizeof(what), BUCKET_MARK "%.64s/", digest);
	r = listing_open(&l, c, what);
	if (r == 0)
		r = listing_next(&l, &it);
	if (r < 0 || !it)
		return r;
	if (l.now - it->modified < REMOVAL_BROKEN)
		return 1;
	snprintf(word, sizeof(word), "%.64s", it->sha256);
	r = removal_settle(c, digest, word);
	return r < 0 ? r : 1;
}

/* Whether a removal of one of the keys is under way. 1, 0; others: errors of call_run(). */
static int is_being_removed(struct put *p)
{
	char digest[SHA256_TEXT];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = is_marked(p->c, digest_of(&p->keys[i], digest));
	return r;
}

/* Whether a removal has ended in between. It removes the reference last, so if that is there the key object is, too.
 * 1, 0; others: errors of call_run(). */
static int was_removed(struct put *p)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < p->n; i++) {
		struct call head = {.method = "HEAD", .name = name};

		bucket_ref_name(p->row->sha256, digest_of(&p->keys[i], digest), name);
		r = p->keys[i].lesser ? 0 : call_run(p->c, &head);
	}
	return r == -ENOENT ? 1 : r;
}

/* Writes everything once. *what: what was written last. As put_file(). */
static int put_once(struct put *p, int fd, const char **what, uint64_t *sent)
{
	int r;

	*what = "its end";
	r = put_hold(p->c, p->row->sha256, &p->row->held, p->conditions);
	if (r == 0) {
		*what = "its references";
		r = put_refs(p);
	}
	if (r == 0)
		r = put_made(p);
	if (r == 0) {
		*what = "its bytes";
		r = put_bytes(p, fd, sent);
	}
	for (unsigned i = 0; r == 0 && i < p->n; i++) {
		*what = "a key";
		r = put_key(p, &p->keys[i]);
	}
	return r;
}

/* Writes everything, again while another server removes a key. */
static int put_all(struct put *p, int fd, const char **what, uint64_t *sent)
{
	for (unsigned i = 0; i < REMOVAL_LOOKS; i++) {
		int r = i && is_being_removed(p) == 1 ? -EBUSY : put_once(p, fd, what, sent);

		if (r == 0) {
			*what = "the removals of its keys";
			r = is_being_removed(p);
			r = r == 0 ? was_removed(p) : r;
		}
		if (r == 0) {
			*what = "its end";
			return put_hold_again(p->c, p->row->sha256, &p->row->held, p->conditions);
		}
		if (r != 1 && r != -EBUSY)
			return r;
		if (atomic_load(p->c->stop))
			return -EINTR;
		nanosleep(&(struct timespec){.tv_nsec = REMOVAL_LOOK_MS * 1000000l}, NULL);
	}
	return -EBUSY;
}

int put_file(struct caller *c, struct store *st, const struct outbox_row *row, bool conditions, uint64_t *sent,
	struct err *e)
{
	struct put p = {.c = c, .row = row, .conditions = conditions};
	const char *what = "";
	_cleanup_close_ int fd = -1;
	int r = store_outbox_read(st, row, &fd);

	*sent = 0;
	if (r < 0)
		return err_set(e, -EUCLEAN, "the server's store does not have its bytes (%s)", err_text(r));
	if (r == 0)
		r = MIN(store_outbox_keys(st, row, put_collect, &p), 0);
	if (r < 0) {
		free(p.keys);
		return err_set(e, r, "%s", err_text(r));
	}
	r = p.n ? put_all(&p, fd, &what, sent) : 0;
	free(p.keys);
	if (r == -EUCLEAN)
		return err_set(e, r, "the server's store cannot read its bytes");
	return r < 0 ? err_set(e, r, "%s: %s", what, call_text(r)) : 0;
}
