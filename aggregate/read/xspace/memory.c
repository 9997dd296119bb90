/* Reads an allocator's event; see memory.h. */
#include "aggregate/read/xspace/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/read/xspace/value.h"
#include "core/base/grow.h"
#include "core/capture/side.h"

/* Numbers of tensorflow.DataType. */
static uint32_t name_of_type(struct pp_xread *x, uint64_t type)
{
	static const char *const name[] = {"",           "float",  "double",    "int32",   "uint8",   "int16",
	                                   "int8",       "string", "complex64", "int64",   "bool",    "qint8",
	                                   "quint8",     "qint32", "bfloat16",  "qint16",  "quint16", "uint16",
	                                   "complex128", "half",   "resource",  "variant", "uint32",  "uint64"};
	char other[32];

	if (type < sizeof(name) / sizeof(name[0]))
		return pp_intern_put(x->names, name[type], strlen(name[type]));
	snprintf(other, sizeof(other), "type %" PRIu64, type);
	return pp_intern_put(x->names, other, strlen(other));
}

static uint32_t name_of_number(struct pp_xread *x, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, (int64_t)number);
	return pp_intern_put(x->names, text, strlen(text));
}

static void take_stat(struct pp_xread *x, const struct pp_xvalue *v, enum pp_xs_kind kind, struct pp_allocation *a)
{
	switch (kind) {
	case PP_XS_ALLOCATOR: /* of several names the last one counts, as in xprof */
		a->allocator = pp_xvalue_text(x, v);
		break;
	case PP_XS_ALLOCATOR_NUMBER:
		a->allocator = name_of_number(x, v->number);
		break;
	case PP_XS_OP:
		a->op = pp_xvalue_text(x, v);
		break;
	case PP_XS_REGION:
		a->region = pp_xvalue_text(x, v);
		break;
	case PP_XS_DATA_TYPE:
		a->type = v->is_text ? pp_xvalue_text(x, v) : name_of_type(x, v->number);
		break;
	case PP_XS_SHAPE:
		a->shape = pp_xvalue_text(x, v);
		break;
	case PP_XS_GROUP_ID:
		a->step = (int64_t)v->number;
		break;
	case PP_XS_ADDRESS:
		a->address = v->number;
		break;
	case PP_XS_REQUESTED:
		a->requested = (int64_t)v->number;
		break;
	case PP_XS_ALLOCATION_BYTES:
		a->bytes = (int64_t)v->number;
		break;
	case PP_XS_ALLOCATED:
		a->allocated = (int64_t)v->number;
		break;
	case PP_XS_RESERVED:
		a->reserved = (int64_t)v->number;
		break;
	case PP_XS_AVAILABLE:
		a->available = (int64_t)v->number;
		break;
	case PP_XS_PEAK:
		a->peak = (int64_t)v->number;
		break;
	case PP_XS_FRAGMENTATION:
		a->fragmentation = v->real;
		break;
	default:
		break;
	}
}

void pp_xmemory_take(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, int64_t time, int is_free)
{
	struct pp_allocation a = {.time = time,
	                          .is_free = is_free,
	                          .step = -1,
	                          .allocated = -1,
	                          .reserved = -1,
	                          .available = -1,
	                          .peak = -1,
	                          .fragmentation = -1};
	struct pp_wire w = pp_wire_of(event);
	struct pp_allocation *more = pp_grow(x->rank.allocation, x->rank.allocations, &x->allocations_room, sizeof(*more));
	struct pp_field f;

	if (!more) {
		x->no_memory = 1;
		return;
	}
	x->rank.allocation = more;
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_xvalue v;
		enum pp_xs_kind kind = PP_XS_NONE;

		if (pp_field_is(&f, 4, PP_WIRE_BYTES))
			kind = pp_xvalue_read(x, p, &f, &v);
		if (kind)
			take_stat(x, &v, kind, &a);
	}
	x->rank.allocation[x->rank.allocations++] = a;
}
