/* Removes expired and purged keys from a team's bucket, and the files that symfs made of theirs.
 *
 * Another server may upload the same file in this moment. The marks x/KEYDIGEST/WORD order both: a removal writes its
 * mark, then looks at the key, and removes the mark last; an upload looks for marks after it has written the key
 * (put.c). So either the removal sees the upload, or the upload sees the mark, and is repeated. The mark has the text
 * of the key object: a removal that was broken off continues from it.
 *
 * Whether an upload is newer than a purge is decided by ages: that of the reference by the store's dates, and that of
 * the purge by the own clock. No clock is compared with that of another machine.
 *
 * An expired key stays while another server holds the file, or has renewed it by a use: e/SHA256 has the end that
 * counts for all. A use only writes that end. So the end is read once more after the removal, and if it is later now,
 * the key is written again. An end that is over stays: `cache gc --bucket` removes it with the bytes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "bucket/pages.h"
#include "bucket/private.h"
#include "source/bucket-key.h"

#include <stdio.h>
#include <string.h>

#define BACK_TRIES 4 /* to write a key object again */
#define DATES_DIFFER 2 /* seconds: by so much the difference of two ages can be wrong */
#define SLOW_MS 1000 /* an answer that took longer leaves the order of two times open */
#define LOOKS 3 /* at the age of a reference, until an answer comes soon enough */
#define PURGE_KEYS 32 /* that a purge removes at the same time: it must not take REMOVAL_MS */
/* A removal that took longer begins anew later, and does not hold up the uploads: an upload takes an old mark for a
 * broken-off removal. */
#define REMOVAL_MS 20000

/* `r`: how the key object was got, with its text. */
static int parse_key(int r, const struct buf *text, struct bucket_key *out)
{
	if (r == 0 && bucket_key_parse(buf_text(text), text->n, out) < 0)
		r = -EBADMSG;
	return r == -EFBIG ? -EBADMSG : r;
}

int get_key_version(struct caller *c, const char *name, struct bucket_key *out, char condition[static CONDITION_MOST])
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	struct call call = {.name = name, .answer = &text};
	int r = call_run(c, &call);

	condition[0] = '\0';
	if (call.reply.etag[0] == '"') /* a weak version cannot be a condition */
		snprintf(condition, CONDITION_MOST, "If-Match: %s", call.reply.etag);
	return parse_key(r, &text, out);
}

/* As get_key_version(), for a reader of the key. */
static int get_key_object(struct caller *c, const char *name, struct bucket_key *out)
{
	char condition[CONDITION_MOST];

	return get_key_version(c, name, out, condition);
}

/* Removes a key object, and then its reference: no key object may lack one, because clear.c removes bytes without
 * references. `had`: what the key object says; NULL: it is malformed. */
static int end_key_object(struct caller *c, const char *digest, const struct bucket_key *had)
{
	char name[BUCKET_NAME];
	int r = call_delete(c, bucket_key_name(digest, name));

	return r == 0 && had ? call_delete(c, bucket_ref_name(had->sha256, digest, name)) : r;
}

int end_made(struct caller *c, const char *input, const char *digest)
{
	char name[BUCKET_NAME];
	struct bucket_key had;
	int r = get_key_object(c, bucket_key_name(digest, name), &had);

	if (r == 0 || r == -EBADMSG)
		r = end_key_object(c, digest, r == 0 ? &had : NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	snprintf(name, sizeof(name), BUCKET_MADE "%.64s/%.64s", input, digest);
	return call_delete(c, name);
}

/* Removes the files that were made of this file, whichever server made them. */
static int end_all_made(struct caller *c, const char *input)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it;
	char what[SHA256_TEXT + 4];
	int r;

	snprintf(what, sizeof(what), BUCKET_MADE "%.64s/", input);
	r = listing_open(&l, c, what);
	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it)
		r = end_made(c, input, it->sha256);
	return r;
}

/* ---- marks ------------------------------------------------------------------------------- */

/* One key on its way out of the bucket. */
struct removal {
	struct caller *c;
	const struct outgone_row *row;
	char digest[SHA256_TEXT]; /* of the key */
	char mark[BUCKET_NAME];
	struct bucket_key had;
	struct buf text; /* of the key object */
	bool removed;
	uint64_t began; /* clock_ms() when the mark was written */
};

/* The word of a mark differs from server to server and from row to row, but a restarted server finds its mark. */
static void removal_init(struct removal *m, struct caller *c, const struct outgone_row *row, const char *digest,
	char word[static SHA256_TEXT])
{
	char text[KEY_TEXT + 700];

	*m = (struct removal){.c = c, .row = row, .text = BUF_UP_TO(BUCKET_KEY_MOST)};
	snprintf(m->digest, sizeof(m->digest), "%.64s", digest);
	snprintf(text, sizeof(text), "%s\n%s\n%lld\n%d", c->self, row->canon, (long long)row->ended, row->expired);
	sha256_text(text, strlen(text), word);
	bucket_mark_name(digest, word, m->mark);
}

