/* A training job made up: steps of 20 ms with the scatter of real ones, categories, processes, samples. See block.h. */
#include "tests/bench/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/order.h"
#include "core/call/mpi_call.h"

enum { STEP_NS = 20000000, SCATTER_NS = 60000, STAY_NS = 350000, LEAVE_NS = 9000, SAMPLE_STEPS = 5, SLOW_NS = 100000 };

static uint64_t seed;

static int64_t dice(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % below);
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

static uint16_t call_of(const char *name)
{
	for (unsigned i = 0; i < pp_mpi_call_count(); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name))
			return (uint16_t)i;
	abort();
}

static void make_worker(struct pp_row_worker *w, int32_t rank, int32_t host, int32_t per_host)
{
	*w = (struct pp_row_worker){
	        .rank = rank, .local_rank = rank % per_host, .pid = 4000 + (int32_t)dice(60000), .own_bound_ns = 240};
	w->records = 100000 + (uint64_t)dice(5000);
	snprintf(w->host, sizeof(w->host), "node%03d", host);
	snprintf(w->status, sizeof(w->status), "delivered");
	snprintf(w->device, sizeof(w->device), "CPU");
	snprintf(w->clock, sizeof(w->clock),
	         "b9e1c9a2-3f7e-4a41-9a66-%012d counter map 81723918273 0 5592405 24 epoch 1700000000123456789", 0);
	snprintf(w->options, sizeof(w->options), "steps=0:1000 output=/scratch/logs");
	snprintf(w->command, sizeof(w->command), "./train --layers 48 --batch 32");
}

/* Forward and backward, input, launches, output now and then, collectives. */
static void make_cell(struct pp_dataset *d, const struct block_job *job, size_t s, size_t w)
{
	struct pp_row_cell *c = &d->cell[s * d->workers + w];
	struct pp_row_process *p = &d->process[d->processes++];
	int64_t comm = job->calls * (STAY_NS + dice(30000));

	*c = (struct pp_row_cell){.present = 1, .bottleneck = PP_CATEGORY_HOST_COMPUTE};
	c->begin_ns = s ? d->cell[(s - 1) * d->workers + w].end_ns + dice(4000) : dice(100000);
	c->end_ns = c->begin_ns + STEP_NS - 200000 + dice(400000);
	c->step_ns = c->end_ns - c->begin_ns;
	c->exclusive_ns[PP_CATEGORY_INPUT] = 300000 + dice(200000);
	c->exclusive_ns[PP_CATEGORY_OUTPUT] = s % 100 ? 0 : 4000000 + dice(500000);
	c->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = comm;
	c->exclusive_ns[PP_CATEGORY_OTHER] = 150000 + dice(90000);
	c->exclusive_ns[PP_CATEGORY_HOST_COMPUTE] = c->step_ns;
	for (int k = 1; k <= PP_CATEGORIES; k++)
		if (k != PP_CATEGORY_HOST_COMPUTE)
			c->exclusive_ns[PP_CATEGORY_HOST_COMPUTE] -= c->exclusive_ns[k];
	if (!job->per_host) { /* of collectives of its own host */
		c->wait_ns = dice(40000);
		c->transfer_ns = 60000 + dice(20000);
		c->late_ns = dice(40000);
	}
	*p = (struct pp_row_process){
	        .step = (int64_t)s, .worker = d->worker[w].rank, .present = 1, .rss_present = s % SAMPLE_STEPS == 0};
	p->cpu_user_ns = STEP_NS - dice(800000);
	p->cpu_system_ns = dice(500000);
	p->voluntary_switches = dice(40);
	p->involuntary_switches = dice(6);
	p->minor_faults = dice(12);
	p->rss_peak_bytes = p->rss_present ? ((uint64_t)3 << 30) + (uint64_t)dice(4000) * 4096 : 0;
}

