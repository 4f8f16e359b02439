/* Assembles uploaded files on workers, and remembers for a while which of them were refused. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/assemble.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/workers.h"
#include "formats/obj/obj.h"
#include "intake/upload/filed.h"
#include "store/outbox.h"
#include "intake/upload/wait-list.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define BUCKET_WAIT_MS 60000
#define ASSEMBLERS 3	   /* files that are assembled at the same time */
#define ASSEMBLERS_OF_ONE (ASSEMBLERS - 1) /* of them by one client: another client need not wait for all its files */
/* A file may be so many times larger than its distinct chunks, beyond a file of this size. */
#define REPEATS_MOST 16
#define REPEATS_FREE (256u << 20)
#define JOBS_MOST 4096	   /* files that wait, are assembled, or were refused a short while ago */
#define JOBS_OF_ONE (JOBS_MOST / 2) /* of them that wait or are assembled, by one client */
#define REFUSED_MS 600000  /* a refusal is remembered this long: the same bytes are refused again */
#define TROUBLE_MS 5000	   /* a file that failed because of this machine may be tried again after this time */
#define STORED_MS 60000	   /* a stored file without a record is remembered this long */
#define AGAIN_SECONDS 60   /* between two requests by which a stored file is queued for the bucket once more */
#define COPY_ROOM (256u << 10)
#define ROOM_LEAST (4u << 20) /* bytes of a file for which room is made before it is copied */
#define SLICES_MOST 64

/* A file that is being assembled, or that was refused. */
struct job {
	struct assembly *a;
	struct sentry_file file;
	struct sha1 *chunks; /* its own copy */
	char user[64], peer[64], project[160];
	struct store_hold hold;
	/* the worker */
	struct filed filed;
	struct wait_list stored; /* all keys; `filed` has the first ones */
	unsigned refused; /* parts */
	char why[SENTRY_TEXT_MAX];
	/* under lock */
	uint64_t turn, number; /* its place in the order of work: the clients take turns; and in that of arrival */
	enum sentry_state state;
	int trouble; /* of SENTRY_ERROR: -errno of this machine or of the bucket; 0: the file is refused */
	uint64_t until; /* clock_ms() when the job is forgotten; 0: it has not ended */
	struct job *next;
};

struct assembly {
	struct assembly_opts opts;
	struct chunks *chunks;
	struct intake_opts taking;
	struct workers *workers;
	atomic_bool stopping;
	pthread_mutex_t lock;
	/* under lock */
	struct job *jobs[256]; /* by the first byte of the SHA-1 */
	unsigned n_jobs;
	uint64_t number; /* of the last job */
	const struct job *running[ASSEMBLERS];
};

/* ---- jobs ------------------------------------------------------------------------------ */

static void job_free(struct job *j)
{
	free(j->chunks);
	free(j);
}

/* Forgets the jobs of one list that ended a while ago. Under lock. */
static void forget_old(struct assembly *a, struct job **list, uint64_t now)
{
	while (*list) {
		struct job *j = *list;

		if (!j->until || j->until > now) {
			list = &j->next;
			continue;
		}
		*list = j->next;
		a->n_jobs--;
		job_free(j);
	}
}

static struct job **list_of(struct assembly *a, const struct sha1 *sha1)
{
	return &a->jobs[sha1->bytes[0]];
}

/* Under lock. */
static struct job *job_find(struct assembly *a, const struct sha1 *sha1)
{
	struct job *j = *list_of(a, sha1);

	while (j && !sha1_equal(&j->file.sha1, sha1))
		j = j->next;
	return j;
}

/* `ms`: how long the result is remembered. A job that has left no result is forgotten at once. */
static void job_end(struct job *j, enum sentry_state state, int trouble, unsigned ms)
{
	struct assembly *a = j->a;
	LOCK_SCOPE(&a->lock);

	for (unsigned i = 0; i < ASSEMBLERS; i++)
		if (a->running[i] == j)
			a->running[i] = NULL;
	j->state = state;
	j->trouble = trouble;
	j->until = clock_ms() + ms;
	if (!ms)
		forget_old(a, list_of(a, &j->file.sha1), clock_ms());
}

