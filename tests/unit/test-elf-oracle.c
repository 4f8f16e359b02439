/* Compares formats/obj/elf.c with libelf: for the ELF files of this system, and some made here, both must
 * report the same build id, machine, byte order and symbol tables. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/obj.h"
#include "base/hash.h"
#include "base/util.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MOST 1500

struct truth {
	char id[CODE_ID_MAX + 1];
	unsigned machine, type;
	bool big, symtab;
};

static bool note_id(Elf_Data *d, struct truth *t)
{
	size_t off = 0, name, desc, next;
	GElf_Nhdr n;

	while (d && (next = gelf_getnote(d, off, &n, &name, &desc)) > 0) {
		const char *p = d->d_buf;

		if (n.n_type == 3 && n.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0 &&
			n.n_descsz <= CODE_ID_MAX / 2) {
			hex_print((const uint8_t *)p + desc, n.n_descsz, t->id);
			return true;
		}
		off = next;
	}
	return false;
}

/* As elfutils search: segments first, then sections. */
static void oracle_id(Elf *elf, struct truth *t)
{
	size_t n = 0;
	Elf_Scn *s = NULL;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		if (note_id(elf_getdata_rawchunk(elf, (off_t)ph.p_offset, ph.p_filesz,
			    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR), t))
			return;
	}
	while ((s = elf_nextscn(elf, s))) {
		GElf_Shdr sh;

		if (gelf_getshdr(s, &sh) && sh.sh_type == SHT_NOTE && note_id(elf_getdata(s, NULL), t))
			return;
	}
}

/* False: libelf does not take it for an ELF file of its own. */
static bool oracle(int fd, struct truth *t)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *s = NULL;
	GElf_Ehdr eh;
	bool is = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh);

	memset(t, 0, sizeof(*t));
	if (is) {
		t->machine = eh.e_machine;
		t->type = eh.e_type;
		t->big = eh.e_ident[EI_DATA] == ELFDATA2MSB;
		oracle_id(elf, t);
	}
	while (is && (s = elf_nextscn(elf, s))) {
		GElf_Shdr sh;

		if (gelf_getshdr(s, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
			sh.sh_size)
			t->symtab = true;
	}
	elf_end(elf);
	return is;
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386: return "x86";
	case EM_X86_64: return "x86_64";
	case EM_ARM: return "arm";
	case EM_AARCH64: return "arm64";
	default: return NULL;
	}
}

/* 1 when the file was compared. */
static int compare(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct obj_slice s;
	struct truth t;
	struct err e = {0};
	struct view v;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !oracle(fd, &t))
		return 0;
	v = view_of_fd(fd, (uint64_t)st.st_size);
	r = obj_identify(&v, 0, &s, &e);
	ck_assert_msg(r == 0, "%s: %d: %s", path, r, e.text);
	ck_assert_msg(strcmp(s.module.code_id, t.id) == 0, "%s: %s, not %s", path,
		s.module.code_id, t.id);
	ck_assert_msg(s.big_endian == t.big, "%s", path);
	ck_assert_msg(!machine_name(t.machine) || strcmp(s.arch, machine_name(t.machine)) == 0, "%s",
		path);
	ck_assert_msg(!s.worth.symbols == !t.symtab, "%s", path);
	if (t.type == ET_REL)
		ck_assert_msg(s.kind == OBJ_OBJECT, "%s", path);
	return 1;
}

/* Files of a folder and of those in it, to some depth. */
static void walk(const char *dir, unsigned depth, unsigned *left)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && *left && (de = readdir(d))) {
		char path[4096];
		int n = snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);

		if (de->d_name[0] == '.' || n >= (int)sizeof(path))
			continue;
		if (de->d_type == DT_DIR && depth)
			walk(path, depth - 1, left);
		else if (de->d_type == DT_REG && compare(path))
			--*left;
	}
	if (d)
		closedir(d);
}

START_TEST(files_of_this_system)
{
	static const char *const dirs[] = {"/usr/bin", "/usr/lib", "/usr/libexec", "/usr/lib/debug"};
	unsigned seen = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(dirs); i++) {
		unsigned left = FILES_MOST;

		walk(dirs[i], 5, &left);
		seen += FILES_MOST - left;
	}
	fprintf(stderr, "# %u files compared with libelf\n", seen);
	ck_assert_uint_gt(seen, 10);
}
END_TEST

START_TEST(files_made_here)
{
	static const char *const how[] = {"-c", "-static-pie -nostdlib", "-shared -nostdlib -g",
		"-shared -nostdlib -Wl,--build-id=md5", "-shared -nostdlib -Wl,--build-id=0x0badcafe",
		"-shared -nostdlib -Wl,--build-id=none", "-shared -nostdlib -Wl,--build-id=uuid -s",
		"-c -ffunction-sections -gz=zlib"};
	const char *cc = getenv("CC");
	char dir[] = "/tmp/symfs-elf-XXXXXX", command[512];
	unsigned seen = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (unsigned i = 0; i < ARRAY_SIZE(how); i++) {
		snprintf(command, sizeof(command),
			"cd %s && echo 'int f(int x){return x+1;} int _start(void){return f(1);}' >f.c "
			"&& %s -fPIC %s -o f f.c && objcopy --only-keep-debug f f.debug "
			"&& objcopy --strip-debug f f.stripped", dir, cc && *cc ? cc : "cc", how[i]);
		ck_assert_int_eq(system(command), 0);
		for (unsigned k = 0; k < 3; k++) {
			static const char *const names[] = {"f", "f.debug", "f.stripped"};

			snprintf(command, sizeof(command), "%s/%s", dir, names[k]);
			/* An object's debug half is a debug file for us, an object for libelf. */
			if (k != 1 || !strstr(how[i], "-c"))
				seen += (unsigned)compare(command);
		}
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_uint_eq(seen, ARRAY_SIZE(how) * 3 - 2);
}
END_TEST

static int run_tests(int argc, char **argv)
{
	const TTest *const tests[] = {files_of_this_system, files_made_here, NULL};

	elf_version(EV_CURRENT);
	return unit_run("elf-oracle", tests);
}

UNIT_ROW("elf-oracle", run_tests)
