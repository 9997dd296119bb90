/* Reads HloProto of xla/service/hlo.proto; see hlo_proto.h. */
#include "aggregate/read/xspace/hlo_proto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/hlo_shape.h"

enum { NESTED_MOST = 16, DIMS_MOST = 8, PLACES_MOST = 1 << 20 };

/* Numbers of fields. */
enum { PROTO_MODULE = 1 };
enum { MODULE_NAME = 1, MODULE_COMPUTATION = 3, MODULE_ENTRY = 6, MODULE_DEVICES = 15 };
enum { COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5 };
enum {
	INSTRUCTION_NAME = 1,
	INSTRUCTION_OPCODE = 2,
	INSTRUCTION_SHAPE = 3,
	INSTRUCTION_CHANNEL = 26,
	INSTRUCTION_CALLED = 38,
	INSTRUCTION_GROUP = 49,
	INSTRUCTION_PAIR = 52,
	INSTRUCTION_GLOBAL = 71,
	INSTRUCTION_LIST = 87,
	INSTRUCTION_IOTA = 92,
	INSTRUCTION_MESH = 93,
};
enum { SHAPE_TYPE = 2, SHAPE_DIMENSION = 3, SHAPE_PART = 4 };
enum { LIST_GROUP = 1, LIST_IOTA = 2, IOTA_GROUPS = 1, IOTA_EACH = 2, IOTA_SHAPE = 3, IOTA_ORDER = 4 };
enum { DEVICES_REPLICAS = 1, DEVICES_PARTITIONS = 2, DEVICES_PARTITION = 3, PARTITION_ID = 1 };

/* A repeated number is one, or several packed. Returns how many were put. */
static size_t numbers(const struct pp_field *f, uint64_t *number, size_t room)
{
	struct pp_wire w = pp_wire_of(f);
	size_t n = 0;

	if (f->type == PP_WIRE_VARINT && room)
		number[n++] = f->value;
	while (f->type == PP_WIRE_BYTES && n < room && w.at < w.end && pp_wire_varint(&w, &number[n]) == PP_WIRE_FIELD)
		n++;
	return n;
}

/* NOLINTNEXTLINE(misc-no-recursion): NESTED_MOST deep */
static void take_shape(const struct pp_field *message, unsigned nested, struct pp_hlo_shape *s)
{
	struct pp_wire w = pp_wire_of(message);
	uint64_t elements = 1, type = 0;
	unsigned part = 0;
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		uint64_t dimension[DIMS_MOST];
		const uint64_t before = s->bytes;

		if (pp_field_is(&f, SHAPE_TYPE, PP_WIRE_VARINT))
			type = f.value;
		for (size_t i = f.number == SHAPE_DIMENSION ? numbers(&f, dimension, DIMS_MOST) : 0; i-- > 0;)
			elements = pp_hlo_times(elements, dimension[i]);
		if (!pp_field_is(&f, SHAPE_PART, PP_WIRE_BYTES) || nested == NESTED_MOST)
			continue;
		take_shape(&f, nested + 1, s);
		if (!nested)
			pp_hlo_shape_part(s, part++, before);
	}
	pp_hlo_shape_add(s, elements, pp_hlo_type_bits_of(type));
}

static int take_group(const struct pp_field *message, struct pp_hlo *h)
{
	struct pp_wire w = pp_wire_of(message), packed;
	int rc = pp_hlo_put_group(h);
	struct pp_field f;
	uint64_t member;

	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (f.number != 1)
			continue;
		packed = pp_wire_of(&f);
		if (f.type == PP_WIRE_VARINT)
			rc = pp_hlo_put_member(h, f.value);
		while (!rc && f.type == PP_WIRE_BYTES && pp_wire_varint(&packed, &member) == PP_WIRE_FIELD &&
		       packed.at <= packed.end) {
			rc = pp_hlo_put_member(h, member);
			if (packed.at == packed.end)
				break;
		}
	}
	return rc;
}

static int take_pair(const struct pp_field *message, struct pp_hlo *h)
{
	struct pp_wire w = pp_wire_of(message);
	uint64_t end[2] = {0, 0}; /* source, target */
	struct pp_field f;
	int rc = pp_hlo_put_group(h);

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (f.type == PP_WIRE_VARINT && f.number >= 1 && f.number <= 2)
			end[f.number - 1] = f.value;
	for (int i = 0; i < 2 && !rc; i++)
		rc = pp_hlo_put_member(h, end[i]);
	return rc;
}

