/* A UDP socket with arrival times of its packets. Called by clock_link.c. In: packets and addresses. Out: the same with a tick. */
#pragma once

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
	int kernel_stamps; /* use the kernel's arrival time, not that of our wake-up */
};

struct pp_clock_address { /* an address as one socket reaches it */
	int fd;
	struct sockaddr_storage to;
	socklen_t size;
};

/* Opens the first free port of the range; 0, 0: any. `bind`: a numeric address of this host; packets to other addresses are not
 * received. */
int pp_clock_socket_open(struct pp_clock_socket *s, const char *bind, uint16_t port_first, uint16_t port_last, struct pp_err *err);
void pp_clock_socket_close(struct pp_clock_socket *s);
/* The local address from which the kernel routes packets to another host. -EHOSTUNREACH: no route. */
int pp_clock_socket_local(const char *numeric, char ret_local[PP_CLOCK_NUMERIC]);
/* Parses a numeric address. -EINVAL: it is none, or of a family that the socket does not have. */
int pp_clock_socket_address(const struct pp_clock_socket *s, const char *numeric, uint16_t port, struct pp_clock_address *ret);
int64_t pp_clock_socket_tick(const struct pp_clock_socket *s);
void pp_clock_socket_send(const struct pp_clock_address *to, const void *bytes, size_t size);
/* Bytes of one packet, 0: none. `ret_tick`: not before it arrived. */
size_t pp_clock_socket_receive(const struct pp_clock_socket *s, void *bytes, size_t room, struct pp_clock_address *ret_from,
                               int64_t *ret_tick);
