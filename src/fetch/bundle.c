/* Writes links and small files about a file: the dSYM bundle that a leaf of lldb's directories links to, its
 * Info.plist, and .meta. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/bundle.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/view.h"
#include "formats/obj/obj.h"

#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct escape {
	char c;
	const char *as; /* NULL ends a table */
};

static const struct escape in_xml[] = {
	{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {0}};
static const struct escape in_json[] = {{'"', "\\\""}, {'\\', "\\\\"}, {0}};

/* Whether the character of n bytes may stand in either format. */
static bool legal(const unsigned char *p, unsigned n)
{
	bool noncharacter = n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe;

	return n && *p >= 0x20 && *p != 0x7f && !noncharacter;
}

static int add_escaped(struct buf *out, const char *text, const struct escape *table)
{
	const unsigned char *p = (const unsigned char *)text;

	while (*p) {
		const struct escape *e = table;
		unsigned n = utf8_length(p);

		while (e->as && e->c != (char)*p)
			e++;
		if (!legal(p, n) || e->as)
			buf_adds(out, legal(p, n) ? e->as : REPLACEMENT);
		else
			buf_add(out, p, n);
		p += MAX(n, 1u);
	}
	return out->r;
}

int bundle_xml(struct buf *out, const char *text)
{
	return add_escaped(out, text, in_xml);
}

/* ---- Info.plist --------------------------------------------------------------------- */

static int write_plist(const struct artifact *a, struct buf *out)
{
	char uuid[33] = "";

	module_uuid(&a->m, uuid);
	buf_adds(out, BUNDLE_PLIST_HEAD "<dict>\n"
		"\t<key>CFBundleDevelopmentRegion</key>\n\t<string>English</string>\n"
		"\t<key>CFBundleIdentifier</key>\n\t<string>com.apple.xcode.dsym.");
	add_escaped(out, a->m.code_file[0] ? a->m.code_file : uuid, in_xml);
	return buf_adds(out, "</string>\n"
		"\t<key>CFBundleInfoDictionaryVersion</key>\n\t<string>6.0</string>\n"
		"\t<key>CFBundlePackageType</key>\n\t<string>dSYM</string>\n"
		"\t<key>CFBundleSignature</key>\n\t<string>????" "</string>\n"
		"\t<key>CFBundleShortVersionString</key>\n\t<string>1.0</string>\n"
		"\t<key>CFBundleVersion</key>\n\t<string>1</string>\n"
		"</dict>\n</plist>\n");
}

/* ---- .meta -------------------------------------------------------------------------- */

static int add_pair(struct buf *out, const char *name, const char *value)
{
	if (!value[0])
		return out->r;
	buf_addf(out, "%s\"%s\":\"", out->n > 1 ? "," : "", name);
	add_escaped(out, value, in_json);
	return buf_adds(out, "\"");
}

/* As Symbolicator's symsorter writes it, without what the file does not say. */
static int write_meta(const char *name, const struct fetched *f, struct buf *out)
{
	_cleanup_free_ struct obj_slice *s = malloc(sizeof(*s));
	struct view v = view_of_fd(blob_fd(f->blob), blob_size(f->blob));
	bool known;

	if (!s)
		return -ENOMEM;
	known = obj_check(&v, &f->key, s, NULL) == 1;
	if (known && !name[0])
		name = s->module.code_file[0] ? s->module.code_file : s->module.debug_file;
	buf_adds(out, "{");
	add_pair(out, "name", name);
	if (known) {
		add_pair(out, "arch", s->arch);
		add_pair(out, "file_format", s->format);
	}
	return buf_adds(out, "}\n");
}

/* ---- all of them -------------------------------------------------------------------- */

/* The name that the file first came with, else the name by which it is asked for now. */
static void known_name(struct fetch *f, const struct fetched *found, const struct artifact *asked,
	char name[static MODULE_PATH_MAX])
{
	name[0] = '\0';
	/* A file that is only known to exist is not stored. This may be the net thread, which must not wait. */
	if (found->blob)
		store_name(fetch_store(f), &found->key, name);
	if (!name[0])
		snprintf(name, MODULE_PATH_MAX, "%s", found->key.name);
	if (!name[0])
		snprintf(name, MODULE_PATH_MAX, "%s",
			asked->m.code_file[0] ? asked->m.code_file : asked->m.debug_file);
}

int bundle_write(struct fetch *f, enum tree_told told, const struct artifact *asked,
	const struct fetched *found, struct buf *path, struct buf *text)
{
	struct artifact a = *asked;
	char name[MODULE_PATH_MAX], room[KEY_TEXT];
	int r;

	if (told == TOLD_META && !found->blob)
		return -ENOENT;
	known_name(f, found, asked, name);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "%.255s", name);
	if (told == TOLD_LINK)
		return tree_link(&a, path, text);
	if (told == TOLD_META) {
		r = buf_addf(path, "%s.meta", key_canon(&found->key, room));
		return r < 0 ? r : write_meta(name, found, text);
	}
	r = tree_plist(&a, path);
	return r < 0 ? r : write_plist(&a, text);
}
