/* Finds the calls of tf.data's iterators and ties them; see tf_data_call.h. */
#include "aggregate/analyze/tf_data_call.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/tf_data_type.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/map.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

struct open { /* what a thread is in */
	int64_t end;
	uint64_t element; /* PRODUCE */
	enum pp_tf_event event;
	uint32_t call; /* of an iterator */
};

struct made { /* an element made ahead, by this call, for that iterator */
	uint64_t iterator, element;
	uint32_t call;
	uint8_t is_taken;
};

struct taken { /* an element that was taken in a call */
	uint64_t element;
	uint32_t call;
};

struct finding {
	const struct pp_rank *rank;
	const uint8_t *of_name; /* [names] enum pp_tf_event */
	struct pp_tf_calls *to;
	struct pp_map map; /* of the rank's iterators, by id */
	struct open *open;
	size_t opens, opens_room;
	struct made *made;
	size_t mades, mades_room;
	struct taken *taken;
	size_t takens, takens_room;
};

static uint64_t hash(const void *row)
{
	return ((const struct pp_iterator *)row)->id * PP_MAP_MIX;
}

static int is_same(const void *row, const void *key)
{
	return ((const struct pp_iterator *)row)->id == ((const struct pp_iterator *)key)->id;
}

/* Index + 1; 0: no iterator of the rank. */
static uint32_t iterator_of(const struct finding *f, uint64_t id)
{
	const struct pp_iterator key = {.id = id};

	return f->map.places ? *pp_map_probe(&f->map, f->rank->iterator, sizeof(key), &key, hash, is_same) : 0;
}

static int index_iterators(struct finding *f)
{
	const struct pp_rank *r = f->rank;

	for (size_t i = 0; i < r->iterators; i++) {
		uint32_t *place = pp_map_place(&f->map, r->iterator, i, sizeof(*r->iterator), &r->iterator[i], hash, is_same);

		if (!place)
			return -ENOMEM;
		*place = *place ? *place : (uint32_t)i + 1;
	}
	f->to->parent = calloc(r->iterators + 1, sizeof(*f->to->parent));
	for (size_t i = 0; i < r->iterators && f->to->parent; i++)
		f->to->parent[i] = r->iterator[i].parent ? iterator_of(f, r->iterator[i].parent) : 0;
	return f->to->parent ? 0 : -ENOMEM;
}

static void put_below(struct pp_tf_calls *to, uint32_t above, uint32_t call)
{
	if (above == call || to->call[call].is_below || to->call[call].is_root)
		return;
	to->call[call].is_below = 1;
	to->call[call].next = to->call[above].child;
	to->call[above].child = call + 1;
}

static int add_call(struct finding *f, const struct pp_span *s, enum pp_tf_event event, uint32_t iterator,
                    const struct open *around)
{
	struct pp_tf_calls *to = f->to;
	uint32_t at = (uint32_t)to->calls;

	if (to->calls >= UINT32_MAX - 1 || PP_GROW(to->call, to->calls, to->room))
		return -ENOMEM;
	to->call[to->calls++] =
	        (struct pp_tf_call){.begin = s->begin, .end = s->end, .iterator = iterator, .is_root = event == PP_TF_ROOT};
	if (around && around->event == PP_TF_PRODUCE && event == PP_TF_ITERATOR) {
		if (PP_GROW(f->made, f->mades, f->mades_room))
			return -ENOMEM;
		f->made[f->mades++] = (struct made){f->rank->iterator[iterator].parent, around->element, at, 0};
	} else if (around && around->event != PP_TF_PRODUCE) {
		put_below(to, around->call, at);
	}
	return 0;
}

static int take(struct finding *f, const struct pp_span *s, const struct open *around)
{
	if ((int64_t)s->range.payload == -1) {
		f->to->empty++;
		return 0;
	}
	if (!around || around->event == PP_TF_PRODUCE) {
		f->to->unmade++;
		return 0;
	}
	if (PP_GROW(f->taken, f->takens, f->takens_room))
		return -ENOMEM;
	f->taken[f->takens++] = (struct taken){s->range.payload, around->call};
	return 0;
}

