/* What the recognizers share: the text that is read, the modules and frames in it, and cursors on a line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/jtext.h"
#include "names/id/module.h"
#include "stacks/recognize/recognize.h"

#include <stdbool.h>
#include <stddef.h>

#define NO_SEEN UINT32_MAX
#define NO_ASK UINT32_MAX
#define CHAINS 1024u

/* ---- words.c: cursors --------------------------------------------------------------------- */

/* Part of a line. Functions that step over something leave the cursor where it is if it is not there. */
struct cursor {
	const char *p, *end;
};

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

bool cursor_text(struct cursor *c, const char *text);
bool cursor_hex(struct cursor *c, uint64_t *out);     /* one to 16 digits, with or without 0x */
bool cursor_address(struct cursor *c, uint64_t *out); /* 0x and one to 16 digits */
bool cursor_decimal(struct cursor *c, uint64_t *out); /* one to nine digits */
size_t cursor_blanks(struct cursor *c);		      /* spaces and tabs; returns their number */
/* The first or last place of `text`; NULL: it is not in the rest of the line. */
const char *cursor_find(const struct cursor *c, const char *text);
const char *cursor_find_last(const struct cursor *c, const char *text);
/* Steps to a place that cursor_find() returned, and returns what was before it, without blanks at its ends. */
struct cursor cursor_until(struct cursor *c, const char *place);
struct cursor cursor_trim(struct cursor c);
bool cursor_is(const struct cursor *c, const char *text); /* the whole rest equals the text */
bool cursor_ends(const struct cursor *c, const char *text);
/* Steps over `#N`, which may have other words before it, as in a log: "host prog[7]: #3 0x1f". False: no such word.
 */
bool cursor_number(struct cursor *c, uint64_t *number);
/* A source line at the end: "file.c:12" or "file.c:12:3". */
bool cursor_has_line(const struct cursor *c);

/* ---- record.c: modules and frames ----------------------------------------------------------- */

#define LOADS_MOST 16u

/* Where an ELF file says that its parts are loaded. */
struct segments {
	bool known, fixed; /* fixed: the addresses of a program that is not position-independent */
	unsigned n;
	struct {
		uint64_t offset, address, file_size, size;
	} load[LOADS_MOST];
	uint64_t image; /* where the first segment begins, rounded down to a page */
	uint64_t text;	/* address of the section .text */
	bool has_text;
};

struct seen {
	char *path;	/* as in the text, without " (deleted)" */
	uint64_t hash;	/* of its last component */
	uint32_t before; /* the module before this one in the same chain of recognized.chains; NO_SEEN: none */
	struct module m; /* the ids; code_id "" and !debug_id.set: the text has none */
	bool has_id;	/* from the text */
	bool deleted, used; /* used: a frame refers to it */
	bool movable;	    /* position-independent: it was linked at the address 0 */
	bool unverified;    /* the ids are those of the file at the path */
	uint32_t better;    /* a module of the same path that has an id; NO_SEEN: none */
	struct segments segments;
	bool asked_segments; /* fetch/ was asked for the program */
	uint32_t index; /* in the request for names; NO_SEEN: not in it */
};

/* How a range of addresses belongs to a module. */
enum base_kind {
	BASE_IMAGE, /* the module begins at `from` */
	BASE_TEXT,  /* its section .text begins there */
	BASE_FILE   /* the file from `offset` is mapped there */
};

struct based {
	enum base_kind kind;
	uint32_t module;
	uint64_t from, to, offset; /* to 0: the end is unknown */
};

/* What the number of a frame is. */
enum frame_kind {
	FRAME_ADDRESS, /* an address in the process */
	FRAME_LINKED,  /* an address in the file, as symbols have it */
	FRAME_IMAGE,   /* an offset from the beginning of the module */
	FRAME_FILE,    /* perf: an offset in the file, or an address */
	FRAME_METHOD   /* .NET: the token of a method << 32 | an offset in its IL */
};

/* How names are put in. */
enum frame_style {
	STYLE_LINE, /* a line of text: calls that were inlined are lines before it */
	STYLE_DOTNET, /* " in FILE:line N" */
	STYLE_IPS,  /* members of a JSON object of Apple's */
	STYLE_MINIDUMP_FUNCTION, STYLE_MINIDUMP_FILE, STYLE_MINIDUMP_LINE, STYLE_MINIDUMP_INLINES
};

