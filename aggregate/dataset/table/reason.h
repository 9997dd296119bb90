/* Why a rank was late, a code of /blame, /blame_step and /straggler: what it did longer than the ranks that waited. Categories have
 * their own ids; those of communication stand for transfer. Of a slow link no rank is the cause. Append only. */
#pragma once

#include "core/step/category.h"

enum { PP_REASON_UNKNOWN, PP_REASON_BETWEEN_STEPS = PP_CATEGORIES + 1, PP_REASON_LINK, PP_REASONS };

/* The code's words in a file, in order. */
#define PP_REASON_WORDS                                                                                                            \
	"unknown device_compute device_to_device device_collective host_compute kernel_launch input output compilation "           \
	"all_others host_communication between_steps link"

/* Work of the rank in a step: neither communication nor time between steps. */
static inline int pp_reason_is_work(int reason)
{
	return reason > PP_REASON_UNKNOWN && reason <= PP_CATEGORIES && reason != PP_CATEGORY_DEVICE_COLLECTIVE &&
	       reason != PP_CATEGORY_HOST_COMMUNICATION;
}
