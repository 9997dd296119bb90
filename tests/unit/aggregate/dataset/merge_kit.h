/* Parts of a dataset built out of a made capture, sent as blocks and compared. Used by merge_test.c and merge_clock_test.c. */
#pragma once

#include <math.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/window.h"
#include "aggregate/dataset/merge.h"
#include "core/clock/clock_map.h"
#include "tests/unit/aggregate/dataset/block_kit.h"
#include "tests/unit/aggregate/analyze/budget_kit.h"
#include "tests/unit/capture.h"

enum { MADE_RANKS = 8 };

#define EQUAL(n, a, b) CHECK((n) == 0 || !memcmp(a, b, (n) * sizeof(*(a))))

struct made {
	struct pp_steps steps;
	struct pp_attr attr[MADE_RANKS];
	struct pp_dataset d;
};

static const struct pp_clock_map made_map = {.tick0 = 5, .num = 1 << 20, .shift = 20, .bound_ns = 2};

/* What a keeper told of its ranks. */
static inline void window_metadata(struct pp_dataset *d)
{
	struct pp_window_metadata metadata = {.by = "capture", .kind = "steps", .channel = "net", .what = "+5", .tries = 1};
	struct pp_window_rank row[MADE_RANKS];

	metadata.rank = row;
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].records)
			row[metadata.ranks++] = (struct pp_window_rank){.rank = d->worker[w].rank,
			                                                .asked = 500 + d->worker[w].rank,
			                                                .acked = d->worker[w].rank % 3 ? 600 : PP_WINDOW_NEVER,
			                                                .started = PP_WINDOW_NEVER,
			                                                .ended = PP_WINDOW_NEVER};
	CHECK_INT(pp_dataset_window(d, &metadata), 0);
}

/* A clock for each host that a rank is of, the same whoever tells it. */
static inline void merge_clocks_metadata(struct pp_dataset *d)
{
	uint64_t seed = kit_seed;

	for (size_t w = 0; w < d->workers; w++) {
		for (size_t i = 0; i < d->host_clocks; i++)
			if (!strcmp(d->host_clock[i].name, d->worker[w].host))
				d->worker[w].host_clock = (uint32_t)i + 1;
		if (d->worker[w].host_clock || !d->worker[w].records || !d->worker[w].host[0])
			continue;
		kit_seed = 12345 + (uint64_t)d->worker[w].host[strlen(d->worker[w].host) - 1];
		struct pp_row_host_clock c;

		kit_clock(&c, w);
		snprintf(c.own, 9, "any");
		snprintf(c.name, sizeof(c.name), "%s", d->worker[w].host);
		c.host_bound_ns = 0;            /* they are one clock to the test */
		c.changes = c.changes_lost = 0; /* no warnings: they come later */
		CHECK_INT(pp_dataset_add_clock(d, &c), 0);
		d->worker[w].host_clock = (uint32_t)d->host_clocks;
		pp_host_clock_release(&c);
	}
	kit_seed = seed;
}

/* last_step 0: nobody asked for steps. */
static inline void build(struct made *m, const struct pp_capture *capture, int64_t last_step, int partial)
{
	struct pp_dataset_input in = {.capture = capture,
	                              .steps = &m->steps,
	                              .attr = m->attr,
	                              .session = "s",
	                              .job = "j",
	                              .command = "c",
	                              .options = "o",
	                              .asked_first = 1,
	                              .asked_last = last_step,
	                              .bound_ns = 2,
	                              .clock = &made_map,
	                              .partial = partial};

	CHECK_INT(pp_steps_find(capture, 1, last_step, &m->steps, NULL), 0);
	for (size_t r = 0; r < capture->ranks; r++)
		CHECK_INT(pp_attr_rank(&capture->rank[r], r, &m->steps, capture->ranks, capture->names, PP_ATTR_KEEP_ALL,
		                       &m->attr[r], NULL),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, NULL), 0);
	window_metadata(&m->d);
	merge_clocks_metadata(&m->d);
}

