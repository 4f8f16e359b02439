/* The program `unarchive`: sets its limits and its filter, and takes one archive apart. symfs starts it
 * (pack/unarchive/unarchive.h). It is a program of its own so that symfs does not load libarchive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/zip.h"
#include "pack/unarchive/kind.h"
#include "pack/unarchive/unarchive.h"
#include "pack/unarchive/wire.h"
#include "priv/worker.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* What the worker sends, and the limits that it keeps. */
struct sender {
	struct wire_limits limits;
	uint64_t nth;	   /* members seen so far */
	uint64_t unpacked; /* bytes that were unpacked so far */
	uint64_t ticked;   /* `unpacked` at the last WIRE_TICK */
	uint32_t flags;	   /* of the next WIRE_MEMBER */
	int64_t time;	   /* of the next WIRE_MEMBER */
	uint8_t room[WIRE_BYTES_MOST];
};

/* Reads the next bytes of a member. *n is the room at `p`, and then the number of bytes: 0 at the end. 0; -errno,
 * and `e` has a text that follows a subject. */
typedef int member_read(void *ctx, void *p, size_t *n, struct err *e);

#define TICK_EVERY (16ull << 20) /* unpacked bytes between two signs of progress */

/* ---- the members of an archive go to the process that started this one ------------------ */

/* Ends the worker when the other side is gone. */
static void send_wire(struct sender *s, struct wire w, const void *p)
{
	struct iovec parts[] = {{&w, sizeof(w)}, {(void *)p, w.n}};

	w.nth = s->nth;
	if (writev(WIRE_SOCKET, parts, w.n ? 2 : 1) != (ssize_t)(sizeof(w) + w.n))
		_exit(3);
}

static void send_result(struct sender *s, enum wire_kind kind, int r, const struct err *e)
{
	const char *text = r < 0 ? e->text[0] ? e->text : err_text(r) : "";

	send_wire(s, (struct wire){.kind = kind, .r = r, .n = (uint32_t)strnlen(text, WIRE_TEXT_MOST)}, text);
}

/* Counts a member. 0; -E2BIG: there are too many. */
static int sender_count(struct sender *s, struct err *e)
{
	s->nth++;
	return s->nth <= s->limits.members ? 0 : err_set(e, -E2BIG, "more than %llu members",
							(unsigned long long)s->limits.members);
}

/* Counts unpacked bytes, and says at times that the worker makes progress. 0; -EFBIG: too many. */
static int sender_spend(struct sender *s, uint64_t n, struct err *e)
{
	if (n > s->limits.bytes - s->unpacked)
		return err_set(e, -EFBIG, "the archive expands to too many bytes");
	s->unpacked += n;
	if (s->unpacked - s->ticked >= TICK_EVERY) {
		s->ticked = s->unpacked;
		send_wire(s, (struct wire){.kind = WIRE_TICK}, NULL);
	}
	return 0;
}

static void send_member(struct sender *s, const char *name, uint64_t size)
{
	size_t n = strlen(name);

	send_wire(s, (struct wire){.kind = WIRE_MEMBER, .size = size, .time = s->time, .flags = s->flags,
			     .n = n <= WIRE_NAME_MOST ? (uint32_t)n : 0}, name);
}

/* Sends a member that cannot be read, with the error. */
static void sender_refuse(struct sender *s, const char *name, uint64_t size, int r, const struct err *e)
{
	send_member(s, name, size);
	send_result(s, WIRE_END, r, e);
}

/* Fills the room with the next bytes of a member: all of it, unless the member ends. */
static int fill(struct sender *s, member_read *read, void *ctx, size_t *n, struct err *e)
{
	int r = 0;

	for (*n = 0; r == 0 && *n < sizeof(s->room);) {
		size_t got = sizeof(s->room) - *n;

		r = read(ctx, s->room + *n, &got, e);
		if (r == 0 && !got)
			break;
		if (r == 0) {
			*n += got;
			r = sender_spend(s, got, e);
		}
	}
	return r;
}

static char verdict(void)
{
	char c;

	if (read(WIRE_SOCKET, &c, 1) != 1)
		_exit(3);
	return c;
}

/* Sends a member: its name, its first bytes, and the rest if the verdict is WIRE_GO. 0: the member was read to its
 * end or up to an error, which was sent; 1: the rest of the member is to be skipped. */
