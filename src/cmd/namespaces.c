/* The namespaces of a server: opens, reloads and closes their stores. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/namespaces.h"
#include "auth/tokens.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "store/store.h"

#include <stdio.h>

struct namespace {
	char name[AUTH_SPACE];
	struct app app;
	struct namespace *next;
};

struct namespaces {
	const struct app *app;
	pthread_mutex_t lock;
	struct namespace *first; /* under lock */
};

int namespaces_new(struct namespaces **out, const struct app *app)
{
	struct namespaces *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->app = app;
	pthread_mutex_init(&all->lock, NULL);
	*out = all;
	return 0;
}

int namespaces_open(void *ctx, const char *name, struct fetch **out, struct bucket **bucket, struct err *e)
{
	struct namespaces *all = ctx;
	struct namespace *one = calloc(1, sizeof(*one));
	struct app_args args = all->app->args;
	int r;

	if (!one)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(one->name, sizeof(one->name), "%s", name);
	args.adopted = NULL; /* freed by the first app */
	args.space = one->name;
	LOCK_SCOPE(&all->lock);
	r = app_configure(&one->app, &args, e); /* not app_prepare(), which would check --source again and fork */
	if (r == 0)
		r = app_sources(&one->app, &one->app.prepared, e);
	if (r == 0)
		r = app_start_serving(&one->app, e);
	if (r < 0) {
		app_close(&one->app);
		free(one);
		err_wrap(e, name);
		return r;
	}
	one->next = all->first;
	all->first = one;
	*out = one->app.fetch;
	*bucket = one->app.bucket;
	return 0;
}

/* A namespace is appended to the front and stays until namespaces_free(), so the list needs the lock only here. */
static struct namespace *first_of(struct namespaces *all)
{
	LOCK_SCOPE(&all->lock);

	return all->first;
}

void namespaces_expire(struct namespaces *all)
{
	for (struct namespace *one = first_of(all); one; one = one->next) {
		struct store_expired done;
		int r = store_expire(one->app.store, &done);

		if (r < 0)
			log_warn("namespace %s: expired files cannot be removed: %s", one->name, err_text(r));
	}
}

int namespaces_reload(struct namespaces *all, struct err *e)
{
	LOCK_SCOPE(&all->lock);
	int r = 0;

	for (struct namespace *one = all->first; one; one = one->next) {
		int done = app_reload(&one->app, e);

		r = done < 0 ? done : r;
	}
	return r;
}

void namespaces_free(struct namespaces *all)
{
	if (!all)
		return;
	while (all->first) {
		struct namespace *one = all->first;

		all->first = one->next;
		app_close(&one->app);
		free(one);
	}
	pthread_mutex_destroy(&all->lock);
	free(all);
}
