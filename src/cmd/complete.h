/* What the last word of a command line can become, for the completions of shells in etc/completions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"
#include "cmd/cmd.h"

/* The shells call `symfs --complete=WORDS`, and app_options() knows the same option of each command. WORDS has a line
 * for each word; the last line is the unfinished word. */
#define COMPLETE_OPTION "--complete="

/* Prints a line for a word: the word, a tab and its meaning. `:file`, `:directory`, `:user` and `:hostname` are names
 * that the shell completes. */
void complete_offer(const char *word, const char *meaning);

/* Prints the words for the last line of `words`, which come after the command's name. `common`: the options that
 * the command shares with others. Reads tables and the configuration only. */
void complete_command(const struct cmd *c, const struct opt *own, const struct opt *common, const char *words);
