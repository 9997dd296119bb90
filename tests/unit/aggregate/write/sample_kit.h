/* A session made by hand, with all that is awkward for writers: names that xprof takes for its own, bytes that are no UTF-8, steps
 * without a range, requests that overlap, deep nesting. On tests/unit/capture.h; steps, attribution and dataset are the real ones.
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/window.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/tools.h"
#include "aggregate/write/writer.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { SAMPLE_RANKS = 16, SAMPLE_STEPS = 8, SAMPLE_DEPTH = 1000, SAMPLE_LONG = 10000, SAMPLE_STEP_NS = 1000000, SAMPLE_FILE = 78 };

struct sample {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[SAMPLE_RANKS];
	struct pp_dataset dataset;
	struct pp_output out;
	int32_t member[SAMPLE_RANKS];
};

/* Step k of rank r is [at, at + 1 ms); 0 and 7 become the edges of the window [1, 7). */
static inline void sample_step(struct sample *s, size_t r, int64_t k, const char *long_name)
{
	struct pp_capture *c = &s->capture;
	int64_t at = 1000 + k * SAMPLE_STEP_NS, late = 1000 * (int64_t)r;

	add_step(c, r, k, at, at + SAMPLE_STEP_NS);
	if (k == 2)
		return; /* no range at all */
	if (k == 3) {   /* nothing but input */
		add_range(c, r, 0, "next batch", at, at + SAMPLE_STEP_NS)->category = PP_CATEGORY_INPUT;
		return;
	}
	if (k == 4) { /* deep: all end together */
		for (int i = 0; i < SAMPLE_DEPTH; i++)
			add_range(c, r, 0, "deep", at + 10 + i, at + SAMPLE_STEP_NS - 5);
		return;
	}
	add_range(c, r, 0, "train_step", at + 10, at + SAMPLE_STEP_NS - 10);
	add_range(c, r, 0, "iteratorgetnext_mine", at + 20, at + 1013);
	add_range(c, r, 0, "next batch", at + 2000, at + 102007)->category = PP_CATEGORY_INPUT;
	add_range(c, r, 0, long_name, at + 110000, at + 210000);
	add_range(c, r, 0, "bad \xff name \xc3", at + 210000, at + 250000);
	add_range(c, r, 0, "a:InfeedEnqueue", at + 250000, at + 300000);
	add_mpi(c, r, "MPI_Allreduce", (uint32_t)k, at + 400000 + late, at + 600000);
	{
		struct pp_span *save = add_range(c, r, 0, "save", at + 700000, at + SAMPLE_STEP_NS - 10);

		save->category = PP_CATEGORY_OUTPUT;
		save->range.payload_type = k % 2 ? PP_PAYLOAD_EXT : PP_PAYLOAD_INT32;
		save->range.payload = k % 2 ? pp_intern_put(c->payloads, "layer=3, name=\"a\"", 17) : UINT32_MAX;
		if (k == 6) {
			const double nothing = -INFINITY;

			save->range.payload_type = PP_PAYLOAD_DOUBLE;
			memcpy(&save->range.payload, &nothing, sizeof(nothing));
		}
	}
	{
		struct pp_span *w = add_mpi(c, r, "MPI_File_write_at_all", (uint32_t)k, at + 710000 + late, at + 800000);

		w->mpi.comm = SAMPLE_FILE;
		w->category = PP_CATEGORY_OUTPUT;
		w->mpi.sent = 4096;
	}
	add_range(c, r, 1, "loader", at + 50000, at + 900000)->category = PP_CATEGORY_INPUT;
	add_span(c, r, 2, PP_SPAN_ASYNC, "prefetch", at + 100, at + SAMPLE_STEP_NS + 5000);
	add_span(c, r, 2, PP_SPAN_COUNTER, "loss", at + 200, at + 200)->value = 0.5;
	add_span(c, r, 2, PP_SPAN_COUNTER, "dataloader workers busy", at + 300, at + 300)->value = (double)(k + (int64_t)r) / 32;
	if (k == 5) {
		add_span(c, r, 2, PP_SPAN_COUNTER, "loss", at + 400, at + 400)->value = (double)NAN;
		add_span(c, r, 2, PP_SPAN_COUNTER, "loss", at + 500, at + 500)->value = (double)INFINITY;
	}
	for (int i = 0; i < 3; i++) {
		struct pp_span *q = add_span(c, r, 2, PP_SPAN_REQUEST, "MPI_Irecv", at + 1000 + i, at + 500000);

		q->mpi.call = call_number("MPI_Irecv");
		q->mpi.request = (uint32_t)(1 + k * 3 + i);
		q->mpi.peer = 0;
	}
}

