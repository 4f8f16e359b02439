/* Completes a word by the tables of options, keys, layouts and types, and by the usage of the command. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/app.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/places.h"
#include "names/id/filetype.h"
#include "names/layout/layout.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void complete_offer(const char *word, const char *meaning)
{
	printf("%s\t%s\n", word, meaning);
}

/* ---- values ------------------------------------------------------------------------- */

static void offer_filetypes(const char *typed)
{
	for (unsigned t = FILETYPE_NONE + 1; t < FILETYPES; t++)
		complete_offer(filetypes[t].name, "");
}

static void offer_objects(const char *typed)
{
	for (unsigned t = 0; t < OBJECT_TYPES; t++)
		complete_offer(object_types[t].name, "");
}

static void offer_layouts(const char *typed)
{
	for (unsigned i = 0; layout_at(i); i++)
		complete_offer(layout_at(i)->folder, layout_at(i)->help);
}

/* LAYOUT/REST as under a mount, an absolute path inside one, or a file. */
static void offer_what(const char *typed)
{
	complete_offer(":file", "");
	for (unsigned i = 0; layout_at(i) && !strchr(typed, '/'); i++)
		printf("%s/\t%s\n", layout_at(i)->folder, layout_at(i)->help);
}

/* A directory, or the name of a source in the configuration, which has the presets. */
static void offer_sources(const char *typed)
{
	struct conf *c = NULL;
	struct err e;

	if (strchr(typed, '/') || typed[0] == '.')
		complete_offer(":directory", "");
	else if (conf_new(&c) == 0 && places_read(c, &e) == 0)
		for (const struct conf_section *s = NULL; (s = conf_next(c, "source", s));)
			complete_offer(s->name, "");
	conf_free(c);
}

/* What a capital word in a usage or of an option stands for, and the values of keys that are texts. A name that is
 * not here has no completion. */
static const struct noun {
	const char *name;
	const char *words; /* separated by blanks; NULL: `offer` prints them */
	void (*offer)(const char *typed);
} nouns[] = {
	{"ARCH", "x86_64 arm64", NULL},
	{"CASING", "default lowercase uppercase", NULL},
	{"CLASS", "try keep", NULL},
	{"CORE", ":file", NULL},
	{"DIR", ":directory", NULL},
	{"FILE", ":file", NULL},
	{"LAYOUT", NULL, offer_layouts},
	{"MINIDUMP", ":file", NULL},
	{"MODULE", ":file", NULL},
	{"OBJECT", NULL, offer_objects},
	{"PATH", ":file", NULL},
	{"PROGRAM", ":file", NULL},
	{"RIGHTS", "read upload try purge added read,upload purge,added", NULL},
	{"SOCKET", ":file", NULL},
	{"TYPE", NULL, offer_filetypes},
	{"URL", "http://127.0.0.1:8737", NULL},
	{"WHAT", NULL, offer_what},
	{"WHERE", "127.0.0.1:8737 unix: systemd", NULL},
	{"[LAYOUT@]URL|PATH|NAME", NULL, offer_sources},
	{"allow-origins", "https://profiler.firefox.com", NULL},
	{"byte-ranges", "auto always never", NULL},
	{"cache-dir", ":directory", NULL},
	{"run-as", ":user", NULL},
	{"server-names", ":hostname", NULL},
};

/* Whether the noun is one of the table or of the command. */
static bool offer_noun(const struct cmd *c, const char *name, const char *typed)
{
	for (const struct noun *n = nouns; n < nouns + ARRAY_SIZE(nouns); n++) {
		if (strcmp(n->name, name) != 0)
			continue;
		if (n->offer)
			n->offer(typed);
		for (const char *w = n->words; w && *w; w += strcspn(w, " "), w += *w == ' ')
			printf("%.*s\t\n", (int)strcspn(w, " "), w);
		return true;
	}
	return c->offer && c->offer(name, typed);
}

/* Words and nouns with | between them, as in a usage; the dots after a noun and brackets do not count. `words` and
 * `named` say which to offer. Returns the number of words that begin as typed. */
static unsigned offer_choice(const struct cmd *c, const char *text, const char *typed, bool words, bool named)
{
	unsigned n = 0;

	for (; *text; text += strcspn(text, "|"), text += *text == '|') {
		char one[40];

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(text, "|].["), text);
		if (named && isupper(one[0]))
			offer_noun(c, one, typed);
		if (!words || !islower(one[0]))
			continue;
		complete_offer(one, "");
		n += strncmp(one, typed, strlen(typed)) == 0;
	}
	return n;
}