/* ---- the bytes --------------------------------------------------------------------------- */

/* Where the chunks go. */
struct filling {
	struct job *j;
	struct draft *draft; /* NULL: the bytes are only read */
	struct digest *digest;
	uint8_t *room; /* COPY_ROOM bytes */
	uint64_t left; /* bytes that may still come: the sum of the sizes that was judged */
};

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sha1));
}

/* Adds up the sizes of the distinct chunks. 0, -errno. */
static int distinct_sizes(const struct job *j, uint64_t *sum)
{
	_cleanup_free_ struct sha1 *sorted = malloc(j->file.n * sizeof(*sorted));
	uint64_t size = 0;
	int r = sorted ? 0 : -ENOMEM;

	*sum = 0;
	if (sorted) {
		memcpy(sorted, j->chunks, j->file.n * sizeof(*sorted));
		qsort(sorted, j->file.n, sizeof(*sorted), by_bytes);
	}
	for (uint32_t i = 0; r == 0 && i < j->file.n; i++) {
		if (i && sha1_equal(&sorted[i - 1], &sorted[i]))
			continue;
		r = chunks_size(j->a->chunks, &sorted[i], &size);
		*sum += size;
	}
	return r;
}

/* Adds up the sizes of the chunks, before anything is written. 0; -ENOENT: a chunk is gone; -EFBIG: the file is
 * larger than the limit; other -errno. */
static int judge_sizes(const struct job *j, uint64_t *sum)
{
	uint64_t most = j->a->opts.file_most, size = 0;

	*sum = 0;
	for (uint32_t i = 0; i < j->file.n; i++) {
		int r = chunks_size(j->a->chunks, &j->chunks[i], &size);

		if (r < 0)
			return r;
		*sum += size;
	}
	return most && *sum > most ? -EFBIG : 0;
}

static int append_chunk(struct filling *f, int fd, uint64_t size)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at += COPY_ROOM) {
		size_t n = (size_t)MIN(size - at, (uint64_t)COPY_ROOM);

		r = pread_all(fd, at, f->room, n);
		if (r < 0)
			return r == -ENODATA ? -ENOENT : r;
		digest_add(f->digest, f->room, n);
		r = f->draft ? draft_write(f->draft, draft_size(f->draft), f->room, n) : 0;
	}
	return r;
}

/* Reads the chunks, and copies them into the draft. 0; -ENOENT: a chunk is gone, or has another size than before;
 * -EINTR: the server stops; other -errno of the disk. */
static int append_all(struct filling *f)
{
	struct assembly *a = f->j->a;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < f->j->file.n; i++) {
		_cleanup_close_ int fd = -1;
		uint64_t size = 0;

		if (atomic_load(&a->stopping))
			return -EINTR;
		r = chunks_open_one(a->chunks, &f->j->chunks[i], &fd, &size);
		if (r == 0 && size > f->left)
			return -ENOENT;
		if (r == 0)
			r = append_chunk(f, fd, size);
		f->left -= size;
	}
	return r;
}

/* Reads the chunks, into the draft unless it is NULL, and compares the SHA-1 of the file. -EBADMSG: it differs. */
static int fill_draft(struct job *j, struct draft *d, uint64_t sum)
{
	_cleanup_free_ uint8_t *room = malloc(COPY_ROOM);
	struct filling f = {.j = j, .draft = d, .digest = digest_new("SHA1"), .room = room, .left = sum};
	uint8_t made[DIGEST_BYTES];
	int r;

	if (!room || !f.digest) {
		digest_free(f.digest);
		return -ENOMEM;
	}
	r = append_all(&f);
	digest_finish(f.digest, made);
	return r < 0 ? r : memcmp(made, j->file.sha1.bytes, sizeof(j->file.sha1.bytes)) == 0 ? 0 : -EBADMSG;
}

/* The SHA-1 of the file differs. A chunk that was damaged on disk is removed, so that the client sends it again. */
static int blame_chunks(struct job *j)
{
	unsigned removed = 0;

	for (uint32_t i = 0; i < j->file.n; i++)
		removed += chunks_drop_damaged(j->a->chunks, &j->chunks[i]);
	return removed ? -ENOENT : -EBADMSG;
}

