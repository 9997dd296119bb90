/* Where steps begin and end. In: pp_capture in job ns. Out: one table of steps for all ranks.
 * Rules, in order of trust: PODPROF (podprof_step_*), RANGE (a repeating range of the program), OPTIMIZER (calls of it end steps),
 * PERIOD (the repeating pattern of collectives of a communicator that spans the job), WINDOW (the whole window is one step):
 * docs/steps.md. The same rule holds on all ranks: PODPROF if any rank marked steps (the others have no cells then). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/step/steps.h"

struct pp_capture;

/* Steps asked for are [first, last); last <= first: all that are complete on every rank and after each horizon. */
int pp_steps_find(const struct pp_capture *capture, int64_t first, int64_t last, struct pp_steps *ret_steps, struct pp_err *err);
/* Frees the table; empty then. */
void pp_steps_release(struct pp_steps *s);

/* The rule's name in pod.h5. Static storage. */
const char *pp_step_rule_name(enum pp_step_rule rule);
