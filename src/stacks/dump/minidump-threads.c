/* Reads the threads of a minidump: their registers, stack memory and names, and the exception. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "stacks/dump/minidump-private.h"
#include "stacks/dump/minidump.h"

#include <stdio.h>
#include <string.h>

#define THREAD_SIZE 48
#define EXCEPTION_SIZE 168
#define CONTEXT_MOST 0x110 /* bytes of a context up to the last register that is read */

enum { PROCESSOR_X86 = 0, PROCESSOR_AMD64 = 9, PROCESSOR_ARM64 = 12, PROCESSOR_ARM64_OLD = 0x8003 };

struct threads {
	struct minidump_file file;
	struct minidump *out;
	struct minidump_range *ranges;
	size_t n_ranges;
	struct err e; /* of what may fail */
};

/* ---- registers ------------------------------------------------------------------------ */

/* Where the registers are in a context: x86 in the order eax, ecx, edx, ebx, esp, ebp, esi, edi, eip. */
static const uint16_t x86_at[] = {0xb0, 0xac, 0xa8, 0xa4, 0xc4, 0xb4, 0xa0, 0x9c, 0xb8};
#define AMD64_AT 0x78
#define ARM64_AT 8

static bool read_registers(struct threads *t, uint32_t size, uint64_t at, uint64_t *reg)
{
	enum minidump_cpu cpu = t->out->cpu;
	size_t need = cpu == MINIDUMP_CPU_X86 ? 0xc8 : cpu == MINIDUMP_CPU_AMD64 ? 0x100 : 0x110;
	uint8_t c[CONTEXT_MOST];

	if (cpu == MINIDUMP_CPU_OTHER || size < need || view_read(t->file.v, at, c, need) != 0)
		return false;
	if (cpu == MINIDUMP_CPU_X86)
		for (unsigned i = 0; i < ARRAY_SIZE(x86_at); i++)
			reg[i] = le32(c + x86_at[i]);
	else if (cpu == MINIDUMP_CPU_AMD64)
		for (unsigned i = 0; i <= REG_AMD64_IP; i++)
			reg[i] = le64(c + AMD64_AT + 8 * i);
	else
		for (unsigned i = 0; i <= REG_ARM64_PC; i++)
			reg[i] = le64(c + ARM64_AT + 8 * i);
	return true;
}

static enum minidump_cpu cpu_of(unsigned processor)
{
	switch (processor) {
	case PROCESSOR_X86:
		return MINIDUMP_CPU_X86;
	case PROCESSOR_AMD64:
		return MINIDUMP_CPU_AMD64;
	case PROCESSOR_ARM64:
	case PROCESSOR_ARM64_OLD:
		return MINIDUMP_CPU_ARM64;
	default:
		return MINIDUMP_CPU_OTHER;
	}
}

/* ---- memory --------------------------------------------------------------------------- */

static int room_for_ranges(struct threads *t, uint64_t count)
{
	size_t n = (size_t)MIN(count, MINIDUMP_RANGES - t->n_ranges);
	struct minidump_range *p;

	if (n == 0)
		return 0;
	p = realloc(t->ranges, (t->n_ranges + n) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->ranges = p;
	return (int)n;
}

static void add_range(struct threads *t, uint64_t start, uint64_t size, uint64_t at)
{
	if (!size || start + size <= start || at + size <= at)
		return;
	t->file.end = MAX(t->file.end, at + size);
	if (view_holds(t->file.v, at, size))
		t->ranges[t->n_ranges++] = (struct minidump_range){start, size, at};
}

static int read_memory_list(struct threads *t)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_MEMORY];
	uint8_t b[16];
	uint64_t at;
	int n;

	if (!s->at || view_read(t->file.v, s->at, b, 4) != 0)
		return 0;
	at = minidump_first(s, le32(b), sizeof(b));
	n = room_for_ranges(t, le32(b));
	for (int i = 0; i < n && view_read(t->file.v, at, b, sizeof(b)) == 0; i++, at += sizeof(b))
		add_range(t, le64(b), le32(b + 8), le32(b + 12));
	return MIN(n, 0);
}

static int read_memory64_list(struct threads *t)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_MEMORY64];
	uint64_t at = s->at + 16, bytes;
	uint8_t b[16];
	int n;

	if (!s->at || view_read(t->file.v, s->at, b, sizeof(b)) != 0)
		return 0;
	n = room_for_ranges(t, le64(b));
	bytes = le64(b + 8);
	for (int i = 0; i < n && view_read(t->file.v, at, b, sizeof(b)) == 0; i++, at += sizeof(b)) {
		add_range(t, le64(b), le64(b + 8), bytes);
		if (__builtin_add_overflow(bytes, le64(b + 8), &bytes))
			break;
	}
	return MIN(n, 0);
}

