/* Datasets made at random, and whether two are equal. Used by block_test.c and merge_test.c. */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "aggregate/analyze/window.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/order.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/table_text.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "tests/test.h"

static uint64_t kit_seed = 0x2545f4914f6cdd1dULL;

static inline uint64_t kit_random(uint64_t below)
{
	kit_seed ^= kit_seed << 13;
	kit_seed ^= kit_seed >> 7;
	kit_seed ^= kit_seed << 17;
	return below ? kit_seed % below : kit_seed;
}

/* Few bits as often as many. */
static inline int64_t kit_time(void)
{
	return (int64_t)(kit_random(0) & (((uint64_t)1 << kit_random(50)) - 1));
}

static inline uint32_t kit_name(struct pp_intern *names, const char *what, uint64_t number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s %llu \xc3\xa9", what, (unsigned long long)number);

	return pp_intern_put(names, text, (size_t)n);
}

static inline void kit_worker(struct pp_row_worker *w, int32_t rank)
{
	*w = (struct pp_row_worker){.rank = rank, .local_rank = (int32_t)kit_random(8) - 1, .pid = (int32_t)kit_random(1 << 22)};
	w->bound_ns = kit_random(2) ? PP_BOUND_UNKNOWN : kit_time();
	w->own_bound_ns = kit_random(100);
	if (kit_random(2))
		snprintf(w->clock, sizeof(w->clock), "boot%d map", (int)kit_random(2));
	if (kit_random(4) == 0)
		snprintf(w->memory_note, sizeof(w->memory_note), "no %d", (int)kit_random(2));
	w->remarks = (uint32_t)kit_random(PP_REMARKS + 3);
	for (uint32_t k = 0; k < PP_REMARKS && k < w->remarks; k++)
		snprintf(w->remark[k], PP_REMARK_TEXT, "remark %u of %d", (unsigned)k, (int)kit_random(9));
	w->offset_ns = -kit_time();
	w->dropped[kit_random(PP_LOSSES)] = kit_random(1000);
	w->records = kit_random(0);
	w->recorded_ns = (int64_t)kit_random(1 << 30);
	w->kept_ns = (int64_t)kit_random((uint64_t)w->recorded_ns + 1);
	w->cores = (int32_t)kit_random(64);
	w->host_cores = w->cores + (int32_t)kit_random(64);
	snprintf(w->host, sizeof(w->host), "host%d", (int)kit_random(4));
	snprintf(w->status, sizeof(w->status), "%s", kit_random(3) ? "delivered" : "partial: it was killed");
	snprintf(w->command, sizeof(w->command), "./train --size %d", (int)kit_random(100));
	snprintf(w->device, sizeof(w->device), "CPU");
	memset(w->options, 'o', sizeof(w->options) - 1);
}

static inline void kit_cell(struct pp_row_cell *c, int64_t begin)
{
	if (kit_random(8) == 0)
		return;
	*c = (struct pp_row_cell){.present = 1, .begin_ns = begin, .bottleneck = (int8_t)(1 + kit_random(PP_CATEGORIES))};
	for (int k = 1; k <= PP_CATEGORIES; k++)
		c->step_ns += c->exclusive_ns[k] = kit_random(2) ? 0 : kit_time() >> 20;
	c->end_ns = begin + c->step_ns + (kit_random(4) == 0);
	c->wait_ns = kit_time();
	c->transfer_ns = kit_time();
	c->late_ns = kit_time();
	c->late_error_ns = kit_time();
	c->point_to_point_ns = kit_time();
}

/* The segments of a call that waits, or of one that an earlier row has too. */
static inline void kit_exposed(struct pp_dataset *d, struct pp_row_arrival *row)
{
	uint32_t parts = (uint32_t)kit_random(3);

	row->shared = kit_random(4) == 0;
	if (row->shared && d->exposeds && kit_random(2)) {
		row->exposed = 1; /* the first of all begins a call */
		return;
	}
	if (!parts || !d->steps) {
		row->shared = 0;
		return;
	}
	row->exposed = (uint32_t)(d->exposeds + 1) & PP_EXPOSED_MOST;
	for (; parts; parts--)
		d->exposed[d->exposeds++] = (struct pp_exposed){.begin_ns = row->arrival_ns + (int64_t)kit_random(3),
		                                                .length_ns = (uint32_t)kit_random(PP_EXPOSED_LENGTH_MOST),
		                                                .blocks = (uint32_t)kit_random(3) & 3,
		                                                .step = (uint32_t)kit_random(d->steps) & INT32_MAX,
		                                                .more = parts > 1};
}

