/* /tf_data_pipeline, /tf_data_iterator, /tf_data_call, /tf_data_node: input pipelines of tf.data, and the iterator that a slow call
 * waited for. Rules: docs/tools.md. Called by build.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/tf_data_call.h"
#include "aggregate/analyze/tf_data_type.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/wrap.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/ring/intern.h"

enum { SLOW_NS = 50000, PIPELINES_MOST = 256, ITERATORS_MOST = 4096, CALLS_MOST = 64, DRAWN_MOST = 8, DEPTH_MOST = 128 };

struct node {                 /* an iterator in the graph, or several that are the same part of it */
	uint32_t iterator;    /* the first one */
	uint32_t parent;      /* index + 1; 0: a root */
	uint32_t child, next; /* index + 1 of the last node below, and of the one before it below the same */
	uint32_t pipeline;    /* index */
	uint32_t number;      /* in it */
	int is_each;          /* iterators with one name below are one node */
	uint64_t instances, calls, blocking_calls;
	int64_t total_ns, self_ns, blocking_ns;
	/* in the call of the root that is looked at: */
	uint64_t now_calls;
	int64_t now_begin, now_total, now_self;
	int now_blocking;
};

struct pipeline {
	uint32_t root; /* node */
	uint32_t number, nodes, calls;
	uint32_t first_call; /* in work.root: the slowest of its calls */
	int64_t first_begin; /* of all its calls */
	int is_device;
	struct pp_row_tf_data_pipeline row;
};

struct step { /* of the walk down a call of a root */
	uint32_t call;
	int is_blocking;
};

struct work {
	struct pp_join *j;
	const struct pp_rank *rank;
	const uint8_t *of_name;
	struct pp_tf_calls calls;
	struct node *node;
	size_t nodes, nodes_room;
	uint32_t *node_of; /* [iterators] index + 1; 0: of no root */
	struct pipeline *pipeline;
	size_t pipelines, pipelines_room;
	uint32_t *root; /* [roots] calls of roots, by pipeline, the slowest first */
	size_t roots, roots_room;
	struct step *step;
	size_t steps_room;
	uint32_t *touched;
	size_t toucheds, toucheds_room;
	uint64_t walked; /* calls that a root's call has below it */
	struct pp_table pipeline_rows, iterators, call_rows, node_rows;
	struct pp_row_tf_data_left_out left_out;
};

static const char *name_of(const struct work *w, uint32_t iterator)
{
	return pp_intern_text(w->j->in->capture->names, w->rank->iterator[iterator].name, NULL);
}

static uint32_t put_type(const struct work *w, uint32_t iterator)
{
	struct pp_tf_type type = pp_tf_type_of(name_of(w, iterator));

	return pp_intern_put(w->j->in->capture->names, type.text, type.length);
}

/* Which part of the iterator above it is: "Zip[1]::Map" is another one than "Zip[0]::Map". */
static const char *part_of(const char *name, int is_each)
{
	const char *last = name, *before = name, *at;

	while ((at = strstr(last, "::"))) {
		before = last;
		last = at + 2;
	}
	at = is_each ? NULL : memchr(before, '[', (size_t)(last - before));
	return at ? at : last;
}

/* The node below `parent` that the iterator is one more of; 0: none. */
static uint32_t find_node(const struct work *w, uint32_t parent, uint32_t iterator)
{
	const struct node *above = &w->node[parent - 1];
	const int is_each = (pp_tf_type_of(name_of(w, above->iterator)).flags & PP_TF_EACH) != 0;
	const char *part = part_of(name_of(w, iterator), is_each);

	for (uint32_t k = above->is_each ? above->child : 0; k; k = w->node[k - 1].next)
		if (!strcmp(part_of(name_of(w, w->node[k - 1].iterator), is_each), part))
			return k;
	return 0;
}

static int add_pipeline(struct work *w)
{
	if (PP_GROW(w->pipeline, w->pipelines, w->pipelines_room))
		return -ENOMEM;
	w->pipeline[w->pipelines++] = (struct pipeline){.root = (uint32_t)w->nodes};
	return 0;
}

