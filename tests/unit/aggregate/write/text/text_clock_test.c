/* What people are told of clocks: the Clock part of the summary word by word, the warnings of /quality, and who waited for whom
 * where the bounds of the clocks are larger than the waiting. */
#include <stdlib.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/analyze/clock_text.h"
#include "aggregate/tools/answer.h"
#include "aggregate/write/text/text.h"
#include "aggregate/write/text/text_clock.h"
#include "aggregate/write/text/text_table.h"
#include "core/clock/band.h"
#include "core/clock/wall.h"
#include "tests/test.h"
#include "tests/unit/aggregate/finding_kit.h"

enum { HOSTS = 12, MS = 1000000 };

#define UNKNOWN PP_BOUND_UNKNOWN

struct made {
	struct pp_dataset d;
	struct pp_row_worker worker[HOSTS];
	struct pp_row_host_clock clock[HOSTS];
	struct pp_row_clock_change change[6];
	struct pp_row_clock_sample sample[2];
	struct pp_row_cell cell[HOSTS];
	struct pp_late late[HOSTS];
};

/* A rank on each of n hosts; the first is rank 0's. */
static void make(struct made *m, size_t n)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < n; i++) {
		snprintf(m->clock[i].name, sizeof(m->clock[i].name), "h%zu", i);
		snprintf(m->clock[i].own, sizeof(m->clock[i].own), "boot%zu", i);
		m->clock[i].hops = i > 0;
		m->clock[i].trips = 50;
		m->clock[i].sample = m->sample;
		m->clock[i].samples = 2;
		m->clock[i].host_drift_error_ppb = i ? 1000 : 0;
		m->clock[i].host_bound_ns = (int64_t)i * 1000;
		m->worker[i] = (struct pp_row_worker){.rank = (int32_t)i, .host_clock = (uint32_t)i + 1, .own_bound_ns = 40};
		snprintf(m->worker[i].status, sizeof(m->worker[i].status), "delivered");
	}
	m->sample[0] = (struct pp_row_clock_sample){.time_ns = -1000 * (int64_t)MS, .half_ns = 3000};
	m->sample[1] = (struct pp_row_clock_sample){.time_ns = 4000 * (int64_t)MS, .half_ns = 2000};
	m->d = (struct pp_dataset){.worker = m->worker,
	                           .workers = n,
	                           .host_clock = m->clock,
	                           .host_clocks = n,
	                           .window_begin_ns = 100 * MS,
	                           .window_end_ns = 5100 * (int64_t)MS};
}

static void check_said(struct made *m, const char *want)
{
	char *text = NULL;
	size_t size = 0, lines = 0;
	FILE *to = open_memstream(&text, &size);

	CHECK_INT(pp_dataset_pair_bound(&m->d), 0);
	pp_text_clock(&m->d, to);
	fclose(to);
	CHECK_STR(text, want);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	CHECK(lines <= PP_TEXT_CLOCK_LINES);
	free(text);
}

static void leave_out(struct made *m, size_t host)
{
	m->clock[host].host_bound_ns = UNKNOWN;
	m->clock[host].samples = 0;
	m->worker[host].domain = (int32_t)host;
	m->worker[host].bound_ns = UNKNOWN;
}

TEST(one_host_is_one_quiet_line)
{
	struct made m;

	make(&m, 1);
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns\n");
	m.clock[0].claim = (struct pp_clock_claim){1, 1, 1200000, 15000000, 0, "kernel, chronyd"};
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns. Wall clock NTP-synchronised (kernel, "
	               "chronyd: error about 1.20 ms, at most 15.0 ms); affects absolute dates only\n");
	m.clock[0].claim.synchronised = 0;
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns. Wall clock not NTP-synchronised "
	               "(kernel, chronyd); affects absolute dates only\n");
	m.d.host_clocks = 0;
	m.worker[0].host_clock = 0;
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns\n");
	m.worker[0].own_bound_ns = 0; /* of a file of another profiler */
	check_said(&m, "  Clock:      one rank, one clock\n");
	make(&m, 3); /* containers of one kernel */
	for (size_t i = 0; i < 3; i++) {
		snprintf(m.clock[i].own, sizeof(m.clock[i].own), "boot");
		m.clock[i].host_bound_ns = 0;
	}
	check_said(&m, "  Clock:      all ranks share one clock, clock error <= 40 ns\n");
	m.d.ranks_delivered = 1; /* of the others nothing is known */
	check_said(&m, "  Clock:      only one rank delivered data: one clock, clock error <= 40 ns\n");
}

