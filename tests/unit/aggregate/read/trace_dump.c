/* Prints what a reader of trace files makes of one: ranks, threads, steps, sums by device activity, launches, allocations; with
 * --spans each span. Called by xspace_truth.py. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

static const char *const kind[] = {"range", "async", "mark", "counter", "step", "mpi", "request", "device"};
static const char *const activity[] = {"kernel", "collective", "h2d", "d2h", "d2d", "set"};

static const char *text(const struct pp_capture *c, uint32_t id)
{
	return pp_intern_text(c->names, id, NULL);
}

static void print_launch(const struct pp_launch *l)
{
	printf("\tregs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u occ_pct:%g", l->registers,
	       l->static_shared, l->dynamic_shared, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
	       (double)l->occupancy);
}

static void print_span(const struct pp_capture *c, const struct pp_rank *r, const struct pp_thread *t, const struct pp_span *s)
{
	printf("span\t%d\t%u\t%u\t%s\t%s\t%" PRId64 "\t%" PRId64, r->rank, t->device, t->tid, kind[s->kind], text(c, s->name),
	       s->begin, s->end);
	if (s->kind == PP_SPAN_DEVICE) {
		printf("\t%s\t%d\t%s\t%" PRId64 "\t%" PRIu64 "\t%u", activity[s->device.activity], s->device.precision,
		       text(c, s->device.op), s->device.step, s->device.bytes, s->device.host_thread);
		if (s->device.launch)
			print_launch(&r->launch[s->device.launch - 1]);
	} else if (s->kind == PP_SPAN_STEP) {
		printf("\t%" PRId64, s->step.number);
	} else if (s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST) {
		printf("\t%u\t%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t%d\t%u", s->mpi.call, s->mpi.comm, s->mpi.sent,
		       s->mpi.received, s->mpi.sequence, s->mpi.peer, s->mpi.request);
	} else if (s->kind == PP_SPAN_COUNTER) {
		printf("\t%g", s->value);
	}
	printf("\n");
}

static void print_rank(const struct pp_capture *c, const struct pp_rank *r, int spans)
{
	printf("rank\t%d\t%s\t%s\t%d\t%s\t%" PRId64 "\n", r->rank, r->host, r->step_rule, r->step_marks, r->trace.producer,
	       r->trace.clock_bound_ns);
	printf("trace\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", r->trace.events, r->trace.derived,
	       r->trace.untimed, r->trace.damaged, r->trace.damaged_at, r->trace.damage);
	for (uint32_t i = 0; i < r->remarks && i < PP_REMARKS; i++)
		printf("remark\t%s\n", r->remark[i]);
	for (size_t i = 0; i < r->devices; i++)
		printf("device\t%u\t%s\t%s\t%" PRIu64 "\n", r->device[i].number, r->device[i].kind, r->device[i].name,
		       r->device[i].memory);
	for (size_t i = 0; i < r->allocations; i++) {
		const struct pp_allocation *a = &r->allocation[i];

		printf("allocation\t%" PRId64 "\t%s\t%d\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRIx64 "\t%" PRId64 "\t%" PRId64
		       "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%g\n",
		       a->time, text(c, a->allocator), a->is_free, text(c, a->op), text(c, a->region), text(c, a->type),
		       text(c, a->shape), a->step, a->address, a->requested, a->bytes, a->allocated, a->reserved, a->available,
		       a->peak, a->fragmentation);
	}
	for (size_t t = 0; t < r->threads; t++) {
		const struct pp_thread *h = &r->thread[t];

		printf("thread\t%d\t%u\t%u\t%s\t%d\t%zu\t%" PRId64 "\t%" PRId64 "\t%x\n", r->rank, h->device, h->tid,
		       text(c, h->name), h->is_main, h->spans, h->first, h->last, h->kinds);
		for (size_t i = 0; i < h->spans; i++)
			if (spans || h->span[i].kind == PP_SPAN_STEP)
				print_span(c, r, h, &h->span[i]);
	}
}

int main(int argc, char **argv)
{
	int spans = argc > 2 && !strcmp(argv[1], "--spans");
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance;
	struct pp_capture c;
	struct pp_err err;

	if (argc < 2 || pp_trace_glance(argv[argc - 1], &glance, &err) ||
	    pp_trace_read(argv[argc - 1], &glance, &options, &c, &err)) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: trace_dump [--spans] FILE" : err.text);
		return 1;
	}
	printf("capture\t%zu\t%d\t%" PRId64 "\t%d\n", c.ranks, c.ranks_asked, c.epoch_realtime_ns, glance.is_podprof);
	for (size_t i = 0; i < c.ranks; i++)
		print_rank(&c, &c.rank[i], spans);
	pp_capture_release(&c);
	return 0;
}
