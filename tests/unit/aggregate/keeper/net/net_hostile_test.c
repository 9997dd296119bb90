/* Who does not belong to the job: wrong keys, bytes on the bare port, and messages that are malformed, replayed or out of place
 * from somebody who has the keys. Another host of the job stays joined all the time. */
#include "aggregate/keeper/net/net.h"

#include "tests/unit/aggregate/keeper/net/net_insider.h"

enum { FRAMES = 3000, MOST = 64 };

struct pair {
	struct pp_net_invite invite;
	struct pp_net *server, *client;
	int lost;
};

static void start(struct pair *p)
{
	struct pp_net_event e;

	p->lost = 0;
	p->server = net_listen(&p->invite, 5000);
	p->client = net_connect(&p->invite, "good", 5000);
	CHECK(net_await(p->server, p->client, PP_NET_JOINED, &e));
}

static void pump(struct pair *p)
{
	struct pp_net_event e;

	while (pp_net_next(p->server, 1, &e) == 1)
		p->lost += e.kind == PP_NET_LOST && !strcmp(e.host, "good");
	while (pp_net_next(p->client, 0, &e) == 1)
		p->lost += e.kind == PP_NET_LOST;
}

/* The good host is served as if nothing had been. */
static void end(struct pair *p)
{
	struct pp_wire m = {.kind = PP_WIRE_REQUEST, .request.number = 4711};
	struct pp_net_event e;

	CHECK_INT(pp_net_send(p->server, 0, &m, NULL), 0);
	CHECK(net_await(p->client, p->server, PP_NET_MESSAGE, &e));
	CHECK(e.message->request.number == 4711);
	CHECK_INT(p->lost, 0);
	pp_net_free(p->client);
	pp_net_free(p->server);
}

TEST(wrong_keys)
{
	struct pp_net_invite invite;
	struct pair p;
	struct pp_net *stranger;
	struct pp_net_event e;
	int is_lost = 0;

	start(&p);
	/* The server's key is right, the client's is its own. */
	invite = p.invite;
	CHECK_INT(zmq_curve_keypair(invite.client_public, invite.client_secret), 0);
	stranger = net_connect(&invite, "stranger", 1000);
	for (int i = 0; i < 3000 && !is_lost; i++) {
		pump(&p);
		is_lost = pp_net_next(stranger, 1, &e) == 1 && e.kind == PP_NET_LOST;
	}
	CHECK(is_lost);
	CHECK(pp_net_counts(p.server).strangers > 0);
	pp_net_free(stranger);
	/* The client's key is right, the server is another. */
	invite = p.invite;
	CHECK_INT(zmq_curve_keypair(invite.server_public, invite.client_secret), 0);
	memcpy(invite.client_secret, p.invite.client_secret, sizeof(invite.client_secret));
	stranger = net_connect(&invite, "stranger", 1000);
	is_lost = 0;
	for (int i = 0; i < 3000 && !is_lost; i++) {
		pump(&p);
		is_lost = pp_net_next(stranger, 1, &e) == 1 && e.kind == PP_NET_LOST;
	}
	CHECK(is_lost);
	pp_net_free(stranger);
	end(&p);
}

TEST(bytes_on_the_port)
{
	static const char greeting[] =
	        "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct pair p;

	start(&p);
	for (int i = 0; i < 60; i++) {
		unsigned char bytes[4096];
		int fd = loopback_socket(p.invite.port, 0);

		CHECK(fd >= 0);
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)next_random();
		if (i % 3 == 0) /* as ZMTP without a key, then noise */
			memcpy(bytes, greeting, sizeof(greeting) - 1);
		if (i % 3 != 1)
			CHECK(send(fd, bytes, next_random() % sizeof(bytes), MSG_NOSIGNAL) >= 0);
		pump(&p);
		close(fd);
	}
	end(&p);
}

/* What the listener answers. */
static int insider_receives(struct pair *p, struct insider *in, char *ret_refused, size_t size)
{
	for (int i = 0; i < 3000; i++) {
		char bytes[4096];
		struct pp_wire m;
		int n;

		pump(p);
		n = zmq_recv(in->socket, bytes, sizeof(bytes), ZMQ_DONTWAIT);
		if (n < 0 || pp_wire_read(bytes, (size_t)n, &m, NULL) < 0)
			continue;
		snprintf(ret_refused, size, "%s", m.kind == PP_WIRE_HELLO_ACK ? m.hello_ack.refused : "");
		n = m.kind == PP_WIRE_HELLO_ACK;
		pp_wire_release(&m);
		if (n)
			return 1;
	}
	return 0;
}

