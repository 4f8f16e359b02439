/* Functions that have no safe use here. Include last. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* With clang and _FORTIFY_SOURCE some are macros, and poisoning a macro is a warning. */
#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol localtime gmtime
