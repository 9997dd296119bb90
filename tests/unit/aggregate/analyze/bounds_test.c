/* Bounds between ranks of mixed clocks, for whom it is said that they wait, and causality with violations of both kinds; each by
 * hand, and against the rule's plain words on clocks thrown by dice. */
#include "aggregate/analyze/bounds.h"

#include <stdlib.h>

#include "aggregate/analyze/waiting.h"
#include "core/base/known.h"
#include "core/call/mpi_call.h"
#include "tests/test.h"

enum { OWN = 7, RANKS = 7, HOSTS = 5, DICE_RANKS = 40, DICE_HOSTS = 9, DICE_ROUNDS = 3000 };

static uint64_t seed = 1;

static int64_t dice(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

static uint16_t call_number(const char *name)
{
	for (unsigned i = 0; i < pp_mpi_call_count(); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name))
			return (uint16_t)i;
	return 0;
}

/* Ranks 0 and 1 are on job time; 2 and 3 on a clock whose bound goes 100, 500, 300; 4 on one of 1000; 5 on another host that counts
 * the first one's ticks; 6 is not joined. */
struct made {
	struct pp_dataset d;
	struct pp_row_worker worker[RANKS];
	struct pp_row_host_clock clock[HOSTS];
	struct pp_row_clock_stretch stretch[1];
	struct pp_row_arrival row[RANKS];
	struct pp_row_collective c;
};

static void make(struct made *m)
{
	static const uint32_t host[RANKS] = {1, 1, 2, 2, 3, 4, 5};
	static const char *const own[HOSTS] = {"A", "B", "C", "A", "D"};

	memset(m, 0, sizeof(*m));
	m->stretch[0] = (struct pp_row_clock_stretch){
	        .begin_ns = 0, .end_ns = 100000, .bound_begin_ns = 100, .bound_end_ns = 300, .bound_hump_ns = 300};
	for (int i = 0; i < HOSTS; i++) {
		snprintf(m->clock[i].own, sizeof(m->clock[i].own), "%s", own[i]);
		snprintf(m->clock[i].name, sizeof(m->clock[i].name), "h%d", i);
	}
	m->clock[1].stretch = m->stretch;
	m->clock[1].stretches = 1;
	m->clock[1].host_bound_ns = 500;
	m->clock[2].host_bound_ns = 1000;
	m->clock[4].host_bound_ns = PP_BOUND_UNKNOWN;
	for (int r = 0; r < RANKS; r++) {
		m->worker[r] = (struct pp_row_worker){.rank = r, .host_clock = host[r], .own_bound_ns = OWN, .domain = r == 6};
		snprintf(m->worker[r].host, sizeof(m->worker[r].host), "h%u", host[r] - 1);
		snprintf(m->worker[r].status, sizeof(m->worker[r].status), "delivered");
	}
	m->d = (struct pp_dataset){
	        .worker = m->worker, .workers = RANKS, .host_clock = m->clock, .host_clocks = HOSTS, .arrival = m->row};
}

/* Ranks of one bit each in `who`: arrivals and exits by rank. */
static void solve(struct made *m, struct pp_waiting *w, const char *call, unsigned who, const int64_t *arrival, const int64_t *exit)
{
	m->c = (struct pp_row_collective){.operation = call_number(call)};
	for (int r = 0; r < RANKS; r++)
		if (who & 1U << r)
			m->row[m->c.row_count++] =
			        (struct pp_row_arrival){.worker = r, .arrival_ns = arrival[r], .exit_ns = exit[r]};
	pp_waiting_release(w);
	m->d.causality = (struct pp_causality){0};
	m->d.violations = 0;
	*w = (struct pp_waiting){.d = &m->d};
	CHECK_INT(pp_waiting_solve(w, &m->c), 0);
}

static int64_t between(const struct pp_bounds *b, size_t one, int64_t one_ns, size_t other, int64_t other_ns)
{
	struct pp_bounds_event x = {.worker = (uint32_t)one, .bound_ns = pp_bounds_at(b, one, one_ns)},
	                       y = {.worker = (uint32_t)other, .bound_ns = pp_bounds_at(b, other, other_ns)};

	return pp_bounds_arrivals(b, &x, &y);
}

