/* Reads sources from variables of other programs: DEBUGINFOD_URLS, _NT_SYMBOL_PATH and related ones. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/places.h"
#include "source/source.h"
#include "source/symbol-path.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEADERS_MOST (64 << 10)
#define CONNECT_SECONDS 4 /* the default connect-timeout; a shorter DEBUGINFOD_TIMEOUT replaces it */

/* Logs a word that is skipped, without its password: a mistyped URL can contain a password, too. */
static void log_skipped(const char *from, const char *word, const char *expected)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);

	url_for_message(word, &shown);
	log_warn("%s: \"%.100s\" is %s: skipped", from, buf_text(&shown), expected);
}

/* ---- debuginfod --------------------------------------------------------------------- */

/* The settings of debuginfod's client, for all of its servers. */
struct client {
	uint64_t timeout, size; /* seconds, bytes; 0: not set */
	char *headers;		/* the text of the headers file; NULL: not set */
};

/* The number in a variable; 0: not set, or not a number, which is logged. */
static uint64_t number_of(const char *variable)
{
	const char *value = getenv(variable);
	uint64_t n = 0;
	const char *p;

	if (!value || !*value)
		return 0;
	for (p = value; *p >= '0' && *p <= '9' && n < UINT64_MAX / 100; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (!*p)
		return n;
	log_warn("%s: \"%.60s\" is not a number: ignored", variable, value);
	return 0;
}

static void client_read(struct client *c)
{
	const char *headers = getenv("DEBUGINFOD_HEADERS_FILE");
	int r;

	memset(c, 0, sizeof(*c));
	c->timeout = number_of("DEBUGINFOD_TIMEOUT");
	c->size = number_of("DEBUGINFOD_MAXSIZE");
	if (!headers || !*headers)
		return;
	r = path_read(AT_FDCWD, headers, HEADERS_MOST, &c->headers, NULL);
	if (r < 0)
		log_warn("DEBUGINFOD_HEADERS_FILE: %s: %s", headers, err_text(r));
}

/* Adds a line of the headers file. A warning about a bad line gives only the line's number, because the line can
 * contain a password. */
static int add_header(struct conf_section *s, char *line, unsigned number)
{
	size_t n = strlen(line);

	while (n && strchr(" \t\r", line[n - 1]))
		line[--n] = '\0';
	line += strspn(line, " \t");
	if (!*line)
		return 0;
	if (*line != ':' && strchr(line, ':') && !strpbrk(line, "\r"))
		return conf_set(s, "header", line, 0);
	log_warn("DEBUGINFOD_HEADERS_FILE: line %u is not \"Name: value\": skipped", number);
	return 0;
}

static int add_headers(struct conf_section *s, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;
	unsigned number = 0;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (line = strsep(&rest, "\n")))
		r = add_header(s, line, ++number);
	return r;
}

static int set_number(struct conf_section *s, const char *key, uint64_t n, const char *unit)
{
	char text[40];

	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)n, unit);
	return conf_set(s, key, text, 0);
}

/* Writes the settings into the section of a source. A directory source does not get these settings, because they are
 * for downloads. */
static int client_apply(const struct client *c, struct conf_section *s)
{
	int r = 0;

	if (!conf_get(s, "url") || strncmp(conf_get(s, "url"), "file:", 5) == 0)
		return 0;
	if (c->timeout)
		r = set_number(s, "stall-timeout", MIN(c->timeout, 86400), "s");
	if (r == 0 && c->timeout && c->timeout < CONNECT_SECONDS)
		r = set_number(s, "connect-timeout", c->timeout, "s");
	if (r == 0 && c->size)
		r = set_number(s, "max-file-size", c->size, "");
	if (r == 0 && c->size) {
		char line[64];

		snprintf(line, sizeof(line), "X-DEBUGINFOD-MAXSIZE: %llu",
			(unsigned long long)c->size);
		r = conf_set(s, "header", line, 0);
	}
	return r == 0 && c->headers ? add_headers(s, c->headers) : r;
}

static const char *not_url(const char *word)
{
	return strstr(word, "://") && !url_is_clear(word)
		? "an ambiguous URL (in a password, / ? # @ are %2F %3F %23 %40)"
		: "not a URL of http, https or file";
}

