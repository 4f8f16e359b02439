#!/bin/sh
# symfs symbolicate MINIDUMP: the frames of Breakpad's minidumps equal those of Breakpad's own stack walker, where the
# minidumps are present; broken minidumps get a sentence. minidump-crash.sh walks a program that crashes there.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need python3
DUMPS=${SYMFS_TEST_MINIDUMPS:-$top_srcdir/../shared/fixtures/minidump}
cd "$TMP" || exit 1
symbolicate() { "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" "$@"; }

# ---- Breakpad's minidumps ------------------------------------------------------------------------
cat >compare.py <<'PY'
# Compares thread, module, function, file, line and address of each frame with NAME.stackwalk.
import json, sys
name, want, bases, n, crash = sys.argv[2], {}, {}, 0, True
for line in open(sys.argv[1], errors='replace').read().split('\n'):
    f = line.split('|')
    if f[0] == 'Module':
        bases.setdefault(f[1], int(f[5], 16))
    elif f[0] == 'Crash':
        crash = f[1] != 'No crash'
    elif f[0].isdigit() and len(f) == 7:
        want.setdefault(int(f[0]), []).append(f[2:])
answer = json.load(sys.stdin)
modules = answer['request']['jobs'][0]['memoryMap']
asked = answer['request']['jobs'][0]['stacks']
stacks = answer['answer']['results'][0]['stacks']
if len(stacks) != len(want):
    sys.exit('%s: %d threads, not %d' % (name, len(stacks), len(want)))
crashed = [t['crashed'] for t in answer['threads']]
if crashed.count(True) != crash or (crash and crashed.index(True) != list(want)[0]):
    sys.exit('%s: another thread crashed' % name)
for number, frames in want.items():
    thread, ours = answer['threads'][number], stacks[number]
    if len(frames) != len(ours):
        sys.exit('%s, thread %d: %d frames, not %d' % (name, number, len(ours), len(frames)))
    for i, (module, function, file, line, offset) in enumerate(frames):
        n += 1
        address, index, o = int(thread['frames'][i]['address'], 16), asked[number][i][0], ours[i]
        file_of = modules[index]['code_file'] if index >= 0 else ''
        theirs = (file_of, o.get('function', ''), o.get('file', ''), str(o.get('line', '')))
        same = theirs == (module, function, file, line)
        if not function:
            same = same and address == int(offset, 16) + bases.get(module, 0)
        elif not file:
            same = same and int(offset, 16) == int(o['function_offset'], 16) + (i > 0)
        if not same:
            sys.exit('%s, thread %d, frame %d: %s %#x is not %s' % (name, number, i, o, address, frames[i]))
print(n)
PY
if [ -d "$DUMPS" ]; then
  files=0 frames=0
  for dump in "$DUMPS"/*.dmp; do
    name=$(basename "$dump" .dmp)
    symbolicate --source "breakpad@$DUMPS/symbols" --json "$dump" >"$name.json" 2>"$name.log"
    rc=$?
    [ $rc = 0 ] || { [ $rc = 1 ] && ! grep -q '"function": "' "$name.json"; } || fail "$name: $rc $(cat "$name.log")"
    n=$(python3 compare.py "${dump%.dmp}.stackwalk" "$name" <"$name.json" 2>"$name.log") ||
      fail "$name: $(cat "$name.log")"
    files=$((files + 1)) frames=$((frames + n))
  done
  [ "$files" -ge 20 ] || fail "only $files minidumps"
  say "Breakpad's minidumps: $frames frames of $files minidumps are equal"
  symbolicate --source "breakpad@$DUMPS/symbols" "$DUMPS/thread_name_list.dmp" >text 2>text.log
  [ $? = 1 ] && grep -q ': 4 of 4 modules have no symbols: ' text.log &&
    grep -q '; symfs why --ask .*/thread_name_list[^ ]* .*--source breakpad@[^ ]*$' text.log ||
    fail "text: $(cat text.log)"
  head -n 1 text | grep -qx 'EXCEPTION_ACCESS_VIOLATION_READ at 0xf1004' || fail "the reason: $(cat text)"
  sed -n 3p text | grep -q 'crashed:$' || fail "the first thread: $(cat text)"
else
  part_skipped "no ../shared/fixtures/minidump: dumps of Breakpad and the frames of its stack walker"
fi

# ---- broken minidumps ----------------------------------------------------------------------------
broken() { # FILE WORDS
  symbolicate "$1" >broken.out 2>broken.err
  [ $? -eq 1 ] && grep -q "$2" broken.err || fail "$1: $(cat broken.out broken.err)"
}
if [ -d "$DUMPS" ]; then
  # The list of memory is cut off, too: the threads say where their stacks are.
  head -c 5000 "$DUMPS/minidump2.dmp" >cut.dmp
  symbolicate cut.dmp >text 2>text.log
  grep -q 'cut[.]dmp is cut: 5000 of at least 11317 bytes' text.log || fail "cut: $(cat text.log)"
  head -c -64 "$DUMPS/thread_name_list.dmp" >cut.dmp
  symbolicate cut.dmp >text 2>text.log
  grep -q '^symfs symbolicate: cut[.]dmp is cut: 17947 of at least 18011 bytes are there' text.log ||
    fail "cut: $(cat text.log)"
