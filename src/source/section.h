/* Reports errors in the configuration section of a source. Used by source/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

/* Returns -EINVAL, and sets `e` to "FILE:LINE: [source "NAME"]: WHAT = VALUE: expected EXPECTED". LINE is
 * the line of the key WHAT, or of the section if it has no such key. */
int source_mistake(const struct conf_section *c, struct err *e, const char *what, const char *value,
	const char *expected);
