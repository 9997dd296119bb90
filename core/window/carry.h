/* One request to the other ranks and their answer back, by pp_coord_ops. In: a request's number and this rank's step. Out: the
 * step that all agree on. Any thread; who comes while another one is at it comes again. Called by trigger.c. */
#pragma once

#include <stdint.h>

#include "core/coord/coord.h"

/* Requests count anew: a forked child is a rank now, and has another keeper. */
void pp_carry_start(void);
/* The first one stays. */
void pp_carry_by(const struct pp_coord_ops *ops);
/* 1: agreed; 0, -EAGAIN: not yet, or a later request has come; -EPIPE: never. The answer is kept for who asks again. */
int pp_carry(uint32_t number, int64_t here, int64_t *ret_highest);
/* Is it worth a look? Each is a test of the operation, in which MPI may do other work and give the processor away: one that waits
 * long is not to pay for it in all its calls. Once a step, at its first MPI call, or at its mark where the step before had none;
 * behind the 64th step at one in nine; besides, at the 16th, 32nd, 64th ... call. */
int pp_carry_is_due(uint32_t number, int at_mark, int64_t here);
