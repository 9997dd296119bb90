/* Finds the kernels of NCCL's operations, and what of their time nothing hid; see operation.h. Called by collective.c. */
#include "aggregate/analyze/operation.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "aggregate/analyze/request.h"
#include "aggregate/dataset/table/table.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"

struct kernel { /* of a library of collectives */
	int64_t begin, end;
	uint32_t correlation;
	uint32_t operations;
};

struct cover { /* when devices of the rank did what comes before collectives; disjoint, in order */
	int64_t begin, end;
	int64_t before; /* length of those before it */
};

struct work {
	const struct pp_rank *rank;
	struct pp_operation_runs *out;
	struct kernel *kernel;
	struct cover *cover;
	struct kernel **run_kernel; /* [runs]; NULL: none */
	size_t kernels, covers;
	int has_streams;
};

PP_COMPARE_BY_2(compare_kernel, struct kernel, correlation, end)

PP_COMPARE_BY(compare_cover, struct cover, begin)

PP_COMPARE_BY(compare_run, struct pp_operation_run, request)

/* As core/step/attr_flat.c has it: kernels and sets, copies to the host, copies between devices. */
int pp_device_comes_before(int activity)
{
	return activity == PP_DEVICE_KERNEL || activity == PP_DEVICE_SET || activity == PP_DEVICE_DEVICE_TO_HOST ||
	       activity == PP_DEVICE_DEVICE_TO_DEVICE;
}

static void look_at_stream(struct work *w, const struct pp_thread *t)
{
	for (size_t i = 0; i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];

		if (s->kind != PP_SPAN_DEVICE || s->end <= s->begin)
			continue;
		if (pp_device_comes_before(s->device.activity)) {
			if (w->cover)
				w->cover[w->covers] = (struct cover){s->begin, s->end, 0};
			w->covers++;
		} else if (s->device.activity == PP_DEVICE_COLLECTIVE && !(s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END))) {
			if (w->kernel)
				w->kernel[w->kernels] = (struct kernel){s->begin, s->end, (uint32_t)s->device.correlation, 0};
			w->kernels++;
		}
	}
}

static int look_at_streams(struct work *w)
{
	const struct pp_rank *rank = w->rank;

	for (int filling = 0; filling < 2; filling++) {
		if (filling) {
			w->kernel = calloc(w->kernels + 1, sizeof(*w->kernel));
			w->cover = calloc(w->covers + 1, sizeof(*w->cover));
			if (!w->kernel || !w->cover)
				return -ENOMEM;
			w->kernels = w->covers = 0;
		}
		for (size_t t = 0; t < rank->threads; t++) {
			w->has_streams |= rank->thread[t].device != 0;
			if (rank->thread[t].device)
				look_at_stream(w, &rank->thread[t]);
		}
	}
	qsort(w->kernel, w->kernels, sizeof(*w->kernel), compare_kernel);
	return 0;
}

static void join_covers(struct work *w)
{
	size_t kept = 0;

	qsort(w->cover, w->covers, sizeof(*w->cover), compare_cover);
	for (size_t i = 0; i < w->covers; i++) {
		struct cover *last = kept ? &w->cover[kept - 1] : NULL;

		if (last && w->cover[i].begin <= last->end) {
			last->end = w->cover[i].end > last->end ? w->cover[i].end : last->end;
			continue;
		}
		w->cover[kept] = w->cover[i];
		w->cover[kept++].before = last ? last->before + last->end - last->begin : 0;
	}
	w->covers = kept;
}

/* Covered time before `time`. */
static int64_t covered_until(const struct work *w, int64_t time)
{
	size_t low = PP_PARTITION(w->covers, at, w->cover[at].begin < time);
	const struct cover *c;

	if (!low)
		return 0;
	c = &w->cover[low - 1];
	return c->before + (time < c->end ? time : c->end) - c->begin;
}

static int compare_ran(const void *a, const void *b)
{
	const struct pp_operation_run *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return compare_run(a, b);
}

