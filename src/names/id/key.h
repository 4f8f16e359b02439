/* The key of one artifact of one build: "elf_debug dfb85de4… ", "pdb 3249D99D…1 crash.pdb". Keys are
 * compared by key_canon(). The identifier says which build a file belongs to. The name is part of the
 * identity only where identifiers are known to collide (PE: link time and size; debug ids of zeros), or
 * where the name is the identity (source paths, sections). Elsewhere the name is a hint, kept as first
 * given.
 * The key of a PE or ELF file has its code id. But some clients know only the debug id, and an ELF file
 * without a build id has only a debug id. Then the key has the debug id in Breakpad's form. That form is
 * longer than a PE's code id and, unlike a build id, has an odd number of digits.
 * Plain values: compare them, hash them, copy them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/module.h"

#include <stdbool.h>

#define KEY_ID_MAX (CODE_ID_MAX + 1)
#define KEY_TEXT (32 + KEY_ID_MAX + MODULE_PATH_MAX)

struct key {
	enum filetype type;
	char id[KEY_ID_MAX];	    /* code id in lower-case hex, or a debug id in Breakpad's form */
	char name[MODULE_PATH_MAX]; /* file name; path of a source; name of a section; "": none */
	bool named; /* the name is part of the key although the type does not require it: see
		       key_by_name() */
};

/* The key of an artifact. 0; -ENOENT: the artifact lacks the id that its type needs. */
int key_of(struct key *out, const struct artifact *a);

/* Several Breakpad files can have one debug id and different names. The first is stored under the id
 * alone, and any request for the id gets it. Each further file is stored under id and name, and a request
 * with that name gets it. This function makes the key by id and name; its text has a `=` after the id.
 * False: keys of this type have no such form, or `k` has no file name. */
bool key_by_name(const struct key *k, struct key *out);

/* Whether the artifact's key is made from a debug id that is all zeros. Such an id is shared by many
 * files, so a path that contains the id must also contain the file name. */
bool key_of_nil(const struct artifact *a);

/* Makes an artifact from a key: sets the type, the id and the name that the key contains. */
void key_artifact(const struct key *k, struct artifact *out);

/* The canonical text, the same for all spellings of a key: "TYPE ID" or "TYPE ID NAME". The name is in
 * lower case (ASCII). ELF build ids of 8 to 19 bytes are padded with zeros to 20 bytes, as dotnet's tools
 * do. A Portable PDB's id has no stamp. */
const char *key_canon(const struct key *k, char room[static KEY_TEXT]);

/* The text as given, "TYPE ID NAME": for people, and for the `.key` files of the store. key_parse() reads
 * it. */
const char *key_text(const struct key *k, char room[static KEY_TEXT]);
int key_parse(struct key *out, const char *text); /* 0, -EINVAL */

/* Whether the key of a PE or ELF file has a debug id instead of a code id. The name is not part of such a
 * key. */
bool key_is_by_debug_id(const struct key *k);

/* `symfs sources check` asks a server for ids that begin so, "symfs-" in hex. No file has one: symfs as that server
 * asks no source for it, so the answer is about the server alone. Lists of misses omit them. */
#define KEY_PROBE "73796d66732d"
bool key_is_probe(const struct key *k);

/* For listings. Keys of one type and form use the same fields in the same way. So if a path can be printed
 * for one such key, it can be printed for every such key with a valid name. */
enum key_form {
	KEY_FORM_NONE,	/* not an id of this type */
	KEY_CODE_TINY,	/* code ids: of one or two digits */
	KEY_CODE_SHORT, /* up to 8 */
	KEY_CODE_TIME,	/* up to 16: a time and a size */
	KEY_CODE_UUID,	/* 32 */
	KEY_CODE,	/* of any other length */
	KEY_SIG,	/* debug ids: of PDB 2.0 */
	KEY_GUID,	/* without an age */
	KEY_GUID_AGE,
	KEY_GUID_STAMP, /* with a stamp in place of the age */
	KEY_FORMS
};
#define KEY_CLASSES ((unsigned)FILETYPES * KEY_FORMS)

/* Type and form in one number, below KEY_CLASSES. */
unsigned key_class(const struct key *k);
/* An example key of the class, with this name. -ENOENT: the type has no such ids. */
int key_sample(unsigned class, const char *name, struct key *out);

/* The id without the age, in lower case: all of a code id, or the GUID (PDB 2.0: the timestamp) of a debug
 * id. */
const char *key_id_prefix(const struct key *k, char out[static KEY_ID_MAX]);

/* The file name of a key as listings compare it (ASCII lower case). "": the key has no name, or the name
 * cannot be part of a path. Sections and source paths are not file names. */
const char *key_folded(const struct key *k, char out[static MODULE_NAME_MAX]);

bool key_equal(const struct key *a, const struct key *b);

/* 63 bits of the SHA-256 of the canonical text, never 0 or 1: for inode numbers and lock offsets. */
uint64_t key_number(const struct key *k);

/* Whether two ELF build ids (hex, any case) are equal when both are padded with zeros to 20 bytes. */
bool build_id_equal(const char *a, const char *b);
