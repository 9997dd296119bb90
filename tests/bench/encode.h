/* One plane of events as plain data, and what protobuf C++ makes of it. In: arrays of struct encode_event. Out: bytes, or the
 * events read back. Used by the bench of the encoder and by the test that reads its bytes back; the C++ side is
 * encode_protobuf.cc. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ENCODE_STATS = 6 };

/* Field numbers of the oneof in XStat. */
enum encode_kind { ENCODE_NONE, ENCODE_DOUBLE = 2, ENCODE_UINT, ENCODE_INT, ENCODE_REF = 7 };

struct encode_event {
	int64_t metadata, offset_ps, duration_ps;
	uint32_t stats;
	struct encode_stat {
		int64_t id;
		int kind; /* enum encode_kind */
		uint64_t bits;
	} stat[ENCODE_STATS];
};

/* What the bench encodes: an event with three integers, as both writers get it. */
struct encode_source {
	uint32_t metadata;
	int64_t offset_ps, duration_ps;
	uint64_t value[3];
};

/* Ways to build and serialise with protobuf C++: what a careful program would do, from the plainest to the most frugal. */
enum encode_way {
	ENCODE_FRESH,  /* a new XLine on the heap for each batch */
	ENCODE_ARENA,  /* an XLine on an arena whose first block is kept and reused, rows reserved */
	ENCODE_REUSED, /* one XLine for ever, Clear() before each batch: its events and stats are reused, rows reserved */
	ENCODE_WAYS
};

/* A batch of events as one XLine, serialised with SerializeToArray into `to`; bytes written. */
size_t encode_protobuf(enum encode_way way, const struct encode_source *e, size_t events, uint32_t stats, uint8_t *to, size_t room);
/* Only serialise the tree that the last ENCODE_REUSED left. */
size_t encode_protobuf_again(uint8_t *to, size_t room);
const char *encode_protobuf_version(void);

/* The events of line `line` of plane `plane` of an XSpace, at most `room`; how many there are, or -1: protobuf refuses the bytes.
 * `text` is filled with all names of the space in file order, separated by newlines. */
long encode_protobuf_read(const uint8_t *bytes, size_t size, int plane, int line, struct encode_event *ret, size_t room, char *text,
                          size_t text_room);
/* The same events in one line of one plane, as protobuf C++ writes an XSpace. */
size_t encode_protobuf_space(const struct encode_event *e, size_t events, uint8_t *to, size_t room);
/* One XEvent as protobuf C++ writes it, without framing. */
size_t encode_protobuf_event(const struct encode_event *e, uint8_t *to, size_t room);

#ifdef __cplusplus
}
#endif
