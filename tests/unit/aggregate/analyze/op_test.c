/* Operator statistics of hand-made captures: nesting, recursion, threads, steps, what is cut, and what a name says of its type. */

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/order.h"
#include "core/base/known.h"
#include "core/base/level.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 2 };

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[RANKS];
	struct pp_dataset d;
};

/* Steps 0 to 9 of 1000 ns from 1000 on, with a gap of 100 behind each; 0 and 9 become edges. */
static int64_t at(int64_t step)
{
	return 1000 + step * 1100;
}

static void begin(struct made *m)
{
	*m = (struct made){.capture = make_capture(RANKS)};
	for (size_t r = 0; r < RANKS; r++) {
		m->capture.rank[r].step_marks = 1;
		m->capture.rank[r].records = 1;
		for (int64_t k = 0; k < 10; k++)
			add_step(&m->capture, r, k, at(k), at(k) + 1000);
	}
}

static int compare_span(const void *a, const void *b)
{
	const struct pp_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static void end(struct made *m)
{
	struct pp_dataset_input in = {
	        .capture = &m->capture, .steps = &m->steps, .attr = m->attr, .asked_first = 1, .asked_last = 9, .bound_ns = 2};
	struct pp_err err = {""};

	for (size_t r = 0; r < RANKS; r++)
		for (size_t t = 0; t < m->capture.rank[r].threads; t++)
			qsort(m->capture.rank[r].thread[t].span, m->capture.rank[r].thread[t].spans, sizeof(struct pp_span),
			      compare_span);
	CHECK_INT(pp_steps_find(&m->capture, 1, 9, &m->steps, &err), 0);
	CHECK_INT(m->steps.steps, 8);
	for (size_t r = 0; r < RANKS; r++)
		CHECK_INT(pp_attr_rank(&m->capture.rank[r], r, &m->steps, RANKS, m->capture.names, PP_ATTR_KEEP_ALL, &m->attr[r],
		                       &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, &err), 0);
}

static void drop(struct made *m)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < RANKS; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
	free_capture(&m->capture);
}

static struct pp_row_op find(const struct made *m, const char *name, int32_t worker)
{
	struct pp_row_op none = {.worker = -1};

	for (size_t i = 0; i < m->d.ops; i++)
		if (m->d.op[i].worker == worker && !strcmp(pp_intern_text(m->d.names, m->d.op[i].name, NULL), name))
			return m->d.op[i];
	return none;
}

static void check(const struct made *m, const char *name, uint64_t calls, int64_t total, int64_t self, int64_t max)
{
	struct pp_row_op op = find(m, name, 0);

	if (op.calls != calls || op.total_ns != total || op.self_ns != self || op.max_ns != max)
		fprintf(stderr, "%s: %d calls, total %d, self %d, most %d\n", name, (int)op.calls, (int)op.total_ns,
		        (int)op.self_ns, (int)op.max_ns);
	CHECK_INT(op.worker, 0);
	CHECK_INT(op.calls, calls);
	CHECK_INT(op.total_ns, total);
	CHECK_INT(op.self_ns, self);
	CHECK_INT(op.max_ns, max);
	CHECK_INT(op.steps, 8);
}

/* A parent has what its children leave, a recursive name counts every level, as torch.profiler does. */
TEST(nested)
{
	struct made m;

	begin(&m);
	for (int64_t k = 1; k < 3; k++) {
		add_range(&m.capture, 0, 0, "forward", at(k), at(k) + 500);
		add_range(&m.capture, 0, 0, "aten::sum", at(k) + 100, at(k) + 300);
		add_range(&m.capture, 0, 0, "aten::sum", at(k) + 110, at(k) + 290);
		add_range(&m.capture, 0, 0, "aten::fill_", at(k) + 120, at(k) + 130);
		add_range(&m.capture, 0, 0, "aten::fill_", at(k) + 130, at(k) + 150);
		add_range(&m.capture, 0, 0, "aten::fill_", at(k) + 290, at(k) + 290);
		add_range(&m.capture, 0, 0, "aten::mm", at(k) + 300, at(k) + 300 + 50 * k);
	}
	end(&m);
	check(&m, "forward", 2, 1000, 1000 - 400 - 150, 500);
	check(&m, "aten::sum", 4, 2 * (200 + 180), 2 * (200 - 30), 200);
	check(&m, "aten::fill_", 6, 60, 60, 20);
	check(&m, "aten::mm", 2, 150, 150, 100);
	CHECK_INT(m.d.ops, 4);
	CHECK_INT(m.d.op_left_out->cut, 0);
	drop(&m);
}

