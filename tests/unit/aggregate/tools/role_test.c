/* Roles of made-up jobs: data parallel, pipelines, tensor parallel groups inside of them, a parameter server, roots, rings. */
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { STEPS = 12 };

static struct pp_table table[PP_TABLES];

static const struct pp_row_role *row_of(size_t role)
{
	return &((const struct pp_row_role *)table[PP_TABLE_role].row)[role];
}

static void find(struct pp_dataset *d)
{
	struct pp_err err = {""};

	pp_dataset_tables(d, table);
	CHECK_INT(pp_tool_role(d, table, &err), 0);
	pp_dataset_take_tables(d, table);
	for (size_t i = 0; i < d->roles && getenv("ROLE_PRINT"); i++)
		fprintf(stderr, "%zu: %s: %s\n", i, d->role[i].role_ranks, d->role[i].why);
}

static void release(struct pp_dataset *d)
{
	struct pp_intern *names = (struct pp_intern *)d->names;

	pp_dataset_release(d);
	pp_intern_free(names);
}

static void begin_steps(struct pp_made_job *m, size_t s)
{
	for (size_t r = 0; r < m->ranks; r++) {
		pp_made_step_begin(m, r, s);
		pp_made_work(m, r, PP_CATEGORY_HOST_COMPUTE, 1000000 + (int64_t)(r * 7919 + s * 104729) % 50000);
	}
}

static void end_steps(struct pp_made_job *m)
{
	pp_made_end_all(m);
}

/* Rank 0 gets something of all at times, and is the root of what all take part in. */
TEST(data_parallel)
{
	struct pp_made_job m;
	struct pp_dataset d;

	pp_made_begin(&m, 16, 4, 0, STEPS);
	pp_made_collective(&m, 1, "MPI_Bcast", 1 << 20, 1000);
	for (size_t s = 0; s < STEPS; s++) {
		begin_steps(&m, s);
		pp_made_collective(&m, 1, "MPI_Allreduce", 4096, 1000);
		pp_made_collective(&m, 1, "MPI_Gather", 64, 1000);
		for (size_t r = 0; r < 16; r++) /* the root's row is marked, as aggregate/analyze does */
			m.d.arrival[m.d.arrivals - 16 + r].is_root = r == 3;
		if (s % 10 == 9)
			for (size_t r = 1; r < 16; r++)
				pp_made_message(&m, r, 0, 1, 100, 1000, 1);
		end_steps(&m);
	}
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 1);
	CHECK_INT(row_of(0)->ranks, 16);
	CHECK_STR(row_of(0)->role_ranks, "0-15");
	CHECK(strstr(row_of(0)->why, "all ranks do the same: MPI_Allreduce of all ranks (1 per step, 4.00 KiB)"));
	for (size_t w = 0; w < 16; w++)
		CHECK_INT(d.worker[w].role, 0);
	release(&d);
}

/* Stages of `wide` ranks, side by side or next to each other; each stage has its own group. */
static void make_pipeline(struct pp_made_job *m, size_t stages, size_t wide, int is_by_stage, int is_even)
{
	uint64_t group[16];
	int32_t member[64];

	pp_made_begin(m, stages * wide, 4, 0, STEPS);
	for (size_t g = 0; g < stages; g++) {
		for (size_t i = 0; i < wide; i++)
			member[i] = (int32_t)(is_by_stage ? g * wide + i : g + i * stages);
		group[g] = pp_made_communicator(m, "stage", member, (uint32_t)wide);
	}
	for (size_t s = 0; s < STEPS; s++) {
		begin_steps(m, s);
		for (size_t micro = 0; micro < 4; micro++)
			for (size_t g = 0; g + 1 < 2 * stages - 1; g++)
				for (size_t i = 0; i < wide; i++) {
					size_t a = g < stages - 1 ? g : 2 * stages - 2 - g, b = g < stages - 1 ? g + 1 : a - 1;
					size_t from = is_by_stage ? a * wide + i : a + i * stages;
					size_t to = is_by_stage ? b * wide + i : b + i * stages;

					pp_made_work(m, from, PP_CATEGORY_HOST_COMPUTE, 200000);
					pp_made_message(m, from, to, (int32_t)micro, 1 << 16, 5000, 1);
				}
		for (size_t g = 0; g < stages && wide > 1; g++)
			pp_made_collective(m, group[g], "MPI_Allreduce", is_even || g ? 1 << 20 : 1 << 24, 9000);
		end_steps(m);
	}
}

