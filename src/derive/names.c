/* Names of derived files: the inputs of each, and the key under which it is stored. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "derive/private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The inputs of GSYM. If a module has several of these files, GSYM is made of the first that exists. */
static const struct family {
	enum object_type object;
	enum filetype inputs[DERIVE_INPUTS];
	bool exact; /* these inputs are converted to GSYM_WORK_ELIOT only */
	bool sym;   /* this family is for Breakpad files only */
	bool not_sym; /* Breakpad files of these modules have a family of their own */
} families[] = {
	/* Neither replaces the other: the program has the names of methods, and the PDB has the lines. */
	{OBJECT_PE_DOTNET, {FILETYPE_PORTABLEPDB}, true},
	{OBJECT_PE_DOTNET, {FILETYPE_PE}, true},
	{OBJECT_ELF, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE}, false},
	{OBJECT_MACHO, {FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE}, false},
	{OBJECT_WASM, {FILETYPE_WASM_DEBUG, FILETYPE_WASM_CODE}, false},
	/* The addresses in a PDB are relative to the image; those in a program are not. So neither replaces the
	 * other, but in Breakpad files all addresses are relative. */
	{OBJECT_PE, {FILETYPE_PDB}, .not_sym = true},
	{OBJECT_PE, {FILETYPE_PE}, .not_sym = true},
	{OBJECT_PE, {FILETYPE_PDB, FILETYPE_PE}, .sym = true},
	{OBJECT_UNKNOWN, {FILETYPE_BREAKPAD}, false},
	/* A debug id alone can be that of an ELF or of a Mach-O file, or of a program for Windows without a PDB. */
	{OBJECT_UNKNOWN, {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE,
		FILETYPE_PE}, .sym = true},
};

static bool makes(const struct family *f, enum gsym_work_form form)
{
	return (!f->exact || form == GSYM_WORK_ELIOT) && !(form == GSYM_WORK_SYM ? f->not_sym : f->sym);
}

static const struct family *family_of(enum filetype t, enum gsym_work_form form)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++)
		for (unsigned k = 0; k < DERIVE_INPUTS; k++)
			if (families[i].inputs[k] == t && t != FILETYPE_NONE && makes(&families[i], form))
				return &families[i];
	return NULL;
}

/* The forms of derived files: the suffix of the name, and the file type. Only symfs itself reads GSYM_WORK_ELIOT and
 * GSYM_WORK_LENIENT. */
static const struct form {
	const char *suffix;
	enum filetype type;
} forms[] = {
	[GSYM_WORK_V1] = {".gsym", FILETYPE_GSYM},
	[GSYM_WORK_OBJECT] = {".gsym.o", FILETYPE_GSYM},
	[GSYM_WORK_ELIOT] = {".exact", FILETYPE_GSYM},
	[GSYM_WORK_LENIENT] = {".lenient", FILETYPE_GSYM},
	[GSYM_WORK_SYM] = {".sym", FILETYPE_SYM},
};

/* The name shows the type of the input and the form: "elf_debug.gsym.o". */
static void set_name(struct artifact *a, enum filetype of, enum gsym_work_form form)
{
	snprintf(a->m.path, sizeof(a->m.path), "%s%s", filetypes[of].name, forms[form].suffix);
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

	if (a->type == FILETYPE_SYM && a->m.object == OBJECT_UNKNOWN)
		return &families[ARRAY_SIZE(families) - 1];
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(a->m.path, "."), a->m.path);
	return family_of(filetype_find(word), derive_form(a));
}

/* Makes the key from the identifier of the input, and from the input's name if the name is part of its key. The key
 * of a Breakpad file has the name in its MODULE record, which is the name that the client asked for. */
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
	if (form == GSYM_WORK_SYM && input->m.debug_file[0])
		snprintf(out->name, sizeof(out->name), "%.60s for %s", made.m.path, input->m.debug_file);
	return 0;
}

int derive_key_of(const struct artifact *a, enum filetype of, struct key *out)
{
	struct artifact input = *a;

	input.type = of;
	input.m.path[0] = '\0';
	if (input.m.object == OBJECT_UNKNOWN)
		input.m.object = filetypes[of].object;
	/* Not every request for a Breakpad file has a code id, but each has the debug id. The code id only decides
	 * which sources can be asked for the input. */
	if (a->type == FILETYPE_SYM && a->m.debug_id.set)
		input.m.code_id[0] = '\0';
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

static bool is_windows(const struct module *m)
{
	size_t n = strlen(m->debug_file);

	return m->object == OBJECT_PE || (n > 4 && strcasecmp(m->debug_file + n - 4, ".pdb") == 0);
}

/* What is known of the module decides which files are asked for: its build id, or a name that a PDB has. */
int derive_breakpad(struct derive *d, const struct artifact *sym, struct artifact *out)
{
	struct artifact a = *sym;
	bool windows = is_windows(&a.m), macho = a.m.object == OBJECT_MACHO;
	struct key k;

	if (sym->type != FILETYPE_BREAKPAD || !fetch_opts(d->fetch)->synthesize)
		return -ENOENT;
	if (debug_id_is_nil(&a.m.debug_id)) { /* a program for Windows without a PDB has its code id and name */
		if (!windows || !a.m.code_id[0] || !a.m.code_file[0])
			return -ENOENT;
		a.m.debug_id = (struct debug_id){0};
	}
	a.m.path[0] = '\0';
	a.type = windows ? FILETYPE_PDB : FILETYPE_ELF_DEBUG;
	a.m.object = windows ? OBJECT_PE : macho ? OBJECT_MACHO : OBJECT_UNKNOWN;
	if (!windows && !macho && module_ids_fit(a.m.code_id, &a.m.debug_id))
		a.m.object = OBJECT_ELF;
	else if (!windows || !a.m.code_file[0]) /* the code id of a program for Windows needs its name */
		a.m.code_id[0] = '\0';
	if (a.m.object == OBJECT_UNKNOWN)
		fetch_complete(d->fetch, &a);
	if (a.m.object == OBJECT_MACHO)
		a.type = FILETYPE_MACH_DEBUG;
	else if (a.m.object == OBJECT_PE)
		a.type = FILETYPE_PDB;
	else if (a.m.object != OBJECT_ELF)
		a.m.object = OBJECT_UNKNOWN;
	*out = a;
	out->type = FILETYPE_SYM;
	snprintf(out->m.debug_file, sizeof(out->m.debug_file), "%s", sym->m.debug_file);
	set_name(out, a.type, GSYM_WORK_SYM);
	return derive_key(out, &k);
}

const char *derive_breakpad_why(const struct artifact *a)
{
	return a->m.object != OBJECT_UNKNOWN ? "no source has its debug file or program"
					     : "only its debug id is known, and no file with it: servers of "
					       "debuginfod are asked by build id";
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
		if (out[n].m.object == OBJECT_UNKNOWN && f->sym) {
			out[n].m.object = filetypes[f->inputs[i]].object;
			/* Without a PDB, the file has the name of the program. */
			if (out[n].type == FILETYPE_PE && !out[n].m.code_file[0])
				memcpy(out[n].m.code_file, a->m.debug_file, sizeof(out[n].m.code_file));
		}
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}
