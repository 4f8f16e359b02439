/* Compares the answers of symbolic's symcache for Breakpad symbol files with those of symfs:
 *
 *	symcache-agree vectors DIR		stored answers; see the README of that directory
 *	symcache-agree records PROGRAM		a table of good and bad records, for which PROGRAM is asked
 *	symcache-agree random PROGRAM N SEED	N random modules, for which PROGRAM is asked
 *	symcache-agree tree DIR TREE		writes the stored modules as a tree of symbol files, and to
 *						stdout the request for all of their addresses
 *	symcache-agree answers DIR		checks the answer to that request, from stdin
 *	symcache-agree bench FILE		time to make the form that look-ups read, five times
 *
 * An answer is a list of frames, [function, entry address, file, line]; the entry of an inlined
 * call is 2^32 - 1. The output has a line for each module with a difference, then the counts. The
 * program fails when a stored answer or a record differs, or more than one random module of 1,000.
 * A random module that differs stays in the working directory as differs-N.sym. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-breakpad.h"
#include "formats/gsym/gsym.h"
#include "formats/gsym/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define PATH_MOST 16384
#define ENTRY_OF_CALL UINT32_MAX
#define FILE_MOST ((size_t)1 << 28)

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- our answers --------------------------------------------------------------------- */

struct ours {
	struct buf file;
	struct gsym g;
	struct gsym_hit hit;
};

/* False: the file is refused. `asked` NULL: all addresses; otherwise only the first `n_asked`, sorted. */
static bool ours_make_of(struct ours *o, const char *text, size_t n, bool strict, bool marks, const uint32_t *asked,
	size_t n_asked)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_breakpad_ struct breakpad *b = NULL;
	struct breakpad_counts counts;
	struct err e = {0};
	int r;

	o->file = BUF_UP_TO(FILE_MOST);
	if (gsym_writer_new(&w) < 0 || breakpad_new(&b, w, strict, marks) < 0)
		die("memory");
	if (asked)
		breakpad_ask(b, asked, n_asked);
	r = breakpad_feed(b, text, n, &e);
	if (r == 0)
		r = breakpad_finish(b, &counts, &e);
	if (r == -EBADMSG)
		return false;
	if (r == 0 && !gsym_functions(w))
		return true;
	if (r < 0 || gsym_write(w, GSYM_V1, false, NULL, &o->file, NULL, &e) < 0 ||
		gsym_open(&o->g, (struct span){(uint8_t *)o->file.p, o->file.n}, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(2);
	}
	o->g.prepared = true;
	return true;
}

static bool ours_make(struct ours *o, const char *text, size_t n, bool strict, bool marks)
{
	return ours_make_of(o, text, n, strict, marks, NULL, 0);
}

static struct json_object *frame_json(const struct ours *o, unsigned i, uint64_t addr)
{
	const struct gsym_frame *f = &o->hit.frame[i];
	struct json_object *frame = json_object_new_array();
	int64_t more, entry = ENTRY_OF_CALL;
	const char *name = eliot_name(f->name, &more);
	char path[PATH_MOST];
	bool file = eliot_file(f->dir, f->base);

	if (i == o->hit.n - 1)
		entry = (int64_t)o->hit.start - more;
	json_object_array_add(frame, json_object_new_string(name));
	json_object_array_add(frame, json_object_new_int64(entry));
	json_object_array_add(
		frame, json_object_new_string(
			       file ? gsym_path_text(f->dir, f->base, path, sizeof(path)) : ""));
	json_object_array_add(frame, json_object_new_int64(f->line));
	return frame;
}

static struct json_object *ours_at(struct ours *o, uint64_t addr)
{
	struct json_object *frames = json_object_new_array();

	if (addr <= UINT32_MAX && gsym_lookup(&o->g, addr, &o->hit, NULL) == 0)
		for (unsigned i = 0; i < o->hit.n; i++)
			json_object_array_add(frames, frame_json(o, i, addr));
	return frames;
}

/* Addresses of which the answers differ; *first is the first of them. */
static size_t compare(
	struct ours *o, const uint64_t *addrs, struct json_object *theirs, size_t *first)
{
	size_t n = json_object_array_length(theirs), differ = 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *frames = ours_at(o, addrs[i]),
				   *want = json_object_array_get_idx(theirs, i);

		if (!json_object_equal(frames, want) && !differ++) {
			*first = i;
			printf("# at %" PRIx64 ": %s\n# symcache: %s\n", addrs[i],
				json_object_to_json_string_ext(frames, 0),
				json_object_to_json_string_ext(want, 0));
		}
		json_object_put(frames);
	}
	return differ;
}

