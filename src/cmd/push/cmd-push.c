/* symfs push: uploads debug files to a server that accepts uploads; sends only what the server lacks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/push/push.h"
#include "net/request.h"
#include "source/sources.h"
#include "source/url.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_MOST 1024
#define QUERY_MOST 4000
#define BATCH_BYTES (4ull << 30) /* a batch has no more than these bytes, or one file */
#define WORD_MOST 200

/* ---- the command line ----------------------------------------------------------------------- */

/* Takes the certificates, headers and other ways of the configured source that the word names, or that is at the
 * server of the URL. Writes the URL of a source that is named; free() it. 0, -1. */
static int take_source(struct push *p, const struct app_args *args, const char *word, const char *origin,
	char **url)
{
	struct sources *so = NULL;
	struct err e = {0};
	struct app app;
	int r = app_configure(&app, args, &e);

	if (r == 0)
		r = app_sources(&app, &so, &e);
	for (unsigned i = 0; so && i < so->n; i++) {
		const struct source *s = so->list[i];
		struct source_ask ask = {.where = s->o.url};
		bool named = strcmp(s->name, word) == 0;

		if (s->kind->local || s->kind->sign || !(named || (origin[0] && strcmp(s->origin, origin) == 0)))
			continue;
		*url = named ? strdup(s->o.url) : NULL;
		r = source_request(s, &ask, &p->way);
		break;
	}
	if (so)
		sources_unref(so);
	app_close(&app);
	return r < 0 ? push_fail(p, EXIT_USAGE, "%s", err_why(&e, r)) : 0;
}

/* A URL of http or https, "unix:PATH", or the name of a source. */
static int take_url(struct push *p, const struct app_args *args, const char *word)
{
	bool local = strncmp(word, "unix:", 5) == 0;
	char origin[NET_HOST_MAX] = "";
	_cleanup_free_ char *url = NULL;
	size_t n;

	if (!local && (net_origin(word, origin) < 0 || word[strcspn(word, "?#")]))
		origin[0] = '\0';
	if (!local && take_source(p, args, word, origin, &url) < 0)
		return -1;
	if (!local && !url && !origin[0])
		return push_fail(p, EXIT_USAGE, "%.200s: expected the URL of a server, such as "
			"https://symbols.example, unix:PATH, or the name of a source, as `symfs sources` lists them",
			word);
	p->unix_path = local ? strdup(word + 5) : NULL;
	p->base = url ? take(url) : strdup(local ? "http://localhost" : word);
	if (!p->base || (local && !p->unix_path))
		return push_fail(p, EXIT_LOCAL, "out of memory");
	n = strlen(p->base);
	while (n && p->base[n - 1] == '/')
		p->base[--n] = '\0';
	return url_without_credentials(p->base, &p->where) < 0 ? push_fail(p, EXIT_LOCAL, "out of memory") : 0;
}

/* The first line of the file. */
static int take_token(struct push *p, const char *file)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0, good = 0;
	int r = path_read(AT_FDCWD, file, TOKEN_MOST, &text, &n);

	if (r < 0)
		return push_fail(p, EXIT_USAGE, "--token-file %.300s: %s", file, err_text(r));
	text[strcspn(text, "\r\n")] = '\0';
	while (text[good] > ' ' && text[good] < 0x7f)
		good++;
	if (!good || text[good])
		return push_fail(p, EXIT_USAGE, "--token-file %.300s: expected a token in the first line", file);
	return asprintf(&p->header, "Authorization: Bearer %s", text) < 0 ? push_fail(p, EXIT_LOCAL, "out of memory")
		: 0;
}

static int add_query(struct buf *query, const char *name, const char *value)
{
	buf_addf(query, "%s%s=", query->n ? "&" : "?", name);
	return url_add_value(query, value);
}

struct words {
	const char *token_file, *class, *expires;
	struct opt_words labels;
};

/* The server judges classes, ages and labels: it knows its own. */
static int take_words(struct push *p, const struct words *w, struct buf *query)
{
	int r = 0;

	if (w->class && (!*w->class || strlen(w->class) > WORD_MOST))
		return push_fail(p, EXIT_USAGE, "--class %.100s: expected the name of a class", w->class);
	if (w->class)
		r = add_query(query, "class", w->class);
	if (w->expires && !w->expires[strspn(w->expires, "0123456789")])
		return push_fail(p, EXIT_USAGE, "--expires %.60s: expected a number with a unit, as in 90d or 12h",
			w->expires);
	if (r == 0 && w->expires)
		r = add_query(query, "expires", w->expires);
	for (unsigned i = 0; r == 0 && i < w->labels.n; i++) {
		if (w->labels.word[i][0] == '=' || !strchr(w->labels.word[i], '='))
			return push_fail(p, EXIT_USAGE, "--label %.100s: expected NAME=VALUE", w->labels.word[i]);
		r = add_query(query, "label", w->labels.word[i]);
	}
	if (r < 0)
		return push_fail(p, EXIT_USAGE, "the labels are too long");
	p->query = buf_text(query);
	return w->token_file ? take_token(p, w->token_file) : 0;
}

