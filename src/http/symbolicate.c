/* POST /symbolicate. The thread of the connection answers small requests whose modules are ready. Another answer can
 * take as long as the download of all modules, so a worker makes it while the connection waits.
 * POST /symbolicate/minidump: the stacks of a minidump, with names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "http/upload/upload.h"
#include "names/layout/name.h"
#include "stacks/recognize/recognize.h"
#include "stacks/stacks.h"
#include "stacks/walk/walk.h"

#include <string.h>
#include <strings.h>

static bool is_on(struct exchange *x, const char *name)
{
	char value[8];

	return route_query(x->route->query, name, value, sizeof(value)) && strcmp(value, "0") != 0 &&
	       strcmp(value, "false") != 0;
}

/* A module without a file counts as a request for the debug file that its name and identifiers suggest. */
static void note_missing(void *ctx, const struct module *m, bool exports, const char *why, const char *failed)
{
	struct exchange *x = ctx;
	struct artifact a = {.type = name_ends(m->debug_file, ".pdb") ? FILETYPE_PDB
				     : m->code_id[0] && m->object != OBJECT_PE ? FILETYPE_ELF_DEBUG
									       : FILETYPE_BREAKPAD,
		.m = *m};
	struct key k;

	if (failed || exports)
		return;
	if (key_of(&k, &a) < 0) {
		a.type = FILETYPE_BREAKPAD;
		if (key_of(&k, &a) < 0)
			return;
	}
	if (missed_note(x->space->missed, &k))
		missed_save(x->space->missed);
}

/* Reads the options of a symbolication from the query and the head. Any value of Debug counts, even "false", as in
 * Mozilla's service. */
static void symbolicate_flags(struct exchange *x, struct symb_flags *out)
{
	const char *debug = exchange_header(x, "Debug");

	*out = (struct symb_flags){
		.debug = debug && *debug,
		.lenient = is_on(x, "lenient"),
		.demangle = is_on(x, "demangle"),
		.function_size = is_on(x, "function_size"),
		.module_errors = is_on(x, "module_errors"),
		.missing = note_missing,
		.ctx = x,
		.gone = &x->left,
	};
}

/* ---- text ---------------------------------------------------------------------------- */

static bool is_text(const struct exchange *x)
{
	return strcmp(x->route->api, "text") == 0;
}

static bool is_packed(struct exchange *x)
{
	const char *coding = exchange_header(x, "Content-Encoding");

	return coding && *coding && strcasecmp(coding, "identity") != 0;
}

/* Answers a text with the same text and names in it. No path of this machine that the text names is opened. Returns
 * the HTTP status. */
static int symbolicate_text(struct exchange *x, struct span body)
{
	struct recognized *r = NULL;
	struct err e = {0};
	int status = recognize_read(&r, body);

	x->flags.demangle = true;
	if (status == 0) {
		status = recognize_name(r, x->space->symb, x->space->fetch, &x->flags, &x->reply, &e);
		if (status < 0)
			buf_addf(&x->reply, "%s\n", e.text);
		recognized_free(r);
	}
	return symb_status(status);
}

/* ---- requests ------------------------------------------------------------------------- */

static void symbolicate_work(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	struct span body = {(const uint8_t *)x->body.p, x->body.n};

	x->symb_status = atomic_load(&x->left) ? 503
			 : is_text(x)	       ? symbolicate_text(x, body)
			 : symb_answer(x->space->symb, symb_api_find(x->route->api), body, &x->flags, &x->reply);
	exchange_drop_body(x);
	atomic_fetch_sub(&h->jobs, 1);
	exchange_resume(x);
}

/* Answers without waiting, if that is possible. */
static bool answers_now(struct exchange *x)
{
	struct span body = {(const uint8_t *)x->body.p, x->body.n};

	symbolicate_flags(x, &x->flags);
	if (is_text(x))
		return false;
	x->symb_status = symb_try(x->space->symb, symb_api_find(x->route->api), body, &x->flags, &x->reply);
	return x->symb_status != -EAGAIN;
}

static enum MHD_Result symbolicate_handle(struct exchange *x)
{
	struct http *h = x->h;

	if (x->step != STEP_ANSWER && answers_now(x)) {
		exchange_drop_body(x);
		x->step = STEP_ANSWER;
	}
	if (x->step == STEP_ANSWER)
		return exchange_buf(x, x->symb_status, is_text(x) ? PLAIN : "application/json", "no-store",
			&x->reply);
	if (is_text(x) && is_packed(x))
		return exchange_plain(x, 415, "send the text without Content-Encoding\n");
	if (!http_admit(&h->jobs, HTTP_JOBS_MOST))
		return exchange_text(x, 503, "application/json", "no-store",
			"{\"title\": \"too many requests are waiting\"}");
	if (!exchange_post(x, STEP_ANSWER, h->workers, symbolicate_work))
		atomic_fetch_sub(&h->jobs, 1);
	return MHD_YES;
}

