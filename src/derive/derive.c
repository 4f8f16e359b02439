/* Derived files: makes each once, however many callers in however many processes wait, and remembers
 * conversions that failed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/derive.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "derive/private.h"
#include "formats/obj/obj.h"
#include "store/files/blob.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMEMBER_SECONDS 86400
#define SLOW_SECONDS 300
#define SHORT_SECONDS 300

static const struct derive_kind *const kinds[] = {&derive_gsym, &derive_sym};

/* NULL: symfs does not make files of this type. */
static const struct derive_kind *kind_of(enum filetype t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i]->type == t)
			return kinds[i];
	return NULL;
}

/* ---- files that were made already ------------------------------------------------------ */

#define IN_PLACE '@' /* begins the name of a file that is not in the store */
#define ANY_IN_PLACE "@"
#define MADE_OF " of "

static void blob_name(const struct blob *b, char room[static SHA256_TEXT])
{
	if (blob_sha256(b)[0])
		snprintf(room, SHA256_TEXT, "%s", blob_sha256(b));
	else
		snprintf(room, SHA256_TEXT, "%c%016llx", IN_PLACE, (unsigned long long)blob_number(b));
}

/* Names an input, or with a program two inputs: "PROGRAM of INPUT". A better file under the same key has another
 * name. */
static const char *input_name(const struct blob *in, const struct blob *code, char room[static DERIVE_INPUT_NAME])
{
	char of[SHA256_TEXT], program[SHA256_TEXT] = "";

	blob_name(in, of);
	if (code)
		blob_name(code, program);
	snprintf(room, DERIVE_INPUT_NAME, "%s%s%s", program, code ? MADE_OF : "", of);
	return room;
}

/* Whether a file made of `of` will do for the input `want`. With a program it is better than without; `exact`: not
 * so, because the program has ended. */
static bool is_wanted(const char *of, const char *want, bool exact)
{
	size_t n = strlen(of), tail = strlen(MADE_OF) + strlen(want);

	if (strcmp(of, want) == 0)
		return true;
	return !exact && !strstr(want, MADE_OF) && n > tail && strcmp(of + n - strlen(want), want) == 0 &&
		strncmp(of + n - tail, MADE_OF, strlen(MADE_OF)) == 0;
}

/* The name of the input that a file with this URL was made of. NULL: another version of symfs made the file. */
static const char *made_of(const struct derive_kind *kind, const char *url)
{
	size_t n = strlen(kind->maker);

	if (strncmp(url, kind->maker, n) != 0 || strncmp(url + n, MADE_OF, strlen(MADE_OF)) != 0)
		return NULL;
	return url + n + strlen(MADE_OF);
}

/* Finds the file that was made of the input with this name; `input` NULL: of any input. `exact`: as is_wanted(). 0.
 * -EAGAIN: the file is not stored. -ENOENT, -EBADMSG, -ETIMEDOUT, -ENOMEM: a recent conversion failed with this
 * error. */
