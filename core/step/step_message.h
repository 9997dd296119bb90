/* The MESSAGES rule: the repeating pattern of each rank's messages. In: spans in job ns. Out: marks, the n-th step of each rank
 * belongs to the n-th of the others. Called by step_mark.c. */
#pragma once

#include "core/step/step_period.h"

/* Steps by this rule, as pp_period_rule_find() has them: 1 found, 0 none, -ENOMEM. `collectives` of the rule is 0. */
int pp_message_rule_find(const struct pp_capture *capture, struct pp_marks *list, struct pp_period_rule *ret_rule);