/* Every other step has both edges; the keeper looked twice in step 5, once with PSS. */
static inline void sample_process(struct pp_rank *rank)
{
	rank->usage = calloc(SAMPLE_STEPS, sizeof(*rank->usage));
	rank->memory = calloc(2, sizeof(*rank->memory));
	rank->state = calloc(2, sizeof(*rank->state));
	rank->port = calloc(1, sizeof(*rank->port));
	if (!rank->usage || !rank->memory || !rank->state || !rank->port)
		return;
	for (int64_t k = 0; k < SAMPLE_STEPS; k++) {
		int64_t number = k / 2 * 2 + 1, at = 1000 + number * SAMPLE_STEP_NS;

		rank->usage[k] = (struct pp_usage){.time = k % 2 ? at + SAMPLE_STEP_NS + 5 : at - 5,
		                                   .number = number,
		                                   .user_ns = (uint64_t)k * 1000,
		                                   .system_ns = (uint64_t)k * 100,
		                                   .peak_bytes = k < 5 ? 4096 : 8192,
		                                   .minor_faults = UINT32_MAX - 2 + (uint32_t)k * 3,
		                                   .voluntary = (uint32_t)k,
		                                   .involuntary = 2 * (uint32_t)k,
		                                   .sequence = (uint32_t)k + 1,
		                                   .is_end = k % 2};
	}
	rank->usages = SAMPLE_STEPS;
	for (int i = 0; i < 2; i++)
		rank->memory[i] = (struct pp_memory){.time = 1000 + 5 * SAMPLE_STEP_NS + 100 * (i + 1),
		                                     .rss_bytes = 4000 + 1000 * (uint64_t)i + (uint64_t)rank->rank,
		                                     .pss_bytes = 3000 * (uint64_t)i,
		                                     .pss_present = i,
		                                     .children = 1,
		                                     .children_rss_bytes = 2000,
		                                     .user_ns = 10000,
		                                     .run_queue_ns = 600,
		                                     .children_cpu_ns = 70};
	rank->memories = 2;
	rank->state[0] = (struct pp_state){.time = 1000 + 5 * SAMPLE_STEP_NS + 100,
	                                   .clock_hz = 2000000000,
	                                   .power_mw = -1,
	                                   .pressure_cpu = 12.5,
	                                   .pressure_io = -1,
	                                   .reason = -1};
	rank->state[1] = rank->state[0];
	rank->state[1].time++;
	rank->state[1].device = 1;
	rank->state[1].reason = 4;
	rank->state[1].energy_mj = 7;
	rank->states = 2;
	rank->port[0] = (struct pp_port){.time = 1000 + 5 * SAMPLE_STEP_NS + 100, .name = "eth0", .sent = 7};
	rank->ports = 1;
}

