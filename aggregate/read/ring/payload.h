/* NVTX payloads as numbers or text. In: PAYLOAD records, and the schemas of a ring's header, which may be hostile and change at any
 * time. Out: payloads of spans. Internal to aggregate/read. */
#pragma once

#include <stddef.h>

#include "aggregate/read/ring/track.h"

enum { PP_PAYLOAD_TEXT = 1024 };

/* Adds the payload kept for the record `r` to the span; NULL: drops it. */
void pp_payload_take(struct pp_track *track, const struct pp_record *r, struct pp_span *span);
/* Keeps a text that follows the name of the record in the same way, unless the record has a payload of its own. */
void pp_payload_suffix(struct pp_track *track, const struct pp_record *r, const char *text, size_t length);
/* "name=value, name=value" of a flat struct, a number, a text, else "N bytes 0x...". `to` has PP_PAYLOAD_TEXT bytes. Returns the
 * text's length. */
size_t pp_payload_text(const struct pp_ring_header *h, const struct pp_record_payload *p, const char *bytes, size_t length,
                       char *to);
