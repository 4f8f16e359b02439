/* Adds tokens to the file, and removes them. The directory's lock keeps other writers out; a rename replaces the
 * file, so a server reads the old file or the new one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that is changed, with its directory locked. */
struct editing {
	char *path, *copy; /* `copy`: what dirname() cuts */
	const char *dir, *name;
	int dirfd;
	struct stat st; /* of the old file */
	bool is_new;
	char *text;
	struct token_list list;
};

static void editing_release(struct editing *ed)
{
	if (ed->dirfd >= 0)
		close(ed->dirfd);
	tokens_release(&ed->list);
	free(ed->text);
	free(ed->copy);
	free(ed->path);
}

/* Whether the path is a link. readlink() fails for any other file. */
static bool is_link(const char *path)
{
	char target;

	return readlink(path, &target, 1) >= 0;
}

/* Reads the old file, if there is one. A link is followed, so that the file it leads to is replaced. A link that
 * leads to no file is an error: a new file would replace the link itself. */
static int editing_open(struct editing *ed, const char *path, struct err *e)
{
	int r;

	ed->path = realpath(path, NULL);
	if (!ed->path && errno != ENOENT)
		return err_set(e, -errno, "%s: %s", path, err_text(errno));
	if (!ed->path && is_link(path))
		return err_set(e, -ENOENT, "%s: this link leads to no file; remove it, or make the file", path);
	if (!ed->path)
		ed->path = path_absolute(path);
	ed->copy = ed->path ? strdup(ed->path) : NULL;
	if (!ed->copy)
		return err_set(e, -ENOMEM, "out of memory");
	ed->name = path_base(ed->path);
	ed->dir = dirname(ed->copy);
	ed->dirfd = open(ed->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ed->dirfd < 0 || flock(ed->dirfd, LOCK_EX) < 0)
		return err_set(e, -errno, "%s: %s", ed->dir, err_text(errno));
	r = fstatat(ed->dirfd, ed->name, &ed->st, 0) < 0 ? -errno : 0;
	ed->is_new = r == -ENOENT;
	if (ed->is_new) {
		ed->text = strdup(TOKENS_MAGIC "\n# written by `symfs token`: SHA256 NAME RIGHTS UNTIL NAMESPACE\n");
		r = ed->text ? 0 : -ENOMEM;
	} else if (r == 0) {
		r = tokens_read(ed->path, false, &ed->text, e);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return err_set(e, r, "%s: %s", ed->path, err_text(r));
	r = tokens_parse(&ed->list, ed->path, ed->text, e);
	if (r == 0 && ed->list.bare)
		return err_set(e, -EINVAL, "%s: the file holds one bare token of an older version: choose another "
			"file", ed->path);
	return r;
}

struct writing {
	const struct editing *ed;
	const struct buf *text;
};

static int fill_new(void *ctx, int fd)
{
	const struct writing *w = ctx;
	int r = w->ed->is_new || fchown(fd, w->ed->st.st_uid, w->ed->st.st_gid) == 0 ? 0 : -errno;

	if (r == 0)
		r = write_all(fd, w->text->p, w->text->n);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* The new file gets the owner and mode of the old one: the server may run as another user. */
static int editing_write(struct editing *ed, const struct buf *text, struct err *e)
{
	mode_t mode = ed->is_new ? 0600 : ed->st.st_mode & 07777;
	int r = path_replace(ed->path, mode, fill_new, &(struct writing){ed, text});

	if (r == 0 && fsync(ed->dirfd) < 0)
		r = -errno;
	return r < 0 ? err_set(e, r, "%s: cannot be written: %s", ed->path, err_text(r)) : 0;
}

static const struct auth_token *named(const struct token_list *l, const char *name)
{
	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->tokens[i].name, name) == 0)
			return &l->tokens[i];
	return NULL;
}

static int check_new(const struct token_list *l, const struct auth_token *t, const char *path, struct err *e)
{
	if (!auth_name_ok(t->name))
		return err_set(e, -EINVAL, "%.100s: a name has letters, digits and ._@-, at most 63", t->name);
	if (!auth_space_ok(t->space))
		return err_set(e, -EINVAL, "%.100s: a namespace has lower-case letters, digits and -, at most 32",
			t->space);
	if (named(l, t->name))
		return err_set(e, -EEXIST, "%s: there is a token %s; remove it first: symfs token rm", path, t->name);
	return l->n < AUTH_TOKENS_MOST ? 0 : err_set(e, -E2BIG, "%s: has %u tokens already", path, l->n);
}

static int add_token(struct buf *out, const struct auth_token *t, const char *secret)
{
	char digest[SHA256_TEXT], rights[AUTH_RIGHTS_TEXT], until[24] = "-";

	sha256_text(secret, strlen(secret), digest);
	if (t->until)
		clock_print(t->until, until);
	return buf_addf(out, "%s %s %s %s %s\n", digest, t->name, auth_rights_text(t->rights, rights), until,
		t->space);
}

/* Copies all lines but the one with this number. */
static int copy_without(struct buf *out, const char *text, unsigned line)
{
	unsigned number = 0;

	for (size_t n; *text; text += n) {
		n = strcspn(text, "\n");
		n += text[n] == '\n';
		if (++number != line)
			buf_add(out, text, n);
	}
	return out->r;
}

/* Removes the token with the name `gone`, then adds `t`; either may be NULL. With both, the new one is as the removed
 * one, also in its end if t->until is 0. */
static int change(const char *path, const char *gone, const struct auth_token *t, char *secret, struct err *e)
{
	_cleanup_(editing_release) struct editing ed = {.dirfd = -1};
	_cleanup_buf_ struct buf text = BUF_UP_TO(TOKENS_BYTES);
	const struct auth_token *was = NULL;
	struct auth_token kept;
	char fresh[AUTH_SECRET];
	int r = editing_open(&ed, path, e);

	if (r == 0 && gone && !(was = named(&ed.list, gone)))
		r = err_set(e, -ENOENT, "%s: no token has the name %.100s", ed.path, gone);
	if (r == 0 && t && !was)
		r = check_new(&ed.list, t, ed.path, e);
	if (r < 0)
		return r;
	if (was && t) {
		kept = *was;
		kept.until = t->until ? t->until : was->until;
		t = &kept;
		if (t->until && t->until <= clock_wall())
			return err_set(e, -EINVAL, "%s has ended: --expires gives the new token an end", t->name);
	}
	r = copy_without(&text, ed.text, was ? was->line : 0);
	if (r == 0 && t && text.n && text.p[text.n - 1] != '\n')
		r = buf_adds(&text, "\n");
	if (r == 0 && t && (r = hex_random(32, fresh)) == 0)
		r = add_token(&text, t, fresh);
	r = r < 0 ? err_set(e, r, "%s: %s", ed.path, err_text(r)) : editing_write(&ed, &text, e);
	if (r == 0 && t)
		memcpy(secret, fresh, AUTH_SECRET);
	return r;
}

int auth_add(const char *path, const struct auth_token *t, bool replaces, char secret[static AUTH_SECRET],
	struct err *e)
{
	return change(path, replaces ? t->name : NULL, t, secret, e);
}

int auth_remove(const char *path, const char *name, struct err *e)
{
	return change(path, name, NULL, NULL, e);
}
