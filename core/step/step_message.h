/* The MESSAGES rule: the repeating pattern of each rank's messages, or of all its calls. In: spans in job ns. Out: marks, the n-th
 * step of each rank belongs to the n-th of the others. Called by step_mark.c. */
#pragma once

#include "core/step/step_period.h"

/* ALL: its collectives too, whatever communicator they are on. Of rows and columns of a grid no communicator has all ranks.
 * OPERATORS: operators that are collectives of torch.distributed, of which a file does not say group and number. */
enum pp_message_calls { PP_MESSAGE_CALLS, PP_MESSAGE_ALL_CALLS, PP_MESSAGE_OPERATORS, PP_MESSAGE_KINDS };

/* Steps by this rule, as pp_period_rule_find() has them: 1 found, 0 none, -ENOMEM. `collectives` of the rule is 0, but for
 * OPERATORS. */
int pp_message_rule_find(const struct pp_capture *capture, enum pp_message_calls calls, struct pp_marks *list,
                         struct pp_period_rule *ret_rule);
