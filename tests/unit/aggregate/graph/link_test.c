/* Links of made-up jobs: which of them are slow, and what a fit over sizes gives. */
#include <math.h>
#include <stdlib.h>

#include "aggregate/graph/link.h"
#include "aggregate/graph/whole.h"
#include "core/base/known.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 4, STEPS = 12, US = 1000, MS = 1000 * US, LATENCY = 50 * US, SMALL = 1000, LARGE = 200000 };

struct job {
	struct pp_made_job m;
	struct pp_dataset d;
	struct pp_graph g;
	int64_t slow_ns; /* of the link from rank 1 to rank 2, more */
	size_t messages;
};

static void send(struct job *j, size_t source, size_t destination, uint64_t bytes)
{
	const int64_t noise = (int64_t)(j->messages++ * 7 % 5) * US, slow = source == 1 && destination == 2 ? j->slow_ns : 0;

	pp_made_message(&j->m, source, destination, 0, bytes, LATENCY + (int64_t)bytes + noise + slow, 1);
}

static void make(struct job *j)
{
	j->d = pp_made_end(&j->m);
	CHECK_INT(pp_graph_whole(&j->g, &j->d), 0);
}

static void end(struct job *j)
{
	struct pp_intern *names = (struct pp_intern *)j->d.names;

	pp_graph_release(&j->g);
	pp_dataset_release(&j->d);
	pp_intern_free(names);
}

/* Every rank sends to every other one; a barrier before each round, so that receivers wait. */
static void all_pairs(struct job *j, size_t per_host, int64_t bound_ns)
{
	static const size_t round[][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {0, 2, 1, 3}, {2, 0, 3, 1}, {0, 3, 1, 2}, {3, 0, 2, 1}};

	pp_made_begin(&j->m, RANKS, per_host, 0, STEPS);
	j->m.bound_ns = bound_ns;
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j->m, s);
		for (size_t k = 0; k < sizeof(round) / sizeof(round[0]); k++) {
			pp_made_work_all(&j->m, PP_CATEGORY_HOST_COMPUTE, MS);
			pp_made_collective(&j->m, 1, "MPI_Barrier", 0, 10 * US);
			for (size_t i = 0; i < 4; i += 2)
				send(j, round[k][i], round[k][i + 1], (s + k) % 2 ? SMALL : LARGE);
		}
		pp_made_end_all(&j->m);
	}
	make(j);
}

static const struct pp_link *link_of(const struct job *j, uint32_t source, uint32_t destination)
{
	for (size_t i = 0; i < j->g.links; i++)
		if (j->g.link[i].source == source && j->g.link[i].destination == destination)
			return &j->g.link[i];
	return NULL;
}

/* Only the link from 1 to 2 is slow. */
static void check_states(const struct job *j, enum pp_link_state of_slow)
{
	for (uint32_t a = 0; a < RANKS; a++)
		for (uint32_t b = 0; b < RANKS; b++) {
			const struct pp_link *l = link_of(j, a, b);

			if (a != b)
				CHECK(l && l->state == (a == 1 && b == 2 ? of_slow : PP_LINK_USUAL));
		}
}

/* Latency and bandwidth of every link, of 1 GB/s. The slow one has the same bandwidth. */
TEST(fit)
{
	struct job j = {.slow_ns = 5 * MS};
	const struct pp_link *l;

	all_pairs(&j, 1, 31);
	check_states(&j, PP_LINK_SLOW);
	for (size_t i = 0; i < j.g.links; i++) {
		l = &j.g.link[i];
		CHECK_INT(l->seen, STEPS);
		CHECK(llabs(l->latency_ns - LATENCY - (l->state == PP_LINK_SLOW ? 5 * MS : 0)) < 10 * US);
		CHECK(fabs(l->bandwidth - 1e9) < 5e7);
		CHECK_INT(l->error_ns, 31);
	}
	l = link_of(&j, 1, 2);
	CHECK(l && l->time_ns - l->usual_ns > 4 * MS && j.g.slows > 0);
	end(&j);
}

TEST(nothing_slow)
{
	struct job j = {.slow_ns = 20 * US};

	all_pairs(&j, 1, 31);
	check_states(&j, PP_LINK_USUAL);
	CHECK_INT(j.g.slows, 0);
	end(&j);
}

/* Clocks that differ by as much as the link is slower name nothing. */
TEST(clock_error)
{
	struct job j = {.slow_ns = 5 * MS};

	all_pairs(&j, 1, 3 * MS);
	check_states(&j, PP_LINK_USUAL);
	end(&j);
}

/* Ranks 0 and 1 share a host, so do 2 and 3: links on a host are compared with each other, those between hosts too. */
TEST(kinds)
{
	struct job j = {.slow_ns = 5 * MS};

	all_pairs(&j, 2, 31);
	check_states(&j, PP_LINK_SLOW);
	for (size_t i = 0; i < j.g.links; i++)
		CHECK_INT(j.g.link[i].between_hosts, j.g.link[i].source / 2 != j.g.link[i].destination / 2);
	end(&j);
}

