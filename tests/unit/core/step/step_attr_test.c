/* Exclusive time: nesting, overlap, threads, edges; the sum is the step to the nanosecond. */
#include "core/capture/thread.h"
#include "core/step/step_attr.h"

#include "tests/test.h"
#include "tests/unit/capture.h"

static struct pp_attr sweep(const struct pp_capture *c, size_t r, int64_t first, int64_t last, struct pp_steps *ret_steps)
{
	struct pp_attr a = {0};
	struct pp_err err;
	int64_t before = INT64_MIN;

	CHECK_INT(pp_steps_find(c, first, last, ret_steps, &err), 0);
	CHECK_INT(pp_attr_rank(&c->rank[r], r, ret_steps, c->ranks, c->names, PP_ATTR_KEEP_ALL, &a, &err), 0);
	for (size_t i = 0; i < a.steps; i++) {
		int64_t sum = 0;

		for (int k = 1; k <= PP_CATEGORIES; k++) {
			CHECK(a.step[i].exclusive_ns[k] >= 0);
			sum += a.step[i].exclusive_ns[k];
		}
		CHECK_INT(sum, a.step[i].step_ns);
	}
	for (size_t i = 0; i < a.segments; i++) {
		CHECK(a.segment[i].begin >= before && a.segment[i].end > a.segment[i].begin);
		before = a.segment[i].end;
	}
	return a;
}

#define NS(id) a.step[0].exclusive_ns[PP_CATEGORY_##id]

TEST(innermost_wins)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 1000, 2000);
	add_range(&c, 0, 0, "forward", 900, 1500); /* clipped at the begin */
	add_range(&c, 0, 0, "dataloader", 1100, 1200);
	add_mpi(&c, 0, "MPI_Allreduce", 0, 1300, 1400);
	add_range(&c, 0, 0, "wobble", 1320, 1330); /* unknown, inside communication */
	add_range(&c, 0, 0, "x", 1600, 1700)->category = PP_CATEGORY_COMPILATION;
	add_range(&c, 0, 0, "save", 1900, 2500); /* clipped at the end */
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(HOST_COMPUTE), 500 - 100 - 100 + 10);
	CHECK_INT(NS(INPUT), 100);
	CHECK_INT(NS(HOST_COMMUNICATION), 90);
	CHECK_INT(NS(COMPILATION), 100);
	CHECK_INT(NS(OUTPUT), 100);
	CHECK_INT(NS(OTHER), 1000 - 310 - 100 - 90 - 100 - 100);
	CHECK_INT(a.defaults, 1);
	CHECK_INT(a.by_default[0].ns, 10);
	CHECK_STR(pp_intern_text(c.names, a.by_default[0].name, NULL), "wobble");
	CHECK_INT(a.crossed, 0);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(what_takes_no_time)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_range(&c, 0, 0, "epoch", 0, 5000); /* unknown and around the step */
	add_step(&c, 0, 0, 1000, 2000);
	add_range(&c, 0, 0, "train iteration", 1000, 2000); /* the step itself */
	add_span(&c, 0, 0, PP_SPAN_ASYNC, "input", 1100, 1900);
	add_span(&c, 0, 0, PP_SPAN_REQUEST, "MPI_Irecv", 1100, 1900);
	add_span(&c, 0, 0, PP_SPAN_MARK, "save", 1500, 1500);
	add_span(&c, 0, 0, PP_SPAN_COUNTER, "save", 1500, 1500);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(OTHER), 1000);
	CHECK_INT(a.segments, 0);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* One that begins and ends in one tick of the clock is there like the others. */
