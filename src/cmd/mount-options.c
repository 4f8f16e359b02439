/* Parses the option -o of symfs mount. Its words are options for libfuse, for symfs, and of mount(8) and fstab. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/mounting.h"
#include "source/source.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Options for libfuse or the kernel, passed on unchanged. */
static const char *const passed[] = {"allow_other", "allow_root", "auto_unmount", "nonempty",
	"default_permissions", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "atime",
	"noatime"};

/* Options of mount(8), fstab and systemd that have no effect on symfs. */
static const char *const ignored[] = {"ro", "rw", "defaults", "auto", "noauto", "user", "nouser",
	"users", "nousers", "owner", "group", "_netdev", "nofail", "relatime"};

static bool is_in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static bool take_id(const char *value, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || n >= UINT_MAX)
		return false;
	*out = (unsigned)n;
	return true;
}

static int option_take_pair(struct mounting *m, const char *key, const char *value, struct err *e)
{
	struct app_args *a = &m->args;

	if (strcmp(key, "uid") == 0 || strcmp(key, "gid") == 0)
		return take_id(value, *key == 'u' ? &m->fs_opts.uid : &m->fs_opts.gid) ? 0 :
			err_set(e, -EINVAL, "-o %s=%s: not a number", key, value);
	if (strcmp(key, "config") == 0) {
		a->config = value;
		return 0;
	}
	if (strcmp(key, "log-file") == 0 || strcmp(key, "log_file") == 0) {
		m->log_word = value;
		return 0;
	}
	if (strcmp(key, "source") == 0) {
		if (a->n_sources == APP_SOURCES_MOST)
			return err_set(e, -EINVAL, "-o source: more than %d", APP_SOURCES_MOST);
		a->sources[a->n_sources++] = value;
		a->sources_later = true;
		return 0;
	}
	return app_set(a, key, value, e);
}

/* Reports an unknown option. A word with an @ can be the rest of a URL whose password has a comma. */
static int option_unknown(const char *word, struct err *e)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	bool rest = strchr(word, '@') != NULL;

	url_for_message(word, &shown);
	return err_set(e, -EINVAL, "no such option: -o %.*s%s",
		(int)(rest ? shown.n : strcspn(word, "=") + 1), buf_text(&shown),
		rest ? " (in a password, a comma is %2C)" : "");
}

/* Takes an option. `word` must live as long as `m`, because `m` can keep pointers into `word`. */
static int option_take(struct mounting *m, char *word, struct err *e)
{
	char *equals = strchr(word, '=');
	int r;

	if (!*word || is_in(ignored, ARRAY_SIZE(ignored), word) ||
		strncasecmp(word, "x-", 2) == 0 || strncmp(word, "comment=", 8) == 0 ||
		strncmp(word, "user=", 5) == 0)
		return 0;
	if (is_in(passed, ARRAY_SIZE(passed), word))
		return buf_addf(&m->options, "%s%s", m->options.n ? "," : "", word);
	if (strcmp(word, "exact_size") == 0)
		m->fs_opts.exact_size = true;
	else if (strcmp(word, "no_passthrough") == 0)
		m->fs_opts.no_passthrough = true;
	else if (strcmp(word, "offline") == 0)
		m->args.offline = true;
	else if (strcmp(word, "no-default-sources") == 0 || strcmp(word, "no_default_sources") == 0)
		m->args.no_default_sources = true;
	else if (!equals)
		return option_unknown(word, e);
	if (!equals)
		return 0;
	*equals = '\0';
	r = option_take_pair(m, word, equals + 1, e);
	*equals = '=';
	return r == -ENOENT ? option_unknown(word, e) : r;
}

int mount_options_parse(struct mounting *m, char *list, struct err *e)
{
	char *word;
	int r = 0;

	while (r == 0 && list && (word = strsep(&list, ",")))
		r = option_take(m, word, e);
	return r;
}

bool mount_options_offer(const char *noun, const char *typed)
{
	static const char *const words[] = {
		"allow_other", "ro", "uid=", "gid=", "exact_size", "no_passthrough", "source=", "log_file="};
	const char *comma = strrchr(typed, ',');
	int n = comma ? (int)(comma - typed) + 1 : 0;

	if (strcmp(noun, "OPTS") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		printf("%.*s%s\t\n", n, typed, words[i]);
	for (const struct conf_field *f = settings_fields; f->name; f++)
		printf("%.*s%s=\t%s\n", n, typed, f->name, f->help);
	return true;
}

/* Moves the lists of all `-o LIST` from argv to `list`. */
int mount_options_collect(int *argc, char **argv, struct buf *list)
{
	int n = 1, r = 0;

	for (int i = 1; r == 0 && i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			while (i < *argc)
				argv[n++] = argv[i++];
		} else if (strncmp(argv[i], "-o", 2) == 0 && (argv[i][2] || i + 1 < *argc)) {
			const char *words = argv[i][2] ? argv[i] + 2 : argv[++i];

			r = buf_addf(list, "%s%s", list->n ? "," : "", words);
		} else {
			argv[n++] = argv[i];
		}
	}
	argv[n] = NULL;
	*argc = n;
	return r;
}
