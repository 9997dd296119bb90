/* Which steps are found from messages and collectives together, and how sure: the call patterns of LULESH, HPCG, LAMMPS and miniFE,
 * and of programs that have no steps. docs/steps.md has the rules; `test_step_messages --print` prints a table. */
#include <stdlib.h>

#include "core/capture/side.h"
#include "core/step/mark_list.h"
#include "core/step/step_mark.h"
#include "core/step/step_message.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 4, US = 1000 };

static struct pp_capture job;
static int64_t now[RANKS];
static uint32_t sequence, jitter;
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void rank_works(size_t r, int64_t us)
{
	now[r] += us * US * (100 - jitter + draw(2 * jitter + 1)) / 100;
}

static void work(int64_t us)
{
	for (size_t r = 0; r < RANKS; r++)
		rank_works(r, us);
}

static int64_t latest(void)
{
	int64_t last = now[0];

	for (size_t r = 1; r < RANKS; r++)
		last = now[r] > last ? now[r] : last;
	return last;
}

static void collective(const char *name, uint64_t bytes)
{
	int64_t last = latest();

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span = add_mpi(&job, r, name, sequence, now[r], last + 10 * US);

		span->mpi.sent = span->mpi.received = bytes;
		now[r] = last + 10 * US + draw(500);
	}
	sequence++;
}

static void dot(void)
{
	collective("MPI_Allreduce", 8);
}

static void call(size_t r, const char *name, int peer, uint64_t bytes)
{
	struct pp_span *span = add_mpi(&job, r, name, 0, now[r], now[r] + US);

	span->mpi.comm = 77;
	span->mpi.peer = peer;
	span->mpi.sent = strstr(name, "recv") && !strstr(name, "Send") ? 0 : bytes;
	now[r] += US + 200;
}

/* With the neighbours in a chain, so the first and the last rank have fewer messages. */
static void exchange(uint64_t bytes)
{
	int64_t last = latest() + 20 * US;

	for (size_t r = 0; r < RANKS; r++) {
		for (int side = -1; side < 2; side += 2)
			if (r + (size_t)side < RANKS)
				call(r, "MPI_Irecv", -1, 0);
		for (int side = -1; side < 2; side += 2)
			if (r + (size_t)side < RANKS)
				call(r, "MPI_Isend", (int)r + side, bytes);
		call(r, "MPI_Waitall", -1, 0);
		now[r] = last + draw(1000);
	}
}

static void lulesh(int steps)
{
	exchange(300);
	collective("MPI_Barrier", 0);
	for (int i = 0; i < steps; i++) {
		work(300);
		exchange(2400);
		work(200);
		exchange(4800);
		work(200);
		exchange(800);
		work(100);
		dot();
	}
	collective("MPI_Reduce", 8);
}

static void lulesh_60(void)
{
	lulesh(60);
}

/* The first round computes less. */
static void mini_fe(void)
{
	for (int i = 0; i < 7; i++)
		collective("MPI_Allgather", 16);
	work(3000);
	exchange(1600);
	dot();
	for (int i = 0; i < 150; i++) {
		work(100);
		if (i)
			dot();
		work(300);
		exchange(1600);
		dot();
	}
	dot();
}

static void hpcg_round(void)
{
	static const uint64_t level[] = {6400, 6400, 1600, 1600, 400, 1600, 6400};

	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++) {
		exchange(level[i]);
		work(60);
	}
	dot();
	work(60);
	exchange(6400);
	work(100);
	dot();
	work(30);
	dot();
}

/* Three sets of rounds, each with a residual of its own. */
static void hpcg(void)
{
	for (int i = 0; i < 3; i++)
		dot();
	for (int set = 0; set < 3; set++) {
		exchange(6400);
		work(60);
		dot();
		for (int i = 0; i < 25; i++)
			hpcg_round();
	}
	collective("MPI_Allreduce", 24);
}

static void swaps(const uint64_t *bytes, int times)
{
	int64_t last = latest() + 10 * US;

	for (int i = 0; i < times; i++) {
		for (size_t r = 0; r < RANKS; r++) {
			call(r, "MPI_Irecv", -1, 0);
			call(r, "MPI_Send", (int)(r ^ 1u), bytes[i] + 8 * r);
			call(r, "MPI_Wait", -1, 0);
		}
	}
	for (size_t r = 0; r < RANKS; r++)
		now[r] = last + draw(1000);
}

static void neighbours(uint64_t *bytes)
{
	for (int i = 0; i < 2; i++) {
		for (size_t r = 0; r < RANKS; r++)
			call(r, "MPI_Sendrecv", (int)(r ^ 1u), 4);
		bytes[i] = 2400 + 24 * draw(50);
		swaps(&(uint64_t){draw(100)}, 1);
	}
	bytes[2] = bytes[1] + 24;
	bytes[3] = bytes[0] + 24;
	for (int i = 0; i < 2; i++) {
		for (size_t r = 0; r < RANKS; r++)
			call(r, "MPI_Sendrecv", (int)(r ^ 1u), 4);
		swaps(&bytes[i], 1);
	}
	work(1500);
}

