/* What is known of one host's clock in one window, as part of pp_dataset. In: the keeper's exchange and its readings of the wall
 * clock, in the host's ticks. Out: /clock of pod.h5, the clock's part of report and summary, bounds of comparisons, all in job ns.
 * Filled by the host's own keeper (session/clock_metadata.c), merged by rank 0's. Owns its memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

#define PP_BOUND_UNKNOWN INT64_MAX

struct pp_clock_claim { /* what NTP or PTP on the host says of the date; shown, not believed */
	int8_t known, synchronised;
	int64_t error_ns, error_most_ns, frequency_ppb;
	char by[64]; /* "kernel", and the daemon where one is seen to run: "kernel, chronyd" */
};

struct pp_host_clock {
	char host[72];     /* as pp_worker.host */
	char own[256];     /* its own clock's name (pp_rings_name_clock()): hosts with equal names count the same ticks */
	char parent[72];   /* host that it was compared with; "": it is rank 0's, the same clock, or none */
	int32_t hops;      /* to rank 0's; 0 where the clock is that one */
	int64_t offset_ns; /* at the window's begin: job ns less this host's own ns since its boot */
	/* Rate of job time against its own, less 1: the mean from its first comparison to its last. |error|; PP_BOUND_UNKNOWN:
	 * there are no two. */
	int64_t drift_ppb, drift_error_ppb;
	int64_t bound_ns; /* the largest |error| of its times in the window against job time; PP_BOUND_UNKNOWN: not joined */
	/* A keeper's: its own, to be released. A dataset's: of its tables, pp_dataset_link_clocks(). */
	struct pp_row_clock_sample *sample; /* bursts of round trips with the parent; flags: enum pp_band_flags, of what follows */
	size_t samples;
	struct pp_row_clock_stretch *stretch; /* in order, without gaps inside the window; none: bound_ns all the time */
	size_t stretches;
	struct pp_row_clock_wall *pair;
	size_t pairs;
	struct pp_row_clock_change *change; /* that may have happened in the window; event: enum pp_wall_event */
	size_t changes;
	uint64_t changes_lost; /* seen and not kept */
	struct pp_clock_claim claim;
	/* What the comparing took, since the keeper began. */
	uint64_t rounds, trips, lost, impossible, foreign;
	int64_t round_ns; /* rank 0's: the last round, of all hosts; 0 elsewhere */
	int64_t cpu_ns;   /* of the thread that compares */
};

/* |error| of this host's time at job time `time_ns` against job time; PP_BOUND_UNKNOWN: not known. */
int64_t pp_host_clock_bound(const struct pp_host_clock *c, int64_t time_ns);
void pp_host_clock_release(struct pp_host_clock *c);
