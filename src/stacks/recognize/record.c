/* Records the modules and frames that recognizers find. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "stacks/recognize/private.h"

#include <string.h>

#define PATH_MOST 4096u
#define BASES_MOST 4096u
/* Comparisons of modules for one text. A hostile text names thousands of files that differ only in the directory. */
#define COMPARED_MOST (1u << 26)

static void take_error(struct recognized *r, int error)
{
	if (r->r == 0)
		r->r = error;
}

/* ---- modules ---------------------------------------------------------------------------------- */

/* Whether a word is a path or a name of a file, and not one of the words for memory without a file. */
static bool is_path(const struct cursor *c)
{
	size_t n = cursor_left(c);

	if (!n || n >= PATH_MOST || memchr(c->p, '\0', n))
		return false;
	return c->p[0] != '[' && c->p[0] != '<' && !(n >= 6 && memcmp(c->p, "//anon", 6) == 0) &&
		!cursor_is(c, "-") &&
	       !cursor_is(c, ".") && !cursor_is(c, "inlined");
}

static uint64_t base_hash(const char *path)
{
	const char *base = path_base(path);

	return hash_mix(base, strlen(base));
}

/* Whether two paths can be those of one module: equal, or one of them is only a name. */
static bool same_path(const char *a, const char *b)
{
	if (strchr(a, '/') && strchr(b, '/'))
		return strcmp(a, b) == 0;
	return strcmp(path_base(a), path_base(b)) == 0;
}

/* Reads an identifier into a module. False: the text has no identifier there. */
static bool take_id(struct module *m, struct cursor id, enum object_type object)
{
	char digits[CODE_ID_MAX + 1];
	size_t n = 0;

	for (const char *p = id.p; p < id.end; p++) {
		if (*p == '-')
			continue;
		if (hex_value(*p) < 0 || n == CODE_ID_MAX)
			return false;
		digits[n++] = *p;
	}
	digits[n] = '\0';
	if (n < 4 || n % 2 || strspn(digits, "0") == n || module_set_code_id(m, digits, n) < 0)
		return false;
	m->object = object;
	if (object == OBJECT_MACHO && debug_id_parse(&m->debug_id, digits, n) < 0)
		return false;
	return true;
}

static uint32_t find_module(struct recognized *r, const char *path, const struct module *m, bool deleted)
{
	uint64_t hash = base_hash(path);
	uint32_t i = r->chains[hash % CHAINS];

	for (; i != NO_SEEN && r->compared < COMPARED_MOST; i = r->seen[i].before) {
		const struct seen *s = &r->seen[i];

		r->compared++;
		if (s->hash != hash || !same_path(s->path, path))
			continue;
		if (m ? s->has_id && strcmp(s->m.code_id, m->code_id) == 0 && strlen(s->path) >= strlen(path)
		      : s->has_id || (s->deleted == deleted && strlen(s->path) >= strlen(path)))
			return i;
	}
	return NO_SEEN;
}

static uint32_t add_module(struct recognized *r, char *path, const struct module *m, bool deleted)
{
	struct seen *s;
	bool full = r->n_seen == RECOGNIZE_MODULES || r->compared == COMPARED_MOST;
	uint32_t *chain;

	if (full || grow(&r->seen, &r->seen_room, r->n_seen, sizeof(*r->seen)) < 0) {
		if (!full)
			take_error(r, -ENOMEM);
		free(path);
		return NO_SEEN;
	}
	s = &r->seen[r->n_seen];
	*s = (struct seen){.path = path, .hash = base_hash(path), .deleted = deleted, .has_id = m, .better = NO_SEEN,
		.index = NO_SEEN};
	if (m)
		s->m = *m;
	chain = &r->chains[s->hash % CHAINS];
	s->before = *chain;
	*chain = (uint32_t)r->n_seen++;
	return *chain;
}

uint32_t note_module(struct recognized *r, struct cursor path, struct cursor id, enum object_type object)
{
	static const char gone[] = " (deleted)";
	struct module m = {0};
	bool deleted, has_id;
	uint32_t i;
	char *text;

	path = cursor_trim(path);
	deleted = cursor_ends(&path, gone);
	if (deleted)
		path.end -= strlen(gone);
	if (!is_path(&path))
		return NO_SEEN;
	text = strndup(path.p, cursor_left(&path));
	if (!text) {
		take_error(r, -ENOMEM);
		return NO_SEEN;
	}
	has_id = take_id(&m, id, object);
	i = find_module(r, text, has_id ? &m : NULL, deleted);
	if (i == NO_SEEN)
		return add_module(r, text, has_id ? &m : NULL, deleted);
	free(text);
	return i;
}

void note_base(struct recognized *r, uint32_t module, enum base_kind kind, uint64_t from, uint64_t to,
	uint64_t offset)
{
	if (module == NO_SEEN || r->n_based == BASES_MOST)
		return;
	take_error(r, APPEND(r->based, r->based_room, r->n_based, (struct based){.kind = kind, .module = module,
		.from = from, .to = to, .offset = offset}));
}

void note_program(struct recognized *r, struct cursor path)
{
	r->program = note_module(r, path, (struct cursor){0}, OBJECT_ELF);
}

/* ---- frames ----------------------------------------------------------------------------------- */

struct frame *note_frame(struct recognized *r, const struct line *l, const char *place, size_t n, struct frame f)
{
	if (r->n_frames == RECOGNIZE_FRAMES)
		return NULL;
	if (grow(&r->frames, &r->frames_room, r->n_frames, sizeof(*r->frames)) < 0) {
		take_error(r, -ENOMEM);
		return NULL;
	}
	f.line = l->at;
	f.end = l->at + l->n;
	f.at = l->at + (size_t)(place - l->p);
	f.cut = n;
	f.ask = NO_ASK;
	if (!f.before)
		f.before = "";
	if (!f.after)
		f.after = "";
	r->frames[r->n_frames] = f;
	return &r->frames[r->n_frames++];
}

bool note_signal(struct recognized *r, struct cursor name)
{
	static const char *const names[] = {"__restore_rt", "__restore", "_sigtramp", "__kernel_rt_sigreturn",
		"<signal handler called>"};
	bool was = r->state.below_signal;

	r->state.below_signal = false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (cursor_is(&name, names[i]))
			r->state.below_signal = true;
	return was;
}