/* ---- options ------------------------------------------------------------------------ */

struct completing {
	const struct cmd *c;
	const struct opt *own, *common;
};

static const struct opt *find_option(const struct completing *p, const char *word)
{
	for (const struct opt *o = p->own; o && o->name; o++)
		if (word[1] == '-' ? strcmp(word + 2, o->name) == 0 : word[1] == o->letter && !word[2])
			return o;
	for (const struct opt *o = p->common; o->name; o++)
		if (word[1] == '-' && strcmp(word + 2, o->name) == 0)
			return o;
	return NULL;
}

static const struct conf_field *find_key(const struct completing *p, const char *word)
{
	return p->c->configured && word[1] == '-' ? conf_field_find(settings_fields, word + 2) : NULL;
}

/* Whether the next word is the option's value. */
static bool takes_value(const struct completing *p, const char *word)
{
	const struct opt *o = word[0] == '-' ? find_option(p, word) : NULL;

	return o ? o->arg != NULL : word[0] == '-' && find_key(p, word);
}

static void offer_value(const struct completing *p, const char *option, const char *typed)
{
	const struct opt *o = find_option(p, option);
	const struct conf_field *f = o ? NULL : find_key(p, option);

	if (f && !offer_noun(p->c, f->name, typed) && f->type == CONF_BOOL)
		offer_choice(p->c, "yes|no", typed, true, false);
	if (o && !offer_noun(p->c, o->arg, typed))
		offer_choice(p->c, o->arg, typed, true, true);
}

static void offer_option(const struct opt *o)
{
	char letter[] = {'-', o->letter, '\0'};

	if (o->letter)
		complete_offer(letter, o->help);
	printf("--%s\t%s\n", o->name, o->help);
}

static void offer_options(const struct completing *p)
{
	for (const struct opt *o = p->own; o && o->name; o++)
		offer_option(o);
	for (const struct opt *o = p->common; o->name; o++)
		offer_option(o);
	for (const struct conf_field *f = settings_fields; p->c->configured && f->name; f++)
		if (strcmp(f->name, "cache-dir") != 0)
			printf("--%s\t%s\n", f->name, f->help);
	complete_offer("--help", "print the usage");
}

/* ---- operands ----------------------------------------------------------------------- */

/* The operands of the usage: its words but for options, their values, and OPTIONS, which stands for them. Cuts `text`
 * into pieces. */
static unsigned usage_operands(const struct completing *p, char *text, const char **out, unsigned room)
{
	bool bracket = false, value = false;
	unsigned n = 0;
	char *word;

	while ((word = strsep(&text, " ")) && n < room) {
		bool skip = bracket || value;

		value = false;
		if (!skip && strncmp(word, "[-", 2) == 0)
			skip = bracket = true;
		else if (!skip && word[0] == '-' && (skip = true))
			value = takes_value(p, word);
		bracket = bracket && !strchr(word, ']');
		word += word[0] == '[';
		if (!skip && strcmp(word, "OPTIONS]") != 0 && strcmp(word, "...") != 0)
			out[n++] = word;
	}
	return n;
}

static void offer_operand(const struct completing *p, unsigned before, const char *typed)
{
	char text[200];
	const char *operands[8];
	unsigned n;

	snprintf(text, sizeof(text), "%s", p->c->args);
	n = usage_operands(p, text, operands, ARRAY_SIZE(operands));
	if (!n || (before && n == 1 && !strstr(operands[0], "...")))
		return;
	/* A word that begins no subcommand can be the first operand without one. */
	if (!before && (offer_choice(p->c, operands[0], typed, true, true) || !islower(operands[0][0])))
		return;
	for (unsigned i = n > 1; i < n; i++)
		offer_choice(p->c, operands[i], typed, false, true);
}

void complete_command(const struct cmd *c, const struct opt *own, const struct opt *common, const char *words)
{
	const struct completing p = {.c = c, .own = own, .common = common};
	_cleanup_free_ char *copy = strdup(words);
	char *rest = copy, *word = copy ? strsep(&rest, "\n") : NULL;
	unsigned operands = 0;

	for (; rest; word = strsep(&rest, "\n")) {
		if (!takes_value(&p, word)) {
			operands += word[0] != '-';
			continue;
		}
		if (!strchr(rest, '\n')) {
			offer_value(&p, word, rest);
			return;
		}
		strsep(&rest, "\n");
	}
	if (word && word[0] == '-')
		offer_options(&p);
	else if (word)
		offer_operand(&p, operands, word);
}