static bool range_has(const struct minidump_range *r, uint64_t address)
{
	return address >= r->start && address - r->start < r->size;
}

static uint64_t sp_of(const struct threads *t, const struct minidump_thread *th)
{
	return th->reg[t->out->cpu == MINIDUMP_CPU_ARM64 ? REG_ARM64_SP : REG_SP];
}

/* The thread's own descriptor names its stack. Without its bytes, the range of memory counts that the stack or the
 * stack pointer is in. */
static void find_stack(struct threads *t, struct minidump_thread *th, uint64_t start, uint32_t size, uint32_t at)
{
	if (size && at)
		t->file.end = MAX(t->file.end, (uint64_t)at + size);
	if (size && at && start + size > start && view_holds(t->file.v, at, size)) {
		th->stack = (struct minidump_range){start, size, at};
		return;
	}
	for (size_t i = 0; i < t->n_ranges; i++)
		if (range_has(&t->ranges[i], start)) {
			th->stack = t->ranges[i];
			return;
		}
	for (size_t i = 0; th->has_registers && i < t->n_ranges; i++)
		if (range_has(&t->ranges[i], sp_of(t, th)))
			th->stack = t->ranges[i];
}

/* ---- threads -------------------------------------------------------------------------- */

struct crash {
	uint32_t thread, context_size, context_at;
	uint32_t writer; /* the thread that wrote the dump */
	bool has_writer;
};

/* The thread that crashed has the registers of the exception: its own are those of the handler. */
static void read_thread(struct threads *t, const struct crash *c, const uint8_t b[static THREAD_SIZE])
{
	struct minidump_thread *th = &t->out->thread[t->out->n_threads];

	*th = (struct minidump_thread){.id = le32(b)};
	if (c->has_writer && c->writer == th->id)
		return;
	t->out->n_threads++;
	th->crashed = t->out->crashed && c->thread == th->id;
	if (th->crashed)
		th->has_registers = read_registers(t, c->context_size, c->context_at, th->reg);
	if (!th->has_registers)
		th->has_registers = read_registers(t, le32(b + 40), le32(b + 44), th->reg);
	find_stack(t, th, le64(b + 24), le32(b + 32), le32(b + 36));
}

static int read_threads(struct threads *t, const struct crash *c)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_THREADS];
	uint8_t b[THREAD_SIZE];
	uint32_t count;
	uint64_t at;
	int r;

	if (!s->at)
		return err_set(t->file.e, -ENODATA, "the minidump has no list of threads");
	r = minidump_bytes(&t->file, "its list of threads", s->at, b, 4);
	if (r < 0)
		return r;
	count = le32(b);
	at = minidump_first(s, count, THREAD_SIZE);
	if (count > MINIDUMP_THREADS)
		return minidump_broken(&t->file, "more threads than any program has");
	t->out->thread = calloc((size_t)count + 1, sizeof(*t->out->thread));
	if (!t->out->thread)
		return err_set(t->file.e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = minidump_bytes(&t->file, "its list of threads", at + (uint64_t)i * THREAD_SIZE, b, sizeof(b));
		if (r == 0)
			read_thread(t, c, b);
	}
	if (t->out->n_threads)
		return 0;
	return r < 0 ? r : err_set(t->file.e, -ENODATA, "the minidump has no threads");
}

static void read_names(struct threads *t)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_NAMES];
	uint8_t b[12];
	uint32_t count;

	if (!s->at || view_read(t->file.v, s->at, b, 4) != 0)
		return;
	count = MIN(le32(b), MINIDUMP_THREADS);
	for (uint32_t i = 0; i < count; i++) {
		if (view_read(t->file.v, s->at + 4 + (uint64_t)i * 12, b, sizeof(b)) != 0)
			return;
		/* Writers keep the order of the threads in most dumps, so the search is short. */
		for (size_t k = 0; k < t->out->n_threads; k++) {
			struct minidump_thread *th = &t->out->thread[(i + k) % t->out->n_threads];

			if (th->id != le32(b))
				continue;
			if (le64(b + 4) <= UINT32_MAX)
				minidump_name(&t->file, le32(b + 4), th->name, sizeof(th->name));
			break;
		}
	}
}

