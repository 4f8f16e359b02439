/* Finds configuration files, presets and the sources that --source names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/places.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "names/layout/layout.h"
#include "source/kinds.h"
#include "source/sources.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files -------------------------------------------------------------------------- */

static int read_optional(struct conf *c, const char *path, struct err *e)
{
	int r = conf_read(c, path, NULL, 0, e);

	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

char *place_user_file(void)
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

int places_presets(struct conf *c, struct err *e)
{
	const struct conf_section *last = conf_last(c);
	int r = read_glob(c, PKGDATADIR "/sources.d/*.conf", e);

	conf_mark_presets(c, last);
	return r;
}

int places_read(struct conf *c, struct err *e)
{
	_cleanup_free_ char *user = place_user_file();
	int r = user && user[0] ? read_optional(c, user, e) : 0;

	if (r == 0)
		r = read_optional(c, SYSCONFDIR "/symfs/symfs.conf", e);
	if (r == 0)
		r = read_glob(c, SYSCONFDIR "/symfs/sources.d/*.conf", e);
	return r == 0 ? places_presets(c, e) : r;
}

/* ---- words -------------------------------------------------------------------------- */

/* Splits "symstore@https://…" if the text before the first @ is the name of a layout. Otherwise the whole
 * word is the place. */
static const char *split_layout(const char *word, char layout[static 40])
{
	const char *at = strchr(word, '@');
	size_t n = at ? (size_t)(at - word) : 0;

	layout[0] = '\0';
	if (!at || n >= 40)
		return word;
	snprintf(layout, 40, "%.*s", (int)n, word);
	if (layout_find(layout) || strcmp(layout, source_anywhere.name) == 0)
		return at + 1;
	layout[0] = '\0';
	return word;
}

static bool holds(const char *path, const char *name)
{
	_cleanup_free_ char *whole = NULL;
	struct stat st;

	return asprintf(&whole, "%s/%s", path, name) >= 0 && stat(whole, &st) == 0;
}

/* The layout of a directory, guessed from the directory's content. */
static const char *guess_layout(const char *path)
{
	return holds(path, "buildid") ? "debuginfod" : holds(path, ".build-id") ? "gdb" : source_anywhere.name;
}

int places_directories(struct conf *c)
{
	int r = 0;

	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "source", s));) {
		const char *url = conf_get(s, "url");

		if (url && url[0] == '/' && !conf_get(s, "layout") && !conf_get(s, "type") && !conf_get(s, "kind"))
			r = conf_set((struct conf_section *)s, "layout", guess_layout(url), 0);
	}
	return r;
}

/* Makes the name of a source, under which the store records misses. The name identifies the place, and contains no
 * secrets. */
static void name_of(const char *layout, const char *where, char name[static 64])
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);

	/* A URL that is not clear can contain a password anywhere: use the text for messages. */
	if (url_is_meant(where) && !url_is_clear(where))
		url_for_message(where, &shown);
	else
		url_without_credentials(where, &shown);
	/* A hash distinguishes long names: the second of two sources with the same name would not be used. */
	if ((size_t)snprintf(name, 64, "%s@%s", layout, buf_text(&shown)) >= 64)
		snprintf(name, 64, "%s@%.30s...%08x", layout, buf_text(&shown),
			(unsigned)hash_mix(buf_text(&shown), shown.n));
	for (char *p = name; *p; p++)
		if (*p == '"' || (unsigned char)*p < 0x20)
			*p = '_';
}

/* 0, -ENOMEM */
static int copy_entries(struct conf_section *s, const struct conf_section *from)
{
	int r = 0;

	for (const struct conf_entry *x = from->entries; r == 0 && x; x = x->next)
		r = conf_set_from(s, x->name, x->value, x->file ? x->file : from->file, x->line);
	return r == 0 ? conf_set(s, "enabled", "yes", from->line) : r;
}

/* Finds the section of a source that has this URL. Presets do not count. NULL: no section has the URL. */
static const struct conf_section *find_url(const struct conf *c, const char *url)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		const char *have = s->preset ? NULL : conf_get(s, "url");

		if (have && strncmp(have, url, n) == 0 && !have[n + strspn(have + n, "/")])
			return s;
	}
	return NULL;
}

int place_add(struct conf *c, bool first, const char *layout, const char *where, const char *from,
	struct conf_section **out)
{
	bool url = strstr(where, "://") != NULL;
	const struct conf_section *same = first && url ? find_url(c, where) : NULL;
	struct conf_section *s;
	char name[64];
	int r;

	if (!layout[0])
		layout = url ? "native" : guess_layout(where);
	name_of(layout, where, name);
	s = conf_add(c, "source", name, from, first);
	if (!s)
		return -ENOMEM;
	r = same ? copy_entries(s, same) : 0;
	if (r == 0)
		r = conf_set(s, url ? "url" : "path", where, 0);
	if (r == 0)
		r = conf_set(s, "layout", layout, 0);
	if (r == 0 && out)
		*out = s;
	return r;
}

static int unknown_preset(const struct conf *c, const char *name, struct err *e)
{
	_cleanup_buf_ struct buf known = BUF_UP_TO(300), shown = BUF_UP_TO(8192);

	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));)
		buf_addf(&known, " %s", s->name);
	return err_set(e, -EINVAL,
		"--source %.60s: neither a URL, a path, nor a configured source (known:%s)",
		url_for_message(name, &shown) == 0 ? buf_text(&shown) : "", known.n ? buf_text(&known) : " none");
}

/* Moves the section of a configured source to the front, and enables it. */
static int add_preset(struct conf *c, const char *name, struct err *e)
{
	const struct conf_section *preset = conf_find(c, "source", name);
	struct conf_section *s;

	if (!preset)
		return unknown_preset(c, name, e);
	s = conf_add(c, "source", name, preset->file, true);
	if (!s)
		return -ENOMEM;
	s->line = preset->line;
	return copy_entries(s, preset);
}

static bool is_place(const char *where)
{
	return strstr(where, "://") || strchr(where, '/') || where[0] == '.';
}

const char *place_path(const char *word)
{
	char layout[40];
	const char *where = split_layout(word, layout);

	return is_place(where) && !strstr(where, "://") ? where : NULL;
}

bool place_is_native_url(const char *word)
{
	char layout[40];
	const char *where = split_layout(word, layout);

	return !layout[0] && (strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0);
}

int places_command_line(struct conf *c, const char *const *words, unsigned n, struct err *e)
{
	int r = 0;

	/* Takes the words in reverse order, because each new section goes to the front. */
	while (r == 0 && n--) {
		char layout[40];
		const char *where = split_layout(words[n], layout);

		if (is_place(where) || (!conf_find(c, "source", where) && path_is_dir(where)))
			r = place_add(c, true, layout, where, "command line", NULL);
		else
			r = add_preset(c, where, e);
	}
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}
