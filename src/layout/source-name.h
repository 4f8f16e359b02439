/* Guesses whether a source path is that of a file or of a directory. The kernel looks up one component after
 * the other and does not say which is the last. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

bool source_name_is_file(const char *path);
