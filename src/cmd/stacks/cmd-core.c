/* symfs core: starts a debugger on a core file whose program and libraries are not on this machine. The
 * debugger sees a sysroot of links to local files of the same build. For all other files the links lead into a
 * private mount. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "cmd/progress.h"
#include "cmd/stacks/core-sources.h"
#include "formats/obj/obj.h"
#include "stacks/dump/dump.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

#define LOG_LINES 8 /* of the mount's messages, after the debugger's end */

struct sysroot {
	char *dir, *mount, *root, *log; /* DIR, DIR/mnt, DIR/root, DIR/log */
	long shown;			/* bytes of the log that were printed */
	char *program;		  /* DIR/root followed by the path of the core's program; NULL: unknown */
	char *loader, *interp;	  /* target of a link to the dynamic linker; the path in the program's PT_INTERP;
				     NULL: unknown */
	unsigned local, fetched, unknown, unplaced;
	struct core_sources *sources; /* NULL: no source has source files */
	char *rules; /* DIR/sources: commands for the debugger; NULL: none */
};

/* ---- links -------------------------------------------------------------------------- */

/* Whether the local file at the path of the module is the same build. */
static bool is_local(const struct dump_module *d)
{
	_cleanup_close_ int fd = -1;
	struct obj_slice s;
	struct err e = {0};
	uint64_t size;
	struct view v;

	if (path_open_file(d->path, &fd, &size, &e) < 0)
		return false;
	v = view_of_fd(fd, size);
	return obj_identify(&v, 0, &s, &e) == 0 && build_id_equal(s.module.code_id, d->m.code_id);
}

/* Whether a path in the core file stays below the root. Core files are not trusted. */
static bool path_ok(const char *path)
{
	if (path[0] != '/')
		return false;
	while (*path) {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n && !path_name_ok(path, n))
			return false;
		path += n;
	}
	return true;
}

static int link_at(char *at, const char *to)
{
	char *slash = strrchr(at, '/');
	int r;

	*slash = '\0';
	r = path_mkdirs(at, 0700);
	*slash = '/';
	return r == 0 && symlink(to, at) < 0 && errno != EEXIST ? -errno : r;
}

/* Whether the error means that the path is too long, or conflicts with the path of another module. */
static bool has_no_place(int r)
{
	return r == -ENOTDIR || r == -ENOENT || r == -ENAMETOOLONG || r == -ELOOP;
}

static int take_program(struct sysroot *s, const struct dump_module *d, const char *at)
{
	s->program = strdup(at);
	if (s->program && d->interp[0] && path_ok(d->interp))
		s->interp = strdup(d->interp);
	return s->program ? 0 : -ENOMEM;
}

static int link_module(void *ctx, const struct dump_module *d)
{
	struct sysroot *s = ctx;
	_cleanup_buf_ struct buf at = BUF_UP_TO(3 * DUMP_PATH), to = BUF_UP_TO(3 * DUMP_PATH);
	bool local, ok = path_ok(d->path) && d->m.code_id[0] && d->m.object == OBJECT_ELF;
	int r;

	if (!ok) {
		s->unknown++;
		return 0;
	}
	local = is_local(d);
	r = s->sources ? core_sources_add(s->sources, d->m.code_id, local ? d->path : NULL) : 0;
	if (r < 0)
		return r;
	r = local ? buf_adds(&to, d->path)
		  : buf_addf(&to, "%s/gdb/.build-id/%.2s/%s", s->mount, d->m.code_id, d->m.code_id + 2);
	buf_addf(&at, "%s%s", s->root, d->path);
	if (r == 0)
		r = at.r < 0 ? at.r : link_at(at.p, to.p);
	if (has_no_place(r)) {
		s->unplaced++;
		return 0;
	}
	s->local += local;
	s->fetched += !local;
	if (r == 0 && d->program && !s->program)
		r = take_program(s, d, at.p);
	if (r == 0 && d->loader && !s->loader)
		r = (s->loader = strdup(to.p)) ? 0 : -ENOMEM;
	return r;
}

/* Makes links such as /lib -> usr/lib. The dynamic linker recorded the names that it opened (/lib/…). On
 * systems with these links, the kernel recorded other names (/usr/lib/…). */
