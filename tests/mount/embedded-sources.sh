#!/bin/sh
# source/ID/PATH of a stored Portable PDB: the sources that are embedded in it, in the mount, over HTTP and by symfs
# get. Their digests are those that the compiler noted in the PDB. Links to sources are not followed.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl cmp python3
PDBS=$top_srcdir/../shared/fixtures/ppdb TOOLS=$top_srcdir/../shared/tools
[ -d "$PDBS" ] && [ -f "$TOOLS/ppdbref.py" ] || skip "no ../shared/fixtures/ppdb: PDBs of .NET with sources in them"

# documents FILE: "ID PATH DIGEST" of each document, as another reader sees them.
cat >"$TMP/documents.py" <<'EOC'
import sys, ppdbref
for path in sys.argv[1:]:
    p = [c for c in vars(ppdbref).values() if isinstance(c, type) and hasattr(c, 'doc')][0](open(path, 'rb').read())
    for row in range(1, len(p.tab[0x30]) + 1):
        print(p.idstr()[0].lower(), p.doc(row).replace('\\', '/').lstrip('/'), p.blob(p.tab[0x30][row - 1][2]).hex())
EOC
cp "$PDBS/EmbeddedSource.pdbx" "$TMP/EmbeddedSource.pdb"
cp "$PDBS/SourceLink.pdbx" "$TMP/SourceLink.pdb"
PYTHONPATH=$TOOLS PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/documents.py" "$TMP/EmbeddedSource.pdb" \
  >"$TMP/documents" || fail "documents"
