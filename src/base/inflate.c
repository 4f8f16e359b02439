/* Raw deflate. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>
#include "base/banned.h"

int inflate_raw(const void *p, size_t n, void *out, size_t room, size_t *made)
{
	z_stream z = {.next_in = p, .next_out = out};
	int r;

	if (n > UINT_MAX || room > UINT_MAX)
		return -EFBIG;
	z.avail_in = (uInt)n;
	z.avail_out = (uInt)room;
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&z, Z_FINISH);
	*made = room - z.avail_out;
	inflateEnd(&z);
	if (r == Z_STREAM_END)
		return 0;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	/* With no room left there may be more to come, whatever the input is. */
	return r == Z_BUF_ERROR && !z.avail_out ? -EFBIG : -EBADMSG;
}
