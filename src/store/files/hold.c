/* How long an uploaded file stays: joins holds, checks their words, and writes them into labels. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/hold.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define LINE "h1\t"

/* ---- states -------------------------------------------------------------------------- */

struct hold_state hold_begin(const struct store_hold *h, int64_t now)
{
	struct hold_state s = {.pinned = true, .hold = *h};

	if (h->age > 0 && h->age < INT64_MAX - MAX(now, 0))
		s.ends = now + h->age;
	else
		s.hold.age = 0;
	return s;
}

/* Whether `a` lasts at least as long as `b`. */
static bool lasts(const struct hold_state *a, const struct hold_state *b)
{
	return a->ends == 0 || (b->ends != 0 && a->ends >= b->ends);
}

enum hold_rank hold_rank_of(const struct store_hold *upload)
{
	if (!upload)
		return HELD_NOT;
	return !upload->class[0] ? HELD_ADDED : strcmp(upload->class, "try") == 0 ? HELD_TRY : HELD_CLASS;
}

enum hold_rank hold_rank(const struct hold_state *h)
{
	return hold_rank_of(h->pinned ? &h->hold : NULL);
}

int hold_compare(enum hold_rank a, enum hold_rank b)
{
	return !a || !b ? 0 : (a != HELD_TRY) - (b != HELD_TRY);
}

void hold_join(struct hold_state *into, const struct hold_state *other)
{
	struct hold_state had = *into;
	bool lower = hold_rank(other) < hold_rank(&had);

	if (!other->pinned)
		return;
	if (!had.pinned || !lasts(&had, other))
		*into = *other;
	if (hold_rank(&had) != hold_rank(other))
		memcpy(into->hold.class, lower ? had.hold.class : other->hold.class, sizeof(had.hold.class));
	memcpy(into->hold.labels, lower || !other->hold.labels[0] ? had.hold.labels : other->hold.labels,
		sizeof(had.hold.labels));
}

/* ---- words --------------------------------------------------------------------------- */

bool hold_class_ok(const char *name)
{
	size_t n = strlen(name);

	return n && n < HOLD_CLASS && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n &&
	       *name >= 'a' && *name <= 'z';
}

/* The place of the label with this name, n bytes with the `=`. NULL: there is none. */
static char *find_label(char *labels, const char *name, size_t n)
{
	for (char *p = labels; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strncmp(p, name, n) == 0)
			return p;
	return NULL;
}

static void drop_label(char *labels, const char *name, size_t n)
{
	char *at = find_label(labels, name, n), *next;
	size_t end;

	if (!at)
		return;
	next = at + strcspn(at, " ");
	next += *next == ' ';
	memmove(at, next, strlen(next) + 1);
	end = strlen(labels);
	if (end && labels[end - 1] == ' ')
		labels[end - 1] = '\0';
}

int hold_label_add(struct store_hold *h, const char *label)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-";
	size_t name = strspn(label, chars), value = name && label[name] == '=' ? strspn(label + name + 1, chars) : 0;
	char labels[HOLD_LABELS];
	size_t n;

	if (!value || label[name + 1 + value])
		return -EINVAL;
	snprintf(labels, sizeof(labels), "%s", h->labels);
	drop_label(labels, label, name + 1);
	n = strlen(labels);
	if (n + 1 + strlen(label) >= sizeof(labels))
		return -E2BIG;
	snprintf(labels + n, sizeof(labels) - n, "%s%s", n ? " " : "", label);
	memcpy(h->labels, labels, sizeof(labels));
	return 0;
}

/* ---- the line of a label --------------------------------------------------------------- */

int hold_write(struct buf *out, const struct store_hold *h)
{
	return h->class[0] ? buf_addf(out, LINE "%s\t%lld\t%s\n", h->class, (long long)h->age, h->labels) : 0;
}

static int parse(struct store_hold *out, char *line)
{
	char *class = strsep(&line, "\t"), *age = strsep(&line, "\t"), *labels = strsep(&line, "\t"), *end, *label;
	struct store_hold h = {.age = 0};

	if (!labels || line || !hold_class_ok(class) || *age < '0' || *age > '9')
		return -EINVAL;
	errno = 0;
	h.age = strtoll(age, &end, 10);
	if (*end || errno)
		return -EINVAL;
	snprintf(h.class, sizeof(h.class), "%s", class);
	while ((label = strsep(&labels, " ")))
		if (*label && hold_label_add(&h, label) < 0)
			return -EINVAL;
	*out = h;
	return 0;
}

int hold_read(const char *text, struct store_hold *out)
{
	char line[HOLD_CLASS + HOLD_LABELS + 32];

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n < strlen(LINE) || n - strlen(LINE) >= sizeof(line) || memcmp(text, LINE, strlen(LINE)) != 0)
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)(n - strlen(LINE)), text + strlen(LINE));
		if (parse(out, line) == 0)
			return 0;
	}
	return -ENOENT;
}