static inline void kit_lap(struct pp_row_arrival *row)
{
	for (int k = 1; k <= PP_CATEGORIES; k++)
		row->local_us[k] = kit_random(2) ? 0 : (uint32_t)kit_time();
	row->between_us = (uint32_t)kit_random(3);
	row->place = (uint32_t)kit_random(3) * 1234567891;
	if (kit_random(4)) {
		row->call = 1 + (uint32_t)kit_random(5);
		row->call_begin_ns = kit_random(3) ? row->arrival_ns : kit_time();
		row->call_end_ns = kit_random(3) ? row->exit_ns : kit_time();
		row->polls = (int8_t)kit_random(2);
	}
}

/* As builders leave them in a part. */
static inline void kit_collectives(struct pp_dataset *d, size_t n)
{
	uint32_t sequence = 0;
	uint64_t comm = kit_random(0) >> 1;

	d->collective = calloc(n + 1, sizeof(*d->collective));
	d->arrival = calloc(n * (d->workers + 1) + 1, sizeof(*d->arrival));
	d->exposed = calloc(n * (d->workers + 1) * 3 + 1, sizeof(*d->exposed));
	for (size_t i = 0; i < n && d->workers; i++) {
		struct pp_row_collective *c = &d->collective[d->collectives++];
		size_t skip = kit_random(d->workers);

		if (kit_random(10) == 0) {
			comm += 1 + kit_random(1000);
			sequence = 0;
		}
		sequence += (uint32_t)(1 + kit_random(2) * kit_random(1000));
		*c = (struct pp_row_collective){
		        .communicator = comm, .sequence = sequence, .operation = (uint16_t)kit_random(pp_mpi_call_count())};
		c->bytes = kit_random(0);
		if (kit_random(2)) {
			c->device_ns = (int64_t)(kit_random(0) >> 9);
			c->exposed_ns = (int64_t)(kit_random(0) >> 9);
			c->device_ranks = (int32_t)kit_random(1000);
			c->exposed_ranks = (int32_t)kit_random(1000);
			c->shared_ranks = (int32_t)kit_random(1000);
			c->algorithm = (int8_t)kit_random(16);
			c->protocol = (int8_t)kit_random(16);
			c->channels = (int32_t)kit_random(256);
		}
		c->mismatch = kit_random(9) ? 0 : (int8_t)kit_random(5);
		c->message = kit_random(3) == 0;
		if (c->message) {
			c->source = (int32_t)kit_random(2);
			c->destination = (int32_t)kit_random(2);
			c->tag = (int32_t)kit_random(2) - 1;
		}
		c->row_first = d->arrivals;
		for (size_t w = skip; w < d->workers; w++) {
			struct pp_row_arrival *row = &d->arrival[d->arrivals++];

			*row = (struct pp_row_arrival){
			        .worker = d->worker[w].rank, .arrival_ns = kit_time(), .exit_ns = kit_time()};
			row->is_root = kit_random(5) == 0;
			row->exit_open = kit_random(5) == 0;
			row->needs = kit_random(9) ? 0 : kit_random(3) & 3;
			row->is_empty = kit_random(9) == 0;
			row->side = kit_random(9) ? 0 : kit_random(3) & 3;
			row->device_begin_ns = kit_random(3) ? kit_time() : INT64_MIN;
			row->device_end_ns = kit_random(3) ? kit_time() : INT64_MIN;
			row->device_length_ns = kit_random(3) ? kit_time() : 0;
			row->device_error_ns = kit_time() >> 20;
			row->device_operations = (uint32_t)kit_random(3);
			kit_lap(row);
			kit_exposed(d, row);
			c->row_count++;
		}
	}
}

