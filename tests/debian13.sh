#!/bin/sh
# Checks that symfs builds on Debian 13 (warnings are shown), and that the unit, wall, serve and
# passthrough tests pass there. Skipped where there is no Debian 13 tree: scripts/debian13.
# SPDX-License-Identifier: LGPL-2.1-or-later
exec sh "${top_srcdir:-$(dirname "$0")/..}/scripts/debian13" test
