/* Identifiers that files prove. A published file gets every key that its own bytes prove, and shows which
 * identifiers belong to one module. A later request with fewer identifiers is completed before sources
 * are asked.
 *
 * The added identifiers only decide what to ask for. They do not decide whether a file is right: the file is judged
 * by the key that was asked for, or by a key that follows from it by a rule. So a file with false identifiers causes
 * a useless request at worst. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROWS_MOST 8
#define SLICES_MOST 64

/* ---- completing a request ----------------------------------------------------------- */

/* Whether the request may lack identifiers that another file has. For some types the build id alone is enough. */
static bool may_lack(const struct artifact *a)
{
	const struct filetype_row *row = &filetypes[a->type];

	return row->flags & TYPE_LEARNS || (row->id == ID_CODE_OR_DEBUG && !a->m.code_id[0]);
}

static bool is_windows(enum object_type t)
{
	return t == OBJECT_PE || t == OBJECT_PE_DOTNET;
}

static bool same_text(const char *a, const char *b)
{
	return !*a || !*b || strcmp(a, b) == 0;
}

static bool is_of(const struct artifact *a, const struct module *row)
{
	struct module mine = a->m;
	char one[MODULE_ID_TEXT], two[MODULE_ID_TEXT];

	if (mine.object != OBJECT_UNKNOWN && row->object != OBJECT_UNKNOWN &&
		mine.object != row->object && !(is_windows(mine.object) && is_windows(row->object)))
		return false;
	mine.object = row->object; /* it decides how ids are compared */
	if (!same_text(module_code_text(&mine, one), module_code_text(row, two)) ||
		!same_text(module_debug_text(&mine, one), module_debug_text(row, two)))
		return false;
	/* Files of other names may have the same time and size, so the name must match, too. */
	if (filetypes[a->type].flags & TYPE_NAME_COUNTS && mine.code_file[0] && row->code_file[0] &&
		strcasecmp(mine.code_file, row->code_file) != 0)
		return false;
	/* In ELF the debug id follows from the code id, so ids that do not fit each other are rejected. */
	return row->object != OBJECT_ELF || module_ids_fit(row->code_id, &row->debug_id);
}

static void take_text(char *to, const char *from, size_t room)
{
	if (!to[0])
		snprintf(to, room, "%.*s", (int)room - 1, from);
}

static void take_from(struct module *m, const struct module *row)
{
	if (m->object == OBJECT_UNKNOWN)
		m->object = row->object;
	/* An age of UINT32_MAX in the request means that the age is unknown. */
	if (!m->debug_id.set || (m->debug_id.age == UINT32_MAX && row->debug_id.set))
		m->debug_id = row->debug_id;
	take_text(m->code_id, row->code_id, sizeof(m->code_id));
	take_text(m->code_file, row->code_file, sizeof(m->code_file));
	take_text(m->debug_file, row->debug_file, sizeof(m->debug_file));
	take_text(m->checksum, row->checksum, sizeof(m->checksum));
}

/* The key that the file is judged by: the key of the request, unless another key follows from it. */
static void sharpen(const struct artifact *a, struct key *k)
{
	bool by_rule = a->m.object == OBJECT_ELF && a->m.code_id[0];
	struct key own;

	if (key_of(&own, a) < 0)
		return;
	if (by_rule)
		*k = own;
	else if (!k->name[0] && !key_is_by_debug_id(k))
		memcpy(k->name, own.name, sizeof(k->name));
}

/* Whether `a` and `b` are certainly one module, because they share an id. */
static bool is_same(const struct module *a, const struct module *b)
{
	char one[MODULE_ID_TEXT], two[MODULE_ID_TEXT];

	if (a->code_id[0])
		return strcmp(module_code_text(a, one), module_code_text(b, two)) == 0 && one[0];
	return strcmp(module_debug_text(a, one), module_debug_text(b, two)) == 0 && one[0];
}

static bool take_hints(struct fetch *f, struct artifact *a, const struct module *like)
{
	bool found = false;
	LOCK_SCOPE(&f->lock);

	for (unsigned i = 0; i < HINTS_MOST; i++) {
		struct module mine = *like;

		mine.object = f->hints[i].object; /* it decides how ids are compared */
		if (mine.object == OBJECT_UNKNOWN || !is_same(&mine, &f->hints[i]) || !is_of(a, &f->hints[i]))
			continue;
		take_from(&a->m, &f->hints[i]);
		found = true;
	}
	return found;
}

