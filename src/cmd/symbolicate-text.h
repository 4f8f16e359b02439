/* symfs symbolicate: text with stacks in it, printed with names. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "symb/symb.h"

#include <stdbool.h>

struct app_args;

/* Whether the bytes are a request in JSON, rather than text with stacks in it. */
bool text_is_request(struct span bytes);
/* Prints the text with names. `shown` is the file's name, for messages. `args` may get another source. Returns the
 * exit status; -1: there is no stack in it, and it may be a broken request. */
int text_symbolicate(struct app_args *args, const char *shown, const struct symb_flags *flags, struct span text);
