/* Uploads between their requests, each under a random key: those of sym_upload, and the files of version 2 of
 * Tecken's protocol. A request names the key in its path, /v1/uploads/KEY. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "http/upload/upload-intake.h"
#include "intake/upload/tecken.h"

#define BEGUN_MOST 4096 /* uploads that were begun and are not complete */

struct begun {
	struct tecken_file file; /* its `upload` is the key; "": the entry is free. No name: it is of sym_upload */
	const struct upload_ops *bytes; /* take the bytes; NULL: those of the route */
	uint64_t since;		 /* clock_ms() */
	struct space *space;
	struct auth_token token;
	bool known;
	bool kept; /* it counts as a file that is here: one of sym_upload, or one whose first byte has come */
	atomic_bool busy; /* a request has it, which alone uses the fields below */
	struct upload_file body; /* without a draft and with fd -1: no byte has come */
	uint64_t at, total; /* of the request's Content-Range: the next byte that comes, and the size of the file */
};

/* Begins an upload for each file that is neither refused nor here already, or begins none. The one file of sym_upload
 * has no name. `bytes` take the requests to the upload URLs; NULL: those of the route. 0, or the status of a
 * refusal. */
int begun_add(struct exchange *x, struct tecken_file *files, unsigned n, const struct upload_ops *bytes);
/* Judges the head of a PUT to an upload URL. The random key in the URL takes the place of a token: the request gets
 * the token and the space of the request that created the URL, and its `bytes`. 0, or the status of a refusal. */
int begun_admit(struct exchange *x);
/* Takes the upload of the request's path: other requests find it busy. NULL: refused. */
struct begun *begun_take(struct exchange *x);
/* Ends the upload; or, after a 503 or 507, which asks the client to try again later, leaves it to another request. */
void begun_end(struct exchange *x, struct begun *p, int status);
/* Makes the draft of a file. 0, or the status of a refusal: the client has too many files here, the disk is full. */
int begun_draft(struct exchange *x, struct begun *p);
