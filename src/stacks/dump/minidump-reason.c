/* The reason of a crash in words, from the exception record of a minidump: signals of Linux, exceptions of Windows,
 * and those of Mach. The words are the constants of the system's headers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/dump/minidump-private.h"
#include "stacks/dump/minidump.h"

#include <stdio.h>

struct word {
	uint32_t code;
	const char *text;
};

static const char *find(const struct word *list, uint32_t code)
{
	for (; list->text; list++)
		if (list->code == code)
			return list->text;
	return NULL;
}

/* ---- Linux ----------------------------------------------------------------------------- */

static const struct word signals[] = {{1, "SIGHUP"}, {2, "SIGINT"}, {3, "SIGQUIT"}, {4, "SIGILL"}, {5, "SIGTRAP"},
	{6, "SIGABRT"}, {7, "SIGBUS"}, {8, "SIGFPE"}, {9, "SIGKILL"}, {10, "SIGUSR1"}, {11, "SIGSEGV"},
	{12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"}, {16, "SIGSTKFLT"}, {17, "SIGCHLD"},
	{18, "SIGCONT"}, {19, "SIGSTOP"}, {20, "SIGTSTP"}, {21, "SIGTTIN"}, {22, "SIGTTOU"}, {23, "SIGURG"},
	{24, "SIGXCPU"}, {25, "SIGXFSZ"}, {26, "SIGVTALRM"}, {27, "SIGPROF"}, {28, "SIGWINCH"}, {29, "SIGIO"},
	{30, "SIGPWR"}, {31, "SIGSYS"}, {UINT32_MAX, "no crash: the dump was requested"}, {0}};
static const struct word ill_codes[] = {{1, "ILL_ILLOPC"}, {2, "ILL_ILLOPN"}, {3, "ILL_ILLADR"}, {4, "ILL_ILLTRP"},
	{5, "ILL_PRVOPC"}, {6, "ILL_PRVREG"}, {7, "ILL_COPROC"}, {8, "ILL_BADSTK"}, {0}};
static const struct word bus_codes[] = {{1, "BUS_ADRALN"}, {2, "BUS_ADRERR"}, {3, "BUS_OBJERR"},
	{4, "BUS_MCEERR_AR"}, {5, "BUS_MCEERR_AO"}, {0}};
static const struct word fpe_codes[] = {{1, "FPE_INTDIV"}, {2, "FPE_INTOVF"}, {3, "FPE_FLTDIV"}, {4, "FPE_FLTOVF"},
	{5, "FPE_FLTUND"}, {6, "FPE_FLTRES"}, {7, "FPE_FLTINV"}, {8, "FPE_FLTSUB"}, {0}};
static const struct word segv_codes[] = {{1, "SEGV_MAPERR"}, {2, "SEGV_ACCERR"}, {3, "SEGV_BNDERR"},
	{4, "SEGV_PKUERR"}, {8, "SEGV_MTEAERR"}, {9, "SEGV_MTESERR"}, {0}};

static const struct word *signal_codes(uint32_t number)
{
	return number == 4    ? ill_codes
	       : number == 7  ? bus_codes
	       : number == 8  ? fpe_codes
	       : number == 11 ? segv_codes
			      : NULL;
}

/* A code of 0 or less says that another process, or the program itself, sent the signal. */
static uint64_t linux_reason(const struct minidump_exception *x, char *out, size_t room)
{
	const char *name = find(signals, x->code);
	const struct word *codes = signal_codes(x->code);
	const char *code = codes ? find(codes, x->flags) : NULL;

	if (name && (code || !codes))
		snprintf(out, room, "%s%s%s", name, code ? " / " : "", code ? code : "");
	else if (name)
		snprintf(out, room, "%s / code %d", name, (int)x->flags);
	else
		snprintf(out, room, "signal %u", x->code);
	return x->address;
}

/* ---- Windows --------------------------------------------------------------------------- */

#define ACCESS_VIOLATION 0xc0000005u
#define IN_PAGE_ERROR 0xc0000006u
#define STACK_BUFFER_OVERRUN 0xc0000409u
static const struct word exceptions[] = {{0x40010005, "DBG_CONTROL_C"}, {0x80000001, "EXCEPTION_GUARD_PAGE"},
	{0x80000002, "EXCEPTION_DATATYPE_MISALIGNMENT"}, {0x80000003, "EXCEPTION_BREAKPOINT"},
	{0x80000004, "EXCEPTION_SINGLE_STEP"}, {ACCESS_VIOLATION, "EXCEPTION_ACCESS_VIOLATION"},
	{IN_PAGE_ERROR, "EXCEPTION_IN_PAGE_ERROR"}, {0xc0000008, "EXCEPTION_INVALID_HANDLE"},
	{0xc000001d, "EXCEPTION_ILLEGAL_INSTRUCTION"}, {0xc0000025, "EXCEPTION_NONCONTINUABLE_EXCEPTION"},
	{0xc0000026, "EXCEPTION_INVALID_DISPOSITION"}, {0xc000008c, "EXCEPTION_BOUNDS_EXCEEDED"},
	{0xc000008d, "EXCEPTION_FLT_DENORMAL_OPERAND"}, {0xc000008e, "EXCEPTION_FLT_DIVIDE_BY_ZERO"},
	{0xc000008f, "EXCEPTION_FLT_INEXACT_RESULT"}, {0xc0000090, "EXCEPTION_FLT_INVALID_OPERATION"},
	{0xc0000091, "EXCEPTION_FLT_OVERFLOW"}, {0xc0000092, "EXCEPTION_FLT_STACK_CHECK"},
	{0xc0000093, "EXCEPTION_FLT_UNDERFLOW"}, {0xc0000094, "EXCEPTION_INT_DIVIDE_BY_ZERO"},
	{0xc0000095, "EXCEPTION_INT_OVERFLOW"}, {0xc0000096, "EXCEPTION_PRIV_INSTRUCTION"},
	{0xc00000fd, "EXCEPTION_STACK_OVERFLOW"}, {0xc0000194, "EXCEPTION_POSSIBLE_DEADLOCK"},
	{0xc0000374, "EXCEPTION_HEAP_CORRUPTION"}, {STACK_BUFFER_OVERRUN, "EXCEPTION_STACK_BUFFER_OVERRUN"},
	{0xc0000420, "EXCEPTION_ASSERTION_FAILURE"}, {0xe06d7363, "Unhandled C++ Exception"},
	{0xe0000008, "Out of Memory"}, {0x0517a7ed, "Simulated Exception"}, {0}};
static const struct word fast_fails[] = {{1, "FAST_FAIL_VTGUARD_CHECK_FAILURE"},
	{2, "FAST_FAIL_STACK_COOKIE_CHECK_FAILURE"}, {3, "FAST_FAIL_CORRUPT_LIST_ENTRY"},
	{4, "FAST_FAIL_INCORRECT_STACK"}, {5, "FAST_FAIL_INVALID_ARG"}, {6, "FAST_FAIL_GS_COOKIE_INIT"},
	{7, "FAST_FAIL_FATAL_APP_EXIT"}, {8, "FAST_FAIL_RANGE_CHECK_FAILURE"},
	{9, "FAST_FAIL_UNSAFE_REGISTRY_ACCESS"}, {10, "FAST_FAIL_GUARD_ICALL_CHECK_FAILURE"},
	{11, "FAST_FAIL_GUARD_WRITE_CHECK_FAILURE"}, {12, "FAST_FAIL_INVALID_FIBER_SWITCH"},
	{13, "FAST_FAIL_INVALID_SET_OF_CONTEXT"}, {14, "FAST_FAIL_INVALID_REFERENCE_COUNT"},
	{18, "FAST_FAIL_INVALID_JUMP_BUFFER"}, {19, "FAST_FAIL_MRDATA_MODIFIED"},
	{23, "FAST_FAIL_INVALID_EXCEPTION_CHAIN"}, {0}};

static uint64_t windows_reason(const struct minidump_exception *x, char *out, size_t room)
{
	const char *name = find(exceptions, x->code), *how = "";
	bool access = (x->code == ACCESS_VIOLATION || x->code == IN_PAGE_ERROR) && x->n_info >= 2;

	if (x->code == STACK_BUFFER_OVERRUN && x->n_info && find(fast_fails, (uint32_t)MIN(x->info[0], UINT32_MAX)))
		name = find(fast_fails, (uint32_t)x->info[0]);
	if (access)
		how = x->info[0] == 0 ? "_READ" : x->info[0] == 1 ? "_WRITE" : x->info[0] == 8 ? "_EXEC" : "";
	if (name)
		snprintf(out, room, "%s%s", name, how);
	else
		snprintf(out, room, "exception 0x%x", x->code);
	return access ? x->info[1] : x->address;
}

/* ---- Mach ------------------------------------------------------------------------------ */

static const struct word mach[] = {{1, "EXC_BAD_ACCESS"}, {2, "EXC_BAD_INSTRUCTION"}, {3, "EXC_ARITHMETIC"},
	{4, "EXC_EMULATION"}, {5, "EXC_SOFTWARE"}, {6, "EXC_BREAKPOINT"}, {7, "EXC_SYSCALL"}, {8, "EXC_MACH_SYSCALL"},
	{9, "EXC_RPC_ALERT"}, {10, "EXC_CRASH"}, {11, "EXC_RESOURCE"}, {12, "EXC_GUARD"},
	{0x43507378, "Simulated Exception"}, {0x43506e78, "Uncaught NSException"},
	{0xdeadc0de, "Uncaught NSException"}, {0}};
static const struct word mach_access[] = {{1, "KERN_INVALID_ADDRESS"}, {2, "KERN_PROTECTION_FAILURE"},
	{8, "KERN_NO_ACCESS"}, {9, "KERN_MEMORY_FAILURE"}, {10, "KERN_MEMORY_ERROR"}, {13, "EXC_I386_GPFLT"}, {0}};
static const struct word mach_software[] = {
	{0x10002, "SIGSYS"}, {0x10003, "SIGABRT"}, {0xdeadc0de, "NSException"}, {0}};

static uint64_t mach_reason(const struct minidump_exception *x, char *out, size_t room)
{
	const char *name = find(mach, x->code);
	const char *code = x->code == 1	  ? find(mach_access, x->flags)
			   : x->code == 5 ? find(mach_software, x->flags)
					  : NULL;

	if (!name)
		snprintf(out, room, "exception 0x%x", x->code);
	else if (code)
		snprintf(out, room, "%s / %s", name, code);
	else if (x->flags && x->code <= 12)
		snprintf(out, room, "%s / 0x%x", name, x->flags);
	else
		snprintf(out, room, "%s", name);
	return x->address;
}

uint64_t minidump_reason(const struct minidump_exception *x, char *out, size_t room)
{
	uint64_t at;

	if (x->platform == PLATFORM_MAC || x->platform == PLATFORM_IOS)
		at = mach_reason(x, out, room);
	else
		at = x->platform & PLATFORM_UNIX ? linux_reason(x, out, room) : windows_reason(x, out, room);
	/* A processor of 32 bits has no higher addresses; some writers extend the sign. */
	return x->processor == 0 ? (uint32_t)at : at;
}
