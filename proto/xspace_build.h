/* Events as bytes: one XEvent of an XLine, with its framing. In: pp_xevent. Out: bytes in the caller's buffer.
 * Called by xspace_stream for every event; no allocation, any thread. */
#ifndef PP_PROTO_XSPACE_BUILD_H
#define PP_PROTO_XSPACE_BUILD_H

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
	PP_XMETA_ID = 1,
	PP_XMETA_NAME = 2,
	PP_XMETA_DISPLAY_NAME = 4,
};

/* The oneof of XStat: values are its field numbers. */
enum pp_xstat_kind {
	PP_XSTAT_DOUBLE = 2,
	PP_XSTAT_UINT = 3,
	PP_XSTAT_INT = 4,
	PP_XSTAT_REF = 7, /* id of a stat metadata whose name is the text */
};

struct pp_xstat {
	uint32_t id;   /* 1..2^14-1, so that an event stays below PP_XEVENT_BYTES */
	uint32_t kind; /* enum pp_xstat_kind */
	union {
		uint64_t u;
		int64_t i;
		double d;
	};
};

enum { PP_XEVENT_STATS = 6, PP_XEVENT_BYTES = 144 };

struct pp_xevent {
	uint32_t metadata; /* 1.. */
	uint32_t stats;    /* used of stat[] */
	int64_t offset_ps, duration_ps;
	struct pp_xstat stat[PP_XEVENT_STATS];
};

/* Write the event as field 4 of an XLine; `p` has PP_XEVENT_BYTES bytes of room, all of which may be touched.
 * Returns the end of the event. */
uint8_t *pp_xevent_put(uint8_t *p, const struct pp_xevent *e);
/* The same without instructions of newer processors; for tests and the bench. */
uint8_t *pp_xevent_put_portable(uint8_t *p, const struct pp_xevent *e);

#endif
