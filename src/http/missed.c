/* Counts the requests for files that no source has, by day and file, for the page. In memory, and in a side file of
 * the store, so that a restart keeps all but the last minute. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY 86400
#define SLOTS (2 * MISSED_KEYS) /* of the hash table of a day */
#define SIDE_FILE "missed-days"
#define SIDE_FILE_MOST (16 << 20)
#define SAVE_MS 60000

struct slot {
	uint64_t asked; /* 0: free */
	char *key;	/* its text */
};

struct day {
	int64_t number; /* days since 1970; 0: no day */
	unsigned n;
	uint64_t others; /* requests for files that found no room */
	struct slot slots[SLOTS];
};

struct missed {
	struct store *store;
	pthread_mutex_t lock;
	/* under lock */
	struct day days[MISSED_DAYS]; /* day N is at N % MISSED_DAYS */
	uint64_t saved; /* clock_ms() */
	bool changed;
};

static void clear(struct day *d)
{
	for (unsigned i = 0; i < SLOTS; i++)
		free(d->slots[i].key);
	memset(d, 0, sizeof(*d));
}

/* Under the lock. NULL: the day is too long ago. */
static struct day *day_at(struct missed *m, int64_t number)
{
	struct day *d = &m->days[number % MISSED_DAYS];

	if (d->number > number)
		return NULL;
	if (d->number != number)
		clear(d);
	d->number = number;
	return d;
}

/* Under the lock. */
static void count(struct day *d, const char *key, uint64_t asked)
{
	unsigned at = (unsigned)(hash_mix(key, strlen(key)) % SLOTS);

	while (d->slots[at].asked && strcmp(d->slots[at].key, key) != 0)
		at = (at + 1) % SLOTS;
	if (!d->slots[at].asked) {
		if (d->n == MISSED_KEYS || !(d->slots[at].key = strdup(key))) {
			d->others += asked;
			return;
		}
		d->n++;
	}
	d->slots[at].asked += asked;
}

/* ---- the side file: "DAY COUNT KEY", with a count of other files without a key ---------------- */

static void add_day(const struct day *d, struct buf *out)
{
	if (d->others)
		buf_addf(out, "%" PRId64 " %" PRIu64 "\n", d->number, d->others);
	for (unsigned i = 0; i < SLOTS; i++)
		if (d->slots[i].asked)
			buf_addf(out, "%" PRId64 " %" PRIu64 " %s\n", d->number, d->slots[i].asked, d->slots[i].key);
}

void missed_save(struct missed *m)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SIDE_FILE_MOST);
	int r;

	pthread_mutex_lock(&m->lock);
	if (!m->changed) {
		pthread_mutex_unlock(&m->lock);
		return;
	}
	m->changed = false;
	for (unsigned i = 0; i < MISSED_DAYS; i++)
		add_day(&m->days[i], &text);
	pthread_mutex_unlock(&m->lock);
	r = text.r < 0 ? text.r : store_side_file_write(m->store, SIDE_FILE, buf_text(&text), text.n);
	if (r < 0)
		log_debug(LOG_HTTP, "the list of missing files is not saved: %s", err_text(r));
}

static void load_line(struct missed *m, char *line, int64_t today)
{
	char *end = line;
	int64_t number = strtoll(line, &end, 10);
	uint64_t asked = *end == ' ' ? strtoull(end, &end, 10) : 0;
	struct key k;
	struct day *d;

	if (asked == 0 || number > today || number <= today - MISSED_DAYS || !(d = day_at(m, number)))
		return;
	if (*end == '\0')
		d->others += asked;
	else if (*end == ' ' && key_parse(&k, end + 1) == 0)
		count(d, end + 1, asked);
}

static void load(struct missed *m)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;

	if (store_side_file_read(m->store, SIDE_FILE, SIDE_FILE_MOST, &text, NULL) < 0)
		return;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		load_line(m, line, clock_wall() / DAY);
}

int missed_new(struct missed **out, struct store *st)
{
	struct missed *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->store = st;
	m->saved = clock_ms();
	load(m);
	*out = m;
	return 0;
}

void missed_free(struct missed *m)
{
	if (!m)
		return;
	missed_save(m);
	for (unsigned i = 0; i < MISSED_DAYS; i++)
		clear(&m->days[i]);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

bool missed_note(struct missed *m, const struct key *k)
{
	LOCK_SCOPE(&m->lock);
	struct day *d = day_at(m, clock_wall() / DAY);
	uint64_t now = clock_ms();
	char room[KEY_TEXT];
	bool due = now - m->saved >= SAVE_MS;

	if (d && !key_is_probe(k) && !strpbrk(k->name, "\r\n"))
		count(d, key_text(k, room), 1);
	m->changed = true;
	if (due)
		m->saved = now;
	return due;
}

/* ---- for the page ------------------------------------------------------------------------------ */

static int by_asked(const void *a, const void *b)
{
	const struct missed_row *x = a, *y = b;

	return x->asked != y->asked ? (x->asked < y->asked ? 1 : -1) : strcmp(x->key, y->key);
}

unsigned missed_read(struct missed *m, unsigned ago, struct missed_day *out)
{
	LOCK_SCOPE(&m->lock);
	int64_t number = clock_wall() / DAY - ago;
	const struct day *d = number > 0 ? &m->days[number % MISSED_DAYS] : NULL;

	memset(out, 0, sizeof(*out));
	out->when = number * DAY;
	if (!d || d->number != number || !(out->rows = calloc(MISSED_KEYS, sizeof(*out->rows))))
		return 0;
	out->others = d->others;
	for (unsigned i = 0; i < SLOTS; i++) {
		if (!d->slots[i].asked || !(out->rows[out->n].key = strdup(d->slots[i].key)))
			continue;
		out->rows[out->n++].asked = d->slots[i].asked;
	}
	qsort(out->rows, out->n, sizeof(*out->rows), by_asked);
	return out->n;
}

void missed_day_release(struct missed_day *d)
{
	for (unsigned i = 0; i < d->n; i++)
		free(d->rows[i].key);
	free(take(d->rows));
	d->n = 0;
}
