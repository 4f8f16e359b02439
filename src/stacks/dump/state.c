/* Reads the notes of a core file about its threads: registers, signal, address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "stacks/dump/private.h"
#include "stacks/dump/state-private.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NT_PRSTATUS = 1, NT_AUXV = 6, NT_SIGINFO = 0x53494749, AUX_SYSINFO_EHDR = 33 };

/* ---- registers ---------------------------------------------------------------------- */

/* Where the registers of a processor are in its struct of registers (user_regs_struct): the index of each DWARF
 * register, in order. */
struct processor {
	unsigned machine, word; /* bytes of a word */
	unsigned bytes;		/* of the struct */
	unsigned id_at, regs_at; /* in a note NT_PRSTATUS */
	unsigned pc;
	unsigned n;
	uint8_t at[DUMP_REGISTERS];
};

static const struct processor processors[] = {
	{DUMP_AMD64, 8, 27 * 8, 32, 112, 16, 17,
		/* rax rdx rcx rbx rsi rdi rbp rsp r8 … r15 rip */
		{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16}},
	{DUMP_ARM64, 8, 34 * 8, 32, 112, 32, 32,
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
			28, 29, 30, 31}},
	{DUMP_I386, 4, 17 * 4, 24, 72, 12, 9,
		/* eax ecx edx ebx esp ebp esi edi eip */
		{6, 1, 2, 0, 15, 5, 3, 4, 12}},
};

static const struct processor *processor_of(unsigned machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(processors); i++)
		if (processors[i].machine == machine)
			return &processors[i];
	return NULL;
}

bool state_registers(unsigned machine, const uint8_t *p, size_t n, struct dump_thread *t)
{
	const struct processor *c = processor_of(machine);

	if (!c || n < c->bytes)
		return false;
	for (unsigned i = 0; i < c->n; i++)
		t->reg[i] = load_number(p + c->at[i] * c->word, c->word, false);
	t->pc = load_number(p + c->pc * c->word, c->word, false);
	t->n = c->n;
	return true;
}

unsigned state_machine(size_t bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(processors); i++)
		if (processors[i].bytes == bytes)
			return processors[i].machine;
	return 0;
}

/* ---- notes -------------------------------------------------------------------------- */

static int take_status(struct dump_state *s, const uint8_t *p, size_t n)
{
	const struct processor *c = processor_of(s->machine);
	struct dump_thread t = {0};
	int r;

	if (!c || n < c->regs_at || !state_registers(s->machine, p + c->regs_at, n - c->regs_at, &t))
		return 0;
	t.id = load_number(p + c->id_at, 4, false);
	t.signal = (int)load_number(p + 12, 2, false);
	r = state_thread(s, &t);
	return r == -E2BIG ? 0 : r;
}

/* The signals whose siginfo has an address. */
static bool has_address(int signal, int code)
{
	return code > 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE);
}

static void take_siginfo(struct dump_state *s, const uint8_t *p, size_t n)
{
	unsigned word = s->is64 ? 8 : 4, at = s->is64 ? 16 : 12;

	if (s->signal || n < at + word)
		return;
	s->signal = (int)load_number(p, 4, false);
	s->has_address = has_address(s->signal, (int)(int32_t)load_number(p + 8, 4, false));
	s->address = s->has_address ? load_number(p + at, word, false) : 0;
}

int state_note(struct dump_state *s, uint64_t type, const uint8_t *p, size_t n)
{
	switch (type) {
	case NT_PRSTATUS:
		return take_status(s, p, n);
	case NT_SIGINFO:
		take_siginfo(s, p, n);
		return 0;
	case NT_AUXV:
		if (!s->vdso)
			s->vdso = aux_value(p, n, s->is64, false, AUX_SYSINFO_EHDR);
		return 0;
	default:
		return 0;
	}
}

bool state_begin(struct dump_state *s, unsigned machine, bool is64, bool big)
{
	const struct processor *c = processor_of(machine);

	s->machine = machine;
	s->is64 = is64;
	s->fd = -1;
	return c && !big && (c->word == 8) == is64;
}

/* The signals that stop a program, or that a debugger sends, ended nothing. */
static bool ends(int signal)
{
	return signal > 0 && signal < 65 && signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN &&
		signal != SIGTTOU && signal != SIGCHLD && signal != SIGCONT && signal != SIGURG && signal != SIGWINCH;
}

void state_end(struct dump_state *s)
{
	if (!s->signal && s->n_threads)
		s->signal = s->thread[0].signal;
	if (!ends(s->signal)) {
		s->signal = 0;
		s->has_address = false;
	}
	for (size_t i = 0; s->vdso && i < s->n_parts; i++)
		if (s->vdso - s->part[i].address < s->part[i].size && s->vdso >= s->part[i].address)
			s->vdso_end = s->part[i].address + s->part[i].size;
	if (s->vdso_end <= s->vdso)
		s->vdso = s->vdso_end = 0;
}

const char *dump_reason(const struct dump_state *s, char out[static DUMP_REASON])
{
	const char *name = s->signal ? sigabbrev_np(s->signal) : NULL;
	int n;

	out[0] = '\0';
	if (!s->signal)
		return out;
	n = name ? snprintf(out, DUMP_REASON, "SIG%s", name) : snprintf(out, DUMP_REASON, "signal %d", s->signal);
	if (s->has_address)
		snprintf(out + n, DUMP_REASON - (size_t)n, " at 0x%" PRIx64, s->address);
	return out;
}

void dump_state_release(struct dump_state *s)
{
	cleanup_close(&s->fd);
	free(s->part);
	free(s->thread);
	*s = (struct dump_state){.fd = -1};
}
