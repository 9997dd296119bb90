/* Packets of events of a Perfetto trace; see perfetto_build.h. The lengths of the packet and of its event stand before them, in as
 * few bytes as they need: the event is written behind the most that its head can take, then moved down to it. */
#include "proto/perfetto_build.h"

#include <string.h>

#include "proto/varint.h"

enum { VARINT, FIXED64, BYTES };
enum { HEAD_MAX = 64, EVENT_MAX = 80, ANNOTATION_MAX = 24, FLOW_BYTES = 10, NEEDS_STATE = 2 };

static uint8_t *tag(uint8_t *p, unsigned field, unsigned wire)
{
	return pp_varint_put(p, field << 3 | wire);
}

static uint8_t *number(uint8_t *p, unsigned field, uint64_t value)
{
	return pp_varint_put(tag(p, field, VARINT), value);
}

static uint8_t *fixed(uint8_t *p, unsigned field, uint64_t bits)
{
	p = tag(p, field, FIXED64);
	for (int i = 0; i < 8; i++)
		*p++ = (uint8_t)(bits >> 8 * i);
	return p;
}

size_t pp_perfetto_event_room(const struct pp_perfetto_event *e)
{
	return HEAD_MAX + EVENT_MAX + e->annotations * ANNOTATION_MAX + e->flows * FLOW_BYTES;
}

static uint8_t *put_annotation(uint8_t *p, const struct pp_perfetto_annotation *n)
{
	uint8_t *length = tag(p, 4, BYTES), *begin = length + 1; /* below 128: one byte */

	p = number(begin, 1, n->name);
	p = number(p, n->type, n->bits);
	*length = (uint8_t)(p - begin);
	return p;
}

static uint8_t *put_event(uint8_t *p, const struct pp_perfetto_event *e)
{
	if (e->category)
		p = number(p, 3, e->category);
	for (size_t i = 0; i < e->annotations; i++)
		p = put_annotation(p, &e->annotation[i]);
	p = number(p, 9, e->type);
	if (e->name)
		p = number(p, 10, e->name);
	p = number(p, 11, e->track);
	if (e->type == PP_PERFETTO_COUNTER) {
		uint64_t bits;

		memcpy(&bits, &e->value, sizeof(bits));
		p = fixed(p, 44, bits);
	}
	for (size_t i = 0; i < e->flows; i++)
		p = fixed(p, i < e->begins ? 47 : 48, e->flow[i]);
	return p;
}

uint8_t *pp_perfetto_event_put(uint8_t *to, const struct pp_perfetto_event *e)
{
	uint8_t *event = to + HEAD_MAX, head[HEAD_MAX], *p;
	const size_t size = (size_t)(put_event(event, e) - event);

	p = number(head, 8, e->time_ns);
	p = number(p, 10, PP_PERFETTO_SEQUENCE);
	p = number(p, 13, NEEDS_STATE);
	p = pp_varint_put(tag(p, 11, BYTES), size);
	to = pp_varint_put(tag(to, 1, BYTES), (size_t)(p - head) + size);
	memcpy(to, head, (size_t)(p - head));
	to += p - head;
	memmove(to, event, size);
	return to + size;
}
