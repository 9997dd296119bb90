/* Who waits in torch.distributed, and what clocks may do to what was told. */
#include "tests/unit/aggregate/read/torch/c10d_kit.h"

#include "core/capture/side.h"
#include "core/capture/thread.h"

/* An all_reduce of both ranks, begun at 100 and 400, complete at 500. */
static struct made one_all_reduce(void)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_all_reduce(&m.capture, r, 0, r ? 400 : 100, 1, r ? 420 : 120, 500);
	}
	return m;
}

TEST(explicit_wait)
{
	struct made m = one_all_reduce();
	const struct pp_span *s;

	add_range(&m.capture, 0, 0, "c10d::wait", 200, 510);
	add_itt(&m.capture, 1, 0, "_c10d_functional::wait_tensor", 410, 520);
	add_range(&m.capture, 1, 0, "c10d::wait", 415, 515); /* inside it */
	build(&m);
	s = nth_wait(&m.capture, 0, 0);
	CHECK(is_span(s, 200, 510));
	CHECK(s && s->mpi.comm == 0 && s->mpi.request == 0);
	CHECK(is_span(nth_wait(&m.capture, 1, 0), 410, 520));
	CHECK(!nth_wait(&m.capture, 1, 1));
	CHECK_INT(m.d.cell[0].wait_ns, 200); /* from 200 until rank 1 came */
	CHECK_INT(m.d.cell[0].transfer_ns, 10 + 110);
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.late[0].rank, 1);
	drop(&m);
}

/* Nobody waits who computes, in a range or out of one, until the collective is complete. */
TEST(hidden_by_compute)
{
	struct made m = one_all_reduce();

	add_itt(&m.capture, 0, 0, "aten::mm", 150, 600);
	add_range(&m.capture, 0, 0, "c10d::wait", 610, 620);
	add_range(&m.capture, 1, 0, "c10d::wait", 700, 710);
	build(&m);
	CHECK(is_span(nth_wait(&m.capture, 0, 0), 610, 620));
	CHECK(!nth_wait(&m.capture, 0, 1) && !nth_wait(&m.capture, 1, 1));
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK_INT(m.d.collective[0].wait_ns, 300); /* the interval all the same */
	drop(&m);
}

TEST(no_wait_outside_of_a_phase)
{
	struct made m = one_all_reduce();

	build(&m);
	CHECK(!nth_wait(&m.capture, 0, 0));
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	drop(&m);
}

TEST(wait_of_a_forward_pass)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_itt(&m.capture, r, 0, "DistributedDataParallel.forward", r ? 290 : 90, 900);
		add_itt(&m.capture, r, 0, "c10d::broadcast_", r ? 300 : 100, r ? 310 : 110);
		add_itt(&m.capture, r, 1, "gloo:broadcast", r ? 320 : 120, 500);
		add_annotations(&m.capture, r, GROUP_A, 0, "gloo:broadcast", r ? 305 : 105, 10)->root = 1;
		add_itt(&m.capture, r, 0, "aten::linear", 530, 800);
	}
	build(&m);
	CHECK(is_span(nth_wait(&m.capture, 0, 0), 110, 500));
	CHECK_STR(pp_intern_text(m.capture.names, nth_wait(&m.capture, 0, 0)->name, NULL),
	          "c10d::wait in DistributedDataParallel.forward");
	CHECK(!nth_wait(&m.capture, 0, 1));
	CHECK_INT(m.d.cell[0].wait_ns, 190); /* for the root */
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.collective[0].root, 1);
	drop(&m);
}

/* A gap in which nothing came to its end is no wait, and neither is one of another thread. */
TEST(gaps_that_are_none)
{
	struct pp_capture c = make_capture(1);

	add_range(&c, 0, 0, "backward", 50, 900);
	add_all_reduce(&c, 0, 0, 100, 1, 120, 400);
	add_itt(&c, 0, 0, "AddmmBackward0", 110, 200);
	add_itt(&c, 0, 0, "AddmmBackward0", 210, 350); /* gap [200, 210] */
	add_itt(&c, 0, 0, "AddmmBackward0", 360, 450); /* gap [350, 360]; complete while it computes */
	add_range(&c, 0, 2, "backward", 50, 900);
	convert(&c);
	CHECK(!nth_wait(&c, 0, 0));
	CHECK(!nth(&c, 0, 2, PP_SPAN_MPI, 0));
	free_capture(&c);
}

/* The thread goes on before the backend's own range ends, which is when its thread comes to it: it has waited for it. */
TEST(wakes_before_the_end)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_range(&m.capture, r, 0, "backward", 50, 900);
		add_all_reduce(&m.capture, r, 0, r ? 400 : 100, 1, r ? 420 : 120, 500);
		add_itt(&m.capture, r, 0, "torch.distributed.ddp.reducer::copy_bucket_to_grad", r ? 499 : 490, 890);
	}
	build(&m);
	CHECK(is_span(nth_wait(&m.capture, 0, 0), 110, 490));
	CHECK_INT(m.d.cell[0].wait_ns, 290); /* from 110 until rank 1 came */
	CHECK(is_span(nth_wait(&m.capture, 1, 0), 410, 499));
	drop(&m);
}

