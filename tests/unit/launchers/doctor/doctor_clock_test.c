/* What podprof doctor --clock makes of readings, by clocks whose truth is known, and how it prints that (golden; --update writes
 * it). */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/tick.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock_pair.h"
#include "launchers/doctor/doctor_clock_print.h"
#include "tests/golden.h"
#include "tests/test.h"

enum { A, B, C, D, HOSTS };

static const int64_t second = 1000000000;

/* A clock that stood at `start` when the true time was 0, and counts `rate` ticks a true ns. */
struct truth {
	int64_t start;
	double rate;
};

static int64_t at(const struct truth *t, int64_t ns)
{
	return t->start + (int64_t)((double)ns * t->rate);
}

/* Read between true second 9 and 10; RAW of a host with a counter begins at 0 and is drift ppm fast, as the counter is. */
static struct pp_wire_doctor_reading read_of(const struct truth *t, int kind, double ppm, int64_t date)
{
	int64_t last = at(t, 10 * second);
	struct pp_wire_doctor_reading r = {.tick = last, .raw_ns = last, .ticks_per_ns = 1};

	if (kind != PP_TICK_RAW) {
		r.raw_ns = (int64_t)((double)(10 * second) * (1 + ppm / 1e6));
		r.width_ns = 20;
		r.rate_error = 40 / 1e9;
		r.ticks_per_ns = t->rate / (1 + ppm / 1e6);
	}
	r.date_tick = at(t, 10 * second + 50);
	r.date_half = (double)(at(t, 10 * second + 100) - last) / 2;
	r.date_ns = date + 10 * second + 50;
	return r;
}

/* Bursts at true second 9 and 10 that are exact; they say 2 us. */
static struct pp_wire_doctor_raw raw_of(const struct truth *a, const struct truth *b)
{
	struct pp_wire_doctor_raw r = {.nodes = 2, .trips = 100, .lost = 1};

	for (int i = 0; i < 2; i++) {
		r.x[i] = at(b, (9 + i) * second);
		r.y[i] = at(a, (9 + i) * second);
		r.half[i] = 2000 * a->rate;
	}
	r.least = 1500 * a->rate;
	r.bound = (int64_t)(2100 * a->rate);
	r.date_y = at(a, 10 * second + 50);
	r.date_y_bound = r.bound;
	return r;
}

static double off(double value, double truth)
{
	return value > truth ? value - truth : truth - value;
}

TEST(two_raw_clocks)
{
	struct truth a = {5 * second, 1}, b = {7205 * second, 1.000012};
	struct pp_wire_doctor_host host[2] = {{.name = "a", .boot_id = "1"}, {.name = "b", .boot_id = "2"}};
	struct pp_wire_doctor_reading read[2] = {read_of(&a, PP_TICK_RAW, 0, second), read_of(&b, PP_TICK_RAW, 0, second + 700)};
	struct pp_wire_doctor_raw raw = raw_of(&a, &b);
	struct pp_doctor_pair p;

	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_TWO);
	CHECK(off((double)p.offset_ns, (double)(7200 * second + 120000)) <= 1);
	CHECK(p.has_drift && off(p.drift_ppm, 12) <= p.drift_error_ppm && off(p.drift_ppm, 12) < 0.01);
	CHECK(p.drift_error_ppm < 5);
	CHECK(p.has_date && off(p.date_ns, 700) <= p.date_error_ns && p.date_error_ns < 3000);
	CHECK_INT(p.bound_ns, 2100);
	CHECK_INT(p.half_ns, 1500);
	CHECK(p.trips == 100 && p.lost == 1);
}

TEST(two_counters)
{
	struct truth a = {(int64_t)1 << 50, 2.5}, b = {-second, 3.0 * (1 - 20e-6)};
	struct pp_wire_doctor_host host[2] = {{.name = "a", .boot_id = "1", .tick_kind = PP_TICK_TSC},
	                                      {.name = "b", .boot_id = "2", .tick_kind = PP_TICK_TSC}};
	struct pp_wire_doctor_reading read[2] = {read_of(&a, PP_TICK_TSC, 0, 0), read_of(&b, PP_TICK_TSC, -20, 0)};
	struct pp_wire_doctor_raw raw = raw_of(&a, &b);
	struct pp_doctor_pair p;

	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_TWO);
	CHECK(off((double)p.offset_ns, -200000) <= p.bound_ns && p.bound_ns < 2500);
	CHECK(off(p.drift_ppm, -20) <= p.drift_error_ppm && p.drift_error_ppm < 5);
	CHECK(off(p.date_ns, 0) <= p.date_error_ns);
}

