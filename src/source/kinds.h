/* The kinds of sources. A new kind is one file, an extern here, a row in kinds.c, and a line in
 * src/sources.am. Constant tables, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

#define SOURCE_KINDS 6

extern const struct source_kind source_bucket, source_debuginfod, source_dir, source_http, source_s3, source_scan;
extern const struct source_kind *const source_kinds[SOURCE_KINDS];
extern const struct layout source_anywhere; /* the layout of source_scan: it has no paths */
extern const struct layout source_keyed;    /* the layout of source_bucket: its paths are digests of keys */

const struct source_kind *source_kind_find(const char *name); /* NULL: no such kind */
