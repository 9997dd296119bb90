/* Delays of single steps: every p steps, or once; see late_event.h. Called by late_pattern.c. */
#include "aggregate/tools/late_event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CHANCE 0.01
#define COVERAGE 0.8   /* of the steps of a period that stall */
#define PURITY 0.7     /* of the stalls that are in such steps */
#define PERIODIC_GAP 3 /* the least stall of a short series is so much longer than any other step's delay */
#define EVENT 0.1      /* of a step: a periodic stall */
#define EVENT_FEW 0.5  /* of a step: one that is seen too few times for statistics */
#define ALL_EVENT 0.2  /* of a step: one of all ranks */
#define ONE_OFF 0.5    /* of a step */
#define ONE_OFF_GAP 3  /* times the largest of the other steps */
#define ONE_OFF_STEPS 0.1
#define ONE_OFF_NOISE 10
#define SAME_RANK 0.8
#define STALL_SIGMA 6
enum { OCCURRENCES = 3, CUTS = 6, MOST_ROUNDS = 4, PERIOD_MOST = 1000 };

struct period { /* from its first stall, at phase, on */
	size_t period, phase, jitter, hits, slots, events;
	double chance;
};

struct search {
	struct pp_late_series *k;
	struct pp_late_patterns *to;
	double *value, *sorted; /* [steps], of the series at hand */
	uint32_t *before;       /* [steps + 1] how many steps before each are at or above the cut */
	double *work;           /* [ranks] */
	size_t *top;            /* [steps] rank with the largest delay */
	double series;          /* of so many series the one at hand was chosen */
};

static int by_value_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

static int is_slot(const struct period *p, size_t s)
{
	size_t at;

	if (!p->period || s + p->jitter < p->phase)
		return 0;
	at = (s + p->period - p->phase % p->period) % p->period;
	return at <= p->jitter || p->period - at <= p->jitter;
}

/* In: a phase in the first period. Returns in how many of the later slots such a period could begin. It has no hits where its slots
 * are too few for the events. */
static size_t try_period(const struct search *f, struct period *p)
{
	const size_t steps = f->k->steps, starts = (steps - 1 - p->phase) / p->period + 1;

	for (size_t at = p->phase; at < steps && (double)starts >= PURITY * (double)p->events; at += p->period) {
		const size_t from = at > p->jitter ? at - p->jitter : 0, end = at + p->jitter + 1;
		const int hit = f->before[end < steps ? end : steps] > f->before[from];

		if (hit && !p->hits)
			p->phase = at;
		p->hits += hit != 0;
		p->slots += p->hits > 0;
	}
	return starts > OCCURRENCES ? starts - OCCURRENCES : 0;
}

/* The best period of steps at or above the cut; its chance is 1 where there is none. Jitter: long periods need not be exact, where
 * the job counts time, not steps. */
static struct period best_period(const struct search *f, double cut, int has_jitter)
{
	struct period best[2] = {{.chance = 1}, {.chance = 1}}; /* that begins at once; later */
	size_t steps = f->k->steps, events, tests[2] = {0};

	for (size_t s = 0; s < steps; s++)
		f->before[s + 1] = f->before[s] + (f->value[s] >= cut);
	events = f->before[steps];
	for (size_t period = 2; period <= PERIOD_MOST && period * (OCCURRENCES - 1) < steps; period++)
		for (size_t phase = 0; phase < period && phase < steps; phase++) {
			struct period p = {
			        .period = period, .phase = phase, .jitter = has_jitter ? period / 10 : 0, .events = events};
			double usual = (double)events / (double)steps * (1 + 2 * (double)p.jitter);

			tests[0]++;
			tests[1] += try_period(f, &p);
			if (p.hits < OCCURRENCES || (double)p.hits < COVERAGE * (double)p.slots ||
			    (double)p.hits < PURITY * (double)events)
				continue;
			p.chance = pp_chance((double)p.hits, (double)p.slots, usual < 1 ? usual : 1);
			if (p.chance < best[p.phase >= period].chance)
				best[p.phase >= period] = p;
		}
	for (int i = 0; i < 2; i++)
		best[i].chance *= (double)tests[i];
	return best[best[1].chance < best[0].chance];
}

static double largest_other(const struct search *f, const struct period *p)
{
	double most = 0;

	for (size_t s = 0; s < f->k->steps; s++)
		if (!is_slot(p, s) && f->value[s] > most)
			most = f->value[s];
	return most;
}