const struct handler symbolicate_handlers[] = {{ROUTE_SYMBOLICATE, symbolicate_handle}, {ROUTE_NONE, NULL}};

/* ---- minidumps ------------------------------------------------------------------- */

#define FIELD "upload_file_minidump"
#define MINIDUMP_MOST (64u << 20) /* bytes of a minidump */
#define FORM_MOST (1u << 20) /* bytes of a form beside the minidump */

/* A minidump that is received or answered: one of the places of the server. */
struct minidump_job {
	struct http *h; /* NULL: the place was given back */
	struct draft *draft;
};

static void give_back(struct minidump_job *j)
{
	if (j->h)
		atomic_fetch_sub(&j->h->minidumps, 1);
	j->h = NULL;
	draft_discard(take(j->draft));
}

static void job_release(void *ctx)
{
	if (ctx)
		give_back(ctx);
	free(ctx);
}

/* Refuses a coded body, and takes a place of the server. 0, or the status of a refusal. */
static int minidump_admit(struct exchange *x)
{
	struct minidump_job *j;

	if (is_packed(x))
		return upload_refuse(x, 415, "send the minidump without Content-Encoding");
	j = upload_ctx(x, sizeof(*j));
	if (!j)
		return x->upload->status;
	j->h = x->h;
	if (atomic_fetch_add(&x->h->minidumps, 1) < HTTP_MINIDUMPS_MOST)
		return 0;
	give_back(j);
	return upload_refuse(x, 503, "%d minidumps are being answered, the limit of this server; try again later",
		HTTP_MINIDUMPS_MOST);
}

/* Other files of the form are ignored, as its fields are. */
static int minidump_file(struct exchange *x, struct upload_file *f)
{
	struct minidump_job *j = x->upload->ctx;

	if (f->name[0] && strcmp(f->name, FIELD) != 0)
		return 0;
	if (j->draft)
		return upload_refuse(x, 400, "the form has several files " FIELD);
	j->draft = take(f->draft);
	return 0;
}

static bool wants_json(struct exchange *x)
{
	const char *accept = exchange_header(x, "Accept");

	return route_has_flag(x->route->query, "json") || (accept && strstr(accept, "application/json"));
}

static int refuse_dump(struct exchange *x, int r, const char *why)
{
	if (r == -ENOMSG || r == -EBADMSG || r == -ENODATA)
		return upload_refuse(x, 400, "%s", why);
	if (r == -E2BIG || r == -EFBIG)
		return upload_refuse(x, 413, "%s", why);
	return upload_refuse(x, 503, "%s", r == -EINTR ? "the server is stopping; try again later" : why);
}

/* Adds the stacks of a minidump to the reply. */
static int answer(struct exchange *x, struct view *dump, bool json, struct err *e)
{
	const struct walk_source from = {.fetch = x->space->fetch, .derive = x->space->derive,
		.stop = &x->h->stopping, .gone = &x->left};
	struct stacks s = {0};
	int r = walk_minidump(&s, dump, &from, e);

	if (r == 0)
		r = stacks_print(&s, x->space->symb, &x->flags, json, &x->reply, e);
	if (r == 0 && json)
		r = buf_adds(&x->reply, "\n");
	stacks_release(&s);
	return r;
}

static int minidump_done(struct exchange *x)
{
	struct minidump_job *j = x->upload->ctx;
	bool json = wants_json(x);
	struct err e = {0};
	struct view v;
	int r;

	if (!j->draft)
		return upload_refuse(x, 400, "the form has no file " FIELD);
	symbolicate_flags(x, &x->flags);
	x->flags.demangle |= !json;
	v = view_of_fd(draft_fd(j->draft), draft_size(j->draft));
	r = answer(x, &v, json, &e);
	give_back(j);
	return r < 0 ? refuse_dump(x, r, e.text) : upload_answer(x, 200, json ? "application/json" : PLAIN);
}

const struct upload_ops upload_minidump[] = {
	{ROUTE_MINIDUMP, .takes = exchange_has_parts, .body = UPLOAD_FORM, .most = MINIDUMP_MOST + FORM_MOST,
		.file_most = MINIDUMP_MOST, .answers = true, .admit = minidump_admit, .file = minidump_file,
		.done = minidump_done, .release = job_release},
	{ROUTE_MINIDUMP, .body = UPLOAD_FILE, .most = MINIDUMP_MOST, .file_most = MINIDUMP_MOST, .answers = true,
		.admit = minidump_admit, .file = minidump_file, .done = minidump_done, .release = job_release},
	{ROUTE_NONE}};
