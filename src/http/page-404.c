/* The 404 of browsers: a page that says which file the path means, why it is missing, and where to look. Other
 * clients get plain text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/page.h"

#include <string.h>

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
			  : exchange_text(x, status, PLAIN, "no-store", text);
	buf_release(&p.html);
	return r;
}

/* A shared cache must not keep it, and give it to other clients. */
enum MHD_Result page_send_not_found(struct exchange *x)
{
	return x->reply.n ? exchange_buf(x, 404, HTML_TYPE, "no-store", &x->reply)
			  : exchange_text(x, 404, PLAIN, "no-store", "Not Found\n");
}
