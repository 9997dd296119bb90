/* Finds the kernels of NCCL's operations, and what of their time nothing hid; see operation.h. Called by collective.c. */
#include "aggregate/analyze/operation.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/launch_call.h"
#include "aggregate/analyze/request.h"
#include "aggregate/dataset/table/table.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

struct kernel { /* of a library of collectives */
	int64_t begin, ready, end;
	uint32_t correlation;
	uint32_t operations;
	uint32_t thread, span;
	int is_part; /* of an operation that another kernel stands for */
};

struct cover { /* when devices of the rank did what comes before collectives; disjoint, in order */
	int64_t begin, end;
	int64_t before; /* length of those before it */
};

struct input { /* work of a stream, which a kernel that is launched later may need */
	uint32_t thread, correlation;
	int64_t end;
};

struct work {
	const struct pp_rank *rank;
	const struct pp_intern *names;
	struct pp_operation_runs *out;
	struct kernel *kernel;
	struct cover *cover;
	struct input *input;        /* by thread, then correlation */
	struct kernel **run_kernel; /* [runs]; NULL: none */
	size_t kernels, covers, inputs;
	int has_streams;
};

PP_COMPARE_BY_2(compare_kernel, struct kernel, correlation, end)

PP_COMPARE_BY(compare_cover, struct cover, begin)

PP_COMPARE_BY_3(compare_input, struct input, thread, correlation, end)

PP_COMPARE_BY(compare_run, struct pp_operation_run, request)

/* As core/step/attr_flat.c has it: kernels and sets, copies to the host, copies between devices. */
int pp_device_comes_before(int activity)
{
	return activity == PP_DEVICE_KERNEL || activity == PP_DEVICE_SET || activity == PP_DEVICE_DEVICE_TO_HOST ||
	       activity == PP_DEVICE_DEVICE_TO_DEVICE;
}

/* Of readings of a device's clock, and what order leaves open of one that was off. Of a clock that contradicts itself that is the
 * contradiction. */
static int64_t clock_error(const struct pp_rank *rank)
{
	int64_t most = 0;

	for (size_t i = 0; i < rank->skews; i++) {
		const struct pp_device_skew *s = &rank->skew[i];
		int64_t by = s->shift - s->base, open = s->is_low && s->is_high ? s->high - s->low : by;

		if ((by || !s->is_usable) && llabs(open) > most)
			most = llabs(open);
	}
	return pp_wrap_plus(rank->device_error_ns, most);
}

/* Nothing runs before the call that launched it begins: by how much the devices' times contradict that. */
static int find_error(struct work *w)
{
	struct pp_launch_calls calls;
	int64_t early = 0, error;
	int rc = pp_launch_calls_init(&calls, w->rank);

	for (size_t t = 0; !rc && calls.calls && t < w->rank->threads; t++)
		for (size_t i = 0; w->rank->thread[t].device && i < w->rank->thread[t].spans; i++) {
			const struct pp_span *s = &w->rank->thread[t].span[i];
			const struct pp_launch_call *call =
			        s->kind == PP_SPAN_DEVICE ? pp_launch_calls_before(&calls, s, s->end) : NULL;

			if (call && !(w->rank->thread[call->thread].span[call->span].flags & PP_SPAN_CUT_BEGIN) &&
			    call->begin - s->begin > early)
				early = call->begin - s->begin;
		}
	pp_launch_calls_release(&calls);
	early = early < PP_TABLE_TIME_MAX / 2 ? early : PP_TABLE_TIME_MAX / 2;
	error = clock_error(w->rank);
	w->out->error_ns = early + (error < PP_TABLE_TIME_MAX / 2 ? error : PP_TABLE_TIME_MAX / 2);
	return rc;
}

/* Kernels of symmetric memory may begin before their turn in the stream: they are launched early, and wait inside. */
static int may_begin_early(const struct work *w, const struct pp_span *s)
{
	return !strncmp(pp_intern_text(w->names, s->name, NULL), "ncclSym", sizeof("ncclSym") - 1);
}

