/* Chooses the steps, the rank and the quantity that show a finding; see evidence.h. */
#include "aggregate/report/data/evidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/tools/finding_word.h"
#include "core/base/known.h"

enum { USUALS = 3 /* steps of a finding in usual steps */, MOST = 8 /* of a run of exceptional ones */ };

/* At which distances from the first periodic step exceptional ones are the rule: a checkpoint may lengthen two steps. */
static void mark_periodic(const struct pp_dataset *d, const struct pp_usual_steps *u, char *letter)
{
	const size_t period = u->course.period, first = u->course.first_rare;

	for (size_t phase = 0; phase < period; phase++) {
		size_t all = 0, rare = 0;

		for (size_t s = first + phase; s < d->steps; s += period, all++)
			rare += u->is_rare[s];
		if (phase && 2 * rare <= all)
			continue;
		for (size_t s = first + phase; s < d->steps; s += period)
			if (u->is_rare[s])
				letter[s] = PP_REGIME_PERIODIC;
	}
}

int pp_regimes_of(const struct pp_dataset *d, const struct pp_usual_steps *u, struct pp_regimes *ret)
{
	const int is_periodic = u->course.rare == PP_RARE_PERIODIC && u->course.period > 0;

	*ret = (struct pp_regimes){.change = PP_UNKNOWN, .period = PP_UNKNOWN};
	ret->letter = calloc(d->steps + 1, 1);
	if (!ret->letter)
		return -ENOMEM;
	for (size_t s = 0; s < d->steps; s++)
		ret->letter[s] = (char)(u->is_rare[s]         ? s < u->course.start_ups ? PP_REGIME_START : PP_REGIME_ODD
		                        : s < u->course.onset ? PP_REGIME_BEFORE
		                                              : PP_REGIME_USUAL);
	if (is_periodic)
		mark_periodic(d, u, ret->letter);
	if (u->course.onset && u->course.onset < d->steps)
		ret->change = d->step[u->course.onset].number;
	if (is_periodic)
		ret->period = (int64_t)u->course.period;
	return 0;
}

void pp_regimes_release(struct pp_regimes *r)
{
	free(r->letter);
	r->letter = NULL;
}

struct search {
	const struct pp_dataset *d;
	const struct pp_usual_steps *u;
	const char *letter;
	size_t worker;  /* SIZE_MAX: none */
	int category;   /* of its time that is compared; 0: the step */
	double typical; /* of that, in steps of the kind */
};

/* NAN: the rank does not have the step. */
static double value_of(const struct search *s, size_t step)
{
	const struct pp_row_cell *cell;

	if (s->worker == SIZE_MAX)
		return s->u->time[step];
	cell = &s->d->cell[step * s->d->workers + s->worker];
	return cell->present ? (double)(s->category ? cell->exclusive_ns[s->category] : cell->step_ns) : (double)NAN;
}

static void set_typical(struct search *s, char kind)
{
	size_t n = 0;

	for (size_t i = 0; i < s->d->steps; i++) {
		const double v = s->letter[i] == kind ? value_of(s, i) : (double)NAN;

		if (!isnan(v))
			s->u->room[n++] = v;
	}
	s->typical = pp_series_median(s->u->room, n);
}

/* How far the step is from what is usual, as parts of that. */
static double distance(const struct search *s, size_t step)
{
	const double base = pp_usual_steps_base(s->u, step), v = value_of(s, step);

	return (base > 0 ? fabs(s->u->time[step] - base) / base : 0) + (isnan(v)         ? 1e6
	                                                                : s->typical > 0 ? fabs(v - s->typical) / s->typical
	                                                                                 : 0);
}

static int is_run(const struct search *s, char kind, size_t from, size_t length)
{
	for (size_t i = from; i < from + length; i++)
		if (s->letter[i] != kind || (i > from && s->d->step[i].number != s->d->step[i - 1].number + 1))
			return 0;
	return 1;
}

static void set_steps(const struct search *s, size_t from, size_t length, struct pp_evidence *to)
{
	to->from = s->d->step[from].number;
	to->to = s->d->step[from + length - 1].number;
}

/* Steps of a kind in succession, three if there are so many, whose times are nearest to the typical ones; or the last of them. */
static void find_typical(struct search *s, char kind, int is_last, struct pp_evidence *to)
{
	double least = INFINITY;

	set_typical(s, kind);
	for (size_t length = USUALS; length && isinf(least); length--)
		for (size_t i = 0; i + length <= s->d->steps; i++) {
			double far = 0;

			if (!is_run(s, kind, i, length))
				continue;
			for (size_t k = i; k < i + length; k++)
				far += distance(s, k);
			if (!is_last && far >= least)
				continue;
			least = far;
			set_steps(s, i, length, to);
		}
}

/* Exceptional steps in succession from one on. */
static size_t run_from(const struct search *s, size_t from, size_t most)
{
	size_t length = 1;

	while (length < most && from + length < s->d->steps && is_run(s, s->letter[from], from + length - 1, 2))
		length++;
	return length;
}

/* The run of periodic steps whose longest one is nearest to the median of all runs. */
static void find_periodic(const struct search *s, struct pp_evidence *to)
{
	double median, least = INFINITY;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		median = pass ? pp_series_median(s->u->room, n) : 0;
		for (size_t i = 0, length; i < s->d->steps; i += length) {
			double longest = 0;

			length = 1;
			if (s->letter[i] != PP_REGIME_PERIODIC)
				continue;
			length = run_from(s, i, SIZE_MAX);
			for (size_t k = i; k < i + length; k++)
				longest = fmax(longest, s->u->time[k]);
			if (!pass) {
				s->u->room[n++] = longest;
			} else if (fabs(longest - median) < least) {
				least = fabs(longest - median);
				set_steps(s, i, length < MOST ? length : MOST, to);
			}
		}
	}
}