static void removal_release(struct removal *m)
{
	buf_release(&m->text);
}

/* Reads a key object, or the mark, which has its text. After an error, what was read before stays. */
static int removal_get(struct removal *m, const char *name)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	struct bucket_key had;
	int r = parse_key(call_get_sure(m->c, name, &text), &text, &had);

	if (r == 0) {
		buf_clear(&m->text);
		r = buf_add(&m->text, text.p, text.n);
		m->had = had;
	}
	return r;
}

static int removal_mark(struct removal *m)
{
	m->began = clock_ms();
	return call_put_text(m->c, m->mark, &m->text, NULL);
}

/* Whether an upload wrote the key's reference after the removal was asked for. 1, 0; -EAGAIN: the store answers too
 * slowly to say; others: errors of call_run(). A store without dates has no newer references.
 *
 * All times have whole seconds, so each of the two ages is wrong by less than a second, and the own one by the time
 * until the store answers, too. A reference that is older than the removal never counts as newer. One that is newer
 * by less than 4 seconds can count as older. Such an upload began before the purge was answered, so it may as well
 * have come first: delete_done() (http/upload/upload-put.c) answers a purge that is still queued after
 * DELETE_ORDER_MS, not earlier. An expired file that is uploaded again stays by its end e/. */
static int is_newer(const struct removal *m)
{
	char name[BUCKET_NAME];

	for (unsigned i = 0; i < LOOKS; i++) {
		struct call head = {.method = "HEAD", .name = bucket_ref_name(m->had.sha256, m->digest, name)};
		int64_t modified, later, age = clock_wall() - m->row->ended;
		uint64_t began = clock_ms(), took;
		int r = call_run(m->c, &head);

		if (r < 0)
			return r == -ENOENT ? 0 : r;
		modified = date_read(head.reply.modified);
		if (modified < 0 || head.reply.date < 0)
			return 0;
		later = age - (head.reply.date - modified);
		took = clock_ms() - began;
		if (later >= DATES_DIFFER)
			return 1;
		if (took <= SLOW_MS || later + (int64_t)(took / 1000) + 1 < DATES_DIFFER)
			return 0;
	}
	return -EAGAIN;
}

/* ---- an expired key ----------------------------------------------------------------------------- */

/* Writes a key object and its reference again, unless another server has written the key meanwhile. */
static int put_back(struct removal *m)
{
	char name[BUCKET_NAME];
	struct bucket_key now;
	int r = call_put_text(m->c, bucket_ref_name(m->had.sha256, m->digest, name), NULL, NULL);

	if (r == 0)
		/* the store may ignore conditions */
		r = get_key_object(m->c, bucket_key_name(m->digest, name), &now);
	if (r != -ENOENT)
		return r == -EBADMSG ? 0 : r;
	r = -EAGAIN;
	for (unsigned i = 0; i < BACK_TRIES && r == -EAGAIN; i++)
		r = call_put_text(m->c, name, &m->text, ONCE);
	return r == -EEXIST ? 0 : r;
}

/* After the key object is gone: removes the reference, and looks once more for the end of an expired file. */
static int removal_finish(struct removal *m, int64_t *later, struct err *e)
{
	char name[BUCKET_NAME];
	int r = call_delete(m->c, bucket_ref_name(m->had.sha256, m->digest, name)), done;
	bool held;

	if (r == 0)
		r = end_is_held(m->c, m->had.sha256, later, e);
	held = r == 1 || r == -EBADMSG;
	if (r < 0 && !held)
		return r;
	m->removed = !held;
	done = held ? put_back(m) : 0;
	if (done == 0)
		done = call_delete(m->c, m->mark);
	return r == -EBADMSG ? r : done;
}

/* Removes the key, whose mark is written, unless an upload is newer than the removal. */
static int removal_run(struct removal *m, int64_t *later, struct err *e)
{
	struct bucket_key had = m->had;
	char name[BUCKET_NAME];
	int r = removal_get(m, bucket_key_name(m->digest, name));

	if (r == 0 && strcmp(had.sha256, m->had.sha256) != 0)
		r = removal_mark(m); /* the mark must name the file that goes */
	if (r == 0)
		r = is_newer(m);
	if (r == 0)
		r = end_is_held(m->c, m->had.sha256, later, e);
	if (r == 1) /* it stays */
		return call_delete(m->c, m->mark);
	if (r == 0 && clock_ms() - m->began > REMOVAL_MS)
		return -EAGAIN;
	if (r == 0)
		r = call_delete(m->c, name);
	return r == 0 ? removal_finish(m, later, e) : r;
}

