#!/bin/sh
# Checks that no line of the sources and tests has more than 118 columns, with a tab every 8 columns. Also shows that
# the check can fail. The files in `later` have such lines still.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
later="
	src/base: buf.h
	src/cmd: app.h cmd.h
	src/dwarf: dwarf.h
	src/fetch: fetch-private.h fetch.h flight.h
	src/image: image.h
	src/layout: tree.h
	src/scan: scan.h
	tests: check-banned.sh check-dwarf-oracle.sh check-frames-oracle.sh check-gsym-dwarf.sh
	tests: check-gsym-embed.sh check-gsym-inputs.sh check-gsym-mutate.sh check-gsym-others.sh check-help.sh
	tests: check-layouts.sh check-mount-helper.sh check-names.sh check-pdb-readers.sh
	tests: check-sym.sh check-symcache.sh check-units.sh
	tests/bench: bucket.sh gdb-debuginfod.sh gsym-agree.sh gsym.sh httpdirfs.sh lib.sh pdb-mutated pdb-ranges.sh
	tests/bench: pdb.sh scan-archives.sh serve-load serve.sh sparse.sh sym.sh symbolicate-llvm.sh symbolicate.sh
	tests/helpers: browser.mjs page-tasks.mjs pdb-hostile plist.py
	tests/mount: add.sh archives.sh best-subsets.sh bucket-purge.sh cluster-soak.sh config.sh
	tests/mount: dead-upstream.sh doc-lines.sh dsym-script.sh dsym.sh elfutils.sh embedded-sources.sh
	tests/mount: every-path.sh eviction.sh faults.sh gsym-inputs.sh heads.sh layouts.sh lib.sh
	tests/mount: listing.sh loops.sh matrix.sh meanings.sh minidump-crash.sh minidump-stackwalk.sh
	tests/mount: mount-systemd.sh odd-input.sh paths.sh pe-symbolizer.sh privileges.sh range-faults.sh
	tests/mount: redirects.sh s3-moto.sh scan-archives.sh serve-clients.sh serve-cluster.sh serve-events.sh
	tests/mount: serve-meanings.sh serve-minidump.sh serve-nginx.sh serve-page-tasks.sh serve-page.sh
	tests/mount: serve-pdb-ranges.sh serve-rude.sh serve-rules.sh serve-symbolicate.sh serve-systemd.sh
	tests/mount: serve-tokens.sh serve-upkeep.sh serve-upload-memory.sh serve-upload-tools.sh serve-upload.sh
	tests/mount: serve-windows.sh serve.sh source-links.sh sparse.sh status.sh store-trouble.sh sym-chain.sh
	tests/mount: sym.sh symbolicate-core.sh symbolicate-cut.sh symbolicate-files.sh symbolicate-minidump.sh
	tests/mount: symbolicate-net.sh symbolicate-part.sh symbolicate-text.sh symbolicate.sh worth.sh"

long_in() # FILE...: counts characters, not bytes; an output means a long line
{
	for file; do
		expand "$file" | LC_ALL=C awk -v file="${file#"$top/"}" '
			{ text = $0; gsub(/[\200-\277]/, "", text) }
			length(text) > 118 { print file ":" NR ": " length(text) " columns" }'
	done
}

# Files of data and tables have lines of their own length.
find "$top/src" "$top/tests" -path "$top/tests/data" -prune -o -type f ! -name '*.tsv' ! -name '*.svg' -print |
	sort >"$tmp/all"
folder=
for word in $later; do
	case $word in *:) folder=${word%:} ;; *) echo "$top/$folder/$word" ;; esac
done >"$tmp/later"
# shellcheck disable=SC2046 # no name of a source has a blank
long_in $(cat "$tmp/later") | cut -d: -f1 | sort -u | sed "s|^|$top/|" >"$tmp/still"
sort "$tmp/later" | comm -23 - "$tmp/still" | grep . &&
	{ echo "no line is too long there: take it out of later"; exit 1; }
grep -vxFf "$tmp/later" "$tmp/all" >"$tmp/files"
seen=$(wc -l <"$tmp/files")
echo "$seen of $(wc -l <"$tmp/all") files seen"
[ "$seen" -gt 50 ] || exit 1
# shellcheck disable=SC2046 # no name of a source has a blank
long_in $(cat "$tmp/files") >"$tmp/long"
cat "$tmp/long"
[ -s "$tmp/long" ] && { echo "a line may have 118 columns"; exit 1; }

printf '\t%0110d\n' 0 >"$tmp/x.c"
[ -z "$(long_in "$tmp/x.c")" ] || { echo "a line of 118 columns is refused"; exit 1; }
printf '\t%0111d\n' 0 >"$tmp/x.c"
[ -n "$(long_in "$tmp/x.c")" ] || { echo "a line of 119 columns passed"; exit 1; }
exit 0
