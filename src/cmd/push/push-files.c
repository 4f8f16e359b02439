/* Finds the files to push: walks directories, takes debug files and programs, and computes their digests. Prints what
 * becomes of them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/workers.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/push/push.h"
#include "formats/obj/obj.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SLICES_MOST 64
#define HASHERS 4u
#define READ_ROOM (256u << 10)

/* ---- messages -------------------------------------------------------------------------- */

/* A line of fetch_downloads() for each file of which some chunks are sent. */
static void list_sendings(const struct push *p, uint64_t now, struct buf *out)
{
	for (size_t i = 0; i < p->n_files; i++) {
		const struct push_file *f = &p->files[i];
		uint64_t sent = atomic_load(&f->sent), began = atomic_load(&f->began), ms = began ? now - began : 0;
		_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);

		if (ms && sent < f->to_send)
			buf_addf(out, "%s\tsending\t\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t\n",
				text_shown(f->path, true, &room), sent, f->to_send, sent * 1000 / ms, ms);
	}
}

void push_show(struct push *p, const char *what)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), lines = BUF_UP_TO(PROGRESS_MOST);
	uint64_t now = clock_ms(), done = p->added + p->present + p->refused;
	char total[160];

	if (now - p->shown < 200)
		return;
	p->shown = now;
	list_sendings(p, now, &lines);
	snprintf(total, sizeof(total), "%" PRIu64 " of %zu files, %.1f of %.1f MB sent: %.60s", done, p->n_files,
		(double)atomic_load(&p->sent) / 1e6, (double)p->to_send / 1e6, text_shown(what, true, &room));
	progress_draw(&p->progress, buf_text(&lines), total);
}

void push_refuse(struct push *p, const struct push_file *f, const char *why)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), text = BUF_UP_TO(4 << 10);

	progress_erase(&p->progress);
	printf("%s: refused: %s\n", text_shown(f->path, true, &room), text_shown(why, true, &text));
	p->refused++;
	if (p->status == EXIT_DONE)
		p->status = EXIT_NO;
}

int push_fail(struct push *p, int status, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	progress_erase(&p->progress);
	va_start(args, fmt);
	if (p->status < EXIT_USAGE && vasprintf(&text, fmt, args) >= 0)
		cmd_say(0, "%s", text);
	va_end(args);
	p->status = MAX(p->status, status);
	return -1;
}

/* ---- finding ------------------------------------------------------------------------- */

static int no_memory(struct push *p)
{
	return push_fail(p, EXIT_LOCAL, "out of memory");
}

static int file_add(struct push *p, const char *path, uint64_t size, bool named)
{
	struct push_file f = {.path = strdup(path), .size = size, .named = named};

	if (!f.path || grow(&p->files, &p->room, p->n_files, sizeof(*p->files)) < 0) {
		free(f.path);
		return no_memory(p);
	}
	p->files[p->n_files++] = f;
	return 0;
}

static int file_refuse(struct push *p, const char *path, bool named, const char *why)
{
	const struct push_file f = {.path = (char *)path, .named = named};

	push_refuse(p, &f, why);
	return 0;
}

/* Whether symfs finds the file by an identifier in it. -EBADMSG: a debug file that is broken; `e` says how. */
static int is_debug_file(int fd, uint64_t size, const char *path, struct err *e)
{
	struct view v = view_of_fd(fd, size);
	struct key keys[OBJ_KEYS_MOST];
	const char *slash = strrchr(path, '/');
	struct obj_slice s;
	int r = 0;

	for (unsigned i = 0; i < SLICES_MOST && (r = obj_identify(&v, i, &s, e)) == 0; i++) {
		obj_take_name(&s, slash ? slash + 1 : path);
		if (obj_keys(&s, keys))
			return 1;
	}
	return r == -EBADMSG ? r : 0;
}

/* The server judges a file that the command line names. In a directory only debug files count. */
static int take_file(void *ctx, const struct walk_file *f)
{
	struct err e = {0};
	struct push *p = ctx;
	int r = f->named || f->fd < 0 ? 1 : is_debug_file(f->fd, f->size, f->path, &e);

	push_show(p, f->path);
	if (atomic_load(&p->stop))
		return 1;
	if (f->fd < 0)
		return file_refuse(p, f->path, f->named, f->why);
	if (r == 0 && ++p->skipped && p->verbose) {
		_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);

		progress_erase(&p->progress);
		printf("%s: skipped: it has no debug information or symbols\n", text_shown(f->path, true, &room));
	}
	if (r < 0)
		return file_refuse(p, f->path, false, e.text);
	return r == 0 ? 0 : file_add(p, f->path, f->size, f->named);
}

