/* What the tests of datasets share: a hand-made capture of four ranks, the dataset of it, its first finding. */
#pragma once

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/straggler.h"
#include "aggregate/dataset/dataset.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 4 };

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[RANKS];
	struct pp_dataset d;
	char verdict[400];
};

static inline void build(struct made *m, int64_t first, int64_t last)
{
	struct pp_dataset_input in = {
	        .capture = &m->capture,
	        .steps = &m->steps,
	        .attr = m->attr,
	        .session = "s",
	        .job = "j",
	        .command = "c",
	        .options = "o",
	        .asked_first = first,
	        .asked_last = last,
	        .bound_ns = 2,
	};
	struct pp_err err = {""};

	CHECK_INT(pp_steps_find(&m->capture, first, last, &m->steps, &err), 0);
	for (size_t r = 0; r < m->capture.ranks; r++)
		CHECK_INT(pp_attr_rank(&m->capture.rank[r], r, &m->steps, m->capture.ranks, m->capture.names, PP_ATTR_KEEP_ALL,
		                       &m->attr[r], &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, &err), 0);
	say_first_finding(&m->d, m->verdict, sizeof(m->verdict));
	for (size_t i = 0; i < m->d.steps * m->d.workers; i++) {
		const struct pp_row_cell *cell = &m->d.cell[i];
		int64_t sum = 0;

		for (int c = 1; c <= PP_CATEGORIES; c++)
			sum += cell->exclusive_ns[c];
		CHECK_INT(sum, cell->step_ns);
		CHECK(cell->wait_ns >= 0 && cell->transfer_ns >= 0);
		CHECK(cell->wait_ns + cell->transfer_ns <= cell->exclusive_ns[3] + cell->exclusive_ns[10]);
	}
}

static inline void drop(struct made *m)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < m->capture.ranks; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
	free_capture(&m->capture);
}

/* Rank 1 waits for rank 0 on one communicator, then ranks 2 and 3 wait for rank 1 on another one. */
static inline void make_chain(struct made *m, int shared)
{
	*m = (struct made){.capture = make_capture(RANKS)};
	for (size_t r = 0; r < RANKS; r++) {
		for (int64_t n = 0; n < 4; n++) {
			int64_t at = n * 100000000;

			add_step(&m->capture, r, n, at, at + 100000000);
			add_range(&m->capture, r, 0, "forward", at, r == 0 && !shared ? at + 60000000 : at + 10000000);
			if (r < 2 && !shared)
				add_mpi(&m->capture, r, "MPI_Allreduce", (uint32_t)n, r ? at + 10000000 : at + 60000000,
				        at + 60001000)
				        ->mpi.comm = 78;
			if (r > 0 || shared)
				add_mpi(&m->capture, r, "MPI_Allreduce", (uint32_t)n, r == 1 ? at + 60002000 : at + 10000000,
				        at + 60003000);
		}
	}
}
