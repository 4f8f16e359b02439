/* symfs token: adds, lists and removes the tokens of a server's clients. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/tokens.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/places.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SYSTEM_FILE SYSCONFDIR "/symfs/tokens"

struct token_command {
	const char *file, *rights, *expires, *space; /* options; NULL: not given */
	bool json, rotates;
};

static int failed(const struct err *e, int r)
{
	return cmd_say(r == -EINVAL || r == -EEXIST || r == -E2BIG ? EXIT_USAGE
		: r == -ENOENT ? EXIT_NO : EXIT_LOCAL, "%s", e->text);
}

/* ---- add, rotate ----------------------------------------------------------------------- */

static int read_age(const char *text, int64_t *until, struct err *e)
{
	static const struct conf_field field = {"--expires", CONF_SECONDS, 0, NULL, NULL};
	int64_t age = 0;
	int r = conf_value(&field, text, &age, "command line", e);

	if (r == 0 && (age <= 0 || !text[strspn(text, "0123456789")]))
		return err_set(e, -EINVAL, "--expires %.40s: expected a number with a unit, as in 90d or 12h", text);
	*until = clock_wall() + age;
	return r;
}

static int run_add(struct token_command *c, char **words, unsigned n)
{
	struct auth_token t = {.rights = AUTH_READ};
	char secret[AUTH_SECRET];
	struct err e = {0};
	int r = 0;

	if (strlen(words[0]) >= sizeof(t.name) || (c->space && strlen(c->space) >= sizeof(t.space)))
		r = err_set(&e, -EINVAL, "the name of a token has at most %d characters, a namespace %d",
			AUTH_NAME - 1, AUTH_SPACE - 1);
	snprintf(t.name, sizeof(t.name), "%s", words[0]);
	snprintf(t.space, sizeof(t.space), "%s", c->space ? c->space : AUTH_PUBLIC);
	if (r == 0 && c->rights && (r = auth_rights_parse(c->rights, &t.rights)) < 0)
		err_set(&e, r, "--rights %.100s: expected read, upload, try, purge, added, with commas between them",
			c->rights);
	if (r == 0 && c->expires)
		r = read_age(c->expires, &t.until, &e);
	if (geteuid() == 0)
		umask(022); /* other users read symfs.conf beside root's tokens; the file itself has mode 600 */
	if (r == 0)
		path_make_parents(c->file, 0755); /* auth_add() reports errors */
	if (r == 0)
		r = auth_add(c->file, &t, c->rotates, secret, &e);
	if (r < 0)
		return failed(&e, r);
	printf("%s\n", secret);
	return cmd_flush(EXIT_DONE);
}

/* ---- ls ------------------------------------------------------------------------------ */

/* `ctx`: the document; NULL: text. */
static int show_token(void *ctx, const struct auth_token *t)
{
	char rights[AUTH_RIGHTS_TEXT], until[24] = "";
	struct json *j = ctx;

	if (t->until)
		clock_print(t->until, until);
	auth_rights_text(t->rights, rights);
	if (!j) {
		printf("%s\t%s\t%s\t%s%s\n", t->name, rights, until[0] ? until : "-", t->space,
			t->until && t->until <= clock_wall() ? "\texpired" : "");
		return 0;
	}
	json_begin_object(j, NULL);
	json_text(j, "name", t->name);
	json_text(j, "rights", rights);
	json_text(j, "expires", until);
	json_text(j, "namespace", t->space);
	json_end(j);
	return 0;
}

static int run_ls(struct token_command *c, char **words, unsigned n)
{
	struct err e = {0};
	struct auth *a;
	struct json j;
	int r = auth_open(&a, c->file, &e);

	if (r < 0 && access(c->file, F_OK) < 0)
		err_set(&e, r, "%.300s: %s; `symfs token add NAME` makes the file", c->file, err_text(errno));
	if (r < 0)
		return failed(&e, r);
	json_init(&j, false);
	json_begin_array(&j, NULL);
	auth_each(a, show_token, c->json ? &j : NULL);
	auth_close(a);
	return json_finish(&j, c->json, EXIT_DONE);
}

/* ---- rm ------------------------------------------------------------------------------ */

