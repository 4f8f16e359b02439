/* Writes HTML, and escapes all text that comes from elsewhere. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/page/html.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/util.h"
#include "source/url.h"

#include <inttypes.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void html_text(struct buf *h, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		unsigned n = utf8_length(p);

		if (*p == '&')
			buf_adds(h, "&amp;");
		else if (*p == '<')
			buf_adds(h, "&lt;");
		else if (*p == '>')
			buf_adds(h, "&gt;");
		else if (*p == '"')
			buf_adds(h, "&quot;");
		else if (*p == '\'')
			buf_adds(h, "&#39;");
		else if (n == 0 || (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f)
			buf_adds(h, REPLACEMENT);
		else
			buf_add(h, p, n);
		p += MAX(n, 1u);
	}
}

void html_element(struct buf *h, const char *tag, const char *text)
{
	buf_addf(h, "<%s>", tag);
	html_text(h, text);
	buf_addf(h, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_search(struct buf *h, const char *text)
{
	buf_adds(h, "<a href=\"/?path=");
	url_add_value(h, text);
	buf_adds(h, "\"><code>");
	html_text(h, text);
	buf_adds(h, "</code></a>");
}

void html_size(struct buf *h, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	double n = (double)bytes / 1000;
	unsigned i = 0;

	if (bytes < 1000) {
		buf_addf(h, "%" PRIu64 " bytes", bytes);
		return;
	}
	for (; n >= 999.95 && i + 1 < ARRAY_SIZE(units); i++)
		n /= 1000;
	buf_addf(h, "%.1f %s", n, units[i]);
}

void html_time(struct buf *h, int64_t wall)
{
	char text[24];

	if (wall <= 0)
		return;
	clock_print(wall, text);
	buf_addf(h, "<time datetime=\"%s\">%.10s %.5s UTC</time>", text, text, text + 11);
}

void html_lines(struct buf *h, const char *title, const char *lines)
{
	buf_adds(h, "<figure class=\"lines\">");
	html_element(h, "figcaption", title);
	html_element(h, "pre", lines);
	buf_adds(h, "</figure>\n");
}
