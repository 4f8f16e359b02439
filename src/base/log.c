/* Messages to stderr, a line each. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

static const char *const topic_names[LOG_TOPICS] = {
	[LOG_CONF] = "conf",   [LOG_NET] = "net", [LOG_SOURCE] = "source", [LOG_STORE] = "store",
	[LOG_FETCH] = "fetch", [LOG_FS] = "fs",	  [LOG_OBJ] = "obj", [LOG_HTTP] = "http",
};

/* Set once, before threads start. */
static const char *log_prefix = "symfs";
static bool log_journal;
static bool log_syslog;
static bool log_on[LOG_TOPICS];

void log_open(const char *prefix, bool journal)
{
	log_prefix = prefix;
	log_journal = journal;
}

void log_to_syslog(void)
{
	log_syslog = true;
	openlog(NULL, LOG_PID, LOG_DAEMON);
}

static bool topic_set(const char *word, size_t n)
{
	bool found = false;

	for (unsigned i = 0; i < LOG_TOPICS; i++) {
		bool same = strlen(topic_names[i]) == n && memcmp(topic_names[i], word, n) == 0;

		if (same || (n == 3 && memcmp(word, "all", 3) == 0)) {
			log_on[i] = true;
			found = true;
		}
	}
	return found;
}

void log_topics(const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, ", ");

		if (n && !topic_set(list, n))
			log_warn("SYMFS_DEBUG: no topic \"%.*s\" (conf net source store fetch fs http "
				 "obj all)",
				(int)n, list);
		list += n;
		list += strspn(list, ", ");
	}
}

bool log_wants(enum log_topic t)
{
	return log_on[t];
}

static void log_line(int priority, const char *topic, const char *fmt, va_list ap)
{
	char line[2048];
	size_t n = 0;
	int r;

	if (log_journal)
		n += (size_t)snprintf(line, sizeof(line), "<%d>", priority);
	n += (size_t)snprintf(line + n, sizeof(line) - n, "%s: ", log_prefix);
	if (topic)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "[%s] ", topic);
	r = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (r > 0)
		n += (size_t)r < sizeof(line) - n - 1 ? (size_t)r : sizeof(line) - n - 2;
	/* Names from outside may hold control characters: a line stays a line. */
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	if (log_syslog) {
		syslog(priority, "%.*s", (int)n, line);
		return;
	}
	line[n++] = '\n';
	r = (int)write(STDERR_FILENO, line, n);
	(void)r;
}

#define LOG_VIA(priority, topic)                                                                   \
	do {                                                                                       \
		va_list ap;                                                                        \
		va_start(ap, fmt);                                                                 \
		log_line(priority, topic, fmt, ap);                                                \
		va_end(ap);                                                                        \
	} while (0)

void log_error(const char *fmt, ...)
{
	LOG_VIA(3, NULL);
}

void log_warn(const char *fmt, ...)
{
	LOG_VIA(4, NULL);
}

void log_info(const char *fmt, ...)
{
	LOG_VIA(6, NULL);
}

void log_debug(enum log_topic t, const char *fmt, ...)
{
	if (log_on[t])
		LOG_VIA(7, topic_names[t]);
}
