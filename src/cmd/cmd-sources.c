/* symfs sources: lists the sources in use, in order, and checks whether each is reachable. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "base/clock.h"
#include "base/mounts.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "fetch/fetch.h"
#include "names/id/filetype.h"
#include "names/id/key.h"
#include "net/net.h"
#include "source/sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the check ------------------------------------------------------------------------ */

/* Checks whether the sources answer, and what they support. Asks each source for a file that cannot exist; its
 * identifier names symfs in the logs of servers. Symbol stores are also asked for index2.txt: a store that has this
 * file has two tiers. */

struct check_row {
	const char *state; /* "reachable", "refused", … */
	char text[500];	   /* the reason for the state; "": there is no more to say */
	int status;	   /* the HTTP status; 0: no reply */
	int http;	   /* the HTTP version: 11 for 1.1, 20 for 2; 0: no reply */
	int ranges, two_tier; /* 1: yes; 0: no; -1: unknown */
	unsigned ms; /* milliseconds until the reply */
	bool good; /* the source can serve files */
};

#define CODE_ID KEY_PROBE "636865636b000000000000000001" /* "symfs-check" */
#define DEBUG_ID KEY_PROBE "636865636B00000000001"

struct checking {
	struct net *net;
	unsigned deadline_ms;
	pthread_mutex_t lock;
	pthread_cond_t over;
	unsigned left; /* the number of running requests; under lock */
};

/* A request to a source, and its reply. */
struct question {
	struct checking *c;
	struct net_req req;
	struct net_reply reply;
	struct transfer *t;
	uint64_t began, took;
	bool asked; /* the request was prepared, and is sent */
};

/* ---- asking ------------------------------------------------------------------------- */

static int question_head(void *ctx, const struct net_reply *r)
{
	struct question *q = ctx;

	q->reply = *r;
	q->took = clock_ms() - q->began;
	return r->status < 300 ? -ECANCELED : 0;
}

static int question_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	return -ECANCELED;
}

static void question_done(void *ctx, const struct net_reply *r)
{
	struct question *q = ctx;

	if (q->reply.status == 0) {
		q->reply = *r;
		q->took = clock_ms() - q->began;
	} else if (r->error == 0) {
		memcpy(q->reply.text, r->text, sizeof(r->text)); /* it came after the head */
	}
	LOCK_SCOPE(&q->c->lock);
	if (--q->c->left == 0)
		pthread_cond_signal(&q->c->over);
}

static void question_start(void *ctx)
{
	static const struct net_sink sink = {question_head, question_body, question_done};
	struct question *q = ctx;
	struct net_reply none = {.error = -EINVAL};

	q->began = clock_ms();
	q->req.rank = NET_FIRST;
	none.error = net_get(q->c->net, &q->req, &sink, q, &q->t);
	if (none.error < 0)
		question_done(q, &none);
}

/* The types to try for a request for a file that no server has. The first type that the source accepts is used. */
static const enum filetype tries[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_PDB, FILETYPE_PE,
	FILETYPE_PORTABLEPDB, FILETYPE_BREAKPAD, FILETYPE_MACH_DEBUG, FILETYPE_WASM_DEBUG, FILETYPE_SOURCEBUNDLE};

static int plan_nothing(const struct source *s, struct source_ask *ask)
{
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(tries); i++) {
		enum object_type object = filetypes[tries[i]].object;
		struct artifact a = {.type = tries[i], .m = {.object = object ? object : OBJECT_PE}};
		bool pe = a.m.object == OBJECT_PE || a.m.object == OBJECT_PE_DOTNET;

		snprintf(a.m.code_id, sizeof(a.m.code_id), "%s",
			a.m.object == OBJECT_MACHO ? KEY_PROBE "636865636b0000000000"
			: pe			   ? KEY_PROBE
						   : CODE_ID);
		snprintf(a.m.code_file, sizeof(a.m.code_file), "symfs-check");
		snprintf(a.m.debug_file, sizeof(a.m.debug_file), "symfs-check.pdb");
		debug_id_parse(&a.m.debug_id, DEBUG_ID, strlen(DEBUG_ID));
		r = source_plan(s, NULL, &a, 0, ask);
	}
	return r;
}