/* Cuts between stalls and the rest: where the sorted values have their largest steps down. */
static size_t find_cuts(struct search *f, double least, double cut[CUTS])
{
	size_t n = 0, steps = f->k->steps;
	double ratio[CUTS] = {0};

	for (size_t s = 0; s < steps; s++)
		f->sorted[s] = f->value[s];
	qsort(f->sorted, steps, sizeof(*f->sorted), by_value_down);
	for (size_t i = OCCURRENCES - 1; i + 1 < steps && f->sorted[i] >= least; i++) {
		double below = f->sorted[i + 1] > least / 2 ? f->sorted[i + 1] : least / 2, r = f->sorted[i] / below;
		size_t at;

		if (r < 1.05 || (n == CUTS && r <= ratio[CUTS - 1]))
			continue;
		at = n < CUTS ? n++ : CUTS - 1;
		for (; at && ratio[at - 1] < r; at--) {
			ratio[at] = ratio[at - 1];
			cut[at] = cut[at - 1];
		}
		ratio[at] = r;
		cut[at] = f->sorted[i];
	}
	return n;
}

/* Is there a period in `value`? Whole: the cut that found it. */
static int find_exact(struct search *f, double least, int has_jitter, struct period *ret, double *ret_cut)
{
	double cut[CUTS];
	size_t cuts = find_cuts(f, least, cut);
	struct period best = {.chance = 1};

	for (size_t i = 0; i < cuts; i++) {
		struct period p = best_period(f, cut[i], has_jitter);
		double other;

		if (!p.period)
			continue;
		other = largest_other(f, &p);
		p.chance *= (double)cuts * f->series;
		if (p.hits == p.slots && cut[i] >= PERIODIC_GAP * other &&
		    cut[i] >= EVENT_FEW * f->k->step_ns) /* few, but they stand out */
			p.chance *= p.hits > OCCURRENCES ? 1e-4 : 1e-3;
		if (p.chance < best.chance) {
			best = p;
			*ret_cut = cut[i];
		}
	}
	*ret = best;
	return best.chance <= CHANCE;
}

static int find_period(struct search *f, double least, struct period *ret, double *ret_cut)
{
	return find_exact(f, least, 0, ret, ret_cut) || find_exact(f, least, 1, ret, ret_cut);
}

static void find_tops(struct search *f)
{
	const struct pp_late_series *k = f->k;
	double n = 0;

	for (size_t w = 0; w < k->ranks; w++)
		f->work[w] = 0;
	for (size_t s = 0; s < k->steps; s++) {
		const double *delay = &k->delay[s * k->ranks];

		f->top[s] = 0;
		for (size_t w = 1; w < k->ranks; w++)
			f->top[s] = delay[w] > delay[f->top[s]] ? w : f->top[s];
		f->work[f->top[s]] += delay[f->top[s]];
		n += k->total[s] > 0;
	}
}

/* Takes the stalls of a period out of the series, those of one rank or of whichever is latest. */
static void add_periodic(struct search *f, const struct period *p, double cut, size_t rank, double noise)
{
	struct pp_late_series *k = f->k;
	struct pp_late_pattern found = {.class = PP_LATE_PERIODIC,
	                                .rank = rank,
	                                .ranks = rank == SIZE_MAX ? k->ranks : 1,
	                                .role = -1,
	                                .period = p->period,
	                                .of = p->slots,
	                                .at = SIZE_MAX};
	double weight[PP_REASONS] = {0};
	size_t n = 0;

	for (size_t s = 0; s < k->steps; s++) {
		size_t w = rank == SIZE_MAX ? f->top[s] : rank;
		double *delay = &k->delay[s * k->ranks];

		if (!is_slot(p, s) || f->value[s] < cut)
			continue;
		found.at = found.steps++ ? found.at : s;
		weight[k->reason[s * k->ranks + w]] += delay[w];
		f->sorted[n++] = f->value[s];
		for (size_t i = 0; i < k->ranks; i++)
			if (rank == SIZE_MAX || i == rank) {
				found.ns += delay[i] * (double)(k->ranks - 1);
				delay[i] = 0;
			}
	}
	found.each_ns = pp_quantile(f->sorted, n, 0.5);
	found.reason = pp_late_reason(weight);
	found.confidence = pp_late_confidence((double)p->hits / (double)p->slots * (double)p->hits / (double)p->events,
	                                      found.each_ns, noise, found.steps * 4);
	pp_late_sum_up(k);
	pp_late_add(f->to, &found);
}