static void check_stages(struct pp_dataset *d, size_t stages, size_t wide, int is_by_stage)
{
	for (size_t w = 0; w < d->workers; w++) {
		size_t g = is_by_stage ? w / wide : w % stages;

		CHECK_INT(d->worker[w].role, g == 0 ? 0 : g == stages - 1 ? (stages > 2 ? 2 : 1) : 1);
	}
}

TEST(pipelines)
{
	static const size_t shape[][2] = {{2, 2}, {2, 4}, {4, 2}, {4, 4}, {8, 8}, {8, 1}, {5, 3}, {4, 1}};

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		for (int k = 0; k < 4; k++) {
			struct pp_made_job m;
			struct pp_dataset d;

			make_pipeline(&m, shape[i][0], shape[i][1], k & 1, k & 2);
			d = pp_made_end(&m);
			find(&d);
			CHECK_INT(d.roles, shape[i][0] > 2 ? 3 : 2);
			if (k & 2)
				CHECK(!strstr(row_of(0)->why, "receives first") &&
				      strstr(row_of(d.roles - 1)->why, "receives first"));
			check_stages(&d, shape[i][0], shape[i][1], k & 1);
			release(&d);
		}
}

/* Three ranks, each a stage of its own: there is nothing alike. */
TEST(all_differ)
{
	struct pp_made_job m;
	struct pp_dataset d;

	make_pipeline(&m, 3, 1, 1, 1);
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 1);
	CHECK_INT(row_of(0)->ranks, 3);
	CHECK(strstr(row_of(0)->why, "compared with each other"));
	release(&d);
}

TEST(parameter_server)
{
	struct pp_made_job m;
	struct pp_dataset d;

	pp_made_begin(&m, 9, 3, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		begin_steps(&m, s);
		for (size_t r = 0; r < 8; r++) {
			for (size_t i = 0; i < 4 + (r + s) % 2; i++) /* as many as it likes */
				pp_made_message(&m, r, 8, 1, 1 << 20, 1000, 0);
			pp_made_message(&m, 8, r, 2, 1 << 20, 1000, 0);
		}
		end_steps(&m);
	}
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 2);
	CHECK_STR(row_of(0)->role_ranks, "0-7");
	CHECK_STR(row_of(1)->role_ranks, "8");
	CHECK_INT(d.worker[8].role, 1);
	release(&d);
}

/* In a ring, rank 0 has both neighbours above it and the last rank both below. */
TEST(ring_and_pairs)
{
	struct pp_made_job m;
	struct pp_dataset d;

	for (int is_ring = 0; is_ring < 2; is_ring++) {
		pp_made_begin(&m, 12, 3, 0, STEPS);
		for (size_t s = 0; s < STEPS; s++) {
			begin_steps(&m, s);
			for (size_t r = 0; r < 12; r++)
				if (is_ring) {
					pp_made_message(&m, r, (r + 1) % 12, 1, 1 << 10, 1000, 1);
					pp_made_message(&m, (r + 1) % 12, r, 2, 1 << 10, 1000, 1);
				} else if (s) {
					pp_made_message(&m, r ^ (s & 1), r ^ 1 ^ (s & 1), 1, 1 << 10, 1000000, 1);
				}
			end_steps(&m);
		}
		d = pp_made_end(&m);
		find(&d);
		CHECK_INT(d.roles, 1);
		release(&d);
	}
}

/* Tensor parallel groups of 2, data parallel groups of 6, 6 and 7; an expert group that only some ranks have. */
TEST(groups)
{
	struct pp_made_job m;
	struct pp_dataset d;
	uint64_t pair[10], part[3], some;
	const int32_t experts[4] = {2, 3, 12, 13};

	pp_made_begin(&m, 20, 5, 0, STEPS);
	for (int32_t i = 0; i < 10; i++)
		pair[i] = pp_made_communicator(&m, "tensor", (int32_t[]){2 * i, 2 * i + 1}, 2);
	part[0] = pp_made_communicator(&m, "data", (int32_t[]){0, 2, 4, 1, 3, 5}, 6);
	part[1] = pp_made_communicator(&m, "data", (int32_t[]){6, 8, 10, 7, 9, 11}, 6);
	part[2] = pp_made_communicator(&m, "data", (int32_t[]){12, 14, 16, 18, 13, 15, 17}, 7);
	some = pp_made_communicator(&m, "experts", experts, 4);
	for (size_t s = 0; s < STEPS; s++) {
		begin_steps(&m, s);
		for (size_t i = 0; i < 10; i++)
			pp_made_collective(&m, pair[i], "MPI_Allreduce", 1 << 12, 1000);
		for (size_t i = 0; i < 3; i++)
			pp_made_collective(&m, part[i], "MPI_Reduce_scatter", 1 << 22, 1000);
		pp_made_collective(&m, some, "MPI_Alltoall", 1 << 14, 1000);
		end_steps(&m);
	}
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 3);
	CHECK_STR(row_of(0)->role_ranks, "0-1, 4-11, 14-18");
	CHECK_STR(row_of(1)->role_ranks, "2-3, 12-13");
	CHECK_STR(row_of(2)->role_ranks, "19");
	CHECK(strstr(row_of(0)->why, "MPI_Reduce_scatter in groups of 6 to 7"));
	CHECK(strstr(row_of(0)->why, "no MPI_Alltoall in groups of 4"));
	CHECK(strstr(row_of(1)->why, "MPI_Alltoall in groups of 4"));
	CHECK(!strstr(row_of(1)->why, "Allreduce")); /* all have it */
	release(&d);
}

