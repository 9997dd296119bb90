/* The clock exchange between processes: real UDP, real ticks, time namespaces, a stopped host, strangers. All clocks are of one kernel,
 * so the truth is known: equal ticks, or RAW moved by a namespace's offset. */
#include "aggregate/keeper/clock_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { HOSTS = 4, ROUNDS = 4, MOVED_S = 7200 };
static const uint8_t key[PP_CLOCK_KEY] = {7, 7, 7};

struct told { /* by a host at its end */
	int64_t instants, above, worst_ns, bound_ns;
	uint64_t trips;
	int moved;
	enum pp_same_verdict same;
};

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000l};

	nanosleep(&t, NULL);
}

static double rate_of(enum pp_tick_kind kind)
{
	struct pp_clock_pair a, b;

	pp_clock_read_pair(kind, &a);
	nap(20);
	pp_clock_read_pair(kind, &b);
	return pp_clock_rate(kind, &a, &b);
}

static int64_t tick_now(enum pp_tick_kind kind)
{
	return (int64_t)(kind == PP_TICK_RAW ? pp_tick_raw() : pp_tick_counter_after());
}

static struct pp_clock_link *open_link(enum pp_tick_kind kind)
{
	struct pp_clock_link_options o = {.kind = kind, .ticks_per_ns = rate_of(kind), .bind = "127.0.0.1"};
	struct pp_clock_link *l = NULL;
	struct pp_err err = {""};

	if (pp_clock_link_open(&o, &l, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return l;
}

/* A host: takes part until it had all rounds, then compares what it maps with the truth. */
static int be_host(uint32_t self, enum pp_tick_kind kind, int64_t moved, uint16_t port, int to)
{
	struct pp_clock_exchange_options o = {.self = self, .parent = 0, .hello_ns = 20000000};
	struct pp_clock_link *l = open_link(kind);
	const char *address[] = {"192.0.2.1", "not an address", "127.0.0.1"}; /* the first two lead nowhere */
	struct pp_clock_link_state state = {0};
	struct told told = {0};
	int64_t at[4000], first = tick_now(kind);
	struct pp_pieces p;
	size_t ats = 0;

	memcpy(o.key, key, sizeof(key));
	if (pp_clock_link_join(l, &o, address, 3, port, NULL))
		return 1;
	for (int i = 0; i < 4000 && (state.turn < ROUNDS || state.busy); i++) {
		at[ats++] = tick_now(kind);
		nap(2);
		pp_clock_link_state(l, &state);
	}
	told.moved = moved != 0;
	told.trips = state.counts.trips;
	told.same = pp_same_clock_verdict(&state.same, (int64_t)1e9);
	if (pp_clock_link_pieces(l, tick_now(kind) - first, &p, NULL))
		return 2;
	for (size_t i = 0; i < ats; i++) {
		int64_t bound = pp_pieces_bound(&p, at[i]), error = llabs(pp_pieces_map(&p, at[i]) - (at[i] - moved));

		told.instants += bound != INT64_MAX;
		told.above += error > bound;
		told.worst_ns = error > told.worst_ns ? error : told.worst_ns;
		told.bound_ns = bound != INT64_MAX && bound > told.bound_ns ? bound : told.bound_ns;
	}
	pp_pieces_release(&p);
	pp_clock_link_free(l);
	return write(to, &told, sizeof(told)) == sizeof(told) ? 0 : 3;
}

/* Into a time namespace whose RAW stands elsewhere: only for children of who asks. */
static int move_clock(void)
{
	char text[] = "monotonic 7200 0\n";
	int fd;

	if (unshare(CLONE_NEWTIME))
		return -errno;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1)
		return -EPERM;
	close(fd);
	return 0;
}

static pid_t start_host(uint32_t self, enum pp_tick_kind kind, int moved, uint16_t port, int to)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (moved) {
		if (move_clock())
			_exit(77);
		pid = fork();
		if (pid) {
			int status = 0;

			waitpid(pid, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
		}
	}
	_exit(be_host(self, kind, moved ? MOVED_S * (int64_t)1000000000 : 0, port, to));
}

/* Writes to the root what is not of the job, all the time. */
static pid_t start_stranger(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint8_t wrong[PP_CLOCK_KEY] = {8}, bytes[200] = {0};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	pid_t pid = fork();

	if (pid) {
		close(fd);
		return pid;
	}
	for (uint32_t i = 0;; i++) {
		struct pp_clock_packet p = {
		        .kind = 1 + i % 5, .from = 1 + i % HOSTS, .sync = i % 8, .count = 100, .t1 = i, .t2 = i};

		pp_clock_packet_write(&p, wrong, bytes);
		sendto(fd, bytes, i % 3 ? PP_CLOCK_PACKET : i % 200, 0, (struct sockaddr *)&to, sizeof(to));
		nap(1);
	}
}

static void wait_round(struct pp_clock_link *l, uint64_t round, struct pp_clock_link_state *ret)
{
	int rc = pp_clock_link_start(l, round);

	CHECK_INT(rc, 0);
	for (int i = 0; i < 2000; i++) {
		pp_clock_link_state(l, ret);
		if (!ret->busy)
			return;
		nap(1);
	}
	CHECK(0);
}

static struct pp_clock_link *open_root(enum pp_tick_kind kind, uint16_t *ret_port)
{
	static const uint32_t child[HOSTS] = {1, 2, 3, 4};
	struct pp_clock_exchange_options o = {.child = child, .children = HOSTS, .count = 60};
	struct pp_clock_link *l = open_link(kind);

