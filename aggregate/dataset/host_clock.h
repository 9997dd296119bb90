/* What is known of one host's clock in one window, as part of pp_dataset. In: the keeper's exchange and its readings of the wall
 * clock, in the host's ticks. Out: /clock of pod.h5, the clock's part of report and summary, bounds of comparisons, all in job ns.
 * Filled by the host's own keeper (session/clock_metadata.c), merged by rank 0's. Owns its memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PP_BOUND_UNKNOWN INT64_MAX

struct pp_clock_sample { /* one burst of round trips with the parent */
	int64_t time_ns;
	int64_t half_ns;        /* half of the interval that the burst leaves */
	int64_t residual_ns;    /* its middle less the straight line through the first and the last sample of the host */
	int64_t t1, t2, t3, t4; /* of the shortest trip: sent by this host, came and left there, came here; ticks of each */
	int32_t trips;
	uint32_t flags; /* enum pp_band_flags, of what follows it */
};

struct pp_clock_stretch { /* the bound over time: parabola between two samples, see struct pp_clock_piece */
	int64_t begin_ns, end_ns;
	int64_t bound_begin_ns, bound_end_ns, bound_hump_ns; /* |error| at part f: begin + (end - begin) f + 4 hump f (1 - f) */
	uint32_t flags;
};

struct pp_wall_pair {                          /* the host's date at an instant */
	int64_t time_ns, realtime_ns, half_ns; /* half_ns: |error| of it, against the host's own clock */
};

struct pp_wall_change {
	int64_t from_ns, to_ns; /* it happened in between */
	int64_t by_ns, error_ns;
	int8_t event; /* enum pp_wall_event */
};

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
	struct pp_clock_sample *sample;
	size_t samples;
	struct pp_clock_stretch *stretch; /* in order, without gaps inside the window; none: bound_ns all the time */
	size_t stretches;
	struct pp_wall_pair *pair;
	size_t pairs;
	struct pp_wall_change *change; /* that may have happened in the window */
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
/* Owns its memory, as `c` does. -ENOMEM: nothing is to be released. */
int pp_host_clock_copy(const struct pp_host_clock *c, struct pp_host_clock *ret_copy);
void pp_host_clock_release(struct pp_host_clock *c);