TEST(nothing_and_missing)
{
	struct pp_made_job m;
	struct pp_dataset d;

	pp_made_begin(&m, 4, 2, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		begin_steps(&m, s);
		end_steps(&m);
	}
	snprintf(m.d.worker[2].status, sizeof(m.d.worker[2].status), "missing: killed");
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 1);
	CHECK_INT(row_of(0)->ranks, 3);
	CHECK_STR(row_of(0)->role_ranks, "0-1, 3");
	CHECK(strstr(row_of(0)->why, "no operation between ranks was recorded"));
	CHECK_INT(d.worker[2].role, -1);
	CHECK_INT(d.worker[3].role, 0);
	release(&d);
	d = (struct pp_dataset){0};
	find(&d);
	CHECK_INT(d.roles, 0);
	free(d.role);
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 16;
}

/* Any bits in rows of a foreign file: no crash, every rank has a role that is there, and twice the same. */
TEST(hostile)
{
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct pp_made_job m;
		struct pp_dataset d;
		uint64_t state = seed;
		int32_t role[8];

		make_pipeline(&m, 4, 2, 1, 1);
		d = pp_made_end(&m);
		for (int i = 0; i < 40; i++) {
			unsigned char *byte;

			byte = random_next(&state) % 2 ? (unsigned char *)&d.arrival[random_next(&state) % d.arrivals]
			                               : (unsigned char *)&d.collective[random_next(&state) % d.collectives];
			byte[random_next(&state) % sizeof(d.arrival[0])] = (unsigned char)random_next(&state);
		}
		find(&d);
		CHECK(d.roles >= 1 && d.roles <= 8);
		for (size_t w = 0; w < 8; w++) {
			role[w] = d.worker[w].role;
			CHECK(role[w] >= 0 && (size_t)role[w] < d.roles);
		}
		free(d.role);
		d.role = NULL;
		d.roles = 0;
		find(&d);
		for (size_t w = 0; w < 8; w++)
			CHECK_INT(d.worker[w].role, role[w]);
		release(&d);
	}
}

/* 10000 ranks: 8 stages of 1250. */
TEST(large)
{
	struct pp_made_job m;
	struct pp_dataset d;
	enum { WIDE = 1250, STAGES = 8 };

	pp_made_begin(&m, WIDE * STAGES, 8, 0, 2);
	for (size_t s = 0; s < 2; s++) {
		begin_steps(&m, s);
		for (size_t g = 0; g + 1 < STAGES; g++)
			for (size_t i = 0; i < WIDE; i++)
				pp_made_message(&m, g * WIDE + i, (g + 1) * WIDE + i, 0, 1 << 16, 5000, 1);
		pp_made_collective(&m, 1, "MPI_Allreduce", 8, 9000);
		end_steps(&m);
	}
	d = pp_made_end(&m);
	find(&d);
	CHECK_INT(d.roles, 3);
	CHECK_INT(row_of(0)->ranks, WIDE);
	CHECK_INT(row_of(1)->ranks, WIDE * (STAGES - 2));
	CHECK(strstr(row_of(0)->why, "sends only"));
	CHECK(strstr(row_of(2)->why, "receives only"));
	release(&d);
}

int main(void)
{
	data_parallel();
	pipelines();
	all_differ();
	parameter_server();
	ring_and_pairs();
	groups();
	nothing_and_missing();
	hostile();
	large();
	return test_end();
}