static size_t same_rank(const struct search *f, const struct period *p, double cut)
{
	size_t n = 0, all = 0, best = SIZE_MAX;

	for (size_t w = 0; w < f->k->ranks; w++)
		f->work[w] = 0;
	for (size_t s = 0; s < f->k->steps; s++)
		if (is_slot(p, s) && f->value[s] >= cut) {
			f->work[f->top[s]]++;
			all++;
		}
	for (size_t w = 0; w < f->k->ranks; w++)
		if (f->work[w] > (double)n) {
			n = (size_t)f->work[w];
			best = w;
		}
	return (double)n >= SAME_RANK * (double)all ? best : SIZE_MAX;
}

/* All ranks stall in the same steps: nobody waits, their own work is longer. */
static void find_all_stall(struct search *f)
{
	struct pp_late_series *k = f->k;
	struct pp_late_pattern found = {
	        .class = PP_LATE_PERIODIC, .rank = SIZE_MAX, .ranks = k->ranks, .role = -1, .all_stall = 1, .at = SIZE_MAX};
	double middle, spread, cut = 0, least;
	struct period p;
	size_t n = 0;

	f->series = 1;
	for (size_t s = 0; s < k->steps; s++) {
		size_t present = 0;

		for (size_t w = 0; w < k->ranks; w++)
			if (pp_late_cell(k, s, w)->present)
				f->work[present++] = pp_late_work(k, s, w);
		f->value[s] = f->sorted[s] = pp_quantile(f->work, present, 0.5);
	}
	middle = pp_quantile(f->sorted, k->steps, 0.25);
	spread = pp_quantile(f->sorted, k->steps, 0.5) - middle;
	for (size_t s = 0; s < k->steps; s++)
		f->value[s] = f->value[s] > middle ? f->value[s] - middle : 0;
	least = ALL_EVENT * k->step_ns > STALL_SIGMA * spread ? ALL_EVENT * k->step_ns : STALL_SIGMA * spread;
	if (!find_period(f, least, &p, &cut))
		return;
	for (size_t s = 0; s < k->steps; s++)
		if (is_slot(&p, s) && f->value[s] >= cut) {
			found.at = found.steps++ ? found.at : s;
			f->sorted[n++] = f->value[s];
			found.ns += f->value[s] * (double)k->ranks;
		}
	found.each_ns = pp_quantile(f->sorted, n, 0.5);
	found.period = p.period;
	found.of = p.slots;
	found.confidence = pp_late_confidence((double)p.hits / (double)p.slots * (double)p.hits / (double)p.events, found.each_ns,
	                                      spread, found.steps * 4);
	for (size_t s = 0; s < k->steps; s++) /* of the categories that are longer than before, the one that most of it is in */
		if (s == found.at) {
			double best = 0;

			for (int c = 1; c <= PP_CATEGORIES; c++) {
				double more = 0;

				for (size_t w = 0; w < k->ranks; w++)
					more += (double)pp_late_cell(k, s, w)->exclusive_ns[c] -
					        (double)pp_late_cell(k, s ? s - 1 : s + 1, w)->exclusive_ns[c];
				if (c != PP_CATEGORY_HOST_COMMUNICATION && c != PP_CATEGORY_DEVICE_COLLECTIVE && more > best) {
					best = more;
					found.reason = c;
				}
			}
		}
	pp_late_add(f->to, &found);
}

static int search_init(struct search *f, struct pp_late_series *k, struct pp_late_patterns *to)
{
	*f = (struct search){.k = k, .to = to};
	f->value = calloc(k->steps + 1, sizeof(*f->value));
	f->sorted = calloc(k->steps + 1, sizeof(*f->sorted));
	f->before = calloc(k->steps + 1, sizeof(*f->before));
	f->work = calloc(k->ranks + 1, sizeof(*f->work));
	f->top = calloc(k->steps + 1, sizeof(*f->top));
	return f->value && f->sorted && f->before && f->work && f->top ? 0 : -ENOMEM;
}

static void search_release(struct search *f)
{
	free(f->value);
	free(f->sorted);
	free(f->before);
	free(f->work);
	free(f->top);
}

