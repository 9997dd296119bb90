/* What people are told of clocks: the Clock part of the summary word by word, the warnings of /quality, and who waited for whom
 * where the bounds of the clocks are larger than the waiting. */
#include <stdlib.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/analyze/clock_text.h"
#include "aggregate/write/text/text.h"
#include "core/clock/band.h"
#include "core/clock/wall.h"
#include "tests/test.h"

enum { HOSTS = 12, MS = 1000000 };

#define UNKNOWN PP_BOUND_UNKNOWN

struct made {
	struct pp_dataset d;
	struct pp_worker worker[HOSTS];
	struct pp_host_clock clock[HOSTS];
	struct pp_row_clock_change change[6];
	struct pp_row_clock_sample sample[2];
	struct pp_cell cell[HOSTS];
	struct pp_late late[HOSTS];
};

/* A rank on each of n hosts; the first is rank 0's. */
static void make(struct made *m, size_t n)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < n; i++) {
		snprintf(m->clock[i].host, sizeof(m->clock[i].host), "h%zu", i);
		snprintf(m->clock[i].own, sizeof(m->clock[i].own), "boot%zu", i);
		m->clock[i].hops = i > 0;
		m->clock[i].trips = 50;
		m->clock[i].sample = m->sample;
		m->clock[i].samples = 2;
		m->clock[i].drift_error_ppb = i ? 1000 : 0;
		m->clock[i].bound_ns = (int64_t)i * 1000;
		m->worker[i] = (struct pp_worker){.rank = (int32_t)i, .host_clock = (uint32_t)i + 1, .own_bound_ns = 40};
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
	m->clock[host].bound_ns = UNKNOWN;
	m->clock[host].samples = 0;
	m->worker[host].domain = (int32_t)host;
	m->worker[host].bound_ns = UNKNOWN;
}

TEST(one_host_is_one_quiet_line)
{
	struct made m;

	make(&m, 1);
	check_said(&m, "  Clock     one clock: times of its ranks compare to 40 ns\n");
	m.clock[0].claim = (struct pp_clock_claim){1, 1, 1200000, 15000000, 0, "kernel, chronyd"};
	check_said(&m, "  Clock     one clock: times of its ranks compare to 40 ns; its date by its own word, not believed: "
	               "kernel, chronyd: "
	               "within 1.20 ms, "
	               "at most 15.0 ms\n");
	m.clock[0].claim.synchronised = 0;
	check_said(&m, "  Clock     one clock: times of its ranks compare to 40 ns; its date by its own word, not believed: "
	               "kernel, chronyd: not "
	               "synchronised\n");
	m.d.host_clocks = 0;
	m.worker[0].host_clock = 0;
	check_said(&m, "  Clock     one clock: times of its ranks compare to 40 ns\n");
	make(&m, 3); /* containers of one kernel */
	for (size_t i = 0; i < 3; i++) {
		snprintf(m.clock[i].own, sizeof(m.clock[i].own), "boot");
		m.clock[i].bound_ns = 0;
	}
	check_said(&m, "  Clock     one clock: times of its ranks compare to 40 ns\n");
}

TEST(several_hosts)
{
	struct made m;

	make(&m, 4);
	m.clock[1].drift_ppb = -12100;
	m.clock[2].drift_ppb = 3402;
	m.clock[3].drift_ppb = 7;
	m.d.causality = (struct pp_causality){.pairs = 12340, .inverted = 3};
	for (size_t i = 0; i < 4; i++)
		m.clock[i].claim = (struct pp_clock_claim){i != 3, i != 2, (int64_t)(i + 1) * MS, 20 * MS, 0, "kernel"};
	check_said(
	        &m,
	        "  Clock     4 clocks of 4 hosts; any two times compare to 5.04 us; off rank 0's by at most 3.00 us (h3), 2.00 us "
	        "(h2)\n"
	        "            drift against rank 0's +12.1 +- 1.0 ppm (h1), +0.0 +- 1.0 ppm (h3), -3.4 +- 1.0 ppm (h2)\n"
	        "            causality violated by 0 of 12 340 pairs checked; 3 more are inverted within the bounds; messages are "
	        "not "
	        "checked\n"
	        "            dates by the hosts' own word, not believed: kernel: within 2.00 ms, at most 20.0 ms (of 2 hosts, the "
	        "worst h1); 1 host not synchronised; 1 silent\n");
}

