/* Turns one thread's nested ranges into the time that each wins, by a stack kept between windows. Called by step_attr.c. */
#include "core/step/attr_flat.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/grow.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/classify.h"

/* Of streams: xprof's order. All are above what a host does at the same time, but for input that the step thread waits for. */
static uint8_t device_weight_of(int category)
{
	static const uint8_t weight[PP_CATEGORIES + 1] = {
	        [PP_CATEGORY_DEVICE_COMPUTE] = 100,   [PP_CATEGORY_OUTPUT] = 95, [PP_CATEGORY_DEVICE_TO_DEVICE] = 90,
	        [PP_CATEGORY_DEVICE_COLLECTIVE] = 80, [PP_CATEGORY_INPUT] = 78,
	};

	return weight[category] ? weight[category] : 77;
}

static uint8_t weight_of(int category, int is_step_thread)
{
	/* Device categories and what xprof ranks among them; then the step thread; then the others. */
	static const uint8_t other[PP_CATEGORIES + 1] = {
	        [PP_CATEGORY_DEVICE_COMPUTE] = 100, [PP_CATEGORY_DEVICE_TO_DEVICE] = 90,   [PP_CATEGORY_DEVICE_COLLECTIVE] = 80,
	        [PP_CATEGORY_KERNEL_LAUNCH] = 75,   [PP_CATEGORY_HOST_COMPUTE] = 40,       [PP_CATEGORY_COMPILATION] = 39,
	        [PP_CATEGORY_OUTPUT] = 38,          [PP_CATEGORY_HOST_COMMUNICATION] = 37, [PP_CATEGORY_INPUT] = 36,
	        [PP_CATEGORY_OTHER] = 35,
	};

	if (is_step_thread && category == PP_CATEGORY_INPUT)
		return 85;
	return is_step_thread && other[category] < 50 ? 50 : other[category];
}

static int reserve(struct pp_flats *list, size_t more)
{
	size_t room = list->room ? list->room : 1024;

	if (list->room - list->flats >= more)
		return 0;
	while (room - list->flats < more)
		room *= 2;
	if (PP_RESIZE(list->flat, room))
		return -ENOMEM;
	list->room = room;
	return 0;
}

static uint8_t category_of_activity(int activity)
{
	static const uint8_t category[] = {
	        [PP_DEVICE_KERNEL] = PP_CATEGORY_DEVICE_COMPUTE,
	        [PP_DEVICE_COLLECTIVE] = PP_CATEGORY_DEVICE_COLLECTIVE,
	        [PP_DEVICE_HOST_TO_DEVICE] = PP_CATEGORY_INPUT,
	        [PP_DEVICE_DEVICE_TO_HOST] = PP_CATEGORY_OUTPUT,
	        [PP_DEVICE_DEVICE_TO_DEVICE] = PP_CATEGORY_DEVICE_TO_DEVICE,
	        [PP_DEVICE_SET] = PP_CATEGORY_DEVICE_COMPUTE,
	        [PP_DEVICE_WAIT] = PP_CATEGORY_DEVICE_COLLECTIVE,
	        [PP_DEVICE_UNSURE] = PP_CATEGORY_OTHER,
	};

	return (size_t)activity < sizeof(category) ? category[activity] : PP_CATEGORY_DEVICE_COMPUTE;
}

int pp_name_cache_init(struct pp_name_cache *c, const struct pp_intern *names)
{
	const uint32_t count = pp_intern_count(names);

	*c = (struct pp_name_cache){.names = names, .count = count, .code = calloc((size_t)count + 1, PP_ORIGINS)};
	return c->code ? 0 : -ENOMEM;
}

void pp_name_cache_release(struct pp_name_cache *c)
{
	free(c->code);
	c->code = NULL;
}

uint8_t pp_flat_code(struct pp_name_cache *cache, const struct pp_span *span)
{
	const unsigned origin =
	        span->kind == PP_SPAN_RANGE && span->range.origin < PP_ORIGINS ? span->range.origin : PP_ORIGIN_PROGRAM;
	const size_t at = (size_t)span->name * PP_ORIGINS + origin;
	struct pp_class class;
	const char *text;
	size_t length;
	uint8_t code;

	if (span->category && span->category <= PP_CATEGORIES)
		return pp_flat_pack(span->category, PP_BY_KIND);
	if (span->kind == PP_SPAN_MPI)
		return pp_flat_pack(PP_CATEGORY_HOST_COMMUNICATION, PP_BY_KIND);
	if (span->kind == PP_SPAN_DEVICE)
		return pp_flat_pack(category_of_activity(span->device.activity), span->device.by ? span->device.by : PP_BY_KIND);
	if (span->name < cache->count && cache->code[at])
		return cache->code[at];
	text = pp_intern_text(cache->names, span->name, &length);
	class = pp_category_of((enum pp_origin)origin, text, length);
	code = pp_flat_pack(class.category, class.by);
	if (span->name < cache->count)
		cache->code[at] = code;
	return code;
}

