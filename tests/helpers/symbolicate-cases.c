/* Sends the requests of a file of cases, one by one, through a command, and compares the answers
 * as JSON values.
 *
 *	symbolicate-cases FILE COMMAND...	the command gets `--api v4|v5` and the body on stdin
 *
 * If the service answered a case with 500, the command must refuse it (status 400). The output has
 * a line of TAP for each case. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int scratch(const char *text)
{
	int fd = memfd_create("case", 0);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET) < 0) {
		perror("memfd");
		exit(2);
	}
	return fd;
}

static char *slurp(int fd)
{
	off_t n = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)n + 1);

	if (!text || pread(fd, text, (size_t)n, 0) != n)
		exit(2);
	close(fd);
	return text;
}

/* What the command said, and its exit status. */
static char *run(char **command, int words, const char *api, const char *body, int *status)
{
	char *argv[64];
	int in = scratch(body), out = scratch("");
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < words; i++)
			argv[i] = command[i];
		argv[words] = (char *)"--api";
		argv[words + 1] = (char *)api;
		argv[words + 2] = NULL;
		dup2(in, 0);
		dup2(out, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, status, 0) != pid)
		exit(2);
	*status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128;
	close(in);
	return slurp(out);
}

static const char *text_of(struct json_object *c, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(c, name, &v) ? json_object_get_string(v) : NULL;
}

/* NULL: as it should be. */
static const char *judge(struct json_object *c, struct json_object *got, int status)
{
	int want_status = json_object_get_int(json_object_object_get(c, "status"));

	if (want_status == 200 ? status != 0 : status != 1)
		return "exit status";
	if (want_status == 500)
		return json_object_object_get(got, "title") ? NULL : "no title";
	return json_object_equal(got, json_object_object_get(c, "response")) ? NULL : "answer";
}

static int one_case(unsigned n, struct json_object *c, char **command, int words)
{
	struct json_object *got;
	const char *body = text_of(c, "body_text"), *wrong;
	int status;
	char *text;

	if (!body)
		body = text_of(c, "body");
	text = run(command, words, text_of(c, "api"), body, &status);
	got = json_tokener_parse(text);
	wrong = judge(c, got, status);
	printf("%sok %u - %s\n", wrong ? "not " : "", n, text_of(c, "id"));
	if (wrong)
		printf("# %s: status %d\n# got  %s\n# want %s\n", wrong, status, text, text_of(c, "response"));
	json_object_put(got);
	free(text);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	struct json_object *all, *cases;
	unsigned n = 0, failed = 0;

	if (argc < 3 || argc > 60)
		return 2;
	all = json_object_from_file(argv[1]);
	if (!all || !json_object_object_get_ex(all, "cases", &cases)) {
		fprintf(stderr, "%s: no cases\n", argv[1]);
		return 2;
	}
	for (size_t i = 0; i < json_object_array_length(cases); i++) {
		struct json_object *c = json_object_array_get_idx(cases, i);
		const char *method = text_of(c, "method");

		if (!method || strcmp(method, "POST") == 0)
			failed += (unsigned)one_case(++n, c, argv + 2, argc - 2);
		fflush(stdout);
	}
	printf("1..%u\n", n);
	json_object_put(all);
	return failed || !n;
}
