/* Source bundles: eight bytes, then a zip archive of sources. A manifest in the archive has the ids of the
 * debug file that the sources belong to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/hash.h"
#include "base/jtext.h"
#include "base/util.h"
#include "base/zip.h"

#include <stdio.h>
#include <string.h>

/* The largest known manifest, that of a browser, has some twenty megabytes. */
#define MANIFEST_MOST (64u << 20)
#define VALUES_MOST (4u << 20) /* of JSON; each file of the bundle has ten or so */
#define ENTRIES_MOST (1u << 20)
#define VALUE_MOST 512

struct manifest {
	char debug_id[VALUE_MOST], code_id[VALUE_MOST], object_name[VALUE_MOST], arch[VALUE_MOST];
	bool files;
};

/* ---- the manifest ------------------------------------------------------------------- */

static int read_manifest(const char *p, size_t n, struct manifest *out, struct err *e)
{
	_cleanup_jtext_ struct jtext j;
	int r = jtext_read(&j, (struct span){(const uint8_t *)p, n}, VALUES_MOST, NULL);
	uint32_t files;

	if (r == -ENOMEM)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	if (r < 0 || j.token[0].kind != JTEXT_OBJECT)
		return err_set(e, -EBADMSG, "is broken: its manifest is not a JSON object");
	jtext_get_text(&j, 0, "debug_id", out->debug_id, VALUE_MOST);
	jtext_get_text(&j, 0, "code_id", out->code_id, VALUE_MOST);
	jtext_get_text(&j, 0, "object_name", out->object_name, VALUE_MOST);
	jtext_get_text(&j, 0, "arch", out->arch, VALUE_MOST);
	files = jtext_member(&j, 0, "files");
	out->files = files && j.token[files].n;
	return 0;
}

static int load_manifest(struct view *v, struct manifest *out, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct zip_entry entry;
	struct zip z;
	size_t n;
	int r = zip_open(&z, v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is cut short: the archive in it has no end");
	for (unsigned i = 0; r == 0 && i < ENTRIES_MOST; i++) {
		r = zip_next(&z, &entry, e);
		if (r == 0 && strcmp(entry.name, "manifest.json") == 0)
			break;
		if (r == 0 && i == ENTRIES_MOST - 1)
			r = -ENOENT;
	}
	if (r == -ENOENT)
		return err_set(e, -EBADMSG, "is broken: it has no manifest");
	if (r < 0)
		return r;
	r = zip_extract(&z, &entry, MANIFEST_MOST, &text, &n, e);
	if (r == -EFBIG || r == -ENOTSUP) {
		if (e)
			e->code = -EBADMSG;
		return -EBADMSG;
	}
	return r < 0 ? r : read_manifest(text, n, out, e);
}

/* ---- identity and module ---------------------------------------------------------- */

static bool is_build_id(const struct module *m)
{
	uint8_t id[CODE_ID_MAX / 2];
	size_t n = strlen(m->code_id);
	struct debug_id own;

	if (n % 2 || hex_read(m->code_id, n, id) < 0)
		return false;
	for (unsigned big = 0; big < 2; big++) {
		debug_id_from_build_id(&own, id, n / 2, big);
		if (debug_id_equal(&own, &m->debug_id))
			return true;
	}
	return false;
}

/* A bundle does not say what kind of program it belongs to, but its ids do. If both ids are the same UUID,
 * the program is Mach-O or WebAssembly. If the debug id follows from the code id, it is ELF. If the ids are
 * unrelated, it is PE. */
static enum object_type object_of(const struct module *m, const char *arch)
{
	size_t n = strlen(m->code_id);
	uint8_t id[16];

	if (!n || !m->debug_id.set)
		return OBJECT_UNKNOWN;
	if (strcmp(arch, "wasm32") == 0)
		return OBJECT_WASM;
	if (n == 32 && hex_read(m->code_id, n, id) == 0 && memcmp(id, m->debug_id.guid, 16) == 0)
		return OBJECT_MACHO;
	if (is_build_id(m))
		return OBJECT_ELF;
	return n > 8 && n <= 16 ? OBJECT_PE : OBJECT_UNKNOWN;
}

static void module_of(const struct manifest *from, struct module *m, const char *arch)
{
	memset(m, 0, sizeof(*m));
	if (debug_id_parse(&m->debug_id, from->debug_id, strlen(from->debug_id)) < 0 ||
		debug_id_is_nil(&m->debug_id))
		m->debug_id = (struct debug_id){0};
	if (module_set_code_id(m, from->code_id, strlen(from->code_id)) < 0)
		m->code_id[0] = '\0';
	obj_base_name(m->debug_file, from->object_name, strlen(from->object_name));
	m->object = object_of(m, arch);
}

static int sourcebundle_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "sourcebundle", .kind = OBJ_SOURCES, .size = v->size,
		.types = {FILETYPE_SOURCEBUNDLE}, .n_types = 1};
	struct manifest m;
	int r = load_manifest(v, &m, e);

	if (r < 0)
		return r;
	s.arch = obj_arch(m.arch, strlen(m.arch));
	s.worth = (struct worth){.known = true, .sources = m.files > 0};
	module_of(&m, &s.module, s.arch);
	*out = s;
	return 0;
}

const struct obj_format obj_sourcebundle = {
	.name = "sourcebundle",
	.magic = "SYSB",
	.magic_len = 4,
	.serves = {FILETYPE_SOURCEBUNDLE},
	.probe = sourcebundle_probe,
};