static int find_made(struct derive *d, const struct key *k, const char *input, bool exact, struct blob **out)
{
	static const int errors[] = {[DERIVE_NOTHING] = -ENOENT, [DERIVE_SLOW] = -ETIMEDOUT,
		[DERIVE_SHORT] = -ENOMEM, [DERIVE_BROKEN] = -EBADMSG};
	static const enum derive_fault order[] = {DERIVE_NOTHING, DERIVE_SLOW, DERIVE_SHORT, DERIVE_BROKEN};
	const struct derive_kind *kind = kind_of(k->type);
	int64_t now = clock_wall();
	const char *of;
	struct blob *b;

	if (!kind)
		return -ENOENT;
	if (store_find(d->store, k, &b) == 0) {
		of = made_of(kind, blob_facts(b)->url);
		if (of && (!input || is_wanted(of, input, exact))) {
			*out = b;
			return 0;
		}
		blob_unref(b);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
		if (store_miss_until(d->store, k, input ? input : "", kind->faults[order[i]]) > now)
			return errors[order[i]];
	return -EAGAIN;
}

/* Opens the stored input. -ENOENT: it is not stored. -EAGAIN: a better input may exist: a file of the
 * second input type, or a file in a directory source. */
static int stored_input(struct derive *d, const struct artifact *inputs, unsigned n, struct blob **out)
{
	_cleanup_blob_ struct blob *other = NULL;
	struct fetched f = {0};
	struct key k;
	int r = key_of(&k, &inputs[0]);

	if (r == 0)
		r = store_find(d->store, &k, out);
	if (r < 0 || worth_suffices(&blob_facts(*out)->worth, k.type))
		return r < 0 ? -ENOENT : 0;
	r = fetch_try(d->fetch, inputs, 1, FETCH_WHOLE, &f);
	blob_unref(f.blob);
	if (r == 0 && n > 1 && key_of(&k, &inputs[1]) == 0 && store_find(d->store, &k, &other) == 0 &&
		blob_facts(other)->worth.debug > blob_facts(*out)->worth.debug)
		r = -EAGAIN;
	if (r == -EAGAIN)
		blob_unref(take(*out));
	return r == -EAGAIN ? r : 0;
}

/* Finds the stored program whose unwind rules belong into the file. *lacks: no program is stored, and one may have
 * the rules. */
static struct blob *stored_code(struct derive *d, const struct artifact *a, enum filetype of, bool *lacks)
{
	const struct derive_kind *kind = kind_of(a->type);
	struct artifact code;
	struct blob *b = NULL;
	struct key k;

	*lacks = kind && kind->wants_code && derive_code_of(a, of, &code) && key_of(&k, &code) == 0;
	if (*lacks && store_find(d->store, &k, &b) == 0)
		*lacks = false;
	return b;
}

/* Whether an input expired or was purged: what was made of it must not be used, either. */
static bool has_ended(struct derive *d, const struct artifact *inputs, unsigned n)
{
	struct store_tomb t;
	struct key k;

	for (unsigned i = 0; i < n; i++)
		if (key_of(&k, &inputs[i]) == 0 && store_tomb(d->store, &k, &t) == 0)
			return true;
	return false;
}

/* As has_ended(), for the program that belongs to the input. */
static bool code_has_ended(struct derive *d, const struct artifact *a, const struct blob *in, enum filetype of)
{
	const struct derive_kind *kind = kind_of(a->type);
	struct artifact code;

	return in && kind && kind->wants_code && derive_code_of(a, of, &code) && has_ended(d, &code, 1);
}

/* Whether a source can be asked for the program, which was not found when the file was made. */
static bool may_find_code(struct derive *d, const struct artifact *a, enum filetype of)
{
	struct fetched f = {0};
	struct artifact code;
	int r;

	if (!derive_code_of(a, of, &code))
		return false;
	r = fetch_try(d->fetch, &code, 1, FETCH_WHOLE, &f);
	blob_unref(f.blob);
	return r == -EAGAIN;
}

/* Only a file made of the best input can be returned at once. For other inputs, sources must first be asked whether
 * the best input exists. */
int derive_try(struct derive *d, const struct artifact *a, struct blob *in, struct fetched *f)
{
	struct artifact inputs[DERIVE_INPUTS];
	_cleanup_blob_ struct blob *b = in ? blob_ref(in) : NULL, *code = NULL;
	unsigned n = derive_inputs(a, inputs);
	char room[DERIVE_INPUT_NAME];
	bool lacks = false;
	const char *of;
	int r;

	memset(f, 0, sizeof(*f));
	f->why = "";
	if (!n || derive_key(a, &f->key) < 0)
		return -ENOENT;
	r = b ? 0 : stored_input(d, inputs, n, &b);
	if (r != -EAGAIN && b)
		code = stored_code(d, a, inputs[0].type, &lacks);
	if (r != -EAGAIN)
		r = find_made(d, &f->key, b ? input_name(b, code, room) : NULL,
			code_has_ended(d, a, b, inputs[0].type), &f->blob);
	of = f->blob ? made_of(kind_of(a->type), blob_facts(f->blob)->url) : NULL;
	if (of && ((!b && strchr(of, IN_PLACE)) || /* the directory may have another file by now */
			  (lacks && !strstr(of, MADE_OF) && may_find_code(d, a, inputs[0].type)))) {
		blob_unref(take(f->blob));
		r = -EAGAIN;
	}
	if (r == -EAGAIN)
		return r;
	f->r = r;
	if (f->blob)
		f->size = blob_size(f->blob);
	return 0;
}

bool derive_is_stale(struct derive *d, const struct artifact *a, const char *url)
{
	const struct derive_kind *kind = kind_of(a->type);
	const char *of = kind ? made_of(kind, url) : NULL;
	struct artifact inputs[DERIVE_INPUTS];
	unsigned n = derive_inputs(a, inputs);
	_cleanup_blob_ struct blob *in = NULL;
	char room[DERIVE_INPUT_NAME];
	int r = of && n ? stored_input(d, inputs, n, &in) : -EAGAIN;

	if (r == -ENOENT)
		return *of == IN_PLACE || has_ended(d, inputs, n);
	return r < 0 || strcmp(of, input_name(in, NULL, room)) != 0;
}

bool derive_failed(struct derive *d, const struct artifact *a)
{
	static const char *const inputs[] = {"", ANY_IN_PLACE};
	bool failed = false;
	struct key k;

	if (derive_key(a, &k) < 0)
		return true;
	for (unsigned i = 0; !failed && i < ARRAY_SIZE(inputs); i++) {
		struct blob *b = NULL;
		int r = find_made(d, &k, inputs[i], false, &b);

		blob_unref(b);
		failed = r < 0 && r != -EAGAIN;
	}
	return failed;
}

/* Finds a stored file that was made of any input, if no input can be fetched. */
static int find_any(struct conversion *c, struct blob **out)
{
	struct artifact inputs[DERIVE_INPUTS];
	unsigned n = derive_inputs(&c->a, inputs);

	for (unsigned i = 0; i < n; i++)
		if (derive_key_of(&c->a, inputs[i].type, &c->key) == 0 &&
			find_made(c->d, &c->key, NULL, false, out) == 0)
			return 0;
	return -ENOENT;
}

/* ---- making one ----------------------------------------------------------------------- */

static int publish(struct conversion *c, int fd, struct blob **out, struct err *e)
{
	struct blob_facts facts = {.verified = true, .fetched = clock_wall()};
	char room[KEY_TEXT];
	struct draft *draft;
	off_t size = lseek(fd, 0, SEEK_END);
	int r = size < 0 ? -errno : draft_new(&draft, c->d->store, e);

	if (r < 0)
		return r;
	snprintf(facts.source, sizeof(facts.source), "%s", c->kind->name);
	snprintf(facts.url, sizeof(facts.url), "%s" MADE_OF "%s", c->kind->maker, c->input);
	r = draft_copy(draft, fd, 0, (uint64_t)size);
	if (r < 0) {
		draft_discard(draft);
		return err_set(e, r, "%s", err_text(r));
	}
	r = store_publish(c->d->store, draft, &c->key, &facts, out, e);
	if (r == 0)
		log_info("%s was made of %s", key_text(&c->key, room), blob_path(c->in));
	return r;
}

/* Remembers that the file cannot be made of this input. A second miss, without the input's name, is for callers that
 * do not know the name, because the input was evicted or is in a directory. */
static void remember(struct conversion *c, enum derive_fault fault, int64_t seconds)
{
	store_miss_add(c->d->store, &c->key, c->input, c->kind->faults[fault], seconds, c->e.text);
	store_miss_add(c->d->store, &c->key, strchr(c->input, IN_PLACE) ? ANY_IN_PLACE : "", c->kind->faults[fault],
		seconds, c->e.text);
}

/* Remembers the fault of a conversion, and returns the error for callers. A fault that this machine may cause is
 * remembered for minutes, or not at all. */
static int judge_made(struct conversion *c, int r)
{
	bool nothing = r == -ENOMSG || r == -ENODATA || r == -ENOTSUP;
	bool broken = r == -EBADMSG || r == -ETIMEDOUT || r == -EFBIG;
	char room[KEY_TEXT];

	if (r < 0 && r != -EINTR)
		(r == -ENODATA ? log_info : log_warn)("%s cannot be made of %s, which %s", key_text(&c->key, room),
			blob_path(c->in), c->e.text[0] ? c->e.text : err_text(r));
	if (r == -ETIME) {
		remember(c, DERIVE_SLOW, SLOW_SECONDS);
		return -ETIMEDOUT;
	}
	if (r == -ENOMEM)
		remember(c, DERIVE_SHORT, SHORT_SECONDS);
	if (!nothing && !broken)
		return r;
	remember(c, nothing ? DERIVE_NOTHING : DERIVE_BROKEN, REMEMBER_SECONDS);
	return nothing ? -ENOENT : -EBADMSG;
}

/* Whether an earlier conversion of this process, for which no caller waits any longer, still makes the file. Call
 * it under the lock. */
static bool made_here(const struct conversion *c)
{
	for (const struct conversion *other = c->d->conversions; other; other = other->next)
		if (other != c && (other->follow.leads || other->follow.alone) && key_equal(&other->key, &c->key))
			return true;
	return false;
}

/* follow_look(), and the same check among the conversions of this process, which a file lock does not keep apart. */
static int may_make(struct conversion *c)
{
	int r;
	LOCK_SCOPE(&c->d->lock);

	if (made_here(c))
		return -EAGAIN;
	r = follow_look(&c->follow, c->d->store, key_number(&c->key), 0);
	if (c->follow.leads)
		derive_pulse(c->d);
	return r;
}

/* 0: another process made the file. -EAGAIN: this process is to make it. Others: errors of find_made(); -EINTR. */
static int lead_or_follow(struct conversion *c, struct blob **out)
{
	char room[KEY_TEXT];
	int r;

	for (;;) {
		r = find_made(c->d, &c->key, c->input, code_has_ended(c->d, &c->a, c->in, c->of), out);
		if (r != -EAGAIN || c->follow.leads || c->follow.alone)
			return r;
		if (atomic_load(&c->stop))
			return -EINTR;
		r = may_make(c);
		if (r == -EAGAIN)
			poll(NULL, 0, FOLLOW_LOOK_MS);
		else if (r < 0)
			return err_set(&c->e, r, "the store's lock file: %s", err_text(r));
		else if (c->follow.alone)
			log_warn("%s: the process converting it has stalled; converting it here too",
				key_text(&c->key, room));
	}
}

static int make_once(struct conversion *c, struct blob **out, struct gsym_work_lack *lack)
{
	_cleanup_close_ int fd = -1;
	int r = c->kind->make(c, &fd, lack, &c->e);

	return r < 0 ? r : publish(c, fd, out, &c->e);
}

/* Converts, and asks for each file that the conversion lacks. -EINPROGRESS: a source is being asked for a file. */
static int make_with_all(struct conversion *c, struct blob **out)
{
	for (;;) {
		struct gsym_work_lack lack = {0};
		int r = make_once(c, out, &lack);

		if (r == -ENODATA || r == -ENOTSUP)
			r = lacks_ask_program(c);
		else if (r == -EAGAIN)
			r = lacks_ask(c, &lack);
		else
			return r;
		if (r == 0)
			return -EINPROGRESS;
		if (r != -ENOENT && r != -EAGAIN)
			return r;
	}
}

/* Takes the second input if it has more debug information. If it cannot be fetched, the first input is used. */
static void second_got(struct conversion *c, const struct fetched *f)
{
	if (f->r < 0 || !f->blob || blob_facts(f->blob)->worth.debug <= blob_facts(c->in)->worth.debug ||
		derive_key_of(&c->a, f->key.type, &c->key) < 0)
		return;
	blob_unref(c->in);
	c->in = blob_ref(f->blob);
	c->of = f->key.type;
}

/* Asks for the second input, which may have the debug information that the first lacks. 0: a source is asked. */
static int ask_second(struct conversion *c)
{
	struct artifact inputs[DERIVE_INPUTS];
	unsigned n = derive_inputs(&c->a, inputs);

	if (c->asked_second || n < 2 || c->of != inputs[0].type ||
		worth_suffices(&blob_facts(c->in)->worth, c->of))
		return -ENOENT;
	c->asked_second = true;
	return derive_ask(c, &inputs[1], 1, WANTS_SECOND, second_got);
}

/* The file name of a program, which a PE file does not contain. */
static void take_code_name(struct conversion *c, const struct fetched *f)
{
	if (filetypes[f->key.type].flags & TYPE_PROGRAM)
		snprintf(c->code_name, sizeof(c->code_name), "%.255s", f->key.name);
}

/* Without the program the file is made without its unwind rules, and is made again once the program is found. */
static void code_got(struct conversion *c, const struct fetched *f)
{
	if (f->r == -EINTR)
		c->r = f->r;
	else if (f->r == 0 && f->blob)
		c->code = blob_ref(f->blob);
	if (c->code)
		take_code_name(c, f);
}

/* Asks for the program, for its unwind rules. 0: a source is asked. */
static int ask_code(struct conversion *c)
{
	struct artifact code;

	if (!c->kind->wants_code || c->asked_code || !c->in || !derive_code_of(&c->a, c->of, &code))
		return -ENOENT;
	c->asked_code = true;
	return derive_ask(c, &code, 1, WANTS_CODE, code_got);
}

static void published_got(struct conversion *c, const struct fetched *f)
{
	if (f->r == -EINTR)
		c->r = f->r;
	if (f->r < 0 || !f->blob || blob_is_made(blob_facts(f->blob)))
		return;
	c->published = blob_ref(f->blob);
	c->key = f->key;
}

/* Asks for a Breakpad file with what the input states and the request did not have, such as the build id. 0: a source
 * is asked. */
static int ask_published(struct conversion *c)
{
	const struct key of = {.type = c->of};
	struct artifact a = c->a;
	struct obj_slice s;
	struct view v;

	if (c->kind->type != FILETYPE_SYM || c->asked_published || !c->in)
		return -ENOENT;
	c->asked_published = true;
	v = view_of_fd(blob_fd(c->in), blob_size(c->in));
	if (obj_identify(&v, 0, &s, NULL) == 0)
		learn_early(c->d->fetch, &s, &of);
	a.type = FILETYPE_BREAKPAD;
	a.m.path[0] = '\0';
	if (!fetch_complete(c->d->fetch, &a) ||
		(strcmp(a.m.code_id, c->a.m.code_id) == 0 && strcmp(a.m.debug_file, c->a.m.debug_file) == 0))
		return -ENOENT;
	return derive_ask(c, &a, 1, WANTS_PUBLISHED, published_got);
}

/* Whether another server has made the file, and put it into the team's bucket. It is looked for once. */
static bool shared(struct conversion *c, struct blob **out)
{
	char url[sizeof((struct blob_facts){0}.url)];

	if (c->asked_bucket || strchr(c->input, IN_PLACE))
		return false;
	c->asked_bucket = true;
	snprintf(url, sizeof(url), "%s" MADE_OF "%s", c->kind->maker, c->input);
	return fetch_made(c->d->fetch, &c->key, url, &c->stop, out) == 0;
}

/* (workers) Continues after the input came, or a file that the conversion lacked. */
static void conversion_run(void *ctx)
{
	struct conversion *c = ctx;
	struct blob *b = NULL;
	int r = c->r;

	if (r < 0 && r != -EINTR && !c->in && find_any(c, &b) == 0)
		r = 0;
	if (r == 0 && !b && ask_second(c) == 0)
		return; /* the ticket's callback resumes the conversion */
	if (r == 0 && !b && ask_published(c) == 0)
		return; /* the same */
	if (r == 0 && !b)
		b = take(c->published);
	if (r == 0 && !b && ask_code(c) == 0)
		return; /* the same */
	if (c->in && !c->input[0])
		input_name(c->in, c->code, c->input);
	if (r == 0 && c->ids && c->units.state == LACK_UNKNOWN) {
		r = lacks_next_unit(c);
		if (r == 0)
			return; /* the ticket's callback resumes the conversion */
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0 && !b)
		r = atomic_load(&c->stop) ? -EINTR : lead_or_follow(c, &b);
	if (r == -EAGAIN && shared(c, &b)) {
		r = 0;
	} else if (r == -EAGAIN) {
		r = make_with_all(c, &b);
		if (r == -EINPROGRESS)
			return; /* the ticket's callback resumes the conversion */
		r = judge_made(c, r);
	}
	derive_finish(c, r, b);
	blob_unref(b);
}

static void input_got(struct conversion *c, const struct fetched *f)
{
	c->r = f->r < 0 ? f->r : f->blob ? derive_key_of(&c->a, f->key.type, &c->key) : -EIO;
	c->of = f->key.type;
	/* Made files are no input: functions and lines are those of the file that they were made of. */
	if (c->r == 0 && f->key.type == FILETYPE_BREAKPAD && blob_is_made(blob_facts(f->blob))) {
		c->r = -ENOENT;
		err_set(&c->e, c->r, "another symfs made the only Breakpad file");
	} else if (c->r == 0) {
		take_code_name(c, f);
		c->in = blob_ref(f->blob);
	} else {
		err_set(&c->e, c->r, "%s", f->why);
	}
}

int derive_open(struct derive *d, const struct artifact *a, fetch_ready *ready, void *ctx,
	struct making **out)
{
	struct artifact inputs[DERIVE_INPUTS];
	unsigned n = derive_inputs(a, inputs);
	struct making *m;
	struct conversion *c;
	int r;

	if (!n || !kind_of(a->type))
		return -ENOENT;
	m = calloc(1, sizeof(*m));
	c = calloc(1, sizeof(*c));
	if (!m || !c) {
		free(m);
		free(c);
		return -ENOMEM;
	}
	*m = (struct making){.d = d, .ready = ready, .ctx = ctx};
	atomic_init(&m->refs, 2); /* the caller's reference, and the callback's */
	c->d = d;
	c->run = conversion_run;
	c->kind = kind_of(a->type);
	c->a = *a;
	derive_key(a, &c->name);
	c->key = c->name;
	*out = m;
	if (!derive_join(d, m, c)) {
		free(c);
		return 0;
	}
	r = derive_ask(c, inputs, n, WANTS_INPUT, input_got);
	if (r < 0) {
		c->r = r;
		derive_go_on(c); /* reports the error to all callers that joined meanwhile */
	}
	return 0;
}
