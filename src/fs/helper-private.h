/* The protocol between a daemon and its helper: requests and answers of fixed size, in turn, on a
 * socket that preserves message boundaries. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

struct helper_ask {
	uint32_t op;
	int32_t arg;
};

struct helper_answer {
	int32_t r; /* the result, 0 or more; -errno */
};

/* Sends or receives one message with a descriptor or -1. Returns the length of the message, which may
 * differ from `n` (n + 1: it is longer); 0: the peer has closed the socket; -errno. A received `*fd` is
 * the caller's; -1: the message has no descriptor. */
long helper_send(int sock, const void *p, unsigned long n, int fd);
long helper_receive(int sock, void *p, unsigned long n, int *fd);
