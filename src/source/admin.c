/* Reads the index of a symbol store (000Admin/) into a set of hashes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/admin.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdint.h>
#include <string.h>

#define LINE_MOST 4096
#define ENTRIES_MOST (8u << 20)

struct admin_index {
	unsigned refs; /* atomic */
	uint64_t *slots; /* hash table of hashes; 0: a free slot */
	size_t n, room;	 /* room is a power of two, or 0 */
	char line[LINE_MOST];
	size_t line_n;
	bool too_long, odd; /* too_long: the current line is; odd: a line of this transaction was
			       malformed */
};

int admin_new(struct admin_index **out)
{
	*out = calloc(1, sizeof(**out));
	if (*out)
		(*out)->refs = 1;
	return *out ? 0 : -ENOMEM;
}

int admin_copy(struct admin_index **out, const struct admin_index *of)
{
	int r = admin_new(out);

	if (r < 0 || !of->room)
		return r;
	(*out)->slots = malloc(of->room * sizeof(*of->slots));
	if (!(*out)->slots) {
		admin_unref(*out);
		return -ENOMEM;
	}
	memcpy((*out)->slots, of->slots, of->room * sizeof(*of->slots));
	(*out)->room = of->room;
	(*out)->n = of->n;
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
	free(ix);
}

size_t admin_count(const struct admin_index *ix)
{
	return ix->n;
}

/* The slot that holds the hash, or the free slot for it. */
static uint64_t *slot_of(uint64_t *slots, size_t room, uint64_t hash)
{
	size_t i = hash & (room - 1);

	while (slots[i] && slots[i] != hash)
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
	hash = slash ? hash_mix(folded, n) : 0;
	return slash && !hash ? 1 : hash;
}

/* Adds the line in ix->line, which has no line end. */
static int take_line(struct admin_index *ix)
{
	const char *p = ix->line, *end;
	size_t n = ix->line_n;
	bool too_long = ix->too_long;
	uint64_t hash = 0;

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
	return add(ix, hash);
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

bool admin_has(const struct admin_index *ix, const char *path)
{
	size_t n = strcspn(path, "/");
	uint64_t hash;

	n += path[n] ? 1 + strcspn(path + n + 1, "/") : 0;
	hash = hash_of(path, n);
	return hash && ix->room && *slot_of(ix->slots, ix->room, hash) == hash;
}

int admin_dump(const struct admin_index *ix, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ix->room; i++)
		if (ix->slots[i])
			r = buf_add(out, &ix->slots[i], sizeof(ix->slots[i]));
	return r;
}

int admin_load(struct admin_index **out, const void *p, size_t n)
{
	struct admin_index *ix;
	int r = n % sizeof(uint64_t) ? -EINVAL : admin_new(&ix);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i += sizeof(uint64_t)) {
		uint64_t hash;

		memcpy(&hash, (const uint8_t *)p + i, sizeof(hash));
		r = hash ? add(ix, hash) : -EINVAL;
	}
	if (r < 0) {
		admin_unref(ix);
		return r;
	}
	*out = ix;
	return 0;
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