TEST(step_of_no_length)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	for (int64_t n = 0; n < 3; n++)
		add_step(&c, 0, n, 1000 * n, 1000 * n + (n == 1 ? 0 : 500));
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(s.steps, 3);
	for (int64_t n = 0; n < 3; n++) {
		CHECK(s.cell[n].present && a.step[n].present);
		CHECK_INT(a.step[n].step_ns, n == 1 ? 0 : 500);
		CHECK_INT(a.step[n].exclusive_ns[PP_CATEGORY_OTHER], n == 1 ? 0 : 500);
	}
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(crossing_ranges)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 100);
	add_range(&c, 0, 0, "forward", 10, 90);
	add_range(&c, 0, 0, "input", 20, 50);
	add_range(&c, 0, 0, "save", 40, 70); /* begun last: has the time until its end */
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(a.crossed, 1);
	CHECK_INT(NS(INPUT), 20);
	CHECK_INT(NS(OUTPUT), 30);
	CHECK_INT(NS(HOST_COMPUTE), 30);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(over_threads)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 1000);
	add_mpi(&c, 0, "MPI_Allreduce", 0, 100, 300);
	add_range(&c, 0, 0, "input", 400, 500);
	add_range(&c, 0, 1, "compute", 0, 200);            /* step thread's call wins from 100 */
	add_range(&c, 0, 1, "cudaLaunchKernel", 250, 260); /* wins over the step thread's call */
	add_range(&c, 0, 1, "compute", 450, 600);          /* step thread waits for input: that wins to 500 */
	add_range(&c, 0, 2, "prefetch", 550, 800);         /* not the step thread: last of all */
	add_range(&c, 0, 3, "save", 580, 700);
	add_range(&c, 0, 3, "kernel", 900, 1000)->category = PP_CATEGORY_DEVICE_COMPUTE;
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(HOST_COMPUTE), 100 + 100);
	CHECK_INT(NS(KERNEL_LAUNCH), 10);
	CHECK_INT(NS(HOST_COMMUNICATION), 190);
	CHECK_INT(NS(OUTPUT), 100);
	CHECK_INT(NS(INPUT), 100 + 100);
	CHECK_INT(NS(DEVICE_COMPUTE), 100);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* A step waits for input in a range of another thread, which knows it: that comes before what the step's thread is in. */
TEST(waits_elsewhere)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 1000);
	add_range(&c, 0, 0, "run", 0, 900);
	add_range(&c, 0, 1, "IteratorGetNext", 100, 400)->flags = PP_SPAN_WAITS_INPUT;
	add_range(&c, 0, 1, "Iterator::Prefetch", 150, 350); /* inside: still that wait */
	add_range(&c, 0, 1, "IteratorGetNext", 500, 600);    /* of a file that does not say so: behind the step's thread */
	add_range(&c, 0, 2, "gemm", 200, 250)->category = PP_CATEGORY_DEVICE_COMPUTE;
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(INPUT), 300 - 50);
	CHECK_INT(NS(DEVICE_COMPUTE), 50);
	CHECK_INT(NS(HOST_COMPUTE), 900 - 300);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(edges_and_many_steps)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;
	size_t before = 0, after = 0;

	for (int64_t n = 9; n <= 20; n++) {
		add_step(&c, 0, n, n * 100, n * 100 + 90);
		add_range(&c, 0, 0, "input", n * 100 + 10, n * 100 + 20);
	}
	a = sweep(&c, 0, 10, 20, &s);
	CHECK_INT(a.steps, 10);
	for (size_t i = 0; i < 10; i++) {
		CHECK_INT(a.step[i].exclusive_ns[PP_CATEGORY_INPUT], 10);
		CHECK_INT(a.step[i].step_ns, 90);
	}
	for (size_t i = 0; i < a.segments; i++) {
		before += a.segment[i].step == PP_ATTR_EDGE_BEFORE;
		after += a.segment[i].step == PP_ATTR_EDGE_AFTER;
	}
	CHECK_INT(before, 1);
	CHECK_INT(after, 1);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* What is inside an input, an output or a compilation, and means no more than computing, is that too. */
static int category_in(const struct pp_thread *thread, size_t i, const uint8_t *category, uint8_t own)
{
	const struct pp_span *span = &thread->span[i];

	if (own != PP_CATEGORY_HOST_COMPUTE)
		return own;
	while (i-- > 0)
		if (thread->span[i].kind == PP_SPAN_RANGE && thread->span[i].end > span->begin && thread->span[i].end >= span->end)
			return category[i] >= PP_CATEGORY_INPUT && category[i] <= PP_CATEGORY_COMPILATION ? category[i] : own;
	return own;
}

