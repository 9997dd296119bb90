/* Makes one rank of a file into the ranks that it holds; see own_split.h. */
#include "aggregate/read/xspace/own_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/xspace/own.h"
#include "aggregate/read/xspace/steps.h"
#include "core/base/grow.h"
#include "core/call/mpi_call.h"

static struct pp_rank *rank_in(struct pp_xread *x, struct pp_capture *c, int32_t number)
{
	struct pp_rank *r;
	size_t at = 0;

	while (at < c->ranks && c->rank[at].rank < number)
		at++;
	if (at < c->ranks && c->rank[at].rank == number)
		return &c->rank[at];
	if (PP_RESIZE(c->rank, c->ranks + 1)) {
		x->no_memory = 1;
		return NULL;
	}
	r = &c->rank[at];
	memmove(r + 1, r, (c->ranks - at) * sizeof(*r));
	c->ranks++;
	*r = x->rank;
	r->thread = NULL;
	r->launch = NULL;
	r->device = NULL;
	r->allocation = NULL;
	r->memory = NULL;
	r->message = NULL;
	r->messages = 0;
	r->threads = r->launches = r->devices = r->allocations = r->memories = 0;
	r->trace.events = r->trace.derived = r->trace.untimed = r->trace.damaged = 0; /* of the file: with its first rank */
	r->records = r->remarks = 0;
	r->rank = number;
	r->recorded_from = r->open_tick = INT64_MAX;
	r->recorded_to = INT64_MIN;
	return r;
}

static void give_thread(struct pp_xread *x, struct pp_capture *c, struct pp_thread *t, int32_t number)
{
	struct pp_rank *r = rank_in(x, c, number);

	if (!r || PP_RESIZE(r->thread, r->threads + 1)) {
		x->no_memory = 1;
		pp_thread_release(t);
		return;
	}
	r->thread[r->threads++] = *t;
	r->records += t->spans;
	if (t->first < r->recorded_from)
		r->recorded_from = r->open_tick = t->first;
	if (t->last > r->recorded_to)
		r->recorded_to = t->last;
}

/* Ranks of a file may have devices of one number, which have others in the file: back to those of the rank's process. */
static void number_devices(struct pp_rank *r)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; r->thread[t].device && i < r->devices; i++)
			if (r->thread[t].device == r->device[i].number + 1) {
				r->thread[t].device = r->device[i].own + 1;
				break;
			}
	for (size_t i = 0; i < r->devices; i++)
		r->device[i].number = r->device[i].own;
}

/* Streams say whose a device is, and its rank gets the launches of all: they have their numbers. */
static void give_devices(struct pp_xread *x, struct pp_rank *r, struct pp_rank *from)
{
	for (size_t t = 0; t < r->threads && !r->launch && from->launches; t++) {
		if (!r->thread[t].device)
			continue;
		r->launch = malloc(from->launches * sizeof(*r->launch));
		r->launches = r->launch ? from->launches : 0;
		x->no_memory |= !r->launch;
		if (r->launch)
			memcpy(r->launch, from->launch, from->launches * sizeof(*r->launch));
	}
	for (size_t i = 0; i < from->devices; i++) {
		size_t t = 0;

		while (t < r->threads && r->thread[t].device != from->device[i].number + 1)
			t++;
		if (t == r->threads)
			continue;
		if (PP_RESIZE(r->device, r->devices + 1)) {
			x->no_memory = 1;
			return;
		}
		r->device[r->devices++] = from->device[i];
	}
	number_devices(r);
}

/* The name of an allocator begins with its rank. */
static void give_allocation(struct pp_xread *x, struct pp_capture *c, const struct pp_allocation *a)
{
	size_t length;
	const uint8_t *text = (const uint8_t *)pp_intern_text(x->names, a->allocator, &length), *rest = text;
	int32_t number = pp_xown_rank(text, length, &rest);
	struct pp_rank *r = rank_in(x, c, number < 0 ? x->options->rank : number);

	if (!r || PP_RESIZE(r->allocation, r->allocations + 1)) {
		x->no_memory = 1;
		return;
	}
	r->allocation[r->allocations] = *a;
	r->allocation[r->allocations++].allocator = pp_intern_put(x->names, (const char *)rest, length - (size_t)(rest - text));
}