/* Neighbour lists every 8 to 14 steps or, with a check, after 10 to 20; sizes change then. Energies every 50 steps. */
static void lammps(int has_check)
{
	uint64_t bytes[4];
	int next = 0;

	for (int i = 0; i < 5; i++)
		collective("MPI_Bcast", 64);
	for (int i = 0; i < 120; i++) {
		if (has_check && i && next - i < 6)
			dot();
		if (i == next) {
			neighbours(bytes);
			next = i + (has_check ? 10 + (int)draw(11) : 8 + (int)draw(7));
		} else {
			swaps(bytes, 2);
		}
		work(900);
		swaps(bytes + 2, 2);
		work(30);
		if (i % 50 == 49)
			for (uint64_t k = 0; k < 4; k++)
				collective("MPI_Allreduce", 8 + 8 * k);
	}
	dot();
}

static void lammps_plain(void)
{
	lammps(0);
}

static void lammps_check(void)
{
	lammps(1);
}

static void stencil(int every, void (*then)(void))
{
	for (int i = 0; i < 100; i++) {
		work(500);
		exchange(4096);
		if (every && i % every == every - 1)
			then();
	}
}

static void stencil_alone(void)
{
	stencil(0, NULL);
}

static void norm(void)
{
	dot();
}

static void output(void)
{
	for (size_t r = 1; r < RANKS; r++)
		call(r, "MPI_Send", 0, 100000);
	for (size_t r = 1; r < RANKS; r++)
		call(0, "MPI_Recv", (int)r, 100000);
	rank_works(0, 400);
}

static void stencil_norm(void)
{
	stencil(20, norm);
}

static void stencil_output(void)
{
	stencil(10, output);
}

/* Four exchanges alike and a new time step. */
static void runge_kutta(void)
{
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 4; k++) {
			work(200);
			exchange(4096);
		}
		dot();
	}
}

/* Each time step solves by rounds with a reduction each, and exchanges more before. */
static void implicit(void)
{
	for (int i = 0; i < 20; i++) {
		work(4000);
		exchange(65536);
		collective("MPI_Allreduce", 64);
		for (int k = 0; k < 8; k++) {
			work(100);
			exchange(2048);
			dot();
		}
	}
}

static void ring(void)
{
	for (int i = 0; i < 80; i++) {
		int64_t last;

		work(700);
		last = latest();
		for (size_t r = 0; r < RANKS; r++) {
			now[r] = last;
			call(r, "MPI_Sendrecv", (int)((r + 1) % RANKS), 800);
		}
	}
}

static void two_phases(uint64_t bytes)
{
	for (int i = 0; i < 60; i++) {
		work(500);
		exchange(4096);
	}
	for (int i = 0; i < 60; i++) {
		work(400);
		exchange(bytes);
		work(200);
		exchange(128);
	}
}

static void two_phases_alike(void)
{
	two_phases(4096);
}

static void two_phases_distinct(void)
{
	two_phases(512);
}

static void alternating(void)
{
	for (int i = 0; i < 120; i++) {
		work(500);
		exchange(i % 2 ? 4096 : 128);
	}
}

/* On the two ranks of a row, or of a column, of a grid of two by two: no communicator has all ranks. */
static void of_groups(const char *name, size_t across, int root, uint64_t bytes)
{
	for (size_t r = 0; r < RANKS; r++) {
		const size_t other = r ^ across;
		struct pp_span *span;

		if (other < r)
			continue;
		now[r] = now[other] = now[r] > now[other] ? now[r] : now[other];
		for (size_t i = 0; i < 2; i++) {
			const size_t who = i ? other : r;

			span = add_mpi(&job, who, name, sequence, now[who], now[who] + 10 * US);
			span->mpi.comm = 100 + 10 * across + r;
			span->mpi.peer = root;
			span->mpi.sent = span->mpi.received = bytes;
			now[who] += 10 * US + draw(500);
		}
	}
	sequence++;
}

static void grid(void)
{
	for (int i = 0; i < 50; i++) {
		work(300);
		of_groups("MPI_Allreduce", 1, -1, 8);
		work(200);
		of_groups("MPI_Allreduce", 2, -1, 8);
	}
}

/* One multiplication of matrices by panels. */
static void summa(void)
{
	for (int i = 0; i < 60; i++) {
		of_groups("MPI_Bcast", 1, i % 2, 4096);
		of_groups("MPI_Bcast", 2, i % 2, 2048);
		work(400);
	}
}

