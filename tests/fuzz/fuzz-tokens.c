/* Fuzzes the file of tokens, and the line of a label that holds a file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/private.h"
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "store/files/hold.h"

#include <stdlib.h>
#include <string.h>

static void must(bool what)
{
	if (!what)
		abort();
}

/* Each token is valid and different from the one before it. */
static void check_tokens(const char *text)
{
	struct token_list l;
	struct err e = {0};
	char rights[AUTH_RIGHTS_TEXT];
	unsigned again;

	if (tokens_parse(&l, "tokens", text, &e) < 0) {
		must(e.text[0]); /* every mistake has words */
		return;
	}
	for (unsigned i = 0; i < l.n; i++) {
		const struct auth_token *t = &l.tokens[i];

		must(auth_name_ok(t->name) && auth_space_ok(t->space) && t->rights && t->until >= 0);
		must(auth_rights_parse(auth_rights_text(t->rights, rights), &again) == 0 && again == t->rights);
		must(i == 0 || memcmp(l.tokens[i - 1].digest, t->digest, sizeof(t->digest)) < 0);
	}
	tokens_release(&l);
}

/* A hold that was read is written as a line that reads as the same hold. */
static void check_hold(const char *text)
{
	struct buf line = BUF_UP_TO(4096);
	struct store_hold h, again;

	if (hold_read(text, &h) < 0)
		return;
	must(hold_class_ok(h.class) && h.age >= 0);
	must(hold_write(&line, &h) == 0 && hold_read(buf_text(&line), &again) == 0);
	must(strcmp(h.class, again.class) == 0 && h.age == again.age && strcmp(h.labels, again.labels) == 0);
	buf_release(&line);
}

FUZZ_TARGET("tokens", p, n)
{
	char *text = malloc(n + 1);

	must(text != NULL);
	memcpy(text, p, n);
	text[n] = '\0';
	check_tokens(text);
	check_hold(text);
	free(text);
	return 0;
}