static void link_usr(const struct sysroot *s)
{
	static const char *const names[] = {"bin", "lib", "lib32", "lib64", "libx32", "sbin"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *at = NULL, *to = NULL;

		if (asprintf(&at, "%s/%s", s->root, names[i]) < 0 || asprintf(&to, "usr/%s", names[i]) < 0)
			return;
		if (symlink(to, at) < 0)
			continue; /* the core has files in this directory */
	}
}

/* Makes a link to the dynamic linker under the name in PT_INTERP (/lib64/ld-linux-x86-64.so.2), by which debuggers
 * look it up. The core has only the path to which that name led (below /usr/lib/x86_64-linux-gnu, for example).
 * If the root has /lib64 as a link, the new link goes to /usr/lib64. */
static int link_loader(const struct sysroot *s)
{
	_cleanup_buf_ struct buf at = BUF_UP_TO(3 * DUMP_PATH);
	size_t n;
	int r;

	if (!s->interp || !s->loader)
		return 0;
	n = 1 + strcspn(s->interp + 1, "/");
	r = buf_addf(&at, "%s%.*s", s->root, (int)n, s->interp);
	if (r == 0) {
		struct stat st;
		bool usr = lstat(at.p, &st) == 0 && S_ISLNK(st.st_mode) && s->interp[n] == '/';

		buf_clear(&at);
		r = buf_addf(&at, "%s%s%s", s->root, usr ? "/usr" : "", s->interp);
	}
	if (r == 0)
		r = link_at(at.p, s->loader);
	return has_no_place(r) ? 0 : r;
}

/* Makes links libx.so.1.2 and libx.so.1 to libx.so.1.2.3 in its directory. The dynamic linker opens a library by its
 * soname, and debuggers look for that; the core has the name to which the soname led. */
static int link_versions(const char *path, const struct stat *st, int type, struct FTW *f)
{
	char alias[DUMP_PATH * 2];
	const char *name = path + f->base, *so = strstr(name, ".so.");
	size_t least = so ? (size_t)(so - path) + strlen(".so") : 0;

	if (type != FTW_SL || !so || strlen(path) >= sizeof(alias))
		return 0;
	snprintf(alias, sizeof(alias), "%s", path);
	for (char *dot = strrchr(alias, '.'); dot > alias + least; dot = strrchr(alias, '.')) {
		if (strspn(dot + 1, "0123456789") != strlen(dot + 1))
			break;
		*dot = '\0';
		if (symlink(name, alias) < 0)
			break; /* a module of the core has this name */
	}
	return 0;
}

static int sysroot_fill(struct sysroot *s, const char *core, struct err *e)
{
	_cleanup_free_ char *share = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t size;
	struct view v;
	char magic[4];
	int r = path_open_file(core, &fd, &size, e);

	if (r < 0)
		return r;
	v = view_of_fd(fd, size);
	if (view_read(&v, 0, magic, sizeof(magic)) == 0 && memcmp(magic, "MDMP", sizeof(magic)) == 0)
		return err_set(e, -ENOMSG, "is a minidump, not a core file; `symfs get FILE` fetches its files, and "
			"`lldb -c FILE` or minidump-stackwalk reads it");
	r = dump_read(&v, link_module, s, e);
	if (r == -ENOMSG && obj_unpacker(&v))
		return err_set(e, r, "is packed; unpack it first: %s", obj_unpacker(&v));
	if (r == -ENOMSG) /* for example an ELF file or a text */
		return err_set(e, r, "is not a core file; `symfs id` says what it is");
	if (r == 0) {
		nftw(s->root, link_versions, 16, FTW_PHYS);
		link_usr(s);
		r = link_loader(s);
	}
	/* Pretty printers look for ../../share/gcc/python. This link is the last: it leads out of the root. */
	if (r == 0 && asprintf(&share, "%s/usr/share", s->root) >= 0)
		link_at(share, "/usr/share");
	return r < 0 && !e->text[0] ? err_set(e, r, "%s", err_text(r)) : r;
}

/* ---- the directory ------------------------------------------------------------------ */

