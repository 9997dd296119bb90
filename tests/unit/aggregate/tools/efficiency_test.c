/* /efficiency of made-up jobs, with values that were computed by hand. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/status.h"
#include "aggregate/tools/pod_lines.h"
#include "aggregate/tools/tools.h"
#include "core/base/known.h"
#include "core/call/mpi_call.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { STEPS = 10, US = 1000, MS = 1000 * US };

struct result {
	struct pp_dataset d;
	struct pp_table table[PP_TABLES];
	const struct pp_row_efficiency *row;
	size_t rows;
};

static int is_near(double one, double other)
{
	return one > other - 1e-6 && one < other + 1e-6;
}

static struct result measure(struct pp_dataset d)
{
	struct result r = {.d = d};
	struct pp_err err = {""};

	pp_dataset_tables(&r.d, r.table);
	CHECK_INT(pp_tool_efficiency(&r.d, r.table, &err), 0);
	r.row = r.table[PP_TABLE_efficiency].row;
	r.rows = r.table[PP_TABLE_efficiency].rows;
	for (size_t i = 0; i < r.rows; i++) {
		const struct pp_row_efficiency *e = &r.row[i];

		CHECK(isnan(e->parallel) || is_near(e->parallel, e->load_balance * e->communication));
		CHECK(isnan(e->transfer) || is_near(e->communication, e->serialisation * e->transfer));
		CHECK(isnan(e->transfer) == isnan(e->serialisation) && isnan(e->transfer) != pp_is_known(e->ideal_ns));
		CHECK(!(e->parallel > 1) && !(e->load_balance > 1) && !(e->communication > 1) && !(e->serialisation > 1) &&
		      !(e->transfer > 1));
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

/* Only row, of all ranks and steps. Negative: unknown. */
static void check_only(struct result *r, double load_balance, double serialisation, double transfer)
{
	CHECK_INT(r->rows, 1);
	if (r->rows) {
		CHECK_INT(r->row->efficiency_steps, 0);
		CHECK_INT(r->row->of_steps, r->d.steps);
		CHECK_INT(r->row->of_ranks, r->d.workers);
		CHECK(load_balance < 0 ? isnan(r->row->load_balance) && isnan(r->row->parallel)
		                       : is_near(r->row->load_balance, load_balance));
		CHECK(serialisation < 0 ? isnan(r->row->serialisation) : is_near(r->row->serialisation, serialisation));
		CHECK(transfer < 0 ? isnan(r->row->transfer) : is_near(r->row->transfer, transfer));
	}
	end(r);
}

/* Steps of `work_ns` on 4 ranks, then a collective. */
static void make(struct pp_made_job *m, int64_t work_ns, const char *call, int64_t transfer_ns)
{
	pp_made_begin(m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(m, s);
		pp_made_work_all(m, PP_CATEGORY_HOST_COMPUTE, work_ns);
		pp_made_collective(m, 1, call, 8, transfer_ns);
		pp_made_end_all(m);
	}
}

/* 10, 10, 10 and 20 ms of work, then 5 ms of transfer: a step of 25 ms. */
TEST(imbalance)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_work(&m, 3, PP_CATEGORY_OTHER, 10 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 5 * MS);
		pp_made_end_all(&m);
	}
	r = measure(pp_made_end(&m));
	CHECK_INT(r.rows, 1);
	if (r.rows) {
		CHECK_INT(r.row->time_ns, 25 * MS);
		CHECK_INT(r.row->useful_ns, 12500 * US);
		CHECK_INT(r.row->most_useful_ns, 20 * MS);
		CHECK_INT(r.row->most_useful_worker, 3);
		CHECK_INT(r.row->ideal_ns, 20 * MS);
		CHECK_INT(r.row->of_devices, 0);
		CHECK(is_near(r.row->parallel, 0.5) && is_near(r.row->communication, 0.8));
	}
	check_only(&r, 0.625, 1, 0.8);
}

/* Each rank works when the one below it has: 4 times 5 ms one after the other. With 1 ms for each message of 3: 23 ms. */
TEST(chain)
{
	for (int transfer = 0; transfer < 2; transfer++) {
		struct pp_made_job m;
		struct result r;

		pp_made_begin(&m, 4, 4, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			pp_made_begin_all(&m, s);
			for (size_t rank = 0; rank < 4; rank++) {
				if (rank)
					pp_made_message(&m, rank - 1, rank, 0, 8, transfer * MS, 1);
				pp_made_work(&m, rank, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
			}
			pp_made_collective(&m, 1, "MPI_Barrier", 0, 0);
			pp_made_end_all(&m);
		}
		r = measure(pp_made_end(&m));
		CHECK_INT(r.rows ? r.row->time_ns : 0, (20 + 3 * transfer) * MS);
		check_only(&r, 1, 0.25, 20.0 / (20 + 3 * transfer));
	}
}

TEST(slow_transfer)
{
	struct pp_made_job m;
	struct result r;

	make(&m, 10 * MS, "MPI_Alltoall", 30 * MS);
	r = measure(pp_made_end(&m));
	check_only(&r, 1, 1, 0.25);
}

/* Waiting for data is no use, and no network makes it shorter. */
TEST(input)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 2, 2, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_INPUT, 5 * MS);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 5 * MS);
		pp_made_end_all(&m);
	}
	r = measure(pp_made_end(&m));
	check_only(&r, 1, 10.0 / 15, 0.75);
}

