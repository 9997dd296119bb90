/* Two hosts' clocks as podprof doctor --clock prints them. Called by doctor_clock_lead.c and doctor_clock_print.c. Pure. In: what
 * the hosts measured, in ticks. Out: ns. */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/net/net.h"

enum { PP_DOCTOR_HOSTS = 256 };

enum pp_doctor_verdict {
	PP_DOCTOR_TWO,       /* clocks */
	PP_DOCTOR_ONE,       /* both claim one clock, and no trip contradicts it */
	PP_DOCTOR_FALSE,     /* both claim one, and the trips prove two */
	PP_DOCTOR_UNREACHED, /* no packet came through */
	PP_DOCTOR_LOST,      /* one of the hosts did not report its results */
};

struct pp_doctor_pair { /* b less a */
	uint32_t a, b;
	enum pp_doctor_verdict verdict;
	int has_drift, has_date;
	int64_t offset_ns; /* a double would have no ns where a host is up for months */
	double offset_error_ns, drift_ppm, drift_error_ppm, half_ns, bound_ns, date_ns, date_error_ns;
	uint64_t trips, lost;
};

/* Of `raw`, what host b has measured of a; `host` and `read` are all hosts', by their index. UNREACHED where a reading or a burst
 * is missing. */
void pp_doctor_pair_make(const struct pp_wire_doctor_raw *raw, uint32_t a, uint32_t b, const struct pp_wire_doctor_host *host,
                         const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *ret_pair);