/* ---- the run ---------------------------------------------------------------------------------- */

static struct push *interrupted;

static void on_signal(int sig)
{
	atomic_store(&interrupted->stop, true);
}

static int run_batches(struct push *p)
{
	size_t to;

	for (size_t from = 0; from < p->n_files; from = to) {
		uint64_t bytes = p->files[from].size;

		for (to = from + 1; to < p->n_files && to - from < PUSH_BATCH; to++) {
			bytes += p->files[to].size;
			if (bytes > BATCH_BYTES)
				break;
		}
		if (push_hash(p, from, to) < 0)
			return -1;
		if (atomic_load(&p->stop))
			return push_fail(p, EXIT_INTERRUPTED, "interrupted");
		if (push_batch(p, from, to) < 0)
			return -1;
	}
	return 0;
}

static void push_run(struct push *p, int n, char **words)
{
	const struct sigaction act = {.sa_handler = on_signal};
	struct sigaction was;
	int r;

	interrupted = p;
	sigaction(SIGINT, &act, &was);
	r = push_ask(p);
	for (int i = 0; r == 0 && i < n; i++)
		r = push_find(p, words[i]);
	if (r == 0)
		run_batches(p);
	progress_erase(&p->progress);
	sigaction(SIGINT, &was, NULL);
	if (p->status < EXIT_USAGE || p->added + p->present + p->refused)
		printf("added %" PRIu64 ", present %" PRIu64 ", refused %" PRIu64 ", skipped %" PRIu64
			"; sent %.1f MB\n",
			p->added, p->present, p->refused, p->skipped, (double)atomic_load(&p->sent) / 1e6);
}

static void push_files_release(struct push *p)
{
	for (size_t i = 0; i < p->n_files; i++) {
		free(p->files[i].path);
		free(p->files[i].chunks);
	}
	free(p->files);
	p->files = NULL;
	p->n_files = 0;
}

static int run_push(int argc, char **argv)
{
	struct push p = {.query = "", .where = BUF_UP_TO(16 << 10)};
	const char *ca = NULL;
	_cleanup_buf_ struct buf query = BUF_UP_TO(QUERY_MOST);
	struct words w = {0};
	const struct opt own[] = {
		{"ca", 0, "FILE", "trust the certificates in FILE", &ca},
		{"class", 0, "CLASS", "how long the files stay: a class of the server", &w.class},
		{"expires", 0, "AGE", "another age than that of the class: 30d", &w.expires},
		{"label", 0, "NAME=VALUE", "a label of the files; repeatable", NULL, &w.labels},
		{"token-file", 0, "FILE", "send the token in the first line of FILE", &w.token_file},
		{"verbose", 'v', NULL, "print a line for each file", &p.verbose},
		{0},
	};
	struct app_args args;
	int status = app_options(&args, &cmd_push, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc < 3)
		return cmd_usage("expected a URL or a source, and a file or directory");
	if (take_url(&p, &args, argv[1]) == 0 && take_words(&p, &w, &query) == 0) {
		if (ca) {
			free(p.way.ca_file);
			p.way.ca_file = strdup(ca);
		}
		push_run(&p, argc - 2, argv + 2);
	}
	net_req_release(&p.way);
	buf_release(&p.where);
	push_files_release(&p);
	free(p.base);
	free(p.unix_path);
	free(p.header);
	return cmd_flush(p.status);
}

const struct cmd cmd_push = {
	.name = "push",
	.args = "[OPTIONS] URL|SOURCE FILE|DIR...",
	.help = "Uploads debug files and programs to a server that runs `symfs serve --upload`.\n"
		"A configured SOURCE gives the URL, the certificates and the token. With a URL,\n"
		"a configured source at the same server gives its certificates and token. The\n"
		"command sends only the parts that the server does not have, on several\n"
		"connections, and resumes an interrupted push. It takes the debug files and\n"
		"programs in a DIR; it sends an archive only if an argument names the archive",
	.examples = {"symfs push --token-file token https://symbols.example build/",
		"symfs push --class try http://127.0.0.1:8737 prog.debug"},
	.configured = true,
	.run = run_push,
};
