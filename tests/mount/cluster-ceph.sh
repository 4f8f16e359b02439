#!/bin/sh
# serve-cluster.sh at full size with a bucket of a real Ceph gateway: 64 clients at once on a cold file of 300 MiB, on
# eight servers; an empty server, uploads, and a gateway that stops.
# SPDX-License-Identifier: LGPL-2.1-or-later
SYMFS_TEST_STORE=ceph
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/cluster-large.sh"
