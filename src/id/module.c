/* Modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "id/module.h"
#include "base/hash.h"

#include <ctype.h>
#include <errno.h>

int module_set_code_id(struct module *m, const char *text, size_t n)
{
	size_t used = 0;

	m->code_id[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (hex_value(text[i]) < 0)
			continue;
		if (used == CODE_ID_MAX)
			return -EINVAL;
		m->code_id[used++] = (char)tolower((unsigned char)text[i]);
		m->code_id[used] = '\0';
	}
	return used ? 0 : -EINVAL;
}