static int compare_asked(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* compare(), of GSYM of these addresses alone. `made`: whether GSYM of all was made. */
static size_t compare_part(const char *text, size_t n, bool made, const uint64_t *addrs, struct json_object *theirs)
{
	size_t n_addrs = json_object_array_length(theirs), n_asked = 0, first = 0, differ = 0;
	uint32_t *asked = calloc(n_addrs + 1, sizeof(*asked));
	struct ours *o = calloc(1, sizeof(*o));

	if (!asked || !o)
		die("memory");
	for (size_t i = 0; i < n_addrs; i++)
		if (addrs[i] <= UINT32_MAX)
			asked[n_asked++] = (uint32_t)addrs[i];
	qsort(asked, n_asked, sizeof(*asked), compare_asked);
	if (ours_make_of(o, text, n, true, true, asked, n_asked) != made)
		differ = n_addrs + 1;
	else if (made)
		differ = compare(o, addrs, theirs, &first);
	if (differ)
		printf("# from a part\n");
	buf_release(&o->file);
	free(asked);
	free(o);
	return differ;
}

/* ---- answers that are stored --------------------------------------------------------- */

struct counts {
	size_t modules, refused, addresses, differ, wrong;
	size_t plain, plain_differ, plain_fileless;
};

static char *slurp(const char *path, size_t *n)
{
	struct buf b = BUF_UP_TO(FILE_MOST);
	char chunk[65536];
	gzFile f = gzopen(path, "rb");
	int got;

	if (!f)
		die(path);
	while ((got = gzread(f, chunk, sizeof(chunk))) > 0)
		if (buf_add(&b, chunk, (size_t)got) < 0)
			die(path);
	gzclose(f);
	*n = b.n;
	return (char *)buf_text(&b);
}

/* `answers`: [[address, frames], ...]; NULL: symbolic refuses the file. */
static void check_module(
	const char *name, const char *text, size_t n, struct json_object *answers, struct counts *c)
{
	size_t n_addrs = answers ? json_object_array_length(answers) : 0, first = 0, differ = 0;
	uint64_t *addrs = calloc(n_addrs + 1, sizeof(*addrs));
	struct json_object *theirs = json_object_new_array();
	struct ours *o = calloc(1, sizeof(*o));
	bool made = ours_make(o, text, n, true, true);

	for (size_t i = 0; i < n_addrs; i++) {
		struct json_object *a = json_object_array_get_idx(answers, i);

		addrs[i] = (uint64_t)json_object_get_int64(json_object_array_get_idx(a, 0));
		json_object_array_add(theirs, json_object_get(json_object_array_get_idx(a, 1)));
	}
	c->modules++;
	c->refused += !answers;
	c->addresses += n_addrs;
	if (made && answers)
		differ = compare(o, addrs, theirs, &first);
	if (!differ && n_addrs)
		differ = compare_part(text, n, made, addrs, theirs);
	if (differ || made != (answers != NULL)) {
		c->wrong++;
		c->differ += made == (answers != NULL) ? differ : n_addrs + 1;
		printf("# %s: %s\n", name,
			made == (answers != NULL) ? "answers differ"
			: made			  ? "symcache refuses it"
						  : "it is refused here");
	}
	json_object_put(theirs);
	buf_release(&o->file);
	free(o);
	free(addrs);
}

/* `symfs gsym create` says the same, but what a name and a file alone cannot tell: how far into its
 * function an address is that lies behind another function, and calls from no file. */
static bool plain_differs(struct ours *o, uint64_t addr, struct json_object *want, bool *fileless)
{
	size_t n = json_object_array_length(want);
	struct json_object *got = ours_at(o, addr);
	bool same = json_object_array_length(got) == n;

	*fileless = false;
	for (size_t i = 0; i < n; i++)
		*fileless |= i && !json_object_get_string(json_object_array_get_idx(
					  json_object_array_get_idx(want, i), 2))[0];
	for (size_t i = 0; !*fileless && same && i < n; i++)
		for (size_t k = 0; k < 4; k++)
			same = same &&
			       (k == 1 || json_object_equal(
						  json_object_array_get_idx(
							  json_object_array_get_idx(got, i), k),
						  json_object_array_get_idx(
							  json_object_array_get_idx(want, i), k)));
	if (!same && !*fileless)
		printf("# plain, at %" PRIx64 ": %s\n# symcache: %s\n", addr,
			json_object_to_json_string_ext(got, 0),
			json_object_to_json_string_ext(want, 0));
	json_object_put(got);
	return !same && !*fileless;
}

/* Whether a record reaches beyond 2^32. `symfs gsym create` keeps such addresses, and symbolic has only 32 bits. */
static bool is_far(const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		bool call = !strncmp(text, "INLINE ", 7), public = !strncmp(text, "PUBLIC ", 7);
		const char *p = text + (!strncmp(text, "FUNC ", 5) ? 5 : call || public ? 7 : 0);
		uint64_t addr, size;
		char *end;

		p += p > text && !strncmp(p, "m ", 2) ? 2 : 0;
		do {
			addr = isxdigit((unsigned char)*p) ? strtoull(p, &end, 16) : 0;
			size = addr && *end == ' ' && !public ? strtoull(end, NULL, 16) : 0;
			if (addr > UINT32_MAX || size > UINT32_MAX - addr)
				return true;
			p += strcspn(p, " \n");
		} while (call && *p++ == ' ');
	}
	return false;
}

static void check_plain(const char *text, size_t n, struct json_object *answers, struct counts *c)
{
	struct ours *o = calloc(1, sizeof(*o));
	bool fileless;

	if (!is_far(text) && ours_make(o, text, n, false, false) && o->file.n)
		for (size_t i = 0; i < json_object_array_length(answers); i++) {
			struct json_object *a = json_object_array_get_idx(answers, i);

			c->plain++;
			c->plain_differ += plain_differs(o,
				(uint64_t)json_object_get_int64(json_object_array_get_idx(a, 0)),
				json_object_array_get_idx(a, 1), &fileless);
			c->plain_fileless += fileless;
		}
	buf_release(&o->file);
	free(o);
}

/* A stored module: its text, its name and id, and the answers. */
struct module {
	char *text, *name, *id;
	size_t n;
	struct json_object *answers;
};
typedef void each_fn(const struct module *m, void *ctx);

