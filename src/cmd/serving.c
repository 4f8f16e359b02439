/* Serving over HTTP. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/serving.h"
#include "base/path.h"
#include "base/util.h"
#include "http/http.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define TOKEN_MOST 512

/* The first line of a file. A token that others may read protects nothing. */
static int read_token(const char *path, char **out, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t n;
	int r = path_read(AT_FDCWD, path, 64 << 10, &text, NULL);

	if (r < 0)
		return err_set(e, -EINVAL, "%s: %s", path, err_text(r));
	n = strcspn(text, "\r\n");
	if (n < 8 || n > TOKEN_MOST)
		return err_set(e, -EINVAL, "%s: a token of 8 to %d characters, please", path, TOKEN_MOST);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0007)
		return err_set(e, -EINVAL, "%s: everybody may read or write it; chmod o= %s", path, path);
	*out = strndup(text, n);
	return *out ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int serving_start(const struct serving *s, struct app *app, struct http **out, struct err *e)
{
	struct http_opts o = {.listen = s->listen, .access_log = s->access_log, .anyone = s->anyone};
	_cleanup_free_ char *token = NULL;
	int r = s->token_file ? read_token(s->token_file, &token, e) : 0;

	o.token = token;
	if (r == 0)
		r = http_start(out, app->fetch, &o, e);
	if (r < 0)
		return r;
	printf("listening on %s\n", http_where(*out));
	fflush(stdout);
	return 0;
}

void serving_raise_limits(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}
