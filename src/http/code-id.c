/* Requests for NAME/ID/x.sym whose ID is the code id of a program, not the debug id of a symbol file:
 * redirects the client to the path with the debug id. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/view.h"
#include "formats/obj/obj.h"
#include "http/private.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UNKNOWN_MS 600000 /* an unknown code id is remembered for this time, as Mozilla's server does */

/* Reads the path as the program NAME with the code id ID. */
static int program_of(const struct exchange *x, struct artifact *out)
{
	const char *path = x->route->path, *id, *end;

	if (strncasecmp(path, "breakpad/", 9) == 0)
		path += 9;
	id = strchr(path, '/') + 1;
	end = strchr(id, '/');
	memset(out, 0, sizeof(*out));
	out->type = end - id == 32 ? FILETYPE_MACH_CODE : FILETYPE_PE;
	out->m.object = end - id == 32 ? OBJECT_MACHO : OBJECT_PE;
	snprintf(out->m.code_file, sizeof(out->m.code_file), "%.*s", (int)(id - 1 - path), path);
	return module_set_code_id(&out->m, id, (size_t)(end - id));
}

static int write_location(const struct exchange *x, const struct artifact *sym, struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = layout_path(layout_find("breakpad"), sym, CASING_DEFAULT, 0, &path);

	if (r < 0)
		return r;
	buf_adds(out, strncasecmp(x->route->path, "breakpad/", 9) == 0 ? "/breakpad/" : "/");
	r = url_add_path(out, buf_text(&path));
	return *x->route->query ? buf_addf(out, "?%s", x->route->query) : r;
}

/* Reads the debug id from the program itself. A file that is served in place is not in the index. */
static bool ask_program(struct exchange *x, struct artifact *a)
{
	_cleanup_free_ struct obj_slice *s = malloc(sizeof(*s));
	struct blob *b = x->answer.blob;
	struct view v;

	if (!s || !b)
		return false;
	v = view_of_fd(blob_fd(b), blob_size(b));
	if (obj_check(&v, &x->answer.key, s, NULL) != 1)
		return false;
	a->m.debug_id = s->module.debug_id;
	snprintf(a->m.debug_file, sizeof(a->m.debug_file), "%s",
		s->module.debug_file[0] ? s->module.debug_file : a->m.code_file);
	return true;
}

/* The path of the symbol file of the program. -ENOENT: the debug id of the program is not known. */
static int locate(struct exchange *x, struct buf *out)
{
	struct artifact a;
	int r = program_of(x, &a);

	/* The program must have the name of the path, too, not only the code id. */
	if (r < 0 || (!fetch_complete(x->space->fetch, &a) && !ask_program(x, &a)) || !a.m.debug_id.set)
		return -ENOENT;
	a.type = FILETYPE_BREAKPAD;
	return write_location(x, &a, out);
}

static enum MHD_Result reply_location(struct exchange *x, const struct buf *where)
{
	struct MHD_Response *r = body_empty();

	if (!r)
		return MHD_NO;
	response_header(r, "Location", buf_text(where));
	response_header(r, "Cache-Control", "max-age=600");
	return exchange_reply(x, 302, r);
}

/* Fetches the symbol file, in case ID is a debug id after all, or else the program, which holds the
 * debug id. */
static enum MHD_Result code_id_handle(struct exchange *x);

static enum MHD_Result code_id_begin(struct exchange *x)
{
	struct tree_hit *hit = &x->route->hit;

	if (hit->n < LAYOUT_CANDIDATES && program_of(x, &hit->files[hit->n]) == 0)
		hit->n++;
	if (hit->n == 0)
		return exchange_missing(x);
	return exchange_fetch(x, STEP_ANSWER, FETCH_WHOLE) ? code_id_handle(x) : MHD_YES;
}

/* ---- servers that look up code ids ----------------------------------------------------- */

static const char *path_of(const struct exchange *x)
{
	const char *path = x->route->path;

	return path + (strncasecmp(path, "breakpad/", 9) == 0 ? 9 : 0);
}

static struct unknown *unknown_of(struct exchange *x, uint64_t *asked)
{
	*asked = hash_mix(path_of(x), strlen(path_of(x)));
	return &x->space->unknown[*asked % ARRAY_SIZE(x->space->unknown)];
}

static bool is_unknown(struct exchange *x)
{
	uint64_t asked;
	const struct unknown *u = unknown_of(x, &asked);
	LOCK_SCOPE(&x->h->lock);

	return u->asked == asked && u->until > clock_ms();
}

static void locate_work(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	uint64_t asked;
	struct unknown *u = unknown_of(x, &asked);
	int r = fetch_locate(x->space->fetch, path_of(x), x->via, &x->left, x->where);

	x->where->debug_id.set = r == 0;
	if (r == -ENOENT) {
		pthread_mutex_lock(&h->lock);
		*u = (struct unknown){asked, clock_ms() + UNKNOWN_MS};
		pthread_mutex_unlock(&h->lock);
	}
	exchange_resume(x);
}

/* Asks the servers that can look up code ids. False: the configuration has no such server, or these servers
 * recently did not know the code id. */
static bool where_begin(struct exchange *x)
{
	if (x->step >= STEP_LOCATE || !fetch_may_locate(x->space->fetch) || is_unknown(x))
		return false;
	x->where = calloc(1, sizeof(*x->where));
	if (!x->where)
		return false;
	exchange_post(x, STEP_LOCATE, x->h->askers, locate_work);
	return true;
}

static enum MHD_Result code_id_handle(struct exchange *x)
{
	_cleanup_buf_ struct buf where = BUF_UP_TO(2 * LAYOUT_PATH_MAX + HTTP_HEAD_MOST);
	struct artifact sym = {.type = FILETYPE_BREAKPAD};

	if (x->where && x->where->debug_id.set) {
		sym.m = *x->where;
		return write_location(x, &sym, &where) == 0 ? reply_location(x, &where) : exchange_missing(x);
	}
	if (x->step >= STEP_ANSWER && (x->answer.r < 0 || x->answer.key.type == FILETYPE_BREAKPAD))
		return file_reply(x);
	if (locate(x, &where) == 0)
		return reply_location(x, &where);
	if (x->step >= STEP_ANSWER)
		return exchange_missing(x);
	return where_begin(x) ? MHD_YES : code_id_begin(x);
}

static enum MHD_Result file_or_code_id(struct exchange *x)
{
	return x->route->code_id && !x->route->ignored ? code_id_handle(x) : file_handle(x);
}

const struct handler file_handlers[] = {{ROUTE_FILE, file_or_code_id}, {ROUTE_MADE, file_handle}, {ROUTE_NONE, NULL}};
