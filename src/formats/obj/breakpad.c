/* Breakpad's text symbol files: a MODULE line, INFO lines, then records of functions. The identity is in
 * the first line. The worth is found in the records, of which a large file has millions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of the MODULE and INFO lines. Other tools allow only 320, and lose the code id after a long name. */
#define HEAD_MOST 4096

/* Records are sorted by kind: files, functions, publics, and unwinding last. Of a larger file only the
 * front, the back and samples between them are read, 5.25 MiB together. So a kind with few records may be
 * missed. */
#define FRONT_MOST (1u << 20)
#define BACK_MOST (256u << 10)
#define CHUNK (64u << 10)
#define SAMPLES 64

struct text {
	const char *p;
	size_t n;
};

struct sym {
	struct text os, arch, id, name, code_id, code_file;
};

/* ---- the head ----------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The next line, without its end; CRs and blanks before the LF are part of the end. */
static bool next_line(struct text *all, struct text *line)
{
	const char *nl = memchr(all->p, '\n', all->n);
	size_t n = nl ? (size_t)(nl - all->p) : all->n;

	if (!all->n)
		return false;
	*line = (struct text){all->p, n};
	all->p += nl ? n + 1 : n;
	all->n -= nl ? n + 1 : n;
	while (line->n && (line->p[line->n - 1] == '\r' || is_space(line->p[line->n - 1])))
		line->n--;
	return true;
}

static struct text next_word(struct text *line)
{
	struct text w;

	while (line->n && is_space(*line->p)) {
		line->p++;
		line->n--;
	}
	w = (struct text){line->p, 0};
	while (w.n < line->n && !is_space(w.p[w.n]))
		w.n++;
	line->p += w.n;
	line->n -= w.n;
	return w;
}

/* Names have spaces in them: "Electron Helper (GPU)". */
static struct text rest_of(struct text *line)
{
	while (line->n && is_space(*line->p)) {
		line->p++;
		line->n--;
	}
	return *line;
}

static bool is_word(struct text t, const char *word)
{
	return t.n == strlen(word) && memcmp(t.p, word, t.n) == 0;
}

/* Reads the INFO lines directly after MODULE. INFO lines of other kinds, and an empty code id, are
 * ignored. */
static void read_info(struct text *all, struct sym *out)
{
	struct text line;

	while (next_line(all, &line)) {
		struct text word = next_word(&line);

		if (!is_word(word, "INFO"))
			return;
		if (!is_word(next_word(&line), "CODE_ID"))
			continue;
		out->code_id = next_word(&line);
		out->code_file = rest_of(&line);
		if (out->code_id.n)
			return;
	}
}

static int read_head(struct text all, struct sym *out, struct err *e)
{
	struct text line;

	memset(out, 0, sizeof(*out));
	if (!next_line(&all, &line) || !is_word(next_word(&line), "MODULE"))
		return err_set(e, -EBADMSG, "is broken: no MODULE line");
	out->os = next_word(&line);
	out->arch = next_word(&line);
	out->id = next_word(&line);
	out->name = rest_of(&line);
	if (!out->id.n)
		return err_set(e, -EBADMSG, "is broken: its MODULE line has no identifier");
	read_info(&all, out);
	return 0;
}

/* Whether the text has a whole line behind the head. */
static bool head_ends(struct text all)
{
	struct text line, word;

	for (bool first = true; memchr(all.p, '\n', all.n) && next_line(&all, &line);
		first = false) {
		word = next_word(&line);
		if (!first && !is_word(word, "INFO"))
			return true;
	}
	return false;
}

/* Reads all lines that the head can have into `room`. 0; -EAGAIN; errors of the disk. */
static int load_head(struct view *v, char room[static HEAD_MOST], struct text *out, struct err *e)
{
	size_t n = (size_t)MIN(v->have, HEAD_MOST);
	int r = obj_read(v, "its head", 0, room, n, e);

	if (r < 0)
		return r;
	if (n < HEAD_MOST && n != v->size && !head_ends((struct text){room, n}))
		return view_want(v, 0, n + 1);
	/* An incomplete line after the first does not count. */
	if (n != v->size && memrchr(room, '\n', n))
		n = (size_t)((char *)memrchr(room, '\n', n) - room);
	*out = (struct text){room, n};
	return 0;
}

/* ---- the identity ------------------------------------------------------------------- */

static enum object_type object_of(struct text os)
{
	static const struct {
		const char *os;
		enum object_type object;
	} rows[] = {
		{"windows", OBJECT_PE},	  {"mac", OBJECT_MACHO},   {"ios", OBJECT_MACHO},
		{"macos", OBJECT_MACHO},  {"linux", OBJECT_ELF},   {"android", OBJECT_ELF},
		{"fuchsia", OBJECT_ELF},  {"solaris", OBJECT_ELF}, {"freebsd", OBJECT_ELF},
		{"chromeos", OBJECT_ELF},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (os.n == strlen(rows[i].os) && strncasecmp(os.p, rows[i].os, os.n) == 0)
			return rows[i].object;
	return OBJECT_UNKNOWN;
}

static int module_of(const struct sym *sym, struct module *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < sym->id.n; i++)
		if (!isxdigit((unsigned char)sym->id.p[i]))
			return err_set(e, -EBADMSG, "is broken: its identifier is not hexadecimal");
	/* An identifier without an age, or with further digits after the age, is valid. */
	if (debug_id_parse(&m->debug_id, sym->id.p, sym->id.n) < 0)
		return err_set(e, -EBADMSG, "is broken: its identifier has %zu digits", sym->id.n);
	m->object = object_of(sym->os);
	if (module_set_code_id(m, sym->code_id.p, sym->code_id.n) < 0)
		m->code_id[0] = '\0'; /* a tool's comment, not an identifier */
	obj_base_name(m->debug_file, sym->name.p, sym->name.n);
	obj_base_name(m->code_file, sym->code_file.p, sym->code_file.n);
	return 0;
}

