/* Places clocks by the ends of collectives; see ends.h. From the home's clock outwards: of the clocks that have a place, the one
 * with the least bound is compared next with those that have none. */
#include "core/clock/ends.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/base/wrap.h"

enum {
	FEW = 3,  /* fewer differences have no spread: only what order proves is stated */
	MANY = 8, /* fewer have a spread that says little */
	SAFE = 2, /* the stated error, in spreads */
	SAFE_OF_FEW = 8,
	FOR_DRIFT = 24, /* thirds with spreads of their own */
	MOST_PERCENT = 95,
};

struct part {             /* all ranks of one clock in one collective */
	size_t operation; /* of work.first */
	uint32_t clock;
	int64_t arrival, leave, end; /* last arrival, first end, mean end */
};

struct difference { /* of the ends on two clocks */
	uint32_t clock;
	int64_t by;        /* to be added to the other's times, if both ended at once */
	int64_t low, high; /* what order proves of it */
	int64_t longest;   /* of the two calls */
	int64_t time;
};

struct fit {
	int64_t offset, bound, drift_ppb;
};

struct work {
	struct part *part;
	size_t *first; /* [operations + 1], of their parts */
	size_t parts, operations;
	size_t *of_clock, *at; /* at[of_clock[c]..of_clock[c + 1]): parts of clock c */
	uint8_t *is_done;
	struct difference *d;
	size_t differences, room;
	int64_t *sorted;
	size_t sorted_room;
	struct pp_ends_clock *clock;
	size_t clocks;
};

PP_COMPARE_BY_2(compare_row, struct pp_ends_row, operation, clock)

PP_COMPARE_BY_2(compare_difference, struct difference, clock, by)

PP_COMPARE_BY(compare_time, struct difference, time)

/* Rows of one clock in one collective become one; collectives of one clock only are left out. */
static void join_rows(struct work *w, const struct pp_ends_row *row, size_t rows)
{
	for (size_t i = 0, n; i < rows; i += n) {
		const size_t begin = w->parts;

		for (n = 0; i + n < rows && row[i + n].operation == row[i].operation;) {
			struct part *p = &w->part[w->parts++];
			const struct pp_ends_row *one = &row[i + n];
			int64_t sum = 0, count = 0;

			*p = (struct part){w->operations, one->clock, INT64_MIN, INT64_MAX, 0};
			for (; i + n < rows && row[i + n].operation == one->operation && row[i + n].clock == one->clock; n++) {
				p->arrival = row[i + n].arrival > p->arrival ? row[i + n].arrival : p->arrival;
				p->leave = row[i + n].end < p->leave ? row[i + n].end : p->leave;
				sum = pp_wrap_plus(sum, pp_wrap_minus(row[i + n].end, one->end));
				count++;
			}
			p->end = pp_wrap_plus(one->end, sum / count);
		}
		if (w->parts - begin < 2)
			w->parts = begin;
		else
			w->first[w->operations++] = begin;
	}
	w->first[w->operations] = w->parts;
}

static void index_clocks(struct work *w)
{
	for (size_t i = 0; i < w->parts; i++)
		w->of_clock[w->part[i].clock + 1]++;
	for (size_t c = 0; c < w->clocks; c++)
		w->of_clock[c + 1] += w->of_clock[c];
	for (size_t i = w->parts; i-- > 0;)
		w->at[--w->of_clock[w->part[i].clock + 1]] = i; /* each begin moves to the one of the clock before */
	for (size_t c = 0; c < w->clocks; c++)
		w->of_clock[c] = w->of_clock[c + 1];
	w->of_clock[w->clocks] = w->parts;
}

static int64_t longer(const struct part *x, const struct part *y)
{
	int64_t a = pp_wrap_minus(x->end, x->arrival), b = pp_wrap_minus(y->end, y->arrival);

	return a > b ? a : b;
}

