/* What libzmq's archive refers to and podprof never asks of it: multicast (PGM, NORM) and Kerberos. The linker is told to take these
 * for all of cmake/zmq_left_out.list, so that the keeper needs none of their libraries. See cmake/podprofNet.cmake. */
#include <stddef.h>
#include <string.h>

int pp_net_left_out(void);
size_t pp_net_copy_text(char *to, const char *from, size_t size);

/* 1: libzmq starts PGM whether or not it is used, and wants a yes. */
int pp_net_left_out(void)
{
	return 1;
}

/* strlcpy(), which not every libc has. */
size_t pp_net_copy_text(char *to, const char *from, size_t size)
{
	size_t n = strlen(from), room = n < size ? n : size ? size - 1 : 0;

	if (size) {
		memcpy(to, from, room);
		to[room] = '\0';
	}
	return n;
}