id=$(sed -n '1s/ .*//p' "$TMP/documents")ffffffff
[ ${#id} = 40 ] || fail "id: $(cat "$TMP/documents")"

symfs_mount m --cache "$TMP/store" --offline
M=$MNT_m
[ -e "$M/source/$id/C:/EmbeddedSource.cs" ] && fail "a source of a PDB that is not stored"
"$SYMFS" add --cache "$TMP/store" "$TMP/EmbeddedSource.pdb" "$TMP/SourceLink.pdb" >"$TMP/add.log" ||
  fail "add: $(cat "$TMP/add.log")"
there() { [ -e "$M/source/$id/C:/EmbeddedSource.cs" ]; }
wait_for there || fail "no source: $(cat "$M/.symfs/why/source/$id/C:/EmbeddedSource.cs")"
found=0
while read -r _ path digest; do
  [ -e "$M/source/$id/$path" ] || continue
  found=$((found + 1))
  sum=sha256sum
  [ ${#digest} = 64 ] || sum=sha1sum
  [ "$($sum <"$M/source/$id/$path" | sed 's/ .*//')" = "$digest" ] || fail "$path has another digest"
done <"$TMP/documents"
[ $found -ge 3 ] || fail "only $found sources: $(cat "$TMP/documents")"
say "$found embedded sources"
for path in C:/EmbeddedSource.cs.cs C:/embeddedsource.cs EmbeddedSource.cs C:/absent.cs; do
  [ -e "$M/source/$id/$path" ] && fail "$path exists"
done
# The stamp of the PDB is accepted in the place of ffffffff. Listings show what was asked for.
stamp=$("$SYMFS" id --json "$TMP/EmbeddedSource.pdb" | sed -n 's/.*"debug_id":"\([^"]*\)".*/\1/p' | tr -d - |
  tr '[:upper:]' '[:lower:]')
same_file "$M/source/$id/C:/EmbeddedSource.cs" \
  "$("$SYMFS" get --cache "$TMP/store" --offline "source/$stamp/C:/EmbeddedSource.cs")"
# A source that the PDB does not have is remembered as missing: the PDB is not read again for it.
"$SYMFS" cache ls --misses --cache "$TMP/store" >"$TMP/misses" || fail "cache ls --misses"
grep -q "C:/absent.cs  embedded$" "$TMP/misses" || fail "no remembered miss: $(cat "$TMP/misses")"
[ "$(ls "$M/source/$id/C:" | wc -l)" = "$found" ] || fail "listed: $(find "$M/source")"

# A PDB with links to its sources: nothing is asked.
mkdir "$TMP/none" && upstream_start up --root "$TMP/none"
symfs_serve http --cache "$TMP/store" --source "debuginfod@$URL_up"
fetch_url -f -o "$TMP/source.cs" "$URL_http/source/$id/C:/EmbeddedSource.cs" || fail "over HTTP"
same_file "$M/source/$id/C:/EmbeddedSource.cs" "$TMP/source.cs"
PYTHONPATH=$TOOLS PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/documents.py" "$TMP/SourceLink.pdb" >"$TMP/links" ||
  fail "links"
while read -r link path _; do
  [ "$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_http/source/${link}ffffffff/$path")" = 404 ] ||
    fail "$path of a link"
done <"$TMP/links"

# The sources go with their PDB.
"$SYMFS" cache rm --cache "$TMP/store" "$TMP/EmbeddedSource.pdb" || fail "cache rm"
"$SYMFS" cache ls --cache "$TMP/store" >"$TMP/left" || fail "cache ls"
grep -q EmbeddedSource "$TMP/left" && fail "a source outlived its PDB: $(cat "$TMP/left")"
"$SYMFS" add --cache "$TMP/store" "$TMP/EmbeddedSource.pdb" >"$TMP/add.log" || fail "add again: $(cat "$TMP/add.log")"
same_file "$TMP/source.cs" "$("$SYMFS" get --cache "$TMP/store" --offline "source/$id/C:/EmbeddedSource.cs")"
symfs_umount m

# A PDB in a directory, which is not stored: by its path, in a scanned tree, and by its id alone in a symbol store.
in_dir() { # SOURCE ID
  symfs_mount dir --cache "$TMP/dir-store" --source "$1"
  wait_for test -e "$MNT_dir/source/$2/C:/EmbeddedSource.cs" ||
    fail "$1: $(cat "$MNT_dir/.symfs/why/source/$2/C:/EmbeddedSource.cs")"
  same_file "$TMP/source.cs" "$MNT_dir/source/$2/C:/EmbeddedSource.cs"
  [ -e "$MNT_dir/source/$2/C:/absent.cs" ] && fail "$1: an absent source exists"
  symfs_umount dir
  rm -rf "$TMP/dir-store"
}
mkdir "$TMP/tree" && cp "$TMP/EmbeddedSource.pdb" "$TMP/SourceLink.pdb" "$TMP/tree"
in_dir "scan@$TMP/tree" "$id"
for layout in symstore ssqp unified; do
  for pdb in SourceLink EmbeddedSource; do
    path=$("$SYMFS" paths --layout $layout "$TMP/$pdb.pdb" | cut -f 3 | head -n 1)
    mkdir -p "$TMP/$layout/${path%/*}" && cp "$TMP/$pdb.pdb" "$TMP/$layout/$path" || fail "cp $path"
  done
done
in_dir "symstore@$TMP/symstore" "$id"
in_dir "symstore@$TMP/ssqp" "$id"
in_dir "unified@$TMP/unified" "$stamp"

# A team's bucket gets the PDB, and not the sources: other servers take them from the PDB.
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
  AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
mkdir "$TMP/root"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key A --secret-key S3CR3T \
  >"$TMP/s3.out" 2>"$TMP/s3.log" &
PIDS="$PIDS $!"
wait_for grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
umask 077
printf '[bucket]\nendpoint = %s\nbucket = symbols\naccess-key = A\nsecret-key = S3CR3T\n' \
  "$(sed -n 's/^listening on //p' "$TMP/s3.out")" >"$TMP/bucket.conf"
symfs_serve team --config "$TMP/bucket.conf" --cache "$TMP/store"
drained() { fetch_url "$URL_team/metrics" | grep -q '^symfs_bucket_queued_files 0$'; }
wait_for drained || fail "the queue does not drain: $(cat "$TMP/team.log")"
grep -qs '^v1	portablepdb' "$TMP"/root/k/* || fail "the bucket has no PDB: $(find "$TMP/root")"
grep -s '^v1	source' "$TMP"/root/k/* && fail "the bucket has an embedded source"
symfs_unserve team
