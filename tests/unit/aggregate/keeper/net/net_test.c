/* Messages between keepers: a star of four processes, order and delivery through cuts, losing a peer, the port range. */
#include "aggregate/keeper/net/net.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

enum { HOSTS = 4, PIECES = 200, PIECE = 64 << 10, REQUESTS = 40 };

static void fill(unsigned char *bytes, int host, int piece)
{
	for (size_t i = 0; i < PIECE; i++)
		bytes[i] = (unsigned char)(i * 31 + (size_t)host * 7 + (size_t)piece);
}

static void drain(struct pp_net *net)
{
	struct pp_net_event e;

	for (int i = 0; pp_net_unsent(net) && i < 1000; i++)
		pp_net_next(net, 10, &e);
	CHECK(pp_net_unsent(net) == 0);
}

/* A host: answers requests, sends its block through a queue that is too small for it, says goodbye. */
static void be_host(const struct pp_net_invite *invite, int host)
{
	struct pp_wire_rank rank = {host, 1000 + host, PP_WIRE_RUNNING, 5};
	struct pp_wire m = {.kind = PP_WIRE_BLOCK};
	static unsigned char bytes[PIECE];
	struct pp_net_options o = net_options("");
	char name[32];
	struct pp_net *net = NULL;
	struct pp_net_event e;
	int full = 0;

	snprintf(name, sizeof(name), "h%d", host);
	o.host = name;
	o.queue_bytes = 1 << 20;
	CHECK_INT(pp_net_connect(&o, invite, &net, NULL), 0);
	CHECK_INT(pp_net_state(net, &(struct pp_wire_heartbeat){.rank = &rank, .ranks = 1}), 0);
	CHECK(net_await(net, NULL, PP_NET_JOINED, &e));
	CHECK_STR(e.host, "h0");
	CHECK_STR(e.message->hello_ack.session, "s1");
	for (int i = 0; i < REQUESTS; i++) {
		CHECK(net_await(net, NULL, PP_NET_MESSAGE, &e));
		CHECK_INT(e.message->kind, PP_WIRE_REQUEST);
		m = (struct pp_wire){.kind = PP_WIRE_SHARE, .share.gather = e.message->request.number};
		CHECK_INT(pp_net_send(net, 0, &m, NULL), 0);
	}
	CHECK(net_await(net, NULL, PP_NET_MESSAGE, &e));
	CHECK_INT(e.message->kind, PP_WIRE_CLIENT_TEXT);
	for (int i = 0; i < PIECES;) {
		int rc;

		fill(bytes, host, i);
		m = (struct pp_wire){.kind = PP_WIRE_BLOCK};
		m.piece = (struct pp_wire_piece){1, "", (uint64_t)i * PIECE, (uint64_t)PIECES * PIECE, bytes, PIECE};
		rc = pp_net_send(net, 0, &m, NULL);
		CHECK(rc == 0 || rc == -EAGAIN);
		full += rc == -EAGAIN;
		i += rc == 0;
		if (rc)
			pp_net_next(net, 5, &e);
	}
	CHECK(full > 0);
	m = (struct pp_wire){.kind = PP_WIRE_BYE, .bye.reason = "ranks have ended"};
	CHECK_INT(pp_net_send(net, 0, &m, NULL), 0);
	drain(net);
	pp_net_free(net);
}

static void ask_all(struct pp_net *net, uint32_t window)
{
	struct pp_wire m = {.kind = PP_WIRE_REQUEST, .request = {.number = window, .first = 10, .last = 20}};
	struct pp_net_event e;

	for (int p = 0; p < HOSTS - 1; p++)
		CHECK_INT(pp_net_send(net, p, &m, NULL), 0);
	for (int acks = 0; acks < HOSTS - 1; acks++) {
		CHECK(net_await(net, NULL, PP_NET_MESSAGE, &e));
		CHECK_INT(e.message->kind, PP_WIRE_SHARE);
		CHECK(e.message->share.gather == window);
	}
}

