/* The program `unwind`: unwinds the stacks of a core file or of a copied process. symfs starts it
 * (stacks/unwind.c); it is a program of its own so that symfs needs neither libdw nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/search.h"
#include "base/util.h"
#include "priv/worker.h"
#include "stacks/libdw/wire.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Unwinds the threads of a program: hands registers, memory and files to libdwfl, and takes its frames. */

#define VDSO_MOST (1u << 20) /* bytes of a file in memory */

struct walk {
	const struct unwinder *u;
	struct slot *slots;	/* one for each thread, and one that ends them */
	uint32_t frames, depth; /* written: of all threads, of this thread */
	uint32_t thread;
	bool rules; /* the last frame has unwind rules, which lead to the next one */
	bool full;  /* a thread has more frames than are written */
	bool left;  /* the thread's first frame is in no module; the next one is its caller, with a return address */
	int r;	    /* the first error of take_record() */
};

struct unwinder {
	const struct unwinder_head *head; /* of the task, and what follows it */
	const struct unwinder_module *module;
	const struct unwinder_part *part;
	const struct unwinder_thread *thread;
};

/* Checks the lengths in a task of n bytes, and sets the pointers of `u`. 0, -EBADMSG. */
static int unwinder_task(struct unwinder *u, const void *task, size_t n)
{
	const struct unwinder_head *h = task;
	uint64_t need;

	if (n < sizeof(*h))
		return -EBADMSG;
	need = sizeof(*h) + h->modules * (uint64_t)sizeof(*u->module) + h->parts * (uint64_t)sizeof(*u->part) +
		h->threads * (uint64_t)sizeof(*u->thread);
	if (need != n)
		return -EBADMSG;
	u->head = h;
	u->module = (const struct unwinder_module *)(h + 1);
	u->part = (const struct unwinder_part *)(u->module + h->modules);
	u->thread = (const struct unwinder_thread *)(u->part + h->parts);
	for (uint32_t i = 0; i < h->threads; i++)
		if (u->thread[i].n > UNWINDER_REGISTERS)
			return -EBADMSG;
	return 0;
}

/* ---- memory ------------------------------------------------------------------------- */

/* Reads n bytes of one part. Parts are sorted by address. */
static bool read_bytes(const struct unwinder *u, uint64_t at, void *p, size_t n)
{
	size_t low;
	const struct unwinder_part *x;

	low = search_first(i, 0, u->head->parts, u->part[i].address <= at);
	if (!low)
		return false;
	x = &u->part[low - 1];
	return at - x->address < x->size && n <= x->size - (at - x->address) &&
		pread(UNWINDER_MEMORY, p, n, (off_t)(x->offset + (at - x->address))) == (ssize_t)n;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
	const struct walk *w = arg;
	bool is64 = w->u->head->is64;
	uint32_t half;
	uint64_t whole;

	if (!read_bytes(w->u, at, is64 ? (void *)&whole : &half, is64 ? sizeof(whole) : sizeof(half)))
		return false;
	*out = is64 ? whole : half;
	return true;
}

/* ---- files -------------------------------------------------------------------------- */

/* The index of a module is its name, because libdwfl passes that to each callback. */
static uint32_t index_of(const char *name)
{
	return (uint32_t)strtoul(name, NULL, 10);
}

static Elf *image_of(const struct unwinder *u, const struct unwinder_module *m)
{
	uint64_t n = m->end - m->base;
	char *image;
	Elf *elf;

	if (n > VDSO_MOST || !(image = malloc(n)))
		return NULL;
	elf = read_bytes(u, m->base, image, n) ? elf_memory(image, n) : NULL;
	if (!elf)
		free(image); /* otherwise the Elf uses it until this process ends */
	return elf;
}

/* Receives the answer of the starting process, and a descriptor with it. */
static int receive(struct unwinder_file *f)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec v = {f, sizeof(*f)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(UNWINDER_SOCKET, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*f))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return f->r == 0 ? fd : -1;
}

/* A descriptor of a file of a module; negative: no source has the file. */
static int ask_for(const struct walk *w, const char *name, uint32_t what)
{
	struct unwinder_ask ask = {index_of(name), what};
	struct unwinder_file f;

	if (ask.module >= w->u->head->modules || write_all(UNWINDER_SOCKET, &ask, sizeof(ask)) < 0)
		return -1;
	return receive(&f);
}

/* A file that is read with pread(): a file that becomes shorter meanwhile must not raise SIGBUS. */
static int find_file(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
	const struct walk *w = *data;
	uint32_t i = index_of(name);
	int fd;

	*path = strdup(name);
	if (i < w->u->head->modules && w->u->module[i].in_memory) {
		*elf = image_of(w->u, &w->u->module[i]);
		return -1;
	}
	fd = ask_for(w, name, UNWINDER_PROGRAM);
	if (fd >= 0)
		*elf = elf_begin(fd, ELF_C_READ, NULL);
	return fd;
}