/* What overlaps without nesting: the range begun last has the time, and nobody has it twice. */
TEST(crossed)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "outer", at(1), at(1) + 900);
	add_range(&m.capture, 0, 0, "a", at(1) + 100, at(1) + 300);
	add_range(&m.capture, 0, 0, "b", at(1) + 200, at(1) + 500);
	add_range(&m.capture, 0, 0, "c", at(1) + 400, at(1) + 1000);
	end(&m);
	check(&m, "a", 1, 200, 100, 200);
	check(&m, "b", 1, 300, 200, 300);
	check(&m, "c", 1, 600, 600, 600);
	check(&m, "outer", 1, 900, 100, 900);
	drop(&m);
}

/* An occurrence is whole in the step that it begins in, whoever it is nested in; outside of the steps there are none. */
TEST(steps)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "before", at(0) + 10, at(0) + 20);
	add_range(&m.capture, 0, 0, "into the first", at(0) + 990, at(1) + 10);
	add_range(&m.capture, 0, 0, "child", at(1), at(1) + 5);
	add_range(&m.capture, 0, 0, "over the edge", at(1) + 900, at(2) + 50);
	add_range(&m.capture, 0, 0, "in the gap", at(1) + 1010, at(1) + 1090);
	add_range(&m.capture, 0, 0, "child", at(2) + 10, at(2) + 30);
	add_range(&m.capture, 0, 0, "out of the last", at(8) + 900, at(9) + 200);
	add_range(&m.capture, 0, 0, "after", at(9) + 10, at(9) + 20);
	add_range(&m.capture, 0, 0, "my step", at(3), at(3) + 1000);
	add_range(&m.capture, 0, 1, "my step", at(4), at(4) + 1000);
	end(&m);
	CHECK_INT(find(&m, "before", 0).worker, -1);
	CHECK_INT(find(&m, "into the first", 0).worker, -1);
	CHECK_INT(find(&m, "in the gap", 0).worker, -1);
	CHECK_INT(find(&m, "after", 0).worker, -1);
	check(&m, "child", 2, 25, 25, 20);
	check(&m, "over the edge", 1, 250, 250 - 80 - 20, 250);
	check(&m, "out of the last", 1, 400, 390, 400);
	check(&m, "my step", 1, 1000, 1000, 1000); /* the other thread's: on the step's own it is the step */
	CHECK_INT(m.d.ops, 4);
	drop(&m);
}

/* Threads add up and take nothing of each other; ranks have rows of their own; a rank without steps has none. */
TEST(threads_and_ranks)
{
	struct made m;

	begin(&m);
	for (uint32_t t = 0; t < 3; t++) {
		add_range(&m.capture, 0, t, "work", at(1) + 10, at(1) + 100 + t);
		add_range(&m.capture, 0, t, "inner", at(1) + 20, at(1) + 30);
		add_span(&m.capture, 0, t, PP_SPAN_ASYNC, "async", at(1) + 40, at(1) + 50);
	}
	add_range(&m.capture, 1, 0, "work", at(8) + 1, at(8) + 2);
	end(&m);
	check(&m, "work", 3, 3 * 90 + 3, 3 * 80 + 3, 92);
	check(&m, "inner", 3, 30, 30, 10);
	CHECK_INT(find(&m, "async", 0).worker, -1);
	CHECK_INT(find(&m, "work", 1).total_ns, 1);
	CHECK(!strcmp(pp_intern_text(m.d.names, m.d.op[0].name, NULL), "inner") && m.d.op[1].worker == 0 && m.d.op[2].worker == 1);
	drop(&m);
}