bool learn_complete(struct fetch *f, struct artifact *a, struct key *k)
{
	_cleanup_free_ struct module *rows = NULL;
	struct module like = a->m;
	bool found = false;
	int n;

	if (!may_lack(a))
		return false;
	if (filetypes[k->type].object == OBJECT_PE_DOTNET)
		like.object = OBJECT_PE_DOTNET;
	rows = calloc(ROWS_MOST, sizeof(*rows));
	n = rows ? store_modules(f->store, &like, rows, ROWS_MOST) : 0;
	/* The oldest file comes first; a younger file adds what is still missing. */
	for (int i = 0; i < n; i++) {
		if (!is_of(a, &rows[i]))
			continue;
		take_from(&a->m, &rows[i]);
		taught_name(f, rows[i].code_file);
		taught_name(f, rows[i].debug_file);
		found = true;
	}
	found |= take_hints(f, a, &like);
	if (found)
		sharpen(a, k);
	return found;
}

bool fetch_complete(struct fetch *f, struct artifact *a)
{
	struct key k = {.type = a->type};

	return learn_complete(f, a, &k);
}

int learn_find(struct fetch *f, const struct key *k, struct blob **out, struct key *main)
{
	int r = store_find(f->store, k, out);

	if (r < 0)
		return r;
	store_main_key(f->store, k, main);
	return 0;
}

/* ---- publishing a file -------------------------------------------------------------- */

/* Whether the file may be stored as type `t`. A program with debug information is its own debug file, so no other
 * debug file is asked for. A program with only a symbol table is not, because its debug file has more. */
static bool may_serve(const struct obj_slice *s, enum filetype asked, enum filetype t)
{
	return t == asked || !(filetypes[t].flags & TYPE_DEBUG_FILE) || s->worth.debug == WORTH_DEBUG;
}

/* Writes the keys that a slice proves. `name`: the file name in the request, because a PE file does not contain its
 * own name; "" if the request was by debug id. */
static void learn_slice(struct fetch *f, const struct obj_slice *found, const struct key *k, const char *name,
	struct store_learned *out)
{
	struct obj_slice s = *found;
	struct key keys[OBJ_KEYS_MOST];
	unsigned n;

	_Static_assert(OBJ_KEYS_MOST <= STORE_KEYS_MOST, "room for every key of a slice");
	taught_name(f, s.module.debug_file);
	take_text(s.module.code_file, name, sizeof(s.module.code_file));
	n = obj_keys(&s, keys);
	out->m = s.module;
	out->worth = s.worth;
	out->n = 0;
	for (unsigned i = 0; i < n; i++)
		if (may_serve(&s, k->type, keys[i].type))
			out->keys[out->n++] = keys[i];
}

static const char *name_asked(const struct key *k)
{
	return filetypes[k->type].flags & TYPE_PROGRAM && !key_is_by_debug_id(k) ? k->name : "";
}

void learn_early(struct fetch *f, const struct obj_slice *s, const struct key *k)
{
	struct module m = s->module;

	taught_name(f, m.debug_file);
	LOCK_SCOPE(&f->lock);

	take_text(m.code_file, name_asked(k), sizeof(m.code_file));
	for (unsigned i = 0; i < HINTS_MOST; i++)
		if (memcmp(&f->hints[i], &m, sizeof(m)) == 0)
			return;
	f->hints[f->next_hint++ % HINTS_MOST] = m;
}

/* Checks the copy instead of the original, because a file in a directory can change meanwhile. */
static int learn_copy(struct fetch *f, struct draft *d, const struct key *k, const char *name,
	struct store_learned *out, struct err *e)
{
	struct view v = view_of_fd(draft_fd(d), draft_size(d));
	struct obj_slice s;
	int r = obj_check(&v, k, &s, e);

	if (r == 0) /* a slice of a fat file always shows its identity */
		r = err_set(e, -EBADMSG, "changed while it was copied");
	if (r == 1)
		learn_slice(f, &s, k, name, out);
	return r == 1 ? 0 : r;
}

/* Copies the bytes, with shared blocks where the file system can share them. */
static int publish_part(struct fetch *f, int fd, const struct obj_slice *s, const struct key *k,
	const char *name, const struct blob_facts *facts, struct blob **out, struct err *e)
{
	_cleanup_free_ struct store_learned *l = calloc(1, sizeof(*l));
	struct draft *d;
	int r = l ? draft_new(&d, f->store, e) : -ENOMEM;

	if (r < 0)
		return r;
	r = draft_copy(d, fd, s->off, s->size);
	if (r < 0)
		err_set(e, r, "%s", err_text(r));
	else
		r = learn_copy(f, d, k, name, l, e);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	return store_publish_learned(f->store, d, k, facts, l, out, e);
}

