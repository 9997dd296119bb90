/* NVTX payloads as numbers or text. In: PAYLOAD records, notes of the ring's header. Out: a span's payload.
 * Internal to aggregate/read; the header may be hostile and change under our eyes. */
#ifndef PP_READ_PAYLOAD_H
#define PP_READ_PAYLOAD_H

#include "aggregate/read/ring/pair.h"

enum { PP_PAYLOAD_TEXT = 1024 };

/* A PAYLOAD record with its bytes: kept until the record of the same tick comes. */
void pp_payload_add(struct pp_lane *lane, const struct pp_record *r, const char *bytes, size_t length);
/* What was kept for the record `r` becomes part of the span; NULL: it is lost. */
void pp_payload_take(struct pp_lane *lane, const struct pp_record *r, struct pp_span *span);
/* A text that stood behind the name of the record: kept in the same way, unless the record has a payload of its own. */
void pp_payload_suffix(struct pp_lane *lane, const struct pp_record *r, const char *text, size_t length);
/* "name=value, name=value" of a flat struct, a number, a text, else "N bytes 0x...". `to` has PP_PAYLOAD_TEXT bytes. */
size_t pp_payload_text(const struct pp_ring_header *h, const struct pp_record_payload *p, const char *bytes, size_t length,
                       char *to);

#endif
