/* Compares STACK CFI records with what readelf prints of the same unwind tables: each row of `readelf -wF` must be in
 * force at its addresses, with no other change before the next row. Expressions come from `readelf -wf`. Rules are
 * compared by their values, for registers and a memory with numbers that depend on their names and addresses.
 *	frames-oracle ROWS INSTRUCTIONS TEXT BASE judge|survey
 * ROWS and INSTRUCTIONS are the outputs of readelf, TEXT the records, BASE the file's lowest address. `judge` names
 * each row that is wrong, or missing although the records could say it, and fails; `survey` only counts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MOST 80
#define LINE_MOST 65536
#define STACK_MOST 64

struct expression {
	char reg[16]; /* "": the CFA */
	bool value;   /* the expression gives the value, not its address */
	char *ops;
};

struct row {
	uint64_t at;
	char *cells[CELLS_MOST]; /* CFA, then a cell for each name of the entry */
};

struct entry {
	bool cie;
	unsigned section;
	uint64_t off, cie_off, start, end;
	char *names[CELLS_MOST];
	unsigned n_names;
	struct row *rows;
	size_t n_rows;
	struct expression *exprs;
	size_t n_exprs;
};

struct record {
	uint64_t at, end; /* end: of an INIT record, else 0 */
	uint64_t run;	  /* the address of its INIT record */
	size_t nth;
	char *rules;
};

static struct entry *entries;
static size_t n_entries;
static size_t *cies, n_cies; /* which of them are CIEs */
static struct record *records;
static size_t n_records;
static uint64_t base;

/* The numbers of a file. */
static struct {
	uint64_t rows, said, wrong, lacking, gaps, doubled;
} seen;

static void *more(void *array, size_t n, size_t each)
{
	if (n && (n & (n - 1)))
		return array;
	array = realloc(array, (n ? 2 * n : 1) * each);
	if (!array)
		exit(2);
	return array;
}

static FILE *open_or_die(const char *path)
{
	FILE *f = fopen(path, "re");

	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

/* ---- values --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t v)
{
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
	return v ^ (v >> 31);
}

static uint64_t memory(uint64_t at)
{
	return mix(at + 0x9e3779b97f4a7c15ull);
}

static uint64_t register_value(const char *name, uint64_t pc)
{
	uint64_t h = 1469598103934665603ull;

	if (strcmp(name, "rip") == 0 || strcmp(name, "eip") == 0 || strcmp(name, "pc") == 0)
		return pc;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ull;
	return mix(h);
}

struct stack {
	uint64_t v[STACK_MOST];
	unsigned n;
	bool bad;
};

static void push(struct stack *s, uint64_t v)
{
	if (s->n == STACK_MOST)
		s->bad = true;
	else
		s->v[s->n++] = v;
}

static uint64_t pop(struct stack *s)
{
	if (!s->n) {
		s->bad = true;
		return 0;
	}
	return s->v[--s->n];
}

/* A postfix expression of the records. */
static bool postfix(const char *text, uint64_t cfa, uint64_t pc, uint64_t *out)
{
	char copy[4096], *save = NULL;
	struct stack s = {.n = 0};

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *t = strtok_r(copy, " ", &save); t && !s.bad; t = strtok_r(NULL, " ", &save)) {
		uint64_t b, a;

		if (strcmp(t, "^") == 0) {
			push(&s, memory(pop(&s)));
		} else if (!t[1] && strchr("+-*@", t[0])) {
			b = pop(&s);
			a = pop(&s);
			push(&s, t[0] == '+' ? a + b : t[0] == '-' ? a - b : t[0] == '*' ? a * b : a & (0 - b));
		} else if (strcmp(t, ".cfa") == 0) {
			push(&s, cfa);
		} else if (strcmp(t, ".undef") == 0) {
			return false;
		} else if (t[0] == '-' || (t[0] >= '0' && t[0] <= '9')) {
			push(&s, t[0] == '-' ? 0 - strtoull(t + 1, NULL, 10) : strtoull(t, NULL, 10));
		} else {
			push(&s, register_value(t + (t[0] == '$'), pc));
		}
	}
	*out = pop(&s);
	return !s.bad && s.n == 0;
}

