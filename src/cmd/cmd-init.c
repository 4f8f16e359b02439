/* symfs init: writes a first symfs.conf, with the symbol servers that this machine's variables and distribution
 * name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/places.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (256u << 10)

/* ---- the distribution ---------------------------------------------------------------- */

static const struct distribution {
	const char *id, *preset, *url;
} distributions[] = {
	{"debian", "debian", "https://debuginfod.debian.net/"},
	{"ubuntu", "ubuntu", "https://debuginfod.ubuntu.com/"},
	{"fedora", "fedora", "https://debuginfod.fedoraproject.org/"},
	{"centos", "centos", "https://debuginfod.centos.org/"},
	{"opensuse", "opensuse", "https://debuginfod.opensuse.org/"},
	{"arch", "archlinux", "https://debuginfod.archlinux.org/"},
};

/* The value of a line KEY=VALUE of os-release, without quotes; "": there is no such line. */
static void os_value(const char *text, const char *key, char out[static 80])
{
	size_t n = strlen(key);

	out[0] = '\0';
	for (const char *line = text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		const char *value = line + n + 1;

		if (strncmp(line, key, n) != 0 || line[n] != '=')
			continue;
		value += *value == '"';
		snprintf(out, 80, "%.*s", (int)MIN(strcspn(value, "\"\n"), 79u), value);
	}
}

/* The distribution by ID, or else the first known distribution in ID_LIKE. NULL: unknown. */
static const struct distribution *find_distribution(char name[static 80])
{
	_cleanup_free_ char *text = NULL;
	char ids[2][80], *save, *word;

	name[0] = '\0';
	if (path_read(AT_FDCWD, "/etc/os-release", 64 << 10, &text, NULL) < 0)
		return NULL;
	os_value(text, "PRETTY_NAME", name);
	os_value(text, "ID", ids[0]);
	os_value(text, "ID_LIKE", ids[1]);
	for (unsigned k = 0; k < 2; k++)
		for (word = strtok_r(ids[k], " ", &save); word; word = strtok_r(NULL, " ", &save))
			for (unsigned i = 0; i < ARRAY_SIZE(distributions); i++)
				if (strcmp(word, distributions[i].id) == 0)
					return &distributions[i];
	return NULL;
}

/* ---- the text ------------------------------------------------------------------------ */

struct init {
	struct conf *conf;	/* the configuration without the environment: it has the presets */
	struct conf *variables; /* the sections that the environment adds */
	bool shown;		/* the text is for the terminal, without secrets */
	unsigned n;		/* the number of sources */
};

static bool is_same_url(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	n -= n && a[n - 1] == '/';
	m -= m && b[m - 1] == '/';
	return n == m && strncmp(a, b, n) == 0;
}

/* Adds the server of the distribution, unless a variable names the same server. */
static void add_distribution(struct init *in, struct buf *out)
{
	char name[80];
	const struct distribution *d = find_distribution(name);

	for (const struct conf_section *s = NULL; d && (s = conf_next(in->variables, "source", s));)
		if (conf_get(s, "url") && is_same_url(conf_get(s, "url"), d->url))
			return;
	if (!d)
		return;
	in->n++;
	buf_addf(out, "\n# The debuginfod server of %s (/etc/os-release).\n[source \"%s\"]\n", name, d->preset);
	if (!conf_find(in->conf, "source", d->preset))
		buf_addf(out, "url = %s\nlayout = debuginfod\n", d->url);
	buf_adds(out, "enabled = yes\n");
}

/* Adds a line of a source, without credentials if the text is for the terminal. */
static void add_entry(const struct init *in, const struct conf_entry *x, struct buf *out)
{
	if (!in->shown) {
		buf_addf(out, "%s = %s\n", x->name, x->value);
	} else if (strcmp(x->name, "header") == 0) {
		buf_addf(out, "header = %.*s: (not shown)\n", (int)strcspn(x->value, ":"), x->value);
	} else {
		buf_addf(out, "%s = ", x->name);
		url_without_credentials(x->value, out);
		buf_adds(out, "\n");
	}
}

