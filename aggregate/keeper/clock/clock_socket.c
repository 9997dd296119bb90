/* UDP with the kernel's receive stamps; see clock_socket.h. Called by clock_link.c. */
#include "aggregate/keeper/clock/clock_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAMP_MOST_NS = 1000000 };    /* an older timestamp is not used */
static const double SLEW_MOST = 0.1; /* largest slew of the wall clock, which the timestamps are in: chrony goes to 83333 ppm */

static int family_of(const char *numeric)
{
	return strchr(numeric, ':') ? AF_INET6 : AF_INET;
}

static int bind_one(struct pp_clock_socket *s, const char *bind_to, uint16_t port)
{
	struct pp_clock_address at;
	socklen_t size = sizeof(at.to);

	if (pp_clock_socket_address(s, bind_to, port, &at))
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
	int on = 1, rc;

	s->family = family_of(bind_to);
	snprintf(s->address, sizeof(s->address), "%s", bind_to);
	s->fd = socket(s->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return pp_err_set(err, -errno, "cannot compare clocks: no UDP socket: %s", strerror(errno));
	for (unsigned port = port_first;; port++) {
		rc = bind_one(s, bind_to, (uint16_t)port);
		if (!rc || port >= port_last)
			break;
	}
	if (rc) {
		pp_clock_socket_close(s);
		return pp_err_set(err, rc, "cannot compare clocks: no UDP port of %u to %u is free at %s: %s", (unsigned)port_first,
		                  (unsigned)port_last, bind_to, strerror(-rc));
	}
	if (s->kernel_stamps && setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
		s->kernel_stamps = 0;
	return 0;
}

void pp_clock_socket_close(struct pp_clock_socket *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int pp_clock_socket_local(const char *numeric, char ret_local[PP_CLOCK_NUMERIC])
{
	struct pp_clock_socket s = {.family = family_of(numeric)};
	struct pp_clock_address at;
	socklen_t size = sizeof(at.to);
	int rc = -EINVAL;

	if (pp_clock_socket_address(&s, numeric, 9, &at)) /* nothing is sent: the port is as good as any */
		return rc;
	s.fd = socket(s.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s.fd < 0)
		return -errno;
	if (connect(s.fd, (struct sockaddr *)&at.to, at.size) || getsockname(s.fd, (struct sockaddr *)&at.to, &size))
		rc = -EHOSTUNREACH;
	else if (inet_ntop(s.family,
	                   s.family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)(void *)&at.to)->sin6_addr
	                                        : (void *)&((struct sockaddr_in *)(void *)&at.to)->sin_addr,
	                   ret_local, PP_CLOCK_NUMERIC))
		rc = 0;
	close(s.fd);
	return rc;
}

int pp_clock_socket_address(const struct pp_clock_socket *s, const char *numeric, uint16_t port, struct pp_clock_address *ret)
{
	struct pp_clock_address a = {.fd = s->fd, .size = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&a.to;
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)&a.to;

	if (s->family == AF_INET6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		if (inet_pton(AF_INET6, numeric, &six->sin6_addr) != 1)
			return -EINVAL;
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
	return (int64_t)pp_tick_read(s->kind);
}

void pp_clock_socket_send(const struct pp_clock_address *to, const void *bytes, size_t size)
{
	/* A packet that cannot be sent now is lost, like one on the network: the exchange retries. */
	(void)!sendto(to->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to->to, to->size);
}

static const struct timespec *stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			return (const struct timespec *)(const void *)CMSG_DATA(c);
	return NULL;
}

/* The packet arrived `age` before now. The age is reduced by what a slewed wall clock may have added to it, so that the tick is
 * never before the packet. */
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
	ret_from->fd = s->fd;
	ret_from->size = m.msg_namelen;
	return (size_t)size;
}
