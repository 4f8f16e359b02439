/* The file of tokens: reads and parses it, and the words of its lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/private.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIELDS 5
#define LINE_MOST 512
#define BARE_LEAST 8 /* characters of a bare token */

/* ---- words ----------------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum auth_right right;
} rights[] = {
	{"read", AUTH_READ},
	{"upload", AUTH_UPLOAD},
	{"try", AUTH_TRY},
	{"purge", AUTH_PURGE},
	{"added", AUTH_ADDED},
};

int auth_rights_parse(const char *text, unsigned *out)
{
	unsigned set = 0;

	for (size_t n; *text; text += n + (text[n] == ',')) {
		unsigned found = 0;

		n = strcspn(text, ",");
		for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
			if (strlen(rights[i].word) == n && memcmp(rights[i].word, text, n) == 0)
				found = rights[i].right;
		if (!found || (text[n] && !text[n + 1]))
			return -EINVAL;
		set |= found;
	}
	if (!set)
		return -EINVAL;
	*out = set;
	return 0;
}

const char *auth_rights_text(unsigned set, char out[static AUTH_RIGHTS_TEXT])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (set & rights[i].right)
			n += (size_t)snprintf(out + n, AUTH_RIGHTS_TEXT - n, "%s%s", n ? "," : "", rights[i].word);
	return out;
}

bool auth_allows(unsigned set, enum auth_right right)
{
	return set & right || (right == AUTH_TRY && set & AUTH_UPLOAD);
}

bool auth_name_ok(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
	size_t n = strlen(name);

	return n && n < AUTH_NAME && strspn(name, chars) == n && *name != '-';
}

bool auth_space_ok(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t n = strlen(name);

	return n && n < AUTH_SPACE && strspn(name, chars) == n && *name != '-';
}

/* ---- the file -------------------------------------------------------------------------- */

/* Whether other users can put another file in the place of a file in this directory. */
static int check_dir(const char *dir, bool serve, struct err *e)
{
	_cleanup_free_ char *real = realpath(dir, NULL), *up = real ? strdup(real) : NULL;
	struct stat st;

	if (!up)
		return err_set(e, -errno, "%s: %s", dir, err_text(errno));
	for (const char *at = real;; at = dirname(up)) {
		if (stat(at, &st) < 0)
			return err_set(e, -errno, "%s: %s", at, err_text(errno));
		if (serve && st.st_uid != 0 && st.st_uid != geteuid())
			return err_set(e, -EINVAL, "%s: this directory of the tokens belongs to the user %u; only "
				"root and the server's user may own it; try: chown %u %s", at, st.st_uid, geteuid(),
				at);
		if (st.st_mode & 0022 && !(st.st_mode & S_ISVTX))
			return err_set(e, -EINVAL, "%s: other users may write this directory, and so replace the "
				"file of tokens below it; try: chmod go-w %s", at, at);
		if (!at[1])
			return 0;
	}
}

/* Whether other users can read the tokens, or add their own. */
static int check_access(const char *path, const struct stat *st, bool serve, struct err *e)
{
	_cleanup_free_ char *copy = strdup(path), *real = realpath(path, NULL);
	int r;

	if (st->st_mode & 0027)
		return err_set(e, -EINVAL, "%s: its group may write it, or all users may read or write it; try: "
			"chmod g-w,o= %s", path, path);
	if (serve && st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(e, -EINVAL, "%s: it belongs to the user %u; only root and the server's user may own "
			"it; try: chown %u %s", path, st->st_uid, geteuid(), path);
	r = copy ? check_dir(dirname(copy), serve, e) : -ENOMEM; /* of a link, and then of the file */
	return r == 0 && real ? check_dir(dirname(real), serve, e) : r;
}

int tokens_read(const char *path, bool serve, char **out, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	char again[32];
	uint64_t size;
	struct stat st;
	struct err why;
	size_t n = 0;
	int r = path_open_file(path, &fd, &size, &why);

	if (r < 0)
		return err_set(e, r, "%s: %s", path, why.text);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	r = path_read(AT_FDCWD, again, TOKENS_BYTES, &text, &n);
	if (r < 0 || fstat(fd, &st) < 0)
		return err_set(e, r < 0 ? r : -errno, "%s: %s", path, err_text(r < 0 ? r : -errno));
	if (strlen(text) != n)
		return err_set(e, -EINVAL, "%s: the file contains a NUL", path);
	r = check_access(path, &st, serve, e);
	if (r < 0)
		return r;
	*out = take(text);
	return 0;
}

/* Reads "2027-01-01T00:00:00Z". */
static int read_time(const char *text, int64_t *out)
{
	char again[24];
	struct tm tm = {0};
	int end = 0;

	if (strcmp(text, "-") == 0) {
		*out = 0;
		return 0;
	}
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		    &tm.tm_min, &tm.tm_sec, &end) != 6 || strlen(text) != 20 || end != 20)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*out = timegm(&tm);
	clock_print(*out, again);
	return *out > 0 && strcmp(again, text) == 0 ? 0 : -EINVAL;
}

