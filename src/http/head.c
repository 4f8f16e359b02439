/* Judges the head of a request: ambiguous lines, the host name, access to the pages about this server, the client's
 * token and rights, which other origins may read responses, and loops between servers.
 *
 * A web page whose host name resolves to 127.0.0.1 can make a browser send requests to that address (DNS
 * rebinding). `Host` then has the host name of that page. So without a token, `Host` must be a name of this
 * server. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "conf/conf.h"
#include "http/listen.h"
#include "http/private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- lines ------------------------------------------------------------------------------- */

static const char *const conditions[] = {
	"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"};

struct lines {
	unsigned hosts, codings, lengths, credentials, tokens, conditions[ARRAY_SIZE(conditions)];
	bool broken;
};

/* Whether a name is a token (RFC 9110, 5.6.2). */
static bool is_token(const char *name, size_t n)
{
	static const char chars[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return n && strspn(name, chars) == n;
}

/* libmicrohttpd 0.9.75 appends a continuation line to the header's name: "Content-Length:", " 5" becomes
 * "Content-Length5", and so it would take the body for a second request, or lose a condition. */
static bool is_longer(const char *name, const char *than)
{
	size_t n = strlen(than);

	return strncasecmp(name, than, n) == 0 && name[n];
}

/* Some servers drop the blank of "Host : x", others drop the line. Some servers take a CR for the end of a
 * line. libmicrohttpd 1.0 refuses both, and a NUL; 0.9.75 silently ends a value at a NUL, and also states
 * the shorter length. */
static bool is_broken(const char *name, size_t name_n, const char *value, size_t value_n)
{
	return !is_token(name, name_n) || is_longer(name, "Content-Length") ||
	       is_longer(name, "Transfer-Encoding") ||
	       (value && (strlen(value) < value_n || strpbrk(value, "\r\n")));
}

static enum MHD_Result count_line(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_n,
	const char *value, size_t value_n)
{
	struct lines *l = ctx;

	l->hosts += strcasecmp(name, "Host") == 0;
	l->codings += strcasecmp(name, "Transfer-Encoding") == 0;
	l->lengths += strcasecmp(name, "Content-Length") == 0;
	l->credentials += strcasecmp(name, "Authorization") == 0;
	l->tokens += strcasecmp(name, "Auth-Token") == 0;
	l->broken |= is_broken(name, name_n, value, value_n);
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		l->conditions[i] += strcasecmp(name, conditions[i]) == 0;
		l->broken |= l->conditions[i] > 1 || is_longer(name, conditions[i]);
	}
	return MHD_YES;
}

/* Whether the request violates RFC 9112, 3.2 and 6, which require exactly one Host (HTTP/1.0 may omit it),
 * and one way to find the end of the body. */
static bool is_ambiguous(struct exchange *x)
{
	const char *coding = exchange_header(x, "Transfer-Encoding");
	bool old = strcmp(x->version, "HTTP/1.0") == 0;
	struct lines l = {0};

	MHD_get_connection_values_n(x->c, MHD_HEADER_KIND, count_line, &l);
	return l.broken || l.hosts > 1 || l.codings > 1 || l.lengths > 1 || l.credentials > 1 || l.tokens > 1 ||
	       (l.hosts == 0 && !old) ||
	       (coding && (old || l.lengths || strcasecmp(coding, "chunked") != 0));
}

/* ---- names ------------------------------------------------------------------------------- */

/* Maps an IPv4 address to IPv6, as in the addresses of a dual-stack socket, so that any two addresses can
 * be compared. */
static bool to_v6(const union address *a, struct in6_addr *out)
{
	if (a->sa.sa_family == AF_INET6) {
		*out = a->in6.sin6_addr;
		return true;
	}
	if (a->sa.sa_family != AF_INET)
		return false;
	memset(out, 0, sizeof(*out));
	out->s6_addr[10] = out->s6_addr[11] = 0xff;
	memcpy(out->s6_addr + 12, &a->in.sin_addr, 4);
	return true;
}