/* ---- what the file is --------------------------------------------------------------------- */

static const char *kind_word(enum obj_kind kind)
{
	static const char *const words[] = {
		[OBJ_EXECUTABLE] = "exe",
		[OBJ_LIBRARY] = "lib",
		[OBJ_DEBUG] = "dbg",
		[OBJ_OBJECT] = "rel",
		[OBJ_SOURCES] = "src",
	};

	return kind < ARRAY_SIZE(words) && words[kind] ? words[kind] : "other";
}

static void describe(struct sentry_dif *d, const struct obj_slice *s)
{
	snprintf(d->arch, sizeof(d->arch), "%s", s->arch ? s->arch : "any");
	snprintf(d->format, sizeof(d->format), "%s", s->format);
	snprintf(d->kind, sizeof(d->kind), "%s", kind_word(s->kind));
	snprintf(d->code_id, sizeof(d->code_id), "%s", s->module.code_id);
	debug_id_text(&s->module.debug_id, d->debug_id);
}

static bool is_same_guid(const struct debug_id *a, const struct debug_id *b)
{
	return memcmp(a->guid, b->guid, a->pdb20 || b->pdb20 ? 4 : sizeof(a->guid)) == 0;
}

/* Describes the file, and compares its debug id with the one that the client stated. The ages are not compared:
 * clients take them from different places. -EBADMSG: another id, with a text in `e`. */
static int identify(struct job *j, int fd, uint64_t size, struct err *e)
{
	const struct debug_id *want = &j->file.debug_id;
	char is[DEBUG_ID_TEXT], says[DEBUG_ID_TEXT];
	struct view v = view_of_fd(fd, size);
	bool some = false, fits = false;
	struct obj_slice s;

	snprintf(j->filed.dif.kind, sizeof(j->filed.dif.kind), "other");
	for (unsigned i = 0; i < SLICES_MOST && obj_identify(&v, i, &s, NULL) == 0; i++) {
		obj_complete(&s, j->file.name);
		if (i == 0)
			describe(&j->filed.dif, &s);
		some |= s.module.debug_id.set;
		fits |= s.module.debug_id.set && is_same_guid(&s.module.debug_id, want);
	}
	if (!want->set || !some || fits)
		return 0;
	debug_id_text(want, says);
	snprintf(is, sizeof(is), "%s", j->filed.dif.debug_id);
	return err_set(e, -EBADMSG, "has the debug id %s, but the request says %s", is, says);
}

/* ---- the store ----------------------------------------------------------------------------- */

static void note(void *ctx, const struct intake_report *r)
{
	static const char *const words[] = {
		[INTAKE_ADDED] = "added", [INTAKE_IMPROVED] = "improved", [INTAKE_PRESENT] = "present"};
	struct job *j = ctx;
	struct filed *f = &j->filed;

	if (r->what == INTAKE_REFUSED) {
		if (j->refused++ == 0)
			snprintf(j->why, sizeof(j->why), "%.120s%s%.260s", r->member ? r->shown : "",
				r->member ? ": " : "", r->why);
		return;
	}
	if (r->differs)
		snprintf(f->detail, sizeof(f->detail), "another file is stored under its id, and this file is not "
			"better");
	if (j->a->opts.bucket)
		wait_list_add_all(&j->stored, j->a->opts.store, r);
	if (f->n < FILED_KEYS_MOST)
		f->keys[f->n++] = r->key;
	/* Of several parts, the first one that was not present counts. */
	if (!f->dif.what[0] || strcmp(f->dif.what, "present") == 0)
		snprintf(f->dif.what, sizeof(f->dif.what), "%s", words[r->what]);
}

/* 0: at least a part of the file is stored; -EBADMSG: all of it was refused, and j->why says why; other -errno:
 * trouble of this machine. */
