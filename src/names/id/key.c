/* Keys: the identity of an artifact, derived from a request; their text, comparison, and forms for
 * listings. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/key.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The debug id as the id of a key; "": the module has no debug id that fits the type. An id of PDB 2.0 does
 * not fit, because it is as short as a code id. The id of an ELF file has no age. */
static const char *debug_id_of(
	const struct filetype_row *row, const struct module *m, char room[static DEBUG_ID_TEXT])
{
	const struct debug_id *d = &m->debug_id;

	if (debug_id_is_nil(d) || d->pdb20 || (row->object == OBJECT_ELF && d->age))
		return "";
	return debug_id_breakpad(d, room);
}

/* The text of the id, in `room` or in the module; "": the module has no id. */
static const char *id_of(
	const struct filetype_row *row, const struct module *m, char room[static DEBUG_ID_TEXT])
{
	struct debug_id d;

	switch (row->id) {
	case ID_CODE_OR_DEBUG:
		return m->code_id[0] ? m->code_id : debug_id_of(row, m, room);
	case ID_CODE_OR_UUID:
		if (m->code_id[0])
			return m->code_id;
		/* fall through */
	case ID_UUID:
		return module_uuid(m, room) == 0 ? room : "";
	case ID_DEBUG:
		/* A path does not say the byte order of the file; most files are little-endian. */
		return module_debug_id(m, false, &d) == 0 ? debug_id_breakpad(&d, room) : "";
	default:
		return m->code_id;
	}
}

/* The real type of the artifact. No PDB has an age of ffffffff: a request with that age means a Portable
 * PDB, whose path has ffffffff in place of an age. */
static enum filetype type_of(const struct artifact *a)
{
	bool portable =
		a->type == FILETYPE_PDB && a->m.debug_id.set && a->m.debug_id.age == UINT32_MAX;

	return portable ? FILETYPE_PORTABLEPDB : a->type;
}

bool key_is_by_debug_id(const struct key *k)
{
	const struct filetype_row *row = &filetypes[k->type];
	size_t n = strlen(k->id);

	return row->id == ID_CODE_OR_DEBUG && (row->object == OBJECT_ELF ? n == 33 : n > 32);
}

/* Whether the id is all zeros and identifies nothing: tools that find no id write zeros into the file. */
static bool is_nil(const struct key *k)
{
	return filetypes[k->type].id == ID_DEBUG && k->id[0] && k->id[strspn(k->id, "0")] == '\0';
}

static bool name_counts(const struct key *k)
{
	return (filetypes[k->type].flags & TYPE_NAME_COUNTS && !key_is_by_debug_id(k)) || is_nil(k) || k->named;
}

bool key_by_name(const struct key *k, struct key *out)
{
	char folded[MODULE_NAME_MAX];

	if (!(filetypes[k->type].flags & TYPE_SEVERAL) || name_counts(k) || !key_folded(k, folded)[0])
		return false;
	*out = *k;
	out->named = true;
	return true;
}

bool key_of_nil(const struct artifact *a)
{
	struct debug_id d;

	return filetypes[type_of(a)].id == ID_DEBUG && module_debug_id(&a->m, false, &d) == 0 &&
	       debug_id_is_nil(&d);
}

/* Gives an id its canonical spelling. A companion has a PE's id, which is trimmed, or a build id, which is
 * longer and stays unchanged. */
static void trim_id(struct key *k)
{
	if (filetypes[k->type].flags & TYPE_PE_ID)
		pe_id_trim(k->id);
}

int key_of(struct key *out, const struct artifact *a)
{
	enum filetype type = type_of(a);
	const struct filetype_row *row = &filetypes[type];
	const struct module *m = &a->m;
	const char *name = row->name_from == NAME_PATH	      ? m->path
			   : row->name_from == NAME_CODE_FILE ? m->code_file
							      : m->debug_file;
	char room[DEBUG_ID_TEXT];
	const char *id = id_of(row, m, room);

	*out->id = *out->name = '\0';
	out->named = false;
	/* A linker writes a build id of zeros to fill it later. */
	out->type = id[0] && (row->object != OBJECT_ELF || id[strspn(id, "0")]) ? type : FILETYPE_NONE;
	if (out->type == FILETYPE_NONE)
		return -ENOENT;
	stpcpy(out->id, id);
	trim_id(out);
	stpcpy(out->name, name);
	return name_counts(out) && !name[0] ? -ENOENT : 0;
}

