/* Finds what file and events say of XLA's collectives; see hlo_table.h. */
#include "aggregate/read/xspace/hlo_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/hlo_proto.h"
#include "aggregate/read/xspace/hlo_text.h"
#include "aggregate/read/xspace/value.h"
#include "core/base/grow.h"

static uint64_t hash_hlo(const void *row)
{
	const struct pp_xhlo *h = row;

	return ((uint64_t)h->module << 32 | h->op) * PP_MAP_MIX;
}

static int is_same_hlo(const void *row, const void *key)
{
	const struct pp_xhlo *a = row, *b = key;

	return a->op == b->op && a->module == b->module;
}

/* Index + 1 of the collective of a program, which is x's from then on; 0: no memory. */
static uint32_t put(struct pp_xread *x, const struct pp_xhlo *h)
{
	uint32_t *place = pp_map_place(&x->hlo_place, x->hlo, x->hlos, sizeof(*x->hlo), h, hash_hlo, is_same_hlo);

	if (!place || (!*place && PP_GROW(x->hlo, x->hlos, x->hlos_room)))
		return 0;
	if (*place) {
		pp_hlo_release(&x->hlo[*place - 1].hlo);
	} else {
		*place = (uint32_t)++x->hlos;
	}
	x->hlo[*place - 1] = *h;
	return *place;
}

static int take(void *context, const uint8_t *name, size_t length, struct pp_hlo *h)
{
	struct pp_xread *x = context;
	const struct pp_xhlo row = {
	        .op = pp_intern_put(x->names, (const char *)name, length), .module = (uint32_t)x->modules, .hlo = *h};

	if (put(x, &row))
		return 0;
	pp_hlo_release(h);
	return -ENOMEM;
}

static void take_program(struct pp_xread *x, const struct pp_field *proto, uint64_t program)
{
	struct pp_hlo_module module = {.name = NULL};
	int rc;

	if (PP_GROW(x->module, x->modules, x->modules_room)) {
		x->no_memory = 1;
		return;
	}
	x->module[x->modules++] = (struct pp_xmodule){.program = program};
	rc = pp_hlo_of_proto(proto, &module, take, x);
	x->module[x->modules - 1].devices = module.devices;
	x->module[x->modules - 1].name = pp_intern_put(x->names, (const char *)module.name, module.length);
	x->no_memory |= rc != 0;
}

/* The bytes of a stat, however many. */
static struct pp_field bytes_of(const struct pp_field *stat)
{
	struct pp_wire w = pp_wire_of(stat);
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, 6, PP_WIRE_BYTES))
			return f;
	return (struct pp_field){.size = 0};
}

/* Number and HloProto are stats of an entry of the plane's metadata of events. */
static void take_entry(struct pp_xread *x, struct pp_xplane *p, const struct pp_xmeta *m)
{
	struct pp_wire w = {m->data, m->data + m->size};
	struct pp_field f, proto = {.size = 0};
	uint64_t program = m->id;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_xvalue v = {.is_text = 0};
		enum pp_xs_kind kind = pp_field_is(&f, 5, PP_WIRE_BYTES) ? pp_xvalue_read(x, p, &f, &v) : PP_XS_NONE;

		if (kind == PP_XS_PROGRAM)
			program = v.number;
		else if (kind == PP_XS_HLO_PROTO)
			proto = bytes_of(&f);
	}
	if (proto.size)
		take_program(x, &proto, program);
}

void pp_xhlo_programs(struct pp_xread *x, struct pp_xplane *p)
{
	for (size_t i = 0; i < p->events.metas && !x->no_memory; i++)
		take_entry(x, p, &p->events.meta[i]);
}

uint32_t pp_xhlo_module(const struct pp_xread *x, int has_program, uint64_t program, uint32_t name)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < x->modules; i++) {
		const struct pp_xmodule *m = &x->module[i];

		if (has_program ? m->program != program : !name || m->name != name)
			continue;
		if (found)
			return 0;
		found = i + 1;
	}
	return found;
}

