/* Colours of the text that a command prints on a terminal. A pipe or a file gets none, and neither does a terminal
 * with NO_COLOR in the environment (https://no-color.org) or with TERM=dumb. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

/* Whether stdout is a terminal for a person: lines may have heads, and columns are aligned. */
bool paint_terminal(void);

/* The sequence that begins a colour; "" where there are no colours. Static strings. */
const char *paint_head(void); /* bold: what the lines below are about */
const char *paint_good(void); /* green */
const char *paint_warn(void); /* yellow */
const char *paint_end(void);  /* ends any colour */

/* The colour for the state of a source, or for the verdict on a request. `word` may be followed by other text
 * ("failing, retry in 8 s"). "": the word has no colour. */
const char *paint_word(const char *word);