TEST(several_hosts)
{
	struct made m;

	make(&m, 4);
	m.clock[1].host_drift_ppb = -12100;
	m.clock[2].host_drift_ppb = 3402;
	m.clock[3].host_drift_ppb = 7;
	m.d.causality = (struct pp_causality){.pairs = 12340, .inverted = 3};
	for (size_t i = 0; i < 4; i++)
		m.clock[i].claim = (struct pp_clock_claim){i != 3, i != 2, (int64_t)(i + 1) * MS, 20 * MS, 0, "kernel"};
	check_said(&m, "  Clock:      4 clocks on 4 hosts, clock error between any two ranks <= 5.04 us; to rank 0's host "
	               "<= 3.00 us (h3), <= 2.00 us (h2)\n"
	               "              drift against rank 0's host: h1 +12.1 ppm (error <= 1.0), h3 +0.0 ppm (error <= 1.0), "
	               "h2 -3.4 ppm (error <= 1.0)\n"
	               "              causality: 0 of 12 340 exits from collectives precede a needed arrival by more than "
	               "the clock error, 3 by less; messages are not checked\n"
	               "              Wall clocks NTP-synchronised on 2 of 4 hosts (kernel, worst on h1: error about 2.00 "
	               "ms, at most 20.0 ms); affects absolute dates only\n");
}

TEST(all_that_can_be_wrong)
{
	struct made m;

	make(&m, HOSTS);
	for (size_t i = 1; i < HOSTS; i++)
		m.clock[i].host_drift_ppb = 6000 - 1000 * (int64_t)i;
	leave_out(&m, 9);
	m.clock[9].trips = 0;
	m.clock[9].lost = 70;
	leave_out(&m, 10);
	leave_out(&m, 11);
	m.clock[11].trips = 0;
	m.change[0] = (struct pp_row_clock_change){0, 2100 * (int64_t)MS, 3100 * (int64_t)MS, -2 * MS, 3000, PP_WALL_STEPPED};
	m.change[1] = (struct pp_row_clock_change){0, 0, 700 * MS, 30 * MS, 3000, PP_WALL_SUSPENDED};
	m.change[2] = m.change[0];
	m.clock[2].change = m.change;
	m.clock[2].changes = 3;
	m.d.causality = (struct pp_causality){.pairs = 100, .violated = 2, .worst_ns = 1500};
	check_said(&m, "  Clock:      12 clocks on 12 hosts, clock error between compared ranks <= 15.0 us; to rank 0's "
	               "host <= 8.00 us (h8), <= 7.00 us (h7)\n"
	               "              drift against rank 0's host: h8 +2.0 ppm (error <= 1.0), h7 +1.0 ppm (error <= 1.0), "
	               "4 more between, h2 -4.0 ppm (error <= 1.0), h1 -5.0 ppm (error <= 1.0)\n"
	               "              not compared with rank 0's host: h9 (no reply to 70 UDP packets), h10 (none of 50 "
	               "replies arrived before the window was written) and 1 more in pod.h5; waiting for their ranks is "
	               "unknown\n"
	               "              causality: 2 of 100 exits from collectives precede a needed arrival by more than the "
	               "clock error, at most by 1.50 us; messages are not checked\n"
	               "              the wall clock of host h2 was set by -2.00 ms, between 2.00 s and 3.00 s of the "
	               "window (error <= 3.00 us); host h2 was suspended for 30.0 ms, before 600 ms of the window (error <= "
	               "3.00 us); 1 more\n");
	pp_quality_warn_clocks(&m.d);
	CHECK_INT(m.d.warnings, 3 + 3 + 1);
	CHECK_STR(m.d.warning[0].warning,
	          "clock: the clock of host h9 could not be compared with that of rank 0's host: no reply to 70 "
	          "UDP packets");
	CHECK_STR(m.d.warning[3].warning, "clock: the wall clock of host h2 was set by -2.00 ms, between 2.00 s and 3.00 s of the "
	                                  "window (error <= 3.00 us)");
	CHECK_STR(m.d.warning[6].warning,
	          "clock: 2 of 100 collective calls ended before the last rank arrived, by up to 1.50 us more than the "
	          "clock error allows");
	free(m.d.warning);
}

