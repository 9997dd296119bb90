/* Packets of events of a Perfetto trace, the frequent ones, by hand: protobuf-c is slower. In: plain values. Out: bytes
 * as in Trace.packet of proto/perfetto.proto. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_PERFETTO_SEQUENCE = 1 };

enum pp_perfetto_type { PP_PERFETTO_BEGIN = 1, PP_PERFETTO_END, PP_PERFETTO_INSTANT, PP_PERFETTO_COUNTER };

enum pp_perfetto_value { /* field numbers in Annotation */
	                 PP_PERFETTO_YES = 2,
	                 PP_PERFETTO_NUMBER = 4,
	                 PP_PERFETTO_ID = 7,
	                 PP_PERFETTO_TEXT = 17,
};

struct pp_perfetto_annotation {
	uint32_t name; /* interned, 1 to 127 */
	uint32_t type; /* enum pp_perfetto_value */
	uint64_t bits; /* a negative number in two's complement */
};

struct pp_perfetto_event {
	uint64_t time_ns, track;
	enum pp_perfetto_type type;
	uint32_t name, category; /* interned; 0: none */
	double value;            /* of a counter */
	const uint64_t *flow;    /* the first `begins` begin here, the others end here */
	size_t flows, begins;
	const struct pp_perfetto_annotation *annotation;
	size_t annotations;
};

/* The most bytes that the packet takes. */
size_t pp_perfetto_event_room(const struct pp_perfetto_event *e);
/* Writes the packet; returns where it ends. `to` has pp_perfetto_event_room(e) bytes. */
uint8_t *pp_perfetto_event_put(uint8_t *to, const struct pp_perfetto_event *e);