static void binary(struct stack *s, const char *op)
{
	uint64_t b = pop(s), a = pop(s);
	static const char *const names[] = {"and", "or", "xor", "plus", "minus", "mul", "shl", "shr", "shra", "ge",
		"gt", "le", "lt", "eq", "ne", NULL};
	unsigned i = 0;

	while (names[i] && strcmp(names[i], op) != 0)
		i++;
	switch (i) {
	case 0: push(s, a & b); break;
	case 1: push(s, a | b); break;
	case 2: push(s, a ^ b); break;
	case 3: push(s, a + b); break;
	case 4: push(s, a - b); break;
	case 5: push(s, a * b); break;
	case 6: push(s, a << (b & 63)); break;
	case 7: push(s, a >> (b & 63)); break;
	case 8: push(s, (uint64_t)((int64_t)a >> (b & 63))); break;
	case 9: push(s, (int64_t)a >= (int64_t)b); break;
	case 10: push(s, (int64_t)a > (int64_t)b); break;
	case 11: push(s, (int64_t)a <= (int64_t)b); break;
	case 12: push(s, (int64_t)a < (int64_t)b); break;
	case 13: push(s, a == b); break;
	case 14: push(s, a != b); break;
	default: s->bad = true;
	}
}

static void dwarf_op(struct stack *s, const char *op, const char *arg, uint64_t pc)
{
	char name[32];
	int64_t off;

	if (strncmp(op, "lit", 3) == 0) {
		push(s, strtoull(op + 3, NULL, 10));
	} else if (strncmp(op, "const", 5) == 0) {
		push(s, arg[0] == '-' ? 0 - strtoull(arg + 1, NULL, 10) : strtoull(arg, NULL, 10));
	} else if (strncmp(op, "breg", 4) == 0) { /* breg7 (rsp): 8; bregx: 7 (rsp) 8 */
		const char *paren = strchr(op, '(') ? strchr(op, '(') : strchr(arg, '(');

		if (!paren || sscanf(paren, "(%31[^)])%*[: ]%" SCNd64, name, &off) != 2)
			s->bad = true;
		else
			push(s, register_value(name, pc) + (uint64_t)off);
	} else if (strcmp(op, "deref") == 0) {
		push(s, memory(pop(s)));
	} else if (strcmp(op, "plus_uconst") == 0) {
		push(s, pop(s) + strtoull(arg, NULL, 10));
	} else if (strcmp(op, "dup") == 0) {
		uint64_t v = pop(s);

		push(s, v);
		push(s, v);
	} else if (strcmp(op, "drop") == 0) {
		pop(s);
	} else if (strcmp(op, "nop") != 0) {
		binary(s, op);
	}
}

/* An expression as readelf prints it. */
static bool dwarf(const char *ops, bool with_cfa, uint64_t cfa, uint64_t pc, uint64_t *out)
{
	char copy[8192], *save = NULL;
	struct stack s = {.n = 0};

	if (with_cfa)
		push(&s, cfa);
	snprintf(copy, sizeof(copy), "%s", ops);
	for (char *t = strtok_r(copy, ";", &save); t && !s.bad; t = strtok_r(NULL, ";", &save)) {
		char *colon;

		t += strspn(t, " ");
		if (strncmp(t, "DW_OP_", 6) != 0)
			return false;
		t += 6;
		if (strncmp(t, "breg", 4) == 0 && t[4] != 'x') {
			dwarf_op(&s, t, "", pc);
			continue;
		}
		colon = strchr(t, ':');
		if (colon)
			*colon++ = '\0';
		dwarf_op(&s, t, colon ? colon + strspn(colon, " ") : "", pc);
	}
	*out = pop(&s);
	return !s.bad;
}