/* The step that the finding's next action names; SIZE_MAX: none. */
static size_t step_named(const struct pp_dataset *d, const struct pp_row_finding *f)
{
	static const char open[] = "open step ";

	return strncmp(f->finding_next, open, sizeof(open) - 1) != 0
	               ? SIZE_MAX
	               : pp_dataset_step(d, strtoll(f->finding_next + sizeof(open) - 1, NULL, 10));
}

static void find_steps(struct search *s, const struct pp_row_finding *f, struct pp_evidence *to)
{
	const size_t first = pp_dataset_step(s->d, f->finding_first), named = step_named(s->d, f);

	switch (f->kind) {
	case PP_FINDING_PERIODIC:
		find_periodic(s, to);
		break;
	case PP_FINDING_ONE_OFF:
		if (first != SIZE_MAX && s->letter[first] == PP_REGIME_BEFORE)
			find_typical(s, PP_REGIME_BEFORE, 0, to);
		else if (first != SIZE_MAX)
			set_steps(s, first, run_from(s, first, f->finding_steps < MOST ? f->finding_steps : MOST), to);
		break;
	case PP_FINDING_START_UP:
		if (s->d->steps && s->letter[0] == PP_REGIME_START)
			set_steps(s, 0, run_from(s, 0, MOST), to);
		break;
	case PP_FINDING_IRREGULAR:
		if (named != SIZE_MAX)
			set_steps(s, named, 1, to);
		else
			find_typical(s, PP_REGIME_USUAL, 0, to);
		break;
	default:
		find_typical(s, PP_REGIME_USUAL, f->kind == PP_FINDING_GROWING, to);
	}
}

/* The ranks of a text of pp_finding_who(): "ranks 0-3, 8 and 12 more", "host a (ranks 4 and 5)". */
static size_t read_ranks(const char *who, int32_t *rank, size_t most)
{
	const char *open = strncmp(who, "host ", 5) ? who : strrchr(who, '('), *at = open ? strstr(open, "rank") : NULL;
	size_t n = 0;
	int64_t last = -1;

	if (!at)
		return 0;
	at += strspn(at, "ranks");
	while (n < most) {
		const char *digits = at + strcspn(at, "0123456789");
		char *end;
		int64_t value;

		if (!*digits)
			break;
		value = strtoll(digits, &end, 10);
		if (value > INT32_MAX || !strncmp(end, " more", 5)) /* counted, not named */
			break;
		for (int64_t r = digits > at && digits[-1] == '-' && last >= 0 ? last + 1 : value; r <= value && n < most; r++)
			rank[n++] = (int32_t)r;
		last = value;
		at = end;
	}
	return n;
}

/* Does it speak of ranks in usual steps? With too few of them a late rank is IRREGULAR. */
static int is_of_ranks(const struct pp_dataset *d, const struct pp_row_finding *f)
{
	return pp_finding_names_ranks(f) || f->kind == PP_FINDING_ROTATING ||
	       (f->kind == PP_FINDING_IRREGULAR && step_named(d, f) == SIZE_MAX);
}

static void set_colour(const struct pp_dataset *d, const struct pp_row_finding *f, struct pp_evidence *to)
{
	const int reason = f->finding_reason > 0 && f->finding_reason <= PP_CATEGORIES ? f->finding_reason : 0;
	const int is_rare = f->kind >= PP_FINDING_PERIODIC && f->kind <= PP_FINDING_START_UP && !is_of_ranks(d, f);

	if (f->kind == PP_FINDING_LINK || (is_of_ranks(d, f) && !pp_reason_is_work(reason))) {
		snprintf(to->colour, sizeof(to->colour), "kept_ns");
	} else if (is_rare && (!f->who[0] || !reason)) {
		snprintf(to->colour, sizeof(to->colour), "step_ns");
	} else if (reason) {
		to->category = reason;
		snprintf(to->colour, sizeof(to->colour), "category_%d", reason);
		to->is_difference = d->workers > 1 && (is_of_ranks(d, f) || to->rank >= 0);
	} else {
		snprintf(to->colour, sizeof(to->colour), "step_ns");
	}
}

void pp_evidence_of(const struct pp_dataset *d, const struct pp_usual_steps *u, const struct pp_regimes *r,
                    const struct pp_row_finding *f, struct pp_evidence *ret)
{
	struct search s = {.d = d, .u = u, .letter = r->letter};

	*ret = (struct pp_evidence){.from = PP_UNKNOWN, .to = PP_UNKNOWN, .rank = f->finding_worker};
	if (f->kind == PP_FINDING_IRREGULAR && f->finding_ranks == 1)
		read_ranks(f->who, &ret->rank, 1);
	if (pp_dataset_worker(d, ret->rank) == SIZE_MAX)
		ret->rank = -1;
	if (pp_finding_names_ranks(f) && f->finding_ranks > 1)
		ret->lates = read_ranks(f->who, ret->late, PP_EVIDENCE_RANKS);
	if (!ret->lates && ret->rank >= 0)
		ret->late[ret->lates++] = ret->rank;
	set_colour(d, f, ret);
	s.worker = ret->rank < 0 ? SIZE_MAX : pp_dataset_worker(d, ret->rank);
	s.category = ret->category;
	find_steps(&s, f, ret);
}
