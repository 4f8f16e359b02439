/* Parses the command line: the options that commands share, the options of one command, and --help. Reports wrong
 * options. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/:@%+=,._-"

static void print_option(const char *name, char letter, const char *arg, const char *help)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", letter ? "-" : " ", letter ? letter : ' ',
		letter ? ", " : "  ", name, arg ? " " : "", arg ? arg : "");
	printf("  %-31s %s\n", left, help);
}

/* The name of --cache in the configuration. */
#define CACHE_ALIAS "cache-dir"

static bool takes_common(const struct cmd *c, const struct opt *o)
{
	return strcmp(o->name, "json") == 0 ? c->json : c->configured;
}

static const struct opt *find_long(const struct opt *rows, const char *name, size_t n)
{
	for (; rows && rows->name; rows++)
		if (strlen(rows->name) == n && memcmp(rows->name, name, n) == 0)
			return rows;
	return NULL;
}

static void print_examples(const struct cmd *c)
{
	printf("\nExamples:\n");
	for (size_t i = 0; i < ARRAY_SIZE(c->examples); i++)
		if (c->examples[i])
			printf("  %s\n", c->examples[i]);
}

/* Prints the help of a command with the command's own options. `symfs help options`
 * has the options that commands share. */
static void print_help(const struct cmd *c, const struct opt *own, const struct opt *common)
{
	const struct opt *json = find_long(common, "json", strlen("json"));

	printf("usage: symfs %s%s%s\n%s.\n\n", c->name, *c->args ? " " : "", c->args, c->help);
	for (; own && own->name; own++)
		print_option(own->name, own->letter, own->arg, own->help);
	if (c->json)
		print_option(json->name, json->letter, json->arg, json->help);
	print_option("help", 'h', NULL, "print this text");
	if (c->configured)
		printf("\nAlso --config, --source, --cache, --offline, --no-default-sources and the keys\n"
		       "of [symfs]: `symfs help options` explains them.\n");
	print_examples(c);
}

static const struct opt *find_letter(const struct opt *rows, char letter)
{
	for (; rows && rows->name; rows++)
		if (rows->letter == letter)
			return rows;
	return NULL;
}

int app_set(struct app_args *a, const char *key, const char *value, struct err *e)
{
	const struct conf_field *f;
	struct settings scratch;
	char name[40];
	int r;

	snprintf(name, sizeof(name), "%s", key);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	if (strcmp(name, CACHE_ALIAS) == 0) {
		a->cache = value;
		return 0;
	}
	f = conf_field_find(settings_fields, name);
	if (!f)
		return err_set(e, -ENOENT, "no such key: %.60s", key);
	if (a->n_set == ARRAY_SIZE(a->set))
		return err_set(e, -EINVAL, "too many options");
	memset(&scratch, 0, sizeof(scratch));
	r = conf_value(f, value, &scratch, "command line", e);
	conf_release(settings_fields, &scratch);
	if (r < 0)
		return r;
	a->set[a->n_set].field = f;
	a->set[a->n_set++].value = value;
	return 0;
}

struct parsing {
	struct app_args *a;
	const struct cmd *c;
	const struct opt *own, *common;
	int argc;
	char **argv;
	int at, words;
};

/* The argument of an option: the text after `=`, or the next word. NULL: there is no argument. */
static const char *argument(struct parsing *p, const char *inside)
{
	if (inside)
		return inside;
	return p->at + 1 < p->argc ? p->argv[++p->at] : NULL;
}

static int take_option(struct parsing *p, const struct opt *o, const char *inside)
{
	const char *value;

	if (!o->arg) {
		*(bool *)o->into = true;
		return inside ? cmd_usage("--%s takes no value", o->name) : -1;
	}
	value = argument(p, inside);
	if (!value)
		return cmd_usage("--%s needs a value", o->name);
	if (o->words) {
		if (o->words->n == ARRAY_SIZE(o->words->word))
			return cmd_usage("too many options --%s", o->name);
		o->words->word[o->words->n++] = value;
		return -1;
	}
	if (o->into != p->a->sources) {
		*(const char **)o->into = value;
		return -1;
	}
	if (p->a->n_sources == APP_SOURCES_MOST)
		return cmd_usage("more than 64 options --source");
	p->a->sources[p->a->n_sources++] = value;
	return -1;
}

/* Reports an option that does not exist, or that the command does not take. Returns EXIT_USAGE. */
static int no_such_option(const struct parsing *p, const char *name)
{
	struct nearest n = {.word = name};

	for (const struct opt *o = p->own; o && o->name; o++)
		nearest_try(&n, o->name);
	for (const struct opt *o = p->common; o->name; o++)
		if (takes_common(p->c, o))
			nearest_try(&n, o->name);
	for (const struct conf_field *f = settings_fields; p->c->configured && f->name; f++)
		nearest_try(&n, f->name);
	if (!n.best)
		return cmd_usage("no such option: --%s", name);
	return cmd_say(EXIT_USAGE, "no such option: --%s; did you mean --%s?", name, n.best);
}

static int refuse_option(struct parsing *p, const char *name)
{
	if (strcmp(name, "json") == 0)
		return cmd_usage("--%s: this command has no JSON output", name);
	if (find_long(p->common, name, strlen(name)) || conf_field_find(settings_fields, name))
		return cmd_usage("--%s: this command uses no sources, no cache and no configuration", name);
	return no_such_option(p, name);
}

