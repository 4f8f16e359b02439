/* Shared by the files of stacks/dump/ that fill a struct dump_state. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/grow.h"
#include "base/util.h"
#include "stacks/dump/state.h"

/* Begins a state. False: the processor is not one of the three. */
bool state_begin(struct dump_state *s, unsigned machine, bool is64, bool big);
/* Takes a note of the name CORE. 0, -ENOMEM. */
int state_note(struct dump_state *s, uint64_t type, const uint8_t *p, size_t n);
void state_end(struct dump_state *s); /* after the last note and part */

/* 0, -ENOMEM; state_thread() also -E2BIG. */
static inline int state_thread(struct dump_state *s, const struct dump_thread *t)
{
	return s->n_threads == DUMP_THREADS ? -E2BIG : APPEND(s->thread, s->room_threads, s->n_threads, *t);
}

static inline int state_part(struct dump_state *s, uint64_t address, uint64_t offset, uint64_t size)
{
	s->whole = MAX(s->whole, offset + size);
	return APPEND(s->part, s->room_parts, s->n_parts, (struct dump_part){address, offset, size});
}

/* Takes the registers out of the kernel's struct. False: it is shorter than that of the processor. */
bool state_registers(unsigned machine, const uint8_t *p, size_t n, struct dump_thread *t);
unsigned state_machine(size_t bytes); /* the processor whose struct of registers has this size; 0: unknown */
