/* When collectives were complete. In: a rank's calls and the work of its backend, by begin. Internal to aggregate/read. */
#pragma once

#include "aggregate/read/torch/c10d_private.h"

/* Sets call[].done, in job ns; C10D_UNKNOWN stays where it is unknown which work is the call's. -ENOMEM. */
int c10d_end(struct c10d *c);
