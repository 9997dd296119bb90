/* Usual and exceptional values of a series; see series.h. Called by findings and diff. */
#include "aggregate/tools/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"

#define SIGMA_OF_MEDIAN 1.4826
#define CHANCE 0.001
#define CHANCE_OF_PERIOD 0.05
#define FLOOR 0.002 /* of the median: nothing is known better */

enum { CLIP = 6, EFFECT = 2, RARE = 6, INVERSIONS = 64, SPLITS = 4, BISECTIONS = 40, TURNS = 4 };

struct work {
	const double *v; /* values outside a short period */
	size_t n;
	size_t period, phase; /* of that; 0: there is none */
	double *a, *b;        /* [n] room */
	double least, floor, sigma;
	double chance; /* of a course in a series without one */
};

struct fit {
	enum pp_course course;
	size_t onset;
	double before, after, slope;
	double sigma[2]; /* of the values before the onset, and from there on */
	size_t n[2];
	double cost, log_chance;
};

double pp_series_median(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), pp_compare_double);
	return (v[n / 2] + v[(n - 1) / 2]) / 2;
}

static double noise_at(const double *v, size_t n, size_t distance, double *room)
{
	for (size_t i = 0; i + distance < n; i++)
		room[i] = fabs(v[i + distance] - v[i]);
	return n > distance ? SIGMA_OF_MEDIAN / sqrt(2) * pp_series_median(room, n - distance) : 0;
}

double pp_series_noise(const double *value, size_t n, double *room)
{
	return noise_at(value, n, 1, room);
}

/* How many standard deviations are no chance, where the deviation is a median of n differences, as good as n / 3 squares. */
static double sure_of(size_t n)
{
	const double squares = (double)n / 3;

	return fmax(RARE, sqrt(squares * expm1(16 / squares)));
}

/* What an exceptional value has at least above the fit. */
static double limit_of(const struct work *w, double fit, double sigma, size_t n)
{
	return fmax(fmax(sure_of(n) * sigma, 0.1 * fabs(fit)), w->least);
}

static double log_choose(size_t n, size_t k)
{
	double log_ways = 0;

	for (size_t i = 0; i < k; i++)
		log_ways += log((double)(n - i) / (double)(i + 1));
	return log_ways;
}

/* Most members of a class stand out above both neighbours, by the noise of the other classes. */
static int stands_out(const struct work *w, size_t period, size_t phase)
{
	size_t members = 0, out = 0, differences = 0;
	double sigma;

	for (size_t i = 0; i + period < w->n; i++)
		if (i % period != phase)
			w->a[differences++] = fabs(w->v[i + period] - w->v[i]);
	sigma = SIGMA_OF_MEDIAN / sqrt(2) * pp_series_median(w->a, differences);
	for (size_t i = phase; i < w->n; i += period) {
		const double left = i ? w->v[i - 1] : w->v[i + 1], right = i + 1 < w->n ? w->v[i + 1] : w->v[i - 1];
		const double fit = fmax(left, right);

		members++;
		out += w->v[i] - fit > limit_of(w, fit, sigma, differences);
	}
	return 4 * out >= 3 * members;
}

/* Each 2nd, 3rd or 4th value is longer: neighbours say nothing about noise there, values one period apart do. */
static void find_short_period(struct work *w)
{
	for (size_t period = 2; period <= 4 && period < w->n; period++) {
		if (log_choose(w->n, w->n / period) - log((double)period) < -log(CHANCE))
			continue;
		for (size_t phase = 0; phase < period; phase++) {
			if (!stands_out(w, period, phase))
				continue;
			w->period = period;
			w->phase = phase;
			return;
		}
	}
}

static int is_in_period(const struct work *w, size_t i)
{
	return w->period && i % w->period == w->phase;
}

/* Where usual value i stands in the series. */
static size_t place_of(const struct work *w, size_t i)
{
	const size_t others = w->period ? w->period - 1 : 1;

	return w->period ? i / others * w->period + i % others + (i % others >= w->phase) : i;
}

static double fit_at(const struct fit *f, size_t place)
{
	if (f->course == PP_COURSE_GROWING)
		return f->before + f->slope * (double)place;
	return place < f->onset ? f->before : f->after;
}

