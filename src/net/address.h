/* Which addresses are of this machine or of its own network, and so nothing that a server elsewhere
 * has to name. Pure, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <sys/socket.h>

/* Loopback, link-local, private, shared and reserved ranges, multicast; the same inside IPv6's
 * forms of IPv4. What is neither IPv4 nor IPv6 is private. */
bool address_is_private(const struct sockaddr *a);

/* Is the host of an origin ("https://host:port") private by its name alone: a literal address, or
 * localhost? False also when only a resolver could tell. */
bool origin_is_private(const char *origin);

unsigned origin_port(const char *origin); /* also when it is the usual one */