/* Whether the records can say the expression at all; the table of a linker, too. */
static bool can_say(const char *ops)
{
	static const char *const never[] = {"deref_size", "xor", "_or", "shr", "shra", "_eq", "_ne", "_gt", "_le",
		"_lt", "bra", "skip", "abs", "neg", "not", "div", "mod", "pick", "rot", "call_frame_cfa", "addr"};

	if (strstr(ops, "DW_OP_lit15; DW_OP_and; DW_OP_lit1"))
		return true;
	for (unsigned i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (strstr(ops, never[i]))
			return false;
	return !strstr(ops, "DW_OP_and") && !strstr(ops, "DW_OP_shl") && !strstr(ops, "DW_OP_ge");
}

/* ---- reading -------------------------------------------------------------------------- */

static bool is_header(const char *line, struct entry *e)
{
	char kind[8] = "";
	unsigned long long off, pc = 0, end = 0, cie = 0;

	memset(e, 0, sizeof(*e));
	if (sscanf(line, "%llx %*x %*x %7s", &off, kind) != 2)
		return false;
	e->off = off;
	e->cie = strcmp(kind, "CIE") == 0;
	if (e->cie)
		return true;
	if (strcmp(kind, "FDE") != 0 || !strstr(line, "cie=") || !strstr(line, "pc="))
		return false;
	sscanf(strstr(line, "cie="), "cie=%llx", &cie);
	sscanf(strstr(line, "pc="), "pc=%llx..%llx", &pc, &end);
	e->cie_off = cie;
	e->start = pc;
	e->end = end;
	return true;
}

/* "r5 (rdi)" is one cell, a register. */
static void read_cells(const struct entry *e, struct row *r, char *save)
{
	unsigned n = 0;

	for (char *t; (t = strtok_r(NULL, " ", &save));)
		if (t[0] == '(' && n)
			snprintf(r->cells[n - 1], 16, "%.*s", (int)strcspn(t + 1, ")"), t + 1);
		else if (n <= e->n_names && asprintf(&r->cells[n], "%-16s", t) > 0)
			r->cells[n++][strlen(t)] = '\0';
}

static void read_rows(const char *path)
{
	FILE *f = open_or_die(path);
	static char line[LINE_MOST];
	struct entry e, *last = NULL;
	unsigned section = 0;

	while (fgets(line, sizeof(line), f)) {
		char *save = NULL, *t;

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "Contents of", 11) == 0)
			section++;
		if (is_header(line, &e)) {
			entries = more(entries, n_entries, sizeof(*entries));
			last = &entries[n_entries++];
			*last = e;
			last->section = section;
			if (e.cie) {
				cies = more(cies, n_cies, sizeof(*cies));
				cies[n_cies++] = n_entries - 1;
			}
			continue;
		}
		t = strtok_r(line, " ", &save);
		if (!t || !last || strcmp(t, "ZERO") == 0 || strchr(t, ':'))
			continue;
		if (strcmp(t, "LOC") == 0) {
			strtok_r(NULL, " ", &save);
			while ((t = strtok_r(NULL, " ", &save)) && last->n_names + 1 < CELLS_MOST)
				last->names[last->n_names++] = strdup(t);
			continue;
		}
		if (strlen(t) != 16 || !last->n_names)
			continue;
		last->rows = more(last->rows, last->n_rows, sizeof(*last->rows));
		memset(&last->rows[last->n_rows], 0, sizeof(*last->rows));
		last->rows[last->n_rows].at = strtoull(t, NULL, 16);
		read_cells(last, &last->rows[last->n_rows++], save);
	}
	fclose(f);
}

static void add_expression(struct entry *to, const char *line)
{
	const char *ops = strstr(line, "(DW_OP");
	struct expression x = {.value = strstr(line, "_val_expression") || strstr(line, "def_cfa_expression")};
	const char *name = strchr(line, '(');

	if (!ops)
		return;
	if (!strstr(line, "def_cfa_expression") && sscanf(name, "(%15[^)])", x.reg) != 1)
		return;
	x.ops = strdup(ops + 1);
	x.ops[strlen(x.ops) - 1] = '\0';
	to->exprs = more(to->exprs, to->n_exprs, sizeof(*to->exprs));
	to->exprs[to->n_exprs++] = x;
}

