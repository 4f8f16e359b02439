/* How long an uploaded file is to stay: reads class, age and labels from the query of an upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "conf/conf.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>

static const struct http_class *find_class(const struct http *h, const char *name)
{
	for (unsigned i = 0; i < h->opts.n_classes; i++)
		if (strcmp(h->opts.classes[i].name, name) == 0)
			return &h->opts.classes[i];
	return NULL;
}

/* Reads a field of the query; "": the query lacks it. False: its value is too long or broken. */
static bool read_field(const char *query, const char *name, char *out, size_t room)
{
	char start[16], after[16];

	snprintf(start, sizeof(start), "%s=", name);
	snprintf(after, sizeof(after), "&%s=", name);
	out[0] = '\0';
	if (strncmp(query, start, strlen(start)) != 0 && !strstr(query, after))
		return true;
	return route_query(query, name, out, room);
}

static int read_labels(const char *query, struct store_hold *out, struct err *e)
{
	char label[HOLD_LABELS];

	for (const char *p = query; *p;) {
		size_t n = strcspn(p, "&");

		if (strncmp(p, "label=", 6) == 0 &&
			(route_decode(p + 6, n - 6, ROUTE_IN_QUERY, label, sizeof(label)) < 0 ||
				hold_label_add(out, label) < 0))
			return err_set(e, 400, "label: expected name=value of letters, digits and ._:/@+-, "
				"%d characters in all",
				HOLD_LABELS - 1);
		p += n + (p[n] == '&');
	}
	return 0;
}

/* Reads "30d". */
static int read_age(const char *text, int64_t *out, struct err *e)
{
	static const struct conf_field field = {"expires", CONF_SECONDS, 0, NULL, NULL};
	int64_t age = 0;

	if (conf_value(&field, text, &age, "query", NULL) < 0 || age <= 0)
		return err_set(e, 400, "expires: expected a time such as 30d");
	*out = age;
	return 0;
}

int exchange_hold(struct exchange *x, bool try, struct store_hold *out, struct err *e)
{
	const char *query = x->route->query;
	bool regular = !try && exchange_may(x, AUTH_UPLOAD) == 0;
	char class[HOLD_CLASS], expires[32];
	const struct http_class *c;
	struct store_hold h = {.age = 0};
	int r;

	if (!read_field(query, "class", class, sizeof(class)) ||
		!read_field(query, "expires", expires, sizeof(expires)))
		return err_set(e, 400, "class or expires is too long");
	if (!class[0])
		snprintf(class, sizeof(class), "%s", regular ? "default" : "try");
	c = find_class(x->h, class);
	if (!c) {
		char names[160] = "";

		for (unsigned i = 0; i < x->h->opts.n_classes; i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
				x->h->opts.classes[i].name);
		return err_set(e, 400, "class: the server has no class %s; it has %s", class, names);
	}
	if (!regular && strcmp(class, "try") != 0)
		return err_set(e, 403, "the token may upload files of the class try only");
	snprintf(h.class, sizeof(h.class), "%s", class);
	h.age = c->age;
	r = expires[0] ? read_age(expires, &h.age, e) : 0;
	if (r == 0 && !regular && c->age) /* a token for "try" makes no file stay longer than its class */
		h.age = MIN(h.age, c->age);
	if (r == 0)
		r = read_labels(query, &h, e);
	if (r == 0)
		*out = h;
	return r;
}
