/* Prints types of a PDB as Breakpad and Mozilla's symbolication service expect them in names. Classes have
 * no keyword, a pointee's `const` follows its type, and the function itself has no return type. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/names-private.h"

#define DEPTH_MOST 64
#define SEARCHES_MOST 8 /* the most definitions of classes to search for one name */
#define SIMPLE_END 0x1000u /* lower numbers are those of built-in types */

enum {
	LF_MODIFIER = 0x1001, LF_POINTER = 0x1002, LF_PROCEDURE = 0x1008, LF_MFUNCTION = 0x1009, LF_ARGLIST = 0x1201,
	LF_ARRAY = 0x1503, LF_ENUM = 0x1507, LF_ALIAS = 0x150a
};
enum { MODIFIER_CONST = 1, POINTER_CONST = 0x400 };
enum { MODE_POINTER, MODE_LREF, MODE_DATA_MEMBER, MODE_FUNC_MEMBER, MODE_RREF };

/* ---- simple types ------------------------------------------------------------------------- */

/* The built-in types, and their bytes. */
static const struct simple {
	const char *name;
	unsigned size;
} simples[] = {
	[0x00] = {"<NoType>", 0}, [0x03] = {"void", 0}, [0x08] = {"HRESULT", 4}, [0x10] = {"signed char", 1},
	[0x20] = {"unsigned char", 1}, [0x30] = {"bool", 1}, [0x11] = {"short", 2}, [0x72] = {"short", 2},
	[0x21] = {"unsigned short", 2}, [0x73] = {"unsigned short", 2}, [0x12] = {"long", 4},
	[0x22] = {"unsigned long", 4}, [0x13] = {"long long", 8}, [0x76] = {"long long", 8},
	[0x23] = {"unsigned long long", 8}, [0x77] = {"unsigned long long", 8}, [0x14] = {"int128_t", 16},
	[0x78] = {"int128_t", 16}, [0x24] = {"uint128_t", 16}, [0x79] = {"uint128_t", 16}, [0x40] = {"float", 4},
	[0x41] = {"double", 8}, [0x42] = {"long double", 10}, [0x46] = {"float16_t", 2}, [0x68] = {"int8_t", 1},
	[0x69] = {"uint8_t", 1}, [0x70] = {"char", 1}, [0x71] = {"wchar_t", 2}, [0x74] = {"int", 4},
	[0x75] = {"unsigned int", 4}, [0x7a] = {"char16_t", 2}, [0x7b] = {"char32_t", 4}, [0x7c] = {"char8_t", 1},
};

static struct simple simple(uint32_t kind)
{
	return kind < ARRAY_SIZE(simples) && simples[kind].name ? simples[kind] : (struct simple){"<unknown>", 0};
}

static unsigned simple_pointer_size(uint32_t type)
{
	static const unsigned sizes[] = {0, 2, 4, 4, 4, 6, 8, 16};

	return sizes[type >> 8 & 7];
}

/* ---- sizes, for the bounds of arrays ------------------------------------------------------ */

static size_t size_offset(uint16_t leaf)
{
	return leaf == LF_ARRAY || leaf == LF_UNION ? 8 : 16;
}

static uint64_t size_of(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth);

static uint64_t size_of_class(struct pdb_namer *n, const struct pdb_code *c, const struct pdb_record *rec,
	unsigned depth)
{
	struct pdb_udt udt;
	uint32_t number;
	int r;

	if (!pdb_udt(rec, &udt))
		return 0;
	if (!udt.declared)
		return udt.size;
	if (n->searches++ >= SEARCHES_MOST)
		return 0;
	r = n->p->name_bytes ? pdb_definition_indexed(n->p, n->io, &n->definitions, rec, &number)
			     : pdb_definition(n->p, n->io, rec, &number);
	return r == 0 ? size_of(n, c, number, depth + 1) : 0;
}

/* The size of a type in bytes; 0: unknown. */
static uint64_t size_of(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth)
{
	struct pdb_record rec;
	uint64_t size = 0;
	size_t end;

	if (type < SIMPLE_END)
		return type >> 8 & 7 ? simple_pointer_size(type) : simple(type & 0xff).size;
	if (depth > DEPTH_MOST || pdb_record_of(n, c, &n->p->types, type, &rec) < 0)
		return 0;
	switch (rec.leaf) {
	case LF_POINTER:
		size = rec.body.n >= 8 ? le32(rec.body.p + 4) >> 13 & 0x3f : 0;
		break;
	case LF_MODIFIER:
		size = rec.body.n >= 4 ? size_of(n, c, le32(rec.body.p), depth + 1) : 0;
		break;
	case LF_ENUM:
		size = rec.body.n >= 8 ? size_of(n, c, le32(rec.body.p + 4), depth + 1) : 0;
		break;
	case LF_ARRAY:
		if (!pdb_number(rec.body, 8, &size, &end))
			size = 0;
		break;
	default:
		size = size_of_class(n, c, &rec, depth);
		break;
	}
	pdb_record_release(&rec);
	return size;
}

/* ---- types -------------------------------------------------------------------------------- */

