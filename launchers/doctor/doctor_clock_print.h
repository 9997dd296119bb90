/* The text and the JSON of podprof doctor --clock. Called by doctor_clock.c, doctor_clock_lead.c and doctor_alone.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launchers/doctor/doctor_clock_pair.h"

struct pp_doctor_table {
	const struct pp_wire_doctor_host *host;
	size_t hosts;
	const struct pp_doctor_pair *pair;
	size_t pairs;
	const char *missing; /* hosts that did not connect, as text; "" */
	size_t beyond;       /* hosts that connected beyond the limit */
	uint16_t door;       /* TCP port where rank 0 waited for them, for wait_s */
	double patience_s;
	const char *transport; /* how they found each other */
	int rounds;
	double took_s, over_s; /* all of it; between the first burst and the last */
	int json;
};

/* Prints to stdout; the exit code: failed where a pair was not compared or a host is missing. */
int pp_doctor_clock_print(const struct pp_doctor_table *t);
/* The same for one host, and why it is alone. */
int pp_doctor_clock_print_alone(const struct pp_wire_doctor_host *host, const char *why_alone, int json);