/* One link and its way back: there is nothing to compare it with, and with one size neither latency nor bandwidth is known. */
TEST(alone)
{
	struct job j = {.slow_ns = 0};

	pp_made_begin(&j.m, 2, 1, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j.m, s);
		send(&j, 0, 1, SMALL);
		pp_made_collective(&j.m, 1, "MPI_Barrier", 0, 10 * US);
		pp_made_message(&j.m, 1, 0, 0, SMALL, 5 * MS, 1);
		pp_made_collective(&j.m, 1, "MPI_Barrier", 0, 10 * US);
		pp_made_end_all(&j.m);
	}
	make(&j);
	CHECK_INT(j.g.links, 2);
	for (size_t i = 0; i < j.g.links; i++) {
		const struct pp_link *l = &j.g.link[i];

		CHECK_INT(l->state, PP_LINK_ALONE);
		CHECK(l->time_ns > 0 && l->usual_ns == -1 && l->latency_ns == -1 && l->bandwidth < 0);
	}
	end(&j);
}

/* A receiver that always comes when the messages are there tells nothing of the link. */
TEST(unseen)
{
	struct job j = {.slow_ns = 0};

	pp_made_begin(&j.m, RANKS, 1, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j.m, s);
		pp_made_work(&j.m, 1, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		send(&j, 0, 1, SMALL);
		send(&j, 2, 3, SMALL);
		pp_made_collective(&j.m, 1, "MPI_Barrier", 0, 10 * US);
		pp_made_end_all(&j.m);
	}
	make(&j);
	CHECK(link_of(&j, 0, 1) && link_of(&j, 0, 1)->state == PP_LINK_UNKNOWN && link_of(&j, 0, 1)->time_ns == -1);
	end(&j);
}

/* Rank 2 completes the messages from 1 and 3 by one call, at one time: the one from 1 decides it. */
static void join_receives(struct pp_dataset *d)
{
	struct pp_row_arrival *first = NULL;

	for (size_t c = 0; c < d->collectives; c++) {
		struct pp_row_arrival *row = &d->arrival[d->collective[c].row_first];

		if (!d->collective[c].message || d->collective[c].destination != 2)
			continue;
		row = row->worker == 2 ? row : row + 1;
		if (first) {
			const int64_t start = first->arrival_ns < row->arrival_ns ? first->arrival_ns : row->arrival_ns;
			const int64_t until = first->exit_ns > row->exit_ns ? first->exit_ns : row->exit_ns;

			first->call = row->call = (uint32_t)c + 1;
			first->arrival_ns = row->arrival_ns = first->call_begin_ns = row->call_begin_ns = start;
			first->exit_ns = row->exit_ns = first->call_end_ns = row->call_end_ns = until;
		}
		first = first ? NULL : row;
	}
}

TEST(one_call)
{
	struct job j = {.slow_ns = 5 * MS};

	pp_made_begin(&j.m, RANKS, 1, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&j.m, s);
		for (size_t r = 0; r < RANKS; r++)
			pp_made_work(&j.m, r, PP_CATEGORY_HOST_COMPUTE, 10 * MS + (int64_t)((s * 7 + r * 3) % 5) * 100 * US);
		pp_made_work(&j.m, 3, PP_CATEGORY_HOST_COMPUTE, (int64_t)(s * 5 % 7) * 150 * US);
		send(&j, 1, 2, SMALL);
		send(&j, 3, 2, SMALL);
		pp_made_collective(&j.m, 1, "MPI_Barrier", 0, 10 * US);
		send(&j, 0, 1, SMALL);
		send(&j, 2, 3, SMALL);
		pp_made_collective(&j.m, 1, "MPI_Barrier", 0, 10 * US);
		pp_made_end_all(&j.m);
	}
	j.d = pp_made_end(&j.m);
	join_receives(&j.d);
	CHECK_INT(pp_graph_whole(&j.g, &j.d), 0);
	CHECK(link_of(&j, 1, 2) && link_of(&j, 1, 2)->state == PP_LINK_SLOW);
	CHECK(link_of(&j, 3, 2) && link_of(&j, 3, 2)->state == PP_LINK_UNKNOWN && link_of(&j, 3, 2)->time_ns == -1);
	CHECK_INT(j.g.slows, STEPS);
	for (size_t i = 0; i < j.g.slows; i++)
		CHECK(j.g.slow[i].ns > 4 * MS - 500 * US);
	end(&j);
}

/* Rows of /channel: of a link that the graph has, and of ranks without a matched message. */
TEST(channels)
{
	struct job j = {.slow_ns = 5 * MS};
	struct pp_row_channel *c;

	all_pairs(&j, 1, 31);
	c = j.d.channel = calloc(2, sizeof(*c));
	j.d.channels = 2;
	c[0].source = 1;
	c[0].destination = 2;
	c[1].source = 3;
	c[1].destination = 3;
	pp_links_write(&j.g, &j.d);
	CHECK_INT(c[0].link, PP_LINK_SLOW);
	CHECK(c[0].transfer_ns > 5 * MS && c[0].usual_ns < MS && c[0].seen == STEPS && c[0].error_ns == 31);
	CHECK_INT(c[1].link, PP_LINK_UNKNOWN);
	CHECK(!pp_is_known(c[1].transfer_ns) && !pp_is_known(c[1].usual_ns) && !pp_is_known(c[1].latency_ns) &&
	      isnan(c[1].bandwidth));
	end(&j);
}

int main(void)
{
	fit();
	nothing_slow();
	clock_error();
	kinds();
	alone();
	unseen();
	one_call();
	channels();
	return test_end();
}