static bool is_url(const char *word)
{
	char origin[NET_HOST_MAX];

	return strncmp(word, "file:///", 8) == 0 || (url_is_clear(word) && net_origin(word, origin) == 0);
}

static int add_server(struct conf *c, const struct client *client, const char *url, const char *from)
{
	struct conf_section *s;
	int r;

	if (!is_url(url)) {
		log_skipped(from, url, not_url(url));
		return 0;
	}
	r = place_add(c, false, "debuginfod", url, from, &s);
	return r == 0 ? client_apply(client, s) : r;
}

/* Adds a source for each of `urls`, which are separated by blanks. Words `ima:…` are for debuginfod's client only. */
static int add_servers(struct conf *c, const struct client *client, const char *urls, const char *from)
{
	int r = 0;

	while (r == 0 && *urls) {
		size_t n = strcspn(urls, " \t\r\n");
		_cleanup_free_ char *url = strndup(urls, n);

		if (!url)
			return -ENOMEM;
		if (n && strncmp(url, "ima:", 4) != 0)
			r = add_server(c, client, url, from);
		urls += n;
		urls += strspn(urls, " \t\r\n");
	}
	return r;
}

static int add_url_files(struct conf *c, const struct client *client)
{
	glob_t g;
	int r = 0;

	if (glob("/etc/debuginfod/*.urls", 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) {
		_cleanup_free_ char *text = NULL;

		if (path_read(AT_FDCWD, g.gl_pathv[i], 64 << 10, &text, NULL) == 0)
			r = add_servers(c, client, text, g.gl_pathv[i]);
	}
	globfree(&g);
	return r;
}

static int add_debuginfod(struct conf *c)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct client client;
	int r;

	client_read(&client);
	r = urls ? add_servers(c, &client, urls, "DEBUGINFOD_URLS") : add_url_files(c, &client);
	free(client.headers);
	return r;
}

/* ---- symbol paths ------------------------------------------------------------------- */

#define DEFAULT_SERVER "https://msdl.microsoft.com/download/symbols"

struct adding {
	struct conf *c;
	const char *from;
};

/* The layout of a symbol store. A store with the file index2.txt has two tiers. */
static const char *store_layout(const char *dir)
{
	_cleanup_free_ char *index2 = NULL;
	struct stat st;

	if (asprintf(&index2, "%s/index2.txt", dir) < 0) {
		index2 = NULL;
		return "symstore";
	}
	return stat(index2, &st) == 0 ? "symstore_index2" : "symstore";
}

static int add_symbol_place(void *ctx, const struct symbol_place *p)
{
	const struct adding *a = ctx;
	const char *layout = p->debuginfod ? "debuginfod" : "symstore", *where = p->where;

	switch (p->kind) {
	case SYMBOL_DEFAULT:
		return place_add(a->c, false, layout, DEFAULT_SERVER, a->from, NULL);
	case SYMBOL_DIR:
		if (access(where, F_OK) < 0)
			log_debug(LOG_CONF, "%s: %s does not exist", a->from, where);
		if (!p->debuginfod)
			layout = store_layout(where);
		return place_add(a->c, false, layout, where, a->from, NULL);
	case SYMBOL_URL:
		if (is_url(where))
			return place_add(a->c, false, layout, where, a->from, NULL);
		break;
	case SYMBOL_SHARE:
		log_warn("%s: %.100s: shares are not supported; mount the share and name its directory: "
			 "skipped", a->from, where);
		return 0;
	case SYMBOL_DRIVE:
	case SYMBOL_NONSENSE:
		break;
	}
	log_skipped(a->from, where, "neither a URL nor a path of this system");
	return 0;
}

int places_environment(struct conf *c, struct err *e)
{
	static const char *const paths[] = {"_NT_SYMBOL_PATH", "_NT_ALT_SYMBOL_PATH"};
	int r = add_debuginfod(c);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++) {
		struct adding a = {c, paths[i]};

		if (getenv(paths[i]))
			r = symbol_path_parse(getenv(paths[i]), add_symbol_place, &a);
	}
	return r == 0 ? 0 : err_set(e, r, "out of memory");
}
