/* Writes pod.h5 and summary.txt of a made-up job: page_make LOGDIR RANKS STEPS [PER_HOST]. Rank 3 reads its input slowly, ranks of
 * the last quarter are loaders that send to the others. The tables of tools are filled by hand, so that tests know each value:
 * nothing here is what podprof would find. Used by tests/report and tests/bench. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "aggregate/write/writer.h"
#include "core/base/known.h"
#include "core/call/mpi_call.h"
#include "core/ring/intern.h"
#include "tests/unit/aggregate/pod_made.h"

enum { FIRST = 100, US = 1000, MS = 1000000, LATE = 3, INPUT = 6, HOST_COMPUTE = 4, SAMPLES = 24, MOST_TORCH = 64 };

static uint64_t seed = 88172645463325252u;

static int64_t dice(int64_t most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % (uint64_t)most);
}

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void step(struct pp_made_job *m, size_t ranks, size_t loaders, size_t s)
{
	for (size_t r = 0; r < ranks; r++) {
		pp_made_step_begin(m, r, s);
		pp_made_work(m, r, PP_CATEGORY_INPUT, 2 * MS + dice(300 * US) + (r == LATE ? 12 * MS : 0));
		pp_made_work(m, r, PP_CATEGORY_HOST_COMPUTE, 9 * MS + dice(2 * MS));
		pp_made_work(m, r, PP_CATEGORY_OTHER, 100 * US + dice(50 * US));
	}
	for (size_t r = ranks - loaders; loaders && r < ranks; r++)
		pp_made_message(m, r, r - loaders, 7, 4096u << s % 8, 40 * US + dice(20 * US), s % 2 == 0);
	pp_made_collective(m, 1, "MPI_Allreduce", 1024u << s % 12, 200 * US + (int64_t)(s % 12) * 50 * US);
	pp_made_end_all(m);
}

static void clear(struct pp_table *t, int id)
{
	t[id].rows = 0;
}

static void put_roles(struct pp_dataset *d, struct pp_table *t, size_t loaders)
{
	clear(t, PP_TABLE_role);
	for (size_t i = 0; i < 2; i++) {
		struct pp_row_role *r = need(pp_table_add(&t[PP_TABLE_role]));

		r->first_rank = i ? (int32_t)(d->workers - loaders) : 0;
		r->ranks = (uint32_t)(i ? loaders : d->workers - loaders);
		snprintf(r->role_ranks, sizeof(r->role_ranks), "%d-%d", r->first_rank, r->first_rank + (int)r->ranks - 1);
		snprintf(r->why, sizeof(r->why), "%s", i ? "they send batches and do no compute" : "they compute");
	}
	for (size_t w = 0; w < d->workers; w++)
		d->worker[w].role = w >= d->workers - loaders;
}

/* All waiting is charged to the rank that was last: in this job it was late for its own reason. */
static void put_blame(const struct pp_dataset *d, struct pp_table *t)
{
	int64_t *sum = need(calloc(d->workers + 1, sizeof(*sum)));
	uint32_t *steps = need(calloc(d->workers + 1, sizeof(*steps)));

	clear(t, PP_TABLE_blame);
	clear(t, PP_TABLE_blame_step);
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *cell = &d->cell[i];
		struct pp_row_blame_step *b;

		if (!pp_is_known(cell->late_ns))
			continue;
		b = need(pp_table_add(&t[PP_TABLE_blame_step]));
		b->step = d->step[i / d->workers].number;
		b->worker = d->worker[i % d->workers].rank;
		b->step_blame_ns = cell->late_ns;
		b->step_error_ns = cell->late_error_ns;
		b->step_reason = b->worker == LATE ? INPUT : HOST_COMPUTE;
		sum[i % d->workers] += cell->late_ns;
		steps[i % d->workers] += cell->late_ns > 0;
	}
	for (size_t n = 0; n < d->workers; n++) {
		size_t most = 0;
		struct pp_row_blame *b;

		for (size_t w = 1; w < d->workers; w++)
			most = sum[w] > sum[most] ? w : most;
		if (!sum[most])
			break;
		for (int part = 0; part < 2; part++) {
			const int64_t ns = part ? sum[most] / 10 : sum[most] - sum[most] / 10;

			if (!ns)
				continue;
			b = need(pp_table_add(&t[PP_TABLE_blame]));
			b->worker = d->worker[most].rank;
			b->reason = (int8_t)(part ? 9 : b->worker == LATE ? INPUT : HOST_COMPUTE);
			b->blame_ns = ns;
			b->direct_ns = ns - ns / 20;
			b->error_ns = 41;
			b->steps = steps[most];
		}
		sum[most] = 0;
	}
	free(sum);
	free(steps);
}

