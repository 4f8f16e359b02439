/* Names of derived files: the inputs of each, and the key under which it is stored. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/derive-private.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* The inputs of GSYM. If a module has several of these files, GSYM is made of the first that exists. */
static const struct family {
	enum object_type object;
	enum filetype inputs[DERIVE_INPUTS];
	bool exact; /* these inputs are converted to GSYM_WORK_ELIOT only */
} families[] = {
	{OBJECT_PE_DOTNET, {FILETYPE_PORTABLEPDB, FILETYPE_PE}, true},
	{OBJECT_ELF, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE}, false},
	{OBJECT_MACHO, {FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE}, false},
	/* The addresses in a PDB are relative to the image; those in a program are not. So neither replaces the other. */
	{OBJECT_PE, {FILETYPE_PDB}, false},
	{OBJECT_PE, {FILETYPE_PE}, false},
	{OBJECT_UNKNOWN, {FILETYPE_BREAKPAD}, false},
};

static const struct family *family_of(enum filetype t, enum gsym_work_form form)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++)
		for (unsigned k = 0; k < DERIVE_INPUTS; k++)
			if (families[i].inputs[k] == t && t != FILETYPE_NONE &&
				(!families[i].exact || form == GSYM_WORK_ELIOT))
				return &families[i];
	return NULL;
}

/* The forms of GSYM: the suffix of the name, and the file type. Only symfs itself reads the last two forms. */
static const struct form {
	const char *suffix;
	enum filetype type;
} forms[] = {
	[GSYM_WORK_V1] = {".gsym", FILETYPE_GSYM},
	[GSYM_WORK_OBJECT] = {".gsym.o", FILETYPE_GSYM},
	[GSYM_WORK_ELIOT] = {".exact", FILETYPE_GSYM},
	[GSYM_WORK_LENIENT] = {".lenient", FILETYPE_GSYM},
};

/* The name shows the type of the input and the form: "elf_debug.gsym.o". */
static void set_name(struct artifact *a, enum filetype of, enum gsym_work_form form)
{
	snprintf(a->m.path, sizeof(a->m.path), "%s%s", filetype_name(of), forms[form].suffix);
}

/* The end of a name whose input is one of several files with the same id: key_by_name(). */
#define BY_NAME "="

static bool is_by_name(const struct artifact *a)
{
	return strstr(a->m.path, BY_NAME) != NULL;
}

enum gsym_work_form derive_form(const struct artifact *a)
{
	const char *tail = strchr(a->m.path, '.');
	size_t n = tail ? strcspn(tail, BY_NAME) : 0;

	for (unsigned i = 0; tail && i < ARRAY_SIZE(forms); i++)
		if (strlen(forms[i].suffix) == n && strncmp(tail, forms[i].suffix, n) == 0)
			return i;
	return GSYM_WORK_V1;
}

static const struct family *family_of_made(const struct artifact *a)
{
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(a->m.path, "."), a->m.path);
	return family_of(filetype_find(word), derive_form(a));
}

/* Makes the key from the identifier of the input, and from the input's name if the name is part of its key. */
static int name_made(const struct artifact *input, enum gsym_work_form form, bool by_name, struct key *out)
{
	char canon[KEY_TEXT], folded[MODULE_NAME_MAX];
	struct artifact made = *input;
	struct key k, named;
	int r = key_of(&k, input);

	if (r < 0)
		return r;
	if (by_name && key_by_name(&k, &named))
		k = named;
	set_name(&made, input->type, form);
	memset(out, 0, sizeof(*out));
	out->type = forms[form].type;
	snprintf(out->id, sizeof(out->id), "%s", k.id);
	snprintf(out->name, sizeof(out->name), "%s", made.m.path);
	if (strchr(key_canon(&k, canon), ' ') != strrchr(canon, ' '))
		snprintf(out->name, sizeof(out->name), "%.60s of %s", made.m.path, key_folded(&k, folded));
	return 0;
}

int derive_key_of(const struct artifact *a, enum filetype of, struct key *out)
{
	struct artifact input = *a;

	input.type = of;
	input.m.path[0] = '\0';
	return name_made(&input, derive_form(a), is_by_name(a), out);
}

int derive_key(const struct artifact *a, struct key *out)
{
	const struct family *f = family_of_made(a);

	for (unsigned i = 0; f && i < DERIVE_INPUTS && f->inputs[i] != FILETYPE_NONE; i++)
		if (derive_key_of(a, f->inputs[i], out) == 0)
			return 0;
	return -ENOENT;
}

static int made_of(const struct artifact *input, enum gsym_work_form form, bool by_name, struct artifact *out)
{
	const struct family *f = family_of(input->type, form);
	struct key k;

	*out = *input;
	if (!f)
		return -ENOENT;
	out->type = forms[form].type;
	if (f->object != OBJECT_UNKNOWN)
		out->m.object = f->object;
	set_name(out, f->inputs[0], form);
	if (by_name)
		snprintf(out->m.path + strlen(out->m.path), sizeof(BY_NAME), BY_NAME);
	return derive_key(out, &k);
}

int derive_artifact(const struct artifact *input, bool object, struct artifact *out)
{
	return made_of(input, object ? GSYM_WORK_OBJECT : GSYM_WORK_V1, false, out);
}

int derive_exact(struct derive *d, const struct artifact *input, bool lenient, struct artifact *out)
{
	struct key k;
	bool by_name = key_of(&k, input) == 0 && store_key(d->store, &k).named;

	return made_of(input, lenient ? GSYM_WORK_LENIENT : GSYM_WORK_ELIOT, by_name, out);
}

unsigned derive_inputs(const struct artifact *a, struct artifact out[static DERIVE_INPUTS])
{
	const struct family *f = family_of_made(a);
	unsigned n = 0;

	for (unsigned i = 0; f && i < DERIVE_INPUTS && f->inputs[i] != FILETYPE_NONE; i++) {
		struct key k;

		out[n] = *a;
		out[n].type = f->inputs[i];
		out[n].m.path[0] = '\0';
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}
