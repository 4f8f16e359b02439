/* Words for the one who started a daemon: systemd's datagrams to $NOTIFY_SOCKET. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sends "READY=1" or the like; `socket` is the value of NOTIFY_SOCKET, NULL or "" sends nothing.
 * What cannot be delivered is dropped: nobody listens then. */
void notify_send(const char *socket, const char *text);

/* "RELOADING=1" with the time that systemd asks for beside it. */
void notify_reloading(const char *socket);

/* How often to send WATCHDOG=1, in milliseconds: half of WATCHDOG_USEC. 0: never; also when
 * WATCHDOG_PID names another process. Either may be NULL. */
unsigned notify_watchdog_ms(const char *usec, const char *pid);