static void make_samples(struct pp_dataset *d)
{
	size_t most = d->workers * (d->steps / SAMPLE_STEPS + 1);

	d->memory = room(most, sizeof(*d->memory));
	d->process_sample = room(most, sizeof(*d->process_sample));
	for (size_t w = 0; w < d->workers; w++) {
		struct pp_row_memory m = {.worker = d->worker[w].rank, .rss_bytes = (uint64_t)3 << 30, .pss_present = 1};
		struct pp_row_process_sample p = {.sample_worker = d->worker[w].rank};

		for (size_t s = 0; s < d->steps; s += SAMPLE_STEPS) {
			m.time_ns = p.sample_time_ns = (int64_t)s * STEP_NS + dice(300000);
			m.rss_bytes += (uint64_t)dice(40) * 4096;
			m.pss_bytes = m.rss_bytes - (uint64_t)dice(1000) * 4096;
			p.sample_cpu_user_ns += SAMPLE_STEPS * STEP_NS - (uint64_t)dice(800000);
			p.sample_cpu_system_ns += (uint64_t)dice(2000000);
			p.sample_minor_faults += (uint64_t)dice(60);
			d->memory[d->memories++] = m;
			d->process_sample[d->process_samples++] = p;
		}
	}
}

struct call {
	uint64_t communicator;
	uint32_t sequence;
	size_t step, first, count; /* this part's ranks in it */
	int64_t at_ns;
	uint32_t number; /* in its step */
	int nonblocking;
};

/* Work since the call before: the ledger's, as far as a description has it. */
static void make_work(struct pp_row_arrival *row, int64_t distance_ns)
{
	int64_t us = distance_ns / 1000 - 60 + dice(120);

	row->local_us[PP_CATEGORY_INPUT] = (uint32_t)(us / 50 + dice(100));
	row->local_us[PP_CATEGORY_OTHER] = (uint32_t)(us / 100 + dice(40));
	row->local_us[PP_CATEGORY_HOST_COMMUNICATION] = (uint32_t)(STAY_NS / 1000 + dice(10));
	row->local_us[PP_CATEGORY_HOST_COMPUTE] = (uint32_t)(us - us / 25);
	row->between_us = (uint32_t)dice(5);
}

/* This part's rows of a call, each exposed from arrival to exit, or in the Waitall. */
static void make_call(struct pp_dataset *d, const struct block_job *job, const struct call *call)
{
	struct pp_row_collective *c = &d->collective[d->collectives];

	*c = (struct pp_row_collective){.communicator = call->communicator, .sequence = call->sequence, .bytes = 4 << 20};
	c->operation = call_of(call->nonblocking ? "MPI_Iallreduce" : "MPI_Allreduce");
	c->row_first = d->arrivals;
	c->row_count = (uint32_t)call->count;
	for (size_t w = call->first; w < call->first + call->count; w++) {
		struct pp_row_arrival *row = &d->arrival[d->arrivals++];
		struct pp_exposed *e = &d->exposed[d->exposeds++];

		*row = (struct pp_row_arrival){.worker = d->worker[w].rank, .exposed = (uint32_t)d->exposeds & PP_EXPOSED_MOST};
		row->shared = call->nonblocking != 0;
		row->arrival_ns = call->at_ns + dice(SCATTER_NS);
		if (job->per_host && row->worker == job->ranks / 3) /* one rank is late in every call */
			row->arrival_ns = call->at_ns + SCATTER_NS + SLOW_NS + dice(SCATTER_NS);
		row->exit_ns = call->at_ns + STAY_NS + dice(LEAVE_NS);
		if (job->per_host)
			make_work(row, STEP_NS / (job->calls + 1));
		*e = (struct pp_exposed){.begin_ns = row->arrival_ns, .step = (uint32_t)call->step & INT32_MAX};
		if (call->nonblocking)
			e->begin_ns += job->per_host ? 4000 + dice(4000) : 40000 + dice(40000);
		row->call = (uint32_t)call->step * (uint32_t)(job->per_host ? 2 : job->calls) + call->number + 1;
		row->call_begin_ns = e->begin_ns;
		row->call_end_ns = row->exit_ns;
		row->place = 2654435761U * (call->number % 3 + 1);
		e->length_ns = (uint32_t)(row->exit_ns - e->begin_ns);
	}
	d->collectives++;
}

static void make_calls(struct pp_dataset *d, const struct block_job *job, size_t s)
{
	for (int k = 0; k < job->calls; k++) {
		struct call c = {.communicator = BLOCK_WORLD,
		                 .sequence = (uint32_t)d->collectives,
		                 .step = s,
		                 .number = (uint32_t)k,
		                 .nonblocking = k % 4 == 3};

		c.count = d->workers;
		c.at_ns = (int64_t)s * STEP_NS + STEP_NS / (job->calls + 1) * (k + 1) + dice(100000);
		make_call(d, job, &c);
	}
}

