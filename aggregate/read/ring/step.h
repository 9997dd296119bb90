/* Training steps of a ring that have ended, while it is read. In: STEP_BEGIN and STEP_END records. Internal to aggregate/read. */
#pragma once

#include <stdint.h>

#include "aggregate/read/ring/track.h"

/* How many have ended, on all threads. */
uint64_t pp_steps_ended(const struct pp_pair *p);
/* The n-th of them, from 0, until the next one ends; NULL: not yet, or more than PP_STEPS_ENDED ago. */
const struct pp_step_ended *pp_step_ended(const struct pp_pair *p, uint64_t n);