/* Puts the iterator into the graph; the one above it is there. 0, or -ENOMEM. */
static int add_node(struct work *w, uint32_t iterator, uint32_t parent)
{
	uint32_t found = parent ? find_node(w, parent, iterator) : 0;
	struct pp_tf_type type = pp_tf_type_of(name_of(w, iterator));
	struct node n = {.iterator = iterator, .parent = parent};

	if (!found) {
		if (w->nodes >= UINT32_MAX - 1 || (!parent && add_pipeline(w)) || PP_GROW(w->node, w->nodes, w->nodes_room))
			return -ENOMEM;
		n.pipeline = parent ? w->node[parent - 1].pipeline : (uint32_t)w->pipelines - 1;
		n.number = w->pipeline[n.pipeline].nodes++;
		n.is_each = (type.flags & PP_TF_EACH) || (parent && w->node[parent - 1].is_each);
		n.next = parent ? w->node[parent - 1].child : 0;
		w->node[w->nodes++] = n;
		found = (uint32_t)w->nodes;
		if (parent)
			w->node[parent - 1].child = found;
		w->left_out.unknown_types += type.class == PP_TF_DATA_UNKNOWN;
	}
	w->node[found - 1].instances++;
	w->node_of[iterator] = found;
	if (pp_tf_is_of_device(name_of(w, iterator)))
		w->pipeline[w->node[found - 1].pipeline].is_device = 1;
	return 0;
}

/* The graph: of each iterator the way up to a root, then down again. */
static int make_graph(struct work *w)
{
	uint32_t way[DEPTH_MOST];
	int rc = 0;

	w->node_of = calloc(w->rank->iterators + 1, sizeof(*w->node_of));
	if (!w->node_of)
		return -ENOMEM;
	for (size_t i = 0; i < w->rank->iterators && !rc; i++) {
		uint32_t at = (uint32_t)i;
		size_t depth = 0;
		int is_root = 0;

		for (; depth < DEPTH_MOST && !w->node_of[at]; at = w->calls.parent[at] - 1) {
			way[depth++] = at;
			is_root = w->of_name[w->rank->iterator[at].name] == PP_TF_ROOT;
			if (is_root || !w->calls.parent[at])
				break;
		}
		if (!is_root && !w->node_of[at])
			continue;
		for (uint32_t parent = is_root ? 0 : w->node_of[at]; depth && !rc; parent = w->node_of[way[depth]])
			rc = add_node(w, way[--depth], parent);
	}
	return rc;
}

static uint32_t pipeline_of(const struct work *w, uint32_t call)
{
	return w->node[w->node_of[w->calls.call[call].iterator] - 1].pipeline;
}

static int compare_roots(const void *a, const void *b, void *context)
{
	const struct work *w = context;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b, p = pipeline_of(w, i), q = pipeline_of(w, k);
	const struct pp_tf_call *x = &w->calls.call[i], *y = &w->calls.call[k];

	if (p != q)
		return p < q ? -1 : 1;
	if (y->end - y->begin != x->end - x->begin)
		return y->end - y->begin > x->end - x->begin ? 1 : -1;
	return x->begin != y->begin ? PP_ORDER(x->begin, y->begin) : PP_ORDER(i, k);
}

/* Calls of roots, in the order of rows, and what all calls of an iterator take. */
static int sort_calls(struct work *w)
{
	for (size_t i = 0; i < w->calls.calls; i++) {
		const struct pp_tf_call *call = &w->calls.call[i];
		struct node *n = w->node_of[call->iterator] ? &w->node[w->node_of[call->iterator] - 1] : NULL;

		if (!n)
			continue;
		n->calls++;
		n->total_ns = pp_wrap_plus(n->total_ns, call->end - call->begin);
		n->self_ns = pp_wrap_plus(n->self_ns, call->self_ns);
		if (!call->is_root)
			continue;
		if (PP_GROW(w->root, w->roots, w->roots_room))
			return -ENOMEM;
		w->root[w->roots++] = (uint32_t)i;
	}
	if (w->roots)
		qsort_r(w->root, w->roots, sizeof(*w->root), compare_roots, w);
	for (size_t i = w->roots; i--;) {
		struct pipeline *p = &w->pipeline[pipeline_of(w, w->root[i])];
		int64_t begin = w->calls.call[w->root[i]].begin;

		p->first_call = (uint32_t)i;
		p->first_begin = !p->calls++ || begin < p->first_begin ? begin : p->first_begin;
	}
	return 0;
}

