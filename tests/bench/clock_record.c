/* Records a run of the clock exchange as rows of text for scripts/clock-picture: two processes on this host over UDP, one in a
 * time namespace two hours ahead where that is allowed, so that the truth is known; then in virtual time with bad clocks. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/clock/clock_socket.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"
#include "tests/unit/aggregate/keeper/clock/clock_sim.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { SECOND = 1000000000, ROUNDS = 7, EVERY_S = 5, TRIPS = 100, INSTANTS = 600 };
static const uint8_t key[PP_CLOCK_KEY] = {1};

struct host { /* who asks: the real state machine on a real socket, and a look at each answer */
	struct pp_clock_socket socket;
	struct pp_clock_address root;
	int64_t moved; /* its clock is so much ahead */
	int64_t first; /* tick of the first round */
};

static int64_t tick(void *ctx)
{
	return pp_clock_socket_tick(&((struct host *)ctx)->socket);
}

static void send_packet(void *ctx, uint32_t to, const uint8_t *packet)
{
	struct host *h = ctx;

	(void)to;
	pp_clock_socket_send(&h->root, packet, PP_CLOCK_PACKET);
}

static const struct pp_clock_ops ops = {.tick = tick, .send = send_packet};

static void print_trip(struct host *h, const uint8_t *bytes, size_t size, int64_t came)
{
	struct pp_clock_packet p;

	if (pp_clock_packet_read(bytes, size, key, &p) || p.kind != PP_CLOCK_PONG)
		return;
	if (!h->first)
		h->first = p.t1;
	/* What a trip says of the root's clock, less the truth: not above `up` at t1, not below `down` when the answer came. */
	printf("trip %llu %lld %lld %lld %lld\n", (unsigned long long)p.sync, (long long)(p.t1 - h->first),
	       (long long)(p.t2 - (p.t1 - h->moved)), (long long)(came - h->first), (long long)(p.t3 - (came - h->moved)));
}

static int64_t next_ms(const struct pp_clock_exchange *x)
{
	int64_t next = pp_clock_exchange_next_ns(x);

	return next == INT64_MAX ? 100 : (next - pp_clock_exchange_now_ns(x)) / 1000000 + 1;
}

static int ask(int64_t moved, uint16_t port)
{
	struct pp_clock_exchange_options o = {.self = 1, .ticks_per_ns = 1};
	struct host h = {.socket = {.kind = PP_TICK_RAW, .ticks_per_ns = 1, .kernel_stamps = 1}, .moved = moved};
	struct pp_clock_address from;
	struct pp_clock_exchange x;
	uint8_t bytes[PP_CLOCK_PACKET + 1];
	struct pp_pieces p;
	int64_t came;
	size_t size;

	memcpy(o.key, key, sizeof(key));
	if (pp_clock_socket_open(&h.socket, "127.0.0.1", 0, 0, NULL) ||
	    pp_clock_socket_address(&h.socket, "127.0.0.1", port, &h.root) || pp_clock_exchange_init(&x, &o, &ops, &h, NULL))
		return 1;
	while (x.turn_sync < ROUNDS || x.turn) {
		struct pollfd fd = {.fd = h.socket.fd, .events = POLLIN};

		pp_clock_exchange_due(&x);
		poll(&fd, 1, (int)next_ms(&x));
		while ((size = pp_clock_socket_receive(&h.socket, bytes, sizeof(bytes), &from, &came))) {
			print_trip(&h, bytes, size, came);
			pp_clock_exchange_packet(&x, bytes, size, came);
		}
	}
	if (pp_band_solve(&x.band, NULL) || pp_pieces_of_band(&x.band, SECOND, &p, NULL))
		return 2;
	for (size_t i = 0; i < x.band.nodes; i++)
		printf("node real %lld %.1f %.1f\n", (long long)(x.band.node[i].x - h.first),
		       (double)(x.band.node[i].y - x.band.node[i].x + moved) + x.band.node[i].low,
		       (double)(x.band.node[i].y - x.band.node[i].x + moved) + x.band.node[i].high);
	for (int i = 0; i < INSTANTS; i++) {
		int64_t at = h.first + (int64_t)((double)(x.band.node[x.band.nodes - 1].x - h.first) * i / (INSTANTS - 1));

		printf("line real %lld %lld %lld\n", (long long)(at - h.first), (long long)(pp_pieces_map(&p, at) - (at - moved)),
		       (long long)pp_pieces_bound(&p, at));
	}
	printf("what real %s\n", moved ? "RAW, two processes over loopback UDP, one in a time namespace 2 h ahead"
	                               : "RAW, two processes over loopback UDP");
	return fflush(stdout) ? 3 : 0;
}