/* Tables with a description, as text: names have other numbers elsewhere. */
static inline void kit_same_tables(const struct pp_dataset *a, const struct pp_dataset *b, int with_ops)
{
	for (int id = 0; id < PP_TABLES; id++) {
		char *text[2] = {NULL, NULL};
		size_t size;

		if (id == PP_TABLE_host_clock ||
		    (pp_table_desc(id)->columns > 1 && pp_table_desc(id)->column[1].type == PP_TYPE_HOST))
			continue; /* hosts may have other numbers: kit_same_clock() */
		if (id == PP_TABLE_arrival)
			continue; /* compared by their bytes */
		if (!with_ops &&
		    (id == PP_TABLE_op || id == PP_TABLE_op_left_out || id == PP_TABLE_op_idle || id == PP_TABLE_event ||
		     id == PP_TABLE_evidence || id == PP_TABLE_unclassified || id == PP_TABLE_warning))
			continue;
		for (int i = 0; i < 2; i++) {
			const struct pp_dataset *d = i ? b : a;
			FILE *f = open_memstream(&text[i], &size);
			struct pp_table table[PP_TABLES];

			pp_dataset_tables(d, table);
			pp_table_csv(&table[id], d->names, f);
			fclose(f);
		}
		CHECK_STR(text[1], text[0]);
		free(text[0]);
		free(text[1]);
	}
}

static inline void kit_budget(struct pp_dataset *d)
{
	d->budgets = kit_random(5);
	d->budget = calloc(d->budgets + 1, sizeof(*d->budget));
	for (size_t i = 0; i < d->budgets; i++)
		d->budget[i] = (struct pp_row_budget){.operation = i < 4 ? (uint16_t)i : PP_BUDGET_OTHER,
		                                      .communicator = kit_random(0),
		                                      .step = kit_time(),
		                                      .calls = kit_random(9),
		                                      .hidden_ns = kit_time(),
		                                      .blocking_ns = kit_time()};
}

static inline void kit_evidence(struct pp_dataset *d, struct pp_intern *names)
{
	d->unclassifieds = kit_random(4);
	d->unclassified = calloc(d->unclassifieds + 1, sizeof(*d->unclassified));
	for (size_t i = 0; i < d->unclassifieds; i++)
		d->unclassified[i] = (struct pp_row_unclassified){kit_name(names, "range", i), kit_time(), kit_random(0)};
	d->evidences = kit_random(4);
	d->evidence = calloc(d->evidences + 1, sizeof(*d->evidence));
	for (size_t i = 0; i < d->evidences; i++)
		d->evidence[i] = (struct pp_row_evidence){(int8_t)(i + 1), kit_time()};
}

static inline void kit_tables(struct pp_dataset *d, struct pp_intern *names)
{
	d->channels = kit_random(5);
	d->channel = calloc(d->channels + 1, sizeof(*d->channel));
	for (size_t i = 0; i < d->channels; i++)
		d->channel[i] = (struct pp_row_channel){.source = (int32_t)i,
		                                        .destination = (int32_t)kit_random(9),
		                                        .unseen = (int8_t)kit_random(2),
		                                        .bytes = kit_random(0),
		                                        .count = kit_random(0),
		                                        .time_ns = kit_time()};
	d->communicators = kit_random(4);
	d->communicator = calloc(d->communicators + 1, sizeof(*d->communicator));
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_row_communicator *c = &d->communicator[i];

		*c = (struct pp_row_communicator){.id = i + 1, .name = kit_name(names, "comm", i), .size = 3, .role = "part"};
		if (kit_random(2) && (c->member = calloc(3, sizeof(*c->member))))
			c->member[1] = 7;
	}
	d->neighbours = d->workers ? kit_random(4) : 0;
	d->neighbour = calloc(d->neighbours + 1, sizeof(*d->neighbour));
	for (size_t i = 0; i < d->neighbours; i++)
		d->neighbour[i] = (struct pp_row_neighbour){.communicator = kit_random(0),
		                                            .worker = d->worker[d->workers - 1].rank,
		                                            .source = (int32_t)kit_random(9) - 1};
	d->files = d->workers ? kit_random(3) : 0;
	d->file = calloc(d->files + 1, sizeof(*d->file));
	for (size_t i = 0; i < d->files; i++)
		d->file[i] = (struct pp_row_file){.name = kit_name(names, "file", i),
		                                  .worker = d->worker[0].rank,
		                                  .writes = kit_random(9),
		                                  .write_ns = kit_time()};
	kit_evidence(d, names);
	d->memories = d->process_samples = d->workers ? kit_random(6) : 0;
	d->memory = calloc(d->memories + 1, sizeof(*d->memory));
	d->process_sample = calloc(d->memories + 1, sizeof(*d->process_sample));
	for (size_t i = 0; i < d->memories; i++) {
		int32_t rank = d->worker[d->workers - 1].rank;

		d->memory[i] = (struct pp_row_memory){.worker = rank, .time_ns = (int64_t)i * 1000, .rss_bytes = kit_random(0)};
		d->process_sample[i] = (struct pp_row_process_sample){.sample_worker = rank,
		                                                      .sample_time_ns = kit_time() + ((int64_t)i << 51),
		                                                      .sample_major_faults = kit_random(9)};
	}
	d->process = calloc(d->steps + 1, sizeof(*d->process));
	for (size_t s = 0; s < d->steps && d->workers; s++)
		if (kit_random(2))
			d->process[d->processes++] = (struct pp_row_process){.step = d->step[s].number,
			                                                     .worker = d->worker[kit_random(d->workers)].rank,
			                                                     .cpu_user_ns = kit_time(),
			                                                     .minor_faults = -5,
			                                                     .present = (int8_t)kit_random(2),
			                                                     .rss_present = 1};
	for (uint64_t k = kit_random(3); k; k--)
		pp_dataset_warn(d, "%s %d", "something is missing", (int)k);
}