static int prepare_nothing(const struct source *s, struct question *q)
{
	struct source_ask ask = {0};
	int r = plan_nothing(s, &ask);

	/* The source accepts requests for none of these types: check only whether its URL answers. */
	if (r == -ENOENT) {
		ask.where = strdup(s->o.url);
		r = ask.where ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = source_request(s, &ask, &q->req);
	source_ask_release(&ask);
	q->asked = r == 0;
	return r;
}

/* Prepares a request for one byte of index2.txt, a small file. The reply shows whether the server supports
 * ranges. */
static int prepare_index2(const struct source *s, struct question *q)
{
	struct source_ask ask = {0};
	int r;

	if (!source_is_store(s))
		return 0;
	r = source_file(s, "index2.txt", &ask);
	if (r == 0)
		r = source_request(s, &ask, &q->req);
	if (r == 0)
		r = source_add_header(&q->req, "Range: bytes=0-0");
	source_ask_release(&ask);
	q->asked = r == 0;
	return r;
}

/* ---- judging ------------------------------------------------------------------------ */

static void judge_nothing(const struct source *s, const struct question *q, struct check_row *row)
{
	static const char *const words[] = {
		[VERDICT_FOUND] = "suspect",
		[VERDICT_MISSING] = "reachable",
		[VERDICT_REFUSED] = "refused",
		[VERDICT_LATER] = "failing",
		[VERDICT_LOOP] = "loop",
	};
	struct judgement j;

	source_judge(s, &q->reply, &j);
	row->state = q->reply.status || j.error == -EREMOTEIO ? words[j.verdict] : "unreachable";
	row->good = j.verdict == VERDICT_MISSING;
	row->status = q->reply.status;
	row->http = q->reply.http;
	row->ms = (unsigned)q->took;
	if (j.verdict == VERDICT_FOUND)
		snprintf(row->text, sizeof(row->text), "it has a file that cannot exist: perhaps a web page");
	else if (j.verdict != VERDICT_MISSING)
		snprintf(row->text, sizeof(row->text), "%s%s%s", j.text,
			q->reply.status && q->reply.text[0] ? ": " : "", q->reply.status ? q->reply.text : "");
}

static void judge_index2(const struct source *s, const struct question *q, struct check_row *row)
{
	int status = q->reply.status;

	if (status == 200 || status == 206)
		row->ranges = status == 206;
	if (status == 200 || status == 206 || status == 404)
		row->two_tier = status != 404;
}

static void check_dir(const struct source *s, struct check_row *row)
{
	/* A layout looks up names; a scan lists them. */
	int may = source_scans(s) ? R_OK | X_OK : X_OK;
	_cleanup_close_ int fd = open(s->o.path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || faccessat(AT_FDCWD, s->o.path, may, AT_EACCESS) < 0) {
		int r = -errno;

		row->state = r == -ENOENT || r == -ENOTDIR ? "absent" : "refused";
		snprintf(row->text, sizeof(row->text), "%s", err_text(r));
	} else if (mounts_refuse_symfs(fd) < 0) {
		row->state = "loop";
		snprintf(row->text, sizeof(row->text), "inside a symfs mount: skipped");
	} else {
		row->state = "reachable";
		row->good = true;
	}
}

/* ---- all sources -------------------------------------------------------------------- */

static void start(struct checking *c, struct question *q)
{
	if (!q->asked)
		return;
	if (!q->req.stall_ms || q->req.stall_ms > c->deadline_ms)
		q->req.stall_ms = c->deadline_ms;
	q->c = c;
	pthread_mutex_lock(&c->lock);
	c->left++;
	pthread_mutex_unlock(&c->lock);
	net_call(c->net, question_start, q);
}

static void ask_all(struct checking *c, const struct sources *so, struct question *q,
	struct check_row *rows)
{
	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		int r = s->kind->local ? 0 : prepare_nothing(s, &q[2 * i]);

		if (r < 0) {
			rows[i].state = "refused";
			snprintf(rows[i].text, sizeof(rows[i].text), "%s",
				r == -EACCES ? "no credentials" : err_text(r));
		} else if (!s->kind->local) {
			prepare_index2(s, &q[2 * i + 1]);
			start(c, &q[2 * i]);
			start(c, &q[2 * i + 1]);
		}
	}
	LOCK_SCOPE(&c->lock);
	while (c->left)
		pthread_cond_wait(&c->over, &c->lock);
}

/* Fills a row for each source, in order: `rows` has room for so->n. Asks all sources at once and waits for
 * all. A source that sends nothing for `deadline_ms` has failed. Does not write to the store. 0; -ENOMEM; other
 * -errno: a thread cannot start. */