static int look_at_span(struct finding *f, const struct pp_span *s, enum pp_tf_event event)
{
	const int is_iterator = event == PP_TF_ITERATOR || event == PP_TF_ROOT;
	const int is_numbered = s->range.payload_type == PP_PAYLOAD_UINT64;
	uint32_t iterator = is_iterator && is_numbered ? iterator_of(f, s->range.payload) : 0;
	struct open *around;
	int rc = 0;

	if (is_iterator && !iterator) {
		f->to->without_id++;
		return 0;
	}
	if (s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) {
		f->to->cut += is_iterator;
		return 0;
	}
	if (!is_numbered)
		return 0;
	while (f->opens && (f->open[f->opens - 1].end <= s->begin || f->open[f->opens - 1].end < s->end))
		f->opens--;
	around = f->opens ? &f->open[f->opens - 1] : NULL;
	if (event == PP_TF_CONSUME)
		return take(f, s, around);
	if (is_iterator)
		rc = add_call(f, s, event, iterator - 1, around);
	if (rc || PP_GROW(f->open, f->opens, f->opens_room))
		return -ENOMEM;
	f->open[f->opens++] = (struct open){s->end, s->range.payload, event, is_iterator ? (uint32_t)f->to->calls - 1 : 0};
	return 0;
}

PP_COMPARE_BY_3(by_element, struct made, iterator, element, call)

/* What was made by one call and taken by another is below that. */
static void join(struct finding *f)
{
	const struct pp_iterator *iterator = f->rank->iterator;

	if (f->mades)
		qsort(f->made, f->mades, sizeof(*f->made), by_element);
	for (size_t i = 0; i < f->takens; i++) {
		const struct taken *t = &f->taken[i];
		const uint64_t id = iterator[f->to->call[t->call].iterator].id;
		size_t k =
		        PP_PARTITION(f->mades, at,
		                     f->made[at].iterator < id || (f->made[at].iterator == id && f->made[at].element < t->element));

		if (k == f->mades || f->made[k].iterator != id || f->made[k].element != t->element) {
			f->to->unmade++;
			continue;
		}
		for (; k < f->mades && f->made[k].iterator == id && f->made[k].element == t->element; k++) {
			f->made[k].is_taken = 1;
			put_below(f->to, t->call, f->made[k].call);
		}
	}
	for (size_t i = 0; i < f->mades; i++) /* several calls may make one element */
		f->to->unused += !f->made[i].is_taken && (!i || f->made[i - 1].iterator != f->made[i].iterator ||
		                                          f->made[i - 1].element != f->made[i].element);
}

struct part { /* of a call's time */
	int64_t begin, end;
};

PP_COMPARE_BY_2(by_begin, struct part, begin, end)

/* Calls below may overlap each other: threads of a pool made their elements. */
static int find_self(struct pp_tf_calls *c)
{
	struct part *part = NULL;
	size_t room = 0;
	int rc = 0;

	for (size_t i = 0; i < c->calls && !rc; i++) {
		struct pp_tf_call *call = &c->call[i];
		int64_t at = call->begin;
		size_t parts = 0;

		call->self_ns = call->end - call->begin;
		for (uint32_t k = call->child; k && !rc; k = c->call[k - 1].next) {
			rc = PP_GROW(part, parts, room) ? -ENOMEM : 0;
			if (!rc)
				part[parts++] = (struct part){c->call[k - 1].begin, c->call[k - 1].end};
		}
		if (parts > 1 && !rc)
			qsort(part, parts, sizeof(*part), by_begin);
		for (size_t k = 0; k < parts && !rc; k++) {
			int64_t begin = part[k].begin > at ? part[k].begin : at,
			        end = part[k].end < call->end ? part[k].end : call->end;

			if (end <= begin)
				continue;
			call->self_ns -= end - begin;
			at = end;
		}
	}
	free(part);
	return rc;
}

static int look_at_thread(struct finding *f, const struct pp_thread *thread)
{
	int rc = 0;

	f->opens = 0;
	for (size_t i = 0; i < thread->spans && !rc; i++) {
		const struct pp_span *s = &thread->span[i];
		enum pp_tf_event event = PP_TF_NONE;

		if (s->source == PP_SOURCE_XSPACE && (s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MARK))
			event = (enum pp_tf_event)f->of_name[s->name];
		if (event != PP_TF_NONE)
			rc = look_at_span(f, s, event);
	}
	return rc;
}

int pp_tf_calls_find(const struct pp_capture *c, size_t rank, const uint8_t *of_name, struct pp_tf_calls *to)
{
	struct finding f = {.rank = &c->rank[rank], .of_name = of_name, .to = to};
	int rc = index_iterators(&f);

	for (size_t t = 0; t < f.rank->threads && !rc; t++)
		if (!f.rank->thread[t].device)
			rc = look_at_thread(&f, &f.rank->thread[t]);
	if (!rc) {
		join(&f);
		rc = find_self(to);
	}
	free(f.map.place);
	free(f.open);
	free(f.made);
	free(f.taken);
	return rc;
}

void pp_tf_calls_release(struct pp_tf_calls *c)
{
	free(c->call);
	free(c->parent);
	*c = (struct pp_tf_calls){0};
}
