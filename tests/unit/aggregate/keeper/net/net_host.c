/* A keeper's part on one virtual host, run by net_hosts.py: net_host DIR listen HOSTS | net_host DIR join NAME. They know the
 * directory only. The listener asks all hosts 40 times, says "pieces" and takes a block of 400 pieces from each. */
#include "aggregate/keeper/net/rendezvous.h"

#include <errno.h>
#include <unistd.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

enum { ROUNDS = 40, PIECES = 400, PIECE = 8192, DEAD_MS = 15000 };

static void ask(struct pp_net *net, int hosts)
{
	struct pp_wire m = {.kind = PP_WIRE_REQUEST, .request = {.first = 10, .last = 20}};
	struct pp_net_event e;
	int64_t took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		took[i] = now_us();
		for (int p = 0; p < hosts; p++)
			CHECK_INT(pp_net_send(net, p, &m, NULL), 0);
		for (int p = 0; p < hosts; p++)
			CHECK(net_await(net, NULL, PP_NET_MESSAGE, &e) && e.message->kind == PP_WIRE_SHARE);
		took[i] = now_us() - took[i];
	}
	qsort(took, ROUNDS, sizeof(took[0]), by_size);
	fprintf(stderr, "asked and answered by %d hosts: median %lld us\n", hosts, (long long)took[ROUNDS / 2]);
}

static void listen_for(const char *dir, int hosts)
{
	struct pp_net_options o = net_options("h0");
	struct pp_net_invite invite;
	struct pp_net *net = NULL;
	struct pp_net_event e;
	struct pp_wire m = {.kind = PP_WIRE_CLIENT_TEXT};
	int pieces[PP_NET_PEERS] = {0}, left = 0;

	o.bind = NULL;
	o.dead_ms = DEAD_MS;
	CHECK_INT(pp_rendezvous_addresses(&invite, NULL), 0);
	CHECK_INT(pp_net_listen(&o, &invite, &net, NULL), 0);
	CHECK_INT(pp_rendezvous_write(dir, &invite, NULL), 0);
	for (int p = 0; p < hosts; p++)
		CHECK(net_await(net, NULL, PP_NET_JOINED, &e));
	if (test_failures)
		return;
	ask(net, hosts);
	puts("pieces");
	fflush(stdout);
	for (int p = 0; p < hosts; p++)
		CHECK_INT(pp_net_send(net, p, &m, NULL), 0);
	while (left < hosts && pp_net_next(net, 2 * DEAD_MS, &e) == 1) {
		CHECK(e.kind == PP_NET_MESSAGE || e.kind == PP_NET_LEFT);
		if (e.kind == PP_NET_LEFT)
			left++;
		else if (e.message->kind == PP_WIRE_BLOCK)
			CHECK(e.message->piece.offset == (uint64_t)pieces[e.peer]++ * PIECE);
	}
	for (int64_t end = now_us() + 500000; now_us() < end;)
		pp_net_next(net, 50, &e);
	CHECK_INT(left, hosts);
	for (int p = 0; p < hosts; p++)
		CHECK_INT(pieces[p], PIECES);
	fprintf(stderr, "sent again %d times\n", (int)pp_net_counts(net).resent);
	pp_rendezvous_remove(dir, &invite);
	pp_net_free(net);
}

static void join_in(const char *dir, const char *name)
{
	static unsigned char bytes[PIECE];
	struct pp_wire m = {.kind = PP_WIRE_SHARE};
	struct pp_net_invite invite;
	struct pp_net_event e;
	struct pp_net *net;
	int64_t start;

	for (int i = 0; i < 1000 && pp_rendezvous_read(dir, "job 7", &invite, NULL) == -ETIMEDOUT; i++)
		usleep(10000);
	CHECK_INT(pp_rendezvous_read(dir, "job 7", &invite, NULL), 0);
	net = net_connect(&invite, name, DEAD_MS);
	CHECK(net_await(net, NULL, PP_NET_JOINED, &e));
	while (!test_failures && net_await(net, NULL, PP_NET_MESSAGE, &e) && e.message->kind == PP_WIRE_REQUEST)
		CHECK_INT(pp_net_send(net, 0, &m, NULL), 0);
	start = now_us();
	for (int i = 0; i < PIECES && !test_failures; i++) {
		m = (struct pp_wire){.kind = PP_WIRE_BLOCK};
		m.piece = (struct pp_wire_piece){1, "", (uint64_t)i * PIECE, (uint64_t)PIECES * PIECE, bytes, PIECE};
		CHECK_INT(pp_net_send(net, 0, &m, NULL), 0);
		do /* 3 s in all: the cut falls into it */
			pp_net_next(net, 8, &e);
		while (now_us() < start + (int64_t)i * 8000);
	}
	m = (struct pp_wire){.kind = PP_WIRE_BYE};
	CHECK_INT(pp_net_send(net, 0, &m, NULL), 0);
	for (int64_t end = now_us() + 20000000; pp_net_unsent(net) && now_us() < end;)
		pp_net_next(net, 10, &e);
	CHECK(pp_net_unsent(net) == 0);
	pp_net_free(net);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	if (!strcmp(argv[2], "listen"))
		listen_for(argv[1], (int)strtol(argv[3], NULL, 10));
	else
		join_in(argv[1], argv[3]);
	return test_end();
}