/* NULL, or what is wrong with the fields. */
static const char *fill(struct auth_token *t, char *const field[FIELDS])
{
	if (strlen(field[0]) != 64 || hex_read(field[0], 64, t->digest) < 0)
		return "expected a digest of 64 hexadecimal digits";
	if (!auth_name_ok(field[1]))
		return "a name has letters, digits and ._@-, at most 63";
	if (auth_rights_parse(field[2], &t->rights) < 0)
		return "the rights are read, upload, try, purge and added, with commas between them";
	if (read_time(field[3], &t->until) < 0)
		return "expected a time such as 2027-01-01T00:00:00Z, or -";
	if (!auth_space_ok(field[4]))
		return "a namespace has lower-case letters, digits and -, at most 32";
	snprintf(t->name, sizeof(t->name), "%s", field[1]);
	snprintf(t->space, sizeof(t->space), "%s", field[4]);
	return NULL;
}

/* Parses a line in place. NULL, or what is wrong. */
static const char *parse_line(struct auth_token *t, char *line)
{
	char *field[FIELDS], *save = NULL;
	unsigned n = 0;

	for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (n == FIELDS)
			return "too many words";
		field[n++] = word;
	}
	return n < FIELDS ? "expected DIGEST NAME RIGHTS UNTIL NAMESPACE" : fill(t, field);
}

static int by_digest(const void *a, const void *b)
{
	const struct auth_token *one = a, *two = b;

	return memcmp(one->digest, two->digest, sizeof(one->digest));
}

static int by_name(const void *a, const void *b)
{
	const struct auth_token *one = a, *two = b;

	return strcmp(one->name, two->name);
}

/* Orders the tokens; -EINVAL: two of them are equal in this order. */
static int order(struct token_list *l, int (*by)(const void *a, const void *b), const char *what, const char *path,
	struct err *e)
{
	if (l->n)
		qsort(l->tokens, l->n, sizeof(*l->tokens), by);
	for (unsigned i = 1; i < l->n; i++) {
		const struct auth_token *one = &l->tokens[i - 1], *two = &l->tokens[i];

		if (by(one, two) == 0)
			return err_set(e, -EINVAL, "%s:%u: the %s of %s is in line %u, too", path,
				MAX(one->line, two->line), what, two->name, MIN(one->line, two->line));
	}
	return 0;
}

static int add_line(struct token_list *l, size_t *room, const char *line, size_t n, const char *path,
	unsigned number, struct err *e)
{
	struct auth_token t = {.rights = 0};
	char copy[LINE_MOST];
	const char *wrong;

	if (n >= sizeof(copy))
		return err_set(e, -EINVAL, "%s:%u: the line is too long", path, number);
	snprintf(copy, sizeof(copy), "%.*s", (int)n, line);
	copy[strcspn(copy, "\r")] = '\0';
	if (!copy[strspn(copy, " \t")] || copy[0] == '#')
		return 0;
	wrong = parse_line(&t, copy);
	if (wrong)
		return err_set(e, -EINVAL, "%s:%u: %s", path, number, wrong);
	if (l->n == AUTH_TOKENS_MOST)
		return err_set(e, -EINVAL, "%s:%u: more than %d tokens", path, number, AUTH_TOKENS_MOST);
	if (grow(&l->tokens, room, l->n, sizeof(t)) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	t.line = number;
	l->tokens[l->n++] = t;
	return 0;
}

/* The only token of a file of an older version. */
static int take_bare(struct token_list *l, const char *path, const char *text, struct err *e)
{
	size_t n = strcspn(text, "\r\n");

	if (text[0] == '#')
		return err_set(e, -EINVAL, "%s:1: the first line must be \"%s\"", path, TOKENS_MAGIC);
	if (n < BARE_LEAST || n > AUTH_SECRET_MOST)
		return err_set(e, -EINVAL, "%s: the token must have %d to %d characters", path, BARE_LEAST,
			AUTH_SECRET_MOST);
	/* Else the first line of any text would be a token, such as TOKENS_MAGIC behind a byte order mark. */
	for (size_t i = 0; i < n; i++)
		if (text[i] < '!' || text[i] > '~')
			return err_set(e, -EINVAL, "%s: its first line is neither \"%s\" nor a token", path,
				TOKENS_MAGIC);
	l->tokens = calloc(1, sizeof(*l->tokens));
	if (!l->tokens)
		return err_set(e, -ENOMEM, "out of memory");
	l->n = 1;
	l->bare = true;
	*l->tokens = (struct auth_token){.name = "token", .space = AUTH_PUBLIC,
		.rights = AUTH_READ | AUTH_UPLOAD | AUTH_TRY};
	sha256_of(text, n, l->tokens->digest);
	return 0;
}

int tokens_parse(struct token_list *out, const char *path, const char *text, struct err *e)
{
	struct token_list l = {.n = 0};
	unsigned number = 0;
	size_t room = 0, n = strcspn(text, "\r\n");
	int r = 0;

	if (n != strlen(TOKENS_MAGIC) || memcmp(text, TOKENS_MAGIC, n) != 0)
		r = take_bare(&l, path, text, e);
	else
		for (; r == 0 && *text; text += n + (text[n] == '\n')) {
			n = strcspn(text, "\n");
			r = add_line(&l, &room, text, n, path, ++number, e);
		}
	if (r == 0)
		r = order(&l, by_name, "name", path, e);
	if (r == 0)
		r = order(&l, by_digest, "digest", path, e);
	if (r < 0) {
		tokens_release(&l);
		return r;
	}
	*out = l;
	return 0;
}

void tokens_release(struct token_list *l)
{
	free(l->tokens);
	memset(l, 0, sizeof(*l));
}