/* Useful is what the device of a rank computes, of a rank without one what the host does: 4 and 8 ms of 10. */
TEST(devices)
{
	struct pp_made_job m;
	struct result r;
	struct pp_dataset d;

	pp_made_begin(&m, 2, 2, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work(&m, 0, PP_CATEGORY_DEVICE_COMPUTE, 4 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_KERNEL_LAUNCH, 1 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_DEVICE_TO_DEVICE, 1 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 2 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	d.worker[0].devices = 2;
	r = measure(d);
	CHECK_INT(r.rows ? r.row->of_devices : 0, 1);
	CHECK_INT(r.rows ? r.row->most_useful_worker : 0, 1);
	check_only(&r, 0.75, 1, 0.8);
}

/* Of 20 ms of alltoallv nothing says whether it is waiting or transfer. 50 us of 10 ms could not change a whole percent. */
TEST(unknown_needs)
{
	for (int is_short = 0; is_short < 2; is_short++) {
		struct pp_made_job m;
		struct result r;
		struct pp_dataset d;

		make(&m, 10 * MS, "MPI_Alltoallv", is_short ? 50 * US : 20 * MS);
		d = pp_made_end(&m);
		for (size_t i = 0; i < d.arrivals; i++)
			d.arrival[i].needs = PP_ROW_NEEDS_SOME;
		r = measure(d);
		CHECK(r.rows && is_near(r.row->communication, is_short ? 10 / 10.05 : 1 / 3.0));
		check_only(&r, 1, is_short ? 10 / 10.05 : -1, is_short ? 1 : -1);
	}
}

/* A rank without a record may have been the late one; so may a root that no record names. */
TEST(incomplete)
{
	for (int is_root = 0; is_root < 2; is_root++) {
		struct pp_made_job m;
		struct result r;
		struct pp_dataset d;

		make(&m, 10 * MS, is_root ? "MPI_Bcast" : "MPI_Allreduce", 10 * MS);
		d = pp_made_end(&m);
		for (size_t i = 0; i < d.collectives; i++) {
			d.collective[i].root = is_root ? -1 : d.collective[i].root;
			d.collective[i].mismatch = is_root ? PP_MISMATCH_NONE : PP_MISMATCH_MISSING;
		}
		r = measure(d);
		check_only(&r, 1, -1, -1);
	}
}

/* Of kernels whose waiting is not determined, nothing is known either. */
TEST(undetermined_kernels)
{
	for (int how = 0; how < 2; how++) {
		struct pp_made_job m;
		struct result r;
		struct pp_dataset d;

		make(&m, 10 * MS, "ncclAllReduce", 10 * MS);
		d = pp_made_end(&m);
		for (size_t i = 0; i < d.arrivals; i++) {
			d.arrival[i].device_begin_ns = d.arrival[i].arrival_ns;
			d.arrival[i].device_end_ns = d.arrival[i].exit_ns;
			d.arrival[i].device_how = how ? 1 : 4; /* clocks, disagree */
		}
		for (size_t i = 0; i < d.collectives; i++)
			d.collective[i].device_ranks = 4;
		r = measure(d);
		check_only(&r, 1, how ? 1 : -1, how ? 0.5 : -1);
	}
}

/* One-sided epochs say not for whom they wait; local calls and those of files move nothing. */
TEST(lone_calls)
{
	static const struct {
		const char *name;
		double serialisation, transfer;
	} call[] = {{"MPI_Win_lock", -1, -1}, {"MPI_Put", 1, 10 / 15.0}, {"MPI_File_read", 10 / 15.0, 1}};

	for (size_t k = 0; k < sizeof(call) / sizeof(call[0]); k++) {
		struct pp_made_job m;
		struct result r;
		struct pp_dataset d;
		unsigned number = 0;

		while (strcmp(pp_mpi_call_info(number)->name, call[k].name) != 0)
			number++;
		pp_made_begin(&m, 2, 2, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMMUNICATION, 5 * MS);
			pp_made_collective(&m, 1, "MPI_Barrier", 0, 0);
			pp_made_end_all(&m);
		}
		d = pp_made_end(&m);
		d.lone_call = calloc(d.steps * d.workers, sizeof(*d.lone_call));
		for (size_t i = 0; i < d.steps * d.workers && d.lone_call; i++) {
			struct pp_row_cell *cell = &d.cell[i];

			cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = k == 2 ? 0 : 5 * MS;
			cell->exclusive_ns[PP_CATEGORY_INPUT] = k == 2 ? 5 * MS : 0;
			cell->transfer_ns = k == 1 ? 5 * MS : 0;
			d.lone_call[d.lone_calls++] = (struct pp_row_lone_call){.worker = (int32_t)(i % d.workers),
			                                                        .begin_ns = cell->begin_ns + 10 * MS,
			                                                        .end_ns = cell->begin_ns + 15 * MS,
			                                                        .operation = (uint16_t)number};
		}
		r = measure(d);
		check_only(&r, 1, call[k].serialisation, call[k].transfer);
	}
}

/* A range of the program is Host communication, and no operation is known: the replay would take it for work. */
TEST(outside_of_operations)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_work(&m, 2, PP_CATEGORY_HOST_COMMUNICATION, 5 * MS);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 5 * MS);
		pp_made_end_all(&m);
	}
	r = measure(pp_made_end(&m));
	CHECK(r.rows && is_near(r.row->communication, 0.5));
	check_only(&r, 1, -1, -1);
}

