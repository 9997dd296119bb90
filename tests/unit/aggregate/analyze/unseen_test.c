/* Which waiting is unknown: of absent cells, of communication that is not split, and of ranks that show none. */
#include "aggregate/analyze/unseen.h"

#include "aggregate/dataset/dataset.h"
#include "aggregate/graph/device_wait.h"
#include "core/base/known.h"
#include "tests/test.h"

enum { STEPS = 2, RANKS = 2, CELLS = STEPS * RANKS };

static struct pp_row_cell cell_of(int64_t communication, int64_t wait, int64_t transfer)
{
	struct pp_row_cell cell = {.present = 1, .step_ns = 100, .wait_ns = wait, .transfer_ns = transfer};

	cell.exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = communication;
	return cell;
}

static void mark(struct pp_row_cell *cell, size_t workers, struct pp_row_collective *c)
{
	struct pp_row_step step[STEPS] = {{.number = 0}, {.number = 1}};
	struct pp_row_worker worker[RANKS] = {{.rank = 0}, {.rank = 1}};

	pp_dataset_mark_unseen(&(struct pp_dataset){.step = step,
	                                            .steps = CELLS / RANKS,
	                                            .worker = worker,
	                                            .workers = workers,
	                                            .cell = cell,
	                                            .collective = c,
	                                            .collectives = c != NULL});
}

TEST(communication_that_is_not_split)
{
	struct pp_row_cell cell[CELLS] = {cell_of(50, 0, 0), cell_of(50, 0, 25), cell_of(50, 0, 2), {.present = 0}};

	cell[0].late_ns = 0;
	mark(cell, RANKS, NULL);
	CHECK(!pp_is_known(cell[0].wait_ns) && !pp_is_known(cell[0].transfer_ns));
	CHECK(cell[1].wait_ns == 0 && cell[1].transfer_ns == 25);
	CHECK(cell[0].late_ns == 0);                                      /* rank 1 waited for nobody */
	CHECK(!pp_is_known(cell[1].late_ns));                             /* for whom rank 0 waited is unknown */
	CHECK(!pp_is_known(cell[2].wait_ns) && cell[2].transfer_ns == 2); /* a call that is split says nothing of the others */
	CHECK(!pp_is_known(cell[3].wait_ns) && !pp_is_known(cell[3].late_ns));
}

/* Others waited for a rank that was not in the step, or while for whom they waited is unknown: that is known. */
TEST(waiting_for_a_rank_outside)
{
	struct pp_row_cell cell[CELLS] = {cell_of(50, 30, 20), {.late_ns = 30}, cell_of(50, 0, 0), cell_of(50, 0, 0)};

	cell[2].late_ns = 10;
	mark(cell, RANKS, NULL);
	CHECK(cell[1].late_ns == 30 && !pp_is_known(cell[1].wait_ns));
	CHECK(cell[2].late_ns == 10 && !pp_is_known(cell[3].late_ns));
}

/* Ranks of which nothing shows how they communicate may have waited all the time; one rank has nobody to wait for. */
TEST(nothing_is_seen)
{
	struct pp_row_cell none[CELLS] = {cell_of(0, 0, 0), cell_of(0, 0, 0), cell_of(0, 0, 0), cell_of(0, 0, 0)},
	                   hidden[CELLS] = {none[0], none[0], none[0], none[0]}, alone[STEPS] = {cell_of(50, 0, 0), none[0]};

	mark(none, RANKS, NULL);
	mark(hidden, RANKS, &(struct pp_row_collective){.step = 1});
	mark(alone, 1, NULL);
	for (int i = 0; i < CELLS; i++) {
		CHECK(!pp_is_known(none[i].wait_ns) && !pp_is_known(none[i].late_ns));
		CHECK(hidden[i].wait_ns == 0 && hidden[i].late_ns == 0);
	}
	CHECK(alone[0].wait_ns == 0 && alone[0].late_ns == 0);
	mark(hidden, RANKS, &(struct pp_row_collective){.step = INT64_MIN}); /* outside of the steps it says nothing of them */
	CHECK(!pp_is_known(hidden[0].wait_ns));
}

