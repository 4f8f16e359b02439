/* Reads from debug files in which directories their modules were compiled, and writes the debugger's rules for
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/stacks/core-sources.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "formats/dwarf/dwarf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MODULES_MOST 512u
#define READERS 8u	    /* child processes, each with its part of the modules */
#define DIRS_MOST 256u	    /* of one module */
#define RULES_MOST 4096u
#define UNITS_MOST 100000u  /* units of one module whose directories are read */
#define DIR_MOST 1024u
#define JOINED_MOST 8u	    /* builds of one rule: LAYOUT_CANDIDATES */
#define WAIT_MS 60000u
#define TEXT_MOST (4u << 20)

struct module_of {
	char id[CODE_ID_MAX + 1];
	char *local; /* NULL: no local file of the build */
};

/* One directory, and the modules that were compiled in it, in their order. */
struct rule {
	char *dir;
	unsigned modules[JOINED_MOST], n;
};

struct core_sources {
	struct module_of all[MODULES_MOST];
	unsigned n;
	struct rule rules[RULES_MOST];
	unsigned n_rules;
};

void core_sources_free(struct core_sources *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		free(s->all[i].local);
	for (unsigned i = 0; s && i < s->n_rules; i++)
		free(s->rules[i].dir);
	free(s);
}

int core_sources_add(struct core_sources *s, const char *build_id, const char *local)
{
	struct module_of *m = &s->all[s->n];

	if (s->n == MODULES_MOST || strlen(build_id) < 3)
		return 0;
	m->local = local ? strdup(local) : NULL;
	if (local && !m->local)
		return -ENOMEM;
	snprintf(m->id, sizeof(m->id), "%s", build_id);
	s->n++;
	return 0;
}

/* Whether a configured source can have source files. */
static bool is_wanted(const struct app_args *args)
{
	struct artifact a = {.type = FILETYPE_SOURCE, .m = {.object = OBJECT_ELF, .code_id = "0123456789abcdef",
		.path = "/a.c"}};
	struct sources *all = NULL;
	struct app app = {0};
	struct err e = {0};
	bool can = false;

	if (app_configure(&app, args, &e) == 0 && app_sources(&app, &all, &e) == 0)
		for (unsigned i = 0; i < all->n && !can; i++) {
			struct source_ask ask = {0};

			can = source_plan(all->list[i], NULL, &a, 0, &ask) == 0;
			source_ask_release(&ask);
		}
	sources_unref(all);
	app_close(&app);
	return can;
}

int core_sources_new(struct core_sources **out, const struct app_args *args)
{
	struct core_sources *s = NULL;

	if (is_wanted(args) && !(s = calloc(1, sizeof(*s))))
		return -ENOMEM;
	*out = s;
	return 0;
}

/* ---- debug files, in child processes ---------------------------------------------------- */

/* A file in memory. The child ends by a signal when a page cannot be read; the parent keeps what came before. */
struct mapped {
	struct span bytes;
	struct image image;
	struct dwarf_file dwarf;
	bool open;
};

static void mapped_close(struct mapped *m)
{
	if (m->open)
		dwarf_close(&m->dwarf);
	if (m->bytes.n)
		munmap((void *)(uintptr_t)m->bytes.p, m->bytes.n);
}

/* False: no such file, or it has no debug information that can be read. */
static bool mapped_open(struct mapped *m, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct err e = {0};
	uint64_t size;
	void *p;

	memset(m, 0, sizeof(*m));
	if (path_open_file(path, &fd, &size, &e) < 0 || !size || size > SIZE_MAX)
		return false;
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	m->bytes = (struct span){p, (size_t)size};
	m->open = image_open(&m->image, m->bytes, &e) == 0 && dwarf_open(&m->dwarf, &m->image, false, &e) == 0;
	if (m->open && m->dwarf.n_units)
		return true;
	mapped_close(m);
	return false;
}

struct reading {
	const struct core_sources *s;
	const char *mount;
	unsigned first; /* this child reads modules first, first + READERS, ... */
	int to;
	char *dirs[DIRS_MOST]; /* of the module that is read */
	unsigned n_dirs;
};