/* Differences between this clock and all that have no place yet. */
static int list_differences(struct work *w, uint32_t clock)
{
	w->differences = 0;
	for (size_t k = w->of_clock[clock]; k < w->of_clock[clock + 1]; k++) {
		const struct part *x = &w->part[w->at[k]];

		for (size_t i = w->first[x->operation]; i < w->first[x->operation + 1]; i++) {
			const struct part *y = &w->part[i];

			if (w->clock[y->clock].how == PP_ENDS_PLACED)
				continue;
			if (PP_GROW(w->d, w->differences, w->room))
				return -ENOMEM;
			w->d[w->differences++] = (struct difference){.clock = y->clock,
			                                             .by = pp_wrap_minus(x->end, y->end),
			                                             .low = pp_wrap_minus(x->arrival, y->leave),
			                                             .high = pp_wrap_minus(x->leave, y->arrival),
			                                             .longest = longer(x, y),
			                                             .time = x->end};
		}
	}
	if (w->differences)
		qsort(w->d, w->differences, sizeof(*w->d), compare_difference);
	return 0;
}

/* Of sorted values. */
static int64_t median(const int64_t *sorted, size_t n)
{
	return sorted[(n - 1) / 2] + pp_wrap_minus(sorted[n / 2], sorted[(n - 1) / 2]) / 2;
}

/* Within this distance of the middle most of them are. */
static int64_t spread(const int64_t *sorted, size_t n, int64_t middle)
{
	const size_t most = (n * MOST_PERCENT + 99) / 100;
	size_t low = 0, high = n;

	while (high - low > most)
		if (pp_wrap_minus(middle, sorted[low]) > pp_wrap_minus(sorted[high - 1], middle))
			low++;
		else
			high--;
	return pp_wrap_minus(middle, sorted[low]) > pp_wrap_minus(sorted[high - 1], middle)
	               ? pp_wrap_minus(middle, sorted[low])
	               : pp_wrap_minus(sorted[high - 1], middle);
}

static void sort_differences(struct work *w, const struct difference *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w->sorted[i] = d[i].by;
	qsort(w->sorted, n, sizeof(*w->sorted), pp_compare_int64);
}

/* The first third and the last differ by more than either spreads: one clock runs faster. */
static int64_t drift(struct work *w, struct difference *d, size_t n)
{
	const size_t third = n / 3;
	int64_t first, last, error, time;

	if (n < FOR_DRIFT)
		return PP_UNKNOWN;
	qsort(d, n, sizeof(*d), compare_time);
	time = pp_wrap_minus(d[n - 1 - third / 2].time, d[third / 2].time);
	sort_differences(w, d, third);
	first = median(w->sorted, third);
	error = spread(w->sorted, third, first);
	sort_differences(w, d + n - third, third);
	last = median(w->sorted, third);
	error = pp_wrap_plus(error, spread(w->sorted, third, last));
	if (time <= 0 || llabs(pp_wrap_minus(last, first)) <= error || llabs(pp_wrap_minus(last, first)) > time / 1000)
		return PP_UNKNOWN;
	return (int64_t)((double)(last - first) * 1e9 / (double)time);
}

static int64_t usual_length(struct work *w, const struct difference *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w->sorted[i] = d[i].longest;
	qsort(w->sorted, n, sizeof(*w->sorted), pp_compare_int64);
	return median(w->sorted, n);
}

/* From sorted differences of two clocks. 0: they contradict each other by more than what would be measured. */
static int fit(struct work *w, struct difference *d, size_t n, struct fit *ret_fit)
{
	int64_t low = INT64_MIN, high = INT64_MAX, proven, spreads;
	struct fit f;

	sort_differences(w, d, n);
	f.offset = median(w->sorted, n);
	spreads = (n < MANY ? SAFE_OF_FEW : SAFE) * spread(w->sorted, n, f.offset);
	for (size_t i = 0; i < n; i++) {
		low = d[i].low > low ? d[i].low : low;
		high = d[i].high < high ? d[i].high : high;
	}
	if (low <= high) { /* one offset fits the order of all calls */
		const int64_t middle = f.offset;

		f.offset = f.offset < low ? low : f.offset > high ? high : f.offset;
		proven = high - f.offset > f.offset - low ? high - f.offset : f.offset - low;
		/* a drift is in the spread, and not in the proof */
		f.bound = n < FEW ? proven : spreads + llabs(f.offset - middle);
	} else {
		f.bound = spreads > (low - high + 1) / 2 ? spreads : (low - high + 1) / 2;
		if (n < FEW)
			return 0;
	}
	if (f.bound > usual_length(w, d, n) / 2)
		return 0;
	f.drift_ppb = drift(w, d, n);
	*ret_fit = f;
	return 1;
}

