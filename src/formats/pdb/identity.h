/* The identity of a PDB: its build and its machine. pdb_identify() reads few bytes, for callers that look at many
 * files or at the beginning of a download. pdb_open() reads more. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/msf.h"

struct pdb_identity {
	bool has_guid; /* false: a file from before 1999, which has only the signature */
	uint8_t guid[16];
	uint32_t signature; /* the linker's time stamp */
	uint32_t age;	    /* the age that the image has */
	uint32_t machine;   /* processor, in the numbers of the image's header; 0: unknown */
	bool mini;	    /* made by /DEBUG:FASTLINK: functions and types are in the object files */
	bool has_dbi;	    /* false: the PDB has no functions, but perhaps types */
	bool old_dbi;	    /* stream 3 is from before 1999, and symfs cannot read it */
	bool stripped;	    /* the PDB has public symbols, and little else */
	uint64_t end;	    /* size of the container in bytes */
};

/* Any thread, with its own `io`. 0; -EAGAIN: `io` lists the missing bytes; -ENOTSUP, -ENOMSG, -EBADMSG, -ENOMEM as
 * msf_open(). Returns -EAGAIN while the size of an MSFZ file is unknown. */
int pdb_identify(struct msf_io *io, struct pdb_identity *out, struct err *e);
