/* What the kinds of sources need to read their sections. Known to source/ alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

/* -EINVAL, and `e` says "FILE:LINE: [source "NAME"]: WHAT = VALUE: expected EXPECTED", with the
 * line that says it, or that of the section. */
int source_mistake(const struct conf_section *c, struct err *e, const char *what, const char *value,
	const char *expected);
