/* Opens the index of a store, and makes it anew from the labels of the blobs when there is none,
 * or when what is there is damaged. In a turn. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* `damaged`: what is there proved to be so, and is set aside unseen. */
int rebuild_open(struct store *s, bool damaged, struct index **out, struct err *e);