/* Of a larger job one rank alone is recorded: it waited for others if it communicated. */
TEST(one_rank_of_several)
{
	struct pp_row_cell cell[STEPS] = {cell_of(50, 0, 2), cell_of(0, 0, 0)};
	struct pp_row_step step[STEPS] = {{.number = 0}, {.number = 1}};
	struct pp_row_worker worker = {.rank = 0};

	pp_dataset_mark_unseen(&(struct pp_dataset){
	        .step = step, .steps = STEPS, .worker = &worker, .workers = 1, .ranks_asked = 8, .cell = cell});
	CHECK(!pp_is_known(cell[0].wait_ns) && !pp_is_known(cell[0].transfer_ns));
	CHECK(cell[1].wait_ns == 0 && cell[1].transfer_ns == 0);
}

/* What no source measured is unknown; what was measured to be 0 is 0. */
TEST(nothing_is_measured)
{
	struct pp_row_collective c[] = {{.device_ranks = 0}, {.device_ranks = 1, .exposed_ranks = 1}};
	struct pp_row_arrival a[] = {{.waited_ns = PP_UNKNOWN},
	                             {.device_begin_ns = 1,
	                              .device_end_ns = 3,
	                              .device_length_ns = 2,
	                              .device_input_ns = 1,
	                              .device_how = PP_DEVICE_WAIT_DURATIONS}};
	struct pp_row_budget b[] = {
	        {.time_ns = 5, .unsplit_ns = 5}, {.time_ns = 5, .hidden_ns = 5}, {.transfer_ns = 4, .unsplit_ns = 1}};
	struct pp_row_channel channel[] = {{.count = 1}, {.count = 1, .device_count = 1, .seen = 1}};
	struct pp_row_memory m[] = {{.rss_bytes = 1}, {.pss_present = 1}};
	struct pp_row_process p[] = {{.present = 1}, {.rss_present = 1}};
	struct pp_row_worker worker[] = {{.rank = 0}, {.host_clock = 1}};
	struct pp_row_step step = {.number = 0};
	struct pp_row_cell cell[] = {{.late_ns = PP_UNKNOWN}, {.late_ns = 0}};
	struct pp_dataset d = {.collective = c, .arrival = a, .budget = b, .channel = channel, .memory = m, .process = p};

	d.collectives = d.arrivals = d.channels = d.memories = d.processes = d.workers = 2;
	d.budgets = 3;
	d.worker = worker;
	d.step = &step;
	d.steps = 1;
	d.cell = cell;
	pp_dataset_mark_unmeasured(&d);
	CHECK(c[0].device_ns == PP_UNKNOWN && c[0].exposed_ns == PP_UNKNOWN && !c[1].device_ns && !c[1].exposed_ns);
	CHECK(a[0].exposed_wait_ns == PP_UNKNOWN && !a[1].exposed_wait_ns);
	CHECK(a[0].device_length_ns == PP_UNKNOWN && a[0].device_input_ns == PP_UNKNOWN && a[0].device_error_ns == PP_UNKNOWN);
	CHECK(a[0].device_wait_ns == PP_UNKNOWN && a[0].device_bound_ns == PP_UNKNOWN);
	CHECK(a[1].device_length_ns == 2 && a[1].device_input_ns == 1 && !a[1].device_error_ns);
	CHECK(!a[1].device_wait_ns && !a[1].device_bound_ns);
	CHECK(b[0].wait_ns == PP_UNKNOWN && b[0].transfer_ns == PP_UNKNOWN && !b[1].wait_ns && !b[2].wait_ns &&
	      b[2].transfer_ns == 4);
	CHECK(channel[0].device_ns == PP_UNKNOWN && channel[0].error_ns == PP_UNKNOWN && !channel[1].device_ns &&
	      !channel[1].error_ns);
	CHECK(m[0].pss_bytes == PP_UNKNOWN && !m[1].pss_bytes && p[0].rss_peak_bytes == PP_UNKNOWN && !p[1].rss_peak_bytes);
	CHECK(worker[0].offset_ns == PP_UNKNOWN && worker[0].drift_ppb == PP_UNKNOWN && !worker[1].offset_ns &&
	      !worker[1].drift_ppb);
	CHECK(cell[0].late_error_ns == PP_UNKNOWN && !cell[1].late_error_ns);
}

int main(void)
{
	communication_that_is_not_split();
	waiting_for_a_rank_outside();
	nothing_is_seen();
	one_rank_of_several();
	nothing_is_measured();
	return test_end();
}
