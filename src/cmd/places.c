/* Files, presets, words and variables that name sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/places.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "layout/layout.h"
#include "source/source.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files -------------------------------------------------------------------------- */

static int read_optional(struct conf *c, const char *path, struct err *e)
{
	int r = conf_read(c, path, e);

	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static char *user_file(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct buf b = BUF_UP_TO(8192);

	if (xdg && xdg[0] == '/')
		buf_addf(&b, "%s/symfs/symfs.conf", xdg);
	else if (home && home[0] == '/')
		buf_addf(&b, "%s/.config/symfs/symfs.conf", home);
	return buf_take(&b, NULL);
}

static int read_glob(struct conf *c, const char *pattern, struct err *e)
{
	glob_t g;
	int r = 0;

	if (glob(pattern, 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++)
		r = read_optional(c, g.gl_pathv[i], e);
	globfree(&g);
	return r;
}

int places_read(struct conf *c, struct err *e)
{
	_cleanup_free_ char *user = user_file();
	int r = user && user[0] ? read_optional(c, user, e) : 0;

	if (r == 0)
		r = read_optional(c, SYSCONFDIR "/symfs/symfs.conf", e);
	if (r == 0)
		r = read_glob(c, SYSCONFDIR "/symfs/sources.d/*.conf", e);
	return r == 0 ? read_glob(c, PKGDATADIR "/sources.d/*.conf", e) : r;
}

char *place_cache(void)
{
	const char *systemd = getenv("CACHE_DIRECTORY"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	struct buf b = BUF_UP_TO(8192);

	if (systemd && systemd[0] == '/')
		buf_add(&b, systemd, strcspn(systemd, ":"));
	else if (xdg && xdg[0] == '/')
		buf_addf(&b, "%s/symfs", xdg);
	else if (home && home[0] == '/')
		buf_addf(&b, "%s/.cache/symfs", home);
	else
		buf_adds(&b, "/var/cache/symfs");
	return buf_take(&b, NULL);
}

/* ---- words -------------------------------------------------------------------------- */

/* "symstore@https://…": a layout only when what stands before the first @ is the name of one. */
static const char *split_layout(const char *word, char layout[static 40])
{
	const char *at = strchr(word, '@');
	size_t n = at ? (size_t)(at - word) : 0;

	layout[0] = '\0';
	if (!at || n >= 40)
		return word;
	snprintf(layout, 40, "%.*s", (int)n, word);
	if (layout_find(layout))
		return at + 1;
	layout[0] = '\0';
	return word;
}

/* A directory's layout, by what lies in it. */
static const char *guess_layout(const char *path)
{
	_cleanup_free_ char *buildid = NULL;
	struct stat st;

	if (asprintf(&buildid, "%s/buildid", path) < 0)
		return "gdb";
	return stat(buildid, &st) == 0 ? "debuginfod" : "gdb";
}

/* The name under which misses are remembered: it must say where, and nothing secret. */
static void name_of(const char *layout, const char *where, char name[static 64])
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);

	url_without_credentials(where, &shown);
	/* Two that begin alike are two: one of a name that exists is left out. */
	if ((size_t)snprintf(name, 64, "%s@%s", layout, buf_text(&shown)) >= 64)
		snprintf(name, 64, "%s@%.30s...%08x", layout, buf_text(&shown),
			(unsigned)hash_mix(where, strlen(where)));
	for (char *p = name; *p; p++)
		if (*p == '"' || (unsigned char)*p < 0x20)
			*p = '_';
}

static int add_place(
	struct conf *c, bool first, const char *layout, const char *where, const char *from)
{
	bool url = strstr(where, "://") != NULL;
	struct conf_section *s;
	char name[64];
	int r;

	if (!layout[0])
		layout = url ? "native" : guess_layout(where);
	name_of(layout, where, name);
	s = first ? conf_add_first(c, "source", name, from) : conf_add(c, "source", name, from);
	if (!s)
		return -ENOMEM;
	r = conf_set(s, url ? "url" : "path", where, 0);
	return r == 0 ? conf_set(s, "layout", layout, 0) : r;
}

static const struct conf_section *find_preset(const struct conf *c, const char *name)
{
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static int unknown_preset(const struct conf *c, const char *name, struct err *e)
{
	_cleanup_buf_ struct buf known = BUF_UP_TO(300);

	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));)
		buf_addf(&known, " %s", s->name);
	return err_set(e, -EINVAL,
		"--source %.60s: neither a URL, a path, nor a configured source (known:%s)", name,
		known.n ? buf_text(&known) : " none");
}

