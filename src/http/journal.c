/* The last uploads and errors of a space, for the page. In memory: a restart forgets them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/upload.h"

#include <stdio.h>

/* Line N is at N % JOURNAL_LINES. */
struct ring {
	uint64_t next;
	struct journal_line lines[JOURNAL_LINES];
};

struct journal {
	pthread_mutex_t lock;
	struct ring rings[JOURNAL_KINDS];
};

int journal_new(struct journal **out)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	pthread_mutex_init(&j->lock, NULL);
	*out = j;
	return 0;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static void set(char *out, size_t room, const char *text)
{
	snprintf(out, room, "%s", text ? text : "");
}

void journal_add(struct journal *j, enum journal_kind kind, const struct audit_line *l)
{
	LOCK_SCOPE(&j->lock);
	struct ring *r = &j->rings[kind];
	struct journal_line *line = &r->lines[r->next++ % JOURNAL_LINES];
	char room[KEY_TEXT];

	line->when = clock_wall();
	line->status = l->status;
	set(line->event, sizeof(line->event), l->event);
	set(line->user, sizeof(line->user), l->user);
	set(line->file, sizeof(line->file), l->file ? l->file : l->target);
	set(line->key, sizeof(line->key), l->key ? key_text(l->key, room) : NULL);
	set(line->why, sizeof(line->why), l->why);
}

unsigned journal_read(struct journal *j, enum journal_kind kind, int64_t since, struct journal_line *out,
	unsigned most)
{
	LOCK_SCOPE(&j->lock);
	const struct ring *r = &j->rings[kind];
	unsigned n = 0;

	for (uint64_t i = r->next; i > 0 && r->next - i < JOURNAL_LINES && n < most; i--) {
		const struct journal_line *line = &r->lines[(i - 1) % JOURNAL_LINES];

		if (line->when < since)
			break;
		out[n++] = *line;
	}
	return n;
}