TEST(star)
{
	static unsigned char want[PIECE];
	struct pp_net_invite invite;
	struct pp_net *net = net_listen(&invite, 10000);
	pid_t child[HOSTS];
	int pieces[HOSTS] = {0}, host_of[HOSTS] = {0}, left = 0;
	int64_t took[REQUESTS];
	struct pp_net_event e;

	/* Children make a context of their own; the parent's is not touched there. */
	for (int h = 1; h < HOSTS; h++) {
		child[h] = fork();
		if (child[h] == 0) {
			test_failures = 0;
			be_host(&invite, h);
			_exit(test_failures != 0);
		}
	}
	for (int h = 1; h < HOSTS; h++) {
		CHECK(net_await(net, NULL, PP_NET_JOINED, &e));
		CHECK(e.message->hello.ranks == 1 && e.host[0] == 'h');
		host_of[e.peer] = e.message->hello.rank[0].rank;
	}
	for (int i = 0; i < REQUESTS; i++) {
		took[i] = now_us();
		ask_all(net, (uint32_t)i + 1);
		took[i] = now_us() - took[i];
	}
	qsort(took, REQUESTS, sizeof(took[0]), by_size);
	fprintf(stderr, "asked and answered by %d hosts: median %lld us\n", HOSTS - 1, (long long)took[REQUESTS / 2]);
	for (int p = 0; p < HOSTS - 1; p++) {
		struct pp_wire over = {.kind = PP_WIRE_CLIENT_TEXT, .text.client = REQUESTS};

		CHECK_INT(pp_net_send(net, p, &over, NULL), 0);
	}
	while (left < HOSTS - 1 && pp_net_next(net, 10000, &e) == 1) {
		left += e.kind == PP_NET_LEFT;
		if (e.kind != PP_NET_MESSAGE || e.message->kind != PP_WIRE_BLOCK)
			continue;
		fill(want, host_of[e.peer], pieces[e.peer]);
		CHECK(e.message->piece.offset == (uint64_t)pieces[e.peer]++ * PIECE);
		CHECK(e.message->piece.size == PIECE && !memcmp(e.message->piece.bytes, want, PIECE));
	}
	CHECK_INT(left, HOSTS - 1);
	/* A goodbye is acknowledged until it is heard. */
	for (int h = 1; h < HOSTS; h++) {
		int status = 1;

		while (waitpid(child[h], &status, WNOHANG) == 0)
			pp_net_next(net, 10, &e);
		CHECK_INT(status, 0);
		CHECK_INT(pieces[h - 1], PIECES);
	}
	CHECK(pp_net_counts(net).malformed == 0 && pp_net_counts(net).strangers == 0);
	pp_net_free(net);
}

/* Numbered messages in both directions while the line is silent, then broken, for 2 s. */
static void pass_through(int mode)
{
	struct pp_net_invite invite;
	struct pp_net *server = net_listen(&invite, 8000), *client;
	struct pp_net *end[2];
	struct pp_net_event e;
	struct relay relay;
	uint64_t sent[2] = {0, 0}, got[2] = {0, 0};
	int64_t start;

	invite.port = relay_start(&relay, invite.port);
	client = net_connect(&invite, "h1", 8000);
	CHECK(net_await(client, server, PP_NET_JOINED, &e));
	end[0] = server;
	end[1] = client;
	start = now_us();
	for (int64_t at = 0; at < 12000000 && (at < 3000000 || got[0] < sent[1] || got[1] < sent[0]); at = now_us() - start) {
		atomic_store(&relay.mode, at > 500000 && at < 2500000 ? mode : RELAY_ON);
		for (int k = 0; k < 2; k++) {
			struct pp_wire m = {.kind = PP_WIRE_SHARE, .share.gather = sent[k] + 1};

			if (at < 2900000 && pp_net_send(end[k], 0, &m, NULL) == 0)
				sent[k]++;
			while (pp_net_next(end[k], 1, &e) == 1) {
				CHECK(e.kind == PP_NET_MESSAGE || e.kind == PP_NET_JOINED);
				if (e.kind == PP_NET_MESSAGE && e.message->kind == PP_WIRE_SHARE)
					CHECK(e.message->share.gather == ++got[k]);
			}
		}
	}
	CHECK(sent[0] > 100 && sent[1] > 100);
	CHECK(got[0] == sent[1] && got[1] == sent[0]);
	CHECK(pp_net_counts(server).malformed == 0 && pp_net_counts(client).malformed == 0);
	pp_net_free(client);
	pp_net_free(server);
	relay_end(&relay);
}