static double clipped(const struct work *w, double rest)
{
	return fmin(fabs(rest), CLIP * fmax(w->sigma, w->floor));
}

static double cost_of(const struct work *w, const struct fit *f)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += clipped(w, w->v[i] - fit_at(f, place_of(w, i)));
	return sum;
}

static double median_between(const struct work *w, size_t first, size_t next)
{
	memcpy(w->a, w->v + first, (next - first) * sizeof(*w->a));
	return pp_series_median(w->a, next - first);
}

/* Logarithm of the chance that n values in any order are separate at some place, `first` before it, but for some inverted pairs:
 * orders with as many are as many as partitions of their number. */
static double log_separate(size_t n, size_t first, double inverted)
{
	double ways[INVERSIONS + 1] = {1}, sum = 0;
	const size_t most = (size_t)fmin(ceil(inverted), INVERSIONS);

	if (inverted > INVERSIONS)
		return 0;
	for (size_t part = 1; part <= most; part++)
		for (size_t i = part; i <= most; i++)
			ways[i] += ways[i - part];
	for (size_t i = 0; i <= most; i++)
		sum += ways[i];
	return log(2 * (double)(n - 1) * sum) - log_choose(n, first);
}

/* Values of v, sorted, that are below x, or not above it. */
static size_t count_below(const double *v, size_t n, double x, int or_equal)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t at = low + (high - low) / 2;

		if (v[at] < x || (or_equal && v[at] <= x))
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* Pettitt's statistic for a change after each value, in w->b: pairs that fall less pairs that rise. Returns the number of values
 * before the most likely change. */
static size_t find_change(const struct work *w)
{
	const double n = (double)w->n;
	double sum = 0;
	size_t first = 1;

	memcpy(w->a, w->v, w->n * sizeof(*w->a));
	qsort(w->a, w->n, sizeof(*w->a), pp_compare_double);
	for (size_t i = 0; i + 1 < w->n; i++) {
		sum += (double)count_below(w->a, w->n, w->v[i], 0) + (double)count_below(w->a, w->n, w->v[i], 1) - n;
		w->b[i] = sum;
		first = fabs(sum) > fabs(w->b[first - 1]) ? i + 1 : first;
	}
	return first;
}

static double log_chance_of_change(const struct work *w, size_t first)
{
	const double n = (double)w->n, sum = fabs(w->b[first - 1]), pairs = (double)first * (n - (double)first);

	return fmin(log_separate(w->n, first, (pairs - sum) / 2), log(2) - 6 * sum * sum / (n * n * n + n * n));
}

/* The place with the least cost between the levels. */
static size_t best_split(const struct work *w, double before, double after)
{
	double sum = 0, least = INFINITY;
	size_t best = 1;

	for (size_t i = 0; i + 1 < w->n; i++) {
		sum += clipped(w, w->v[i] - before) - clipped(w, w->v[i] - after);
		if (sum < least) {
			least = sum;
			best = i + 1;
		}
	}
	return best;
}

/* Logarithm of the chance after the fit: values that are off like their neighbours are worth fewer. */
static double log_chance_left(const struct work *w, const struct fit *f)
{
	double squares = 0, products = 0, last = 0, alike;

	for (size_t i = 0; i < w->n; i++) {
		const double rest = w->v[i] - fit_at(f, place_of(w, i));
		const double x = fabs(rest) > w->floor ? copysign(clipped(w, rest), rest) : 0;

		squares += x * x;
		products += last * x;
		last = x;
	}
	alike = squares > 0 ? fmax(0, products / squares - 1 / sqrt((double)w->n)) : 0; /* beyond chance */
	return f->log_chance * (1 - alike) / (1 + alike);
}

static void take_if_better(const struct work *w, struct fit *f, double sigma, double by, struct fit *best)
{
	f->cost = cost_of(w, f);
	if (f->cost < best->cost && by > EFFECT * fmax(sigma, w->floor) && log_chance_left(w, f) < log(w->chance))
		*best = *f;
}

