/* Functions that have no safe use here. Include last. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol localtime gmtime