static int sysroot_make(struct sysroot *s, struct err *e)
{
	const char *base = getenv("TMPDIR");

	if (asprintf(&s->dir, "%s/symfs-core-XXXXXX", base && base[0] == '/' ? base : "/tmp") < 0)
		s->dir = NULL;
	if (!s->dir || !mkdtemp(s->dir))
		return err_set(e, -errno, "%s: cannot be made: %s", s->dir ? s->dir : "a directory", err_text(errno));
	if (asprintf(&s->mount, "%s/mnt", s->dir) < 0 || asprintf(&s->root, "%s/root", s->dir) < 0 ||
		asprintf(&s->log, "%s/log", s->dir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	if (mkdir(s->mount, 0700) < 0 || mkdir(s->root, 0700) < 0)
		return err_set(e, -errno, "%s: %s", s->dir, err_text(errno));
	return 0;
}

static void sysroot_remove(struct sysroot *s)
{
	if (s->dir)
		path_remove_tree(s->dir);
	free(s->dir);
	free(s->mount);
	free(s->root);
	free(s->log);
	free(s->program);
	free(s->loader);
	free(s->interp);
	free(s->rules);
	core_sources_free(s->sources);
}

/* ---- other programs ----------------------------------------------------------------- */

/* Starts a program. `log`: its stdout is discarded, and its stderr appended to this file; NULL: it has those of this
 * process. 0, -errno. */
static int start_program(pid_t *pid, const char *file, char *const *argv, const char *log, const sigset_t *mask)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t pipe;
	int r;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE); /* ignored here, but a program ends by it */
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | (mask ? POSIX_SPAWN_SETSIGMASK : 0));
	if (log) {
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	}
	if (mask)
		posix_spawnattr_setsigmask(&attr, mask);
	r = posix_spawnp(pid, file, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* The exit status as in a shell: 128 + N after signal N. */
static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns the exit status of the program; negative: the program could not be started. */
static int run_program(const char *file, char *const *argv, const char *log)
{
	pid_t pid;
	int status, r = start_program(&pid, file, argv, log, NULL);

	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return exit_status(status);
}

/* The signals that end this command. They are blocked while debug files are read: the command has to unmount before
 * it ends. The kernel keeps a blocked signal even if it is ignored, as nohup ignores SIGHUP. */
static void signals_of_end(sigset_t *out)
{
	struct sigaction was;

	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	if (sigaction(SIGHUP, NULL, &was) < 0 || was.sa_handler != SIG_IGN)
		sigaddset(out, SIGHUP);
}

/* As run_program(). Passes SIGTERM and SIGHUP on to the debugger, so that this command can unmount after the
 * debugger's end. Ignores SIGINT, which the terminal also sends to the debugger. */
static int run_debugger(const char *file, char *const *argv)
{
	sigset_t taken, old;
	int status = 0, sig, r;
	pid_t pid, ended;

	signals_of_end(&taken);
	sigaddset(&taken, SIGCHLD);
	sigprocmask(SIG_BLOCK, &taken, &old);
	r = start_program(&pid, file, argv, NULL, &old);
	while (r == 0 && (ended = waitpid(pid, &status, WNOHANG)) != pid) {
		if (ended < 0)
			r = -errno;
		else if (sigwait(&taken, &sig) == 0 && (sig == SIGTERM || sig == SIGHUP))
			kill(pid, sig);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return r < 0 ? r : exit_status(status);
}

struct words {
	char **list;
	size_t n;
	int r; /* 0, -ENOMEM: a word is missing */
};

static void words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void words_add(struct words *w, const char *fmt, ...)
{
	char **more = reallocarray(w->list, w->n + 2, sizeof(*more));
	va_list ap;

	if (!more) {
		w->r = -ENOMEM;
		return;
	}
	w->list = more;
	va_start(ap, fmt);
	if (vasprintf(&w->list[w->n], fmt, ap) < 0)
		w->r = -ENOMEM;
	else
		w->n++;
	va_end(ap);
	w->list[w->n] = NULL;
}

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	free(w->list);
}

/* Mounts with the options of this command: every word except the command's name and the core file. */
static int mount_with(const struct sysroot *s, const struct words *options)
{
	struct words w = {0};
	int r;

	words_add(&w, "symfs");
	words_add(&w, "mount");
	for (size_t i = 0; i < options->n; i++)
		words_add(&w, "%s", options->list[i]);
	words_add(&w, "%s", s->mount);
	r = w.r ? w.r : run_program("/proc/self/exe", w.list, s->log);
	words_release(&w);
	return r;
}

/* Detaches the mount even if another process has one of its files open. */
static void unmount(const struct sysroot *s)
{
	const char *argv[] = {"symfs", "umount", "--lazy", s->mount, NULL};

	run_program("/proc/self/exe", (char *const *)argv, s->log);
}

/* Prints what the mount has logged since the last call: why files are missing. `most`: the number of lines to print;
 * the others are counted. */
static void show_log(struct sysroot *s, unsigned most)
{
	FILE *f = fopen(s->log, "re");
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	char line[4096];
	unsigned n = 0;

	if (!f)
		return;
	fseek(f, s->shown, SEEK_SET);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (++n <= most)
			fprintf(stderr, "%s\n", text_shown(line, true, &room));
	}
	if (n > most)
		cmd_say(0, "and %u more lines like these", n - most);
	s->shown = ftell(f);
	fclose(f);
}

