/* One conversion a file, whoever asks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/derive.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/workers.h"
#include "gsym/worker.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Grows when other bytes are made of the same file; then what is stored is made anew. */
#define MAKER "symfs gsym 2"
/* Of misses: nothing to say, and broken. */
#define NOTHING "gsym"
#define BROKEN "gsym-failed"
#define REMEMBER_SECONDS 86400
#define THREADS 2
#define SECONDS 120

struct asker {
	struct asker *next;
	derive_done *done;
	void *ctx;
};

struct job {
	struct derive *d;
	struct key key;
	struct blob *in;
	struct job *next;
	struct asker *askers;
};

struct derive {
	struct store *store;
	struct workers *workers;
	atomic_bool stop;
	pthread_mutex_t lock;
	struct job *jobs; /* under lock */
};

int derive_new(struct derive **out, struct store *st)
{
	struct derive *d = calloc(1, sizeof(*d));
	int r = d ? workers_new(&d->workers, THREADS) : -ENOMEM;

	if (r < 0) {
		free(d);
		return r;
	}
	d->store = st;
	pthread_mutex_init(&d->lock, NULL);
	*out = d;
	return 0;
}

void derive_free(struct derive *d)
{
	if (!d)
		return;
	atomic_store(&d->stop, true);
	workers_free(d->workers);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

unsigned derive_inputs(const struct module *m, struct artifact out[static DERIVE_INPUTS])
{
	static const enum filetype types[DERIVE_INPUTS] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE};
	unsigned n = 0;

	for (unsigned i = 0; m->code_id[0] && i < DERIVE_INPUTS; i++) {
		struct key k;

		out[n].type = types[i];
		out[n].m = *m;
		out[n].m.object = OBJECT_ELF;
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}

int derive_key(const struct module *m, struct key *out)
{
	struct artifact a = {.type = FILETYPE_GSYM, .m = *m};

	a.m.object = OBJECT_ELF;
	a.m.debug_file[0] = '\0';
	return key_of(out, &a);
}

int derive_find(struct derive *d, const struct key *k, struct blob **out)
{
	int64_t now = clock_wall();
	struct blob *b;

	if (store_find(d->store, k, &b) == 0) {
		if (strncmp(blob_facts(b)->url, MAKER " ", strlen(MAKER) + 1) == 0) {
			*out = b;
			return 0;
		}
		blob_unref(b);
	}
	if (store_miss_until(d->store, k, "", NOTHING) > now)
		return -ENOENT;
	return store_miss_until(d->store, k, "", BROKEN) > now ? -EBADMSG : -EAGAIN;
}

/* ---- one of them ----------------------------------------------------------------------- */

static int publish(struct job *j, int fd, struct blob **out, struct err *e)
{
	struct blob_facts facts = {.source = "gsym", .verified = true, .fetched = clock_wall()};
	char room[KEY_TEXT];
	struct draft *draft;
	off_t size = lseek(fd, 0, SEEK_END);
	int r = size < 0 ? -errno : draft_new(&draft, j->d->store, e);

	if (r < 0)
		return r;
	snprintf(facts.url, sizeof(facts.url), MAKER " of %s", blob_sha256(j->in));
	r = draft_copy(draft, fd, 0, (uint64_t)size);
	if (r < 0) {
		draft_discard(draft);
		return err_set(e, r, "%s", err_text(r));
	}
	r = store_publish(j->d->store, draft, &j->key, &facts, out, e);
	if (r == 0)
		log_info("%s was made of %s", key_text(&j->key, room), blob_path(j->in));
	return r;
}

static int make(struct job *j, struct blob **out, struct err *e)
{
	struct gsym_work o = {.seconds = SECONDS, .stop = &j->d->stop};
	_cleanup_close_ int fd = -1;
	int r = gsym_work(&o, blob_fd(j->in), &fd, e);

	return r < 0 ? r : publish(j, fd, out, e);
}

/* What the input is to blame for is remembered; what happened here is not. */
static int judge(struct job *j, int r, struct err *e)
{
	bool nothing = r == -ENOMSG || r == -ENODATA || r == -ENOTSUP;
	bool broken = r == -EBADMSG || r == -ETIMEDOUT || r == -EFBIG;
	char room[KEY_TEXT];

	if (r < 0 && r != -EINTR)
		log_warn("%s cannot be made of %s, which %s", key_text(&j->key, room),
			blob_path(j->in), e->text[0] ? e->text : err_text(r));
	if (!nothing && !broken)
		return r;
	store_miss_add(j->d->store, &j->key, "", nothing ? NOTHING : BROKEN, REMEMBER_SECONDS,
		e->text);
	return nothing ? -ENOENT : -EBADMSG;
}

static struct asker *finish(struct job *j)
{
	LOCK_SCOPE(&j->d->lock);
	struct job **at = &j->d->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	return j->askers;
}

static void run(void *ctx)
{
	struct job *j = ctx;
	struct blob *b = NULL;
	struct err e = {0};
	struct asker *a, *next;
	/* Another process may have made it since. */
	int r = atomic_load(&j->d->stop) ? -EINTR : derive_find(j->d, &j->key, &b);

	if (r == -EAGAIN)
		r = judge(j, make(j, &b, &e), &e);
	for (a = finish(j); a; a = next) {
		next = a->next;
		a->done(a->ctx, r, b, e.text[0] ? e.text : err_text(r));
		free(a);
	}
	blob_unref(b);
	blob_unref(j->in);
	free(j);
}

static struct job *find_job(struct derive *d, const struct key *k)
{
	struct job *j = d->jobs;

	while (j && !key_equal(&j->key, k))
		j = j->next;
	return j;
}

static struct job *new_job(struct derive *d, const struct key *k, struct blob *in)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->d = d;
	j->key = *k;
	j->in = blob_ref(in);
	if (workers_post(d->workers, run, j) < 0) {
		blob_unref(j->in);
		free(j);
		return NULL;
	}
	j->next = d->jobs;
	d->jobs = j;
	return j;
}

int derive_start(struct derive *d, const struct key *k, struct blob *in, derive_done *done, void *ctx)
{
	struct asker *a = malloc(sizeof(*a));
	struct job *j;

	if (!a)
		return -ENOMEM;
	LOCK_SCOPE(&d->lock);
	j = find_job(d, k);
	if (!j)
		j = new_job(d, k, in);
	if (!j) {
		free(a);
		return -ENOMEM;
	}
	*a = (struct asker){j->askers, done, ctx};
	j->askers = a;
	return 0;
}
