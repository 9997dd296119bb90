/* When the records of a rank's devices are not all that the devices did. In: calls that launch, what they ran, when the devices'
 * library was on. Out: gaps, pp_rank.gap. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;

struct pp_cover_launch { /* one that launches kernels or a graph, with the calls inside it */
	int64_t begin, end;
	int64_t start;     /* of the first operation that it ran; INT64_MIN: none was recorded */
	uint32_t stream;   /* thread of the rank that has this operation */
	uint32_t name;     /* pp_intern id */
	uint8_t is_launch; /* else it copies or sets: records of these are not due */
};

/* Replaces the rows of pp_rank.gap that the reader made, of when the library was on, by the gaps. `launch` is sorted here. 0, or
 * -ENOMEM. */
int pp_device_cover(struct pp_rank *rank, struct pp_cover_launch *launch, size_t launches);
