/* Describes a host's own clock. Called by doctor_clock.c and doctor_alone.c. */
#include "launchers/doctor/doctor_clock_own.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/clock/clock_socket.h"
#include "aggregate/keeper/host/wall_claim.h"
#include "core/base/proc.h"
#include "core/clock/wall_read.h"

enum { READINGS = 2000, BATCHES = 5 };

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
	struct pp_clock_pair first;

	pp_tick_init();
	*h = (struct pp_wire_doctor_host){.rank = job->rank, .local_size = job->local_size, .tick_kind = pp_tick_kind};
	gethostname(h->name, sizeof(h->name) - 1);
	pp_proc_read("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof(h->boot_id));
	h->boot_id[strcspn(h->boot_id, "\n")] = '\0';
	read_timens(h->timens, sizeof(h->timens));
	read_why(h->why, sizeof(h->why));
	h->ticks_per_ns = pp_clock_link_rate((enum pp_tick_kind)h->tick_kind, &first);
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
