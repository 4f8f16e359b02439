/* Takes files into the store: the one intake behind `symfs add` and every upload. A file is identified by its
 * bytes and stored under every key that these prove. Archives and compressed files are taken apart. All
 * calls may come from any thread, several at once; intake_take() waits for the disk and for processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "names/id/key.h"
#include "names/id/worth.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How and where files are taken. */
struct intake_opts {
	struct store *store;
	const char *source; /* the word that the store records as the source of a file: "add", "upload" */
	uint64_t max_file_size; /* of a stored file, in bytes; 0: no limit */
	bool allow_unsandboxed; /* archives are unpacked also where no system-call filter can be set */
	const char *worker; /* the program that unpacks archives; NULL: `unarchive` of libexec */
	const atomic_bool *stop; /* true ends intake_take() with -EINTR while it unpacks an archive; NULL: never */
	/* Called while an archive or a compressed file is unpacked, with the member's name. May be NULL. */
	void (*progress)(void *ctx, const char *shown);
	void *ctx;
};

/* The largest number of claims of one file: the candidates of a path (LAYOUT_CANDIDATES). */
#define INTAKE_CLAIMS_MOST 8

/* A file to take. */
struct intake_item {
	int fd; /* a regular file, read with pread(); stays the caller's */
	uint64_t size;
	struct draft **draft; /* a draft of the same store that has the bytes of `fd`; the intake takes it and
				 sets the pointer to NULL, or leaves it to the caller. NULL: the bytes are copied
				 from `fd`. `fd` must be a descriptor of its own: publishing closes the draft's */
	const char *shown; /* the name in reports, such as "dir/a.zip" */
	const char *name;  /* the file name to use if the bytes contain none; "": no name */
	const char *from;  /* what the store records as the URL of the file: an absolute path, or a URL */
	bool named; /* the client names this file: an archive may have any name, and it is refused if no member
		       can be placed */
	/* What the path of the request claims the file to be: the candidates of layout_parse(). A file that is
	 * none of them is refused, and an archive is not taken apart. n_claims 0: no claim. */
	const struct artifact *claims;
	unsigned n_claims;
	/* The names of the members of an archive are checked: a member whose name is a path of a symbol store
	 * (NAME/ID/FILE) claims to be that file. A member is refused if its name is absolute, or if an earlier
	 * member has the same name. A name with the component `..` is always refused. */
	bool strict;
	/* The class, end and labels of the stored files, also of those that were present. Zeroed: they are pinned for
	 * good, as `symfs add` does. */
	struct store_hold hold;
	int64_t time; /* of the file at its origin: seconds since 1970; 0: that of `fd` */
	bool compare; /* fill intake_report.differs, which may read the file once more */
};

enum intake_what {
	INTAKE_ADDED,	 /* stored under keys that had no file */
	INTAKE_IMPROVED, /* stored, and under at least one key in the place of a worse file */
	INTAKE_PRESENT,	 /* the store has the same file, or an equally good or better one */
	INTAKE_REFUSED
};

/* The result for a file, for a slice of a fat file, or for a member of an archive. Valid during the call. */
struct intake_report {
	enum intake_what what;
	const char *shown; /* the file's name, such as "dir/a.zip!lib/x.pdb" */
	bool member;	   /* the report is about a member of an archive, not about the item itself */
	/* INTAKE_REFUSED: the reason, a text that follows a subject ("is cut short"), and its error: -ENOMSG (not
	 * a symbol file), -EBADMSG (broken, or not the file of the claim), -EFBIG, -E2BIG, -ENOTSUP, -ENOENT (no
	 * key fits it), others. If intake_is_trouble(), intake_take() ends with it. */
	const char *why;
	int error;
	/* All others. */
	const char *format; /* "elf": static */
	struct key key;	    /* the first key of the file */
	const struct key *keys; /* all keys: those that the file got, and those that have an equal or better one */
	unsigned n_keys;
	struct module module;
	struct worth worth;
	uint64_t size;
	bool differs; /* INTAKE_PRESENT, with `compare`: the stored file has other bytes */
};

/* Finds what a member of an archive, or another file with a name like "xul.pdb/ID/xul.sym", claims to be: a path of a
 * symbol store. Returns the number of claims, 0 for other names. */
unsigned intake_claims(const char *name, struct artifact claims[static INTAKE_CLAIMS_MOST]);

typedef void intake_report_fn(void *ctx, const struct intake_report *r);

/* Takes a file, and reports each part of it, on this thread. 0: every part was reported, also if it was refused.
 * -errno: the store or this machine is in trouble (intake_is_trouble()). Then the last report says why, parts
 * that were reported before stay stored, and the rest was not tried. */
int intake_take(const struct intake_opts *o, const struct intake_item *it, intake_report_fn *report, void *ctx);

/* Whether a file that no client names is skipped without a report: "…/NAME.dSYM/Contents/Info.plist", which is
 * not a symbol file. */
bool intake_leaves_out(const char *path);

/* Whether an error is of this machine and not of a file: a full disk, an I/O error, no memory, `stop`. */
bool intake_is_trouble(int r);