/* What a keeper knows of one host: rows in every table. */
static inline void sample_clock(struct pp_row_host_clock *c)
{
	static struct pp_row_clock_sample sample[2] = {{.time_ns = -500,
	                                                .half_ns = 4000,
	                                                .t1 = 1000,
	                                                .t2 = 7201000005000,
	                                                .t3 = 7201000005100,
	                                                .t4 = 9000,
	                                                .sample_trips = 50,
	                                                .sample_flags = 1},
	                                               {.time_ns = 8000000,
	                                                .half_ns = 3000,
	                                                .t1 = 2000,
	                                                .t2 = 7201008005000,
	                                                .t3 = 7201008005100,
	                                                .t4 = 8000,
	                                                .sample_trips = 49}};
	static struct pp_row_clock_stretch stretch[1] = {{0, -500, 8000000, 4002, 3002, 7, 1}};
	static struct pp_row_clock_wall pair[2] = {{0, -1000, INT64_C(1789999999999999000), 40},
	                                           {0, 9000000, INT64_C(1790000000009000000), 41}};
	static struct pp_row_clock_change change[1] = {{0, 2000000, 3000000, -100000, 80, 0}};

	*c = (struct pp_row_host_clock){.name = "node0",
	                                .own = "b00t counter",
	                                .host_offset_ns = -3600000000000,
	                                .sample = sample,
	                                .samples = 2,
	                                .stretch = stretch,
	                                .stretches = 1,
	                                .pair = pair,
	                                .pairs = 2,
	                                .change = change,
	                                .changes = 1,
	                                .changes_lost = 3,
	                                .claim = {1, 1, 5000, 900000, -12345, "kernel, chronyd"},
	                                .rounds = 4,
	                                .trips = 99,
	                                .lost = 1,
	                                .foreign = 2,
	                                .round_ns = 800000,
	                                .cpu_ns = 400000};
}

static inline void sample_pool(struct sample *s, size_t r)
{
	struct pp_rank *rank = &s->capture.rank[r];

	rank->pool_event = calloc(1, sizeof(*rank->pool_event));
	rank->pool_events = 1;
	*rank->pool_event = (struct pp_pool_event){
	        .time = 1000 + 2 * SAMPLE_STEP_NS, .address = 0x5000, .size = 1 << 25, .used = 1 << 20, .threshold = INT64_MAX};
}

/* One tensor that a framework allocated, and one that it freed. */
static inline void sample_allocator(struct sample *s, size_t r)
{
	struct pp_rank *rank = &s->capture.rank[r];

	sample_pool(s, r);
	rank->allocation = calloc(3, sizeof(*rank->allocation));
	for (int i = 0; rank->allocation && i < 3; i++)
		rank->allocation[rank->allocations++] =
		        (struct pp_allocation){.time = 1000 + 2 * SAMPLE_STEP_NS + i,
		                               .allocator = pp_intern_put(s->capture.names, "cpu", 3),
		                               .op = pp_intern_put(s->capture.names, "aten::mm", 8),
		                               .address = i == 1 ? 1 : 2,
		                               .is_free = i == 2,
		                               .requested = 60,
		                               .bytes = 64,
		                               .allocated = 128 - 64 * (i != 1),
		                               .reserved = -1,
		                               .available = -1,
		                               .peak = -1,
		                               .step = -1,
		                               .fragmentation = -1};
}

/* What PyTorch's allocator of device 1 says when step 3 has ended. */
static inline void sample_torch_memory(struct sample *s, size_t r)
{
	static const char *const name[] = {"allocated",     "active",  "reserved",      "allocated peak",
	                                   "reserved peak", "retries", "out of memory", "next step"};
	static const double value[] = {1 << 20, 2 << 20, 4 << 20, 3 << 20, 5 << 20, 0, 0, 4};
	char text[48];

	for (int i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "cuda:1 memory %s", name[i]);
		add_span(&s->capture, r, 2, PP_SPAN_COUNTER, text, 1000 + 4 * SAMPLE_STEP_NS + i, 1000 + 4 * SAMPLE_STEP_NS + i)
		        ->value = value[i];
	}
}

/* As if rank 0 had loaded between two of its steps, which follow each other without a gap here. */
static inline void sample_input_between(struct pp_dataset *d)
{
	d->input_between = calloc(1, sizeof(*d->input_between));
	d->input_between[d->input_betweens++] =
	        (struct pp_row_input_between){.input_ns = 1000, .outside_ns = 2000, .gaps = 5, .gaps_with_input = 1};
}

static inline void sample_window(struct pp_dataset *d)
{
	struct pp_window_rank late = {.rank = 1,
	                              .asked = 10,
	                              .acked = PP_WINDOW_NEVER,
	                              .started = 4000,
	                              .ended = 5000,
	                              .reason = "it did not see the request in time"};
	const struct pp_window_metadata metadata = {
	        .by = "capture", .kind = "steps", .channel = "memory", .what = "--steps +6", .tries = 2, .rank = &late, .ranks = 1};

	CHECK_INT(pp_dataset_window(d, &metadata), 0);
	sample_input_between(d);
}