/* ---- debuggers ---------------------------------------------------------------------- */

static bool is_ended(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) > 0 || sigismember(&pending, SIGTERM) > 0 ||
		sigismember(&pending, SIGHUP) > 0;
}

static bool is_lldb(char **own)
{
	return own && own[0] && strncmp(path_base(own[0]), "lldb", 4) == 0;
}

struct waiting {
	const char *mount;
	struct progress progress;
};

/* Shows the downloads of the mount on a terminal. Returns whether a signal ends the wait. */
static bool show_downloads(void *ctx)
{
	struct waiting *w = ctx;
	_cleanup_free_ char *lines = NULL;

	if (isatty(STDERR_FILENO) && mount_state(w->mount, "downloads", &lines) == 0)
		progress_draw(&w->progress, lines, "");
	return is_ended();
}

/* Writes the rules for sources. The debugger works without them. */
static void find_sources(struct sysroot *s, bool lldb)
{
	struct waiting w = {.mount = s->mount};
	int n = -ENOMEM;

	if (!s->sources)
		return;
	if (asprintf(&s->rules, "%s/sources", s->dir) < 0)
		s->rules = NULL;
	if (s->rules)
		n = core_sources_write(s->sources, s->mount, s->rules, lldb, show_downloads, &w);
	progress_erase(&w.progress);
	if (n > 0)
		cmd_say(0, "sources compiled in %d directories come from the mount", n);
	if (n < 0)
		cmd_say(0, "no rules for sources: %s", err_text(n));
	if (n <= 0) {
		free(s->rules);
		s->rules = NULL;
	}
}

static void gdb_words(struct words *w, const struct sysroot *s, const char *core)
{
	words_add(w, "-iex");
	words_add(w, "set sysroot %s", s->root);
	words_add(w, "-iex");
	words_add(w, "set debug-file-directory %s/gdb:/usr/lib/debug", s->mount);
	words_add(w, "-iex"); /* the mount already asks these servers */
	words_add(w, "set debuginfod enabled off");
	if (s->rules) {
		words_add(w, "-ix");
		words_add(w, "%s", s->rules);
	}
	words_add(w, "%s", s->program ? s->program : "--core");
	words_add(w, "%s", core);
}

static void lldb_words(struct words *w, const struct sysroot *s, const char *core)
{
	words_add(w, "-O");
	words_add(w, "platform select --sysroot %s remote-linux", s->root);
	words_add(w, "-O");
	words_add(w, "settings set target.debug-file-search-paths %s/gdb", s->mount);
	if (s->rules) {
		words_add(w, "-S");
		words_add(w, "%s", s->rules);
	}
	words_add(w, "--core");
	words_add(w, "%s", core);
	if (s->program)
		words_add(w, "%s", s->program);
}

