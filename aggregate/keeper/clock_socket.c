/* UDP with the kernel's receive stamps; see clock_socket.h. Called by clock_link.c. */
#include "aggregate/keeper/clock_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPENED_MOST = 8 };            /* a keeper has one */
enum { STAMP_MOST_NS = 1000000 };    /* an older stamp is not believed */
static const double SLEW_MOST = 0.1; /* of the wall clock, which stamps are in: chrony goes to 83333 ppm */

/* Those that are open here: a forked child, which writes files, has no use for them. */
static _Atomic int opened[OPENED_MOST];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void be_child(void)
{
	for (int i = 0; i < OPENED_MOST; i++)
		if (opened[i])
			close(atomic_exchange(&opened[i], 0) - 1);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, be_child);
}

/* from, to: fd + 1, 0: none */
static void note(int from, int to)
{
	for (int i = 0, was = from; i < OPENED_MOST; i++, was = from)
		if (atomic_compare_exchange_strong(&opened[i], &was, to))
			return;
}

static int bind_one(struct pp_clock_socket *s, const char *bind_to, uint16_t port)
{
	struct pp_clock_address at;
	socklen_t size = sizeof(at.to);

	if (pp_clock_socket_address(s, bind_to ? bind_to : s->family == AF_INET6 ? "::" : "0.0.0.0", port, &at))
		return -EINVAL;
	if (bind(s->fd, (struct sockaddr *)&at.to, at.size) || getsockname(s->fd, (struct sockaddr *)&at.to, &size))
		return -errno;
	s->port = ntohs(s->family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&at.to)->sin6_port
	                                      : ((struct sockaddr_in *)(void *)&at.to)->sin_port);
	return 0;
}

int pp_clock_socket_open(struct pp_clock_socket *s, const char *bind_to, uint16_t port_first, uint16_t port_last,
                         struct pp_err *err)
{
	int off = 0, on = 1, rc;

	s->family = AF_INET6;
	s->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || setsockopt(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) {
		if (s->fd >= 0)
			close(s->fd);
		s->family = AF_INET;
		s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (s->fd < 0)
		return pp_err_set(err, -errno, "cannot compare clocks: no UDP socket: %s", strerror(errno));
	for (unsigned port = port_first;; port++) {
		rc = bind_one(s, bind_to, (uint16_t)port);
		if (!rc || port >= port_last)
			break;
	}
	if (rc) {
		pp_clock_socket_close(s);
		return pp_err_set(err, rc, "cannot compare clocks: no UDP port of %u to %u is free: %s", (unsigned)port_first,
		                  (unsigned)port_last, strerror(-rc));
	}
	pthread_once(&once, watch_forks);
	note(0, s->fd + 1);
	if (s->kernel_stamps && setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
		s->kernel_stamps = 0;
	return 0;
}

void pp_clock_socket_close(struct pp_clock_socket *s)
{
	if (s->fd >= 0) {
		note(s->fd + 1, 0);
		close(s->fd);
	}
	s->fd = -1;
}

int pp_clock_socket_address(const struct pp_clock_socket *s, const char *numeric, uint16_t port, struct pp_clock_address *ret)
{
	struct pp_clock_address a = {.size = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&a.to;
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)&a.to;
	struct in_addr plain;

	if (s->family == AF_INET6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		if (inet_pton(AF_INET6, numeric, &six->sin6_addr) != 1) {
			if (inet_pton(AF_INET, numeric, &plain) != 1)
				return -EINVAL;
			six->sin6_addr.s6_addr[10] = six->sin6_addr.s6_addr[11] = 255; /* ::ffff:a.b.c.d */
			memcpy(&six->sin6_addr.s6_addr[12], &plain, sizeof(plain));
		}
	} else {
		a.size = sizeof(*four);
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		if (inet_pton(AF_INET, numeric, &four->sin_addr) != 1)
			return -EINVAL;
	}
	*ret = a;
	return 0;
}

int64_t pp_clock_socket_tick(const struct pp_clock_socket *s)
{
	return (int64_t)(s->kind == PP_TICK_RAW ? pp_tick_raw() : pp_tick_counter_after());
}

void pp_clock_socket_send(const struct pp_clock_socket *s, const struct pp_clock_address *to, const void *bytes, size_t size)
{
	/* What cannot be sent now is lost, like a packet on the way: it is asked for again. */
	(void)!sendto(s->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to->to, to->size);
}

static const struct timespec *stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			return (const struct timespec *)(const void *)CMSG_DATA(c);
	return NULL;
}

/* The packet came `age` before now. The age is cut by what a slewed wall clock may have made it longer, so that the tick is never
 * before the packet. */
static int64_t tick_of(const struct pp_clock_socket *s, const struct timespec *stamp)
{
	struct timespec now;
	int64_t tick, age;

	clock_gettime(CLOCK_REALTIME, &now);
	tick = pp_clock_socket_tick(s);
	age = (now.tv_sec - stamp->tv_sec) * (int64_t)1000000000 + now.tv_nsec - stamp->tv_nsec;
	if (age <= 0 || age > STAMP_MOST_NS)
		return tick;
	return tick - (int64_t)((double)age * (1 - SLEW_MOST) * s->ticks_per_ns);
}

size_t pp_clock_socket_receive(const struct pp_clock_socket *s, void *bytes, size_t room, struct pp_clock_address *ret_from,
                               int64_t *ret_tick)
{
	_Alignas(struct cmsghdr) char control[128];
	struct iovec part = {bytes, room};
	struct msghdr m = {.msg_name = &ret_from->to,
	                   .msg_namelen = sizeof(ret_from->to),
	                   .msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = control,
	                   .msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(s->fd, &m, MSG_DONTWAIT);
	const struct timespec *stamp;

	if (size <= 0)
		return 0;
	stamp = s->kernel_stamps ? stamp_of(&m) : NULL;
	*ret_tick = stamp ? tick_of(s, stamp) : pp_clock_socket_tick(s);
	ret_from->size = m.msg_namelen;
	return (size_t)size;
}
