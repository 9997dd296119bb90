/* Prints what the reader of Kineto files gives: a line per step with lengths of unions of device time, and totals. Called by
 * kineto_truth.py and tests/torch/kineto.py. Usage: kineto_dump FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

struct edge {
	int64_t time;
	int what, by; /* 0 compute, 1 communication, 2 memory */
};

struct edges {
	struct edge *edge;
	size_t n;
};

static int compare_edge(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static int what_of(const struct pp_span *s)
{
	return s->device.activity == PP_DEVICE_KERNEL ? 0 : s->device.activity == PP_DEVICE_COLLECTIVE ? 1 : 2;
}

static void list_edges(const struct pp_rank *r, struct edges *e)
{
	size_t room = 0;

	for (size_t t = 0; t < r->threads; t++)
		room += r->thread[t].device ? 2 * r->thread[t].spans : 0;
	e->edge = calloc(room + 1, sizeof(*e->edge));
	for (size_t t = 0; t < r->threads; t++) {
		for (size_t i = 0; r->thread[t].device && i < r->thread[t].spans; i++) {
			const struct pp_span *s = &r->thread[t].span[i];

			e->edge[e->n++] = (struct edge){s->begin, what_of(s), 1};
			e->edge[e->n++] = (struct edge){s->end, what_of(s), -1};
		}
	}
	qsort(e->edge, e->n, sizeof(*e->edge), compare_edge);
}

static void print_step(const struct edges *e, size_t *at, int64_t epoch, const struct pp_span *step)
{
	int64_t all[3] = {0}, both = 0, busy = 0, last = step->begin;
	int open[3] = {0};

	for (; *at < e->n && e->edge[*at].time < step->end; ++*at) {
		const struct edge *x = &e->edge[*at];
		int64_t ns = x->time - last;

		for (int w = 0; w < 3; w++)
			all[w] += open[w] ? ns : 0;
		both += open[0] && open[1] ? ns : 0;
		busy += open[0] || open[1] || open[2] ? ns : 0;
		open[x->what] += x->by;
		last = x->time;
	}
	printf("step\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
	       step->step.number, epoch + step->begin, step->end - step->begin, all[0], all[1], both, all[2],
	       step->end - step->begin - busy);
}

static void print_steps(const struct pp_capture *c)
{
	struct edges e = {0};
	size_t at = 0;

	list_edges(c->rank, &e);
	for (size_t t = 0; t < c->rank->threads; t++)
		for (size_t i = 0; c->rank->thread[t].is_main && i < c->rank->thread[t].spans; i++)
			if (c->rank->thread[t].span[i].kind == PP_SPAN_STEP)
				print_step(&e, &at, c->epoch_realtime_ns, &c->rank->thread[t].span[i]);
	free(e.edge);
}

static void print_rest(const struct pp_capture *c)
{
	const struct pp_rank *r = c->rank;
	uint64_t device = 0, with_op = 0, launched = 0;

	for (size_t t = 0; t < r->threads; t++) {
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			const struct pp_span *s = &r->thread[t].span[i];

			if (s->kind != PP_SPAN_DEVICE)
				continue;
			device++;
			with_op += s->device.op != 0;
			launched += s->device.host_thread != 0;
		}
	}
	printf("events\t%" PRIu64 "\nderived\t%" PRIu64 "\nuntimed\t%" PRIu64 "\ndamaged\t%" PRIu64 "\n", r->trace.events,
	       r->trace.derived, r->trace.untimed, r->trace.damaged);
	printf("threads\t%zu\ndevice\t%" PRIu64 "\nwith_op\t%" PRIu64 "\nlaunched\t%" PRIu64 "\n", r->threads, device, with_op,
	       launched);
	printf("allocations\t%zu\nrank\t%d\nworld\t%d\npid\t%d\nhost\t%s\nepoch\t%" PRId64 "\nproducer\t%s\n", r->allocations,
	       (int)r->rank, (int)r->size, (int)r->pid, r->host, c->epoch_realtime_ns, r->trace.producer);
}

int main(int argc, char **argv)
{
	struct pp_trace_glance glance;
	struct pp_trace_options options = {0};
	struct pp_capture c;
	struct pp_err err;

	if (argc != 2) {
		fprintf(stderr, "usage: kineto_dump FILE\n");
		return 64;
	}
	if (pp_trace_glance(argv[1], &glance, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	options.rank = glance.rank < 0 ? 0 : glance.rank;
	if (pp_trace_read(argv[1], &glance, &options, &c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	print_steps(&c);
	print_rest(&c);
	pp_capture_release(&c);
	return 0;
}
