/* The namespaces of a server: each has a store and a fetch/ of its own, opened when a token first needs it. Any
 * thread may open one; a single thread reloads and closes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

struct app;
struct bucket;
struct fetch;
struct namespaces;

/* `app` must outlive the namespaces; its options and its configuration count for all of them. 0, -ENOMEM. */
int namespaces_new(struct namespaces **out, const struct app *app);
/* Opens the namespace `name`, with its store in CACHE-DIR/namespaces/NAME and its prefix in the bucket. `ctx` is the
 * struct namespaces, which keeps *out and *bucket until namespaces_free(). 0, -errno; `e` has the reason. */
int namespaces_open(void *ctx, const char *name, struct fetch **out, struct bucket **bucket, struct err *e);
/* Removes the expired files of all namespaces. Errors are logged. */
void namespaces_expire(struct namespaces *n);
/* Replaces the sources of all namespaces, as app_reload() does. 0, or the last error. */
int namespaces_reload(struct namespaces *n, struct err *e);
void namespaces_free(struct namespaces *n); /* NULL is fine */