/* Removes one key, or goes on where an earlier removal was broken off. 0 also if it stays. */
static int remove_key(struct removal *m, int64_t *later, struct err *e)
{
	char name[BUCKET_NAME];
	int r = removal_get(m, bucket_key_name(m->digest, name));

	if (r == -ENOENT) {
		r = removal_get(m, m->mark);
		return r == -ENOENT ? 0 : r < 0 ? r : removal_finish(m, later, e);
	}
	if (r == -EBADMSG)
		return end_key_object(m->c, m->digest, NULL);
	if (r == 0 && (r = end_is_held(m->c, m->had.sha256, later, e)) == 1)
		return 0;
	if (r == 0)
		r = removal_mark(m);
	r = r == 0 ? removal_run(m, later, e) : r;
	return r == -ENOENT ? removal_finish(m, later, e) : r; /* another server has removed the key meanwhile */
}

int put_end(struct caller *c, const struct outgone_row *row, int64_t *later, struct err *e)
{
	char digest[SHA256_TEXT], word[SHA256_TEXT];
	struct removal m;
	int r;

	*later = 0;
	sha256_text(row->canon, strlen(row->canon), digest);
	removal_init(&m, c, row, digest, word);
	r = remove_key(&m, later, e);
	if (r == 0 && m.removed)
		r = end_all_made(c, m.had.sha256);
	removal_release(&m);
	return r < 0 && !e->text[0] ? err_set(e, r, "a key that expired: %s", call_text(r)) : r;
}

/* ---- a file with all of its keys ------------------------------------------------------------ */

/* A purge. All keys are marked before the first one is removed: an upload in between would be removed with those that
 * follow. Then a few keys at a time go, however many the file has. Their marks are written again if they are old. An
 * upload that has taken an old mark for a broken-off removal is newer than the purge for sure. The key of the row
 * comes last: by it, a server that was killed finds the others. */
struct purge {
	struct caller *c;
	struct store *store;
	const struct outgone_row *row;
	char sha256[SHA256_TEXT], word[SHA256_TEXT];
	uint64_t marked; /* clock_ms() when the first key was marked; 0: by an earlier purge */
	bool overtaken;	 /* an upload to this server came before the marks, and has taken the row out of the queue */
	bool some;	 /* a key was removed */
	unsigned n;
	struct purge_key {
		char digest[SHA256_TEXT];
		struct outgone_row row; /* that of this key, if it is queued */
	} keys[PURGE_KEYS];
};

static struct purge_key *purge_add(struct purge *p, const char *digest)
{
	struct purge_key *k = &p->keys[p->n++];

	*k = (struct purge_key){.row = {.ended = p->row->ended}};
	snprintf(k->digest, sizeof(k->digest), "%.64s", digest);
	return k;
}

/* Looks at a key, and marks it, or with `again`, looks whether it must go. An earlier purge, which was broken off,
 * may have removed the key object, and left the mark. 1: it goes, 0: it stays. */
static int purge_look(struct purge *p, struct purge_key *k, bool again)
{
	char name[BUCKET_NAME], word[SHA256_TEXT];
	bool there = true;
	struct removal m;
	int r;

	removal_init(&m, p->c, p->row, k->digest, word);
	r = removal_get(&m, bucket_key_name(k->digest, name));
	if (r == -ENOENT) {
		there = false;
		r = removal_get(&m, m.mark);
	}
	if (r == 0 && strcmp(m.had.sha256, p->sha256) == 0) {
		key_canon(&m.had.key, k->row.canon);
		r = !again ? removal_mark(&m) : there && p->overtaken ? 1 : is_newer(&m);
		r = r == 0 ? 1 : MIN(r, 0);
	}
	if (r == 0 && again)
		r = call_delete(p->c, m.mark);
	removal_release(&m);
	return r == -ENOENT || r == -EBADMSG ? 0 : r;
}

/* Marks all keys that refer to the file. The upload of the file to this server takes the row out of the queue, and
 * then looks for marks. So if the row is still there after the marks, such an upload has seen them. */
static int purge_mark(struct purge *p, const char *first)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it;
	char what[BUCKET_NAME];
	int r;

	p->marked = clock_ms();
	snprintf(what, sizeof(what), "r/%.64s/", p->sha256);
	r = listing_open(&l, p->c, what);
	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		if (strcmp(it->sha256, first) != 0)
			r = MIN(purge_look(p, purge_add(p, it->sha256), false), 0);
		p->n = 0;
	}
	if (r == 0)
		r = MIN(purge_look(p, purge_add(p, first), false), 0);
	p->n = 0;
	p->overtaken = r == 0 && !store_outgone_has(p->store, p->row->canon);
	return r;
}