TEST(all_that_can_be_wrong)
{
	struct made m;

	make(&m, HOSTS);
	for (size_t i = 1; i < HOSTS; i++)
		m.clock[i].drift_ppb = 6000 - 1000 * (int64_t)i;
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
	check_said(&m, "  Clock     12 clocks of 12 hosts; any two times compare to 15.0 us, if joined; off rank 0's by at most "
	               "8.00 us (h8), "
	               "7.00 us (h7)\n"
	               "            drift against rank 0's +2.0 +- 1.0 ppm (h8), +1.0 +- 1.0 ppm (h7), 4 more between, -4.0 +- 1.0 "
	               "ppm (h2), "
	               "-5.0 +- 1.0 ppm (h1)\n"
	               "            not joined: h9 (no answer by UDP to 70 packets), h10 (none of 50 answers came before the "
	               "window was written) "
	               "and 1 more in pod.h5; nobody is said to wait for them\n"
	               "            causality violated by 2 of 100 pairs checked, by up to 1.50 us beyond the bounds, which are "
	               "wrong there; "
	               "messages are not checked\n"
	               "            the date of host h2 was set by -2.00 ms +- 3.00 us, between 2.00 s and 3.00 s of the window; "
	               "host h2 slept "
	               "for 30.0 ms +- 3.00 us, before 600 ms of the window; 1 more\n");
	pp_quality_warn_clocks(&m.d);
	CHECK_INT(m.d.warnings, 3 + 3 + 1);
	CHECK_STR(m.d.warning[0].text, "clock: host h9 is not joined with rank 0's: no answer by UDP to 70 packets");
	CHECK_STR(m.d.warning[3].text,
	          "clock: the date of host h2 was set by -2.00 ms +- 3.00 us, between 2.00 s and 3.00 s of the window");
	CHECK_STR(m.d.warning[6].text,
	          "clock: 2 of 100 exits from collectives are before an arrival on another clock by more than the "
	          "bounds of both, by up to 1.50 us");
	free(m.d.warning);
}

/* As many decimals as the error leaves. */
TEST(error_of_a_drift)
{
	struct made m;

	make(&m, 3);
	m.clock[1].drift_ppb = -700;
	m.clock[1].drift_error_ppb = PP_BOUND_UNKNOWN;
	m.clock[2].drift_ppb = 1; /* of job time against it */
	m.clock[2].drift_error_ppb = 21;
	check_said(&m,
	           "  Clock     3 clocks of 3 hosts; any two times compare to 3.04 us; off rank 0's by at most 2.00 us (h2), 1.00 "
	           "us (h1)\n"
	           "            drift against rank 0's about +1 ppm (h1), -0.001 +- 0.021 ppm (h2)\n"
	           "            causality not checked: no collective of all its ranks went across two clocks that are joined\n");
}

TEST(why_it_is_not_joined)
{
	struct pp_row_clock_sample sample = {.sample_flags = PP_BAND_BROKEN};
	struct pp_host_clock c = {.trips = 50, .sample = &sample, .samples = 1};
	char text[PP_CLOCK_TEXT];

	CHECK(strstr(pp_clock_why(&c, text), "what no rate explains") != NULL);
	sample.sample_flags = 0;
	CHECK_STR(pp_clock_why(&c, text), "50 answers do not bound it in all of the window");
	c.impossible = 50;
	CHECK_STR(pp_clock_why(&c, text), "the stamps of 50 of 50 answers cannot be");
}

TEST(nothing_was_compared)
{
	struct made m;

	make(&m, 2);
	leave_out(&m, 1);
	check_said(&m,
	           "  Clock     2 clocks of 2 hosts; times of one clock compare to 40 ns\n"
	           "            not joined: h1 (none of 50 answers came before the window was written); nobody is said to wait for "
	           "them\n"
	           "            causality not checked: no collective of all its ranks went across two clocks that are joined\n");
}

/* Rank 1 kept the others waiting 2 ms in all. */
static void waited(struct made *m, int64_t error)
{
	static int64_t number = 4;

	make(m, 3);
	m->d.steps = 1;
	m->d.step_number = &number;
	m->d.cell = m->cell;
	m->d.late = m->late;
	for (size_t i = 0; i < 3; i++) {
		m->cell[i] = (struct pp_cell){.present = 1, .step_ns = 4 * MS, .end_ns = 4 * MS, .wait_ns = i == 1 ? 0 : MS};
		m->cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = i == 1 ? 0 : MS;
		m->cell[i].exclusive_ns[PP_CATEGORY_HOST_COMPUTE] = i == 1 ? 4 * MS : 3 * MS;
	}
	m->late[0] = (struct pp_late){.rank = 1, .wait_ns = 2 * MS, .error_ns = error, .steps = 1};
	m->late[1].rank = 0;
	m->late[2].rank = 2;
}

static void check_late(struct made *m, const char *line, const char *sentence)
{
	char *text = NULL, verdict[320];
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	CHECK_INT(pp_text_write(&m->d, to), 0);
	fclose(to);
	CHECK(text && strstr(text, line));
	pp_verdict(&m->d, verdict, sizeof(verdict));
	CHECK(strstr(verdict, sentence) != NULL);
	free(text);
}

TEST(tie_below_the_bounds)
{
	struct made m;

	waited(&m, 2 * MS - 1);
	check_late(&m, "the other ranks waited 1.00 ms +- 1.00 ms each for rank 1 (100 % of all waiting)", "rank 1's Host compute");
	waited(&m, 300000);
	check_late(&m, "the other ranks waited 1.00 ms +- 150 us each for rank 1", "rank 1's Host compute");
	waited(&m, 2 * MS);
	check_late(&m, "Who waited for whom: tie, 1.00 ms each is below the clocks' bounds of +- 1.00 ms\n",
	           "for whom is a tie, below the bounds of the clocks");
	check_late(&m, "  Next      see how well the hosts' clocks compare", "limited by: waiting in collectives, 17 %");
	CHECK_INT(pp_verdict(&m.d, (char[320]){0}, 320).kind, PP_VERDICT_TIE);
}

int main(void)
{
	one_host_is_one_quiet_line();
	several_hosts();
	all_that_can_be_wrong();
	error_of_a_drift();
	why_it_is_not_joined();
	nothing_was_compared();
	tie_below_the_bounds();
	return test_end();
}
