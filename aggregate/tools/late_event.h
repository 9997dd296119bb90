/* Patterns of delays in single steps: periodic ones and isolated ones. Of late_pattern.c, which calls it. */
#pragma once

#include "aggregate/tools/late_found.h"

/* 0 or -ENOMEM. Each takes what it finds out of the series. */
int pp_late_periodic(struct pp_late_series *k, struct pp_late_patterns *to);
int pp_late_one_off(struct pp_late_series *k, struct pp_late_patterns *to);