TEST(cut_for_2_s)
{
	pass_through(RELAY_SILENT);
	pass_through(RELAY_BROKEN);
}

struct seen { /* of one end */
	int lost, back, shares;
};

static int has_seen(const struct seen *s, const struct seen *want)
{
	return s->lost >= want->lost && s->back >= want->back && s->shares >= want->shares;
}

/* Until both ends have seen so much, or 10 s. */
static int see(struct pp_net *const end[2], struct seen seen[2], struct seen want[2])
{
	for (int i = 0; i < 5000; i++) {
		for (int k = 0; k < 2; k++) {
			struct pp_net_event e;

			if (pp_net_next(end[k], 1, &e) != 1)
				continue;
			seen[k].lost += e.kind == PP_NET_LOST && !e.message;
			seen[k].back += e.kind == PP_NET_BACK && e.message->kind == PP_WIRE_HEARTBEAT;
			seen[k].shares += e.kind == PP_NET_MESSAGE && e.message->kind == PP_WIRE_SHARE;
		}
		if (has_seen(&seen[0], &want[0]) && has_seen(&seen[1], &want[1]))
			return 1;
	}
	return 0;
}

/* The listener, or both ends, count the other as lost: they hear each other again, and what was queued before arrives once. */
static void cut_and_back(int both)
{
	struct pp_wire m = {.kind = PP_WIRE_SHARE};
	struct seen seen[2] = {{0}}, lost[2] = {{.lost = 1}, {.lost = both}}, back[2] = {{1, 1, 1}, {both, both, 1}};
	struct pp_net_invite invite;
	struct pp_net *server = net_listen(&invite, 600), *client;
	struct pp_net_event e;
	struct pp_err err = {""};
	struct relay relay;

	invite.port = relay_start(&relay, invite.port);
	client = net_connect(&invite, "h1", both ? 600 : 60000);
	CHECK(net_await(server, client, PP_NET_JOINED, &e));
	atomic_store(&relay.mode, RELAY_SILENT);
	CHECK_INT(pp_net_send(client, 0, &m, NULL), 0);
	CHECK_INT(pp_net_send(server, 0, &m, NULL), 0);
	CHECK(see((struct pp_net *[]){server, client}, seen, lost));
	CHECK_INT(pp_net_send(server, 0, &m, &err), -ENOTCONN);
	CHECK(strstr(err.text, "not there") != NULL);
	atomic_store(&relay.mode, RELAY_ON);
	CHECK(see((struct pp_net *[]){server, client}, seen, back) && !memcmp(seen, back, sizeof(seen)));
	CHECK_INT(pp_net_send(server, 0, &m, NULL), 0);
	CHECK(net_await(client, server, PP_NET_MESSAGE, &e));
	CHECK(pp_net_counts(server).malformed == 0 && pp_net_counts(client).malformed == 0);
	pp_net_free(client);
	pp_net_free(server);
	relay_end(&relay);
}

TEST(cut_for_long)
{
	cut_and_back(0);
	cut_and_back(1);
}

/* An end that had no processor for long, and then sends, does not count the other as lost by its own pause. */
TEST(stopped_itself)
{
	struct pp_wire m = {.kind = PP_WIRE_SHARE, .share.gather = 7};
	struct pp_net_invite invite;
	struct pp_net *server = net_listen(&invite, 600), *client = net_connect(&invite, "h1", 60000);
	struct pp_net_event e;

	CHECK(net_await(server, client, PP_NET_JOINED, &e));
	usleep(1500000);
	pp_net_beat(server);
	CHECK_INT(pp_net_send(server, 0, &m, NULL), 0);
	while (pp_net_next(server, 0, &e) == 1)
		CHECK_INT(e.kind, PP_NET_MESSAGE);
	CHECK(pp_net_silent_ms(server, 0) < 600);
	CHECK(net_await(client, server, PP_NET_MESSAGE, &e) && e.message->share.gather == 7);
	pp_net_free(client);
	pp_net_free(server);
}