/* As many decimals as the error leaves. */
TEST(error_of_a_drift)
{
	struct made m;

	make(&m, 3);
	m.clock[1].host_drift_ppb = -700;
	m.clock[1].host_drift_error_ppb = PP_BOUND_UNKNOWN;
	m.clock[2].host_drift_ppb = 1; /* of job time against it */
	m.clock[2].host_drift_error_ppb = 21;
	check_said(&m, "  Clock:      3 clocks on 3 hosts, clock error between any two ranks <= 3.04 us; to rank 0's host "
	               "<= 2.00 us (h2), <= 1.00 us (h1)\n"
	               "              drift against rank 0's host: h1 about +1 ppm, h2 -0.001 ppm (error <= 0.021)\n"
	               "              causality: not checked, since no collective of all its ranks spans two compared clocks\n");
}

TEST(why_it_is_not_joined)
{
	struct pp_row_clock_sample sample = {.sample_flags = PP_BAND_BROKEN};
	struct pp_row_host_clock c = {.trips = 50, .sample = &sample, .samples = 1};
	char text[PP_CLOCK_TEXT];

	CHECK(strstr(pp_clock_why(&(struct pp_dataset){.workers = 0}, &c, text), "jumped or changed rate") != NULL);
	sample.sample_flags = 0;
	CHECK_STR(pp_clock_why(&(struct pp_dataset){.workers = 0}, &c, text), "50 replies do not cover the whole window");
	c.impossible = 50;
	CHECK_STR(pp_clock_why(&(struct pp_dataset){.workers = 0}, &c, text), "50 of 50 replies carried inconsistent timestamps");
}

TEST(nothing_was_compared)
{
	struct made m;

	make(&m, 2);
	leave_out(&m, 1);
	check_said(&m, "  Clock:      2 clocks on 2 hosts, not compared; clock error within one of them <= 40 ns\n"
	               "              not compared with rank 0's host: h1 (none of 50 replies arrived before the window was "
	               "written); waiting for their ranks is unknown\n"
	               "              causality: not checked, since no collective of all its ranks spans two compared clocks\n");
}

static void said_of(struct made *m, const char *want)
{
	char text[PP_CLOCK_LAST];

	CHECK_INT(pp_clock_last_compared(&m->d, text) > 0, want != NULL);
	if (want)
		CHECK_STR(text, want);
}

