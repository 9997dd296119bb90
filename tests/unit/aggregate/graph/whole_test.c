/* Needs that no row names: late progress, probes, polls, one-sided epochs. Jobs are made up, then their rows are changed into those
 * of such calls. */
#include <stdlib.h>

#include "aggregate/graph/wait.h"
#include "aggregate/graph/walk.h"
#include "aggregate/graph/whole.h"
#include "core/call/mpi_call.h"
#include "tests/test.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 4, STEPS = 12, US = 1000, MS = 1000 * US, SLOW = 2 };

struct job {
	struct pp_made_job m;
	struct pp_dataset d;
	struct pp_graph g;
};

/* Every rank works 10 ms, one of them 8 ms longer, then all make the call. */
static void begin(struct job *j, const char *call)
{
	pp_made_begin(&j->m, RANKS, RANKS, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j->m, s);
		for (size_t r = 0; r < RANKS; r++)
			pp_made_work(&j->m, r, PP_CATEGORY_HOST_COMPUTE, 10 * MS + (int64_t)((s * 7 + r * 3) % 5) * 10 * US);
		pp_made_work(&j->m, SLOW, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		pp_made_collective(&j->m, 1, call, 8, 100 * US);
		pp_made_end_all(&j->m);
	}
	j->d = pp_made_end(&j->m);
}

/* What the cells say of waiting becomes communication that is not split, in /budget too. */
static void forget_waits(struct job *j, const char *call)
{
	struct pp_row_budget *b = calloc(1, sizeof(*b));

	for (size_t i = 0; i < j->d.steps * j->d.workers; i++) {
		j->d.cell[i].wait_ns = j->d.cell[i].transfer_ns = j->d.cell[i].late_ns = 0;
		b->time_ns += j->d.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION];
	}
	for (size_t i = 0; i < j->d.arrivals; i++)
		j->d.arrival[i].exposed_wait_ns = 0;
	while (strcmp(pp_mpi_call_info(b->operation)->name, call) != 0)
		b->operation++;
	b->communicator = 1;
	b->unsplit_ns = b->time_ns;
	j->d.budget = b;
	j->d.budgets = 1;
}

static int64_t waited(const struct job *j, size_t rank)
{
	int64_t sum = 0;

	for (size_t s = 0; s < STEPS; s++)
		sum += j->d.cell[s * RANKS + rank].wait_ns;
	return sum / STEPS;
}

