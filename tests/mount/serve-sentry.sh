#!/bin/sh
# sentry-cli uploads files of every format to symfs serve --upload, and each layout then finds them: ELF, dSYM, PE
# and PDB, Breakpad's .sym, source bundles. A second upload sends nothing; refused files have their reason.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need curl gcc objcopy readelf strip
tool sentry-cli
SENTRY=$TOOL
say "$("$SENTRY" --version)"

# ---- the files ---------------------------------------------------------------------------------
F=$TMP/files
mkdir -p "$F/elf" "$F/breakpad"
make_program "$TMP/p" prog
cp "$TMP/p/bin/prog" "$TMP/p/debug/prog.debug" "$TMP/p/full/libprog.so" "$F/elf"
printf 'MODULE Linux x86_64 00112233445566778899AABBCCDDEEFF0 two\nFILE 0 two.c\nFUNC 1000 10 0 f\n1000 10 1 0\n' \
  >"$F/breakpad/two.sym"
kinds="elf breakpad"
if first_of clang >/dev/null && first_of lld-link >/dev/null; then
  windows_library "$TMP/w" one
  mkdir "$F/pe" "$F/pdb"
  cp "$TMP/w/one.dll" "$F/pe"
  cp "$TMP/w/one.pdb" "$F/pdb"
  kinds="$kinds pe pdb"
else
  say "no clang or no lld-link: no PE and no PDB"
fi
if CLANG=$(first_of clang) && LINKER=$(first_of ld64.lld ld64.lld-14) && DSYMUTIL=$(first_of dsymutil); then
  mkdir -p "$F/macho" "$TMP/mac"
  printf 'int work(int n) { return n * 3; }\nint main(void) { return work(4); }\n' >"$TMP/mac/m.c"
  (cd "$TMP/mac" && "$CLANG" -target x86_64-apple-macosx11 -g -c m.c -o mac.o &&
    "$LINKER" -arch x86_64 -platform_version macos 11.0 11.0 -e _main -o mac mac.o &&
    "$DSYMUTIL" -o "$F/macho/mac.dSYM" mac) >"$TMP/mac.out" 2>&1 ||
    fail "clang, ld64.lld, dsymutil: $(cat "$TMP/mac.out")"
  kinds="$kinds macho"
else
  say "no clang, ld64.lld or dsymutil: no dSYM"
fi

# ---- the server ---------------------------------------------------------------------------------
symfs_serve one --upload --access-log "$TMP/access" --audit-log "$TMP/audit"
U=$URL_one
sentry() { # ARGS...: sentry-cli debug-files upload; its output in $TMP/sentry
  (cd "$TMP" && SENTRY_DISABLE_UPDATE_CHECK=1 SENTRY_LOAD_DOTENV=0 SENTRY_URL=$U/ SENTRY_AUTH_TOKEN=${TOKEN:-none} \
    NO_PROXY='*' \
    timeout 300 "$SENTRY" debug-files upload --org team --project app "$@") >"$TMP/sentry" 2>&1
}
printed() { grep -q -- "$1" "$TMP/sentry" || fail "sentry-cli does not print \"$1\": $(cat "$TMP/sentry")"; }
posts() { grep -c 'POST [^ ]*/chunk-upload/' "$TMP/access"; }

