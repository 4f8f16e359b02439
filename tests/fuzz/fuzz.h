/* The function that each fuzz target defines. libFuzzer calls it with mutated bytes, replay.c with
 * those of files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