static int check_sources(const struct sources *so, unsigned deadline_ms, struct check_row *rows,
	struct err *e)
{
	struct checking c = {.deadline_ms = deadline_ms,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER};
	const struct net_opts o = {.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION};
	_cleanup_free_ struct question *q = calloc(so->n ? 2 * so->n : 1, sizeof(*q));
	int r = q ? net_start(&c.net, &o, e) : err_set(e, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	for (unsigned i = 0; i < so->n; i++)
		rows[i] = (struct check_row){.ranges = -1, .two_tier = -1};
	ask_all(&c, so, q, rows);
	net_stop(c.net);
	for (unsigned i = 0; i < so->n; i++) {
		if (so->list[i]->kind->local)
			check_dir(so->list[i], &rows[i]);
		if (q[2 * i].asked)
			judge_nothing(so->list[i], &q[2 * i], &rows[i]);
		if (q[2 * i + 1].asked)
			judge_index2(so->list[i], &q[2 * i + 1], &rows[i]);
		net_req_release(&q[2 * i].req);
		net_req_release(&q[2 * i + 1].req);
	}
	return 0;
}

static void add_types(struct json *j, const struct source *s)
{
	if (s->types == UINT64_MAX) {
		json_null(j, "filetypes");
		return;
	}
	json_begin_array(j, "filetypes");
	for (unsigned t = 1; t < FILETYPES; t++)
		if (s->types >> t & 1)
			json_string(j, NULL, filetypes[t].name);
	json_end(j);
}

static void add_source(struct json *j, const struct source *s)
{
	static const char *const casings[] = {"default", "lowercase", "uppercase"};

	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "type", s->kind->name);
	json_text(j, "layout", s->layout->name);
	json_text(j, "casing", casings[s->casing]);
	json_text(j, s->kind->local ? "path" : "url", s->shown);
	add_types(j, s);
	json_number(j, "miss_lifetime", s->o.miss_seconds);
	json_end(j);
}

/* The width of a column with the names. */
static int name_width(const struct sources *so)
{
	size_t width = 14;

	for (unsigned i = 0; i < so->n; i++)
		width = MAX(width, strlen(so->list[i]->name));
	return (int)width;
}

static int print_list(const struct app *app, const struct sources *so)
{
	bool as_json = app->args.json;
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	int width = name_width(so);
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	/* The output for scripts has only lines of sources. */
	if (!as_json && so->n && paint_terminal())
		printf("    %s%-*s %-10s %-16s %s%s\n", paint(PAINT_HEAD), width, "NAME", "TYPE", "LAYOUT", "WHERE",
			paint(PAINT_END));
	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];

		if (as_json)
			add_source(&j, s);
		else
			printf("%2u. %-*s %-10s %-16s %s\n", i + 1, width, s->name, s->kind->name,
				s->layout->name, text_shown(s->shown, true, &room));
	}
	if (!as_json && so->n == 0)
		printf("no source is in use; %s\n", no_source_advice(&app->args));
	return json_finish(&j, as_json, EXIT_DONE);
}

/* ---- check -------------------------------------------------------------------------- */

static void add_answer(struct json *j, const char *name, int answer)
{
	if (answer < 0)
		json_null(j, name);
	else
		json_boolean(j, name, answer);
}

static void add_check(struct json *j, const struct source *s, const struct check_row *row)
{
	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "type", s->kind->name);
	json_text(j, s->kind->local ? "path" : "url", s->shown);
	json_text(j, "state", row->state);
	json_number_or_null(j, "status", row->status);
	json_number_or_null(j, "http", row->http);
	if (row->status)
		json_number(j, "ms", row->ms);
	else
		json_null(j, "ms");
	add_answer(j, "ranges", row->ranges);
	add_answer(j, "two_tier", row->two_tier);
	json_text(j, "text", row->text);
	json_end(j);
}

static void print_check(unsigned nth, int width, const struct source *s, const struct check_row *row)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char http[40] = "";

	if (row->status && (row->http == 20 || row->http == 30))
		snprintf(http, sizeof(http), "HTTP/%d, %u ms", row->http / 10, row->ms);
	else if (row->status)
		snprintf(http, sizeof(http), "HTTP/%d.%d, %u ms", row->http / 10, row->http % 10, row->ms);
	printf("%2u. %-*s %s%-12s%s %-17s%s%s%s%s\n", nth, width, s->name, paint_word(row->state), row->state,
		paint(PAINT_END), http, row->ranges == 1 ? " ranges" : "", row->two_tier == 1 ? " two-tier" : "",
		row->text[0] ? " " : "", text_shown(row->text, true, &room));
}