static bool is_own_address(const struct conn *c, const char *host)
{
	union address here = {.in6 = c->here}, asked = {0};
	struct in6_addr own, wanted;

	if (!to_v6(&here, &own))
		return false;
	if (inet_pton(AF_INET, host, &asked.in.sin_addr) == 1)
		asked.sa.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &asked.in6.sin6_addr) == 1)
		asked.sa.sa_family = AF_INET6;
	return to_v6(&asked, &wanted) && memcmp(&own, &wanted, sizeof(own)) == 0;
}

/* The host that the client asked for: the host in the target if the target is a URL, else the host in
 * `Host` (RFC 9112, 3.2.2). False: the host does not parse. */
static bool asked_host(struct exchange *x, char out[static FIELD_HOST])
{
	const char *host = exchange_header(x, "Host");

	if (strncasecmp(x->target, "http://", 7) == 0)
		return field_host(x->target + 7, strcspn(x->target + 7, "/?#"), out);
	out[0] = '\0';
	return !host || field_host(host, strlen(host), out);
}

static bool is_local_name(const struct http *h, const struct exchange *x, const char *host)
{
	if (strcasecmp(host, "localhost") == 0 || is_own_address(x->conn, host))
		return true;
	for (char **name = h->names; name && *name; name++)
		if (strcasecmp(*name, host) == 0)
			return true;
	return false;
}

static bool is_unix(const struct exchange *x)
{
	return x->conn->here.sin6_family == AF_UNIX;
}

/* 0, or the status 400 or 421. A request without a host (HTTP/1.0) is fine: browsers always send one. */
static int judge_host(struct exchange *x)
{
	char host[FIELD_HOST];

	if (!asked_host(x, host))
		return 400;
	if (!exchange_header(x, "Host") && !*host)
		return 0;
	return is_local_name(x->h, x, host) ? 0 : 421;
}

/* ---- pages about this server --------------------------------------------------------------- */

/* Whether the requested page names sources, files, or searches of users. */
static bool is_private(const struct exchange *x)
{
	return x->route->what == ROUTE_STATUS || x->route->what == ROUTE_MISSING ||
	       x->route->what == ROUTE_MISSES || (x->route->what == ROUTE_EVENTS && !x->route->hit.n);
}

bool head_is_neighbour(struct exchange *x)
{
	union address peer = {0};
	socklen_t n = sizeof(peer);

	if (is_unix(x))
		return true;
	return getpeername(x->conn->fd, &peer.sa, &n) == 0 && address_is_local(&peer) && judge_host(x) == 0;
}

/* ---- rights: the token of a request, and what the client may do ------------------------------ */

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

/* Finds the token of the request, and with it the client's rights and space. 0; 401: a token is needed, and the
 * request has none that is valid; 403: the token lacks the right of the route. */
