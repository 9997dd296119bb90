/* Whether two hosts report one clock. Called by the keepers' cluster and by podprof doctor --clock. Pure. In: what each host
 * reports of its clock. Out: a claim, which only round trips can confirm. */
#pragma once

#include "proto/message.h"

/* 1: both report one boot id and kind of tick, and for RAW one time namespace. Two unknown boot ids ("") are equal; NULL is a clock
 * that nothing equals. */
int pp_clock_is_same(const struct pp_wire_clock *a, const struct pp_wire_clock *b);
