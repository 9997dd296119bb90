/* Call patterns of solvers that mark no step, of 60 steps each. Rank 1 works 3 ms longer in step 40. Used by
 * tests/session/e2e_rules.py.
 * `lulesh`: three exchanges with up to two neighbours, one reduction; `minife`: one exchange, two dot products; `hpcg`: exchanges
 * of several levels, three dot products, in sets of 20; `lammps`: exchanges in pairs whose sizes change every 8 to 14 steps, an
 * output every 25; `stencil`: one exchange, no collective; `farm`: rank 0 hands out tasks to whoever is free; `random`: messages
 * without an order. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { STEPS = 60, SLOW_STEP = 40, SET = 20, MOST = 4096 };

static double out[8][MOST], in[8][MOST];
static int rank, size;

static void work_us(long us)
{
	struct timespec time = {0, us * 1000};

	nanosleep(&time, NULL);
}

static void work(int step)
{
	work_us(step == SLOW_STEP && rank == 1 ? 3400 : 400);
}

static void dot(void)
{
	double mine = rank, all;

	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* With the neighbours in a chain: the ranks at its ends have one. */
static void exchange(int doubles, int tag)
{
	MPI_Request request[4];
	int n = 0;

	for (int side = -1; side < 2; side += 2)
		if (rank + side >= 0 && rank + side < size)
			MPI_Irecv(in[side + 1], doubles, MPI_DOUBLE, rank + side, tag, MPI_COMM_WORLD, &request[n++]);
	for (int side = -1; side < 2; side += 2)
		if (rank + side >= 0 && rank + side < size)
			MPI_Isend(out[side + 1], doubles, MPI_DOUBLE, rank + side, tag, MPI_COMM_WORLD, &request[n++]);
	MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static void lulesh(void)
{
	double mine = 1, all;

	exchange(100, 1024);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int step = 0; step < STEPS; step++) {
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
		work(step);
		exchange(300, 1024);
		work_us(100);
		exchange(600, 2048);
		work_us(100);
		exchange(100, 3072);
	}
	MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static void minife(void)
{
	for (int i = 0; i < 5; i++)
		MPI_Bcast(out, 4 + i, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	work_us(5000);
	exchange(200, 0);
	dot();
	for (int step = 0; step < STEPS; step++) {
		if (step)
			dot();
		work(step);
		exchange(200, 0);
		dot();
	}
	dot();
}

static void hpcg(void)
{
	static const int level[] = {800, 800, 200, 200, 50, 200, 800, 800};

	for (int step = 0; step < STEPS; step++) {
		if (step % SET == 0) {
			exchange(800, 9);
			dot();
		}
		for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++) {
			exchange(level[i], 0);
			work_us(20);
		}
		dot();
		work(step);
		exchange(800, 9);
		dot();
		dot();
	}
}

/* With the one neighbour in the chain, or the other. */
static int partner(int side)
{
	int peer = side ? ((rank + 1) ^ 1) - 1 : rank ^ 1;

	return peer < 0 || peer >= size ? MPI_PROC_NULL : peer;
}

static void swap(int side, int doubles)
{
	int peer = partner(side);
	MPI_Request request;

	if (peer == MPI_PROC_NULL)
		return;
	MPI_Irecv(in[0], MOST, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &request);
	MPI_Send(out[0], doubles, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void lammps(void)
{
	int mine[4] = {0}, next = 0, count;

	for (int step = 0; step < STEPS; step++) {
		if (step == next) { /* neighbour lists */
			for (int i = 0; i < 2; i++) {
				MPI_Sendrecv(&rank, 1, MPI_INT, partner(i), 0, &count, 1, MPI_INT, partner(i), 0, MPI_COMM_WORLD,
				             MPI_STATUS_IGNORE);
				mine[i] = 200 + (step * 37 + 11 * i) % 100;
				swap(i, 10 + step % 7);
				swap(i, mine[i]);
				mine[3 - i] = mine[i] + 3;
			}
			work_us(600);
			next += 8 + step % 7;
		} else {
			swap(0, mine[0]);
			swap(1, mine[1]);
		}
		work(step);
		swap(1, mine[2]);
		swap(0, mine[3]);
		if (step % 25 == 24)
			for (int i = 0; i < 4; i++)
				MPI_Allreduce(out, in, 1 + i, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	dot();
}

static void stencil(void)
{
	for (int step = 0; step < STEPS; step++) {
		work(step);
		exchange(500, 0);
	}
}

static uint64_t seed;

static int draw(int below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((seed >> 33) % (uint64_t)below);
}

static void farm(void)
{
	int task = 0, left = size - 1;
	MPI_Status status;

	seed = (uint64_t)rank + 1;
	while (rank && (MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD),
	                MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), task >= 0))
		work_us(50 + draw(2000));
	while (!rank && left) {
		int answer = task < 40 * (size - 1) ? task++ : -1, got;

		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
		MPI_Send(&answer, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
		left -= answer < 0;
	}
}

static void in_disorder(void)
{
	seed = 1; /* the same on all ranks */
	for (int i = 0; i < 300; i++) {
		int from = draw(size), to = (from + 1 + draw(size - 1)) % size, doubles = 1 << draw(9);

		if (rank == from)
			MPI_Send(out, doubles, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
		if (rank == to)
			MPI_Recv(in, doubles, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		work_us(draw(200));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kind[] = {{"lulesh", lulesh},   {"minife", minife}, {"hpcg", hpcg},         {"lammps", lammps},
	            {"stencil", stencil}, {"farm", farm},     {"random", in_disorder}};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		if (argc > 1 && !strcmp(argv[1], kind[i].name))
			kind[i].run();
	return MPI_Finalize();
}
