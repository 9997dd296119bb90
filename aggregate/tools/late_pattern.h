/* Patterns of delays over steps, ranks, hosts and roles. In: pp_late_series; each pattern that is found takes its part out of it.
 * Out: patterns, without texts. docs/steps.md, "Classes of stragglers", has the statistic. Called by straggler_class.c. */
#pragma once

#include "aggregate/tools/late_found.h"

/* 0 or -ENOMEM. */
int pp_late_patterns(struct pp_late_series *k, struct pp_late_patterns *to);