/* The total first, then the rank with the largest delays alone: noise of other ranks may hide its period. */
static int find_one(struct search *f)
{
	struct pp_late_series *k = f->k;
	double least = EVENT * k->step_ns > 2 * k->floor_ns ? EVENT * k->step_ns : 2 * k->floor_ns, cut = 0,
	       noise = pp_late_noise(k);
	struct period p;
	size_t best = 0;

	find_tops(f);
	f->series = 1;
	for (size_t w = 1; w < k->ranks; w++)
		best = f->work[w] > f->work[best] ? w : best;
	for (size_t s = 0; s < k->steps; s++)
		f->value[s] = k->total[s];
	if (find_period(f, least, &p, &cut)) {
		add_periodic(f, &p, cut, same_rank(f, &p, cut), noise);
		return 1;
	}
	f->series = (double)k->ranks;
	for (size_t s = 0; s < k->steps; s++)
		f->value[s] = k->delay[s * k->ranks + best];
	if (!find_period(f, least, &p, &cut))
		return 0;
	add_periodic(f, &p, cut, best, noise);
	return 1;
}

int pp_late_periodic(struct pp_late_series *k, struct pp_late_patterns *to)
{
	struct search f;
	int rc = search_init(&f, k, to);

	for (int i = 0; i < MOST_ROUNDS && !rc; i++)
		if (!find_one(&f))
			break;
	if (!rc)
		find_all_stall(&f);
	search_release(&f);
	return rc;
}

/* How many of the largest values stand out from the rest; 0: none. */
static size_t count_outliers(struct search *f, double *ret_rest)
{
	size_t steps = f->k->steps, most = (size_t)(ONE_OFF_STEPS * (double)steps), found = 0;
	double middle, spread, least;

	for (size_t s = 0; s < steps; s++)
		f->value[s] = f->sorted[s] = f->k->total[s];
	middle = pp_quantile(f->sorted, steps, 0.5);
	for (size_t s = 0; s < steps; s++)
		f->sorted[s] = fabs(f->value[s] - middle);
	spread = 1.4826 * pp_quantile(f->sorted, steps, 0.5);
	least = ONE_OFF * f->k->step_ns;
	least = middle + ONE_OFF_NOISE * spread > least ? middle + ONE_OFF_NOISE * spread : least;
	for (size_t s = 0; s < steps; s++)
		f->sorted[s] = f->value[s];
	qsort(f->sorted, steps, sizeof(*f->sorted), by_value_down);
	for (size_t i = 0; i < (most ? most : 1) && i + 1 < steps; i++)
		if (f->sorted[i] >= least && f->sorted[i] >= ONE_OFF_GAP * f->sorted[i + 1]) {
			found = i + 1;
			*ret_rest = f->sorted[i + 1];
		}
	return found;
}

static void add_one_off(struct search *f, size_t rank, double cut, double rest)
{
	struct pp_late_series *k = f->k;
	struct pp_late_pattern p = {.class = PP_LATE_ONE_OFF, .rank = rank, .ranks = 1, .role = -1, .of = k->steps, .at = SIZE_MAX};
	double weight[PP_REASONS] = {0};

	for (size_t s = 0; s < k->steps; s++) {
		double delay = k->delay[s * k->ranks + rank];

		if (f->top[s] != rank || f->value[s] < cut)
			continue;
		p.at = p.steps++ ? p.at : s;
		p.ns += delay * (double)(k->ranks - 1);
		p.each_ns = delay > p.each_ns ? delay : p.each_ns;
		weight[k->reason[s * k->ranks + rank]] += delay;
	}
	p.reason = pp_late_reason(weight);
	p.confidence = pp_late_confidence(1, p.each_ns, rest, k->steps);
	if (p.steps)
		pp_late_add(f->to, &p);
}

int pp_late_one_off(struct pp_late_series *k, struct pp_late_patterns *to)
{
	struct search f;
	int rc = search_init(&f, k, to);
	double rest = 0;
	size_t n = rc ? 0 : count_outliers(&f, &rest);

	if (n) {
		double cut = f.sorted[n - 1];

		find_tops(&f);
		for (size_t w = 0; w < k->ranks; w++)
			f.work[w] = 0;
		for (size_t s = 0; s < k->steps; s++)
			if (f.value[s] >= cut)
				f.work[f.top[s]] = 1;
		for (size_t w = 0; w < k->ranks; w++)
			if (f.work[w] > 0)
				add_one_off(&f, w, cut, rest);
	}
	search_release(&f);
	return rc;
}
