/* The web page of the server: chooses the part, has a worker write it, and writes what is around each part. Also the
 * page of a 404. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/page/page.h"
#include "base/hash.h"
#include "base/util.h"
#include "config.h"
#include "page-files.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>

#define PART_HEAD_MOST 4096 /* bytes of the head of a part of a form */

char *page_form_value(const char *form, const char *name)
{
	size_t want = strlen(name);

	for (size_t n; *form; form += n + (form[n] == '&')) {
		n = strcspn(form, "&");
		if (n > want && form[want] == '=' && memcmp(form, name, want) == 0) {
			char *out = malloc(n - want);

			if (out)
				route_decode(form + want + 1, n - want - 1, ROUTE_IN_FORM, out, n - want);
			return out;
		}
	}
	return NULL;
}

static const struct part {
	const char *path, *link, *title;
	void (*write)(struct page *p);
} parts[] = {
	{"", "Find", "Find a file", page_find},
	{"uploads", "Uploads", "Uploads", page_uploads},
	{"status", "Server", "Server", page_server},
};

/* ---- the stylesheet, the script and the icon, which are part of the program ------------------- */

static const struct file {
	const char *name, *type;
	const unsigned char *p;
	size_t n;
} files[] = {
	{"page.css", "text/css; charset=utf-8", page_css, sizeof(page_css)},
	{"page.js", "text/javascript; charset=utf-8", page_js, sizeof(page_js)},
	{"page.svg", "image/svg+xml", page_svg, sizeof(page_svg)},
};

static const struct file *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return &files[0];
}

/* The path of a file, with a number that changes with its content. */
static const char *page_file_url(const char *name, char out[static 64])
{
	const struct file *f = find(name);

	snprintf(out, 64, "/%s?v=%08x", f->name, (unsigned)(hash_mix(f->p, f->n) & 0xffffffff));
	return out;
}

static enum MHD_Result page_file(struct exchange *x)
{
	const struct file *f = find(x->route->path);
	struct buf text = BUF_UP_TO(1 << 20);

	if (buf_add(&text, f->p, f->n) < 0)
		return MHD_NO;
	return exchange_buf(x, 200, f->type, HTTP_FOREVER, &text);
}

/* ---- around each part ------------------------------------------------------------------ */

static void add_link(struct page *p, const char *href, const char *text, bool current)
{
	buf_addf(&p->html, "<a href=\"/%s\"%s>", href, current ? " aria-current=\"page\"" : "");
	html_text(&p->html, text);
	buf_adds(&p->html, "</a>\n");
}

static void add_user(struct page *p)
{
	if (!p->x->known)
		return;
	buf_adds(&p->html, "<span class=\"user\">");
	html_text(&p->html, p->x->token.name);
	if (strcmp(p->space->name, AUTH_PUBLIC) != 0) {
		buf_adds(&p->html, " in ");
		html_text(&p->html, p->space->name);
	}
	buf_adds(&p->html, "</span>\n");
}

