/* archive-write OUT FORMAT FILTER [NAME FILE]...: makes an archive for tests, by libarchive. FORMAT is tar, pax, 7z,
 * deb, rpm or raw (one member, and no archive); FILTER is none, gz, xz, bz2 or zst. NAME can have any bytes. FILE `-`
 * is empty, `+N` are N zeros, and `>NAME` is a hard link to an earlier member, `@NAME` a symbolic link. An rpm has a
 * lead and empty headers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "archive-write: %s\n", what);
	exit(1);
}

static la_ssize_t put(struct archive *a, void *ctx, const void *p, size_t n)
{
	return (la_ssize_t)fwrite(p, 1, n, ctx);
}

static void set_filter(struct archive *a, const char *filter)
{
	if (strcmp(filter, "gz") == 0)
		archive_write_add_filter_gzip(a);
	else if (strcmp(filter, "xz") == 0)
		archive_write_add_filter_xz(a);
	else if (strcmp(filter, "bz2") == 0)
		archive_write_add_filter_bzip2(a);
	else if (strcmp(filter, "zst") == 0)
		must(archive_write_add_filter_zstd(a) == ARCHIVE_OK, "no zstd");
	else
		must(strcmp(filter, "none") == 0, "unknown filter");
}

static struct archive *begin(const char *path, const char *format, const char *filter)
{
	struct archive *a = archive_write_new();

	set_filter(a, filter);
	if (strcmp(format, "tar") == 0)
		archive_write_set_format_ustar(a);
	else if (strcmp(format, "pax") == 0)
		archive_write_set_format_pax(a);
	else if (strcmp(format, "7z") == 0)
		archive_write_set_format_7zip(a);
	else if (strcmp(format, "raw") == 0)
		archive_write_set_format_raw(a);
	else if (strcmp(format, "ar") == 0)
		archive_write_set_format_ar_svr4(a);
	else
		archive_write_set_format_cpio_newc(a);
	archive_write_set_bytes_in_last_block(a, 1);
	if (strcmp(format, "rpm") == 0) {
		static const unsigned char header[16] = {0x8e, 0xad, 0xe8, 1};
		unsigned char lead[96] = {0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1, 'x'};
		FILE *f = fopen(path, "wb");

		lead[79] = 5; /* the signature is a header */
		must(f && fwrite(lead, 1, sizeof(lead), f) == sizeof(lead) && fwrite(header, 1, 16, f) == 16 &&
				fwrite(header, 1, 16, f) == 16, path);
		must(archive_write_open(a, f, NULL, put, NULL) == ARCHIVE_OK, path);
		/* The stream is flushed at exit. */
	} else {
		must(archive_write_open_filename(a, path) == ARCHIVE_OK, path);
	}
	return a;
}

static char *load(const char *file, size_t *n)
{
	struct stat st;
	char *p;
	int fd;

	if (strcmp(file, "-") == 0 || file[0] == '+') {
		*n = file[0] == '+' ? strtoull(file + 1, NULL, 10) : 0;
		return calloc(1, *n + 1);
	}
	fd = open(file, O_RDONLY);
	must(fd >= 0 && fstat(fd, &st) == 0, file);
	*n = (size_t)st.st_size;
	p = malloc(*n + 1);
	must(read(fd, p, *n) == (ssize_t)*n, file);
	close(fd);
	return p;
}

static void add(struct archive *a, const char *name, const char *file)
{
	struct archive_entry *e = archive_entry_new();
	char *p = NULL;
	size_t n = 0;

	archive_entry_set_pathname(e, name);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_filetype(e, file[0] == '@' ? AE_IFLNK : AE_IFREG);
	if (file[0] == '@')
		archive_entry_set_symlink(e, file + 1);
	else if (file[0] == '>')
		archive_entry_set_hardlink(e, file + 1);
	else
		p = load(file, &n);
	archive_entry_set_size(e, (la_int64_t)n);
	must(archive_write_header(a, e) >= ARCHIVE_WARN, name);
	must(!n || archive_write_data(a, p, n) == (la_ssize_t)n, name);
	archive_entry_free(e);
	free(p);
}

static void end(struct archive *a)
{
	must(archive_write_close(a) == ARCHIVE_OK, "close");
	archive_write_free(a);
}

/* A Debian package: an ar archive of debian-binary, control.tar and data.tar. */
static void make_deb(const char *path, const char *filter, char **members)
{
	char data[4096], name[64], binary[4096];
	struct archive *a;
	FILE *f;

	snprintf(data, sizeof(data), "%s.data", path);
	snprintf(binary, sizeof(binary), "%s.binary", path);
	snprintf(name, sizeof(name), "data.tar%s%s", strcmp(filter, "none") ? "." : "",
		strcmp(filter, "none") ? filter : "");
	a = begin(data, "tar", filter);
	for (; members[0] && members[1]; members += 2)
		add(a, members[0], members[1]);
	end(a);
	f = fopen(binary, "wb");
	must(f && fputs("2.0\n", f) >= 0 && fclose(f) == 0, binary);
	a = begin(path, "ar", "none");
	add(a, "debian-binary", binary);
	add(a, name, data);
	end(a);
	unlink(data);
	unlink(binary);
}

int main(int argc, char **argv)
{
	struct archive *a;

	must(argc >= 4, "expected OUT FORMAT FILTER [NAME FILE]...");
	if (strcmp(argv[2], "deb") == 0) {
		make_deb(argv[1], argv[3], argv + 4);
		return 0;
	}
	a = begin(argv[1], argv[2], argv[3]);
	for (char **m = argv + 4; m[0] && m[1]; m += 2)
		add(a, m[0], m[1]);
	end(a);
	return 0;
}
