/* A source from its section of configuration, and what all kinds share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "source/sources.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>

const struct conf_field source_fields[] = {
	{"url", CONF_TEXT, offsetof(struct source_opts, url), NULL, "base URL of a server"},
	{"path", CONF_TEXT, offsetof(struct source_opts, path), NULL, "a directory instead"},
	{"type", CONF_TEXT, offsetof(struct source_opts, type), NULL, "http, debuginfod, dir"},
	{"layout", CONF_TEXT, offsetof(struct source_opts, layout), NULL,
		"how its files are laid out"},
	{"casing", CONF_TEXT, offsetof(struct source_opts, casing), "default",
		"default, lowercase, uppercase"},
	{"header", CONF_LIST, offsetof(struct source_opts, headers), NULL,
		"Name: value, sent to it"},
	{"filetypes", CONF_LIST, offsetof(struct source_opts, filetypes), NULL, "only these types"},
	{"enabled", CONF_BOOL, offsetof(struct source_opts, enabled), "yes", "ask it at all"},
	{"accept-invalid-certs", CONF_BOOL, offsetof(struct source_opts, accept_invalid_certs),
		"no", "do not verify TLS"},
	{"connect-timeout", CONF_MS, offsetof(struct source_opts, connect_ms), NULL, ""},
	{"stall-timeout", CONF_MS, offsetof(struct source_opts, stall_ms), NULL, ""},
	{"miss-lifetime", CONF_SECONDS, offsetof(struct source_opts, miss_seconds), NULL, ""},
	{"max-file-size", CONF_SIZE, offsetof(struct source_opts, max_file_size), NULL, ""},
	{0},
};

void source_ask_release(struct source_ask *a)
{
	free(a->where);
	a->where = NULL;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	conf_release(source_fields, &s->o);
	free(s->shown);
	free(s);
}

/* In the line that says it, or in that of its section. The command line has no lines. */
static int bad(const struct conf_section *c, struct err *e, const char *what, const char *value,
	const char *expected)
{
	unsigned line = c->line;
	char number[16] = "";

	for (const struct conf_entry *x = c->entries; x; x = x->next)
		if (strcmp(x->name, what) == 0)
			line = x->line;
	if (line)
		snprintf(number, sizeof(number), "%u:", line);
	return err_set(e, -EINVAL, "%.200s:%s [source \"%.60s\"]: %s = %.60s: expected %s", c->file,
		number, c->name, what, value, expected);
}

static int choose_kind(struct source *s, const struct conf_section *c, struct err *e)
{
	const char *type = s->o.type;

	if (!type)
		type = s->o.path					       ? "dir"
		       : s->o.layout && strcmp(s->o.layout, "debuginfod") == 0 ? "debuginfod"
									       : "http";
	s->kind = source_kind_find(type);
	if (!s->kind)
		return bad(c, e, "type", type, "http, debuginfod or dir");
	if (s->kind->local != (s->o.path != NULL))
		return bad(c, e, "type", type,
			s->o.path ? "dir for a path" : "http or debuginfod for a url");
	return 0;
}

static int choose_layout(struct source *s, const struct conf_section *c, struct err *e)
{
	const char *name = s->o.layout ? s->o.layout : s->kind->layout;
	int casing = casing_find(s->o.casing);

	s->layout = layout_find(name);
	if (!s->layout)
		return bad(c, e, "layout", name,
			"gdb lldb symstore symstore_index2 ssqp breakpad debuginfod unified "
			"slashsymbols native perf");
	if (casing < 0)
		return bad(c, e, "casing", s->o.casing, "default, lowercase or uppercase");
	s->casing = (enum casing)casing;
	return 0;
}

/* "elf_code elf_debug", also separated by commas, also several lines. */
static int choose_types(struct source *s, const struct conf_section *c, struct err *e)
{
	if (!s->o.filetypes) {
		s->types = UINT64_MAX;
		return 0;
	}
	for (char **line = s->o.filetypes; *line; line++)
		for (const char *p = *line; *p;) {
			size_t n = strcspn(p, ", ");
			char word[40];
			enum filetype t;

			snprintf(word, sizeof(word), "%.*s", (int)MIN(n, sizeof(word) - 1), p);
			t = filetype_find(word);
			if (n && t == FILETYPE_NONE)
				return bad(c, e, "filetypes", word,
					"file types such as elf_code elf_debug pdb");
			if (n)
				s->types |= 1ull << t;
			p += n;
			p += strspn(p, ", ");
		}
	return 0;
}

