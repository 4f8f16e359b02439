/* Synthetic keys for benchmarks: fills a store with them, and times stat(2) of a stored one.
 *
 *	keys fill STORE names|ids COUNT
 *	keys stat MOUNT names|ids COUNT TIMES
 *
 * `names`: COUNT PDBs, each with its own name. `ids`: COUNT / 1000 names (at least one), each with
 * many builds. The store is valid: each key is in the label of its blob. `stat` looks at random
 * keys. It looks up the directories before the clock starts; the file itself is new to the kernel.
 * It prints the median and the 99th percentile, in microseconds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "store/files/label.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PER_BLOB 5000u
#define PER_NAME 1000u

static const struct blob_facts facts = {.source = "bench", .verified = true, .fetched = 1};

/* Steele, Lea and Flood's SplitMix64: the same ids each time. */
static uint64_t mix(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

static bool many_ids(const char *shape)
{
	return strcmp(shape, "ids") == 0;
}

static struct key key_nth(uint64_t i, bool ids)
{
	struct key k = {.type = FILETYPE_PDB};

	snprintf(k.id, sizeof(k.id), "%016llX%016llX1", (unsigned long long)mix(2 * i),
		(unsigned long long)mix(2 * i + 1));
	snprintf(k.name, sizeof(k.name), "module-%06llu.pdb",
		(unsigned long long)(ids ? i / PER_NAME : i));
	return k;
}

/* ---- fill --------------------------------------------------------------------------- */

/* The keys [from, to) of the blob that the first of them was published with. */
static int put_keys(struct session *ses, uint64_t from, uint64_t to, bool ids, const char *sha256)
{
	_cleanup_buf_ struct buf label = BUF_UP_TO(LABEL_MOST);
	struct index_object o;
	int r = index_begin(ses->ix);

	if (r == 0)
		r = index_object_find(ses->ix, sha256, &o);
	for (uint64_t i = from; i < to && r == 0; i++) {
		struct key k = key_nth(i, ids);

		r = index_key_put(ses->ix, &k, o.id, &facts);
		if (r == 0)
			r = label_add(&label, &k, &facts, o.size);
	}
	if (r == 0)
		r = label_write(ses->s->dirfd, sha256, &label);
	return r == 0 ? index_commit(ses->ix) : r;
}

static int fill_blob(struct store *s, uint64_t from, uint64_t to, bool ids)
{
	_cleanup_blob_ struct blob *b = NULL;
	struct key k = key_nth(from, ids);
	struct draft *d = NULL;
	struct err e = {0};
	int r = draft_new(&d, s, &e);

	if (r == 0)
		r = draft_write(d, 0, &from, sizeof(from));
	if (r == 0)
		r = store_publish(s, d, &k, &facts, &b, &e);
	if (r == 0) {
		_cleanup_session_ struct session ses = {.s = s, .write = true};

		while (session_next(&ses))
			ses.r = put_keys(&ses, from, to, ids, blob_sha256(b));
		r = ses.r;
	}
	return r;
}

static int fill(const char *dir, bool ids, uint64_t count)
{
	struct store_opts o = {.dir = dir};
	struct store *s;
	struct err e = {0};
	int r = store_open(&s, &o, &e);

	if (r < 0) {
		fprintf(stderr, "%s\n", e.text);
		return r;
	}
	for (uint64_t i = 0; i < count && r == 0; i += PER_BLOB)
		r = fill_blob(s, i, MIN(i + PER_BLOB, count), ids);
	store_close(s);
	return r;
}

/* ---- stat --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 0: it is not there, or not right. */
static uint64_t time_one(const char *mount, uint64_t i, bool ids)
{
	struct key k = key_nth(i, ids);
	char dir[2048], path[4096];
	uint64_t began, took;
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/symstore/%s/%s", mount, k.name, k.id);
	snprintf(path, sizeof(path), "%s/%s", dir, k.name);
	if (stat(dir, &st) < 0)
		return 0;
	began = now_ns();
	if (stat(path, &st) < 0)
		return 0;
	took = now_ns() - began;
	return st.st_size == sizeof(uint64_t) ? MAX(took, (uint64_t)1) : 0;
}

static int stat_some(const char *mount, bool ids, uint64_t count, unsigned times)
{
	uint64_t *took = calloc(times, sizeof(*took));

	for (unsigned i = 0; took && i < times; i++) {
		uint64_t nth = mix(i + 12345) % count;

		took[i] = time_one(mount, nth, ids);
		if (!took[i]) {
			fprintf(stderr, "key %llu is not there\n", (unsigned long long)nth);
			return -ENOENT;
		}
	}
	if (!took)
		return -ENOMEM;
	qsort(took, times, sizeof(*took), by_number);
	printf("%.1f %.1f\n", (double)took[times / 2] / 1e3,
		(double)took[(uint64_t)times * 99 / 100] / 1e3);
	free(took);
	return 0;
}

int main(int argc, char **argv)
{
	int r = -EINVAL;

	if (argc == 5 && strcmp(argv[1], "fill") == 0)
		r = fill(argv[2], many_ids(argv[3]), strtoull(argv[4], NULL, 10));
	else if (argc == 6 && strcmp(argv[1], "stat") == 0)
		r = stat_some(argv[2], many_ids(argv[3]), strtoull(argv[4], NULL, 10),
			(unsigned)strtoul(argv[5], NULL, 10));
	if (r < 0)
		fprintf(stderr, "keys: %s\n", err_text(r));
	return r < 0;
}