/* Against a sweep that asks every nanosecond. */
TEST(same_as_brute_force)
{
	enum { END = 3000 };
	unsigned seed = 1;

	for (int round = 0; round < 20; round++) {
		struct pp_capture c = make_capture(1);
		static const char *const names[] = {"input", "save", "compute", "compile", "wobble", "nccl"};
		static const uint8_t order[] = {6, 7, 4, 8, 4, 10};
		static uint8_t category_of[3][MADE_SPANS];
		int64_t want[PP_CATEGORIES + 1] = {0};
		struct pp_steps s;
		struct pp_attr a;

		add_step(&c, 0, 0, 100, END - 100);
		for (uint32_t t = 0; t < 3; t++) {
			for (int64_t at = 0, length; at < END - 60; at += 1 + (int64_t)(rand_r(&seed) % 20)) {
				length = 1 + (int64_t)(rand_r(&seed) % 50);
				unsigned name = (unsigned)rand_r(&seed) % 6;
				const struct pp_thread *thread = &c.rank[0].thread[t];

				add_range(&c, 0, t, names[name], at, at + length);
				category_of[t][thread->spans - 1] =
				        (uint8_t)category_in(thread, thread->spans - 1, category_of[t], order[name]);
			}
		}
		for (int64_t now = 100; now < END - 100; now++) {
			int best = 0, category = 9;

			for (uint32_t t = 0; t < 3; t++) {
				const struct pp_thread *thread = &c.rank[0].thread[t];
				int inner = 0, weight;

				for (size_t i = 0; i < thread->spans; i++) /* the last begun that is still open */
					if (thread->span[i].kind == PP_SPAN_RANGE && thread->span[i].begin <= now &&
					    thread->span[i].end > now)
						inner = category_of[t][i];
				weight = !inner        ? 0
				         : t == 0      ? 100
				         : inner == 4  ? 9
				         : inner == 8  ? 8
				         : inner == 7  ? 7
				         : inner == 10 ? 6
				                       : 5;
				if (weight > best) {
					best = weight;
					category = inner;
				}
			}
			want[category]++;
		}
		a = sweep(&c, 0, 0, 0, &s);
		for (int k = 1; k <= PP_CATEGORIES; k++)
			CHECK_INT(a.step[0].exclusive_ns[k], want[k]);
		pp_attr_release(&a);
		pp_steps_release(&s);
		free_capture(&c);
	}
}

TEST(what_a_loader_computes)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 1000);
	add_range(&c, 0, 0, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 100);
	add_range(&c, 0, 0, "aten::stack", 10, 90);
	add_range(&c, 0, 0, "aten::cat", 20, 80);
	add_range(&c, 0, 0, "frobnicate", 30, 40);
	add_range(&c, 0, 0, "augment on purpose", 50, 60)->category = PP_CATEGORY_HOST_COMPUTE;
	add_range(&c, 0, 0, "aten::copy_", 52, 55); /* inside what the program called compute */
	add_range(&c, 0, 0, "c10d::allreduce_", 70, 75);
	add_range(&c, 0, 0, "checkpoint", 200, 300);
	add_range(&c, 0, 0, "aten::copy_", 210, 290);
	add_range(&c, 0, 0, "torch.compile", 400, 500);
	add_range(&c, 0, 0, "aten::mm", 450, 480);
	add_range(&c, 0, 0, "aten::mm", 490, 520); /* not inside it */
	add_range(&c, 0, 0, "forward", 600, 700);
	add_range(&c, 0, 0, "aten::mm", 610, 690);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(INPUT), 85);
	CHECK_INT(NS(HOST_COMMUNICATION), 5);
	CHECK_INT(NS(OUTPUT), 100);
	CHECK_INT(NS(COMPILATION), 90);
	CHECK_INT(NS(HOST_COMPUTE), 10 + 30 + 100);
	CHECK_INT(a.defaults, 0);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Neither the step's nor anybody's: other threads show through it. */
