/* The classes of uploaded files, from the sections [class "NAME"] of the configuration. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "http/http.h"

struct conf;

#define CLASSES_MOST 32

/* Reads the classes: "try", "default" and "keep", and those of the configuration. 0; -EINVAL: `e` has the
 * reason. */
int classes_read(const struct conf *c, struct http_class out[static CLASSES_MOST], unsigned *n, struct err *e);
