/* /what_if of made-up jobs: steps are replayed with less work of a rank, a host, the input or a communicator, or with a quicker
 * link. */
#include <stdlib.h>

#include "aggregate/graph/replay.h"
#include "aggregate/graph/whole.h"
#include "aggregate/tools/tools.h"
#include "core/base/known.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { STEPS = 10, US = 1000, MS = 1000 * US };

struct result {
	struct pp_dataset d;
	struct pp_table table[PP_TABLES];
	const struct pp_row_what_if *row;
	size_t rows;
};

/* From the begin of the first step to the end of the last one, of the rank with most per step. */
static int64_t measured(const struct pp_dataset *d)
{
	int64_t most = 0;

	for (size_t w = 0; w < d->workers; w++) {
		int64_t ns = d->cell[(d->steps - 1) * d->workers + w].end_ns - d->cell[w].begin_ns;

		most = ns / (int64_t)d->steps > most ? ns / (int64_t)d->steps : most;
	}
	return most;
}

/* Nothing saved: the replay gives what was measured, also of the steps that count. */
static void check_unchanged(const struct pp_dataset *d, int64_t step_ns)
{
	struct pp_scenario nothing = {.after_ns = -1};
	uint8_t *counts = calloc(d->steps, 1);
	struct pp_graph g;

	CHECK_INT(pp_graph_whole(&g, d), 0);
	CHECK_INT(pp_replay_run(&g, NULL, &nothing, 1), 0);
	CHECK_INT(nothing.after_ns, step_ns);
	CHECK_INT(pp_replay_measured(d, NULL), step_ns);
	for (size_t s = 0; s < d->steps; s++) {
		int64_t most = 0;

		for (size_t w = 0; w < d->workers; w++) {
			const struct pp_row_cell *cell = &d->cell[s * d->workers + w];
			const int64_t end = s + 1 < d->steps ? cell[d->workers].begin_ns : cell->end_ns;

			most = end - cell->begin_ns > most ? end - cell->begin_ns : most;
		}
		counts[s] = 1;
		CHECK_INT(pp_replay_run(&g, counts, &nothing, 1), 0);
		CHECK_INT(nothing.after_ns, most);
		CHECK_INT(pp_replay_measured(d, counts), most);
		counts[s] = 0;
	}
	free(counts);
	pp_graph_release(&g);
}

/* The tables are the caller's, as tools.c has them. */
static struct result what_if(struct pp_made_job *m)
{
	struct result r = {.d = pp_made_end(m)};
	struct pp_err err = {""};

	check_unchanged(&r.d, measured(&r.d));
	pp_dataset_tables(&r.d, r.table);
	CHECK_INT(pp_tool_what_if(&r.d, r.table, &err), 0);
	r.row = r.table[PP_TABLE_what_if].row;
	r.rows = r.table[PP_TABLE_what_if].rows;
	for (size_t i = 0; i < r.rows; i++) {
		CHECK(r.row[i].gain_ns > 0 && (!i || r.row[i].gain_ns <= r.row[i - 1].gain_ns));
		CHECK_INT(r.row[i].gain_ns, r.row[i].before_ns - r.row[i].after_ns);
		CHECK(r.row[i].assumes[0] && r.row[i].what_if[0]);
	}
	return r;
}

static void end(struct result *r)
{
	struct pp_intern *names = (struct pp_intern *)r->d.names;

	pp_dataset_take_tables(&r->d, r->table);
	pp_dataset_release(&r->d);
	pp_intern_free(names);
}

static const struct pp_row_what_if *find(const struct result *r, int subject, int32_t rank)
{
	for (size_t i = 0; i < r->rows; i++)
		if (r->row[i].subject == subject && (rank < 0 || r->row[i].subject_worker == rank))
			return &r->row[i];
	return NULL;
}

enum { RANK, HOST, INPUT, COMMUNICATOR, SET, LINK };

