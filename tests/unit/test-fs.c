/* Tests fs/: the node table, and a real mount over a simulated fetch/. The daemon is a child
 * process: a process that waits for its own mount could not be killed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "derive/derive.h"
#include "fetch/fetch.h"
#include "store/browse.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "times.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* ---- a fetch/ and a store/ that obey: the first two digits of a build id say what happens  */

#define WHOLE "aa" /* is in the store */
#define LATER "bb" /* exists; OPEN is answered once the file `go` is there */
#define GONE "cc"  /* a miss */
#define NEVER "dd" /* no answer; `ready` runs when the ticket is cancelled */
#define CHANGES "ee" /* its bytes depend on the file `generation` */
#define LIES "ff"  /* LOOKUP finds it, OPEN does not */
#define COMES "ab" /* its first half is present; the other half arrives when the file `go` exists, or fails
			if `bad` exists; it is in the store once `stored` exists. If `spare` exists, single pages
			of the other half arrive at once, and a larger read is refused, once; the second
			such read waits for its bytes, and `waited` exists then */

struct blob {
	atomic_uint refs;
	struct blob_facts facts;
	uint64_t number, size;
	int fd;
	char text[64];
};

struct fetch {
	const char *dir;
	struct fetch_stats stats;
	atomic_bool ending;  /* requests that still wait are answered now */
	atomic_uint flights; /* threads that still have a request to answer */
	atomic_uint opens;   /* of the file that is coming */
};

/* ---- a file that is coming: COMES --------------------------------------------------- */

#define COMES_SIZE (1u << 20)

struct part {
	struct fetch *f;
	bool refused[COMES_SIZE >> 12];
};

struct part_wait {
	atomic_uint refs;
	atomic_bool cancelled;
	struct part *p;
	uint64_t end;
	part_ready *ready;
	void *ctx;
};

static bool there(const struct fetch *f, const char *name);
static void make(const struct fetch *f, const char *name);

static struct part coming; /* its f is set before the threads start */

struct part *part_ref(struct part *p)
{
	return p;
}

void part_unref(struct part *p)
{
}

void part_open(struct part *p)
{
	atomic_fetch_add(&p->f->opens, 1);
}

void part_close(struct part *p)
{
	atomic_fetch_sub(&p->f->opens, 1);
}

uint64_t part_size(const struct part *p)
{
	return COMES_SIZE;
}

uint64_t part_number(const struct part *p)
{
	return 77;
}

int64_t part_modified(const struct part *p)
{
	(void)p;
	return 0;
}

int64_t part_time(const struct part *p)
{
	return 1000000000;
}

ssize_t part_read(struct part *p, uint64_t off, void *buf, size_t n)
{
	uint64_t end = MIN(off + n, COMES_SIZE);

	if (end > COMES_SIZE / 2 && !there(p->f, "go") && !there(p->f, "waited") &&
		(n > 4096 || !there(p->f, "spare")))
		return there(p->f, "bad") ? -EIO : -EAGAIN;
	n = end > off ? (size_t)(end - off) : 0;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buf)[i] = (uint8_t)((off + i) >> 12);
	return (ssize_t)n;
}

/* In pages: pages of 4 KiB are all that the kernel may have here. */
ssize_t part_read_told(struct part *p, uint64_t off, void *buf, size_t n)
{
	return part_read(p, off, buf, n);
}

bool part_refuses(struct part *p, uint64_t off, size_t n)
{
	bool fresh = there(p->f, "spare");

	for (uint64_t i = off >> 12; i < MIN(off + n, COMES_SIZE) >> 12; i++)
		fresh = fresh && !p->refused[i];
	for (uint64_t i = off >> 12; fresh && i < MIN(off + n, COMES_SIZE) >> 12; i++)
		p->refused[i] = true;
	if (fresh)
		make(p->f, "refused");
	return fresh;
}

void part_wait_unref(struct part_wait *w)
{
	if (w && atomic_fetch_sub(&w->refs, 1) == 1)
		free(w);
}

static void *part_waits(void *arg)
{
	struct part_wait *w = arg;
	struct timespec tick = {.tv_nsec = 2000000};
	struct fetch *f = w->p->f;

	while (!atomic_load(&w->cancelled) && !atomic_load(&f->ending) && !there(f, "go") && !there(f, "bad") &&
		!there(f, "waited"))
		nanosleep(&tick, NULL);
	w->ready(w->ctx, atomic_load(&w->cancelled) ? -EINTR : there(f, "go") || there(f, "waited") ? 0 : -EIO);
	part_wait_unref(w);
	atomic_fetch_sub(&f->flights, 1);
	return NULL;
}

int part_wait(struct part *p, enum part_wanted what, uint64_t off, size_t n, part_ready *ready, void *ctx,
	struct part_wait **out)
{
	struct part_wait *w = calloc(1, sizeof(*w));
	pthread_t thread;

	*w = (struct part_wait){.p = p, .ready = ready, .ctx = ctx};
	atomic_init(&w->refs, 2);
	atomic_fetch_add(&p->f->flights, 1);
	*out = w;
	if (there(p->f, "spare"))
		make(p->f, "waited");
	pthread_create(&thread, NULL, part_waits, w);
	pthread_detach(thread);
	return 0;
}

