/* What the pattern of collectives costs a call, in units of rdtsc: while a known pattern goes on, and while one is searched. */
#include "core/window/period.h"

#include "tests/bench/bench.h"

enum { SYMBOLS = 512 };

static struct pp_period machine;
static uint32_t symbol[SYMBOLS];
static uint32_t length, next;
static uint64_t steps;

static void feed(int calls)
{
	for (int i = 0; i < calls; i++) {
		steps += pp_period_feed(&machine, symbol[next]) == PP_PERIOD_STEP;
		next = next + 1 < length ? next + 1 : 0;
	}
}

static int measure(const char *what, uint32_t symbols, double gate)
{
	struct bench_result r;
	char note[64];
	struct bench_figure f = {.bench = "period", .what = what, .unit = "R", .gate = gate, .note = note};

	pp_period_init(&machine);
	length = symbols;
	next = 0;
	feed(8 * SYMBOLS);
	r = bench_run(feed, NULL);
	snprintf(note, sizeof(note), "%.1f ns, %zu bytes of state", r.ns, sizeof(machine));
	f.value = r.ratio;
	f.low = r.low;
	f.high = r.high;
	return bench_print(&f);
}

int main(void)
{
	int missed;

	if (!bench_asked())
		return 77;
	for (uint32_t i = 0; i < SYMBOLS; i++)
		symbol[i] = pp_period_symbol(30, 1, -1, 8 * i);
	missed = measure("a collective of a known pattern of 4", 4, 0.5);
	missed |= measure("a collective of a known pattern of 300", 300, 0.5);
	if (!steps)
		missed = 1;
	missed |= measure("a collective while a pattern is searched (all alike)", 1, 3);
	return missed;
}