static inline void kit_kernels(struct pp_dataset *d, struct pp_intern *names)
{
	d->kernels = d->workers ? kit_random(9) : 0;
	d->kernel = calloc(d->kernels + 1, sizeof(*d->kernel));
	for (size_t i = 0; i < d->kernels; i++)
		d->kernel[i] = (struct pp_row_kernel){.name = kit_name(names, "kernel", kit_random(2)),
		                                      .op = kit_name(names, "op", kit_random(2)),
		                                      .activity = (int8_t)kit_random(6),
		                                      .precision = (int8_t)kit_random(3),
		                                      .grid_z = (uint32_t)i, /* no two rows have one key */
		                                      .worker = d->worker[kit_random(d->workers)].rank,
		                                      .occurrences = kit_random(0),
		                                      .total_ns = kit_time(),
		                                      .min_ns = kit_time(),
		                                      .max_ns = kit_time(),
		                                      .occupancy_percent = (double)NAN};
	d->kernel_left_out = calloc(1, sizeof(*d->kernel_left_out));
	d->kernel_left_outs = 1;
	*d->kernel_left_out = (struct pp_row_kernel_left_out){kit_random(3), kit_random(9), kit_random(0), kit_time()};
	d->op_idles = d->workers;
	d->op_idle = calloc(d->workers + 1, sizeof(*d->op_idle));
	for (size_t i = 0; i < d->op_idles; i++)
		d->op_idle[i] = (struct pp_row_op_idle){.worker = d->worker[i].rank,
		                                        .side = (int8_t)kit_random(2),
		                                        .name = kit_name(names, "Idle", 0),
		                                        .idle_ns = kit_time(),
		                                        .step_ns = kit_time()};
}

static inline void kit_ops(struct pp_dataset *d, struct pp_intern *names)
{
	d->ops = d->workers ? kit_random(12) : 0;
	d->op = calloc(d->ops + 1, sizeof(*d->op));
	for (size_t i = 0; i < d->ops; i++) {
		d->op[i] = (struct pp_row_op){.name = kit_name(names, "op", kit_random(4)),
		                              .worker = d->worker[kit_random(d->workers)].rank,
		                              .category = (int8_t)(1 + i % 7), /* no two rows are of one operator and worker */
		                              .source = (int8_t)(i / 7),
		                              .side = (int8_t)kit_random(2)};
		d->op[i].steps = (uint32_t)kit_random(100);
		d->op[i].calls = kit_random(0);
		d->op[i].total_ns = kit_time();
		d->op[i].self_ns = kit_time();
		d->op[i].max_ns = kit_time();
	}
	d->event = calloc(1, sizeof(*d->event));
	d->events = 1;
	*d->event = (struct pp_row_event){kit_random(0), kit_random(0)};
	d->op_left_out = calloc(1, sizeof(*d->op_left_out));
	d->op_left_outs = 1;
	*d->op_left_out = (struct pp_row_op_left_out){kit_random(3), kit_random(0), kit_time()};
	CHECK_INT(pp_dataset_seal(d), 0);
	for (size_t w = 0; w < d->workers; w++) {
		d->worker[w].loader_samples = (uint32_t)kit_random(3);
		d->worker[w].loader_busy = d->worker[w].loader_samples ? (double)kit_random(100) / 100 : 0;
	}
}

static inline void kit_same_loaders(const struct pp_dataset *a, const struct pp_dataset *b)
{
	for (size_t w = 0; w < a->workers && w < b->workers; w++)
		CHECK(a->worker[w].loader_samples == b->worker[w].loader_samples &&
		      a->worker[w].loader_busy == b->worker[w].loader_busy);
}

