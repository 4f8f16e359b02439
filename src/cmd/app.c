/* Builds settings, sources, store and fetch from options and configuration; prints the configuration. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/app.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "cmd/cmd.h"
#include "cmd/no-source.h"
#include "cmd/places.h"
#include "cmd/secrets.h"
#include "fetch/fetch.h"
#include "names/id/filetype.h"
#include "priv/hide.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const struct conf_field settings_fields[] = {
	{"cache-dir", CONF_TEXT, offsetof(struct settings, cache_dir), NULL, "the directory of the store"},
	{"quota", CONF_SIZE, offsetof(struct settings, quota), "none",
		"maximum size of the stored files"},
	{"min-free", CONF_SIZE, offsetof(struct settings, min_free), "512M",
		"space left free on the store's disk"},
	{"lookup-deadline", CONF_MS, offsetof(struct settings, lookup_deadline_ms), "10s",
		"longest time to find out if a file exists"},
	{"connect-timeout", CONF_MS, offsetof(struct settings, connect_ms), "4s",
		"longest time to connect to a server"},
	{"stall-timeout", CONF_MS, offsetof(struct settings, stall_ms), "30s", "longest time without a byte"},
	{"miss-lifetime", CONF_SECONDS, offsetof(struct settings, miss_seconds), "1h",
		"how long a miss is remembered"},
	{"breaker-seconds", CONF_MS, offsetof(struct settings, breaker_ms), "60s",
		"how long to back off from a failed server"},
	{"max-file-size", CONF_SIZE, offsetof(struct settings, max_file_size), "16G",
		"larger files are rejected"},
	{"ask-on", CONF_BOOL, offsetof(struct settings, ask_on), "yes",
		"for a file without debug data, ask further"},
	{"byte-ranges", CONF_TEXT, offsetof(struct settings, byte_ranges), "auto",
		"parts of files: auto, always or never"},
	{"keep-seconds", CONF_SECONDS, offsetof(struct settings, keep_seconds), "1h",
		"how long a file of `get` is not evicted"},
	{"synthesize", CONF_BOOL, offsetof(struct settings, synthesize), "yes",
		"make Breakpad files that no source has"},
	{"allow-unsandboxed", CONF_BOOL, offsetof(struct settings, allow_unsandboxed), "no",
		"convert even if there is no sandbox"},
	{"run-as", CONF_TEXT, offsetof(struct settings, run_as), NULL, "user of the daemon"},
	{"read-all", CONF_BOOL, offsetof(struct settings, read_all), "no",
		"the daemon may read all directory sources"},
	{"server-names", CONF_LIST, offsetof(struct settings, server_names), NULL,
		"serve: host names of this server"},
	{"allow-origins", CONF_LIST, offsetof(struct settings, allow_origins), NULL,
		"serve: origins of pages that may read"},
	{0},
};

/* The keys of section [symbolicate], which are read into struct symb_limits. */
static const struct conf_field limits_fields[] = {
	{"bytes", CONF_SIZE, offsetof(struct symb_limits, bytes), "16M", "size of one request"},
	{"jobs", CONF_COUNT, offsetof(struct symb_limits, jobs), "10", "jobs in one request"},
	{"modules", CONF_COUNT, offsetof(struct symb_limits, modules), "2000", "modules of all its jobs"},
	{"stacks", CONF_COUNT, offsetof(struct symb_limits, stacks), "20000", "stacks of all its jobs"},
	{"frames", CONF_COUNT, offsetof(struct symb_limits, frames), "200000", "frames of all its jobs"},
	{0},
};

/* ---- settings ----------------------------------------------------------------------- */

/* Applies the last section first, because the section that was read first has the highest priority. */
static int fill_section(struct app *app, const char *kind, const struct conf_field *fields, void *into,
	struct err *e)
{
	const struct conf_section *all[16];
	unsigned n = 0;
	int r = conf_defaults(fields, into);

	for (const struct conf_section *s = NULL; (s = conf_next(app->conf, kind, s));)
		if (n < ARRAY_SIZE(all))
			all[n++] = s;
	while (r == 0 && n)
		r = conf_fill(all[--n], fields, into, e);
	return r;
}

/* The value of byte-ranges; -1: the word is not "auto", "always" or "never". */
static int ranges_setting(const struct app *app)
{
	static const char *const words[] = {[RANGES_AUTO] = "auto", [RANGES_ALWAYS] = "always",
		[RANGES_NEVER] = "never"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(app->settings.byte_ranges, words[i]) == 0)
			return (int)i;
	return -1;
}

