/* GPU to host out of launches and synchronisations, on virtual clocks: error within the bound, and the bound as wide as the driver
 * is slow. */
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
};

static int64_t stamp(const struct gpu *g, int64_t t)
{
	double w = 2 * M_PI / 40e9;
	int64_t shown = g->offset + t + (int64_t)llround((double)t * g->drift + g->sway / w * (1 - cos(w * (double)t)));

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
		begin = launch + 4000 + (int64_t)(-2000 * log(1 - dice()));
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

static void fit(const struct gpu *g, double widest_us)
{
	struct pp_gpu_fit_options o = {.ticks_per_ns = 1.5, .resolution_ns = (double)g->resolution};
	double worst = 0, bound = 0;
	struct pp_gpu_fit f;
	struct pp_pieces p;
	int points = 0;

	CHECK_INT(pp_gpu_fit_init(&f, &o, NULL), 0);
	run_gpu(&f, g, 20);
	CHECK_INT(pp_gpu_fit_pieces(&f, 1000000000, &p, NULL), 0);
	CHECK(p.pieces > 10);
	CHECK_INT(f.late, 0);
	for (int64_t t = 0; t < 20000000000; t += 7654321, points++) {
		int64_t x = stamp(g, t);
		double error = fabs((double)(pp_pieces_map(&p, x) - t * 3 / 2)), here = (double)pp_pieces_bound(&p, x);

		worst = fmax(worst, error / here);
		bound += here / 1500;
		CHECK(error <= here);
	}
	CHECK(worst > 0);
	CHECK(bound / points < widest_us);
	fprintf(stderr, "offset %lld drift %g: worst error / bound %.2f, mean bound %.2f us\n", (long long)g->offset, g->drift,
	        worst, bound / points);
	pp_pieces_release(&p);
	pp_gpu_fit_release(&f);
}

TEST(fits)
{
	struct gpu g[] = {
	        {.offset = 1700000000000000000, .resolution = 1},
	        {.offset = 1700000000000000000, .drift = 200e-6, .resolution = 32},
	        {.offset = -7200000000000, .drift = -200e-6, .sway = 1e-6, .resolution = 32},
	        {.offset = 7200000000000, .drift = 30e-6, .sway = 0.1e-6, .resolution = 1000},
	};

	for (size_t i = 0; i < sizeof(g) / sizeof(g[0]); i++)
		fit(&g[i], 8);
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
	says_nothing_without_synchronisation();
	return test_end();
}
