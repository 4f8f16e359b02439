/* Kinds of files that a symbol server can hold, and kinds of modules that they belong to: one row each. The
 * names are those that the command line accepts and that `symfs id` prints. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

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
	FILETYPE_SOURCE,	/* one source file of a build, by the path that its line table names */
	FILETYPE_SECTION,	/* one ELF section of a build, by its name */
	FILETYPE_PERFMAP,
	FILETYPE_GSYM,
	FILETYPE_SYM,		/* a Breakpad file that symfs made */
	FILETYPE_COMPANION,	/* .NET's debugging libraries, by the id of their runtime */
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

/* Which identifier of the module a file's key contains. A name with OR stands for the first of these
 * identifiers that the module has. */
enum filetype_id {
	ID_CODE,
	ID_CODE_OR_DEBUG,
	ID_UUID,
	ID_CODE_OR_UUID,
	ID_DEBUG,
};

/* Which name of the module is in a file's key. */
enum filetype_name_from {
	NAME_CODE_FILE,
	NAME_DEBUG_FILE,
	NAME_PATH, /* the path of a source file or the name of a section, which are case-sensitive */
};

enum filetype_flag {
	/* Keys (names/id/key.c) */
	TYPE_NAME_COUNTS = 1 << 0, /* ids collide, so the name is part of the key */
	TYPE_SEVERAL = 1 << 1,	   /* files of one id and different names can be stored: key_by_name() */
	TYPE_PE_ID = 1 << 2,	   /* the id can be the time and size of a PE file */

	/* Properties of the contents (formats/obj/, fetch/) */
	TYPE_ANONYMOUS = 1 << 3,  /* nothing in the file identifies its build */
	TYPE_ANY_BYTES = 1 << 4,  /* files of the type have no format: even an HTML page can be the right
				     file */
	TYPE_ANY_PACKING = 1 << 5, /* the requested file can itself be a gzip file */
	TYPE_TEXT = 1 << 6,	  /* `symfs serve` sends the file compressed */

	/* The file's role in the module */
	TYPE_PROGRAM = 1 << 7,	   /* the file has the module's machine code */
	TYPE_DEBUG_FILE = 1 << 8,  /* debug information that the program can also contain: see twin */
	TYPE_CODE_NAME = 1 << 9,   /* the name of the file on disk is the module's code_file */
	TYPE_DEBUG_NAME = 1 << 10, /* the name of the file on disk is the module's debug_file; a type can
				      have both flags */

	/* How clients request the file */
	TYPE_RANDOM = 1 << 11,  /* debuggers read parts of the file: fetch byte ranges */
	TYPE_CAB = 1 << 12,	/* symbol stores may have the file as a cabinet: `x.pd_` */
	TYPE_LEARNS = 1 << 13,  /* other files of the module may have the names and ids that a request lacks */
	TYPE_GSYM_FROM = 1 << 14, /* GSYM in all its forms can be made from the file */
	TYPE_MADE = 1 << 15,	/* symfs makes the file of another (derive/derive.h); no source is asked for it */
};

/* The properties of a type. A new type needs an enumerator, a row in filetype.c, and rows in
 * names/layout/layouts.c. If files of the type identify themselves, formats/obj/ needs a reader for the format. */
struct filetype_row {
	const char *name;	 /* "elf_debug" */
	enum object_type object; /* the modules that have such files; OBJECT_UNKNOWN: any */
	enum filetype_id id;
	enum filetype_name_from name_from;
	const char *id_word;  /* the common name of its id: "build id" */
	enum filetype twin;   /* the debug file of a program or the program of a debug file, for formats in
				 which both files begin with the same bytes */
	unsigned flags;
};

extern const struct filetype_row filetypes[FILETYPES]; /* by type; FILETYPE_NONE has no flags */

enum filetype filetype_find(const char *name);	/* FILETYPE_NONE: no type has that name */

/* A kind of module: the two files that debuggers ask for. */
struct object_row {
	const char *name;	      /* "pe_dotnet" */
	enum filetype debug, program; /* FILETYPE_NONE for OBJECT_UNKNOWN alone */
};

extern const struct object_row object_types[OBJECT_TYPES]; /* by type */

enum object_type object_type_find(const char *name);
