/* The table of file types, and the table of module types. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/filetype.h"

#include <string.h>

_Static_assert(FILETYPES <= 32, "sets of types are masks of 32 bits");

#define BOTH_NAMES (TYPE_CODE_NAME | TYPE_DEBUG_NAME)

static const struct filetype_row filetypes[FILETYPES] = {
	[FILETYPE_NONE] = {"none", OBJECT_UNKNOWN, ID_CODE, NAME_CODE_FILE, "id", FILETYPE_NONE, 0},
	[FILETYPE_ELF_CODE] = {"elf_code", OBJECT_ELF, ID_CODE_OR_DEBUG, NAME_CODE_FILE, "build id",
		FILETYPE_ELF_DEBUG, TYPE_PROGRAM | BOTH_NAMES | TYPE_RANDOM | TYPE_GSYM_FROM},
	[FILETYPE_ELF_DEBUG] = {"elf_debug", OBJECT_ELF, ID_CODE_OR_DEBUG, NAME_CODE_FILE, "build id",
		FILETYPE_ELF_CODE, TYPE_DEBUG_FILE | BOTH_NAMES | TYPE_RANDOM | TYPE_GSYM_FROM},
	[FILETYPE_MACH_CODE] = {"mach_code", OBJECT_MACHO, ID_UUID, NAME_CODE_FILE, "UUID",
		FILETYPE_MACH_DEBUG, TYPE_PROGRAM | BOTH_NAMES | TYPE_RANDOM | TYPE_GSYM_FROM},
	[FILETYPE_MACH_DEBUG] = {"mach_debug", OBJECT_MACHO, ID_UUID, NAME_CODE_FILE, "UUID",
		FILETYPE_MACH_CODE, TYPE_DEBUG_FILE | BOTH_NAMES | TYPE_RANDOM | TYPE_GSYM_FROM},
	[FILETYPE_PE] = {"pe", OBJECT_PE, ID_CODE_OR_DEBUG, NAME_CODE_FILE, "code id", FILETYPE_NONE,
		TYPE_PROGRAM | TYPE_NAME_COUNTS | TYPE_PE_ID | TYPE_CODE_NAME | TYPE_RANDOM | TYPE_CAB |
			TYPE_LEARNS | TYPE_GSYM_FROM},
	[FILETYPE_PDB] = {"pdb", OBJECT_PE, ID_DEBUG, NAME_DEBUG_FILE, "debug id", FILETYPE_NONE,
		TYPE_DEBUG_NAME | TYPE_RANDOM | TYPE_CAB | TYPE_LEARNS | TYPE_GSYM_FROM},
	[FILETYPE_PORTABLEPDB] = {"portablepdb", OBJECT_PE_DOTNET, ID_DEBUG, NAME_DEBUG_FILE, "debug id",
		FILETYPE_NONE, TYPE_DEBUG_NAME | TYPE_LEARNS},
	[FILETYPE_WASM_CODE] = {"wasm_code", OBJECT_WASM, ID_CODE_OR_UUID, NAME_CODE_FILE, "build id",
		FILETYPE_WASM_DEBUG, TYPE_PROGRAM | BOTH_NAMES | TYPE_GSYM_FROM},
	[FILETYPE_WASM_DEBUG] = {"wasm_debug", OBJECT_WASM, ID_CODE_OR_UUID, NAME_CODE_FILE, "build id",
		FILETYPE_WASM_CODE, TYPE_DEBUG_FILE | BOTH_NAMES | TYPE_GSYM_FROM},
	[FILETYPE_BREAKPAD] = {"breakpad", OBJECT_UNKNOWN, ID_DEBUG, NAME_DEBUG_FILE, "debug id", FILETYPE_NONE,
		TYPE_SEVERAL | TYPE_TEXT | TYPE_DEBUG_NAME | TYPE_LEARNS | TYPE_GSYM_FROM},
	[FILETYPE_SOURCEBUNDLE] = {"sourcebundle", OBJECT_UNKNOWN, ID_DEBUG, NAME_DEBUG_FILE, "debug id",
		FILETYPE_NONE, TYPE_DEBUG_NAME | TYPE_LEARNS},
	[FILETYPE_UUIDMAP] = {"uuidmap", OBJECT_MACHO, ID_UUID, NAME_CODE_FILE, "UUID", FILETYPE_NONE,
		TYPE_ANONYMOUS},
	[FILETYPE_BCSYMBOLMAP] = {"bcsymbolmap", OBJECT_MACHO, ID_UUID, NAME_CODE_FILE, "UUID", FILETYPE_NONE,
		TYPE_ANONYMOUS},
	[FILETYPE_IL2CPP] = {"il2cpp", OBJECT_UNKNOWN, ID_DEBUG, NAME_DEBUG_FILE, "debug id", FILETYPE_NONE,
		TYPE_ANONYMOUS | BOTH_NAMES | TYPE_LEARNS},
	[FILETYPE_SOURCE] = {"source", OBJECT_ELF, ID_CODE, NAME_PATH, "build id", FILETYPE_NONE,
		TYPE_NAME_COUNTS | TYPE_ANONYMOUS | TYPE_ANY_BYTES | TYPE_ANY_PACKING | TYPE_TEXT},
	[FILETYPE_SECTION] = {"section", OBJECT_ELF, ID_CODE, NAME_PATH, "build id", FILETYPE_NONE,
		TYPE_NAME_COUNTS | TYPE_ANONYMOUS | TYPE_ANY_BYTES | TYPE_ANY_PACKING},
	[FILETYPE_PERFMAP] = {"perfmap", OBJECT_UNKNOWN, ID_DEBUG, NAME_DEBUG_FILE, "debug id", FILETYPE_NONE,
		TYPE_DEBUG_NAME},
	/* derive/derive.c makes these files */
	[FILETYPE_GSYM] = {"gsym", OBJECT_UNKNOWN, ID_CODE, NAME_PATH, "id", FILETYPE_NONE,
		TYPE_NAME_COUNTS | TYPE_MADE},
	[FILETYPE_SYM] = {"sym", OBJECT_UNKNOWN, ID_CODE, NAME_PATH, "id", FILETYPE_NONE,
		TYPE_NAME_COUNTS | TYPE_MADE | TYPE_TEXT},
	[FILETYPE_COMPANION] = {"companion", OBJECT_UNKNOWN, ID_CODE, NAME_CODE_FILE, "id of its runtime",
		FILETYPE_NONE, TYPE_NAME_COUNTS | TYPE_PE_ID | TYPE_ANONYMOUS | TYPE_ANY_PACKING},
	/* the id of split debug information is not a build id */
	[FILETYPE_ELF_DWO] = {"elf_dwo", OBJECT_UNKNOWN, ID_CODE, NAME_CODE_FILE, "id of a unit", FILETYPE_NONE,
		BOTH_NAMES},
};

