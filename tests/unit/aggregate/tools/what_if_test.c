/* /what_if of made-up jobs: steps are replayed with less work of a rank, a host, the input or a communicator. */
#include <stdlib.h>

#include "aggregate/tools/replay.h"
#include "aggregate/tools/tools.h"
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

/* The tables are the caller's, as tools.c has them. */
static struct result what_if(struct pp_made_job *m)
{
	struct result r = {.d = pp_made_end(m)};
	struct pp_replay replay;
	struct pp_err err = {""};

	CHECK_INT(pp_replay_init(&r.d, &replay), 0);
	CHECK_INT(pp_replay_run(&replay), measured(&r.d)); /* nothing saved */
	CHECK_INT(pp_replay_measured(&replay), measured(&r.d));
	pp_replay_release(&replay);
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

enum { RANK, HOST, INPUT, COMMUNICATOR };

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
		CHECK_STR(row->what_if, "rank 3 (host h0) at the median of the other ranks");
	}
	CHECK_INT(r.rows, 2); /* and its host; no input */
	row = find(&r, HOST, 0);
	CHECK(row && row->gain_ns == 8 * MS);
	end(&r);
}

/* A rank that was recorded in one long step only decides nothing. */
TEST(few_steps)
{
	struct pp_made_job m;
	struct pp_replay replay;
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
	CHECK_INT(pp_replay_init(&d, &replay), 0);
	CHECK_INT(pp_replay_measured(&replay), (91 + 9 * 11) * MS / STEPS);
	CHECK_INT(pp_replay_run(&replay), pp_replay_measured(&replay));
	pp_replay_release(&replay);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

/* Operations that are still open when the next begins: each waits for the late rank, and only its exposed part counts. */
TEST(nonblocking)
{
	struct pp_made_job m;
	struct result r;
	const struct pp_row_what_if *row;
	struct pp_replay replay;

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
		for (size_t k = i; k < i + 4; k++)
			m.d.arrival[k].arrival_ns -= m.d.arrival[k].worker == 1 ? 0 : 1 * MS;
	r = what_if(&m);
	row = find(&r, RANK, 1);
	CHECK(row && row->gain_ns == 8 * MS);
	CHECK_INT(pp_replay_init(&r.d, &replay), 0);
	CHECK(replay.row[0].wait_ns == 8 * MS && replay.row[1].wait_ns == 0);
	pp_replay_release(&replay);
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
	CHECK_INT(r.rows, 0); /* the ranks do different things: 0 sends, 1 receives first, 2 receives behind nothing */
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

/* Rank 0 is late to receive, works while the message comes, and then waits for what is left: without its lateness it waits. */
TEST(hidden)
{
	for (int blocks = 0; blocks < 2; blocks++) {
		struct pp_made_job m;
		struct result r;
		struct pp_replay replay;

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
				if (m.d.arrival[i].worker < 3) /* the Wait is behind the work */
					m.d.arrival[i].exit_ns += 3 * MS;
			pp_made_collective(&m, 1, "MPI_Allreduce", 8, 1 * MS);
			pp_made_end_all(&m);
		}
		r = what_if(&m);
		CHECK_INT(pp_replay_init(&r.d, &replay), 0);
		CHECK_INT(pp_replay_begin(&replay), 0);
		pp_replay_save(&replay, 0, PP_REPLAY_HEAD, 8 * MS); /* its receive of the first step */
		pp_replay_run(&replay);
		CHECK_INT(r.d.arrival[0].worker, 0);
		CHECK_INT(replay.row[0].shift_ns, -8 * MS);
		CHECK_INT(replay.row[6].shift_ns, (blocks ? -4 : -7) * MS); /* it waits 4 ms, or 1 ms behind the work */
		pp_replay_release(&replay);
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
		CHECK_STR(row->what_if, "communicator 3 'lower' (2 ranks): transfer at the median");
	}
	CHECK_INT(r.rows, 1); /* no rank computes longer */
	end(&r);
}

/* Roles: of the first two ranks both are slow, because that is their work. */
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
		CHECK_INT(r.rows, 1);
		CHECK(r.rows && r.row->subject_worker == 1 && r.row->gain_ns == 1 * MS);
		CHECK(r.rows && !strstr(r.row->what_if, "role 0") == !roles);
		end(&r);
	}
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

int main(void)
{
	rank();
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
	bound();
	blame();
	hostile();
	return test_end();
}
