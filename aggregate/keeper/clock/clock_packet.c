/* Bytes of the clock exchange and their tag; see clock_packet.h. Called by clock_exchange.c and clock_link.c. */
#include "aggregate/keeper/clock/clock_packet.h"

#include <errno.h>

enum { MAGIC = 0x4b434c43, VERSION = 1, TAGGED = PP_CLOCK_PACKET - 8 };

static uint64_t load(const uint8_t *bytes, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static uint8_t *store(uint8_t *bytes, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return bytes + size;
}

static uint64_t turn(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
	for (int i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turn(v[1], 13) ^ v[0];
		v[3] = turn(v[3], 16) ^ v[2];
		v[0] = turn(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = turn(v[3], 21) ^ v[0];
		v[1] = turn(v[1], 17) ^ v[2];
		v[2] = turn(v[2], 32);
	}
}

uint64_t pp_siphash(const uint8_t key[PP_CLOCK_KEY], const void *bytes, size_t size)
{
	uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
	uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
	const uint8_t *byte = bytes;

	for (size_t done = 0; done <= size; done += 8) {
		size_t left = size - done;
		uint64_t word = left >= 8 ? load(byte + done, 8) : load(byte + done, left) | (uint64_t)(size & 255) << 56;

		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
	}
	v[2] ^= 255;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void pp_clock_packet_write(const struct pp_clock_packet *p, const uint8_t key[PP_CLOCK_KEY], uint8_t ret_bytes[PP_CLOCK_PACKET])
{
	uint8_t *to = store(ret_bytes, MAGIC, 4);

	to = store(to, VERSION, 1);
	to = store(to, (uint64_t)p->kind, 1);
	to = store(to, p->count, 2);
	to = store(to, p->from, 4);
	to = store(to, p->to, 4);
	to = store(to, p->sync, 8);
	to = store(to, p->sequence, 4);
	to = store(to, p->budget_us, 4);
	to = store(to, (uint64_t)p->t1, 8);
	to = store(to, (uint64_t)p->t2, 8);
	to = store(to, (uint64_t)p->t3, 8);
	store(to, pp_siphash(key, ret_bytes, TAGGED), 8);
}

int pp_clock_packet_read(const void *bytes, size_t size, const uint8_t key[PP_CLOCK_KEY], struct pp_clock_packet *ret_packet)
{
	const uint8_t *from = bytes;

	if (size != PP_CLOCK_PACKET || load(from, 4) != MAGIC || from[4] != VERSION || from[5] < PP_CLOCK_HELLO ||
	    from[5] > PP_CLOCK_LEAVE || load(from + TAGGED, 8) != pp_siphash(key, from, TAGGED))
		return -EBADMSG;
	*ret_packet = (struct pp_clock_packet){
	        .kind = (enum pp_clock_packet_kind)from[5],
	        .count = (uint16_t)load(from + 6, 2),
	        .from = (uint32_t)load(from + 8, 4),
	        .to = (uint32_t)load(from + 12, 4),
	        .sync = load(from + 16, 8),
	        .sequence = (uint32_t)load(from + 24, 4),
	        .budget_us = (uint32_t)load(from + 28, 4),
	        .t1 = (int64_t)load(from + 32, 8),
	        .t2 = (int64_t)load(from + 40, 8),
	        .t3 = (int64_t)load(from + 48, 8),
	};
	return 0;
}