/* `n` collectives 10 ms apart, each 20 us long, told together 1 ms after the last; the wall clock is `ppm` fast. */
static struct pp_capture annotated_by_a_bad_clock(int n, int64_t ppm, int64_t interval)
{
	struct pp_capture c = make_capture(1);
	int64_t now = n * interval + 1000000;

	for (int i = 0; i < n; i++) {
		int64_t begin = i * interval, age = now - begin - 10000;

		add_itt(&c, 0, 0, "c10d::allreduce_", begin, begin + 20000);
		add_annotations(&c, 0, GROUP_A, (uint32_t)i, "gloo:all_reduce", now - age - age * ppm / 1000000,
		                age + age * ppm / 1000000);
	}
	return c;
}

static int all_in_order(const struct pp_capture *c, int n)
{
	for (int i = 0; i < n; i++) {
		const struct pp_span *s = nth(c, 0, 0, PP_SPAN_MPI, (size_t)i);

		if (!s || s->mpi.comm != GROUP_A || s->mpi.sequence != (uint32_t)i)
			return 0;
	}
	return 1;
}

TEST(a_wall_clock_that_is_set_right)
{
	static const int64_t ppm[] = {0, 50, -50, 450, -450};

	for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++) {
		struct pp_capture c = annotated_by_a_bad_clock(400, ppm[i], 10000000); /* 4 s: 450 ppm are 1.8 ms */

		convert(&c);
		CHECK(all_in_order(&c, 400));
		CHECK_INT(c.rank[0].c10d.unannotated, 0);
		free_capture(&c);
		c = annotated_by_a_bad_clock(400, ppm[i], 100000); /* 100 us apart */
		convert(&c);
		CHECK(all_in_order(&c, 400));
		free_capture(&c);
	}
}

/* Ten times what any clock is set right by: nothing is joined rather than the wrong one. */
TEST(a_wall_clock_that_jumped)
{
	struct pp_capture c = annotated_by_a_bad_clock(40, 0, 10000000);

	for (size_t i = 0; i < 20; i++) /* told when the clock had gone back 3 ms */
		c.rank[0].annotation[i].time += 3000000;
	c.rank[0].annotation[39].age_ns = INT64_MIN;
	c.rank[0].annotation[38].age_ns = -5;
	c.rank[0].annotation[37].time = INT64_MAX;
	c.rank[0].annotation[36].comm = 0;
	convert(&c);
	CHECK_INT(c.rank[0].c10d.unannotated, 24);
	for (int i = 0; i < 40; i++) {
		const struct pp_span *s = nth(&c, 0, 0, PP_SPAN_MPI, (size_t)i);

		CHECK(s && (!s->mpi.comm || s->mpi.sequence == (uint32_t)i));
	}
	free_capture(&c);
}

/* Ranges across each other, told by anybody: every nanosecond has one category, and nothing is read that is not there. */
TEST(thrown_by_dice)
{
	static const char *const names[] = {"backward",
	                                    "c10d::allreduce_",
	                                    "c10d::broadcast_",
	                                    "c10d::send",
	                                    "c10d::wait",
	                                    "gloo:all_reduce",
	                                    "gloo:send",
	                                    "gloo:broadcast",
	                                    "nccl:all_reduce",
	                                    "aten::mm",
	                                    "DistributedDataParallel.forward"};
	static const int64_t ages[] = {0, 10, 100000, -7, INT64_MAX, INT64_MIN};
	unsigned seed = 7;

	for (int round = 0; round < 200; round++) {
		struct made m = {.capture = make_capture(RANKS)};
		size_t waits = 0;

		for (size_t r = 0; r < RANKS; r++) {
			add_step(&m.capture, r, 0, 0, 4000);
			for (uint32_t t = 0; t < 3; t++)
				for (int64_t at = 1, end; at < 3500; at += (int64_t)(rand_r(&seed) % 60)) {
					struct pp_span *s;

					end = at + (int64_t)(rand_r(&seed) % (rand_r(&seed) % 4 ? 40 : 700));
					s = add_itt(&m.capture, r, t, names[rand_r(&seed) % 11], at, end);
					s->flags = rand_r(&seed) % 20 ? 0 : (uint8_t)(rand_r(&seed) % 4);
					if (s > m.capture.rank[r].thread[t].span && s[-1].begin == at && s[-1].end < end)
						s->end = s[-1].end;
				}
			for (int i = 0; i < 100; i++) {
				struct pp_annotation *annotation =
				        add_annotations(&m.capture, r, (uint64_t)(rand_r(&seed) % 4), (uint32_t)(rand_r(&seed) % 9),
				                        rand_r(&seed) % 3 ? "gloo:all_reduce" : "gloo:broadcast",
				                        (int64_t)(rand_r(&seed) % 4000), ages[rand_r(&seed) % 6]);

				annotation->root = (int32_t)(rand_r(&seed) % 4) - 1;
				if (rand_r(&seed) % 20 == 0)
					annotation->time = rand_r(&seed) % 2 ? INT64_MAX : INT64_MIN;
			}
		}
		build(&m);
		for (size_t r = 0; r < RANKS; r++) {
			int64_t sum = 0;

			for (int c = 1; c <= PP_CATEGORIES; c++)
				sum += m.d.cell[r].exclusive_ns[c];
			CHECK_INT(sum, 4000);
			CHECK(m.d.cell[r].wait_ns >= 0 && m.d.cell[r].wait_ns + m.d.cell[r].transfer_ns <= 4000);
			while (nth_wait(&m.capture, r, waits))
				waits++;
		}
		CHECK(waits > 0);
		drop(&m);
	}
}