/* The store's directory if no option or key names one: $CACHE_DIRECTORY (systemd), $XDG_CACHE_HOME/symfs,
 * ~/.cache/symfs, /var/cache/symfs. free() it. NULL: no memory. */
static char *place_cache(void)
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

static int fill_settings(struct app *app, struct err *e)
{
	int r = fill_section(app, "symfs", settings_fields, &app->settings, e);

	if (r == 0)
		r = fill_section(app, "symbolicate", limits_fields, &app->limits, e);
	for (unsigned i = 0; r == 0 && i < app->args.n_set; i++)
		r = conf_value(app->args.set[i].field, app->args.set[i].value, &app->settings,
			"command line", e);
	if (r == 0 && ranges_setting(app) < 0)
		return err_set(e, -EINVAL, "byte-ranges: `%.40s` is not auto, always or never",
			app->settings.byte_ranges);
	if (r == 0 && app->args.cache) {
		free(app->settings.cache_dir);
		app->settings.cache_dir = strdup(app->args.cache);
	}
	if (r == 0 && !app->settings.cache_dir)
		app->settings.cache_dir = place_cache();
	return r == 0 && !app->settings.cache_dir ? err_set(e, -ENOMEM, "out of memory") : r;
}

/* The links of the command's own directory lead to files of any owner. */
static int add_links(struct app *app)
{
	struct conf_section *s = NULL;
	int r = app->args.links ? place_add(app->conf, true, "gdb", app->args.links, "command", &s) : 0;

	return r == 0 && s ? conf_set(s, "follow-links", "yes", 0) : r;
}

/* The store tells by the name "bucket" which files came from the team's bucket, so no other source may have it. */
static int check_names(const struct conf *c, struct err *e)
{
	for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));) {
		const char *type = conf_get(s, "type");

		if (strcmp(s->name, "bucket") == 0)
			return err_set(e, -EINVAL, "%.200s:%u: [source \"bucket\"]: this name is taken by the "
				"section [bucket]; choose another one", s->file, s->line);
		if (type && strcmp(type, "bucket") == 0)
			return err_set(e, -EINVAL, "%.200s:%u: [source \"%.60s\"]: the team's bucket has the section "
				"[bucket], without type; a bucket with another layout has type = s3",
				s->file, s->line, s->name);
	}
	return 0;
}

/* 0, -ENOMEM */
static int conf_rename(struct conf_section *s, const char *kind, const char *name)
{
	char *k = strdup(kind), *n = strdup(name);

	if (!k || !n) {
		free(k);
		free(n);
		return -ENOMEM;
	}
	free(s->kind);
	free(s->name);
	s->kind = k;
	s->name = n;
	return 0;
}

/* Makes a section [bucket] the section of a source, which is asked before all others. */
static int bucket_sections(struct conf *c)
{
	int r = 0;

	for (struct conf_section *s; r == 0 && (s = (struct conf_section *)conf_next(c, "bucket", NULL));)
		r = conf_rename(s, "source", "bucket") < 0 ? -ENOMEM : conf_set(s, "type", "bucket", s->line);
	return r;
}

/* The last of the `n` sections that places_command_line() put in front of all others. NULL: `n` is 0. */
static const struct conf_section *places_last(const struct conf *c, unsigned n)
{
	const struct conf_section *s = NULL;

	while (n--)
		s = conf_next(c, "source", s);
	return s;
}

static int read_configuration(struct app *app, struct err *e)
{
	static const char *const kinds[] = {"symfs", "source", "bucket", "symbolicate", "class", NULL};
	const struct conf_section *last;
	int r = conf_new(&app->conf);

	if (r == 0 && app->args.config)
		r = conf_read(app->conf, app->args.config, NULL, 0, e);
	last = conf_last(app->conf);
	if (r == 0)
		r = places_read(app->conf, e);
	if (r == 0)
		r = conf_only(app->conf, kinds, e);
	if (r == 0)
		r = check_names(app->conf, e);
	if (r == 0 && ((r = bucket_sections(app->conf)) < 0 || (r = sources_inherit(app->conf)) < 0 ||
			      (r = places_directories(app->conf)) < 0))
		err_set(e, r, "out of memory");
	/* --source can name a preset even with --no-default-sources. */
	if (r == 0)
		r = places_command_line(app->conf, app->args.sources, app->args.n_sources, e);
	if (r == 0 && app->args.no_default_sources)
		conf_drop_after(app->conf,
			last ? last : places_last(app->conf, app->args.n_sources), "source");
	else if (r == 0)
		r = places_environment(app->conf, e);
	if (r == 0 && (r = add_links(app)) < 0)
		err_set(e, r, "out of memory");
	/* A file that cannot be read is an error: its settings are unknown. */
	return r == 0 || r == -ENOMEM ? r : -EINVAL;
}