static inline int64_t kit_time_or_never(void)
{
	return kit_random(3) ? kit_time() : PP_WINDOW_NEVER;
}

static inline void kit_window(struct pp_dataset *d)
{
	struct pp_window_metadata metadata = {
	        .by = "capture", .kind = "steps", .channel = "mpi", .what = "+5 \xc3\xa9", .tries = 2};
	struct pp_window_rank row[64] = {{0}};

	if (kit_random(2))
		return;
	metadata.rank = row;
	for (; metadata.ranks < d->workers; metadata.ranks++) {
		row[metadata.ranks] = (struct pp_window_rank){
		        .rank = d->worker[metadata.ranks].rank, .asked = kit_time_or_never(), .acked = kit_time_or_never()};
		row[metadata.ranks].started = kit_time_or_never();
		row[metadata.ranks].ended = kit_time_or_never();
		snprintf(row[metadata.ranks].reason, sizeof(row[metadata.ranks].reason), "%s", kit_random(2) ? "" : "stepped late");
	}
	CHECK_INT(pp_dataset_window(d, &metadata), 0);
}

/* As a keeper leaves it: rows in the order of time. */
static inline void kit_clock(struct pp_row_host_clock *c, uint64_t number)
{
	int64_t at = kit_time();

	*c = (struct pp_row_host_clock){.hops = (int32_t)kit_random(3),
	                                .host_offset_ns = -kit_time(),
	                                .host_drift_ppb = -5,
	                                .host_drift_error_ppb = 7,
	                                .host_bound_ns = kit_time()};
	snprintf(c->name, sizeof(c->name), "host%d", (int)number);
	snprintf(c->own, sizeof(c->own), "boot%d counter", (int)number);
	snprintf(c->parent, sizeof(c->parent), "%s", c->hops ? "host0" : "");
	if (kit_random(4) == 0)
		c->host_bound_ns = PP_BOUND_UNKNOWN;
	c->samples = kit_random(4);
	c->sample = calloc(c->samples + 1, sizeof(*c->sample));
	c->stretches = c->samples ? c->samples - 1 : 0;
	c->stretch = calloc(c->stretches + 1, sizeof(*c->stretch));
	for (size_t i = 0; i < c->samples; i++, at += (int64_t)kit_random(1 << 30)) {
		c->sample[i] = (struct pp_row_clock_sample){.time_ns = at,
		                                            .half_ns = kit_time(),
		                                            .residual_ns = -kit_time(),
		                                            .t1 = -at,
		                                            .sample_trips = 50,
		                                            .sample_flags = 3};
		c->sample[i].t4 = c->sample[i].t1 + kit_time();
		c->sample[i].t2 = c->sample[i].t3 = (int64_t)kit_random(0);
		if (i)
			c->stretch[i - 1] =
			        (struct pp_row_clock_stretch){.begin_ns = c->sample[i - 1].time_ns,
			                                      .end_ns = at,
			                                      .bound_begin_ns = kit_time(),
			                                      .bound_end_ns = kit_random(3) ? kit_time() : PP_BOUND_UNKNOWN,
			                                      .bound_hump_ns = kit_time()};
	}
	c->pairs = kit_random(4);
	c->pair = calloc(c->pairs + 1, sizeof(*c->pair));
	for (size_t i = 0; i < c->pairs; i++)
		c->pair[i] = (struct pp_row_clock_wall){0, (int64_t)i * 1000, 1700000000000000000 + kit_time(), kit_time()};
	c->changes = kit_random(3);
	c->change = calloc(c->changes + 1, sizeof(*c->change));
	for (size_t i = 0; i < c->changes; i++)
		c->change[i] = (struct pp_row_clock_change){.from_ns = (int64_t)i,
		                                            .to_ns = (int64_t)i + kit_time(),
		                                            .by_ns = -kit_time(),
		                                            .error_ns = 7,
		                                            .event = (int8_t)(i % 2)};
	c->changes_lost = kit_random(2);
	c->claim = (struct pp_clock_claim){1, (int8_t)kit_random(2), -kit_time(), kit_time(), -30000, "kernel, chronyd"};
	c->trips = kit_random(0);
	c->round_ns = kit_time();
	c->cpu_ns = kit_time();
}

