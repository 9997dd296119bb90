/* Do steps hold what the devices did? Steps of a host's ranges may miss it all: a range of the data loader, a loop that polls.
 * In: marks and spans in job ns. Out: yes or no. Called by step_mark.c and step_range.c. */
#pragma once

#include <stddef.h>

struct pp_capture;
struct pp_marks;

enum pp_hold {
	PP_HOLD_ANY, /* any work at all: for steps that are marked, or known by their names */
	PP_HOLD_FIT, /* at least half of what as much of the time has on average, and work in at least half of the steps */
};

/* 1: a rank's device work, all ranks taken together, was launched or ran in the steps, as `hold` asks for; or no device did
 * anything. 0: not. -ENOMEM. */
int pp_steps_hold_work(const struct pp_capture *capture, const struct pp_marks *list, enum pp_hold hold);