static int take_in(struct job *j, struct draft **d)
{
	_cleanup_close_ int fd = fcntl(draft_fd(*d), F_DUPFD_CLOEXEC, 0);
	char from[sizeof(j->project) + SENTRY_NAME_MAX + 16];
	struct intake_item it = {.fd = fd,
		.size = draft_size(*d),
		.draft = d,
		.shown = j->file.name[0] ? j->file.name : "file",
		.name = j->file.name,
		.from = from,
		.hold = j->hold,
		.named = true,
		.strict = true,
		.compare = true};
	struct err e = {0};
	int r;

	if (fd < 0)
		return -errno;
	snprintf(from, sizeof(from), "upload:%s/%s", j->project, j->file.name);
	r = identify(j, fd, it.size, &e);
	if (r < 0) {
		snprintf(j->why, sizeof(j->why), "%.200s", e.text);
		return r;
	}
	r = intake_take(&j->a->taking, &it, note, j);
	if (r == 0 && j->a->opts.bucket)
		r = wait_list_run(&j->stored, j->a->opts.bucket, BUCKET_WAIT_MS, &j->a->stopping);
	wait_list_release(&j->stored);
	return r < 0 ? r : j->filed.n ? 0 : -EBADMSG;
}

/* Finds the digest of the file that has the key. False: no file has it. */
static bool find_sha256(struct assembly *a, const struct key *k, char out[static SHA256_TEXT])
{
	struct blob *b = NULL;
	bool found = store_find(a->opts.store, k, &b) == 0;

	if (found)
		memcpy(out, blob_sha256(b), SHA256_TEXT);
	blob_unref(b);
	return found;
}

/* Keeps the keys that find a file: by them and its digests a later request sees whether it is still stored. The file
 * may have been removed meanwhile. */
int assembly_record(struct assembly *a, const struct sha1 *name, struct filed *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (find_sha256(a, &f->keys[i], f->sha256[n]))
			f->keys[n++] = f->keys[i];
	f->n = n;
	f->dif.stored = clock_wall();
	return n ? filed_write(chunks_dir(a->chunks), name, f) : 0;
}

/* False: the record cannot be written. */
static bool record(struct job *j)
{
	struct filed *f = &j->filed;
	int r;

	snprintf(f->dif.name, sizeof(f->dif.name), "%s", j->file.name);
	if (j->refused)
		snprintf(f->detail, sizeof(f->detail), "%u parts were refused; %.340s", j->refused, j->why);
	chunks_used(j->a->chunks, j->chunks, j->file.n);
	r = assembly_record(j->a, &j->file.sha1, f);
	if (r < 0) /* the file is stored all the same; its client sends it again another time */
		log_warn("%s/files: cannot be written: %s", chunks_dir(j->a->chunks), err_text(r));
	return r == 0;
}

/* ---- a worker -------------------------------------------------------------------------------- */

static void report(const struct job *j, bool stored)
{
	const struct assembly_opts *o = &j->a->opts;
	const struct assembly_event ev = {
		.user = j->user,
		.peer = j->peer,
		.project = j->project,
		.name = j->file.name,
		.sha1 = &j->file.sha1,
		.size = j->filed.dif.size,
		.what = stored ? j->filed.dif.what : "refused",
		.detail = stored ? "" : j->why,
		.key = stored ? &j->filed.keys[0] : NULL,
	};

	if (o->done)
		o->done(o->ctx, &ev);
}

/* The text for an error that is not of the intake. */
static void explain(struct job *j, int r)
{
	if (j->why[0])
		return;
	if (r == -EFBIG)
		snprintf(j->why, sizeof(j->why), "is larger than %llu bytes, the limit of this server",
			(unsigned long long)j->a->opts.file_most);
	else if (r == -EBADMSG)
		snprintf(j->why, sizeof(j->why), "has another SHA-1 than the request says");
	else
		snprintf(j->why, sizeof(j->why), "the server cannot store the file: %s; try again later",
			err_text(r));
}

/* Makes a draft of the file. A request can name one small chunk many times, and so a file of any size, without having
 * sent as many bytes. Such a file is first only read. */