/* Whether a path can stand in a rule and below a mount: absolute, not the root, without characters that end a line
 * of commands or change its meaning. */
static bool dir_ok(const char *dir, size_t n)
{
	if (n < 2 || n > DIR_MOST || dir[0] != '/' || memmem(dir, n, "/../", 4) || memmem(dir, n, "//", 2))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)dir[i] < 0x21 || dir[i] == 0x7f || strchr("\"'\\`", dir[i]))
			return false;
	return true;
}

static void take_dir(struct reading *r, unsigned module, const char *dir, size_t n)
{
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (!dir_ok(dir, n) || r->n_dirs == DIRS_MOST)
		return;
	for (unsigned i = 0; i < r->n_dirs; i++)
		if (strlen(r->dirs[i]) == n && memcmp(r->dirs[i], dir, n) == 0)
			return;
	r->dirs[r->n_dirs] = strndup(dir, n);
	if (r->dirs[r->n_dirs])
		dprintf(r->to, "%u %s\n", module, r->dirs[r->n_dirs++]);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return n && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* A unit gives the directory that its relative names count from, and that of an absolute name elsewhere. */
static void read_unit(struct reading *r, unsigned module, const struct dwarf_unit *u)
{
	const char *name = NULL, *slash;
	struct dwarf_die d;

	take_dir(r, module, u->comp_dir, strlen(u->comp_dir));
	if (dwarf_die_at(u, u->head->first, &d) && die_has(&d, AT_NAME))
		name = dwarf_text(u, &d.v[AT_NAME]);
	slash = name && name[0] == '/' ? strrchr(name, '/') : NULL;
	if (slash && !is_below(name, u->comp_dir))
		take_dir(r, module, name, (size_t)(slash - name));
}

/* Opens the file to which dwz moved the names; .gnu_debugaltlink ends with its build id. */
static void open_alt(struct reading *r, struct mapped *m, struct mapped *alt)
{
	char path[DIR_MOST], hex[CODE_ID_MAX + 1] = "";
	struct image_section s;
	const uint8_t *nul, *id;
	size_t n;

	if (image_find(&m->image, ".gnu_debugaltlink", &s) < 0 || !s.bytes.n)
		return;
	nul = memchr(s.bytes.p, 0, s.bytes.n);
	id = nul ? nul + 1 : NULL;
	n = id ? s.bytes.n - (size_t)(id - (const uint8_t *)s.bytes.p) : 0;
	if (n < 2 || 2 * n > CODE_ID_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), "%s/gdb/.build-id/%.2s/%s.debug", r->mount, hex, hex + 2);
	if (mapped_open(alt, path))
		m->dwarf.alt = &alt->dwarf;
}

static void read_units(struct reading *r, unsigned module, struct mapped *m)
{
	struct dwarf_reader reader = {0};
	struct mapped alt = {0};

	open_alt(r, m, &alt);
	for (size_t i = 0; i < MIN(m->dwarf.n_units, UNITS_MOST) && r->n_dirs < DIRS_MOST; i++) {
		struct dwarf_unit u;

		if (dwarf_unit_open(&u, &reader, &m->dwarf, &m->dwarf.units[i], NULL) < 0)
			continue;
		if (u.tag != DW_TAG_partial_unit)
			read_unit(r, module, &u);
		dwarf_unit_close(&u);
	}
	dwarf_reader_release(&reader);
	mapped_close(&alt);
}

static void read_module(struct reading *r, unsigned module)
{
	const struct module_of *of = &r->s->all[module];
	const char *const ends[] = {".debug", ""};

	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
		char path[2 * DIR_MOST];
		struct mapped m;

		snprintf(path, sizeof(path), "%s/gdb/.build-id/%.2s/%s%s", r->mount, of->id, of->id + 2, ends[i]);
		if (!mapped_open(&m, i == 1 && of->local ? of->local : path))
			continue;
		read_units(r, module, &m);
		mapped_close(&m);
		break;
	}
	while (r->n_dirs)
		free(r->dirs[--r->n_dirs]);
}

