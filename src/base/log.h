/* Messages: one line per event. Topics follow the folders; SYMFS_DEBUG=fetch,store turns
 * them on. Lines go to stderr, with `<N>` priorities in front when that is systemd's journal; a
 * daemon that let go of its terminal sends them to syslog. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

enum log_topic { LOG_CONF, LOG_NET, LOG_SOURCE, LOG_STORE, LOG_FETCH, LOG_FS, LOG_HTTP, LOG_OBJ, LOG_TOPICS };

/* What stands before each line: "symfs mount". Kept, not copied. */
void log_open(const char *prefix, bool journal);

void log_to_syslog(void); /* from now on; before other threads log */

/* "fetch,store" or "all". Unknown words are told in a warning. */
void log_topics(const char *list);
bool log_wants(enum log_topic t);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(enum log_topic t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
