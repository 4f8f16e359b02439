/* Tokens: their file, its errors, changes of the file, rights. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/tokens.h"
#include "base/hash.h"
#include "base/util.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC "# symfs tokens 1\n"

static char dir[] = "/tmp/test-tokens-XXXXXX", path[64];

static void begin(void)
{
	ck_assert(mkdtemp(strcpy(dir, "/tmp/test-tokens-XXXXXX")));
	snprintf(path, sizeof(path), "%s/tokens", dir);
}

static void end(void)
{
	unlink(path);
	rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static struct auth_token token(const char *name, unsigned rights, const char *space)
{
	struct auth_token t = {.rights = rights};

	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.space, sizeof(t.space), "%s", space);
	return t;
}

static int find(struct auth *a, const char *secret, struct auth_token *out)
{
	return auth_find(a, secret, strlen(secret), out);
}

START_TEST(test_add_and_remove)
{
	struct auth_token ci = token("ci", AUTH_READ | AUTH_UPLOAD, "public"),
		team = token("team@x.example", AUTH_TRY, "team-1"), t;
	char one[AUTH_SECRET], two[AUTH_SECRET];
	struct auth *a;
	struct stat st;
	struct err e = {0};

	begin();
	team.until = 4102444800; /* 2100 */
	ck_assert_int_eq(auth_add(path, &ci, false, one, &e), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_uint_eq(strlen(one), 64);
	ck_assert_int_eq(auth_add(path, &ci, false, two, &e), -EEXIST);
	ck_assert_int_eq(auth_open(&a, path, &e), 0);
	ck_assert_int_eq(find(a, one, &t), 0);
	ck_assert_str_eq(t.name, "ci");
	ck_assert_uint_eq(t.rights, AUTH_READ | AUTH_UPLOAD);
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(auth_add(path, &team, false, two, &e), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640); /* a server of this group reads it still */
	ck_assert_int_eq(find(a, two, &t), 0);
	ck_assert_str_eq(t.space, "team-1");
	ck_assert_int_eq(t.until, 4102444800);
	ck_assert_int_eq(auth_remove(path, "nobody", &e), -ENOENT);
	ck_assert_int_eq(auth_remove(path, "ci", &e), 0);
	ck_assert_int_eq(find(a, one, &t), -EACCES);
	ck_assert_int_eq(find(a, two, &t), 0);
	ck_assert_int_eq(find(a, "", &t), -EACCES);
	auth_close(a);
	end();
}
END_TEST

START_TEST(test_broken_file_keeps_tokens)
{
	struct auth_token ci = token("ci", AUTH_READ, "public"), t;
	char secret[AUTH_SECRET];
	struct err e = {0};
	struct auth *a;

	begin();
	ck_assert_int_eq(auth_add(path, &ci, false, secret, &e), 0);
	ck_assert_int_eq(auth_open(&a, path, &e), 0);
	write_file(MAGIC "rubbish\n", 0600);
	ck_assert_int_eq(find(a, secret, &t), 0);
	ck_assert_int_eq(auth_add(path, &ci, false, secret, &e), -EINVAL); /* a broken file is not changed */
	ck_assert_ptr_nonnull(strstr(e.text, ":2: "));
	unlink(path);
	ck_assert_int_eq(find(a, "other", &t), -EACCES);
	write_file(MAGIC, 0644); /* everyone may read it */
	ck_assert_int_eq(auth_remove(path, "ci", &e), -EINVAL);
	write_file(MAGIC, 0600);
	ck_assert_int_eq(find(a, "other", &t), -EACCES);
	ck_assert_int_eq(auth_add(path, &ci, false, secret, &e), 0);
	ck_assert_int_eq(find(a, secret, &t), 0);
	auth_close(a);
	end();
}
END_TEST