static int make_draft(struct job *j, struct draft **out)
{
	struct store *s = j->a->opts.store;
	struct err e = {0};
	uint64_t sum, distinct = 0;
	int r = judge_sizes(j, &sum);

	j->filed.dif.size = sum;
	if (r == 0)
		r = distinct_sizes(j, &distinct);
	if (r == 0 && sum > REPEATS_FREE && sum / REPEATS_MOST > distinct) {
		snprintf(j->why, sizeof(j->why), "is more than %u times larger than its distinct chunks",
			REPEATS_MOST);
		return -EFBIG;
	}
	if (r == 0 && distinct < sum)
		r = fill_draft(j, NULL, sum);
	if (r == 0 && sum >= ROOM_LEAST)
		r = store_make_room(s, sum, &e);
	if (r == 0)
		r = draft_new(out, s, &e);
	return r == 0 ? fill_draft(j, *out, sum) : r;
}

static int assemble(struct job *j)
{
	struct draft *d = NULL;
	int r = make_draft(j, &d);

	if (r == -EBADMSG)
		r = blame_chunks(j);
	else if (r == 0)
		r = take_in(j, &d);
	draft_discard(d);
	return r;
}

/* Whether the client of a job has its share of the workers. Under lock. */
static bool has_share(struct assembly *a, const struct job *of)
{
	unsigned own = 0;

	for (unsigned i = 0; i < ASSEMBLERS; i++)
		own += a->running[i] && strcmp(a->running[i]->user, of->user) == 0;
	return own >= ASSEMBLERS_OF_ONE;
}

/* Whether the job comes first. Under lock. */
static bool is_before(const struct job *j, const struct job *other)
{
	return j->turn != other->turn ? j->turn < other->turn : j->number < other->number;
}

/* Takes the first job that waits, of a client that has not its share of the workers. NULL: none. */
static struct job *next_job(struct assembly *a)
{
	LOCK_SCOPE(&a->lock);
	struct job *next = NULL;
	unsigned slot = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(a->jobs); i++)
		for (struct job *j = a->jobs[i]; j; j = j->next)
			if (j->state == SENTRY_CREATED && (!next || is_before(j, next)) && !has_share(a, j))
				next = j;
	if (!next)
		return NULL;
	next->state = SENTRY_ASSEMBLING;
	while (a->running[slot]) /* a worker runs one job */
		slot++;
	a->running[slot] = next;
	return next;
}

static void job_run(struct job *j)
{
	struct assembly *a = j->a;
	int r = atomic_load(&a->stopping) ? -EINTR : assemble(j);

	if (r == -ENOENT || r == -EINTR) { /* the next request says which chunks are missing */
		job_end(j, SENTRY_NOT_FOUND, 0, 0);
		return;
	}
	if (r == 0) {
		report(j, true);
		/* Later requests are answered by the record, or by the job if the record was not written. */
		job_end(j, SENTRY_OK, 0, record(j) ? 0 : STORED_MS);
		return;
	}
	explain(j, r);
	report(j, false);
	if (r == -EBADMSG || r == -EFBIG)
		job_end(j, SENTRY_ERROR, 0, REFUSED_MS);
	else
		job_end(j, SENTRY_ERROR, r, TROUBLE_MS);
}

/* A client's job that had to wait for its share starts when one of its jobs ends. */
static void assembly_work(void *ctx)
{
	struct assembly *a = ctx;
	struct job *j;

	while ((j = next_job(a)))
		job_run(j);
}

/* ---- requests --------------------------------------------------------------------------------- */

static bool is_queued(struct assembly *a, const struct filed *f)
{
	bool queued = false;

	for (unsigned i = 0; a->opts.bucket && !queued && i < f->n; i++)
		queued = store_outbox_has(a->opts.store, &f->keys[i]);
	return queued;
}

/* Another server may have purged the file from the bucket, so it is queued once more. A client that asks until the
 * bucket has it does not queue it again. */
static void queue_again(struct assembly *a, const struct sha1 *name, struct filed *was)
{
	int64_t now = clock_wall(), age = now - was->dif.stored;

	if (!a->opts.bucket || (age >= 0 && age < AGAIN_SECONDS) || is_queued(a, was))
		return;
	was->dif.stored = now;
	if (filed_write(chunks_dir(a->chunks), name, was) < 0)
		return; /* without the new time, each request would queue it */
	for (unsigned i = 0; i < was->n; i++)
		store_outbox_add(a->opts.store, &was->keys[i]);
}

