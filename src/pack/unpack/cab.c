/* Unpacks cabinets of one file, by libmspack: stored, MSZIP, LZX or Quantum. A cabinet is read at offsets in
 * any order, so the whole file must have been downloaded. libmspack's limit of 65535 blocks of 32 KiB in a
 * folder bounds the time. Its search for cabinets and its salvage mode could take longer; symfs does not use
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pack/unpack/packing.h"

#include <mspack.h>
#include <stdio.h>
#include <string.h>

#define ALLOC_MOST (32u << 20) /* bytes of one allocation; the largest window is 2 MiB */
#define IN_NAME "in"	       /* file names passed to libmspack, which hands them to cab_open() */
#define OUT_NAME "out"

/* `sys` must come first: libmspack passes a pointer to it to open(). */
struct cab {
	struct mspack_system sys;
	struct unpack *u;
	struct view *v;
	struct err *e;
	int error; /* the error of a callback below; 0: none */
};

/* Passed to libmspack as a struct mspack_file. */
struct handle {
	struct cab *c;
	bool out;
	uint64_t at;
};

static struct mspack_file *cab_open(struct mspack_system *sys, const char *name, int mode)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->c = (struct cab *)(void *)sys;
	h->out = strcmp(name, OUT_NAME) == 0;
	return (struct mspack_file *)(void *)h;
}

static void cab_close(struct mspack_file *file)
{
	free(file);
}

static int cab_read(struct mspack_file *file, void *p, int bytes)
{
	struct handle *h = (struct handle *)(void *)file;
	struct view *v = h->c->v;
	size_t n;
	int r;

	if (h->out || bytes < 0)
		return -1;
	n = h->at < v->size ? (size_t)MIN((uint64_t)bytes, v->size - h->at) : 0;
	r = n ? view_read(v, h->at, p, n) : 0;
	if (r < 0) {
		h->c->error = err_set(h->c->e, r, "cannot be read: %s", err_text(r));
		return -1;
	}
	h->at += n;
	h->c->u->taken = MAX(h->c->u->taken, h->at);
	return (int)n;
}

static int cab_write(struct mspack_file *file, void *p, int bytes)
{
	struct handle *h = (struct handle *)(void *)file;
	int r;

	if (!h->out || bytes < 0)
		return -1;
	r = unpack_out(h->c->u, p, (size_t)bytes, h->c->e);
	if (r != 0) {
		h->c->error = r;
		return -1;
	}
	return bytes;
}

static int cab_seek(struct mspack_file *file, off_t off, int mode)
{
	struct handle *h = (struct handle *)(void *)file;
	uint64_t from = mode == MSPACK_SYS_SEEK_START ? 0
			: mode == MSPACK_SYS_SEEK_CUR ? h->at
						      : h->c->v->size;

	if (off < 0 ? (uint64_t)-off > from : from > INT64_MAX - (uint64_t)off)
		return -1;
	h->at = from + (uint64_t)off;
	return 0;
}

static off_t cab_tell(struct mspack_file *file)
{
	return (off_t)((struct handle *)(void *)file)->at;
}

static void cab_message(struct mspack_file *file, const char *format, ...)
{
}

static void *cab_alloc(struct mspack_system *sys, size_t n)
{
	return n <= ALLOC_MOST ? malloc(n) : NULL;
}

static void cab_copy(void *from, void *to, size_t n)
{
	memcpy(to, from, n);
}

static const struct mspack_system cab_system = {
	.open = cab_open,
	.close = cab_close,
	.read = cab_read,
	.write = cab_write,
	.seek = cab_seek,
	.tell = cab_tell,
	.message = cab_message,
	.alloc = cab_alloc,
	.free = free,
	.copy = cab_copy,
};

static bool cab_begins(const uint8_t *p, size_t n)
{
	return n >= 4 && memcmp(p, "MSCF", 4) == 0;
}

/* Returns the error of a callback, or else translates libmspack's error. */
static int cab_error(struct cab *c, int error)
{
	if (c->error)
		return c->error;
	switch (error) {
	case MSPACK_ERR_NOMEMORY:
		return err_set(c->e, -ENOMEM, "cannot be unpacked: %s", err_text(ENOMEM));
	case MSPACK_ERR_READ:
		return err_set(c->e, -EBADMSG, "is a cabinet, cut short");
	case MSPACK_ERR_CHECKSUM:
		return err_set(c->e, -EBADMSG, "is broken: a checksum of the cabinet is wrong");
	default:
		return err_set(c->e, -EBADMSG, "is broken: a cabinet that cannot be unpacked");
	}
}

static int check_cabinet(
	const struct unpack *u, const struct mscabd_cabinet *cab, uint64_t size, struct err *e)
{
	const struct mscabd_file *file = cab->files;

	if (cab->flags & (MSCAB_HDR_PREVCAB | MSCAB_HDR_NEXTCAB))
		return err_set(e, -ENOTSUP, "is one cabinet of a set; the others are missing");
	if (!file || !file->folder)
		return err_set(e, -ENOTSUP, "is an empty cabinet");
	if (file->next)
		return err_set(e, -ENOTSUP, "is a cabinet of several files");
	/* libmspack would also unpack the bytes before the file in its folder. */
	if (file->offset)
		return err_set(e, -EBADMSG, "is broken: a cabinet whose file does not begin at its start");
	return unpack_announced(u, file->length, size, e);
}

static int extract(struct cab *c, struct mscab_decompressor *d, struct err *e)
{
	struct mscabd_cabinet *cab = d->open(d, IN_NAME);
	int r;

	if (!cab)
		return cab_error(c, d->last_error(d));
	r = check_cabinet(c->u, cab, c->v->size, e);
	if (r == 0) {
		r = d->extract(d, cab->files, OUT_NAME);
		if (r != MSPACK_ERR_OK)
			r = cab_error(c, r);
		else if (c->u->made != cab->files->length)
			r = err_set(
				e, -EBADMSG, "is broken: the cabinet holds less than its header says");
	}
	d->close(d, cab);
	return r;
}

static int cab_whole(struct unpack *u, struct view *v, struct err *e)
{
	struct cab c = {.sys = cab_system, .u = u, .v = v, .e = e};
	struct mscab_decompressor *d;
	int r;

	MSPACK_SYS_SELFTEST(r);
	if (r != MSPACK_ERR_OK)
		return err_set(e, -ENOTSUP, "is a cabinet, but libmspack was built with another size of off_t");
	d = mspack_create_cab_decompressor(&c.sys);
	if (!d)
		return err_set(e, -ENOMEM, "cannot be unpacked: %s", err_text(ENOMEM));
	d->set_param(d, MSCABD_PARAM_DECOMPBUF, UNPACK_CHUNK);
	r = extract(&c, d, e);
	mspack_destroy_cab_decompressor(d);
	return r;
}

const struct packing packing_cab = {.name = "cab", .begins = cab_begins, .whole = cab_whole, .peek = cab_peek};