static void put_findings(const struct pp_dataset *d, struct pp_table *t)
{
	static const int8_t kind[] = {PP_FINDING_PERSISTENT, PP_FINDING_PERIODIC, PP_FINDING_ONE_OFF};
	static const char *const text[] = {"rank 3, Input: 12.1 ms more than the median of the other ranks in 40 of 40 usual steps",
	                                   "every 8 steps: all ranks, Output", "once, in step 104: rank 1, Host compute"};

	clear(t, PP_TABLE_finding);
	for (size_t i = 0; i < 3; i++) {
		struct pp_row_finding *f = need(pp_table_add(&t[PP_TABLE_finding]));

		f->kind = kind[i];
		f->finding_worker = i == 1 ? -1 : i ? 1 : LATE;
		f->finding_peer = -1;
		f->finding_ranks = i != 1;
		f->finding_reason = (int8_t)(i == 1 ? 7 : i ? 4 : INPUT);
		f->usual_ns = 20 * MS;
		f->more_ns = 12 * MS;
		f->finding_gain_ns = (3 - (int64_t)i) * MS;
		f->finding_wait_ns = i ? 0 : 12 * MS;
		f->waiters = i ? 0 : 3;
		f->finding_steps = i == 2 ? 1 : (uint32_t)(i ? d->steps / 8 + 1 : d->steps);
		f->of_steps = (uint32_t)d->steps;
		f->finding_first = FIRST + (i == 2 ? 4 : 0);
		f->finding_period = i == 1 ? 8 : 0;
		f->chance = i ? 1 : 1e-6;
		snprintf(f->who, sizeof(f->who), "%s", i == 1 ? "all ranks" : i ? "rank 1" : "rank 3");
		snprintf(f->finding, sizeof(f->finding), "%s", text[i]);
		snprintf(f->finding_next, sizeof(f->finding_next), "compare rank %d with its peers in the timeline",
		         f->finding_worker);
	}
}

static void put_what_ifs(const struct pp_dataset *d, struct pp_table *t)
{
	static const char *const text[] = {"rank 3 (host h0) at the median of role 0",
	                                   "input of all ranks at the median of their role",
	                                   "host h0 at the median of the other hosts"};
	const int64_t before = 26 * MS;

	(void)d;
	clear(t, PP_TABLE_what_if);
	for (size_t i = 0; i < 3; i++) {
		struct pp_row_what_if *w = need(pp_table_add(&t[PP_TABLE_what_if]));

		w->subject = i == 1 ? 2 : i ? 1 : 0;
		w->subject_worker = i == 1 ? -1 : i ? 0 : LATE;
		w->before_ns = before;
		w->gain_ns = (int64_t[]){11 * MS, 10 * MS, -1 * MS}[i];
		w->after_ns = before - w->gain_ns;
		snprintf(w->what_if, sizeof(w->what_if), "%s", text[i]);
		snprintf(w->assumes, sizeof(w->assumes), "transfer and all other work take as long as measured");
	}
}

static void put_sizes(struct pp_table *t)
{
	uint16_t call[2] = {0, 0};

	while (strcmp(pp_mpi_call_info(call[0])->name, "MPI_Allreduce") != 0)
		call[0]++;
	while (strcmp(pp_mpi_call_info(call[1])->name, "MPI_Send") != 0)
		call[1]++;
	clear(t, PP_TABLE_message_size);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 12 - 4 * k; i++) {
			struct pp_row_message_size *m = need(pp_table_add(&t[PP_TABLE_message_size]));

			m->operation = call[k];
			m->ranks = k ? 2 : 8;
			m->from_bytes = 1024u << (i + 2 * k);
			m->occurrences = 10 + (uint64_t)i;
			m->bytes = m->from_bytes * m->occurrences;
			m->busbw_median = 2e6 * (double)(1 << i) * (k ? 3 : 1);
			m->busbw_least = m->busbw_median / 4;
			m->busbw_most = m->busbw_median * 1.5;
			m->duration_ns = 100 * US * (int64_t)m->occurrences;
		}
}