/* Ranges without a begin or an end are in no row; what is nested in them is. */
TEST(cut)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "epoch", at(1) + 10, at(9) + 900)->flags = PP_SPAN_CUT_END;
	add_range(&m.capture, 0, 0, "old", at(2) + 10, at(2) + 20)->flags = PP_SPAN_CUT_BEGIN;
	add_range(&m.capture, 0, 0, "outside", at(9) + 10, at(9) + 20)->flags = PP_SPAN_CUT_END;
	add_range(&m.capture, 0, 0, "child", at(3), at(3) + 7);
	end(&m);
	CHECK_INT(m.d.op_left_out->cut, 2);
	CHECK_INT(m.d.ops, 1);
	check(&m, "child", 1, 7, 7, 7);
	drop(&m);
}

/* The category is the sweep's: what the program said, else the call's, else the name's. Two categories are two operators. */
TEST(categories)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "x", at(1) + 10, at(1) + 20)->category = PP_CATEGORY_OUTPUT;
	add_range(&m.capture, 0, 0, "x", at(1) + 30, at(1) + 50);
	add_range(&m.capture, 0, 0, "load batch", at(1) + 60, at(1) + 70)->source = PP_SOURCE_ITT;
	add_mpi(&m.capture, 0, "MPI_Allreduce", 0, at(1) + 80, at(1) + 100)->source = PP_SOURCE_MPI;
	struct pp_span *polls = add_mpi(&m.capture, 0, "MPI_Test", 17, at(1) + 110, at(1) + 120);

	polls->flags = PP_SPAN_POLLS;
	end(&m);
	CHECK_INT(m.d.ops, 5);
	CHECK_INT(find(&m, "MPI_Allreduce", 0).category, PP_CATEGORY_HOST_COMMUNICATION);
	CHECK_INT(find(&m, "MPI_Allreduce", 0).source, PP_SOURCE_MPI);
	CHECK_INT(find(&m, "MPI_Test", 0).calls, 17);
	CHECK_INT(find(&m, "load batch", 0).category, PP_CATEGORY_INPUT);
	CHECK_INT(find(&m, "load batch", 0).source, PP_SOURCE_ITT);
	CHECK_INT(m.d.op[3].category, PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(m.d.op[3].total_ns, 20);
	CHECK_INT(m.d.op[4].category, PP_CATEGORY_OUTPUT);
	CHECK_INT(m.d.op[4].total_ns, 10);
	drop(&m);
}

