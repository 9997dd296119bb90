/* Finds the steps of a rank, by xprof's rules (docs/steps.md); see steps.h. */
#include "aggregate/read/xspace/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/link.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/order.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"

struct candidate { /* an event of the host that may be a step; see make_candidate() in line.c */
	struct pp_xroot root;
	int64_t group;
	uint64_t level;
	uint32_t name;
	int is_implicit;
};

struct candidates {
	struct candidate *list;
	size_t count, room;
};

struct found { /* as marks, of device lines or of candidates */
	struct pp_xmark *step;
	size_t steps;
	const char *rule;
};

static int64_t length_of(const struct pp_xmark *m)
{
	return m->end - m->begin;
}

PP_COMPARE(by_group, struct pp_xmark, PP_UP(group) ?: PP_ORDER(length_of(y), length_of(x)) ?: PP_UP(begin))

PP_COMPARE(by_begin, struct pp_xmark, PP_UP(begin) ?: PP_DOWN(end))

static int gather(struct pp_xread *x, struct candidates *c)
{
	for (size_t t = 0; t < x->rank.threads; t++) {
		const struct pp_thread *thread = &x->rank.thread[t];

		for (size_t i = 0; pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_STEP)) && i < thread->spans; i++) {
			const struct pp_span *s = &thread->span[i];

			if (s->kind != PP_SPAN_STEP)
				continue;
			if (PP_GROW(c->list, c->count, c->room))
				return -1;
			c->list[c->count++] = (struct candidate){{s->begin, s->end, s->step.number, (uint32_t)t, (uint32_t)i},
			                                         s->step.known_from,
			                                         s->step.matched,
			                                         s->name,
			                                         s->step.irregular != 0};
		}
	}
	return 0;
}

/* Numbers of the names, where they rise with time; else the groups', which do. */
static void number_steps(struct pp_xmark *step, size_t steps)
{
	int rises = 1;

	qsort(step, steps, sizeof(*step), by_begin);
	for (size_t i = 0; i < steps; i++)
		rises &= step[i].number >= 0 && (!i || step[i].number > step[i - 1].number);
	for (size_t i = 0; i < steps && !rises; i++)
		step[i].number = step[i].group;
}

/* The longest mark of each group. */
static size_t longest(struct pp_xmark *mark, size_t marks)
{
	size_t groups = 0;

	qsort(mark, marks, sizeof(*mark), by_group);
	for (size_t i = 0; i < marks; i++)
		if (mark[i].end > mark[i].begin && mark[i].group >= 0 && (!groups || mark[groups - 1].group != mark[i].group))
			mark[groups++] = mark[i];
	return groups;
}

static int from_groups(const struct candidates *c, struct found *f)
{
	f->step = malloc((c->count + 1) * sizeof(*f->step));
	if (!f->step)
		return -1;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].group >= 0 && !c->list[i].is_implicit)
			f->step[f->steps++] = (struct pp_xmark){c->list[i].group, c->list[i].root.number, c->list[i].root.begin,
			                                        c->list[i].root.end};
	f->steps = longest(f->step, f->steps);
	number_steps(f->step, f->steps);
	f->rule = "xspace: group_id";
	return 0;
}

PP_COMPARE(by_name, uint32_t, PP_ORDER(*x, *y))

/* The name that most events with step_num have; 0: no memory, or none has one. */
static uint32_t commonest(const struct candidates *c)
{
	uint32_t *name = malloc((c->count + 1) * sizeof(*name)), best = 0;
	size_t names = 0, most = 0;

	for (size_t i = 0; name && i < c->count; i++)
		if (!c->list[i].is_implicit && c->list[i].root.number >= 0)
			name[names++] = c->list[i].name;
	if (name)
		qsort(name, names, sizeof(*name), by_name);
	for (size_t i = 0, from = 0; i < names; i++) {
		if (name[i] != name[from])
			from = i;
		if (i + 1 - from > most) {
			most = i + 1 - from;
			best = name[i];
		}
	}
	free(name);
	return best;
}

enum class { ROOTS, IMPLICIT_ROOTS, NUMBERED };

static int is_of(const struct candidate *d, enum class class, uint64_t level, uint32_t name)
{
	if (class == NUMBERED)
		return !d->is_implicit && d->name == name && d->root.number >= 0;
	return d->is_implicit == (class == IMPLICIT_ROOTS) && d->level && d->level == level;
}

