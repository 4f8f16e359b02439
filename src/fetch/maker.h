/* The maker of a file that is being downloaded from another symfs, which made it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/part.h"

/* The maker; "": the file is as published. Valid as long as the part. */
const char *part_maker(const struct part *p);