static int take_setting(struct parsing *p, const char *key, const char *inside)
{
	const char *value = argument(p, inside);
	struct err e;

	if (!value)
		return cmd_usage("--%s needs a value", key);
	return app_set(p->a, key, value, &e) < 0 ? cmd_usage("%s", e.text) : -1;
}

static int take_long(struct parsing *p, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word);
	const struct opt *o = find_long(p->own, word, n);
	char key[40];

	if (!o) {
		o = find_long(p->common, word, n);
		o = o && takes_common(p->c, o) ? o : NULL;
	}
	if (o)
		return take_option(p, o, equals ? equals + 1 : NULL);
	snprintf(key, sizeof(key), "%.*s", (int)MIN(n, sizeof(key) - 1), word); /* without the value, which
										 * can be secret */
	if (p->c->configured && conf_field_find(settings_fields, key))
		return take_setting(p, key, equals ? equals + 1 : NULL);
	return refuse_option(p, key);
}

static int take_letters(struct parsing *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct opt *o = find_letter(p->own, *letters);
		char word[2] = {*letters, '\0'};
		int r;

		if (!o)
			return cmd_usage("no such option: -%s", word);
		if (o->arg)
			return take_option(p, o, letters[1] ? letters + 1 : NULL);
		r = take_option(p, o, NULL);
		if (r >= 0)
			return r;
	}
	return -1;
}

static void complete(const struct parsing *p, const char *words)
{
	struct opt taken[8] = {{0}};
	unsigned n = 0;

	for (const struct opt *o = p->common; o->name && n + 1 < ARRAY_SIZE(taken); o++)
		if (takes_common(p->c, o))
			taken[n++] = *o;
	complete_command(p->c, p->own, taken, words);
}

static int take_words(struct parsing *p)
{
	bool only_words = false;

	for (p->at = 1, p->words = 1; p->at < p->argc; p->at++) {
		char *word = p->argv[p->at];
		int r = -1;

		if (only_words || word[0] != '-' || !word[1]) {
			p->argv[p->words++] = word;
		} else if (strcmp(word, "--") == 0) {
			only_words = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			print_help(p->c, p->own, p->common);
			r = EXIT_DONE;
		} else if (strncmp(word, COMPLETE_OPTION, strlen(COMPLETE_OPTION)) == 0) {
			complete(p, word + strlen(COMPLETE_OPTION));
			r = EXIT_DONE;
		} else {
			r = word[1] == '-' ? take_long(p, word + 2) : take_letters(p, word + 1);
		}
		if (r >= 0)
			return r;
	}
	return -1;
}

#define COMMON_OPTIONS(a)                                                                                     \
	{                                                                                                     \
		{"config", 0, "FILE", "read this configuration file first", &(a)->config},                    \
		{"source", 0, "[LAYOUT@]URL|PATH|NAME", "add a source; may be repeated", (a)->sources},       \
		{"cache", 0, "DIR", "the directory of the store (or --cache-dir)", &(a)->cache},              \
		{"offline", 0, NULL, "ask no server; use local files only", &(a)->offline},                   \
		{"no-default-sources", 0, NULL, "use the sources of --source and --config only",              \
			&(a)->no_default_sources},                                                            \
		{"json", 0, NULL, "print JSON", &(a)->json}, {0},                                             \
	}

void app_print_options(void)
{
	struct app_args none;
	const struct opt common[] = COMMON_OPTIONS(&none);

	printf("Commands that ask sources or read the cache take these options:\n");
	for (const struct opt *o = common; o->name; o++)
		if (strcmp(o->name, "json") != 0)
			print_option(o->name, o->letter, o->arg, o->help);
	printf("\nEach key of [symfs] in symfs.conf(5) is also an option:\n");
	for (const struct conf_field *f = settings_fields; f->name; f++)
		if (strcmp(f->name, CACHE_ALIAS) != 0)
			print_option(f->name, 0, "VALUE", f->help);
}

const char *app_word_again(const char *word, struct buf *out)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	const char *url = strstr(word, "://"), *quote = word[strspn(word, PLAIN)] ? "'" : "";
	bool odd = (url && strchr(url, '@')) || strchr(word, '\'') ||
		strcmp(text_shown(word, true, &room), word) != 0;

	buf_addf(out, "%s%s%s", odd ? "" : quote, odd ? "PLACE" : word, odd ? "" : quote);
	return buf_text(out);
}

static void add_again(struct buf *out, const char *option, const char *word)
{
	if (!word)
		return;
	buf_addf(out, " --%s ", option);
	app_word_again(word, out);
}

const char *app_options_again(const struct app_args *a, struct buf *out)
{
	add_again(out, "config", a->config);
	add_again(out, "cache", a->cache);
	if (a->no_default_sources)
		buf_adds(out, " --no-default-sources");
	for (unsigned i = 0; i < a->n_sources; i++)
		add_again(out, "source", a->sources[i]);
	return buf_text(out);
}

int app_options(
	struct app_args *a, const struct cmd *c, const struct opt *own, int *argc, char **argv)
{
	const struct opt common[] = COMMON_OPTIONS(a);
	struct parsing p = {
		.a = a, .c = c, .own = own, .common = common, .argc = *argc, .argv = argv};
	int r;

	memset(a, 0, sizeof(*a));
	cmd_called(c->name);
	r = take_words(&p);
	if (r >= 0)
		return r;
	argv[p.words] = NULL;
	*argc = p.words;
	return -1;
}
