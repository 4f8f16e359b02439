/* Identifiers of a module: code ids in canonical spelling, and the debug ids and UUIDs derived from them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/module.h"
#include "base/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

void pe_id_trim(char *code_id)
{
	size_t n = strlen(code_id), zeros;

	if (n <= 9 || n > 16)
		return;
	zeros = strspn(code_id + 8, "0");
	zeros = zeros < n - 8 ? zeros : n - 9; /* a size of zero has one digit */
	memmove(code_id + 8, code_id + 8 + zeros, n - 8 - zeros + 1);
}

const char *module_code_text(const struct module *m, char out[static MODULE_ID_TEXT])
{
	size_t n = strlen(m->code_id);

	memcpy(out, m->code_id, n + 1);
	if (m->object == OBJECT_PE || m->object == OBJECT_PE_DOTNET)
		pe_id_trim(out);
	if (m->object != OBJECT_ELF || n < 16 || n >= 40)
		return out;
	memset(out + n, '0', 40 - n);
	out[40] = '\0';
	return out;
}

const char *module_debug_text(const struct module *m, char out[static MODULE_ID_TEXT])
{
	const struct debug_id *d = &m->debug_id;

	out[0] = '\0';
	if (debug_id_is_nil(d))
		return out;
	debug_id_breakpad(d, out);
	if (!d->pdb20 && (m->object == OBJECT_PE_DOTNET || debug_id_stamped(d)))
		out[32] = '\0';
	for (char *p = out; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return out;
}

bool module_ids_fit(const char *build_id, const struct debug_id *d)
{
	uint8_t raw[CODE_ID_MAX / 2];
	size_t n = strlen(build_id);
	struct debug_id follows;

	if (!d->set || d->pdb20 || n == 0 || n % 2 || n > CODE_ID_MAX ||
		hex_read(build_id, n, raw) < 0)
		return false;
	for (unsigned big = 0; big < 2; big++) {
		debug_id_from_build_id(&follows, raw, n / 2, big);
		if (debug_id_equal(&follows, d))
			return true;
	}
	return false;
}

int module_uuid(const struct module *m, char out[static 33])
{
	if (m->code_id[0]) {
		if (strlen(m->code_id) != 32)
			return -ENOENT;
		memcpy(out, m->code_id, 33);
		return 0;
	}
	if (!m->debug_id.set || m->debug_id.pdb20 || m->debug_id.age)
		return -ENOENT;
	hex_print(m->debug_id.guid, 16, out);
	return 0;
}

int module_debug_id(const struct module *m, bool big_endian, struct debug_id *out)
{
	uint8_t raw[CODE_ID_MAX / 2];
	size_t n = strlen(m->code_id);

	if (m->debug_id.set) {
		*out = m->debug_id;
		return 0;
	}
	if (n == 0 || n % 2 || hex_read(m->code_id, n, raw) < 0)
		return -ENOENT;
	if (m->object == OBJECT_ELF)
		debug_id_from_build_id(out, raw, n / 2, big_endian);
	else if ((m->object == OBJECT_MACHO && n == 32) || (m->object == OBJECT_WASM && n >= 32))
		debug_id_from_build_id(out, raw, 16, true); /* not swapped */
	else
		return -ENOENT;
	return 0;
}
