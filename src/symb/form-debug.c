/* Writes the "debug" part of an answer, for clients that send the header Debug: cache hits, downloads and
 * times. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/writing.h"

#include <inttypes.h>

/* Writes `"NAME": {"FILE/ID": seconds, ...}, ` with the modules for which `of` sets `*has`. Returns the sum
 * of the seconds. */
static double put_times(struct writing *w, const char *name, double (*of)(const struct wanted *m, bool *has))
{
	double sum = 0;
	bool some = false;

	reply_putf(w, "\"%s\": {", name);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		bool has = false;
		double v = of(&w->q->wanted[i], &has);

		if (!has)
			continue;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, &w->q->wanted[i]);
		reply_putf(w, ": %.9f", v);
		sum += v;
	}
	reply_put(w, "}, ");
	return sum;
}

/* Like put_times(), for failures; writes nothing if no module failed. */
static void put_failures(struct writing *w, double (*of)(const struct wanted *m, bool *has))
{
	bool some = false, has;

	for (size_t i = 0; !some && i < w->q->n_wanted; i++, some = has)
		of(&w->q->wanted[i], &has);
	if (some)
		put_times(w, "fail_time_per_module", of);
}

static double fetch_time(const struct wanted *m, bool *has)
{
	*has = m->fetched && m->size;
	return m->fetch_seconds;
}

static double fetch_fail_time(const struct wanted *m, bool *has)
{
	*has = m->fetched && !m->size;
	return m->fetch_seconds;
}

static double make_time(const struct wanted *m, bool *has)
{
	*has = m->made && m->file;
	return m->make_seconds;
}

static double make_fail_time(const struct wanted *m, bool *has)
{
	*has = m->made && !m->file;
	return m->make_seconds;
}

/* Always 0: a conversion includes storing its result, so the time of storing alone is unknown. */
static double save_time(const struct wanted *m, bool *has)
{
	*has = m->made && m->file;
	return 0;
}

static void put_downloads(struct writing *w)
{
	uint64_t bytes = 0;
	unsigned count = 0;
	bool some = false;

	reply_put(w, "\"downloads\": {\"size_per_module\": {");
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		struct wanted *m = &w->q->wanted[i];

		count += m->fetched;
		if (!m->fetched || !m->size)
			continue;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, m);
		reply_putf(w, ": %" PRIu64, m->size);
		bytes += m->size;
	}
	reply_putf(w, "}, \"count\": %u, \"size\": %" PRIu64 ", ", count, bytes);
	put_failures(w, fetch_fail_time);
	reply_putf(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", fetch_time));
}

/* The file that each module's names come from, for modules that this request converted. */
static void put_files(struct writing *w)
{
	bool some = false;

	reply_put(w, "\"files\": {");
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		const struct wanted *m = &w->q->wanted[i];
		char worth[WORTH_TEXT];

		if (!m->file || m->used == FILETYPE_NONE)
			continue;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, m);
		reply_putf(w, ": {\"type\": \"%s\", \"source\": ", filetype_name(m->used));
		reply_string(w, m->used_source);
		reply_putf(w, ", \"worth\": \"%s\"}", worth_text(&m->used_worth, worth));
	}
	reply_put(w, "}, ");
}

void reply_debug(struct writing *w)
{
	unsigned lookups = 0, hits = 0, uses = 0;
	double looked = 0;
	bool some = false;

	for (size_t i = 0; i < w->q->n_wanted; i++) {
		lookups += w->q->wanted[i].asked;
		hits += w->q->wanted[i].hit;
		looked += w->q->wanted[i].look_seconds;
		uses += w->q->wanted[i].asked ? w->q->wanted[i].jobs : 0;
	}
	reply_putf(w, ", \"debug\": {\"time\": %.9f, ", w->q->took);
	reply_putf(w, "\"cache_lookups\": {\"count\": %u, \"hits\": %u, \"time\": %.9f}, ", lookups, hits, looked);
	put_downloads(w);
	put_files(w);
	reply_put(w, "\"parse_sym\": {");
	put_failures(w, make_fail_time);
	reply_putf(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", make_time));
	reply_put(w, "\"save_symcache\": {");
	reply_putf(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", save_time));
	reply_putf(w, "\"modules\": {\"count\": %u, \"stacks_per_module\": {", uses);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		if (!w->q->wanted[i].asked)
			continue;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, &w->q->wanted[i]);
		reply_putf(w, ": %u", w->q->wanted[i].jobs);
	}
	reply_put(w, "}}}");
}
