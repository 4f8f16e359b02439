/* Reads zip archives: the directory, also with 64-bit sizes, and members that are stored or deflated. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/zip.h"
#include "base/inflate.h"
#include "base/little.h"
#include "base/util.h"

#include <string.h>

#define END_SIZE 22
#define END64_SIZE 56
#define LOCATOR_SIZE 20
#define COMMENT_MOST 65535
#define ENTRY_SIZE 46
#define LOCAL_SIZE 30
#define RATIO_MOST 1032 /* the largest ratio of unpacked to packed bytes in deflate */
#define EXTRA64 1 /* the extra field for numbers that do not fit in 32 bits */
#define EXTRA_TIME 0x5455 /* the extra field for times of Unix: which of them it has, and the times */

static int zip_read(struct zip *z, const char *what, uint64_t off, void *p, size_t n, struct err *e)
{
	int r = view_read(z->v, off, p, n);

	if (r == -ENODATA)
		return err_set(e, -EBADMSG, "is broken: %s lies outside of the archive", what);
	if (r < 0 && r != -EAGAIN)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	return r;
}

/* ---- the directory ------------------------------------------------------------------ */

/* Finds the end record. Only a comment may follow it, and the record has the length of that comment. */
static int find_end(struct zip *z, uint64_t *at, uint8_t end[static END_SIZE], struct err *e)
{
	size_t n = (size_t)MIN(z->v->size, END_SIZE + COMMENT_MOST);
	_cleanup_free_ uint8_t *tail = malloc(n ? n : 1);
	int r;

	if (!tail)
		return err_set(e, -ENOMEM, "cannot be read: %s", err_text(ENOMEM));
	r = zip_read(z, "its end", z->v->size - n, tail, n, e);
	if (r < 0)
		return r;
	for (size_t i = n; i >= END_SIZE; i--) {
		const uint8_t *p = tail + i - END_SIZE;

		if (memcmp(p, "PK\5\6", 4) != 0 || le16(p + 20) > n - i)
			continue;
		memcpy(end, p, END_SIZE);
		*at = z->v->size - n + (i - END_SIZE);
		return 0;
	}
	return -ENOMSG;
}

/* Reads the 64-bit end record, if there is one. This record lies before the end record, and has the numbers
 * that do not fit in the end record. */
static int read_end64(struct zip *z, uint64_t end_at, uint64_t *dir, uint64_t *size, uint64_t *end,
	struct err *e)
{
	uint8_t locator[LOCATOR_SIZE], p[END64_SIZE];
	int r;

	*end = end_at;
	if (end_at < LOCATOR_SIZE + END64_SIZE)
		return 0;
	r = zip_read(z, "its end", end_at - LOCATOR_SIZE, locator, sizeof(locator), e);
	if (r < 0 || memcmp(locator, "PK\6\7", 4) != 0)
		return r;
	/* The 64-bit record lies right before its locator, whatever the archive's offsets count from. */
	*end = end_at - LOCATOR_SIZE - END64_SIZE;
	r = zip_read(z, "its end", *end, p, sizeof(p), e);
	if (r < 0)
		return r;
	if (memcmp(p, "PK\6\6", 4) != 0)
		return err_set(e, -EBADMSG, "is broken: its 64-bit end record is missing");
	z->left = le64(p + 32);
	*size = le64(p + 40);
	*dir = le64(p + 48);
	return 0;
}

int zip_open(struct zip *z, struct view *v, struct err *e)
{
	uint64_t end_at = 0, dir, size, end;
	uint8_t p[END_SIZE] = {0};
	int r;

	*z = (struct zip){.v = v};
	r = view_whole(v); /* the directory is at the end */
	if (r == 0)
		r = find_end(z, &end_at, p, e);
	if (r < 0)
		return r;
	z->left = le16(p + 10);
	size = le32(p + 12);
	dir = le32(p + 16);
	r = read_end64(z, end_at, &dir, &size, &end, e);
	if (r < 0)
		return r;
	/* The directory ends where the end record begins. Offsets that place it elsewhere do not count the
	 * bytes in front of the archive. */
	if (size > end || dir > end - size)
		return err_set(e, -EBADMSG, "is broken: its directory lies outside of the archive");
	z->shift = end - size - dir;
	z->at = end - size;
	z->end = end;
	return 0;
}

