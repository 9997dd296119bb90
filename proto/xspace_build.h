/* Events as bytes: one XEvent of an XLine, with its framing. In: pp_xevent. Out: bytes in the caller's buffer.
 * Called by xspace_stream for every event; no allocation, any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Field numbers of proto/xplane.proto, as they are written. */
enum pp_xfield {
	PP_XSPACE_PLANES = 1,
	PP_XSPACE_WARNINGS = 3,
	PP_XSPACE_HOSTNAMES = 4,
	PP_XPLANE_ID = 1,
	PP_XPLANE_NAME = 2,
	PP_XPLANE_LINES = 3,
	PP_XPLANE_EVENT_METADATA = 4,
	PP_XPLANE_STAT_METADATA = 5,
	PP_XPLANE_STATS = 6,
	PP_XLINE_ID = 1,
	PP_XLINE_NAME = 2,
	PP_XLINE_TIMESTAMP_NS = 3,
	PP_XLINE_EVENTS = 4,
	PP_XEVENT_METADATA = 1,
	PP_XEVENT_OFFSET = 2,
	PP_XEVENT_DURATION = 3,
	PP_XEVENT_STAT = 4,
	PP_XSTAT_METADATA = 1,
	PP_XSTAT_TEXT = 5,
	PP_XMETA_ID = 1,
	PP_XMETA_NAME = 2,
	PP_XMETA_DESCRIPTION = 3, /* of a stat */
	PP_XMETA_DISPLAY_NAME = 4,
};

/* The oneof of XStat: values are the tags of its fields, number << 3 | wire type, as they are written. */
enum pp_xstat_kind {
	PP_XSTAT_DOUBLE = 2 << 3 | 1,
	PP_XSTAT_UINT = 3 << 3,
	PP_XSTAT_INT = 4 << 3,
	PP_XSTAT_REF = 7 << 3, /* id of a stat metadata whose name is the text */
};

/* Eight bytes that are most of the stat as it is written: message's tag, its length, id's tag, id, value's tag. The encoder
 * fills in those that are 0. */
struct pp_xstat {
	uint8_t zero[3];
	uint8_t id;   /* 1..PP_XSTAT_ID_MOST */
	uint8_t kind; /* enum pp_xstat_kind */
	uint8_t unused[3];
	union {
		uint64_t u;
		int64_t i;
		double d;
	};
};

enum { PP_XSTAT_ID_MOST = 127 };

enum { PP_XEVENT_STATS = 6, PP_XEVENT_BYTES = 144 };

struct pp_xevent {
	uint32_t metadata; /* 1.. */
	uint32_t stats;    /* used of stat[] */
	int64_t offset_ps, duration_ps;
	struct pp_xstat stat[PP_XEVENT_STATS];
};

/* An event without stats; those to come are not touched, for most events have few. */
static inline void pp_xevent_init(struct pp_xevent *e, uint32_t metadata, int64_t offset_ps, int64_t duration_ps)
{
	e->metadata = metadata;
	e->stats = 0;
	e->offset_ps = offset_ps;
	e->duration_ps = duration_ps;
}

typedef uint8_t *pp_xevent_encode(uint8_t *p, const struct pp_xevent *e);

/* The body that suits this processor; found by the first call. */
extern pp_xevent_encode *_Atomic pp_xevent_encoder;

/* Write the event as field 4 of an XLine; only the stats that are used need values. `p` has PP_XEVENT_BYTES bytes of room, all
 * of which may be touched. Returns the end of the event. */
static inline uint8_t *pp_xevent_put(uint8_t *p, const struct pp_xevent *e)
{
	return atomic_load_explicit(&pp_xevent_encoder, memory_order_relaxed)(p, e);
}

/* The same without instructions of newer processors; for tests and the bench. */
uint8_t *pp_xevent_put_portable(uint8_t *start, const struct pp_xevent *e);
