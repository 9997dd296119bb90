/* What a rank waits for. In: its calls, with their ends. Out: waits. Internal to aggregate/read. */
#pragma once

#include "aggregate/read/torch/c10d_private.h"

/* Adds waits as calls of their own, in extra[]. -ENOMEM. */
int c10d_wait(struct c10d *c);