/* Rank 3 computes 8 ms longer: a step takes 19 ms, and 11 ms without that. */
TEST(rank)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 8, 4, 5, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_work(&m, 3, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 20, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 3);
	CHECK(row != NULL);
	if (row) {
		CHECK_INT(row->before_ns, 19 * MS);
		CHECK_INT(row->after_ns, 11 * MS);
		CHECK_STR(row->what_if, "rank 3 (host h0) as fast as the median of the other ranks");
	}
	CHECK_INT(r.rows, 2); /* and its host; no input */
	row = find(&r, HOST, 0);
	CHECK(row && row->gain_ns == 8 * MS);
	end(&r);
}

/* Rank 0 delays rank 1 in step 4, and this one the others in step 5, of which alone is asked: nobody is late there. */
TEST(steps_that_count)
{
	static const int32_t pair[2][2] = {{0, 1}, {2, 3}};
	uint8_t all[] = {1, 1, 1, 1}, counts[STEPS] = {[5] = 1};
	struct pp_scenario scenario = {.chosen = all};
	struct pp_made_job m;
	struct pp_intern *names;
	struct pp_dataset d;
	struct pp_graph g;
	uint64_t id[2];

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (int i = 0; i < 2; i++)
		id[i] = pp_made_communicator(&m, "pair", pair[i], 2);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, s == 4 ? 8 * MS : 0);
		pp_made_collective(&m, id[0], "MPI_Allreduce", 8, 1 * MS);
		pp_made_collective(&m, id[1], "MPI_Allreduce", 8, 1 * MS);
		if (s % 2)
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	names = (struct pp_intern *)d.names;
	CHECK_INT(pp_graph_whole(&g, &d), 0);
	CHECK_INT(pp_replay_run(&g, counts, &scenario, 1), 0);
	CHECK_INT(scenario.after_ns, pp_replay_measured(&d, counts));
	CHECK_INT(scenario.wait_ns, 0);
	counts[4] = 1;
	CHECK_INT(pp_replay_run(&g, counts, &scenario, 1), 0);
	CHECK(scenario.after_ns < pp_replay_measured(&d, counts) - 3 * MS);
	CHECK(scenario.wait_ns >= 16 * MS);
	pp_graph_release(&g);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

/* A rank that was recorded in one long step only decides nothing. */
TEST(few_steps)
{
	struct pp_made_job m;
	struct pp_intern *names;
	struct pp_dataset d;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, s ? 10 * MS : 90 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	names = (struct pp_intern *)d.names;
	for (size_t s = 1; s < STEPS; s++)
		d.cell[s * d.workers + 3].present = 0;
	check_unchanged(&d, (91 + 9 * 11) * MS / STEPS);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

/* Operations that are still open when the next begins: each waits for the late rank, and only its exposed part counts. */
TEST(nonblocking)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 4 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_collective(&m, 1, "MPI_Iallreduce", 8, 1 * MS);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_collective(&m, 1, "MPI_Iallreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	for (size_t i = 0; i < m.d.arrivals; i += 8) /* the first of a step is begun early by the others, which then wait less */
		for (size_t k = i; k < i + 4; k++) {
			m.d.arrival[k].call = (uint32_t)i + 1;
			m.d.arrival[k].call_begin_ns = m.d.arrival[k].arrival_ns;
			m.d.arrival[k].arrival_ns -= m.d.arrival[k].worker == 1 ? 0 : 1 * MS;
		}
	r = what_if(&m);
	row = find(&r, RANK, 1);
	/* Rank 1 calls other things than the others, which begin early: its whole work is compared. */
	CHECK(row && llabs(row->gain_ns - 8 * MS) <= 12 * MS / 10);
	end(&r);
}

/* A second slow rank hides the first: only what is above the second is gained; both are on one host. */
TEST(second)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 8, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_work(&m, 5, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_work(&m, 6, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 20, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 5);
	CHECK(row && row->gain_ns == 3 * MS);
	CHECK(!find(&r, RANK, 6));
	row = find(&r, HOST, 4);
	CHECK(row && row->gain_ns == 8 * MS);
	end(&r);
}

/* Slow between the steps: the others wait in theirs. */
TEST(between)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_work(&m, 2, PP_CATEGORY_HOST_COMPUTE, s ? 6 * MS : 0);
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 2);
	CHECK(row != NULL);
	if (row) {
		CHECK_INT(row->before_ns, (9 * 17 * MS + 11 * MS) / 10);
		CHECK_INT(row->after_ns, 11 * MS);
	}
	CHECK_INT(r.rows, 1);
	end(&r);
}