/* A companion's id is a time and a size, a UUID, or a build id: its length shows which. */
static enum object_type companion_object(const char *id)
{
	size_t n = strlen(id);

	return n <= 16 ? OBJECT_PE : n == 32 ? OBJECT_MACHO : OBJECT_ELF;
}

void key_artifact(const struct key *k, struct artifact *out)
{
	const struct filetype_row *row = &filetypes[k->type];
	struct module *m = &out->m;

	memset(out, 0, sizeof(*out));
	out->type = k->type;
	m->object = k->type == FILETYPE_COMPANION ? companion_object(k->id) : row->object;
	if (row->id != ID_DEBUG && !key_is_by_debug_id(k))
		snprintf(m->code_id, sizeof(m->code_id), "%.*s", CODE_ID_MAX, k->id);
	else
		debug_id_parse(&m->debug_id, k->id, strlen(k->id));
	if (row->name_from == NAME_PATH)
		snprintf(m->path, sizeof(m->path), "%s", k->name);
	else if (row->name_from == NAME_CODE_FILE)
		snprintf(m->code_file, sizeof(m->code_file), "%.255s", k->name);
	else
		snprintf(m->debug_file, sizeof(m->debug_file), "%.255s", k->name);
}

bool key_is_probe(const struct key *k)
{
	return strncasecmp(k->id, KEY_PROBE, strlen(KEY_PROBE)) == 0;
}

static bool is_build_id(const struct key *k)
{
	return (filetypes[k->type].object == OBJECT_ELF && !key_is_by_debug_id(k)) ||
		(k->type == FILETYPE_COMPANION && companion_object(k->id) == OBJECT_ELF);
}

/* How many characters of an id count. After the GUID of a Portable PDB, some clients add a stamp and
 * others ffffffff; only the GUID is its identity. No age has eight digits, so a stamp is recognized in a
 * source bundle, too. */
static size_t id_counts(const struct key *k)
{
	size_t n = strlen(k->id);
	bool stamp = n == 40;

	return n > 32 && (k->type == FILETYPE_PORTABLEPDB ||
				 ((k->type == FILETYPE_SOURCEBUNDLE || k->type == FILETYPE_PE) &&
					 stamp))
		       ? 32
		       : n;
}

const char *key_canon(const struct key *k, char room[static KEY_TEXT])
{
	bool counts = name_counts(k);
	/* Sections and source paths are names on a case-sensitive system. */
	bool fold = counts && filetypes[k->type].name_from != NAME_PATH;
	size_t digits = id_counts(k);
	size_t start = (size_t)(stpcpy(stpcpy(room, filetypes[k->type].name), " ") - room), n = start + digits;

	memcpy(room + start, k->id, digits);
	if (is_build_id(k) && digits >= 16 && digits < 40) {
		memset(room + n, '0', 40 - digits);
		n += 40 - digits;
	}
	for (size_t i = start; i < n; i++)
		room[i] = (char)tolower((unsigned char)room[i]);
	if (counts)
		room[n++] = ' ';
	for (const char *p = k->name; counts && *p; p++)
		room[n++] = fold ? (char)tolower((unsigned char)*p) : *p;
	room[n] = '\0';
	return room;
}

const char *key_text(const struct key *k, char room[static KEY_TEXT])
{
	snprintf(room, KEY_TEXT, "%s %s%s%s%s", filetypes[k->type].name, k->id, k->named ? "=" : "",
		k->name[0] ? " " : "", k->name);
	return room;
}

int key_parse(struct key *out, const char *text)
{
	const char *id = strchr(text, ' '), *name = id ? strchr(id + 1, ' ') : NULL;
	char type[32];
	size_t n;

	memset(out, 0, sizeof(*out));
	if (!id || (size_t)(id - text) >= sizeof(type))
		return -EINVAL;
	memcpy(type, text, (size_t)(id - text));
	type[id - text] = '\0';
	out->type = filetype_find(type);
	id++;
	n = name ? (size_t)(name - id) : strlen(id);
	out->named = filetypes[out->type].flags & TYPE_SEVERAL && n && id[n - 1] == '=';
	n -= out->named;
	if (out->type == FILETYPE_NONE || n == 0 || n >= sizeof(out->id))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (hex_value(id[i]) < 0)
			return -EINVAL;
	memcpy(out->id, id, n);
	trim_id(out);
	if (name && strlen(name + 1) >= sizeof(out->name))
		return -EINVAL;
	if (name)
		snprintf(out->name, sizeof(out->name), "%s", name + 1);
	if (name_counts(out) && !out->name[0])
		return -EINVAL;
	return 0;
}