static void read_part(void *ctx, int to)
{
	struct reading *r = ctx;

	r->to = to;
	for (unsigned i = r->first; i < r->s->n; i += READERS)
		read_module(r, i);
}

/* ---- rules ------------------------------------------------------------------------------ */

static bool is_here(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}

static struct rule *rule_of(struct core_sources *s, const char *dir)
{
	struct rule *new = &s->rules[s->n_rules];

	for (unsigned i = 0; i < s->n_rules; i++)
		if (strcmp(s->rules[i].dir, dir) == 0)
			return &s->rules[i];
	if (s->n_rules == RULES_MOST || is_here(dir) || !(new->dir = strdup(dir)))
		return NULL;
	s->n_rules++;
	return new;
}

/* Keeps the modules of a rule in their order, whichever child was faster. */
static void rule_add(struct rule *r, unsigned module)
{
	unsigned at = 0;

	while (at < r->n && r->modules[at] < module)
		at++;
	if (at < r->n && r->modules[at] == module)
		return;
	if (r->n == JOINED_MOST && at == JOINED_MOST)
		return;
	r->n = MIN(r->n + 1, JOINED_MOST);
	memmove(&r->modules[at + 1], &r->modules[at], (r->n - at - 1) * sizeof(r->modules[0]));
	r->modules[at] = module;
}

/* Takes whole lines "MODULE DIR": a child that was ended may have written a part of one. */
static void take_lines(struct core_sources *s, char *text)
{
	for (char *next; (next = strchr(text, '\n')); text = next + 1) {
		char *dir;
		unsigned long module = strtoul(text, &dir, 10);
		struct rule *r;

		*next = '\0';
		if (*dir != ' ' || module >= s->n)
			continue;
		r = rule_of(s, dir + 1);
		if (r)
			rule_add(r, (unsigned)module);
	}
}

/* Long directories first: a debugger takes the first rule that fits. */
static int by_length(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;
	size_t n = strlen(x->dir), m = strlen(y->dir);

	return n != m ? (n < m) - (n > m) : strcmp(x->dir, y->dir);
}

static int write_rule(FILE *f, const struct core_sources *s, const struct rule *r, const char *mount, bool lldb)
{
	fprintf(f, "%s %s %s/source/", lldb ? "settings append target.source-map" : "set substitute-path", r->dir,
		mount);
	for (unsigned i = 0; i < r->n; i++)
		fprintf(f, "%s%s", i ? "+" : "", s->all[r->modules[i]].id);
	return fprintf(f, "%s\n", r->dir) < 0 ? -EIO : 0;
}

static int write_rules(const struct core_sources *s, const char *mount, const char *path, bool lldb)
{
	FILE *f = fopen(path, "we");
	int r = f ? 0 : -errno;

	for (unsigned i = 0; r == 0 && i < s->n_rules; i++)
		r = write_rule(f, s, &s->rules[i], mount, lldb);
	if (f && fclose(f) != 0 && r == 0)
		r = -errno;
	return r;
}

int core_sources_write(struct core_sources *s, const char *mount, const char *path, bool lldb,
	bool (*stop)(void *ctx), void *ctx)
{
	struct reading parts[READERS];
	struct ask asks[READERS];
	unsigned n = MIN(s->n, READERS);
	int r;

	for (unsigned i = 0; i < n; i++) {
		parts[i] = (struct reading){.s = s, .mount = mount, .first = i};
		asks[i] = (struct ask){.text = BUF_UP_TO(TEXT_MOST)};
		ask_start(&asks[i], read_part, &parts[i]);
	}
	ask_wait_unless(asks, n, WAIT_MS, stop, ctx);
	for (unsigned i = 0; i < n; i++) {
		if (asks[i].text.n)
			take_lines(s, asks[i].text.p);
		buf_release(&asks[i].text);
	}
	qsort(s->rules, s->n_rules, sizeof(s->rules[0]), by_length);
	r = write_rules(s, mount, path, lldb);
	return r < 0 ? r : (int)s->n_rules;
}