/* Nobody waits longer than it communicates, and /budget has the same sum. */
static void check_sums(const struct job *j)
{
	int64_t sum = 0;

	for (size_t i = 0; i < j->d.steps * j->d.workers; i++) {
		const struct pp_row_cell *cell = &j->d.cell[i];

		CHECK(cell->wait_ns + cell->transfer_ns <= cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
		sum += cell->wait_ns;
	}
	CHECK_INT(j->d.budget[0].wait_ns, sum);
	CHECK_INT(j->d.budget[0].time_ns, j->d.budget[0].wait_ns + j->d.budget[0].transfer_ns + j->d.budget[0].unsplit_ns);
}

static void check_waits(struct job *j)
{
	CHECK_INT(pp_graph_whole(&j->g, &j->d), 0);
	CHECK(pp_graph_add_waits(&j->g, &j->d) > 0);
	for (size_t r = 0; r < RANKS; r++)
		CHECK(r == SLOW ? waited(j, r) == 0 : llabs(waited(j, r) - 8 * MS) < 100 * US);
	check_sums(j);
}

static void end(struct job *j)
{
	struct pp_intern *names = (struct pp_intern *)j->d.names;

	pp_graph_release(&j->g);
	pp_dataset_release(&j->d);
	pp_intern_free(names);
}

/* The slow rank is found, as this kind. */
static void check_finding(const struct job *j, enum pp_finding_kind kind)
{
	struct pp_row_finding row = {.kind = -1};

	CHECK(findings_of(&j->d, &row, 1) > 0);
	CHECK_INT(row.kind, kind);
	CHECK_INT(row.finding_ranks, 1);
	CHECK_INT(row.finding_worker, SLOW);
}

/* Begun early, completed by a Wait. The slow rank posts like the others and computes before its Wait: no rank is through before it
 * comes back into MPI, although its data was there. In the first steps it is not slow. */
TEST(late_progress)
{
	struct job j;

	begin(&j, "MPI_Iallreduce");
	forget_waits(&j, "MPI_Iallreduce");
	for (size_t i = 0; i < j.d.arrivals; i++) {
		struct pp_row_arrival *row = &j.d.arrival[i];

		row->call = (uint32_t)(i / RANKS) + 1;
		row->call_begin_ns = row->arrival_ns;
		row->arrival_ns = j.d.cell[i].begin_ns + MS;
	}
	check_waits(&j);
	for (uint32_t i = 0; i < j.g.nodes; i++)
		if (j.g.node[i].flags & PP_NODE_LEARNED)
			CHECK_INT(j.g.node[j.g.node[i].need].track, SLOW);
	check_finding(&j, PP_FINDING_PROGRESS);
	end(&j);
}

/* The slow rank begins its part little before its Wait, as a process group with threads of its own does: late, not its progress. */
TEST(begun_late)
{
	struct job j = {.g = {.d = NULL}};

	begin(&j, "MPI_Iallreduce");
	for (size_t i = 0; i < j.d.arrivals; i++) {
		struct pp_row_arrival *row = &j.d.arrival[i];

		row->call = (uint32_t)(i / RANKS) + 1;
		row->call_begin_ns = row->arrival_ns;
		row->arrival_ns = i % RANKS == SLOW ? row->arrival_ns - MS : j.d.cell[i].begin_ns + MS;
	}
	check_finding(&j, PP_FINDING_PERSISTENT);
	end(&j);
}

/* The same rank, but the operation begins when it comes: it is late, not its progress. */
TEST(blocking)
{
	struct job j = {.g = {.d = NULL}};

	begin(&j, "MPI_Allreduce");
	check_finding(&j, PP_FINDING_PERSISTENT);
	end(&j);
}

/* Receives that are posted before the work of the slow rank: a blocking send into them ends when that rank comes back into MPI. */
TEST(send_into_posted_receive)
{
	struct job j;

	pp_made_begin(&j.m, RANKS, RANKS, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j.m, s);
		for (size_t r = 0; r < RANKS; r++)
			pp_made_work(&j.m, r, PP_CATEGORY_HOST_COMPUTE, 10 * MS + (int64_t)((s * 7 + r * 3) % 5) * 10 * US);
		pp_made_work(&j.m, SLOW, PP_CATEGORY_HOST_COMPUTE, 8 * MS);
		for (size_t r = 0; r < RANKS; r++)
			if (r != SLOW)
				pp_made_message(&j.m, r, SLOW, 0, 800, 10 * US, 0);
		pp_made_end_all(&j.m);
	}
	j.d = pp_made_end(&j.m);
	forget_waits(&j, "MPI_Send");
	for (size_t i = 0; i < j.d.arrivals; i++) {
		struct pp_row_arrival *row = &j.d.arrival[i];
		const struct pp_row_collective *c = &j.d.collective[i / 2];
		const size_t s = (size_t)c->step;

		if (row->is_root) { /* it began when its rank came */
			row->arrival_ns = j.d.cell[s * RANKS + (size_t)c->source].begin_ns + 10 * MS +
			                  (int64_t)((s * 7 + (size_t)c->source * 3) % 5) * 10 * US;
			continue;
		}
		row->call = (uint32_t)i + 1;
		row->call_begin_ns = row->arrival_ns;
		row->arrival_ns = j.d.cell[s * RANKS + SLOW].begin_ns + MS;
	}
	check_waits(&j);
	end(&j);
}

/* Completed by a poll, after others that found nothing. */
TEST(polls)
{
	struct job j;

	begin(&j, "MPI_Ibarrier");
	forget_waits(&j, "MPI_Test");
	for (size_t i = 0; i < j.d.arrivals; i++) {
		struct pp_row_arrival *row = &j.d.arrival[i];

		row->call = (uint32_t)(i / RANKS) + 1;
		row->call_begin_ns = row->arrival_ns + US;
		row->polls = 1;
		/* half of the time the program slept between its polls */
		j.d.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] -= (row->exit_ns - row->arrival_ns) / 2;
		j.d.cell[i].exclusive_ns[PP_CATEGORY_OTHER] += (row->exit_ns - row->arrival_ns) / 2;
		j.d.budget[0].time_ns -= (row->exit_ns - row->arrival_ns) / 2;
		j.d.budget[0].unsplit_ns -= (row->exit_ns - row->arrival_ns) / 2;
	}
	check_waits(&j);
	end(&j);
}

/* Rows become calls without a row: nothing says for whom they wait but everybody's work. */
static void make_lone(struct job *j, const char *call)
{
	j->d.lone_call = calloc(j->d.arrivals, sizeof(*j->d.lone_call));
	for (size_t i = 0; i < j->d.arrivals; i++) {
		struct pp_row_lone_call *c = &j->d.lone_call[i];

		*c = (struct pp_row_lone_call){.worker = j->d.arrival[i].worker,
		                               .begin_ns = j->d.arrival[i].arrival_ns,
		                               .end_ns = j->d.arrival[i].exit_ns,
		                               .calls = 1};
		while (strcmp(pp_mpi_call_info(c->operation)->name, call) != 0)
			c->operation++;
	}
	j->d.lone_calls = j->d.arrivals;
	j->d.arrivals = j->d.collectives = 0;
}