static int find_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, const char *file,
	const char *link, GElf_Word crc, char **path)
{
	*path = strdup(name);
	return ask_for(*data, name, UNWINDER_DEBUG);
}

/* ---- threads ------------------------------------------------------------------------ */

/* The argument of libdwfl for a thread. */
struct slot {
	struct walk *w;
	uint32_t i;
};

/* Threads have the numbers from 1: libdwfl takes 0 for the end. */
static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct walk *w = arg;
	struct slot *next = *thread ? (struct slot *)*thread + 1 : w->slots;

	if (next->i >= w->u->head->threads)
		return 0;
	*thread = next;
	return (pid_t)next->i + 1;
}

static int take_record(struct walk *w, const struct unwinder_record *r)
{
	w->r = write_all(UNWINDER_OUT, r, sizeof(*r));
	return w->r < 0 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Where a call leaves the return address: in the register, or on the stack (`bytes`) to which the register points. */
static const struct {
	uint32_t machine, reg, bytes;
} calls[] = {{EM_X86_64, 7, 8}, {EM_386, 4, 4}, {EM_AARCH64, 30, 0}, {EM_ARM, 14, 0}};

/* A thread that called an address without memory, as by a null pointer: sets the registers to those of the caller. */
static bool leave_call(struct walk *w, Dwfl *dwfl, Dwarf_Word *pc, Dwarf_Word reg[static UNWINDER_REGISTERS])
{
	Dwarf_Word back;
	size_t i = 0;

	while (i < ARRAY_SIZE(calls) && w->u->head->machine != calls[i].machine)
		i++;
	if (i == ARRAY_SIZE(calls) || dwfl_addrmodule(dwfl, *pc) || read_bytes(w->u, *pc, &(char){0}, 1))
		return false;
	back = reg[calls[i].reg];
	if ((calls[i].bytes && !read_memory(dwfl, back, &back, w)) || !dwfl_addrmodule(dwfl, back))
		return false;
	reg[calls[i].reg] += calls[i].bytes;
	*pc = back;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct slot *slot = arg;
	struct walk *w = slot->w;
	const struct unwinder_thread *t = &w->u->thread[slot->i];
	Dwarf_Word reg[UNWINDER_REGISTERS] = {0}, pc = t->pc;

	for (uint64_t r = 0; r < t->n; r++)
		reg[r] = t->reg[r];
	w->left = leave_call(w, dwfl_thread_dwfl(thread), &pc, reg);
	if (w->left) {
		w->rules = true;
		w->depth++;
		w->frames++;
		take_record(w, &(struct unwinder_record){t->pc, slot->i, UNWINDER_FRAME, .activation = 1});
	}
	if (!t->n || !dwfl_thread_state_registers(thread, 0, (unsigned)t->n, reg))
		return false;
	dwfl_thread_state_register_pc(thread, pc);
	return true;
}

/* ---- frames ------------------------------------------------------------------------- */

static bool covers(Dwarf_CFI *cfi, Dwarf_Addr at)
{
	Dwarf_Frame *frame;

	if (!cfi || dwarf_cfi_addrframe(cfi, at, &frame) != 0)
		return false;
	free(frame);
	return true;
}

/* Whether a module has unwind rules for the address; otherwise libdwfl follows frame pointers. */
static bool has_rules(Dwfl *dwfl, Dwarf_Addr at)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, at);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;

	if (covers(cfi, at - bias))
		return true;
	cfi = mod ? dwfl_module_dwarf_cfi(mod, &bias) : NULL;
	return covers(cfi, at - bias);
}

static int take_frame(Dwfl_Frame *state, void *arg)
{
	struct unwinder_record r = {.kind = UNWINDER_FRAME};
	struct walk *w = arg;
	Dwarf_Addr pc;
	bool activation;

	if (!dwfl_frame_pc(state, &pc, &activation))
		return -1;
	if (w->depth == UNWINDER_DEPTH_MOST || w->frames == UNWINDER_FRAMES_MOST) {
		w->full = true;
		return DWARF_CB_ABORT;
	}
	r.thread = w->thread;
	r.pc = pc;
	activation = activation && !w->left;
	w->left = false;
	r.activation = activation;
	r.rules = w->depth && w->rules;
	w->rules = has_rules(dwfl_thread_dwfl(dwfl_frame_thread(state)), activation ? pc : pc - 1);
	w->depth++;
	w->frames++;
	return take_record(w, &r);
}