/* Other users must not be able to write the file, nor to replace it; a pipe would wait for a writer. */
START_TEST(test_access)
{
	static const struct {
		mode_t file, dir;
		const char *why; /* NULL: allowed */
	} rows[] = {{0640, 0755, NULL}, {0600, 01777, NULL}, {0660, 0700, "try: chmod g-w,o= "},
		{0604, 0700, "try: chmod g-w,o= "}, {0600, 0777, "try: chmod go-w "},
		{0600, 0775, "try: chmod go-w "}};
	struct err e = {0};
	struct auth *a;
	char inner[64];

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_file(MAGIC, rows[i].file);
		ck_assert_int_eq(chmod(dir, rows[i].dir), 0);
		ck_assert_int_eq(auth_open(&a, path, &e), rows[i].why ? -EINVAL : 0);
		if (rows[i].why)
			ck_assert_msg(strstr(e.text, rows[i].why) != NULL, "%s", e.text);
		else
			auth_close(a);
	}
	ck_assert_int_eq(chmod(dir, 0700), 0);
	if (chown(path, 1, 0) == 0) {
		ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, "only root and the server's user may own it"));
		ck_assert_int_eq(auth_remove(path, "x", &e), -ENOENT); /* root may still edit it */
		write_file(MAGIC, 0600);
		ck_assert_int_eq(chown(dir, 1, 0), 0);
		ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, "this directory of the tokens belongs to the user 1"));
		ck_assert_int_eq(auth_remove(path, "x", &e), -ENOENT);
	} else {
		unit_part_skipped("not root: a file of another user");
	}
	/* A directory further up. */
	ck_assert(geteuid() != 0 || chown(dir, 0, 0) == 0);
	ck_assert(chmod(dir, 0777) == 0 && snprintf(path, sizeof(path), "%s/in/tokens", dir) > 0);
	snprintf(inner, sizeof(inner), "%s/in", dir);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	write_file(MAGIC, 0600);
	ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "try: chmod go-w "));
	if (geteuid() == 0) {
		ck_assert(chmod(dir, 0755) == 0 && chown(dir, 1, 0) == 0);
		ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, "this directory of the tokens belongs to the user 1"));
		ck_assert_int_eq(chown(dir, 0, 0), 0);
	}
	unlink(path);
	ck_assert(rmdir(inner) == 0 && snprintf(path, sizeof(path), "%s/tokens", dir) > 0);
	ck_assert_int_eq(chmod(dir, 0700), 0);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "is not a regular file"));
	ck_assert_int_eq(auth_remove(path, "x", &e), -EINVAL);
	end();
}
END_TEST

