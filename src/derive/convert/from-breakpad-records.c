/* Reads the records of Breakpad files: a function for each kind of line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-breakpad-private.h"

#include <string.h>
#include <strings.h>

/* Paths of source files, as Mozilla's symbolication service shows them. */

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

static bool is_drive(const char *p, size_t n)
{
	return n >= 2 && ((p[0] | 32) >= 'a' && (p[0] | 32) <= 'z') && p[1] == ':' &&
	       (n == 2 || is_separator(p[2]));
}

static bool is_unc(const char *p, size_t n)
{
	return n >= 2 && is_separator(p[0]) && p[1] == p[0];
}

static char separator_of(const char *p, size_t n)
{
	return memchr(p, '\\', n) || is_unc(p, n) || is_drive(p, n) ? '\\' : '/';
}

/* Splits a path into directory and name, and joins them again. Separators at the end are dropped. Several
 * separators between directory and name become one. A name such as `<stdin>` or `C:` replaces the whole path.
 * Returns the length in `room`. */
static size_t join_again(const char *p, size_t n, char *room)
{
	size_t end = n, name, dir;

	while (end && is_separator(p[end - 1]))
		end--;
	end = end ? end : n;
	for (name = end; name && !is_separator(p[name - 1]);)
		name--;
	dir = name > 1 ? name - 1 : name; /* a root keeps its separator */
	if (!name || (end > name && ((p[name] == '<' && p[end - 1] == '>') || is_drive(p + name, end - name)))) {
		memcpy(room, p + name, end - name);
		return end - name;
	}
	memcpy(room, p, dir);
	if (end == name)
		return dir;
	room[dir] = separator_of(p, dir);
	while (dir && is_separator(p[dir - 1])) {
		room[dir - 1] = room[dir];
		dir--;
	}
	memcpy(room + dir + 1, p + name, end - name);
	return dir + 1 + end - name;
}

/* Removes the last part of a path. False: the path has no part that could go. */
static bool pop_part(const char *room, size_t *n)
{
	size_t at = *n;

	if (!at)
		return false;
	while (at && !is_separator(room[at - 1]))
		at--;
	*n = at ? at - 1 : 0;
	return true;
}

/* Removes `.` and `..`, in place: the result is never longer. Returns its length. */
static size_t clean(char *room, size_t n)
{
	const char *p = room, *end = room + n;
	char separator = separator_of(p, n);
	bool needs = false, past_root = false;
	size_t made = 0;

	while (p < end) {
		const char *part = p;
		size_t len;

		while (p < end && !is_separator(*p))
			p++;
		len = (size_t)(p - part);
		p += p < end;
		if (len == 1 && part[0] == '.')
			continue;
		if (len == 2 && part[0] == '.' && part[1] == '.') {
			if (!past_root && pop_part(room, &made)) {
				needs = needs && made;
				continue;
			}
			needs = needs && past_root;
			past_root = true;
		}
		if (needs)
			room[made++] = separator;
		memmove(room + made, part, len);
		made += len;
		needs = true;
	}
	return made;
}

size_t eliot_path(const char *p, size_t n, char *room)
{
	n = n ? clean(room, join_again(p, n, room)) : 0;
	room[n] = '\0';
	return n;
}

#define UNKNOWN "<unknown>"

/* ---- numbers ------------------------------------------------------------------------- */

static size_t slot_of(const struct numbers *m, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15 >> 20) & (m->room - 1);

	while (m->slot[at].used && m->slot[at].key != key)
		at = (at + 1) & (m->room - 1);
	return at;
}

static int numbers_room(struct numbers *m)
{
	struct numbers more = {.room = m->room ? m->room * 2 : 1024, .n = m->n};

	if (m->n < m->room / 2)
		return 0;
	more.slot = calloc(more.room, sizeof(*more.slot));
	if (!more.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->room; i++)
		if (m->slot[i].used)
			more.slot[slot_of(&more, m->slot[i].key)] = m->slot[i];
	free(m->slot);
	*m = more;
	return 0;
}

static int numbers_put(struct numbers *m, uint64_t key, uint32_t value, uint32_t old)
{
	size_t at;

	if (numbers_room(m) < 0)
		return -ENOMEM;
	at = slot_of(m, key);
	m->n += !m->slot[at].used;
	m->slot[at].key = key;
	m->slot[at].value = value;
	m->slot[at].old = old;
	m->slot[at].used = true;
	return 0;
}

/* The writer's number for `key`; 0, which is neither a file nor a name, if `key` is unknown. */
static uint32_t numbers_get(const struct numbers *m, uint64_t key)
{
	return m->room ? m->slot[slot_of(m, key)].value : 0;
}

