/* Reads the names of methods from the metadata of a .NET program. Only three tables matter: types, methods, and which
 * type is nested in which. The columns of all tables before them decide where these begin. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/method-names.h"
#include "base/little.h"
#include "base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MOST 64
#define TABLES_LEAST 24
#define ROWS_MOST 0xffffffu
#define NESTED_MOST 32	  /* types around a type; more are a circle, or hostile */
#define PART_MOST 1024	  /* bytes of the name of a type or method; the runtime allows 1023 */
#define NAMES_RATIO 32	  /* bytes of all names for each byte of metadata; real programs need less than one */
#define COLUMNS 9

enum { TYPE_DEF = 0x02, METHOD_DEF = 0x06, NESTED_CLASS = 0x29, TABLES = 0x2a };

/* The kinds of columns: numbers of 2 and 4 bytes, indexes into heaps, into one of several tables, and, from TABLE
 * on, into one table. */
enum column {
	END, TWO, FOUR, STRING, GUID, BLOB,
	TYPE_OR_REF, CONSTANT_OF, ATTRIBUTE_OF, MARSHAL_OF, SECURITY_OF, MEMBER_OF, SEMANTICS_OF, METHOD_OR_REF,
	FORWARDED, IMPLEMENTATION, ATTRIBUTE_TYPE, SCOPE, CODED_END,
	TABLE = 0x80
};
#define INTO(table) (TABLE | (table))

/* The columns of each table, in order of their numbers. */
static const uint8_t columns[TABLES][COLUMNS] = {
	[0x00] = {TWO, STRING, GUID, GUID, GUID},
	[0x01] = {SCOPE, STRING, STRING},
	[0x02] = {FOUR, STRING, STRING, TYPE_OR_REF, INTO(0x04), INTO(0x06)},
	[0x03] = {INTO(0x04)},
	[0x04] = {TWO, STRING, BLOB},
	[0x05] = {INTO(0x06)},
	[0x06] = {FOUR, TWO, TWO, STRING, BLOB, INTO(0x08)},
	[0x07] = {INTO(0x08)},
	[0x08] = {TWO, TWO, STRING},
	[0x09] = {INTO(0x02), TYPE_OR_REF},
	[0x0a] = {MEMBER_OF, STRING, BLOB},
	[0x0b] = {TWO, CONSTANT_OF, BLOB},
	[0x0c] = {ATTRIBUTE_OF, ATTRIBUTE_TYPE, BLOB},
	[0x0d] = {MARSHAL_OF, BLOB},
	[0x0e] = {TWO, SECURITY_OF, BLOB},
	[0x0f] = {TWO, FOUR, INTO(0x02)},
	[0x10] = {FOUR, INTO(0x04)},
	[0x11] = {BLOB},
	[0x12] = {INTO(0x02), INTO(0x14)},
	[0x13] = {INTO(0x14)},
	[0x14] = {TWO, STRING, TYPE_OR_REF},
	[0x15] = {INTO(0x02), INTO(0x17)},
	[0x16] = {INTO(0x17)},
	[0x17] = {TWO, STRING, BLOB},
	[0x18] = {TWO, INTO(0x06), SEMANTICS_OF},
	[0x19] = {INTO(0x02), METHOD_OR_REF, METHOD_OR_REF},
	[0x1a] = {STRING},
	[0x1b] = {BLOB},
	[0x1c] = {TWO, FORWARDED, STRING, INTO(0x1a)},
	[0x1d] = {FOUR, INTO(0x04)},
	[0x1e] = {FOUR, FOUR},
	[0x1f] = {FOUR},
	/* of the first four, two stand for four of 2 bytes */
	[0x20] = {FOUR, FOUR, FOUR, FOUR, BLOB, STRING, STRING},
	[0x21] = {FOUR},
	[0x22] = {FOUR, FOUR, FOUR},
	[0x23] = {FOUR, FOUR, FOUR, BLOB, STRING, STRING, BLOB}, /* the first two stand for four of 2 bytes */
	[0x24] = {FOUR, INTO(0x23)},
	[0x25] = {FOUR, FOUR, FOUR, INTO(0x23)},
	[0x26] = {FOUR, STRING, BLOB},
	[0x27] = {FOUR, FOUR, STRING, STRING, IMPLEMENTATION},
	[0x28] = {FOUR, FOUR, STRING, IMPLEMENTATION},
	[0x29] = {INTO(0x02), INTO(0x02)},
};