/* What is inside of a loader is input in both: rows of /op by category add up to what the sweep gives the step thread. */
TEST(inside)
{
	static const char *const name[] = {"enumerate(DataLoader)#x.__next__",
	                                   "aten::stack",
	                                   "ProfilerStep#3",
	                                   "forward",
	                                   "checkpoint",
	                                   "torch.compile",
	                                   "c10d::barrier",
	                                   "wobble"};
	unsigned seed = 7;

	for (int round = 0; round < 20 && !test_failures; round++) {
		int64_t sum[PP_CATEGORIES + 1] = {0};
		struct made m;

		begin(&m);
		for (int64_t k = 1; k < 9; k++) {
			int64_t stack[8] = {at(k) + 990}, from = at(k) + 1;

			for (int depth = 0; from < at(k) + 900; from += 1 + rand_r(&seed) % 20) {
				while (depth && stack[depth] <= from)
					depth--;
				int64_t until = from + 1 + rand_r(&seed) % 200;

				until = until < stack[depth] ? until : stack[depth];
				if (depth < 7 && until > from) {
					add_range(&m.capture, 0, 0, name[rand_r(&seed) % 8], from, until);
					stack[++depth] = until;
				}
			}
		}
		end(&m);
		for (size_t i = 0; i < m.d.ops; i++)
			if (strncmp(pp_intern_text(m.d.names, m.d.op[i].name, NULL), "ProfilerStep", 12) != 0)
				sum[m.d.op[i].category] += m.d.op[i].self_ns;
		for (int c = 1; c <= PP_CATEGORIES; c++) {
			int64_t swept = 0;

			for (size_t s = 0; s < m.d.steps; s++)
				swept += m.d.cell[s * m.d.workers].exclusive_ns[c];
			if (c == PP_CATEGORY_INPUT || c == PP_CATEGORY_OUTPUT || c == PP_CATEGORY_COMPILATION)
				CHECK(sum[c] > 0 && sum[c] <= swept); /* what is silent leaves its own to what is around */
			else if (c != PP_CATEGORY_OTHER)
				CHECK(sum[c] > 0 ? sum[c] <= swept : !swept);
		}
		drop(&m);
	}
}

/* Names without end: a worker keeps those with most time, and says how many it left out. */
TEST(names_without_end)
{
	enum { NAMES = PP_OPS_MOST + 100 };
	struct pp_span *span = calloc(NAMES + 10, sizeof(*span)), *old;
	struct made m;

	begin(&m);
	for (size_t r = 0; r < RANKS; r++)
		add_range(&m.capture, r, 1, "first", at(1), at(1) + 1);
	old = m.capture.rank[0].thread[1].span;
	m.capture.rank[0].thread[1].span = span;
	for (int i = 0; i < NAMES; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "batch.%d", i);

		span[i] = (struct pp_span){.kind = PP_SPAN_RANGE, .begin = at(1 + i % 8), .end = at(1 + i % 8) + 1 + i};
		span[i].name = pp_intern_put(m.capture.names, name, (size_t)n);
	}
	m.capture.rank[0].thread[1].spans = NAMES;
	for (int i = 0; i < NAMES; i++) /* one step after the other */
		span[i].begin = at(1) + i % 1000, span[i].end = span[i].begin;
	span[NAMES - 1].end = span[NAMES - 1].begin + 5;
	end(&m);
	CHECK_INT(m.d.ops, PP_OPS_MOST + 1);
	CHECK_INT(m.d.op_left_out->rest, 100);
	CHECK_INT(m.d.op_left_out->rest_ns, 0);
	CHECK_INT(find(&m, "batch.4195", 0).self_ns, 5);
	CHECK_INT(find(&m, "first", 1).calls, 1);
	free(span);
	m.capture.rank[0].thread[1].span = old;
	drop(&m);
}

static struct pp_span *add_device(struct made *m, uint32_t t, const char *name, const char *op, int64_t from, int64_t until)
{
	struct pp_span *span = add_span(&m->capture, 0, t, PP_SPAN_DEVICE, name, from, until);

	m->capture.rank[0].thread[t].device = 1;
	span->source = PP_SOURCE_XSPACE;
	span->device = (struct pp_span_device){.op = *op ? pp_intern_put(m->capture.names, op, strlen(op)) : 0, .step = -1};
	return span;
}

/* Each device of a rank has rows of its own; the host's say that they are of none. */
TEST(several_devices)
{
	struct made m;
	const struct pp_row_op *op;

	begin(&m);
	add_range(&m.capture, 0, 0, "aten::mm", at(1), at(1) + 10);
	for (uint32_t d = 0; d < 3; d++) {
		add_device(&m, d + 1, "gemm", "aten::mm", at(1) + 100, at(1) + 200 + 10 * d);
		m.capture.rank[0].thread[d + 1].device = d == 2 ? 1 : d + 1;
	}
	end(&m);
	CHECK_INT(m.d.ops, 3);
	for (size_t i = 0; i < m.d.ops; i++) {
		op = &m.d.op[i];
		CHECK_INT(op->device, op->side == PP_SIDE_HOST ? -1 : op->calls == 1);
		CHECK_INT(op->total_ns, op->side == PP_SIDE_HOST ? 10 : op->calls == 1 ? 110 : 220);
	}
	drop(&m);
}

