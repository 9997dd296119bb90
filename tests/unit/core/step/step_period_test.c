/* Steps of jobs that mark none, out of records: equal on all ranks, or the whole run as one step. */
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/test.h"

#include "core/step/step_mark.h"
#include "tests/unit/capture.h"

enum { RANKS = 4, OTHER = 78, CASES = 300 };

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static struct pp_capture make_job(void)
{
	struct pp_capture c = make_capture(RANKS);

	for (size_t r = 0; r < RANKS; r++) {
		c.rank[r].comm = calloc(3, sizeof(struct pp_comm));
		c.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = RANKS};
		c.rank[r].comm[1] = (struct pp_comm){.id = OTHER, .size = RANKS};
		c.rank[r].comm[2] = (struct pp_comm){.id = 79, .size = 2};
		c.rank[r].comms = 3;
	}
	return c;
}

/* One call of a rank on communicator 77; times are each rank's own. */
static struct pp_span *call(struct pp_capture *c, size_t r, const char *name, uint64_t bytes, int64_t *now)
{
	struct pp_thread *thread = &c->rank[r].thread[0];
	uint32_t sequence = 0;
	struct pp_span *span;

	for (size_t i = 0; i < thread->spans; i++)
		sequence += thread->span[i].mpi.comm == 77;
	*now += 10 + draw(90);
	span = add_mpi(c, r, name, sequence, *now, *now + 5);
	*now += 5;
	span->mpi.sent = span->mpi.received = bytes;
	return span;
}

static struct pp_steps find(const struct pp_capture *c, int64_t first, int64_t last)
{
	struct pp_steps s = {0};
	struct pp_err err;

	CHECK_INT(pp_steps_find(c, first, last, &s, &err), 0);
	return s;
}

static void loop(struct pp_capture *c, int steps, int evaluate)
{
	for (size_t r = 0; r < RANKS; r++) {
		int64_t now = (int64_t)r * 3;

		call(c, r, "MPI_Bcast", 64, &now);
		call(c, r, "MPI_Bcast", 4096, &now);
		for (int i = 0; i < steps; i++) {
			call(c, r, "MPI_Allreduce", 4000, &now);
			call(c, r, "MPI_Gatherv", 10 + r, &now);
			call(c, r, "MPI_Allreduce", 8, &now);
			if (evaluate && i % evaluate == evaluate - 1)
				call(c, r, "MPI_Barrier", 0, &now);
		}
	}
}

TEST(loop_without_marks)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 20, 0);
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_STR(pp_step_rule_name(s.rule), "collective_period");
	CHECK(s.confidence > 0.69 && s.confidence < 0.71);
	CHECK_INT(s.period, 3);
	CHECK_INT(s.steps, 20);
	CHECK_INT(s.number[0], 0);
	CHECK(strstr(s.remark, "3 collectives") != NULL);
	for (size_t r = 0; r < RANKS; r++) {
		const struct pp_span *span = c.rank[r].thread[0].span;

		for (size_t i = 0; i < 20; i++) {
			CHECK_INT(s.cell[i * RANKS + r].begin, span[1 + 3 * i].end);
			CHECK_INT(s.cell[i * RANKS + r].end, span[4 + 3 * i].end);
		}
	}
	pp_steps_release(&s);
	s = find(&c, 5, 8);
	CHECK_INT(s.steps, 3);
	CHECK_INT(s.number[0], 5);
	CHECK_INT(s.before_number, 4);
	CHECK_INT(s.after_number, 8);
	CHECK(s.before[3].present && s.after[0].present);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(evaluations)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 30, 10);
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 30);
	CHECK(s.confidence < 0.7 && s.confidence > 0.6);
	CHECK(strstr(s.remark, "2 collectives between the first") != NULL);
	pp_steps_release(&s);
	free_capture(&c);
}