/* A barrier between the steps takes up the lateness: the steps are as long as before, but come sooner. */
TEST(outside)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
		pp_made_work(&m, 2, PP_CATEGORY_HOST_COMPUTE, 6 * MS);
		pp_made_collective(&m, 1, "MPI_Barrier", 0, 1 * MS);
	}
	for (size_t s = 0; s < STEPS; s++)
		m.d.cell[s * 4 + 2].late_ns = 1; /* what the waiting between steps says is in no cell */
	r = what_if(&m);
	row = find(&r, RANK, 2);
	CHECK(row != NULL);
	if (row) {
		CHECK_INT(row->before_ns, (STEPS * 18 * MS - 7 * MS) / STEPS); /* nothing is between the last step and a next one */
		CHECK_INT(row->gain_ns, (STEPS - 1) * 6 * MS / STEPS);
	}
	end(&r);
}

/* A delay behind the last operation of a step is waiting in the next step: it counts once. */
TEST(behind_the_last_operation)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_OUTPUT, 5 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 1);
	CHECK(row != NULL);
	if (row) {
		CHECK_INT(row->before_ns, 16 * MS);
		CHECK_INT(row->gain_ns, (STEPS - 1) * 5 * MS / STEPS); /* work behind the last call is kept */
	}
	end(&r);
}

/* Messages in a chain: rank 0 is late, 1 waits for it, 2 for 1. A slow receiver holds no eager sender up. */
TEST(chain)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 3, 3, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 7 * MS);
		pp_made_message(&m, 0, 1, 7, 100, 1 * MS, 0);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
		pp_made_message(&m, 1, 2, 7, 100, 1 * MS, 1);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	/* The ranks do different things: 0 sends, 1 receives first, 2 receives behind nothing. Their whole work is compared. */
	CHECK(r.rows == 1 && find(&r, RANK, 0));
	end(&r);

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) { /* 0 and 2 send to 1 and 3, 0 is late */
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 7 * MS);
		pp_made_message(&m, 0, 1, 7, 100, 1 * MS, s % 2);
		pp_made_message(&m, 2, 3, 7, 100, 1 * MS, s % 2);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 0);
	CHECK(row && row->gain_ns == 7 * MS && row->after_ns == 4 * MS);
	end(&r);
}

/* Rank 1 waits for two messages in one call: what it waits for is the later one, 0's, and without that 2's. */
TEST(together)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 5, 5, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		size_t a = m.d.arrivals;

		pp_made_begin_all(&m, s);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_work(&m, 2, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
		pp_made_message(&m, 2, 1, 7, 100, 1 * US, 0); /* rows: 1, 2 */
		pp_made_message(&m, 0, 1, 7, 100, 1 * US, 0); /* rows: 0, 1 */
		pp_made_message(&m, 3, 4, 7, 100, 1 * US, 0);
		CHECK(m.d.arrival[a].worker == 1 && m.d.arrival[a + 3].worker == 1);
		m.d.arrival[a + 3].arrival_ns = m.d.arrival[a].arrival_ns;
		m.d.arrival[a].call = m.d.arrival[a + 3].call = (uint32_t)s + 1;
		m.d.arrival[a].call_begin_ns = m.d.arrival[a + 3].call_begin_ns = m.d.arrival[a].arrival_ns;
		m.d.arrival[a + 3].exposed_wait_ns += m.d.arrival[a].exposed_wait_ns;
		m.d.arrival[a].exposed_wait_ns = 0;
		m.d.arrival[a].exit_ns = m.d.arrival[a + 3].exit_ns;
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, RANK, 0);
	CHECK(row && row->before_ns == 9 * MS + US && row->after_ns == 6 * MS + US);
	end(&r);
}