static int compare_first(const void *a, const void *b, void *context)
{
	const struct pipeline *p = context, *x = &p[*(const uint32_t *)a], *y = &p[*(const uint32_t *)b];

	if (!x->calls != !y->calls)
		return x->calls ? -1 : 1;
	return x->first_begin != y->first_begin ? PP_ORDER(x->first_begin, y->first_begin) : PP_ORDER(x->root, y->root);
}

/* Numbers and names by the first call. Pipelines without a call are the last. */
static int number_pipelines(struct work *w)
{
	uint32_t *order = malloc((w->pipelines + 1) * sizeof(*order)), host = 0, device = 0;
	char name[32];

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < w->pipelines; i++)
		order[i] = (uint32_t)i;
	if (w->pipelines)
		qsort_r(order, w->pipelines, sizeof(*order), compare_first, w->pipeline);
	for (size_t i = 0; i < w->pipelines; i++) {
		struct pipeline *p = &w->pipeline[order[i]];

		p->number = (uint32_t)i;
		snprintf(name, sizeof(name), p->is_device ? "Device:%u" : "Host:%u", p->is_device ? device++ : host++);
		p->row = (struct pp_row_tf_data_pipeline){
		        .worker = w->rank->rank,
		        .pipeline = p->number,
		        .name = pp_intern_put(w->j->in->capture->names, name, strlen(name)),
		        .is_device = (int8_t)p->is_device,
		        .root_id = w->rank->iterator[w->node[p->root].iterator].id,
		};
	}
	free(order);
	return 0;
}

/* Adds up what a call of a root had below it; w->touched has the nodes. */
static int walk(struct work *w, uint32_t pipeline, uint32_t root)
{
	size_t steps = 0;

	w->toucheds = 0;
	if (PP_GROW(w->step, steps, w->steps_room))
		return -ENOMEM;
	w->step[steps++] = (struct step){root, 1};
	while (steps) {
		const struct step at = w->step[--steps];
		const struct pp_tf_call *call = &w->calls.call[at.call];
		const uint32_t place = w->node_of[call->iterator];
		struct node *n = place ? &w->node[place - 1] : NULL;

		if (!n || n->pipeline != pipeline)
			continue;
		w->walked++;
		if (!n->now_calls++) {
			if (PP_GROW(w->touched, w->toucheds, w->toucheds_room))
				return -ENOMEM;
			w->touched[w->toucheds++] = place - 1;
			n->now_begin = call->begin;
			n->now_total = n->now_self = n->now_blocking = 0;
		}
		n->now_begin = call->begin < n->now_begin ? call->begin : n->now_begin;
		n->now_total = pp_wrap_plus(n->now_total, call->end - call->begin);
		n->now_self = pp_wrap_plus(n->now_self, call->self_ns);
		n->now_blocking |= at.is_blocking;
		n->blocking_calls += at.is_blocking != 0;
		n->blocking_ns = pp_wrap_plus(n->blocking_ns, at.is_blocking ? call->self_ns : 0);
		for (uint32_t k = call->child; k; k = w->calls.call[k - 1].next) {
			const struct pp_tf_call *below = &w->calls.call[k - 1];

			if (PP_GROW(w->step, steps, w->steps_room))
				return -ENOMEM;
			w->step[steps++] =
			        (struct step){k - 1, at.is_blocking && below->begin < call->end && below->end > call->begin};
		}
	}
	return 0;
}

/* The node on the critical path with the longest self time; the upper one of equal ones. */
static uint32_t bottleneck_of(const struct work *w)
{
	uint32_t most = w->touched[0];

	for (size_t i = 1; i < w->toucheds; i++) {
		const struct node *n = &w->node[w->touched[i]], *m = &w->node[most];

		if (n->now_blocking && (n->now_self > m->now_self || (n->now_self == m->now_self && n->number < m->number)))
			most = w->touched[i];
	}
	return most;
}

static int add_drawn(struct work *w, const struct pipeline *p, uint32_t number, uint32_t bottleneck)
{
	for (size_t i = 0; i < w->toucheds; i++) {
		const struct node *n = &w->node[w->touched[i]];
		struct pp_row_tf_data_node *row = pp_table_add(&w->node_rows);

		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_tf_data_node){.worker = w->rank->rank,
		                                    .pipeline = p->number,
		                                    .call = number,
		                                    .iterator = n->number,
		                                    .begin_ns = n->now_begin,
		                                    .calls = n->now_calls,
		                                    .total_ns = n->now_total,
		                                    .self_ns = n->now_self,
		                                    .is_blocking = (int8_t)(n->now_blocking != 0),
		                                    .is_bottleneck = (int8_t)(w->touched[i] == bottleneck)};
	}
	return 0;
}