TEST(one_clock_or_none)
{
	struct truth a = {second, 1};
	struct pp_wire_doctor_host host[2] = {{.name = "a", .boot_id = "1"}, {.name = "b", .boot_id = "1"}};
	struct pp_wire_doctor_reading read[2] = {read_of(&a, PP_TICK_RAW, 0, 0), read_of(&a, PP_TICK_RAW, 0, 0)};
	struct pp_wire_doctor_raw raw = raw_of(&a, &a);
	struct pp_doctor_pair p;

	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_ONE);
	CHECK_INT(p.offset_ns, 0);
	raw.two = 1; /* a clone */
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_FALSE);
	snprintf(host[1].timens, sizeof(host[1].timens), "+1.000000000 s");
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_TWO);
	host[0].tick_kind = host[1].tick_kind = PP_TICK_TSC; /* no namespace moves it */
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_FALSE);
	host[0].boot_id[0] = host[1].boot_id[0] = '\0';
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_TWO);
	raw.nodes = 1; /* one burst: no drift */
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK(p.verdict == PP_DOCTOR_TWO && !p.has_drift);
	raw.nodes = 0;
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_UNREACHED);
	raw.nodes = 2;
	read[1].ticks_per_ns = 0; /* its readings did not come */
	pp_doctor_pair_make(&raw, 0, 1, host, read, &p);
	CHECK_INT(p.verdict, PP_DOCTOR_UNREACHED);
}

static struct pp_wire_doctor_host host_of(const char *name, int rank, const char *timens)
{
	struct pp_wire_doctor_host h = {
	        .rank = rank, .tick_kind = rank ? PP_TICK_RAW : PP_TICK_TSC, .stamps = rank != 2, .claims = rank != 3};

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.boot_id, sizeof(h.boot_id), "%08x-0000", rank / 2 + 10);
	snprintf(h.timens, sizeof(h.timens), "%s", timens);
	snprintf(h.why, sizeof(h.why), "%s", rank ? "the kernel counts by hpet" : "the kernel's clock too");
	snprintf(h.by, sizeof(h.by), "kernel%s", rank == 1 ? ", chronyd" : "");
	h.synchronised = rank < 2;
	h.error_ns = 12345;
	h.error_most_ns = 9876543;
	h.resolution_ns = 10;
	h.cost_ns = 9.75;
	return h;
}

static char *printed(int json, int alone, int *ret_code)
{
	struct pp_wire_doctor_host host[HOSTS] = {host_of("node1", 0, ""), host_of("node2", 1, "+7200.000000000 s"),
	                                          host_of("a\x1b[2Jb", 2, ""), host_of("node10", 3, "")};
	struct pp_doctor_pair pair[] = {
	        {.a = A, .b = B, .verdict = PP_DOCTOR_TWO, .has_drift = 1, .has_date = 1, .trips = 100, .lost = 3},
	        {.a = A, .b = C, .verdict = PP_DOCTOR_ONE, .has_drift = 1, .trips = 100},
	        {.a = A, .b = D, .verdict = PP_DOCTOR_UNREACHED, .lost = 12},
	        {.a = B, .b = C, .verdict = PP_DOCTOR_FALSE, .trips = 50}};
	struct pp_doctor_table t = {
	        .host = host, .hosts = HOSTS, .pair = pair, .pairs = 4, .missing = "'node4' (rank 12)", .json = json};
	FILE *before = stdout;
	char *text = NULL;
	size_t size;

	pair[0].offset_ns = 7200 * second + 49;
	pair[0].drift_ppm = -12.3456;
	pair[0].drift_error_ppm = pair[1].drift_error_ppm = 0.0123;
	pair[0].half_ns = pair[1].half_ns = 4123.4;
	pair[0].bound_ns = pair[1].bound_ns = 4567.8;
	pair[0].date_ns = -1234567;
	pair[0].date_error_ns = 4999;
	pair[1].offset_ns = pair[3].offset_ns = -51;
	pair[3].half_ns = 999.6;
	pair[3].bound_ns = 123456;
	t.transport = "through the launcher (PMIx)";
	t.door = 7000;
	t.patience_s = 10;
	t.rounds = 2;
	t.over_s = 1;
	t.took_s = 1.234;
	stdout = open_memstream(&text, &size);
	*ret_code = alone ? pp_doctor_clock_print_alone(&host[A], "why", json) : pp_doctor_clock_print(&t);
	fclose(stdout);
	stdout = before;
	return text;
}

static void golden(const char *path, int update)
{
	int code;
	char *text = printed(0, 0, &code);

	CHECK_INT(code, PP_EXIT_FAILED);
	test_golden(path, update, text);
	free(text);
}

TEST(json_and_alone)
{
	int code;
	char *text = printed(1, 0, &code);

	CHECK_INT(code, PP_EXIT_FAILED);
	CHECK(strstr(text, "\"offset_ns\":7200000000049,") && strstr(text, "\"green\":false"));
	CHECK(strstr(text, "a\\u001b[2Jb") && !strchr(text, 27));
	free(text);
	text = printed(0, 1, &code);
	CHECK_INT(code, PP_EXIT_OK);
	CHECK(strstr(text, "Resolution of the tick: 10.0 ns. Cost of a reading: 9.8 ns") && strstr(text, "One host only: why."));
	free(text);
}

int main(int argc, char **argv)
{
	two_raw_clocks();
	two_counters();
	one_clock_or_none();
	json_and_alone();
	if (argc > 1)
		golden(argv[1], argc > 2 && !strcmp(argv[2], "--update"));
	return test_end();
}
