/* Files that another symfs made, and not their publisher: their URL in the index ends in the maker, "symfs sym 3". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/files/blob.h"

#define BLOB_MAKER 48

/* Adds the maker to the URL, which is cut if it is long. */
void blob_set_maker(struct blob_facts *f, const char *maker);
/* Writes the maker; "": the file is as published. Returns `out`. */
const char *blob_maker(const struct blob_facts *f, char out[static BLOB_MAKER]);
bool blob_is_made(const struct blob_facts *f);
