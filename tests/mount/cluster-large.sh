#!/bin/sh
# serve-cluster.sh with eight servers and 64 clients at once on a cold file. At full size, on a machine without other
# work, the time is judged, too:
#	SYMFS_CLUSTER_ALONE=yes SYMFS_CLUSTER_MIB=300 SYMFS_CLUSTER_SECONDS=60 tests/mount/cluster-large.sh
# SPDX-License-Identifier: LGPL-2.1-or-later
SYMFS_CLUSTER_MIB=${SYMFS_CLUSTER_MIB:-64} SYMFS_CLUSTER_SERVERS=8 SYMFS_CLUSTER_CLIENTS=64
SYMFS_CLUSTER_SECONDS=${SYMFS_CLUSTER_SECONDS:-15}
export SYMFS_CLUSTER_MIB SYMFS_CLUSTER_SERVERS SYMFS_CLUSTER_CLIENTS SYMFS_CLUSTER_SECONDS
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/serve-cluster.sh"
