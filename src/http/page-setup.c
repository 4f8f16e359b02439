/* The part of the page with the lines that make debuggers and other tools use this very server. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/page.h"

#define LINES_MOST 4096

/* `@@` stands for the URL of the server, without a slash at its end. */
static const struct tool {
	const char *name, *lines;
	const char *with_token; /* for a server with tokens; NULL: the same lines */
} tools[] = {
	{"gdb (also elfutils, valgrind)",
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"gdb -iex 'set debuginfod enabled on' PROGRAM",
		"echo 'Authorization: Bearer TOKEN' >~/.symfs-header\n"
		"export DEBUGINFOD_HEADERS_FILE=~/.symfs-header\n"
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"gdb -iex 'set debuginfod enabled on' PROGRAM"},
	{"LLDB 18 or later, in ~/.lldbinit",
		"settings set symbols.enable-external-lookup true\n"
		"settings set plugin.symbol-locator.debuginfod.server-urls @@/",
		"# LLDB sends no token: mount the server, and use the mount\n"
		"symfs mount --source @@/ ~/symbols   # the token is in symfs.conf\n"
		"lldb -O 'settings set target.debug-file-search-paths ~/symbols/gdb' PROGRAM"},
	{"WinDbg, Visual Studio",
		".sympath srv*C:\\Symbols*@@\n"
		".reload /f",
		"* They send no token: let a proxy on this side add the header, or use a namespace without tokens\n"
		".sympath srv*C:\\Symbols*@@\n"
		".reload /f"},
	{"perf",
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"perf report          # a perf that has debuginfod: perf version --build-options\n"
		"# any other perf\n"
		"symfs mount --source @@/ ~/symbols\n"
		"perf --buildid-dir ~/symbols/perf report",
		"echo 'Authorization: Bearer TOKEN' >~/.symfs-header\n"
		"export DEBUGINFOD_HEADERS_FILE=~/.symfs-header\n"
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"perf report          # a perf that has debuginfod: perf version --build-options"},
	{"curl",
		"curl -fO @@/buildid/ID/debuginfo\n"
		"curl -fO @@/NAME.pdb/ID/NAME.pdb\n"
		"curl -fO @@/NAME.pdb/ID/NAME.sym",
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/buildid/ID/debuginfo\n"
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/NAME.pdb/ID/NAME.pdb\n"
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/NAME.pdb/ID/NAME.sym"},
	{"symfs: a mount that every tool can use",
		"symfs mount --source @@/ ~/symbols\n"
		"gdb -iex 'set debug-file-directory ~/symbols/gdb' PROGRAM", NULL},
};

void page_add_lines(struct page *p, const char *title, const char *lines)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(LINES_MOST);

	for (; *lines; lines++)
		if (lines[0] == '@' && lines[1] == '@') {
			buf_adds(&text, p->address);
			lines++;
		} else {
			buf_add(&text, lines, 1);
		}
	if (text.r == 0)
		html_lines(&p->html, title, buf_text(&text));
}

void page_setup(struct page *p)
{
	bool token = p->x->h->auth;

	html_raw(&p->html, "<section id=\"setup\">\n<h2>Set up your tools</h2>\n<p>These lines are for this "
		"server, ");
	html_element(&p->html, "code", p->address);
	html_raw(&p->html, token ? ". In place of TOKEN goes your token.</p>\n<div class=\"grid\">\n"
				 : ".</p>\n<div class=\"grid\">\n");
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		page_add_lines(p, tools[i].name, token && tools[i].with_token ? tools[i].with_token : tools[i].lines);
	html_raw(&p->html, "</div>\n</section>\n");
}