/* Two reductions a layer within a model, then the gradients between models. */
static void tensor_parallel(void)
{
	dot();
	for (int i = 0; i < 40; i++) {
		for (int layer = 0; layer < 8; layer++) {
			work(50);
			of_groups("MPI_Allreduce", 1, -1, 65536);
			work(50);
			of_groups("MPI_Allreduce", 1, -1, 16384);
		}
		for (int bucket = 0; bucket < 3; bucket++)
			of_groups("MPI_Allreduce", 2, -1, 1 << 20);
		work(100);
	}
}

/* A message down each column in turn with a reduction along the rows. */
static void rows_and_messages(void)
{
	for (int i = 0; i < 80; i++) {
		work(300);
		for (size_t r = 0; r < RANKS; r++) {
			now[r] = now[r] > now[r ^ 2u] ? now[r] : now[r ^ 2u];
			call(r, "MPI_Sendrecv", (int)(r ^ 2u), 800);
		}
		of_groups("MPI_Allreduce", 1, -1, 8);
	}
}

static void groups_at_random(void)
{
	for (int i = 0; i < 400; i++) {
		work(20 + draw(400));
		of_groups("MPI_Allreduce", 1 + draw(2), -1, 8u << draw(9));
	}
}

/* The last rank works with the others in a third of the run only. */
static void leaver(void)
{
	for (int i = 0; i < 60; i++) {
		int64_t last;

		work(700);
		last = latest();
		for (size_t r = 0; r < (i < 20 ? RANKS : RANKS - 1u); r++) {
			now[r] = last;
			call(r, "MPI_Sendrecv", (int)r, 800);
			call(r, "MPI_Sendrecv", (int)r, 80);
		}
	}
}

static void dot_only(void)
{
	for (int i = 0; i < 120; i++) {
		work(500);
		dot();
	}
}

/* A request and an answer for each task, to whoever is free. */
static void master(uint32_t times)
{
	for (int task = 0; task < 150; task++) {
		size_t w = 1;

		for (size_t r = 2; r < RANKS; r++)
			w = now[r] < now[w] ? r : w;
		call(w, "MPI_Send", 0, 8);
		now[0] = now[w] > now[0] ? now[w] : now[0];
		call(0, "MPI_Recv", (int)w, 8);
		call(0, "MPI_Send", (int)w, 64);
		call(w, "MPI_Recv", 0, 64);
		rank_works(w, 100 + draw(times));
	}
}

static void master_even(void)
{
	master(60);
}

static void master_uneven(void)
{
	master(3000);
}

static void random_messages(void)
{
	for (int i = 0; i < 600; i++) {
		size_t from = draw(RANKS), to = (from + 1 + draw(RANKS - 1)) % RANKS;

		call(from, "MPI_Send", (int)to, 8u << draw(8));
		call(to, "MPI_Recv", (int)from, 8);
		rank_works(from, draw(400));
	}
}

/* Sizes never come again. */
static void refined(void)
{
	for (int i = 0; i < 80; i++) {
		work(300);
		exchange(1000 + 8 * (uint64_t)i);
	}
}

static void few(void)
{
	for (int i = 0; i < 2; i++) {
		work(500);
		exchange(4096);
		dot();
	}
	work(50000);
	dot();
}

static void start_up(void)
{
	for (int i = 0; i < 20; i++)
		exchange(64);
	work(500000);
	dot();
}

static const struct shape {
	const char *what;
	void (*make)(void);
	int steps; /* the truth; 0: there are none to be found */
	int must;  /* they must be found: the window would be true, but says less */
} shape[] = {
        {"LULESH: three exchanges and a time step", lulesh_60, 60, 1},
        {"miniFE: an exchange and two dot products", mini_fe, 150, 1},
        {"HPCG: rounds of 8 exchanges and 3 dot products, in 3 sets", hpcg, 75, 1},
        {"LAMMPS: sizes change every 8 to 14 steps, output every 50", lammps_plain, 120, 1},
        {"LAMMPS: the same, with a check at times", lammps_check, 120, 1},
        {"an exchange, no collective", stencil_alone, 100, 1},
        {"an exchange, a norm every 20 steps", stencil_norm, 100, 1},
        {"an exchange, an output every 10 steps", stencil_output, 100, 1},
        {"4 exchanges alike and a time step", runge_kutta, 60, 1},
        {"a time step that computes, with 8 rounds of a solver", implicit, 20, 1},
        {"one message over and over", ring, 80, 1},
        {"one collective over and over", dot_only, 120, 1},
        {"a grid: a sum along rows, then one along columns", grid, 50, 1},
        {"a grid: broadcasts of panels along rows and columns, two roots in turn", summa, 30, 1},
        {"8 layers with 2 sums in a model, then 3 between models", tensor_parallel, 40, 1},
        {"messages down the columns, a sum along the rows", rows_and_messages, 80, 1},
        {"a rank that leaves after a third of the steps", leaver, 20, 0},
        {"sums of rows and columns at random", groups_at_random, 0, 0},
        {"60 steps of one exchange, 60 of two others", two_phases_distinct, 120, 1},
        {"60 steps of one exchange, 60 of this one and another", two_phases_alike, 120, 0},
        {"two exchanges in turn: a pair is the step", alternating, 60, 1},
        {"exchanges of sizes that never come again", refined, 80, 0},
        {"a master that hands out tasks of 0.10 to 0.16 ms", master_even, 0, 0},
        {"a master that hands out tasks of 0.1 to 3.1 ms", master_uneven, 0, 0},
        {"messages at random", random_messages, 0, 0},
        {"two rounds, then work", few, 0, 0},
        {"20 exchanges before a long run", start_up, 0, 0},
};

