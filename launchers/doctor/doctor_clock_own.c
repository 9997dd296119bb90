/* Describes a host's own clock, and computes a pair from two hosts' readings. Called by doctor_clock.c and doctor_clock_lead.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/clock/clock_socket.h"
#include "aggregate/keeper/host/wall_claim.h"
#include "core/base/now.h"
#include "core/base/proc.h"
#include "launchers/doctor/doctor_clock.h"

enum { READINGS = 2000, BATCHES = 5, RATE_NAP_MS = 5 };
static const double SLEW = 1e-3; /* of a date between two readings of it; NTP's most is half of that */

static void read_timens(char *text, size_t size)
{
	char raw[256];
	long long seconds = 0, ns = 0;
	const char *at;

	pp_proc_read("/proc/self/timens_offsets", raw, sizeof(raw));
	at = strstr(raw, "monotonic");
	if (at && sscanf(at, "monotonic %lld %lld", &seconds, &ns) == 2 && (seconds || ns))
		snprintf(text, size, "%+lld.%09lld s", seconds, ns);
	else
		text[0] = '\0';
}

static void read_why(char *text, size_t size)
{
	char source[64] = "unknown";
	const char *forced = getenv("PODPROF_TICK");

	pp_proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
	source[strcspn(source, "\n")] = '\0';
	if (pp_tick_kind != PP_TICK_RAW)
		snprintf(text, size, "the kernel uses it");
	else if (forced && !strcmp(forced, "raw"))
		snprintf(text, size, "set by PODPROF_TICK");
	else
		snprintf(text, size, "the kernel uses %s", *source ? source : "another clock");
}

static int64_t tick_of(uint32_t kind)
{
	return (int64_t)pp_tick_read((enum pp_tick_kind)kind);
}

/* The smallest step between two readings, and what a reading of a source costs at its cheapest. */
static void measure(struct pp_wire_doctor_host *h)
{
	double least = DBL_MAX, cost = DBL_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		int64_t before = tick_of(h->tick_kind), began, took;
		pp_tick sum = 0;

		for (int i = 0; i < READINGS; i++) {
			int64_t now = tick_of(h->tick_kind);

			if (now > before && (double)(now - before) < least)
				least = (double)(now - before);
			before = now;
		}
		began = (int64_t)pp_tick_raw();
		for (int i = 0; i < READINGS; i++)
			sum += pp_tick_now();
		took = (int64_t)pp_tick_raw() - began;
		if (sum && (double)took / READINGS < cost)
			cost = (double)took / READINGS;
	}
	h->resolution_ns = least < DBL_MAX ? least / h->ticks_per_ns : 0;
	h->cost_ns = cost;
}

void pp_doctor_host_read(const struct pp_job *job, struct pp_wire_doctor_host *ret_host)
{
	struct pp_clock_socket probe = {.fd = -1, .kernel_stamps = 1};
	struct pp_wire_doctor_host *h = ret_host;
	struct pp_wall_claim claim = {.synchronised = 0};
	struct pp_clock_pair a, b;

	pp_tick_init();
	*h = (struct pp_wire_doctor_host){.rank = job->rank, .local_size = job->local_size, .tick_kind = pp_tick_kind};
	gethostname(h->name, sizeof(h->name) - 1);
	pp_proc_read("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof(h->boot_id));
	h->boot_id[strcspn(h->boot_id, "\n")] = '\0';
	read_timens(h->timens, sizeof(h->timens));
	read_why(h->why, sizeof(h->why));
	pp_clock_read_pair((enum pp_tick_kind)h->tick_kind, &a);
	pp_nap_ms(RATE_NAP_MS);
	pp_clock_read_pair((enum pp_tick_kind)h->tick_kind, &b);
	h->ticks_per_ns = pp_clock_rate((enum pp_tick_kind)h->tick_kind, &a, &b);
	measure(h);
	h->claims = !pp_wall_claim(&claim);
	h->synchronised = claim.synchronised;
	h->error_ns = claim.error_ns;
	h->error_most_ns = claim.error_most_ns;
	h->frequency_ppb = claim.frequency_ppb;
	if (pp_wall_claim_sees_host())
		pp_wall_claim_by("/proc", "/dev", h->by);
	else
		pp_wall_claim_by(NULL, NULL, h->by);
	if (!pp_clock_socket_open(&probe, "127.0.0.1", 0, 0, NULL))
		h->stamps = probe.kernel_stamps;
	pp_clock_socket_close(&probe);
}

int pp_doctor_host_same(const struct pp_wire_doctor_host *a, const struct pp_wire_doctor_host *b)
{
	return a->boot_id[0] && a->tick_kind == b->tick_kind && !strcmp(a->boot_id, b->boot_id) &&
	       (a->tick_kind != PP_TICK_RAW || !strcmp(a->timens, b->timens));
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

void pp_doctor_pair_make(const struct pp_wire_doctor_raw *raw, const struct pp_wire_doctor_host *host,
                         const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *ret_pair)
{
	struct pp_doctor_pair p = {.a = raw->parent, .b = raw->child, .verdict = PP_DOCTOR_UNREACHED};
	double tick = read[p.a].ticks_per_ns;

	p.trips = raw->trips;
	p.lost = raw->lost;
	if (raw->nodes && raw->bound < INT64_MAX && tick > 0 && read[p.b].ticks_per_ns > 0) {
		p.verdict = PP_DOCTOR_TWO;
		if (pp_doctor_host_same(&host[p.a], &host[p.b]))
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
