/* The table of kinds of sources. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/kinds.h"

#include <string.h>

const struct source_kind *const source_kinds[SOURCE_KINDS] = {
	&source_http, &source_debuginfod, &source_s3, &source_dir, &source_scan,
	&source_bucket};

const struct source_kind *source_kind_find(const char *name)
{
	for (size_t i = 0; i < SOURCE_KINDS; i++)
		if (strcmp(source_kinds[i]->name, name) == 0)
			return source_kinds[i];
	return NULL;
}