/* Innermost open range that may win: neither ended nor the step itself; NULL: none. A range of unknown category that covers the
 * whole step does not count. */
static const struct pp_open *winner(const struct pp_flat_cursor *c, const struct pp_flat_window *w)
{
	for (size_t i = c->opens; i-- > 0;) {
		const struct pp_open *o = &c->open[i];
		int covers = o->begin <= w->step_begin && o->end >= w->step_end;
		int equals = o->begin == w->step_begin && o->end == w->step_end;

		if (o->end > c->now && !o->is_silent && !(covers && o->by == PP_BY_NOTHING) && !(equals && o->may_be_step))
			return o;
	}
	return NULL;
}

static void hand_out(struct pp_flat_cursor *c, const struct pp_open *o, int64_t end, struct pp_flats *list)
{
	struct pp_flat *last = list->flats ? &list->flat[list->flats - 1] : NULL;

	if (last && last->span == o->span && last->thread == c->index && last->end == c->now) {
		last->end = end;
		return;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): room for all was made before */
	list->flat[list->flats++] = (struct pp_flat){
	        .begin = c->now,
	        .end = end,
	        .thread = c->index,
	        .span = o->span,
	        .category = o->category,
	        .by = o->by,
	        .weight = o->weight,
	};
}

/* Hand out time up to `until`; what lies before the window only closes ranges. */
static int advance(struct pp_flat_cursor *c, int64_t until, const struct pp_flat_window *w, struct pp_flats *list)
{
	if (c->now < w->begin)
		c->now = until < w->begin ? until : w->begin;
	while (c->now < until) {
		const struct pp_open *o;
		int64_t end;

		while (c->opens && c->open[c->opens - 1].end <= c->now)
			c->opens--;
		if (!c->opens) {
			c->now = until;
			break;
		}
		end = c->open[c->opens - 1].end;
		o = winner(c, w);
		if (o && o->end < end)
			end = o->end;
		if (end > until)
			end = until;
		if (o) {
			if (reserve(list, 1) < 0)
				return -ENOMEM;
			hand_out(c, o, end, list);
		}
		c->now = end;
	}
	return 0;
}

static int is_inherited(int category)
{
	return category == PP_CATEGORY_INPUT || category == PP_CATEGORY_OUTPUT || category == PP_CATEGORY_COMPILATION;
}

static int may_inherit(const struct pp_span *span, uint8_t code)
{
	return span->kind == PP_SPAN_RANGE && !span->category && pp_flat_category(code) == PP_CATEGORY_HOST_COMPUTE &&
	       pp_flat_by(code) != PP_BY_RULE;
}

/* What rests on words still does: an operator in a range that the program named is no better known than the range. */
uint8_t pp_flat_inside(const struct pp_span *span, uint8_t code, uint8_t around)
{
	const int category = pp_flat_category(around), by = pp_flat_by(around) == PP_BY_WORDS ? PP_BY_WORDS : PP_BY_LAUNCH;

	return is_inherited(category) && may_inherit(span, code) ? pp_flat_pack(category, by) : code;
}

static int is_frame(const struct pp_span *span)
{
	return span->kind == PP_SPAN_RANGE && span->range.origin == PP_ORIGIN_PYTHON;
}

uint8_t pp_flat_gives(const struct pp_span *span, uint8_t code, uint8_t outer)
{
	return is_frame(span) || pp_flat_is_silent(span, pp_flat_category(code)) ? outer : code;
}

int pp_flat_is_silent(const struct pp_span *span, int category)
{
	return span->kind == PP_SPAN_RANGE && !span->category && category == PP_CATEGORY_OTHER;
}

/* Index + 1 of the innermost open range that is not silent and lasts until `end`; 0: none. What it passes over is never looked at
 * again once a range with this end is open, so that ranges that overlap without nesting take no longer. */
static uint32_t around(const struct pp_flat_cursor *c, int64_t end)
{
	uint32_t at = (uint32_t)c->opens;

	while (at && (c->open[at - 1].is_silent || c->open[at - 1].end < end))
		at = c->open[at - 1].around;
	return at;
}

/* Overlapping ranges leave ended ones below open ones: remove the ended first, so that the search stays short. */
static int make_room(struct pp_flat_cursor *c, int64_t now)
{
	size_t remaining = 0, room = c->room ? 2 * c->room : 32;

	for (size_t i = 0, opens = c->opens; i < opens; i++)
		if (c->open[i].end > now) {
			c->opens = remaining;
			c->open[remaining] = c->open[i];
			c->open[remaining].around = around(c, c->open[remaining].is_silent ? INT64_MIN : c->open[remaining].end);
			remaining++;
		}
	c->opens = remaining;
	if (2 * remaining < c->room)
		return 0;
	if (PP_RESIZE(c->open, room))
		return -ENOMEM;
	c->room = room;
	return 0;
}