static int run_rm(struct token_command *c, char **words, unsigned n)
{
	int worst = EXIT_DONE;

	for (unsigned i = 0; i < n; i++) {
		struct err e = {0};
		int r = auth_remove(c->file, words[i], &e), status = r < 0 ? failed(&e, r) : EXIT_DONE;

		worst = MAX(worst, status);
	}
	return worst;
}

/* The file if no option names one; free() it. NULL: there is no home directory, or no memory. */
static char *usual_file(void)
{
	char *path = geteuid() == 0 ? strdup(SYSTEM_FILE) : place_user_file(),
		*slash = path ? strrchr(path, '/') : NULL;

	if (geteuid() == 0)
		return path;
	if (slash) /* beside the configuration; "symfs.conf" is longer */
		memcpy(slash + 1, "tokens", sizeof("tokens"));
	else
		free(take(path));
	return path;
}

/* ---- the command --------------------------------------------------------------------- */

static const struct verb {
	const char *name;
	int (*run)(struct token_command *c, char **words, unsigned n);
	unsigned least, most; /* words after the verb */
	bool adds, ends;      /* takes --rights and --namespace; takes --expires */
} verbs[] = {
	{"add", run_add, 1, 1, true, true},
	{"create", run_add, 1, 1, true, true},
	{"rotate", run_add, 1, 1, false, true},
	{"ls", run_ls, 0, 0, false, false},
	{"list", run_ls, 0, 0, false, false},
	{"rm", run_rm, 1, UINT32_MAX, false, false},
	{"delete", run_rm, 1, UINT32_MAX, false, false},
	{"revoke", run_rm, 1, UINT32_MAX, false, false},
};

/* The error message for wrong words; NULL: they are right. */
static const char *words_wrong(const struct token_command *c, const struct verb *v, unsigned n)
{
	if (!v)
		return "expected add, rotate, ls or rm";
	if (n < v->least || n > v->most)
		return v->ends ? "expected one name" : v->least ? "rm: expected names" : "ls: expected no names";
	if ((!v->adds && (c->rights || c->space)) || (!v->ends && c->expires))
		return "--rights and --namespace are for add only, --expires for add and rotate";
	return c->json && v->run != run_ls ? "--json is for ls only" : NULL;
}

static const struct verb *find_verb(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(verbs); i++)
		if (name && strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int run_token(int argc, char **argv)
{
	struct token_command c = {0};
	const struct opt own[] = {
		{"file", 0, "FILE", "the file of the tokens, as of symfs serve", &c.file},
		{"rights", 0, "RIGHTS", "add: read, upload, try, purge, added; read", &c.rights},
		{"expires", 0, "TIME", "add, rotate: valid for this time: 90d", &c.expires},
		{"namespace", 0, "NAME", "add: the namespace of the client; public", &c.space},
		{0},
	};
	_cleanup_free_ char *usual = NULL;
	const struct verb *v;
	const char *wrong;
	struct app_args args;
	int status = app_options(&args, &cmd_token, own, &argc, argv);
	unsigned n = argc > 2 ? (unsigned)argc - 2 : 0;

	if (status >= 0)
		return status;
	c.json = args.json;
	v = find_verb(argc > 1 ? argv[1] : NULL);
	wrong = words_wrong(&c, v, n);
	if (wrong)
		return cmd_usage("%s", wrong);
	if (!c.file)
		c.file = usual = usual_file();
	if (!c.file)
		return cmd_say(EXIT_USAGE, "there is no home directory: use --file FILE");
	c.rotates = v->ends && !v->adds;
	return v->run(&c, argv + 2, n);
}

const struct cmd cmd_token = {
	.name = "token",
	.args = "add|rotate|ls|rm [OPTIONS] [NAME...]",
	.help = "Manages the tokens of the clients of `symfs serve --token-file`. add prints a\n"
		"new token once: the file has only its digest. rotate replaces a token: the old\n"
		"one ends. A running server notices changes of the file. Without --file it is\n"
		"/etc/symfs/tokens for root, and ~/.config/symfs/tokens for other users",
	.examples = {"symfs token add ci --rights read,upload --expires 365d",
		"symfs token rm ci"},
	.json = true,
	.run = run_token,
};
