/* Files that hold what proves who we are: nobody else may read them. Known to app.c alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "conf/conf.h"

/* 0; -EINVAL: a source's configuration, its key or its netrc can be read by others; `e` says which
 * command mends that. */
int secrets_check(const struct conf *c, struct err *e);
