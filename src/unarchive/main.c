/* The program `unarchive`: sets its limits and its filter, and takes one archive apart. symfs starts it
 * (unarchive/unarchive.h). It is a program of its own so that symfs does not load libarchive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "priv/worker.h"
#include "unarchive/private.h"
#include "unarchive/unarchive.h"

#include <locale.h>
#include <sys/stat.h>

static int work(struct sender *s, char **argv, struct err *e)
{
	static const struct worker_filter filter = {.more = {"writev"}, .done = "unpacked"};
	static uint8_t head[ARCHIVE_HEAD];
	enum archive_kind kind;
	struct worker_word word;
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(WIRE_ARCHIVE, &st) < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive converts names to its character set */
	r = worker_enter(argv, &filter, 0, &word, e);
	if (r < 0)
		return r;
	n = pread(WIRE_ARCHIVE, head, sizeof(head), 0);
	if (n < 0)
		return err_set(e, -EBADMSG, "cannot be read: %s", err_text(errno));
	kind = archive_kind(head, (size_t)n);
	return kind == ARCHIVE_ZIP ? unarchive_zip(s, WIRE_ARCHIVE, (uint64_t)st.st_size, e)
				   : unarchive_lib(s, WIRE_ARCHIVE, (uint64_t)st.st_size, kind, e);
}

int main(int argc, char **argv)
{
	static struct sender s;
	struct err e = {0};

	worker_arguments(argc, argv, 2);
	s.limits.bytes = strtoull(argv[4], NULL, 10);
	s.limits.members = strtoull(argv[5], NULL, 10);
	sender_done(&s, work(&s, argv, &e), &e);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(0);
}
