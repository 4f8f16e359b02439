/* The keys of a file as text: one on each line, after the worth of the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "scan/private.h"

#include <stdio.h>
#include <string.h>

int known_key(const char *line, size_t n, struct key *k, struct worth *w)
{
	const char *tab = memchr(line, '\t', n);
	size_t head = tab ? (size_t)(tab - line) : 0;
	char text[KEY_TEXT], worth[WORTH_TEXT];
	struct worth own;

	if (!tab || head >= sizeof(worth) || n - head > sizeof(text))
		return -EINVAL;
	snprintf(worth, sizeof(worth), "%.*s", (int)head, line);
	snprintf(text, sizeof(text), "%.*s", (int)(n - head - 1), tab + 1);
	worth_parse(w ? w : &own, worth);
	return key_parse(k, text);
}

static int add_keys(struct obj_slice *slice, const char *name, struct buf *out)
{
	struct key keys[OBJ_KEYS_MOST];
	char text[KEY_TEXT], worth[WORTH_TEXT];
	unsigned n;
	int r = 0;

	obj_take_name(slice, name);
	n = obj_keys(slice, keys);
	for (unsigned i = 0; r == 0 && i < n; i++)
		if (!strpbrk(key_text(&keys[i], text), "\t\r\n"))
			r = buf_addf(out, "%s\t%s\n", worth_text(&slice->worth, worth), text);
	return r;
}

int add_slices(struct view *v, const char *name, struct buf *out)
{
	struct obj_slice slice;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SLICES_MOST; i++) {
		r = obj_identify(v, i, &slice, NULL);
		if (r == 0)
			r = add_keys(&slice, name, out);
	}
	return r;
}

/* ---- names of members without keys ---------------------------------------------------- */

uint64_t scan_name_number(const char *name)
{
	_cleanup_free_ char *full = NULL, *path = NULL;

	if (asprintf(&full, "/%s", name) < 0)
		full = NULL;
	path = full ? path_absolute(full) : NULL;
	return path ? hash_mix(path, strlen(path)) : 0;
}

const char *names_of(const struct scan_file *f, size_t *n)
{
	bool has = (f->kind == SCAN_ARCHIVE || f->kind == SCAN_ARCHIVE_FAULTY) && f->keys && *f->keys == 'n';

	*n = has ? (strcspn(f->keys, "\n") - 1) / NAME_DIGITS : 0;
	return has ? f->keys + 1 : NULL;
}

int compare_names(const void *a, const void *b)
{
	return memcmp(a, b, NAME_DIGITS);
}

int scan_debug_key(const char *build_id, struct artifact *a, struct key *k)
{
	*a = (struct artifact){.type = FILETYPE_ELF_DEBUG, .m = {.object = OBJECT_ELF}};
	snprintf(a->m.code_id, sizeof(a->m.code_id), "%s", build_id);
	return key_of(k, a);
}
