/* Fuzzes the parser of HTTP requests with a method, a target and, each after a line end, header
 * fields. A parsed target has no control character and a bounded meaning. A range lies in its
 * file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "fuzz/fuzz.h"
#include "http/fields.h"
#include "http/route.h"

#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_route(const char *method, const char *target)
{
	struct route *r = malloc(sizeof(*r));
	char value[64];

	must(r != NULL);
	memset(r, 'A', sizeof(*r)); /* a read behind the end of a short path then leaves the allocation */
	route_find(method, target, r);
	must(r->what <= ROUTE_MISSES && r->allow && r->query);
	must(r->hit.n <= LAYOUT_CANDIDATES);
	must(r->what != ROUTE_FILE || r->hit.n || r->code_id);
	must(r->what != ROUTE_MADE || r->hit.n);
	must(r->what != ROUTE_SYMBOLICATE || r->api);
	for (const unsigned char *p = (const unsigned char *)r->path; *p; p++)
		must(*p >= 0x20 && *p != 0x7f);
	if (route_query(r->query, "path", value, sizeof(value)))
		must(strlen(value) < sizeof(value));
	free(r);
}

static void check_fields(const char *text)
{
	static const uint64_t sizes[] = {0, 1, 10, UINT64_MAX};
	char date[DATE_TEXT];
	bool ours;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t off = 0, n = 0;

		if (field_range(text, sizes[i], &off, &n) == RANGE_PART)
			must(n && off < sizes[i] && n <= sizes[i] - off);
	}
	if (date_read(text) >= 0) {
		date_print(date_read(text), date);
		must(strcmp(date, text) == 0);
	}
	field_has_tag(text, "\"tag\"", true);
	if (field_secret(text, date, sizeof(date)))
		must(date[0] && strlen(date) < sizeof(date));
	field_via(text, "id", &ours);
}

FUZZ_TARGET("route", data, size)
{
	char *text = malloc(size + 1), *rest = text, *method, *target, *field;

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	method = strsep(&rest, " ");
	target = strsep(&rest, "\n");
	if (target)
		check_route(method, target);
	while ((field = strsep(&rest, "\n")))
		check_fields(field);
	free(text);
	return 0;
}
