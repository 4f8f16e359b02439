/* Reads the index of a symbol store (000Admin/) into a set of hashes and names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/admin.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define LINE_MOST 4096
#define ENTRIES_MOST (8u << 20)
#define NAMES_MOST (16u << 20) /* bytes of names; further names are not kept */
#define IDS 3u /* the bits of a slot that are not part of the hash */

struct admin_index {
	unsigned refs; /* atomic */
	uint64_t *slots; /* hash table of hashes, each with an enum admin_case in IDS; 0: a free slot */
	size_t n, room;	 /* room is a power of two, or 0 */
	struct buf names; /* file names with capitals as the index spells them, each with its NUL */
	uint32_t *name_slots; /* hash table by the name in lower case: offset in `names` + 1; 0: a free slot */
	size_t n_names, name_room;
	char line[LINE_MOST];
	size_t line_n;
	bool too_long, odd; /* too_long: the current line does not fit in `line`; odd: a line of this
			       transaction was malformed */
};

int admin_new(struct admin_index **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->refs = 1;
	(*out)->names = BUF_UP_TO(NAMES_MOST);
	return 0;
}

struct admin_index *admin_ref(const struct admin_index *constant)
{
	struct admin_index *ix = (struct admin_index *)(uintptr_t)constant;

	__atomic_add_fetch(&ix->refs, 1, __ATOMIC_RELAXED);
	return ix;
}