/* Sums of all ranks, each row with other shares. */
static void put_budget(struct pp_table *t)
{
	static const char *const call[] = {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Send", "MPI_Probe"};
	static const int64_t ns[][5] = {
	        {0, 700, 300, 0, 1000}, {600, 150, 50, 0, 200}, {120, 0, 80, 20, 60}, {0, 0, 0, 40, 40}}; /* the last: blocking */

	clear(t, PP_TABLE_budget);
	for (int i = 0; i < 4; i++) {
		struct pp_row_budget *b = need(pp_table_add(&t[PP_TABLE_budget]));

		while (strcmp(pp_mpi_call_info(b->operation)->name, call[i]) != 0)
			b->operation++;
		b->communicator = i < 3 ? 77 : 0;
		b->calls = i < 3 ? 192 : 0;
		b->hidden_ns = ns[i][0] * MS;
		b->wait_ns = ns[i][1] * MS;
		b->transfer_ns = ns[i][2] * MS;
		b->unsplit_ns = ns[i][3] * MS;
		b->blocking_ns = ns[i][4] * MS;
		b->time_ns = b->hidden_ns + b->wait_ns + b->transfer_ns + b->unsplit_ns;
		b->not_blocking_ns = b->time_ns - b->hidden_ns - b->blocking_ns;
	}
}

static void put_advice(struct pp_table *t)
{
	static const struct {
		const char *rule, *evidence, *advice;
		int32_t worker;
		int64_t ns;
	} rule[] = {{"input_rank", "rank 3 reads input 12.1 ms per step longer than the median of role 0 (10 of 10 steps)",
	             "compare the files, the shard and the worker processes of rank 3 with those of rank 2", LATE, 12 * MS},
	            {"small_messages", "2 048 messages of at most 4 KiB take 180 us per step", "send fewer, larger messages", -1,
	             180 * US},
	            {"huge_pages", "no huge pages on 2 of 2 hosts", "turn on transparent huge pages with 'madvise'", -1, 0}};

	clear(t, PP_TABLE_advice);
	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		struct pp_row_advice *a = need(pp_table_add(&t[PP_TABLE_advice]));

		snprintf(a->rule, sizeof(a->rule), "%s", rule[i].rule);
		snprintf(a->evidence, sizeof(a->evidence), "%s", rule[i].evidence);
		snprintf(a->advice, sizeof(a->advice), "%s", rule[i].advice);
		a->advice_worker = rule[i].worker;
		a->cost_ns = rule[i].ns;
	}
}

/* Rank r's process grows by r MiB from sample to sample up to the middle; rank 1 grows by 64 MiB to the end. */
static void put_memory(const struct pp_dataset *d, struct pp_table *t)
{
	const int64_t span = d->window_end_ns - d->window_begin_ns;

	for (size_t w = 0; w < d->workers; w++)
		for (int i = 0; i < SAMPLES; i++) {
			struct pp_row_memory *m = need(pp_table_add(&t[PP_TABLE_memory]));
			const int64_t grown = w == 1 ? i * 64 : (int64_t)(w % 8) * (i < SAMPLES / 2 ? i : SAMPLES - i);

			m->worker = d->worker[w].rank;
			m->time_ns = d->window_begin_ns + span * i / SAMPLES;
			m->rss_bytes = (uint64_t)(300 + grown) << 20;
		}
}

static void put_processes(const struct pp_dataset *d, struct pp_table *t)
{
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		struct pp_row_process *p = need(pp_table_add(&t[PP_TABLE_process]));

		p->step = d->step[i / d->workers].number;
		p->worker = d->worker[i % d->workers].rank;
		p->present = p->rss_present = 1;
		p->cpu_user_ns = d->cell[i].step_ns / 2;
		p->rss_peak_bytes = (300 + i % d->workers * 3 + i / d->workers) << 20;
	}
}