static void each_file(const char *dir, const char *name, const char *gz, each_fn *each, void *ctx)
{
	struct module m = {.answers = json_object_new_array()};
	char path[4096], id[64] = "", file[256] = "";
	size_t n_lines;
	char *lines;

	snprintf(path, sizeof(path), "%s/%s.sym%s", dir, name, gz);
	m.text = slurp(path, &m.n);
	if (sscanf(m.text, "MODULE %*s %*s %63s %255s", id, file) != 2)
		die(path);
	m.id = id;
	m.name = file;
	snprintf(path, sizeof(path), "%s/%s.sym.expected.jsonl.gz", dir, name);
	lines = slurp(path, &n_lines);
	for (char *at = lines, *nl; (nl = strchr(at, '\n')); at = nl + 1) {
		*nl = '\0';
		json_object_array_add(m.answers, json_tokener_parse(at));
	}
	each(&m, ctx);
	json_object_put(m.answers);
	free(m.text);
	free(lines);
}

static void each_real(const char *dir, each_fn *each, void *ctx)
{
	each_file(dir, "crash-client", ".gz", each, ctx);
	each_file(dir, "basic64", ".gz", each, ctx);
	each_file(dir, "crash.inlines", "", each, ctx);
}

static void each_generated(const char *dir, each_fn *each, void *ctx)
{
	char path[4096];
	size_t n;
	char *lines;

	snprintf(path, sizeof(path), "%s/generated.jsonl.gz", dir);
	lines = slurp(path, &n);
	for (char *at = lines, *nl; (nl = strchr(at, '\n')); at = nl + 1) {
		struct json_object *line, *sym;
		struct module m = {0};

		*nl = '\0';
		line = json_tokener_parse(at);
		sym = json_object_object_get(line, "sym");
		json_object_object_get_ex(line, "frames", &m.answers);
		m.text = (char *)json_object_get_string(sym);
		m.n = (size_t)json_object_get_string_len(sym);
		m.name = (char *)json_object_get_string(json_object_object_get(line, "debug_file"));
		m.id = (char *)json_object_get_string(json_object_object_get(line, "debug_id"));
		each(&m, ctx);
		json_object_put(line);
	}
	free(lines);
}

static void check_one(const struct module *m, void *ctx)
{
	char name[400];

	snprintf(name, sizeof(name), "%s/%s", m->name, m->id);
	check_module(name, m->text, m->n, m->answers, ctx);
	if (m->answers)
		check_plain(m->text, m->n, m->answers, ctx);
}

static int vectors(const char *dir)
{
	struct counts c = {0};

	each_real(dir, check_one, &c);
	printf("real: %zu modules, %zu addresses, %zu differ\n", c.modules, c.addresses, c.differ);
	each_generated(dir, check_one, &c);
	printf("all: %zu modules, %zu refused, %zu addresses, %zu modules differ, at %zu "
	       "addresses\n",
		c.modules, c.refused, c.addresses, c.wrong, c.differ);
	printf("as gsym create: %zu addresses, %zu differ, %zu with a call from no file\n", c.plain,
		c.plain_differ, c.plain_fileless);
	return c.wrong || c.plain_differ || c.modules < 100 || c.plain < 10000;
}

/* ---- the same through the command ------------------------------------------------------ */

struct tree {
	const char *dir;
	struct buf modules, stacks;
	unsigned n;
};

/* NAME/ID/NAME.sym, without a `.pdb`. */
static void write_module(const struct module *m, void *ctx)
{
	struct tree *t = ctx;
	size_t n = m->answers ? json_object_array_length(m->answers) : 0, len = strlen(m->name);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t->dir, m->name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", t->dir, m->name, m->id);
	mkdir(path, 0777);
	len -= len > 4 && strcmp(m->name + len - 4, ".pdb") == 0 ? 4 : 0;
	snprintf(
		path, sizeof(path), "%s/%s/%s/%.*s.sym", t->dir, m->name, m->id, (int)len, m->name);
	f = fopen(path, "w");
	if (!f || fwrite(m->text, 1, m->n, f) != m->n || fclose(f) != 0)
		die(path);
	buf_addf(&t->modules, "%s[\"%s\", \"%s\"]", t->n ? ", " : "", m->name, m->id);
	buf_addf(&t->stacks, "%s[", t->n ? ", " : "");
	for (size_t i = 0; i < n; i++)
		buf_addf(&t->stacks, "%s[%u, %" PRIi64 "]", i ? ", " : "", t->n,
			json_object_get_int64(json_object_array_get_idx(
				json_object_array_get_idx(m->answers, i), 0)));
	buf_addf(&t->stacks, n ? "]" : "[%u, 1]]", t->n);
	t->n++;
}

static int tree(const char *dir, const char *to)
{
	struct tree t = {to, BUF_UP_TO(FILE_MOST), BUF_UP_TO(FILE_MOST), 0};

	each_real(dir, write_module, &t);
	each_generated(dir, write_module, &t);
	printf("{\"memoryMap\": [%s], \"stacks\": [%s]}\n", buf_text(&t.modules),
		buf_text(&t.stacks));
	buf_release(&t.modules);
	buf_release(&t.stacks);
	return 0;
}

struct answers {
	struct json_object *stacks, *found;
	struct counts c;
};

static void add_place(struct json_object *to, struct json_object *frame)
{
	const char *file = json_object_get_string(json_object_array_get_idx(frame, 2));
	int64_t line = json_object_get_int64(json_object_array_get_idx(frame, 3));

	if (!file[0])
		return;
	json_object_object_add(to, "file", json_object_new_string(file));
	if (line)
		json_object_object_add(to, "line", json_object_new_int64(line));
}