static inline void drop(struct made *m, size_t ranks)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < ranks; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
}

static inline void travel(const struct pp_dataset *d, struct pp_intern *names, struct pp_dataset *ret_back)
{
	void *bytes = NULL;
	size_t size = 0;
	struct pp_err err = {""};

	CHECK_INT(pp_block_write(d, &bytes, &size, &err), 0);
	CHECK_INT(pp_block_read(bytes, size, names, ret_back, &err), 0);
	CHECK_STR(err.text, "");
	free(bytes);
}

static inline struct pp_dataset merge_two(const struct pp_dataset *a, const struct pp_dataset *b)
{
	const struct pp_dataset *const part[] = {a, b};
	struct pp_dataset d = {.names = NULL};

	CHECK_INT(pp_dataset_merge(part, 2, &d, NULL), 0);
	return d;
}

/* A host may have steps that the others have not, and knows more of its ranks' time then. */
static inline void compare_rows(const struct pp_row_arrival *a, const struct pp_row_arrival *b)
{
	struct pp_row_arrival x = *a, y = *b;

	memset(x.local_us, 0, sizeof(x.local_us));
	memset(y.local_us, 0, sizeof(y.local_us));
	x.between_us = y.between_us = 0;
	EQUAL(1, &x, &y);
}

/* Unknown ones are equal. */
static inline int kit_same_rate(double x, double y)
{
	return x == y || (isnan(x) && isnan(y));
}

static inline void compare_collectives(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK(a->collectives == b->collectives && a->arrivals == b->arrivals);
	for (size_t i = 0; i < a->collectives && i < b->collectives && !test_failures; i++) {
		const struct pp_row_collective *x = &a->collective[i], *y = &b->collective[i];

		CHECK(x->communicator == y->communicator && x->operation == y->operation && x->sequence == y->sequence &&
		      x->bytes == y->bytes);
		CHECK_INT(y->step, x->step);
		CHECK_INT(y->ranks, x->ranks);
		CHECK_INT(y->root, x->root);
		CHECK(x->first_ns == y->first_ns && x->last_ns == y->last_ns && x->end_ns == y->end_ns);
		CHECK_INT(y->last_worker, x->last_worker);
		CHECK_INT(y->wait_ns, x->wait_ns);
		CHECK_INT(y->transfer_ns, x->transfer_ns);
		CHECK(kit_same_rate(x->algbw, y->algbw) && kit_same_rate(x->busbw, y->busbw) && x->bound_ns == y->bound_ns);
		CHECK_INT(y->row_count, x->row_count);
		CHECK(x->device_ns == y->device_ns && x->device_ranks == y->device_ranks && x->exposed_ns == y->exposed_ns &&
		      x->exposed_ranks == y->exposed_ranks && x->shared_ranks == y->shared_ranks);
		CHECK(x->algorithm == y->algorithm && x->protocol == y->protocol && x->channels == y->channels);
		for (uint32_t k = 0; k < x->row_count; k++)
			compare_rows(&a->arrival[x->row_first + k], &b->arrival[y->row_first + k]);
	}
	CHECK_INT(b->violations, a->violations);
	CHECK_INT(b->unsplit, a->unsplit);
}

