/* Payloads that wait for their range, and ranges that get several; see payload.h. Called by pair.c. */
#include "aggregate/read/ring/payload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t intern(struct pp_pair *p, const char *text, size_t length)
{
	uint32_t id = pp_intern_put(p->shared->payloads, text, length);

	if (!id && length)
		p->lost[PP_LOSS_NAME_CUT]++;
	return id;
}

/* Bytes of the text, cut at `size` - 1. */
static size_t as_text(const struct pp_pair *p, uint16_t type, uint64_t bits, char *to, size_t size)
{
	double d;
	float f;
	int n;

	memcpy(&d, &bits, sizeof(d));
	memcpy(&f, &bits, sizeof(f));
	switch (type) {
	case PP_PAYLOAD_UINT64:
		n = snprintf(to, size, "%" PRIu64, bits);
		break;
	case PP_PAYLOAD_INT64:
		n = snprintf(to, size, "%" PRId64, (int64_t)bits);
		break;
	case PP_PAYLOAD_DOUBLE:
		n = snprintf(to, size, "%.15g", d);
		break;
	case PP_PAYLOAD_UINT32:
		n = snprintf(to, size, "%" PRIu32, (uint32_t)bits);
		break;
	case PP_PAYLOAD_INT32:
		n = snprintf(to, size, "%" PRId32, (int32_t)bits);
		break;
	case PP_PAYLOAD_FLOAT:
		n = snprintf(to, size, "%.7g", (double)f);
		break;
	default:
		n = snprintf(to, size, "%s", pp_intern_text(p->shared->payloads, (uint32_t)bits, NULL));
	}
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* *type and *bits get one more; the second makes them a text. */
static void append(struct pp_pair *p, uint16_t *type, uint64_t *bits, uint16_t more_type, uint64_t more)
{
	char text[2 * PP_PAYLOAD_TEXT + 4];
	size_t n, m;

	if (*type == PP_PAYLOAD_NONE) {
		*type = more_type;
		*bits = more;
		return;
	}
	n = as_text(p, *type, *bits, text, PP_PAYLOAD_TEXT);
	text[n] = ';';
	text[n + 1] = ' ';
	m = as_text(p, more_type, more, text + n + 2, PP_PAYLOAD_TEXT);
	*type = PP_PAYLOAD_EXT;
	*bits = intern(p, text, n + 2 + m);
}

void pp_payload_add(struct pp_lane *lane, const struct pp_record *r, const char *bytes, size_t length)
{
	struct pp_pair *p = lane->pair;
	char text[PP_PAYLOAD_TEXT];
	uint64_t bits = 0;

	if (lane->payload_tick != r->tick)
		lane->payload_type = PP_PAYLOAD_NONE;
	lane->payload_tick = r->tick;
	if (r->payload.type == PP_PAYLOAD_EXT)
		bits = intern(p, text, pp_payload_text(p->header, &r->payload, bytes, length, text));
	else if (length <= sizeof(bits) && r->payload.type < PP_PAYLOAD_EXT)
		memcpy(&bits, bytes, length);
	else
		return;
	append(p, &lane->payload_type, &lane->payload, r->payload.type, bits);
}

void pp_payload_suffix(struct pp_lane *lane, const struct pp_record *r, const char *text, size_t length)
{
	uint64_t bits;

	if (lane->payload_type != PP_PAYLOAD_NONE && lane->payload_tick == r->tick)
		return;
	lane->payload_type = PP_PAYLOAD_NONE;
	bits = intern(lane->pair, text, length < PP_PAYLOAD_TEXT ? length : PP_PAYLOAD_TEXT - 1);
	if (!bits)
		return;
	lane->payload_tick = r->tick;
	lane->payload = bits;
	lane->payload_type = PP_PAYLOAD_EXT;
}

void pp_payload_take(struct pp_lane *lane, const struct pp_record *r, struct pp_span *span)
{
	if (lane->payload_type == PP_PAYLOAD_NONE)
		return;
	if (span && lane->payload_tick == r->tick)
		append(lane->pair, &span->payload_type, &span->payload, lane->payload_type, lane->payload);
	lane->payload_type = PP_PAYLOAD_NONE;
}