/* What the service makes of symbolic's frames. */
static struct json_object *service_frame(
	const struct module *m, size_t i, struct json_object *answer)
{
	struct json_object *frame = json_object_new_object(),
			   *frames = json_object_array_get_idx(answer, 1), *inlines, *last;
	int64_t addr = json_object_get_int64(json_object_array_get_idx(answer, 0));
	size_t n = json_object_array_length(frames);
	char text[32];

	json_object_object_add(frame, "frame", json_object_new_int64((int64_t)i));
	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	json_object_object_add(frame, "module_offset", json_object_new_string(text));
	if (!n)
		return frame;
	last = json_object_array_get_idx(frames, n - 1);
	addr -= json_object_get_int64(json_object_array_get_idx(last, 1));
	snprintf(text, sizeof(text), "%s0x%" PRIx64, addr < 0 ? "-" : "", addr < 0 ? -addr : addr);
	json_object_object_add(
		frame, "function", json_object_get(json_object_array_get_idx(last, 0)));
	json_object_object_add(frame, "function_offset", json_object_new_string(text));
	add_place(frame, last);
	inlines = json_object_new_array();
	for (size_t k = 0; k + 1 < n; k++) {
		struct json_object *call = json_object_new_object(),
				   *from = json_object_array_get_idx(frames, k);

		json_object_object_add(
			call, "function", json_object_get(json_object_array_get_idx(from, 0)));
		add_place(call, from);
		json_object_array_add(inlines, call);
	}
	if (n > 1)
		json_object_object_add(frame, "inlines", inlines);
	else
		json_object_put(inlines);
	return frame;
}

static void check_answers(const struct module *m, void *ctx)
{
	struct answers *a = ctx;
	struct json_object *stack = json_object_array_get_idx(a->stacks, a->c.modules++);
	size_t n = m->answers ? json_object_array_length(m->answers) : 0, differ = 0;
	char key[400];
	bool found;

	snprintf(key, sizeof(key), "%s/%s", m->name, m->id);
	found = json_object_get_boolean(json_object_object_get(a->found, key));
	for (size_t i = 0; i < n; i++) {
		struct json_object *got = json_object_array_get_idx(stack, i),
				   *want = service_frame(
					   m, i, json_object_array_get_idx(m->answers, i));

		json_object_object_del(got, "module"); /* which is what INFO CODE_ID says */
		if (!json_object_equal(got, want) && !differ++)
			printf("# %s: %s\n# service: %s\n", key,
				json_object_to_json_string_ext(got, 0),
				json_object_to_json_string_ext(want, 0));
		json_object_put(want);
	}
	a->c.refused += !m->answers;
	a->c.addresses += n;
	a->c.differ += differ;
	a->c.wrong += differ || found != (m->answers != NULL);
}

static int answers(const char *dir)
{
	struct json_object *all = json_object_from_fd(0), *job;
	struct answers a = {0};

	job = json_object_array_get_idx(json_object_object_get(all, "results"), 0);
	a.stacks = json_object_object_get(job, "stacks");
	a.found = json_object_object_get(job, "found_modules");
	if (!a.stacks || !a.found)
		return 2;
	each_real(dir, check_answers, &a);
	each_generated(dir, check_answers, &a);
	json_object_put(all);
	printf("through symbolicate: %zu modules, %zu refused, %zu addresses, %zu modules differ, "
	       "at %zu addresses\n",
		a.c.modules, a.c.refused, a.c.addresses, a.c.wrong, a.c.differ);
	return a.c.wrong || a.c.modules < 100;
}

/* ---- modules made at random ------------------------------------------------------------ */

static uint64_t state;

static uint64_t roll(uint64_t most)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return most ? (state >> 20) % most : 0;
}
#define ONE_OF(list) ((list)[roll(ARRAY_SIZE(list))])

static bool chance(unsigned percent)
{
	return roll(100) < percent;
}

static const char *const paths[] = {"/src/a.c", "/src/b.h", "rel/x.h", "c:\\w\\x.cpp", "a//b.c",
	"a\\b", "//srv/x", "/a/./b/../c.c", "<stdin>", "/x/<built-in>", "hg:h/p:d/f.c:1", "",
	"C:", "../../up.c", "a/b/", "\xe5\x90\x8d.c", "/src/a b.c"};
static const char *const names[] = {"f", "main", "std::vector<int>::push_back(int const&)",
	"operator new[]", "<name omitted>", "x\ty", "\xe5\x90\x8d", "a  b", "-5", "$LN3@foo", "m",
	"0", "7 g", ""};
static const char *const machines[] = {"x86", "x86_64", "amd64", "x86-64", "arm64", "arm-64", "ARM",
	"armv7", "mips", "ppc64", "wasm32", "unknown", "arm64e", "i386", "x86_64_unknown"};

struct making {
	struct buf text;
	uint64_t start, span; /* of the FUNC under way */
	uint64_t seen[512];   /* addresses at which something begins or ends */
	size_t n_seen;
	unsigned files, origins, wild; /* of 100: how often a value is an odd one */
};

static uint64_t note(struct making *m, uint64_t addr)
{
	m->seen[m->n_seen < ARRAY_SIZE(m->seen) ? m->n_seen++ : roll(ARRAY_SIZE(m->seen))] = addr;
	return addr;
}

/* In the FUNC mostly, in few places, so that they meet. */
static uint64_t address(struct making *m)
{
	uint64_t grain = m->span > 64 ? m->span / 16 : 4;

	if (chance(m->wild))
		return m->start - 0x20 + roll(m->span + 0x60);
	return m->start + roll(m->span / grain + 1) * grain;
}

static uint64_t length(struct making *m)
{
	static const uint64_t odd[] = {0, 1, 0xffffffff, 0x100000000, UINT64_MAX, 0x1000};
	uint64_t grain = m->span > 64 ? m->span / 16 : 4;

	return chance(m->wild / 4) ? ONE_OF(odd)
	       : chance(m->wild)   ? roll(m->span)
				   : (1 + roll(6)) * grain;
}

