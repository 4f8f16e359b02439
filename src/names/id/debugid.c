/* Debug ids: makes them from build ids and text, and prints the forms that servers and tools use. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/debugid.h"
#include "base/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void swap_guid(uint8_t out[static 16], const uint8_t in[static 16])
{
	static const uint8_t from[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned i = 0; i < 16; i++)
		out[i] = in[from[i]];
}

const char *debug_id_text(const struct debug_id *d, char out[static DEBUG_ID_TEXT])
{
	static const uint8_t ends[] = {4, 6, 8, 10, 16};
	size_t n = 0, from = 0;

	out[0] = '\0';
	if (!d->set)
		return out;
	if (d->pdb20) {
		n = (size_t)snprintf(out, DEBUG_ID_TEXT, "%02X%02X%02X%02X", d->guid[0], d->guid[1],
			d->guid[2], d->guid[3]);
	} else {
		for (unsigned i = 0; i < sizeof(ends); i++) {
			if (i)
				out[n++] = '-';
			hex_print(d->guid + from, ends[i] - from, out + n);
			n += 2 * (ends[i] - from);
			from = ends[i];
		}
	}
	if (d->age)
		snprintf(out + n, DEBUG_ID_TEXT - n, "-%x", d->age);
	return out;
}

const char *debug_id_breakpad(const struct debug_id *d, char out[static DEBUG_ID_TEXT])
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	size_t bytes = d->pdb20 ? 4 : 16;
	unsigned shift = 28;
	char *p = out;

	for (size_t i = 0; d->set && i < bytes; i++) {
		*p++ = upper[d->guid[i] >> 4];
		*p++ = upper[d->guid[i] & 15];
	}
	while (shift && !(d->age >> shift))
		shift -= 4;
	for (unsigned left = d->set ? shift + 4 : 0; left; left -= 4)
		*p++ = lower[d->age >> (left - 4) & 15];
	*p = '\0';
	return out;
}

/* Parses 1 to 8 hex digits; ignores all characters after the eighth digit, as other readers do. */
static int age_parse(const char *p, size_t n, uint32_t *age)
{
	uint32_t v = 0;

	for (size_t i = 0; i < n && i < 8; i++) {
		int d = hex_value(p[i]);

		if (d < 0)
			return -EINVAL;
		v = v << 4 | (uint32_t)d;
	}
	*age = v;
	return 0;
}

int debug_id_parse(struct debug_id *d, const char *text, size_t n)
{
	char hex[64];
	size_t digits = 0, i = 0, guid;
	bool hyphens = memchr(text, '-', n) != NULL;
	int r;

	memset(d, 0, sizeof(*d));
	guid = n >= 8 && n <= (hyphens ? 17u : 16u) ? 8 : 32;
	while (i < n && digits < guid) {
		if (text[i] == '-' && guid == 32 &&
			(digits == 8 || digits == 12 || digits == 16 || digits == 20)) {
			i++;
			continue;
		}
		hex[digits++] = text[i++];
	}
	if (digits != guid || hex_read(hex, digits, d->guid) < 0)
		return -EINVAL;
	if (i < n && text[i] == '-' && hyphens)
		i++;
	r = age_parse(text + i, n - i, &d->age);
	if (r < 0)
		return r;
	d->pdb20 = guid == 8;
	d->set = true;
	return 0;
}

void debug_id_from_guid(struct debug_id *d, const uint8_t guid[static 16], uint32_t age)
{
	*d = (struct debug_id){.set = true, .age = age};
	swap_guid(d->guid, guid);
}

void debug_id_from_build_id(struct debug_id *d, const uint8_t *id, size_t n, bool big_endian)
{
	uint8_t first[16] = {0};

	memcpy(first, id, n < 16 ? n : 16);
	*d = (struct debug_id){.set = true};
	if (big_endian)
		memcpy(d->guid, first, 16);
	else
		swap_guid(d->guid, first);
}

bool debug_id_is_nil(const struct debug_id *d)
{
	static const uint8_t zeros[16];

	return !d->set || (memcmp(d->guid, zeros, 16) == 0 && d->age == 0);
}

bool debug_id_stamped(const struct debug_id *d)
{
	return d->set && !d->pdb20 && d->age >> 28;
}

bool debug_id_equal(const struct debug_id *a, const struct debug_id *b)
{
	return a->set == b->set && a->pdb20 == b->pdb20 && a->age == b->age &&
		memcmp(a->guid, b->guid, 16) == 0;
}
