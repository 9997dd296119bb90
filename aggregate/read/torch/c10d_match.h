/* Gives calls of torch.distributed that have records of their own (core/source/torch) the ends of their operations. Called by
 * c10d.c. */
#pragma once

#include <stdint.h>

struct c10d;

/* Lists the rank's recorded calls in c->call and adds their requests, numbered from last_request + 1, to c->extra. *ret_any: there
 * are such calls, so ranges are only shown. -ENOMEM. */
int c10d_match(struct c10d *c, uint32_t last_request, int *ret_any);