static int purge_look_at_all(struct purge *p, bool again)
{
	unsigned n = 0;
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < p->n; i++) {
		r = purge_look(p, &p->keys[i], again);
		if (r == 1)
			p->keys[n++] = p->keys[i];
	}
	if (r >= 0)
		p->n = n;
	return MIN(r, 0);
}

/* `last`: no keys follow. The end goes and the rows of the keys are done before an upload can go on: else the upload
 * would lose its end, or the next row would remove it. */
static int purge_run(struct purge *p, bool last)
{
	char name[BUCKET_NAME];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = call_delete(p->c, bucket_key_name(p->keys[i].digest, name));
	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = call_delete(p->c, bucket_ref_name(p->sha256, p->keys[i].digest, name));
	if (r == 0 && last)
		r = end_drop(p->c, p->sha256);
	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = store_outgone_done(p->store, &p->keys[i].row);
	if (r == 0 && last && !p->overtaken)
		r = store_outgone_done(p->store, p->row);
	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = call_delete(p->c, bucket_mark_name(p->keys[i].digest, p->word, name));
	p->some |= r == 0 && p->n;
	p->n = 0;
	return r;
}

/* Removes the collected keys, except those that stay. */
static int purge_collected(struct purge *p, bool last)
{
	uint64_t began = p->marked;
	int r = 0;

	if (clock_ms() - began > REMOVAL_MS / 2) {
		began = clock_ms();
		r = purge_look_at_all(p, false);
	}
	if (r == 0)
		r = purge_look_at_all(p, true);
	if (r == 0 && clock_ms() - began > REMOVAL_MS)
		return -EAGAIN;
	return r == 0 ? purge_run(p, last) : r;
}

/* Removes all keys that this purge has marked, also before the server was killed. */
static int purge_marked(struct purge *p, const char *first)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it;
	int r = listing_open(&l, p->c, BUCKET_MARK);

	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it) {
		if (strcmp(it->sha256, first) == 0 || strcmp(it->second, p->word) != 0)
			continue;
		purge_add(p, it->sha256);
		if (p->n == PURGE_KEYS)
			r = purge_collected(p, false);
	}
	if (r < 0)
		return r;
	purge_add(p, first);
	return purge_collected(p, true);
}

static int purge_file(struct purge *p, const char *first, bool resumed)
{
	int r = resumed ? 0 : purge_mark(p, first);

	if (r == 0)
		r = purge_marked(p, first);
	return r == 0 && p->some ? end_all_made(p->c, p->sha256) : r;
}

int put_purge(struct caller *c, struct store *st, const struct outgone_row *row, struct err *e)
{
	_cleanup_free_ struct purge *p = calloc(1, sizeof(*p));
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	bool resumed = false;
	struct removal m;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "a purged key: out of memory");
	p->c = c;
	p->store = st;
	p->row = row;
	sha256_text(row->canon, strlen(row->canon), digest);
	removal_init(&m, c, row, digest, p->word);
	r = removal_get(&m, bucket_key_name(digest, name));
	if (r == -ENOENT) {
		r = removal_get(&m, m.mark);
		resumed = r == 0;
	}
	memcpy(p->sha256, m.had.sha256, sizeof(p->sha256));
	if (r == -EBADMSG)
		r = end_key_object(c, digest, NULL);
	else if (r == 0)
		r = purge_file(p, digest, resumed);
	removal_release(&m);
	if (r == 0 || r == -ENOENT)
		return p->sha256[0] ? 0 : store_outgone_done(st, row);
	return e->text[0] ? r : err_set(e, r, "a purged key: %s", call_text(r));
}

/* ---- marks of others --------------------------------------------------------------------- */

int removal_settle(struct caller *c, const char *digest, const char *word)
{
	struct removal m = {.c = c, .text = BUF_UP_TO(BUCKET_KEY_MOST)};
	char name[BUCKET_NAME];
	struct bucket_key now;
	struct err e = {0};
	int64_t later;
	int r, held;

	snprintf(m.digest, sizeof(m.digest), "%.64s", digest);
	bucket_mark_name(digest, word, m.mark);
	r = removal_get(&m, m.mark);
	if (r == 0)
		r = get_key_object(c, bucket_key_name(digest, name), &now);
	if (r == -ENOENT && m.had.sha256[0]) {
		held = end_is_held(c, m.had.sha256, &later, &e);
		held = held == -EBADMSG ? 1 : held; /* a malformed end can be a hold */
		r = held < 0 ? held : held ? put_back(&m) : call_delete(c,
			bucket_ref_name(m.had.sha256, digest, name));
	} else if (r == 0 && strcmp(now.sha256, m.had.sha256) != 0) {
		r = call_delete(c, bucket_ref_name(m.had.sha256, digest, name));
	}
	if (r == 0 || r == -ENOENT || r == -EBADMSG)
		r = call_delete(c, m.mark);
	removal_release(&m);
	return r;
}
