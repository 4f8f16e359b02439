/* Expiry, for src/store/ only; the functions for other folders are in store.h. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/session.h"

/* Removes a batch of files whose hold is over, and leaves tombstones. The caller holds the write lock, and has no
 * transaction open. Only logs an error: the next call tries again. */
void expire_some(struct session *ses);
