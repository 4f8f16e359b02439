/* Debug ids: a GUID and an age (PDB), or a value that other formats derive from their own identifier. Text
 * forms are those of Breakpad and of Sentry's tools. Plain values. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_ID_TEXT 48

struct debug_id {
	bool set;
	bool pdb20;	   /* PDB 2.0: only the first four bytes of `guid` are used, a timestamp */
	uint8_t guid[16];  /* in the order in which the text shows them */
	uint32_t age;
};

/* Prints "3249d99d-0c40-4931-8610-f4e4fb0b6936-1", with the age in hex, left out if 0. "": the id is not
 * set. Returns `out`. */
const char *debug_id_text(const struct debug_id *d, char out[static DEBUG_ID_TEXT]);

/* Prints "3249D99D0C4049318610F4E4FB0B69361": the GUID in upper case, then always the age, in lower case.
 * "": the id is not set. Returns `out`. */
const char *debug_id_breakpad(const struct debug_id *d, char out[static DEBUG_ID_TEXT]);

/* Parses either form, n characters in any case; a missing age is 0. 0, -EINVAL. */
int debug_id_parse(struct debug_id *d, const char *text, size_t n);

/* Makes a debug id from a GUID as Windows stores it: its first three fields are little-endian. */
void debug_id_from_guid(struct debug_id *d, const uint8_t guid[static 16], uint32_t age);

/* Makes a debug id from an ELF build id: its first 16 bytes, with zeros after a shorter build id. For a
 * little-endian file the fields are swapped as in a GUID in memory. Lossy. */
void debug_id_from_build_id(struct debug_id *d, const uint8_t *id, size_t n, bool big_endian);

bool debug_id_is_nil(const struct debug_id *d); /* not set, or all zeros */
/* Whether the age field contains no age, but the stamp of a Portable PDB (a time or checksum), or ffffffff.
 * Paths have ffffffff in place of the stamp. A real age never has eight digits. */
bool debug_id_stamped(const struct debug_id *d);

bool debug_id_equal(const struct debug_id *a, const struct debug_id *b);