/* A configured source by its name: its section again, in front and switched on. */
static int add_preset(struct conf *c, const char *name, struct err *e)
{
	const struct conf_section *preset = find_preset(c, name);
	struct conf_section *s;
	int r = 0;

	if (!preset)
		return unknown_preset(c, name, e);
	s = conf_add_first(c, "source", name, preset->file);
	if (!s)
		return -ENOMEM;
	s->line = preset->line;
	for (const struct conf_entry *x = preset->entries; r == 0 && x; x = x->next)
		r = conf_set(s, x->name, x->value, x->line);
	return r == 0 ? conf_set(s, "enabled", "yes", preset->line) : r;
}

int places_command_line(struct conf *c, const char *const *words, unsigned n, struct err *e)
{
	int r = 0;

	/* Backwards, because each goes to the front. */
	while (r == 0 && n--) {
		char layout[40];
		const char *where = split_layout(words[n], layout);

		if (strstr(where, "://") || strchr(where, '/') || where[0] == '.')
			r = add_place(c, true, layout, where, "command line");
		else
			r = add_preset(c, where, e);
	}
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

const struct conf_section *places_last(const struct conf *c, unsigned n)
{
	const struct conf_section *s = NULL;

	while (n--)
		s = conf_next(c, "source", s);
	return s;
}

/* ---- variables ---------------------------------------------------------------------- */

/* A mistake in a variable, which may be meant for other programs, costs that word alone. */
static bool is_url(const char *word)
{
	char origin[NET_HOST_MAX];

	return strncmp(word, "file:///", 8) == 0 || net_origin(word, origin) == 0;
}

/* URLs with blanks between; `ima:…` words are the client's own business. */
static int add_debuginfod(struct conf *c, const char *urls, const char *from)
{
	int r = 0;

	while (r == 0 && *urls) {
		size_t n = strcspn(urls, " \t\r\n");
		_cleanup_free_ char *url = strndup(urls, n);

		if (!url)
			return -ENOMEM;
		if (n && strncmp(url, "ima:", 4) != 0) {
			if (is_url(url))
				r = add_place(c, false, "debuginfod", url, from);
			else
				log_warn("%s: \"%.100s\" is no URL of http, https or file: skipped",
					from, url);
		}
		urls += n;
		urls += strspn(urls, " \t\r\n");
	}
	return r;
}

static int add_url_files(struct conf *c)
{
	glob_t g;
	int r = 0;

	if (glob("/etc/debuginfod/*.urls", 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) {
		_cleanup_free_ char *text = NULL;

		if (path_read(AT_FDCWD, g.gl_pathv[i], 64 << 10, &text, NULL) == 0)
			r = add_debuginfod(c, text, g.gl_pathv[i]);
	}
	globfree(&g);
	return r;
}

/* One store of a symbol path: a URL, a directory, or what this system cannot reach. */
static int add_symbol_store(struct conf *c, const char *where, const char *from)
{
	if (where[0] == '/' || is_url(where))
		return add_place(c, false, "symstore", where, from);
	if (where[0])
		log_warn("%s: \"%.100s\" is neither a URL nor a path of this system: skipped", from,
			where);
	return 0;
}

/* Elements between semicolons, each a directory or a chain of stores between asterisks: every
 * store that is named counts, in order. */
static int add_symbol_path(struct conf *c, const char *value, const char *from)
{
	_cleanup_free_ char *copy = strdup(value);
	char *save = NULL;
	int r = copy ? 0 : -ENOMEM;

	for (char *element = copy ? strtok_r(copy, ";", &save) : NULL; r == 0 && element;
		element = strtok_r(NULL, ";", &save)) {
		char *inner = NULL;

		for (char *store = strtok_r(element, "*", &inner); r == 0 && store;
			store = strtok_r(NULL, "*", &inner))
			if (strcasecmp(store, "srv") != 0 && strcasecmp(store, "cache") != 0 &&
				strcasecmp(store, "symsrv") != 0 &&
				strcasecmp(store, "symsrv.dll") != 0)
				r = add_symbol_store(c, store, from);
	}
	return r;
}

int places_environment(struct conf *c, struct err *e)
{
	static const char *const paths[] = {"_NT_SYMBOL_PATH", "_NT_ALT_SYMBOL_PATH"};
	const char *urls = getenv("DEBUGINFOD_URLS");
	int r = urls ? add_debuginfod(c, urls, "DEBUGINFOD_URLS") : add_url_files(c);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++)
		if (getenv(paths[i]))
			r = add_symbol_path(c, getenv(paths[i]), paths[i]);
	return r == 0 ? 0 : err_set(e, r, "out of memory");
}