/* The date and time of an entry, in steps of two seconds, as if its zone was UTC: the archive does not name the zone.
 * The year begins in March, so that the day of a leap year is its last. timegm() is not used, because it reads files,
 * which the filter of a worker forbids. */
static int64_t dos_time(uint32_t t)
{
	int64_t year = 1980 + (t >> 25), month = t >> 21 & 15, day = t >> 16 & 31;

	if (!month || !day)
		return 0;
	year -= month <= 2;
	day += 365 * year + year / 4 - year / 100 + year / 400 + (153 * ((month + 9) % 12) + 2) / 5 - 719469;
	return day * 86400 + (t >> 11 & 31) * 3600 + (t >> 5 & 63) * 60 + (t & 31) * 2;
}

/* Reads the time of Unix and 64-bit numbers from the extra fields. That for 64 bits has only the numbers that are
 * all ones in the entry, in the order of `fields`. */
static void take_extra(struct zip_entry *entry, const uint8_t *p, size_t n)
{
	uint64_t *const fields[] = {&entry->size, &entry->packed, &entry->at};
	size_t used;

	for (; n >= 4; p += used, n -= used) {
		const uint8_t *field = p + 4;
		size_t left = le16(p + 2);

		if (left > n - 4)
			return;
		used = 4 + left;
		if (le16(p) == EXTRA_TIME && left >= 5 && field[0] & 1)
			entry->time = (int32_t)le32(field + 1);
		if (le16(p) != EXTRA64)
			continue;
		for (unsigned i = 0; i < ARRAY_SIZE(fields) && left >= 8; i++) {
			if (*fields[i] != UINT32_MAX)
				continue;
			*fields[i] = le64(field);
			field += 8;
			left -= 8;
		}
	}
}

static int read_name(struct zip *z, struct zip_entry *out, size_t n, struct err *e)
{
	int r;

	out->name[0] = '\0';
	if (n >= sizeof(out->name))
		return 0;
	r = zip_read(z, "its directory", z->at + ENTRY_SIZE, out->name, n, e);
	out->name[r < 0 || memchr(out->name, '\0', n) ? 0 : n] = '\0';
	return r;
}

static int read_extra(struct zip *z, struct zip_entry *out, uint64_t at, size_t n, struct err *e)
{
	uint8_t extra[1024]; /* the first extra fields: the 64-bit field comes early, even if there are more */
	int r;

	n = MIN(n, sizeof(extra));
	r = zip_read(z, "its directory", at, extra, n, e);
	if (r == 0)
		take_extra(out, extra, n);
	return r;
}

/* Whether an entry is a symbolic link: Unix systems write the mode of the file into the entry. */
static bool is_link(const uint8_t p[static ENTRY_SIZE])
{
	bool unix_made = p[5] == 3 || p[5] == 19;

	return unix_made && (le16(p + 40) & 0170000) == 0120000;
}

