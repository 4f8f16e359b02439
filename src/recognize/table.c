/* The recognizers, in the order in which a line is offered to them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recognize/private.h"

const struct recognizer *const recognizers[] = {
	&recognize_ips,
	&recognize_minidump,
	&recognize_sanitizer,
	&recognize_systemd,
	&recognize_android,
	&recognize_dotnet,
	&recognize_go,
	&recognize_gdb,
	&recognize_elfutils,
	&recognize_lldb,
	&recognize_apple,
	&recognize_perf,
	&recognize_maps,
	NULL,
};
