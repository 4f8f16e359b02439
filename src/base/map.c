/* Maps files into memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int map_file(struct span *out, const char *path, struct err *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*out = (struct span){(const uint8_t *)"", 0};
	return fd < 0 ? err_set(e, -errno, "%s", err_text(errno)) : map_fd(out, fd, e);
}

int map_fd(struct span *out, int fd, struct err *e)
{
	struct stat st;
	void *p;

	*out = (struct span){(const uint8_t *)"", 0};
	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s",
			S_ISDIR(st.st_mode) ? err_text(EISDIR) : "is not a regular file");
	if (!st.st_size)
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(e, -errno, "%s", err_text(errno));
	*out = (struct span){p, (size_t)st.st_size};
	return 0;
}

void map_rest(struct span s)
{
	if (s.n)
		madvise((void *)(uintptr_t)s.p, s.n, MADV_DONTNEED);
}

void map_release(struct span *s)
{
	if (s->n)
		munmap((void *)s->p, s->n);
	*s = (struct span){(const uint8_t *)"", 0};
}
