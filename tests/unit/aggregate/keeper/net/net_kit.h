/* Two ends of a net in one process, and a relay between them that can be cut. Used by net_test.c and net_hostile_test.c. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregate/keeper/net/net.h"
#include "tests/test.h"

static inline int loopback_socket(uint16_t port, int listens)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listens ? bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 16)
	            : connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline uint16_t port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t size = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &size) ? 0 : ntohs(a.sin_port);
}

enum { RELAY_ON, RELAY_SILENT, RELAY_BROKEN, RELAY_END }; /* silent: nothing passes; broken: connections end, none comes up */

struct relay {
	int listen_fd;
	uint16_t target;
	_Atomic int mode;
	int pair[8][2];
	int pairs;
	pthread_t thread;
};

static inline void relay_close(struct relay *r)
{
	for (int i = 0; i < r->pairs; i++) {
		close(r->pair[i][0]);
		close(r->pair[i][1]);
	}
	r->pairs = 0;
}

static inline int relay_pass(int from, int to)
{
	static _Thread_local char buffer[65536];
	ssize_t n = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT), at = 0;

	while (at < n) {
		ssize_t put = send(to, buffer + at, (size_t)(n - at), MSG_NOSIGNAL);

		if (put <= 0)
			return -1;
		at += put;
	}
	return n > 0 || (n < 0 && errno == EAGAIN) ? 0 : -1;
}

static inline void *relay_run(void *data)
{
	struct relay *r = data;

	for (int mode; (mode = atomic_load(&r->mode)) != RELAY_END;) {
		struct pollfd p[17] = {{.fd = mode == RELAY_SILENT ? -1 : r->listen_fd, .events = POLLIN}};

		if (mode == RELAY_BROKEN)
			relay_close(r);
		for (int i = 0; i < r->pairs * 2; i++)
			p[i + 1] = (struct pollfd){.fd = mode == RELAY_ON ? r->pair[i / 2][i % 2] : -1, .events = POLLIN};
		poll(p, (nfds_t)(r->pairs * 2 + 1), 10);
		for (int i = 0; i < r->pairs * 2; i++)
			if (p[i + 1].revents && relay_pass(r->pair[i / 2][i % 2], r->pair[i / 2][1 - i % 2]) < 0) {
				relay_close(r);
				break;
			}
		if (p[0].revents) {
			int in = accept(r->listen_fd, NULL, NULL),
			    out = mode == RELAY_ON && r->pairs < 8 ? loopback_socket(r->target, 0) : -1;

			if (out < 0) {
				close(in);
				continue;
			}
			r->pair[r->pairs][0] = in;
			r->pair[r->pairs++][1] = out;
		}
	}
	relay_close(r);
	close(r->listen_fd);
	return NULL;
}

static inline uint16_t relay_start(struct relay *r, uint16_t target)
{
	*r = (struct relay){.listen_fd = loopback_socket(0, 1), .target = target};
	CHECK(r->listen_fd >= 0);
	CHECK_INT(pthread_create(&r->thread, NULL, relay_run, r), 0);
	return port_of(r->listen_fd);
}

static inline void relay_end(struct relay *r)
{
	atomic_store(&r->mode, RELAY_END);
	pthread_join(r->thread, NULL);
}

static inline struct pp_net_options net_options(const char *host)
{
	return (struct pp_net_options){.job = "job 7",
	                               .host = host,
	                               .version = "0.1.0",
	                               .session = "s1",
	                               .bind = "127.0.0.1",
	                               .heartbeat_ms = 100,
	                               .peers_most = 64};
}

static inline struct pp_net *net_listen(struct pp_net_invite *ret_invite, int64_t dead_ms)
{
	struct pp_net_options o = net_options("h0");
	struct pp_net *net = NULL;
	struct pp_err err = {""};

	o.dead_ms = dead_ms;
	CHECK_INT(pp_net_listen(&o, ret_invite, &net, &err), 0);
	CHECK_STR(err.text, "");
	snprintf(ret_invite->address[0], sizeof(ret_invite->address[0]), "127.0.0.1");
	ret_invite->addresses = 1;
	return net;
}

static inline struct pp_net *net_connect(const struct pp_net_invite *invite, const char *host, int64_t dead_ms)
{
	struct pp_net_options o = net_options(host);
	struct pp_net *net = NULL;
	struct pp_err err = {""};

	o.dead_ms = dead_ms;
	CHECK_INT(pp_net_connect(&o, invite, &net, &err), 0);
	CHECK_STR(err.text, "");
	return net;
}

/* Pump both until `net` has an event of this kind that is not a heartbeat. 0: it did not come within 10 s. */
static inline int net_await(struct pp_net *net, struct pp_net *other, enum pp_net_event_kind kind, struct pp_net_event *e)
{
	for (int i = 0; i < 1000; i++) {
		struct pp_net_event ignored;

		if (other)
			pp_net_next(other, 0, &ignored);
		while (pp_net_next(net, other ? 5 : 10, e) == 1)
			if (e->kind == kind && (kind != PP_NET_MESSAGE || e->message->kind != PP_WIRE_HEARTBEAT))
				return 1;
	}
	return 0;
}

static inline int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}
