/* The words for kinds of files and modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "id/filetype.h"

#include <string.h>

static const char *const filetype_names[FILETYPES] = {
	[FILETYPE_NONE] = "none",
	[FILETYPE_ELF_CODE] = "elf_code",
	[FILETYPE_ELF_DEBUG] = "elf_debug",
	[FILETYPE_MACH_CODE] = "mach_code",
	[FILETYPE_MACH_DEBUG] = "mach_debug",
	[FILETYPE_PE] = "pe",
	[FILETYPE_PDB] = "pdb",
	[FILETYPE_PORTABLEPDB] = "portablepdb",
	[FILETYPE_WASM_CODE] = "wasm_code",
	[FILETYPE_WASM_DEBUG] = "wasm_debug",
	[FILETYPE_BREAKPAD] = "breakpad",
	[FILETYPE_SOURCEBUNDLE] = "sourcebundle",
	[FILETYPE_UUIDMAP] = "uuidmap",
	[FILETYPE_BCSYMBOLMAP] = "bcsymbolmap",
	[FILETYPE_IL2CPP] = "il2cpp",
	[FILETYPE_SOURCE] = "source",
	[FILETYPE_SECTION] = "section",
	[FILETYPE_PERFMAP] = "perfmap",
	[FILETYPE_GSYM] = "gsym",
	[FILETYPE_COMPANION] = "companion",
	[FILETYPE_ELF_DWO] = "elf_dwo",
};

static const char *const object_names[OBJECT_TYPES] = {
	[OBJECT_UNKNOWN] = "unknown", [OBJECT_ELF] = "elf",		[OBJECT_MACHO] = "macho",
	[OBJECT_PE] = "pe",	      [OBJECT_PE_DOTNET] = "pe_dotnet", [OBJECT_WASM] = "wasm",
};

const char *filetype_name(enum filetype t)
{
	return (unsigned)t < FILETYPES ? filetype_names[t] : "none";
}

enum filetype filetype_find(const char *name)
{
	for (unsigned t = 1; t < FILETYPES; t++)
		if (strcmp(filetype_names[t], name) == 0)
			return t;
	return FILETYPE_NONE;
}

const char *object_type_name(enum object_type t)
{
	return (unsigned)t < OBJECT_TYPES ? object_names[t] : "unknown";
}

enum object_type object_type_find(const char *name)
{
	for (unsigned t = 1; t < OBJECT_TYPES; t++)
		if (strcmp(object_names[t], name) == 0)
			return t;
	return OBJECT_UNKNOWN;
}