/* On a device an operator has the name of what launched it, and no nesting: what overlaps on one stream counts once. */
TEST(device)
{
	struct pp_launch launch = {.registers = 32, .block = {128, 1, 1}, .grid = {7, 1, 1}, .occupancy = 50};
	struct made m;

	begin(&m);
	m.capture.rank[0].launch = &launch;
	m.capture.rank[0].launches = 1;
	add_range(&m.capture, 0, 0, "d/MatMul:MatMul", at(1) + 10, at(1) + 30);
	add_device(&m, 1, "gemm", "d/MatMul:MatMul", at(1) + 100, at(1) + 200)->device.launch = 1;
	add_device(&m, 1, "gemm", "d/MatMul:MatMul", at(1) + 300, at(1) + 350)->device.launch = 1;
	add_device(&m, 1, "gemm2", "d/MatMul:MatMul", at(1) + 340, at(1) + 400)->device.launch = 9; /* none */
	add_device(&m, 2, "Memcpy HtoD", "", at(1) + 150, at(1) + 250)->device.activity = PP_DEVICE_HOST_TO_DEVICE;
	add_device(&m, 2, "Memset", "", at(2) + 990, at(3) + 20)->device.activity = PP_DEVICE_SET;
	add_device(&m, 2, "late", "", at(3) + 1010, at(3) + 1020);
	m.capture.rank[0].thread[2].span[0].device.bytes = 77;
	end(&m);
	CHECK_INT(m.d.ops, 4);
	CHECK_INT(m.d.op[3].side, PP_SIDE_HOST); /* d/MatMul: two rows, in the order of their categories */
	CHECK_INT(m.d.op[2].side, PP_SIDE_DEVICE);
	CHECK_INT(m.d.op[2].calls, 3);
	CHECK_INT(m.d.op[2].total_ns, 210);
	CHECK_INT(m.d.op[2].self_ns, 200);
	CHECK_INT(find(&m, "Memset", 0).total_ns, 130);
	CHECK_INT(m.d.kernels, 4);
	CHECK_INT(m.d.kernel_left_out->outside, 1);
	for (size_t i = 0; i < m.d.kernels; i++) {
		const struct pp_row_kernel *k = &m.d.kernel[i];
		const char *name = pp_intern_text(m.d.names, k->name, NULL);

		CHECK_INT(k->occurrences, strcmp(name, "gemm") ? 1 : 2);
		CHECK_INT(k->registers, strcmp(name, "gemm") ? 0 : 32);
		CHECK(strcmp(name, "gemm") ? isnan(k->occupancy_percent) : k->occupancy_percent == 50);
		CHECK_INT(k->bytes, strcmp(name, "Memcpy HtoD") ? 0 : 77);
		CHECK_INT(k->min_ns, !strcmp(name, "gemm") ? 50 : k->max_ns);
	}
	CHECK_INT(m.d.op_idles, 3); /* host and device of rank 0, host of rank 1 */
	CHECK_INT(m.d.op_idle[0].step_ns, 8000);
	CHECK_INT(m.d.op_idle[0].idle_ns, 8000 - 20);
	CHECK_INT(m.d.op_idle[1].side, PP_SIDE_DEVICE);
	CHECK_INT(m.d.op_idle[1].idle_ns, 8000 - 150 - 100 - 10 - 20);
	CHECK_INT(m.d.op_idle[2].idle_ns, 8000);
	drop(&m);
}