/* Not a fall in the first quarter: that is a start. */
static void try_change(const struct work *w, struct fit *best)
{
	size_t first = find_change(w);
	struct fit f = {.course = PP_COURSE_SUDDEN};
	double sigma;

	if (log_chance_of_change(w, first) > log(w->chance))
		return;
	for (int turn = 0; turn < SPLITS; turn++) {
		f.before = median_between(w, 0, first);
		f.after = median_between(w, first, w->n);
		first = best_split(w, f.before, f.after);
	}
	if (f.after < f.before && 4 * first <= w->n)
		return;
	f.onset = place_of(w, first);
	f.log_chance = log_chance_of_change(w, first);
	sigma = fmin(noise_at(w->v, first, 1, w->a), noise_at(w->v + first, w->n - first, 1, w->a));
	take_if_better(w, &f, sigma, fabs(f.after - f.before), best);
}

/* Sorts v; returns its pairs in wrong order. */
static double sort_and_count(double *v, double *room, size_t n)
{
	double inverted = 0;

	for (size_t run = 1; run < n; run *= 2) {
		for (size_t low = 0; low + run < n; low += 2 * run) {
			const size_t middle = low + run, high = middle + run < n ? middle + run : n;
			size_t i = low, k = middle;

			for (size_t to = low; to < high; to++) {
				const int is_left = k == high || (i < middle && v[i] <= v[k]);

				inverted += is_left ? 0 : (double)(middle - i);
				room[to] = is_left ? v[i++] : v[k++];
			}
			memcpy(v + low, room + low, (high - low) * sizeof(*v));
		}
	}
	return inverted;
}

/* Kendall's sum of the values without a slope: pairs that rise less pairs that fall. */
static double kendall(const struct work *w, double slope)
{
	double rising = (double)w->n * ((double)w->n - 1) / 2, falling, equal = 0;

	for (size_t i = 0; i < w->n; i++)
		w->a[i] = w->v[i] - slope * (double)place_of(w, i);
	falling = sort_and_count(w->a, w->b, w->n);
	for (size_t i = 1; i < w->n; i++) {
		equal = w->a[i] > w->a[i - 1] ? 0 : equal + 1; /* equal values before this one */
		rising -= equal;
	}
	return rising - 2 * falling;
}

/* Theil and Sen's slope, the median of those between any two values: without it as many pairs rise as fall. */
static double slope_of(const struct work *w)
{
	double most = 0, low, high;

	for (size_t i = 1; i < w->n; i++)
		most = fmax(most, fabs(w->v[i] - w->v[i - 1])); /* no slope between two values is more */
	low = -most;
	high = most;
	for (int turn = 0; turn < BISECTIONS; turn++) {
		const double at = (low + high) / 2;

		if (kendall(w, at) > 0)
			low = at;
		else
			high = at;
	}
	return (low + high) / 2;
}

static double begin_of(const struct work *w, double slope)
{
	for (size_t i = 0; i < w->n; i++)
		w->a[i] = w->v[i] - slope * (double)place_of(w, i);
	return pp_series_median(w->a, w->n);
}

static void try_growth(const struct work *w, struct fit *best)
{
	const double n = (double)w->n, deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18);
	struct fit f = {.course = PP_COURSE_GROWING};

	f.log_chance = log(erfc((fabs(kendall(w, 0)) - 1) / deviation / sqrt(2)) + 1e-300);
	if (f.log_chance > log(w->chance))
		return;
	f.slope = slope_of(w);
	f.before = begin_of(w, f.slope);
	take_if_better(w, &f, w->sigma, fabs(f.slope) * n, best);
}

/* Marks what is exceptional among the usual values; if these are too many, none is. 1: there may be more to mark now. */
static int mark(const struct work *w, const struct fit *f, uint8_t *is_rare)
{
	size_t rares = 0;
	int changed = 0;

	for (size_t i = 0; i < w->n; i++) {
		const size_t at = place_of(w, i);
		const int side = at >= f->onset;
		const double fit = fit_at(f, at);
		const uint8_t is_above = w->v[i] - fit > limit_of(w, fit, f->sigma[side], f->n[side]);

		rares += is_above;
		changed |= is_rare[at] != is_above;
		is_rare[at] = is_above;
	}
	for (size_t i = 0; i < w->n && 4 * rares > w->n; i++)
		is_rare[place_of(w, i)] = 0;
	return changed && 4 * rares <= w->n;
}

