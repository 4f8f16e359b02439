/* Reads the classes of uploaded files, and after which age without a use their files expire. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/classes.h"
#include "base/util.h"
#include "conf/conf.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct class_keys {
	char *age;
};

static const struct conf_field fields[] = {
	{"age", CONF_TEXT, offsetof(struct class_keys, age), NULL, "after this time without a use a file expires"},
	{0},
};

static struct http_class *find(struct http_class *classes, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(classes[i].name, name) == 0)
			return &classes[i];
	return NULL;
}

/* Reads "30d" or "never". */
static int read_age(const char *text, const char *where, int64_t *out, struct err *e)
{
	static const struct conf_field field = {"age", CONF_SECONDS, 0, NULL, NULL};
	int64_t age = 0;
	int r;

	if (strcasecmp(text, "never") == 0) {
		*out = 0;
		return 0;
	}
	r = conf_value(&field, text, &age, where, e);
	if (r == 0 && age <= 0)
		return err_set(e, -EINVAL, "%s: age = %.40s: expected a time such as 30d, or never", where, text);
	*out = age;
	return r;
}

static int read_class(const struct conf_section *s, struct http_class *classes, unsigned *n, struct err *e)
{
	struct class_keys keys = {NULL};
	struct http_class *c;
	char where[HOLD_CLASS + 16];
	int64_t age = 0;
	int r;

	if (!hold_class_ok(s->name))
		return err_set(e, -EINVAL, "[class \"%.60s\"]: a class has lower-case letters, digits and -, at most "
			"%d", s->name, HOLD_CLASS - 1);
	snprintf(where, sizeof(where), "[class \"%s\"]", s->name);
	r = conf_fill(s, fields, &keys, e);
	c = find(classes, *n, s->name);
	if (r == 0 && !keys.age && c)
		return 0; /* the class keeps its age */
	if (r == 0 && !keys.age)
		r = err_set(e, -EINVAL, "%s: the key age is missing", where);
	if (r == 0)
		r = read_age(keys.age, where, &age, e);
	conf_release(fields, &keys);
	if (r < 0)
		return r;
	if (!c && *n == CLASSES_MOST)
		return err_set(e, -EINVAL, "%s: more than %d classes", where, CLASSES_MOST);
	if (!c)
		c = &classes[(*n)++];
	snprintf(c->name, sizeof(c->name), "%s", s->name);
	c->age = age;
	return 0;
}

int classes_read(const struct conf *c, struct http_class out[static CLASSES_MOST], unsigned *n, struct err *e)
{
	static const struct http_class usual[] = {{"try", 30 * 86400}, {"default", 730 * 86400}, {"keep", 0}};
	const struct conf_section *all[CLASSES_MOST];
	unsigned sections = 0;
	int r = 0;

	memcpy(out, usual, sizeof(usual));
	*n = ARRAY_SIZE(usual);
	for (const struct conf_section *s = NULL; (s = conf_next(c, "class", s));) {
		if (sections == ARRAY_SIZE(all))
			return err_set(e, -EINVAL, "more than %d sections [class]", CLASSES_MOST);
		all[sections++] = s;
	}
	/* The section that was read first has the highest priority, so it comes last. */
	while (r == 0 && sections)
		r = read_class(all[--sections], out, n, e);
	return r;
}