/* The tables that an index of several may lead to, and the bits that say which; ends with a 0 behind the first. */
static const struct coded {
	uint8_t bits, n, tables[22];
} coded[CODED_END] = {
	[TYPE_OR_REF] = {2, 3, {0x02, 0x01, 0x1b}},
	[CONSTANT_OF] = {2, 3, {0x04, 0x08, 0x17}},
	[ATTRIBUTE_OF] = {5, 22, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b,
		0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}},
	[MARSHAL_OF] = {1, 2, {0x04, 0x08}},
	[SECURITY_OF] = {2, 3, {0x02, 0x06, 0x20}},
	[MEMBER_OF] = {3, 5, {0x02, 0x01, 0x1a, 0x06, 0x1b}},
	[SEMANTICS_OF] = {1, 2, {0x14, 0x17}},
	[METHOD_OR_REF] = {1, 2, {0x06, 0x0a}},
	[FORWARDED] = {1, 2, {0x04, 0x06}},
	[IMPLEMENTATION] = {2, 3, {0x26, 0x23, 0x27}},
	[ATTRIBUTE_TYPE] = {3, 2, {0x06, 0x0a}},
	[SCOPE] = {2, 4, {0x00, 0x1a, 0x23, 0x01}},
};

struct table {
	const uint8_t *rows;
	uint32_t n;
	unsigned row; /* bytes */
};

struct method_names {
	struct span tables, strings;
	unsigned string, guid, blob; /* bytes of an index into a heap */
	uint32_t rows[64];
	struct table types, methods;
	uint32_t *around; /* by the row of a nested type: the row of the type around it; 0: the type is not nested */
	uint32_t type;	  /* the type of the last method that was asked for */
	uint64_t budget;
};

/* ---- tables ----------------------------------------------------------------------------- */

static unsigned coded_size(const struct method_names *n, const struct coded *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (n->rows[c->tables[i]] >= 1u << (16 - c->bits))
			return 4;
	return 2;
}

static unsigned column_size(const struct method_names *n, unsigned column)
{
	switch (column) {
	case END: return 0;
	case TWO: return 2;
	case FOUR: return 4;
	case STRING: return n->string;
	case GUID: return n->guid;
	case BLOB: return n->blob;
	default: break;
	}
	if (column & TABLE)
		return n->rows[column & ~TABLE] < 1u << 16 ? 2 : 4;
	return coded_size(n, &coded[column]);
}

/* Bytes of the first `before` columns of a table; COLUMNS: of the whole row. */
static unsigned columns_size(const struct method_names *n, unsigned table, unsigned before)
{
	unsigned size = 0;

	for (unsigned i = 0; i < before; i++)
		size += column_size(n, columns[table][i]);
	return size;
}

/* The value of a column of a row, from 1. The row exists. */
static uint32_t value_of(const struct method_names *n, const struct table *t, unsigned table, uint32_t row,
	unsigned column)
{
	const uint8_t *p = t->rows + (size_t)(row - 1) * t->row + columns_size(n, table, column);

	return column_size(n, columns[table][column]) == 4 ? le32(p) : le16(p);
}

/* Finds the streams with the tables and with the strings. Returns NULL, or what is wrong. */
static const char *find_streams(struct method_names *n, struct span file)
{
	const uint8_t *h = span_at(file, 0, 16), *count;
	size_t at = h ? 16 + (((size_t)le32(h + 12) + 3) & ~(size_t)3) : 0;

	count = h && memcmp(h, "BSJB", 4) == 0 ? span_at(file, at, 4) : NULL;
	if (!count || le16(count + 2) > STREAMS_MOST)
		return "the header of its metadata is cut short";
	at += 4;
	for (unsigned i = le16(count + 2); i; i--) {
		const uint8_t *s = span_at(file, at, 8);
		size_t left = s ? MIN(file.n - at - 8, (size_t)32) : 0,
		       len = s ? strnlen((const char *)s + 8, left) : 0;
		struct span bytes;

		if (!s || len == left)
			return "the list of its metadata's streams is cut short";
		bytes = (struct span){span_at(file, le32(s), le32(s + 4)), le32(s + 4)};
		if (!bytes.p)
			return "a stream of its metadata ends behind the metadata's end";
		if (strcmp((const char *)s + 8, "#~") == 0)
			n->tables = bytes;
		else if (strcmp((const char *)s + 8, "#Strings") == 0)
			n->strings = bytes;
		at += 8 + ((len + 4) & ~(size_t)3);
	}
	return NULL;
}

