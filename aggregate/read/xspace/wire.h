/* Fields of a protobuf message. In: bytes of any origin. Out: fields as they lie there, no copy, no recursion, nothing read past
 * the end. Used by aggregate/read/xspace only. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum pp_wire_type {
	PP_WIRE_VARINT,
	PP_WIRE_FIXED64,
	PP_WIRE_BYTES,
	PP_WIRE_GROUP,
	PP_WIRE_GROUP_END,
	PP_WIRE_FIXED32,
};

enum pp_wire_result {
	PP_WIRE_END, /* no field is left */
	PP_WIRE_FIELD,
	PP_WIRE_CUT, /* the message ends inside the field: of BYTES data and size are what is there, of others nothing is */
	PP_WIRE_BAD, /* no field can begin with these bytes; the rest of the message cannot be read */
};

struct pp_wire { /* what is left of a message */
	const uint8_t *at, *end;
};

struct pp_field {
	uint32_t number, type;
	uint64_t value; /* VARINT, FIXED64, FIXED32 */
	const uint8_t *data;
	size_t size;
};

/* A varint of at most eight bytes, of which `p` has as many to read: its length, 0 where it is longer. */
static inline unsigned pp_wire_short(const uint8_t *p, uint64_t *ret_value)
{
	uint64_t v, more;
	unsigned length;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	more = ~v & 0x8080808080808080u;
	if (!more)
		return 0;
	length = ((unsigned)__builtin_ctzll(more) >> 3) + 1;
	v &= more ^ (more - 1); /* up to the first byte without the mark */
	v = (v & 0x007f007f007f007fu) | (v & 0x7f007f007f007f00u) >> 1;
	v = (v & 0x00003fff00003fffu) | (v & 0x3fff00003fff0000u) >> 2;
	*ret_value = (v & 0x000000000fffffffu) | (v & 0x0fffffff00000000u) >> 4;
	return length;
}

static inline enum pp_wire_result pp_wire_varint(struct pp_wire *w, uint64_t *ret_value)
{
	const uint8_t *p = w->at;
	uint64_t value = 0;
	unsigned length;

	if (p < w->end && *p < 0x80) {
		*ret_value = *p;
		w->at = p + 1;
		return PP_WIRE_FIELD;
	}
	if (w->end - p >= 8 && (length = pp_wire_short(p, ret_value))) {
		w->at = p + length;
		return PP_WIRE_FIELD;
	}
	for (unsigned shift = 0; p < w->end; shift += 7) {
		uint8_t byte = *p++;

		if (shift > 63)
			return PP_WIRE_BAD;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			w->at = p;
			return PP_WIRE_FIELD;
		}
	}
	return PP_WIRE_CUT;
}

static inline enum pp_wire_result pp_wire_fixed(struct pp_wire *w, unsigned bytes, uint64_t *ret_value)
{
	uint64_t value = 0;

	if ((size_t)(w->end - w->at) < bytes)
		return PP_WIRE_CUT;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)w->at[i] << 8 * i;
	w->at += bytes;
	*ret_value = value;
	return PP_WIRE_FIELD;
}

/* Past a group, an old form of message that nobody writes into an XSpace: groups in groups are counted, not entered. */
static inline enum pp_wire_result pp_wire_skip_group(struct pp_wire *w)
{
	uint64_t open = 1, tag, value;

	while (open) {
		enum pp_wire_result r = w->at < w->end ? pp_wire_varint(w, &tag) : PP_WIRE_CUT;

		if (r == PP_WIRE_FIELD && (tag & 7) == PP_WIRE_GROUP)
			open++;
		else if (r == PP_WIRE_FIELD && (tag & 7) == PP_WIRE_GROUP_END)
			open--;
		else if (r == PP_WIRE_FIELD && (tag & 7) == PP_WIRE_VARINT)
			r = pp_wire_varint(w, &value);
		else if (r == PP_WIRE_FIELD && ((tag & 7) == PP_WIRE_FIXED64 || (tag & 7) == PP_WIRE_FIXED32))
			r = pp_wire_fixed(w, (tag & 7) == PP_WIRE_FIXED64 ? 8 : 4, &value);
		else if (r == PP_WIRE_FIELD && (tag & 7) == PP_WIRE_BYTES) {
			r = pp_wire_varint(w, &value);
			if (r == PP_WIRE_FIELD && value > (size_t)(w->end - w->at))
				r = PP_WIRE_CUT;
			if (r == PP_WIRE_FIELD)
				w->at += value;
		} else if (r == PP_WIRE_FIELD) {
			r = PP_WIRE_BAD;
		}
		if (r != PP_WIRE_FIELD)
			return r;
	}
	return PP_WIRE_FIELD;
}

/* The field at w->at, which moves behind it; after CUT and BAD the message is read to its end. */
static inline enum pp_wire_result pp_wire_next(struct pp_wire *w, struct pp_field *f)
{
	enum pp_wire_result r;
	uint64_t tag, size;

	if (w->at >= w->end)
		return PP_WIRE_END;
	f->data = w->end;
	f->size = 0;
	f->value = 0;
	r = pp_wire_varint(w, &tag);
	if (r == PP_WIRE_FIELD && (tag < 8 || tag >> 32))
		r = PP_WIRE_BAD;
	if (r == PP_WIRE_FIELD) {
		f->number = (uint32_t)(tag >> 3);
		f->type = tag & 7;
		switch (f->type) {
		case PP_WIRE_VARINT:
			r = pp_wire_varint(w, &f->value);
			break;
		case PP_WIRE_BYTES:
			r = pp_wire_varint(w, &size);
			if (r != PP_WIRE_FIELD)
				break;
			f->data = w->at;
			f->size = size;
			if (size > (size_t)(w->end - w->at)) {
				f->size = (size_t)(w->end - w->at);
				r = PP_WIRE_CUT;
			}
			w->at += f->size;
			break;
		case PP_WIRE_FIXED64:
			r = pp_wire_fixed(w, 8, &f->value);
			break;
		case PP_WIRE_FIXED32:
			r = pp_wire_fixed(w, 4, &f->value);
			break;
		case PP_WIRE_GROUP:
			r = pp_wire_skip_group(w);
			break;
		default:
			r = PP_WIRE_BAD;
		}
	} else {
		f->type = PP_WIRE_VARINT;
		f->number = 0;
	}
	if (r == PP_WIRE_CUT || r == PP_WIRE_BAD)
		w->at = w->end;
	return r;
}

static inline struct pp_wire pp_wire_of(const struct pp_field *f)
{
	return (struct pp_wire){f->data, f->data + f->size};
}

static inline int pp_field_is(const struct pp_field *f, uint32_t number, enum pp_wire_type type)
{
	return f->number == number && f->type == (uint32_t)type;
}