static void take_slowest(const struct work *w, struct pipeline *p, const struct node *bottleneck)
{
	const struct pp_iterator *it = &w->rank->iterator[bottleneck->iterator];
	const char *advice;

	p->row.bottleneck = bottleneck->number;
	p->row.type = put_type(w, bottleneck->iterator);
	p->row.path = it->name;
	p->row.dataset = it->dataset;
	p->row.class = (int8_t)pp_tf_type_of(name_of(w, bottleneck->iterator)).class;
	p->row.bottleneck_ns = bottleneck->now_self;
	if (p->row.most_ns <= SLOW_NS)
		return;
	advice = pp_tf_advice(p->row.class);
	p->row.advice = pp_intern_put(w->j->in->capture->names, advice, strlen(advice));
}

static int add_call_row(struct work *w, const struct pipeline *p, uint32_t number, const struct node *bottleneck)
{
	const struct pp_tf_call *call = &w->calls.call[w->root[p->first_call + number]];
	struct pp_row_tf_data_call *row = pp_table_add(&w->call_rows);

	if (!row)
		return -ENOMEM;
	*row = (struct pp_row_tf_data_call){.worker = w->rank->rank,
	                                    .pipeline = p->number,
	                                    .call = number,
	                                    .begin_ns = call->begin,
	                                    .duration_ns = call->end - call->begin,
	                                    .is_slow = (int8_t)(call->end - call->begin > SLOW_NS),
	                                    .bottleneck = bottleneck->number,
	                                    .type = put_type(w, bottleneck->iterator),
	                                    .bottleneck_ns = bottleneck->now_self};
	return 0;
}

static int add_calls(struct work *w, struct pipeline *p, int has_rows)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->calls && !rc; i++) {
		const struct pp_tf_call *call = &w->calls.call[w->root[p->first_call + i]];
		const int64_t ns = call->end - call->begin;
		uint32_t most = 0;

		p->row.calls++;
		p->row.slow_calls += ns > SLOW_NS;
		p->row.total_ns = pp_wrap_plus(p->row.total_ns, ns);
		p->row.most_ns = i ? p->row.most_ns : ns;
		p->row.least_ns = ns;
		rc = walk(w, (uint32_t)(p - w->pipeline), w->root[p->first_call + i]);
		if (!rc && i < CALLS_MOST && has_rows) {
			most = bottleneck_of(w);
			if (!i)
				take_slowest(w, p, &w->node[most]);
			rc = add_call_row(w, p, i, &w->node[most]);
		}
		if (!rc && i < DRAWN_MOST && has_rows)
			rc = add_drawn(w, p, i, most);
		for (size_t k = 0; k < w->toucheds; k++)
			w->node[w->touched[k]].now_calls = 0;
	}
	w->left_out.rest += p->calls > CALLS_MOST && has_rows ? p->calls - CALLS_MOST : 0;
	p->row.mean_ns = p->calls ? p->row.total_ns / p->calls : 0;
	return rc;
}

static int add_pipelines(struct work *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->pipelines && !rc; i++) {
		struct pipeline *p = &w->pipeline[i];
		struct pp_row_tf_data_pipeline *row;

		rc = add_calls(w, p, p->number < PIPELINES_MOST);
		w->left_out.rest += p->number >= PIPELINES_MOST;
		if (rc || p->number >= PIPELINES_MOST)
			continue;
		row = pp_table_add(&w->pipeline_rows);
		if (!row)
			return -ENOMEM;
		*row = p->row;
	}
	return rc;
}

