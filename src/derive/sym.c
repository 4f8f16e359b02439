/* Breakpad files that no source has: made of debug file and program, the program for its unwind rules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "derive/convert/worker.h"
#include "derive/private.h"
#include "formats/obj/obj.h"

#include <stdio.h>
#include <string.h>

/* Increase this number when the output for the same inputs changes. */
#define MAKER_NUMBER "5"

/* ---- the program ------------------------------------------------------------------------ */

/* Whether the file may have unwind rules. A debug file has them if its worth says so. The worth of a program does not
 * count: that of a PE file lacks .eh_frame. */
static bool may_have_rules(const struct blob *in, enum filetype of)
{
	const struct worth *w = &blob_facts(in)->worth;

	return filetypes[of].flags & TYPE_PROGRAM || (w->known ? w->unwind : of == FILETYPE_PDB);
}

static bool is_debug_file(enum filetype of)
{
	return of == FILETYPE_PDB || filetypes[of].flags & TYPE_DEBUG_FILE;
}

/* The program of a PDB is wanted for its code id, even if the PDB has unwind rules. */
bool derive_code_of(const struct artifact *a, enum filetype of, struct artifact *out)
{
	struct key k;

	if (!is_debug_file(of))
		return false;
	*out = *a;
	out->type = of == FILETYPE_PDB ? FILETYPE_PE : filetypes[of].twin;
	out->m.object = filetypes[of].object;
	out->m.path[0] = '\0';
	if (key_of(&k, out) == 0)
		return true;
	out->m.code_id[0] = '\0'; /* that of a PE file needs a name */
	return key_of(&k, out) == 0;
}

/* What a PE file says of itself. */
struct pe_code {
	char id[CODE_ID_MAX + 1], name[MODULE_NAME_MAX];
};

/* Whether the program is of the build that is asked for; writes what is known of a PE file. A PE file is found by its
 * time and size too, so its debug id is compared. The identifiers of other programs were compared when they came. */
static bool describe_code(const struct conversion *c, struct pe_code *out)
{
	const struct blob *b = c->of == FILETYPE_PE ? c->in : c->code;
	struct obj_slice s;
	struct view v;

	if (!b || (c->of != FILETYPE_PE && c->of != FILETYPE_PDB))
		return b;
	v = view_of_fd(blob_fd(b), blob_size(b));
	if (obj_identify(&v, 0, &s, NULL) < 0 ||
		(c->a.m.debug_id.set && !debug_id_equal(&s.module.debug_id, &c->a.m.debug_id)))
		return false;
	if (!blob_sha256(b)[0])
		obj_take_name(&s, path_base(blob_path(b)));
	snprintf(out->id, sizeof(out->id), "%s", s.module.code_id);
	snprintf(out->name, sizeof(out->name), "%s", c->code_name[0] ? c->code_name : s.module.code_file);
	return true;
}

/* ---- unwind rules ----------------------------------------------------------------------- */

/* Whether frames_text() fails in this way for the same file on every machine. */
static bool is_fault_of_file(int r)
{
	static const int faults[] = {-ENODATA, -ENOMSG, -ENOTSUP, -EBADMSG, -EFBIG, -ETIMEDOUT};

	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++)
		if (r == faults[i])
			return true;
	return false;
}

/* Reads the unwind rules of a file. *fd: the text; unchanged: the file has no rules that can be written. 0; others:
 * this machine is at fault, so nothing may be stored. -EAGAIN and -ENOENT have another meaning in make_with_all(), so
 * they become -EIO. */
static int read_rules_of(struct conversion *c, const struct blob *in, int *fd, struct err *e)
{
	bool bare = false;
	struct frames_work w = {.stop = &c->stop, .bare = &bare,
		.unsandboxed = fetch_opts(c->d->fetch)->allow_unsandboxed, .memory = derive_memory(c->d)};
	struct unwind_counts counts;
	struct err own = {0};
	int r;

	r = frames_text(&w, blob_fd(in), fd, &counts, &own);
	derive_tell_bare(c, bare);
	if (r < 0 && !is_fault_of_file(r))
		return err_set(e, r == -EAGAIN || r == -ENOENT ? -EIO : r, "%s", own.text);
	if (r < 0 && r != -ENODATA && r != -ENOMSG && r != -ENOTSUP)
		log_warn("%s, for its Breakpad file: %s", blob_path(in), own.text);
	return 0;
}

/* Reads the unwind rules of the program; if it has none, or was not found, those of the input, such as a PDB for x86.
 * *fd: the text, or -1: there are no rules. Returns as read_rules_of(). */
static int read_rules(struct conversion *c, bool with_code, int *fd, struct err *e)
{
	int r = 0;

	*fd = -1;
	if (with_code)
		r = read_rules_of(c, c->code, fd, e);
	if (r == 0 && *fd < 0 && may_have_rules(c->in, c->of))
		r = read_rules_of(c, c->in, fd, e);
	return r;
}

/* Appends the text to the file. */
static int append(int to, int from, struct err *e)
{
	_cleanup_free_ char *room = malloc(1 << 20);
	off_t at = lseek(to, 0, SEEK_END);
	ssize_t n = 0;

	if (!room || at < 0)
		return err_set(e, room ? -errno : -ENOMEM, "%s", err_text(room ? errno : ENOMEM));
	for (off_t done = 0; (n = pread(from, room, 1 << 20, done)) > 0; done += n)
		if (pwrite(to, room, (size_t)n, at + done) != n)
			return err_set(e, -EIO, "its unwind rules cannot be added");
	return n < 0 ? err_set(e, -errno, "%s", err_text(errno)) : 0;
}

/* ---- the file --------------------------------------------------------------------------- */

static int make_sym(struct conversion *c, int *fd, struct gsym_work_lack *lack, struct err *e)
{
	_cleanup_close_ int text = -1, rules = -1;
	struct pe_code code = {.id = ""};
	bool bare = false, fits = describe_code(c, &code);
	struct gsym_work o;
	int r = read_rules(c, c->code && fits, &rules, e);

	if (r < 0)
		return r;
	derive_work_opts(c, lack, &bare, &o);
	o.code_id = code.id;
	o.code_file = code.name;
	o.name = c->a.m.debug_file[0] ? c->a.m.debug_file : NULL;
	o.no_rules = rules < 0;
	r = gsym_work(&o, blob_fd(c->in), &text, e);
	/* The program was asked for functions, too, and has none: the rules alone are worth a file. */
	if (r == -ENODATA && rules >= 0 && !is_debug_file(c->of)) {
		o.bare_sym = true;
		r = gsym_work(&o, blob_fd(c->in), &text, e);
	}
	derive_tell_bare(c, bare);
	if (r == 0 && rules >= 0)
		r = append(text, rules, e);
	if (r == 0)
		*fd = take_fd(&text);
	return r;
}

const struct derive_kind derive_sym = {
	.name = "sym",
	.type = FILETYPE_SYM,
	.maker = "symfs sym " MAKER_NUMBER,
	.faults = {[DERIVE_NOTHING] = "sym-" MAKER_NUMBER, [DERIVE_BROKEN] = "sym-failed-" MAKER_NUMBER,
		[DERIVE_SLOW] = "sym-slow", [DERIVE_SHORT] = "sym-memory"},
	.wants_code = true,
	.make = make_sym,
};
