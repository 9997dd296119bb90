/* One request to the other ranks and their answer back, by pp_coord_ops. In: a request's number and this rank's step. Out: the
 * step that all agree on. Any thread; who comes while another one is at it comes again. Called by trigger.c. */
#ifndef PP_WINDOW_CARRY_H
#define PP_WINDOW_CARRY_H

#include <stdint.h>

#include "core/coord/coord.h"

/* The first one stays. */
void pp_carry_by(const struct pp_coord_ops *ops);
/* 1: agreed; 0, -EAGAIN: not yet; -EPIPE: never. The answer is kept for who asks again. */
int pp_carry(uint32_t number, int64_t here, int64_t *ret_highest);
/* Is it worth a look? Each costs the application a test of the operation, and whoever waits long would pay for it in every call:
 * most marks count, later one in nine; between two marks the 1st, 2nd, 4th, 8th ... call does. */
int pp_carry_is_due(uint32_t number, int at_mark, int64_t here);

#endif