static inline void sample_comms(struct sample *s, size_t r, size_t ranks)
{
	struct pp_rank *rank = &s->capture.rank[r];

	rank->comm = calloc(2, sizeof(*rank->comm));
	rank->comms = 2;
	rank->comm[0] = (struct pp_comm){.id = 77,
	                                 .name = pp_intern_put(s->capture.names, "MPI_COMM_WORLD", 14),
	                                 .size = (uint32_t)ranks,
	                                 .member = s->member,
	                                 .near = &s->member[(r + 1) % ranks],
	                                 .nears = 1,
	                                 .near_known = 1};
	rank->comm[1] = (struct pp_comm){.id = SAMPLE_FILE,
	                                 .name = pp_intern_put(s->capture.names, "bytes", 5),
	                                 .size = (uint32_t)ranks,
	                                 .kind = PP_COMM_FILE};
}

static inline void sample_make(struct sample *s, size_t ranks, const char *logdir)
{
	static char long_name[SAMPLE_LONG + 1];
	struct pp_err err = {""};

	memset(s, 0, sizeof(*s));
	memset(long_name, 'n', SAMPLE_LONG);
	s->capture = make_capture(ranks);
	s->capture.epoch_realtime_ns = INT64_C(1790000000000000000);
	s->capture.payloads = pp_intern_new();
	s->capture.memory_period_ns = 100000000;
	for (size_t r = 0; r < ranks; r++) {
		struct pp_rank *rank = &s->capture.rank[r];

		snprintf(rank->host, sizeof(rank->host), "node%zu", r / 8);
		s->member[r] = (int32_t)r;
		rank->step_marks = 1;
		sample_comms(s, r, ranks);
		rank->records = 100;
		sample_process(rank);
		sample_allocator(s, r);
		for (int64_t k = 0; k < SAMPLE_STEPS; k++)
			sample_step(s, r, k, long_name);
		sample_torch_memory(s, r);
		rank->thread[1].name = pp_intern_put(s->capture.names, "loader", 6);
	}
	CHECK_INT(pp_steps_find(&s->capture, 1, 7, &s->steps, &err), 0);
	for (size_t r = 0; r < ranks; r++)
		CHECK_INT(pp_attr_rank(&s->capture.rank[r], r, &s->steps, ranks, s->capture.names, PP_ATTR_KEEP_ALL, &s->attr[r],
		                       &err),
		          0);
	struct pp_row_host_clock clock;

	sample_clock(&clock);
	for (size_t r = 0; r < ranks; r++)
		s->capture.rank[r].host_clock = 1;

	struct pp_dataset_input in = {.capture = &s->capture,
	                              .host_clock = &clock,
	                              .host_clocks = 1,
	                              .steps = &s->steps,
	                              .attr = s->attr,
	                              .session = "sample",
	                              .job = "1.0",
	                              .command = "/opt/train.py --lr \xff",
	                              .options = "steps=1:7",
	                              .asked_first = 1,
	                              .asked_last = 7,
	                              .bound_ns = 2};

	CHECK_INT(pp_dataset_build(&in, &s->dataset, &err), 0);
	sample_window(&s->dataset);
	CHECK_INT(pp_tools_run(&s->dataset, &err), 0);
	s->out = (struct pp_output){.capture = &s->capture,
	                            .steps = &s->steps,
	                            .attr = s->attr,
	                            .dataset = &s->dataset,
	                            .logdir = logdir,
	                            .session = "sample"};
}

static inline void sample_free(struct sample *s)
{
	pp_dataset_release(&s->dataset);
	for (size_t r = 0; r < s->capture.ranks; r++)
		pp_attr_release(&s->attr[r]);
	pp_steps_release(&s->steps);
	free_capture(&s->capture);
}

static inline const struct pp_writer_ops *sample_writer(const char *name)
{
	for (size_t i = 0; pp_writer_list[i]; i++)
		if (!strcmp(pp_writer_list[i]->name, name))
			return pp_writer_list[i];
	return NULL;
}
