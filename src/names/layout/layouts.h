/* The table of layouts, in the order in which they are tried for a path outside of their folders. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/layout.h"

extern const struct layout layouts[]; /* ends with a NULL name */