is_one_of() { # FILE DIR
  for iso in "$2"/*; do
    cmp -s "$1" "$iso" && return
  done
  return 1
}
# found_everywhere FILE: each path of each layout has these bytes.
total=0
found_everywhere() {
  "$SYMFS" paths "$1" >"$TMP/paths.all" || fail "paths $1"
  # symstore2 is its name in the mount. The server has files unpacked, so it has no one.dl_.
  sed '/_$/d; s/^symstore_index2/symstore2/' "$TMP/paths.all" >"$TMP/paths"
  rows=0
  while read -r layout type path; do
    got=$(fetch_url -o "$TMP/got" -w '%{http_code}' "$U/$layout/$(printf %s "$path" |
      sed 's/%/%25/g;s/ /%20/g;s/#/%23/g;s/?/%3F/g')")
    [ "$got" = 200 ] || fail "$1 ($type): $layout/$path: $got"
    # A path of slashsymbols means each file of the build, the debug file first.
    cmp -s "$TMP/got" "$1" || { [ "$layout" = slashsymbols ] && is_one_of "$TMP/got" "${1%/*}"; } ||
      fail "$1 ($type): $layout/$path has other bytes"
    rows=$((rows + 1))
  done <"$TMP/paths"
  [ $rows -gt 2 ] || fail "$1: $rows paths"
  total=$((total + rows))
}

for kind in $kinds; do
  sentry --wait "$F/$kind" || fail "sentry-cli, $kind: $(cat "$TMP/sentry")"
  cat "$TMP/sentry"
  printed 'File processing complete'
  [ "$(grep -c ' OK ' "$TMP/sentry")" = "$(find "$F/$kind" -type f ! -name '*.plist' ! -name '*.yml' | wc -l)" ] ||
    fail "$kind: not each file is OK"
  for file in $(find "$F/$kind" -type f ! -name '*.plist' ! -name '*.yml'); do
    found_everywhere "$file"
  done
done
grep -q '"event":"upload",.*"file":"prog.debug","key":"elf_debug ' "$TMP/audit" ||
  fail "the audit log: $(cat "$TMP/audit")"
say "$total paths of $kinds have the bytes that sentry-cli sent"

# ---- source bundles --------------------------------------------------------------------------------
sentry --wait --include-sources "$F/elf/prog.debug" || fail "sentry-cli --include-sources: $(cat "$TMP/sentry")"
cat "$TMP/sentry"
printed 'OK .*sources'
debug_id=$("$SYMFS" id --json "$F/elf/prog.debug" | sed -n 's/^ *"debug_id": *"\([^"]*\)".*/\1/p' | head -n 1)
"$SYMFS" paths --type sourcebundle --debug-id "$debug_id" --object-type elf --code-id "$(build_id "$F/elf/prog")" \
  >"$TMP/paths.all" ||
  fail "paths of a source bundle"
sed 's/^symstore_index2/symstore2/' "$TMP/paths.all" >"$TMP/paths"
first=
while read -r layout type path; do
  fetch_url -f -o "$TMP/bundle.$layout" "$U/$layout/$path" || fail "the source bundle: $layout/$path"
  [ -z "$first" ] || same_file "$first" "$TMP/bundle.$layout"
  first=$TMP/bundle.$layout
done <"$TMP/paths"
[ -n "$first" ] && "$SYMFS" id "$first" | grep -q sourcebundle || fail "no source bundle"
say "the source bundle is at $(wc -l <"$TMP/paths") paths"

# ---- once more: nothing is sent, also by a server that was started anew ------------------------------------------
before=$(posts)
# shellcheck disable=SC2086
sentry --wait "$F" || fail "the second upload: $(cat "$TMP/sentry")"
printed 'Nothing to upload, all files are on the server'
symfs_unserve one
symfs_serve one --upload --access-log "$TMP/access"
U=$URL_one
sentry --wait "$F" || fail "the third upload: $(cat "$TMP/sentry")"
printed 'Nothing to upload, all files are on the server'
[ "$(posts)" = "$before" ] || fail "chunks were sent again"

# ---- refused ---------------------------------------------------------------------------------------------------
# sentry-cli sees by the limits that a file is too large for this server.
symfs_serve small --upload --max-file-size 2000
U=$URL_small
sentry --wait "$F/elf/prog.debug" && fail "sentry-cli to a small server: $(cat "$TMP/sentry")"
printed 'exceeds the maximum allowed size'

# Without the right token.
"$SYMFS" token add --file "$TMP/tokens" --rights upload ci >"$TMP/token" 2>&1 || {
  head -c 20 /dev/urandom | sha1sum | cut -c 1-40 >"$TMP/token"
  cp "$TMP/token" "$TMP/tokens"
  chmod 600 "$TMP/tokens"
}
symfs_serve guarded --upload --token-file "$TMP/tokens"
U=$URL_guarded
TOKEN=0000000000000000000000000000000000000000000000000000000000000000
sentry --wait "$F/breakpad" && fail "sentry-cli with a wrong token: $(cat "$TMP/sentry")"
printed '401'
TOKEN=$(grep -o '[0-9a-f]\{40,\}' "$TMP/token" | head -n 1)
sentry --wait "$F/breakpad" || fail "sentry-cli with its token: $(cat "$TMP/sentry")"
printed 'OK .*two.sym'
symfs_unserve guarded
symfs_unserve small
symfs_unserve one