/* Another thread works while the collective runs: no network makes the step shorter than its work. */
TEST(hidden)
{
	struct pp_made_job m;
	struct result r;
	struct pp_dataset d;

	make(&m, 10 * MS, "MPI_Allreduce", 10 * MS);
	d = pp_made_end(&m);
	for (size_t i = 0; i < d.steps * d.workers; i++) {
		d.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMPUTE] += d.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION];
		d.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = d.cell[i].transfer_ns = 0;
	}
	r = measure(d);
	check_only(&r, 1, 1, 1);
}

/* What nothing recorded is not useful, nor is it lost. */
TEST(no_communication)
{
	for (int is_warned = 0; is_warned < 2; is_warned++) {
		struct pp_made_job m;
		struct result r;
		struct pp_dataset d;

		pp_made_begin(&m, 2, 2, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
			if (is_warned)
				pp_made_collective(&m, 1, "MPI_Allreduce", 8, 5 * MS);
			pp_made_end_all(&m);
		}
		d = pp_made_end(&m);
		d.warning = calloc(1, sizeof(*d.warning));
		if (is_warned && d.warning)
			snprintf(d.warning[d.warnings++].warning, sizeof(d.warning->warning), "ranks 0-1: " PP_STATUS_MPI_UNSEEN);
		r = measure(d);
		CHECK(r.rows && !pp_is_known(r.row->useful_ns) && !pp_is_known(r.row->ideal_ns) && r.row->most_useful_worker == -1);
		CHECK(r.rows && isnan(r.row->communication) && r.row->time_ns == (is_warned ? 15 : 10) * MS);
		check_only(&r, -1, -1, -1);
	}
}

TEST(one_rank)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 1, 1, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		pp_made_end_all(&m);
	}
	r = measure(pp_made_end(&m));
	CHECK_INT(r.rows, 0);
	end(&r);
}

