/* Orders times that nearly stand in order already. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_order_key {
	int64_t ns;
	uint32_t id, other; /* other: the caller's */
};

/* By ns, then by id. 0, or -ENOMEM. */
int pp_order_sort(struct pp_order_key *key, size_t n);