static inline void compare_cells(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK(a->steps == b->steps && a->workers == b->workers);
	if (test_failures)
		return;
	EQUAL(a->steps, a->step, b->step);
	for (size_t i = 0; i < a->steps * a->workers && !test_failures; i++) {
		CHECK_INT(b->cell[i].wait_ns, a->cell[i].wait_ns);
		CHECK_INT(b->cell[i].transfer_ns, a->cell[i].transfer_ns);
		CHECK_INT(b->cell[i].late_ns, a->cell[i].late_ns);
		CHECK(!memcmp(&a->cell[i], &b->cell[i], sizeof(a->cell[i])));
	}
	EQUAL(a->workers, a->late, b->late);
	check_budget(a);
	check_budget(b);
	CHECK_INT(b->budgets, a->budgets);
	for (size_t i = 0; i < a->budgets && !test_failures; i++)
		CHECK(!memcmp(&a->budget[i], &b->budget[i], sizeof(a->budget[i])));
	CHECK(a->window_begin_ns == b->window_begin_ns && a->window_end_ns == b->window_end_ns);
	CHECK_INT(b->straggler.waited_for, a->straggler.waited_for);
	CHECK_INT(b->straggler.waited_ns, a->straggler.waited_ns);
	CHECK_INT(b->straggler.involuntary, a->straggler.involuntary);
	CHECK_INT(b->straggler.run_queue_ns, a->straggler.run_queue_ns);
	CHECK(a->startup_ns == b->startup_ns && a->step_confidence == b->step_confidence);
	/* Counted in steps that are none of the job's too. */
	CHECK(a->steps_asked_last ? a->crossed == b->crossed : a->crossed <= b->crossed);
	CHECK_STR(b->step_rule, a->step_rule);
}

static inline void compare_workers(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK(a->workers == b->workers && a->ranks_asked == b->ranks_asked && a->ranks_delivered == b->ranks_delivered);
	for (size_t i = 0; i < a->workers && i < b->workers; i++) {
		const struct pp_row_worker *x = &a->worker[i], *y = &b->worker[i];

		CHECK(x->rank == y->rank && x->domain == y->domain && x->bound_ns == y->bound_ns);
		CHECK(x->records == y->records && x->local_rank == y->local_rank);
		CHECK_STR(y->status, x->status);
		CHECK_STR(y->host, x->host);
		CHECK_STR(y->memory_note, x->memory_note);
		CHECK_INT(y->remarks, x->remarks);
		CHECK(!memcmp(y->remark, x->remark, sizeof(x->remark)));
		EQUAL(PP_LOSSES, x->dropped, y->dropped);
	}
}

static inline void compare_clocks(const struct pp_dataset *a, const struct pp_dataset *b)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < a->workers && i < b->workers; i++) {
		uint32_t x = a->worker[i].host_clock, y = b->worker[i].host_clock;

		CHECK(!x == !y && y <= b->host_clocks && y <= highest + 1);
		highest = y > highest ? y : highest;
		if (x && y && !test_failures)
			kit_same_clock(&a->host_clock[x - 1], &b->host_clock[y - 1]);
	}
	CHECK_INT(b->host_clocks, highest);
}

static inline void compare_tables(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK(a->channels == b->channels && a->files == b->files && a->memories == b->memories);
	CHECK(a->communicators == b->communicators && a->warnings == b->warnings && !b->exposeds);
	for (size_t i = 0; i < a->warnings && i < b->warnings; i++)
		if (a->steps_asked_last || !strstr(a->warning[i].warning, "another range of the same thread"))
			CHECK_STR(b->warning[i].warning, a->warning[i].warning);
	if (test_failures)
		return;
	kit_same_tables(a, b, a->steps_asked_last != 0); /* else ops in steps that are none of the job's too */
	for (size_t i = 0; i < b->channels; i++)
		CHECK_INT(b->channel[i].unseen, 0);
	if (a->steps_asked_last)
		kit_same_loaders(a, b);
	for (size_t i = 0; i < a->communicators; i++) {
		const struct pp_row_communicator *x = &a->communicator[i], *y = &b->communicator[i];

		CHECK(x->id == y->id && x->size == y->size && x->kind == y->kind && !x->member == !y->member);
		CHECK_STR(pp_intern_text(b->names, y->name, NULL), pp_intern_text(a->names, x->name, NULL));
		CHECK_STR(y->role, x->role);
		if (x->member && y->member)
			EQUAL(x->size, x->member, y->member);
	}
}
