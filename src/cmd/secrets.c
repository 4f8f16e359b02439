/* Checks whether other users can read the secrets of a configuration, and hides the secrets of the command line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/secrets.h"
#include "base/util.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Whether a header has credentials, judged by the header's name. */
static bool header_is_secret(const char *line)
{
	static const char *const words[] = {"auth", "cookie", "token", "key", "secret", "password"};
	size_t n = strcspn(line, ":");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= n; at++)
			if (strncasecmp(line + at, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

static bool url_has_password(const char *url)
{
	const char *host = strstr(url, "://"), *end;

	if (!host)
		return false;
	host += 3;
	end = host + strcspn(host, "/?#");
	return memchr(host, '@', (size_t)(end - host)) != NULL;
}

static bool is_secret(const struct conf_entry *x)
{
	if (strcmp(x->name, "header") == 0 || strcmp(x->name, "headers") == 0)
		return header_is_secret(x->value);
	if (strcmp(x->name, "url") == 0 || strcmp(x->name, "proxy") == 0)
		return url_has_password(x->value);
	return strcmp(x->name, "secret-key") == 0 || strcmp(x->name, "session-token") == 0;
}

/* Whether `path` is a file with one of the permission bits `by`. False for entries of the command line and of
 * variables, which have no file. */
static bool readable(const char *path, mode_t by)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & by);
}

static int check_entry(const struct conf_section *s, const struct conf_entry *x, struct err *e)
{
	const char *file = x->file ? x->file : s->file;

	if (is_secret(x) && readable(file, S_IROTH))
		return err_set(e, -EINVAL,
			"%.200s:%u: %s is a secret, and others can read it; try: chmod o-rwx %.200s",
			file, x->line, x->name, file);
	if (strcmp(x->name, "key") == 0 && readable(x->value, S_IROTH))
		return err_set(e, -EINVAL, "%.200s:%u: others can read the key; try: chmod o-rwx %.200s",
			file, x->line, x->value);
	/* Other programs that read netrc files are equally strict. */
	if (strcmp(x->name, "netrc") == 0 && readable(x->value, S_IRWXG | S_IRWXO))
		return err_set(e, -EINVAL, "%.200s:%u: others can read %.150s; try: chmod 600 %.150s",
			file, x->line, x->value, x->value);
	return 0;
}

/* The part of a word between :// and the last @, which can be a password, even a password with / or #. NULL: there
 * is no such part. */
static char *secret_of(char *word, char **end)
{
	char *scheme = strstr(word, "://"), *at = scheme ? strrchr(scheme, '@') : NULL;

	*end = at ? at + 1 : NULL;
	return at ? scheme + 3 : NULL;
}

static void erase(char *secret, const char *end)
{
	size_t left = strlen(end), gone = (size_t)(end - secret);

	memmove(secret, end, left);
	explicit_bzero(secret + left, gone);
}

int secrets_cover(int argc, char **argv, char **room)
{
	size_t n = 0;
	char *end, *p;

	for (int i = 1; i < argc; i++)
		n += secret_of(argv[i], &end) ? strlen(argv[i]) + 1 : 0;
	*room = p = malloc(n ? n : 1);
	if (!p)
		return -ENOMEM;
	for (int i = 1; i < argc; i++) {
		char *secret = secret_of(argv[i], &end);
		size_t size = strlen(argv[i]) + 1;

		if (!secret)
			continue;
		memcpy(p, argv[i], size);
		erase(secret, end);
		argv[i] = p;
		p += size;
	}
	return 0;
}

int secrets_check(const struct conf *c, struct err *e)
{
	int r = 0;

	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "source", s));)
		for (const struct conf_entry *x = s->entries; r == 0 && x; x = x->next)
			r = check_entry(s, x, e);
	return r;
}