int push_find(struct push *p, const char *word)
{
	size_t had = p->n_files + p->refused;
	int r = walk_files(word, take_file, p);

	if (r == 0 && p->n_files + p->refused == had)
		push_fail(p, EXIT_NO, "%.300s: no file in it has debug information or symbols", word);
	return r == -ENOMEM ? no_memory(p) : MIN(r, 0);
}

/* ---- digests --------------------------------------------------------------------------- */

struct hashing {
	const struct push *p;
	struct push_file *f;
	int r; /* 0, -errno */
};

/* Ends the digest of a chunk or of a file. */
static struct sha1 finish(struct digest *d)
{
	uint8_t made[DIGEST_BYTES];
	struct sha1 s;

	digest_finish(d, made);
	memcpy(s.bytes, made, sizeof(s.bytes));
	return s;
}

static int hash_chunk(int fd, uint64_t off, uint64_t n, uint8_t *room, struct digest *whole, struct sha1 *out)
{
	struct digest *d = digest_new("SHA1");
	int r = d ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < n; at += READ_ROOM) {
		size_t some = (size_t)MIN(n - at, (uint64_t)READ_ROOM);

		r = pread_all(fd, off + at, room, some);
		if (r == 0) {
			digest_add(d, room, some);
			digest_add(whole, room, some);
		}
	}
	if (d)
		*out = finish(d);
	return r;
}

static int hash_file(struct push_file *f, uint64_t chunk, const atomic_bool *stop)
{
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ uint8_t *room = malloc(READ_ROOM);
	struct digest *whole = digest_new("SHA1");
	int r = fd < 0 ? -errno : 0;

	f->n_chunks = (uint32_t)((f->size + chunk - 1) / chunk);
	f->chunks = calloc(MAX(f->n_chunks, 1u), sizeof(*f->chunks));
	if (!room || !whole || !f->chunks) {
		digest_free(whole);
		return -ENOMEM;
	}
	for (uint32_t i = 0; r == 0 && i < f->n_chunks; i++) {
		uint64_t off = i * chunk;

		r = atomic_load(stop) ? -EINTR
				      : hash_chunk(fd, off, MIN(chunk, f->size - off), room, whole, &f->chunks[i]);
	}
	f->sha1 = finish(whole);
	return r;
}

static void hash_work(void *ctx)
{
	struct hashing *h = ctx;

	h->r = hash_file(h->f, h->p->server.chunk, &h->p->stop);
}

/* A file that the server would refuse is not read. */
static bool is_sendable(struct push *p, struct push_file *f)
{
	char text[128];

	if (!f->size) {
		push_refuse(p, f, "is empty");
	} else if (p->server.file && f->size > p->server.file) {
		snprintf(text, sizeof(text), "is larger than %llu bytes, the limit of the server",
			(unsigned long long)p->server.file);
		push_refuse(p, f, text);
	} else {
		return true;
	}
	f->result = PUSH_REFUSED;
	return false;
}

int push_hash(struct push *p, size_t from, size_t to)
{
	_cleanup_free_ struct hashing *all = calloc(to - from, sizeof(*all));
	struct workers *w = NULL;

	if (!all || workers_new(&w, HASHERS) < 0)
		return no_memory(p);
	for (size_t i = from; i < to; i++) {
		struct hashing *h = &all[i - from];

		*h = (struct hashing){.p = p, .f = &p->files[i]};
		if (is_sendable(p, h->f) && workers_post(w, hash_work, h) < 0)
			h->r = -ENOMEM;
	}
	workers_free(w);
	for (size_t i = from; i < to; i++) {
		struct hashing *h = &all[i - from];

		if (h->r == -EINTR || h->r == 0)
			continue;
		push_refuse(p, h->f, h->r == -ENODATA ? "became shorter while it was read" : err_text(h->r));
		h->f->result = PUSH_REFUSED;
	}
	return 0;
}