TEST(not_of_this_job)
{
	struct insider in;
	struct pair p;
	struct pp_wire m;
	char why[300];

	start(&p);
	insider_start(&in, &p.invite, sizeof(in.route));
	m = hello_of(&in);
	m.hello.job = "job 8";
	insider_say(&in, &m);
	CHECK(insider_receives(&p, &in, why, sizeof(why)) && strstr(why, "another job"));
	m = hello_of(&in);
	m.hello.protocol = 99;
	m.hello.version = "9.9";
	insider_say(&in, &m);
	CHECK(insider_receives(&p, &in, why, sizeof(why)) && strstr(why, "protocol 99, not 1: podprof 9.9"));
	CHECK(pp_net_counts(p.server).refused == 2);
	/* A name that is not the sender's, and data before a hello. */
	m = hello_of(&in);
	m.hello.instance++;
	insider_say(&in, &m);
	m = (struct pp_wire){.kind = PP_WIRE_REQUEST, .sequence = 1};
	insider_say(&in, &m);
	for (int i = 0; i < 2000 && pp_net_counts(p.server).malformed < 2; i++)
		pump(&p);
	CHECK_INT(pp_net_counts(p.server).malformed, 2);
	insider_end(&in);
	end(&p);
}

TEST(malformed_and_replayed)
{
	struct insider in, unnamed;
	struct pair p;
	struct pp_wire m;
	struct pp_net_counts counts;
	char why[300];

	start(&p);
	insider_start(&unnamed, &p.invite, 0);
	insider_start(&in, &p.invite, sizeof(in.route));
	m = hello_of(&unnamed);
	insider_say(&unnamed, &m);
	m = hello_of(&in);
	insider_say(&in, &m);
	CHECK(insider_receives(&p, &in, why, sizeof(why)) && why[0] == '\0');
	m = (struct pp_wire){.kind = PP_WIRE_HEARTBEAT};
	insider_say(&in, &m);
	m = (struct pp_wire){.kind = PP_WIRE_SHARE, .sequence = 1};
	for (int i = 0; i < 5; i++)
		insider_say(&in, &m); /* four of them replayed */
	m.sequence = 3;               /* 2 never came */
	insider_say(&in, &m);
	m = (struct pp_wire){.kind = PP_WIRE_HEARTBEAT, .heartbeat.received = UINT64_MAX};
	insider_say(&in, &m);
	m = (struct pp_wire){.kind = PP_WIRE_HELLO_ACK};
	insider_say(&in, &m);
	zmq_send(in.socket, "two", 3, ZMQ_SNDMORE);
	zmq_send(in.socket, "frames", 6, 0);
	for (int i = 0; i < 3000 && pp_net_counts(p.server).malformed < 3; i++)
		pump(&p);
	counts = pp_net_counts(p.server);
	CHECK_INT(counts.replayed, 4);
	CHECK_INT(counts.gaps, 1);
	CHECK_INT(counts.malformed, 3); /* no route of ours, an answer that is not its to give, two frames */
	insider_end(&in);
	insider_end(&unnamed);
	end(&p);
}

TEST(noise_from_inside)
{
	struct insider in;
	struct pair p;
	struct pp_wire m;
	void *bytes = NULL;
	size_t size = 0;

	start(&p);
	insider_start(&in, &p.invite, sizeof(in.route));
	m = hello_of(&in);
	insider_say(&in, &m);
	CHECK_INT(pp_wire_write(&m, &bytes, &size, NULL), 0);
	for (int i = 0; bytes && i < FRAMES; i++) {
		unsigned char copy[512];
		size_t n = next_random() % sizeof(copy);

		for (size_t k = 0; k < sizeof(copy); k++)
			copy[k] = (unsigned char)next_random();
		if (i % 2 && size < sizeof(copy)) {
			memcpy(copy, bytes, size);
			copy[next_random() % size] = (unsigned char)next_random();
			n = size;
		}
		zmq_send(in.socket, copy, n, ZMQ_DONTWAIT);
		if (i % 16 == 0)
			pump(&p);
	}
	pump(&p);
	CHECK(pp_net_counts(p.server).malformed > FRAMES / 4);
	free(bytes);
	insider_end(&in);
	end(&p);
}