void part_wait_cancel(struct part_wait *w)
{
	atomic_store(&w->cancelled, true);
}

bool fetch_progress(struct fetch *f, const struct key *k, uint64_t *have, uint64_t *size)
{
	*have = COMES_SIZE / 2;
	*size = COMES_SIZE;
	return strncasecmp(k->id, COMES, 2) == 0 && !there(f, "stored");
}

int fetch_in_place(struct fetch *f, const char *source, const char *path, enum filetype t, int *fd)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

struct ticket {
	atomic_uint refs;
	atomic_bool cancelled;
	struct fetch *f;
	struct key key;
	enum fetch_need need;
	fetch_ready *ready;
	void *ctx;
};

static bool is(const struct key *k, const char *what)
{
	return strncasecmp(k->id, what, 2) == 0;
}

static bool there(const struct fetch *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return access(path, F_OK) == 0;
}

static void make(const struct fetch *f, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static struct blob *blob_made(const struct key *k, unsigned generation)
{
	struct blob *b = calloc(1, sizeof(*b));

	atomic_init(&b->refs, 1);
	b->number = 100 + generation;
	b->size = (uint64_t)snprintf(b->text, sizeof(b->text), "%.8s generation %u\n", k->id, generation);
	b->fd = memfd_create("blob", MFD_CLOEXEC);
	ck_assert_int_eq(write(b->fd, b->text, b->size), (ssize_t)b->size);
	b->facts.verified = true;
	b->facts.fetched = 1000000000;
	snprintf(b->facts.source, sizeof(b->facts.source), "fake");
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	atomic_fetch_add(&b->refs, 1);
	return b;
}

void blob_unref(struct blob *b)
{
	if (b && atomic_fetch_sub(&b->refs, 1) == 1) {
		close(b->fd);
		free(b);
	}
}

int blob_fd(const struct blob *b)
{
	return b->fd;
}

uint64_t blob_size(const struct blob *b)
{
	return b->size;
}

const char *blob_sha256(const struct blob *b)
{
	return "0123";
}

const struct blob_facts *blob_facts(const struct blob *b)
{
	return &b->facts;
}

uint64_t blob_number(const struct blob *b)
{
	return b->number;
}

const char *blob_maker(const struct blob_facts *f, char out[static BLOB_MAKER])
{
	out[0] = '\0';
	return out;
}

ssize_t blob_read(struct blob *b, uint64_t off, void *p, size_t n)
{
	n = off < b->size ? MIN(n, b->size - off) : 0;
	memcpy(p, b->text + MIN(off, b->size), n);
	return (ssize_t)n;
}

static void answer(struct fetch *f, const struct key *k, enum fetch_need need, struct fetched *out)
{
	*out = (struct fetched){.key = *k, .size = FETCH_SIZE_UNKNOWN, .why = ""};
	if (is(k, GONE) || (is(k, LIES) && need != FETCH_EXISTS)) {
		out->r = -ENOENT;
		out->miss_ms = 60000;
	} else if (is(k, COMES) && need == FETCH_OPEN && !there(f, "stored")) {
		out->part = &coming;
		out->size = COMES_SIZE;
	} else if (is(k, COMES) && there(f, "stored")) {
		out->blob = blob_made(k, 0);
		out->was = 77;
		out->size = out->blob->size;
	} else if (is(k, WHOLE) || is(k, CHANGES) || (is(k, LATER) && need != FETCH_EXISTS)) {
		out->blob = blob_made(k, is(k, CHANGES) && there(f, "generation"));
		out->size = out->blob->size;
	}
}

int fetch_try(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	struct fetched *out)
{
	struct key k;

	ck_assert_int_eq(key_of(&k, &cands[0]), 0);
	if (is(&k, COMES) && need == FETCH_WHOLE && !there(f, "stored"))
		return -EAGAIN;
	if (is(&k, NEVER) || (is(&k, LATER) && need != FETCH_EXISTS && !there(f, "go")))
		return -EAGAIN;
	answer(f, &k, need, out);
	return 0;
}

static void *flight(void *arg)
{
	struct ticket *t = arg;
	struct fetched out = {.r = -EINTR, .key = t->key, .why = "cancelled"};
	struct fetch *f;
	struct timespec tick = {.tv_nsec = 2000000};

	while (!atomic_load(&t->cancelled) && !atomic_load(&t->f->ending) &&
		(is(&t->key, NEVER) || !there(t->f, "go")))
		nanosleep(&tick, NULL);
	if (!atomic_load(&t->cancelled) && !atomic_load(&t->f->ending))
		answer(t->f, &t->key, t->need, &out);
	t->ready(t->ctx, &out);
	blob_unref(out.blob);
	f = t->f;
	ticket_unref(t);
	atomic_fetch_sub(&f->flights, 1);
	return NULL;
}

int fetch_open(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	fetch_ready *ready, void *ctx, struct ticket **out)
{
	struct ticket *t = calloc(1, sizeof(*t));
	pthread_t thread;

	*t = (struct ticket){.f = f, .need = need, .ready = ready, .ctx = ctx};
	key_of(&t->key, &cands[0]);
	atomic_init(&t->refs, 2);
	atomic_fetch_add(&f->flights, 1);
	*out = t;
	pthread_create(&thread, NULL, flight, t);
	pthread_detach(thread);
	return 0;
}

void ticket_cancel(struct ticket *t)
{
	atomic_store(&t->cancelled, true);
}

void ticket_unref(struct ticket *t)
{
	if (atomic_fetch_sub(&t->refs, 1) == 1)
		free(t);
}

/* Once the file `more` is there, directory sources have a second file, and the store has one more. */
int fetch_local(struct fetch *f, const struct listing_plan *plan, int (*each)(void *ctx, const struct key *k),
	void *ctx)
{
	struct key k = {.type = FILETYPE_ELF_DEBUG}, more = {.type = FILETYPE_ELF_DEBUG};

	snprintf(k.id, sizeof(k.id), "aa11223344556677889900112233445566778899");
	snprintf(more.id, sizeof(more.id), "aa22223344556677889900112233445566778899");
	return each(ctx, &k) || each(ctx, &k) || (there(f, "more") && each(ctx, &more));
}

#define STORED 126 /* entries: more than one reply to readdir(3) holds, fewer than a batch of listing.c */

int store_browse(struct store *s, const struct listing_plan *l, uint64_t after, struct browse_entry *out,
	unsigned n)
{
	unsigned first = there((struct fetch *)s, "more") ? 0 : 1, got = 0;
	unsigned at = MAX((unsigned)(after >> BROWSE_PART_BITS), first);

	for (; at <= STORED && got < n; at++, got++) {
		out[got] = (struct browse_entry){.offset = (at + 1) << BROWSE_PART_BITS | 1,
			.type = FILETYPE_ELF_DEBUG, .number = at + 2};
		snprintf(out[got].name, sizeof(out[got].name), "%0240u", at);
	}
	return (int)got;
}

int store_browse_has(struct store *s, const struct listing_plan *l, const char *name)
{
	return 0;
}

void fetch_downloads(struct fetch *f, struct buf *out)
{
}

void ticket_set_pid(struct ticket *t, int pid)
{
}

void part_wait_set_pid(struct part_wait *w, int pid)
{
}

void fetch_activity(struct fetch *f, struct buf *out)
{
	buf_addf(out, "%u\n", atomic_load(&f->flights));
}

void fetch_sources_text(struct fetch *f, struct buf *out)
{
}

void fetch_missing(struct fetch *f, struct buf *out)
{
}

int fetch_why(struct fetch *f, const struct artifact *a, const struct fetch_asking *asking,
	struct fetch_attempt *rows, unsigned most)
{
	rows[0] = (struct fetch_attempt){.source = "fake", .verdict = "not asked"};
	return 1;
}

struct store *fetch_store(struct fetch *f)
{
	return (struct store *)f;
}

/* Nothing is made here: tests/mount/gsym.sh has the real one. */
int derive_new(struct derive **out, struct fetch *f)
{
	*out = NULL;
	return 0;
}

void derive_stop(struct derive *d)
{
}

void derive_free(struct derive *d)
{
}

int derive_artifact(const struct artifact *input, bool object, struct artifact *out)
{
	return -ENOENT;
}

int derive_breakpad(struct derive *d, const struct artifact *sym, struct artifact *out)
{
	return -ENOENT;
}

int derive_key(const struct artifact *a, struct key *out)
{
	return -ENOENT;
}

int fetch_stored(struct fetch *f, const struct artifact *cands, unsigned n, struct fetched *out)
{
	return fetch_try(f, cands, n, FETCH_WHOLE, out);
}

int derive_try(struct derive *d, const struct artifact *a, struct blob *in, struct fetched *f)
{
	return -ENOENT;
}

bool derive_failed(struct derive *d, const struct artifact *a)
{
	return true;
}

int derive_open(struct derive *d, const struct artifact *a, fetch_ready *ready, void *ctx,
	struct making **out)
{
	return -ENOMEM;
}

void making_cancel(struct making *m)
{
}

void making_unref(struct making *m)
{
}

void store_hurry(struct store *s)
{
}

int store_name(struct store *s, const struct key *k, char name[static MODULE_PATH_MAX])
{
	return -ENOENT;
}

int store_statvfs(const struct store *s, struct statvfs *out)
{
	(void)s;
	return statvfs("/", out) < 0 ? -errno : 0;
}

const struct fetch_stat_row fetch_stat_rows[] = {
	{"lookups", "asked", offsetof(struct fetch_stats, lookups)},
	{NULL, NULL, 0},
};

struct fetch_stats *fetch_stats(struct fetch *f)
{
	return &f->stats;
}

/* ---- a mount in a child ------------------------------------------------------------- */

struct mounted {
	char dir[256], point[300];
	pid_t pid;
};

static void on_up(void *ctx)
{
	char c = 'u';

	ck_assert_int_eq(write(*(int *)ctx, &c, 1), 1);
}

static void *stopper(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigwait(&set, &sig);
	fs_stop(arg);
	return NULL;
}

static int daemon_main(const struct mounted *m, int up)
{
	struct fetch f = {.dir = m->dir};
	struct fs_opts o = {.mountpoint = m->point, .options = "", .source = "a,b", .config_text = "c\n",
		.up = on_up, .up_ctx = &up};
	struct err e = {0};
	sigset_t set;
	pthread_t thread;
	struct fs *fs;
	int r;

	coming.f = &f;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (fs_mount(&fs, &f, &o, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 3;
	}
	pthread_create(&thread, NULL, stopper, fs);
	r = fs_loop(fs);
	/* From here on a TERM is the end of the stopper alone. */
	pthread_kill(thread, SIGTERM);
	pthread_join(thread, NULL);
	atomic_store(&f.ending, true);
	while (atomic_load(&f.flights))
		sched_yield();
	fs_free(fs);
	/* Also of a file whose RELEASE did not arrive before the end of the loop. */
	return r ? 4 : atomic_load(&f.opens) ? 5 : 0;
}

static void mount_it(struct mounted *m)
{
	int up[2];
	char c;

	ck_assert_int_eq(pipe(up), 0);
	m->pid = fork();
	if (m->pid == 0) {
		/* A test that fails leaves no mount behind; libcheck kills its process group. */
		setsid();
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		alarm(1000);
		close(up[0]);
		_exit(daemon_main(m, up[1]));
	}
	close(up[1]);
	ck_assert_int_eq(read(up[0], &c, 1), 1);
	close(up[0]);
}

static int ended(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct mounted start(void)
{
	struct mounted m;

	snprintf(m.dir, sizeof(m.dir), "/tmp/symfs-test-fs.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(m.dir));
	snprintf(m.point, sizeof(m.point), "%s/mnt", m.dir);
	ck_assert_int_eq(mkdir(m.point, 0755), 0);
	mount_it(&m);
	return m;
}

static void touch(const struct mounted *m, const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void stop(struct mounted *m)
{
	static const char *const touched[] = {"go", "generation", "bad", "stored", "spare", "refused",
		"waited", "more"};
	struct statfs st;
	char path[400];

	ck_assert_int_eq(kill(m->pid, SIGTERM), 0);
	ck_assert_int_eq(ended(m->pid), 0);
	ck_assert_int_eq(statfs(m->point, &st), 0);
	ck_assert_int_ne(st.f_type, 0x65735546);
	for (unsigned i = 0; i < ARRAY_SIZE(touched); i++) {
		snprintf(path, sizeof(path), "%s/%s", m->dir, touched[i]);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(m->point), 0);
	ck_assert_int_eq(rmdir(m->dir), 0);
}

/* A path in the mount; the last one asked for stays valid. */
static const char *in(const struct mounted *m, const char *rest, char room[static 512])
{
	snprintf(room, 512, "%.180s/%.320s", m->point, rest);
	return room;
}

static const char *leaf(const struct mounted *m, const char *what, char room[static 512])
{
	snprintf(room, 512, "%s/gdb/.build-id/%s/11223344556677889900112233445566778899.debug", m->point,
		what);
	return room;
}

static ssize_t slurp(const char *path, char *out, size_t n)
{
	int fd = open(path, O_RDONLY);
	ssize_t got, all = 0;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, out + all, n - 1 - (size_t)all)) > 0)
		all += got;
	close(fd);
	out[all] = '\0';
	return got < 0 ? -errno : all;
}

/* The value of a line of .symfs/stats. */
static long stat_value(const struct mounted *m, const char *name)
{
	char text[4096], room[512], *at;

	ck_assert_int_gt(slurp(in(m, ".symfs/stats", room), text, sizeof(text)), 0);
	at = strstr(text, name);
	ck_assert_ptr_nonnull(at);
	return strtol(at + strlen(name), NULL, 10);
}

static void until_stat(const struct mounted *m, const char *name, long least)
{
	unit_wait(stat_value(m, name) >= least);
}

/* ---- the tests ---------------------------------------------------------------------- */

START_TEST(nodes_are_counted)
{
	struct nodes *t = nodes_new();
	struct node *a, *b;

	ck_assert_int_eq(node_of_path(t, NODE_DIR, "gdb", NULL, &a), 0);
	ck_assert_int_eq(node_of_path(t, NODE_DIR, "gdb", NULL, &b), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(node_ino(a), node_number(NODE_DIR, "gdb"));
	node_unref(t, a);
	node_unref(t, b);
	ck_assert_uint_eq(nodes_count(t), 2);
	node_forget(t, node_ino(a), 1);
	ck_assert_uint_eq(nodes_count(t), 2);
	node_forget(t, node_ino(a), 100);
	ck_assert_uint_eq(nodes_count(t), 1);
	node_forget(t, NODE_ROOT, 100);
	ck_assert_uint_eq(nodes_count(t), 1);
	for (unsigned i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(node_of_path(t, NODE_DIR, name, NULL, &a), 0);
		node_unref(t, a);
	}
	a = node_find(t, node_number(NODE_DIR, "4999"));
	ck_assert_str_eq(node_path(a), "4999");
	nodes_free(t);
}
END_TEST

/* The contents that the kernel has read at a path stay the same under that inode number. */
START_TEST(texts_never_share_an_inode)
{
	struct nodes *t = nodes_new();
	struct node *a, *b, *c, *again;
	char text[] = "one";

	ck_assert_int_eq(node_of_path(t, NODE_LINK, "l", text, &a), 0);
	memcpy(text, "two", 3);
	ck_assert_str_eq(node_text(a), "one");
	ck_assert_uint_eq(node_ino(a), node_number(NODE_LINK, "l"));
	ck_assert_int_eq(node_of_path(t, NODE_LINK, "l", text, &b), 0);
	ck_assert_str_eq(node_text(b), "two");
	ck_assert_uint_ne(node_ino(a), node_ino(b));
	ck_assert_int_eq(node_of_path(t, NODE_LINK, "l", "two", &again), 0);
	ck_assert_ptr_eq(again, b);
	ck_assert_int_eq(node_of_path(t, NODE_LINK, "l", "one", &c), 0);
	ck_assert_ptr_eq(c, a);
	node_unref(t, a);
	node_unref(t, b);
	node_unref(t, c);
	node_unref(t, again);
	node_forget(t, node_ino(a), 2);
	node_forget(t, node_ino(b), 2);
	ck_assert_uint_eq(nodes_count(t), 1);
	nodes_free(t);
}
END_TEST

START_TEST(generations_never_share_an_inode)
{
	struct nodes *t = nodes_new();
	struct artifact a = {.type = FILETYPE_ELF_DEBUG, .m.code_id = "aabbccdd00112233"};
	struct node_bytes unknown = {.size = 5}, one = {.exact = true, .number = 1, .size = 10},
		two = {.exact = true, .number = 2, .size = 20}, seen;
	struct node *n, *m, *again;
	struct artifact back;
	struct key k;

	snprintf(a.m.code_file, sizeof(a.m.code_file), "libx.so");
	ck_assert_int_eq(key_of(&k, &a), 0);
	ck_assert_int_eq(node_of_leaf(t, &k, &a, &unknown, &n), 0);
	ck_assert_uint_eq(node_ino(n), key_number(&k));
	node_artifact(n, &back);
	ck_assert_str_eq(back.m.code_file, "libx.so");
	ck_assert_str_eq(back.m.code_id, a.m.code_id);
	ck_assert_int_eq(node_settle(t, n, &one), 0);
	ck_assert_int_eq(node_settle(t, n, &one), 0);
	ck_assert_int_eq(node_settle(t, n, &two), -ESTALE);
	node_bytes(t, n, &seen);
	ck_assert_uint_eq(seen.size, 10);
	ck_assert_int_eq(node_of_leaf(t, &k, &a, &unknown, &m), 0);
	ck_assert_uint_ne(node_ino(m), node_ino(n));
	ck_assert_int_eq(node_settle(t, m, &two), 0);
	/* And back: the first bytes have their first inode. */
	ck_assert_int_eq(node_settle(t, m, &one), -ESTALE);
	ck_assert_int_eq(node_of_leaf(t, &k, &a, &unknown, &again), 0);
	ck_assert_ptr_eq(again, n);
	node_unref(t, again);
	node_unref(t, n);
	node_unref(t, m);
	nodes_free(t);
}
END_TEST

START_TEST(leaves_and_their_attributes)
{
	struct mounted m = start();
	char room[512], other[512], text[4096], value[64];
	struct stat a, b;

	ck_assert_int_eq(stat(leaf(&m, WHOLE, room), &a), 0);
	ck_assert_uint_eq(a.st_size, strlen("aa112233 generation 0\n"));
	ck_assert_uint_eq(a.st_mode, S_IFREG | 0444);
	ck_assert_int_eq(a.st_mtime, 1000000000);
	in(&m, "debuginfod/buildid/aa11223344556677889900112233445566778899/debuginfo", other);
	ck_assert_int_eq(stat(other, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_int_gt(slurp(other, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "aa112233 generation 0\n");
	ck_assert_int_eq(getxattr(room, "user.symfs.source", value, sizeof(value)), 4);
	ck_assert_int_eq(getxattr(room, "user.symfs.state", value, 2), -1);
	ck_assert_int_eq(errno, ERANGE);
	ck_assert_int_eq(getxattr(room, "user.symfs.url", value, sizeof(value)), -1);
	ck_assert_int_eq(errno, ENODATA);
	ck_assert_int_gt(listxattr(room, NULL, 0), 20);
	ck_assert_int_eq(open(room, O_RDWR), -1);
	ck_assert_int_eq(errno, EROFS);
	ck_assert_int_eq(stat(leaf(&m, GONE, room), &a), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(stat(in(&m, "gdb/desktop.ini", room), &a), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(open(leaf(&m, LIES, room), O_RDONLY), -1);
	ck_assert_int_eq(errno, ENOENT);
	stop(&m);
}
END_TEST

START_TEST(texts_links_and_listings)
{
	struct mounted m = start();
	char room[512], text[8192];
	struct dirent *entry;
	unsigned seen = 0;
	struct stat st;
	DIR *d;

	ck_assert_int_eq(slurp(in(&m, "symstore2/index2.txt", room), text, sizeof(text)), 17);
	ck_assert_int_eq(slurp(in(&m, ".symfs/config", room), text, sizeof(text)), 2);
	ck_assert_int_gt(slurp(in(&m, ".symfs/metrics", room), text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "# TYPE symfs_fs_opens counter\n"));
	snprintf(text, sizeof(text), "%s/.symfs/why/%s", m.point,
		leaf(&m, GONE, room) + strlen(m.point) + 1);
	ck_assert_int_gt(slurp(text, room, sizeof(room)), 0);
	ck_assert_ptr_nonnull(strstr(room, "\n1. fake "));
	ck_assert_int_eq(readlink(in(&m, ".build-id", room), text, sizeof(text)), 13);
	d = opendir(in(&m, "gdb/.build-id/aa", room));
	while ((entry = readdir(d)))
		seen += strcmp(entry->d_name, "11223344556677889900112233445566778899.debug") == 0 &&
			entry->d_type == DT_REG;
	closedir(d);
	ck_assert_uint_eq(seen, 1);
	d = opendir(in(&m, ".symfs", room));
	for (seen = 0; (entry = readdir(d)); seen++)
		;
	closedir(d);
	ck_assert_uint_eq(seen, 11); /* with . and .. */
	ck_assert_int_eq(mkdir(in(&m, "gdb/desktop.ini", room), 0700), -1);
	ck_assert_int_eq(errno, EROFS);
	memset(text, 'x', 300);
	text[300] = '\0';
	ck_assert_int_eq(stat(in(&m, text, room), &st), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	stop(&m);
}
END_TEST

static unsigned entries_of(DIR *d)
{
	struct dirent *entry;
	unsigned n = 0;

	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	return n;
}

/* Both parts that change are read anew: stored files, and those of directory sources. */
START_TEST(a_listing_is_new_after_rewinddir)
{
	struct mounted m = start();
	char room[512];
	DIR *d = opendir(in(&m, "gdb/.build-id/aa", room));

	ck_assert_uint_eq(entries_of(d), STORED + 1);
	rewinddir(d);
	ck_assert_ptr_nonnull(readdir(d));
	touch(&m, "more");
	rewinddir(d);
	ck_assert_uint_eq(entries_of(d), STORED + 3);
	closedir(d);
	stop(&m);
}
END_TEST

/* Links into bundles, a bundle's Info.plist, and unified's .meta. */
START_TEST(leaves_are_told_of)
{
	struct mounted m = start();
	char room[512], text[2048];
	struct stat st, other;
	long opens;

#define REST "11223344556677889900112233445566"
#define PLACE(nn, app) "lldb/" nn "11/2233/4455/6677/8899/001122334455" app
#define BUNDLE(nn) "dsym/" nn "112233-4455-6677-8899-001122334455/"
	ck_assert_int_eq(lstat(in(&m, PLACE(WHOLE, ""), room), &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	text[readlink(room, text, sizeof(text) - 1)] = '\0';
	ck_assert_str_eq(text, "../../../../../../dsym/AA112233-4455-6677-8899-001122334455/"
		"AA112233-4455-6677-8899-001122334455.dSYM/Contents/Resources/DWARF/"
		"AA112233-4455-6677-8899-001122334455");
	ck_assert_uint_eq(st.st_size, strlen(text));
	ck_assert_int_eq(lstat(in(&m, "lldb/Aa11/2233/4455/6677/8899/001122334455", room), &other), 0);
	ck_assert_uint_eq(st.st_ino, other.st_ino);
	ck_assert_int_eq(slurp(room, text, sizeof(text)), 22);
	ck_assert_int_eq(lstat(in(&m, PLACE(WHOLE, ".app"), room), &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	/* As far as the leaf itself is known to exist, and no further. */
	ck_assert_int_eq(lstat(in(&m, PLACE(LATER, ""), room), &st), 0);
	ck_assert_int_eq(lstat(in(&m, PLACE(GONE, ""), room), &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(stat(in(&m, BUNDLE(GONE) "x.dSYM/Contents/Info.plist", room), &st), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_gt(slurp(in(&m, BUNDLE(LATER) "a<&\">\xff\xef\xbf\xbf.dSYM/Contents/Info.plist", room),
		text, sizeof(text)), 200);
	ck_assert_msg(strstr(text,
		"<string>com.apple.xcode.dsym.a&lt;&amp;&quot;&gt;\xef\xbf\xbd\xef\xbf\xbd</string>") != NULL, "%s",
		text);
	ck_assert_ptr_nonnull(strstr(text, "<string>dSYM</string>"));

	/* Of what is stored alone. */
	opens = stat_value(&m, "fs_waiting ");
	ck_assert_int_gt(slurp(in(&m, "unified/aa/11223344556677889900112233445566778899/executable.meta", room),
		text, sizeof(text)), 0);
	ck_assert_str_eq(text, "{}\n");
	ck_assert_int_gt(slurp(in(&m, "symstore/a\"b/elf-buildid-aa11223344556677889900112233445566778899/a\"b",
		room), text, sizeof(text)), 0);
	ck_assert_int_eq(stat(in(&m, "unified/dd/11223344556677889900112233445566778899/executable.meta", room), &st),
		-1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(stat(in(&m, "unified/bb/11223344556677889900112233445566778899/debuginfo.meta", room), &st),
		-1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(stat_value(&m, "fs_waiting "), opens);
	stop(&m);
}
END_TEST

START_TEST(open_waits_and_sizes_become_exact)
{
	struct mounted m = start();
	char room[512], text[64];
	struct stat st;
	pid_t pid;

	ck_assert_int_eq(stat(leaf(&m, LATER, room), &st), 0);
	ck_assert_uint_eq(st.st_size, (uint64_t)1 << 40);
	ck_assert_uint_eq(st.st_blocks, 0);
	pid = fork();
	if (pid == 0)
		_exit(slurp(room, text, sizeof(text)) == 22 && stat(room, &st) == 0 && st.st_size == 22 ? 0 : 1);
	until_stat(&m, "fs_waiting ", 1);
	touch(&m, "go");
	ck_assert_int_eq(ended(pid), 0);
	stop(&m);
}
END_TEST

START_TEST(new_bytes_are_a_new_inode)
{
	struct mounted m = start();
	char room[512], text[64];
	struct stat a, b;
	int fd;

	fd = open(leaf(&m, CHANGES, room), O_RDONLY);
	ck_assert_int_eq(fstat(fd, &a), 0);
	touch(&m, "generation");
	ck_assert_int_eq(slurp(room, text, sizeof(text)), 22);
	ck_assert_str_eq(text, "ee112233 generation 1\n");
	ck_assert_int_eq(stat(room, &b), 0);
	ck_assert_uint_ne(a.st_ino, b.st_ino);
	ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 22);
	ck_assert_str_eq(text, "ee112233 generation 0\n");
	close(fd);
	stop(&m);
}
END_TEST

static void ignore(int sig)
{
}

/* A child that opens a file without an answer; SIGWINCH has a handler, as in every shell. */
static pid_t waiter(const struct mounted *m, unsigned nth)
{
	struct sigaction sa = {.sa_handler = ignore};
	long before = stat_value(m, "fs_waiting ");
	char room[512];
	pid_t pid = fork();

	if (pid == 0) {
		sigaction(SIGWINCH, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
		leaf(m, NEVER, room);
		memcpy(strstr(room, ".debug") - 2, (char[]){(char)('0' + nth / 10), (char)('0' + nth % 10)}, 2);
		_exit(open(room, O_RDONLY) < 0 ? errno : 0);
	}
	until_stat(m, "fs_waiting ", before + 1);
	return pid;
}

/* Reads the byte at an offset in a child; its pid. */
static pid_t read_at(const char *path, off_t off)
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		uint8_t c;

		_exit(fd < 0 ? 3 : pread(fd, &c, 1, off) != 1 ? 2 : c != (uint8_t)(off >> 12));
	}
	return pid;
}

START_TEST(reads_wait_for_what_is_coming)
{
	const off_t late = COMES_SIZE - 5000;
	struct mounted m = start();
	char room[512], value[64];
	struct stat a, b;
	int status;
	pid_t pid, killed;

	ck_assert_int_eq(stat(leaf(&m, COMES, room), &a), 0);
	pid = read_at(room, 100);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(stat(room, &a), 0);
	ck_assert_uint_eq(a.st_size, COMES_SIZE);
	ck_assert_int_eq(getxattr(room, "user.symfs.state", value, sizeof(value)), 12);
	ck_assert_int_eq(memcmp(value, "partial 50 %", 12), 0);
	pid = read_at(room, late);
	until_stat(&m, "fs_waiting ", 1);
	killed = read_at(room, COMES_SIZE / 2 + 5000);
	until_stat(&m, "fs_waiting ", 2);
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	kill(killed, SIGKILL);
	ck_assert_int_eq(waitpid(killed, &status, 0), killed);
	ck_assert(WIFSIGNALED(status));
	touch(&m, "go");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	/* When it is whole it has other numbers, and the same inode: its pages are true. */
	touch(&m, "stored");
	status = open(room, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(status, 0);
	ck_assert_int_eq(fstat(status, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	close(status);
	stop(&m);
}
END_TEST

static bool has_pages(const uint8_t *p, uint64_t off, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)((off + i) >> 12))
			return false;
	return true;
}

/* By a mapping, or by read(2). */
static int reads_all(const char *path, bool maps)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *p = maps ? mmap(NULL, COMES_SIZE, PROT_READ, MAP_PRIVATE, fd, 0) : malloc(COMES_SIZE);
	bool good = fd >= 0 && p && p != MAP_FAILED;

	/* From the last page to the first: no two are one after the other. */
	for (uint64_t at = COMES_SIZE; good && maps && at; at -= 4096)
		good = has_pages(p + at - 4096, at - 4096, 4096);
	if (good && !maps)
		good = read(fd, p, COMES_SIZE) == COMES_SIZE && has_pages(p, 0, COMES_SIZE);
	return good ? 0 : 1;
}

static bool was(const struct mounted *m, const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	return access(path, F_OK) == 0;
}

/* What the kernel reads around is refused, and no reader sees it: he gets the bytes that he wanted. */
START_TEST(reads_around_are_refused)
{
	char room[512];
	pid_t pid;

	for (int maps = 0; maps <= 1; maps++) {
		struct mounted m = start();

		touch(&m, "spare");
		leaf(&m, COMES, room);
		pid = fork();
		if (pid == 0)
			_exit(reads_all(room, maps));
		ck_assert_int_eq(ended(pid), 0);
		ck_assert(was(&m, "refused"));
		stop(&m);
	}
}
END_TEST

/* Of what O_DIRECT wants nothing is more than the reader does. */
START_TEST(direct_reads_are_not_refused)
{
	struct mounted m = start();
	char room[512];
	void *p;
	int fd;

	touch(&m, "spare");
	fd = open(leaf(&m, COMES, room), O_RDONLY | O_CLOEXEC | O_DIRECT);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(posix_memalign(&p, 4096, 16384), 0);
	ck_assert_int_eq(pread(fd, p, 16384, COMES_SIZE - 16384), 16384);
	ck_assert(has_pages(p, COMES_SIZE - 16384, 16384));
	ck_assert(was(&m, "waited"));
	ck_assert(!was(&m, "refused"));
	free(p);
	close(fd);
	stop(&m);
}
END_TEST

START_TEST(reads_of_what_never_comes)
{
	struct mounted m = start();
	char room[512];
	int status;
	pid_t pid;

	leaf(&m, COMES, room);
	pid = read_at(room, COMES_SIZE - 5000);
	touch(&m, "bad");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 2);
	pid = read_at(room, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	stop(&m);
}
END_TEST

START_TEST(interrupts)
{
	struct mounted m = start();
	long interrupted;
	int status;
	pid_t pid, many[40];

	/* A waiting look-up does not block others in the same directory. */
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = waiter(&m, i);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		kill(many[i], SIGTERM);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		ck_assert_int_eq(ended(many[i]), EINTR);

	/* A caught TERM means: give up. */
	pid = waiter(&m, 0);
	kill(pid, SIGTERM);
	ck_assert_int_eq(ended(pid), EINTR);

	/* A resized window does not; a KILL after it is seen although the kernel tells nothing more. */
	pid = waiter(&m, 0);
	interrupted = stat_value(&m, "fs_interrupted ");
	kill(pid, SIGWINCH);
	until_stat(&m, "fs_interrupted ", interrupted + 1);
	for (unsigned i = 1; i < 3; i++) { /* the daemon has looked at the first one, too, when these end */
		many[i] = waiter(&m, i);
		kill(many[i], SIGTERM);
		ck_assert_int_eq(ended(many[i]), EINTR);
	}
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(ended(pid), -SIGKILL);
	stop(&m);
}
END_TEST

START_TEST(dead_and_living_mounts)
{
	struct mounted m = start();
	struct fs_opts o = {.mountpoint = m.point};
	struct statx st;
	struct err e;
	struct fs *fs;
	char *point;

	ck_assert_int_eq(fs_mount(&fs, NULL, &o, &e), -EBUSY);
	o.mountpoint = m.dir;
	ck_assert_int_eq(fs_mount(&fs, NULL, &o, &e), -ENOTEMPTY);
	o.mountpoint = "/nonexistent";
	ck_assert_int_eq(fs_mount(&fs, NULL, &o, &e), -ENOENT);
	o.mountpoint = "/dev/null";
	ck_assert_int_eq(fs_mount(&fs, NULL, &o, &e), -ENOTDIR);
	kill(m.pid, SIGKILL);
	ck_assert_int_eq(ended(m.pid), -SIGKILL);
	ck_assert_int_eq(fs_point(m.point, &point), 0);
	/* Bypasses the caches of the kernel. */
	ck_assert(statx(AT_FDCWD, point, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) < 0 && errno == ENOTCONN);
	mount_it(&m);
	ck_assert_int_eq(statx(AT_FDCWD, point, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st), 0);
	free(point);
	stop(&m);
}
END_TEST

START_TEST(a_lazy_unmount_ends_with_the_last_handle)
{
	struct mounted m = start();
	char room[512], text[64];
	struct err e;
	int fd, status;

	fd = open(leaf(&m, WHOLE, room), O_RDONLY);
	ck_assert_int_eq(fs_detach(m.point, false, &e), -EBUSY);
	ck_assert_int_eq(fs_detach(m.point, true, &e), 0);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 22);
	ck_assert_int_eq(waitpid(m.pid, &status, WNOHANG), 0);
	close(fd);
	ck_assert_int_eq(ended(m.pid), 0);
	rmdir(m.point);
	rmdir(m.dir);
}
END_TEST

static bool can_mount(void)
{
	int fd = open("/dev/fuse", O_RDWR);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && geteuid() == 0;
}

static int run_tests(int argc, char **argv)
{
	const TTest *const plain[] = {nodes_are_counted, texts_never_share_an_inode, generations_never_share_an_inode,
		NULL};
	const TTest *const all[] = {nodes_are_counted, texts_never_share_an_inode, generations_never_share_an_inode,
		leaves_are_told_of, leaves_and_their_attributes, texts_links_and_listings,
		a_listing_is_new_after_rewinddir, open_waits_and_sizes_become_exact,
		new_bytes_are_a_new_inode, reads_wait_for_what_is_coming,
		reads_of_what_never_comes, reads_around_are_refused, direct_reads_are_not_refused, interrupts,
		dead_and_living_mounts, a_lazy_unmount_ends_with_the_last_handle, NULL};

	return unit_run("fs", can_mount() ? all : plain);
}

UNIT_ROW("fs", run_tests)