static void add_line(struct making *m)
{
	static const char *const odd[] = {
		"0", "-5", "65535", "16707566", "4294967295", "4294967296", "18446744073709551615"};
	uint64_t addr = note(m, address(m)), size = length(m);
	char number[24];

	note(m, addr + size);
	snprintf(number, sizeof(number), "%" PRIu64, 1 + roll(2000));
	buf_addf(&m->text, "%" PRIx64 " %" PRIx64 " %s %u\n", addr, size,
		chance(m->wild / 3) ? ONE_OF(odd) : number, (unsigned)roll(m->files + 1));
}

static void add_inline(struct making *m, unsigned depth)
{
	unsigned n = 1 + (unsigned)(chance(20) ? roll(5) : 0);

	buf_addf(&m->text, "INLINE %u %u %u %u", depth, (unsigned)roll(900),
		(unsigned)roll(m->files + 1), (unsigned)roll(m->origins + 1));
	for (unsigned i = 0; i < n; i++) {
		uint64_t addr = note(m, address(m)), size = length(m);

		note(m, addr + size);
		buf_addf(&m->text, " %" PRIx64 " %" PRIx64, addr, size);
	}
	buf_adds(&m->text, "\n");
}

/* A call tree as compilers make it: each call inside of its caller. */
static void add_tree(struct making *m, uint64_t from, uint64_t to, unsigned depth)
{
	while (to - from > 2 && depth < 6 && !chance(30)) {
		uint64_t start = from + roll(to - from), end = start + 1 + roll(to - start);

		buf_addf(&m->text, "INLINE %u %u %u %u %" PRIx64 " %" PRIx64 "\n", depth,
			(unsigned)roll(900), (unsigned)roll(m->files),
			(unsigned)roll(m->origins + 1), note(m, start), note(m, end) - start);
		add_tree(m, start, end, depth + 1);
		from = end;
	}
}

static void add_odd_record(struct making *m)
{
	static const char *const odd[] = {"PUBLIC x 0 bad\n", "\n", "PUBLIC\n",
		"INLINE_ORIGIN 3 late name\n", "INLINE_ORIGIN 1  two blanks\n", "PUBLIC 1080 0\n",
		"PUBLIC m 10 0 low\n"};
	static const char *const fatal[] = {"INFO URL x\n", "FILE 1 /late.c\n", " \n", "1000 4 1\n",
		"1000 4 +1 0\n", "0x1000 4 1 0\n", "INLINE 0 1 2 0\n", "INLINE 0 -1 0 0 1000 4\n",
		"INLINE 0 1 2 0 100 4 5\n", "INLINE_ORIGIN 5\n", "FUNC 10 x 0 bad\n", "\xff\n",
		" FUNC 10 10 0 f\n", "1000 4 99999999999999999999 0\n"};

	buf_adds(&m->text, chance(3) ? ONE_OF(fatal) : ONE_OF(odd));
}

static void add_func(struct making *m)
{
	static const uint64_t starts[] = {0, 0x10, 0xfffffff0, 0x100000000, 0xffffffff};
	static const uint64_t sizes[] = {0, 1, 0xffffffff, 0x100000000, UINT64_MAX};
	unsigned many = chance(6) ? 150 : 10, lines = (unsigned)roll(many),
		 calls = (unsigned)roll(many);

	m->start = chance(m->wild / 5) ? ONE_OF(starts) : 0x1000 + roll(8) * 0x80;
	m->span = chance(50) ? 0x80 : 1 + roll(0x200);
	note(m, m->start);
	buf_addf(&m->text, "FUNC %s%" PRIx64 " %" PRIx64 "%s %x %s\n", chance(20) ? "m " : "",
		m->start, chance(m->wild / 8) ? ONE_OF(sizes) : m->span, chance(5) ? " " : "",
		(unsigned)roll(9), ONE_OF(names));
	note(m, m->start + m->span);
	if (chance(40))
		add_tree(m, m->start, m->start + m->span, 0);
	else
		for (unsigned i = 0; i < calls; i++)
			add_inline(m, (unsigned)(chance(60) ? roll(2) : roll(5)));
	for (uint64_t at = m->start; lines && chance(50) && at < m->start + m->span; at += 16)
		buf_addf(&m->text, "%" PRIx64 " 10 %u %u\n", note(m, at), (unsigned)roll(99),
			(unsigned)roll(m->files));
	for (unsigned i = 0; i < lines; i++)
		add_line(m);
	if (chance(m->wild / 4))
		add_odd_record(m);
}

#define ID_TEXT "11111111111111111111111111111111A"

static void make_module(struct making *m)
{
	unsigned funcs = 1 + (unsigned)roll(4);

	buf_clear(&m->text);
	m->n_seen = 0;
	m->wild = chance(30) ? 0 : (unsigned)roll(60);
	m->files = 1 + (unsigned)roll(5);
	m->origins = (unsigned)roll(5);
	buf_addf(&m->text, "MODULE Linux %s " ID_TEXT " m.so\n", ONE_OF(machines));
	if (chance(30))
		buf_adds(&m->text, "INFO CODE_ID ABCD m.so\n");
	for (unsigned i = 0; i < m->files; i++)
		buf_addf(&m->text, chance(5) ? "FILE  %u  %s\n" : "FILE %u %s\n", i, ONE_OF(paths));
	for (unsigned i = 0; i < m->origins; i++)
		buf_addf(&m->text, "INLINE_ORIGIN %u o%s\n", i, ONE_OF(names));
	for (unsigned i = 0; i < funcs; i++) {
		add_func(m);
		if (chance(30))
			buf_addf(&m->text, "PUBLIC %" PRIx64 " 0 %s\n", note(m, address(m)),
				ONE_OF(names));
	}
	if (chance(20))
		buf_adds(&m->text,
			"STACK CFI INIT 1000 10 .cfa: $rsp 8 +\nFUNC 1000 10 0 behind_stack\n");
}

