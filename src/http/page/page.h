/* The web page of the server, of three parts: find a file, uploads, the server itself. A worker writes a part while
 * the connection waits. Only the files page*.c of http/ use this header. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "http/page/html.h"
#include "http/private.h"

/* A page that is being written. */
struct page {
	struct exchange *x;
	struct space *space;
	struct buf html;
	char address[ADDRESS_TEXT]; /* exchange_address() */
	char *text;		    /* what to find; "": nothing */
	bool ask;		    /* ask the sources now */
	bool busy;		    /* the request wants that, but page.c does not allow it now */
};

/* ---- page.c --------------------------------------------------------------------------- */

/* The decoded value of a field of a form (application/x-www-form-urlencoded), which may have line ends. The caller
 * frees it. NULL: no such field, or out of memory. */
char *page_form_value(const char *form, const char *name);

/* ---- the parts ------------------------------------------------------------------------ */

void page_find(struct page *p);	   /* page-find.c */
void page_add_form(struct page *p); /* its field, with the text */
void page_add_lines(struct page *p, const char *title, const char *lines); /* `@@` stands for the address */
void page_uploads(struct page *p); /* page-uploads.c */
void page_server(struct page *p);  /* page-server.c */

/* ---- page-why.c ----------------------------------------------------------------------- */

#define PAGE_ROWS 64 /* requests to sources, of one artifact */

/* What is known about an artifact, without asking a source. */
enum page_state {
	PAGE_STORED,
	PAGE_FOUND,	/* a source has it, by its answer just now */
	PAGE_NOT_ASKED, /* at least one source was not asked yet */
	PAGE_MISSING,	/* no source has it, by their earlier answers */
	PAGE_TROUBLE,	/* a source that may have it failed */
	PAGE_UNNAMED	/* no source can be asked for it */
};
struct page_answer {
	struct artifact a;
	struct key key;
	enum page_state state;
	const char *unnamed; /* PAGE_UNNAMED: fetch_unnamed(); else NULL */
	struct blob *blob; /* PAGE_STORED: a reference */
	bool best;	   /* no source has a better file than the stored one, by their earlier answers */
	int n;		   /* rows of `rows` */
	struct fetch_attempt *rows; /* PAGE_ROWS; the caller's, used again for the next artifact */
};
/* Fills `out` for out->a, with out->rows set. 0; -ENOENT: the artifact has no key. page_answer_release() drops the
 * reference. (reads the index; waits for sources if `ask`) */
int page_explain(struct page *p, bool ask, struct page_answer *out);
void page_answer_release(struct page_answer *a);
/* Writes the card of an artifact: whether it is here, its link, or why not. */
void page_add_answer(struct page *p, const struct page_answer *a);
/* Writes a link to the file that shows its state; for lists. */
void page_add_chip(struct page *p, const struct page_answer *a);
const char *page_type_words(enum filetype t); /* "debug file (ELF)" */

#define HTML_TYPE "text/html; charset=utf-8"