static int take_thread(Dwfl_Thread *thread, void *arg)
{
	struct unwinder_record r = {.kind = UNWINDER_END};
	struct walk *w = arg;
	int end;

	w->thread = (uint32_t)dwfl_thread_tid(thread) - 1;
	w->depth = 0;
	w->full = false;
	if (!w->u->thread[w->thread].n)
		return DWARF_CB_OK;
	end = dwfl_thread_getframes(thread, take_frame, w);
	if (w->r < 0)
		return DWARF_CB_ABORT;
	r.thread = w->thread;
	if (w->full)
		snprintf(r.text, sizeof(r.text), "more frames follow");
	else if (end < 0)
		r.kind = UNWINDER_STUCK;
	return take_record(w, &r);
}

/* ---- the work ----------------------------------------------------------------------- */

static int report_modules(Dwfl *dwfl, struct walk *w)
{
	dwfl_report_begin(dwfl);
	for (uint32_t i = 0; i < w->u->head->modules; i++) {
		const struct unwinder_module *m = &w->u->module[i];
		Dwfl_Module *mod;
		void **data;
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		mod = m->end > m->base ? dwfl_report_module(dwfl, name, m->base, m->end) : NULL;
		if (mod && dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL))
			*data = w;
	}
	return dwfl_report_end(dwfl, NULL, NULL);
}

/* An ELF header without a file: libdwfl takes the processor from it. */
static Elf *processor_of(const struct unwinder_head *h, void *room)
{
	Elf64_Ehdr *e64 = room;
	Elf32_Ehdr *e32 = room;
	unsigned char *ident = room;

	memcpy(ident, ELFMAG, SELFMAG);
	ident[EI_CLASS] = h->is64 ? ELFCLASS64 : ELFCLASS32;
	ident[EI_DATA] = ELFDATA2LSB;
	ident[EI_VERSION] = EV_CURRENT;
	if (h->is64) {
		e64->e_type = ET_CORE;
		e64->e_machine = (Elf64_Half)h->machine;
		e64->e_version = EV_CURRENT;
		e64->e_ehsize = sizeof(*e64);
	} else {
		e32->e_type = ET_CORE;
		e32->e_machine = (Elf32_Half)h->machine;
		e32->e_version = EV_CURRENT;
		e32->e_ehsize = sizeof(*e32);
	}
	return elf_memory(room, h->is64 ? sizeof(*e64) : sizeof(*e32));
}

static int fail(struct err *e)
{
	return err_set(e, -EBADMSG, "libdw: %s", dwfl_errmsg(-1));
}

/* Unwinds all threads. 0; -ENOMEM; errors of take_record(); -EBADMSG: libdwfl cannot begin, `e` says why. */
static int unwinder_run(struct unwinder *u, struct err *e)
{
	static const Dwfl_Callbacks files = {.find_elf = find_file, .find_debuginfo = find_debug};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread, .memory_read = read_memory,
		.set_initial_registers = set_registers};
	_cleanup_free_ struct slot *slots = calloc((size_t)u->head->threads + 1, sizeof(*slots));
	_cleanup_free_ void *room = calloc(1, sizeof(Elf64_Ehdr));
	struct walk w = {.u = u, .slots = slots};
	Elf *processor;
	Dwfl *dwfl;

	if (!slots || !room)
		return -ENOMEM;
	for (uint32_t i = 0; i <= u->head->threads; i++)
		slots[i] = (struct slot){&w, i};
	elf_version(EV_CURRENT);
	processor = processor_of(u->head, room);
	dwfl = processor ? dwfl_begin(&files) : NULL;
	if (!dwfl || report_modules(dwfl, &w) < 0 || !dwfl_attach_state(dwfl, processor, 1, &threads, &w))
		return fail(e);
	if (dwfl_getthreads(dwfl, take_thread, &w) < 0 && !w.frames)
		return fail(e);
	return w.r;
}

static int work(struct worker_word *w, char **argv, struct err *e)
{
	struct unwinder u = {0};
	/* libelf calls newfstatat and fcntl; descriptors of files come by recvmsg. */
	static const struct worker_filter filter = {.more = {"newfstatat", "fcntl", "fcntl64", "recvmsg"},
		.done = "unwound"};
	struct span task = {0};
	int r = map_fd(&task, UNWINDER_TASK, e);

	if (r == 0)
		r = worker_enter(argv, &filter, UNWINDER_FRAMES_MOST * 2ull * sizeof(struct unwinder_record), w, e);
	if (r == 0)
		r = unwinder_task(&u, task.p, task.n);
	return r < 0 ? r : unwinder_run(&u, e);
}

int main(int argc, char **argv)
{
	struct worker_word w = {0};
	struct err e = {0};

	worker_arguments(argc, argv, 0);
	worker_leave(&w, work(&w, argv, &e), &e, NULL, 0);
}
