/* Which waiting is unknown: of absent cells, of communication that is not split, and of ranks that show none. */
#include "aggregate/analyze/unseen.h"

#include "aggregate/dataset/dataset.h"
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
	struct pp_row_cell cell[CELLS] = {cell_of(50, 0, 0), cell_of(50, 0, 20), cell_of(0, 0, 0), {.present = 0}};

	cell[0].late_ns = 0;
	mark(cell, RANKS, NULL);
	CHECK(!pp_is_known(cell[0].wait_ns) && !pp_is_known(cell[0].transfer_ns));
	CHECK(cell[1].wait_ns == 0 && cell[1].transfer_ns == 20);
	CHECK(cell[0].late_ns == 0);          /* rank 1 waited for nobody */
	CHECK(!pp_is_known(cell[1].late_ns)); /* for whom rank 0 waited is unknown */
	CHECK(cell[2].wait_ns == 0 && !pp_is_known(cell[3].wait_ns) && !pp_is_known(cell[3].late_ns));
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

int main(void)
{
	communication_that_is_not_split();
	waiting_for_a_rank_outside();
	nothing_is_seen();
	return test_end();
}
