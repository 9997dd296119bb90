/* Computes a pair of clocks from two hosts' readings. Called by doctor_clock_lead.c. */
#include "launchers/doctor/doctor_clock_pair.h"

#include <math.h>
#include <stdlib.h>

#include "aggregate/keeper/clock/clock_identity.h"
#include "core/base/tick.h"

static const double SLEW = 1e-3; /* of a date between two readings of it; NTP's most is half of that */

/* Do both claim the same clock? */
static int is_same(const struct pp_wire_doctor_host *a, const struct pp_wire_doctor_host *b)
{
	struct pp_wire_clock one = {a->boot_id, a->timens, a->tick_kind}, other = {b->boot_id, b->timens, b->tick_kind};

	return a->boot_id[0] && pp_clock_is_same(&one, &other);
}

struct raw_time { /* CLOCK_MONOTONIC_RAW of a host at one of its ticks: whole ns and a rest */
	int64_t ns;
	double rest, error;
};

static struct raw_time raw_at(const struct pp_wire_doctor_reading *r, uint32_t kind, int64_t tick)
{
	double behind;

	if (kind == PP_TICK_RAW)
		return (struct raw_time){tick, 0, 0};
	behind = (double)(tick - r->tick) / r->ticks_per_ns;
	return (struct raw_time){r->raw_ns, behind, (double)r->width_ns + fabs(behind) * r->rate_error};
}

/* What b counts less what a does, where the last burst was. */
static void set_offset(const struct pp_wire_doctor_raw *raw, const struct pp_wire_doctor_host *host,
                       const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *p)
{
	size_t last = raw->nodes - 1;
	struct raw_time a, b;

	p->offset_error_ns = raw->half[last] / read[p->a].ticks_per_ns;
	if (p->verdict == PP_DOCTOR_ONE) { /* the same ticks: their difference, whatever they count */
		p->offset_ns = llround((double)(raw->x[last] - raw->y[last]) / read[p->a].ticks_per_ns);
		return;
	}
	a = raw_at(&read[p->a], host[p->a].tick_kind, raw->y[last]);
	b = raw_at(&read[p->b], host[p->b].tick_kind, raw->x[last]);
	p->offset_ns = b.ns - a.ns + llround(b.rest - a.rest);
	p->offset_error_ns += a.error + b.error;
}

static void set_drift(const struct pp_wire_doctor_raw *raw, const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *p)
{
	double a_ns, b_ns;

	if (raw->nodes < 2 || raw->y[1] <= raw->y[0])
		return;
	a_ns = (double)(raw->y[1] - raw->y[0]) / read[p->a].ticks_per_ns;
	b_ns = (double)(raw->x[1] - raw->x[0]) / read[p->b].ticks_per_ns;
	p->has_drift = 1;
	p->drift_ppm = (b_ns / a_ns - 1) * 1e6;
	p->drift_error_ppm = (raw->half[0] + raw->half[1]) / read[p->a].ticks_per_ns / a_ns * 1e6;
	if (p->verdict != PP_DOCTOR_ONE)
		p->drift_error_ppm += (read[p->a].rate_error + read[p->b].rate_error) * 1e6;
}

/* The date of b less that of a at the same instant: b's reading stands at a tick of a, whose own reading is some ms away. */
static void set_date(const struct pp_wire_doctor_raw *raw, const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *p)
{
	const struct pp_wire_doctor_reading *a = &read[p->a], *b = &read[p->b];
	double behind;

	if (raw->date_y_bound == INT64_MAX)
		return;
	behind = (double)(raw->date_y - a->date_tick) / a->ticks_per_ns;
	p->has_date = 1;
	p->date_ns = (double)(b->date_ns - a->date_ns) - behind;
	p->date_error_ns = a->date_half / a->ticks_per_ns + b->date_half / b->ticks_per_ns +
	                   (double)raw->date_y_bound / a->ticks_per_ns + fabs(behind) * SLEW + 1;
}

void pp_doctor_pair_make(const struct pp_wire_doctor_raw *raw, uint32_t a, uint32_t b, const struct pp_wire_doctor_host *host,
                         const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *ret_pair)
{
	struct pp_doctor_pair p = {.a = a, .b = b, .verdict = PP_DOCTOR_UNREACHED};
	double tick = read[p.a].ticks_per_ns;

	p.trips = raw->trips;
	p.lost = raw->lost;
	if (raw->nodes && raw->bound < INT64_MAX && tick > 0 && read[p.b].ticks_per_ns > 0) {
		p.verdict = PP_DOCTOR_TWO;
		if (is_same(&host[p.a], &host[p.b]))
			p.verdict = raw->two ? PP_DOCTOR_FALSE : PP_DOCTOR_ONE;
		set_offset(raw, host, read, &p);
		set_drift(raw, read, &p);
		set_date(raw, read, &p);
		p.half_ns = raw->least / tick;
		p.bound_ns = (double)raw->bound / tick;
		if (p.offset_error_ns > p.bound_ns)
			p.bound_ns = p.offset_error_ns;
	}
	*ret_pair = p;
}