/* One of WORLD a step, and one of the rank's tensor group or data group in turns; as keepers have them, by communicator. */
static void make_pod_calls(struct pp_dataset *d, const struct block_job *job)
{
	const size_t per_host = (size_t)job->per_host;

	for (size_t i = 0; i < d->communicators; i++) {
		const struct pp_row_communicator *comm = &d->communicator[i];
		int is_world = comm->id == BLOCK_WORLD, is_data = !is_world && comm->id >= BLOCK_DATA;
		struct call c = {.communicator = comm->id, .number = (uint32_t)is_world, .count = is_data ? 1 : per_host};

		if (is_data)
			c.first = (comm->id - BLOCK_DATA) % per_host;
		for (size_t s = is_world ? 0 : (size_t)is_data; s < job->steps; s += is_world ? 1 : 2, c.sequence++) {
			c.step = s;
			c.nonblocking = is_world && s % 4 == 3;
			c.at_ns = (int64_t)s * STEP_NS + STEP_NS / (job->calls + 1) * (is_world ? 2 : 1) + dice(LEAVE_NS);
			make_call(d, job, &c);
		}
	}
}

static void make_communicator(struct pp_dataset *d, uint64_t id, uint32_t size, int32_t first, int32_t gap)
{
	struct pp_row_communicator *c = &d->communicator[d->communicators++];

	*c = (struct pp_row_communicator){.id = id, .size = size, .kind = PP_COMM_MEMBERS};
	c->member = room(size, sizeof(*c->member));
	for (uint32_t i = 0; i < size; i++)
		c->member[i] = first + gap * (int32_t)i;
}

/* WORLD; tensor groups: a host's ranks; data groups: ranks of one local rank on BLOCK_DATA_HOSTS hosts. By id. */
static void make_communicators(struct pp_dataset *d, const struct block_job *job, int32_t first)
{
	int32_t part = first / (job->per_host * BLOCK_DATA_HOSTS);

	d->communicator = room((size_t)job->per_host + 2, sizeof(*d->communicator));
	make_communicator(d, BLOCK_TENSOR + (uint64_t)(first / job->per_host), (uint32_t)job->per_host, first, 1);
	for (int32_t i = 0; i < job->per_host; i++)
		make_communicator(d, BLOCK_DATA + (uint64_t)(part * job->per_host + i), BLOCK_DATA_HOSTS,
		                  part * job->per_host * BLOCK_DATA_HOSTS + i, job->per_host);
	make_communicator(d, BLOCK_WORLD, (uint32_t)job->ranks, 0, 1);
	pp_communicators_fold(d);
}

/* A clock of its own for each host, compared four times in the window. */
static void make_clock(struct pp_dataset *d, int32_t host)
{
	struct pp_row_clock_sample sample[4] = {{.half_ns = 0}};
	struct pp_row_clock_stretch stretch[3] = {{.end_ns = 0}};
	int64_t gap = (int64_t)d->steps * STEP_NS / 3;
	struct pp_row_host_clock c = {.hops = host ? 1 : 0, .sample = sample, .samples = 4, .stretch = stretch, .stretches = 3};

	snprintf(c.name, sizeof(c.name), "node%05d", host);
	snprintf(c.parent, sizeof(c.parent), "%s", host ? "node00000" : "");
	snprintf(c.own, sizeof(c.own), "b9e1c9a2-3f7e-4a41-9a66-%012d counter", host);
	c.trips = 400;
	c.host_bound_ns = host ? 3000 : 0;
	for (int i = 0; i < 4; i++)
		sample[i] = (struct pp_row_clock_sample){
		        .time_ns = i * gap, .half_ns = 1200 + dice(1500), .residual_ns = dice(300), .sample_trips = 100};
	for (int i = 0; i < 3; i++)
		stretch[i] = (struct pp_row_clock_stretch){.begin_ns = i * gap, .end_ns = (i + 1) * gap};
	for (int i = 0; host && i < 3; i++) {
		stretch[i].bound_begin_ns = sample[i].half_ns;
		stretch[i].bound_end_ns = sample[i + 1].half_ns;
		stretch[i].bound_hump_ns = dice(200);
	}
	if (pp_dataset_add_clock(d, &c))
		abort();
	for (size_t w = 0; w < d->workers; w++)
		d->worker[w].host_clock = 1;
}

