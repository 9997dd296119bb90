/* Finds the operator of each kernel, copy and allocation, and the thread that launched it; see state.h. Called by finish.c. */
#include "aggregate/read/kineto/operators.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/kernel_name.h"
#include "core/step/user_rules.h"

enum { NO_OPERATOR = UINT32_MAX };

struct launch { /* a call of the runtime */
	uint64_t correlation;
	uint32_t thread, span;
	uint32_t operator_span; /* the innermost operator around it; NO_OPERATOR */
	int64_t begin;
};

struct wanted { /* a device span whose operator is not the innermost one around its launch */
	uint64_t external;
	uint32_t thread, span;
};

struct search {
	struct kineto_store *s;
	const uint32_t *track; /* of a thread */
	struct pp_thread *thread;
	size_t threads;
	struct launch *launch;
	size_t launches, launches_room;
	struct wanted *wanted;
	size_t wanteds, wanteds_room;
	uint32_t *open; /* spans of the operators that are open */
	size_t opens, opens_room;
};

/* The one with an operator first. */
PP_COMPARE(compare_launch, struct launch,
           PP_UP(correlation) ?: PP_ORDER(x->operator_span == NO_OPERATOR, y->operator_span == NO_OPERATOR) ?: PP_UP(begin))

PP_COMPARE_BY(compare_wanted, struct wanted, external)

PP_COMPARE_BY_2(compare_allocation, struct pp_allocation, op, time) /* by track, then time */

static int is_marked(const struct pp_span *span, int mark)
{
	return span->kind == PP_SPAN_RANGE && span->range.payload_type == mark;
}

/* The innermost operator that is open at that time. */
static uint32_t innermost(struct search *f, const struct pp_thread *t, int64_t time)
{
	while (f->opens && t->span[f->open[f->opens - 1]].end <= time)
		f->opens--;
	return f->opens ? f->open[f->opens - 1] : NO_OPERATOR;
}

static void name_allocation(struct search *f, const struct pp_thread *t, struct pp_allocation *a)
{
	uint32_t span = innermost(f, t, a->time);

	a->op = span == NO_OPERATOR ? 0 : t->span[span].name;
}

static int search_thread(struct search *f, uint32_t number, struct pp_allocation *a, size_t allocations)
{
	const struct pp_thread *t = &f->thread[number];
	size_t next = 0;

	f->opens = 0;
	for (uint32_t i = 0; i < t->spans; i++) {
		const struct pp_span *span = &t->span[i];

		for (; next < allocations && a[next].time < span->begin; next++)
			name_allocation(f, t, &a[next]);
		if (is_marked(span, KINETO_MARK_OPERATOR)) {
			innermost(f, t, span->begin);
			if (PP_GROW(f->open, f->opens, f->opens_room))
				return -ENOMEM;
			f->open[f->opens++] = i;
		} else if (is_marked(span, KINETO_MARK_LAUNCH)) {
			if (PP_GROW(f->launch, f->launches, f->launches_room))
				return -ENOMEM;
			f->launch[f->launches++] = (struct launch){.correlation = span->range.id,
			                                           .thread = number,
			                                           .span = i,
			                                           .operator_span = innermost(f, t, span->begin),
			                                           .begin = span->begin};
		}
	}
	for (; next < allocations; next++)
		name_allocation(f, t, &a[next]);
	return 0;
}

/* The first launch with that correlation. */
static const struct launch *find_launch(const struct search *f, uint64_t correlation)
{
	size_t low = PP_PARTITION(f->launches, at, f->launch[at].correlation < correlation);

	return low < f->launches && f->launch[low].correlation == correlation ? &f->launch[low] : NULL;
}

PP_COMPARE_BY_2(compare_collective, struct kineto_collective, track, begin)

/* A kernel of a communication library belongs to the collective around its launch. */
static void end_collective(struct search *f, const struct launch *launch, int64_t end)
{
	uint32_t track = f->track[launch->thread];
	struct kineto_collective *c = f->s->collective;
	size_t low =
	        PP_PARTITION(f->s->collectives, at, c[at].track < track || (c[at].track == track && c[at].begin <= launch->begin));

	if (!low)
		return;
	c = &f->s->collective[low - 1];
	if (c->track != track || launch->begin > c->end || end < c->begin) /* else one of the times is wrong */
		return;
	c->kernels++;
	c->correlation = (uint32_t)launch->correlation;
	if (end > c->done)
		c->done = end;
}

/* It launches, whatever its name, unless the user says what it is. */
static void mark_launch(const struct search *f, struct pp_span *call)
{
	size_t length;
	const char *name = pp_intern_text(f->s->names, call->name, &length);

	if (!pp_user_rule_of_range((enum pp_origin)call->range.origin, name, length))
		call->category = PP_CATEGORY_KERNEL_LAUNCH;
}

