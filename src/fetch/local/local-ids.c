/* Finds programs in directory sources by a debug id alone. Their paths have the code id, so the names in the
 * directory show which code ids exist. The debug id of an ELF file is the beginning of its build id. The debug
 * id of a PE file is in the file, so the files of one name are read. The path of a Portable PDB has its name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/local/folded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MOST 100000 /* the most names read of one directory */
#define FILES_MOST 4096	  /* the most files read for one request */
#define PE_PLACE "ffffffff1" /* a mark in place of the code id in a path */

struct asking {
	struct fetch *f;
	int slot; /* result of dir_enter() */
	const struct source *s;
	const struct source_facts *facts;
	int base;
	local_each *each;
	void *ctx;
	unsigned files;
	char begin[256]; /* ELF: the beginning of a name, before further digits of the build id */
};

/* ---- names of a directory ----------------------------------------------------------- */

typedef int each_name(struct asking *q, struct artifact *a, const char *name);

/* Opens the directory named by the first n bytes of the path. NULL: there is no such directory in the source. */
static DIR *open_names(const struct asking *q, const char *path, size_t n)
{
	const struct beneath b = {.base = q->base, .links = BENEATH_INSIDE};
	_cleanup_free_ char *dir = strndup(path, n);
	_cleanup_close_ int at = -1;
	int fd;
	DIR *d;

	if (!dir || beneath_open_dir(&b, dir, &at) < 0)
		return NULL;
	fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d && fd >= 0)
		close(fd);
	return d;
}

struct naming {
	struct asking *q;
	each_name *each;
	struct artifact *a;
	const char *read; /* a directory that was read already; NULL: none */
};

/* -ENOENT: `each` accepted no name, or there is no such directory. */
static int each_in_dir(void *ctx, const char *path)
{
	const struct naming *n = ctx;
	DIR *d = n->read && strcmp(n->read, path) == 0 ? NULL : open_names(n->q, path, strlen(path));
	struct dirent *e;
	int r = -ENOENT;

	if (!d)
		return -ENOENT;
	for (unsigned seen = 0; r == -ENOENT && seen < NAMES_MOST && (e = readdir(d)); seen++)
		if (e->d_name[0] != '.')
			r = n->each(n->q, n->a, e->d_name);
	closedir(d);
	return r;
}

/* Calls `each` with the names in a directory. Its path is the first n bytes of `path`, in any letter case. */
static int each_in(struct asking *q, const char *path, size_t n, each_name *each, struct artifact *a)
{
	const struct beneath b = {.base = q->base, .links = BENEATH_INSIDE};
	_cleanup_free_ char *dir = strndup(path, n && path[n - 1] == '/' ? n - 1 : n);
	struct naming names = {.q = q, .each = each, .a = a};
	int r = dir ? each_in_dir(&names, dir) : -ENOMEM;

	if (r != -ENOENT || !*dir)
		return r;
	names.read = dir;
	return folded_paths(q->f, q->slot, &b, dir, each_in_dir, &names);
}

/* Returns the start of the path's component that contains `place`; NULL: no component does. */
static const char *component_of(const char *path, const char *place, const char **end)
{
	const char *at = strcasestr(path, place), *slash;

	if (!at)
		return NULL;
	*end = at + strlen(place);
	slash = memrchr(path, '/', (size_t)(at - path));
	return slash ? slash + 1 : path;
}

static int try_with(struct asking *q, const struct artifact *a)
{
	return q->files++ < FILES_MOST ? q->each(q->ctx, a) : -ENOENT;
}

/* ---- ELF ---------------------------------------------------------------------------- */

/* Tries a name that completes the code id. The code id of `a` has only its first 16 bytes, from the debug id. */
static int elf_name(struct asking *q, struct artifact *a, const char *name)
{
	size_t n = strlen(q->begin), have = strlen(a->m.code_id), more = 0;
	struct artifact full = *a;

	if (strncasecmp(name, q->begin, n) != 0)
		return -ENOENT;
	for (name += n; isxdigit((unsigned char)name[more]) && have + more < CODE_ID_MAX; more++)
		full.m.code_id[have + more] = (char)tolower((unsigned char)name[more]);
	full.m.code_id[have + more] = '\0';
	return more % 2 ? -ENOENT : try_with(q, &full);
}

/* One component of `path` contains the known digits of the code id. Tries the names beside it that begin like it, up
 * to the last known digit. `last`: the previous path up to that digit. Spellings of a path that are equal up to that
 * digit are tried once. */
static int elf_path(struct asking *q, struct artifact *a, const char *path, struct buf *last)
{
	const char *end, *at = component_of(path, a->m.code_id + 2, &end);
	size_t n = at ? (size_t)(end - path) : 0;
	int r;

	if (!at || (size_t)(end - at) >= sizeof(q->begin) ||
		(last->n == n && memcmp(last->p, path, n) == 0))
		return -ENOENT;
	buf_clear(last);
	r = buf_add(last, path, n);
	if (r < 0)
		return r;
	snprintf(q->begin, sizeof(q->begin), "%.*s", (int)(end - at), at);
	return each_in(q, path, (size_t)(at - path), elf_name, a);
}

static int elf_paths(struct asking *q, struct artifact *a)
{
	_cleanup_buf_ struct buf last = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = -ENOENT;

	for (unsigned nth = 0; r == -ENOENT; nth++) {
		struct source_ask ask = {0};

		if (source_plan(q->s, q->facts, a, nth, &ask) < 0)
			return -ENOENT;
		r = elf_path(q, a, ask.where, &last);
		source_ask_release(&ask);
	}
	return r;
}

