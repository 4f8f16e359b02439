/* Writes HTML into a buffer, which keeps the first error: text is escaped. buf_adds() and buf_addf() write markup of
 * this program: constants and numbers, never text from elsewhere. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdint.h>

#define HTML_MOST (16 << 20)

/* Text from anywhere: escaped; bytes that are not UTF-8 and control characters become U+FFFD. */
void html_text(struct buf *h, const char *text);
/* An element with text in it. `tag` is markup, such as "td" or "p class=\"note\"". */
void html_element(struct buf *h, const char *tag, const char *text);
/* "28.1 MB", in powers of 1000. */
void html_size(struct buf *h, uint64_t bytes);
/* A time (seconds since 1970) as "2026-05-04 10:20 UTC". 0: nothing. */
void html_time(struct buf *h, int64_t wall);
/* A link to the page that searches for the text. */
void html_search(struct buf *h, const char *text);
/* A block of lines that the reader copies, with a title over it. */
void html_lines(struct buf *h, const char *title, const char *lines);
