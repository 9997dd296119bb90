/* Finds the frames of Python in which a profiler starts and ends, which it records of itself; see window.h. */
#include "aggregate/read/xspace/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/rings.h"
#include "core/capture/thread.h"

enum own { UNKNOWN, OTHER, STARTS, ENDS };

struct found {
	const struct pp_span *starts, *ends;
	size_t starts_on, ends_on; /* threads */
	size_t left_out;
};

/* Of "$profiler.py:151 start_trace": the file of JAX or TensorFlow, and its function. */
static enum own own_of(const char *name, size_t length)
{
	static const struct {
		const char *file, *function;
		enum own own;
	} row[] = {
	        {"$profiler.py:", " start_trace", STARTS},
	        {"$profiler.py:", " stop_trace", ENDS},
	        {"$profiler.py:", " stop_and_get_fdo_profile", ENDS},
	        {"$profiler_v2.py:", " start", STARTS},
	        {"$profiler_v2.py:", " stop", ENDS},
	        {"$profiler_v2.py:", " warmup", STARTS},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t file = strlen(row[i].file), function = strlen(row[i].function);

		if (length > file + function && !memcmp(name, row[i].file, file) &&
		    !memcmp(name + length - function, row[i].function, function) &&
		    strspn(name + file, "0123456789") == length - file - function)
			return row[i].own;
	}
	return OTHER;
}

/* Nothing was recorded before the profiler started, and nothing after it ended, but for frames around it. */
static int is_first(const struct pp_thread *t, const struct pp_span *s)
{
	for (const struct pp_span *before = t->span; before < s; before++)
		if (before->end < s->end)
			return 0;
	return 1;
}

static int is_last(const struct pp_thread *t, const struct pp_span *s)
{
	for (const struct pp_span *after = s + 1; after < t->span + t->spans; after++)
		if (after->begin >= s->end && after->end > after->begin)
			return 0;
	return 1;
}

static void find_on_thread(const struct pp_xread *x, size_t thread, uint8_t *own, struct found *f)
{
	const struct pp_thread *t = &x->rank.thread[thread];

	for (size_t i = 0; !t->device && i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];

		if (s->kind != PP_SPAN_RANGE || s->range.origin != PP_ORIGIN_PYTHON)
			continue;
		if (own[s->name] == UNKNOWN) {
			size_t length;
			const char *name = pp_intern_text(x->names, s->name, &length);

			own[s->name] = (uint8_t)own_of(name, length);
		}
		if (own[s->name] == STARTS && !f->starts && is_first(t, s)) {
			f->starts = s;
			f->starts_on = thread;
		} else if (own[s->name] == ENDS && is_last(t, s) && !f->ends) {
			f->ends = s;
			f->ends_on = thread;
		}
	}
}

/* What the program has left to do on devices, or on threads of XLA, when it ends its profiler is still of the program. */
static int64_t end_of_work(const struct pp_xread *x, size_t profiler, int64_t to)
{
	int64_t end = to;

	for (size_t t = 0; t < x->rank.threads; t++)
		for (size_t i = 0; t != profiler && i < x->rank.thread[t].spans; i++) {
			const struct pp_span *s = &x->rank.thread[t].span[i];

			if (s->end > end &&
			    (s->kind == PP_SPAN_DEVICE || (s->kind == PP_SPAN_RANGE && s->range.origin == PP_ORIGIN_OPERATOR)))
				end = s->end;
		}
	return end;
}

static int is_inside(const struct pp_span *s, const struct pp_span *outer)
{
	return outer && s->begin >= outer->begin && s->end <= outer->end;
}

static void cut_thread(struct pp_xread *x, size_t thread, const struct found *f, size_t *left_out)
{
	struct pp_thread *t = &x->rank.thread[thread];
	size_t left = 0;

	t->first = INT64_MAX;
	t->last = INT64_MIN;
	t->kinds = 0;
	for (size_t i = 0; i < t->spans; i++) {
		struct pp_span *s = &t->span[i];
		int outside = s->begin >= x->to || (s->end <= x->from && s->begin < x->from);

		outside |= thread == f->starts_on && is_inside(s, f->starts);
		outside |= thread == f->ends_on && is_inside(s, f->ends);
		if (outside) {
			++*left_out;
			continue;
		}
		s->begin = s->begin < x->from ? x->from : s->begin;
		s->end = s->end > x->to ? x->to : s->end;
		t->first = s->begin < t->first ? s->begin : t->first;
		t->last = s->end > t->last ? s->end : t->last;
		t->kinds |= PP_SPAN_BIT(s->kind);
		t->span[left++] = *s;
	}
	t->spans = left;
}

void pp_xwindow_find(struct pp_xread *x)
{
	uint8_t *own = calloc((size_t)pp_intern_count(x->names) + 1, 1);
	struct pp_span starts, ends;
	struct found f = {.starts = NULL};
	size_t left_out = 0;
	char text[PP_REMARK_TEXT];

	for (size_t t = 0; own && t < x->rank.threads; t++)
		find_on_thread(x, t, own, &f);
	x->no_memory |= !own;
	free(own);
	if ((!f.starts && !f.ends) || (f.starts && f.ends && f.starts->end >= f.ends->begin))
		return;
	if (f.starts) { /* the spans move */
		x->from = f.starts->end;
		starts = *f.starts;
		f.starts = &starts;
	}
	if (f.ends) {
		x->to = end_of_work(x, f.ends_on, f.ends->begin);
		ends = *f.ends;
		f.ends = &ends;
	}
	for (size_t t = 0; t < x->rank.threads; t++)
		cut_thread(x, t, &f, &left_out);
	snprintf(text, sizeof(text), "%zu events in which the profiler started and ended were left out, and their time", left_out);
	pp_remark_add(x->rank.remark, &x->rank.remarks, text);
}