static int sender_member(struct sender *s, const char *name, uint64_t size, member_read *read, void *ctx)
{
	struct err e = {0};
	size_t n;
	int r;

	send_member(s, name, size);
	r = fill(s, read, ctx, &n, &e);
	if (r == 0) {
		send_wire(s, (struct wire){.kind = WIRE_BYTES, .n = (uint32_t)n}, s->room);
		if (verdict() != WIRE_GO)
			return 1;
	}
	while (r == 0 && n == sizeof(s->room)) {
		r = fill(s, read, ctx, &n, &e);
		if (r == 0 && n)
			send_wire(s, (struct wire){.kind = WIRE_BYTES, .n = (uint32_t)n}, s->room);
	}
	send_result(s, WIRE_END, r, &e);
	return 0;
}

/* ---- archives ------------------------------------------------------------------------- */

/* Sends the members of an archive that libarchive reads: tar, 7z, Debian and RPM packages; and the content of a file
 * packed by xz or bzip2. Only this file uses libarchive. */

/* The input of libarchive: the archive's descriptor, read with pread(). */
struct input {
	int fd;
	uint64_t at, size;
	uint8_t room[64 << 10];
};

struct reading {
	struct sender *s;
	struct archive *a;
	bool solid; /* members can be skipped only by unpacking them */
};

static void cleanup_archive(struct archive **a)
{
	if (*a)
		archive_read_free(*a);
}
#define _cleanup_archive_ __attribute__((cleanup(cleanup_archive)))

/* ---- the bytes of the archive --------------------------------------------------------- */

static la_ssize_t input_read(struct archive *a, void *ctx, const void **p)
{
	struct input *in = ctx;
	ssize_t n = pread(in->fd, in->room, (size_t)MIN(sizeof(in->room), in->size - in->at), (off_t)in->at);

	if (n < 0) {
		archive_set_error(a, errno, "%s", err_text(errno));
		return ARCHIVE_FATAL;
	}
	in->at += (uint64_t)n;
	*p = in->room;
	return n;
}

static la_int64_t input_skip(struct archive *a, void *ctx, la_int64_t n)
{
	struct input *in = ctx;
	uint64_t step = MIN((uint64_t)MAX(n, 0), in->size - in->at);

	in->at += step;
	return (la_int64_t)step;
}

static la_int64_t input_seek(struct archive *a, void *ctx, la_int64_t off, int whence)
{
	struct input *in = ctx;
	int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)in->at : (int64_t)in->size, to;

	if (__builtin_add_overflow(from, off, &to) || to < 0 || (uint64_t)to > in->size)
		return ARCHIVE_FATAL;
	in->at = (uint64_t)to;
	return to;
}

/* The bytes of a member of another archive: data.tar of a Debian package. */
static la_ssize_t outer_read(struct archive *a, void *ctx, const void **p)
{
	static uint8_t room[64 << 10];
	struct reading *outer = ctx;
	ssize_t n = archive_read_data(outer->a, room, sizeof(room));

	*p = room;
	if (n < 0)
		archive_set_error(a, EBADMSG, "%s", archive_error_string(outer->a));
	return n < 0 ? ARCHIVE_FATAL : n;
}

static void allow_filters(struct archive *a)
{
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_zstd(a);
}

static void allow_kind(struct archive *a, enum archive_kind kind)
{
	if (kind == ARCHIVE_7Z)
		archive_read_support_format_7zip(a);
	if (kind == ARCHIVE_DEB)
		archive_read_support_format_ar(a);
	if (kind == ARCHIVE_RPM) {
		archive_read_support_filter_rpm(a);
		archive_read_support_format_cpio(a);
	}
	if (kind == ARCHIVE_TAR || kind == ARCHIVE_PACKED_TAR || kind == ARCHIVE_PACKED)
		archive_read_support_format_tar(a);
	if (kind == ARCHIVE_PACKED)
		archive_read_support_format_raw(a);
	if (kind == ARCHIVE_RPM || kind == ARCHIVE_PACKED_TAR || kind == ARCHIVE_PACKED)
		allow_filters(a);
}

/* ---- members --------------------------------------------------------------------------- */