static void add_run(struct work *w, const struct pp_operation *o, const struct pp_span *call, struct kernel *k)
{
	struct pp_operation_run run = {
	        .request = o->request, .device_ns = o->device_ns, .channels = o->channels, .how = o->how, .call = call};

	if (k) {
		k->operations++;
		run.correlation = k->correlation;
		run.end = k->end;
		run.device_ns = k->end - k->begin;
		run.exposed_ns = run.device_ns - (covered_until(w, k->end) - covered_until(w, k->begin));
	}
	if (run.device_ns > PP_TABLE_TIME_MAX) /* damage */
		run.device_ns = run.exposed_ns = 0;
	w->run_kernel[w->out->runs] = k;
	w->out->run[w->out->runs++] = run;
}

static struct kernel *find_kernel(const struct work *w, uint32_t correlation, int64_t end)
{
	struct kernel key = {.correlation = correlation, .end = end};

	return correlation && w->kernels ? bsearch(&key, w->kernel, w->kernels, sizeof(key), compare_kernel) : NULL;
}

static const struct pp_operation *find_operation(const struct pp_rank *rank, uint32_t request)
{
	size_t low = PP_PARTITION(rank->operations, at, rank->operation[at].request < request);

	return low < rank->operations && rank->operation[low].request == request ? &rank->operation[low] : NULL;
}

/* A kernel ends when the operation's REQUEST does. */
static int list_runs(struct work *w)
{
	const struct pp_rank *rank = w->rank;
	struct pp_requests requests;

	w->run_kernel = calloc(rank->operations + 1, sizeof(*w->run_kernel)); /* NOLINT(bugprone-sizeof-expression): pointers */
	w->out->run = calloc(rank->operations + 1, sizeof(*w->out->run));
	if (!w->run_kernel || !w->out->run || pp_requests_init(&requests, rank))
		return -ENOMEM;
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
			const struct pp_span *s = &thread->span[pp_thread_other(thread, k)];
			const struct pp_operation *o =
			        s->kind == PP_SPAN_MPI && s->mpi.request ? find_operation(rank, s->mpi.request) : NULL;
			const struct pp_done *done = o ? pp_requests_find(&requests, s->mpi.request) : NULL;

			if (o && w->out->runs < rank->operations)
				add_run(w, o, s, done ? find_kernel(w, o->correlation, done->span->end) : NULL);
		}
	}
	pp_requests_release(&requests);
	return 0;
}

static int finish_runs(struct work *w)
{
	struct pp_operation_runs *o = w->out;

	for (size_t i = 0; i < o->runs; i++)
		o->run[i].shares = w->run_kernel[i] ? w->run_kernel[i]->operations : 0;
	for (size_t i = 0; i < o->runs && w->has_streams; i++)
		o->without_kernel += !w->run_kernel[i];
	for (size_t i = 0; i < w->kernels; i++)
		o->without_operation += !w->kernel[i].operations;
	o->ran = malloc((o->runs + 1) * sizeof(*o->ran));
	if (!o->ran)
		return -ENOMEM;
	for (size_t i = 0; i < o->runs; i++)
		if (o->run[i].correlation)
			o->ran[o->rans++] = o->run[i];
	qsort(o->run, o->runs, sizeof(*o->run), compare_run);
	qsort(o->ran, o->rans, sizeof(*o->ran), compare_ran);
	return 0;
}

int pp_operation_runs_init(struct pp_operation_runs *o, const struct pp_rank *rank)
{
	struct work w = {.rank = rank, .out = o};
	int rc;

	*o = (struct pp_operation_runs){0};
	if (!rank->operations)
		return 0;
	rc = look_at_streams(&w);
	if (!rc) {
		join_covers(&w);
		rc = list_runs(&w);
	}
	if (!rc)
		rc = finish_runs(&w);
	free(w.kernel);
	free(w.cover);
	free(w.run_kernel);
	return rc;
}

void pp_operation_runs_release(struct pp_operation_runs *o)
{
	free(o->run);
	free(o->ran);
	*o = (struct pp_operation_runs){0};
}

const struct pp_operation_run *pp_operation_runs_of_kernel(const struct pp_operation_runs *o, uint64_t correlation)
{
	size_t low = PP_PARTITION(o->rans, at, o->ran[at].correlation < correlation);

	return low < o->rans && o->ran[low].correlation == correlation ? &o->ran[low] : NULL;
}

const struct pp_operation_run *pp_operation_runs_find(const struct pp_operation_runs *o, uint32_t request)
{
	struct pp_operation_run key = {.request = request};

	return request && o->runs ? bsearch(&key, o->run, o->runs, sizeof(key), compare_run) : NULL;
}