/* The same entries in the same order, with their instructions. */
static void read_instructions(const char *path)
{
	FILE *f = open_or_die(path);
	static char line[LINE_MOST];
	size_t n = 0;
	struct entry e;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (is_header(line, &e)) {
			if (n == n_entries || entries[n].off != e.off) {
				fprintf(stderr, "the two outputs of readelf differ\n");
				exit(2);
			}
			n++;
		} else if (n && strstr(line, "_expression")) {
			add_expression(&entries[n - 1], line);
		}
	}
	fclose(f);
}

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static void read_records(const char *path)
{
	FILE *f = open_or_die(path);
	static char line[LINE_MOST];
	uint64_t run = 0;
	int used;

	while (fgets(line, sizeof(line), f)) {
		unsigned long long at, len = 0;
		struct record r = {0};

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "STACK CFI INIT %llx %llx %n", &at, &len, &used) == 2)
			r.end = base + at + len;
		else if (sscanf(line, "STACK CFI %llx %n", &at, &used) != 1)
			continue;
		r.at = base + at;
		run = r.end ? r.at : run;
		r.run = run;
		r.nth = n_records;
		r.rules = strdup(line + used);
		records = more(records, n_records, sizeof(*records));
		records[n_records++] = r;
	}
	fclose(f);
	if (n_records)
		qsort(records, n_records, sizeof(*records), compare_records);
}

/* ---- comparing ------------------------------------------------------------------------ */

/* The rules in force at an address: the expression of each name. */
struct force {
	char names[CELLS_MOST][16];
	char texts[CELLS_MOST][512];
	unsigned n;
	size_t run, record; /* the INIT record, and the last record that made them */
};

static void apply(struct force *f, const char *rules)
{
	static char copy[LINE_MOST];
	char *save = NULL;
	unsigned i = CELLS_MOST;

	snprintf(copy, sizeof(copy), "%s", rules);
	for (char *t = strtok_r(copy, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
		size_t n = strlen(t);

		if (n > 1 && t[n - 1] == ':') {
			t[n - 1] = '\0';
			t += t[0] == '$';
			for (i = 0; i < f->n && strcmp(f->names[i], t) != 0; i++)
				;
			if (i == f->n && f->n < CELLS_MOST)
				f->n++;
			snprintf(f->names[i], sizeof(f->names[i]), "%s", t);
			f->texts[i][0] = '\0';
		} else if (i < CELLS_MOST) {
			size_t at = strlen(f->texts[i]);

			snprintf(f->texts[i] + at, sizeof(f->texts[i]) - at, "%s%s", at ? " " : "", t);
		}
	}
}

/* The run of records that holds the address, or n_records. */
static size_t run_at(uint64_t pc)
{
	size_t low = 0, high = n_records;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (records[mid].at <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	while (low && !records[low - 1].end)
		low--;
	return low && records[low - 1].end > pc ? low - 1 : n_records;
}

static bool force_at(uint64_t pc, struct force *f)
{
	size_t i = run_at(pc);

	if (i == n_records) {
		f->n = 0;
		return false;
	}
	if (!f->n || f->run != i || records[f->record].at > pc) { /* else go on from the row before */
		f->n = 0;
		f->run = i;
		apply(f, records[f->record = i].rules);
	}
	for (i = f->record + 1; i < n_records && !records[i].end && records[i].at <= pc; i++)
		apply(f, records[f->record = i].rules);
	return true;
}

static const char *text_of(const struct force *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++)
		if (strcmp(f->names[i], name) == 0)
			return f->texts[i];
	return NULL;
}

/* The number that a cell of readelf stands for. 1: any of the expressions in *x. 0: *out; -1: no number. */
static int cell_value(const char *cell, uint64_t cfa, uint64_t pc, uint64_t *out)
{
	char name[32];
	int64_t off;

	if (sscanf(cell, "c%" SCNd64, &off) == 1 && (cell[1] == '+' || cell[1] == '-'))
		*out = memory(cfa + (uint64_t)off);
	else if (sscanf(cell, "v%" SCNd64, &off) == 1 && (cell[1] == '+' || cell[1] == '-'))
		*out = cfa + (uint64_t)off;
	else if (sscanf(cell, "%31[a-z0-9]%" SCNd64, name, &off) == 2 && strpbrk(cell, "+-"))
		*out = register_value(name, pc) + (uint64_t)off;
	else if (strcmp(cell, "exp") == 0 || strcmp(cell, "vexp") == 0)
		return 1;
	else if (strcmp(cell, "u") == 0 || strcmp(cell, "s") == 0)
		return -1;
	else
		*out = register_value(cell, pc);
	return 0;
}

static const struct entry *cie_of(const struct entry *e)
{
	for (size_t i = n_cies; i--;) {
		const struct entry *c = &entries[cies[i]];

		if (c->section == e->section && c->off == e->cie_off)
			return c;
	}
	return e;
}

/* Whether an expression that the entry has for the register gives `got`. */
static bool by_expression(const struct entry *e, const char *reg, uint64_t cfa, uint64_t pc, uint64_t got)
{
	const struct entry *both[] = {e, cie_of(e)};

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < both[k]->n_exprs; i++) {
			const struct expression *x = &both[k]->exprs[i];
			uint64_t v;

			if (strcmp(x->reg, reg) == 0 && dwarf(x->ops, *reg != '\0', cfa, pc, &v) &&
				(x->value ? v : memory(v)) == got)
				return true;
		}
	return false;
}