static int check_headers(const struct source *s, const struct conf_section *c, struct err *e)
{
	for (char **h = s->o.headers; h && *h; h++)
		if (!strchr(*h, ':') || **h == ':' || strpbrk(*h, "\r\n"))
			return bad(c, e, "header", "(not shown)", "Name: value");
	return 0;
}

/* file:// is a directory; http(s) needs a host. */
static int choose_place(struct source *s, const struct conf_section *c, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	char *path;

	if (!s->o.url == !s->o.path)
		return err_set(e, -EINVAL, "%.200s:%u: [source \"%.60s\"] needs either url or path",
			c->file, c->line, c->name);
	if (s->o.url && strncmp(s->o.url, "file://", 7) == 0) {
		s->o.path = strdup(s->o.url + 7);
		free(s->o.url);
		s->o.url = NULL;
		if (!s->o.path)
			return -ENOMEM;
	}
	if (s->o.url) {
		if (net_origin(s->o.url, s->origin) < 0)
			return bad(c, e, "url", "(not shown)",
				"http://HOST/…, https://HOST/… or file:///…");
		if (url_without_credentials(s->o.url, &shown) < 0)
			return -ENOMEM;
		s->shown = buf_take(&shown, NULL);
		return s->shown ? 0 : -ENOMEM;
	}
	path = path_absolute(s->o.path);
	free(s->o.path);
	s->o.path = path;
	s->shown = path ? strdup(path) : NULL;
	return s->shown ? 0 : -ENOMEM;
}

/* A URL that was mistyped answers 404 to everything: once it is mended, nothing of that counts. */
static void choose_memory(struct source *s)
{
	const char *where = s->o.url ? s->o.url : s->o.path;
	uint64_t h = hash_mix(where, strlen(where)) ^
		     hash_mix(s->layout->name, strlen(s->layout->name)) * 31;

	snprintf(s->memory, sizeof(s->memory), "%.54s#%08x", s->name, (unsigned)(h ^ s->casing));
}

void source_name_of_memory(char *memory)
{
	char *hash = strrchr(memory, '#');

	if (hash && strlen(hash) == 9)
		*hash = '\0';
}

static int source_init(struct source *s, const struct conf_section *c, struct err *e)
{
	int r = conf_defaults(source_fields, &s->o);

	if (r == 0)
		r = conf_fill(c, source_fields, &s->o, e);
	if (r == 0)
		r = choose_place(s, c, e);
	if (r == 0)
		r = choose_kind(s, c, e);
	if (r == 0)
		r = choose_layout(s, c, e);
	if (r == 0)
		choose_memory(s);
	if (r == 0)
		r = choose_types(s, c, e);
	return r == 0 ? check_headers(s, c, e) : r;
}

static void take_defaults(struct source_opts *o, const struct source_opts *d)
{
	if (!o->connect_ms)
		o->connect_ms = d->connect_ms;
	if (!o->stall_ms)
		o->stall_ms = d->stall_ms;
	if (!o->miss_seconds)
		o->miss_seconds = d->miss_seconds;
	if (!o->max_file_size)
		o->max_file_size = d->max_file_size;
}

int source_new(struct source **out, const struct conf_section *c,
	const struct source_opts *defaults, struct err *e)
{
	struct source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%.63s", c->name);
	r = source_init(s, c, e);
	take_defaults(&s->o, defaults);
	if (r < 0) {
		source_free(s);
		return r;
	}
	*out = s;
	return 0;
}

int source_plan(
	const struct source *s, const struct artifact *a, unsigned nth, struct source_ask *out)
{
	out->where = NULL;
	return s->kind->plan(s, a, nth, out);
}

int source_request(const struct source *s, const struct source_ask *a, struct net_req *out)
{
	size_t n = 0;

	*out = (struct net_req){
		.connect_ms = s->o.connect_ms,
		.stall_ms = s->o.stall_ms,
		.most = s->o.max_file_size,
		.insecure = s->o.accept_invalid_certs,
	};
	while (s->o.headers && s->o.headers[n])
		n++;
	out->url = strdup(a->where);
	out->headers = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; out->headers && i < n; i++)
		out->headers[i] = strdup(s->o.headers[i]);
	if (out->url && out->headers)
		return 0;
	net_req_release(out);
	return -ENOMEM;
}
