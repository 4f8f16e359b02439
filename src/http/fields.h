/* The header fields of HTTP that decide something: ranges, validators, dates, credentials. Values in,
 * values out; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELD_DATE 32

enum field_range {
	RANGE_WHOLE,  /* none was asked for, or several, or in words that mean nothing: all of it */
	RANGE_PART,
	RANGE_NEVER   /* 416 */
};

/* What `Range` asks for of so many bytes; NULL: nothing. */
enum field_range field_range(const char *range, uint64_t size, uint64_t *off, uint64_t *n);

/* Whether a list of If-None-Match has the tag (with its quotes); weak tags compare alike. */
bool field_has_tag(const char *list, const char *tag);

/* Whether If-Range lets a range be: the same strong tag, or the very date. NULL: it does. */
bool field_if_range(const char *value, const char *tag, const char *date);

/* "Sun, 06 Nov 1994 08:49:37 GMT". */
void field_date(int64_t wall, char out[static FIELD_DATE]);
/* Of that form only; -1: it is none. */
int64_t field_date_read(const char *text);

/* Whether Authorization has the token, as "Bearer TOKEN", or as the password of "Basic". How long it
 * takes does not tell how much was right. */
bool field_authorized(const char *value, const char *token);

/* Whether Accept-Encoding lets an answer be packed by gzip: it names it, or everything, and not with q=0.
 * NULL: it does not. */
bool field_accepts_gzip(const char *value);

/* How many hops a Via names that are a symfs; `*ours` whether one is `id`. */
unsigned field_via(const char *value, const char *id, bool *ours);

/* The host in the n bytes of a `Host` or of a URL's authority: without the port, the brackets of IPv6 and
 * a dot at its end; "" when there is none. False: it is not of the form HOST[:PORT]. */
#define FIELD_HOST 256 /* a name of DNS has at most 253 bytes */
bool field_host(const char *value, size_t n, char out[static FIELD_HOST]);
