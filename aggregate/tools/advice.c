/* Fills /advice: what to do, with its evidence, by the rules of advice_rule.def. Called by tools.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/tools/advice_rule.h"
#include "aggregate/tools/tools.h"
#include "aggregate/tools/usual_step.h"
#include "core/base/known.h"

static const struct rule {
	const char *name, *advice;
	int (*holds)(const struct pp_advising *a, struct pp_finding *f);
} rules[] = {
#define PP_ADVICE(name, items, advice) {#name, advice, pp_rule_##name},
#include "aggregate/tools/advice_rule.def"
#undef PP_ADVICE
};

#define PP_ADVICE(name, items, text)                                                                                               \
	_Static_assert(sizeof(#name) <= sizeof(((struct pp_row_advice *)0)->rule) &&                                               \
	                       sizeof(text) <= sizeof(((struct pp_row_advice *)0)->advice),                                        \
	               "too long for its column");
#include "aggregate/tools/advice_rule.def"
#undef PP_ADVICE

static int is_marked(const struct pp_row_worker *w, const void *context)
{
	const struct pp_advising *a = context;

	return a->is[w - a->d->worker];
}

const char *pp_advice_ranks(const struct pp_advising *a, char text[PP_RANKS_TEXT])
{
	size_t ranks = pp_dataset_list_ranks(a->d, is_marked, a, ", ", text, PP_RANKS_TEXT);

	if (ranks == a->d->workers && ranks > 1)
		snprintf(text, PP_RANKS_TEXT, "all ranks");
	return text;
}

int32_t pp_advice_only(const struct pp_advising *a)
{
	int32_t only = -1;

	for (size_t w = 0; w < a->d->workers; w++) {
		if (!a->is[w])
			continue;
		if (only >= 0)
			return -1;
		only = a->d->worker[w].rank;
	}
	return only;
}

int64_t pp_advice_per_cell(const struct pp_advising *a, int64_t ns)
{
	return pp_known_or(pp_known_mean(ns, a->s.cells), 0);
}

int64_t pp_advice_category(const struct pp_advising *a, int category)
{
	return pp_known_or(pp_known_mean(a->u.sum_ns[category], a->u.cells), 0);
}

double pp_advice_share(const struct pp_advising *a, int category)
{
	return pp_sums_percent(a->u.sum_ns[category], a->u.all_ns);
}

uint8_t *pp_advice_names(const struct pp_advising *a, int (*is_one)(const char *name))
{
	uint32_t names = pp_intern_count(a->d->names);
	uint8_t *is = calloc((size_t)names + 1, 1);

	for (uint32_t i = 0; is && i < names; i++)
		is[i] = is_one(pp_intern_text(a->d->names, i, NULL)) != 0;
	return is;
}

static int by_cost(const void *a, const void *b)
{
	const struct pp_row_advice *x = a, *y = b;

	if (x->cost_ns != y->cost_ns)
		return x->cost_ns > y->cost_ns ? -1 : 1;
	return strcmp(x->rule, y->rule);
}

static int apply(const struct pp_advising *a, struct pp_table *to)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct pp_finding f = {.worker = -1};
		struct pp_row_advice *row;
		int holds;

		memset(a->is, 0, a->d->workers);
		holds = rules[i].holds(a, &f);
		if (holds < 0)
			return holds;
		if (!holds)
			continue;
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		snprintf(row->rule, sizeof(row->rule), "%s", rules[i].name);
		snprintf(row->evidence, sizeof(row->evidence), "%s", f.evidence);
		snprintf(row->advice, sizeof(row->advice), "%s", f.advice[0] ? f.advice : rules[i].advice);
		row->advice_worker = f.worker;
		row->cost_ns = f.cost_ns > 0 ? f.cost_ns : PP_UNKNOWN;
	}
	if (to->rows)
		qsort(to->row, to->rows, sizeof(struct pp_row_advice), by_cost);
	return 0;
}

int pp_tool_advice(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_dataset whole = *in; /* with the rows of the tools so far */
	struct pp_advising a = {.d = &whole};
	struct pp_usual_steps usual = {.usuals = 0};
	int rc;

	if (!in->workers)
		return 0;
	pp_dataset_take_tables(&whole, tables);
	a.is = calloc(in->workers + 1, 1);
	rc = a.is && !pp_usual_steps_find(&whole, &usual) ? pp_sums_of(&whole, &a.s) : -ENOMEM;
	if (!rc)
		rc = pp_sums_of_steps(&whole, usual.is_usual, &a.u);
	a.is_usual = usual.is_usual;
	if (!rc)
		rc = apply(&a, &tables[PP_TABLE_advice]);
	pp_sums_release(&a.s);
	pp_sums_release(&a.u);
	pp_usual_steps_release(&usual);
	free(a.is);
	return rc ? pp_err_set(err, rc, "no memory for advice") : 0;
}