static void give_memory(struct pp_xread *x, struct pp_capture *c, const struct pp_xmemory *m)
{
	struct pp_rank *r = rank_in(x, c, m->rank);

	if (!r || PP_RESIZE(r->memory, r->memories + 1))
		x->no_memory = 1;
	else
		r->memory[r->memories++] = m->memory;
}

/* A record says which rank is the root; a file only says who the root is. */
static void mark_roots(struct pp_rank *r)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			struct pp_span *s = &r->thread[t].span[i];
			enum pp_mpi_class class = s->kind == PP_SPAN_MPI ? pp_mpi_call_info(s->mpi.call)->class : PP_MPI_LOCAL;

			if ((class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT) && s->mpi.peer == r->rank)
				s->flags |= PP_SPAN_IS_ROOT;
		}
}

static void give_messages(struct pp_xread *x, struct pp_rank *r)
{
	size_t n = 0;

	for (int turn = 0; turn < 2; turn++) { /* count, then move */
		for (size_t t = 0; t < r->threads; t++)
			for (size_t i = 0; i < r->thread[t].spans; i++) {
				struct pp_span *s = &r->thread[t].span[i];

				if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
					continue;
				n += !turn;
				if (!turn)
					continue;
				r->message[r->messages++] = x->message[s->mpi.sequence - 1];
				s->mpi.sequence = (uint32_t)r->messages;
			}
		if (turn || !n)
			return;
		r->message = malloc(n * sizeof(*r->message));
		if (!r->message) {
			x->no_memory = 1;
			return;
		}
	}
}

/* The steps of a rank go to its main thread, which podprof writes first. */
static void give_steps(struct pp_xread *x, struct pp_rank *r)
{
	struct pp_xmark *step = malloc((x->marks + 1) * sizeof(*step));
	size_t steps = 0, thread = 0;

	for (size_t i = 0; step && i < x->marks; i++)
		if (x->mark[i].group == r->rank && x->mark[i].end > x->mark[i].begin)
			step[steps++] = x->mark[i];
	while (thread + 1 < r->threads && strcmp(pp_intern_text(x->names, r->thread[thread].name, NULL), "main"))
		thread++;
	if (!step || (steps && r->threads && pp_xsteps_put(x, &r->thread[thread], step, steps)))
		x->no_memory = 1;
	for (size_t i = 0; step && i < steps; i++)
		r->last_step = step[i].number > r->last_step ? step[i].number : r->last_step;
	if (steps) {
		r->step_marks = 1;
		snprintf(r->step_rule, sizeof(r->step_rule), "podprof's breakdown");
	}
	free(step);
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++)
			if (r->thread[t].span[i].kind == PP_SPAN_RANGE)
				r->thread[t].span[i].flags &= (uint8_t)~PP_XS_MAY_BE_STEP;
}

void pp_xown_split(struct pp_xread *x, struct pp_capture *c)
{
	struct pp_rank all = c->rank[0];
	struct pp_thread *thread = all.thread;
	size_t threads = all.threads;

	c->rank[0].thread = NULL;
	c->rank[0].threads = 0;
	c->ranks = 0;
	for (size_t t = 0; t < threads; t++)
		give_thread(x, c, &thread[t], x->thread_rank[t]);
	free(thread);
	for (size_t i = 0; i < x->memories; i++)
		if (x->memory[i].rank >= 0)
			give_memory(x, c, &x->memory[i]);
	for (size_t i = 0; i < all.allocations; i++)
		give_allocation(x, c, &all.allocation[i]);
	for (size_t i = 0; i < c->ranks; i++) {
		give_devices(x, &c->rank[i], &all);
		give_messages(x, &c->rank[i]);
		give_steps(x, &c->rank[i]);
		mark_roots(&c->rank[i]); /* after the steps: until then the flag means something else */
	}
	free(all.launch);
	free(all.device);
	free(all.allocation);
	if (c->ranks) {
		c->rank[0].trace = x->rank.trace;
		c->rank[0].remarks = x->rank.remarks;
	}
}
