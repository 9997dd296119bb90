/* A job that does what a program says: one file of operations a rank, made by programs.py. Work is sleeping to a deadline, and
 * the job writes when each operation began and ended, so that the truth is known on a busy machine. Run by scripts/truth:
 *     job DIR [unmarked]    reads DIR/ops.RANK, writes DIR/log.RANK: a pair of int64 ns of CLOCK_REALTIME for each operation */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/podprof.h"
#include "tests/truth/device.h"

enum { MOST_OPS = 60000, MOST_ARGS = 5, MOST_REQUESTS = 256, MOST_COMMS = 8, BUFFER = 8 << 20 };
enum { FIRST_SLEEP_NS = 20000, LAST_SLEEP_NS = 200000, LEFT_NS = 1000000 };

struct op {
	char kind[24];
	long arg[MOST_ARGS];
};

static struct op op[MOST_OPS];
static int64_t written[MOST_OPS][2];
static MPI_Request open_requests[MOST_REQUESTS], kept[MOST_REQUESTS];
static MPI_Comm comm[MOST_COMMS];
static MPI_Win win;
static double *window;
static char in[BUFFER], out[BUFFER];
static int rank, size, opened, keeps;
static const char *place;

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_to(int64_t deadline)
{
	struct timespec t = {deadline / 1000000000, deadline % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* Open MPI calls it where it has nothing to do. Many jobs share the cores: waiting must not take them from those that work. */
__attribute__((visibility("default"))) int sched_yield(void)
{
	static _Thread_local int64_t left, pause = FIRST_SLEEP_NS;
	int64_t now = now_ns(CLOCK_MONOTONIC);

	if (now - left > LEFT_NS)
		pause = FIRST_SLEEP_NS;
	else if (pause < LAST_SLEEP_NS)
		pause += pause / 4;
	sleep_to(now + pause);
	left = now_ns(CLOCK_MONOTONIC);
	return 0;
}

/* Parts of the buffers do not overlap: a part for each request of up to 256 KiB. */
static char *part(char *buffer, long bytes)
{
	return buffer + (size_t)opened * BUFFER / MOST_REQUESTS * (bytes > BUFFER / MOST_REQUESTS ? 0 : 1);
}

static MPI_Request *another(void)
{
	return &open_requests[opened++];
}

static int is(const struct op *o, const char *kind)
{
	return strcmp(o->kind, kind) == 0;
}

static int collective(const struct op *o)
{
	MPI_Comm c = comm[o->arg[0] < MOST_COMMS ? o->arg[0] : 0];
	int n = (int)o->arg[1], root = (int)o->arg[2];

	if (is(o, "allreduce"))
		MPI_Allreduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c);
	else if (is(o, "reduce"))
		MPI_Reduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, root, c);
	else if (is(o, "bcast"))
		MPI_Bcast(in, n, MPI_BYTE, root, c);
	else if (is(o, "barrier"))
		MPI_Barrier(c);
	else if (is(o, "gather"))
		MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, root, c);
	else if (is(o, "scatter"))
		MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, root, c);
	else if (is(o, "scan"))
		MPI_Scan(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c);
	else if (is(o, "exscan"))
		MPI_Exscan(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c);
	else if (is(o, "alltoall"))
		MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, c);
	else if (is(o, "allgather"))
		MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, c);
	else if (is(o, "reduce_scatter"))
		MPI_Reduce_scatter_block(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c);
	else if (is(o, "neighbor"))
		MPI_Neighbor_alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, c);
	else if (is(o, "iallreduce"))
		MPI_Iallreduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c, another());
	else if (is(o, "ibarrier"))
		MPI_Ibarrier(c, another());
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	else if (is(o, "allreduce_init"))
		MPIX_Allreduce_init(in, out, n / 8, MPI_DOUBLE, MPI_SUM, c, MPI_INFO_NULL, &kept[keeps++]);
#endif
	else
		return 0;
	return 1;
}

