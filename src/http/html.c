/* Writes HTML, and escapes all text that comes from elsewhere. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/html.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/util.h"
#include "source/url.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void html_raw(struct html *h, const char *markup)
{
	buf_adds(&h->out, markup);
}

void html_addf(struct html *h, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(text))
		buf_add(&h->out, text, (size_t)n);
	else if (h->out.r == 0)
		h->out.r = -EFBIG;
}

void html_text(struct html *h, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		unsigned n = utf8_length(p);

		if (*p == '&')
			html_raw(h, "&amp;");
		else if (*p == '<')
			html_raw(h, "&lt;");
		else if (*p == '>')
			html_raw(h, "&gt;");
		else if (*p == '"')
			html_raw(h, "&quot;");
		else if (*p == '\'')
			html_raw(h, "&#39;");
		else if (n == 0 || (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f)
			html_raw(h, REPLACEMENT);
		else
			buf_add(&h->out, p, n);
		p += MAX(n, 1u);
	}
}

void html_element(struct html *h, const char *tag, const char *text)
{
	html_raw(h, "<");
	html_raw(h, tag);
	html_raw(h, ">");
	html_text(h, text);
	html_raw(h, "</");
	buf_add(&h->out, tag, strcspn(tag, " "));
	html_raw(h, ">");
}

void html_path(struct html *h, const char *path)
{
	url_add_strict(&h->out, path);
}

void html_query(struct html *h, const char *text)
{
	url_add_value(&h->out, text);
}

void html_size(struct html *h, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	double n = (double)bytes / 1000;
	unsigned i = 0;

	if (bytes < 1000) {
		html_addf(h, "%" PRIu64 " bytes", bytes);
		return;
	}
	for (; n >= 999.95 && i + 1 < ARRAY_SIZE(units); i++)
		n /= 1000;
	html_addf(h, "%.1f %s", n, units[i]);
}

void html_time(struct html *h, int64_t wall)
{
	char text[24];

	if (wall <= 0)
		return;
	clock_print(wall, text);
	html_addf(h, "<time datetime=\"%s\">%.10s %.5s UTC</time>", text, text, text + 11);
}

void html_lines(struct html *h, const char *title, const char *lines)
{
	html_raw(h, "<figure class=\"lines\">");
	html_element(h, "figcaption", title);
	html_element(h, "pre", lines);
	html_raw(h, "</figure>\n");
}
