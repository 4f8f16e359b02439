/* Whether a sanitizer watches this build: a sanitizer needs memory, system calls and descriptors of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