/* Whether the file is stored, by its record. */
static bool is_filed(struct assembly *a, const struct sha1 *name, const struct store_hold *hold,
	struct sentry_answer *out)
{
	_cleanup_free_ struct filed *was = malloc(sizeof(*was));
	char sha256[SHA256_TEXT];

	if (!was || filed_read(chunks_dir(a->chunks), name, was) < 0)
		return false;
	for (unsigned i = 0; i < was->n; i++)
		if (!find_sha256(a, &was->keys[i], sha256) || strcmp(sha256, was->sha256[i]) != 0) {
			filed_remove(chunks_dir(a->chunks), name); /* evicted, removed or replaced since */
			return false;
		}
	for (unsigned i = 0; hold->class[0] && i < was->n; i++)
		store_hold(a->opts.store, &was->keys[i], hold);
	queue_again(a, name, was);
	/* The hold may be longer now: the client gets OK only after the bucket has the new hold. */
	out->state = is_queued(a, was) ? SENTRY_ASSEMBLING : SENTRY_OK;
	out->dif = was->dif;
	snprintf(out->detail, sizeof(out->detail), "%s", was->detail);
	return true;
}

bool assembly_has(struct assembly *a, const struct sha1 *name, const struct store_hold *hold)
{
	struct sentry_answer out = {.state = SENTRY_ERROR};

	return is_filed(a, name, hold, &out) && out.state == SENTRY_OK;
}

static struct job *job_new(struct assembly *a, const struct sentry_file *f, const struct sha1 *chunks,
	const struct assembly_for *by)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->a = a;
	j->file = *f;
	j->chunks = malloc(f->n * sizeof(*chunks));
	if (!j->chunks) {
		job_free(j);
		return NULL;
	}
	memcpy(j->chunks, chunks + f->first, f->n * sizeof(*chunks));
	j->hold = by->hold;
	snprintf(j->user, sizeof(j->user), "%s", by->user);
	snprintf(j->peer, sizeof(j->peer), "%s", by->peer ? by->peer : "");
	snprintf(j->project, sizeof(j->project), "%s", by->project);
	j->state = SENTRY_CREATED;
	return j;
}

static bool is_same_request(const struct job *j, const struct sentry_file *f, const struct sha1 *chunks)
{
	return j->file.n == f->n && strcmp(j->file.name, f->name) == 0 &&
	       debug_id_equal(&j->file.debug_id, &f->debug_id) &&
	       (!f->n || memcmp(j->chunks, chunks + f->first, f->n * sizeof(*chunks)) == 0);
}

/* What is known about the file in memory. False: nothing. A client can state the SHA-1 of another client's file with
 * chunks or an id that do not fit. The refusal of that request must not refuse the file itself. */
static bool is_known(struct assembly *a, const struct sentry_file *f, const struct sha1 *chunks,
	struct sentry_answer *out)
{
	LOCK_SCOPE(&a->lock);
	struct job *j;

	forget_old(a, list_of(a, &f->sha1), clock_ms());
	j = job_find(a, &f->sha1);
	if (j && j->state == SENTRY_ERROR && !is_same_request(j, f, chunks)) {
		j->until = 1; /* it has ended, so no worker uses it */
		forget_old(a, list_of(a, &f->sha1), clock_ms());
		j = NULL;
	}
	if (!j)
		return false;
	out->state = j->state;
	if (j->state == SENTRY_OK)
		out->dif = j->filed.dif;
	if (j->state == SENTRY_ERROR)
		snprintf(out->detail, sizeof(out->detail), "%s", j->why);
	out->trouble = j->state == SENTRY_ERROR ? j->trouble : 0;
	return true;
}

/* Whether one more job fits. The results of other files are forgotten if there is no room, and one client does not
 * take all of it. Under lock. */
static bool has_room(struct assembly *a, const char *user)
{
	unsigned own = 0;

	if (a->n_jobs < JOBS_OF_ONE)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(a->jobs); i++) {
		forget_old(a, &a->jobs[i], a->n_jobs < JOBS_MOST ? clock_ms() : UINT64_MAX);
		for (struct job *j = a->jobs[i]; j; j = j->next)
			own += !j->until && strcmp(j->user, user) == 0;
	}
	return a->n_jobs < JOBS_MOST && own < JOBS_OF_ONE;
}