/* ---- the crash ------------------------------------------------------------------------ */

static void read_exception(struct threads *t, struct crash *c)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_EXCEPTION];
	struct minidump_exception x = {.platform = t->file.platform, .processor = t->file.processor};
	uint8_t b[EXCEPTION_SIZE];

	if (!s->at || view_read(t->file.v, s->at, b, sizeof(b)) != 0)
		return;
	c->thread = le32(b);
	c->context_size = le32(b + 160);
	c->context_at = le32(b + 164);
	x.code = le32(b + 8);
	x.flags = le32(b + 12);
	x.address = le64(b + 24);
	x.n_info = MIN(le32(b + 32), ARRAY_SIZE(x.info));
	for (unsigned i = 0; i < x.n_info; i++)
		x.info[i] = le64(b + 40 + 8 * i);
	t->out->crashed = true;
	t->out->address = minidump_reason(&x, t->out->reason, sizeof(t->out->reason));
}

/* Breakpad notes the thread that wrote the dump. The one that asked for it is no thread that crashed. */
static void read_breakpad(struct threads *t, struct crash *c)
{
	const struct minidump_stream *s = &t->file.stream[STREAM_BREAKPAD];
	uint8_t b[12];

	if (!s->at || view_read(t->file.v, s->at, b, sizeof(b)) != 0)
		return;
	c->has_writer = le32(b) & 1;
	c->writer = le32(b + 4);
}

int minidump_open(struct minidump *out, struct view *v, struct err *e)
{
	struct threads t = {.file = {.v = v, .e = e}, .out = out};
	struct crash c = {0};
	uint8_t magic[4];
	int r;

	*out = (struct minidump){0};
	if (view_read(v, 0, magic, 4) != 0 || memcmp(magic, "MDMP", 4) != 0)
		return err_set(e, -ENOMSG, "not a minidump");
	r = minidump_begin(&t.file);
	if (r < 0)
		return r;
	out->cpu = cpu_of(t.file.processor);
	out->windows = !(t.file.platform & PLATFORM_UNIX);
	read_breakpad(&t, &c);
	read_exception(&t, &c);
	r = read_memory_list(&t);
	if (r == 0)
		r = read_memory64_list(&t);
	if (r < 0)
		err_set(e, r, "out of memory");
	if (r == 0)
		r = read_threads(&t, &c);
	t.file.e = &t.e;
	if (r == 0)
		read_names(&t);
	out->whole = t.file.end;
	free(t.ranges);
	return r;
}

void minidump_release(struct minidump *d)
{
	free(take(d->thread));
	d->n_threads = 0;
}

/* ---- modules -------------------------------------------------------------------------- */

static int each_unloaded(struct minidump_file *d, int (*each)(void *ctx, const struct dump_module *m, bool unloaded),
	void *ctx)
{
	const struct minidump_stream *s = &d->stream[STREAM_UNLOADED];
	uint8_t b[12];
	uint32_t head, size, count;
	int r = 0;

	if (!s->at || view_read(d->v, s->at, b, sizeof(b)) != 0)
		return 0;
	head = le32(b);
	size = le32(b + 4);
	count = MIN(le32(b + 8), MINIDUMP_UNLOADED);
	if (head < sizeof(b) || size < MINIDUMP_UNLOADED_SIZE)
		return 0;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct dump_module m = {0};

		if (minidump_unloaded(d, s->at + head + (uint64_t)i * size, &m) < 0 && m.end == 0)
			return 0;
		r = each(ctx, &m, true);
	}
	return r;
}

int minidump_each_module(
	struct view *v, int (*each)(void *ctx, const struct dump_module *m, bool unloaded), void *ctx)
{
	struct err e = {0};
	struct minidump_file d = {.v = v, .e = &e};
	uint32_t count = 0;
	uint64_t at = 0;
	int r = 0;

	if (minidump_begin(&d) < 0)
		return 0;
	if (minidump_modules(&d, &at, &count) < 0)
		count = 0;
	for (uint32_t i = 0; r == 0 && i < MIN(count, MINIDUMP_LISTED); i++) {
		struct dump_module m = {.program = i == 0};

		if (minidump_module(&d, at + (uint64_t)i * MINIDUMP_MODULE_SIZE, &m) < 0 && m.end == 0)
			break;
		r = each(ctx, &m, false);
	}
	return r == 0 ? each_unloaded(&d, each, ctx) : r;
}