/* The writer's number for the name of an INLINE_ORIGIN in the syntax of 2020: see without_old_file(). */
static uint32_t numbers_old(const struct numbers *m, uint64_t key)
{
	return m->room ? m->slot[slot_of(m, key)].old : 0;
}

/* ---- records ------------------------------------------------------------------------- */

static uint32_t rest_as_text(struct breakpad *b, struct text t)
{
	uint32_t name = t.p < t.end ? gsym_name(b->w, t.p, (size_t)(t.end - t.p)) : 0;

	return name ?: gsym_text(b->w, UNKNOWN, strlen(UNKNOWN));
}

/* Reads a FILE. Writes the path in the form in which Mozilla's service shows it (eliot.h). With `marks`, directory
 * and name stay together, so that look-ups return the path unchanged. */
static int read_file(struct breakpad *b, struct text t)
{
	_cleanup_free_ char *path = NULL;
	uint64_t number;
	uint32_t file;
	size_t n;

	if (!take_decimal(&t, &number))
		return -EBADMSG;
	path = malloc((size_t)(t.end - t.p) + 1);
	if (!path)
		return -ENOMEM;
	n = eliot_path(t.p, (size_t)(t.end - t.p), path);
	file = b->marks ? gsym_add_file(b->w, 0, gsym_text(b->w, path, n)) : gsym_add_path(b->w, path, n);
	return numbers_put(&b->files, number, file, 0);
}

/* For some months of 2020 INLINE_ORIGIN had a file number before the name, and INLINE had no file number.
 * Returns the text without that number. */
static struct text without_old_file(struct text t)
{
	struct text at = t;
	uint32_t file;

	return take_line_number(&at, &file) && at.p < at.end ? at : t;
}

static int read_origin(struct breakpad *b, struct text t)
{
	uint64_t number;
	uint32_t name;

	if (!take_decimal(&t, &number) || t.p == t.end)
		return -EBADMSG;
	name = rest_as_text(b, t);
	return numbers_put(&b->origins, number, name, rest_as_text(b, without_old_file(t)));
}

static int read_func(struct breakpad *b, struct text t)
{
	uint64_t params;

	b->place = AFTER_BAD_FUNC;
	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &b->func.addr) || !take_hex(&t, &b->func.size) || !take_hex(&t, &params))
		return -EBADMSG;
	/* A line that is in `half` will be overwritten. */
	b->func_name = b->asks && !b->half.n ? t : (struct text){0};
	if (!b->func_name.p)
		b->func.name = rest_as_text(b, t);
	b->place = IN_FUNC;
	b->counts.funcs++;
	return 0;
}

void breakpad_name_func(struct breakpad *b)
{
	if (b->func_name.p)
		b->func.name = rest_as_text(b, b->func_name);
	b->func_name.p = NULL;
}

static int keep_line(struct breakpad *b, struct eliot_line l)
{
	struct eliot_func *f = &b->func;

	if (!l.size || b->place != IN_FUNC || l.addr < f->addr)
		return 0;
	if (f->n_lines == UINT32_MAX)
		return -EFBIG;
	l.order = (uint32_t)f->n_lines;
	return APPEND(f->lines, b->lines_room, f->n_lines, l);
}

int breakpad_read_line(struct breakpad *b, struct text t)
{
	struct eliot_line l = {0};
	uint64_t file;

	if (!take_hex(&t, &l.addr) || !take_hex(&t, &l.size) || !take_line_number(&t, &l.line) ||
		!take_decimal(&t, &file) || t.p != t.end)
		return -EBADMSG;
	l.file = numbers_get(&b->files, file);
	return keep_line(b, l);
}

static unsigned count_words(struct text t)
{
	unsigned n = 0;

	for (skip_space(&t); t.p < t.end; skip_space(&t), n++)
		while (t.p < t.end && !is_space(*t.p))
			t.p++;
	return n;
}

static int keep_calls(struct breakpad *b, struct nest_call c, struct text ranges)
{
	while (take_hex(&ranges, &c.addr) && take_hex(&ranges, &c.size))
		if (c.addr >= b->func.addr && nest_push(&b->calls, &c) < 0)
			return -ENOMEM;
	return 0;
}

/* Reads an INLINE. `old`: the line has the syntax of 2020, without the number of the call site's file. A
 * strict reader rejects such lines, and negative line numbers. */
