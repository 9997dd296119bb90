/* Messages of who compares its clock with whom, to fields of protobuf-c and back. Called by message.c. */
#include "proto/message_clock.h"

void pp_wire_fill_compare(Podprof__Compare *c, const struct pp_wire_compare *from)
{
	podprof__compare__init(c);
	c->domain = from->domain;
	c->port = from->port;
	c->key = (ProtobufCBinaryData){from->key_size, (uint8_t *)(uintptr_t)from->key};
	c->same = from->same != 0;
	c->parent = from->parent;
	c->addresses = TEXT(from->addresses);
	c->host = TEXT(from->host);
	c->hops = from->hops;
	c->serves = from->serves != 0;
}

struct pp_wire_compare pp_wire_take_compare(const Podprof__Compare *c)
{
	return (struct pp_wire_compare){.domain = c->domain,
	                                .port = c->port,
	                                .key = c->key.data,
	                                .key_size = c->key.len,
	                                .same = c->same,
	                                .parent = c->parent,
	                                .hops = c->hops,
	                                .addresses = c->addresses,
	                                .host = c->host,
	                                .serves = c->serves};
}

void pp_wire_fill_clock(Podprof__Clock *c, const struct pp_wire_told *from)
{
	podprof__clock__init(c);
	c->round = from->round;
	c->parent = from->parent;
	c->port = from->port;
	c->addresses = TEXT(from->addresses);
	c->verdict = from->verdict;
	c->lost = from->lost != 0;
	c->chain = (ProtobufCBinaryData){from->chain_size, (uint8_t *)(uintptr_t)from->chain};
}

struct pp_wire_told pp_wire_take_clock(const Podprof__Clock *c)
{
	return (struct pp_wire_told){.round = c->round,
	                             .parent = c->parent,
	                             .port = c->port,
	                             .verdict = c->verdict,
	                             .addresses = c->addresses,
	                             .lost = c->lost,
	                             .chain = c->chain.data,
	                             .chain_size = c->chain.len};
}

const char *pp_wire_clock_fault(const struct pp_wire *m)
{
	const struct pp_wire_compare *c = &m->compare;

	if (m->kind == PP_WIRE_COMPARE && (c->key_size != PP_WIRE_KEY || !c->port || c->port > UINT16_MAX))
		return "a port or a key that is none";
	if (m->kind == PP_WIRE_COMPARE && (!c->domain || c->domain == c->parent || c->hops > UINT16_MAX))
		return "a place among the clocks that is none";
	if (m->kind == PP_WIRE_CLOCK && (m->clock.port > UINT16_MAX || m->clock.chain_size > PP_WIRE_CHAIN))
		return "a port that is none, or a chain that is too long";
	return NULL;
}
