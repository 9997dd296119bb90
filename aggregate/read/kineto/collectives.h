/* Makes annotations and communicators of the collectives that a file describes. Called by finish.c. */
#pragma once

#include "aggregate/read/kineto/state.h"

/* Sets annotation and comm of the rank, whose main thread is known. 0, or -ENOMEM. */
int pp_kineto_collectives(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track);
