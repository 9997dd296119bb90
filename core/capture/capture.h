/* pp_capture: all that one keeper, or one reader of files, has of its ranks. In: aggregate/read. Out: the clock, the steps and
 * aggregate/analyze. Structs of spans and side arrays: core/capture/{span,thread,side}.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/rank.h"

struct pp_intern; /* core/ring/intern.h */

struct pp_capture { /* all ranks this keeper (or reader) has */
	struct pp_intern *names;
	struct pp_intern *payloads; /* texts of payloads; NULL where there are none */
	struct pp_rank *rank;       /* ordered by rank */
	size_t ranks;
	int32_t ranks_asked;       /* world size */
	int64_t epoch_realtime_ns; /* realtime at job ns 0 */
	int64_t memory_period_ns;  /* intended period of memory samples, the last one; 0: none */
};

struct pp_time_mapper {
	/* Maps times in place, each `stride` bytes behind the one before; fast for sorted ones. */
	void (*map)(const void *context, int64_t *time, size_t times, size_t stride);
	const void *context;
};

/* Maps every time of the rank in place from ticks: of spans, threads, side arrays, horizon, open_tick and recorded_*. */
void pp_rank_map_times(struct pp_rank *rank, const struct pp_time_mapper *mapper);
/* Adds `by` to the same times, which are mapped already. */
void pp_rank_shift(struct pp_rank *rank, int64_t by);
/* pp_thread_list_others() of each thread. */
void pp_rank_list_others(struct pp_rank *rank);
/* Frees threads and side arrays; the rank's values stay. */
void pp_rank_release(struct pp_rank *rank);
/* The rank of that number; NULL: the capture has none. */
struct pp_rank *pp_capture_rank(const struct pp_capture *c, int32_t number);
/* Frees all, also of a capture that is half made; it is empty then. */
void pp_capture_release(struct pp_capture *c);