static void make_pod(struct pp_dataset *d, const struct block_job *job, int32_t first)
{
	int32_t host = first / job->per_host;

	snprintf(d->step_rule, sizeof(d->step_rule), "podprof_step");
	d->step_confidence = 1;
	for (size_t w = 0; w < d->workers; w++)
		snprintf(d->worker[w].host, sizeof(d->worker[w].host), "node%05d", host);
	make_communicators(d, job, first);
	make_clock(d, host);
	make_pod_calls(d, job);
}

void block_make(struct pp_dataset *d, const struct pp_intern *names, const struct block_job *job, int32_t first, int32_t count)
{
	size_t workers = (size_t)count, calls = job->steps * (size_t)(job->per_host ? 2 + job->per_host : job->calls);

	seed = 88172645463325252ULL + (uint64_t)first;
	*d = (struct pp_dataset){.names = names, .workers = workers, .steps = job->steps, .ranks_asked = job->ranks};
	d->ranks_delivered = count;
	d->epoch_realtime_ns = 1700000000123456789;
	d->worker = room(workers, sizeof(*d->worker));
	d->step = room(job->steps, sizeof(*d->step));
	d->cell = room(job->steps * workers, sizeof(*d->cell));
	d->process = room(job->steps * workers, sizeof(*d->process));
	d->collective = room(calls, sizeof(*d->collective));
	d->arrival = room(calls * workers, sizeof(*d->arrival));
	d->exposed = room(calls * workers, sizeof(*d->exposed));
	for (size_t w = 0; w < workers; w++)
		make_worker(&d->worker[w], first + (int32_t)w, 0, job->per_host ? job->per_host : 16);
	for (size_t s = 0; s < job->steps; s++) {
		d->step[s].number = (int64_t)s;
		for (size_t w = 0; w < workers; w++)
			make_cell(d, job, s, w);
		if (!job->per_host)
			make_calls(d, job, s);
	}
	if (job->per_host)
		make_pod(d, job, first);
	make_samples(d);
	if (pp_dataset_clocks(d) || pp_dataset_late(d))
		abort();
}

/* A column's integers, which the caller frees. */
static int64_t *column(struct pp_h5_file *h5, const char *group, const char *name)
{
	struct pp_h5_file_column c;
	struct pp_err err;

	if (pp_h5_file_read(h5, group, name, &c, &err)) {
		fprintf(stderr, "bench_block: %s\n", err.text);
		exit(1);
	}
	return c.data.i;
}

static void cut_rows(struct pp_dataset *d, struct pp_h5_file *h5, size_t n, int32_t first, int32_t count)
{
	static const char *const name[] = {"communicator", "sequence", "step", "bytes", "row_first", "row_count"};
	int64_t *event[6], *worker = column(h5, "collective", "worker"), *arrival = column(h5, "collective", "arrival_ns"),
	                   *left = column(h5, "collective", "exit_ns");

	for (int i = 0; i < 6; i++)
		event[i] = column(h5, "collective", name[i]);
	for (size_t i = 0; i < n; i++) {
		struct pp_row_collective *c = &d->collective[d->collectives];
		size_t step = 0;

		*c = (struct pp_row_collective){
		        .communicator = (uint64_t)event[0][i], .sequence = (uint32_t)event[1][i], .bytes = (uint64_t)event[3][i]};
		c->operation = call_of("MPI_Allreduce");
		c->row_first = d->arrivals;
		while (step < d->steps && d->step[step].number != event[2][i])
			step++;
		for (int64_t r = event[4][i]; r < event[4][i] + event[5][i]; r++) {
			struct pp_row_arrival *row = &d->arrival[d->arrivals];

			if (worker[r] < first || worker[r] >= first + count)
				continue;
			*row = (struct pp_row_arrival){.worker = (int32_t)worker[r], .arrival_ns = arrival[r], .exit_ns = left[r]};
			d->arrivals++;
			if (step == d->steps)
				continue;
			d->exposed[d->exposeds++] = (struct pp_exposed){.begin_ns = row->arrival_ns,
			                                                .length_ns = (uint32_t)(row->exit_ns - row->arrival_ns),
			                                                .step = (uint32_t)step & INT32_MAX};
			row->exposed = (uint32_t)d->exposeds & PP_EXPOSED_MOST;
		}
		c->row_count = (uint32_t)(d->arrivals - c->row_first);
		d->collectives += c->row_count > 0;
	}
	for (int i = 0; i < 6; i++)
		free(event[i]);
	free(worker);
	free(arrival);
	free(left);
}

