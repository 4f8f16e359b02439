/* Binary search. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>

/* Returns the first number in [from, to) for which `before` is false, or `to` if `before` is true for all of them.
 * `before` is an expression with the number `i`; it must be true for all numbers up to some point, and false from
 * there on. */
#define search_first(i, from, to, before)                                                                      \
	__extension__({                                                                                        \
		size_t low_ = (from), high_ = (to);                                                            \
		while (low_ < high_) {                                                                         \
			size_t i = low_ + (high_ - low_) / 2;                                                  \
			if (before)                                                                            \
				low_ = i + 1;                                                                  \
			else                                                                                   \
				high_ = i;                                                                     \
		}                                                                                              \
		low_;                                                                                          \
	})
