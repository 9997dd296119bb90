/* A training job whose stragglers are known: sleeps in ranges of every kind, sums over all ranks and over some, messages. It writes
 * down what it made late, by its own clock, and when its ranks came to the sum of each step.
 * pod_job TRUTH STEPS WORK_US SHAPE A B [RANK:REASON:US:FIRST:EVERY[:LAST]]...
 * Shapes, before the sum over all ranks: `even`: nothing. `groups`: a sum over each half, behind it another one. `chain`: a sum of
 * A and B, then one of all but A. `relay`: a message from A to B. `ring`: messages from each rank to the next one.
 * Reasons: input, compute, launch, send (before the shape's messages), output (after the last sum), between (after the step).
 * Used by tests/session/e2e_pod.py. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/podprof.h"

enum { RULES = 64, STEPS_MOST = 10000 };
enum { INPUT, COMPUTE, LAUNCH, SEND, OUTPUT, BETWEEN, REASONS };
enum { READY = REASONS, ARRIVAL, COLUMNS }; /* behind the lateness of each reason */

static const char *const reason_name[REASONS] = {"input", "compute", "launch", "send", "output", "between"};
static const char *const range_name[REASONS] = {"next batch", "forward and backward", "launch kernels",
                                                "send halo",  "checkpoint",           ""};
static const enum podprof_category category[REASONS] = {
        PODPROF_INPUT, PODPROF_HOST_COMPUTE, PODPROF_KERNEL_LAUNCH, PODPROF_HOST_COMMUNICATION, PODPROF_OUTPUT, PODPROF_BY_NAME};

static struct rule {
	int rank, reason, us, first, every, last;
} rule[RULES];
static int rules, rank, size, first_rank, second_rank;
static const char *shape;
static MPI_Comm half, pair, rest;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	while (us > 0 && nanosleep(&t, &t))
		;
}

static int is(const char *what)
{
	return !strcmp(shape, what);
}

static int read_rule(const char *text)
{
	struct rule *r = &rule[rules];
	char reason[16];
	int found = rules < RULES
	                    ? sscanf(text, "%d:%15[a-z]:%d:%d:%d:%d", &r->rank, reason, &r->us, &r->first, &r->every, &r->last)
	                    : 0;

	if (found < 5 || r->every < 1)
		return 1;
	if (found == 5)
		r->last = STEPS_MOST;
	for (r->reason = 0; r->reason < REASONS; r->reason++)
		if (!strcmp(reason, reason_name[r->reason])) {
			rules++;
			return 0;
		}
	return 1;
}

/* What of this kind is due in this step: its length by our clock. */
static int64_t late(int reason, int step)
{
	int64_t begin = now_ns();
	int us = 0;

	for (int i = 0; i < rules; i++)
		if (rule[i].rank == rank && rule[i].reason == reason && step >= rule[i].first && step <= rule[i].last &&
		    (step - rule[i].first) % rule[i].every == 0)
			us += rule[i].us;
	pause_us(us);
	return us > 0 ? now_ns() - begin : 0;
}

static int64_t work(int reason, int step, int us)
{
	int64_t ns;

	podprof_range_push_as(range_name[reason], category[reason]);
	pause_us(us);
	ns = late(reason, step);
	podprof_range_pop();
	return ns;
}