static void cut_process(struct pp_dataset *d, struct pp_h5_file *h5, size_t of, size_t first)
{
	static const char *const name[] = {"cpu_user_ns",          "cpu_system_ns", "voluntary_switches",
	                                   "involuntary_switches", "minor_faults",  "major_faults"};
	int64_t *present = column(h5, "process", "present");

	d->processes = d->steps * d->workers;
	for (size_t i = 0; i < d->processes; i++) {
		d->process[i].step = d->step[i / d->workers].number;
		d->process[i].worker = d->worker[i % d->workers].rank;
		d->process[i].present = (int8_t)present[i / d->workers * of + first + i % d->workers];
	}
	free(present);
	for (int k = 0; k < 6; k++) {
		int64_t *v = column(h5, "process", name[k]);

		for (size_t i = 0; i < d->steps * d->workers; i++) {
			struct pp_row_process *p = &d->process[i];
			int64_t *to[] = {&p->cpu_user_ns,          &p->cpu_system_ns, &p->voluntary_switches,
			                 &p->involuntary_switches, &p->minor_faults,  &p->major_faults};

			*to[k] = v[i / d->workers * of + first + i % d->workers];
		}
		free(v);
	}
}

void block_cut(struct pp_dataset *d, struct pp_h5_file *h5, const struct pp_dataset *whole, int32_t first, int32_t count)
{
	struct pp_h5_file_column shape;
	size_t events, rows;

	if (pp_h5_file_shape(h5, "collective", "sequence", &shape, NULL))
		abort();
	events = shape.n;
	if (pp_h5_file_shape(h5, "collective", "worker", &shape, NULL))
		abort();
	rows = shape.n;
	*d = *whole;
	pp_dataset_take_tables(d, (struct pp_table[PP_TABLES]){0}); /* its own are below */
	d->steps = whole->steps;
	d->warnings = whole->warnings;
	d->communicators = whole->communicators;
	d->communicator = room(d->communicators, sizeof(*d->communicator));
	for (size_t i = 0; i < d->communicators; i++) {
		d->communicator[i] = whole->communicator[i];
		d->communicator[i].member = NULL; /* a file has them as rows */
	}
	d->workers = (size_t)count;
	d->worker = room((size_t)count, sizeof(*d->worker));
	d->step = room(d->steps, sizeof(*d->step));
	d->cell = room(d->steps * d->workers, sizeof(*d->cell));
	d->process = room(d->steps * d->workers, sizeof(*d->process));
	d->collective = room(events, sizeof(*d->collective));
	d->arrival = room(rows, sizeof(*d->arrival));
	d->exposed = room(rows, sizeof(*d->exposed));
	d->late = NULL;
	for (size_t i = 0; i < whole->host_clocks; i++)
		if (pp_dataset_add_clock(d, &whole->host_clock[i]))
			abort();
	memcpy(d->worker, whole->worker + first, d->workers * sizeof(*d->worker));
	d->windows = whole->windows == whole->workers ? d->workers : 0;
	d->window = room(d->windows, sizeof(*d->window));
	for (size_t w = 0; w < d->windows; w++)
		d->window[w] = whole->window[(size_t)first + w];
	d->warning = room(d->warnings, sizeof(*d->warning));
	memcpy(d->warning, whole->warning, d->warnings * sizeof(*d->warning));
	memcpy(d->step, whole->step, d->steps * sizeof(*d->step));
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		d->cell[i] = whole->cell[i / d->workers * whole->workers + (size_t)first + i % d->workers];
		d->cell[i].wait_ns = d->cell[i].transfer_ns = d->cell[i].late_ns =
		        0; /* all of it is of several hosts' collectives */
	}
	cut_process(d, h5, whole->workers, (size_t)first);
	cut_rows(d, h5, events, first, count);
	for (size_t w = 0; w < d->workers; w++)
		snprintf(d->worker[w].clock, sizeof(d->worker->clock), "boot counter map");
	if (pp_dataset_clocks(d) || pp_dataset_late(d))
		abort();
}
