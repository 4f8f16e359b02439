/* Nothing: tests/check-banned.sh looks for functions without a safe use. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
