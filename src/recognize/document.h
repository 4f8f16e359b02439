/* What the recognizers of JSON documents share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/jtext.h"
#include "recognize/private.h"

#define DOCUMENT_TOKENS (8u << 20)

/* Reads JSON in the text from `at`. False: it is not JSON, or not an object, or not UTF-8. */
bool document_read(struct jtext *j, const struct recognized *r, size_t at, size_t n);
/* The content of a string without escapes; empty: no such member, or it has escapes. */
struct cursor document_word(const struct jtext *j, uint32_t object, const char *name);
/* A number, or a string such as "0x1f". False: no such member. */
bool document_number(const struct jtext *j, uint32_t object, const char *name, uint64_t *out);
/* The token of a member that is a list or an object; 0: no such member. */
uint32_t document_list(const struct jtext *j, uint32_t object, const char *name);
uint32_t document_object(const struct jtext *j, uint32_t object, const char *name);
/* Puts the frames in the order of the text, which recognize_write() needs. */
void document_sort(struct recognized *r);
