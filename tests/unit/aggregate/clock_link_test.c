/* The clock exchange between processes: real UDP, real ticks, time namespaces, a stopped host, strangers. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/aggregate/clock_kit.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { HOSTS = 4, MOVED_S = 7200 };

static int be_host(uint32_t self, enum pp_tick_kind kind, int64_t moved, uint16_t port, int to)
{
	static const char *const address[] = {"192.0.2.1", "not an address", "127.0.0.1"}; /* the first two lead nowhere */
	struct clock_kit_host h = {self, kind, moved, "127.0.0.1", address, 3, port};
	struct clock_told told;
	int rc = clock_kit_host(&h, &told);

	return rc ? rc : write(to, &told, sizeof(told)) == sizeof(told) ? 0 : 9;
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
		clock_kit_nap(1);
	}
}

static void join_root(struct pp_clock_link *l)
{
	static const uint32_t child[HOSTS] = {1, 2, 3, 4};
	struct pp_clock_exchange_options o = {.child = child, .children = HOSTS, .count = 60};

	memcpy(o.key, clock_kit_key, sizeof(o.key));
	CHECK_INT(pp_clock_link_start(l, 1), -ENOENT);
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, 0, NULL), 0);
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, 0, NULL), -EALREADY);
}

/* Four hosts, four rounds 100 ms apart; host 4 is stopped over the second. */
static void play(enum pp_tick_kind kind, int moved)
{
	struct pp_clock_link_state state = {0};
	struct pp_clock_child *row = NULL;
	pid_t pid[HOSTS + 1] = {0}, stranger;
	struct clock_told told;
	size_t rows = 0;
	int pipes[2], status;
	struct pp_clock_link *l = clock_kit_open(kind, "127.0.0.1");
	uint16_t port = pp_clock_link_port(l);

	CHECK_INT(pipe(pipes), 0);
	stranger = start_stranger(port);
	for (uint32_t i = 1; i <= HOSTS; i++)
		pid[i] = start_host(i, kind, moved && i % 2, port, pipes[1]);
	close(pipes[1]);
	join_root(l);
	for (int i = 0; i < 1000 && state.heard < HOSTS; i++, clock_kit_nap(2))
		pp_clock_link_state(l, &state);
	for (uint64_t round = 1; round <= CLOCK_KIT_ROUNDS; round++) {
		if (round == 2)
			kill(pid[HOSTS], SIGSTOP);
		CHECK_INT(clock_kit_round(l, round, &state), 0);
		CHECK_INT(pp_clock_link_children(l, &row, &rows, NULL), 0);
		if (round == 2)
			CHECK_INT(row[HOSTS - 1].state, PP_CHILD_MISSED);
		free(row);
		kill(pid[HOSTS], SIGCONT);
		clock_kit_nap(100);
	}
	for (int i = 0; i < HOSTS && read(pipes[0], &told, sizeof(told)) == sizeof(told); i++) {
		CHECK(told.instants > 50);
		CHECK_INT(told.above, 0);
		CHECK(told.trips >= 60);
		fprintf(stderr, "tick %d: %lld instants, worst error %lld, largest bound %lld ticks, same %d\n", kind,
		        (long long)told.instants, (long long)told.worst, (long long)told.bound, told.same);
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
