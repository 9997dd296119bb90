/* Reads the wall clock of this host and what disciplines it. Called by the keeper. In: the kernel. Out: samples for wall.h. */
#pragma once

#include "core/base/tick.h"
#include "core/clock/wall.h"

struct pp_wall_claim { /* what the host's NTP or PTP reports of the wall clock; shown to users, used for nothing */
	int synchronised;
	int64_t error_ns, error_most_ns; /* its estimate, and its own maximum */
	int64_t frequency_ppb;           /* correction that the kernel applies to the oscillator now */
};

/* Asks the kernel's clock discipline. -ENOTSUP: it does not answer. */
int pp_wall_claim(struct pp_wall_claim *ret_claim);
/* Reads this host's clocks at a tick of `kind`; the narrowest of several readings. */
void pp_wall_glance(enum pp_tick_kind kind, struct pp_wall_sample *ret_sample);
void pp_wall_read(enum pp_tick_kind kind, struct pp_wall_sample *ret_sample);
