#!/bin/sh
# Checks that includes go only to lower floors, as src/FLOORS says, and to no private header of another folder. Also
# shows that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=${top_srcdir:-$(dirname "$0")/..}
sh "$top/scripts/check-arrows" "$top/src" || exit 1

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/base/inner" "$bad/fs" "$bad/cellar"
{ cat "$top/src/FLOORS"; echo "floor base/inner"; } >"$bad/FLOORS"
echo '#include "fs/fs.h"' >"$bad/base/x.c"
echo '#include "base/inner/z.h"' >"$bad/base/w.c"
echo '#include "base/x-private.h"' >"$bad/fs/u.c"
echo '#include "base/x-private.h"' >"$bad/base/inner/t.c"
echo '#include <curl/curl.h>' >"$bad/fs/y.c"
echo '#include <stdio.h>' >"$bad/cellar/v.c"
out=$(sh "$top/scripts/check-arrows" "$bad") && { echo "a broken tree passed"; exit 1; }
case $out in *base/inner/t.c*) echo "refused in a folder within the header's folder: $out"; exit 1 ;; esac
for said in 'base/x.c:1: base/ includes fs/fs.h, upstairs' 'base/w.c:1: base/ includes base/inner/z.h, upstairs' \
  'fs/u.c:1: fs/ includes base/x-private.h, which is private' \
  'includes <curl/curl.h>, whose door is net' 'cellar/v.c: its folder has no floor'; do
  case $out in *"$said"*) ;; *) echo "not found: $said; only: $out"; exit 1 ;; esac
done
