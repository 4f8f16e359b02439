#!/bin/sh
# bucket.sh on a real Ceph gateway.
# SPDX-License-Identifier: LGPL-2.1-or-later
SYMFS_TEST_STORE=ceph
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/bucket.sh"
