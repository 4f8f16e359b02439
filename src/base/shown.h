/* Text of files and servers, made safe to show. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Replaces bytes that are not UTF-8 by \xNN. With `terminal`, also replaces control characters: a file name
 * must not move the cursor. JSON escapes control characters by itself. The text is valid until `room` changes. */
const char *text_shown(const char *text, bool terminal, struct buf *room);