/* The turn of a client's new job: the first one in which a job waits, or the one after the client's last job that
 * waits. So a client waits for one job of each other client at most, however many files these have named. Under
 * lock. */
static uint64_t turn_of(const struct assembly *a, const char *user)
{
	uint64_t first = UINT64_MAX, own = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(a->jobs); i++)
		for (const struct job *j = a->jobs[i]; j; j = j->next) {
			if (j->state != SENTRY_CREATED)
				continue;
			first = MIN(first, j->turn);
			if (strcmp(j->user, user) == 0)
				own = MAX(own, j->turn + 1);
		}
	return first == UINT64_MAX ? 0 : MAX(first, own);
}

/* Starts a job for a file whose chunks are all there. If too many files wait, one of the client's next requests
 * starts the job. */
static void begin(struct assembly *a, const struct sentry_file *f, const struct sha1 *chunks,
	const struct assembly_for *by)
{
	struct job *j = job_new(a, f, chunks, by), **list = list_of(a, &f->sha1);
	LOCK_SCOPE(&a->lock);

	if (!j || !has_room(a, j->user) || job_find(a, &f->sha1) ||
		workers_post(a->workers, assembly_work, a) < 0) {
		if (j)
			job_free(j);
		return;
	}
	j->turn = turn_of(a, j->user);
	j->number = ++a->number;
	j->next = *list;
	*list = j;
	a->n_jobs++;
}

void assembly_ask(struct assembly *a, const struct sentry_file *f, const struct sha1 *chunks,
	const struct assembly_for *by, struct sha1 *missing, struct sentry_answer *out)
{
	*out = (struct sentry_answer){.sha1 = f->sha1, .state = SENTRY_CREATED, .missing = missing};
	if (is_known(a, f, chunks, out) || is_filed(a, &f->sha1, &by->hold, out))
		return;
	if (!f->n) {
		out->state = SENTRY_ERROR;
		snprintf(out->detail, sizeof(out->detail), "is empty");
		return;
	}
	for (uint32_t i = 0; i < f->n; i++)
		if (!chunks_have(a->chunks, &chunks[f->first + i]))
			missing[out->n_missing++] = chunks[f->first + i];
	if (out->n_missing)
		out->state = SENTRY_NOT_FOUND;
	else
		begin(a, f, chunks, by);
}

/* ---- its life ----------------------------------------------------------------------------------- */

int assembly_new(struct assembly **out, const struct assembly_opts *o, struct err *e)
{
	struct assembly *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	a->opts = *o;
	a->taking = (struct intake_opts){.store = o->store, .source = "upload", .max_file_size = o->file_most,
		.allow_unsandboxed = o->allow_unsandboxed, .stop = &a->stopping};
	pthread_mutex_init(&a->lock, NULL);
	r = chunks_open(&a->chunks, store_dir(o->store), 0, e);
	if (r == 0 && (r = workers_new(&a->workers, ASSEMBLERS)) < 0)
		err_set(e, r, "%s", err_text(r));
	if (r < 0) {
		assembly_free(a);
		return r;
	}
	*out = a;
	return 0;
}

void assembly_free(struct assembly *a)
{
	if (!a)
		return;
	atomic_store(&a->stopping, true);
	workers_free(a->workers);
	for (unsigned i = 0; i < ARRAY_SIZE(a->jobs); i++)
		while (a->jobs[i]) {
			struct job *j = a->jobs[i];

			a->jobs[i] = j->next;
			job_free(j);
		}
	chunks_close(a->chunks);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void assembly_count(struct assembly *a, unsigned *waiting)
{
	LOCK_SCOPE(&a->lock);

	*waiting = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(a->jobs); i++)
		for (const struct job *j = a->jobs[i]; j; j = j->next)
			*waiting += !j->until;
}

struct chunks *assembly_chunks(struct assembly *a)
{
	return a->chunks;
}