/* Finds the three tables. Returns NULL, or what is wrong. */
static const char *find_tables(struct method_names *n, struct table *nested)
{
	const uint8_t *h = span_at(n->tables, 0, TABLES_LEAST);
	uint64_t valid = h ? le64(h + 8) : 0, at = TABLES_LEAST;

	if (!h)
		return "its metadata has no tables";
	n->string = h[6] & 1 ? 4 : 2;
	n->guid = h[6] & 2 ? 4 : 2;
	n->blob = h[6] & 4 ? 4 : 2;
	for (unsigned i = 0; i < 64; i++) {
		const uint8_t *p = valid >> i & 1 ? span_at(n->tables, at, 4) : NULL;

		if (!(valid >> i & 1))
			continue;
		if (!p || le32(p) > ROWS_MOST)
			return "the table sizes of its metadata are cut short";
		n->rows[i] = le32(p);
		at += 4;
	}
	at += h[6] & 0x40 ? 4 : 0; /* a number that nothing uses */
	for (unsigned i = 0; i < TABLES; i++) {
		struct table t = {.n = n->rows[i], .row = columns_size(n, i, COLUMNS)};
		uint64_t size = (uint64_t)t.n * t.row;

		t.rows = t.n ? span_at(n->tables, at, size) : NULL;
		if (t.n && !t.rows)
			return "the tables of its metadata do not fit their stream";
		at += size;
		if (i == TYPE_DEF)
			n->types = t;
		else if (i == METHOD_DEF)
			n->methods = t;
		else if (i == NESTED_CLASS)
			*nested = t;
	}
	return NULL;
}

static int read_nested(struct method_names *n, const struct table *nested)
{
	n->around = calloc((size_t)n->types.n + 1, sizeof(*n->around));
	if (!n->around)
		return -ENOMEM;
	for (uint32_t i = 1; i <= nested->n; i++) {
		uint32_t inner = value_of(n, nested, NESTED_CLASS, i, 0),
			outer = value_of(n, nested, NESTED_CLASS, i, 1);

		if (inner && inner <= n->types.n && outer && outer <= n->types.n)
			n->around[inner] = outer;
	}
	return 0;
}

int method_names_open(struct method_names **out, struct span metadata, struct err *e)
{
	struct method_names *n = calloc(1, sizeof(*n));
	struct table nested = {0};
	const char *bad;
	int r = 0;

	*out = n;
	if (!n)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	bad = find_streams(n, metadata);
	if (!bad)
		bad = find_tables(n, &nested);
	if (bad)
		r = err_set(e, -EBADMSG, "is broken: %s", bad);
	else if (!n->methods.n)
		r = err_set(e, -ENODATA, "has no methods");
	else if (read_nested(n, &nested) < 0)
		r = err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	n->budget = (uint64_t)metadata.n * NAMES_RATIO;
	n->type = 1;
	if (r < 0) {
		method_names_free(n);
		*out = NULL;
	}
	return r;
}

void method_names_free(struct method_names *n)
{
	if (n)
		free(n->around);
	free(n);
}

uint32_t method_names_count(const struct method_names *n)
{
	return n->methods.n;
}

/* ---- names ------------------------------------------------------------------------------ */

/* Appends a string of the heap, and `end`, unless the string is empty. */
static int add_part(const struct method_names *n, uint32_t at, const char *end, struct buf *out)
{
	size_t left = at < n->strings.n ? MIN(n->strings.n - at, (size_t)PART_MOST) : 0,
	       len = left ? strnlen((const char *)n->strings.p + at, left) : 0;
	int r = len ? buf_add(out, n->strings.p + at, len) : 0;

	return r == 0 && len ? buf_adds(out, end) : r;
}

/* Appends the type with its namespace and the types around it. The namespace is that of the outermost type. */
static int add_type(const struct method_names *n, uint32_t row, struct buf *out)
{
	uint32_t types[NESTED_MOST];
	unsigned deep = 0;
	int r = 0;

	for (; row && deep < NESTED_MOST; row = n->around[row])
		types[deep++] = row;
	if (deep)
		r = add_part(n, value_of(n, &n->types, TYPE_DEF, types[deep - 1], 2), ".", out);
	while (r == 0 && deep--)
		r = add_part(n, value_of(n, &n->types, TYPE_DEF, types[deep], 1), ".", out);
	return r;
}

int method_names_next(struct method_names *n, uint32_t row, struct buf *out)
{
	uint32_t name;
	int r = 0;

	buf_clear(out);
	if (!row || row > n->methods.n)
		return 0;
	/* A type has the methods up to those of the next type. */
	while (n->type < n->types.n && value_of(n, &n->types, TYPE_DEF, n->type + 1, 5) <= row)
		n->type++;
	name = value_of(n, &n->methods, METHOD_DEF, row, 3);
	if (name >= n->strings.n || !n->strings.p[name])
		return 0;
	if (n->types.n && value_of(n, &n->types, TYPE_DEF, n->type, 5) <= row)
		r = add_type(n, n->type, out);
	if (r == 0)
		r = add_part(n, name, "", out);
	if (r == 0 && out->n > n->budget)
		return -EFBIG;
	n->budget -= MIN(out->n, n->budget);
	return r;
}
