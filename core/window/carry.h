/* Carries one request to the other ranks and their answer back, by pp_coord_ops. In: a request's number and this rank's step.
 * Out: the highest step of all ranks. Any thread; a call while another one is inside returns -EAGAIN. Called by trigger.c. */
#pragma once

#include <stdint.h>

#include "core/coord/coord.h"

/* Resets the count of requests: a forked child that is a rank has another keeper. */
void pp_carry_start(void);
/* Sets the operations; the first call wins. */
void pp_carry_by(const struct pp_coord_ops *ops);
/* 1: agreed; 0, -EAGAIN: not yet, or a later request has come; -EPIPE: never. Keeps the answer for later calls. */
int pp_carry(uint32_t number, int64_t here, int64_t *ret_highest);
/* Is a poll due? Each one tests the operation, in which MPI may do other work and yield the processor, so a rank that waits
 * long must not pay in every call. Due once per step, at its first MPI call, or at its mark where the step before had none;
 * after the 64th step at one step in nine; and at the 16th, 32nd, 64th ... call. */
int pp_carry_is_due(uint32_t number, int at_mark, int64_t here);
