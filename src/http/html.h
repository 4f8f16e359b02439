/* Writes HTML: text is escaped, and the first error stays. For the pages of http/; a struct html is for one
 * thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdint.h>

/* Begin with {.out = BUF_UP_TO(HTML_MOST)}; the owner releases `out`. */
struct html {
	struct buf out; /* keeps the first error: -ENOMEM, -EFBIG */
};
#define HTML_MOST (16 << 20)

/* Markup of this program: constants and numbers, never text from elsewhere. */
void html_raw(struct html *h, const char *markup);
void html_addf(struct html *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Text from anywhere: escaped; bytes that are not UTF-8 and control characters become U+FFFD. */
void html_text(struct html *h, const char *text);
/* An element with text in it. `tag` is markup, such as "td" or "p class=\"note\"". */
void html_element(struct html *h, const char *tag, const char *text);
/* A path as a part of a URL in an attribute: percent-encoded, but for slashes. */
void html_path(struct html *h, const char *path);
/* As html_path(), for the value of a field in a query: slashes are encoded, too. */
void html_query(struct html *h, const char *text);

/* "28.1 MB", in powers of 1000. */
void html_size(struct html *h, uint64_t bytes);
/* A time (seconds since 1970) as "2026-05-04 10:20 UTC". 0: nothing. */
void html_time(struct html *h, int64_t wall);
/* A block of lines that the reader copies, with a title over it. */
void html_lines(struct html *h, const char *title, const char *lines);