TEST(bounds_of_mixed_clocks)
{
	struct made m;
	struct pp_bounds b;
	uint32_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6};

	make(&m);
	CHECK_INT(pp_bounds_init(&b, &m.d), 0);
	CHECK_INT(b.groups, 4); /* A, B, C, and what is not joined */
	CHECK_INT(between(&b, 0, 1, 1, 2), OWN);
	CHECK_INT(between(&b, 0, 1, 5, 2), OWN);       /* another host, the same ticks */
	CHECK_INT(between(&b, 2, 0, 3, 100000), OWN);  /* one host, whatever its bound does */
	CHECK_INT(between(&b, 0, 0, 2, 0), OWN + 100); /* each time by its own instant */
	CHECK_INT(between(&b, 0, 0, 2, 50000), OWN + 500);
	CHECK_INT(between(&b, 4, 7, 2, 100000), OWN + 1300);
	CHECK(between(&b, 0, 0, 6, 0) == PP_BOUND_UNKNOWN);
	CHECK(between(&b, 6, 0, 4, 0) == PP_BOUND_UNKNOWN);
	CHECK_INT(pp_bounds_worst(&b, all, 2, sizeof(*all), 0), OWN);
	CHECK_INT(pp_bounds_worst(&b, all, 4, sizeof(*all), 50000), OWN + 500);
	CHECK_INT(pp_bounds_worst(&b, all, 6, sizeof(*all), 50000), OWN + 1500);
	CHECK_INT(pp_bounds_worst(&b, all + 2, 2, sizeof(*all), 50000), OWN);
	CHECK(pp_bounds_worst(&b, all, 7, sizeof(*all), 50000) == PP_BOUND_UNKNOWN);
	pp_bounds_release(&b);
	CHECK_INT(pp_dataset_pair_bound(&m.d), 0);
	CHECK_INT(m.d.pair_bound_ns, OWN + 1500);
	m.worker[3].host_clock = 0; /* nobody brought its clock */
	CHECK_INT(pp_bounds_init(&b, &m.d), 0);
	CHECK(between(&b, 2, 0, 3, 0) == PP_BOUND_UNKNOWN);
	pp_bounds_release(&b);
}

TEST(who_waits_has_the_bound_of_its_pair)
{
	static const int64_t arrival[RANKS] = {1000, 20000, 10000, 50000, 40000, 2000, 3000};
	static const int64_t end[RANKS] = {60000, 60000, 60000, 60000, 60000, 60000, 60000};
	struct pp_waiting w = {.d = NULL};
	struct made m;

	make(&m);
	solve(&m, &w, "MPI_Allreduce", 0x3f, arrival, end);
	CHECK_INT(m.c.bound_ns, OWN + 1500); /* at 50 us, when the last came */
	CHECK_INT(m.c.last_worker, 3);
	CHECK_INT(w.row[0].bound_ns, OWN + 500);
	CHECK_INT(w.row[2].bound_ns, OWN); /* its neighbour */
	CHECK_INT(w.row[4].bound_ns, OWN + 1500);
	CHECK_INT(w.row[3].waits_for, -1);
	solve(&m, &w, "MPI_Bcast", 0x3f, arrival, end);
	CHECK_INT(w.row[0].waits_for, -1); /* nobody is the root */
	m.row[1].is_root = 1;
	CHECK_INT(pp_waiting_solve(&w, &m.c), 0);
	CHECK_INT(w.row[0].bound_ns, OWN);
	CHECK_INT(w.row[2].bound_ns, OWN + 100 + 20 + 4 * 300 * 9 / 100);
	CHECK_INT(w.row[5].bound_ns, OWN);
	solve(&m, &w, "MPI_Allreduce", 0x7f, arrival, end);
	CHECK(m.c.bound_ns == PP_BOUND_UNKNOWN && m.c.last_worker == -1 && m.c.wait_ns == PP_UNKNOWN);
	CHECK_INT(w.row[0].waits_for, -1);
	pp_waiting_release(&w);
}