/* Events of unknown category: those that no rule, no call and no range around gives one, with or without time of their own. */
TEST(unclassified)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "wobble", at(1) + 10, at(1) + 100);
	add_range(&m.capture, 0, 0, "hidden", at(1) + 20, at(1) + 90);
	add_range(&m.capture, 0, 0, "forward", at(1) + 20, at(1) + 90);
	add_range(&m.capture, 0, 0, "load batch", at(2) + 10, at(2) + 100);
	add_range(&m.capture, 0, 0, "wobble", at(2) + 20, at(2) + 90); /* input, by the range around it */
	add_mpi(&m.capture, 0, "MPI_Barrier", 0, at(2) + 100, at(2) + 110);
	add_range(&m.capture, 0, 0, "wobble", at(2) + 1010, at(2) + 1020); /* between two steps */
	add_range(&m.capture, 1, 0, "wobble", at(3) + 10, at(3) + 20);
	end(&m);
	CHECK_INT(m.d.event->events, 7);
	CHECK_INT(m.d.event->events_unclassified, 3);
	CHECK_INT(m.d.unclassifieds, 2);
	CHECK_STR(pp_intern_text(m.d.names, m.d.unclassified[0].unclassified, NULL), "wobble");
	CHECK_INT(m.d.unclassified[0].unclassified_ns, 30);
	CHECK_INT(m.d.unclassified[0].unclassified_calls, 2);
	CHECK_INT(m.d.unclassified[1].unclassified_ns, 0);
	CHECK_INT(m.d.unclassified[1].unclassified_calls, 1);
	drop(&m);
}

/* Idle: no thread has a range. The step itself, a range of no work and a range that was not seen to end are none. */
TEST(idle)
{
	struct made m;

	begin(&m);
	add_range(&m.capture, 0, 0, "my step", at(1), at(1) + 1000);
	add_range(&m.capture, 0, 0, "ProfilerStep#2", at(2), at(2) + 990);
	add_range(&m.capture, 0, 0, "forward", at(2) + 10, at(2) + 20);
	add_range(&m.capture, 0, 0, "into the next", at(3) + 900, at(4) + 100);
	add_range(&m.capture, 0, 0, "epoch", at(5) + 10, at(9) + 900)->flags = PP_SPAN_CUT_END;
	add_range(&m.capture, 0, 1, "a", at(5) + 100, at(5) + 200);
	add_range(&m.capture, 0, 2, "b", at(5) + 150, at(5) + 300);
	add_range(&m.capture, 0, 3, "c", at(5) + 300, at(5) + 310);
	add_range(&m.capture, 0, 1, "d", at(5) + 305, at(5) + 400);
	add_range(&m.capture, 0, 1, "e", at(5) + 500, at(5) + 500);
	end(&m);
	CHECK_INT(m.d.op_idle[0].idle_ns, 8000 - 10 - 200 - 300);
	drop(&m);
}

/* Steps without operators are in no row; idle time is of the others, too. Without any with more, all are. */
TEST(levels)
{
	struct made m;

	begin(&m);
	for (size_t i = 0; i < m.capture.rank[0].thread[0].spans; i++)
		m.capture.rank[0].thread[0].span[i].step.level = i % 4 ? PP_LEVEL_STEPS : PP_LEVEL_OPERATORS;
	m.capture.rank[1].level = PP_LEVEL_STEPS;
	for (int64_t k = 1; k < 9; k++)
		for (size_t r = 0; r < RANKS; r++)
			add_range(&m.capture, r, 0, "forward", at(k) + 10, at(k) + 110);
	end(&m);
	CHECK_INT(find(&m, "forward", 0).calls, 2); /* steps 4 and 8 */
	CHECK_INT(find(&m, "forward", 0).steps, 2);
	CHECK_INT(m.d.op_idle[0].step_ns, 2000);
	CHECK_INT(find(&m, "forward", 1).steps, 8);
	CHECK_INT(m.d.worker[0].level, PP_LEVEL_OPERATORS);
	CHECK_INT(m.d.worker[0].level_steps, 2);
	CHECK_INT(m.d.worker[1].level, PP_LEVEL_STEPS);
	CHECK_INT(m.d.worker[1].level_steps, 8);
	drop(&m);
}