/* The candidates of a class, without those inside another one on their thread. Roots: of the highest level there is; else the name
 * that occurs most, of events with step_num. */
static int choose(const struct candidates *c, enum class class, struct pp_xroot **ret_root, size_t *ret_roots)
{
	struct pp_xroot *root = malloc((c->count + 1) * sizeof(*root));
	uint32_t name = class == NUMBERED ? commonest(c) : 0;
	uint64_t level = 0;
	size_t roots = 0;

	if (!root)
		return -1;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].is_implicit == (class == IMPLICIT_ROOTS) && c->list[i].level > level)
			level = c->list[i].level;
	for (size_t i = 0; i < c->count; i++) {
		const struct candidate *d = &c->list[i];
		const struct pp_xroot *last = roots ? &root[roots - 1] : NULL;

		if (is_of(d, class, level, name) && (!last || last->thread != d->root.thread || last->end <= d->root.begin))
			root[roots++] = d->root;
	}
	*ret_root = root;
	*ret_roots = roots;
	return 0;
}

PP_COMPARE(roots_by_begin, struct pp_xroot, PP_UP(begin) ?: PP_DOWN(end))

/* A root without a number of its own has its place among the roots, as in xprof. */
static void number_roots(struct pp_xroot *root, size_t roots)
{
	qsort(root, roots, sizeof(*root), roots_by_begin);
	for (size_t i = 0; i < roots; i++)
		if (root[i].number < 0)
			root[i].number = (int64_t)i;
}

static int from_roots(const struct pp_xroot *root, size_t roots, const char *rule, struct found *f)
{
	f->step = malloc((roots + 1) * sizeof(*f->step));
	if (!f->step)
		return -1;
	for (size_t i = 0; i < roots; i++)
		if (root[i].end > root[i].begin)
			f->step[f->steps++] = (struct pp_xmark){(int64_t)i, root[i].number, root[i].begin, root[i].end};
	f->rule = rule;
	return 0;
}

static void from_marks(struct pp_xread *x, const char *rule, struct found *f)
{
	f->step = x->mark;
	f->steps = longest(x->mark, x->marks);
	x->mark = NULL;
	x->marks = 0;
	number_steps(f->step, f->steps);
	f->rule = rule;
}

/* Steps of a file that nobody grouped: roots, or what they launched where the file has devices. */
static int from_ungrouped(struct pp_xread *x, const struct candidates *c, struct found *f)
{
	struct pp_xroot *root = NULL;
	size_t roots = 0;
	int is_implicit = 0, rc = choose(c, ROOTS, &root, &roots);

	if (!rc && !roots && x->has_gpu) {
		free(root);
		root = NULL;
		is_implicit = 1;
		rc = choose(c, IMPLICIT_ROOTS, &root, &roots);
	}
	if (!rc)
		number_roots(root, roots);
	pp_xlink_all(x, root, rc ? 0 : roots);
	if (!rc && x->marks)
		from_marks(x, "xspace: device events of root events", f);
	else if (!rc && roots && !is_implicit)
		rc = from_roots(root, roots, "xspace: root events", f);
	free(root);
	root = NULL;
	if (rc || f->steps)
		return rc;
	rc = choose(c, NUMBERED, &root, &roots);
	if (!rc && roots) {
		number_roots(root, roots);
		free(f->step);
		rc = from_roots(root, roots, "xspace: events with step_num", f);
	}
	free(root);
	return rc;
}

/* The thread with most events that are steps; else a new one. SIZE_MAX: no memory. */
static size_t marking_thread(struct pp_xread *x, const struct candidates *c, const struct found *f)
{
	size_t *marks = calloc(x->rank.threads + 1, sizeof(*marks)), best = SIZE_MAX;

	if (!marks)
		return SIZE_MAX;
	for (size_t i = 0; i < c->count; i++) {
		size_t low = PP_PARTITION(f->steps, at, f->step[at].end <= c->list[i].root.begin);

		if (!c->list[i].is_implicit && low < f->steps && f->step[low].begin < c->list[i].root.end)
			marks[c->list[i].root.thread]++;
	}
	for (size_t t = 0; t < x->rank.threads; t++)
		if (marks[t] && (best == SIZE_MAX || marks[t] > marks[best]))
			best = t;
	free(marks);
	if (best != SIZE_MAX)
		return best;
	if (PP_GROW(x->rank.thread, x->rank.threads, x->threads_room))
		return SIZE_MAX;
	x->rank.thread[x->rank.threads] =
	        (struct pp_thread){.name = pp_intern_put(x->names, "Steps", 5), .first = INT64_MAX, .last = INT64_MIN};
	return x->rank.threads++;
}