static void take(struct work *w, uint32_t from, uint32_t to, const struct fit *f, size_t n)
{
	const struct pp_ends_clock *parent = &w->clock[from];
	struct pp_ends_clock *c = &w->clock[to];
	const int64_t bound = pp_wrap_plus(parent->bound, f->bound);

	*c = (struct pp_ends_clock){.how = PP_ENDS_PLACED,
	                            .offset = pp_wrap_plus(parent->offset, f->offset),
	                            .bound = bound,
	                            .drift_ppb = f->drift_ppb,
	                            .operations = n,
	                            .parent = from,
	                            .hops = parent->hops + 1};
	if (pp_is_known(parent->drift_ppb))
		c->drift_ppb = pp_known_or(c->drift_ppb, 0) + parent->drift_ppb;
}

/* Compares the clock with all that have no place. */
static int expand(struct work *w, uint32_t clock)
{
	int rc = list_differences(w, clock);
	size_t n;

	if (rc)
		return rc;
	if (w->sorted_room < w->differences) {
		int64_t *more = realloc(w->sorted, w->differences * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->sorted = more;
		w->sorted_room = w->differences;
	}
	for (size_t i = 0; i < w->differences; i += n) {
		const uint32_t other = w->d[i].clock;
		struct fit f;

		for (n = 1; i + n < w->differences && w->d[i + n].clock == other; n++)
			;
		if (fit(w, &w->d[i], n, &f))
			take(w, clock, other, &f, n);
		else if (w->clock[other].how == PP_ENDS_NONE)
			w->clock[other].how = PP_ENDS_SPREAD;
	}
	return 0;
}

static int place_all(struct work *w, uint32_t home)
{
	int rc = 0;

	w->clock[home] = (struct pp_ends_clock){.how = PP_ENDS_PLACED, .drift_ppb = PP_UNKNOWN, .parent = home};
	for (uint32_t next = home; next != UINT32_MAX && !rc;) {
		size_t left = 0;

		w->is_done[next] = 1;
		for (size_t c = 0; c < w->clocks; c++)
			left += w->clock[c].how != PP_ENDS_PLACED;
		rc = left ? expand(w, next) : 0;
		next = UINT32_MAX;
		for (uint32_t c = 0; c < w->clocks; c++)
			if (!w->is_done[c] && w->clock[c].how == PP_ENDS_PLACED &&
			    (next == UINT32_MAX || w->clock[c].bound < w->clock[next].bound))
				next = c;
	}
	return rc;
}

int pp_ends_place(struct pp_ends_row *row, size_t rows, size_t clocks, uint32_t home, struct pp_ends_clock *ret_clock,
                  struct pp_err *err)
{
	struct work w = {.part = calloc(rows + 1, sizeof(*w.part)),
	                 .first = calloc(rows + 2, sizeof(*w.first)),
	                 .of_clock = calloc(clocks + 2, sizeof(*w.of_clock)),
	                 .at = calloc(rows + 1, sizeof(*w.at)),
	                 .is_done = calloc(clocks + 1, 1),
	                 .clock = ret_clock,
	                 .clocks = clocks};
	int rc = w.part && w.first && w.of_clock && w.at && w.is_done ? 0 : -ENOMEM;

	for (size_t c = 0; c < clocks; c++)
		ret_clock[c] = (struct pp_ends_clock){.how = PP_ENDS_NONE, .drift_ppb = PP_UNKNOWN, .parent = (uint32_t)c};
	if (!rc && home < clocks) {
		if (rows)
			qsort(row, rows, sizeof(*row), compare_row);
		join_rows(&w, row, rows);
		index_clocks(&w);
		rc = place_all(&w, home);
	}
	free(w.part);
	free(w.first);
	free(w.of_clock);
	free(w.at);
	free(w.is_done);
	free(w.d);
	free(w.sorted);
	return rc ? pp_err_set(err, rc, "cannot place %zu clocks: no memory", clocks) : 0;
}