/* By its name, or by the operator that launched it: communication.c then takes it for a collective, too. */
static int communicates(struct search *f, const struct pp_span *span, const struct launch *launch)
{
	const char *text;
	size_t length;

	if (span->device.activity != PP_DEVICE_KERNEL && span->device.activity != PP_DEVICE_UNSURE)
		return span->device.activity == PP_DEVICE_COLLECTIVE;
	if (launch->operator_span == NO_OPERATOR)
		return 0;
	text = pp_intern_text(f->s->names, f->thread[launch->thread].span[launch->operator_span].name, &length);
	if (!pp_operator_communicates(text, length))
		return 0;
	text = pp_intern_text(f->s->names, span->name, &length);
	return !pp_kernel_cached(&f->s->kernels, span->name, text, length).is_local;
}

static int search_stream(struct search *f, uint32_t number)
{
	const struct pp_thread *t = &f->thread[number];

	for (uint32_t i = 0; i < t->spans; i++) {
		struct pp_span_device *d = &t->span[i].device;
		const struct launch *launch = d->correlation ? find_launch(f, d->correlation) : NULL;
		const struct pp_span *around = NULL;
		int has_external = (d->host_thread & 1) != 0;

		d->host_thread = launch ? launch->thread + 1 : 0;
		if (launch && pp_kernel_is_one(d->activity))
			mark_launch(f, &f->thread[launch->thread].span[launch->span]);
		if (launch && communicates(f, &t->span[i], launch))
			end_collective(f, launch, t->span[i].end);
		if (launch && launch->operator_span != NO_OPERATOR)
			around = &f->thread[launch->thread].span[launch->operator_span];
		if (around)
			d->op = around->name;
		if (!has_external || (around && around->range.payload == (uint64_t)d->step))
			continue;
		if (PP_GROW(f->wanted, f->wanteds, f->wanteds_room))
			return -ENOMEM;
		f->wanted[f->wanteds++] = (struct wanted){(uint64_t)d->step, number, i};
	}
	return 0;
}

/* The operator with the id of device spans is theirs where it is open at their launch. Older files give kernels ids of their own,
 * which may equal that of any operator. */
static void take_wanted(struct search *f, uint32_t number, const struct pp_span *op)
{
	size_t low = PP_PARTITION(f->wanteds, at, f->wanted[at].external < op->range.payload);

	for (; low < f->wanteds && f->wanted[low].external == op->range.payload; low++) {
		struct pp_span *span = &f->thread[f->wanted[low].thread].span[f->wanted[low].span];
		const struct launch *launch = span->device.correlation ? find_launch(f, span->device.correlation) : NULL;
		int around = launch && launch->thread == number && op->begin <= launch->begin && launch->begin <= op->end;

		if (around || (!launch && op->begin <= span->begin && span->device.correlation != op->range.payload)) {
			span->device.op = op->name;
			if (!launch)
				span->device.host_thread = number + 1;
		}
	}
}

static int search_all(struct search *f, const uint32_t *track)
{
	struct kineto_store *s = f->s;
	size_t at = 0;
	int rc = 0;

	if (s->allocations)
		qsort(s->allocation, s->allocations, sizeof(*s->allocation), compare_allocation);
	for (uint32_t t = 0; t < f->threads && rc == 0; t++) {
		size_t first, n = 0;

		if (f->thread[t].device)
			continue;
		/* Allocations are in the order of tracks, and threads of the host too. */
		while (at < s->allocations && s->allocation[at].op < track[t])
			s->allocation[at++].op = 0;
		first = at;
		while (at + n < s->allocations && s->allocation[at + n].op == track[t])
			n++;
		at += n;
		rc = search_thread(f, t, n ? s->allocation + first : NULL, n);
	}
	for (; at < s->allocations; at++)
		s->allocation[at].op = 0;
	if (s->collectives)
		qsort(s->collective, s->collectives, sizeof(*s->collective), compare_collective);
	if (f->launches)
		qsort(f->launch, f->launches, sizeof(*f->launch), compare_launch);
	for (uint32_t t = 0; t < f->threads && rc == 0; t++)
		if (f->thread[t].device)
			rc = search_stream(f, t);
	return rc;
}

int pp_kineto_operators(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track)
{
	struct search f = {.s = s, .thread = rank->thread, .threads = rank->threads, .track = track};
	int rc = search_all(&f, track);

	if (f.wanteds)
		qsort(f.wanted, f.wanteds, sizeof(*f.wanted), compare_wanted);
	for (uint32_t t = 0; rc == 0 && f.wanteds && t < f.threads; t++)
		for (size_t i = 0; !f.thread[t].device && i < f.thread[t].spans; i++)
			if (is_marked(&f.thread[t].span[i], KINETO_MARK_OPERATOR))
				take_wanted(&f, t, &f.thread[t].span[i]);
	free(f.launch);
	free(f.wanted);
	free(f.open);
	return rc;
}
