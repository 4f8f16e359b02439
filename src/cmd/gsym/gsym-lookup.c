/* symfs gsym lookup: finds the functions, files and lines of addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/util.h"
#include "base/buf.h"
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/gsym/gsym-text.h"
#include "derive/convert/make.h"
#include "derive/convert/partial.h"
#include "formats/gsym/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Looks up addresses in a PDB, for `symfs gsym lookup`. Each of the first look-ups reads one module of the PDB. If
 * there are many addresses, the whole PDB is converted to GSYM, and looked up there. */

#define FEW 64 /* the number of addresses that are looked up without a conversion */

struct gsym_pdb {
	struct span file;
	bool plain;
	unsigned n; /* the number of addresses that were looked up in the PDB */
	struct partial_pdb *partial; /* NULL: the PDB was converted, after FEW addresses */
	int failed; /* the error of the conversion; 0: no error */
	struct err e;
	/* GSYM of the PDB, or of the last address */
	struct buf bytes;
	struct gsym g;
};

/* `plain`: names have no parameters. `many`: the caller will look up many addresses, so the first look-up converts
 * the PDB. The file must outlive *out. 0; -EBADMSG, -ENOTSUP, -ENODATA, -ENOMEM with the reason in `e`. Call
 * gsym_pdb_free() in every case, also after an error. */
static int gsym_pdb_open(struct gsym_pdb **out, struct span file, bool plain, bool many, struct err *e)
{
	struct gsym_pdb *p = *out = calloc(1, sizeof(*p));
	struct view v = view_of_mem(file.p, file.n);

	if (!p)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	p->file = file;
	p->plain = plain;
	p->n = many ? FEW : 0;
	p->bytes = BUF_UP_TO(UINT32_MAX);
	return partial_open(&p->partial, &v, plain, NULL, NULL, e);
}

static void gsym_pdb_free(struct gsym_pdb *p)
{
	if (!p)
		return;
	partial_free(p->partial);
	gsym_release(&p->g);
	buf_release(&p->bytes);
	free(p);
}

/* Makes GSYM of one address, or of the whole PDB. */
static int make_gsym(struct gsym_pdb *p, const uint32_t *addr, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {.plain_names = p->plain};
	struct gsym_made made = {0};
	int r = gsym_writer_new(&w);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	gsym_set_last(w);
	r = addr ? partial_write(p->partial, w, addr, 1, e) : gsym_make(w, p->file, &o, &made, e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &p->bytes, NULL, e);
	return r < 0 ? r : gsym_open(&p->g, (struct span){(const uint8_t *)p->bytes.p, p->bytes.n}, e);
}

/* Runs once. First frees the index of the PDB, because the conversion makes its own index. */
static void convert(struct gsym_pdb *p)
{
	partial_free(take(p->partial));
	p->failed = make_gsym(p, NULL, &p->e);
	if (p->failed == 0)
		p->failed = gsym_prepare(&p->g, &p->e);
}

/* Looks up an address. 0; -ENOENT: no function contains the address; -EBADMSG, -ENOMEM with the reason in `e`.
 * The texts of `out` stay valid until the next call. */
static int gsym_pdb_find(struct gsym_pdb *p, uint64_t addr, struct gsym_hit *out, struct err *e)
{
	uint32_t offset = (uint32_t)addr;
	int r = 0;

	if (p->partial && p->n++ >= FEW)
		convert(p);
	if (p->failed)
		return err_set(e, p->failed, "%s", p->e.text);
	if (p->partial)
		r = addr > UINT32_MAX ? err_set(e, -ENOENT, "no function has the address") : make_gsym(p, &offset, e);
	return r < 0 ? r : gsym_lookup(&p->g, addr, out, e);
}

/* With this many addresses, it is faster to index all functions first. */
#define MANY 64

struct lookup {
	const struct gsym *g;
	uint64_t shift, base, size; /* as in struct gsym_file */
	struct gsym_pdb *pdb; /* used for look-ups instead of `g`; NULL: the file is not a PDB */
	const char *path;
	struct json *json; /* NULL: text */
	const struct gsym_run *run;
	bool fields;	   /* print text with all fields, for programs that read it */
	struct buf line, names, one;
	int status;
};

/* Whether a function has the name that is the first n bytes of the word; its parameters may be omitted. */
static bool is_name(const char *name, const char *word, size_t n)
{
	return strncmp(name, word, n) == 0 && (!name[n] || name[n] == '(');
}

/* Reads an address of the command line or stdin: a number, or a function and an offset, "main+0x10". */
static bool find_address(struct lookup *l, const char *word, uint64_t *out)
{
	const char *plus = strrchr(word, '+');
	const struct gsym *g = l->pdb ? &l->pdb->g : l->g;
	size_t n = plus ? (size_t)(plus - word) : strlen(word);
	uint64_t more = 0;
	struct gsym_func f;

	if (l->run->hex && word[strspn(word, "0123456789abcdefABCDEF")] == '\0' && n && n <= 16) {
		*out = strtoull(word, NULL, 16);
		return true;
	}
	if (gsym_address_of(word, out))
		return true;
	if (!n || (plus && !gsym_address_of(plus + 1, &more)))
		return false;
	if (l->pdb && l->pdb->partial)
		convert(l->pdb);
	for (uint32_t i = 0; i < g->count && gsym_func_at(g, i, &f, NULL) == 0; i++)
		if (is_name(f.name, word, n) || (demangle(f.name, &l->one) && is_name(buf_text(&l->one), word, n))) {
			*out = f.addr - l->shift + more;
			return true;
		}
	return false;
}

