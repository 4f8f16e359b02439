/* Parses the body of an answer with several ranges (multipart/byteranges). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/multipart.h"
#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define PARTS_MOST 4096

static bool number(const char **p, uint64_t *out)
{
	const char *from = *p;
	uint64_t n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		if (n > (UINT64_MAX >> 1) / 10 - 1)
			return false;
		n = n * 10 + (uint64_t)(**p - '0');
	}
	*out = n;
	return *p > from;
}

static bool skip(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* "bytes 0-99/1234" */
static int content_range(struct multipart *m, const char *p)
{
	uint64_t first, last, total;

	while (skip(&p, ' ') || skip(&p, '\t'))
		;
	if (strncasecmp(p, "bytes ", 6) != 0)
		return -EPROTO;
	p += 6;
	if (!number(&p, &first) || !skip(&p, '-') || !number(&p, &last) || !skip(&p, '/') || !number(&p, &total) ||
		last < first || last >= total || total != m->total)
		return -EPROTO;
	m->off = first;
	m->left = last - first + 1;
	m->ranged = true;
	return 0;
}

/* Parses one line, without its line end. */
static int take_line(struct multipart *m, const char *line)
{
	static const char name[] = "Content-Range:";
	size_t n = strlen(line);

	if (m->state == MULTIPART_HEADERS) {
		if (n)
			return strncasecmp(line, name, sizeof(name) - 1) == 0
				? content_range(m, line + sizeof(name) - 1) : 0;
		m->state = MULTIPART_DATA;
		return m->ranged && ++m->parts <= PARTS_MOST ? 0 : -EPROTO;
	}
	if (!n)
		return 0;
	if (n < 3 || line[0] != '-' || line[1] != '-')
		return -EPROTO;
	m->ranged = false;
	m->state = line[n - 1] == '-' && line[n - 2] == '-' && m->parts ? MULTIPART_OVER : MULTIPART_HEADERS;
	return 0;
}

/* Consumes bytes up to the end of the line, or all n. Returns the number of consumed bytes, or -EPROTO. */
static ssize_t feed_line(struct multipart *m, const char *p, size_t n)
{
	const char *end = memchr(p, '\n', n);
	size_t some = end ? (size_t)(end - p) : n;
	int r;

	if (some >= sizeof(m->line) - m->n || memchr(p, '\0', some))
		return -EPROTO;
	memcpy(m->line + m->n, p, some);
	m->n += some;
	if (!end)
		return (ssize_t)some;
	if (m->n && m->line[m->n - 1] == '\r')
		m->n--;
	m->line[m->n] = '\0';
	m->n = 0;
	r = take_line(m, m->line);
	return r < 0 ? r : (ssize_t)some + 1;
}

static ssize_t feed_data(struct multipart *m, const char *p, size_t n, multipart_bytes *each, void *ctx)
{
	size_t some = (size_t)MIN((uint64_t)n, m->left);
	int r = each(ctx, m->off, p, some);

	if (r != 0)
		return r < 0 ? r : -EIO;
	m->off += some;
	m->left -= some;
	if (!m->left)
		m->state = MULTIPART_BETWEEN;
	return (ssize_t)some;
}

int multipart_feed(struct multipart *m, const void *p, size_t n, multipart_bytes *each, void *ctx)
{
	struct multipart before = *m;
	const char *at = p, *end = at + n;

	/* Ignores bytes after the last boundary. */
	while (at < end && m->state != MULTIPART_OVER) {
		ssize_t took = m->state == MULTIPART_DATA ? feed_data(m, at, (size_t)(end - at), each, ctx)
							  : feed_line(m, at, (size_t)(end - at));

		if (took < 0) {
			*m = before;
			return (int)took;
		}
		at += took;
	}
	return 0;
}

/* The last line may lack its line end, so a complete final boundary in `line` counts, too. */
bool multipart_is_over(const struct multipart *m)
{
	return m->state == MULTIPART_OVER ||
		(m->state == MULTIPART_BETWEEN && m->parts && m->n >= 5 && m->line[0] == '-' && m->line[1] == '-' &&
			m->line[m->n - 1] == '-' && m->line[m->n - 2] == '-');
}