TEST(a_step_that_is_a_name)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 1000);
	add_range(&c, 0, 0, "ProfilerStep#3", 10, 700);
	add_range(&c, 0, 0, "aten::mm", 100, 200);
	add_range(&c, 0, 1, "gloo:all_reduce", 300, 400);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(HOST_COMPUTE), 100);
	CHECK_INT(NS(HOST_COMMUNICATION), 100);
	CHECK_INT(NS(OTHER), 800);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(deep_nesting)
{
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	add_step(&c, 0, 0, 0, 10000);
	for (int64_t i = 0; i < 1000; i++)
		add_range(&c, 0, 0, i % 2 ? "input" : "compute", 1 + i, 9999 - i);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(NS(OTHER), 2);
	CHECK_INT(NS(INPUT) + NS(HOST_COMPUTE), 9998);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Ranges that each begin before the last one ends: nothing may be asked of all of them for each. */
TEST(crossing_without_end)
{
	enum { MANY = 500000 };
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	free(c.rank[0].thread[0].span);
	c.rank[0].thread[0].span = calloc(MANY + 2, sizeof(struct pp_span));
	add_step(&c, 0, 0, 0, 10 * MANY + 10);
	add_range(&c, 0, 0, "save", 1, 10 * MANY + 5);
	for (int64_t i = 0; i < MANY; i++)
		add_range(&c, 0, 0, "compute", 2 + 10 * i, 17 + 10 * i);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(a.crossed, MANY - 1);
	CHECK_INT(NS(HOST_COMPUTE), 15); /* the last one is not inside of what is around it */
	CHECK_INT(NS(OUTPUT), 10 * MANY - 9);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Steps and names are the same where only communication's segments are kept. */
/* Ranges that are all open at once, each of which ends after the one before: as above. */
TEST(open_at_once)
{
	enum { MANY = 800000 };
	struct pp_capture c = make_capture(1);
	struct pp_steps s;
	struct pp_attr a;

	free(c.rank[0].thread[0].span);
	c.rank[0].thread[0].span = calloc(MANY + 3, sizeof(struct pp_span));
	add_step(&c, 0, 0, 0, 4 * MANY + 10);
	add_range(&c, 0, 0, "save", 1, 4 * MANY + 5);
	add_range(&c, 0, 0, "profiler step", 2, 4 * MANY + 5); /* silent */
	for (int64_t i = 0; i < MANY; i++)
		add_range(&c, 0, 0, "compute", 3 + i, 2 * MANY + 2 * i + 3);
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(a.crossed, MANY - 1);
	CHECK_INT(NS(OUTPUT), 4 * MANY + 4); /* all are inside of it */
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(communication_alone)
{
	struct pp_capture c = make_capture(1);
	struct pp_attr a, *kept;
	struct pp_steps s;
	struct pp_err err;
	size_t n = 0;

	add_step(&c, 0, 0, 1000, 2000);
	add_range(&c, 0, 0, "forward", 900, 1500);
	add_mpi(&c, 0, "MPI_Allreduce", 0, 1300, 1400);
	add_range(&c, 0, 0, "wobble", 1320, 1330);      /* cuts the call in two */
	add_mpi(&c, 0, "MPI_Allreduce", 0, 2100, 2200); /* in no step */
	a = sweep(&c, 0, 0, 0, &s);
	CHECK_INT(pp_attr_ranks(&c, &s, PP_ATTR_KEEP_COMMUNICATION, &kept, &err), 0);
	CHECK(!memcmp(kept->step, a.step, sizeof(*a.step)));
	CHECK_INT(kept->defaults, 1);
	CHECK_INT(kept->segments, 2);
	for (size_t i = 0; i < a.segments; i++)
		if (a.segment[i].step < a.steps && a.segment[i].category == PP_CATEGORY_HOST_COMMUNICATION)
			CHECK(n < kept->segments && !memcmp(&kept->segment[n++], &a.segment[i], sizeof(a.segment[i])));
	CHECK_INT(n, 2);
	pp_attr_free(kept, c.ranks);
	pp_attr_release(&a);
	pp_steps_release(&s);
	free_capture(&c);
}

int main(void)
{
	innermost_wins();
	what_takes_no_time();
	step_of_no_length();
	crossing_ranges();
	over_threads();
	waits_elsewhere();
	edges_and_many_steps();
	same_as_brute_force();
	what_a_loader_computes();
	a_step_that_is_a_name();
	deep_nesting();
	crossing_without_end();
	open_at_once();
	communication_alone();
	return test_end();
}
