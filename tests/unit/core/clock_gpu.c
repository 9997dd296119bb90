/* GPU to host out of launches and synchronisations, on virtual clocks: error within the bound, and the bound as wide as the driver
 * is slow. */
#include "core/clock/clock_map.h"
#include "core/clock/gpu_fit.h"

#include <math.h>
#include <stdlib.h>

#include "tests/test.h"

static uint64_t state = 88172645463325252ull;

static double dice(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

struct gpu {
	double drift, sway;
	int64_t offset, resolution;
	/* Stamps in CLOCK_REALTIME (CUPTI's timestamp callback): the host's date, which NTP slews, here for a part of the run, and
	 * somebody may set. */
	double slew;
	int64_t slew_from, slew_to, step_ns, step;
	int swift; /* launches take nothing at best: the error is all of the bound */
};

static int64_t stamp(const struct gpu *g, int64_t t)
{
	double w = 2 * M_PI / 40e9;
	int64_t shown = g->offset + t + (int64_t)llround((double)t * g->drift + g->sway / w * (1 - cos(w * (double)t)));

	if (t > g->slew_from)
		shown += (int64_t)llround(g->slew * (double)((t < g->slew_to ? t : g->slew_to) - g->slew_from));
	if (g->step_ns && t > g->step_ns)
		shown += g->step;
	return shown / g->resolution * g->resolution;
}

/* Kernels of 20 to 200 us behind one another, a synchronisation every 50th, launches run ahead: most sandwiches are wide. The least
 * launch takes 4 us, the least return 3 us. Realtime stamps of the host's tick at 1.5 GHz. */
static void run_gpu(struct pp_gpu_fit *f, const struct gpu *g, int64_t seconds)
{
	int64_t t = 0, gpu_free = 0;

	for (int k = 1; t < seconds * 1000000000; k++) {
		int64_t launch = t, begin, end;

		t += 2000 + (int64_t)(dice() * 3000);
		begin = launch + (g->swift ? 0 : 4000) + (int64_t)(-2000 * log(1 - dice()));
		begin = begin > gpu_free ? begin : gpu_free;
		end = begin + 20000 + (int64_t)(dice() * 180000);
		gpu_free = end + 500;
		pp_gpu_fit_launch(f, stamp(g, begin), launch * 3 / 2);
		if (k % 50)
			continue;
		t = end + 3000 + (int64_t)(-2000 * log(1 - dice()));
		pp_gpu_fit_sync(f, stamp(g, end), t * 3 / 2);
		t += (int64_t)(dice() * 3000000);
	}
}

enum { SECONDS = 20, WINDOWS = 100, INSTANTS = 30 };

/* Windows of 200 ms in which every instant was within its bound, and those without a bound; the mean bound. */
static double check_fit(const struct gpu *g, const struct pp_pieces *p, int *windows, int *unknown)
{
	double bound = 0, worst = 0;
	int points = 0;

	for (int w = 0; w < WINDOWS; w++) {
		int known = 1;

		for (int i = 0; i < INSTANTS; i++) {
			int64_t t = (int64_t)((w + dice()) * 1e9 * SECONDS / WINDOWS), x = stamp(g, t),
			        here = pp_pieces_bound(p, x);
			int64_t error = llabs(pp_pieces_map(p, x) - t * 3 / 2);

			CHECK(error <= here);
			known &= here < INT64_MAX;
			worst = here < INT64_MAX ? fmax(worst, (double)error / (double)here) : worst;
			bound += here < INT64_MAX ? (double)here / 1500 : 0;
			points += here < INT64_MAX;
		}
		++*(known ? windows : unknown);
	}
	CHECK(worst > 0 && points);
	fprintf(stderr, "offset %lld drift %g slew %g: worst error / bound %.2f, mean bound %.2f us\n", (long long)g->offset,
	        g->drift, g->slew, worst, bound / points);
	return bound / points;
}

static void fit(const struct gpu *g, double tolerance, double widest_us, int *windows, int *unknown)
{
	struct pp_gpu_fit_options o = {.ticks_per_ns = 1.5, .tolerance = tolerance, .resolution_ns = (double)g->resolution};
	struct pp_gpu_fit f;
	struct pp_pieces p;

	CHECK_INT(pp_gpu_fit_init(&f, &o, NULL), 0);
	run_gpu(&f, g, SECONDS);
	CHECK_INT(pp_gpu_fit_pieces(&f, 1000000000, &p, NULL), 0);
	CHECK(p.pieces > 10);
	CHECK_INT(f.late, 0);
	CHECK(check_fit(g, &p, windows, unknown) < widest_us);
	pp_pieces_release(&p);
	pp_gpu_fit_release(&f);
}

static const int64_t DATE = 1700000000000000000;

TEST(fits)
{
	struct gpu g[] = {
	        {.offset = DATE, .resolution = 1},
	        {.offset = DATE, .drift = 200e-6, .resolution = 32},
	        {.offset = -7200000000000, .drift = -200e-6, .sway = 1e-6, .resolution = 32},
	        {.offset = 7200000000000, .drift = 30e-6, .sway = 0.1e-6, .resolution = 1000},
	        {.offset = 7200000000000, .drift = -130e-6, .sway = 3e-6, .resolution = 32, .swift = 1},
	};
	int windows = 0, unknown = 0;

	for (size_t i = 0; i < sizeof(g) / sizeof(g[0]); i++)
		fit(&g[i], 0, 8, &windows, &unknown);
	CHECK_INT(windows, 500);
	CHECK_INT(unknown, 0);
}

TEST(realtime_stamps)
{
	struct gpu g[] = {
	        {.offset = DATE, .drift = 40e-6, .resolution = 1},
	        {.offset = DATE,
	         .resolution = 1,
	         .slew = 500e-6,
	         .slew_from = 3300000000,
	         .slew_to = 12500000000}, /* the kernel's */
	        {.offset = DATE, .resolution = 32, .slew = -500e-6, .slew_from = 0, .slew_to = 20000000000},
	        {.offset = DATE, .resolution = 1, .slew = 0.08, .slew_from = 7300000000, .slew_to = 9700000000}, /* chrony's */
	        {.offset = DATE, .resolution = 1, .slew = -0.08, .slew_from = 7900000000, .slew_to = 8100000000},
	};
	struct gpu set = {.offset = DATE, .resolution = 1, .step_ns = 10300000000, .step = 3600000000000};
	/* A change of rate inside a second is as much room as it makes in one. */
	const double widest_us[] = {8, 300, 8, 60000, 60000};
	int windows = 0, unknown = 0;

	for (size_t i = 0; i < sizeof(g) / sizeof(g[0]); i++)
		fit(&g[i], 0.1, widest_us[i], &windows, &unknown);
	CHECK_INT(windows, 500);
	CHECK_INT(unknown, 0);
	fit(&set, 0.1, 20, &windows, &unknown); /* somebody set the date: no bound over it, and the old one on both sides */
	CHECK(unknown >= 1 && unknown <= 15);
}

/* A host whose tick runs at 1.5 GHz, compared every 5 s with a root of 1 GHz, 40 ppm fast, that began 2 h earlier. */
static int64_t root_tick(int64_t t)
{
	return 7200000000000 + t + t / 25000;
}

static int64_t host_tick(int64_t t)
{
	return t * 3 / 2;
}

static void compare_host(struct pp_band *b)
{
	struct pp_band_options o = {.rate = 1 / 1.5};

	CHECK_INT(pp_band_init(b, &o, NULL), 0);
	for (int64_t at = 0; at <= 20000000000; at += 5000000000) {
		struct pp_band_group *g = pp_band_begin(b, host_tick(at), root_tick(at));

		for (int i = 0; i < 50; i++) {
			int64_t t = at + i * 100000, up = 9000 + (int64_t)(dice() * 5000), down = 100 + (int64_t)(dice() * 5000);

			CHECK_INT(pp_band_trip(b, g, host_tick(t), root_tick(t + up), root_tick(t + up + 900),
			                       host_tick(t + up + 900 + down)),
			          0);
		}
	}
	CHECK_INT(pp_band_solve(b, NULL), 0);
}

/* GPU to host to root to job time: the widths add up, and the error of the whole way is within them. */
TEST(joins_the_bound_of_its_host)
{
	struct gpu g = {.offset = DATE, .drift = 20e-6, .sway = 0.1e-6, .resolution = 32};
	struct pp_gpu_fit_options o = {.ticks_per_ns = 1.5};
	struct pp_clock_map line = {.tick0 = 7200000000000, .ns0 = 0, .num = (uint64_t)1 << 62, .shift = 62};
	struct pp_pieces gpu, host, job, first, all;
	struct pp_gpu_fit f;
	struct pp_band b;

	CHECK_INT(pp_gpu_fit_init(&f, &o, NULL), 0);
	run_gpu(&f, &g, SECONDS);
	compare_host(&b);
	CHECK_INT(pp_gpu_fit_pieces(&f, 1000000000, &gpu, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&b, 15000000000, &host, NULL), 0);
	CHECK_INT(pp_pieces_of_map(&line, 0, 7200000000000 + 60000000000, &job, NULL), 0);
	CHECK_INT(pp_pieces_join(&gpu, &host, &first, NULL), 0);
	CHECK_INT(pp_pieces_join(&first, &job, &all, NULL), 0);
	for (int64_t t = 0; t < 20000000000; t += 1234567) {
		int64_t x = stamp(&g, t), y = pp_pieces_map(&gpu, x), bound = pp_pieces_bound(&all, x);
		double sum = (double)pp_pieces_bound(&gpu, x) / 1.5 + (double)pp_pieces_bound(&host, y);

		CHECK(fabs((double)bound - sum) < 8);
		CHECK(llabs(pp_pieces_map(&all, x) - (root_tick(t) - root_tick(0))) <= bound);
	}
	CHECK(pp_pieces_bound(&host, host_tick(7500000000)) > 4000); /* the host's part is none that could go unseen */
	pp_pieces_release(&gpu);
	pp_pieces_release(&host);
	pp_pieces_release(&job);
	pp_pieces_release(&first);
	pp_pieces_release(&all);
	pp_gpu_fit_release(&f);
	pp_band_release(&b);
}

TEST(says_nothing_without_synchronisation)
{
	struct pp_gpu_fit_options o = {.ticks_per_ns = 1};
	struct pp_gpu_fit f;
	struct pp_pieces p;
	struct pp_err err = {""};

	CHECK_INT(pp_gpu_fit_init(&f, &o, NULL), 0);
	for (int64_t t = 0; t < 10000000000; t += 10000000)
		pp_gpu_fit_launch(&f, t + 5000, t);
	CHECK(pp_gpu_fit_pieces(&f, 0, &p, &err) < 0);
	CHECK(strstr(err.text, "GPU") != NULL);
	pp_gpu_fit_sync(&f, 9000000000, 9000009000);
	CHECK_INT(pp_gpu_fit_pieces(&f, 0, &p, &err), 0);
	pp_pieces_release(&p);
	pp_gpu_fit_launch(&f, -5000000000, 0);
	CHECK_INT(f.late, 1);
	pp_gpu_fit_release(&f);
}

int main(void)
{
	fits();
	realtime_stamps();
	joins_the_bound_of_its_host();
	says_nothing_without_synchronisation();
	return test_end();
}
