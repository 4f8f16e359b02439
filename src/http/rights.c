/* The rights of a client: finds the token of a request, and says what the client may do with it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"

#include <string.h>
#include <strings.h>

/* Tecken's clients append a word to the token, "HEX-label", which means nothing. */
static int find_with_label(struct auth *a, const char *secret, struct auth_token *out)
{
	size_t n = strlen(secret), bare = strcspn(secret, "-");
	int r = auth_find(a, secret, n, out);

	return r == -EACCES && bare && bare < n ? auth_find(a, secret, bare, out) : r;
}

/* The first of these counts: Auth-Token, Authorization, and `key` of the query on the routes whose protocol sends
 * it there. */
static int find_token(struct exchange *x, struct auth_token *out)
{
	const char *plain = exchange_header(x, "Auth-Token"), *value = exchange_header(x, "Authorization");
	char secret[AUTH_SECRET_MOST + 1];

	if (plain)
		return find_with_label(x->h->auth, plain, out);
	if (value ? !field_secret(value, secret, sizeof(secret))
		  : !x->route->key || !route_query(x->route->query, "key", secret, sizeof(secret)))
		return -EACCES;
	return auth_find(x->h->auth, secret, strlen(secret), out);
}

bool exchange_has_token(struct exchange *x)
{
	char secret[AUTH_SECRET_MOST + 1];

	return exchange_header(x, "Auth-Token") || exchange_header(x, "Authorization") ||
		(x->route->key && route_query(x->route->query, "key", secret, sizeof(secret)));
}

/* A browser that has asked its user for the token sends it with forms of other web pages, too. It sends Origin with
 * them, and with nothing else that changes files. */
static bool is_foreign_form(struct exchange *x)
{
	const char *value = exchange_header(x, "Authorization");

	return value && strncasecmp(value, "Basic ", 6) == 0 && exchange_header(x, "Origin");
}

int exchange_may(struct exchange *x, enum auth_right right)
{
	if (x->h->auth && right != AUTH_READ && is_foreign_form(x))
		return 403;
	if (x->h->auth && !x->known)
		return 401;
	if (x->h->auth) {
		x->lacks = auth_allows(x->token.rights, right) ? 0 : right;
		return x->lacks ? 403 : 0;
	}
	if (right == AUTH_READ)
		return 0;
	/* A web page can send a form to this machine. Browsers then send Origin, and other clients do not. */
	return head_is_neighbour(x) && !exchange_header(x, "Origin") ? 0 : 403;
}

/* Whether a token has ended by the store's time, which does not go back with the wall clock. */
static bool is_over(const struct exchange *x, const struct auth_token *t)
{
	return t->until && t->until <= store_now(x->h->public->store);
}

int rights_judge(struct exchange *x)
{
	struct space *space;
	int status;

	/* This request needs no token: begun_admit() checks the random key in its URL. */
	if (x->h->auth && x->route->what == ROUTE_SYM_BYTES)
		return 0;
	if (!x->h->auth || x->route->what == ROUTE_HEALTH || x->route->what == ROUTE_READY ||
		x->route->what == ROUTE_PAGE_FILE ||
		x->route->what == ROUTE_OPTIONS)
		return x->route->needs ? exchange_may(x, x->route->needs) : 0;
	x->known = find_token(x, &x->token) == 0 && !is_over(x, &x->token);
	status = exchange_may(x, x->route->needs ? x->route->needs : AUTH_READ);
	space = status ? NULL : space_find(x->h, x->token.space);
	if (space)
		x->space = space;
	return status ? status : space ? 0 : 503;
}

bool rights_still(struct exchange *x)
{
	struct auth_token now;

	return !x->known || (auth_find_again(x->h->auth, &x->token, &now) == 0 && !is_over(x, &now) &&
		auth_allows(now.rights, x->route->needs ? x->route->needs : AUTH_READ) &&
		strcmp(now.space, x->token.space) == 0);
}

const char *exchange_user(const struct exchange *x)
{
	return x->known ? x->token.name : "-";
}
