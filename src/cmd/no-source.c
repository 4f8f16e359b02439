/* Checks which directory sources do not exist, and prints advice if no source can answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/no-source.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/places.h"
#include "source/kinds.h"
#include "source/sources.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ASK_MS 1000

/* ---- directories --------------------------------------------------------------------- */

#define HERE 'h'
#define MISSING 'm'
#define A_FILE 'f'

struct dirs {
	const char **path;
	unsigned n;
};

/* Runs in the child. Writes the letter MISSING, A_FILE or HERE for each directory. */
static void child_look(void *ctx, int to)
{
	const struct dirs *d = ctx;

	for (unsigned i = 0; i < d->n; i++) {
		struct stat st;
		int r = stat(d->path[i], &st) < 0 ? -errno : 0;
		char letter = r == -ENOENT || r == -ENOTDIR ? MISSING : r == 0 && S_ISREG(st.st_mode) ? A_FILE : HERE;

		if (write(to, &letter, 1) != 1)
			return;
	}
}

/* Puts the child's letters for the directories into `out`, in order. A directory that hangs ends the letters
 * early. */
static void look(struct dirs *d, struct buf *out)
{
	struct ask a = {.text = BUF_UP_TO(4096)};

	if (d->n && ask_start(&a, child_look, d) == 0)
		ask_wait(&a, 1, ASK_MS);
	*out = a.text;
}

/* What is wrong with directory `i`; NULL: nothing, or it hangs. */
static const char *fault_of(const struct buf *letters, unsigned i)
{
	char letter = i < letters->n ? letters->p[i] : HERE;

	return letter == MISSING ? "there is no such directory"
	       : letter == A_FILE ? "is a file; name its directory"
				  : NULL;
}

int no_source_check(const char *const *words, unsigned n, bool warn, struct err *e)
{
	_cleanup_free_ const char **path = calloc(n + 1, sizeof(char *));
	_cleanup_buf_ struct buf letters = {0}, room = BUF_UP_TO(64 << 10);
	struct dirs d = {path, 0};
	int r = 0;

	if (!path)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++)
		if ((path[d.n] = place_path(words[i])))
			d.n++;
	look(&d, &letters);
	for (unsigned i = 0; i < d.n && r == 0; i++) {
		const char *fault = fault_of(&letters, i);

		if (fault && warn)
			log_warn("source %s: %s", path[i], fault);
		else if (fault)
			r = err_set(e, -EINVAL, "--source %.300s: %s", text_shown(path[i], true, &room), fault);
	}
	return r;
}

/* ---- no source at all ---------------------------------------------------------------- */

struct advice {
	FILE *to;
	const char *command;
};

static void advise_mount(void *ctx, const char *mount)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);
	struct advice *a = ctx;

	fprintf(a->to, "  symfs %s --config %s/.symfs/config ...    asks the sources of this mount\n", a->command,
		text_shown(mount, true, &room));
}

void no_source_mounts(FILE *to, const char *command, const char *cache_dir)
{
	mounts_of_store(cache_dir, advise_mount, &(struct advice){to, command});
}

const char *no_source_advice(const struct app_args *a)
{
	return a->offline ? "--offline leaves out all servers"
	       : a->no_default_sources ? "--no-default-sources leaves out the configured ones; " NO_SOURCE_NAMES
				       : NO_SOURCE_ADVICE;
}

void no_source_warn(const struct sources *so, const struct app_args *a)
{
	_cleanup_free_ const char **path = calloc(so->n + 1, sizeof(char *));
	_cleanup_buf_ struct buf letters = {0};
	struct dirs d = {path, 0};
	unsigned missing = 0;

	for (unsigned i = 0; path && i < so->n; i++)
		if (so->list[i]->kind->local)
			path[d.n++] = so->list[i]->o.path ? so->list[i]->o.path : so->list[i]->shown;
	look(&d, &letters);
	for (unsigned i = 0; i < d.n; i++) {
		const char *fault = fault_of(&letters, i);

		if (!fault)
			continue;
		missing++;
		log_warn("source %s: %s", path[i], fault);
	}
	if (so->n == missing)
		cmd_say(0, "%s, so only stored files will be found; %s",
			so->n ? "no source can answer" : "no source is in use", no_source_advice(a));
}

void no_source_hint(const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (place_is_native_url(words[i]))
			cmd_say(0, "--source %.300s: asked in the layout native; for a debuginfod server write "
				"debuginfod@URL, for others LAYOUT@URL (symfs-layouts(7))",
				strchr(words[i], '@') ? "a URL" : words[i]);
}
