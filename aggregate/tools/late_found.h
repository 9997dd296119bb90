/* What is known of a pattern of delays, before it has words. Filled by late_pattern.c and late_event.c, read by
 * straggler_class.c. */
#pragma once

#include "aggregate/tools/late_series.h"

enum pp_late_class { /* as the words of /straggler */
	             PP_LATE_NONE,
	             PP_LATE_RANK,
	             PP_LATE_HOST,
	             PP_LATE_ROLE,
	             PP_LATE_ROTATING,
	             PP_LATE_ONE_OFF,
	             PP_LATE_PERIODIC
};

struct pp_late_pattern {
	enum pp_late_class class;
	size_t rank;          /* index; of a host or role the lowest; SIZE_MAX: several */
	size_t ranks;         /* in it */
	int32_t role;         /* -1: none */
	int reason;           /* as in /blame; all_stall: category */
	int all_stall;        /* all ranks stall together: no rank waits */
	double ns;            /* waiting of all ranks that it explains; all_stall: their time */
	double each_ns;       /* how late it is in a step in which it is seen; of a rank: how much less it waits than its peers */
	size_t steps, of, at; /* seen in so many of so many steps; index of the first */
	size_t period;        /* rotating: 0 or steps after which a rank's turn comes again */
	double confidence;
};

enum { PP_LATE_PATTERNS = 256 };

struct pp_late_patterns {
	struct pp_late_pattern pattern[PP_LATE_PATTERNS];
	size_t patterns, left_out;
};

void pp_late_add(struct pp_late_patterns *to, const struct pp_late_pattern *p);
/* Reason with the largest weight. */
int pp_late_reason(const double weight[PP_REASONS]);
/* Share of the steps; noise of the other steps lowers it, and so do few steps. */
double pp_late_confidence(double share, double ns, double noise_ns, size_t steps);
/* A median step's delay. */
double pp_late_noise(struct pp_late_series *k);
