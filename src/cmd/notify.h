/* Notifies the service manager that started a daemon, by datagrams to $NOTIFY_SOCKET. Any thread may call these
 * functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Connects to the value of NOTIFY_SOCKET. Returns a descriptor; -1: no value is set, or no process listens. */
int notify_open(const char *socket);

/* Sends a message such as "READY=1". Does nothing if `fd` is -1. A message that cannot be delivered is dropped. */
void notify_send(int fd, const char *text);

/* Sends "RELOADING=1" with the time stamp that systemd requires. */
void notify_reloading(int fd);

/* The interval for WATCHDOG=1 in milliseconds: half of WATCHDOG_USEC. 0: send no WATCHDOG=1, because `usec` is
 * not set, or `pid` (WATCHDOG_PID) names another process. Either argument may be NULL. */
unsigned notify_watchdog_ms(const char *usec, const char *pid);