/* Runs the debugger with the caller's words (`gdb -batch -ex bt`, `lldb ...`), followed by this command's words. */
static int debug(const struct sysroot *s, const char *core, char **own)
{
	const char *name = own && own[0] ? own[0] : "gdb";
	struct words w = {0};
	int r;

	words_add(&w, "%s", name);
	/* The caller's words come before the files: lldb takes options only there. */
	for (char **p = own && own[0] ? own + 1 : NULL; p && *p; p++)
		words_add(&w, "%s", *p);
	(is_lldb(own) ? lldb_words : gdb_words)(&w, s, core);
	r = w.r ? w.r : run_debugger(name, w.list);
	if (r < 0)
		cmd_say(EXIT_LOCAL, "%s: %s", name, err_text(r));
	words_release(&w);
	return r < 0 ? EXIT_LOCAL : r;
}

/* If a signal arrives before the debugger starts, it stays blocked, and run_core() ends by it. */
static int debug_with_sources(struct sysroot *s, const char *core, char **own)
{
	sigset_t held, old;

	signals_of_end(&held);
	sigprocmask(SIG_BLOCK, &held, &old);
	find_sources(s, is_lldb(own));
	if (s->program && access(s->program, F_OK) < 0) {
		cmd_say(0, "the program of the core: %s; a debugger names nothing without it: add its directory "
			"with --source", errno == ENOENT ? "no source has it" :
			errno == EHOSTUNREACH ? "a source that may have it does not answer" : err_text(errno));
		free(take(s->program));
	}
	if (is_ended())
		return EXIT_INTERRUPTED;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return debug(s, core, own);
}

static int debug_in_sysroot(struct sysroot *s, const char *core, const struct words *options, char **own)
{
	struct err e = {0};
	int r = sysroot_make(s, &e);

	if (r == 0)
		r = sysroot_fill(s, core, &e);
	if (r < 0)
		return cmd_say(r == -ENOMSG || r == -ENODATA || r == -EBADMSG || r == -ENOENT ? EXIT_NO : EXIT_LOCAL,
			"%s: %s", core, e.text);
	cmd_say(0, "modules: %u local, %u to be fetched, %u without build id", s->local, s->fetched, s->unknown);
	if (s->unplaced)
		cmd_say(0, "left out: %u module%s with a path that conflicts with others, or is too long",
			s->unplaced, PLURAL(s->unplaced));
	signal(SIGPIPE, SIG_IGN); /* a closed pipe for the messages must not leave the mount */
	r = mount_with(s, options);
	show_log(s, UINT_MAX);
	if (r != 0)
		return r < 0 ? EXIT_LOCAL : r; /* the reason was in the log */
	r = debug_with_sources(s, core, own);
	show_log(s, LOG_LINES);
	unmount(s);
	return r;
}

static int run_core(int argc, char **argv)
{
	struct sysroot s = {0};
	struct words options = {0};
	const struct opt none[] = {{0}};
	struct app_args args;
	sigset_t ending;
	char **own = NULL, **all = calloc((size_t)argc + 1, sizeof(*all));
	int words = argc, n, status, r = all ? 0 : -ENOMEM;

	for (int i = 0; i < argc && all; i++) {
		all[i] = argv[i];
		if (!own && strcmp(argv[i], "--") == 0) {
			own = argv + i + 1;
			words = i;
		}
	}
	n = words;
	status = r < 0 ? EXIT_LOCAL : app_options(&args, &cmd_core, none, &n, argv);
	if (status < 0 && n != 2)
		status = cmd_usage("expected one core file");
	if (status < 0) {
		_cleanup_free_ char *core = path_absolute(argv[1]);

		for (int i = 1; i < words; i++)
			if (all[i] != argv[1])
				words_add(&options, "%s", all[i]);
		r = options.r;
		no_source_hint(args.sources, args.n_sources);
		r = r ? r : core_sources_new(&s.sources, &args);
		status = r < 0 || !core ? EXIT_LOCAL : debug_in_sysroot(&s, core, &options, own);
	}
	sysroot_remove(&s);
	signals_of_end(&ending);
	sigprocmask(SIG_UNBLOCK, &ending, NULL);
	words_release(&options);
	free(all);
	return status;
}

const struct cmd cmd_core = {
	.name = "core",
	.args = "CORE [-- gdb|lldb ARGS...]",
	.help = "Starts a debugger on a core file; fetches the program and the libraries of the\n"
		"core if this machine lacks them or has other builds",
	.examples = {"symfs core --source debian core",
		"symfs core core -- gdb -batch -ex bt"},
	.configured = true,
	.run = run_core,
};