static bool entry_can_say(const struct entry *e, const char *reg)
{
	const struct entry *both[] = {e, cie_of(e)};

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < both[k]->n_exprs; i++)
			if (strcmp(both[k]->exprs[i].reg, reg) == 0 && !can_say(both[k]->exprs[i].ops))
				return false;
	return true;
}

/* The name that readelf gives the return address in expressions. */
static const char *expression_name(const char *name)
{
	return strcmp(name, "ra") == 0 ? "rip" : name;
}

/* NULL: the cells are in force at `pc`; else the one that is not. */
static const char *differs(const struct entry *e, char *const *names, unsigned n_names, const struct row *r,
	const struct force *f, uint64_t pc)
{
	const char *text = text_of(f, ".cfa");
	uint64_t cfa = 0, v = 0, got = 0;
	int kind = cell_value(r->cells[0], 0, pc, &v);

	if (!text || !postfix(text, 0, pc, &cfa))
		return "CFA";
	if (kind == 1 ? !by_expression(e, "", 0, pc, cfa) : kind == 0 && v != cfa)
		return "CFA";
	for (unsigned i = 0; i < n_names; i++) {
		bool ra = strcmp(names[i], "ra") == 0;

		if (!r->cells[i + 1] || strncmp(names[i], "xmm", 3) == 0)
			continue;
		text = text_of(f, ra ? ".ra" : names[i]);
		kind = cell_value(r->cells[i + 1], cfa, pc, &v);
		if (kind < 0) {
			if (ra ? !text || strcmp(text, "1") != 0 : text && strcmp(text, ".undef") != 0 &&
				    (!postfix(text, cfa, pc, &got) || got != register_value(names[i], pc)))
				return names[i];
			continue;
		}
		if (text && strcmp(text, ".undef") == 0 && kind == 1 && !entry_can_say(e, names[i]))
			continue;
		if (!text || !postfix(text, cfa, pc, &got))
			return names[i];
		if (kind == 1 ? !by_expression(e, expression_name(names[i]), cfa, pc, got) : got != v)
			return names[i];
	}
	return NULL;
}