static int not_an_address(int status, const char *word)
{
	return cmd_say(status, "neither an address nor a function with symbols: %.100s", word);
}

static void change_names(struct lookup *l, struct gsym_hit *hit)
{
	size_t at[ARRAY_SIZE(hit->frame)];

	buf_clear(&l->names);
	for (unsigned i = 0; i < hit->n; i++) {
		const char *name = demangle(hit->frame[i].name, &l->one) ? buf_text(&l->one) : hit->frame[i].name;

		at[i] = l->names.n;
		if (buf_add(&l->names, name, strlen(name) + 1) < 0)
			return;
	}
	for (unsigned i = 0; i < hit->n; i++)
		hit->frame[i].name = l->names.p + at[i];
}

static void add_frame(struct json *j, const struct gsym_frame *f, bool inlined)
{
	char room[8192];

	json_begin_object(j, NULL);
	json_text(j, "name", f->name);
	json_text(j, "file", gsym_path_text(f->dir, f->base, room, sizeof(room)));
	json_number_or_null(j, "line", f->line);
	json_number(j, "offset", (long long)f->offset);
	json_boolean(j, "inlined", inlined);
	json_end(j);
}

/* Adds an object with the address and a list of frames, which may be empty. */
static void add_hit(const struct gsym_hit *hit, const char *address, struct json *j)
{
	json_begin_object(j, NULL);
	json_text(j, "address", address);
	json_begin_array(j, "frames");
	for (unsigned i = 0; i < hit->n; i++)
		add_frame(j, &hit->frame[i], i + 1 < hit->n);
	json_end(j);
	json_end(j);
}

/* A word that is not an address gets the line of an address without a function. */
static void look_up(struct lookup *l, const char *word)
{
	struct gsym_hit hit;
	struct err e = {0};
	uint64_t addr;
	size_t n;
	int r = -ENOENT, status = EXIT_DONE;

	buf_clear(&l->line);
	if (find_address(l, word, &addr)) {
		gsym_address_text(addr, &l->line);
		addr -= addr >= MAX(l->base, l->size) ? l->base : 0; /* an offset is below the size */
		r = l->pdb ? gsym_pdb_find(l->pdb, addr, &hit, &e) : gsym_lookup(l->g, addr + l->shift, &hit, &e);
	} else {
		buf_adds(&l->line, text_shown(word, true, &l->one));
		status = not_an_address(EXIT_NO, word);
	}
	if (r == -ENOENT)
		r = 0, hit.n = 0;
	for (unsigned i = 0; r == 0 && l->run->basenames && i < hit.n; i++)
		hit.frame[i].dir = "";
	if (r == 0 && l->run->demangle)
		change_names(l, &hit);
	if (l->json) {
		if (r == 0)
			add_hit(&hit, buf_text(&l->line), l->json);
	} else {
		buf_adds(&l->line, l->run->pretty ? ": " : "\t");
		n = l->line.n;
		if (r == 0)
			r = gsym_hit_text(&hit, l->fields, &l->line);
		if (r < 0) { /* an address with an error gets a line, too */
			buf_cut(&l->line, n);
			buf_adds(&l->line, "-");
		}
		buf_add(&l->line, "\n", 1);
		fwrite(l->line.p, 1, l->line.n, stdout);
	}
	if (r < 0)
		status = cmd_fail(l->path, &e);
	l->status = MAX(l->status, status);
}

static int look_up_lines(struct lookup *l)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) >= 0) {
		char *word = line + strspn(line, " \t");

		word[strcspn(word, " \t\r\n")] = '\0';
		if (word[0])
			look_up(l, word);
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

	for (unsigned i = 0; i < count_addresses(run); i++) /* checks all words before the first look-up */
		if (!find_address(l, address_word(run, i), &addr))
			return not_an_address(EXIT_USAGE, address_word(run, i));
	for (unsigned i = 0; i < count_addresses(run); i++)
		look_up(l, address_word(run, i));
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
	l->base = o->base;
	l->size = o->size;
	return r < 0 ? cmd_fail(l->path, &e) : -1;
}

static int look_up_all(struct lookup *l, const struct gsym_run *run)
{
	struct json j;
	int status;

	json_init(&j, false);
	json_begin_array(&j, NULL);
	l->json = run->args.json ? &j : NULL;
	status = run->from_stdin ? look_up_lines(l) : look_up_words(l, run);
	return json_finish(&j, l->json && status != EXIT_USAGE, status);
}

int gsym_look_up(struct gsym_run *run)
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct lookup l = {.g = &o.g, .run = run, .fields = run->from_stdin, .line = BUF_UP_TO(16 << 20),
		.names = BUF_UP_TO(64 << 20), .one = BUF_UP_TO(1 << 20)};
	unsigned n = count_addresses(run);
	int status;

	if (!run->argc)
		return cmd_usage("expected a file");
	if (run->from_stdin ? n > 0 : n == 0)
		return cmd_usage(n ? "--stdin excludes other addresses" : "expected an address");
	l.path = run->argv[run->file_first ? 0 : run->argc - 1];
	status = open_for(&l, &o, run, n);
	if (status < 0)
		status = look_up_all(&l, run);
	gsym_pdb_free(l.pdb);
	buf_release(&l.line);
	buf_release(&l.names);
	buf_release(&l.one);
	return status;
}
