/* Prints how C formats numbers for people, a line each: kind, number, text. report_charts.py compares the page's Format with it. */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/known.h"
#include "core/base/units.h"

enum { RANDOM = 1500 };

static uint64_t seed = 88172645463325252u;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void print(uint64_t n)
{
	char text[PP_TEXT_UNIT];

	printf("time %" PRIu64 " %s\n", n, pp_text_time(text, (int64_t)n));
	printf("bytes %" PRIu64 " %s\n", n, pp_text_bytes(text, n));
	printf("count %" PRIu64 " %s\n", n, pp_text_count(text, n));
}

/* What is near a border between two units or numbers of digits, up to what a double holds. */
static void print_borders(uint64_t unit)
{
	const uint64_t border[] = {9995, 9995 * 10, 9995 * 100, 10235 * 100, 10005 * 10, 1005, 1015, 1025, 10050};

	for (size_t i = 0; i < sizeof(border) / sizeof(border[0]); i++)
		for (int64_t by = -2; by <= 2; by++)
			print((uint64_t)((int64_t)((double)unit * (double)border[i] / 1000) + by));
}

int main(void)
{
	char text[PP_TEXT_UNIT];

	for (uint64_t n = 0; n < 1100; n++)
		print(n);
	for (uint64_t unit = 1; unit < UINT64_C(1) << 42; unit *= unit % 1000 ? 1024 : 1000)
		print_borders(unit == 1 ? 1000 : unit);
	for (uint64_t unit = 1000; unit <= 1000000000; unit *= 1000)
		print_borders(unit);
	for (int i = 0; i < RANDOM; i++) {
		const int64_t sum = (int64_t)(dice() >> (12 + dice() % 50)), n = 1 + (int64_t)(dice() % 70);
		const double percent = (double)(dice() % 100001) / 800;

		print((uint64_t)sum);
		printf("mean %" PRId64 "/%" PRId64 " %s\n", sum, n, pp_text_time(text, pp_known_mean(sum, n)));
		printf("mean %" PRId64 "/%" PRId64 " %s\n", -sum, n, pp_text_time(text, pp_known_mean(-sum, n)));
		printf("share %.17g %s\n", percent / (i % 3 ? 1 : 1000), pp_text_percent(text, percent / (i % 3 ? 1 : 1000)));
	}
	return 0;
}