/* ---- the oracle ------------------------------------------------------------------------ */

struct oracle {
	pid_t pid;
	FILE *to, *from;
	char dir[32], path[48];
};

static void oracle_start(struct oracle *o, const char *program)
{
	int to[2], from[2];

	snprintf(o->dir, sizeof(o->dir), "/tmp/symcache-XXXXXX");
	if (!mkdtemp(o->dir) || pipe(to) < 0 || pipe(from) < 0 || (o->pid = fork()) < 0)
		die("oracle");
	snprintf(o->path, sizeof(o->path), "%s/m.sym", o->dir);
	if (o->pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl(program, program, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	o->to = fdopen(to[1], "w");
	o->from = fdopen(from[0], "r");
}

static void oracle_end(struct oracle *o)
{
	fclose(o->to);
	fclose(o->from);
	waitpid(o->pid, NULL, 0);
	unlink(o->path);
	rmdir(o->dir);
}

static void write_file(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(b->p, 1, b->n, f) != b->n || fclose(f) != 0)
		die(path);
}

static struct json_object *oracle_ask(struct oracle *o, const uint64_t *addrs, size_t n)
{
	struct json_object *answer;
	char *line = NULL;
	size_t room = 0;

	fprintf(o->to, "%s\t11111111-1111-1111-1111-111111111111-a\t", o->path);
	for (size_t i = 0; i < n; i++)
		fprintf(o->to, "%" PRIu64 " ", addrs[i]);
	fprintf(o->to, "\n");
	fflush(o->to);
	if (getline(&line, &room, o->from) < 0)
		die("the oracle has ended");
	answer = json_tokener_parse(line);
	free(line);
	return answer;
}

/* Each address where something begins or ends, and its neighbours. */
static size_t addresses_of(const struct making *m, uint64_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_seen; i++)
		for (int d = -1; d <= 1; d++)
			out[n++] = m->seen[i] + (uint64_t)d;
	out[n++] = 0xffffffff;
	out[n++] = 0x100000000;
	return n;
}

static bool ask_both(struct oracle *oracle, const struct buf *text, const uint64_t *addrs, size_t n,
	struct counts *c)
{
	struct ours *o = calloc(1, sizeof(*o));
	struct json_object *theirs;
	size_t first = 0, differ = 0;
	bool made, accepted;

	write_file(oracle->path, text);
	theirs = oracle_ask(oracle, addrs, n);
	accepted = json_object_is_type(theirs, json_type_array);
	made = ours_make(o, text->p, text->n, true, true);
	c->modules++;
	c->refused += !accepted;
	c->addresses += n;
	if (made && accepted)
		differ = compare(o, addrs, theirs, &first);
	if (!differ && accepted)
		differ = compare_part(text->p, text->n, made, addrs, theirs);
	if (made != accepted)
		printf("# %s: %s\n", made ? "only symcache refuses it" : "only we refuse it",
			accepted ? "" : json_object_to_json_string_ext(theirs, 0));
	c->differ += differ;
	c->wrong += differ || made != accepted;
	json_object_put(theirs);
	buf_release(&o->file);
	free(o);
	return !differ && made == accepted;
}

static void random_modules(struct oracle *o, size_t n, uint64_t seed, struct counts *c)
{
	static struct making m;
	static uint64_t addrs[3 * ARRAY_SIZE(m.seen) + 2];
	char name[64];

	m.text = BUF_UP_TO(FILE_MOST);
	for (size_t i = 0; i < n; i++) {
		state = seed * 1000003 + i;
		roll(0);
		make_module(&m);
		if (ask_both(o, &m.text, addrs, addresses_of(&m, addrs), c))
			continue;
		snprintf(name, sizeof(name), "differs-%zu.sym", i);
		write_file(name, &m.text);
		printf("# module %zu of seed %" PRIu64 ": %s\n", i, seed, name);
	}
	buf_release(&m.text);
}

/* ---- records, good and bad ------------------------------------------------------------- */