/* The device of rank 1 fills by 1 GiB in each step, all others keep what they have. */
static void put_torch(const struct pp_dataset *d, struct pp_table *t)
{
	for (size_t w = 0; w < d->workers && w < MOST_TORCH; w++) {
		struct pp_row_allocator *a = need(pp_table_add(&t[PP_TABLE_allocator]));
		uint64_t most = 0;

		for (size_t s = 0; s < d->steps; s++) {
			struct pp_row_torch_memory *m = need(pp_table_add(&t[PP_TABLE_torch_memory]));

			m->worker = d->worker[w].rank;
			m->step = d->step[s].number;
			m->reserved_bytes = (w == 1 ? 20 + s % 40 : 30) << 30;
			m->active_bytes = m->allocated_bytes = m->reserved_bytes - (UINT64_C(1) << 30);
			most = m->reserved_bytes > most ? m->reserved_bytes : most;
			m->reserved_peak_bytes = m->allocated_peak_bytes = most;
		}
		*a = (struct pp_row_allocator){.worker = d->worker[w].rank,
		                               .allocations = 10,
		                               .capacity_bytes = PP_UNKNOWN,
		                               .peak_since_start_bytes = PP_UNKNOWN,
		                               .peak_bytes = (int64_t)most,
		                               .free_bytes = PP_UNKNOWN,
		                               .fragmentation = (double)NAN,
		                               .peak_step = -1,
		                               .device_bytes = INT64_C(80) << 30};
		a->allocator = pp_intern_put((struct pp_intern *)d->names, "GPU_0", 5);
	}
}

static int write_files(const struct pp_dataset *d, const char *logdir)
{
	struct pp_output out = {.dataset = d, .logdir = logdir, .session = d->session};
	struct pp_err err;
	int code = 0;

	for (size_t i = 0; pp_writer_list[i] && !code; i++)
		if (!strcmp(pp_writer_list[i]->name, "hdf5") || !strcmp(pp_writer_list[i]->name, "text"))
			code = pp_writer_list[i]->write(&out, &err);
	if (code)
		fprintf(stderr, "page_make: %s\n", err.text);
	return code;
}

int main(int argc, char **argv)
{
	const size_t ranks = argc > 2 ? strtoul(argv[2], NULL, 10) : 8, steps = argc > 3 ? strtoul(argv[3], NULL, 10) : 10,
	             per_host = argc > 4 ? strtoul(argv[4], NULL, 10) : 4, loaders = ranks / 4;
	struct pp_table table[PP_TABLES];
	struct pp_made_job m;
	struct pp_dataset d;
	struct pp_err err;

	if (argc < 2 || ranks < 5 || !steps || !per_host)
		return 2;
	pp_made_begin(&m, ranks, per_host, FIRST, steps);
	m.bound_ns = 41;
	for (size_t s = 0; s < steps; s++)
		step(&m, ranks, loaders, s);
	d = pp_made_end(&m);
	snprintf(d.session, sizeof(d.session), "2026_11_21_10_40_02");
	snprintf(d.command, sizeof(d.command), "python train.py --config pod.yaml");
	d.pair_bound_ns = 41;
	d.keeper_cpu_ns = 38 * MS;
	d.keeper_rss_bytes = 9 << 20;
	d.record_cost_ps = 12500;
	d.epoch_realtime_ns = INT64_C(1795000000000000000);
	for (size_t w = 0; w < d.workers; w++) {
		d.worker[w].records = 4200 + (uint64_t)dice(100);
		d.worker[w].kept_ns = d.worker[w].recorded_ns = 2 * (d.window_end_ns - d.window_begin_ns);
	}
	if (pp_tools_run(&d, &err)) {
		fprintf(stderr, "page_make: %s\n", err.text);
		return 1;
	}
	pp_dataset_tables(&d, table);
	put_roles(&d, table, loaders);
	put_blame(&d, table);
	put_findings(&d, table);
	put_what_ifs(&d, table);
	put_sizes(table);
	put_budget(table);
	put_advice(table);
	put_memory(&d, table);
	if (steps <= 100 && ranks <= MOST_TORCH) {
		put_processes(&d, table);
		put_torch(&d, table);
	}
	pp_dataset_take_tables(&d, table);
	return write_files(&d, argv[1]) ? 1 : 0;
}