static const struct object_row objects[OBJECT_TYPES] = {
	[OBJECT_UNKNOWN] = {"unknown", FILETYPE_NONE, FILETYPE_NONE},
	[OBJECT_ELF] = {"elf", FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE},
	[OBJECT_MACHO] = {"macho", FILETYPE_MACH_DEBUG, FILETYPE_MACH_CODE},
	[OBJECT_PE] = {"pe", FILETYPE_PDB, FILETYPE_PE},
	[OBJECT_PE_DOTNET] = {"pe_dotnet", FILETYPE_PORTABLEPDB, FILETYPE_PE},
	[OBJECT_WASM] = {"wasm", FILETYPE_WASM_DEBUG, FILETYPE_WASM_CODE},
};

const struct filetype_row *filetype_row(enum filetype t)
{
	return &filetypes[(unsigned)t < FILETYPES ? t : FILETYPE_NONE];
}

bool filetype_is(enum filetype t, enum filetype_flag flag)
{
	return filetype_row(t)->flags & flag;
}

const char *filetype_name(enum filetype t)
{
	return filetype_row(t)->name;
}

enum filetype filetype_find(const char *name)
{
	for (unsigned t = 1; t < FILETYPES; t++)
		if (strcmp(filetypes[t].name, name) == 0)
			return t;
	return FILETYPE_NONE;
}

const struct object_row *object_row(enum object_type t)
{
	return &objects[(unsigned)t < OBJECT_TYPES ? t : OBJECT_UNKNOWN];
}

const char *object_type_name(enum object_type t)
{
	return object_row(t)->name;
}

enum object_type object_type_find(const char *name)
{
	for (unsigned t = 1; t < OBJECT_TYPES; t++)
		if (strcmp(objects[t].name, name) == 0)
			return t;
	return OBJECT_UNKNOWN;
}