/* A link is followed; a link without a file is refused and stays. */
START_TEST(test_link)
{
	struct auth_token ci = token("ci", AUTH_READ, "public"), t;
	char secret[AUTH_SECRET], link[80];
	struct err e = {0};
	struct auth *a;
	struct stat st;

	begin();
	snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink("tokens", link), 0);
	ck_assert_int_eq(auth_add(link, &ci, false, secret, &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, "leads to no file"));
	ck_assert_int_eq(lstat(link, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	write_file(MAGIC, 0600);
	ck_assert_int_eq(auth_add(link, &ci, false, secret, &e), 0);
	ck_assert_int_eq(lstat(link, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(auth_open(&a, path, &e), 0);
	ck_assert_int_eq(find(a, secret, &t), 0);
	/* A token that was found is found again by its digest, until it is removed. */
	ck_assert_int_eq(auth_find_again(a, &t, &ci), 0);
	ck_assert_str_eq(ci.name, "ci");
	ck_assert_int_eq(auth_remove(path, "ci", &e), 0);
	ck_assert_int_eq(auth_find_again(a, &t, &ci), -EACCES);
	auth_close(a);
	unlink(link);
	end();
}
END_TEST

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const struct {
	const char *text, *says; /* NULL: the file is right */
} files[] = {
	{MAGIC, NULL},
	{MAGIC "# words\n\n  \t\n" DIGEST " a read - public", NULL},
	{MAGIC DIGEST "\ta\tread,upload,try,purge\t2027-01-01T00:00:00Z\tx\r\n", NULL},
	{MAGIC DIGEST " a read - public\n" OTHER " b read - public\n", NULL},
	{MAGIC "\n" DIGEST " a read -\n", ":3: expected DIGEST NAME"},
	{MAGIC DIGEST " a read - public more\n", ":2: too many words"},
	{MAGIC "0123 a read - public\n", ":2: expected a digest"},
	{MAGIC "g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef a read - public\n",
	":2: expected a digest"},
	{MAGIC DIGEST " a/b read - public\n", ":2: a name has"},
	{MAGIC DIGEST " -a read - public\n", ":2: a name has"},
	{MAGIC DIGEST " a read,fly - public\n", ":2: the rights are"},
	{MAGIC DIGEST " a read, - public\n", ":2: the rights are"},
	{MAGIC DIGEST " a , - public\n", ":2: the rights are"},
	{MAGIC DIGEST " a read 2027-01-01 public\n", ":2: expected a time"},
	{MAGIC DIGEST " a read 2027-13-01T00:00:00Z public\n", ":2: expected a time"},
	{MAGIC DIGEST " a read - ../public\n", ":2: a namespace has"},
	{MAGIC DIGEST " a read - Public\n", ":2: a namespace has"},
	{MAGIC DIGEST " a read - public\n" OTHER " a read - public\n", ":3: the name of a is in line 2"},
	{MAGIC DIGEST " a read - public\n" DIGEST " b read - public\n", ":3: the digest of"},
	{"short\n", "the token must have 8"},
	{"", "the token must have 8"},
	{"# symfs tokens 2\n", "the first line must be \"# symfs tokens 1\""},
	{"# a comment\n", "the first line must be"},
	{"abcdefgh\n", NULL}, /* a bare token */
};

START_TEST(test_lines)
{
	begin();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct auth *a = NULL;
		struct err e = {0};

		write_file(files[i].text, 0600);
		ck_assert_msg(auth_open(&a, path, &e) == (files[i].says ? -EINVAL : 0), "%zu: %s", i, e.text);
		ck_assert_msg(!files[i].says || strstr(e.text, files[i].says), "%zu: %s", i, e.text);
		auth_close(a);
	}
	end();
}
END_TEST

START_TEST(test_many)
{
	size_t room = 8 << 20, n;
	char *text = malloc(room), secret[32], digest[65];
	uint8_t bytes[32];
	struct auth_token t;
	struct err e = {0};
	struct auth *a;

	begin();
	n = (size_t)snprintf(text, room, MAGIC);
	for (unsigned i = 0; i < AUTH_TOKENS_MOST; i++) {
		sha256_of(secret, (size_t)snprintf(secret, sizeof(secret), "secret-%u", i), bytes);
		hex_print(bytes, sizeof(bytes), digest);
		n += (size_t)snprintf(text + n, room - n, "%s n%u read - public\n", digest, i);
	}
	write_file(text, 0600);
	ck_assert_int_eq(auth_open(&a, path, &e), 0);
	for (unsigned i = 0; i < AUTH_TOKENS_MOST; i += 97) {
		snprintf(secret, sizeof(secret), "secret-%u", i);
		ck_assert_int_eq(find(a, secret, &t), 0);
		ck_assert_uint_eq(t.line, i + 2);
	}
	auth_close(a);
	snprintf(text + n, room - n, "%s last read - public\n", OTHER);
	write_file(text, 0600);
	ck_assert_int_eq(auth_open(&a, path, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "more than 10000"));
	free(text);
	end();
}
END_TEST

START_TEST(test_bare_and_expired)
{
	struct auth_token t, old = token("old", AUTH_READ, "public");
	char secret[AUTH_SECRET];
	struct err e = {0};
	struct auth *a;

	begin();
	write_file("sesame-sesame\nmore\n", 0600);
	ck_assert_int_eq(auth_open(&a, path, &e), 0);
	ck_assert_int_eq(find(a, "sesame-sesame", &t), 0);
	ck_assert_uint_eq(t.rights, AUTH_READ | AUTH_UPLOAD | AUTH_TRY);
	ck_assert_str_eq(t.space, AUTH_PUBLIC);
	ck_assert_int_eq(auth_add(path, &old, false, secret, &e), -EINVAL); /* the bare token would stop to work */
	/* The first line of any other text is no token. */
	write_file("\xef\xbb\xbf" MAGIC, 0600);
	ck_assert_int_eq(find(a, "\xef\xbb\xbf# symfs tokens 1", &t), -EACCES);
	write_file("Nov 24 a log\n", 0600);
	ck_assert_int_eq(find(a, "Nov 24 a log", &t), -EACCES);
	unlink(path);
	old.until = 1000;
	ck_assert_int_eq(auth_add(path, &old, false, secret, &e), 0);
	ck_assert_int_eq(find(a, secret, &t), -EKEYEXPIRED);
	ck_assert_int_eq(find(a, "sesame-sesame", &t), -EACCES);
	auth_close(a);
	end();
}
END_TEST

START_TEST(test_rights)
{
	char text[AUTH_RIGHTS_TEXT];
	unsigned set = 0;

	ck_assert_int_eq(auth_rights_parse("purge,read", &set), 0);
	ck_assert_str_eq(auth_rights_text(set, text), "read,purge");
	ck_assert(auth_allows(set, AUTH_PURGE) && !auth_allows(set, AUTH_TRY));
	ck_assert(auth_allows(AUTH_UPLOAD, AUTH_TRY) && !auth_allows(AUTH_TRY, AUTH_UPLOAD));
	ck_assert(!auth_allows(AUTH_UPLOAD | AUTH_TRY | AUTH_PURGE, AUTH_READ));
	ck_assert_str_eq(auth_rights_text(15, text), "read,upload,try,purge");
	ck_assert(!auth_space_ok("") && !auth_space_ok(".") && !auth_space_ok("a/b") && auth_space_ok("a-1"));
}
END_TEST

UNIT_MAIN("tokens", test_add_and_remove, test_access, test_link, test_broken_file_keeps_tokens, test_lines, test_many,
	test_bare_and_expired, test_rights)
