/* Constants and structs of the kernel's FUSE protocol that older kernel headers lack. INIT shows whether
 * the running kernel supports them. Specified in the kernel's include/uapi/linux/fuse.h, from protocol
 * 7.40 on (Linux 6.9). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#ifndef FUSE_PASSTHROUGH
#define FUSE_PASSTHROUGH (1ULL << 37)
#endif

#ifndef FOPEN_PASSTHROUGH
#define FOPEN_PASSTHROUGH (1U << 7)
#endif

#ifndef FUSE_DEV_IOC_BACKING_OPEN
struct fuse_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define FUSE_DEV_IOC_BACKING_OPEN _IOW(229, 1, struct fuse_backing_map)
#define FUSE_DEV_IOC_BACKING_CLOSE _IOW(229, 2, uint32_t)
#endif

/* uint32_t max_stack_depth of the answer to INIT: the greatest depth of stacked file systems for a file
 * that is passed through. This file system counts as one. */
#define FUSE_INIT_OUT_STACK_DEPTH (offsetof(struct fuse_init_out, flags2) + sizeof(uint32_t))

/* int32_t backing_id of the answer to OPEN. */
#define FUSE_OPEN_OUT_BACKING_ID (offsetof(struct fuse_open_out, open_flags) + sizeof(uint32_t))
