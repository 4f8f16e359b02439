/* The secrets of a configuration: checks whether other users can read them, hides those of the command line, and
 * takes those of AWS. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/secrets.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/util.h"

#include <stdio.h>
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

static int check_files(const struct conf *c, struct err *e)
{
	int r = 0;

	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "source", s));)
		for (const struct conf_entry *x = s->entries; r == 0 && x; x = x->next)
			r = check_entry(s, x, e);
	return r;
}

/* ---- the credentials of AWS's tools -------------------------------------------------- */

/* The files have sections and lines `name = value`. Reading a file ends at the first line of another form, with a
 * warning. */
struct aws {
	struct conf *credentials, *config; /* NULL until a source needs them */
	char *credentials_file, *config_file;
	bool warn;
};

static void aws_release(struct aws *a)
{
	conf_free(a->credentials);
	conf_free(a->config);
	free(a->credentials_file);
	free(a->config_file);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *file_of(const char *name, const char *below_home)
{
	const char *value = variable(name), *home = variable("HOME");
	struct buf b = BUF_UP_TO(8192);

	if (value)
		buf_adds(&b, value);
	else if (home)
		buf_addf(&b, "%s/.aws/%s", home, below_home);
	return buf_take(&b, NULL);
}

static int read_file(struct conf **out, const char *file)
{
	struct err e = {0};
	int r = conf_new(out);

	if (r < 0 || !file[0])
		return r;
	r = conf_read(*out, file, NULL, 0, &e);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ENOMEM)
		log_warn("%s: the rest of the file is ignored", e.text);
	return r == -ENOMEM ? r : 0;
}

static int read_files(struct aws *a)
{
	int r;

	if (a->config)
		return 0;
	a->credentials_file = file_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
	a->config_file = file_of("AWS_CONFIG_FILE", "config");
	if (!a->credentials_file || !a->config_file)
		return -ENOMEM;
	r = read_file(&a->credentials, a->credentials_file);
	return r == 0 ? read_file(&a->config, a->config_file) : r;
}

/* The section of a profile: [NAME] in the credentials file, [profile NAME] in the config file, [default]
 * in both. */
static const struct conf_section *profile_in(const struct conf *c, const char *name)
{
	char kind[200];

	snprintf(kind, sizeof(kind), "profile %.180s", name);
	return conf_next(c, kind, NULL) ? conf_next(c, kind, NULL) : conf_next(c, name, NULL);
}

/* A value of a profile, and the file that has it. */
static const char *profile_get(
	const struct aws *a, const char *name, const char *key, const char **file)
{
	const struct conf_section *s = profile_in(a->credentials, name);
	const char *value = s ? conf_get(s, key) : NULL;

	*file = a->credentials_file;
	if (value && *value)
		return value;
	s = profile_in(a->config, name);
	value = s ? conf_get(s, key) : NULL;
	*file = a->config_file;
	return value && *value ? value : NULL;
}

static int set_missing(struct conf_section *s, const char *key, const char *value, const char *file)
{
	if (!value || conf_get(s, key))
		return 0;
	return conf_set_from(s, key, value, file, 0);
}

static int keys_of_profile(struct aws *a, struct conf_section *s, const char *name)
{
	static const char *const keys[][2] = {{"access-key", "aws-access-key-id"},
		{"secret-key", "aws-secret-access-key"}, {"session-token", "aws-session-token"}};
	const char *file;
	int r = read_files(a);

	if (r < 0 || !profile_get(a, name, keys[0][1], &file) ||
		!profile_get(a, name, keys[1][1], &file))
		return r;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++) {
		const char *value = profile_get(a, name, keys[i][1], &file);

		r = set_missing(s, keys[i][0], value, file);
	}
	return r;
}

/* Takes the access key, the secret key and the session token from one place. Keys of different places do not
 * belong together. */
static int fill_keys(struct aws *a, struct conf_section *s, const char *profile)
{
	const char *key = variable("AWS_ACCESS_KEY_ID"), *secret = variable("AWS_SECRET_ACCESS_KEY");
	int r;

	if (conf_get(s, "access-key") || conf_get(s, "secret-key"))
		return 0;
	if (conf_get(s, "profile") || !key || !secret)
		return keys_of_profile(a, s, profile);
	r = set_missing(s, "access-key", key, "AWS_ACCESS_KEY_ID");
	if (r == 0)
		r = set_missing(s, "secret-key", secret, "AWS_SECRET_ACCESS_KEY");
	return r == 0 ? set_missing(s, "session-token", variable("AWS_SESSION_TOKEN"),
				"AWS_SESSION_TOKEN")
		      : r;
}

/* Sets a key that the section lacks, from a variable or else from the profile. A profile that the section
 * names takes precedence over variables. */
static int fill_word(struct aws *a, struct conf_section *s, const char *profile, const char *key,
	const char *const *variables)
{
	const char *aws_key = strcmp(key, "region") == 0 ? "region" : "endpoint-url", *value = NULL,
		   *from = NULL;
	int r = 0;

	if (conf_get(s, key))
		return 0;
	for (; !value && *variables; variables++) {
		value = variable(*variables);
		from = *variables;
	}
	if (!value || conf_get(s, "profile")) {
		const char *file, *found;

		r = read_files(a);
		found = r == 0 ? profile_get(a, profile, aws_key, &file) : NULL;
		if (found) {
			value = found;
			from = file;
		}
	}
	return r == 0 ? set_missing(s, key, value, from) : r;
}

static bool is_yes(const char *value)
{
	return value && (strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
				strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0);
}

static int fill_section(struct aws *a, struct conf_section *s)
{
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL},
				 *const endpoints[] = {
					 "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	const char *profile = conf_get(s, "profile");
	int r;

	if (!profile)
		profile = variable("AWS_PROFILE");
	if (!profile)
		profile = "default";
	r = fill_word(a, s, profile, "region", regions);
	if (r == 0)
		r = fill_word(a, s, profile, "endpoint", endpoints);
	if (r < 0 || is_yes(conf_get(s, "anonymous")))
		return r;
	r = fill_keys(a, s, profile);
	if (r == 0 && a->warn && a->credentials_file && !conf_get(s, "access-key"))
		log_warn("source %s: no credentials: neither access-key and secret-key, nor "
			 "AWS_ACCESS_KEY_ID, nor the profile \"%.60s\" in %s; "
			 "anonymous = yes sends requests without",
			s->name, profile, a->credentials_file);
	return r;
}

static bool is_s3(const struct conf_section *s)
{
	const char *type = conf_get(s, "type"), *kind = conf_get(s, "kind");

	if (!type)
		type = kind;
	return type ? strcmp(type, "s3") == 0 || strcmp(type, "bucket") == 0 : conf_get(s, "bucket") != NULL;
}

/* Whether a section is in use: it is enabled, and no section before it has its name. A section that is not in use
 * needs no keys. */
static bool is_used(const struct conf *c, const struct conf_section *s)
{
	const char *enabled = conf_get(s, "enabled");

	if (conf_find(c, "source", s->name) != s)
		return false;
	return !enabled || is_yes(enabled);
}

int secrets_fill(struct conf *c, bool warn, struct err *e)
{
	struct aws a = {.warn = warn};
	int r = 0;

	for (const struct conf_section *s = NULL; r == 0 && (s = conf_next(c, "source", s));)
		if (is_s3(s) && is_used(c, s))
			r = fill_section(&a, (struct conf_section *)s);
	aws_release(&a);
	return r == 0 ? check_files(c, e) : err_set(e, r, "out of memory");
}
