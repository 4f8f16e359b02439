/* Parses the requests of Breakpad's sym_upload and symupload (protocols v1 and v2), and writes the answers, which
 * these programs read with regular expressions. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "names/id/module.h"

#include <stdbool.h>
#include <stddef.h>

#define SYM_UPLOAD_KEY 33 /* 32 hexadecimal digits and NUL */

enum sym_upload_step {
	SYM_UPLOAD_NONE,
	SYM_UPLOAD_CHECK,    /* GET v1/symbols/FILE/ID:checkStatus */
	SYM_UPLOAD_CREATE,   /* POST v1/uploads:create */
	SYM_UPLOAD_BYTES,    /* PUT v1/uploads/KEY */
	SYM_UPLOAD_COMPLETE  /* POST v1/uploads/KEY:complete */
};

struct sym_upload_path {
	enum sym_upload_step step;
	const char *method; /* of the step; static */
	char key[SYM_UPLOAD_KEY];	  /* BYTES, COMPLETE */
	char debug_file[MODULE_NAME_MAX]; /* CHECK */
	char debug_id[64];		  /* CHECK */
};

/* Parses a decoded path without its leading slash. False: not a path of this protocol. */
bool sym_upload_parse(const char *path, struct sym_upload_path *out);

/* What a client says that a file is. */
#define SYM_UPLOAD_CLAIMS_MOST 3
struct sym_upload_claim {
	char debug_file[MODULE_NAME_MAX], debug_id[64];
	char type[32]; /* "BREAKPAD", "ELF", "PE", "MACHO", "PDB", ...; "": not named */
};

/* Reads the body of :complete, which looks like JSON, but whose names have quotes only on some systems. 0; -EINVAL:
 * the body lacks the file or the identifier, or one is too long. */
int sym_upload_read_claim(const char *body, size_t n, struct sym_upload_claim *out);

/* The artifacts that the claim can mean. Returns their number; 0: the identifier or the type is unknown. */
unsigned sym_upload_artifacts(const struct sym_upload_claim *c, struct artifact out[static SYM_UPLOAD_CLAIMS_MOST]);

/* The answers have one blank after each colon: the clients' expressions need it. 0, -ENOMEM, -EFBIG. */
int sym_upload_status(struct buf *out, bool found);
int sym_upload_created(struct buf *out, const char *url, const char *key);
int sym_upload_result(struct buf *out, bool duplicate);
