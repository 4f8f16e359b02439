#!/bin/sh
# symfs builds on Debian 13 (warnings are shown), finds that its libfuse can pass files through, and does
# so where the kernel can. Skipped where there is no Debian 13 tree: scripts/debian13.
# SPDX-License-Identifier: LGPL-2.1-or-later
exec sh "${top_srcdir:-$(dirname "$0")/..}/scripts/debian13" test
