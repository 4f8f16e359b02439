/* Recognizes crash reports of Apple's systems as JSON (.ips): a line with one object, and a second object. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

#include <stdlib.h>
#include <string.h>

struct report {
	struct recognized *r;
	const struct jtext *j;
	size_t at; /* of the second object in the text */
	uint32_t *image; /* the module of each image */
	uint32_t n_images;
};

static bool read_images(struct report *p, uint32_t list)
{
	uint32_t t = list + 1;

	p->n_images = p->j->token[list].n;
	p->image = calloc(p->n_images ? p->n_images : 1, sizeof(*p->image));
	if (!p->image)
		return false;
	for (uint32_t i = 0; i < p->n_images; i++, t = p->j->token[t].next) {
		struct cursor path, name;

		p->image[i] = NO_SEEN;
		if (p->j->token[t].kind != JTEXT_OBJECT)
			continue;
		path = document_word(p->j, t, "path");
		name = document_word(p->j, t, "name");
		p->image[i] = note_module(p->r, cursor_left(&path) ? path : name, document_word(p->j, t, "uuid"),
			OBJECT_MACHO);
	}
	return true;
}

/* The names go to the front of the object. */
static void read_frame(struct report *p, uint32_t object, bool caller)
{
	const struct jtoken *t = &p->j->token[object];
	struct line l = {(const char *)p->j->text.p + t->at, t->len, p->at + t->at};
	struct frame f = {.kind = FRAME_IMAGE, .style = STYLE_IPS};
	struct cursor symbol = document_word(p->j, object, "symbol");
	uint64_t index;

	f.back = !note_signal(p->r, symbol) && caller;
	if (!document_number(p->j, object, "imageIndex", &index) || index >= p->n_images ||
		!document_number(p->j, object, "imageOffset", &f.number) || jtext_member(p->j, object, "symbol") ||
			!t->n)
		return;
	f.module = p->image[index];
	note_frame(p->r, &l, l.p + 1, 0, f);
}

static void read_stack(struct report *p, uint32_t frames)
{
	uint32_t t = frames + 1;

	p->r->state.below_signal = false;
	for (uint32_t i = 0; frames && i < p->j->token[frames].n; i++, t = p->j->token[t].next)
		if (p->j->token[t].kind == JTEXT_OBJECT)
			read_frame(p, t, i > 0);
}

static void read_threads(struct report *p)
{
	uint32_t threads = document_member(p->j, 0, "threads", JTEXT_ARRAY), t = threads + 1;

	for (uint32_t i = 0; threads && i < p->j->token[threads].n; i++, t = p->j->token[t].next)
		read_stack(p, document_member(p->j, t, "frames", JTEXT_ARRAY));
	read_stack(p, document_member(p->j, 0, "lastExceptionBacktrace", JTEXT_ARRAY));
}

static bool ips_document(struct recognized *r)
{
	const uint8_t *end = r->text.n ? memchr(r->text.p, '\n', r->text.n) : NULL;
	_cleanup_jtext_ struct jtext head = {0}, body = {0};
	struct report p = {.r = r, .j = &body};
	uint32_t images;

	if (!end || r->text.p[0] != '{')
		return false;
	p.at = (size_t)(end - r->text.p) + 1;
	if (!document_read(&head, r, 0, p.at - 1) || !document_read(&body, r, p.at, r->text.n - p.at))
		return false;
	images = document_member(&body, 0, "usedImages", JTEXT_ARRAY);
	if (!images || !read_images(&p, images))
		return false;
	read_threads(&p);
	free(p.image);
	document_sort(r); /* lastExceptionBacktrace usually stands before the threads */
	return true;
}

const struct recognizer recognize_ips = {"apple-ips", "crash reports of Apple's systems as JSON", NULL, ips_document};