int zip_next(struct zip *z, struct zip_entry *out, struct err *e)
{
	uint64_t name, extra, whole;
	uint8_t p[ENTRY_SIZE];
	int r;

	if (!z->left || z->at == z->end)
		return -ENOENT;
	if (z->end - z->at < ENTRY_SIZE)
		return err_set(e, -EBADMSG, "is broken: its directory ends within an entry");
	r = zip_read(z, "its directory", z->at, p, sizeof(p), e);
	if (r < 0)
		return r;
	name = le16(p + 28);
	extra = le16(p + 30);
	whole = ENTRY_SIZE + name + extra + le16(p + 32);
	if (memcmp(p, "PK\1\2", 4) != 0 || whole > z->end - z->at)
		return err_set(e, -EBADMSG, "is broken: its directory has an invalid entry");
	out->encrypted = p[8] & 1;
	out->link = is_link(p);
	out->method = le16(p + 10);
	out->time = dos_time(le32(p + 12));
	out->crc = le32(p + 16);
	out->packed = le32(p + 20);
	out->size = le32(p + 24);
	out->at = le32(p + 42);
	r = read_name(z, out, (size_t)name, e);
	if (r == 0)
		r = read_extra(z, out, z->at + ENTRY_SIZE + name, (size_t)extra, e);
	if (r < 0)
		return r;
	out->at = out->at > UINT64_MAX - z->shift ? UINT64_MAX : out->at + z->shift;
	z->at += whole;
	z->left--;
	return 0;
}

/* ---- a member ----------------------------------------------------------------------- */

/* The header of a member repeats the name and has another extra field; the bytes of the member follow the
 * header. */
int zip_member(struct zip *z, const struct zip_entry *entry, uint64_t *at, struct err *e)
{
	uint8_t p[LOCAL_SIZE];
	int r = zip_read(z, "a member", entry->at, p, sizeof(p), e);

	if (r < 0)
		return r;
	if (memcmp(p, "PK\3\4", 4) != 0)
		return err_set(e, -EBADMSG, "is broken: a member has no header");
	*at = entry->at + LOCAL_SIZE + le16(p + 26) + le16(p + 28);
	if (!view_holds(z->v, *at, entry->packed)) /* before memory is allocated for it */
		return err_set(e, -EBADMSG, "is broken: a member lies outside of the archive");
	return 0;
}

static int check_sizes(const struct zip_entry *entry, struct err *e)
{
	if (entry->method == 0 ? entry->size != entry->packed
			       : entry->size / RATIO_MOST > entry->packed)
		return err_set(
			e, -EBADMSG, "is broken: the sizes of %s contradict each other", entry->name);
	return 0;
}

/* Whether a member is empty: for such a member some archivers write no deflate stream. */
static bool is_nothing(const struct zip_entry *entry)
{
	return !entry->packed && !entry->size;
}

static int unpack(const struct zip_entry *entry, const char *packed, char *out, struct err *e)
{
	size_t made = 0;
	int r;

	if (entry->method == 0 || is_nothing(entry)) {
		memcpy(out, packed, (size_t)entry->size);
		return 0;
	}
	r = inflate_raw(packed, (size_t)entry->packed, out, (size_t)entry->size, &made);
	if (r == -ENOMEM)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	if (r < 0 || made != entry->size)
		return err_set(e, -EBADMSG, "is broken: %s cannot be unpacked", entry->name);
	return 0;
}

int zip_extract(struct zip *z, const struct zip_entry *entry, size_t most, char **out, size_t *n,
	struct err *e)
{
	_cleanup_free_ char *packed = NULL, *made = NULL;
	uint64_t at;
	int r;

	if (entry->encrypted || (entry->method != 0 && entry->method != 8))
		return err_set(
			e, -ENOTSUP, "has %s encrypted, or packed by an unsupported method", entry->name);
	if (entry->size > most || entry->packed > most)
		return err_set(e, -EFBIG, "has %llu bytes of %s; the limit is %zu",
			(unsigned long long)entry->size, entry->name, most);
	r = check_sizes(entry, e);
	if (r == 0)
		r = zip_member(z, entry, &at, e);
	if (r < 0)
		return r;
	packed = malloc(entry->packed + 1);
	made = malloc(entry->size + 1);
	if (!packed || !made)
		return err_set(e, -ENOMEM, "cannot be read: %s", err_text(ENOMEM));
	r = zip_read(z, "a member", at, packed, (size_t)entry->packed, e);
	if (r == 0)
		r = unpack(entry, packed, made, e);
	if (r < 0)
		return r;
	made[entry->size] = '\0';
	*n = (size_t)entry->size;
	*out = take(made);
	return 0;
}

