/* Converts the text of configuration values into fields of a struct, by a module's table. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "conf/conf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int read_bool(const char *v, bool *out)
{
	static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false",
									     "off", "0"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcasecmp(v, yes[i]) == 0 || strcasecmp(v, no[i]) == 0) {
			*out = strcasecmp(v, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

/* A suffix of a number, and the factor that it stands for. The last row of a table has `word` NULL. */
struct unit {
	const char *word;
	uint64_t factor;
};

static int read_number(const char *v, const struct unit *units, uint64_t *out)
{
	uint64_t n = 0;
	const char *p = v;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -ERANGE;
	if (p == v)
		return -EINVAL;
	p += strspn(p, " ");
	for (; units->word; units++)
		if (strcasecmp(units->word, p) == 0)
			return __builtin_mul_overflow(n, units->factor, out) ? -ERANGE : 0;
	return -EINVAL;
}

static int read_size(const char *v, uint64_t *out)
{
	static const struct unit units[] = {{"", 1}, {"B", 1}, {"K", 1u << 10}, {"KB", 1u << 10},
		{"KiB", 1u << 10}, {"M", 1u << 20}, {"MB", 1u << 20}, {"MiB", 1u << 20},
		{"G", 1u << 30}, {"GB", 1u << 30}, {"GiB", 1u << 30}, {"T", 1ull << 40},
		{"TB", 1ull << 40}, {"TiB", 1ull << 40}, {0}};

	if (strcasecmp(v, "none") == 0 || strcasecmp(v, "unlimited") == 0) {
		*out = 0;
		return 0;
	}
	return read_number(v, units, out);
}

static int read_ms(const char *v, uint64_t *out)
{
	static const struct unit units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000},
		{"min", 60000}, {"h", 3600000}, {"d", 86400000}, {0}};

	return read_number(v, units, out);
}

int conf_list_add(char ***list, const char *value)
{
	size_t n = 0;
	char **p;

	while (*list && (*list)[n])
		n++;
	p = realloc(*list, (n + 2) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	*list = p;
	p[n] = strdup(value);
	p[n + 1] = NULL;
	return p[n] ? 0 : -ENOMEM;
}

void conf_list_free(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
}

static const char *const type_words[] = {
	[CONF_BOOL] = "yes or no",
	[CONF_SIZE] = "a size such as 512M, 10G or none",
	[CONF_MS] = "a time such as 500ms, 10s, 5m or 1h",
	[CONF_SECONDS] = "a time such as 10s, 5m, 1h or 1d",
	[CONF_COUNT] = "a number",
	[CONF_TEXT] = "a text",
	[CONF_LIST] = "a text",
};

static int store_value(const struct conf_field *f, const char *value, void *at)
{
	static const struct unit none[] = {{"", 1}, {0}};
	uint64_t n = 0;
	char *text;
	int r = 0;

	switch (f->type) {
	case CONF_BOOL:
		return read_bool(value, at);
	case CONF_SIZE:
		return read_size(value, at);
	case CONF_MS:
	case CONF_COUNT:
		r = f->type == CONF_MS ? read_ms(value, &n) : read_number(value, none, &n);
		if (r == 0 && n > INT_MAX)
			return -ERANGE;
		if (r == 0)
			*(unsigned *)at = (unsigned)n;
		return r;
	case CONF_SECONDS:
		r = read_ms(value, &n);
		if (r == 0)
			*(int64_t *)at = (int64_t)(n / 1000);
		return r;
	case CONF_TEXT:
		text = strdup(value);
		if (!text)
			return -ENOMEM;
		free(*(char **)at);
		*(char **)at = text;
		return 0;
	case CONF_LIST:
		return conf_list_add(at, value);
	}
	return -EINVAL;
}

int conf_value(const struct conf_field *f, const char *value, void *into, const char *where,
	struct err *e)
{
	int r = store_value(f, value, (char *)into + f->offset);

	if (r == -ERANGE)
		return err_set(e, -EINVAL, "%s: %s = %.60s: too large", where, f->name, value);
	if (r == -EINVAL)
		return err_set(e, r, "%s: %s = %.60s: expected %s", where, f->name, value,
			type_words[f->type]);
	if (r < 0)
		return err_set(e, r, "%s: %s", where, err_text(r));
	return 0;
}

const struct conf_field *conf_field_find(const struct conf_field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	return NULL;
}

int conf_defaults(const struct conf_field *fields, void *into)
{
	static const size_t sizes[] = {
		[CONF_BOOL] = sizeof(bool),	   [CONF_SIZE] = sizeof(uint64_t),
		[CONF_MS] = sizeof(unsigned),	   [CONF_SECONDS] = sizeof(int64_t),
		[CONF_COUNT] = sizeof(unsigned),   [CONF_TEXT] = sizeof(char *),
		[CONF_LIST] = sizeof(char **),
	};

	for (const struct conf_field *f = fields; f->name; f++)
		memset((char *)into + f->offset, 0, sizes[f->type]);
	for (const struct conf_field *f = fields; f->name; f++) {
		int r = f->def ? store_value(f, f->def, (char *)into + f->offset) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static const struct conf_part *part_with(const struct conf_part *parts, const char *name)
{
	while (parts->fields && !conf_field_find(parts->fields, name))
		parts++;
	return parts->fields ? parts : NULL;
}

int conf_fill_parts(const struct conf_section *s, const struct conf_part *parts, struct err *e)
{
	for (const struct conf_entry *x = s->entries; x; x = x->next) {
		const struct conf_part *part = part_with(parts, x->name);
		char where[320];
		int r;

		snprintf(where, sizeof(where), "%.250s:%u", x->file ? x->file : s->file, x->line);
		if (!part)
			return err_set(e, -EINVAL, "%s: [%s] has no key \"%.60s\"", where, s->kind,
				x->name);
		r = conf_value(conf_field_find(part->fields, x->name), x->value, part->into, where, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int conf_fill(
	const struct conf_section *s, const struct conf_field *fields, void *into, struct err *e)
{
	return conf_fill_parts(s, (struct conf_part[]){{fields, into}, {0}}, e);
}

void conf_release(const struct conf_field *fields, void *into)
{
	for (const struct conf_field *f = fields; f->name; f++) {
		void *at = (char *)into + f->offset;

		if (f->type == CONF_TEXT) {
			free(*(char **)at);
			*(char **)at = NULL;
		} else if (f->type == CONF_LIST) {
			conf_list_free(*(char ***)at);
			*(char ***)at = NULL;
		}
	}
}
