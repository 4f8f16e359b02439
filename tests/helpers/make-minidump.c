/* Writes a minidump of a Windows program on x86-64 with one thread, so that tests of Breakpad's
 * processor need no Windows. The thread's instruction pointer is the first address; its stack
 * holds only the other addresses, as return addresses.
 *
 *	make-minidump OUT MODULE... -- ADDRESS...
 *
 * MODULE is `CODEFILE:DEBUGFILE:GUID:AGE:BASE`, all numbers in hex, GUID in 32 digits. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (64 << 10)
#define STACK 0x7ff000ull
#define MODULE_SIZE 0x10000u
#define MODULE_BYTES 108u
#define CONTEXT_BYTES 1232u
#define EXCEPTION_BYTES 168u
#define SYSTEM_BYTES 56u

enum { THREADS = 3, MODULES = 4, MEMORY = 5, EXCEPTION = 6, SYSTEM = 7, STREAMS = 5 };

static uint8_t out[ROOM];
static uint32_t used;

static void give_up(const char *why)
{
	fprintf(stderr, "make-minidump: %s\n", why);
	exit(2);
}

static uint32_t take(uint32_t n) /* appends n zeros; returns their offset */
{
	uint32_t at = used;

	if (n > ROOM - used)
		give_up("too much");
	used += (n + 7) & ~7u;
	return at;
}

static void put(uint32_t at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[at + i] = (uint8_t)(v >> (8 * i));
}

static uint32_t add_string(const char *s)
{
	uint32_t n = (uint32_t)strlen(s), at = take(4 + 2 * n + 2);

	put(at, 2 * n, 4);
	for (uint32_t i = 0; i < n; i++)
		put(at + 4 + 2 * i, (uint8_t)s[i], 2);
	return at;
}

static void put_stream(unsigned nth, uint32_t type, uint32_t size, uint32_t at)
{
	put(32 + 12 * nth, type, 4);
	put(36 + 12 * nth, size, 4);
	put(40 + 12 * nth, at, 4);
}

/* The GUID's first three numbers are little-endian here, and big-endian in their text. */
static void put_guid(uint32_t at, const char *text)
{
	static const unsigned place[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned i = 0; i < 16; i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		out[at + place[i]] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static void put_module(uint32_t at, const char *spec)
{
	char code[256], debug[256], guid[33];
	unsigned age;
	unsigned long long base;
	uint32_t cv, n;

	if (sscanf(spec, "%255[^:]:%255[^:]:%32[0-9A-Fa-f]:%x:%llx", code, debug, guid, &age, &base) != 5 ||
		strlen(guid) != 32)
		give_up(spec);
	n = 24 + (uint32_t)strlen(debug) + 1;
	cv = take(n);
	memcpy(out + cv, "RSDS", 4);
	put_guid(cv + 4, guid);
	put(cv + 20, age, 4);
	memcpy(out + cv + 24, debug, strlen(debug));
	put(at, base, 8);
	put(at + 8, MODULE_SIZE, 4);
	put(at + 20, add_string(code), 4);
	put(at + 76, n, 4);
	put(at + 80, cv, 4);
}

static void add_system(void)
{
	uint32_t at = take(SYSTEM_BYTES);

	put(at, 9, 2);	    /* AMD64 */
	put(at + 6, 1, 1);  /* processors */
	put(at + 8, 10, 4); /* Windows 10 */
	put(at + 20, 2, 4); /* NT */
	put(at + 24, add_string(""), 4);
	put_stream(0, SYSTEM, SYSTEM_BYTES, at);
}

static void add_modules(char *const *specs, unsigned n)
{
	uint32_t at = take(4 + MODULE_BYTES * n);

	put(at, n, 4);
	for (unsigned i = 0; i < n; i++)
		put_module(at + 4 + MODULE_BYTES * i, specs[i]);
	put_stream(1, MODULES, 4 + MODULE_BYTES * n, at);
}

static void add_thread(char *const *frames, unsigned n)
{
	uint32_t stack_bytes = 8 * n + 64;
	uint32_t stack = take(stack_bytes), context = take(CONTEXT_BYTES), memory = take(20),
		 threads = take(52), exception = take(EXCEPTION_BYTES);

	for (unsigned i = 1; i < n; i++)
		put(stack + 8 * (i - 1), strtoull(frames[i], NULL, 16), 8);
	put(context + 48, 0x10000f, 4);
	put(context + 152, STACK, 8);				/* rsp */
	put(context + 248, strtoull(frames[0], NULL, 16), 8);	/* rip */

	put(memory, 1, 4);
	put(memory + 4, STACK, 8);
	put(memory + 12, stack_bytes, 4);
	put(memory + 16, stack, 4);
	put_stream(2, MEMORY, 20, memory);

	put(threads, 1, 4);
	put(threads + 4, 1, 4); /* its id */
	put(threads + 28, STACK, 8);
	put(threads + 36, stack_bytes, 4);
	put(threads + 40, stack, 4);
	put(threads + 44, CONTEXT_BYTES, 4);
	put(threads + 48, context, 4);
	put_stream(3, THREADS, 52, threads);

	put(exception, 1, 4);
	put(exception + 8, 0xc0000005, 4); /* access violation */
	put(exception + 24, strtoull(frames[0], NULL, 16), 8);
	put(exception + 160, CONTEXT_BYTES, 4);
	put(exception + 164, context, 4);
	put_stream(4, EXCEPTION, EXCEPTION_BYTES, exception);
}

int main(int argc, char **argv)
{
	int dash = 2;
	FILE *f;

	while (dash < argc && strcmp(argv[dash], "--") != 0)
		dash++;
	if (dash == 2 || dash + 1 >= argc)
		give_up("make-minidump OUT CODEFILE:DEBUGFILE:GUID:AGE:BASE... -- ADDRESS...");
	take(32 + 12 * STREAMS);
	memcpy(out, "MDMP", 4);
	put(4, 0xa793, 4);
	put(8, STREAMS, 4);
	put(12, 32, 4);
	add_system();
	add_modules(argv + 2, (unsigned)dash - 2);
	add_thread(argv + dash + 1, (unsigned)(argc - dash - 1));
	f = fopen(argv[1], "wb");
	if (!f || fwrite(out, used, 1, f) != 1 || fclose(f) != 0)
		give_up("cannot write");
	return 0;
}