/* Of two segments of a call, the arrival moves only the one that it is near; what is said of a rank has all of it. */
TEST(error_of_what_is_charged)
{
	struct pp_row_cell cell[RANKS] = {{0}};
	struct pp_waited waited = {.until = 5000, .worker = 0, .waits_for = 2, .bound_ns = 300};
	struct made m;

	make(&m);
	m.d.cell = cell;
	m.d.steps = 1;
	pp_waiting_charge(&m.d, &waited, 0, 1000, 2000);
	CHECK(cell[0].wait_ns == 1000 && cell[2].late_ns == 1000 && cell[2].late_error_ns == 0);
	pp_waiting_charge(&m.d, &waited, 0, 3000, 4900);
	CHECK_INT(cell[2].late_error_ns, 200); /* earlier by 300 it would end here 200 before the end */
	pp_waiting_charge(&m.d, &waited, 0, 4900, 9000);
	CHECK_INT(cell[2].late_error_ns, 500);
	CHECK(cell[0].wait_ns == 3000 && cell[0].transfer_ns == 4000);
	waited.until = 30;
	waited.bound_ns = PP_BOUND_UNKNOWN - 1;
	pp_waiting_charge(&m.d, &waited, 0, 0, 40); /* never more than there is */
	CHECK_INT(cell[2].late_error_ns, 530);
	CHECK_INT(pp_dataset_late(&m.d), 0);
	CHECK(m.d.late[0].rank == 2 && m.d.late[0].wait_ns == 3030 && m.d.late[0].error_ns == 530);
	free(m.d.late);
}

TEST(causality_by_hand)
{
	int64_t arrival[RANKS] = {1000, 1000, 1000, 1000, 1000, 1000, 1000}, end[RANKS];
	struct pp_waiting w = {.d = NULL};
	struct made m;

	make(&m);
	for (int r = 0; r < RANKS; r++)
		end[r] = 60000;
	solve(&m, &w, "MPI_Barrier", 0x03, arrival, end); /* one clock: nothing to check it by */
	CHECK(!m.d.causality.pairs && !m.d.violations);
	solve(&m, &w, "MPI_Barrier", 0x7f, arrival, end); /* rank 6 is not joined */
	CHECK(m.d.causality.pairs == 6 && !m.d.causality.inverted && !m.d.causality.violated && !m.d.violations);
	arrival[4] = 61000;
	end[4] = 62000;
	solve(&m, &w, "MPI_Barrier", 0x17, arrival, end); /* 0 and 1 left before 4 came: 1000 of 1007, 2 has more */
	CHECK(m.d.causality.pairs == 4 && m.d.causality.inverted == 3 && !m.d.causality.violated && !m.d.violations);
	CHECK_INT(m.d.causality.worst_ns, 0);
	end[1] = 59900;
	solve(&m, &w, "MPI_Barrier", 0x17, arrival, end); /* 1100 of 1007 */
	CHECK(m.d.causality.inverted == 2 && m.d.causality.violated == 1 && m.d.violations == 1);
	CHECK_INT(m.d.causality.worst_ns, 93);
	m.row[1].exit_open = 1; /* it was not seen to leave */
	m.c.bound_ns = 0;
	m.d.causality = (struct pp_causality){0};
	CHECK_INT(pp_waiting_solve(&w, &m.c), 0);
	CHECK(m.d.causality.pairs == 3 && !m.d.causality.violated);
	solve(&m, &w, "MPI_Bcast", 0x17, arrival, end); /* who gets may leave before others come */
	CHECK(!m.d.causality.pairs && !m.d.violations);
	arrival[3] = 60010; /* of one clock: the record is wrong, whatever the bounds are */
	arrival[4] = 1000;
	end[4] = end[1] = 70000;
	end[3] = 70000;
	solve(&m, &w, "MPI_Barrier", 0x0c, arrival, end);
	CHECK(!m.d.causality.pairs && m.d.violations == 1);
	pp_waiting_release(&w);
}

struct thrown {
	struct pp_dataset d;
	struct pp_row_worker worker[DICE_RANKS];
	struct pp_row_host_clock clock[DICE_HOSTS];
	struct pp_row_clock_stretch stretch[DICE_HOSTS][3];
	struct pp_bounds_event event[DICE_RANKS];
};