void admin_unref(struct admin_index *ix)
{
	if (!ix || __atomic_sub_fetch(&ix->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(ix->slots);
	free(ix->name_slots);
	buf_release(&ix->names);
	free(ix);
}

size_t admin_count(const struct admin_index *ix)
{
	return ix->n;
}

/* The slot that holds the hash, or the free slot for it. */
static uint64_t *slot_of(uint64_t *slots, size_t room, uint64_t hash)
{
	size_t i = (hash >> 2) & (room - 1);

	while (slots[i] && (slots[i] ^ hash) & ~(uint64_t)IDS)
		i = (i + 1) & (room - 1);
	return &slots[i];
}

static int grow(struct admin_index *ix)
{
	size_t room = ix->room ? 2 * ix->room : 1024;
	uint64_t *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < ix->room; i++)
		if (ix->slots[i])
			*slot_of(slots, room, ix->slots[i]) = ix->slots[i];
	free(ix->slots);
	ix->slots = slots;
	ix->room = room;
	return 0;
}

static int add(struct admin_index *ix, uint64_t hash)
{
	uint64_t *slot;

	if (ix->n >= ENTRIES_MOST)
		return -EFBIG;
	if (2 * ix->n >= ix->room && grow(ix) < 0)
		return -ENOMEM;
	slot = slot_of(ix->slots, ix->room, hash);
	ix->n += *slot == 0;
	if (!*slot)
		*slot = hash;
	return 0;
}

static bool is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* The hash of "name/id" or "name\id", which ignores case; 0: the text is not two parts. */
static uint64_t hash_of(const char *name, size_t n)
{
	char folded[LINE_MOST];
	size_t slash = 0;
	uint64_t hash;

	if (n >= sizeof(folded))
		return 0;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (is_slash(c)) {
			if (slash || i == 0 || i + 1 == n)
				return 0;
			slash = i;
			c = '/';
		}
		if ((unsigned char)c < 0x20)
			return 0;
		folded[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	hash = slash ? hash_mix(folded, n) & ~(uint64_t)IDS : 0;
	return slash && !hash ? IDS + 1 : hash;
}

/* The letter case of an id. An id with upper-case letters before lower-case letters has the case that
 * layouts write. */
static enum admin_case case_of(const char *id, size_t n)
{
	size_t lower = 0, upper = 0, first_upper = n, last_lower = 0;

	for (size_t i = 0; i < n; i++) {
		if (id[i] >= 'a' && id[i] <= 'z') {
			lower++;
			last_lower = i;
		} else if (id[i] >= 'A' && id[i] <= 'Z') {
			upper++;
			first_upper = MIN(first_upper, i);
		}
	}
	if (lower && upper)
		return last_lower < first_upper ? ADMIN_LOWER_UPPER : ADMIN_AS_LAYOUT;
	return lower ? ADMIN_LOWER : upper ? ADMIN_UPPER : ADMIN_AS_LAYOUT;
}

/* ---- names -------------------------------------------------------------------------- */

static uint64_t name_hash(const char *name, size_t n)
{
	char folded[LINE_MOST];

	n = MIN(n, sizeof(folded));
	for (size_t i = 0; i < n; i++)
		folded[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
	return hash_mix(folded, n);
}

/* The slot that holds the offset of the name, or the free slot for it. */
static uint32_t *name_slot(const struct admin_index *ix, const char *name, size_t n)
{
	size_t i = name_hash(name, n) & (ix->name_room - 1);

	for (; ix->name_slots[i]; i = (i + 1) & (ix->name_room - 1)) {
		const char *have = ix->names.p + ix->name_slots[i] - 1;

		if (strncasecmp(have, name, n) == 0 && !have[n])
			break;
	}
	return &ix->name_slots[i];
}

static int grow_names(struct admin_index *ix)
{
	size_t room = ix->name_room ? 2 * ix->name_room : 256;
	uint32_t *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(ix->name_slots);
	ix->name_slots = slots;
	ix->name_room = room;
	for (size_t at = 0; at < ix->names.n; at += strlen(ix->names.p + at) + 1)
		*name_slot(ix, ix->names.p + at, strlen(ix->names.p + at)) = (uint32_t)at + 1;
	return 0;
}

/* Keeps a name that has capitals, in the spelling that comes first. */
static int add_name(struct admin_index *ix, const char *name, size_t n)
{
	size_t capital = 0, at = ix->names.n;
	uint32_t *slot;
	int r;

	while (capital < n && !(name[capital] >= 'A' && name[capital] <= 'Z'))
		capital++;
	if (capital == n || at + n + 1 > NAMES_MOST)
		return 0;
	if (2 * ix->n_names >= ix->name_room && grow_names(ix) < 0)
		return -ENOMEM;
	slot = name_slot(ix, name, n);
	if (*slot)
		return 0;
	buf_add(&ix->names, name, n);
	r = buf_add(&ix->names, "", 1);
	if (r < 0)
		return r;
	*slot = (uint32_t)at + 1;
	ix->n_names++;
	return 0;
}

const char *admin_name(const struct admin_index *ix, const char *name)
{
	uint32_t slot = ix->name_room ? *name_slot(ix, name, strlen(name)) : 0;

	return slot ? ix->names.p + slot - 1 : NULL;
}

/* ---- lines -------------------------------------------------------------------------- */

/* Adds the line in ix->line, which has no line end. */
static int take_line(struct admin_index *ix)
{
	const char *p = ix->line, *end;
	size_t n = ix->line_n;
	bool too_long = ix->too_long;
	size_t name_n;
	uint64_t hash = 0;
	int r;

	ix->line_n = 0;
	ix->too_long = false;
	while (n && (p[n - 1] == '\r' || p[n - 1] == ' '))
		n--;
	if (n == 0 && !too_long)
		return 0;
	end = n > 2 && *p == '"' ? memchr(p + 1, '"', n - 1) : NULL;
	if (end && !too_long && (end + 1 == p + n || end[1] == ','))
		hash = hash_of(p + 1, (size_t)(end - p - 1));
	if (!hash) {
		ix->odd = true;
		return 0;
	}
	name_n = strcspn(p + 1, "/\\");
	r = add_name(ix, p + 1, name_n);
	return r < 0 ? r : add(ix, hash | case_of(p + 2 + name_n, (size_t)(end - p - 2) - name_n));
}

int admin_feed(struct admin_index *ix, const char *p, size_t n)
{
	int r = 0;

	for (; n && r == 0; p++, n--) {
		if (*p == '\n')
			r = take_line(ix);
		else if (ix->line_n == sizeof(ix->line))
			ix->too_long = true;
		else
			ix->line[ix->line_n++] = *p;
	}
	return r;
}

bool admin_end(struct admin_index *ix)
{
	bool good = take_line(ix) == 0 && !ix->odd;

	ix->odd = false;
	return good;
}

int admin_case(const struct admin_index *ix, const char *path)
{
	size_t n = strcspn(path, "/");
	uint64_t hash, slot;

	n += path[n] ? 1 + strcspn(path + n + 1, "/") : 0;
	hash = hash_of(path, n);
	slot = hash && ix->room ? *slot_of(ix->slots, ix->room, hash) : 0;
	return slot ? (int)(slot & IDS) : -ENOENT;
}

bool admin_has(const struct admin_index *ix, const char *path)
{
	return admin_case(ix, path) >= 0;
}

/* Writes the number of hashes, the hashes, then the names. */
int admin_dump(const struct admin_index *ix, struct buf *out)
{
	uint64_t n = ix->n;

	buf_add(out, &n, sizeof(n));
	for (size_t i = 0; i < ix->room; i++)
		if (ix->slots[i])
			buf_add(out, &ix->slots[i], sizeof(ix->slots[i]));
	return buf_add(out, ix->names.p, ix->names.n);
}

static int load(struct admin_index *ix, const char *p, size_t n)
{
	const char *end = p + n, *stop;
	uint64_t count, hash;
	int r = 0;

	if (n < sizeof(count))
		return -EINVAL;
	memcpy(&count, p, sizeof(count));
	if (count > (n - sizeof(count)) / sizeof(hash))
		return -EINVAL;
	p += sizeof(count);
	for (; r == 0 && count; count--, p += sizeof(hash)) {
		memcpy(&hash, p, sizeof(hash));
		r = hash > IDS ? add(ix, hash) : -EINVAL;
	}
	for (; r == 0 && p < end; p = stop + 1) {
		stop = memchr(p, '\0', (size_t)(end - p));
		if (!stop || stop == p || stop - p >= LINE_MOST)
			return -EINVAL;
		r = add_name(ix, p, (size_t)(stop - p));
	}
	return r;
}

int admin_load(struct admin_index **out, const void *p, size_t n)
{
	struct admin_index *ix;
	int r = admin_new(&ix);

	if (r == 0)
		r = load(ix, p, n);
	else
		return r;
	if (r < 0)
		admin_unref(ix);
	else
		*out = ix;
	return r;
}

int admin_copy(struct admin_index **out, const struct admin_index *of)
{
	_cleanup_buf_ struct buf all = BUF_UP_TO(SIZE_MAX / 2);
	int r = admin_dump(of, &all);

	return r < 0 ? r : admin_load(out, all.p, all.n);
}

int admin_lastid(const char *text, size_t n, unsigned *out)
{
	unsigned number = 0;

	while (n && memchr(" \t\r\n", text[n - 1], 4))
		n--;
	while (n && (*text == ' ' || *text == '\t'))
		text++, n--;
	if (n == 0 || n > 10)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9' || number > ADMIN_SEGMENTS_MOST)
			return -EINVAL;
		number = number * 10 + (unsigned)(text[i] - '0');
	}
	*out = number;
	return number <= ADMIN_SEGMENTS_MOST ? 0 : -EINVAL;
}
