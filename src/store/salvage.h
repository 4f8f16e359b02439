/* What an index that was set aside still tells and no label does: when a blob was used, what is kept,
 * what is known missing. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* In a turn, and in the transaction that fills the new index; what cannot be read is left out. */
void salvage(struct store *s, struct index *ix, const char *name);
