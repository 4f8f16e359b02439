/* symfs gsym lookup: finds the functions, files and lines of addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/gsym-pdb.h"
#include "cmd/gsym-text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* With this many addresses, it is faster to index all functions first. */
#define MANY 64

struct lookup {
	const struct gsym *g;
	uint64_t shift;	      /* as in struct gsym_file */
	struct gsym_pdb *pdb; /* used for look-ups instead of `g`; NULL: the file is not a PDB */
	const char *path;
	struct json *json; /* NULL: text */
	bool fields;	   /* print text with all fields, for programs that read it */
	struct buf line;
	int status;
};

static void look_up(struct lookup *l, uint64_t addr)
{
	struct gsym_hit hit;
	struct err e = {0};
	int r = l->pdb ? gsym_pdb_find(l->pdb, addr, &hit, &e) : gsym_lookup(l->g, addr + l->shift, &hit, &e);

	if (r == -ENOENT)
		r = 0, hit.n = 0;
	if (l->json) {
		if (r == 0)
			gsym_hit_json(&hit, addr, l->json);
	} else {
		buf_clear(&l->line);
		gsym_address_text(addr, &l->line);
		buf_add(&l->line, "\t", 1);
		if (r == 0)
			r = gsym_hit_text(&hit, l->fields, &l->line);
		if (r < 0) { /* an address with an error gets a line, too */
			buf_clear(&l->line);
			gsym_address_text(addr, &l->line);
			buf_adds(&l->line, "\t-");
		}
		buf_add(&l->line, "\n", 1);
		fwrite(l->line.p, 1, l->line.n, stdout);
	}
	if (r < 0)
		l->status = gsym_fail(l->path, &e);
}

static int look_up_lines(struct lookup *l)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) >= 0) {
		char *word = line + strspn(line, " \t");
		uint64_t addr;

		word[strcspn(word, " \t\r\n")] = '\0';
		if (!word[0])
			continue;
		if (!gsym_address_of(word, &addr)) {
			_cleanup_buf_ struct buf shown = BUF_UP_TO(1 << 16);

			fprintf(stderr, "symfs gsym: not an address: %.100s\n",
				text_shown(word, true, &shown));
			return EXIT_USAGE;
		}
		look_up(l, addr);
	}
	return l->status;
}

/* The nth address of the command line. Addresses of --address come first, then the words other than the file. */
static const char *address_word(const struct gsym_run *run, unsigned nth)
{
	unsigned n = run->addresses.n;

	return nth < n ? run->addresses.word[nth] : run->argv[nth - n + (run->file_first ? 1 : 0)];
}

static unsigned count_addresses(const struct gsym_run *run)
{
	return run->addresses.n + (unsigned)run->argc - 1;
}

static int look_up_words(struct lookup *l, const struct gsym_run *run)
{
	uint64_t addr;

	for (unsigned pass = 0; pass < 2; pass++) /* checks all words before the first look-up */
		for (unsigned i = 0; i < count_addresses(run); i++) {
			if (!gsym_address_of(address_word(run, i), &addr)) {
				fprintf(stderr, "symfs gsym: not an address: %.100s\n", address_word(run, i));
				return EXIT_USAGE;
			}
			if (pass)
				look_up(l, addr);
		}
	return l->status;
}

/* Whether stdin is a file with so many addresses that an index or a conversion saves time. */
static bool many_on_stdin(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > MANY * 16;
}

/* Opens the file for look-ups. -1: the file is open; otherwise an exit status, and a message was printed. */
static int open_for(struct lookup *l, struct gsym_file *o, struct gsym_run *run, unsigned n)
{
	struct err e = {0};
	int status = gsym_word_open(run, o, l->path), r = 0;

	if (status >= 0)
		return status;
	if (o->is_pdb)
		r = gsym_pdb_open(&l->pdb, o->file, run->plain_names,
			n >= MANY || (run->from_stdin && many_on_stdin()), &e);
	else if (run->from_stdin || n >= MANY)
		r = gsym_prepare(&o->g, &e);
	l->shift = o->shift;
	return r < 0 ? gsym_fail(l->path, &e) : -1;
}

static int look_up_all(struct lookup *l, const struct gsym_run *run)
{
	struct json j;
	int status;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	l->json = run->args.json ? &j : NULL;
	status = run->from_stdin ? look_up_lines(l) : look_up_words(l, run);
	json_end(&j);
	if (l->json && status != EXIT_USAGE && json_print(&j) != EXIT_DONE)
		status = EXIT_LOCAL;
	json_release(&j);
	return gsym_flushed(status);
}

int gsym_look_up(struct gsym_run *run)
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct lookup l = {.g = &o.g, .fields = run->from_stdin, .line = BUF_UP_TO(16 << 20)};
	unsigned n = count_addresses(run);
	int status;

	if (!run->argc)
		return gsym_usage("expected a file");
	if (run->from_stdin ? n > 0 : n == 0)
		return gsym_usage(n ? "--stdin excludes other addresses" : "expected an address");
	l.path = run->argv[run->file_first ? 0 : run->argc - 1];
	status = open_for(&l, &o, run, n);
	if (status < 0)
		status = look_up_all(&l, run);
	gsym_pdb_free(l.pdb);
	buf_release(&l.line);
	return status;
}
