/* URLs: joins and encodes them, and shows them without credentials. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/url.h"
#include "source/source.h"

#include <ctype.h>
#include <string.h>

/* Whether a character is not encoded in a path: RFC 3986 `unreserved`, other characters that a path may
 * contain, and the slash. */
static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("-._~/!$&'()*,;=:@", c));
}

static bool unreserved(char c)
{
	return plain(c) && !strchr("!$&'()*,;=:@", c);
}

static bool in_value(char c)
{
	return unreserved(c) && c != '/';
}

static int add_encoded(struct buf *out, const char *path, bool (*as_it_is)(char c))
{
	for (; *path && out->r == 0; path++)
		if (as_it_is(*path))
			buf_add(out, path, 1);
		else
			buf_addf(out, "%%%02X", (unsigned char)*path);
	return out->r;
}

int url_add_path(struct buf *out, const char *path)
{
	return add_encoded(out, path, plain);
}

int url_add_strict(struct buf *out, const char *path)
{
	return add_encoded(out, path, unreserved);
}

int url_add_value(struct buf *out, const char *text)
{
	return add_encoded(out, text, in_value);
}

int url_join(struct buf *out, const char *base, const char *path)
{
	size_t n = strcspn(base, "?#");

	while (n && base[n - 1] == '/')
		n--;
	buf_add(out, base, n);
	buf_adds(out, "/");
	return url_add_path(out, path);
}

/* Whether the URL was cut before its @, by a blank or another separator. Then the text after the colon is
 * not a port but the beginning of a password. */
static bool is_cut(const char *host)
{
	size_t n = strcspn(host, "/?#"), inside = *host == '[' ? strcspn(host, "]") : 0;
	const char *colon = inside < n ? memchr(host + inside, ':', n - inside) : NULL;

	return colon && strspn(colon + 1, "0123456789") < (size_t)(host + n - colon - 1);
}

/* Whether user or password contains %00 to %1F. libcurl would send an empty password in place of such a
 * password. */
static bool has_control(const char *userinfo, const char *end)
{
	for (; userinfo < end; userinfo++)
		if (userinfo[0] == '%' && (userinfo[1] == '0' || userinfo[1] == '1') &&
			isxdigit((unsigned char)userinfo[2]))
			return true;
	return false;
}

bool url_is_meant(const char *word)
{
	return word[0] != '/' && word[0] != '.' &&
	       (strstr(word, "://") || strncasecmp(word, "http:", 5) == 0 || strncasecmp(word, "https:", 6) == 0);
}

bool url_is_clear(const char *url)
{
	const char *host = strstr(url, "://"), *at = strrchr(url, '@');

	if (!at)
		return !host || !url_is_meant(url) || !is_cut(host + 3);
	return host && strchr(url, '@') == at && at < host + 3 + strcspn(host + 3, "/?#") &&
	       !has_control(host + 3, at);
}

int url_for_message(const char *word, struct buf *out)
{
	const char *host = strstr(word, "://"), *at = strrchr(word, '@'), *query;

	if (*word == '/' || *word == '.' || strncmp(word, "file:///", 8) == 0)
		return buf_adds(out, word);
	if (host && (!at || at > host))
		buf_add(out, word, (size_t)(host + 3 - word));
	word = at ? at + 1 : host ? host + 3 : word;
	if (host && !at && is_cut(word)) {
		word += strcspn(word, "/?#");
		buf_adds(out, "...");
	}
	query = strchr(word, '?');
	if (!query)
		return buf_adds(out, word);
	buf_add(out, word, (size_t)(query - word));
	return buf_addf(out, "?...%s", query + strcspn(query, " \t#"));
}

int url_without_credentials(const char *url, struct buf *out)
{
	const char *host = strstr(url, "://"), *end, *at = NULL;

	if (!host)
		return buf_adds(out, url);
	host += 3;
	end = host + strcspn(host, "/?#");
	for (const char *p = host; p < end; p++)
		if (*p == '@')
			at = p;
	buf_add(out, url, (size_t)(host - url));
	host = at ? at + 1 : host;
	return buf_add(out, host, strcspn(host, "?#"));
}