static int judge_rights(struct exchange *x)
{
	/* The answer to any other request without a right of its own discloses nothing about files. */
	unsigned needs = x->route->needs || x->route->what <= ROUTE_METHOD ? x->route->needs : AUTH_READ;
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
	status = needs || !x->known ? exchange_may(x, needs) : 0;
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

/* ---- pages of other origins --------------------------------------------------------------- */

const char *head_origin(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");

	if (x->h->anyone)
		return "*";
	for (char **o = x->h->origins; o && *o; o++)
		if (strcmp(*o, "*") == 0 || (origin && strcasecmp(*o, origin) == 0))
			return strcmp(*o, "*") == 0 ? *o : origin;
	return NULL;
}

bool head_varies(const struct http *h)
{
	return !h->anyone && h->origins && *h->origins;
}

/* ---- loops ------------------------------------------------------------------------------- */

/* Detects loops between symfs servers. When a server asks another server, it names itself in User-Agent,
 * and in X-Symfs-Via the servers that the request came through. (Not in Via: many servers do not compress
 * the response to a request with Via.) A server that finds its own id there would wait for itself. */

#define HOPS_MOST 8

/* Adds a word to the list if it is an id. False: it is the id of this server, or the list is full. */
static bool add_hop(struct exchange *x, const char *id, size_t n)
{
	size_t used = strlen(x->via);

	if (n != HTTP_ID_TEXT - 1 || strspn(id, "0123456789abcdef") < n)
		return true;
	if (strncmp(id, x->h->id, n) == 0 || used + n + 2 > sizeof(x->via))
		return false;
	snprintf(x->via + used, sizeof(x->via) - used, "%s%.*s", used ? " " : "", (int)n, id);
	return true;
}

static bool add_list(struct exchange *x, const char *list)
{
	for (size_t n; list && *list; list += n + strspn(list + n, ", \t")) {
		n = strcspn(list, ", \t");
		if (!add_hop(x, list, n))
			return false;
	}
	return true;
}

/* False: the request came through this server before, or through too many servers. Reads the ids that
 * hops_pass_on() then gives to sources. */
static bool hops_may_pass(struct exchange *x)
{
	const char *agent = exchange_header(x, "User-Agent"), *at = agent ? strstr(agent, " serve/") : NULL;
	bool ours;

	_Static_assert(sizeof(x->via) == HOPS_MOST * HTTP_ID_TEXT + 1, "room for each hop and a blank");
	if (field_via(exchange_header(x, "Via"), x->h->id, &ours) > HOPS_MOST || ours)
		return false;
	at = at ? at + strlen(" serve/") : "";
	return add_list(x, exchange_header(x, "X-Symfs-Via")) && add_hop(x, at, strcspn(at, " ;,\t"));
}

/* ---- the verdict --------------------------------------------------------------------------- */

/* 0; 400: ambiguous; 403 or 421: the host or the client may not ask. */
static int judge_client(struct exchange *x)
{
	const struct http *h = x->h;
	int status;

	if (is_ambiguous(x))
		return 400;
	if (h->auth)
		return 0; /* a web page does not know the token */
	status = h->anyone || is_unix(x) ? 0 : judge_host(x);
	if (status == 0 && is_private(x) && !head_is_neighbour(x))
		return 403;
	return status;
}

/* A method that this server knows is refused for a path that does not have it (405); any other for all paths. */
static bool is_known(const char *method)
{
	static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(method, known[i]) == 0)
			return true;
	return false;
}

int head_judge(struct exchange *x)
{
	int status = judge_client(x);

	x->close = status == 400;
	if (status)
		return status;
	if (atomic_load(&x->h->stopping))
		return 503;
	status = judge_rights(x);
	if (status)
		return status;
	if (!is_known(x->method))
		return 501;
	return hops_may_pass(x) ? 0 : 508;
}

/* ---- configuration ------------------------------------------------------------------------- */

static int add_name(char ***out, const char *word, struct err *e)
{
	char host[FIELD_HOST];

	if (!field_host(word, strlen(word), host) || !*host || (*word != '[' && strchr(word, ':')))
		return err_set(e, -EINVAL, "server-names = %.100s: expected names without a port", word);
	return conf_list_add(out, host);
}

static int add_origin(char ***out, char *word, struct err *e)
{
	char *host = strstr(word, "://"), *end;
	size_t n = strlen(word);

	if (n && word[n - 1] == '/')
		word[n - 1] = '\0';
	end = host ? strpbrk(host + 3, "/?#@") : NULL;
	if (strcmp(word, "*") != 0 && (!host || host == word || !host[3] || end))
		return err_set(e, -EINVAL,
			"allow-origins = %.100s: expected https://HOST, https://HOST:PORT or *", word);
	return conf_list_add(out, word);
}

static int add_words(char ***out, const char *list, bool names, struct err *e)
{
	_cleanup_free_ char *copy = strdup(list);
	char *save = NULL;
	int r = copy ? 0 : -ENOMEM;

	for (char *word = copy ? strtok_r(copy, ", \t", &save) : NULL; r == 0 && word;
		word = strtok_r(NULL, ", \t", &save))
		r = names ? add_name(out, word, e) : add_origin(out, word, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int head_configure(struct http *h, const struct http_opts *o, struct err *e)
{
	int r = 0;

	for (char *const *list = o->names; r == 0 && list && *list; list++)
		r = add_words(&h->names, *list, true, e);
	for (char *const *list = o->origins; r == 0 && list && *list; list++)
		r = add_words(&h->origins, *list, false, e);
	h->anyone = o->anyone;
	return r;
}