static int open_range(struct pp_flat_cursor *c, struct pp_name_cache *cache, uint32_t index)
{
	const struct pp_span *span = &c->thread->span[index];
	uint8_t code = pp_flat_code(cache, span);
	uint32_t parent;
	struct pp_open *o;
	uint8_t outer;

	while (c->opens && c->open[c->opens - 1].end <= span->begin)
		c->opens--;
	if (c->opens && c->open[c->opens - 1].end < span->end && !is_frame(span) &&
	    !is_frame(&c->thread->span[c->open[c->opens - 1].span]))
		c->crossed++; /* a frame may end the forward part, which began outside of it */
	if (c->opens == c->room && make_room(c, span->begin) < 0)
		return -ENOMEM;
	parent = around(c, span->end);
	outer = parent ? c->open[parent - 1].gives : 0;
	code = pp_flat_inside(span, code, outer);
	o = &c->open[c->opens];
	o->begin = span->begin;
	o->end = span->end;
	o->span = index;
	o->category = (uint8_t)pp_flat_category(code);
	o->by = (uint8_t)pp_flat_by(code);
	o->gives = pp_flat_gives(span, code, outer);
	o->is_silent = (uint8_t)pp_flat_is_silent(span, o->category);
	o->around = o->is_silent ? around(c, INT64_MIN) : parent;
	c->opens++;
	o->may_be_step = c->is_step_thread && span->kind == PP_SPAN_RANGE && !span->category;
	o->waits = (span->flags & PP_SPAN_WAITS_INPUT) || (c->opens > 1 && o[-1].waits && o[-1].end >= span->end);
	o->weight = c->thread->device ? device_weight_of(o->category) : weight_of(o->category, c->is_step_thread);
	if (o->waits && o->category == PP_CATEGORY_INPUT)
		o->weight = weight_of(o->category, 1);
	return 0;
}

int pp_flat_window(struct pp_flat_cursor *c, struct pp_name_cache *cache, const struct pp_flat_window *w, struct pp_flats *list)
{
	for (; c->at < c->thread->spans; c->at++) {
		const struct pp_span *span = &c->thread->span[c->at];

		if (span->begin >= w->end)
			break;
		if ((span->kind != PP_SPAN_RANGE && span->kind != PP_SPAN_MPI && span->kind != PP_SPAN_DEVICE) ||
		    span->end <= span->begin)
			continue;
		if (advance(c, span->begin, w, list) < 0 || open_range(c, cache, (uint32_t)c->at) < 0)
			return -ENOMEM;
	}
	return advance(c, w->end, w, list);
}

static void put(struct pp_flats *out, const struct pp_flat *f, int64_t end)
{
	struct pp_flat *last = out->flats ? &out->flat[out->flats - 1] : NULL;

	if (last && last->end == f->begin && last->span == f->span && last->thread == f->thread) {
		last->end = end;
		return;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): room for all was made before */
	out->flat[out->flats] = *f;
	out->flat[out->flats++].end = end;
}

/* `high` keeps its time; `low` gets its part before it, and loses the part under it. Returns 1 when `low` is used up. */
static int cover(const struct pp_flat *high, struct pp_flat *low, struct pp_flats *out)
{
	if (low->begin < high->begin)
		put(out, low, high->begin);
	if (low->end <= high->end)
		return 1;
	low->begin = high->end;
	return 0;
}

int pp_flat_merge(const struct pp_flat *a, size_t as, const struct pp_flat *b, size_t bs, struct pp_flats *out)
{
	size_t i = 0, k = 0;
	struct pp_flat x, y;

	/* Each may be cut once by each of the other list. */
	if (reserve(out, 2 * (as + bs)) < 0)
		return -ENOMEM;
	if (as)
		x = a[0];
	if (bs)
		y = b[0];
	while (i < as && k < bs) {
		int x_done = 0, y_done = 0;

		if (x.end <= y.begin) {
			put(out, &x, x.end);
			x_done = 1;
		} else if (y.end <= x.begin) {
			put(out, &y, y.end);
			y_done = 1;
		} else if (x.weight >= y.weight) {
			y_done = cover(&x, &y, out);
		} else {
			x_done = cover(&y, &x, out);
		}
		if (x_done && ++i < as)
			x = a[i];
		if (y_done && ++k < bs)
			y = b[k];
	}
	for (; i < as; x = ++i < as ? a[i] : x)
		put(out, &x, x.end);
	for (; k < bs; y = ++k < bs ? b[k] : y)
		put(out, &y, y.end);
	return 0;
}
