#!/bin/sh
# symfs builds on Debian 13 (warnings are shown), and the unit, wall and serve tests pass there, as does the test of
# passing files through. Skipped where there is no Debian 13 tree: scripts/debian13.
# SPDX-License-Identifier: LGPL-2.1-or-later
exec sh "${top_srcdir:-$(dirname "$0")/..}/scripts/debian13" test