/* Comparisons ended before the records: in a live job some were missed; in salvage none follows the death of the keeper. */
TEST(last_compared)
{
	struct pp_row_clock_stretch stretch[HOSTS];
	struct made m;

	make(&m, 4);
	for (size_t i = 1; i < 4; i++) {
		stretch[i] = (struct pp_row_clock_stretch){
		        .end_ns = (4000 + 1000 * (int64_t)i) * MS, .bound_begin_ns = 2000, .bound_end_ns = 9100 * (int64_t)i};
		m.clock[i].stretch = &stretch[i];
		m.clock[i].stretches = 1;
	}
	said_of(&m, NULL);
	stretch[2].end_ns = 11000 * (int64_t)MS;
	said_of(&m, "the clock of host h2 was last compared 7.00 s before its last step or call: clock error <= 18.2 us there");
	snprintf(m.worker[1].status, sizeof(m.worker[1].status), "salvaged");
	stretch[3].end_ns = 3000 * (int64_t)MS; /* compared after its last record */
	said_of(&m, "the clocks of hosts h1, h2 were last compared 7.00 s before their last record: clock error <= 18.2 us there");
	check_said(&m, "  Clock:      4 clocks on 4 hosts, clock error between any two ranks <= 5.04 us; to rank 0's host "
	               "<= 3.00 us (h3), <= 2.00 us (h2)\n"
	               "              drift against rank 0's host: h1 +0.0 ppm (error <= 1.0), h2 +0.0 ppm (error <= 1.0), "
	               "h3 +0.0 ppm (error <= 1.0)\n"
	               "              the clocks of hosts h1, h2 were last compared 7.00 s before their last record: "
	               "clock error <= 18.2 us there\n"
	               "              causality: not checked, since no collective of all its ranks spans two compared clocks\n");
	m.clock[2].host_bound_ns = UNKNOWN; /* not joined: nothing is said of its error */
	said_of(&m, "the clock of host h1 was last compared 1.00 s before its last record: clock error <= 9.10 us there");
}

/* Salvage of one host of several. */
TEST(alone)
{
	struct made m;

	make(&m, 1);
	snprintf(m.worker->host, sizeof(m.worker->host), "h0");
	m.d.host_clocks = 0;
	m.worker->host_clock = 0;
	m.d.ranks_asked = 2;
	m.d.ranks_delivered = 1;
	m.worker->records = 1;
	snprintf(m.worker->status, sizeof(m.worker->status), "salvaged");
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns; no other host is in this session\n");
	m.d.ranks_asked = 1;
	check_said(&m, "  Clock:      one rank, one clock, clock error <= 40 ns\n");
}

/* Rank 1 kept the others waiting 2 ms in all. */
static void waited(struct made *m, int64_t error)
{
	static struct pp_row_step number = {4};

	make(m, 3);
	m->d.steps = 1;
	m->d.step = &number;
	m->d.cell = m->cell;
	m->d.late = m->late;
	for (size_t i = 0; i < 3; i++) {
		m->cell[i] = (struct pp_row_cell){.present = 1,
		                                  .step_ns = 4 * MS,
		                                  .end_ns = 4 * MS,
		                                  .wait_ns = i == 1 ? 0 : MS,
		                                  .late_ns = i == 1 ? 2 * MS : 0,
		                                  .late_error_ns = i == 1 ? error : 0};
		m->cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = i == 1 ? 0 : MS;
		m->cell[i].exclusive_ns[PP_CATEGORY_HOST_COMPUTE] = i == 1 ? 4 * MS : 3 * MS;
	}
	m->late[0] = (struct pp_late){.rank = 1, .wait_ns = 2 * MS, .error_ns = error, .steps = 1};
	m->late[1].rank = 0;
	m->late[2].rank = 2;
}

TEST(tie_below_the_bounds)
{
	struct pp_row_finding first;
	struct made m;

	waited(&m, 2 * MS);
	m.d.pair_bound_ns = 2 * MS;
	CHECK(findings_of(&m.d, &first, 1) == 1);
	CHECK_INT(first.kind, PP_FINDING_CATEGORY);
	CHECK(strstr(first.finding, "The late rank cannot be identified: the differences are smaller than the clock error") !=
	      NULL);
}

int main(void)
{
	one_host_is_one_quiet_line();
	several_hosts();
	all_that_can_be_wrong();
	error_of_a_drift();
	why_it_is_not_joined();
	nothing_was_compared();
	last_compared();
	alone();
	tie_below_the_bounds();
	return test_end();
}
