/* Messages to stderr, a log file or syslog, a line each. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/clock.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char *const topic_names[LOG_TOPICS] = {
	[LOG_CONF] = "conf",   [LOG_NET] = "net", [LOG_SOURCE] = "source", [LOG_STORE] = "store",
	[LOG_FETCH] = "fetch", [LOG_FS] = "fs",	  [LOG_OBJ] = "obj", [LOG_HTTP] = "http",
};

/* Set once, before threads start. */
static const char *log_prefix = "symfs";
static bool log_journal;
static bool log_events; /* log_info() prints: the process is a daemon, or stays in the foreground */
static bool log_syslog, log_syslog_listens;
static bool log_timed; /* stderr is a log file, whose lines begin with the time */
static bool log_on[LOG_TOPICS];

void log_open(const char *prefix, bool journal)
{
	log_prefix = prefix;
	log_journal = journal;
	log_events = true;
}

/* Whether a program listens at /dev/log. If none does, the C library's syslog() drops lines silently. */
static bool syslog_listens(void)
{
	static const int types[] = {SOCK_DGRAM, SOCK_STREAM};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		_cleanup_close_ int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
			return true;
	}
	return false;
}

void log_open_syslog(void)
{
	openlog(NULL, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	log_syslog_listens = syslog_listens();
}

bool log_to_syslog(void)
{
	log_syslog = true;
	return log_syslog_listens;
}

int log_open_file(const char *path, int *fd, struct err *e)
{
	_cleanup_close_ int f = open(path,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	struct stat st;

	if (f < 0 && errno == ENXIO) /* a pipe that no program reads, or a socket */
		return err_set(e, -EINVAL, "log file %s: is not a regular file", path);
	if (f < 0 || fstat(f, &st) < 0)
		return err_set(e, -errno, "log file %s: %s", path, err_text(errno));
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return err_set(e, -EINVAL, "log file %s: is not a regular file", path);
	*fd = take_fd(&f);
	return 0;
}

void log_to_file(int fd)
{
	dup2(fd, STDERR_FILENO);
	log_journal = false;
	log_timed = true;
}

int log_reopen_file(const char *path, struct err *e)
{
	_cleanup_close_ int fd = -1;
	int r = log_open_file(path, &fd, e);

	if (r == 0 && dup2(fd, STDERR_FILENO) < 0)
		return err_set(e, -errno, "log file %s: %s", path, err_text(errno));
	return r;
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

/* Replaces control characters, which names from outside may contain, so that a message stays one line and a
 * terminal gets no commands. C2 80 to C2 9F are Unicode's control characters; C2 9B begins a command, as
 * ESC [ does. */
static void hide_controls(char *line, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i], next = i + 1 < n ? (unsigned char)line[i + 1] : 0;

		if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			line[i] = line[i + 1] = '?';
		else if (c < 0x20 || c == 0x7f)
			line[i] = '?';
	}
}

static void log_line(int priority, const char *topic, const char *fmt, va_list ap)
{
	char line[2048];
	size_t n = 0;
	int r;

	if (log_journal)
		n += (size_t)snprintf(line, sizeof(line), "<%d>", priority);
	if (log_timed) {
		clock_print(clock_wall(), line);
		n = strlen(line);
		line[n++] = ' ';
	}
	n += (size_t)snprintf(line + n, sizeof(line) - n, "%s: ", log_prefix);
	if (topic)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "[%s] ", topic);
	r = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (r > 0)
		n += (size_t)r < sizeof(line) - n - 1 ? (size_t)r : sizeof(line) - n - 2;
	hide_controls(line, n);
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
	if (log_events)
		LOG_VIA(6, NULL);
}

void log_debug(enum log_topic t, const char *fmt, ...)
{
	if (log_on[t])
		LOG_VIA(7, topic_names[t]);
}