static void make(const struct shape *which, uint64_t first)
{
	job = make_capture(RANKS);
	for (size_t r = 0; r < RANKS; r++) {
		job.rank[r].comm = calloc(1, sizeof(struct pp_comm));
		job.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = RANKS};
		job.rank[r].comms = 1;
		now[r] = 0;
	}
	sequence = 0;
	jitter = 10;
	seed = first;
	which->make();
}

static void check(const struct shape *which, uint64_t first, int print)
{
	struct pp_steps s = {0};
	struct pp_err err;
	int used, right;
	size_t separate = 0;

	make(which, first);
	CHECK_INT(pp_steps_find(&job, 0, 0, &s, &err), 0);
	used = s.rule != PP_STEP_RULE_WINDOW;
	right = used && (int)s.steps <= which->steps + 1 && 10 * (int)s.steps >= 9 * which->steps - 10;
	if (print)
		printf("| %s | %d | %zu | %s | %.2f | %.0f %% |\n", which->what, which->steps, s.steps, pp_step_rule_name(s.rule),
		       s.confidence, 100 * s.covered);
	if (used ? !right : which->must) {
		fprintf(stderr, "'%s' with seed %d: %zu steps for %d, %s, confidence %.2f: %s\n", which->what, (int)first, s.steps,
		        which->steps, pp_step_rule_name(s.rule), s.confidence, s.remark);
		CHECK(!"wrong steps");
	}
	for (size_t i = 0; used && i < s.steps; i++) {
		for (size_t r = 0; r < RANKS; r++) {
			const struct pp_step_cell *cell = &s.cell[i * RANKS + r], *other = &s.cell[i * RANKS];

			CHECK(cell->present && cell->end > cell->begin);
			CHECK(i == 0 || cell->begin >= s.cell[(i - 1) * RANKS + r].end);
			/* they belong together: no rank is in another step for most of the time */
			separate += cell->begin >= other->end || other->begin >= cell->end;
		}
	}
	if (separate)
		fprintf(stderr, "'%s' with seed %d: %zu steps do not overlap\n", which->what, (int)first, separate);
	CHECK_INT(separate, 0);
	pp_steps_release(&s);
	free_capture(&job);
}

/* A file of PyTorch that says neither group nor number of its collectives: they are operators. */
TEST(collectives_as_operators)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s = {0};
	struct pp_err err;

	for (int64_t n = 0; n < 14; n++) {
		add_range(&c, 0, 0, "aten::mm", n * 1000, n * 1000 + 500)->range.origin = PP_ORIGIN_OPERATOR;
		add_range(&c, 0, 0, "c10d::reduce_scatter_", n * 1000 + 510, n * 1000 + 520)->range.origin = PP_ORIGIN_OPERATOR;
		add_range(&c, 0, 0, "c10d::allreduce_", n * 1000 + 800, n * 1000 + 990)->range.origin = PP_ORIGIN_OPERATOR;
	}
	CHECK_INT(pp_steps_find(&c, 0, 0, &s, &err), 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.period, 2);
	CHECK_INT(s.steps, 13); /* the first one's begin is unknown */
	CHECK_INT(s.cell[0].end - s.cell[0].begin, 1000);
	pp_steps_release(&s);
	for (size_t i = 0; i < c.rank[0].thread[0].spans; i++)
		c.rank[0].thread[0].span[i].range.origin = PP_ORIGIN_LIBRARY; /* nobody's collectives */
	CHECK_INT(pp_steps_find(&c, 0, 0, &s, &err), 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

int main(int argc, char **argv)
{
	int print = argc > 1 && !strcmp(argv[1], "--print");

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		for (uint64_t first = 1; first <= (print ? 1 : 20); first++)
			check(&shape[i], first, print);
	if (!print)
		collectives_as_operators();
	return test_end();
}
