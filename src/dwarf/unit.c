/* Opens a unit: reads its first entry, and the bases of its texts, addresses and ranges. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "dwarf/forms.h"

static uint64_t number_or(const struct dwarf_die *d, enum dwarf_field f, uint64_t otherwise)
{
	uint64_t v;

	return die_has(d, f) && dwarf_number(&d->v[f], &v) ? v : otherwise;
}

/* Bases come first: without them the texts and addresses of the same entry have no meaning. */
static void set_bases(struct dwarf_unit *u, const struct dwarf_die *root)
{
	const struct dwarf_unit *skeleton = u->skeleton;
	unsigned head = u->head->off_size == 8 ? 16 : 8;
	bool split = u->file->dwo && u->head->version >= 5;

	u->str_offsets = u->file->s[DWARF_STR_OFFSETS];
	u->rnglists = u->file->s[DWARF_RNGLISTS];
	u->str_base = number_or(root, AT_STR_BASE, split ? head : 0);
	u->rnglists_base = number_or(root, AT_RNGLISTS_BASE, split ? head + 4 : 0);
	u->addr_base = skeleton ? skeleton->addr_base : number_or(root, AT_ADDR_BASE, 0);
	/* Only the split unit uses the ranges base of the skeleton. */
	u->ranges_base = skeleton ? skeleton->ranges_base : 0;
}

static const char *text_or(const struct dwarf_unit *u, const struct dwarf_die *d,
	enum dwarf_field f, const char *otherwise)
{
	const char *s = die_has(d, f) ? dwarf_text(u, &d->v[f]) : NULL;

	return s ? s : otherwise;
}

static void set_rest(struct dwarf_unit *u, const struct dwarf_die *root)
{
	const struct dwarf_unit *skeleton = u->skeleton;

	u->tag = root->abbrev->tag;
	u->children = root->abbrev->children ? root->next : 0;
	u->language = (unsigned)number_or(root, AT_LANGUAGE, 0);
	u->comp_dir = text_or(u, root, AT_COMP_DIR, skeleton ? skeleton->comp_dir : "");
	u->dwo_name = text_or(u, root, AT_DWO_NAME, NULL);
	u->dwo_id = u->head->version >= 5 ? u->head->id : number_or(root, AT_DWO_ID, 0);
	u->has_lines = die_has(root, AT_LINES);
	u->lines = number_or(root, AT_LINES, 0);
	if (!die_has(root, AT_LOW) || !dwarf_address(u, &root->v[AT_LOW], &u->low))
		u->low = 0;
	if (skeleton) {
		u->low = skeleton->low;
		u->has_lines = skeleton->has_lines;
		u->lines = skeleton->lines;
	}
}

int dwarf_unit_open(struct dwarf_unit *u, struct dwarf_reader *r, const struct dwarf_file *f,
	const struct dwarf_head *h, const struct dwarf_unit *skeleton)
{
	struct dwarf_die root;
	int result;

	memset(u, 0, sizeof(*u));
	u->file = f;
	u->main = skeleton ? skeleton->main : f;
	u->head = h;
	u->skeleton = skeleton;
	if (!h->first)
		return -EBADMSG;
	result = dwarf_abbrevs_get(r, f, h, &u->abbrevs);
	if (result < 0)
		return result;
	if (!dwarf_die_at(u, h->first, &root)) {
		dwarf_unit_close(u);
		return -EBADMSG;
	}
	set_bases(u, &root);
	set_rest(u, &root);
	/* The ranges base in a skeleton of version 4 is for its split unit only. */
	if (!skeleton && u->dwo_name)
		u->ranges_base = number_or(&root, AT_GNU_RANGES_BASE, 0);
	return 0;
}

void dwarf_unit_close(struct dwarf_unit *u)
{
	dwarf_abbrevs_drop(u->abbrevs);
	u->abbrevs = NULL;
}

void dwarf_reader_release(struct dwarf_reader *r)
{
	for (unsigned i = 0; i < DWARF_FOREIGN; i++) {
		if (!r->foreign[i])
			continue;
		dwarf_unit_close(&r->foreign[i]->unit);
		free(r->foreign[i]->scopes.all);
		free(r->foreign[i]);
	}
	for (unsigned i = 0; i < DWARF_TABLES; i++)
		dwarf_abbrevs_drop(r->tables[i]);
	memset(r, 0, sizeof(*r));
}
