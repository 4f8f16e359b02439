#!/bin/sh
# bucket.sh on an independent server that verifies signatures: moto.
# SPDX-License-Identifier: LGPL-2.1-or-later
SYMFS_TEST_STORE=moto
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/bucket.sh"
