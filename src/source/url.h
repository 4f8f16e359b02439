/* Builds URLs. All functions return the value of buf_add(). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

int url_add_path(struct buf *out, const char *path);		 /* adds a path, percent-encoded */
/* Adds a path, and encodes all but letters, digits, slashes and -._~, as signatures require. */
int url_add_strict(struct buf *out, const char *path);
int url_add_value(struct buf *out, const char *text); /* the same for the value of a field: encodes slashes, too */
int url_join(struct buf *out, const char *base, const char *path); /* base, one slash, path */