static int add_arguments(struct pdb_namer *n, const struct pdb_code *c, uint32_t list, uint32_t first, unsigned depth,
	struct buf *out)
{
	struct pdb_record rec;
	uint32_t count;
	int r = pdb_record_of(n, c, &n->p->types, list, &rec);

	if (r == 0 && (rec.leaf != LF_ARGLIST || rec.body.n < 4))
		r = -ENOENT;
	count = r == 0 ? MIN(le32(rec.body.p), (uint32_t)((rec.body.n - 4) / 4)) : 0;
	buf_adds(out, "(");
	if (r == 0 && first)
		r = pdb_add_type(n, c, first, depth, out);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		buf_adds(out, i || first ? ", " : "");
		r = pdb_add_type(n, c, le32(rec.body.p + 4 + 4 * (size_t)i), depth, out);
	}
	pdb_record_release(&rec);
	return r < 0 ? r : buf_adds(out, ")");
}

/* Adds the mark of a pointer or reference ("*", "&"), after a type or inside a function's parentheses. */
static int add_mark(uint32_t attributes, bool space, struct buf *out)
{
	static const char *const marks[] = {"*", "&", "::*", "::*", "&&"};
	unsigned mode = attributes >> 5 & 7;

	buf_adds(out, space ? " " : "");
	buf_adds(out, mode < ARRAY_SIZE(marks) ? marks[mode] : "*");
	return buf_adds(out, attributes & POINTER_CONST ? " const" : "");
}

/* A chain of pointers, from the outermost to the innermost, and the type that the innermost points to. */
#define CHAIN_MOST 16

struct chain {
	unsigned n;
	uint32_t attributes[CHAIN_MOST];
	bool pointee_const[CHAIN_MOST]; /* the type that this pointer points to is const */
	uint32_t type;
	struct pdb_record rec; /* the record of `type`, unless the type is built in */
};

static int read_record(struct pdb_namer *n, const struct pdb_code *c, struct chain *ch)
{
	pdb_record_release(&ch->rec);
	return ch->type < SIMPLE_END ? 0 : pdb_record_of(n, c, &n->p->types, ch->type, &ch->rec);
}

static int follow_pointers(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, struct chain *ch)
{
	int r;

	*ch = (struct chain){.type = type};
	r = read_record(n, c, ch);
	while (r == 0 && ch->type >= SIMPLE_END && ch->rec.leaf == LF_POINTER && ch->rec.body.n >= 8 &&
		ch->n < CHAIN_MOST) {
		unsigned i = ch->n++;

		ch->attributes[i] = le32(ch->rec.body.p + 4);
		ch->type = le32(ch->rec.body.p);
		r = pdb_resolve_id(n, c, &ch->type);
		if (r == 0)
			r = read_record(n, c, ch);
		if (r < 0 || ch->type < SIMPLE_END || ch->rec.leaf != LF_MODIFIER || ch->rec.body.n < 6)
			continue;
		ch->pointee_const[i] = le16(ch->rec.body.p + 4) & MODIFIER_CONST;
		ch->type = le32(ch->rec.body.p);
		r = read_record(n, c, ch);
	}
	if (r == 0 && ch->type < SIMPLE_END && ch->type >> 8 & 7 && ch->n < CHAIN_MOST) {
		ch->n++; /* a pointer to a simple type has no record */
		ch->type &= 0xff;
	}
	return r;
}

/* Adds the marks of a chain: "*", "**", "* const &", with a space only before the first mark and after a
 * word. */
static int add_marks(const struct chain *ch, bool space, struct buf *out)
{
	for (unsigned i = ch->n; i-- > 0;) {
		if (ch->pointee_const[i] && !(i + 1 < ch->n && ch->attributes[i + 1] & POINTER_CONST)) {
			buf_adds(out, space ? " const" : "const");
			space = true;
		}
		add_mark(ch->attributes[i], space, out);
		space = ch->attributes[i] & POINTER_CONST;
	}
	return out->r;
}

/* Adds a pointer to a function, with the marks in the middle: "int (*)(char)". */
static int add_function(struct pdb_namer *n, const struct pdb_code *c, const struct chain *ch, unsigned depth,
	struct buf *out)
{
	bool member = ch->rec.leaf == LF_MFUNCTION;
	struct span b = ch->rec.body;
	int r = 0;

	if (b.n < (member ? 24u : 12u))
		return -ENOENT;
	if (le32(b.p))
		r = pdb_add_type(n, c, le32(b.p), depth, out);
	if (r == 0 && ch->n) {
		buf_adds(out, le32(b.p) ? " (" : "(");
		r = member ? pdb_add_type(n, c, le32(b.p + 4), depth, out) : 0;
		add_marks(ch, false, out);
		buf_adds(out, ")");
	}
	return r < 0 ? r : add_arguments(n, c, le32(member ? b.p + 16 : b.p + 8), 0, depth, out);
}

/* Adds an array: its element type, then all dimensions, the outermost first. */
static int add_array(struct pdb_namer *n, const struct pdb_code *c, const struct chain *ch, unsigned depth,
	struct buf *out)
{
	_cleanup_buf_ struct buf bounds = BUF_UP_TO(256);
	struct chain at = *ch;
	uint64_t size, each;
	size_t end;
	int r = 0;

