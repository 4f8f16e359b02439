/* The phase before a download: this process leads, or follows the process that leads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "fetch/flight/flight.h"

static void lead_beat(void *ctx)
{
	struct flight *fl = ctx;

	follow_beat(&fl->lead.follow, fl->f->store, fl->number);
	net_timer_set(fl->f->net, &fl->lead.timer, FLIGHTS_BEAT_MS, lead_beat, fl);
}

static void set_wants(struct flight *fl, bool wants)
{
	if (wants != fl->lead.wants)
		flights_want(fl->f->store, fl->number, wants);
	fl->lead.wants = wants;
}

/* Downloads as the leader, or beside a leader that has stalled. */
static void lead(struct flight *fl)
{
	if (fl->lead.follow.leads)
		lead_beat(fl);
	else
		log_warn("%s: the process downloading it has stalled; downloading it here too", fl->canon);
	set_wants(fl, false);
	flight_say(fl, (struct event){SAID_LEADS});
}

static void lead_or_follow(void *ctx)
{
	struct flight *fl = ctx;
	struct fetch *f = fl->f;
	int r = follow_look(&fl->lead.follow, f->store, fl->number, f->opts.silence_ms);

	if (r == 0) {
		lead(fl);
		return;
	}
	if (r != -EAGAIN) {
		flight_say(fl, (struct event){SAID_FAILED, .error = r, .text = "the store's lock file"});
		return;
	}
	set_wants(fl, flight_is_wanted_whole(fl));
	net_timer_set(f->net, &fl->lead.timer, FOLLOW_LOOK_MS, lead_or_follow, fl);
	flight_say(fl, (struct event){SAID_FOLLOWS});
}

static void lead_end(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->lead.timer);
	set_wants(fl, false);
	follow_end(&fl->lead.follow, fl->f->store, fl->number);
}

static void follow_start(struct flight *fl)
{
	lead_or_follow(fl);
}

const struct phase phase_follow = {follow_start, lead_end};
