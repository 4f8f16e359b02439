/* The objects of a team's bucket, and the text of its key objects. Below the bucket's prefix there are
 *
 *	b/SHA256		the bytes of a file, named by their digest
 *	k/KEYDIGEST		a key object: which file a key has, in the lines of the store's labels
 *	r/SHA256/KEYDIGEST	an empty reference: this key may have that file
 *	m/INPUT/KEYDIGEST	an empty mark: this key has a file that was made of the file with the digest INPUT
 *	e/SHA256		the end of a file that a server holds: "e1 TAB UNTIL TAB AGE", and a line "added"
 *				if it is a file of `symfs add`
 *	x/KEYDIGEST/WORD	the key object of a key that a server removes (bucket/removal.c)
 *	t/SHA256		the bytes of a file that is being removed (bucket/clear.c)
 *
 * KEYDIGEST is the SHA-256 of the key's canonical text. For a file that symfs made (GSYM) it is the SHA-256 of that
 * text, a newline, and the file's URL, which names the maker and the inputs: "MAKER of SHA256", or "MAKER of PROGRAM
 * of SHA256". It has a mark for each input. A key object has at most BUCKET_KEY_MOST bytes:
 *
 *	v1 TAB KEY TAB SOURCE TAB URL TAB VERIFIED TAB SIZE TAB TIME
 *	b1 TAB SHA256
 *	w1 TAB WORTH
 *
 * Plain functions; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/hash.h"
#include "names/id/key.h"
#include "store/files/blob.h"
#include "store/files/hold.h"

#define BUCKET_KEY_MOST 16384
#define BUCKET_MADE "m/"
#define BUCKET_END "e/"
#define BUCKET_MARK "x/"
#define BUCKET_NAME 144 /* "r/", two digests, a slash and NUL */

struct bucket_key {
	struct key key;
	char sha256[SHA256_TEXT];
	uint64_t size;
	int64_t time; /* seconds since 1970: when the file was fetched or uploaded */
	int64_t modified; /* time of the file at its origin; 0: unknown */
	struct worth worth;
};

void bucket_key_digest(const struct key *k, char out[static SHA256_TEXT]);
/* The KEYDIGEST of a file that symfs made. -ENOENT: it is not such a file. */
int bucket_made_digest(const struct key *k, const char *url, char out[static SHA256_TEXT]);
/* The names of objects. `digest` is KEYDIGEST. */
const char *bucket_blob_name(const char *sha256, char out[static BUCKET_NAME]);
const char *bucket_key_name(const char *digest, char out[static BUCKET_NAME]);
const char *bucket_ref_name(const char *sha256, const char *digest, char out[static BUCKET_NAME]);
/* `word`: 64 digits. */
const char *bucket_mark_name(const char *digest, const char *word, char out[static BUCKET_NAME]);
/* The name of the mark of a file that was made of another one, for the next input that the URL names. Moves *url
 * behind that input. -ENOENT: the rest of the URL names no digest. */
int bucket_made_name(const char **url, const char *digest, char out[static BUCKET_NAME]);

/* Until when the bucket keeps a file under its keys. */
struct bucket_end {
	int64_t until; /* wall clock; INT64_MAX: for good */
	int64_t age;   /* seconds after a use; 0: for good */
	enum hold_rank rank; /* the highest of all servers; HELD_CLASS where an older server wrote the end */
};

const char *bucket_end_name(const char *sha256, char out[static BUCKET_NAME]);
int bucket_end_write(const struct bucket_end *end, struct buf *out); /* 0, -errno of buf_add() */
int bucket_end_parse(const char *text, struct bucket_end *out); /* 0; -EINVAL: it is malformed */
/* The later end of two. An end that is over at `now` does not count. */
void bucket_end_join(struct bucket_end *into, const struct bucket_end *other, int64_t now);
/* Renews the end after a use. Whether that changes it: at most once a day, or in half of a shorter age. */
bool bucket_end_renew(struct bucket_end *end, int64_t used);

/* Writes a key object. 0, -ENOMEM; -EFBIG: longer than a key object may be. */
int bucket_key_write(const struct key *k, const struct blob_facts *f, const char *sha256, uint64_t size,
	struct buf *out);
/* Reads a key object. 0, -ENOMEM; -EINVAL: it is malformed. */
int bucket_key_parse(const char *text, size_t n, struct bucket_key *out);