struct frame {
	size_t line, end;  /* the line in the text, without its end; for JSON: the object */
	size_t at, cut;	   /* what the name replaces */
	uint32_t module;   /* NO_SEEN: unknown */
	enum frame_kind kind;
	enum frame_style style;
	uint64_t number;
	bool back;  /* a caller: the byte before is looked up */
	bool named; /* the text has a name, which stays if no source line is found */
	const char *before, *after; /* static text around the name */
	uint32_t ask; /* the frame in the request for names; NO_ASK: not in it */
	bool unverified; /* the module that was asked for is */
};

/* State of the recognizers between lines. */
struct state {
	bool below_signal; /* the next frame is below a signal handler */
	bool sample;	   /* perf: a frame of this sample was read */
	bool elfutils;	   /* the line before is a frame of eu-stack */
};

struct recognized {
	struct span text;
	const char *format;
	bool document; /* a document of JSON, in which a name would need quotes */
	struct frame *frames;
	size_t n_frames, frames_room;
	struct seen *seen;
	size_t n_seen, seen_room;
	uint32_t chains[CHAINS]; /* by hash % CHAINS: the last module with such a hash; NO_SEEN: none */
	uint32_t compared; /* how often note_module() compared a module with another */
	struct based *based;
	size_t n_based, based_room;
	uint32_t program; /* the module that a line calls the program; NO_SEEN */
	struct state state;
	int r; /* the first error */
};

/* The line that is read. */
struct line {
	const char *p;
	size_t n;
	size_t at; /* in the text */
};

static inline struct cursor line_cursor(const struct line *l)
{
	return (struct cursor){l->p, l->p + l->n};
}

/* Finds or adds a module. `path` may end in " (deleted)"; `id` is a build id or UUID, with or without dashes; empty:
 * the line has none. NO_SEEN: the path names no file ("[vdso]", "//anon"), or there are too many modules, or too many
 * of them have the same name. */
uint32_t note_module(struct recognized *r, struct cursor path, struct cursor id, enum object_type object);
void note_base(struct recognized *r, uint32_t module, enum base_kind kind, uint64_t from, uint64_t to,
	uint64_t offset);
void note_program(struct recognized *r, struct cursor path);
/* Adds a frame of a line; `f` has all but the line and `at`, which are taken from `place` and `n` (what the name
 * replaces). Returns it, or NULL: too many. */
struct frame *note_frame(struct recognized *r, const struct line *l, const char *place, size_t n, struct frame f);
/* The function names of signal trampolines. Sets the state for the next frame, and returns what it was. */
bool note_signal(struct recognized *r, struct cursor name);

/* ---- segments.c --------------------------------------------------------------------------------- */

struct view;
int segments_read(struct segments *p, struct view *v);

/* ---- the recognizers ---------------------------------------------------------------------------- */

struct recognizer {
	const char *name, *help;
	/* True: the line is of this format, whether or not it has a frame to name. NULL: not by lines. */
	bool (*line)(struct recognized *r, const struct line *l);
	/* True: the whole text is of this format. NULL: by lines only. */
	bool (*document)(struct recognized *r);
};
extern const struct recognizer recognize_gdb, recognize_lldb, recognize_elfutils, recognize_sanitizer,
	recognize_systemd, recognize_android, recognize_apple, recognize_ips, recognize_perf, recognize_minidump,
	recognize_maps, recognize_go, recognize_dotnet, recognize_windbg;

/* ---- document.c: what the recognizers of JSON documents share ------------------------------------- */

#define DOCUMENT_TOKENS (8u << 20)

/* Reads JSON in the text from `at`. False: it is not JSON, or not an object, or not UTF-8. */
bool document_read(struct jtext *j, const struct recognized *r, size_t at, size_t n);
/* The content of a string without escapes; empty: no such member, or it has escapes. */
struct cursor document_word(const struct jtext *j, uint32_t object, const char *name);
/* A number, or a string such as "0x1f". False: no such member. */
bool document_number(const struct jtext *j, uint32_t object, const char *name, uint64_t *out);
/* The token of a member of that kind; 0: no such member. */
uint32_t document_member(const struct jtext *j, uint32_t object, const char *name, enum jkind kind);
/* Puts the frames in the order of the text, which recognize_write() needs. */
void document_sort(struct recognized *r);
