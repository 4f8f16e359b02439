/* Makes room for a download when the disk is full: a worker evicts the least recently used files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <stdio.h>

struct room_job {
	struct job job;
	uint64_t need;
	int r;
	char text[400];
};

static void room_run(struct job *j)
{
	struct room_job *m = (struct room_job *)j;
	struct err e = {0};

	m->r = store_make_room(j->flight->f->store, m->need, &e);
	snprintf(m->text, sizeof(m->text), "%.390s", e.text);
}

static void room_back(struct job *j)
{
	struct room_job *m = (struct room_job *)j;
	struct flight *fl = j->flight;

	fl->room.making = false;
	if (!flight_is_over(fl))
		flight_say(fl, (struct event){SAID_ROOM, .error = m->r, .text = m->text});
}

static void room_free(struct job *j)
{
	free(j);
}

static const struct job_kind room_kind = {room_run, room_back, room_free};

int body_make_room(struct flight *fl, uint64_t need)
{
	uint64_t at = body_here(&fl->body) + 1;
	struct room_job *m;

	if (fl->room.made_at == at)
		return -ENOSPC;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->need = MAX(need, 1);
	if (job_start(&m->job, fl, &room_kind) < 0)
		return -ENOMEM;
	fl->room.made_at = at;
	fl->room.making = true;
	return 0;
}

void room_forget(struct flight *fl)
{
	fl->room.made_at = 0;
}