TEST(tensorflow_types)
{
	static const char *const name[][2] = {{"dense/MatMul:MatMul", "MatMul"},
	                                      {"a.b-c/d:_Fused", "_Fused"},
	                                      {"aten::Mm", ""},
	                                      {"x:matmul", ""},
	                                      {":MatMul", ""},
	                                      {"MatMul", ""},
	                                      {"a b:C", ""},
	                                      {"a:", ""},
	                                      {"", ""}};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t n = pp_op_tensorflow_type(name[i][0], strlen(name[i][0]));

		CHECK_STR(n ? name[i][0] + n : "", name[i][1]);
	}
}

TEST(types)
{
	static const char *const name[][2] = {
	        {"aten::mm", "aten"},
	        {"autograd::engine::evaluate_function: AddmmBackward0", "autograd"},
	        {"Optimizer.step#SGD.step", "Optimizer"},
	        {"gloo:all_reduce", "gloo"},
	        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "enumerate(DataLoader)"},
	        {"MPI_Allreduce", "MPI"},
	        {"forward", ""},
	        {"next batch: 1", ""},
	        {"1.5", ""},
	        {"end:", ""},
	        {"::", ""},
	        {"", ""}};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t n = pp_op_type(name[i][0], strlen(name[i][0]));

		CHECK_INT(n, strlen(name[i][1]));
		CHECK(!strncmp(name[i][0], name[i][1], n));
	}
}

/* Long steps count for more than short ones; a sample belongs to the step that ended when it was taken. */
TEST(loader_by_time)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		int64_t when = 1000;

		m.capture.rank[r].step_marks = m.capture.rank[r].records = 1;
		for (int64_t k = 0; k < 10; k++) {
			int64_t length = k % 2 ? 9000 : 1000;

			add_step(&m.capture, r, k, when, when + length);
			when += length;
			if (k > 0 && k < 9)
				add_span(&m.capture, r, 1, PP_SPAN_COUNTER, "dataloader workers busy", when - k % 3, when - k % 3)
				        ->value = k % 2;
		}
	}
	end(&m);
	CHECK_INT(m.d.worker[0].loader_samples, 8);
	CHECK(m.d.worker[0].loader_busy == 0.9);
	drop(&m);
}

/* What the shim counts of its data loader, in the window's steps alone. */
TEST(loader)
{
	struct made m;

	begin(&m);
	add_span(&m.capture, 0, 1, PP_SPAN_COUNTER, "dataloader workers busy", at(0), at(0))->value = 1;
	add_span(&m.capture, 0, 1, PP_SPAN_COUNTER, "dataloader workers busy", at(1), at(1))->value = 0.5;
	add_span(&m.capture, 0, 1, PP_SPAN_COUNTER, "loss", at(1), at(1))->value = 0.9;
	add_span(&m.capture, 0, 1, PP_SPAN_COUNTER, "dataloader workers busy", at(2), at(2))->value = 1;
	add_span(&m.capture, 0, 1, PP_SPAN_COUNTER, "dataloader workers busy", at(2) + 1, at(2) + 1)->value = 7;
	end(&m);
	CHECK_INT(m.d.worker[0].loader_samples, 2);
	CHECK(m.d.worker[0].loader_busy == 0.75);
	CHECK_INT(m.d.worker[1].loader_samples, 0);
	drop(&m);
}

int main(void)
{
	nested();
	crossed();
	steps();
	threads_and_ranks();
	cut();
	categories();
	inside();
	names_without_end();
	types();
	tensorflow_types();
	device();
	several_devices();
	unclassified();
	idle();
	levels();
	loader();
	loader_by_time();
	return test_end();
}