/* ---- a member, in parts ---------------------------------------------------------------- */

struct zip_stream {
	struct view *v;
	struct inflater *inflater; /* NULL: the member is stored */
	uint64_t at, packed_left;  /* the packed bytes that were not read yet: their offset and number */
	uint64_t left;		   /* bytes that are still to come out */
	uint32_t crc, crc_wanted;
	bool ended; /* the deflate stream has ended */
	struct span in;
	uint8_t room[64 << 10];
};

int zip_stream_open(struct zip_stream **out, struct zip *z, const struct zip_entry *entry,
	struct err *e)
{
	struct zip_stream *s;
	uint64_t at;
	int r;

	if (entry->encrypted)
		return err_set(e, -ENOTSUP, "is encrypted");
	if (entry->method != 0 && entry->method != 8)
		return err_set(e, -ENOTSUP, "is packed by method %u, which is not supported",
			entry->method);
	if (check_sizes(entry, NULL) < 0)
		return err_set(e, -EBADMSG, "is broken: its sizes contradict each other");
	r = zip_member(z, entry, &at, e);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s || (entry->method == 8 && inflater_new(&s->inflater, INFLATE_RAW) < 0)) {
		free(s);
		return err_set(e, -ENOMEM, "cannot be unpacked: %s", err_text(ENOMEM));
	}
	s->v = z->v;
	s->at = at;
	s->packed_left = entry->packed;
	s->left = entry->size;
	s->ended = is_nothing(entry);
	s->crc_wanted = entry->crc;
	*out = s;
	return 0;
}

void zip_stream_close(struct zip_stream *s)
{
	if (s)
		inflater_free(s->inflater);
	free(s);
}

/* Reads the next packed bytes to p. *n is 0 at the end. */
static int stream_more(struct zip_stream *s, void *p, size_t room, size_t *n, struct err *e)
{
	int r;

	*n = (size_t)MIN(room, s->packed_left);
	r = *n ? view_read(s->v, s->at, p, *n) : 0;
	if (r == -EAGAIN)
		return r;
	if (r < 0)
		return err_set(e, r == -ENODATA ? -EBADMSG : r, "cannot be read: %s", err_text(r));
	s->at += *n;
	s->packed_left -= *n;
	return 0;
}

/* Inflates until bytes come out, or the stream ends. */
static int stream_inflate(struct zip_stream *s, void *p, size_t *n, struct err *e)
{
	size_t room = *n;
	int r = 0;

	for (*n = 0; !*n && !s->ended;) {
		bool last;

		if (!s->in.n) {
			s->in.p = s->room;
			r = stream_more(s, s->room, sizeof(s->room), &s->in.n, e);
		}
		if (r < 0)
			return r;
		last = !s->in.n;
		*n = room;
		r = inflater_step(s->inflater, &s->in, p, n);
		if (r < 0 || (r == 0 && last && !*n))
			return err_set(e, r == -ENOMEM ? r : -EBADMSG,
				"is broken: it cannot be unpacked");
		s->ended = r == 1;
	}
	return 0;
}

int zip_stream_read(struct zip_stream *s, void *p, size_t *n, struct err *e)
{
	int r = s->inflater ? stream_inflate(s, p, n, e) : stream_more(s, p, *n, n, e);

	if (r < 0)
		return r;
	if (*n > s->left)
		return err_set(e, -EBADMSG, "is broken: it has more bytes than it says");
	s->left -= *n;
	s->crc = inflate_crc(s->crc, p, *n);
	if (*n)
		return 0;
	if (s->left)
		return err_set(e, -EBADMSG, "is broken: it has fewer bytes than it says");
	if (s->crc != s->crc_wanted)
		return err_set(e, -EBADMSG, "is broken: its checksum differs");
	return 0;
}
