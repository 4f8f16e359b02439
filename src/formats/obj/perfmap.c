/* Perf maps of .NET's ahead-of-time compiler (`.ni.r2rmap`): each line has an address, a length and a name.
 * Lines with the highest addresses are the header: a signature of sixteen bytes, which the image has, too,
 * and a version. Servers use both in a path; here the version is the age of the debug id. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEAD_MOST 1024
#define MAGIC "FFFFFFFF 00 "

enum { LINE_SIGNATURE, LINE_VERSION, LINE_SYSTEM, LINE_ARCH, LINE_ABI, LINES };

struct head {
	char text[HEAD_MOST + 1];
	const char *values[LINES]; /* into the text; NULL: the file does not have the line */
	bool symbols;		   /* a line follows that does not belong to the header */
};

static bool has_token(const char *line, unsigned token)
{
	char want[16];

	snprintf(want, sizeof(want), "%08X 00 ", 0xffffffffu - token);
	return strncasecmp(line, want, 12) == 0;
}

/* Cuts the text into lines, up to the first line that does not belong to the header. */
static void split(struct head *h, size_t n)
{
	char *rest = h->text, *line;

	h->text[n] = '\0';
	for (unsigned i = 0; i <= LINES && (line = strsep(&rest, "\n")); i++) {
		line[strcspn(line, "\r")] = '\0';
		if (i == LINES || !has_token(line, i)) {
			h->symbols = line[0];
			return;
		}
		h->values[i] = line + 12;
	}
}

static unsigned count_lines(const char *p, size_t n)
{
	unsigned lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

/* Reads the lines of the header and one more, or fewer if the file ends earlier. */
static int load_head(struct view *v, struct head *h, struct err *e)
{
	size_t n = (size_t)MIN(v->have, HEAD_MOST);
	int r;

	memset(h, 0, sizeof(*h));
	r = obj_read(v, "its head", 0, h->text, n, e);
	if (r < 0)
		return r;
	if (n < HEAD_MOST && n != v->size && count_lines(h->text, n) <= LINES)
		return view_want(v, 0, n + 1);
	split(h, n);
	return 0;
}

static int decimal(const char *text, uint32_t *out)
{
	uint32_t value = 0;
	size_t n = strlen(text);

	if (!n || n > 9 || strspn(text, "0123456789") != n)
		return -EINVAL;
	while (*text)
		value = value * 10 + (uint32_t)(*text++ - '0');
	*out = value;
	return 0;
}

static int perfmap_head(struct view *v, struct head *h, struct module *m, struct err *e)
{
	const char *id;
	int r = load_head(v, h, e);

	if (r < 0)
		return r;
	memset(m, 0, sizeof(*m));
	m->object = OBJECT_PE_DOTNET;
	id = h->values[LINE_SIGNATURE];
	if (!id || (strlen(id) != 32 && strlen(id) != 36) ||
		debug_id_parse(&m->debug_id, id, strlen(id)) < 0)
		return err_set(e, -EBADMSG, "is broken: its signature is not a GUID");
	if (!h->values[LINE_VERSION] || decimal(h->values[LINE_VERSION], &m->debug_id.age) < 0)
		return err_set(e, -EBADMSG, "is broken: its version is not a number");
	return 0;
}

static const char *arch_of(const struct head *h)
{
	static const char *const names[] = {"unknown", "arm", "arm64", "x86_64", "x86", "unknown",
		"unknown", "wasm32"};
	uint32_t i;

	if (!h->values[LINE_ARCH] || decimal(h->values[LINE_ARCH], &i) < 0 ||
		i >= ARRAY_SIZE(names))
		return "unknown";
	return names[i];
}

static int perfmap_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "perfmap", .kind = OBJ_DEBUG, .size = v->size,
		.types = {FILETYPE_PERFMAP}, .n_types = 1};
	struct head h;
	int r = perfmap_head(v, &h, &s.module, e);

	if (r < 0)
		return r;
	s.arch = arch_of(&h);
	s.worth = (struct worth){.known = true, .symbols = h.symbols ? WORTH_SYMBOLS : WORTH_NO_SYMBOLS};
	*out = s;
	return 0;
}

static int perfmap_early(struct view *v, struct module *out)
{
	struct head h;

	return perfmap_head(v, &h, out, NULL);
}

const struct obj_format obj_perfmap = {
	.name = "perfmap",
	.magic = MAGIC,
	.magic_len = sizeof(MAGIC) - 1,
	.serves = {FILETYPE_PERFMAP},
	.probe = perfmap_probe,
	.early = perfmap_early,
};
