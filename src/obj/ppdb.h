/* Portable PDBs also stand inside of programs, where the program's reader asks what they have. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

/* 0; -EBADMSG when it is none or broken, and the other answers of a probe. */
int ppdb_features(struct view *v, unsigned *features);