/* Rank 0 is late to receive, works while the message comes, and then waits for what is left: without its lateness it waits longer,
 * in the call itself or in the Wait behind its work. */
TEST(hidden)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		struct pp_made_job m;
		struct result r;
		const struct pp_row_what_if *row;

		pp_made_begin(&m, 6, 6, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			size_t a = m.d.arrivals;

			pp_made_begin_all(&m, s);
			pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
			for (size_t w = 3; w < 6; w++)
				pp_made_work(&m, w, PP_CATEGORY_HOST_COMPUTE, 4 * MS);
			for (size_t w = 3; w < 6; w++)
				pp_made_message(&m, w, w - 3, 7, 100, 1 * US, 1);
			for (size_t w = 0; w < 3; w++)
				pp_made_work(&m, w, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
			for (size_t i = a; i < m.d.arrivals && !blocks; i++)
				if (m.d.arrival[i].worker < 3) { /* the Wait is behind the work */
					m.d.arrival[i].call = (uint32_t)s + 1;
					m.d.arrival[i].exit_ns += 3 * MS;
					m.d.arrival[i].call_begin_ns = m.d.arrival[i].exit_ns;
				}
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
			pp_made_end_all(&m);
		}
		r = what_if(&m);
		row = find(&r, RANK, 0);
		CHECK(row != NULL);
		if (row) /* the others take 4 ms and 3 ms behind the message, or 4 ms where that hides the 3 ms */
			CHECK(llabs(row->gain_ns - 4 * MS) <= MS / 10);
		end(&r);
	}
}

TEST(input)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) { /* another rank each time */
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_INPUT, 1 * MS);
		pp_made_work(&m, s % 4, PP_CATEGORY_INPUT, 5 * MS);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, INPUT, -1);
	CHECK(row && row->gain_ns == 5 * MS && row == r.row);
	end(&r);
}

/* Two rows of ranks; the links of the second are slow. */
TEST(communicator)
{
	static const int32_t upper[] = {0, 1}, lower[] = {2, 3};
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;
	uint64_t a, b;

	pp_made_begin(&m, 4, 2, 0, STEPS);
	a = pp_made_communicator(&m, "upper", upper, 2);
	b = pp_made_communicator(&m, "lower", lower, 2);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
		pp_made_collective(&m, a, "MPI_Allreduce", 1 << 20, 2 * MS);
		pp_made_collective(&m, b, "MPI_Allreduce", 1 << 20, 9 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	row = find(&r, COMMUNICATOR, -1);
	CHECK(row != NULL);
	if (row) {
		CHECK_INT(row->subject_communicator, b);
		CHECK_INT(row->gain_ns, 7 * MS);
		CHECK_STR(row->what_if, "communicator 'lower' of ranks 2-3: transfer at the median");
	}
	CHECK_INT(r.rows, 1); /* no rank computes longer */
	end(&r);
}

/* A role changes nothing: ranks are alike where they make the same calls. */
TEST(role)
{
	for (int roles = 0; roles < 2; roles++) {
		struct pp_made_job m;
		struct result r;

		pp_made_begin(&m, 6, 6, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
			pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 4 * MS);
			pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
			pp_made_end_all(&m);
		}
		for (int32_t w = 2; w < 6 && roles; w++)
			m.d.worker[w].role = 1;
		r = what_if(&m);
		CHECK_INT(r.rows, 2); /* both ranks, of which the second hides the first; the second alone */
		CHECK(r.rows == 2 && r.row[0].subject_worker == 0 && r.row[0].gain_ns == 5 * MS);
		CHECK(r.rows == 2 && r.row[1].subject_worker == 1 && r.row[1].gain_ns == 1 * MS);
		end(&r);
	}
}

