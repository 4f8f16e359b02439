/* Notifies the service manager that started a daemon, by datagrams to $NOTIFY_SOCKET. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Connects to the value of NOTIFY_SOCKET. A descriptor; -1: it is not set, or no process listens. */
int notify_open(const char *socket);

/* Sends "READY=1" or the like; -1 sends nothing. What cannot be delivered is dropped. */
void notify_send(int fd, const char *text);

/* "RELOADING=1" with the time that systemd asks for beside it. */
void notify_reloading(int fd);

/* How often to send WATCHDOG=1, in milliseconds: half of WATCHDOG_USEC. 0: never; also when
 * WATCHDOG_PID names another process. Either may be NULL. */
unsigned notify_watchdog_ms(const char *usec, const char *pid);
