/* Stage 6: makes a dataset of one keeper's ranks. In: a capture in job ns, its steps and their attribution. Out: pp_dataset,
 * whole or a part for merge.h. Called by the session. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_clock_map; /* core/clock/clock_map.h */

struct pp_dataset_input {
	const struct pp_capture *capture; /* in job ns */
	const struct pp_steps *steps;
	const struct pp_attr *attr; /* [capture->ranks] */
	const char *session, *job, *command, *options;
	int64_t asked_first, asked_last;
	int64_t bound_ns; /* of a difference of two times of one clock domain: pp_clock_map.bound_ns */
	int partial;      /* the capture has some hosts' ranks only: their parts are merged (merge.h), then finished (finish.h) */
	/* The maps from the capture's ticks to job ns, for parts: parts with one map, one clock (pp_rank.clock) and one
	 * capture->epoch_realtime_ns are merged into one domain. So a keeper that gets another keeper's map takes its epoch too.
	 * NULL: its ranks are joined with no other host's. */
	const struct pp_clock_map *clock, *other_clock; /* other_clock: of ranks with counts_other */
	const struct pp_row_host_clock *host_clock;     /* [host_clocks], pp_rank.host_clock has the number; copied */
	size_t host_clocks;
};

/* Fills every table that the input has data for. */
int pp_dataset_build(const struct pp_dataset_input *in, struct pp_dataset *ret_dataset, struct pp_err *err);
