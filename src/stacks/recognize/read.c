/* Reads a text line by line, and offers each line to the recognizers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "formats/obj/obj.h"
#include "stacks/recognize/private.h"

#include <stdio.h>
#include <string.h>

/* In the order in which a line is offered to them. */
static const struct recognizer *const recognizers[] = {
	&recognize_ips,
	&recognize_minidump,
	&recognize_sanitizer,
	&recognize_systemd,
	&recognize_android,
	&recognize_dotnet,
	&recognize_go,
	&recognize_gdb,
	&recognize_elfutils,
	&recognize_lldb,
	&recognize_apple,
	&recognize_perf,
	&recognize_windbg,
	&recognize_maps,
	NULL,
};

static void take_format(struct recognized *r, const struct recognizer *k)
{
	if (!r->format && r->n_frames)
		r->format = k->name;
}

static void offer(struct recognized *r, const struct line *l)
{
	for (const struct recognizer *const *k = recognizers; *k; k++)
		if ((*k)->line && (*k)->line(r, l)) {
			take_format(r, *k);
			return;
		}
}

static void read_lines(struct recognized *r)
{
	for (size_t at = 0; at < r->text.n && r->r == 0;) {
		const uint8_t *p = r->text.p + at, *end = memchr(p, '\n', r->text.n - at);
		size_t n = end ? (size_t)(end - p) : r->text.n - at;
		struct line l = {(const char *)p, n, at};

		at += n + (end != NULL);
		while (l.n && l.p[l.n - 1] == '\r')
			l.n--;
		if (l.n && l.n <= RECOGNIZE_LINE)
			offer(r, &l);
	}
}

/* The module with the path of a name, such as systemd-coredump's, if all lines agree on one path. */
static uint32_t find_path(const struct recognized *r, const struct seen *s)
{
	uint32_t found = NO_SEEN;

	for (size_t k = 0; k < r->n_seen; k++) {
		const struct seen *t = &r->seen[k];

		if (t->hash != s->hash || !strchr(t->path, '/') || strcmp(path_base(t->path), s->path) != 0)
			continue;
		if (found != NO_SEEN || t->has_id || t->better != NO_SEEN)
			return NO_SEEN;
		found = (uint32_t)k;
	}
	return found;
}

/* A module that lines name without an id can be one that a later line names with its id, or with its path. */
static void join_modules(struct recognized *r)
{
	for (size_t i = 0; i < r->n_seen; i++) {
		struct seen *s = &r->seen[i];

		for (size_t k = i + 1; !s->has_id && s->better == NO_SEEN && k < r->n_seen; k++) {
			const struct seen *t = &r->seen[k];

			if (t->hash == s->hash && t->has_id &&
				(strcmp(t->path, s->path) == 0 || !strchr(s->path, '/') || !strchr(t->path, '/')))
				s->better = (uint32_t)k;
		}
		if (!s->has_id && s->better == NO_SEEN && !strchr(s->path, '/'))
			s->better = find_path(r, s);
		if (s->better != NO_SEEN && s->movable)
			r->seen[s->better].movable = true;
	}
	for (size_t i = 0; i < r->n_frames; i++) {
		struct frame *f = &r->frames[i];

		if (f->module != NO_SEEN && r->seen[f->module].better != NO_SEEN)
			f->module = r->seen[f->module].better;
	}
	for (size_t i = 0; i < r->n_based; i++)
		if (r->seen[r->based[i].module].better != NO_SEEN)
			r->based[i].module = r->seen[r->based[i].module].better;
}

/* Marks the modules that frames need. An address can need any module that has a place. */
static void mark_used(struct recognized *r)
{
	bool addresses = false;

	for (size_t i = 0; i < r->n_frames; i++) {
		addresses = addresses || r->frames[i].kind == FRAME_ADDRESS;
		if (r->frames[i].module != NO_SEEN)
			r->seen[r->frames[i].module].used = true;
	}
	for (size_t i = 0; addresses && i < r->n_based; i++)
		r->seen[r->based[i].module].used = true;
	if (r->program != NO_SEEN && r->n_frames)
		r->seen[r->program].used = true;
}

int recognize_read(struct recognized **out, struct span text)
{
	struct recognized *r;
	int status;

	if (text.n > RECOGNIZE_MOST)
		return -EFBIG;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->text = text;
	r->program = NO_SEEN;
	memset(r->chains, 0xff, sizeof(r->chains)); /* NO_SEEN */
	for (const struct recognizer *const *k = recognizers; *k && !r->format; k++)
		if ((*k)->document && (*k)->document(r))
			r->format = (*k)->name;
	r->document = r->format;
	if (!r->document)
		read_lines(r);
	join_modules(r);
	mark_used(r);
	status = r->r;
	if (status < 0)
		recognized_free(r);
	else
		*out = r;
	return status;
}

void recognized_free(struct recognized *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_seen; i++)
		free(r->seen[i].path);
	free(r->seen);
	free(r->frames);
	free(r->based);
	free(r);
}

size_t recognized_frames(const struct recognized *r)
{
	return r->n_frames;
}

uint32_t recognized_modules(const struct recognized *r)
{
	return (uint32_t)r->n_seen;
}

/* ---- files at the paths of modules ------------------------------------------------------------------- */

const char *recognized_path(const struct recognized *r, uint32_t i)
{
	const struct seen *s = &r->seen[i];

	if (s->better != NO_SEEN || !s->used || (s->deleted && !s->has_id))
		return NULL;
	/* systemd and ThreadSanitizer name a module without its directory, and the program with it. */
	if (!strchr(s->path, '/') && r->program != NO_SEEN &&
		strcmp(path_base(r->seen[r->program].path), s->path) == 0)
		return r->seen[r->program].deleted ? NULL : r->seen[r->program].path;
	return s->path;
}

const char *recognized_unknown(const struct recognized *r, uint32_t i)
{
	const struct seen *s = &r->seen[i];

	return s->used && s->better == NO_SEEN && !s->m.code_id[0] && !s->m.debug_id.set ? s->path : NULL;
}

int recognize_file(struct recognized *r, uint32_t i, int fd, uint64_t size, char id[static RECOGNIZE_ID], bool *debug)
{
	struct seen *s = &r->seen[i];
	struct view v = view_of_fd(fd, size);
	struct obj_slice slice;
	int status = obj_identify(&v, 0, &slice, NULL);

	if (status < 0)
		return status;
	if (slice.module.object == OBJECT_MACHO || !slice.module.code_id[0])
		return -ENODATA;
	if (s->has_id && !build_id_equal(slice.module.code_id, s->m.code_id))
		return -ESTALE;
	if (!s->has_id) {
		s->m = slice.module;
		s->unverified = true;
	}
	*debug = slice.worth.debug != WORTH_NO_DEBUG;
	snprintf(id, RECOGNIZE_ID, "%s", slice.module.object == OBJECT_ELF ? slice.module.code_id : "");
	v = view_of_fd(fd, size);
	segments_read(&s->segments, &v);
	return 0;
}