/* A call of the communicator that makes another one is recorded with that one: its number is missing here. */
TEST(call_of_another_at_the_end)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	for (size_t r = 0; r < RANKS; r++) {
		int64_t now = (int64_t)r * 3;

		for (uint32_t i = 0; i < 20; i++) {
			for (uint32_t k = 0; k < 2; k++, now += 50)
				add_mpi(&c, r, k ? "MPI_Bcast" : "MPI_Allreduce", 3 * i + k, now, now + 5);
			add_mpi(&c, r, "MPI_File_open", 0, now, now + 5)->mpi.comm = OTHER + 10 + i;
			now += 50;
		}
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK(s.steps >= 18 && s.steps <= 20);
	CHECK(s.covered > 0.9);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(one_call_over_and_over)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	for (size_t r = 0; r < RANKS; r++) {
		int64_t now = 0;

		for (int i = 0; i < 200; i++)
			call(&c, r, "MPI_Allreduce", 8, &now);
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 199); /* the first one's begin is not known */
	CHECK(s.confidence > 0.55 && s.confidence < 0.57);
	pp_steps_release(&s);
	c.ranks_asked = 2 * RANKS; /* other hosts could see other times */
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

/* A pattern of a part of the job is not the job's. */
TEST(not_all_ranks)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 20, 0);
	for (size_t r = 0; r < RANKS; r++)
		for (size_t i = 0; i < c.rank[r].thread[0].spans; i++)
			c.rank[r].thread[0].span[i].mpi.comm = 79;
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_MESSAGES); /* of each rank alone */
	CHECK_INT(s.steps, 20);
	pp_steps_release(&s);
	for (size_t r = 1; r < RANKS; r++)
		for (size_t i = 0; i < c.rank[r].thread[0].spans; i++)
			c.rank[r].thread[0].span[i].mpi.call = call_number("MPI_Comm_split");
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

TEST(marks_win)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 20, 0);
	for (int64_t i = 0; i < 4; i++) {
		struct pp_span *span = add_span(&c, 2, 1, PP_SPAN_STEP, "step", i * 100, i * 100 + 90);

		span->step.number = i;
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PODPROF);
	CHECK_INT(s.steps, 4);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Asked for before the pattern was known: it is in the records. */
TEST(found_too_late)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 20, 0);
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span = add_step(&c, r, 4, 5000, 5100);

		span->step.period = 3;
		span->step.known_from = 4;
		span->step.matched = 15;
	}
	s = find(&c, 1, 3);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 2);
	CHECK_INT(s.number[0], 1);
	CHECK_INT(s.cell[0].end, c.rank[0].thread[0].span[7].end);
	pp_steps_release(&s);
	free_capture(&c);
}

/* The last collective of a step is seen complete by a wait, or only in the next step. */
TEST(nonblocking)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	for (size_t r = 0; r < RANKS; r++) {
		int64_t now = 0;

		call(&c, r, "MPI_Bcast", 64, &now);
		for (uint32_t i = 0; i < 10; i++) {
			struct pp_span *span, copy;

			call(&c, r, "MPI_Iallreduce", 64, &now);
			copy = *call(&c, r, "MPI_Iallreduce", 128, &now);
			span = add_span(&c, r, 0, PP_SPAN_REQUEST, "MPI_Iallreduce", now, now + (i % 2 ? 3 : 100000));
			copy.kind = PP_SPAN_REQUEST;
			copy.end = span->end;
			*span = copy;
			span->mpi.comm = 77;
		}
	}
	/* `call` counts the requests as calls: number them anew */
	for (size_t r = 0; r < RANKS; r++) {
		uint32_t sequence = 0;

		for (size_t i = 0; i < c.rank[r].thread[0].spans; i++) {
			struct pp_span *span = &c.rank[r].thread[0].span[i];

			span->mpi.sequence = span->kind == PP_SPAN_MPI ? sequence++ : sequence - 1;
		}
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 10);
	for (size_t r = 0; r < RANKS; r++) {
		const struct pp_span *span = c.rank[r].thread[0].span;

		CHECK_INT(s.cell[1 * RANKS + r].end, span[6].end);    /* where the request was seen complete */
		CHECK_INT(s.cell[2 * RANKS + r].end, span[10].begin); /* not after the next step's first call */
	}
	pp_steps_release(&s);
	free_capture(&c);
}

