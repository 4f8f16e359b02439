/* Messages: one line per event. Debug topics have the names of folders of src/; SYMFS_DEBUG=fetch,store
 * turns two of them on. Lines go to stderr; when stderr is systemd's journal, each begins with its
 * priority, `<N>`. A daemon sends them to a log file or to syslog instead. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

enum log_topic { LOG_CONF, LOG_NET, LOG_SOURCE, LOG_STORE, LOG_FETCH, LOG_FS, LOG_HTTP, LOG_OBJ, LOG_TOPICS };

/* For processes that keep running: sets the prefix of each line, for instance "symfs mount", which is not copied, and
 * turns log_info() on. Other commands print their results, and no events. `journal`: stderr is systemd's journal. */
void log_open(const char *prefix, bool journal);

/* Connects to /dev/log early, because the process may lose the right to connect before it calls
 * log_to_syslog(). */
void log_open_syslog(void);
/* Sends all further lines to syslog. False: nothing listens at /dev/log, and the lines are lost. Call it
 * before other threads log. */
bool log_to_syslog(void);

/* Opens a log file for appending, and creates it if necessary; `*fd` is the caller's. */
int log_open_file(const char *path, int *fd, struct err *e);
/* Replaces stderr by the file; its lines begin with the time. Call it before other threads log. */
void log_to_file(int fd);
/* Reopens the file after a program has renamed it. On error, lines still go to the old file. */
int log_reopen_file(const char *path, struct err *e);

/* Turns topics on: "fetch,store" or "all". A warning names unknown words. */
void log_topics(const char *list);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(enum log_topic t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