static int take_iota(const struct pp_field *message, struct pp_hlo *h)
{
	struct pp_wire w = pp_wire_of(message);
	uint64_t groups = 0, each = 0, shape[DIMS_MOST], order[DIMS_MOST];
	size_t dims = 0, turned = 0;
	struct pp_field f;
	int rc;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (f.number == IOTA_GROUPS)
			groups = f.value;
		else if (f.number == IOTA_EACH)
			each = f.value;
		else if (f.number == IOTA_SHAPE)
			dims += numbers(&f, shape + dims, DIMS_MOST - dims);
		else if (f.number == IOTA_ORDER)
			turned += numbers(&f, order + turned, DIMS_MOST - turned);
	}
	if (groups && each && !dims)
		shape[dims++] = pp_hlo_times(groups, each);
	rc = turned && turned != dims ? -EINVAL : pp_hlo_put_iota(h, shape, dims, turned ? order : NULL, groups, each);
	h->is_odd |= rc == -EINVAL;
	return rc == -EINVAL ? 0 : rc;
}

static int take_list(const struct pp_field *message, struct pp_hlo *h)
{
	struct pp_wire w = pp_wire_of(message);
	struct pp_field f;
	int rc = 0;

	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (f.type == PP_WIRE_BYTES && (f.number == LIST_GROUP || f.number == LIST_IOTA))
			rc = (f.number == LIST_GROUP ? take_group : take_iota)(&f, h);
	return rc;
}

static int take_field(const struct pp_field *f, struct pp_hlo_shape *shape, struct pp_hlo *h)
{
	const int is_message = f->type == PP_WIRE_BYTES;

	switch (f->number) {
	case INSTRUCTION_SHAPE:
		if (is_message)
			take_shape(f, 0, shape);
		return 0;
	case INSTRUCTION_CHANNEL:
		h->has_channel = f->value > 0;
		return 0;
	case INSTRUCTION_GLOBAL:
		h->is_global = f->value > 0;
		return 0;
	case INSTRUCTION_GROUP: /* and INSTRUCTION_LIST has it again */
		return is_message ? take_group(f, h) : 0;
	case INSTRUCTION_PAIR:
		return is_message && h->kind == PP_HLO_PERMUTE ? take_pair(f, h) : 0;
	case INSTRUCTION_LIST:
	case INSTRUCTION_IOTA:
		if (!is_message)
			return 0;
		pp_hlo_release(h);
		return (f->number == INSTRUCTION_LIST ? take_list : take_iota)(f, h);
	case INSTRUCTION_MESH:
		h->is_odd = !h->groups;
		return 0;
	default:
		return 0;
	}
}

static int take_collective(struct pp_wire w, struct pp_hlo *h)
{
	struct pp_hlo_shape shape = {0};
	struct pp_field f;
	int rc = 0;

	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		rc = take_field(&f, &shape, h);
	pp_hlo_take_shape(h, &shape);
	return !rc && h->kind == PP_HLO_PERMUTE ? pp_hlo_join_pairs(h) : rc;
}

struct taker {
	int (*take)(void *context, const uint8_t *name, size_t length, struct pp_hlo *h);
	void *context;
	const struct pp_field *module;
};

/* Name and opcode come first: most instructions are no collectives. */
static int is_named(const struct pp_field *message, struct pp_field *ret_name, struct pp_field *ret_opcode)
{
	struct pp_wire w = pp_wire_of(message);
	struct pp_field f;

	ret_name->size = ret_opcode->size = 0;
	while (!ret_opcode->size && pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, INSTRUCTION_NAME, PP_WIRE_BYTES))
			*ret_name = f;
		else if (pp_field_is(&f, INSTRUCTION_OPCODE, PP_WIRE_BYTES))
			*ret_opcode = f;
	}
	return ret_name->size && ret_opcode->size;
}

/* Gives the collective under that name. */
static int give(const struct pp_field *message, const struct pp_field *name, struct pp_hlo *h, const struct taker *to)
{
	int rc = take_collective(pp_wire_of(message), h);

	if (!rc)
		return to->take(to->context, name->data, name->size, h);
	pp_hlo_release(h);
	return rc;
}

static uint64_t id_of(const struct pp_field *computation)
{
	struct pp_wire w = pp_wire_of(computation);
	uint64_t id = 0;
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, COMPUTATION_ID, PP_WIRE_VARINT))
			id = f.value;
	return id;
}

/* The first collective of a computation, under the name of what calls it. */
static int give_called(const struct pp_field *computation, const struct pp_field *name, int is_once, const struct taker *to)
{
	struct pp_wire w = pp_wire_of(computation);
	struct pp_field f, other, opcode;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_hlo h = {.is_once = (uint8_t)is_once};

		if (!pp_field_is(&f, COMPUTATION_INSTRUCTION, PP_WIRE_BYTES) || !is_named(&f, &other, &opcode))
			continue;
		pp_hlo_opcode((const char *)opcode.data, opcode.size, &h);
		if (h.kind != PP_HLO_NONE)
			return give(&f, name, &h, to);
	}
	return 0;
}