/* Writes a page around `body`: head, links to the parts, foot. `path`: the path of the part; "": none. */
static void page_frame(struct page *p, const char *title, const char *path, void (*body)(struct page *p))
{
	struct buf *out = &p->html;
	char url[64];

	buf_adds(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n");
	html_element(out, "title", title);
	buf_addf(out, "\n<link rel=\"icon\" href=\"%s\" type=\"image/svg+xml\">\n", page_file_url("page.svg", url));
	buf_addf(out, "<link rel=\"stylesheet\" href=\"%s\">\n", page_file_url("page.css", url));
	buf_addf(out, "<script src=\"%s\" defer></script>\n</head>\n<body>\n", page_file_url("page.js", url));
	buf_adds(out, "<header>\n<a class=\"brand\" href=\"/\">symfs</a>\n<nav aria-label=\"Parts\">\n");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		add_link(p, parts[i].path, parts[i].link, strcmp(parts[i].path, path) == 0);
	buf_adds(out, "</nav>\n");
	add_user(p);
	buf_adds(out, "</header>\n<main>\n");
	body(p);
	buf_adds(out, "</main>\n<footer>symfs " PACKAGE_VERSION " at ");
	html_text(out, p->address);
	buf_adds(out, "</footer>\n</body>\n</html>\n");
}

/* ---- its request ------------------------------------------------------------------------ */

/* The page that the request asks for: with something to find, it is the first. */
static const struct part *part_of(const struct page *p)
{
	for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
		if (strcmp(parts[i].path, p->x->route->path) == 0 && !*p->text)
			return &parts[i];
	return &parts[0];
}

static bool is_post(const struct exchange *x)
{
	return strcmp(x->method, "POST") == 0;
}

/* A field of a form of parts (multipart/form-data). */
struct field {
	const char *name;
	struct buf value;
};

static enum MHD_Result take_field(void *ctx, enum MHD_ValueKind kind, const char *name, const char *file_name,
	const char *type, const char *coding, const char *p, uint64_t off, size_t n)
{
	struct field *f = ctx;

	return !name || strcmp(name, f->name) != 0 || buf_add(&f->value, p, n) == 0 ? MHD_YES : MHD_NO;
}

/* As page_form_value(), for the body of the request, also if it is a form of parts. */
static char *value_of(struct exchange *x, const char *name)
{
	struct field f = {name, BUF_UP_TO(HTML_MOST)};
	struct MHD_PostProcessor *form = NULL;
	size_t n;

	if (!x->body.n)
		return NULL;
	if (!exchange_has_parts(x))
		return page_form_value(x->body.p, name);
	form = MHD_create_post_processor(x->c, PART_HEAD_MOST, take_field, &f);
	if (form) {
		MHD_post_process(form, x->body.p, x->body.n);
		MHD_destroy_post_processor(form);
	}
	return buf_take(&f.value, &n);
}

/* The text to find. NULL: out of memory. */
static char *text_of(struct exchange *x)
{
	char *text = calloc(1, ROUTE_PATH_MAX);

	if (!text || !is_post(x)) {
		if (text)
			route_query(x->route->query, "path", text, ROUTE_PATH_MAX);
		return text;
	}
	free(text);
	text = value_of(x, "path");
	return text ? text : strdup("");
}

static bool asks(struct exchange *x)
{
	char *value = is_post(x) ? value_of(x, "ask") : NULL;
	bool set = value && strcmp(value, "1") == 0;

	free(value);
	return set;
}

/* Lets few pages ask at the same time, so that the other threads stay free for look-ups of code ids. True: the caller
 * decrements h->asking when the page has been written. */
static bool may_ask(struct exchange *x)
{
	return !atomic_load(&x->left) && !atomic_load(&x->h->draining) && http_admit(&x->h->asking, HTTP_ASKING_MOST);
}

static void write_page(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	struct page p = {.x = x, .space = x->space, .html = BUF_UP_TO(HTML_MOST), .text = text_of(x)};
	const struct part *part = p.text ? part_of(&p) : NULL;

	if (asks(x)) {
		p.ask = may_ask(x);
		p.busy = !p.ask;
	}
	exchange_address(x, p.address);
	if (part) {
		char title[64];

		snprintf(title, sizeof(title), "%s - symfs", part->title);
		page_frame(&p, title, part->path, part->write);
	}
	if (p.ask)
		atomic_fetch_sub(&h->asking, 1);
	free(p.text);
	exchange_drop_body(x);
	x->answer.r = part ? p.html.r : -ENOMEM;
	x->reply = p.html;
	atomic_fetch_sub(&h->pages, 1);
	exchange_resume(x);
}

/* Redirects a form with one short line to a URL that can be kept and sent to others. */
static enum MHD_Result redirect(struct exchange *x, const char *text)
{
	struct buf url = BUF_UP_TO(HTML_MOST);
	struct MHD_Response *r = NULL;

	buf_adds(&url, "/?path=");
	url_add_value(&url, text);
	if (url.r == 0)
		r = body_empty();
	if (r) {
		response_header(r, "Location", buf_text(&url));
		response_header(r, "Cache-Control", "no-store");
	}
	buf_release(&url);
	return exchange_reply(x, 303, r);
}

static enum MHD_Result page_status(struct exchange *x)
{
	struct http *h = x->h;
	bool ask = asks(x);

	if (x->step == STEP_ANSWER)
		return page_reply(x, HTML_TYPE, x->answer.r, &x->reply);
	if (is_post(x) && !ask) {
		_cleanup_free_ char *text = text_of(x);

		if (text && strlen(text) < ROUTE_PATH_MAX / 4 && !strpbrk(text, "\r\n\t"))
			return redirect(x, text);
	}
	if (!http_admit(&h->pages, HTTP_PAGES_MOST))
		return exchange_plain(x, 503, "too many pages are being written; try again\n");
	if (!exchange_post(x, STEP_ANSWER, ask ? h->askers : h->workers, write_page))
		atomic_fetch_sub(&h->pages, 1);
	return MHD_YES;
}

const struct handler status_handlers[] = {
	{ROUTE_STATUS, page_status}, {ROUTE_PAGE_FILE, page_file}, {ROUTE_NONE, NULL}};

/* ---- the pages of errors --------------------------------------------------------- */

#define ANSWERS_MOST 4

/* The page names sources and earlier answers, so it needs the same rights as the other parts. A browser that opens a
 * page sends no Origin; the script of another page does. */
static bool may_see(struct exchange *x)
{
	if (exchange_header(x, "Origin"))
		return false;
	return x->h->auth ? x->known : head_is_neighbour(x);
}

static void add_files(struct page *p)
{
	const struct tree_hit *hit = &p->x->route->hit;
	_cleanup_free_ struct fetch_attempt *rows = calloc(PAGE_ROWS, sizeof(*rows));

	if (!rows) {
		p->html.r = -ENOMEM;
		return;
	}
	for (unsigned i = 0; i < MIN(hit->n, (unsigned)ANSWERS_MOST); i++) {
		struct page_answer a = {.a = hit->files[i], .rows = rows};

		if (page_explain(p, false, &a) == 0)
			page_add_answer(p, &a);
		page_answer_release(&a);
	}
}

static void add_body(struct page *p)
{
	struct buf *out = &p->html;

	buf_adds(out, "<h1>Not found</h1>\n<p>There is no file at <code>/");
	html_text(out, p->x->route->path);
	buf_adds(out, "</code>.</p>\n");
	if (p->x->route->hit.n) {
		buf_adds(out, "<section id=\"found\">\n<h2>What the path means, and why it is missing</h2>\n");
		add_files(p);
		buf_adds(out, "</section>\n");
	} else {
		buf_adds(out, "<p class=\"note\" id=\"none\">The path has no meaning in any layout: it names neither "
			"a build nor a page of this server.</p>\n");
	}
	buf_adds(out, "<h2>Look for something else</h2>\n");
	page_add_form(p);
}

/* Explaining reads the index, and may enter directories, so a worker does it. */
static void write_not_found(void *ctx)
{
	struct exchange *x = ctx;
	struct page p = {.x = x, .space = x->space, .html = BUF_UP_TO(HTML_MOST), .text = x->route->path};

	exchange_address(x, p.address);
	page_frame(&p, "Not found - symfs", "404", add_body);
	if (p.html.r < 0)
		buf_clear(&p.html);
	buf_release(&x->reply);
	x->reply = p.html;
	atomic_fetch_sub(&x->h->pages, 1);
	exchange_resume(x);
}

bool page_not_found(struct exchange *x, enum MHD_Result *result)
{
	struct http *h = x->h;

	if (!exchange_wants_page(x) || x->not_found || !may_see(x) || !http_admit(&h->pages, HTTP_PAGES_MOST))
		return false;
	x->not_found = true;
	if (!exchange_post(x, x->step, h->workers, write_not_found))
		atomic_fetch_sub(&h->pages, 1);
	*result = MHD_YES;
	return true;
}

static void add_error(struct page *p)
{
	buf_adds(&p->html, "<h1>No answer</h1>\n<section>\n");
	html_element(&p->html, "p class=\"note\" id=\"error\"", p->text);
	buf_adds(&p->html, "</section>\n");
}

enum MHD_Result page_error(struct exchange *x, int status, const char *text)
{
	struct page p = {.x = x, .space = x->space ? x->space : x->h->public, .html = BUF_UP_TO(HTML_MOST),
		.text = (char *)(uintptr_t)text};
	enum MHD_Result r;

	exchange_address(x, p.address);
	page_frame(&p, "No answer - symfs", "", add_error);
	r = p.html.r == 0 ? exchange_buf(x, status, HTML_TYPE, "no-store", &p.html)
			  : exchange_plain(x, status, text);
	buf_release(&p.html);
	return r;
}

/* A shared cache must not keep it, and give it to other clients. */
enum MHD_Result page_send_not_found(struct exchange *x)
{
	return x->reply.n ? exchange_buf(x, 404, HTML_TYPE, "no-store", &x->reply)
			  : exchange_plain(x, 404, "Not Found\n");
}