/* Every worker has one, none, or that of the others. */
static inline void kit_clocks(struct pp_dataset *d)
{
	struct pp_row_host_clock c;

	for (uint64_t i = 0, n = kit_random(4); i < n; i++) {
		kit_clock(&c, i);
		CHECK_INT(pp_dataset_add_clock(d, &c), 0);
		pp_host_clock_release(&c);
	}
	for (size_t w = 0; w < d->workers; w++)
		d->worker[w].host_clock = (uint32_t)kit_random(d->host_clocks + 1);
}

/* But for the number of their host. */
#define KIT_ROWS(n, a, b)                                                                                                          \
	for (size_t k_ = 0; k_ < (n); k_++)                                                                                        \
	CHECK(!memcmp((const char *)&(a)[k_] + sizeof(int64_t), (const char *)&(b)[k_] + sizeof(int64_t),                          \
	              sizeof(*(a)) - sizeof(int64_t)))

static inline void kit_same_clock(const struct pp_row_host_clock *x, const struct pp_row_host_clock *y)
{
	CHECK_STR(y->name, x->name);
	CHECK_STR(y->own, x->own);
	CHECK_STR(y->parent, x->parent);
	CHECK(x->hops == y->hops && x->host_offset_ns == y->host_offset_ns && x->host_drift_ppb == y->host_drift_ppb &&
	      x->host_drift_error_ppb == y->host_drift_error_ppb && x->host_bound_ns == y->host_bound_ns);
	CHECK(x->samples == y->samples && x->stretches == y->stretches && x->pairs == y->pairs && x->changes == y->changes);
	CHECK(x->changes_lost == y->changes_lost && x->rounds == y->rounds && x->trips == y->trips && x->lost == y->lost);
	CHECK(x->impossible == y->impossible && x->foreign == y->foreign && x->round_ns == y->round_ns && x->cpu_ns == y->cpu_ns);
	CHECK(x->claim.known == y->claim.known && x->claim.synchronised == y->claim.synchronised);
	CHECK(x->claim.error_ns == y->claim.error_ns && x->claim.error_most_ns == y->claim.error_most_ns);
	CHECK_STR(y->claim.by, x->claim.by);
	CHECK_INT(y->claim.frequency_ppb, x->claim.frequency_ppb);
	if (test_failures)
		return;
	KIT_ROWS(x->samples, x->sample, y->sample);
	KIT_ROWS(x->stretches, x->stretch, y->stretch);
	KIT_ROWS(x->pairs, x->pair, y->pair);
	for (size_t i = 0; i < x->changes; i++) {
		CHECK(x->change[i].from_ns == y->change[i].from_ns && x->change[i].to_ns == y->change[i].to_ns);
		CHECK(x->change[i].by_ns == y->change[i].by_ns && x->change[i].error_ns == y->change[i].error_ns);
		CHECK_INT(y->change[i].event, x->change[i].event);
	}
}

static inline struct pp_dataset kit_dataset(struct pp_intern *names, size_t workers, size_t steps, size_t collectives)
{
	struct pp_dataset d = {
	        .names = names, .workers = workers, .steps = steps, .session = "s", .job = "j\xc3\xa9", .command = "c"};

	d.epoch_realtime_ns = 1700000000000000000;
	d.ranks_asked = (int32_t)workers + 1;
	d.step_confidence = 0.5;
	d.steps_asked_first = INT64_MIN;
	d.keeper_rss_bytes = kit_random(0);
	d.spawned = kit_random(3);
	d.c10d = (struct pp_c10d_count){kit_random(99), kit_random(9), kit_random(9), kit_random(9), kit_random(9), kit_random(9)};
	d.paused = kit_random(3);
	d.worker = calloc(workers + 1, sizeof(*d.worker));
	d.step = calloc(steps + 1, sizeof(*d.step));
	d.cell = calloc(steps * workers + 1, sizeof(*d.cell));
	for (size_t w = 0; w < workers; w++)
		kit_worker(&d.worker[w], (int32_t)(w * 2 + kit_random(2)));
	for (size_t s = 0; s < steps; s++) {
		d.step[s].number = (s ? d.step[s - 1].number + 1 : 0) + (int64_t)kit_random(3);
		for (size_t w = 0; w < workers; w++)
			kit_cell(&d.cell[s * workers + w], (int64_t)s << 30);
	}
	kit_collectives(&d, collectives);
	kit_tables(&d, names);
	kit_budget(&d);
	kit_kernels(&d, names);
	kit_ops(&d, names);
	kit_window(&d);
	kit_clocks(&d);
	CHECK_INT(pp_dataset_clocks(&d), 0);
	CHECK_INT(pp_dataset_late(&d), 0);
	return d;
}
