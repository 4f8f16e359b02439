/* The name of one artifact of one build: "elf_debug dfb85de4… ", "pdb 3249D99D…1 crash.pdb".
 * Keys are compared by key_canon(): an identifier says which build a file is of; a name belongs
 * to the identity only where identifiers are known to collide (PE: link time and size; a debug id of
 * zeros, which is not an identifier), or where it is the identity (source paths, sections). Elsewhere the name is
 * a hint, kept as first given.
 * PE and ELF files go by their code id. Some ask for them by debug id, and cannot know the other;
 * and an ELF file without a build id has no other: then the debug id is in the key, in Breakpad's
 * form, which is longer than a PE's code id and has an odd number of digits, as no build id has.
 * Plain values: compare them, hash them, copy them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/module.h"

#include <stdbool.h>

#define KEY_ID_MAX (CODE_ID_MAX + 1)
#define KEY_TEXT (32 + KEY_ID_MAX + MODULE_PATH_MAX)

struct key {
	enum filetype type;
	char id[KEY_ID_MAX];	    /* code id in lower-case hex, or a debug id in Breakpad's form */
	char name[MODULE_PATH_MAX]; /* file name; path of a source; name of a section; "" */
	bool named; /* the name counts, although its type does not make it: see key_by_name() */
};

/* The key of what `a` names. 0, -ENOENT when it lacks the identifier that its type goes by. */
int key_of(struct key *out, const struct artifact *a);

/* Breakpad files of one debug id and different names: the first is stored under the id alone, and any request
 * for the id gets it; further ones are stored under id and name, and a request with that name gets them. This
 * is the key by id and name; its text has a `=` behind the id. False: keys of this type have no such form, or
 * `k` has no file name. */
bool key_by_name(const struct key *k, struct key *out);

/* Whether its debug id is all zeros. Then a path without its name means no file. */
bool key_of_nil(const struct artifact *a);

/* What is known of an artifact by its key alone. */
void key_artifact(const struct key *k, struct artifact *out);

/* The text that two spellings of one key share: "TYPE ID" or "TYPE ID NAME", the name folded
 * (ASCII), ELF build ids of 8 to 19 bytes filled up with zeros to 20 (dotnet's tools do), a
 * Portable PDB's id without what some have in place of an age. */
const char *key_canon(const struct key *k, char room[static KEY_TEXT]);

/* "TYPE ID NAME" as given: for people, for the `.key` files of the store; key_parse() takes
 * it back. */
const char *key_text(const struct key *k, char room[static KEY_TEXT]);
int key_parse(struct key *out, const char *text); /* 0, -EINVAL */

/* Whether the key of a PE or ELF file has a debug id where others have the code id. Its name does
 * not count. */
bool key_is_by_debug_id(const struct key *k);

/* Listings. Keys of one type and one form have the same fields, and those of the same use: what can
 * be printed of one can be printed of all of them, if its name is one. */
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
	KEY_GUID_STAMP, /* what stands there is no age */
	KEY_FORMS
};
#define KEY_CLASSES ((unsigned)FILETYPES * KEY_FORMS)

enum key_form key_form(const struct key *k);
/* Type and form in one number, below KEY_CLASSES. */
unsigned key_class(const struct key *k);
/* Any key of the class, with this name. -ENOENT: the type has no such ids. */
int key_sample(unsigned class, const char *name, struct key *out);

/* The digits that an id begins with, in lower case: all of a code id, a debug id without its age. */
const char *key_id_prefix(const struct key *k, char out[static KEY_ID_MAX]);

/* The file name of a key as listings compare it (ASCII folded). "": it has none, or one that cannot
 * stand in a path. Sections and source paths are no file names. */
const char *key_folded(const struct key *k, char out[static MODULE_NAME_MAX]);

bool key_equal(const struct key *a, const struct key *b);

/* 63 bits of the SHA-256 of the canonical text, never 0 or 1: inode numbers, lock offsets. */
uint64_t key_number(const struct key *k);

/* Whether two ELF build ids (hex, any case) are one: equal, or equal when filled up with zero
 * bytes to 20. */
bool build_id_equal(const char *a, const char *b);
