/* Parses header fields of HTTP: ranges, codings, validators, credentials, hosts. Pure functions, any
 * thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_range {
	RANGE_WHOLE,  /* no range, several, or a field that does not parse: send the whole file */
	RANGE_PART,   /* 206 */
	RANGE_NEVER   /* no byte of the range exists: 416 */
};

/* Parses `Range` (NULL: none) for a file of `size` bytes. Sets `*off` and `*n` only for RANGE_PART. */
enum field_range field_range(const char *range, uint64_t size, uint64_t *off, uint64_t *n);

/* Whether the list of If-Match or If-None-Match contains the tag (with its quotes); `weak`: a weak tag does, too. */
bool field_has_tag(const char *list, const char *tag, bool weak);

/* Whether If-Range allows a partial response: its value is `tag`, a strong tag, or the time `date`, unless that is
 * -1. A NULL `value` allows a partial response, too. */
bool field_if_range(const char *value, const char *tag, int64_t date);

/* Copies the token of Authorization: of "Bearer TOKEN", or the password of "Basic". False: the field has another
 * form, or the token does not fit. */
bool field_secret(const char *value, char *out, size_t room);

/* Whether Accept-Encoding allows gzip: it names gzip or `*`, without q=0. False for NULL. */
bool field_accepts_gzip(const char *value);

/* The number of symfs servers that the value of a Via field names; `*ours`: one of these servers has this id. */
unsigned field_via(const char *value, const char *id, bool *ours);

/* The host in the n bytes of a `Host` field or of a URL's authority, without port, brackets of IPv6 and
 * final dot; "" when it is empty. False: not of the form HOST[:PORT]. */
#define FIELD_HOST 256 /* a name of DNS has at most 253 bytes */
bool field_host(const char *value, size_t n, char out[static FIELD_HOST]);