/* Usual values from a place to another, less the slope, in w->a; returns how many. */
static size_t list_usual(const struct work *w, const uint8_t *is_rare, double slope, size_t first, size_t next)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const size_t at = place_of(w, i);

		if (at >= first && at < next && !is_rare[at])
			w->a[n++] = w->v[i] - slope * (double)at;
	}
	return n;
}

static void fit_usual(const struct work *w, const uint8_t *is_rare, struct fit *f)
{
	for (int side = 0; side < 2; side++) {
		f->n[side] = list_usual(w, is_rare, 0, side ? f->onset : 0, side ? SIZE_MAX : f->onset);
		f->sigma[side] = noise_at(w->a, f->n[side], 1, w->b);
	}
	if (list_usual(w, is_rare, f->slope, f->onset, SIZE_MAX))
		f->after = pp_series_median(w->a, f->n[1]);
	if (f->course != PP_COURSE_SUDDEN)
		f->before = f->after;
	else if (list_usual(w, is_rare, 0, 0, f->onset))
		f->before = pp_series_median(w->a, f->n[0]);
}

static double spread_of(const struct work *w, const uint8_t *is_rare, const struct fit *f)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (!is_rare[place_of(w, i)])
			w->a[n++] = w->v[i] - fit_at(f, place_of(w, i));
	if (n < 2)
		return 0;
	qsort(w->a, n, sizeof(*w->a), pp_compare_double);
	return (w->a[n - 1 - n / 4] - w->a[n / 4]) / 2;
}

static int begins_at(const uint8_t *is_rare, size_t n, size_t i)
{
	return i < n && is_rare[i] && (!i || !is_rare[i - 1]);
}

static size_t next_begin(const uint8_t *is_rare, size_t n, size_t from)
{
	while (from < n && !begins_at(is_rare, n, from))
		from++;
	return from;
}

/* Logarithm of the chance that so many of the runs stand at equal distances, give or take the jitter: sequences of `turns` places
 * at equal distances are about n * n / 2 / (turns - 1). */
static double log_chance_of_period(size_t n, size_t runs, size_t hits, size_t turns, size_t jitter)
{
	const double sequences = (double)n * (double)n / 2 / (double)(turns - 1);

	return log(sequences) + log_choose(turns, turns - hits) + log_choose(n, runs > hits ? runs - hits : 0) +
	       (double)(hits - 2) * log(2 * (double)jitter + 1) - log_choose(n, runs);
}

/* Runs come at a distance from the one at `from` on, but for a quarter. Returns the mean distance, 0: they do not, or by chance. */
static size_t period_from(const uint8_t *is_rare, size_t n, size_t first, size_t from, size_t period)
{
	const size_t jitter = period / 8 != 0;
	size_t runs = 0, hits = 0, turns = 0, last = from, last_turn = 0, due = from, off = 0;

	for (size_t i = next_begin(is_rare, n, first); i < n; i = next_begin(is_rare, n, i + 1))
		runs++;
	for (; due < n; due += period, turns++) {
		const size_t at = next_begin(is_rare, n, due - (due > from ? jitter : 0));

		if (at > due + jitter)
			continue;
		off |= at < n && at != due;
		due = last = at < n ? at : due;
		last_turn = turns;
		hits += at < n;
	}
	turns += (from - first) / period;
	if (hits < 3 || 4 * hits < 3 * runs || 4 * hits < 3 * turns ||
	    log_chance_of_period(n, runs, hits, turns, off) > log(CHANCE_OF_PERIOD))
		return 0;
	return (last - from + last_turn / 2) / last_turn;
}