/* Each is one line more in each of four places. */
static const char *const records[] = {"", " ", "\t", "\r", "\v", "\xc2\xa0", "\xe2\x80\x83", "x",
	"\xff", "1000 4 3 1\xff", "1000 4 3 1 ", " 1000 4 3 1", "  1000  4  3  1  ",
	"1000\t4\t3\t1", "1000 4 3 1\r", "1000 4 3 1\r\r", "1000\r4 3 1", "1000\v4 3 1",
	"\xc2\xa0"
	"1000 4 3 1\xe3\x80\x80",
	"1000\xc2\xa0"
	"4 3 1",
	"1000 4 3", "1000 4 3 1 1", "1000 4 3 1x", "0x1000 4 3 1", "1000 4 +3 1", "1000 4 -3 1",
	"1000 4 - 1", "1000 4 --3 1", "1000 4 3 -1", "1000 4 3 a", "+1000 4 3 1", "-1000 4 3 1",
	"1000 4 4294967299 1", "1000 4 18446744073709551615 1", "1000 4 18446744073709551616 1",
	"1000 4 -18446744073709551616 1", "000000000000000000001000 4 00000000000000000000003 1",
	"10000000000001000 4 3 1", "1000 10000000000000004 3 1", "1000 4 3 18446744073709551615",
	"1000 4 3 18446744073709551616", "1000 0 3 1", "1000 0 x 1", "ABC 4 3 1", "FACE 4 3 1",
	"1000 ffffffffffffffff 3 1", "1020 ffffffff 3 1", "FUNC", "FUNC ", "FUNC  1020 8 0 g",
	"FUNC\t1020 8 0 g", " FUNC 1020 8 0 g", "FUNC m 1020 8 0 g", "FUNC  m  1020  8  0  g  h ",
	"FUNC m1020 8 0 g", "FUNC m", "FUNC M 1020 8 0 g", "FUNC 1020 8 0", "FUNC 1020 8 0 ",
	"FUNC 1020 8", "FUNC 1020 8 g", "FUNC 1020 8 0g", "FUNC 1020 -8 0 g", "FUNC 0x1020 8 0 g",
	"FUNC 1020 8 0 g\xff", "FUNC 1020 8 0 \xed\xa0\x80", "FUNC 1020 8 0 g\r\r",
	"FUNC 1020 8 0 g\xc2\xa0", "FUNC 1020 8 0 \xe5\x90\x8d", "FUNC 10000000000000000 8 0 g",
	"FUNC 1020 ffffffffffffffff 0 g", "FUNC ffffffffffffffff 10 0 g", "FUNC 100001020 8 0 g",
	"FUNC 1020 0 0 g", "FUNC 1020 8 0 m g", "func 1020 8 0 g", "FUNCX 1020 8 0 g",
	"FUNC 1020 8 ffffffffffffffff0 g", "FUNC ffffffff 1 0 g", "FUNC ffffffff 2 0 g",
	"FUNC fffffff0 10 0 g", "FUNC 0 ffffffffffffffff 0 g", "FUNC 0 100000000 0 g",
	"FUNC 0 ffffffff 0 g", "PUBLIC", "PUBLIC ", "PUBLIC 1020", "PUBLIC 1020 0",
	"PUBLIC 1020 0 p", "PUBLIC  1020  0  p  q ", "PUBLIC m 1020 0 p", "PUBLIC m1020 0 p",
	"PUBLIC x 0 p", "PUBLIC 1020 x p", "PUBLIC 1020 0 p\xff", "PUBLIC\t1020 0 p",
	" PUBLIC 1020 0 p", "PUBLIC 10000000000001020 0 p", "PUBLIC 100001020 0 p",
	"PUBLIC ffffffff 0 p", "PUBLIC 0 0 p", "public 1020 0 p", "INLINE", "INLINE ",
	"INLINE 0 7 1 1 1010 8", "INLINE  0  7  1  1  1010  8 ", "INLINE\t0 7 1 1 1010 8",
	" INLINE 0 7 1 1 1010 8", "INLINE 0 7 1 1 1010", "INLINE 0 7 1 1", "INLINE 0 7 1 1010 8",
	"INLINE 0 7 1 1 1010 8 1020", "INLINE 0 7 1 1 1010 8 1020 8", "INLINE 0 7 1 1 1010 8 zz",
	"INLINE 0 -7 1 1 1010 8", "INLINE -1 7 1 1 1010 8", "INLINE 0 4294967303 1 1 1010 8",
	"INLINE 4294967296 7 1 1 1010 8", "INLINE 300 7 1 1 1010 8", "INLINE 1 7 1 1 1010 8",
	"INLINE 0 7 9 9 1010 8", "INLINE 0 7 18446744073709551616 1 1010 8",
	"INLINE 0 18446744073709551616 1 1 1010 8", "INLINE 0 7 1 1 1010 0",
	"INLINE 0 7 1 1 1010 ffffffffffffffff", "INLINE 0 7 1 1 1010 8\xff",
	"INLINE 0 7 1 1 0x1010 8", "INLINE 0 7 1 1 1010 8x", "INLINE 0 7 1 1 1010 8\xc2\xa0",
	"INLINE 0 7 1 1 ff0 20", "INLINE 0 7 1 1 1038 20", "INLINE 0 7 1 1 1040 20",
	"inline 0 7 1 1 1010 8", "INLINE_ORIGIN", "INLINE_ORIGIN ", "INLINE_ORIGIN 1",
	"INLINE_ORIGIN 1 ", "INLINE_ORIGIN 1 late", "INLINE_ORIGIN  1  late  name ",
	"INLINE_ORIGIN\t1 late", " INLINE_ORIGIN 1 late", "INLINE_ORIGIN x late",
	"INLINE_ORIGIN -1 late", "INLINE_ORIGIN 1 late\xff",
	"INLINE_ORIGIN 18446744073709551616 late", "INLINE_ORIGIN 1late", "INLINE_ORIGIN 0 0 late",
	"INLINE_ORIGIN 7", "FILE", "FILE ", "FILE 1", "FILE 1 ", "FILE 1 /late.c",
	"FILE  1  /late  x.c ", "FILE\t1 /late.c", " FILE 1 /late.c", "FILE x /late.c",
	"FILE -1 /late.c", "FILE 1 /late.c\xff", "FILE 18446744073709551616 /late.c",
	"FILE 1/late.c", "FILE 01 /late.c", "file 1 /late.c", "INFO", "INFO ", "INFO x",
	"INFO CODE_ID", "INFO CODE_ID zz", "INFO CODE_ID ABCD m.so", "INFO URL https://127.0.0.1/",
	"INFO\tx", "INFO \xff", " INFO x", "MODULE", "MODULE ", "MODULE Linux x86 1 m.so",
	"MODULE\tx", " MODULE x", "STACK", "STACK ", "STACK x", "STACK\tx", " STACK x",
	"STACK CFI INIT 1000 10 x", "STACK WIN x", "# a comment", "INLINE_ORIGI 1 x", "LINE 1",
	"1000", "-", "\xef\xbb\xbf"};