int learn_publish_part(struct fetch *f, int fd, const struct obj_slice *s, const struct key *k,
	const struct blob_facts *facts, struct blob **out, struct err *e)
{
	return publish_part(f, fd, s, k, name_asked(k), facts, out, e);
}

static bool is_new(struct fetch *f, const struct store_learned *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!store_wants(f->store, &l->keys[i], &l->worth, NULL))
			return false;
	return l->n > 0;
}

/* Publishes the other slices of a whole fat file: each is an artifact of its own. If the slices together are
 * larger than the file, they overlap, which is an attack. A slice that cannot be stored is fetched when it is
 * requested. */
static void publish_others(struct fetch *f, int fd, uint64_t size, const struct obj_slice *but,
	const struct key *k, const struct blob_facts *facts)
{
	struct view v = view_of_fd(fd, size);
	struct store_learned *l = calloc(1, sizeof(*l));
	uint64_t left = size - MIN(size, but->size);
	struct obj_slice s;

	for (unsigned i = 0; l && i < SLICES_MOST && obj_identify(&v, i, &s, NULL) == 0; i++) {
		if (s.off == but->off || s.size > left || !s.n_types)
			continue;
		learn_slice(f, &s, &(struct key){.type = s.types[0]}, name_asked(k), l);
		if (!is_new(f, l))
			continue;
		left -= s.size;
		if (publish_part(f, fd, &s, &l->keys[0], name_asked(k), facts, NULL, NULL) < 0)
			break;
	}
	free(l);
}

static int publish_whole(struct fetch *f, struct draft *d, const struct obj_slice *s,
	const struct key *k, const struct blob_facts *facts, struct blob **out, struct err *e)
{
	struct store_learned *l = calloc(1, sizeof(*l));
	int r;

	if (l)
		learn_slice(f, s, k, name_asked(k), l);
	r = store_publish_learned(f->store, d, k, facts, l, out, e);
	free(l);
	return r;
}

int learn_finish(struct fetch *f, struct sparse *sp, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e)
{
	struct view v = view_of_fd(sparse_fd(sp), sparse_size(sp));
	struct store_learned *l = calloc(1, sizeof(*l));
	struct obj_slice s;
	int r = obj_check(&v, k, &s, e);

	facts->verified = r == 1;
	if (r == 1 && s.size != sparse_size(sp))
		r = err_set(e, -EBADMSG, "the requested object is only a part of the source's file");
	if (r >= 0) {
		if (l && r == 1)
			learn_slice(f, &s, k, name_asked(k), l);
		r = sparse_finish(sp, facts, l, out, e);
		r = r == -EBADMSG ? -EIO : r; /* an error of the store, not of the file */
	}
	free(l);
	return r;
}

int learn_publish(struct fetch *f, struct draft *d, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e)
{
	struct view v = view_of_fd(draft_fd(d), draft_size(d));
	struct obj_slice s;
	int r = obj_check(&v, k, &s, e);

	facts->verified = r == 1;
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	if (r == 0)
		r = store_publish(f->store, d, k, facts, out, e);
	else if (s.size == draft_size(d))
		r = publish_whole(f, d, &s, k, facts, out, e);
	else {
		r = learn_publish_part(f, draft_fd(d), &s, k, facts, out, e);
		if (r == 0)
			publish_others(f, draft_fd(d), draft_size(d), &s, k, facts);
		draft_discard(d);
	}
	return r == -EBADMSG ? -EIO : r; /* an error of the store, not of the file */
}

int fetch_copy(struct fetch *f, const struct key *k, struct blob **b, struct err *e)
{
	struct blob_facts facts = *blob_facts(*b);
	_cleanup_blob_ struct blob *stored = NULL;
	struct draft *d;
	int r;

	if (blob_sha256(*b)[0])
		return 0;
	r = draft_new(&d, f->store, e);
	if (r < 0)
		return r;
	r = draft_copy(d, blob_fd(*b), 0, blob_size(*b));
	if (r < 0) {
		draft_discard(d);
		return err_set(e, r, "%s", err_text(r));
	}
	r = learn_publish(f, d, k, &facts, &stored, e);
	if (r == -ESTALE) /* another file, which is as good, was stored meanwhile */
		r = store_find(f->store, k, &stored);
	if (r < 0)
		return r;
	blob_unref(*b);
	*b = take(stored);
	return 0;
}