/* Looks for a period among the first runs; 0: there is none. */
static size_t find_period(const uint8_t *is_rare, size_t n, size_t first, size_t *ret_from)
{
	size_t from = next_begin(is_rare, n, first);

	for (int anchors = 0; anchors < 3 && from < n; anchors++, from = next_begin(is_rare, n, from + 1)) {
		size_t next = next_begin(is_rare, n, from + 1);

		for (size_t runs = 1; runs <= 3 && next < n; runs++, next = next_begin(is_rare, n, next + 1))
			for (size_t parts = 1; parts <= runs; parts++) {
				const size_t period = period_from(is_rare, n, first, from, (next - from) / parts);

				if (period) {
					*ret_from = from;
					return period;
				}
			}
	}
	return 0;
}

static void name_rares(const struct work *w, const uint8_t *is_rare, size_t n, struct pp_series *s)
{
	size_t begin = 0, first;

	while (begin < n && is_rare[begin] && !is_in_period(w, begin))
		begin++;
	first = next_begin(is_rare, n, begin);
	s->start_ups = begin;
	s->first_rare = w->period ? w->phase : first < n ? first : 0;
	s->period = w->period ? w->period : find_period(is_rare, n, begin, &s->first_rare);
	if (!s->period) {
		s->period = find_period(is_rare, n, 0, &s->first_rare);
		s->start_ups = s->period ? 0 : begin;
	}
	if (s->period)
		s->rare = PP_RARE_PERIODIC;
	else if (first < n)
		s->rare = next_begin(is_rare, n, first + 1) < n ? PP_RARE_IRREGULAR : PP_RARE_ONE_OFF;
	else
		s->rare = begin ? PP_RARE_START_UP : PP_RARE_NONE;
}

static void sum_rares(const struct work *w, const double *value, const uint8_t *is_rare, size_t n, const struct fit *f,
                      struct pp_series *s)
{
	for (size_t i = s->rare == PP_RARE_START_UP ? 0 : s->start_ups; i < n; i++) {
		if (!is_rare[i])
			continue;
		w->a[s->rares] = value[i] - fit_at(f, i);
		s->rare_cost += w->a[s->rares++] / (double)n;
	}
	s->rare_each = pp_series_median(w->a, s->rares);
}

void pp_series_of(const double *value, size_t n, double least, double *room, uint8_t *ret_is_rare, struct pp_series *ret_series)
{
	pp_series_at(value, n, least, CHANCE, room, ret_is_rare, ret_series);
}

void pp_series_at(const double *value, size_t n, double least, double chance, double *room, uint8_t *ret_is_rare,
                  struct pp_series *ret_series)
{
	struct work w = {.v = value, .n = n, .a = room + n, .b = room + 2 * n, .least = least, .chance = chance};
	struct pp_series s = {.rare = PP_RARE_NONE};
	struct fit best = {.course = PP_COURSE_STEADY};

	find_short_period(&w);
	w.n = 0;
	for (size_t i = 0; i < n; i++) {
		ret_is_rare[i] = (uint8_t)is_in_period(&w, i);
		if (!ret_is_rare[i])
			room[w.n++] = value[i];
	}
	w.v = room;
	w.sigma = noise_at(w.v, w.n, 1, w.a);
	best.before = best.after = median_between(&w, 0, w.n);
	w.floor = fmax(least, FLOOR * fabs(best.after));
	best.cost = cost_of(&w, &best);
	s.is_long = w.n > 1 && log_separate(w.n, w.n / 2, 0) < log(w.chance);
	if (s.is_long) {
		try_change(&w, &best);
		try_growth(&w, &best);
	}
	fit_usual(&w, ret_is_rare, &best);
	for (int turn = 0; turn < TURNS && mark(&w, &best, ret_is_rare); turn++)
		fit_usual(&w, ret_is_rare, &best);
	fit_usual(&w, ret_is_rare, &best);
	s.course = best.course;
	s.onset = best.onset;
	s.slope = best.slope;
	s.before = fit_at(&best, 0);
	s.level = fit_at(&best, n ? n - 1 : 0);
	s.sigma = noise_at(w.a, list_usual(&w, ret_is_rare, 0, 0, SIZE_MAX), 1, w.b);
	s.spread = spread_of(&w, ret_is_rare, &best);
	name_rares(&w, ret_is_rare, n, &s);
	sum_rares(&w, value, ret_is_rare, n, &best, &s);
	*ret_series = s;
}