/* More bytes than any message has, from somebody with the keys: not taken in, and the line to him is closed. */
TEST(giants)
{
	size_t size = (size_t)8 << 20;
	struct insider in;
	struct pair p;
	struct pp_wire m;
	char *bytes = calloc(1, size), why[300];

	start(&p);
	for (int i = 0; bytes && i < 4; i++) {
		insider_start(&in, &p.invite, sizeof(in.route));
		m = hello_of(&in);
		insider_say(&in, &m);
		CHECK(insider_receives(&p, &in, why, sizeof(why)) && why[0] == '\0');
		CHECK(zmq_send(in.socket, bytes, size >> i, 0) >= 0);
		for (int k = 0; k < 50; k++)
			pump(&p);
		insider_end(&in);
	}
	free(bytes);
	end(&p);
}

/* Many that connect and say nothing, or a byte now and then: who has the keys joins beside them. */
TEST(silent_crowd)
{
	enum { CROWD = 200 };
	struct pp_net_event e;
	struct pp_net *late;
	struct pair p;
	int fd[CROWD];

	start(&p);
	for (int i = 0; i < CROWD; i++) {
		fd[i] = loopback_socket(p.invite.port, 0);
		CHECK(fd[i] >= 0);
		if (i % 2)
			CHECK(send(fd[i], "\xff", 1, MSG_NOSIGNAL) == 1);
		pump(&p);
	}
	late = net_connect(&p.invite, "late", 5000);
	CHECK(net_await(late, p.server, PP_NET_JOINED, &e));
	pp_net_free(late);
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	end(&p);
}

/* What a host said comes again, by another line and in another order: nothing is taken twice, nobody speaks for somebody else. */
TEST(recorded)
{
	struct insider in, copy;
	struct pair p;
	struct pp_wire m;
	char why[300];
	uint64_t malformed;

	start(&p);
	insider_start(&in, &p.invite, sizeof(in.route));
	m = hello_of(&in);
	insider_say(&in, &m);
	CHECK(insider_receives(&p, &in, why, sizeof(why)));
	m = (struct pp_wire){.kind = PP_WIRE_HEARTBEAT};
	insider_say(&in, &m);
	for (uint64_t n = 1; n <= 3; n++) {
		m = (struct pp_wire){.kind = PP_WIRE_REQUEST, .sequence = n};
		insider_say(&in, &m);
	}
	for (int i = 0; i < 200; i++)
		pump(&p);
	malformed = pp_net_counts(p.server).malformed;
	/* The same bytes by another line: it is nobody who has joined, and its hello names somebody else. */
	insider_start(&copy, &p.invite, sizeof(copy.route));
	m = hello_of(&in);
	insider_say(&copy, &m);
	for (uint64_t n = 3; n >= 1; n--) {
		m = (struct pp_wire){.kind = PP_WIRE_REQUEST, .sequence = n};
		insider_say(&copy, &m);
	}
	for (int i = 0; i < 3000 && pp_net_counts(p.server).malformed < malformed + 4; i++)
		pump(&p);
	CHECK_INT(pp_net_counts(p.server).malformed, malformed + 4);
	/* Old ones again, and one from far ahead, by its own line. */
	for (uint64_t n = 3; n >= 1; n--) {
		m = (struct pp_wire){.kind = PP_WIRE_REQUEST, .sequence = n};
		insider_say(&in, &m);
	}
	m = (struct pp_wire){.kind = PP_WIRE_REQUEST, .sequence = UINT64_MAX};
	insider_say(&in, &m);
	for (int i = 0; i < 3000 && pp_net_counts(p.server).gaps < 1; i++)
		pump(&p);
	CHECK_INT(pp_net_counts(p.server).replayed, 3);
	CHECK_INT(pp_net_counts(p.server).gaps, 1);
	insider_end(&copy);
	insider_end(&in);
	end(&p);
}

/* A star has room for so many; who comes later is told. */
TEST(too_many)
{
	static struct insider in[MOST];
	struct pair p;
	char why[300] = "";

	start(&p);
	for (int i = 0; i < MOST; i++) {
		struct pp_wire m;

		insider_start(&in[i], &p.invite, sizeof(in[i].route));
		m = hello_of(&in[i]);
		insider_say(&in[i], &m);
		CHECK(insider_receives(&p, &in[i], why, sizeof(why)));
		CHECK(i < MOST - 1 ? why[0] == '\0' : strstr(why, "at most 64") != NULL);
	}
	for (int i = 0; i < MOST; i++)
		insider_end(&in[i]);
	end(&p);
}

int main(void)
{
	wrong_keys();
	bytes_on_the_port();
	not_of_this_job();
	malformed_and_replayed();
	noise_from_inside();
	giants();
	silent_crowd();
	recorded();
	too_many();
	return test_end();
}