/* A namespace has a directory in the store's, which the same rules of access cover, and a prefix of its own in
 * the bucket. */
static int enter_space(struct app *app, const char *name)
{
	char *dir = NULL;
	int r = 0;

	if (asprintf(&dir, "%s/namespaces/%s", app->settings.cache_dir, name) < 0)
		return -ENOMEM;
	free(app->settings.cache_dir);
	app->settings.cache_dir = dir;
	for (struct conf_section *s = NULL;
		r == 0 && (s = (struct conf_section *)conf_next(app->conf, "source", s));) {
		const char *type = conf_get(s, "type"), *had = conf_get(s, "prefix");
		_cleanup_free_ char *prefix = NULL;

		if (!type || strcmp(type, "bucket") != 0)
			continue;
		if (asprintf(&prefix, "%s%snamespaces/%s", had ? had : "", had ? "/" : "", name) < 0)
			return -ENOMEM;
		r = conf_set(s, "prefix", prefix, 0);
	}
	return r;
}

int app_configure(struct app *app, const struct app_args *a, struct err *e)
{
	int r;

	memset(app, 0, sizeof(*app));
	app->args = *a;
	hide_memory();
	r = read_configuration(app, e);
	if (r == 0)
		r = fill_settings(app, e);
	if (r == 0 && a->space && (r = enter_space(app, a->space)) < 0)
		err_set(e, r, "out of memory");
	/* A missing or unreadable file is an error of the configuration. The exit status must not say that a file
	 * does not exist (-ENOENT), or that a source refused (-EACCES). */
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

int app_sources(struct app *app, struct sources **out, struct err *e)
{
	const struct settings *s = &app->settings;
	struct source_opts defaults = {
		.connect_ms = s->connect_ms,
		.stall_ms = s->stall_ms,
		.miss_seconds = s->miss_seconds,
		.max_file_size = s->max_file_size,
	};
	int r = secrets_fill(app->conf, !app->warned, e);

	app->warned = true;
	if (r == 0)
		r = sources_new(out, app->conf, &defaults, e);
	if (r == 0 && app->args.offline)
		sources_keep_local(*out);
	return r;
}

/* ---- opening ------------------------------------------------------------------------ */

static int open_store(struct app *app, struct err *e)
{
	struct store_opts o = {.dir = app->settings.cache_dir,
		.quota = app->settings.quota,
		.min_free = app->settings.min_free};

	/* An error of the store is a local problem, not a refusal by a source. */
	return store_open(&app->store, &o, e) < 0 ? -EIO : 0;
}

int app_open_store(struct app *app, const struct app_args *a, struct err *e)
{
	int r = app_configure(app, a, e);

	return r == 0 ? open_store(app, e) : r;
}

int app_prepare(struct app *app, const struct app_args *a, struct err *e)
{
	int r = app_configure(app, a, e);

	if (r == 0)
		r = no_source_check(a->sources, a->n_sources, a->sources_later, e);
	return r == 0 ? app_sources(app, &app->prepared, e) : r;
}

int app_start(struct app *app, struct err *e)
{
	struct fetch_opts o = {
		.lookup_deadline_ms = app->settings.lookup_deadline_ms,
		.first_answer_ms = app->settings.connect_ms,
		.park_ms = 10000,
		.grace_ms = 300,
		.breaker_ms = app->settings.breaker_ms,
		.max_file_size = app->settings.max_file_size,
		.ask_on = app->settings.ask_on,
		.ranges = (enum fetch_ranges)ranges_setting(app),
		.synthesize = app->settings.synthesize,
		.allow_unsandboxed = app->settings.allow_unsandboxed,
		.agent = app->args.agent,
	};
	int r = open_store(app, e);

	return r == 0 ? fetch_new(&app->fetch, app->store, take(app->prepared), &o, e) : r;
}

int app_start_serving(struct app *app, struct err *e)
{
	struct sources *so = sources_ref(app->prepared);
	int r = app_start(app, e);

	if (r == 0)
		r = bucket_start(&app->bucket, app->store, so, e);
	sources_unref(so);
	return r == -ENOENT ? 0 : r;
}

int app_open(struct app *app, const struct app_args *a, struct err *e)
{
	int r = app_prepare(app, a, e);

	return r == 0 ? app_start(app, e) : r;
}

void app_stop_fetching(struct app *app)
{
	bucket_stop(take(app->bucket));
	if (fetch_free(take(app->fetch)) < 0)
		app->store = NULL; /* leaked: a thread hangs in a directory source, and can still use the store */
}

void app_close(struct app *app)
{
	app_stop_fetching(app);
	store_close(app->store);
	if (app->prepared)
		sources_unref(app->prepared);
	conf_release(settings_fields, &app->settings);
	conf_free(app->conf);
	free(app->args.adopted);
	memset(app, 0, sizeof(*app));
	hide_memory_end();
}

int app_reload(struct app *app, struct err *e)
{
	struct sources *so = NULL;
	struct app fresh;
	int r = app_configure(&fresh, &app->args, e);

	if (r == 0)
		r = app_sources(&fresh, &so, e);
	if (r == 0 && app->bucket && bucket_renew(app->bucket, so) < 0)
		log_warn("[bucket] changed: uploads still go to the old bucket until a restart");
	if (r == 0)
		fetch_set_sources(app->fetch, so);
	if (r == 0) {
		struct conf *old = app->conf;

		app->conf = fresh.conf;
		fresh.conf = old;
	}
	conf_release(settings_fields, &fresh.settings);
	conf_free(fresh.conf);
	return r;
}

/* ---- the configuration as text ------------------------------------------------------ */

int app_exit(int error)
{
	switch (error) {
	case 0:
		return EXIT_DONE;
	case -ENOENT:
		return EXIT_NO;
	case -EINVAL:
		return EXIT_USAGE;
	case -EINTR:
		return EXIT_INTERRUPTED;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -EREMOTEIO:
	case -EACCES:
	case -EBADMSG:
	case -EFBIG:
	case -ELOOP:
		return EXIT_UNASKED;
	}
	return EXIT_LOCAL;
}

/* ---- paths -------------------------------------------------------------------------- */

struct inside {
	const char *path;
	size_t longest; /* length of the innermost mount point that contains the path; 0: no mount contains it */
};

static int is_inside(void *ctx, const struct mount_row *m)
{
	struct inside *in = ctx;
	size_t n = strlen(m->point);

	if (strncmp(m->type, "fuse.symfs", 10) == 0 && strncmp(in->path, m->point, n) == 0 &&
		(in->path[n] == '/' || in->path[n] == '\0') && n > in->longest)
		in->longest = n;
	return 0;
}

/* Splits an absolute path into a mount and the path below it. -ENOENT: the path is in no mount. */
static int split_mount(const char *word, char **mount, char **rest)
{
	_cleanup_free_ char *path = path_absolute(word);
	struct inside in = {.path = path};

	if (!path)
		return -ENOMEM;
	mounts_each(is_inside, &in);
	if (!in.longest)
		return -ENOENT;
	*rest = strdup(path[in.longest] ? path + in.longest + 1 : "");
	*mount = strndup(path, in.longest);
	return *rest && *mount ? 0 : -ENOMEM;
}

int app_tree_path(const char *word, char **out)
{
	_cleanup_free_ char *mount = NULL;

	if (word[0] == '/')
		return split_mount(word, &mount, out);
	*out = strdup(word);
	return *out ? 0 : -ENOMEM;
}

int app_adopt_mount(struct app_args *a, const char *word)
{
	_cleanup_free_ char *mount = NULL, *rest = NULL;
	_cleanup_close_ int fd = -1;

	if (word[0] != '/' || a->config || a->cache || a->n_sources || a->no_default_sources)
		return 0;
	if (split_mount(word, &mount, &rest) < 0)
		return 0;
	if (asprintf(&a->adopted, "%s/.symfs/config", mount) < 0) {
		a->adopted = NULL;
		return -ENOMEM;
	}
	fd = open(a->adopted, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES) {
		log_warn("%s is another user's mount; using your own configuration", mount);
		return 0;
	}
	a->config = a->adopted;
	a->no_default_sources = true;
	return 0;
}
