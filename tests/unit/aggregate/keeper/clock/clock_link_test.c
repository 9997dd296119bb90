/* The clock exchange between processes: real UDP, real ticks, time namespaces, a stopped host, strangers. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/aggregate/keeper/clock/clock_kit.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { HOSTS = 4, MOVED_S = 7200 };

static int be_host(uint32_t self, enum pp_tick_kind kind, int64_t moved, uint16_t port, int to)
{
	static const char addresses[] = "192.0.2.1 not-an-address 127.0.0.1"; /* the first two lead nowhere */
	struct clock_kit_host h = {self, kind, moved, addresses, port};
	struct clock_reading reported;
	int rc = clock_kit_host(&h, &reported);

	return rc ? rc : write(to, &reported, sizeof(reported)) == sizeof(reported) ? 0 : 9;
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
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, NULL), 0);
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, NULL), -EALREADY);
}

/* Four hosts, four rounds 100 ms apart; host 4 is stopped over the second. */
static void play(enum pp_tick_kind kind, int moved)
{
	struct pp_clock_link_state state = {0};
	struct pp_clock_child *row = NULL;
	pid_t pid[HOSTS + 1] = {0}, stranger;
	struct clock_reading reported;
	size_t rows = 0;
	int pipes[2], status;
	struct pp_clock_link *l = clock_kit_open(kind);
	uint16_t port = clock_kit_port(l);

	CHECK_INT(pipe(pipes), 0);
	stranger = start_stranger(port);
	for (uint32_t i = 1; i <= HOSTS; i++)
		pid[i] = start_host(i, kind, moved && i % 2, port, pipes[1]);
	close(pipes[1]);
	join_root(l);
	for (int i = 0; i < 1000 && state.answered < HOSTS; i++, clock_kit_nap(2))
		pp_clock_link_state(l, &state);
	for (uint64_t round = 1; round <= CLOCK_KIT_ROUNDS; round++) {
		if (round == 2) { /* the signal stops no thread before one of them has seen it */
			kill(pid[HOSTS], SIGSTOP);
			CHECK(waitpid(pid[HOSTS], &status, WUNTRACED) == pid[HOSTS] && WIFSTOPPED(status));
		}
		CHECK_INT(clock_kit_round(l, round, &state), 0);
		CHECK_INT(pp_clock_link_children(l, &row, &rows, NULL), 0);
		if (round == 2)
			CHECK_INT(row[HOSTS - 1].state, PP_CHILD_MISSED);
		free(row);
		kill(pid[HOSTS], SIGCONT);
		clock_kit_nap(100);
	}
	for (int i = 0; i < HOSTS && read(pipes[0], &reported, sizeof(reported)) == sizeof(reported); i++) {
		CHECK(reported.instants > 50);
		CHECK_INT(reported.above, 0);
		CHECK(reported.trips >= 60);
		fprintf(stderr, "tick %d: %lld instants, worst error %lld, largest bound %lld ticks, same %d\n", kind,
		        (long long)reported.instants, (long long)reported.worst, (long long)reported.bound, reported.same);
		/* Who claims to share the root's clock and does not is found out. */
		CHECK_INT(reported.same, reported.moved ? PP_SAME_FALSE : PP_SAME_POSSIBLE);
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

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	CHECK(d != NULL);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static struct pp_clock_link *open_root(uint32_t self)
{
	struct pp_clock_exchange_options o = {.self = self, .parent = self, .more = 4, .count = 10};
	struct pp_clock_link *l = clock_kit_open(PP_TICK_RAW);

	memcpy(o.key, clock_kit_key, sizeof(o.key));
	CHECK_INT(pp_clock_link_join(l, &o, NULL, 0, NULL), 0);
	return l;
}

/* Turns come of the new parent, and what is known is of its clock. One may be lost: to a grant from before the last move. */
static void expect_turn(struct pp_clock_link *root, struct pp_clock_link *l, uint32_t parent, uint64_t *round)
{
	struct pp_clock_link_state state = {0};
	struct pp_pieces p = {0};
	int64_t now;

	for (int i = 0; i < 4000 && pp_clock_link_pieces(l, 1000000000, &p, NULL); i++, clock_kit_nap(1)) {
		if (!pp_clock_link_start(root, *round + 1))
			++*round;
		pp_clock_link_state(l, &state);
		CHECK_INT(state.parent, parent);
	}
	CHECK(p.pieces > 0);
	if (!p.pieces)
		return;
	now = (int64_t)pp_tick_raw();
	CHECK(llabs(pp_pieces_map(&p, now) - now) <= pp_pieces_bound(&p, now));
	pp_pieces_release(&p);
}

/* From one parent to the other and back, also while a turn runs and before any came: no thread and no descriptor is left. */
static void wander_about(void)
{
	static const char address[] = "127.0.0.1";
	struct pp_clock_exchange_options o = {.self = 5, .parent = 0, .more = 4};
	struct pp_clock_link *root[2], *l;
	uint64_t round[2] = {0};
	size_t fds, threads;
	struct pp_pieces p;
	int came;

	pp_clock_link_free(open_root(0)); /* a sanitizer's thread begins with the first */
	clock_kit_nap(10);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	root[0] = open_root(0);
	root[1] = open_root(1);
	l = clock_kit_open(PP_TICK_RAW);
	memcpy(o.key, clock_kit_key, sizeof(o.key));
	CHECK_INT(pp_clock_link_join(l, &o, address, clock_kit_port(root[0]), NULL), 0);
	for (uint32_t i = 1; i <= 12; i++) {
		if (i % 3)
			expect_turn(root[!(i % 2)], l, !(i % 2), &round[!(i % 2)]);
		pp_clock_link_start(root[!(i % 2)], ++round[!(i % 2)]);
		CHECK_INT(pp_clock_link_move(l, i % 2, 0, NULL, 1, NULL), -EINVAL);
		CHECK_INT(pp_clock_link_move(l, i % 2, 0, address, clock_kit_port(root[i % 2]), NULL), 0);
		came = pp_clock_link_pieces(l, 1, &p, NULL); /* the turn before last may still run at this parent, and end now */
		CHECK(came == -ENODATA || came == 0);
		if (came == 0)
			pp_pieces_release(&p);
	}
	expect_turn(root[0], l, 0, &round[0]);
	pp_clock_link_leave(l);
	pp_clock_link_free(l);
	pp_clock_link_free(root[0]);
	pp_clock_link_free(root[1]);
	CHECK_INT(entries("/proc/self/fd"), fds);
	for (int i = 0; i < 1000 && entries("/proc/self/task") > threads; i++)
		clock_kit_nap(1); /* one that was joined is listed a little longer */
	CHECK(entries("/proc/self/task") <= threads);
}

int main(void)
{
	wander_about();
	play(PP_TICK_COUNTER, 0);
	play(PP_TICK_RAW, 1);
	return test_end();
}