/* Rank 0 works longer before one call and less before the next: it keeps nobody waiting, and is of no set. */
TEST(in_no_way)
{
	struct pp_made_job m;
	struct result r;
	int32_t rank[6] = {0, 1, 2, 3, 4, 5};
	uint64_t own[6];

	pp_made_begin(&m, 6, 6, 0, STEPS);
	for (size_t i = 0; i < 6; i++)
		own[i] = pp_made_communicator(&m, "own", &rank[i], 1);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 4 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 9 * MS);
		for (size_t i = 0; i < 6; i++)
			pp_made_collective(&m, own[i], "MPI_Barrier", 0, 0);
		for (size_t i = 1; i < 6; i++)
			pp_made_work(&m, i, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r = what_if(&m);
	CHECK_INT(r.rows, 1);
	CHECK(r.rows == 1 && r.row[0].subject_worker == 1 && r.row[0].gain_ns == 9 * MS);
	end(&r);
}

/* What the clocks cannot tell is no gain. */
TEST(bound)
{
	for (int64_t bound = 7 * MS; bound <= 9 * MS; bound += 2 * MS) {
		struct pp_made_job m;
		struct result r;

		pp_made_begin(&m, 4, 4, 0, STEPS);
		m.bound_ns = bound;
		for (size_t s = 0; s < STEPS; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
			pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
			pp_made_end_all(&m);
		}
		r = what_if(&m);
		CHECK_INT(r.rows, bound < 8 * MS);
		end(&r);
	}
}

/* Blame decides which ranks are looked at. */
TEST(blame)
{
	struct pp_made_job m;
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	struct result r;
	struct pp_row_blame *row;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
		pp_made_end_all(&m);
	}
	r.d = pp_made_end(&m);
	pp_dataset_tables(&r.d, r.table);
	memcpy(table, r.table, sizeof(table));
	for (int32_t rank = 2; rank >= 1; rank--) { /* of rank 2 alone; then of rank 1 too, and of a rank that is not there */
		row = pp_table_add(&r.table[PP_TABLE_blame]);
		row->worker = rank;
		row->blame_ns = 5;
		row = pp_table_add(&r.table[PP_TABLE_blame]);
		row->worker = 99 - rank;
		row->blame_ns = INT64_MAX;
		CHECK_INT(pp_tool_what_if(&r.d, r.table, &err), 0);
		CHECK_INT(r.table[PP_TABLE_what_if].rows, rank == 1);
	}
	end(&r);
}

static void spoil(struct pp_dataset *d, int fault)
{
	switch (fault) {
	case 0:
		d->collective[0].row_first = UINT64_MAX - 1;
		break;
	case 1:
		d->collective[0].row_count = UINT32_MAX;
		break;
	case 2:
		d->collective[1].row_first = d->collective[0].row_first + 1;
		break;
	case 3:
		d->arrival[1].worker = 77;
		break;
	case 4:
		d->arrival[1].arrival_ns = INT64_MIN;
		d->arrival[2].exit_ns = INT64_MIN;
		break;
	case 5:
		d->arrival[1].arrival_ns = INT64_MAX;
		d->arrival[2].exit_ns = INT64_MAX;
		break;
	case 6:
		d->arrival[1].exposed_wait_ns = INT64_MIN;
		d->arrival[2].exposed_wait_ns = INT64_MAX;
		d->arrival[3].late_rank = INT32_MIN;
		break;
	case 7:
		d->cell[5].begin_ns = INT64_MAX;
		d->cell[6].end_ns = INT64_MIN;
		d->cell[7].step_ns = INT64_MIN;
		break;
	default:
		d->collective[0].operation = UINT16_MAX;
		d->worker[2].role = INT32_MIN;
		d->arrival[1].local_us[4] = UINT32_MAX;
		d->arrival[1].between_us = UINT32_MAX;
		break;
	}
}

