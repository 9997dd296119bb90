/* Reads the stats of events and planes: which they are, and their value; see value.h. */
#include "aggregate/read/xspace/value.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/meta.h"

enum { STAT_ID = 1, STAT_DOUBLE, STAT_UINT, STAT_INT, STAT_TEXT, STAT_BYTES, STAT_REF, LONGEST_TEXT = 65536 };

/* Writers differ in the type of a number; some write it as text. */
static void number_of_text(struct pp_xvalue *v)
{
	char text[24];
	size_t n = v->length < sizeof(text) ? v->length : 0;

	if (!n || !((v->text[0] >= '0' && v->text[0] <= '9') || v->text[0] == '-'))
		return;
	memcpy(text, v->text, n);
	text[n] = '\0';
	v->number = text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
	v->real = (double)(int64_t)v->number;
}

static void take(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *f, struct pp_xvalue *v)
{
	switch (f->number) {
	case STAT_DOUBLE:
		if (f->type == PP_WIRE_FIXED64) {
			memcpy(&v->real, &f->value, sizeof(v->real));
			v->is_double = 1;
			v->number = v->real >= 0 && v->real < 9e18 ? (uint64_t)v->real : 0;
		}
		break;
	case STAT_UINT:
	case STAT_INT:
		if (f->type == PP_WIRE_VARINT) {
			v->number = f->value;
			v->real = (double)(int64_t)f->value;
		}
		break;
	case STAT_TEXT:
	case STAT_BYTES:
		if (f->type == PP_WIRE_BYTES) {
			v->is_text = 1;
			v->text = f->data;
			v->length = f->size < LONGEST_TEXT ? f->size : LONGEST_TEXT;
		}
		break;
	case STAT_REF:
		if (f->type == PP_WIRE_VARINT && (v->meta = pp_xmeta_stat(x, p, f->value))) {
			v->is_text = 1;
			v->text = v->meta->text;
			v->length = v->meta->length;
		}
		break;
	default:
		break;
	}
}

enum pp_xs_kind pp_xvalue_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *stat, struct pp_xvalue *v)
{
	struct pp_wire w = pp_wire_of(stat);
	enum pp_xs_kind kind = PP_XS_NONE;
	enum pp_wire_result r;
	struct pp_field f;

	*v = (struct pp_xvalue){0};
	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, STAT_ID, PP_WIRE_VARINT)) {
			const struct pp_xmeta *m = pp_xmeta_stat(x, p, f.value);

			if (f.value < sizeof(p->kind_of))
				p->kind_of[f.value] = m ? m->kind : PP_XS_NONE;
			if (!m || !m->kind)
				return PP_XS_NONE;
			kind = (enum pp_xs_kind)m->kind;
		} else {
			take(x, p, &f, v);
		}
	}
	if (r != PP_WIRE_END)
		return PP_XS_NONE;
	if (v->is_text)
		number_of_text(v);
	return kind;
}

uint32_t pp_xvalue_intern(struct pp_xread *x, const struct pp_xtext *t)
{
	if (!t->length)
		return 0;
	if (!t->meta)
		return pp_intern_put(x->names, (const char *)t->text, t->length);
	if (!t->meta->name)
		t->meta->name = pp_intern_put(x->names, (const char *)t->text, t->length);
	return t->meta->name;
}

uint32_t pp_xvalue_text(struct pp_xread *x, const struct pp_xvalue *v)
{
	return v->is_text ? pp_xvalue_intern(x, &(struct pp_xtext){v->text, v->length, v->meta}) : 0;
}
