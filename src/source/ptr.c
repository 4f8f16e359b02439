/* Reads file.ptr, a file of symbol stores that says where the real file is, and maps the path of the real
 * file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/ptr.h"
#include "base/util.h"

#include <string.h>

static bool is_slash(char c)
{
	return c == '/' || c == '\\';
}

static bool same(char a, char b)
{
	if (is_slash(a) || is_slash(b))
		return is_slash(a) && is_slash(b);
	a |= a >= 'A' && a <= 'Z' ? 0x20 : 0;
	b |= b >= 'A' && b <= 'Z' ? 0x20 : 0;
	return a == b;
}

enum ptr_kind ptr_parse(const char *text, size_t n, char out[static 1024])
{
	enum ptr_kind kind = PTR_PATH;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3, n -= 3;
	while (n && strchr(" \t\r\n", text[n - 1]) && text[n - 1])
		n--;
	if (n >= 5 && strncasecmp(text, "PATH:", 5) == 0) {
		text += 5, n -= 5;
	} else if (n >= 4 && strncasecmp(text, "MSG:", 4) == 0) {
		kind = PTR_MESSAGE;
		text += 4, n -= 4;
	}
	while (n && (*text == ' ' || *text == '\t'))
		text++, n--;
	if (kind == PTR_MESSAGE)
		n = MIN(n, 200);
	if (n >= 1024 || (n == 0 && kind == PTR_PATH))
		return PTR_NONSENSE;
	for (size_t i = 0; i < n; i++) {
		bool odd = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;

		if (odd && kind == PTR_PATH)
			return PTR_NONSENSE;
		out[i] = odd ? ' ' : text[i];
	}
	out[n] = '\0';
	return kind;
}

/* The length of the prefix in "PREFIX = /DIRECTORY", without slashes at its end; 0: `map` has another
 * form. */
static size_t map_prefix(const char *map)
{
	const char *equals = strchr(map, '=');
	size_t n = equals ? (size_t)(equals - map) : 0;

	while (n && (map[n - 1] == ' ' || is_slash(map[n - 1])))
		n--;
	return n;
}

const char *ptr_dir(const char *map)
{
	const char *dir = strchr(map, '=') + 1;

	return dir + strspn(dir, " ");
}

bool ptr_map_valid(const char *map)
{
	return map_prefix(map) && ptr_dir(map)[0] == '/';
}

/* The rest of the path after the prefix; NULL: the path does not begin with the prefix. */
static const char *after_prefix(const char *path, const char *prefix, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!path[i] || !same(path[i], prefix[i]))
			return NULL;
	return path[n] == '\0' || is_slash(path[n]) ? path + n : NULL;
}

/* Adds the parts of a path, with one slash between two parts. -EINVAL: a part is "..", or there are no
 * parts. */
static int add_parts(const char *path, struct buf *out)
{
	int r = 0;

	while (r == 0) {
		size_t n;

		while (is_slash(*path))
			path++;
		n = strcspn(path, "/\\");
		if (n == 0)
			break;
		if (n == 2 && memcmp(path, "..", 2) == 0)
			return -EINVAL;
		if (n > 1 || *path != '.')
			r = buf_addf(out, "%s%.*s", out->n ? "/" : "", (int)n, path);
		path += n;
	}
	return r == 0 && out->n == 0 ? -EINVAL : r;
}

int ptr_resolve(const struct source *s, const char *path, char **dir, struct buf *rest)
{
	const char *best = NULL, *left = NULL;
	int r;

	for (char **map = s->o.ptr_map; map && *map; map++) {
		const char *now = after_prefix(path, *map, map_prefix(*map));

		if (now && (!best || map_prefix(*map) > map_prefix(best))) {
			best = *map;
			left = now;
		}
	}
	if (!best)
		return -ENOENT;
	r = add_parts(left, rest);
	if (r < 0)
		return r == -EINVAL ? r : -ENOMEM;
	*dir = strdup(ptr_dir(best));
	return *dir ? 0 : -ENOMEM;
}