static uint32_t find(struct pp_xread *x, const uint8_t *op, size_t length, uint32_t module)
{
	struct pp_xhlo key = {.op = pp_intern_put(x->names, (const char *)op, length), .module = module};

	return x->hlos ? *pp_map_probe(&x->hlo_place, x->hlo, sizeof(*x->hlo), &key, hash_hlo, is_same_hlo) : 0;
}

/* XLA joins names of annotations inside each other: the innermost is the last. */
static uint32_t find_op(struct pp_xread *x, const struct pp_xtext *op, uint32_t module)
{
	const uint8_t *at = op->text, *end = op->text + op->length, *inner = at;
	uint32_t hlo = find(x, op->text, op->length, module);

	while (!hlo && (at = memmem(inner, (size_t)(end - inner), "::", 2)))
		inner = at + 2;
	return hlo || inner == op->text || inner == end ? hlo : find(x, inner, (size_t)(end - inner), module);
}

uint32_t pp_xhlo_of_event(struct pp_xread *x, const struct pp_xevent *e)
{
	const struct pp_xtext *op = &e->text[PP_XS_HLO_OP];
	const int has_program = pp_xevent_has(e, PP_XS_PROGRAM);
	uint32_t name, module;

	if (!x->hlos || !pp_xevent_has(e, PP_XS_HLO_OP) || !op->length)
		return 0;
	name = pp_xevent_has(e, PP_XS_HLO_MODULE) ? pp_xvalue_intern(x, &e->text[PP_XS_HLO_MODULE]) : 0;
	module = pp_xhlo_module(x, has_program, has_program ? e->number[PP_XS_PROGRAM] : 0, name);
	if (!module)
		return 0;
	if (!op->meta)
		return find_op(x, op, module);
	if (op->meta->hlo_module != module) {
		op->meta->hlo_module = module;
		op->meta->hlo = find_op(x, op, module);
	}
	return op->meta->hlo;
}

/* Of "..., all-reduce-done(f32[8] %all-reduce-start.3)" the name of the start. */
static uint32_t start_of(struct pp_xread *x, const char *text, size_t length)
{
	const char *done = memmem(text, length, "-done(", 6),
	           *end = done ? memchr(done, ')', (size_t)(text + length - done)) : NULL;
	const char *from = end;

	while (from && from > done && from[-1] != '%' && from[-1] != ' ' && from[-1] != '(')
		from--;
	return from && from < end ? pp_intern_put(x->names, from, (size_t)(end - from)) : 0;
}

uint32_t pp_xhlo_of_text(struct pp_xread *x, const uint8_t *text, size_t length)
{
	const char *name = (const char *)text, *end = length ? memmem(text, length, " = ", 3) : NULL;
	struct pp_xhlo row = {.op = 0};
	int rc = end ? pp_hlo_of_text(name, length, &row.hlo) : 0;

	if (rc <= 0) {
		x->no_memory |= rc < 0;
		return 0;
	}
	if (end - name > 5 && !memcmp(name, "ROOT ", 5))
		name += 5;
	name += *name == '%';
	row.op = pp_intern_put(x->names, name, (size_t)(end - name));
	row.start = row.hlo.part == PP_HLO_DONE ? start_of(x, end, (size_t)((const char *)text + length - end)) : 0;
	if (PP_GROW(x->hlo, x->hlos, x->hlos_room)) {
		x->no_memory = 1;
		pp_hlo_release(&row.hlo);
		return 0;
	}
	x->hlo[x->hlos++] = row;
	return (uint32_t)x->hlos;
}

void pp_xhlo_release(struct pp_xread *x)
{
	for (size_t i = 0; i < x->modules; i++)
		free(x->module[i].devices.id);
	for (size_t i = 0; i < x->hlos; i++)
		pp_hlo_release(&x->hlo[i].hlo);
	free(x->module);
	free(x->hlo);
	free(x->hlo_place.place);
	free(x->run);
	free(x->collective);
}