/* Candidates become what they are on their thread: ranges. */
static void demote_all(struct pp_xread *x, size_t marking)
{
	for (size_t t = 0; t < x->rank.threads; t++) {
		struct pp_thread *h = &x->rank.thread[t];

		if (!(h->kinds & PP_SPAN_BIT(PP_SPAN_STEP)))
			continue;
		h->kinds = 0;
		for (size_t i = 0; i < h->spans; i++) {
			struct pp_span *s = &h->span[i];

			if (s->kind == PP_SPAN_STEP) {
				memset(&s->step, 0, sizeof(s->step));
				s->kind = s->end > s->begin ? PP_SPAN_RANGE : PP_SPAN_MARK;
				s->flags = t == marking ? PP_XS_MAY_BE_STEP : 0;
			}
			h->kinds |= PP_SPAN_BIT(s->kind);
		}
	}
}

int pp_xsteps_put(struct pp_xread *x, struct pp_thread *t, const struct pp_xmark *step, size_t steps)
{
	struct pp_span *more = realloc(t->span, (t->spans + steps) * sizeof(*more));
	const uint32_t name = pp_intern_put(x->names, "step", 4);
	size_t at = 0, old = t->spans;

	if (!more)
		return -1;
	t->span = more;
	for (size_t i = 0; i < steps; i++) {
		const struct pp_xmark *m = &step[i];
		struct pp_span *s = NULL;

		while (at < old && (more[at].begin < m->begin || (more[at].begin == m->begin && more[at].end > m->end)))
			at++;
		for (size_t k = at; k < old && !s && more[k].begin == m->begin && more[k].end == m->end; k++)
			s = more[k].kind == PP_SPAN_RANGE && (more[k].flags & PP_XS_MAY_BE_STEP) ? &more[k] : NULL;
		if (!s) {
			s = &more[t->spans++];
			*s = (struct pp_span){.begin = m->begin, .end = m->end, .name = name, .source = PP_SOURCE_XSPACE};
		}
		s->kind = PP_SPAN_STEP;
		s->flags = 0;
		memset(&s->step, 0, sizeof(s->step));
		s->step.number = m->number;
		t->first = m->begin < t->first ? m->begin : t->first;
		t->last = m->end > t->last ? m->end : t->last;
	}
	for (size_t i = 0; i < t->spans; i++)
		more[i].flags &= (uint8_t)~PP_XS_MAY_BE_STEP;
	t->kinds |= PP_SPAN_BIT(PP_SPAN_STEP);
	return pp_order_spans(t->span, t->spans);
}

static int find_steps(struct pp_xread *x, const struct candidates *c, struct found *f)
{
	int is_grouped = 0;

	for (size_t i = 0; i < c->count; i++)
		is_grouped |= c->list[i].group >= 0 && !c->list[i].is_implicit;
	if (!x->marks && !is_grouped)
		return from_ungrouped(x, c, f);
	pp_xlink_all(x, NULL, 0);
	if (x->marks)
		from_marks(x, "xspace: line Steps", f);
	if (f->steps || !is_grouped)
		return 0;
	free(f->step);
	return from_groups(c, f);
}

void pp_xsteps_find(struct pp_xread *x)
{
	struct candidates c = {0};
	struct found f = {0};
	size_t thread = SIZE_MAX;
	int rc = x->options->without_steps ? 0 : gather(x, &c);

	if (x->options->without_steps)
		pp_xlink_all(x, NULL, 0);
	else if (!rc)
		rc = find_steps(x, &c, &f);
	if (!rc && f.steps) {
		qsort(f.step, f.steps, sizeof(*f.step), by_begin);
		thread = marking_thread(x, &c, &f);
		rc = thread == SIZE_MAX ? -1 : 0;
	}
	demote_all(x, thread);
	if (!rc && f.steps) {
		rc = pp_xsteps_put(x, &x->rank.thread[thread], f.step, f.steps);
		x->rank.step_marks = 1;
		for (size_t i = 0; i < f.steps; i++)
			if (f.step[i].number > x->rank.last_step)
				x->rank.last_step = f.step[i].number;
		snprintf(x->rank.step_rule, sizeof(x->rank.step_rule), "%s", f.rule);
	}
	if (rc)
		x->no_memory = 1;
	free(f.step);
	free(c.list);
}
