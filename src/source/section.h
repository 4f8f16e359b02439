/* Values in the configuration section of a source: errors in them, and lists. Used by source/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

/* Returns -EINVAL, and sets `e` to "FILE:LINE: [source "NAME"]: WHAT = VALUE: expected EXPECTED". LINE is
 * the line of the key WHAT, or of the section if it has no such key. */
int source_mistake(const struct conf_section *c, struct err *e, const char *what, const char *value,
	const char *expected);

/* Replaces a list of lines by the list of their words, which blanks or commas separate. 0, -ENOMEM. */
int source_split_words(char ***list);