static void add_variables(struct init *in, struct buf *out)
{
	for (const struct conf_section *s = NULL; (s = conf_next(in->variables, "source", s));) {
		buf_addf(out, "\n# From %s.\n[source \"%s\"]\n", s->file, s->name);
		for (const struct conf_entry *x = s->entries; x; x = x->next)
			add_entry(in, x, out);
		in->n++;
	}
}

static void add_text(struct init *in, struct buf *out)
{
	in->n = 0;
	buf_adds(out, "# Written by `symfs init`. symfs.conf(5) explains every key; `symfs sources presets`\n"
		      "# lists more servers: [source \"NAME\"] and enabled = yes.\n\n[symfs]\n#quota = 50G\n");
	add_distribution(in, out);
	add_variables(in, out);
	if (!in->n)
		buf_adds(out, "\n# Nothing on this machine names a server. For programs of Linux distributions:\n"
			      "#[source \"elfutils\"]\n#enabled = yes\n");
}

/* ---- the file ------------------------------------------------------------------------ */

/* Makes the file readable for its owner alone: a variable can contain a password. */
static int save(const char *path, const struct buf *text, struct err *e)
{
	_cleanup_free_ char *dir = strdup(path);
	_cleanup_close_ int fd = -1;
	char *slash = dir ? strrchr(dir, '/') : NULL;
	int r = slash ? 0 : -ENOMEM;

	if (r == 0) {
		*slash = '\0';
		r = path_mkdirs(dir[0] ? dir : "/", 0700);
	}
	if (r == 0) {
		fd = open(dir[0] ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? -errno : path_write_synced(fd, path_base(path), text->p, text->n, 0600);
	}
	return r < 0 ? err_set(e, r, "%s: %s", path, err_text(r)) : 0;
}

static int write_first(const char *path, struct err *e)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(FILE_MOST), shown = BUF_UP_TO(FILE_MOST);
	struct init in = {.conf = NULL};
	int r = conf_new(&in.conf);

	if (r == 0)
		r = conf_new(&in.variables);
	if (r == 0)
		r = places_presets(in.conf, e);
	if (r == 0)
		r = places_environment(in.variables, e);
	if (r == 0) {
		add_text(&in, &text);
		in.shown = true;
		add_text(&in, &shown);
		r = save(path, &text, e);
	}
	if (r == 0) {
		cmd_say(0, "wrote %s", path);
		fputs(buf_text(&shown), stdout);
	}
	conf_free(in.conf);
	conf_free(in.variables);
	return r;
}

/* ---- the command --------------------------------------------------------------------- */

static char *target_of(const char *word)
{
	char *path = word ? path_absolute(word) : place_user_file();

	if (path && path[0])
		return path;
	free(path);
	return NULL;
}

static int init_file(const char *word, bool force)
{
	_cleanup_free_ char *path = target_of(word);
	struct err e = {0};
	struct stat st;

	if (!path)
		return cmd_say(EXIT_USAGE, "neither XDG_CONFIG_HOME nor HOME is set; name a file with -o");
	if (!force && lstat(path, &st) == 0)
		return cmd_say(EXIT_NO, "%s exists; --force replaces it, -o FILE writes another file", path);
	if (write_first(path, &e) < 0)
		return cmd_say(EXIT_LOCAL, "%s", err_why(&e, e.code));
	return cmd_flush(EXIT_DONE);
}

static int run_init(int argc, char **argv)
{
	const char *path = NULL;
	bool force = false, old = strcmp(argv[0], "config") == 0; /* the old words were `config init` */
	const struct opt own[] = {
		{"force", 0, NULL, "replace a file that exists", &force},
		{"output", 'o', "FILE", "write FILE instead of the user's symfs.conf", &path}, {0}};
	struct app_args args;
	int status = app_options(&args, &cmd_init, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc != 1 + old || (old && strcmp(argv[1], "init") != 0))
		return cmd_usage("expected options only");
	return init_file(path, force);
}

const struct cmd cmd_init = {
	.name = "init",
	.args = "[--force] [-o FILE]",
	.help = "Writes a first configuration file for this user, and prints it: the debuginfod\n"
		"server of the distribution, and what DEBUGINFOD_URLS, /etc/debuginfod and\n"
		"_NT_SYMBOL_PATH name. Replaces no file without --force",
	.examples = {"symfs init",
		"symfs init -o ./symfs.conf"},
	.run = run_init,
};
