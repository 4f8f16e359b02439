#!/bin/sh
# cluster-large.sh with a bucket of a real Ceph gateway: also an empty server, uploads, and a gateway that stops.
# SPDX-License-Identifier: LGPL-2.1-or-later
SYMFS_TEST_STORE=ceph
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/cluster-large.sh"
