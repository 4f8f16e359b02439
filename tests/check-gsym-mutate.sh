#!/bin/sh
# Checks that debug files of real compilers, changed at random and converted by workers, harm
# nothing but their own conversion. A short run; HACKING.md has the long one.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need g++ objcopy
cd "$TMP" || exit 1
mutate=$top_builddir/tests/helpers/gsym-mutate
cat >a.cc <<'C'
#include <map>
#include <string>
int count(std::map<std::string, int> &m, const std::string &s) { return m[s]++ + static_cast<int>(s.size()); }
int main(int n, char **v) { std::map<std::string, int> m; int r = 0; while (n--) r += count(m, v[n]); return r; }
C
files=
for flags in '-O2 -gdwarf-5' '-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections' '-O1 -gdwarf-3' \
  '-O2 -gdwarf-5 -gz' '-O1 -g -gsplit-dwarf'; do
  # shellcheck disable=SC2086
  g++ $flags -o "p${#files}" a.cc || fail "g++ $flags"
  objcopy --only-keep-debug "p${#files}" "p${#files}.debug" || fail "objcopy"
  files="$files $TMP/p${#files}.debug"
done
# shellcheck disable=SC2086
"$mutate" "$top_builddir/libexec/convert" 80 0 "${SYMFS_TEST_SEED:-1}" $files >said || fail "$(cat said)"
cat said
grep -q '^80 files, 0 findings$' said || fail "not all were tried"
grep -q ' made$' said || fail "nothing was made of any"
grep -q 'is broken' said || fail "nothing was broken"

# It can fail: a worker that crashes.
printf '#!/bin/sh\nkill -SEGV $$\n' >crashing
chmod +x crashing
# shellcheck disable=SC2086
"$mutate" "$TMP/crashing" 2 0 1 $files >said && fail "a worker that crashes is no finding"
grep -q '^2 files, 2 findings$' said || fail "$(cat said)"
