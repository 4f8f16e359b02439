/* A module as a request or a file describes it; any field may be missing. A path of one layout can mean
 * several pairs of file type and module, so layout_parse() returns a list of pairs. key_of() returns the
 * artifact that a pair names. Plain values. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/debugid.h"
#include "names/id/filetype.h"

#define CODE_ID_MAX 128	 /* hex digits; a build id usually has 20 bytes, and never more than 64 */
#define MODULE_NAME_MAX 256
#define MODULE_PATH_MAX 1024
#define MODULE_CHECKSUM_MAX 160 /* a short word, a colon, the hex digits of 64 bytes */

struct module {
	enum object_type object;
	struct debug_id debug_id;
	char code_id[CODE_ID_MAX + 1];	   /* lower-case hex; "" when not known */
	char code_file[MODULE_NAME_MAX];   /* base names, in the first spelling seen */
	char debug_file[MODULE_NAME_MAX];
	char checksum[MODULE_CHECKSUM_MAX]; /* of the debug file: "SHA256:00ff…"; "" when not known */
	/* The path of a source file, or the name of a section; for a Breakpad file the id as the request
	 * gave it; "": none of these. */
	char path[MODULE_PATH_MAX];
};

/* Prints the identifiers in the canonical spelling that look-ups use. Both return `out`. An ELF build id is
 * padded to 20 bytes. A debug id is in lower case; the debug id of a Portable PDB has no stamp. "": the
 * module has no such id, or a debug id of zeros. */
#define MODULE_ID_TEXT (CODE_ID_MAX + 1)
const char *module_code_text(const struct module *m, char out[static MODULE_ID_TEXT]);
const char *module_debug_text(const struct module *m, char out[static MODULE_ID_TEXT]);

/* Whether a debug id is derived from a build id (hex), in either byte order. */
bool module_ids_fit(const char *build_id, const struct debug_id *d);

#define ARTIFACT_VIA 272

struct artifact {
	enum filetype type;
	struct module m;
	char via[ARTIFACT_VIA]; /* the servers that the request passed through (Via), separated by blanks;
				   "": none */
};

/* Sets the code id from hex digits of any case. Other characters are ignored, as in other tools. 0; -EINVAL:
 * no digits, or too many. */
int module_set_code_id(struct module *m, const char *text, size_t n);

/* Removes padding from the code id of a PE file, in place. Such an id is a time in eight digits and a size,
 * which some tools pad with zeros to eight digits. Other ids stay unchanged. */
void pe_id_trim(char *code_id);

/* Writes the UUID of a Mach-O file or WASM module, 32 digits in lower case. For a Mach-O file and most WASM
 * modules the UUID is both the code id and the debug id. The UUID is taken from the code id, or else from
 * the debug id. 0; -ENOENT: the module has neither, or its code id is not a UUID. */
int module_uuid(const struct module *m, char out[static 33]);

/* Returns the module's debug id, or else the debug id derived from the code id of an ELF file (lossy;
 * depends on its byte order), a Mach-O file or a WASM module. 0; -ENOENT: neither exists. */
int module_debug_id(const struct module *m, bool big_endian, struct debug_id *out);