/* Takes messages as they come. */
static void collect(int count, int tag, int n)
{
	MPI_Status status;

	for (int i = 0, flag; i < count; i++) {
		for (flag = 0; !flag;) {
			MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
			if (!flag)
				sched_yield();
		}
		MPI_Recv(out, n, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static int message(const struct op *o)
{
	int peer = (int)o->arg[0], tag = (int)o->arg[1], n = (int)o->arg[2];

	if (is(o, "isend"))
		MPI_Isend(part(in, n), n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, another());
	else if (is(o, "irecv"))
		MPI_Irecv(part(out, n), n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, another());
	else if (is(o, "send"))
		MPI_Send(in, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
	else if (is(o, "recv"))
		MPI_Recv(out, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else if (is(o, "probe"))
		MPI_Probe(peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else if (is(o, "sendrecv"))
		MPI_Sendrecv(in, n, MPI_BYTE, peer, tag, out, n, MPI_BYTE, (int)o->arg[3], tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else if (is(o, "sendrecv_replace"))
		MPI_Sendrecv_replace(out, n, MPI_BYTE, peer, tag, (int)o->arg[3], tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else if (is(o, "collect"))
		collect(peer, tag, n);
	else if (is(o, "send_init"))
		MPI_Send_init(in, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &kept[keeps++]);
	else if (is(o, "recv_init"))
		MPI_Recv_init(out, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &kept[keeps++]);
	else
		return 0;
	return 1;
}

static void poll_some(void)
{
	int done = 0, count, at[MOST_REQUESTS];

	while (done < opened) {
		MPI_Testsome(opened, open_requests, &count, at, MPI_STATUSES_IGNORE);
		done += count == MPI_UNDEFINED ? opened : count;
		if (done < opened)
			sched_yield();
	}
}

static void poll_one(void)
{
	for (int flag = 0; !flag;) {
		MPI_Test(&open_requests[0], &flag, MPI_STATUS_IGNORE);
		if (!flag)
			sched_yield();
	}
}

static int completion(const struct op *o)
{
	int which;

	if (is(o, "waitall")) {
		MPI_Waitall(opened, open_requests, MPI_STATUSES_IGNORE);
	} else if (is(o, "waitany")) {
		for (int i = 0; i < opened; i++)
			MPI_Waitany(opened, open_requests, &which, MPI_STATUS_IGNORE);
	} else if (is(o, "waiteach")) {
		for (int i = 0; i < opened; i++)
			MPI_Wait(&open_requests[i], MPI_STATUS_IGNORE);
	} else if (is(o, "testsome")) {
		poll_some();
	} else if (is(o, "test")) {
		poll_one();
	} else if (is(o, "startall")) {
		MPI_Startall(keeps, kept);
		return 1;
	} else if (is(o, "waitkept")) {
		MPI_Waitall(keeps, kept, MPI_STATUSES_IGNORE);
		return 1;
	} else {
		return 0;
	}
	opened = 0;
	return 1;
}

/* The ranks beside this one on the ring: the group of post and start. */
static MPI_Group beside(void)
{
	int ranks[2] = {(rank + size - 1) % size, (rank + 1) % size};
	MPI_Group world, group;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, ranks[0] == ranks[1] ? 1 : 2, ranks, &group);
	MPI_Group_free(&world);
	return group;
}

static int one_sided(const struct op *o)
{
	static MPI_Group group = MPI_GROUP_NULL;
	int peer = (int)o->arg[0];

	if (group == MPI_GROUP_NULL)
		group = beside();
	if (is(o, "put"))
		MPI_Put(in, 1, MPI_DOUBLE, peer, rank, 1, MPI_DOUBLE, win);
	else if (is(o, "fence"))
		MPI_Win_fence(0, win);
	else if (is(o, "post"))
		MPI_Win_post(group, 0, win);
	else if (is(o, "access"))
		MPI_Win_start(group, 0, win);
	else if (is(o, "complete"))
		MPI_Win_complete(win);
	else if (is(o, "exposed"))
		MPI_Win_wait(win);
	else if (is(o, "lock"))
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
	else if (is(o, "unlock"))
		MPI_Win_unlock(peer, win);
	else
		return 0;
	return 1;
}

static int setting(const struct op *o)
{
	MPI_Comm part_comm;
	int near[2] = {(rank + size - 1) % size, (rank + 1) % size}, weights[2] = {1, 1};

	if (is(o, "split")) {
		MPI_Comm_split(MPI_COMM_WORLD, (int)o->arg[1], rank, &comm[o->arg[0]]);
	} else if (is(o, "graph")) {
		MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, near, weights, 2, near, weights, MPI_INFO_NULL, 0,
		                               &comm[o->arg[0]]);
	} else if (is(o, "inter")) {
		MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &part_comm);
		MPI_Intercomm_create(part_comm, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 77, &comm[o->arg[0]]);
	} else if (is(o, "window")) {
		MPI_Win_allocate((MPI_Aint)sizeof(double) * 1024, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&window,
		                 &win);
	} else {
		return 0;
	}
	return 1;
}

static void execute(const struct op *o, int is_marked)
{
	if (is(o, "work")) {
		sleep_to(now_ns(CLOCK_MONOTONIC) + o->arg[0]);
	} else if (is(o, "step")) {
		if (is_marked)
			podprof_step_begin(o->arg[0]);
	} else if (is(o, "end")) {
		if (is_marked)
			podprof_step_end();
	} else if (!collective(o) && !message(o) && !completion(o) && !setting(o) &&
	           !device_execute(o->kind, o->arg, place, rank, size) && !one_sided(o)) {
		fprintf(stderr, "job: unknown operation '%s'\n", o->kind);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

/* The number of operations. */
static int load(void)
{
	char path[4096], line[200];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "%s/ops.%d", place, rank);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 2);
		exit(2);
	}
	while (n < MOST_OPS && fgets(line, sizeof(line), f)) {
		long *a = op[n].arg;

		if (sscanf(line, "%23s %ld %ld %ld %ld %ld", op[n].kind, &a[0], &a[1], &a[2], &a[3], &a[4]) >= 1)
			n++;
	}
	fclose(f);
	return n;
}

static void save(int n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/log.%d", place, rank);
	f = fopen(path, "wb");
	if (!f || fwrite(written, sizeof(written[0]), (size_t)n, f) != (size_t)n || fclose(f))
		perror(path);
}

int main(int argc, char **argv)
{
	int n, is_marked = argc < 3 || strcmp(argv[2], "unmarked") != 0;

	prctl(PR_SET_TIMERSLACK, 1000UL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	comm[0] = MPI_COMM_WORLD;
	place = argc > 1 ? argv[1] : ".";
	n = load();
	memset(in, 1, sizeof(in));
	memset(out, 1, sizeof(out));
	MPI_Barrier(MPI_COMM_WORLD); /* ranks leave MPI_Init hundreds of ms apart, and the first step is to be like the others */
	for (int i = 0; i < n; i++) {
		written[i][0] = now_ns(CLOCK_REALTIME);
		execute(&op[i], is_marked);
		written[i][1] = now_ns(CLOCK_REALTIME);
	}
	save(n);
	MPI_Finalize();
	return 0;
}