static int lib_error(struct archive *a, struct err *e)
{
	const char *text = archive_error_string(a);

	return err_set(e, -EBADMSG, "is broken: %.200s", text ? text : "it cannot be unpacked");
}

/* Reads through archive_read_data(), which fills the holes of sparse members with zeros. */
static int lib_read(void *ctx, void *p, size_t *n, struct err *e)
{
	struct reading *r = ctx;
	ssize_t got = archive_read_data(r->a, p, *n);

	if (got < 0)
		return lib_error(r->a, e);
	*n = (size_t)got;
	return 0;
}

/* Skips the rest of a member. What has to be unpacked for this counts like other unpacked bytes. */
static int lib_skip(struct reading *r, struct err *e)
{
	const void *p;
	la_int64_t off;
	size_t n;
	int c = ARCHIVE_OK;

	if (!r->solid)
		return archive_read_data_skip(r->a) <= ARCHIVE_FATAL ? lib_error(r->a, e) : 0;
	while ((c = archive_read_data_block(r->a, &p, &n, &off)) == ARCHIVE_OK || c == ARCHIVE_WARN) {
		int spent = sender_spend(r->s, n, e);

		if (spent < 0)
			return spent;
	}
	return c <= ARCHIVE_FATAL ? lib_error(r->a, e) : 0;
}

static const char *lib_name(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname_utf8(entry);

	if (!name)
		name = archive_entry_pathname(entry);
	if (!name || strlen(name) > WIRE_NAME_MOST)
		return "";
	while (strncmp(name, "./", 2) == 0)
		name += 2;
	return name;
}

static int send_entry(struct reading *r, struct archive_entry *entry, bool raw, struct err *e)
{
	uint64_t size = archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry) : VIEW_UNKNOWN;
	const char *name = raw ? "" : lib_name(entry);

	if (archive_entry_is_encrypted(entry)) {
		struct err why;

		sender_refuse(r->s, name, size, err_set(&why, -ENOTSUP, "is encrypted"), &why);
		return 0;
	}
	r->s->flags = raw ? WIRE_RAW : 0;
	r->s->time = archive_entry_mtime_is_set(entry) ? archive_entry_mtime(entry) : 0;
	/* An error within a member was sent; one of the whole archive shows at the next member. */
	return sender_member(r->s, name, size, lib_read, r) == 1 ? lib_skip(r, e) : 0;
}

/* In an RPM package the last of several hard links has the bytes. */
static bool is_file(struct archive_entry *entry)
{
	return archive_entry_filetype(entry) == AE_IFREG &&
		(!archive_entry_hardlink(entry) || archive_entry_size(entry) > 0);
}

static int send_all(struct reading *r, struct err *e);

/* The files of a Debian package are in its member data.tar. */
static int send_inner(struct reading *outer, struct archive_entry *entry, struct err *e)
{
	_cleanup_archive_ struct archive *a = archive_read_new();
	struct reading inner = {.s = outer->s, .a = a, .solid = true};

	if (strncmp(lib_name(entry), "data.tar", 8) != 0)
		return lib_skip(outer, e);
	if (!a)
		return err_set(e, -EBADMSG, "%s", err_text(ENOMEM));
	allow_filters(a);
	archive_read_support_format_tar(a);
	if (archive_read_open2(a, outer, NULL, outer_read, NULL, NULL) != ARCHIVE_OK)
		return lib_error(a, e);
	return send_all(&inner, e);
}

/* Sends the members that are regular files. */
static int send_all(struct reading *r, struct err *e)
{
	struct archive_entry *entry;
	int c, done = 0;

	while (done == 0 && (c = archive_read_next_header(r->a, &entry)) != ARCHIVE_EOF) {
		int format = archive_format(r->a) & ARCHIVE_FORMAT_BASE_MASK;

		if (c <= ARCHIVE_FATAL || c == ARCHIVE_FAILED)
			return lib_error(r->a, e);
		done = sender_count(r->s, e);
		if (done < 0 || c == ARCHIVE_RETRY)
			continue;
		if (format == ARCHIVE_FORMAT_AR)
			done = send_inner(r, entry, e);
		else if (is_file(entry))
			done = send_entry(r, entry, format == (ARCHIVE_FORMAT_RAW & ARCHIVE_FORMAT_BASE_MASK), e);
		else
			done = lib_skip(r, e);
	}
	return done;
}

