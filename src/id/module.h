/* What a request or a file says about a module; any field may be missing. A path of one layout can mean
 * several pairs of file type and module, so layout_parse() returns a list of pairs. key_of() returns the
 * artifact that a pair names. Plain values. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/debugid.h"
#include "id/filetype.h"

#define CODE_ID_MAX 128	 /* hex digits: build ids are 20 bytes, 64 at the very most */
#define MODULE_NAME_MAX 256
#define MODULE_PATH_MAX 1024
#define MODULE_CHECKSUM_MAX 160 /* a short word, a colon, the hex digits of 64 bytes */

struct module {
	enum object_type object;
	struct debug_id debug_id;
	char code_id[CODE_ID_MAX + 1];	   /* lower-case hex; "" when not known */
	char code_file[MODULE_NAME_MAX];   /* base names, as first given */
	char debug_file[MODULE_NAME_MAX];
	char checksum[MODULE_CHECKSUM_MAX]; /* of the debug file: "SHA256:00ff…"; "" when not known */
	/* The path of a source file, or the name of a section; for a Breakpad file the id as the request
	 * gave it, or "". */
	char path[MODULE_PATH_MAX];
};

/* Identifiers in the one spelling that look-ups use. An ELF build id is padded to 20 bytes. A debug id is
 * in lower case; that of a Portable PDB has no stamp. "": the module has no identifier, or one of zeros. */
#define MODULE_ID_TEXT (CODE_ID_MAX + 1)
const char *module_code_text(const struct module *m, char out[static MODULE_ID_TEXT]);
const char *module_debug_text(const struct module *m, char out[static MODULE_ID_TEXT]);

/* Whether a debug id is the one that follows from a build id (hex), in either byte order. */
bool module_ids_fit(const char *build_id, const struct debug_id *d);

#define ARTIFACT_VIA 272

struct artifact {
	enum filetype type;
	struct module m;
	char via[ARTIFACT_VIA]; /* the servers that the request came through, blanks between; "" */
};

/* Takes hex digits of any case, and drops other characters, as other tools do. 0; -EINVAL: no digit is
 * left, or too many are. */
int module_set_code_id(struct module *m, const char *text, size_t n);

/* The code id of a PE file is a time in eight digits and a size; some tools fill the size up with
 * zeros, to eight digits. Cuts these zeros off, in place; leaves other ids alone. */
void pe_id_trim(char *code_id);

/* The UUID of a Mach-O file, 32 digits in lower case, is both its code id and its debug id; so is that of
 * most WASM modules. Taken from the code id, or from the debug id if there is no code id. -ENOENT: the
 * module has neither, or its code id is not a UUID. */
int module_uuid(const struct module *m, char out[static 33]);

/* The debug id, or the one derived from the code id of an ELF file (lossy; depends on the byte order of
 * the file), a Mach-O file or a WASM module. -ENOENT. */
int module_debug_id(const struct module *m, bool big_endian, struct debug_id *out);