static int add_iterators(struct work *w)
{
	size_t rows = 0;

	for (size_t i = 0; i < w->nodes; i++) {
		const struct node *n = &w->node[i];
		const struct pp_iterator *it = &w->rank->iterator[n->iterator];
		const struct pp_tf_type type = pp_tf_type_of(name_of(w, n->iterator));
		struct pp_row_tf_data_iterator *row;

		if (w->pipeline[n->pipeline].number >= PIPELINES_MOST || rows++ >= ITERATORS_MOST) {
			w->left_out.rest++;
			continue;
		}
		row = pp_table_add(&w->iterators);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_tf_data_iterator){.worker = w->rank->rank,
		                                        .pipeline = w->pipeline[n->pipeline].number,
		                                        .iterator = n->number,
		                                        .parent = n->parent ? (int32_t)w->node[n->parent - 1].number : -1,
		                                        .id = it->id,
		                                        .parent_id = it->parent,
		                                        .type = put_type(w, n->iterator),
		                                        .path = it->name,
		                                        .dataset = it->dataset,
		                                        .parameters = it->parameters,
		                                        .class = (int8_t)type.class,
		                                        .is_async = (int8_t)((type.flags & PP_TF_ASYNC) != 0),
		                                        .instances = n->instances,
		                                        .calls = n->calls,
		                                        .total_ns = n->total_ns,
		                                        .self_ns = n->self_ns,
		                                        .blocking_calls = n->blocking_calls,
		                                        .blocking_ns = n->blocking_ns};
	}
	return 0;
}

static void release_rank(struct work *w)
{
	pp_tf_calls_release(&w->calls);
	free(w->node_of);
	w->node_of = NULL;
	w->nodes = w->pipelines = w->roots = 0;
	w->walked = 0;
}

static int look_at_rank(struct work *w, size_t rank)
{
	int rc;

	w->rank = &w->j->in->capture->rank[rank];
	rc = pp_tf_calls_find(w->j->in->capture, rank, w->of_name, &w->calls);
	if (!rc)
		rc = make_graph(w);
	if (!rc)
		rc = sort_calls(w);
	if (!rc)
		rc = number_pipelines(w);
	if (!rc)
		rc = add_pipelines(w);
	if (!rc)
		rc = add_iterators(w);
	w->left_out.of_no_root += w->calls.calls - w->walked;
	w->left_out.without_id += w->calls.without_id;
	w->left_out.cut += w->calls.cut;
	w->left_out.unused_elements += w->calls.unused;
	w->left_out.unmade_elements += w->calls.unmade;
	w->left_out.no_elements += w->calls.empty;
	release_rank(w);
	return rc;
}

/* 1: some name is an iterator's; of_name says which. */
static int find_names(const struct pp_intern *names, uint8_t *of_name)
{
	int any = 0;

	for (uint32_t i = 0; i < pp_intern_count(names); i++) {
		of_name[i] = (uint8_t)pp_tf_event_of(pp_intern_text(names, i, NULL));
		any |= of_name[i] == PP_TF_ITERATOR || of_name[i] == PP_TF_ROOT;
	}
	return any;
}

static int hand_over(struct work *w)
{
	struct pp_dataset *d = w->j->d;
	struct pp_row_tf_data_left_out *left_out = malloc(sizeof(*left_out));

	d->tf_data_pipeline = w->pipeline_rows.row;
	d->tf_data_pipelines = w->pipeline_rows.rows;
	d->tf_data_iterator = w->iterators.row;
	d->tf_data_iterators = w->iterators.rows;
	d->tf_data_call = w->call_rows.row;
	d->tf_data_calls = w->call_rows.rows;
	d->tf_data_node = w->node_rows.row;
	d->tf_data_nodes = w->node_rows.rows;
	if (!left_out)
		return -ENOMEM;
	*left_out = w->left_out;
	d->tf_data_left_out = left_out;
	d->tf_data_left_outs = 1;
	return 0;
}

int pp_join_tf_data(struct pp_join *j)
{
	const struct pp_capture *c = j->in->capture;
	uint8_t *of_name = malloc((size_t)pp_intern_count(c->names) + 1);
	struct work w = {.j = j,
	                 .of_name = of_name,
	                 .pipeline_rows = {.desc = pp_table_desc(PP_TABLE_tf_data_pipeline)},
	                 .iterators = {.desc = pp_table_desc(PP_TABLE_tf_data_iterator)},
	                 .call_rows = {.desc = pp_table_desc(PP_TABLE_tf_data_call)},
	                 .node_rows = {.desc = pp_table_desc(PP_TABLE_tf_data_node)}};
	int rc = of_name ? 0 : -ENOMEM;

	if (!rc && find_names(c->names, of_name)) {
		for (size_t r = 0; r < c->ranks && !rc; r++)
			rc = look_at_rank(&w, r);
	}
	free(w.node);
	free(w.pipeline);
	free(w.root);
	free(w.step);
	free(w.touched);
	free(of_name);
	return hand_over(&w) || rc ? -ENOMEM : 0;
}