	memcpy(o.key, key, sizeof(key));
	CHECK_INT(pp_clock_link_start(l, 1), -ENOENT);
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, 0, NULL), 0);
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, 0, NULL), -EALREADY);
	*ret_port = pp_clock_link_port(l);
	CHECK(*ret_port > 0);
	return l;
}

/* Four hosts, four rounds 100 ms apart; host 4 is stopped over the second. */
static void play(enum pp_tick_kind kind, int moved)
{
	struct pp_clock_link_state state = {0};
	struct pp_clock_child *row = NULL;
	pid_t pid[HOSTS + 1] = {0}, stranger;
	struct told told;
	size_t rows = 0;
	int pipes[2], status;
	uint16_t port;
	struct pp_clock_link *l = open_root(kind, &port);

	CHECK_INT(pipe(pipes), 0);
	stranger = start_stranger(port);
	for (uint32_t i = 1; i <= HOSTS; i++)
		pid[i] = start_host(i, kind, moved && i % 2, port, pipes[1]);
	close(pipes[1]);
	for (int i = 0; i < 1000 && state.heard < HOSTS; i++, nap(2))
		pp_clock_link_state(l, &state);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (round == 2)
			kill(pid[HOSTS], SIGSTOP);
		wait_round(l, round, &state);
		CHECK_INT(pp_clock_link_children(l, &row, &rows, NULL), 0);
		if (round == 2)
			CHECK_INT(row[HOSTS - 1].state, PP_CHILD_MISSED);
		free(row);
		kill(pid[HOSTS], SIGCONT);
		nap(100);
	}
	for (int i = 0; i < HOSTS && read(pipes[0], &told, sizeof(told)) == sizeof(told); i++) {
		CHECK(told.instants > 50);
		CHECK_INT(told.above, 0);
		CHECK(told.trips >= 60);
		fprintf(stderr, "tick %d: %lld instants, worst error %lld, largest bound %lld ticks, same %d\n", kind,
		        (long long)told.instants, (long long)told.worst_ns, (long long)told.bound_ns, told.same);
		/* Who claims to share the root's clock and does not is found out. */
		CHECK_INT(told.same, told.moved ? PP_SAME_FALSE : PP_SAME_POSSIBLE);
	}
	for (int i = 1; i <= HOSTS; i++) {
		CHECK(waitpid(pid[i], &status, 0) == pid[i]);
		CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (moved && WEXITSTATUS(status) == 77)));
	}
	kill(stranger, SIGKILL);
	waitpid(stranger, &status, 0);
	CHECK(state.counts.foreign > 0);
	pp_clock_link_free(l);
	close(pipes[0]);
}

int main(void)
{
	play(PP_TICK_COUNTER, 0);
	play(PP_TICK_RAW, 1);
	return test_end();
}