/* Each rank lost a different beginning: the numbers still name the same collectives. */
TEST(evicted)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 60, 0);
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_thread *thread = &c.rank[r].thread[0];
		size_t cut = 11 + 7 * r;

		c.rank[r].horizon = thread->span[cut].begin;
		thread->spans -= cut;
		memmove(thread->span, thread->span + cut, thread->spans * sizeof(*thread->span));
		thread->first = thread->span[0].begin;
	}
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK(s.steps >= 45);
	CHECK(s.confidence > 0.5 && s.confidence < 0.65);
	CHECK(strstr(s.remark, "begin with the first kept one") != NULL);
	for (size_t r = 0; r < RANKS; r++) {
		const struct pp_thread *thread = &c.rank[r].thread[0];

		for (size_t i = 0; i < s.steps; i++) {
			size_t k = 0;

			while (k < thread->spans && thread->span[k].end != s.cell[i * RANKS + r].end)
				k++;
			/* the first step, of which nobody has the beginning, is left out */
			CHECK_INT(thread->span[k].mpi.sequence, 11 + 7 * (RANKS - 1) + 5 + 3 * i);
		}
	}
	pp_steps_release(&s);
	free_capture(&c);
}

/* Ranks that do not do the same have steps until there. */
TEST(ranks_part)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 40, 0);
	c.rank[2].thread[0].span[2 + 3 * 30 + 1].mpi.call = call_number("MPI_Barrier");
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_PERIOD);
	CHECK_INT(s.steps, 30);
	pp_steps_release(&s);
	c.rank[2].thread[0].span[5].mpi.call = call_number("MPI_Barrier");
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_WINDOW);
	pp_steps_release(&s);
	free_capture(&c);
}

/* Numbers out of a damaged file ask for no memory. */
TEST(damaged)
{
	struct pp_capture c = make_job();
	struct pp_steps s;

	loop(&c, 20, 0);
	c.rank[1].thread[0].span[9].mpi.sequence = UINT32_MAX;
	s = find(&c, 0, 0);
	CHECK_INT(s.rule, PP_STEP_RULE_MESSAGES); /* which reads no such number */
	pp_steps_release(&s);
	free_capture(&c);
}

/* Random loops, a second communicator in between in an order of each rank's own, bytes of v-calls each rank's own. */
TEST(random_jobs)
{
	static const char *const name[] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Allgather"};
	int with = 0;

	for (int i = 0; i < CASES; i++) {
		struct pp_capture c = make_job();
		uint32_t prologue = draw(9), letters = 1 + draw(6), steps = 4 + draw(30), every = 2 + draw(20), kind[9];
		uint64_t bytes[9];
		struct pp_steps s;

		for (uint32_t k = 0; k < 9; k++) {
			kind[k] = draw(5);
			bytes[k] = 8u << draw(6);
		}
		for (size_t r = 0; r < RANKS; r++) {
			int64_t now = draw(50);
			uint32_t other = 0;

			for (uint32_t n = 0; n < prologue; n++)
				call(&c, r, "MPI_Allreduce", 3 + 7 * n, &now);
			for (uint32_t n = 0; n < steps * letters; n++) {
				uint32_t k = n % letters;

				call(&c, r, name[kind[k]], kind[k] == 1 ? 0 : kind[k] == 2 ? 100 + draw(100) : bytes[k], &now);
				if (draw(3) == 0) {
					struct pp_span *span = add_mpi(&c, r, "MPI_Iallreduce", other++, now, now);

					span->mpi.comm = OTHER;
				}
				if (k == letters - 1 && n / letters % every == every - 1)
					call(&c, r, "MPI_Allreduce", 5, &now);
			}
		}
		s = find(&c, 0, 0);
		for (size_t n = 0; n < s.steps; n++)
			for (size_t r = 0; r < RANKS; r++)
				CHECK(s.cell[n * RANKS + r].present);
		for (size_t n = 0; s.rule == PP_STEP_RULE_PERIOD && n < s.steps; n++) {
			uint32_t last[RANKS];

			for (size_t r = 0; r < RANKS; r++) {
				const struct pp_thread *thread = &c.rank[r].thread[0];

				for (size_t k = 0; k < thread->spans; k++)
					if (thread->span[k].mpi.comm == 77 && thread->span[k].end == s.cell[n * RANKS + r].end)
						last[r] = thread->span[k].mpi.sequence;
				CHECK_INT(last[r], last[0]);
			}
		}
		with += s.rule == PP_STEP_RULE_PERIOD;
		pp_steps_release(&s);
		free_capture(&c);
	}
	CHECK(with > CASES / 3);
}

int main(void)
{
	loop_without_marks();
	evaluations();
	call_of_another_at_the_end();
	one_call_over_and_over();
	not_all_ranks();
	marks_win();
	found_too_late();
	nonblocking();
	evicted();
	ranks_part();
	damaged();
	random_jobs();
	return test_end();
}