/* ---- worth -------------------------------------------------------------------------- */

/* Only the first word of a line is kept, so a line can be longer than a chunk. */
struct scan {
	char word[21]; /* ends with NUL */
	size_t n;     /* bytes of the line, as far as they are in `word` */
	bool skip;    /* the first word has ended */
	bool funcs, lines, publics, stacks; /* kinds of records that were seen */
};

static void scan_word(struct scan *s)
{
	const struct text word = {s->word, s->n};

	s->funcs |= is_word(word, "FUNC");
	s->publics |= is_word(word, "PUBLIC");
	s->stacks |= is_word(word, "STACK");
	/* A line record begins with its address; no other record begins with a number. */
	s->lines = s->lines || (s->n && strspn(s->word, "0123456789abcdefABCDEF") >= s->n);
}

/* Functions count once: as debug information if they have lines, else as symbols. */
static struct worth worth_of(const struct scan *s)
{
	return (struct worth){.known = true,
		.symbols = s->publics || (s->funcs && !s->lines) ? WORTH_SYMBOLS : WORTH_NO_SYMBOLS,
		.debug = s->lines ? WORTH_DEBUG : WORTH_NO_DEBUG,
		.unwind = s->stacks};
}

static void scan_bytes(struct scan *s, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->skip) {
			const char *nl = memchr(p + i, '\n', n - i);

			if (!nl)
				return;
			i = (size_t)(nl - p);
			s->skip = false;
			s->n = 0;
		} else if (p[i] == '\n' || p[i] == '\r') {
			s->n = 0;
		} else if (is_space(p[i])) {
			scan_word(s);
			s->skip = true;
		} else if (s->n == sizeof(s->word) - 1) {
			s->skip = true;
		} else {
			s->word[s->n++] = p[i];
		}
	}
}

static int scan_range(struct view *v, uint64_t off, uint64_t end, struct scan *s, struct err *e)
{
	_cleanup_free_ char *room = malloc(CHUNK);

	if (!room)
		return err_set(e, -ENOMEM, "cannot be read: %s", err_text(ENOMEM));
	while (off < end) {
		size_t n = (size_t)MIN(end - off, CHUNK);
		int r = obj_read(v, "its records", off, room, n, e);

		if (r < 0)
			return r;
		scan_bytes(s, room, n);
		off += n;
	}
	return 0;
}

/* Scans `n` bytes that may begin within a line. */
static int scan_sample(struct view *v, uint64_t off, uint64_t n, struct scan *all, struct err *e)
{
	all->skip = true;
	return scan_range(v, off, off + n, all, e);
}

static int scan_large(struct view *v, struct scan *s, struct err *e)
{
	uint64_t step = (v->size - FRONT_MOST - BACK_MOST) / SAMPLES;
	int r = scan_range(v, 0, FRONT_MOST, s, e);

	for (unsigned i = 0; r == 0 && i < SAMPLES; i++)
		r = scan_sample(v, FRONT_MOST + i * step, MIN(step, CHUNK), s, e);
	return r < 0 ? r : scan_sample(v, v->size - BACK_MOST, BACK_MOST, s, e);
}

/* Finds the worth in the whole file, because the records for unwinding are at its end. */
static int find_worth(struct view *v, struct worth *out, struct err *e)
{
	struct scan s = {0};
	int r = view_whole(v);

	if (r < 0)
		return r;
	r = v->size <= FRONT_MOST + BACK_MOST ? scan_range(v, 0, v->size, &s, e)
					      : scan_large(v, &s, e);
	if (r == 0)
		*out = worth_of(&s);
	return r;
}

/* ---- the format --------------------------------------------------------------------- */

static int breakpad_head(struct view *v, struct sym *sym, char room[static HEAD_MOST],
	struct module *m, struct err *e)
{
	struct text head;
	int r = load_head(v, room, &head, e);

	if (r == 0)
		r = read_head(head, sym, e);
	return r < 0 ? r : module_of(sym, m, e);
}

static int breakpad_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "breakpad", .kind = OBJ_DEBUG, .size = v->size,
		.types = {FILETYPE_BREAKPAD}, .n_types = 1};
	char room[HEAD_MOST];
	struct sym sym;
	int r = breakpad_head(v, &sym, room, &s.module, e);

	if (r == 0)
		r = find_worth(v, &s.worth, e);
	if (r < 0)
		return r;
	/* Other tools refuse a file of an unknown architecture, but its identity is good. */
	s.arch = obj_arch(sym.arch.p, sym.arch.n);
	*out = s;
	return 0;
}

static int breakpad_early(struct view *v, struct module *out)
{
	char room[HEAD_MOST];
	struct sym sym;

	return breakpad_head(v, &sym, room, out, NULL);
}

const struct obj_format obj_breakpad = {
	.name = "breakpad",
	.magic = "MODULE ",
	.magic_len = 7,
	.serves = {FILETYPE_BREAKPAD},
	.probe = breakpad_probe,
	.early = breakpad_early,
};
