/* Gives the files of uploads to the intake. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "http/upload/upload.h"
#include "intake/intake.h"

/* The results for all parts of a file. */
struct upload_outcome {
	unsigned added;	  /* or improved */
	unsigned present; /* equally good or better files were stored already */
	unsigned refused;
	bool differs;	  /* a stored file has other bytes (intake_item.compare) */
	int error;	  /* of the first refused part */
	char why[400];	  /* its name and the reason */
};

/* Gives a received file to the intake, with the class and labels of the request. Fills the fields of `it` that
 * have to do with the bytes; the caller sets the others. Calls `each` for each report; NULL is fine. 0, or the
 * result of upload_refuse() if the server is in trouble. (waits) */
int upload_store_file(struct exchange *x, struct upload_file *f, struct intake_item *it,
	struct upload_outcome *out, intake_report_fn *each, void *ctx);

/* Refuses the request with the first reason: 413 if a part is too large, else with `status`. */
int upload_refuse_file(struct exchange *x, const struct upload_outcome *out, int status);

/* How long a request waits for the team's bucket: `ms`, or what SYMFS_TEST_BUCKET_WAIT says, for the tests. */
unsigned upload_bucket_ms(unsigned ms);