static int move_clock(void)
{
	char text[] = "monotonic 7200 0\n";
	int fd = unshare(CLONE_NEWTIME) ? -1 : open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	int moved = fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1;

	if (fd >= 0)
		close(fd);
	return moved;
}

static int record_real(void)
{
	static const uint32_t child[] = {1};
	struct pp_clock_exchange_options o = {.child = child, .children = 1, .count = TRIPS};
	struct pp_clock_link_options lo = {.kind = PP_TICK_RAW, .ticks_per_ns = 1};
	struct pp_clock_link_state state = {0};
	struct timespec pause = {0, 2000000}, between = {EVERY_S, 0};
	struct pp_clock_link *l = NULL;
	uint16_t port;
	int status = 1, moved;
	pid_t pid;

	memcpy(o.key, key, sizeof(key));
	if (pp_clock_link_open(&lo, &l, NULL) || pp_clock_link_bind(l, "127.0.0.1", &port, NULL) ||
	    pp_clock_link_join(l, &o, NULL, 0, NULL))
		return 1;
	moved = move_clock(); /* of children only: the thread that serves was there before */
	pid = fork();
	if (!pid)
		_exit(ask(moved ? 7200 * (int64_t)SECOND : 0, port));
	for (int i = 0; i < 1000 && !state.answered; i++, nanosleep(&pause, NULL))
		pp_clock_link_state(l, &state);
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		pp_clock_link_start(l, r);
		if (r < ROUNDS)
			nanosleep(&between, NULL);
	}
	waitpid(pid, &status, 0);
	pp_clock_link_free(l);
	return status;
}

static int record_virtual(void)
{
	struct sim s;
	struct pp_pieces p;

	if (sim_open(&s, 2, 4))
		return 1;
	s.host[1].clock = (struct sim_clock){.rate = 1, .offset_ns = 7200 * (int64_t)SECOND, .drift = 137e-6, .sway = 0.5e-6};
	s.host[1].clock.period_ns = 25e9;
	s.host[1].clock.bend_ns = 18 * (int64_t)SECOND;
	s.host[1].clock.bend = 12e-6;
	s.host[1].path = (struct sim_path){22000, 10000, 6000, 500000, 0.1, 0.01};
	sim_connect(&s, TRIPS);
	for (uint64_t r = 1; r <= ROUNDS; r++) {
		sim_round(&s, r, SECOND);
		sim_run(&s, (int64_t)r * EVERY_S * SECOND);
	}
	if (sim_pieces(&s, 1, SECOND, &p, NULL))
		return 2;
	for (size_t i = 0; i < s.host[1].x.band.nodes; i++)
		printf("node virtual %lld %.1f %.1f\n", (long long)i * EVERY_S * SECOND, s.host[1].x.band.node[i].low,
		       s.host[1].x.band.node[i].high);
	for (int i = 0; i < INSTANTS; i++) {
		int64_t at = 40000000 + (int64_t)((double)(ROUNDS - 1) * EVERY_S * SECOND * i / (INSTANTS - 1));
		int64_t x = sim_tick(&s.host[1].clock, at);

		printf("line virtual %lld %lld %lld\n", (long long)at,
		       (long long)(pp_pieces_map(&p, x) - sim_tick(&s.host[0].clock, at)), (long long)pp_pieces_bound(&p, x));
	}
	printf("what virtual simulated: drift 137 ppm, swaying by 0.5 ppm, 12 ppm more from 18 s on; 22 us there, 10 us back, "
	       "losses\n");
	pp_pieces_release(&p);
	sim_close(&s);
	return 0;
}

int main(void)
{
	return record_real() || record_virtual();
}