/* 0: all members were sent; -errno: `e` has the error of the archive itself. */
static int unarchive_lib(struct sender *s, int fd, uint64_t size, enum archive_kind kind, struct err *e)
{
	static struct input in;
	_cleanup_archive_ struct archive *a = archive_read_new();
	struct reading r = {.s = s, .a = a, .solid = kind != ARCHIVE_TAR && kind != ARCHIVE_DEB};

	if (!a)
		return err_set(e, -EBADMSG, "%s", err_text(ENOMEM));
	in = (struct input){.fd = fd, .size = size};
	allow_kind(a, kind);
	archive_read_set_read_callback(a, input_read);
	archive_read_set_skip_callback(a, input_skip);
	archive_read_set_seek_callback(a, input_seek);
	archive_read_set_callback_data(a, &in);
	if (archive_read_open1(a) != ARCHIVE_OK)
		return lib_error(a, e);
	return send_all(&r, e);
}

/* Sends the members of a zip archive, in the order of its directory. After a broken member the next one is read, and
 * no byte of the archive is unpacked for two members. Both need the directory, which libarchive does not show. */

static int zip_member_read(void *ctx, void *p, size_t *n, struct err *e)
{
	return zip_stream_read(ctx, p, n, e);
}

/* Whether a member is a directory or a link. */
static bool is_left_out(const struct zip_entry *entry)
{
	size_t n = strlen(entry->name);

	return entry->link || (n && entry->name[n - 1] == '/');
}

/* Subtracts the packed bytes of a member from those that no member has used so far: an archive can use the same
 * bytes for a million members. */
static int take_packed(const struct zip_entry *entry, uint64_t *left, struct err *e)
{
	if (entry->packed > *left)
		return err_set(e, -EBADMSG, "is broken: another member uses the same bytes");
	*left -= entry->packed;
	return 0;
}

static void send_zip_entry(struct sender *s, struct zip *z, const struct zip_entry *entry, uint64_t *left)
{
	struct zip_stream *stream = NULL;
	struct err e = {0};
	int r = take_packed(entry, left, &e);

	s->time = entry->time;
	if (r == 0)
		r = zip_stream_open(&stream, z, entry, &e);
	if (r == 0)
		sender_member(s, entry->name, entry->size, zip_member_read, stream);
	else
		sender_refuse(s, entry->name, entry->size, r, &e);
	zip_stream_close(stream);
}

/* As unarchive_lib(). */
static int unarchive_zip(struct sender *s, int fd, uint64_t size, struct err *e)
{
	struct view v = view_of_fd(fd, size);
	struct zip_entry entry;
	uint64_t left = size;
	struct zip z;
	int r = zip_open(&z, &v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is cut short: the archive has no end");
	while (r == 0) {
		r = zip_next(&z, &entry, e);
		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = sender_count(s, e);
		else
			s->nth++; /* the error is about the next member */
		if (r == 0 && !is_left_out(&entry))
			send_zip_entry(s, &z, &entry, &left);
	}
	return r;
}

static int work(struct sender *s, char **argv, struct err *e)
{
	static const struct worker_filter filter = {.more = {"writev"}, .done = "unpacked"};
	static uint8_t head[ARCHIVE_HEAD];
	enum archive_kind kind;
	struct worker_word word;
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(WIRE_ARCHIVE, &st) < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive converts names to its character set */
	r = worker_enter(argv, &filter, 0, &word, e);
	if (r < 0)
		return r;
	n = pread(WIRE_ARCHIVE, head, sizeof(head), 0);
	if (n < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	kind = archive_kind(head, (size_t)n);
	return kind == ARCHIVE_ZIP ? unarchive_zip(s, WIRE_ARCHIVE, (uint64_t)st.st_size, e)
				   : unarchive_lib(s, WIRE_ARCHIVE, (uint64_t)st.st_size, kind, e);
}

int main(int argc, char **argv)
{
	static struct sender s;
	struct err e = {0};
	int r;

	worker_arguments(argc, argv, 2);
	s.limits.bytes = strtoull(argv[4], NULL, 10);
	s.limits.members = strtoull(argv[5], NULL, 10);
	r = work(&s, argv, &e);
	send_result(&s, WIRE_DONE, r, &e);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(0);
}
