/* Identifies the members of an archive, in memory: which keys each of them has. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "pack/unarchive/unarchive.h"
#include "pack/unpack/unpack.h"
#include "source/scan/private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* The parts of a large member that are kept in memory until it is identified: its front and its end. An ELF file has
 * its program headers and notes at the front, its section headers and their names at the end. */
#define FRONT (8u << 20)
#define END_PART (56u << 20)

struct copy {
	int fd;	       /* an unnamed file in memory; -1: none yet */
	uint64_t size; /* bytes of the member so far */
	uint64_t hole; /* the bytes from FRONT to this offset are not kept; 0: all are */
};

struct members {
	struct scan *s;
	const char *shown;
	struct unarchive *from;
	struct unarchive_member m; /* the present member */
	struct copy copy;
	struct buf out, keys; /* the text for all members; for the present member */
	struct buf names;     /* the digits of members without keys, not sorted yet */
	uint32_t n;	      /* members with keys */
	bool faulty;	      /* a line in the log says why */
};

/* ---- which files are archives ------------------------------------------------------- */

/* ---- faults -------------------------------------------------------------------------- */

/* Whether an error is of this machine and not of the archive. -EPERM: the worker could not set a system-call filter.
 * -ETIME: the worker made no progress. */
static bool is_trouble(int r)
{
	static const int all[] = {ENOMEM, EINTR, EIO, ENOSPC, EPERM, ETIME, EMFILE, ENFILE};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		if (r == -all[i])
			return true;
	return false;
}

static void log_fault(const struct members *a, bool of_member, const char *why)
{
	if (of_member && a->m.name[0])
		log_warn("%s: member %s %s", a->shown, a->m.name, why);
	else if (of_member)
		log_warn("%s: member %" PRIu64 " %s", a->shown, a->m.nth, why);
	else
		log_warn("%s: %s", a->shown, why);
}

/* Logs the first fault of an archive. It is not a fault that the process ends. If this machine has the same trouble
 * with many archives, only the first of them is logged. */
static void fault(struct members *a, bool of_member, int r, const char *why)
{
	if (atomic_load(&a->s->stopping))
		return;
	if (!a->faulty && is_trouble(r) && atomic_exchange(&a->s->trouble, r) == r)
		log_debug(LOG_FETCH, "%s: %s", a->shown, why);
	else if (!a->faulty)
		log_fault(a, of_member, why);
	a->faulty = true;
}

/* ---- a copy of a member in memory ---------------------------------------------------- */

static void copy_clear(struct copy *c)
{
	if (c->hole && c->fd >= 0 && ftruncate(c->fd, 0) < 0)
		c->hole = 0; /* the memory is freed with the descriptor */
	c->size = c->hole = 0;
}

/* Appends bytes. Gives the memory between the front and the end of a large member back to the system. */
static int copy_add(struct copy *c, const uint8_t *p, size_t n)
{
	uint64_t end;

	if (c->fd < 0)
		c->fd = memfd_create("member", MFD_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	if (pwrite(c->fd, p, n, (off_t)c->size) != (ssize_t)n)
		return -ENOMEM;
	c->size += n;
	end = c->size > FRONT + END_PART ? c->size - END_PART : 0;
	if (end < (c->hole ? c->hole : FRONT) + FRONT)
		return 0;
	c->hole = end & ~(uint64_t)0xfff;
	return fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FRONT, (off_t)(c->hole - FRONT)) < 0
		? -errno : 0;
}

static bool copy_has(const void *ctx, uint64_t off, uint64_t n)
{
	const struct copy *c = ctx;

	return !c->hole || off >= c->hole || (off < FRONT && n <= FRONT - off);
}

/* ---- one member ---------------------------------------------------------------------- */