/* No row tells what the slow rank did before its calls: its step does. */
static void check_reason(struct job *j)
{
	int64_t ns[PP_REASONS];
	struct pp_walk w;

	CHECK_INT(pp_walk_init(&w, &j->g), 0);
	for (uint32_t i = 0; i < j->g.nodes; i++) {
		if (!(j->g.node[i].flags & PP_NODE_INFERRED))
			continue;
		CHECK_INT(pp_walk_charge(&w, i, MS), 0);
		CHECK(w.charges > 0 && j->g.node[w.charge[0].node].track == SLOW);
		pp_walk_split(&j->g, &w.charge[0], ns);
		CHECK_INT(ns[PP_CATEGORY_HOST_COMPUTE], w.charge[0].ns);
	}
	pp_walk_release(&w);
}

TEST(inferred)
{
	struct job j;

	begin(&j, "MPI_Barrier");
	forget_waits(&j, "MPI_Win_wait");
	make_lone(&j, "MPI_Win_wait");
	check_waits(&j);
	CHECK(j.g.sure > 0.8 && j.g.sure <= 1);
	CHECK_INT(j.d.lone_call[0].late_rank, SLOW);
	check_reason(&j);
	CHECK(j.d.inferred_confidence >= j.g.sure && j.d.inferred_confidence <= j.g.sure);
	CHECK(j.d.warnings == 1 && strstr(j.d.warning[0].warning, "100 % of all waiting is inferred"));
	end(&j);
}

/* Of a job without steps each wait is compared with the work before it, not with the work of the whole run. */
TEST(inferred_without_steps)
{
	struct job j;

	begin(&j, "MPI_Barrier");
	forget_waits(&j, "MPI_Win_wait");
	make_lone(&j, "MPI_Win_wait");
	for (size_t i = RANKS; i < (size_t)RANKS * STEPS; i++) {
		struct pp_row_cell *all = &j.d.cell[i % RANKS];

		all->end_ns = j.d.cell[i].end_ns;
		for (int c = 1; c <= PP_CATEGORIES; c++)
			all->exclusive_ns[c] += j.d.cell[i].exclusive_ns[c];
	}
	j.d.steps = 1;
	CHECK_INT(pp_graph_whole(&j.g, &j.d), 0);
	CHECK(j.g.sure > 0.8);
	CHECK(pp_graph_add_waits(&j.g, &j.d) > 0);
	for (size_t r = 0; r < RANKS; r++)
		CHECK(r == SLOW ? j.d.cell[r].wait_ns == 0 : llabs(j.d.cell[r].wait_ns - STEPS * 8 * MS) < STEPS * 100 * US);
	check_sums(&j);
	end(&j);
}

/* Persistent collectives: steps begin at the end of MPI_Start, which the others' MPI_Wait of the next step needs. */
TEST(inferred_across_steps)
{
	struct job j;
	struct pp_row_lone_call *both;
	size_t calls;

	begin(&j, "MPI_Barrier");
	forget_waits(&j, "MPI_Wait");
	make_lone(&j, "MPI_Wait");
	calls = j.d.lone_calls;
	both = calloc(2 * calls, sizeof(*both));
	memcpy(both, j.d.lone_call, calls * sizeof(*both));
	for (size_t i = 0; i < calls; i++) {
		both[calls + i] = both[i];
		while (strcmp(pp_mpi_call_info(both[calls + i].operation)->name, "MPI_Start") != 0)
			both[calls + i].operation++;
		both[calls + i].begin_ns = both[i].begin_ns - 2 * US;
		both[calls + i].end_ns = j.d.cell[i].begin_ns = both[i].begin_ns - US;
		if (i >= RANKS)
			j.d.cell[i - RANKS].end_ns = j.d.cell[i].begin_ns;
	}
	free(j.d.lone_call);
	j.d.lone_call = both;
	j.d.lone_calls = 2 * calls;
	check_waits(&j);
	CHECK_INT(j.d.lone_call[0].late_rank, SLOW);
	end(&j);
}

/* Ranks that do not wait for each other: the one with less work is not longer in its calls. Nothing is inferred. */
TEST(not_inferred)
{
	struct job j;

	begin(&j, "MPI_Barrier");
	forget_waits(&j, "MPI_Win_wait");
	make_lone(&j, "MPI_Win_wait");
	for (size_t i = 0; i < j.d.lone_calls; i++) {
		struct pp_row_lone_call *c = &j.d.lone_call[i];
		const int64_t step_ns = (10 + (int64_t)(i % RANKS)) * MS;

		j.d.cell[i].begin_ns = (int64_t)(i / RANKS) * step_ns;
		j.d.cell[i].end_ns = j.d.cell[i].begin_ns + step_ns;
		c->end_ns = j.d.cell[i].end_ns - 1;
		c->begin_ns = c->end_ns - 2 * MS;
	}
	CHECK_INT(pp_graph_whole(&j.g, &j.d), 0);
	CHECK(j.g.sure <= 0);
	CHECK_INT(pp_graph_add_waits(&j.g, &j.d), 0);
	end(&j);
}

int main(void)
{
	late_progress();
	begun_late();
	blocking();
	send_into_posted_receive();
	polls();
	inferred();
	inferred_without_steps();
	inferred_across_steps();
	not_inferred();
	return test_end();
}