/* What ranks wait for a late one in a call that writes a file is in Output, and not useful. */
TEST(waits_in_files)
{
	struct pp_made_job m;
	struct result r;
	struct pp_dataset d;

	pp_made_begin(&m, 4, 4, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 4 * MS);
		pp_made_collective(&m, 1, "MPI_File_write_at_all", 8, 2 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	pp_made_files(&d, PP_CATEGORY_OUTPUT);
	r = measure(d);
	check_only(&r, 11.0 / 14, 1, 1);
}

/* A checkpoint of rank 0 in one of 40 steps is not usual; a rank with fewer steps is not counted. */
TEST(exceptional_step)
{
	struct pp_made_job m;
	struct result r;
	struct pp_dataset d;

	pp_made_begin(&m, 4, 4, 0, 4 * STEPS);
	for (size_t s = 0; s < 4 * STEPS; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_work(&m, 0, PP_CATEGORY_OUTPUT, s == 17 ? 400 * MS : 0);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 2 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	d.cell[3].present = 0;
	r = measure(d);
	CHECK_INT(r.rows, 2);
	if (r.rows == 2) {
		CHECK_INT(r.row[0].of_steps, 39);
		CHECK_INT(r.row[0].of_ranks, 3);
		CHECK(is_near(r.row[0].load_balance, 1) && is_near(r.row[0].transfer, 0.8) && is_near(r.row[0].serialisation, 1));
		CHECK_INT(r.row[1].efficiency_steps, 1);
		CHECK_INT(r.row[1].of_steps, 40);
		CHECK_INT(r.row[1].time_ns, 20 * MS);
		CHECK(is_near(r.row[1].load_balance, (18 + 8 + 8) / 3.0 / 18) && is_near(r.row[1].transfer, 0.9));
	}
	end(&r);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*seed >> 33) % n;
}

/* A job in which ranks work, exchange messages and meet in collectives at random, the same with and without transfer. */
static struct pp_dataset make_random(uint64_t seed, size_t ranks, int is_ideal)
{
	static const char *const call[] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Alltoall"};
	struct pp_made_job m;

	pp_made_begin(&m, ranks, 2, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		for (int i = 0; i < 12; i++) {
			const size_t rank = below(&seed, (uint32_t)ranks),
			             other = (rank + 1 + below(&seed, (uint32_t)ranks - 1)) % ranks;
			const int64_t work = below(&seed, 3000) * US, moves = below(&seed, 2000) * US;
			const int64_t transfer = is_ideal ? 0 : moves;

			pp_made_work(&m, rank, PP_CATEGORY_HOST_COMPUTE, work);
			pp_made_message(&m, rank, other, 0, 1 << 20, transfer, 0);
			if (!below(&seed, 4))
				pp_made_collective(&m, 1, call[below(&seed, 3)], 1 << 20, transfer);
		}
		pp_made_end_all(&m);
	}
	return pp_made_end(&m);
}

/* Where all needs are known, the replay has the time of a job that really had no transfer, to the ns. */
TEST(ideal_network)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const size_t ranks = 2 + seed % 5;
		struct result slow = measure(make_random(seed, ranks, 0)), ideal = measure(make_random(seed, ranks, 1));
		size_t all = 0;

		CHECK(slow.rows && ideal.rows);
		while (all < slow.rows && slow.row[all].of_steps != STEPS)
			all++;
		if (all < slow.rows) {
			const struct pp_row_efficiency *row = &slow.row[all], *other = &ideal.row[ideal.rows - 1];

			CHECK_INT(other->of_steps, STEPS);
			CHECK_INT(row->ideal_ns, other->time_ns);
			CHECK_INT(row->most_useful_ns, other->most_useful_ns);
			CHECK(is_near(row->serialisation, other->communication) && row->transfer < 1);
			CHECK(is_near(other->transfer, 1));
		}
		end(&slow);
		end(&ideal);
	}
}

/* The line says what is known, and nothing where a file holds what cannot be. */
TEST(sentence)
{
	const double unknown = (double)NAN;
	const struct {
		double parallel, load_balance, communication, serialisation, transfer;
		uint32_t devices;
		const char *line;
	} row[] = {
	        {0.71, 0.82, 0.8645, 0.95, 0.91, 0,
	         "parallel 71 % of the usual step (POP): load balance 82 %, serialisation 95 %, transfer 91 %"},
	        {0.041, 0.5, 0.082, unknown, unknown, 4,
	         "parallel 4.1 % of the usual step on devices (POP): load balance 50 %, communication 8.2 %; its parts, "
	         "serialisation and transfer, are unknown"},
	        {0.0001, 1, 0.0001, 0.0001, 1, 3,
	         "parallel below 0.1 % of the usual step on the devices of 3 of 4 ranks (POP): load balance 100 %, "
	         "serialisation below 0.1 %, transfer 100 %"},
	        {unknown, unknown, unknown, unknown, unknown, 0, ""},
	        {1e300, 1, 1e300, 1, 1, 0, ""},
	        {-1, 1, -1, 1, 1, 0, ""},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pp_row_efficiency e = {.of_ranks = 4,
		                              .of_devices = row[i].devices,
		                              .parallel = row[i].parallel,
		                              .load_balance = row[i].load_balance,
		                              .communication = row[i].communication,
		                              .serialisation = row[i].serialisation,
		                              .transfer = row[i].transfer};
		struct pp_dataset d = {.steps = 2, .efficiency = &e, .efficiencies = 1};
		struct pp_pod_lines lines;

		pp_pod_lines_of(&d, NULL, &lines);
		CHECK_STR(lines.efficiency, row[i].line);
		CHECK((lines.efficiency_row != NULL) == (row[i].line[0] != '\0'));
	}
}

int main(void)
{
	imbalance();
	chain();
	slow_transfer();
	input();
	devices();
	unknown_needs();
	incomplete();
	undetermined_kernels();
	lone_calls();
	outside_of_operations();
	hidden();
	no_communication();
	one_rank();
	waits_in_files();
	exceptional_step();
	ideal_network();
	sentence();
	return test_end();
}