static int read_inline(struct breakpad *b, struct text t)
{
	bool old = !b->strict && count_words(t) % 2, minus = false;
	uint64_t depth, file = UINT64_MAX, origin, start, size;
	struct nest_call c = {0};
	struct text ranges;

	if (!take_decimal(&t, &depth))
		return -EBADMSG;
	minus = t.p < t.end && *t.p == '-';
	if ((minus && b->strict) || !take_line_number(&t, &c.call_line) ||
		(!old && !take_decimal(&t, &file)) || !take_decimal(&t, &origin))
		return -EBADMSG;
	ranges = t;
	while (take_hex(&t, &start))
		if (!take_hex(&t, &size))
			return -EBADMSG;
	if (t.p != t.end || t.p == ranges.p)
		return -EBADMSG;
	c.depth = (uint32_t)depth;
	c.name = old ? numbers_old(&b->origins, origin) : numbers_get(&b->origins, origin);
	c.call_file = numbers_get(&b->files, file);
	return b->place == IN_FUNC ? keep_calls(b, c, ranges) : 0;
}

static int read_public(struct breakpad *b, struct text t)
{
	uint64_t addr, params;

	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &addr) || !take_hex(&t, &params))
		return -EBADMSG;
	b->counts.publics++;
	return eliot_public(b->eliot, addr, rest_as_text(b, t));
}

static void set_id(struct breakpad *b, struct text t, size_t most)
{
	uint8_t id[GSYM_ID_MOST];
	size_t n = 0;

	while (t.end - t.p >= 2 && n < most && breakpad_digits[(uint8_t)t.p[0]] && breakpad_digits[(uint8_t)t.p[1]]) {
		id[n++] = (uint8_t)((breakpad_digits[(uint8_t)t.p[0]] - 1) << 4 |
				    (breakpad_digits[(uint8_t)t.p[1]] - 1));
		t.p += 2;
	}
	if (most == 16 ? n == 16 : t.p == t.end || is_space(*t.p))
		gsym_set_id(b->w, id, n);
}

/* Whether Mozilla's service knows the machine. It rejects files of other machines. */
static bool is_known_machine(struct text t)
{
	static const char *const known[] = {"unknown", "x86", "i386", "x86_unknown", "x86_64", "x86-64", "amd64",
		"x86_64h", "x86_64_unknown", "arm", "armv5", "armv6", "armv6m", "armv7", "armv7f",
		"armv7s", "armv7k", "armv7m", "armv7em", "arm_unknown", "arm64", "arm-64", "arm64v8", "arm64e",
		"arm64_unknown", "arm64_32", "arm64_32_v8", "arm64_32_unknown", "ppc", "ppc64",
		"mips", "mips64", "wasm32"};
	size_t n = 0;

	while (t.p + n < t.end && !is_space(t.p[n]))
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == n && strncasecmp(known[i], t.p, n) == 0)
			return true;
	return false;
}

static struct text take_any_word(struct text *t)
{
	struct text word = {t->p, t->p};

	while (t->p < t->end && !is_space(*t->p))
		t->p++;
	word.end = t->p;
	skip_space(t);
	return word;
}

static bool is_module_id(struct text t)
{
	struct text id = take_any_word(&t);

	for (const char *p = id.p; p < id.end; p++)
		if (!breakpad_digits[(uint8_t)*p])
			return false;
	return id.p < id.end;
}

/* The id in the GSYM header is the UUID of a Mach-O file, or the build id of an ELF file, which a later INFO
 * CODE_ID line has. For a PE file GSYM has no id. */
static int read_module(struct breakpad *b, struct text t)
{
	struct text system, machine;

	b->place = OUTSIDE;
	system = take_any_word(&t);
	machine = take_any_word(&t);
	if (b->strict && (!is_known_machine(machine) || !is_module_id(t)))
		return -EBADMSG;
	b->id_from_code = !TAKE_WORD(&system, "windows");
	if (TAKE_WORD(&system, "mac")) {
		set_id(b, t, 16);
		b->id_from_code = false;
	}
	return 0;
}

static int read_info(struct breakpad *b, struct text t)
{
	if (b->id_from_code && TAKE_WORD(&t, "CODE_ID"))
		set_id(b, t, GSYM_ID_MOST);
	return 0;
}

int breakpad_read(struct breakpad *b, enum breakpad_record kind, struct text t)
{
	static int (*const readers[])(struct breakpad *b, struct text t) = {
		[RECORD_FILE] = read_file, [RECORD_ORIGIN] = read_origin, [RECORD_FUNC] = read_func,
		[RECORD_INLINE] = read_inline, [RECORD_PUBLIC] = read_public, [RECORD_MODULE] = read_module,
		[RECORD_INFO] = read_info};

	return readers[kind](b, t);
}
