/* Compares a file with what the path of a request claims it to be. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "intake/private.h"

#include <stdio.h>
#include <string.h>

/* Compares the file with one claim. 1: it fits; 0: the claim has no key; -errno. */
static int claim_fits(struct view *v, const struct artifact *a, struct key *k, uint64_t *off, struct err *e)
{
	struct obj_slice s;
	int r = key_of(k, a);

	if (r < 0)
		return 0;
	r = obj_check(v, k, &s, e);
	*off = r == 1 ? s.off : 0;
	/* Files of this type contain no identifier. If symfs can read them (such as a UUID map), the claim fits,
	 * because the path supplies the identifier. */
	if (r == 0 && !obj_reads(k->type))
		return err_set(e, -ENOTSUP, "contains no identifier that can be compared with its path");
	return r < 0 ? r : 1;
}

/* Whether the first slice of the file can be of the claimed type. The text for a refusal is about such a claim. */
static bool claim_is_close(struct view *v, const struct artifact *a)
{
	struct obj_slice s;

	if (obj_identify(v, 0, &s, NULL) < 0)
		return false;
	for (unsigned i = 0; i < s.n_types; i++)
		if (s.types[i] == a->type)
			return true;
	return false;
}

/* Keeps the error that says most: that of a claim of the file's own type, or else the first one. */
static void keep_error(struct err *kept, bool *close, struct view *v, const struct artifact *a, const struct err *new)
{
	bool now = !*close && claim_is_close(v, a);

	if (!kept->code || now)
		*kept = *new;
	*close |= now;
}

int taking_claim(const struct part *p, struct key *k, uint64_t *off, struct err *e)
{
	struct view v = view_of_fd(p->it.fd, p->it.size);
	struct err kept = {0};
	struct obj_slice s;
	bool close = false;

	if (!p->it.n_claims)
		return 0;
	if (obj_identify(&v, 0, &s, e) == -ENOMSG) /* perhaps a compressed file, whose content is compared later */
		return -ENOMSG;
	for (unsigned i = 0; i < p->it.n_claims; i++) {
		struct err why = {0};
		int r = claim_fits(&v, &p->it.claims[i], k, off, &why);

		if (r == 1 || r == -ENOMSG || intake_is_trouble(r))
			return r == 1 ? 1 : err_set(e, r, "%s", why.text[0] ? why.text : err_text(r));
		why.code = r;
		if (r < 0)
			keep_error(&kept, &close, &v, &p->it.claims[i], &why);
	}
	if (!kept.code)
		return err_set(e, -EBADMSG, "has a path without an identifier of a file");
	return err_set(e, kept.code == -ENOTSUP ? -ENOTSUP : -EBADMSG, "does not fit its path: %s",
		kept.text[0] ? kept.text : err_text(kept.code));
}