TEST(nobody_there)
{
	struct pp_net_invite invite, other;
	struct pp_net *server = net_listen(&invite, 1000), *client;
	struct pp_net_event e;

	/* The first address is a host that takes connections and says nothing, the second is nobody's, the third is right. */
	int silent = loopback_socket(0, 1);

	other = invite;
	pp_net_free(server);
	client = net_connect(&invite, "h1", 300);
	CHECK(net_await(client, NULL, PP_NET_LOST, &e));
	CHECK_STR(e.host, "");
	pp_net_free(client);
	server = net_listen(&invite, 3000);
	CHECK(strcmp(other.client_secret, invite.client_secret) != 0 && strcmp(other.server_public, invite.server_public) != 0);
	invite.addresses = 3;
	snprintf(invite.address[2], sizeof(invite.address[2]), "127.0.0.1");
	snprintf(invite.address[0], sizeof(invite.address[0]), "::1");
	snprintf(invite.address[1], sizeof(invite.address[1]), "127.0.0.2");
	client = net_connect(&invite, "h1", 3000);
	CHECK(net_await(client, server, PP_NET_JOINED, &e));
	CHECK_INT(e.peer, 0);
	pp_net_free(client);
	pp_net_free(server);
	close(silent);
}

TEST(port_range)
{
	struct pp_net_options o = net_options("h0");
	struct pp_net_invite invite;
	struct pp_net *a = NULL, *b = NULL;
	struct pp_err err = {""};
	int taken = loopback_socket(0, 1);
	uint16_t port = port_of(taken);

	o.port_first = o.port_last = port;
	CHECK_INT(pp_net_listen(&o, &invite, &a, &err), -EADDRINUSE);
	CHECK(strstr(err.text, "no free port in") != NULL && !strchr(err.text, '\n'));
	CHECK(a == NULL);
	o.port_last = (uint16_t)(port < 65000 ? port + 8 : 65535);
	CHECK_INT(pp_net_listen(&o, &invite, &b, &err), 0);
	CHECK(invite.port > port && invite.port <= o.port_last);
	pp_net_free(b);
	o.bind = "192.0.2.1"; /* no host has this address */
	CHECK(pp_net_listen(&o, &invite, &a, &err) < 0);
	CHECK(strstr(err.text, "192.0.2.1") != NULL);
	close(taken);
	pp_net_free(NULL);
}

/* A listener without a processor: its port comes through `to`. */
static pid_t stopped_listener(uint16_t *ret_port)
{
	int to[2], status;
	pid_t child;

	CHECK_INT(pipe(to), 0);
	child = fork();
	if (child == 0) {
		struct pp_net_invite invite = {.port = 0};

		net_listen(&invite, 10000);
		if (write(to[1], &invite.port, sizeof(invite.port)) == (ssize_t)sizeof(invite.port))
			raise(SIGSTOP);
		_exit(0);
	}
	CHECK(read(to[0], ret_port, sizeof(*ret_port)) == (ssize_t)sizeof(*ret_port));
	CHECK_INT(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	close(to[0]);
	close(to[1]);
	return child;
}

static int most_pending(void)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
	int most = 128;

	if (f && fscanf(f, "%d", &most) != 1)
		most = 128;
	if (f)
		fclose(f);
	return most;
}

/* The hosts of a job call at once, while the listener has no processor: none has to call again. */
TEST(crowd_while_stopped)
{
	enum { CROWD = 300 };
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd[CROWD], connected = 0;
	uint16_t port = 0;
	pid_t child;

	if (most_pending() <= CROWD) {
		fprintf(stderr, "no crowd: net.core.somaxconn is %d\n", most_pending());
		return;
	}
	child = stopped_listener(&port);
	at.sin_port = htons(port);
	for (int i = 0; i < CROWD; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		CHECK(fd[i] >= 0 && (!connect(fd[i], (struct sockaddr *)&at, sizeof(at)) || errno == EINPROGRESS));
	}
	for (int i = 0; i < CROWD && connected == i; i++)
		connected += poll(&(struct pollfd){.fd = fd[i], .events = POLLOUT}, 1, 10000) == 1;
	CHECK_INT(connected, CROWD);
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	star();
	crowd_while_stopped();
	cut_for_2_s();
	cut_for_long();
	stopped_itself();
	nobody_there();
	port_range();
	return test_end();
}