/* An async-start is what the computation does that it calls. */
static int take_async(const struct pp_field *message, const struct pp_field *name, int is_once, const struct taker *to)
{
	struct pp_wire w = pp_wire_of(message), all = pp_wire_of(to->module);
	uint64_t called = 0;
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (f.number == INSTRUCTION_CALLED)
			numbers(&f, &called, 1);
	while (called && pp_wire_next(&all, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, MODULE_COMPUTATION, PP_WIRE_BYTES) && id_of(&f) == called)
			return give_called(&f, name, is_once, to);
	return 0;
}

static int take_instruction(const struct pp_field *message, int is_once, const struct taker *to)
{
	static const char async[] = "async-start";
	struct pp_hlo h = {.is_once = (uint8_t)is_once};
	struct pp_field name, opcode;

	if (!is_named(message, &name, &opcode))
		return 0;
	if (opcode.size == sizeof(async) - 1 && !memcmp(opcode.data, async, opcode.size))
		return take_async(message, &name, is_once, to);
	pp_hlo_opcode((const char *)opcode.data, opcode.size, &h);
	return h.kind == PP_HLO_NONE ? 0 : give(message, &name, &h, to);
}

/* The computation's number stands behind its instructions. */
static int take_computation(const struct pp_field *message, uint64_t entry, const struct taker *to)
{
	const uint64_t id = id_of(message);
	struct pp_wire w = pp_wire_of(message);
	struct pp_field f;
	int rc = 0;

	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, COMPUTATION_INSTRUCTION, PP_WIRE_BYTES))
			rc = take_instruction(&f, id && id == entry, to);
	return rc;
}

static void take_partition(const struct pp_field *message, uint32_t partition, struct pp_hlo_devices *d)
{
	struct pp_wire w = pp_wire_of(message), packed;
	struct pp_field f;
	uint32_t replica = 0;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		uint64_t id = f.value;

		if (f.number != PARTITION_ID)
			continue;
		packed = pp_wire_of(&f);
		while (replica < d->replicas && (f.type == PP_WIRE_VARINT || (f.type == PP_WIRE_BYTES && packed.at < packed.end &&
		                                                              pp_wire_varint(&packed, &id) == PP_WIRE_FIELD))) {
			d->id[replica++ * d->partitions + partition] = (int64_t)id;
			if (f.type == PP_WIRE_VARINT)
				break;
		}
	}
}

static int take_devices(const struct pp_field *message, struct pp_hlo_devices *d)
{
	struct pp_wire w = pp_wire_of(message), again = w;
	uint64_t replicas = 0, partitions = 0;
	uint32_t partition = 0;
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, DEVICES_REPLICAS, PP_WIRE_VARINT))
			replicas = f.value;
		else if (pp_field_is(&f, DEVICES_PARTITIONS, PP_WIRE_VARINT))
			partitions = f.value;
	}
	if (d->id || !replicas || !partitions || pp_hlo_times(replicas, partitions) > PLACES_MOST)
		return 0;
	d->id = malloc(replicas * partitions * sizeof(*d->id));
	if (!d->id)
		return -ENOMEM;
	memset(d->id, 0xff, replicas * partitions * sizeof(*d->id));
	d->replicas = (uint32_t)replicas;
	d->partitions = (uint32_t)partitions;
	while (pp_wire_next(&again, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, DEVICES_PARTITION, PP_WIRE_BYTES) && partition < d->partitions)
			take_partition(&f, partition++, d);
	return 0;
}

static int take_module(const struct pp_field *message, struct pp_hlo_module *m, struct taker *to)
{
	struct pp_wire w = pp_wire_of(message), again = w;
	uint64_t entry = 0;
	struct pp_field f;
	int rc = 0;

	to->module = message;
	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, MODULE_NAME, PP_WIRE_BYTES)) {
			m->name = f.data;
			m->length = f.size;
		} else if (pp_field_is(&f, MODULE_ENTRY, PP_WIRE_VARINT)) {
			entry = f.value;
		} else if (pp_field_is(&f, MODULE_DEVICES, PP_WIRE_BYTES)) {
			rc = take_devices(&f, &m->devices);
		}
	}
	while (!rc && pp_wire_next(&again, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, MODULE_COMPUTATION, PP_WIRE_BYTES))
			rc = take_computation(&f, entry, to);
	return rc;
}

int pp_hlo_of_proto(const struct pp_field *proto, struct pp_hlo_module *ret_module,
                    int (*take)(void *context, const uint8_t *name, size_t length, struct pp_hlo *h), void *context)
{
	struct taker to = {take, context, NULL};
	struct pp_wire w = pp_wire_of(proto);
	struct pp_field f;
	int rc = 0;

	*ret_module = (struct pp_hlo_module){.name = NULL};
	while (!rc && pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, PROTO_MODULE, PP_WIRE_BYTES))
			rc = take_module(&f, ret_module, &to);
	return rc;
}
