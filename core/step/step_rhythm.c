/* Steps of calls that are all alike; see step_rhythm.h. Called by step_period.c and step_message.c. */
#include "core/step/step_rhythm.h"

#include <stdlib.h>

#include "core/base/compare.h"

#define LONG 3.0    /* times the median: a pause between bursts */
#define EVEN 0.75   /* of the time is between calls that are half to twice the median apart: each call is a step */
#define REGULAR 0.9 /* of the bursts have the same number of calls */

enum { LEAST_PAUSES = 4 };

/* Median of what n - 1 pauses are apart, and how often it is that; `work` has room for n. */
static int64_t usual_distance(const int64_t *ns, size_t n, double pause, int64_t *work, size_t *ret_same, size_t *ret_all)
{
	size_t last = 0, distances = 0;
	int64_t usual;

	for (size_t i = 1; i < n; i++) {
		if ((double)ns[i] <= pause)
			continue;
		if (last)
			work[distances++] = (int64_t)(i - last);
		last = i;
	}
	*ret_all = distances;
	*ret_same = 0;
	if (!distances)
		return 0;
	qsort(work, distances, sizeof(*work), pp_compare_int64);
	usual = work[distances / 2];
	for (size_t i = 0; i < distances; i++)
		*ret_same += work[i] == usual;
	return usual;
}

size_t pp_rhythm(const int64_t *ns, size_t n, int64_t *work, int64_t *ret_pause)
{
	double usual_ns, pause, all = 0, even = 0;
	size_t same, distances;
	int64_t usual;

	*ret_pause = INT64_MAX;
	if (n < 3)
		return 0;
	for (size_t i = 1; i < n; i++)
		work[i - 1] = ns[i];
	qsort(work, n - 1, sizeof(*work), pp_compare_int64);
	/* NOLINTNEXTLINE(bugprone-integer-division): an index */
	usual_ns = (double)work[(n - 1) / 2];
	pause = LONG * usual_ns;
	for (size_t i = 1; i < n; i++) {
		all += (double)ns[i];
		even += 2 * (double)ns[i] >= usual_ns && (double)ns[i] <= 2 * usual_ns ? (double)ns[i] : 0;
	}
	if (even >= EVEN * all)
		return 1;
	usual = usual_distance(ns, n, pause, work, &same, &distances);
	if (distances + 1 < LEAST_PAUSES || usual < 2 || (double)same < REGULAR * (double)distances)
		return 0;
	*ret_pause = (int64_t)pause;
	return (size_t)usual;
}