	at.rec.bytes = NULL; /* owned by the caller */
	while (r == 0 && at.type >= SIMPLE_END && at.rec.leaf == LF_ARRAY && at.rec.body.n >= 8) {
		uint32_t element = le32(at.rec.body.p);

		if (!pdb_number(at.rec.body, 8, &size, &end))
			size = 0;
		each = size_of(n, c, element, depth);
		r = each ? buf_addf(&bounds, "[%llu]", (unsigned long long)(size / each)) : buf_adds(&bounds, "[]");
		at.type = element;
		if (r == 0)
			r = read_record(n, c, &at);
	}
	pdb_record_release(&at.rec);
	if (r == 0)
		r = pdb_add_type(n, c, at.type, depth, out);
	return r < 0 ? r : buf_adds(out, buf_text(&bounds));
}

static int add_named(const struct chain *ch, size_t size_at, struct buf *out)
{
	uint64_t size;
	size_t end = size_at;

	if (ch->rec.leaf != LF_ENUM && ch->rec.leaf != LF_ALIAS && !pdb_number(ch->rec.body, size_at, &size, &end))
		return -ENOENT;
	return pdb_add_text(ch->rec.body, end, out);
}

static int add_target(struct pdb_namer *n, const struct pdb_code *c, const struct chain *ch, unsigned depth,
	struct buf *out)
{
	if (ch->type < SIMPLE_END)
		return buf_adds(out, simple(ch->type & 0xff).name);
	switch (ch->rec.leaf) {
	case LF_CLASS: case LF_STRUCTURE: case LF_INTERFACE: case LF_UNION:
		return add_named(ch, size_offset(ch->rec.leaf), out);
	case LF_ENUM:
		return add_named(ch, 12, out);
	case LF_ALIAS:
		return add_named(ch, 4, out);
	case LF_ARRAY:
		return add_array(n, c, ch, depth, out);
	case LF_MODIFIER:
		if (ch->rec.body.n < 6)
			return -ENOENT;
		if (le32(ch->rec.body.p) < SIMPLE_END && le32(ch->rec.body.p) >> 8 & 7)
			return buf_addf(out, "%s const *", simple(le32(ch->rec.body.p) & 0xff).name);
		buf_adds(out, le16(ch->rec.body.p + 4) & MODIFIER_CONST ? "const " : "");
		return pdb_add_type(n, c, le32(ch->rec.body.p), depth, out);
	default:
		return buf_adds(out, "<unknown>");
	}
}

int pdb_add_type(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth, struct buf *out)
{
	struct chain ch;
	int r;

	if (depth > DEPTH_MOST)
		return -ENOENT;
	r = pdb_resolve_id(n, c, &type);
	if (r < 0)
		return r;
	r = follow_pointers(n, c, type, &ch);
	if (r == 0 && ch.type >= SIMPLE_END && (ch.rec.leaf == LF_PROCEDURE || ch.rec.leaf == LF_MFUNCTION)) {
		r = add_function(n, c, &ch, depth + 1, out);
	} else if (r == 0) {
		r = add_target(n, c, &ch, depth + 1, out);
		if (r == 0)
			r = add_marks(&ch, true, out);
	}
	pdb_record_release(&ch.rec);
	return r;
}

/* ---- functions ---------------------------------------------------------------------------- */

enum this_kind { THIS_NONE, THIS_OF_CLASS, THIS_CONST, THIS_OTHER };

/* Finds whether `this` points to the class, and whether the pointee is const. */
static int this_of(struct pdb_namer *n, const struct pdb_code *c, uint32_t class, uint32_t this, enum this_kind *out)
{
	struct chain ch;
	int r;

	*out = this ? THIS_OTHER : THIS_NONE;
	if (!this)
		return 0;
	r = pdb_resolve_id(n, c, &class);
	if (r == 0)
		r = follow_pointers(n, c, this, &ch);
	else
		return r;
	if (r == 0 && ch.n == 1 && ch.type == class)
		*out = ch.pointee_const[0] ? THIS_CONST : THIS_OF_CLASS;
	pdb_record_release(&ch.rec);
	return r;
}

int pdb_add_parameters(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth, struct buf *out)
{
	struct pdb_record rec;
	enum this_kind this = THIS_NONE;
	int r = pdb_record_of(n, c, &n->p->types, type, &rec);

	if (r == 0 && rec.leaf == LF_PROCEDURE && rec.body.n >= 12) {
		r = add_arguments(n, c, le32(rec.body.p + 8), 0, depth, out);
	} else if (r == 0 && rec.leaf == LF_MFUNCTION && rec.body.n >= 24) {
		r = this_of(n, c, le32(rec.body.p + 4), le32(rec.body.p + 8), &this);
		if (r == 0)
			r = add_arguments(n, c, le32(rec.body.p + 16),
				this == THIS_OTHER ? le32(rec.body.p + 8) : 0, depth, out);
		if (r == 0 && this == THIS_CONST)
			r = buf_adds(out, " const");
	}
	pdb_record_release(&rec);
	return r;
}
