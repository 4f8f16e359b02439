/* The tokens of a running server: finds a client's token, and follows changes of the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/private.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/search.h"
#include "base/util.h"

#include <string.h>
#include <sys/stat.h>

/* What distinguishes two states of the file. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	mode_t mode;
	struct timespec modified, changed;
};

struct auth {
	char *path;
	pthread_mutex_t lock;
	/* under lock */
	struct token_list list;
	struct stamp stamp; /* of the file that was read last, even if it was broken */
	bool gone;	    /* stat() of the file failed, and this was logged */
	bool unread;	    /* reading failed though the file may be fine, and this was logged */
};

static int stamp_of(const char *path, struct stamp *out)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	memset(out, 0, sizeof(*out));
	*out = (struct stamp){st.st_dev, st.st_ino, st.st_size, st.st_mode, st.st_mtim, st.st_ctim};
	return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* Reads the file into `out`. The stamp comes first: a file that changes meanwhile is read again. */
static int load(const char *path, struct token_list *out, struct stamp *stamp, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	int r = stamp_of(path, stamp);

	if (r < 0)
		return err_set(e, r, "%s: %s", path, err_text(r));
	r = tokens_read(path, true, &text, e);
	return r == 0 ? tokens_parse(out, path, text, e) : r;
}

int auth_open(struct auth **out, const char *path, struct err *e)
{
	struct auth *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	pthread_mutex_init(&a->lock, NULL);
	a->path = strdup(path);
	r = a->path ? load(path, &a->list, &a->stamp, e) : err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		auth_close(a);
		return r == -ENOMEM ? r : -EINVAL;
	}
	*out = a;
	return 0;
}

void auth_close(struct auth *a)
{
	if (!a)
		return;
	tokens_release(&a->list);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a);
}

/* Reads the file anew if it has changed. The caller holds the lock. */
static void follow(struct auth *a)
{
	struct token_list fresh = {.n = 0};
	struct stamp now;
	struct err e = {0};
	int r = stamp_of(a->path, &now);

	if (r == 0 && same_stamp(&now, &a->stamp))
		return;
	if (r < 0 && a->gone)
		return;
	a->gone = r < 0;
	a->stamp = r == 0 ? now : (struct stamp){.size = -1};
	r = load(a->path, &fresh, &now, &e);
	if (r < 0) {
		if (!a->unread || r == -EINVAL)
			log_error("%s; the earlier tokens stay", e.text);
		/* The next request reads again: the file may lack a token that was withdrawn. */
		a->unread = r != -EINVAL;
		if (a->unread)
			a->stamp = (struct stamp){.size = -1};
		return;
	}
	a->gone = a->unread = false;
	a->stamp = now;
	tokens_release(&a->list);
	a->list = fresh;
	log_info("%s: read %u tokens", a->path, fresh.n);
}

/* Compares in constant time: reads every byte, also after a difference. */
static bool same_digest(const uint8_t a[static 32], const uint8_t b[static 32])
{
	uint8_t different = 0;

	for (unsigned i = 0; i < 32; i++)
		different |= a[i] ^ b[i];
	return different == 0;
}

/* A binary search by the digest. At most, its time reveals parts of the stored digests, and no token can be computed
 * from a digest. */
static const struct auth_token *search(const struct token_list *l, const uint8_t digest[static 32])
{
	unsigned from = (unsigned)search_first(i, 0, l->n, memcmp(l->tokens[i].digest, digest, 32) < 0);

	return from < l->n && same_digest(l->tokens[from].digest, digest) ? &l->tokens[from] : NULL;
}

static int find_digest(struct auth *a, const uint8_t digest[static 32], struct auth_token *out)
{
	LOCK_SCOPE(&a->lock);
	const struct auth_token *t;

	follow(a);
	t = search(&a->list, digest);
	if (!t)
		return -EACCES;
	if (t->until && t->until <= clock_wall())
		return -EKEYEXPIRED;
	*out = *t;
	return 0;
}

int auth_find(struct auth *a, const char *secret, size_t n, struct auth_token *out)
{
	uint8_t digest[32];

	if (n > AUTH_SECRET_MOST)
		return -EACCES;
	sha256_of(secret, n, digest);
	return find_digest(a, digest, out);
}

int auth_find_again(struct auth *a, const struct auth_token *was, struct auth_token *out)
{
	return find_digest(a, was->digest, out);
}

static int by_line(const void *a, const void *b)
{
	const struct auth_token *one = a, *two = b;

	return one->line < two->line ? -1 : one->line > two->line;
}

static int copy_list(struct auth *a, struct auth_token **out, unsigned *n)
{
	LOCK_SCOPE(&a->lock);

	*n = a->list.n;
	*out = calloc(*n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	if (*n)
		memcpy(*out, a->list.tokens, *n * sizeof(**out));
	return 0;
}

int auth_each(struct auth *a, int (*each)(void *ctx, const struct auth_token *t), void *ctx)
{
	_cleanup_free_ struct auth_token *tokens = NULL;
	unsigned n;
	int r = copy_list(a, &tokens, &n);

	if (r == 0 && n)
		qsort(tokens, n, sizeof(*tokens), by_line);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = each(ctx, &tokens[i]);
	return r;
}
