/* The worth of a slice as its text, for comparisons. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/obj/obj.h"

static inline const char *worth_words(const struct obj_slice *s)
{
	static char room[WORTH_TEXT];

	return worth_text(&s->worth, room);
}

#define ck_assert_worth(s, text) ck_assert_str_eq(worth_words(&(s)), text)
