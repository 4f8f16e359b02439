/* POST /symbolicate. The thread of the connection answers small requests whose modules are ready. Another answer can
 * take as long as the download of all modules, so a worker makes it while the connection waits. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"
#include "layout/name.h"
#include "recognize/recognize.h"

#include <string.h>
#include <strings.h>

static bool is_on(struct exchange *x, const char *name)
{
	char value[8];

	return route_query(x->route->query, name, value, sizeof(value)) && strcmp(value, "0") != 0 &&
	       strcmp(value, "false") != 0;
}

/* A module without a file counts as a request for the debug file that its name and identifiers suggest. */
static void note_missing(void *ctx, const struct module *m, const char *why, bool unsure)
{
	struct exchange *x = ctx;
	struct artifact a = {.type = name_ends(m->debug_file, ".pdb") ? FILETYPE_PDB
				     : m->code_id[0] && m->object != OBJECT_PE ? FILETYPE_ELF_DEBUG
									       : FILETYPE_BREAKPAD,
		.m = *m};
	struct key k;

	if (unsure)
		return;
	if (key_of(&k, &a) < 0) {
		a.type = FILETYPE_BREAKPAD;
		if (key_of(&k, &a) < 0)
			return;
	}
	if (missed_note(x->space->missed, &k))
		missed_save(x->space->missed);
}

/* Any value of Debug counts, even "false", as in Mozilla's service. */
void symbolicate_flags(struct exchange *x, struct symb_flags *out)
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

#define TEXT_TYPE "text/plain; charset=utf-8"

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

enum MHD_Result symbolicate_handle(struct exchange *x)
{
	struct http *h = x->h;

	if (x->step != STEP_ANSWER && answers_now(x)) {
		exchange_drop_body(x);
		x->step = STEP_ANSWER;
	}
	if (x->step == STEP_ANSWER)
		return exchange_buf(x, x->symb_status, is_text(x) ? TEXT_TYPE : "application/json", "no-store",
			&x->reply);
	if (is_text(x) && is_packed(x))
		return exchange_text(x, 415, TEXT_TYPE, "no-store", "send the text without Content-Encoding\n");
	if (!http_admit(&h->jobs, HTTP_JOBS_MOST))
		return exchange_text(x, 503, "application/json", "no-store",
			"{\"title\": \"too many requests are waiting\"}");
	if (!exchange_post(x, STEP_ANSWER, h->workers, symbolicate_work))
		atomic_fetch_sub(&h->jobs, 1);
	return MHD_YES;
}
