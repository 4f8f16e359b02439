/* Building URLs. Known to source/ alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

int url_add_path(struct buf *out, const char *path);		 /* percent-encoded */
/* Encodes every character but letters, digits, slashes and -._~, as signatures require. */
int url_add_strict(struct buf *out, const char *path);
int url_join(struct buf *out, const char *base, const char *path); /* one slash between */