static void look_at_stream(struct work *w, size_t thread)
{
	const struct pp_thread *t = &w->rank->thread[thread];
	int64_t before = INT64_MIN; /* end of what the stream had to do before */

	for (size_t i = 0; i < t->spans; i++) {
		const struct pp_span *s = &t->span[i];

		if (s->kind != PP_SPAN_DEVICE || s->end <= s->begin)
			continue;
		if (pp_device_comes_before(s->device.activity)) {
			if (w->cover) {
				w->cover[w->covers] = (struct cover){s->begin, s->end, 0};
				w->input[w->covers] = (struct input){(uint32_t)thread, (uint32_t)s->device.correlation, s->end};
			}
			w->covers++;
		} else if (s->device.activity == PP_DEVICE_COLLECTIVE && !(s->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END))) {
			if (w->kernel)
				w->kernel[w->kernels] = (struct kernel){.begin = s->begin,
				                                        .ready = s->begin < before && may_begin_early(w, s)
				                                                         ? (before < s->end ? before : s->end)
				                                                         : s->begin,
				                                        .end = s->end,
				                                        .correlation = (uint32_t)s->device.correlation,
				                                        .is_part = (s->flags & PP_SPAN_IN_OPERATION) != 0,
				                                        .thread = (uint32_t)thread,
				                                        .span = (uint32_t)i};
			w->kernels++;
		}
		before = s->end > before ? s->end : before;
	}
}

static int look_at_streams(struct work *w)
{
	const struct pp_rank *rank = w->rank;

	for (int filling = 0; filling < 2; filling++) {
		if (filling) {
			w->kernel = calloc(w->kernels + 1, sizeof(*w->kernel));
			w->cover = calloc(w->covers + 1, sizeof(*w->cover));
			w->input = calloc(w->covers + 1, sizeof(*w->input));
			if (!w->kernel || !w->cover || !w->input)
				return -ENOMEM;
			w->kernels = w->covers = 0;
		}
		for (size_t t = 0; t < rank->threads; t++) {
			w->has_streams |= rank->thread[t].device != 0;
			if (rank->thread[t].device)
				look_at_stream(w, t);
		}
	}
	qsort(w->kernel, w->kernels, sizeof(*w->kernel), compare_kernel);
	qsort(w->input, w->covers, sizeof(*w->input), compare_input);
	w->inputs = w->covers;
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

static int is_covered(const struct work *w, int64_t time)
{
	const size_t low = PP_PARTITION(w->covers, at, w->cover[at].begin < time);

	return low && w->cover[low - 1].end > time;
}

/* Programs let a kernel of NCCL wait for what they have launched so far. Of each stream that is the last work launched before the
 * kernel; one that still ran at its begin was not waited for. */
static int64_t input_of(const struct work *w, const struct kernel *k)
{
	int64_t last = INT64_MIN;

	for (size_t at = 0; at < w->inputs;) {
		const uint32_t thread = w->input[at].thread;
		const size_t next = PP_PARTITION(w->inputs, i, w->input[i].thread <= thread);
		const size_t low = PP_PARTITION(next, i,
		                                w->input[i].thread < thread ||
		                                        (w->input[i].thread == thread && w->input[i].correlation < k->correlation));

		if (low > at && w->input[low - 1].correlation && w->input[low - 1].end <= k->ready)
			last = w->input[low - 1].end > last ? w->input[low - 1].end : last;
		at = next;
	}
	if (last == INT64_MIN || k->ready - last > PP_TABLE_TIME_MAX)
		return 0;
	return k->ready > last ? k->ready - last : 1;
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
	struct pp_operation_run run = {.request = o->request,
	                               .device_ns = o->device_ns,
	                               .channels = o->channels,
	                               .how = o->how,
	                               .device = (int32_t)o->device - 1,
	                               .call = call};

	if (k) {
		k->operations++;
		run.correlation = k->correlation;
		run.ready = k->ready;
		run.end = k->end;
		run.thread = k->thread;
		run.device = (int32_t)w->rank->thread[k->thread].device - 1;
		run.span = k->span;
		run.device_ns = k->end - k->begin;
		run.exposed_ns = run.device_ns - (covered_until(w, k->end) - covered_until(w, k->begin));
		run.input_ns = input_of(w, k);
		run.is_beside = is_covered(w, k->end);
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
		o->without_operation += !w->kernel[i].operations && !w->kernel[i].is_part;
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

static uint64_t count_kernels(const struct pp_rank *rank)
{
	uint64_t n = 0;

	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; rank->thread[t].device && i < rank->thread[t].spans; i++)
			n += rank->thread[t].span[i].kind == PP_SPAN_DEVICE &&
			     rank->thread[t].span[i].device.activity == PP_DEVICE_COLLECTIVE;
	return n;
}

int pp_operation_runs_init(struct pp_operation_runs *o, const struct pp_rank *rank, const struct pp_intern *names)
{
	struct work w = {.rank = rank, .names = names, .out = o};
	int rc;

	*o = (struct pp_operation_runs){0};
	if (!rank->operations) {
		o->without_operation = count_kernels(rank);
		return 0;
	}
	rc = look_at_streams(&w);
	if (!rc) {
		join_covers(&w);
		rc = list_runs(&w);
	}
	if (!rc)
		rc = finish_runs(&w);
	if (!rc)
		rc = find_error(&w);
	free(w.kernel);
	free(w.cover);
	free(w.input);
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