/* Goes to the next member. A name with control characters counts as no name: no line of text can hold it. */
static int next_member(struct members *a, struct err *e)
{
	int r = unarchive_next(a->from, &a->m, e);

	for (const char *p = a->m.name; r == 0 && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			a->m.name[0] = '\0';
	return r;
}

/* Writes the present member and its keys to the text. */
static int put_member(struct members *a, uint64_t size)
{
	buf_addf(&a->out, "\t%" PRIu64 " %" PRIu64 " %s\n%s", a->m.nth, size, a->m.name, buf_text(&a->keys));
	a->n += a->out.r == 0;
	return a->out.r;
}

/* Identifies what a view shows of the member. 0: the keys are in a->keys; -EAGAIN: the view lacks bytes; -ENOMSG and
 * others: the member is not a symbol file, or broken. */
static int identify(struct members *a, struct view *v)
{
	char name[MODULE_NAME_MAX];
	int r;

	if (a->m.raw)
		unpack_name(a->shown, name, sizeof(name));
	else
		obj_base_name(name, a->m.name, strlen(a->m.name));
	buf_clear(&a->keys);
	r = add_slices(v, name, &a->keys);
	return r == -ENOENT ? 0 : r;
}

/* Reads the member to its end. -errno: the member cannot be unpacked, or the worker failed; `e` has the reason. */
static int copy_member(struct members *a, const uint8_t *p, size_t n, struct err *e)
{
	int r = 0;

	copy_clear(&a->copy);
	while (r == 0 && n) {
		r = copy_add(&a->copy, p, n);
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
		r = unarchive_read(a->from, &p, &n, e);
	}
	return r;
}

static int identify_copy(struct members *a)
{
	struct view v = view_of_holes(a->copy.fd, a->copy.size, copy_has, &a->copy);
	int r = identify(a, &v);

	if (r == -EAGAIN)
		fault(a, true, r, "is too large to be identified: its front and its end do not show what it is");
	return r == 0 && a->keys.n ? put_member(a, a->copy.size) : r;
}

/* Identifies the present member by its first bytes, or by all of it. 0; -errno: trouble. */
static int take_member(struct members *a)
{
	uint32_t before = a->n;
	struct err e = {0};
	const uint8_t *p;
	struct view v;
	size_t n;
	int r = unarchive_head(a->from, &p, &n, &e);

	if (r < 0) {
		fault(a, true, r, e.text);
		return is_trouble(r) ? r : 0;
	}
	v = view_of_mem(p, n);
	if (n == WIRE_BYTES_MOST)
		v.size = a->m.size;
	r = identify(a, &v);
	if (r == 0 && a->keys.n)
		r = put_member(a, n == WIRE_BYTES_MOST && a->m.size != VIEW_UNKNOWN ? a->m.size : n);
	if (r == -EAGAIN) {
		r = copy_member(a, p, n, &e);
		if (r < 0)
			fault(a, true, r, e.text);
		else
			r = identify_copy(a);
	}
	if (a->n == before && !a->m.raw && a->m.name[0] && buf_addf(&a->names, "%s%0*" PRIx64, a->names.n ? "" : "n",
			NAME_DIGITS, scan_name_number(a->m.name) >> (64 - 4 * NAME_DIGITS)) == -ENOMEM)
		return -ENOMEM;
	return is_trouble(r) ? r : 0;
}

/* ---- all members --------------------------------------------------------------------- */

static int start(struct members *a, int fd, uint64_t size, struct err *e)
{
	struct unarchive_opts o = {.program = a->s->worker,
		.unsandboxed = a->s->unsandboxed,
		.stop = &a->s->stopping,
		.limits = {unarchive_bytes_most(size), UNARCHIVE_MEMBERS_MOST}};

	return unarchive_open(&a->from, &o, fd, e);
}

static int take_members(struct members *a, int fd, uint64_t size)
{
	struct err e = {0};
	int r = start(a, fd, size, &e), trouble = r;

	while (r == 0 && trouble == 0) {
		r = next_member(a, &e);
		if (r == 0 && (a->n == SCAN_MEMBERS || a->out.n > SCAN_KEYS_TEXT / 2)) {
			fault(a, false, 0, "has too many symbol files; the others are left out");
			break;
		}
		if (r == 0)
			trouble = take_member(a);
		if (r == 0 && a->m.raw) /* the content of a compressed file: nothing follows */
			break;
	}
	if (r < 0 && r != -ENOENT) {
		fault(a, false, r, e.text);
		trouble = is_trouble(r) ? r : trouble;
	}
	return trouble;
}

int archive_keys(struct scan *s, int fd, uint64_t size, const char *shown, char **keys, uint32_t *members,
	enum scan_kind *kind)
{
	struct members *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	*a = (struct members){.s = s, .shown = shown, .copy = {.fd = -1}, .out = BUF_UP_TO(SCAN_KEYS_TEXT),
		.keys = BUF_UP_TO(SLICES_MOST * OBJ_KEYS_MOST * (KEY_TEXT + WORTH_TEXT)),
		.names = BUF_UP_TO(SCAN_KEYS_TEXT)};
	r = take_members(a, fd, size);
	unarchive_close(a->from);
	if (r == 0 && a->names.n) {
		qsort(a->names.p + 1, a->names.n / NAME_DIGITS, NAME_DIGITS, compare_names);
		r = buf_addf(&a->names, "\n%s", buf_text(&a->out));
	}
	if (r == 0) {
		*keys = a->out.n || a->names.n ? buf_take(a->names.n ? &a->names : &a->out, NULL) : NULL;
		*members = a->n;
		*kind = SCAN_ARCHIVE;
		atomic_store(&s->trouble, 0);
	}
	if (a->faulty)
		*kind = SCAN_ARCHIVE_FAULTY;
	buf_release(&a->out);
	buf_release(&a->keys);
	buf_release(&a->names);
	if (a->copy.fd >= 0)
		close(a->copy.fd);
	free(a);
	return r;
}

/* ---- keys of a file as text: one on each line, after the worth of the file  ---------- */

int known_key(const char *line, size_t n, struct key *k, struct worth *w)
{
	const char *tab = memchr(line, '\t', n);
	size_t head = tab ? (size_t)(tab - line) : 0;
	char text[KEY_TEXT], worth[WORTH_TEXT];
	struct worth own;

	if (!tab || head >= sizeof(worth) || n - head > sizeof(text))
		return -EINVAL;
	snprintf(worth, sizeof(worth), "%.*s", (int)head, line);
	snprintf(text, sizeof(text), "%.*s", (int)(n - head - 1), tab + 1);
	worth_parse(w ? w : &own, worth);
	return key_parse(k, text);
}

static int add_keys(struct obj_slice *slice, const char *name, struct buf *out)
{
	struct key keys[OBJ_KEYS_MOST];
	char text[KEY_TEXT], worth[WORTH_TEXT];
	unsigned n;
	int r = 0;

	obj_take_name(slice, name);
	n = obj_keys(slice, keys);
	for (unsigned i = 0; r == 0 && i < n; i++)
		if (!strpbrk(key_text(&keys[i], text), "\t\r\n"))
			r = buf_addf(out, "%s\t%s\n", worth_text(&slice->worth, worth), text);
	return r;
}

int add_slices(struct view *v, const char *name, struct buf *out)
{
	struct obj_slice slice;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SLICES_MOST; i++) {
		r = obj_identify(v, i, &slice, NULL);
		if (r == 0)
			r = add_keys(&slice, name, out);
	}
	return r;
}

/* ---- names of members without keys ---------------------------------------------------- */

uint64_t scan_name_number(const char *name)
{
	_cleanup_free_ char *full = NULL, *path = NULL;

	if (asprintf(&full, "/%s", name) < 0)
		full = NULL;
	path = full ? path_absolute(full) : NULL;
	return path ? hash_mix(path, strlen(path)) : 0;
}

const char *names_of(const struct scan_file *f, size_t *n)
{
	bool has = (f->kind == SCAN_ARCHIVE || f->kind == SCAN_ARCHIVE_FAULTY) && f->keys && *f->keys == 'n';

	*n = has ? (strcspn(f->keys, "\n") - 1) / NAME_DIGITS : 0;
	return has ? f->keys + 1 : NULL;
}

int compare_names(const void *a, const void *b)
{
	return memcmp(a, b, NAME_DIGITS);
}

int scan_debug_key(const char *build_id, struct artifact *a, struct key *k)
{
	*a = (struct artifact){.type = FILETYPE_ELF_DEBUG, .m = {.object = OBJECT_ELF}};
	snprintf(a->m.code_id, sizeof(a->m.code_id), "%s", build_id);
	return key_of(k, a);
}