static int ask_elf(struct asking *q, const struct artifact *a)
{
	struct artifact known = *a;
	int r = -ENOENT;

	if (!known.m.code_file[0])
		memcpy(known.m.code_file, a->m.debug_file, sizeof(known.m.code_file));
	/* The byte order of the file is unknown, so both orders are tried. */
	for (int big = 0; r == -ENOENT && big < 2; big++) {
		struct debug_id swapped;

		debug_id_from_build_id(&swapped, a->m.debug_id.guid, 16, big);
		hex_print(swapped.guid, 16, known.m.code_id);
		r = elf_paths(q, &known);
	}
	return r;
}

/* ---- PE ----------------------------------------------------------------------------- */

static int pe_id(struct asking *q, struct artifact *a, const char *name)
{
	struct artifact full = *a;
	size_t n = strlen(name);

	if (n <= 8 || n > 16 || strspn(name, "0123456789abcdefABCDEF") != n ||
		module_set_code_id(&full.m, name, n) < 0)
		return -ENOENT;
	return try_with(q, &full);
}

/* Tries the entries of a program name's directory: the name of each entry is a code id. */
static int pe_ids(struct asking *q, struct artifact *a)
{
	struct source_ask ask = {0};
	const char *end, *at;
	int r = -ENOENT;

	snprintf(a->m.code_id, sizeof(a->m.code_id), PE_PLACE);
	if (source_plan(q->s, q->facts, a, 0, &ask) < 0)
		return -ENOENT;
	at = component_of(ask.where, PE_PLACE, &end);
	if (at)
		r = each_in(q, ask.where, (size_t)(at - ask.where), pe_id, a);
	source_ask_release(&ask);
	return r;
}

static size_t stem(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot - name) : strlen(name);
}

/* Tries a name that differs from the PDB's in its extension, because it may be the program's name. */
static int pe_name(struct asking *q, struct artifact *a, const char *name)
{
	size_t n = stem(a->m.debug_file);
	struct artifact named = *a;

	if (strlen(name) >= sizeof(named.m.code_file) || stem(name) != n ||
		strncasecmp(name, a->m.debug_file, n) != 0 || strcasecmp(name, a->m.debug_file) == 0)
		return -ENOENT;
	snprintf(named.m.code_file, sizeof(named.m.code_file), "%s", name);
	return pe_ids(q, &named);
}

/* Tries the names in the directory that has the names of programs. */
static int pe_names(struct asking *q, struct artifact *a)
{
	struct source_ask ask = {0};
	const char *end, *at;
	int r = -ENOENT;

	memcpy(a->m.code_file, a->m.debug_file, sizeof(a->m.code_file));
	snprintf(a->m.code_id, sizeof(a->m.code_id), PE_PLACE);
	if (source_plan(q->s, q->facts, a, 0, &ask) < 0)
		return -ENOENT;
	at = component_of(ask.where, PE_PLACE, &end);
	if (at && at > ask.where + 1) {
		const char *name = memrchr(ask.where, '/', (size_t)(at - ask.where - 1));

		r = each_in(q, ask.where, name ? (size_t)(name - ask.where) : 0, pe_name, a);
	}
	source_ask_release(&ask);
	return r;
}

static int ask_pe(struct asking *q, const struct artifact *a)
{
	struct artifact known = *a;

	if (known.m.code_file[0])
		return pe_ids(q, &known);
	return known.m.debug_file[0] ? pe_names(q, &known) : -ENOENT;
}

/* ---- Portable PDBs ------------------------------------------------------------------ */

static int pdb_name(struct asking *q, struct artifact *a, const char *name)
{
	snprintf(a->m.debug_file, sizeof(a->m.debug_file), "%s", name);
	return try_with(q, a);
}

/* Whether the names in the directory are tried as that of the PDB. A build id of 20 bytes can be the id of a PDB,
 * too, so only ids that end with ffffffff count. */
static bool lacks_name(const struct source *s, const struct artifact *a)
{
	return a->type == FILETYPE_PORTABLEPDB && !a->m.debug_file[0] && a->m.debug_id.age == UINT32_MAX &&
	       s->layout->flags & LAYOUT_SYMBOL_STORE;
}

/* ---- all ---------------------------------------------------------------------------- */

bool local_tells_ids(const struct source *s, const struct artifact *a)
{
	bool by_code = filetypes[a->type].id == ID_CODE_OR_DEBUG && !a->m.code_id[0];

	return s->kind->local && !source_scans(s) && (by_code || lacks_name(s, a)) && a->m.debug_id.set &&
	       source_allows(s, a);
}

int local_each_id(struct fetch *f, int slot, const struct source *s, const struct source_facts *facts, int base,
	const struct artifact *a, local_each *each, void *ctx)
{
	struct asking q = {.f = f, .slot = slot, .s = s, .facts = facts, .base = base, .each = each, .ctx = ctx};

	if (!local_tells_ids(s, a))
		return -ENOENT;
	if (lacks_name(s, a)) {
		struct artifact known = *a;

		return each_in(&q, "", 0, pdb_name, &known);
	}
	return filetypes[a->type].object == OBJECT_PE ? ask_pe(&q, a) : ask_elf(&q, a);
}