static void throw_clocks(struct thrown *t)
{
	size_t hosts = (size_t)dice(DICE_HOSTS) + 1;

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < hosts; i++) {
		struct pp_row_host_clock *c = &t->clock[i];
		int64_t at = 0;

		snprintf(c->own, sizeof(c->own), "%.*s", dice(9) ? 4 : 0, dice(3) ? "same" : (char[]){(char)('a' + i), 0});
		c->host_bound_ns = dice(8) ? dice(3000) : PP_BOUND_UNKNOWN;
		for (size_t k = 0; k < 3 && dice(4); k++, at += 700) {
			t->stretch[i][k] = (struct pp_row_clock_stretch){
			        0, at, at + 700, dice(9) ? dice(2000) : PP_BOUND_UNKNOWN, dice(2000), dice(500), 0};
			c->stretches = k + 1;
		}
		c->stretch = t->stretch[i];
	}
	t->d = (struct pp_dataset){.worker = t->worker, .host_clock = t->clock, .host_clocks = hosts};
	t->d.workers = (size_t)dice(DICE_RANKS) + 1;
	for (size_t r = 0; r < t->d.workers; r++) {
		uint32_t host = (uint32_t)(r * hosts / t->d.workers);

		t->worker[r] = (struct pp_row_worker){.rank = (int32_t)r, .domain = dice(10) == 0, .own_bound_ns = OWN};
		t->worker[r].host_clock = dice(15) ? host + 1 : 0;
		t->event[r] = (struct pp_bounds_event){(uint32_t)r, dice(10) > 0, dice(2000), 1000 + dice(3000),
		                                       0,           dice(8) > 0,  dice(8) > 0};
	}
}

static int64_t worst_of_all(const struct thrown *t, const struct pp_bounds *b, int64_t time)
{
	int64_t worst = OWN;

	for (size_t i = 0; i < t->d.workers; i++)
		for (size_t k = 0; k < t->d.workers; k++) {
			int64_t one = between(b, i, time, k, time);

			if (one == PP_BOUND_UNKNOWN)
				return one;
			worst = one > worst ? one : worst;
		}
	return worst;
}

static void check_pairs(const struct thrown *t, struct pp_bounds *b)
{
	struct pp_causality want = {0}, got = {0};
	int violated = 0;

	for (size_t k = 0; k < t->d.workers; k++) {
		const struct pp_bounds_event *exit = &t->event[k];
		int64_t most = -1;
		int pairs = 0, inverted = 0;

		for (size_t i = 0; i < t->d.workers && exit->exit_known && exit->needs; i++) {
			const struct pp_bounds_event *came = &t->event[i];
			int64_t early = came->arrival_ns - exit->exit_ns, bound = between(b, i, came->arrival_ns, k, exit->exit_ns);

			if (bound == PP_BOUND_UNKNOWN || !came->is_needed)
				continue;
			violated |= early > bound;
			if (b->group[i] == b->group[k])
				continue;
			pairs = 1;
			inverted |= early > 0;
			most = early - bound > most ? early - bound : most;
		}
		want.pairs += (uint64_t)pairs;
		want.violated += most > 0;
		want.inverted += most <= 0 && inverted;
		want.worst_ns = most > want.worst_ns ? most : want.worst_ns;
	}
	CHECK_INT(pp_bounds_check(b, t->event, t->d.workers, &got), violated);
	CHECK_INT(got.pairs, want.pairs);
	CHECK_INT(got.inverted, want.inverted);
	CHECK_INT(got.violated, want.violated);
	CHECK_INT(got.worst_ns, want.worst_ns);
}

TEST(by_dice)
{
	static struct thrown t;
	int known = 0;

	for (int round = 0; round < DICE_ROUNDS && !test_failures; round++) {
		struct pp_bounds b;
		uint32_t all[DICE_RANKS];
		int64_t time = dice(2500);

		throw_clocks(&t);
		CHECK_INT(pp_bounds_init(&b, &t.d), 0);
		for (uint32_t r = 0; r < t.d.workers; r++)
			all[r] = r;
		for (size_t r = 0; r < t.d.workers; r++)
			t.event[r].bound_ns = pp_bounds_at(&b, r, t.event[r].arrival_ns);
		CHECK_INT(pp_bounds_worst(&b, all, t.d.workers, sizeof(*all), time), worst_of_all(&t, &b, time));
		known += worst_of_all(&t, &b, time) != PP_BOUND_UNKNOWN;
		check_pairs(&t, &b);
		pp_bounds_release(&b);
	}
	CHECK(known > DICE_ROUNDS / 50);
}

int main(void)
{
	bounds_of_mixed_clocks();
	who_waits_has_the_bound_of_its_pair();
	error_of_what_is_charged();
	causality_by_hand();
	by_dice();
	return test_end();
}