/* Whether a row without a record is a gap that it may be. */
static bool may_lack(const struct entry *e, const struct row *r, size_t nth)
{
	if (nth >= 4096)
		return true;
	return strcmp(r->cells[0], "exp") == 0 && !entry_can_say(e, "");
}

static void complain(const struct entry *e, const struct row *r, const char *what, const struct force *f)
{
	static unsigned told;

	if (told++ >= 20)
		return;
	printf("%016" PRIx64 " in %016" PRIx64 "..%016" PRIx64 ": %s", r->at, e->start, e->end, what);
	for (unsigned i = 0; i < e->n_names + 1 && r->cells[i]; i++)
		printf(" %s", r->cells[i]);
	for (unsigned i = 0; f && i < f->n; i++)
		printf(" | %s: %s", f->names[i], f->texts[i]);
	printf("\n");
}

static void judge_row(const struct entry *e, const struct entry *cells, size_t nth, uint64_t end, bool judge)
{
	const struct row *r = &cells->rows[nth];
	uint64_t at = cells == e ? r->at : e->start;
	static struct force f;
	const char *what = NULL;
	bool table = r->cells[0] && strcmp(r->cells[0], "exp") == 0;
	size_t next;

	seen.rows++;
	if (!force_at(at, &f)) {
		bool may = may_lack(e, r, nth);

		seen.gaps += may;
		seen.lacking += !may;
		if (judge && !may)
			complain(e, r, "not there:", NULL);
		return;
	}
	for (uint64_t pc = at; !what && pc < end && pc < at + 4096; pc++) {
		if (pc > at && !table)
			break;
		if (pc > at && !force_at(pc, &f))
			what = "end of the run";
		else
			what = differs(e, cells->names, cells->n_names, r, &f, pc);
	}
	/* No change may come before the next row. */
	next = f.record + 1;
	if (!what && !table && end > at &&
		(next < n_records && !records[next].end ? records[next].at < end : 0))
		what = "a record inside the row";
	if (!what && !table && records[run_at(at)].end < end)
		what = "the run ends inside the row";
	seen.said += !what;
	seen.wrong += what != NULL;
	if (what && judge)
		complain(e, r, what, &f);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->section < y->section ? -1 : x->section > y->section;
}

static void judge_entry(const struct entry *e, bool judge)
{
	const struct entry *cells = e->n_rows ? e : cie_of(e);
	size_t n = cells == e ? e->n_rows : cells->n_rows ? 1 : 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = i + 1 < n ? e->rows[i + 1].at : e->end;

		judge_row(e, cells, i, end < e->end ? end : e->end, judge);
	}
}

int main(int argc, char **argv)
{
	static const struct entry **order; /* LeakSanitizer finds what it points to */
	uint64_t covered = 0;
	bool judge;
	size_t n = 0;

	if (argc != 6)
		return 2;
	base = strtoull(argv[4], NULL, 16);
	judge = strcmp(argv[5], "judge") == 0;
	read_rows(argv[1]);
	read_instructions(argv[2]);
	read_records(argv[3]);
	order = calloc(n_entries + 1, sizeof(*order));
	if (!order)
		return 2;
	for (size_t i = 0; i < n_entries; i++)
		if (!entries[i].cie && entries[i].start < entries[i].end)
			order[n++] = &entries[i];
	if (n)
		qsort(order, n, sizeof(*order), compare_entries);
	for (size_t i = 0; i < n; i++) {
		if (order[i]->start < covered) {
			seen.doubled++;
			continue;
		}
		covered = order[i]->end;
		judge_entry(order[i], judge);
	}
	printf("entries %zu rows %" PRIu64 " said %" PRIu64 " wrong %" PRIu64 " lacking %" PRIu64 " gaps %" PRIu64
	       " doubled %" PRIu64 "\n", n, seen.rows, seen.said, seen.wrong, seen.lacking, seen.gaps, seen.doubled);
	return judge && (seen.wrong || seen.lacking);
}