/* And first lines; the text behind them is as long that it is cut. */
static const char *const modules[] = {"MODULE Linux x86_64 " ID_TEXT " m.so",
	"MODULE  Linux  x86_64  " ID_TEXT "  m.so", "MODULE Linux x86_64 " ID_TEXT,
	"MODULE Linux x86_64 " ID_TEXT " ", " MODULE Linux x86_64 " ID_TEXT " m.so",
	"MODULE\tLinux\tx86_64\t" ID_TEXT "\tm.so", "MODULE Linux x86_64 " ID_TEXT "\xc2\xa0m.so",
	"MODULE \tLinux x86_64 " ID_TEXT " m.so", "MODULE Linux x86_64 " ID_TEXT "x m.so",
	"MODULE Linux x86_64 m.so", "MODULE Linux x86_64", "MODULE Linux", "MODULE", "MODULE ",
	"MODULE Linux  " ID_TEXT " m.so", "MODULE Linux s390x " ID_TEXT " m.so",
	"MODULE Linux X86-64 " ID_TEXT " m.so", "MODULE \xe5\x90\x8d x86 " ID_TEXT " m.so",
	"MODULE x arm-64 " ID_TEXT " m.so", "MODULE x arm_64 " ID_TEXT " m.so",
	"MODULE Linux x86 " ID_TEXT " m.so\r", "MODULE Linux x86 " ID_TEXT " m\xff.so",
	"module Linux x86 " ID_TEXT " m.so", "MODULES Linux x86 " ID_TEXT " m.so",
	"\xef\xbb\xbfMODULE Linux x86 " ID_TEXT " m.so", "\nMODULE Linux x86 " ID_TEXT " m.so",
	"MODULE Linux x86 m " ID_TEXT " m.so", "MODULE a b c d", "FUNC 1000 10 0 f"};

static void add_case(struct buf *b, const char *first, unsigned place, const char *line)
{
	static const char *const parts[] = {"FILE 0 /src/a.c\n",
		"FILE 1 /src/b.c\nINLINE_ORIGIN 0 o\nINLINE_ORIGIN 1 p\n",
		"FUNC 1000 40 0 f\nINLINE 0 9 0 0 1030 8\n1000 10 1 0\n",
		"1010 30 2 1\nINLINE 0 3 1 1 1028 4\n", "PUBLIC 2000 0 pub\n",
		"FUNC 3000 10 0 last\n3000 10 4 0\n"};

	buf_clear(b);
	buf_addf(b, "%s\n", first);
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
		buf_adds(b, parts[i]);
		if (i == place)
			buf_addf(b, "%s\n", line);
	}
}

static void all_records(struct oracle *o, struct counts *c)
{
	static const uint64_t addrs[] = {0, 0x10, 0xfef, 0xff0, 0xfff, 0x1000, 0x1003, 0x1004,
		0x100f, 0x1010, 0x1017, 0x1018, 0x101f, 0x1020, 0x1027, 0x1028, 0x102b, 0x102c,
		0x1030, 0x1037, 0x1038, 0x103f, 0x1040, 0x105f, 0x1fff, 0x2000, 0x2fff, 0x3000,
		0x300f, 0x3010, 0x10000, 0xfffffff0, 0xfffffffe, 0xffffffff, 0x100000000};
	static const unsigned places[] = {0, 1, 2, 4};
	struct buf b = BUF_UP_TO(FILE_MOST);
	char long_name[400];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(places); k++) {
			add_case(&b, modules[0], places[k], records[i]);
			if (!ask_both(o, &b, addrs, ARRAY_SIZE(addrs), c))
				printf("# place %u: \"%s\"\n", places[k], records[i]);
		}
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		add_case(&b, modules[i], 2, "");
		if (!ask_both(o, &b, addrs, ARRAY_SIZE(addrs), c))
			printf("# first: \"%s\"\n", modules[i]);
	}
	for (unsigned n = 260; n < 290;
		n++) { /* a character that is cut where symbolic cuts, or broken */
		snprintf(long_name, sizeof(long_name), "%s%0*d\xe5\x90%s", modules[0], (int)n, 0,
			n % 2 ? "\x8d" : "");
		add_case(&b, long_name, 2, "");
		if (!ask_both(o, &b, addrs, ARRAY_SIZE(addrs), c))
			printf("# a name of %u bytes\n", n);
	}
	buf_release(&b);
}

static int with_oracle(const char *program, size_t n, uint64_t seed)
{
	struct oracle o = {0};
	struct counts c = {0};

	oracle_start(&o, program);
	if (n)
		random_modules(&o, n, seed, &c);
	else
		all_records(&o, &c);
	oracle_end(&o);
	printf("%s: %zu modules, %zu refused, %zu addresses, %zu modules differ, at %zu "
	       "addresses\n",
		n ? "random" : "records", c.modules, c.refused, c.addresses, c.wrong, c.differ);
	return c.wrong * 1000 > n;
}

static int bench(const char *path)
{
	size_t n;
	char *text = slurp(path, &n);

	for (unsigned i = 0; i < 5; i++) {
		struct ours *o = calloc(1, sizeof(*o));
		double begun = clock_seconds();

		ours_make(o, text, n, true, true);
		printf("%.3f s for %zu bytes\n", clock_seconds() - begun, n);
		buf_release(&o->file);
		free(o);
	}
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "vectors") == 0)
		return vectors(argv[2]);
	if (argc == 4 && strcmp(argv[1], "tree") == 0)
		return tree(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "answers") == 0)
		return answers(argv[2]);
	if (argc == 3 && strcmp(argv[1], "records") == 0)
		return with_oracle(argv[2], 0, 0);
	if (argc == 5 && strcmp(argv[1], "random") == 0)
		return with_oracle(
			argv[2], strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "bench") == 0)
		return bench(argv[2]);
	fprintf(stderr, "usage: symcache-agree vectors DIR | tree DIR TREE | answers DIR | records "
			"PROGRAM | random PROGRAM N SEED | bench FILE\n");
	return 2;
}
