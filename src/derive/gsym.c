/* GSYM of debug files: its derive_kind, and the call of the worker process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "derive/private.h"

#define SECONDS 120 /* the time limit of a worker process */
/* Increase this number when the converter's output for the same input changes, or when it rejects other files. Stored
 * files are then made again, and remembered faults no longer count. */
#define MAKER_NUMBER "10"

/* Gives the worker process another file, or allows it to ask for the file. */
static void gsym_offer(const struct lack *l, struct gsym_work_file *out)
{
	out->ask = l->state == LACK_UNKNOWN;
	out->fd = l->state == LACK_HERE ? blob_fd(l->blob) : -1;
}

void derive_work_opts(struct conversion *c, struct gsym_work_lack *lack, bool *bare, struct gsym_work *out)
{
	*out = (struct gsym_work){.seconds = SECONDS, .stop = &c->stop, .form = derive_form(&c->a),
		.memory = derive_memory(c->d), .unsandboxed = fetch_opts(c->d->fetch)->allow_unsandboxed,
		.bare = bare, .lack = lack};
	gsym_offer(&c->alt, &out->alt);
	gsym_offer(&c->package, &out->package);
	out->units = (struct gsym_work_file){.ask = c->units.state == LACK_UNKNOWN,
		.fd = c->found ? draft_fd(c->found) : -1};
}

void derive_tell_bare(struct conversion *c, bool bare)
{
	if (bare && !atomic_exchange(&c->d->warned, true))
		log_warn("workers convert without a system-call filter, which cannot be set here: "
			"allow-unsandboxed = yes");
}

static int make_gsym(struct conversion *c, int *fd, struct gsym_work_lack *lack, struct err *e)
{
	bool bare = false;
	struct gsym_work o;
	int r;

	derive_work_opts(c, lack, &bare, &o);
	r = gsym_work(&o, blob_fd(c->in), fd, e);
	derive_tell_bare(c, bare);
	return r;
}

const struct derive_kind derive_gsym = {
	.name = "gsym",
	.type = FILETYPE_GSYM,
	.maker = "symfs gsym " MAKER_NUMBER,
	.faults = {[DERIVE_NOTHING] = "gsym-" MAKER_NUMBER, [DERIVE_BROKEN] = "gsym-failed-" MAKER_NUMBER,
		[DERIVE_SLOW] = "gsym-slow", [DERIVE_SHORT] = "gsym-memory"},
	.make = make_gsym,
};
