/* The packets of the clock exchange: 64 bytes, keyed. Called by clock_exchange.c and clock_link.c. In: fields. Out: bytes with a
 * SipHash-2-4 tag under the job's key, so that a stranger's timestamps are dropped unread. A replayed packet is harmless: a late
 * timestamp only widens the band. Little endian. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_CLOCK_PACKET = 64, PP_CLOCK_KEY = 16 };

enum pp_clock_packet_kind {                     /* append only */
	                    PP_CLOCK_HELLO = 1, /* child to parent, until it is granted a turn */
	                    PP_CLOCK_GRANT =
	                            2,         /* parent to child: your turn. t1: the parent's ticks per second; count, budget_us */
	                    PP_CLOCK_PING = 3, /* t1 */
	                    PP_CLOCK_PONG = 4, /* t1 as received, t2, t3 */
	                    PP_CLOCK_DONE = 5, /* child to parent: turn over. count: trips completed */
	                    PP_CLOCK_LEAVE = 6, /* child to parent: grant no more turns */
};

struct pp_clock_packet {
	enum pp_clock_packet_kind kind;
	uint16_t count;
	uint32_t from, to; /* domains */
	uint64_t sync;     /* which round */
	uint32_t sequence, budget_us;
	int64_t t1, t2, t3;
};

/* All of `ret_bytes`, with the tag. */
void pp_clock_packet_write(const struct pp_clock_packet *p, const uint8_t key[PP_CLOCK_KEY], uint8_t ret_bytes[PP_CLOCK_PACKET]);
/* 0, or -EBADMSG: not ours. */
int pp_clock_packet_read(const void *bytes, size_t size, const uint8_t key[PP_CLOCK_KEY], struct pp_clock_packet *ret_packet);

/* SipHash-2-4 of Aumasson and Bernstein, 64 bits. */
uint64_t pp_siphash(const uint8_t key[PP_CLOCK_KEY], const void *bytes, size_t size);
