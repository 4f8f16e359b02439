/* The table of commands, and the commands help and version. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/cmd.h"

#include <stdio.h>

/* Finds a command by its name, or by another name that users know from other tools. NULL: no such command. */
const struct cmd *command_find(const char *name);

/* Runs the command, or the one that an option makes of it, as `why --for` is `best`. Returns the exit status. */
int command_run(const struct cmd *c, int argc, char **argv);

/* Prints one line for each command. */
void commands_print(FILE *to);

/* For the completions of shells (complete.h): completes the last line of `words`, which has all words after `symfs`.
 * Returns an exit status. */
int commands_complete(const char *words);

/* Prints to stderr that there is no such command, and which command the user probably meant. Returns
 * EXIT_USAGE. */
int command_unknown(const char *word);