fi
printf MDMP >short.dmp
broken short.dmp 'broken or cut short: its header'
printf 'MDMP\223\247\0\0\0\0\0\0\040\0\0\0%016d' 0 >empty.dmp
broken empty.dmp 'no list of threads'

# ---- symfs why: what symbolicate would use of each module ----------------------------------------
GUID=9A0A9A50D48061974C4C44205044422E
"$top_builddir/tests/helpers/make-minidump" one.dmp "one.exe:one.pdb:$GUID:1:140000000" -- 140001234 140001300 ||
  fail make-minidump
why() { # WORDS SOURCE: at the end of the module's line
  "$SYMFS" why --ask --no-default-sources --cache "$TMP/store" --source "$2" one.dmp >why.out 2>why.log
  grep -qx "one[.]exe  9a0a9a50d48061974c4c44205044422e1  $1" why.out || fail "why $2: $(cat why.out why.log)"
}
mkdir -p "sym/one.pdb/${GUID}1" empty plain
printf 'MODULE windows x86_64 %s1 one.pdb\nPUBLIC 1200 0 main\n' $GUID >"sym/one.pdb/${GUID}1/one.sym"
why 'breakpad@sym: found one[.]sym' breakpad@sym
why 'scan@sym: found one[.]sym' sym
why 'scan@empty: missing' empty
echo text >plain/ONE.pdb
why 'scan@plain: mismatch: ONE[.]pdb is text' plain
# A server that has another file in its place: get would reject it.
mkdir -p "bad/one.pdb/${GUID}1"
printf 'MODULE windows x86_64 %s2 one.pdb\nPUBLIC 1200 0 main\n' $GUID >"bad/one.pdb/${GUID}1/one.sym"
upstream_start bad --root "$TMP/bad"
why "breakpad@http.*: mismatch: is debug id ${GUID}2, not ${GUID}1, breakpad@http.*: missing" "breakpad@$URL_bad"
PDBS=$top_srcdir/../shared/fixtures/pdb/fixtures
if [ -d "$PDBS" ]; then
  mkdir -p other/below "store-of/one.pdb/${GUID}1"
  cp "$PDBS/cl32.pdb" other/below/one.pdb
  cp "$PDBS/cl32.pdb" "store-of/one.pdb/${GUID}1/one.pdb"
  is="is debug id 3C5DA737FC812FA24C4C44205044422E1, not ${GUID}1"
  why "scan@other: mismatch: below/one[.]pdb $is" other
  why "symstore@store-of: mismatch: $is" symstore@store-of
else
  part_skipped "no ../shared/fixtures/pdb: a PDB of another build"
fi
symbolicate --source plain one.dmp >text.out 2>text.log
grep -qx '.*: one[.]exe; symfs why --ask one[.]dmp .*--source plain' text.log &&
  grep -qx 'symfs symbolicate: scan@plain: ONE[.]pdb is text' text.log || fail "the way out: $(cat text.log)"

# ---- a .sym without functions, and programs for Windows in text ------------------------------------
mkdir -p "bare/one.pdb/${GUID}1"
printf 'MODULE windows x86_64 %s1 one.pdb\nFILE 0 a.c\n' $GUID >"bare/one.pdb/${GUID}1/one.sym"
for turn in first stored; do
  symbolicate --module-errors --source breakpad@bare one.dmp >text.out 2>text.log
  grep -q '^  one[.]exe  [0-9a-f]*  its file has no functions$' text.log || fail "$turn: $(cat text.log)"
done
printf 'FUNC 1200 80 0 main\n' >>"bare/one.pdb/${GUID}1/one.sym"
symbolicate --cache "$TMP/store-func" --source breakpad@bare one.dmp >text.out 2>text.log
grep -q 'main + 0x34$' text.out && [ ! -s text.log ] || fail "a .sym of functions alone: $(cat text.out text.log)"
if [ -d "$PDBS" ]; then
  mkdir pdbs && cp "$PDBS/cl64.pdb" pdbs && cp "$PDBS/cl64.exe" .
  printf 'cl64.exe+0x1234\n#1 0x7ff6a1234  (cl64.exe+0x140001234)\n0012ff7c 00402915 cl64+0x1235\n' >windows.txt
  symbolicate --source pdbs windows.txt >text.out 2>text.log || fail "text: $(cat text.out text.log)"
  [ "$(grep -c ' in mainCRTStartup() at .*main[.]cpp:64.* \[unverified\]$' text.out)" = 3 ] ||
    fail "text: $(cat text.out text.log)"
  cp "$PDBS/cl64.pdb" .
  for file in cl64.pdb cl64.exe; do
    "$SYMFS" addr2line $file 0x1234 mainCRTStartup+0x144 >text.out 2>text.log || fail "addr2line: $(cat text.log)"
    [ "$(sort -u text.out | wc -l)" = 1 ] && grep -q main.cpp:64 text.out || fail "addr2line: $(cat text.out)"
  done
  "$SYMFS" addr2line cl64.exe 0x140001234 >text.out 2>text.log
  grep -q '^0x140001234.*main[.]cpp:64$' text.out || fail "the image's base: $(cat text.out text.log)"
fi