/* Phases in phases: each has the gaps that are its own, one that sticks out of the one around it too. */
TEST(phases_in_phases)
{
	struct made m = {.capture = make_capture(1)};
	struct pp_capture *c = &m.capture;

	add_itt(c, 0, 0, "backward", 0, 1000);
	add_itt(c, 0, 0, "c10d::allreduce_", 10, 20);
	add_itt(c, 0, 1, "gloo:all_reduce", 15, 900);
	add_itt(c, 0, 0, "DistributedDataParallel.forward", 100, 300);
	add_itt(c, 0, 0, "c10d::broadcast_", 120, 130);
	add_itt(c, 0, 1, "gloo:broadcast", 125, 250);
	add_itt(c, 0, 0, "backward", 280, 400);
	add_itt(c, 0, 0, "aten::mm", 410, 800);
	convert(c);
	CHECK(is_span(nth_wait(c, 0, 0), 130, 280)); /* both are under way: until the later one ends */
	CHECK(is_span(nth_wait(c, 0, 1), 800, 900));
	CHECK(!nth_wait(c, 0, 2));
	free_capture(c);
}

/* A collective that goes on and on beside many short ones; a look at all of them for each gap would not come to an end. */
TEST(beside_a_long_one)
{
	enum { MANY = 200000 };
	struct pp_capture c = make_capture(1);
	const struct pp_span *last = NULL;
	size_t waits = 0;

	free(c.rank[0].thread[0].span);
	free(c.rank[0].thread[1].span);
	c.rank[0].thread[0].span = calloc(3 * MANY + 4, sizeof(struct pp_span));
	c.rank[0].thread[1].span = calloc(MANY + 4, sizeof(struct pp_span));
	c.rank[0].annotation = calloc(MANY, sizeof(struct pp_annotation));
	add_itt(&c, 0, 0, "backward", 0, 100 * MANY + 200);
	add_itt(&c, 0, 0, "c10d::broadcast_", 5, 9);
	add_itt(&c, 0, 1, "gloo:broadcast", 8, 100 * MANY + 150);
	for (int64_t i = 0; i < MANY; i++) {
		add_all_reduce(&c, 0, (uint32_t)i, 100 + 100 * i, 1, 105 + 100 * i, 120 + 100 * i);
		add_itt(&c, 0, 0, "aten::mm", 120 + 100 * i, 200 + 100 * i);
	}
	convert(&c);
	for (size_t i = 0; i < c.rank[0].thread[0].spans; i++) {
		const struct pp_span *span = &c.rank[0].thread[0].span[i];

		if (span->kind != PP_SPAN_MPI || pp_mpi_call_info(span->mpi.call)->class != PP_MPI_WAIT)
			continue;
		last = span;
		waits++;
	}
	CHECK_INT(waits, MANY + 1);
	CHECK(is_span(last, 100 * MANY + 100, 100 * MANY + 150));
	free_capture(&c);
}

/* By what the shim marks steps, and what it says of itself. */
TEST(rule_and_remarks)
{
	struct made m = one_all_reduce();

	snprintf(m.capture.rank[1].step_rule, sizeof(m.capture.rank[1].step_rule), "torch: DataLoader");
	for (size_t r = 0; r < RANKS; r++) {
		snprintf(m.capture.rank[r].remark[r], PP_REMARK_TEXT, "the recorder overran");
		m.capture.rank[r].remarks = (uint32_t)r + 1;
	}
	snprintf(m.capture.rank[1].remark[0], PP_REMARK_TEXT, "this torch has no ITT");
	m.capture.rank[1].remarks = 9;
	for (int i = 2; i < PP_REMARKS; i++)
		snprintf(m.capture.rank[1].remark[i], PP_REMARK_TEXT, "number %d", i);
	build(&m);
	CHECK_STR(m.d.step_rule, "torch: DataLoader");
	CHECK(m.d.step_confidence == 1);
	CHECK(warned(&m.d, "ranks 0-1: the recorder overran"));
	CHECK(warned(&m.d, "rank 1: this torch has no ITT"));
	CHECK(warned(&m.d, "5 more remarks"));
	drop(&m);
}

int main(void)
{
	explicit_wait();
	hidden_by_compute();
	no_wait_outside_of_a_phase();
	wait_of_a_forward_pass();
	gaps_that_are_none();
	wakes_before_the_end();
	a_wall_clock_that_is_set_right();
	a_wall_clock_that_jumped();
	thrown_by_dice();
	phases_in_phases();
	beside_a_long_one();
	rule_and_remarks();
	return test_end();
}