static void sum(MPI_Comm comm)
{
	double mine = rank, all;

	if (comm != MPI_COMM_NULL)
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static void messages(int step)
{
	double mine = step, theirs;
	int next = (rank + 1) % size, before = (rank + size - 1) % size;

	if (is("ring")) {
		MPI_Send(&mine, 1, MPI_DOUBLE, next, step, MPI_COMM_WORLD);
		MPI_Recv(&theirs, 1, MPI_DOUBLE, before, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (is("relay") && rank == first_rank)
		MPI_Send(&mine, 1, MPI_DOUBLE, second_rank, step, MPI_COMM_WORLD);
	else if (is("relay") && rank == second_rank)
		MPI_Recv(&theirs, 1, MPI_DOUBLE, first_rank, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* READY: before it communicates. ARRIVAL: before the sum over all ranks. */
static void train(int step, int work_us, int64_t *row)
{
	podprof_step_begin(step);
	row[INPUT] = work(INPUT, step, work_us / 10);
	row[COMPUTE] = work(COMPUTE, step, work_us - work_us / 10);
	row[LAUNCH] = work(LAUNCH, step, 0);
	row[READY] = now_ns();
	sum(half);
	sum(pair);
	sum(rest);
	if (is("ring") || is("relay"))
		row[SEND] = work(SEND, step, 0);
	messages(step);
	row[ARRIVAL] = now_ns();
	sum(MPI_COMM_WORLD);
	sum(half);
	row[OUTPUT] = work(OUTPUT, step, 0);
	podprof_step_end();
	row[BETWEEN] = late(BETWEEN, step);
}

static void make_communicators(void)
{
	half = pair = rest = MPI_COMM_NULL;
	if (is("groups"))
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	if (is("chain")) {
		MPI_Comm_split(MPI_COMM_WORLD, rank == first_rank || rank == second_rank ? 0 : MPI_UNDEFINED, rank, &pair);
		MPI_Comm_split(MPI_COMM_WORLD, rank == first_rank ? MPI_UNDEFINED : 0, rank, &rest);
	}
}

static void write_times(FILE *f, const char *name, const int64_t *at, int steps)
{
	fprintf(f, ",\n\"%s\": [", name);
	for (int i = 0; i < size * steps; i++)
		fprintf(f, "%s%" PRId64, i % steps ? ", " : i ? "],\n[" : "[", at[(ptrdiff_t)i * COLUMNS]);
	fprintf(f, "]]");
}

/* rows of all ranks, one behind the other */
static int write_truth(const char *path, const int64_t *all, int steps)
{
	FILE *f = fopen(path, "w");
	const char *comma = "";

	if (!f)
		return perror(path), 1;
	fprintf(f, "{\"ranks\": %d, \"steps\": %d, \"late\": [", size, steps);
	for (int i = 0; i < size * steps; i++)
		for (int k = 0; k < REASONS; k++)
			if (all[i * COLUMNS + k]) {
				fprintf(f, "%s\n{\"rank\": %d, \"step\": %d, \"reason\": \"%s\", \"ns\": %" PRId64 "}", comma,
				        i / steps, i % steps, reason_name[k], all[i * COLUMNS + k]);
				comma = ",";
			}
	fprintf(f, "]");
	write_times(f, "ready_ns", all + READY, steps);
	write_times(f, "arrival_ns", all + ARRIVAL, steps);
	fprintf(f, "}\n");
	return fclose(f) != 0;
}

int main(int argc, char **argv)
{
	int64_t *mine, *all = NULL;
	int steps, wrong = argc < 7;

	prctl(PR_SET_TIMERSLACK, 1UL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 7; i < argc && !wrong; i++)
		wrong = read_rule(argv[i]);
	steps = wrong ? 0 : (int)strtol(argv[2], NULL, 10);
	if (steps < 1 || steps > STEPS_MOST) {
		fprintf(stderr, "pod_job: the arguments are not understood; its source says them\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	shape = argv[4];
	first_rank = (int)strtol(argv[5], NULL, 10);
	second_rank = (int)strtol(argv[6], NULL, 10);
	make_communicators();
	mine = calloc((size_t)steps * COLUMNS, sizeof(*mine));
	if (rank == 0)
		all = calloc((size_t)size * steps * COLUMNS, sizeof(*all));
	MPI_Barrier(MPI_COMM_WORLD);
	for (int step = 0; mine && step < steps; step++)
		train(step, (int)strtol(argv[3], NULL, 10), mine + (ptrdiff_t)step * COLUMNS);
	MPI_Gather(mine, steps * COLUMNS, MPI_INT64_T, all, steps * COLUMNS, MPI_INT64_T, 0, MPI_COMM_WORLD);
	if (rank == 0)
		wrong = !all || write_truth(argv[1], all, steps);
	free(mine);
	free(all);
	MPI_Finalize();
	return wrong;
}