/* Rows that no recorder makes: no crash, and what is odd is left out. */
/* Between clocks that are not joined a replay cannot tell what other ranks gain: ranks are listed, and nothing else. */
TEST(unknown_gain)
{
	struct pp_made_job m;
	struct pp_err err = {""};
	struct result r = {.rows = 0};

	pp_made_begin(&m, 8, 4, 5, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_INPUT, MS);
		pp_made_work(&m, 3, PP_CATEGORY_INPUT, 8 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 20, MS);
		pp_made_end_all(&m);
	}
	r.d = pp_made_end(&m);
	r.d.uncompared = 1;
	pp_dataset_tables(&r.d, r.table);
	CHECK_INT(pp_tool_what_if(&r.d, r.table, &err), 0);
	r.row = r.table[PP_TABLE_what_if].row;
	r.rows = r.table[PP_TABLE_what_if].rows;
	CHECK_INT(r.rows, 2);
	CHECK(find(&r, RANK, 3) && find(&r, HOST, 0) && !find(&r, INPUT, -1));
	for (size_t i = 0; i < r.rows; i++)
		CHECK(r.row[i].gain_ns == PP_UNKNOWN && r.row[i].after_ns == PP_UNKNOWN && r.row[i].before_ns == 10 * MS);
	end(&r);
}

TEST(hostile)
{
	for (int fault = 0; fault < 9; fault++) {
		struct pp_made_job m;
		struct pp_table table[PP_TABLES];
		struct pp_err err = {""};
		struct result r;

		pp_made_begin(&m, 4, 2, 0, 3);
		for (size_t s = 0; s < 3; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 3 * MS);
			pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
			pp_made_collective(&m, 1, "MPI_Bcast", 8, 1 * MS);
			pp_made_message(&m, 0, 3, 1, 8, 1 * MS, 0);
			pp_made_end_all(&m);
		}
		r.d = pp_made_end(&m);
		spoil(&r.d, fault);
		pp_dataset_tables(&r.d, table);
		CHECK_INT(pp_tool_what_if(&r.d, table, &err), 0);
		memcpy(r.table, table, sizeof(table));
		end(&r);
	}
}

/* Ranks on hosts of `per_host` send in pairs, then all meet; messages from rank 1 to rank 2 take 5 ms longer. With `both`
 * also those back. */
static struct result slow_link(struct pp_made_job *m, size_t per_host, int both)
{
	static const size_t round[][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {0, 2, 1, 3}, {2, 0, 3, 1}, {0, 3, 1, 2}, {3, 0, 2, 1}};

	pp_made_begin(m, 4, per_host, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(m, s);
		for (size_t k = 0; k < sizeof(round) / sizeof(round[0]); k++) {
			pp_made_work_all(m, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
			for (size_t i = 0; i < 4; i += 2) {
				const size_t a = round[k][i], b = round[k][i + 1];

				pp_made_message(m, a, b, 0, 1000,
				                (a == 1 && b == 2) || (both && a == 2 && b == 1) ? 5100 * US : 100 * US, 1);
			}
			pp_made_collective(m, 1, "MPI_Barrier", 0, 10 * US);
		}
		pp_made_end_all(m);
	}
	return what_if(m);
}

static void check_link(size_t per_host, int both, const char *what)
{
	struct pp_made_job m;
	struct result r = slow_link(&m, per_host, both);
	const struct pp_row_what_if *row = find(&r, LINK, -1);

	CHECK(row && row == r.row); /* the first */
	if (row) {
		CHECK(llabs(row->gain_ns - (both ? 10 : 5) * MS) < 100 * US);
		CHECK_STR(row->what_if, what);
		CHECK_INT(row->subject_worker + row->subject_peer, 3);
	}
	end(&r);
}

TEST(link)
{
	check_link(1, 0, "link from rank 1 (host h1) to rank 2 (host h2) as the usual links");
	check_link(1, 1, "the 2 slow links between hosts h1 and h2 as the usual links");
	check_link(4, 0, "link from rank 1 to rank 2 as the usual links");
	check_link(4, 1, "link between rank 1 and rank 2 as the usual links");
}

int main(void)
{
	rank();
	steps_that_count();
	few_steps();
	nonblocking();
	second();
	between();
	outside();
	behind_the_last_operation();
	chain();
	together();
	hidden();
	input();
	communicator();
	role();
	in_no_way();
	bound();
	blame();
	unknown_gain();
	hostile();
	link();
	return test_end();
}
