/* A UDP socket that knows when its packets came. Called by clock_link.c. In: packets and addresses. Out: the same with a tick. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/base/tick.h"

enum { PP_CLOCK_NUMERIC = 48 };

struct pp_clock_socket {
	int fd, family;
	char address[PP_CLOCK_NUMERIC]; /* its own */
	uint16_t port;
	enum pp_tick_kind kind;
	double ticks_per_ns;
	int kernel_stamps; /* when the kernel had the packet, instead of when we were awake */
};

struct pp_clock_address { /* as it is reached from one socket */
	int fd;
	struct sockaddr_storage to;
	socklen_t size;
};

/* First free port of the range; 0, 0: any. `bind`: a numeric address of this host; what comes to another is not heard. */
int pp_clock_socket_open(struct pp_clock_socket *s, const char *bind, uint16_t port_first, uint16_t port_last, struct pp_err *err);
void pp_clock_socket_close(struct pp_clock_socket *s);
/* The address of this host that packets to another one come from, by the kernel's routes. -EHOSTUNREACH: by none. */
int pp_clock_socket_local(const char *numeric, char ret_local[PP_CLOCK_NUMERIC]);
/* Of a numeric address. -EINVAL: it is none, or of a family that the socket has not. */
int pp_clock_socket_address(const struct pp_clock_socket *s, const char *numeric, uint16_t port, struct pp_clock_address *ret);
int64_t pp_clock_socket_tick(const struct pp_clock_socket *s);
void pp_clock_socket_send(const struct pp_clock_address *to, const void *bytes, size_t size);
/* Bytes of one packet, 0: none waits. `ret_tick`: not before it came. */
size_t pp_clock_socket_receive(const struct pp_clock_socket *s, void *bytes, size_t room, struct pp_clock_address *ret_from,
                               int64_t *ret_tick);