/* ---- listings ----------------------------------------------------------------------- */

static enum key_form code_form(size_t digits)
{
	return digits == 0    ? KEY_FORM_NONE
		: digits <= 2  ? KEY_CODE_TINY
		: digits <= 8  ? KEY_CODE_SHORT
		: digits <= 16 ? KEY_CODE_TIME
		: digits == 32 ? KEY_CODE_UUID
			       : KEY_CODE;
}

static enum key_form debug_form(const struct debug_id *d)
{
	return d->pdb20			? KEY_SIG
		: d->age == 0		? KEY_GUID
		: debug_id_stamped(d) ? KEY_GUID_STAMP
					: KEY_GUID_AGE;
}

static enum key_form key_form(const struct key *k)
{
	struct artifact a;

	key_artifact(k, &a);
	return a.m.debug_id.set ? debug_form(&a.m.debug_id) : code_form(strlen(a.m.code_id));
}

unsigned key_class(const struct key *k)
{
	return (unsigned)k->type * KEY_FORMS + key_form(k);
}

int key_sample(unsigned class, const char *name, struct key *out)
{
	static const char *const ids[KEY_FORMS + 1] = {
		[KEY_FORM_NONE] = "",
		[KEY_CODE_TINY] = "11",
		[KEY_CODE_SHORT] = "11111111",
		[KEY_CODE_TIME] = "1111111111111111", /* also a build id of eight bytes */
		[KEY_CODE_UUID] = "11111111111111111111111111111111",
		[KEY_CODE] = "1111111111111111111111111111111111111111",
		[KEY_SIG] = "111111111",
		[KEY_GUID] = "111111111111111111111111111111110",
		[KEY_GUID_AGE] = "111111111111111111111111111111111",
		[KEY_GUID_STAMP] = "1111111111111111111111111111111111111111",
		/* a second sample of KEY_CODE, for types in which 40 digits are a debug id */
		[KEY_FORMS] = "11111111111111111111",
	};
	unsigned form = class % KEY_FORMS;

	memset(out, 0, sizeof(*out));
	if (class >= FILETYPES * KEY_FORMS)
		return -ENOENT;
	out->type = class / KEY_FORMS;
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->id, sizeof(out->id), "%s", ids[form]);
	if (form == KEY_CODE && key_class(out) != class)
		snprintf(out->id, sizeof(out->id), "%s", ids[KEY_FORMS]);
	return form != KEY_FORM_NONE && key_class(out) == class ? 0 : -ENOENT;
}

static void fold(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

const char *key_id_prefix(const struct key *k, char out[static KEY_ID_MAX])
{
	enum key_form form = key_form(k);

	snprintf(out, KEY_ID_MAX, "%s", k->id);
	if (form >= KEY_SIG)
		out[form == KEY_SIG ? 8 : 32] = '\0';
	fold(out);
	return out;
}

const char *key_folded(const struct key *k, char out[static MODULE_NAME_MAX])
{
	size_t n = strlen(k->name);

	out[0] = '\0';
	if (filetypes[k->type].name_from == NAME_PATH || n >= MODULE_NAME_MAX || !path_name_ok(k->name, n))
		return out;
	memcpy(out, k->name, n + 1);
	fold(out);
	return out;
}

bool key_equal(const struct key *a, const struct key *b)
{
	char ra[KEY_TEXT], rb[KEY_TEXT];

	return strcmp(key_canon(a, ra), key_canon(b, rb)) == 0;
}

uint64_t key_number(const struct key *k)
{
	char room[KEY_TEXT];
	const char *text = key_canon(k, room);
	uint8_t raw[32];

	sha256_of(text, strlen(text), raw);
	return digest_number(raw);
}

bool build_id_equal(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), n = MIN(na, nb);
	const char *rest = na < nb ? b + n : a + n;

	if (na == nb)
		return strcasecmp(a, b) == 0;
	return strncasecmp(a, b, n) == 0 && n >= 16 && na <= 40 && nb <= 40 &&
		rest[strspn(rest, "0")] == '\0';
}
