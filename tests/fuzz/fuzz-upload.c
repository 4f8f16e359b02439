/* Fuzzes what uploads parse beside files: a line with a path of sym_upload, a line with the body of its
 * :complete, an archive by Tecken's rules, and a list of files by version 2 of its protocol. Results are within their
 * bounds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "http/route.h"
#include "intake/upload/sym-upload.h"
#include "intake/upload/tecken.h"
#include "names/id/key.h"

#include <string.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_path(const char *text)
{
	struct route *r = malloc(sizeof(*r));
	struct sym_upload_path p;

	if (sym_upload_parse(text, &p)) {
		must(p.method && (p.step == SYM_UPLOAD_CHECK) == (p.debug_id[0] != '\0'));
		must((p.step == SYM_UPLOAD_BYTES || p.step == SYM_UPLOAD_COMPLETE) == (p.key[0] != '\0'));
	}
	must(r != NULL);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const methods[] = {"GET", "PUT", "POST", "DELETE"};

		route_find(methods[i], text, r);
		route_upload(methods[i], r);
		must(!route_is_upload(r) || r->needs);
		must((r->what != ROUTE_PUT && r->what != ROUTE_DELETE) || r->hit.n);
	}
	free(r);
}

static void check_claim(const char *text)
{
	struct artifact *a = calloc(SYM_UPLOAD_CLAIMS_MOST, sizeof(*a));
	struct sym_upload_claim c;
	struct key k;

	must(a != NULL);
	if (sym_upload_read_claim(text, strlen(text), &c) == 0) {
		must(c.debug_file[0] && c.debug_id[0]);
		for (unsigned n = sym_upload_artifacts(&c, a); n; n--)
			key_of(&k, &a[n - 1]);
	}
	free(a);
}

static void check_files(const uint8_t *data, size_t size)
{
	struct tecken_file *files = NULL;
	unsigned n = 0;

	if (tecken_files_read((struct span){data, size}, &files, &n) == 0)
		for (unsigned i = 0; i < n; i++)
			must(strlen(files[i].name) < TECKEN_NAME && (files[i].error || strchr(files[i].name, '/')));
	free(files);
}

FUZZ_TARGET("upload", data, size)
{
	char *text = malloc(size + 1), *rest = text;
	struct view v = view_of_mem(data, size);
	struct err e = {0};
	int r = tecken_judge(&v, "a.zip", &e);

	must(r == 0 || e.text[0]);
	check_files(data, size);
	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	check_path(strsep(&rest, "\n"));
	if (rest)
		check_claim(rest);
	free(text);
	return 0;
}
