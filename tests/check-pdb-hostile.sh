#!/bin/sh
# PDBs whose records refer to the same bytes again and again: functions, lines, contributions and inlined calls that
# overlap, streams that share blocks, types and names that repeat others. Conversion, look-ups, and look-ups by parts
# take time and memory in proportion to the size of the file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need python3
hostile=$(realpath "${top_srcdir:-$(dirname "$0")/..}/tests/helpers/pdb-hostile")
partial=$(realpath "$top_builddir/tests/unit/test-pdb-partial")
cd "$TMP" || exit 1

# 4 MB. The bounds include the sanitizers; without the bounds of the readers most kinds would take hours.
SIZE=4000000 SECONDS_MOST=60 KIB_MOST=2000000
cat >run.py <<'P'
import resource, subprocess, sys
seconds, kib = int(sys.argv[1]), int(sys.argv[2])
try:
    r = subprocess.run(sys.argv[3:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=lambda:
                       resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
except subprocess.TimeoutExpired:
    sys.exit('timeout')
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print('%s %.1f s, %d MB' % (r.returncode, u.ru_utime + u.ru_stime, u.ru_maxrss // 1024))
if r.returncode not in (0, 1, 2, 3, 4) or u.ru_maxrss > kib or (r.returncode and not r.stderr):
    sys.exit('status %d, %d KiB: %s' % (r.returncode, u.ru_maxrss, r.stderr[-2000:].decode(errors='replace')))
P
# bounded WHAT COMMAND...
bounded() {
  b_what=$1
  shift
  python3 run.py $SECONDS_MOST $KIB_MOST "$@" >said 2>&1 || fail "$kind: $b_what: $(cat said)"
  printf ', %s %s' "$b_what" "$(cat said)"
}
kinds=0
for kind in $("$hostile"); do
  "$hostile" "$kind" $SIZE "$kind.pdb" || fail "$kind"
  printf '%s' "$kind"
  bounded conversion "$SYMFS" gsym create --threads 1 -o out.gsym "$kind.pdb"
  [ ! -s out.gsym ] || "$SYMFS" gsym verify out.gsym >said 2>&1 || fail "$kind: $(cat said)"
  bounded lookup "$SYMFS" gsym lookup 0x1008 0x1108 0x21008 0x101000 "$kind.pdb"
  bounded parts "$partial" "$kind.pdb"
  echo
  rm -f out.gsym "$kind.pdb"
  kinds=$((kinds + 1))
done
[ $kinds -ge 28 ] || fail "only $kinds kinds"
