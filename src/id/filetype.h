/* Kinds of files that a symbol server can hold, and kinds of modules that they belong to.
 * The names are the words of the command line and of `symfs id`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

enum filetype {
	FILETYPE_NONE,
	FILETYPE_ELF_CODE,
	FILETYPE_ELF_DEBUG,
	FILETYPE_MACH_CODE,
	FILETYPE_MACH_DEBUG,
	FILETYPE_PE,
	FILETYPE_PDB,
	FILETYPE_PORTABLEPDB,
	FILETYPE_WASM_CODE,
	FILETYPE_WASM_DEBUG,
	FILETYPE_BREAKPAD,
	FILETYPE_SOURCEBUNDLE,
	FILETYPE_UUIDMAP,
	FILETYPE_BCSYMBOLMAP,
	FILETYPE_IL2CPP,
	FILETYPE_SOURCE,	/* one source file of a build, by the path its line table names */
	FILETYPE_SECTION,	/* one ELF section of a build, by its name */
	FILETYPE_PERFMAP,
	FILETYPE_GSYM,
	FILETYPE_COMPANION,	/* .NET's debugging libraries, by the id of the runtime that they are for */
	FILETYPE_ELF_DWO,	/* split debug information, by the id of a unit in it */
	FILETYPES
};

enum object_type {
	OBJECT_UNKNOWN,
	OBJECT_ELF,
	OBJECT_MACHO,
	OBJECT_PE,
	OBJECT_PE_DOTNET,
	OBJECT_WASM,
	OBJECT_TYPES
};

const char *filetype_name(enum filetype t);	/* "elf_debug" */
enum filetype filetype_find(const char *name);	/* FILETYPE_NONE: no such word */
const char *object_type_name(enum object_type t);
enum object_type object_type_find(const char *name);