static int print_checks(const struct sources *so, const struct check_row *rows, bool as_json)
{
	int width = name_width(so);
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	if (!as_json && so->n && paint_terminal())
		printf("    %s%-*s %-12s %s%s\n", paint(PAINT_HEAD), width, "NAME", "STATE", "ANSWER",
			paint(PAINT_END));
	for (unsigned i = 0; i < so->n; i++)
		if (as_json)
			add_check(&j, so->list[i], &rows[i]);
		else
			print_check(i + 1, width, so->list[i], &rows[i]);
	return json_finish(&j, as_json, EXIT_DONE);
}

/* Asks each source once. Records neither misses nor hosts that are down. */
static int run_check(const struct app *app, const struct sources *so)
{
	_cleanup_free_ struct check_row *rows = calloc(so->n ? so->n : 1, sizeof(*rows));
	bool refused = false, good = true;
	struct err e = {0};
	int status;

	if (!rows || check_sources(so, app->settings.lookup_deadline_ms, rows, &e) < 0)
		return cmd_say(EXIT_LOCAL, "%s", rows ? e.text : "out of memory");
	for (unsigned i = 0; i < so->n; i++) {
		if (rows[i].good && !rows[i].text[0])
			fetch_scan_saved(app->settings.cache_dir, so->list[i], rows[i].text);
		refused |= strcmp(rows[i].state, "refused") == 0 && !so->list[i]->kind->local;
		good &= rows[i].good;
	}
	status = print_checks(so, rows, app->args.json);
	if (!app->args.json && so->n == 0)
		cmd_say(0, "no source is in use; %s", no_source_advice(&app->args));
	if (!app->args.json && refused)
		cmd_say(0, NO_SOURCE_REFUSED);
	return status == EXIT_DONE && !good ? EXIT_UNASKED : status;
}

/* ---- presets ------------------------------------------------------------------------ */

static bool is_off(const struct conf_section *s)
{
	const char *enabled = conf_get(s, "enabled");

	return enabled && strcasecmp(enabled, "no") == 0;
}

static void add_preset(struct json *j, const struct conf_section *s, const char *where, bool enabled)
{
	json_begin_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "url", where);
	json_boolean(j, "enabled", enabled);
	json_end(j);
}

/* The servers that `--source NAME` enables. */
static int print_presets(const struct conf *c, bool as_json)
{
	unsigned n = 0;
	struct json j;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		_cleanup_buf_ struct buf where = BUF_UP_TO(8192), room = BUF_UP_TO(64 << 10);
		const char *url = conf_get(s, "url");
		const struct conf_section *used = conf_find(c, "source", s->name); /* the first one of a name */
		bool enabled = !is_off(used);

		if (!s->preset && (!is_off(s) || used != s))
			continue;
		url_without_credentials(url ? url : conf_get(s, "path") ? conf_get(s, "path") : "", &where);
		n++;
		if (as_json)
			add_preset(&j, s, buf_text(&where), enabled);
		else
			printf("%-14s %s%s\n", s->name, text_shown(buf_text(&where), true, &room),
				enabled ? "  (enabled)" : "");
	}
	if (!n && !as_json)
		cmd_say(0, "no preset is installed");
	return json_finish(&j, as_json, n || as_json ? EXIT_DONE : EXIT_NO);
}

static int run_sources(int argc, char **argv)
{
	struct app_args args;
	struct sources *so;
	struct app app;
	struct err e = {0};
	bool presets;
	int status = app_options(&args, &cmd_sources, NULL, &argc, argv), r;

	if (status >= 0)
		return status;
	presets = argc == 2 && strcmp(argv[1], "presets") == 0;
	if (argc > 2 || (argc == 2 && !presets && strcmp(argv[1], "check") != 0))
		return cmd_usage("expected check, presets, or no word");
	r = app_configure(&app, &args, &e);
	if (r == 0 && !presets)
		r = app_sources(&app, &so, &e);
	if (r < 0) {
		status = cmd_say(app_exit(r), "%s", e.text);
	} else if (presets) {
		status = print_presets(app.conf, args.json);
	} else {
		status = argc == 2 ? run_check(&app, so) : print_list(&app, so);
		sources_unref(so);
	}
	app_close(&app);
	return status;
}

const struct cmd cmd_sources = {
	.name = "sources",
	.args = "[check|presets] [--json]",
	.help = "Lists the sources in use, in order; or checks whether each is reachable.\n"
		"presets lists the servers that `--source NAME` enables",
	.examples = {"symfs sources",
		"symfs sources check"},
	.configured = true,
	.json = true,
	.run = run_sources,
};
