/* Says what is slow in tf.data's pipelines; see tf_data_text.h. */
#include "aggregate/tools/tf_data_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/recommend.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

enum { SLOW_NS = 50000, TYPE_BYTES = 40, PATH_BYTES = 120 };

const struct pp_row_tf_data_pipeline *pp_tf_data_slowest(const struct pp_dataset *d, int32_t rank)
{
	const struct pp_row_tf_data_pipeline *most = NULL;

	for (size_t i = 0; i < d->tf_data_pipelines; i++) {
		const struct pp_row_tf_data_pipeline *p = &d->tf_data_pipeline[i];

		if (!p->is_device && p->calls && p->most_ns > SLOW_NS && (rank < 0 || p->worker == rank) &&
		    (!most || p->most_ns > most->most_ns))
			most = p;
	}
	return most;
}

/* Are the calls of hosts' pipelines long enough to be what steps wait for? */
static int explains(const struct pp_dataset *d, const struct pp_sums *s, int32_t rank)
{
	const size_t w = rank < 0 ? SIZE_MAX : pp_dataset_worker(d, rank);
	const int64_t input = w == SIZE_MAX ? s->sum_ns[PP_CATEGORY_INPUT] : s->worker_ns[w][PP_CATEGORY_INPUT];
	int64_t ns = 0;

	for (size_t i = 0; i < d->tf_data_pipelines; i++)
		if (!d->tf_data_pipeline[i].is_device && (rank < 0 || d->tf_data_pipeline[i].worker == rank))
			ns = pp_wrap_plus(ns, d->tf_data_pipeline[i].total_ns);
	return ns >= input / 2;
}

const struct pp_row_tf_data_pipeline *pp_tf_data_cause(const struct pp_dataset *d, const struct pp_sums *s, int32_t rank)
{
	struct pp_activity copies;

	if (!d->tf_data_pipelines || !s->cells || !d->input_bounds || d->input_bound->input_bound <= 0)
		return NULL;
	copies = pp_activity_of(d, PP_DEVICE_HOST_TO_DEVICE);
	if ((copies.occurrences && pp_recommend_enqueues(d, s, &copies)) || !explains(d, s, rank))
		return NULL;
	return pp_tf_data_slowest(d, rank);
}

const char *pp_tf_data_say(const struct pp_dataset *d, const struct pp_row_tf_data_pipeline *p, char *text, size_t size)
{
	const char *type = pp_intern_text(d->names, p->type, NULL), *path = pp_intern_text(d->names, p->path, NULL);
	char most[PP_TEXT_UNIT], own[PP_TEXT_UNIT], rank[32] = "";
	int n, room;

	if (d->workers > 1)
		snprintf(rank, sizeof(rank), " on rank %" PRId32, p->worker);
	n = snprintf(text, size,
	             "tf.data's pipeline %s%s: %" PRIu64 " of %" PRIu64
	             " calls longer than 50 us, the slowest %s; its bottleneck is %.*s (%s), %s of its own",
	             pp_intern_text(d->names, p->name, NULL), rank, p->slow_calls, p->calls, pp_text_time(most, p->most_ns),
	             pp_utf8_fit(type, TYPE_BYTES), type, pp_tf_data_class_name(p->class), pp_text_time(own, p->bottleneck_ns));
	room = n > 0 && (size_t)n + 8 < size ? (int)size - n - 3 : 0;
	if (room)
		snprintf(text + n, size - (size_t)n, ": %.*s", pp_utf8_fit(path, room < PATH_BYTES ? room : PATH_BYTES), path);
	return text;
}

const char *pp_tf_data_say_left_out(const struct pp_dataset *d, char *text, size_t size)
{
	static const struct pp_row_tf_data_left_out none = {0};
	const struct pp_row_tf_data_left_out *l = d->tf_data_left_outs ? d->tf_data_left_out : &none;
	const struct {
		uint64_t count;
		const char *one, *what;
	} row[] = {
	        {l->without_id, "call", "of iterators without a number"},
	        {l->cut, "call", "cut by the window's edge"},
	        {l->of_no_root, "call", "that no recorded call of a root needed"},
	        {l->unused_elements, "element", "made ahead that no recorded call took"},
	        {l->unmade_elements, "element", "taken whose making was not recorded"},
	        {l->unknown_types, "iterator", "of unknown type"},
	};
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int n = row[i].count ? snprintf(text + at, size - at, "%s%" PRIu64 " %s%s %s", at ? ", " : "", row[i].count,
		                                row[i].one, row[i].count == 1 ? "" : "s", row[i].what)
		                     : 0;

		at = n > 0 && (size_t)n < size - at ? at + (size_t)n : at;
	}
	text[at] = '\0';
	return text;
}
