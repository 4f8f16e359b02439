/* The table of layouts, in the order in which they may claim an unlisted path at the root. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "layout/layout.h"

extern const struct layout layouts[]; /* ends with a NULL name */
