#!/bin/sh
# The walls of the house: src/FLOORS. Also proves that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=${top_srcdir:-$(dirname "$0")/..}
sh "$top/scripts/check-arrows" "$top/src" || exit 1

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
cp "$top/src/FLOORS" "$bad/"
mkdir "$bad/base" "$bad/fs"
echo '#include "fs/fs.h"' >"$bad/base/x.c"
echo '#include <curl/curl.h>' >"$bad/fs/y.c"
out=$(sh "$top/scripts/check-arrows" "$bad") && { echo "a broken tree passed"; exit 1; }
case $out in *upstairs*) ;; *) echo "an upward include was not named: $out"; exit 1 ;; esac
case $out in *"whose door is"*) ;; *) echo "a second door was not named: $out"; exit 1 ;; esac
