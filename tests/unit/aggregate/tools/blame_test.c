/* /blame and /blame_step of made-up jobs whose root causes are known, and of damaged tables. */
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { US = 1000, MS = 1000 * US, BETWEEN = PP_CATEGORIES + 1, TRANSFER = 10 * US };
static const enum pp_category HOST = PP_CATEGORY_HOST_COMPUTE, SENT = PP_CATEGORY_HOST_COMMUNICATION;

struct result {
	struct pp_dataset d;
	struct pp_table table[PP_TABLES];
};

static int64_t waited(const struct pp_dataset *d)
{
	int64_t sum = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++)
		sum += d->cell[i].wait_ns;
	return sum;
}

static struct pp_row_blame *rows(const struct result *r)
{
	return r->table[PP_TABLE_blame].row;
}

/* What holds for every job: nothing is lost, nothing is charged twice. */
static void check_sums(const struct result *r)
{
	const struct pp_row_blame_step *step = r->table[PP_TABLE_blame_step].row;
	int64_t blame = 0, direct = 0, in_steps = 0;

	for (size_t i = 0; i < r->table[PP_TABLE_blame].rows; i++) {
		blame += rows(r)[i].blame_ns;
		direct += rows(r)[i].direct_ns;
		CHECK(rows(r)[i].direct_ns <= rows(r)[i].blame_ns);
		CHECK(!i || rows(r)[i - 1].blame_ns >= rows(r)[i].blame_ns);
	}
	for (size_t i = 0; i < r->table[PP_TABLE_blame_step].rows; i++)
		in_steps += step[i].step_blame_ns;
	CHECK_INT(blame, waited(&r->d));
	CHECK(direct <= blame);
	CHECK_INT(in_steps, blame);
}

static void run(struct result *r)
{
	struct pp_err err = {""};

	pp_dataset_tables(&r->d, r->table);
	CHECK_INT(pp_tool_blame(&r->d, r->table, &err), 0);
}

static struct result finish(struct pp_made_job *m)
{
	struct result r = {.d = pp_made_end(m)};

	run(&r);
	check_sums(&r);
	return r;
}

static void release(struct result *r)
{
	struct pp_intern *names = (struct pp_intern *)r->d.names;

	pp_dataset_take_tables(&r->d, r->table);
	pp_dataset_release(&r->d);
	pp_intern_free(names);
}

static const struct pp_row_blame *row_of(const struct result *r, int32_t worker, int reason)
{
	static const struct pp_row_blame none;

	for (size_t i = 0; i < r->table[PP_TABLE_blame].rows; i++)
		if (rows(r)[i].worker == worker && rows(r)[i].reason == reason)
			return &rows(r)[i];
	return &none;
}

static int64_t blame_of(const struct result *r, int32_t worker, int reason)
{
	return row_of(r, worker, reason)->blame_ns;
}

static int64_t blame_of_rank(const struct result *r, int32_t worker)
{
	int64_t sum = 0;

	for (int k = 0; k <= BETWEEN; k++)
		sum += blame_of(r, worker, k);
	return sum;
}

static int64_t step_blame(const struct result *r, int64_t step, int32_t worker, int *ret_reason)
{
	const struct pp_row_blame_step *row = r->table[PP_TABLE_blame_step].row;

	for (size_t i = 0; i < r->table[PP_TABLE_blame_step].rows; i++)
		if (row[i].step == step && row[i].worker == worker) {
			*ret_reason = row[i].step_reason;
			return row[i].step_blame_ns;
		}
	*ret_reason = -1;
	return 0;
}

static void work_all(struct pp_made_job *m, int64_t ns)
{
	pp_made_work_all(m, HOST, ns);
}

static void all_reduce(struct pp_made_job *m, uint64_t communicator)
{
	pp_made_collective(m, communicator, "MPI_Allreduce", 8000, TRANSFER);
}

/* A rank is slow in one category; the error is that of the clocks, a wait each. */
static void test_category(int category)
{
	struct pp_made_job m;
	struct result r;
	int reason;

	pp_made_begin(&m, 4, 4, 100, 5);
	m.bound_ns = 40;
	for (size_t s = 0; s < 5; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, 2, (enum pp_category)category, 2 * MS);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
	}
	r = finish(&m);
	CHECK_INT(r.table[PP_TABLE_blame].rows, 1);
	CHECK_INT(blame_of(&r, 2, category), 5 * 3 * 2 * MS);
	CHECK_INT(row_of(&r, 2, category)->direct_ns, 5 * 3 * 2 * MS);
	CHECK_INT(row_of(&r, 2, category)->error_ns, 5 * 3 * 40);
	CHECK_INT(row_of(&r, 2, category)->steps, 5);
	CHECK_INT(step_blame(&r, 102, 2, &reason), 3 * 2 * MS);
	CHECK_INT(reason, category);
	CHECK_INT(step_blame(&r, 102, 1, &reason), 0);
	release(&r);
}

/* After the last collective of a step: the ranks wait in the next one. */
static void test_end_of_step(int is_between)
{
	struct pp_made_job m;
	struct result r;
	int reason;

	pp_made_begin(&m, 3, 3, 0, 4);
	for (size_t s = 0; s < 4; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		all_reduce(&m, 1);
		if (s == 1 && !is_between)
			pp_made_work(&m, 0, PP_CATEGORY_OUTPUT, 3 * MS);
		pp_made_end_all(&m);
		if (s == 1 && is_between)
			pp_made_work(&m, 0, PP_CATEGORY_OTHER, 3 * MS);
	}
	r = finish(&m);
	CHECK_INT(blame_of(&r, 0, is_between ? BETWEEN : PP_CATEGORY_OUTPUT), 2 * 3 * MS);
	CHECK_INT(r.table[PP_TABLE_blame].rows, 1);
	CHECK_INT(step_blame(&r, 2, 0, &reason), 2 * 3 * MS);
	CHECK_INT(reason, is_between ? BETWEEN : PP_CATEGORY_OUTPUT);
	release(&r);
}

/* Rank 0 is late in A, where 1 waits; 2 and 3 wait for 1 in B. Without transfer all of it is rank 0's. */
static void test_two_communicators(int64_t transfer)
{
	const int32_t a[] = {0, 1}, b[] = {1, 2, 3};
	struct pp_made_job m;
	struct result r;
	uint64_t comm_a, comm_b;

	pp_made_begin(&m, 4, 4, 0, 6);
	comm_a = pp_made_communicator(&m, "A", a, 2);
	comm_b = pp_made_communicator(&m, "B", b, 3);
	for (size_t s = 0; s < 6; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, 0, PP_CATEGORY_INPUT, 4 * MS);
		pp_made_collective(&m, comm_a, "MPI_Allreduce", 8, transfer);
		pp_made_collective(&m, comm_b, "MPI_Allreduce", 8, transfer);
		pp_made_collective(&m, 1, "MPI_Barrier", 0, transfer);
		pp_made_end_all(&m);
	}
	r = finish(&m);
	CHECK(llabs(blame_of(&r, 0, PP_CATEGORY_INPUT) - 6 * 3 * 4 * MS) <= 6 * transfer);
	CHECK_INT(row_of(&r, 0, PP_CATEGORY_INPUT)->direct_ns, 6 * 4 * MS);
	/* Ranks 2 and 3 wait for rank 1's transfer in A, rank 0 for its transfer in B. */
	CHECK(transfer ? blame_of(&r, 1, SENT) > 6 * 2 * transfer && blame_of(&r, 1, SENT) <= 6 * 3 * transfer
	               : !blame_of(&r, 1, SENT));
	CHECK_INT(blame_of_rank(&r, 1) + blame_of_rank(&r, 0) + blame_of_rank(&r, 2) + blame_of_rank(&r, 3), waited(&r.d));
	CHECK_INT(blame_of_rank(&r, 3), 0);
	release(&r);
}

/* Rank 0 works long, 1 waits for its message, 2 for a message of 1, 3 for one of 2; all meet in the end. */
static void test_messages(int is_eager)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 4, 4, 0, 6);
	for (size_t s = 0; s < 6; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, 0, PP_CATEGORY_COMPILATION, 5 * MS);
		for (size_t k = 0; k < 3; k++)
			pp_made_message(&m, k, k + 1, 7, 100, is_eager ? 1 * US : 2 * US, is_eager);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
	}
	r = finish(&m);
	CHECK(blame_of(&r, 0, PP_CATEGORY_COMPILATION) >= 6 * 3 * 5 * MS - 6 * 20 * US);
	CHECK_INT(row_of(&r, 0, PP_CATEGORY_COMPILATION)->steps, 6);
	for (int32_t k = 1; k < 4; k++)
		CHECK(blame_of_rank(&r, k) <= 6 * 20 * US);
	release(&r);
}

/* The receiver of a rendezvous is late, and its sender makes all others wait. */
static void test_late_receiver(void)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 3, 3, 0, 3);
	for (size_t s = 0; s < 3; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, 2, HOST, 3 * MS);
		pp_made_message(&m, 1, 2, 7, 1 << 20, 0, 0);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
	}
	r = finish(&m);
	CHECK_INT(blame_of(&r, 2, HOST), waited(&r.d));
	release(&r);
}

/* Two ranks are late in one step, in different collectives; in the next steps others are. */
static void test_two_and_rotating(void)
{
	struct pp_made_job m;
	struct result r;
	int reason;

	pp_made_begin(&m, 4, 4, 0, 8);
	for (size_t s = 0; s < 8; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, s % 4, HOST, 2 * MS);
		all_reduce(&m, 1);
		work_all(&m, MS);
		pp_made_work(&m, (s + 1) % 4, PP_CATEGORY_INPUT, 1 * MS);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
	}
	r = finish(&m);
	CHECK_INT(r.table[PP_TABLE_blame].rows, 8);
	for (int32_t k = 0; k < 4; k++) {
		CHECK_INT(blame_of(&r, k, HOST), 2 * 3 * 2 * MS);
		CHECK_INT(blame_of(&r, k, PP_CATEGORY_INPUT), 2 * 3 * 1 * MS);
		CHECK_INT(row_of(&r, k, HOST)->steps, 2);
	}
	CHECK_INT(step_blame(&r, 5, 1, &reason), 3 * 2 * MS);
	CHECK_INT(reason, HOST);
	CHECK_INT(step_blame(&r, 5, 2, &reason), 3 * 1 * MS);
	CHECK_INT(reason, PP_CATEGORY_INPUT);
	release(&r);
}

/* Two reasons at once share the wait, in proportion; a third that others have as well does not. */
static void test_shares(void)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 2, 2, 0, 1);
	pp_made_begin_all(&m, 0);
	all_reduce(&m, 1);
	pp_made_work(&m, 0, PP_CATEGORY_INPUT, 1 * MS);
	pp_made_work(&m, 0, HOST, 3 * MS);
	pp_made_work(&m, 0, PP_CATEGORY_OUTPUT, 2 * MS);
	pp_made_work(&m, 1, PP_CATEGORY_OUTPUT, 3 * MS);
	all_reduce(&m, 1);
	pp_made_end_all(&m);
	r = finish(&m);
	CHECK_INT(waited(&r.d), 3 * MS);
	CHECK_INT(blame_of(&r, 0, PP_CATEGORY_INPUT), 3 * MS / 4);
	CHECK_INT(blame_of(&r, 0, HOST), 3 * MS / 4 * 3);
	release(&r);
}

/* Waits that other work hides, or that are outside steps, are nobody's blame, and release nobody. */
static void test_hidden(void)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 3, 3, 0, 5);
	for (size_t s = 0; s < 5; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
		pp_made_work(&m, 1, PP_CATEGORY_OTHER, 2 * MS);
		pp_made_collective(&m, 1, "MPI_Barrier", 0, TRANSFER);
	}
	r = finish(&m);
	CHECK_INT(waited(&r.d), 0);
	CHECK_INT(r.table[PP_TABLE_blame].rows, 0);
	release(&r);
	pp_made_begin(&m, 2, 2, 0, 1);
	pp_made_begin_all(&m, 0);
	all_reduce(&m, 1);
	pp_made_work(&m, 0, HOST, 4 * MS);
	pp_made_work(&m, 1, HOST, MS);
	all_reduce(&m, 1); /* nonblocking on rank 1: hidden, below */
	pp_made_work(&m, 0, HOST, MS);
	pp_made_work(&m, 1, HOST, MS);
	all_reduce(&m, 1);
	pp_made_end_all(&m);
	r.d = pp_made_end(&m);
	for (size_t i = 0; i < r.d.arrivals; i++)
		if (r.d.arrival[i].exposed_wait_ns) { /* its wait is in the last operation instead */
			r.d.arrival[i].exposed_wait_ns = 0;
			r.d.arrival[i + 2] = (struct pp_row_arrival){
			        .worker = 1,
			        .arrival_ns = r.d.arrival[i].arrival_ns + MS,
			        .exit_ns = r.d.arrival[i + 2].exit_ns,
			        .late_rank = 0,
			        .exposed_wait_ns = 3 * MS,
			        .local_us = {[PP_CATEGORY_HOST_COMPUTE] = 1000, [PP_CATEGORY_HOST_COMMUNICATION] = 10}};
			break;
		}
	run(&r);
	CHECK_INT(r.table[PP_TABLE_blame].rows, 1);
	CHECK_INT(blame_of(&r, 0, HOST), 3 * MS);
	release(&r);
}

/* A step without any difference: nothing recorded explains the wait. */
static void test_unknown(void)
{
	struct pp_made_job m;
	struct result r = {.table = {{0}}};

	pp_made_begin(&m, 2, 2, 0, 1);
	pp_made_begin_all(&m, 0);
	all_reduce(&m, 1);
	work_all(&m, MS);
	pp_made_work(&m, 1, HOST, 2 * MS);
	all_reduce(&m, 1);
	pp_made_end_all(&m);
	r.d = pp_made_end(&m);
	memset(r.d.arrival[3].local_us, 0, sizeof(r.d.arrival[3].local_us));
	r.d.arrival[3].between_us = 0;
	run(&r);
	check_sums(&r);
	CHECK_INT(blame_of(&r, 1, 0), 2 * MS);
	release(&r);
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Ranks that differ by nothing but one rank's work: whatever the ways between them, nobody else is blamed for much. */
static void test_random(int is_pure)
{
	struct pp_made_job m;
	struct result r;
	size_t ranks = 2 + draw(7), slow = draw((uint32_t)ranks);
	int64_t others = 0;
	int32_t half[8];

	pp_made_begin(&m, ranks, 4, 10, 12);
	for (size_t i = 0; i < ranks / 2 + 1; i++)
		half[i] = (int32_t)(i + ranks - (ranks / 2 + 1));
	pp_made_communicator(&m, "some", half, (uint32_t)(ranks / 2 + 1));
	for (size_t s = 0; s < 12; s++) {
		pp_made_begin_all(&m, s);
		for (uint32_t k = 0; k < 5; k++) {
			if (is_pure)
				work_all(&m, draw(500) * US);
			for (size_t i = 0; i < ranks && !is_pure; i++)
				pp_made_work(&m, i, (enum pp_category)(1 + draw(PP_CATEGORIES)), draw(1000000));
			pp_made_work(&m, slow, PP_CATEGORY_INPUT, draw(3) * MS);
			if (!draw(3))
				pp_made_message(&m, draw((uint32_t)ranks - 1), ranks - 1, 1, 10, is_pure ? 0 : TRANSFER,
				                (int)draw(2));
			pp_made_collective(&m, 1 + draw(2), "MPI_Allreduce", 8, is_pure ? 0 : TRANSFER);
		}
		pp_made_end_all(&m);
		if (!is_pure && !draw(2))
			pp_made_work(&m, draw((uint32_t)ranks), PP_CATEGORY_OTHER, MS);
	}
	r = finish(&m);
	for (size_t i = 0; i < ranks; i++)
		others += i == slow ? 0 : blame_of_rank(&r, (int32_t)i);
	if (is_pure) /* an eager sender leaves 1 us after its call */
		CHECK(others <= 12 * 5 * (int64_t)ranks * 10 * US);
	release(&r);
}

static void damage(struct pp_dataset *d)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0, 1, (int64_t)1 << 55, 123456789};
	struct pp_row_arrival *a = &d->arrival[draw((uint32_t)d->arrivals)];
	struct pp_row_collective *c = &d->collective[draw((uint32_t)d->collectives)];
	int64_t value = odd[draw(7)];

	switch (draw(9)) {
	case 0:
		a->worker = (int32_t)value;
		break;
	case 1:
		a->arrival_ns = value;
		break;
	case 2:
		a->exit_ns = value;
		break;
	case 3:
		a->late_rank = (int32_t)value;
		break;
	case 4:
		a->exposed_wait_ns = value;
		break;
	case 5:
		a->local_us[1 + draw(PP_CATEGORIES)] = (uint32_t)value;
		break;
	case 6:
		c->row_first = draw(2) ? (uint64_t)value : draw(30);
		break;
	case 7:
		c->row_count = draw(2) ? (uint32_t)value : draw(30);
		break;
	default:
		c->bound_ns = value;
		c->step = value;
		*a = d->arrival[draw((uint32_t)d->arrivals)];
	}
}

/* Any values: no crash, no endless loop, rows of known ranks only, no more blame than there is waiting. */
static void test_damaged(void)
{
	struct pp_made_job m;
	struct result r = {.table = {{0}}};
	struct pp_err err = {""};

	pp_made_begin(&m, 4, 4, 0, 4);
	for (size_t s = 0; s < 4; s++) {
		pp_made_begin_all(&m, s);
		for (size_t i = 0; i < 4; i++)
			pp_made_work(&m, i, HOST, draw(1000) * US);
		all_reduce(&m, 1);
		pp_made_message(&m, 0, 1, 1, 10, 0, 0);
		pp_made_end_all(&m);
	}
	r.d = pp_made_end(&m);
	for (int k = 0; k < 12; k++)
		damage(&r.d);
	pp_dataset_tables(&r.d, r.table);
	CHECK_INT(pp_tool_blame(&r.d, r.table, &err), 0);
	for (size_t i = 0; i < r.table[PP_TABLE_blame].rows; i++) {
		CHECK(pp_dataset_worker(&r.d, rows(&r)[i].worker) != SIZE_MAX);
		CHECK(rows(&r)[i].blame_ns > 0 && rows(&r)[i].direct_ns >= 0 && rows(&r)[i].error_ns >= 0);
		CHECK(rows(&r)[i].direct_ns <= rows(&r)[i].blame_ns);
	}
	release(&r);
}

/* A rank with two rows in an operation. */
static void test_doubled(void)
{
	struct pp_made_job m;
	struct result r = {.table = {{0}}};

	pp_made_begin(&m, 3, 3, 0, 2);
	for (size_t s = 0; s < 2; s++) {
		pp_made_begin_all(&m, s);
		work_all(&m, MS);
		pp_made_work(&m, 2, HOST, MS);
		all_reduce(&m, 1);
		pp_made_end_all(&m);
	}
	r.d = pp_made_end(&m);
	r.d.arrival[1].worker = 0;
	run(&r);
	CHECK_INT(blame_of_rank(&r, 0) + blame_of_rank(&r, 1) + blame_of_rank(&r, 2), waited(&r.d));
	CHECK_INT(blame_of_rank(&r, 2), waited(&r.d)); /* nobody waits for itself */
	release(&r);
}

/* Each rank is on a host of its own and sends to every other one. Messages from one of them take 5 ms longer: all, or those to
 * one rank. */
static struct result slow_links(size_t from, size_t to, int all)
{
	static const size_t round[][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {0, 2, 1, 3}, {2, 0, 3, 1}, {0, 3, 1, 2}, {3, 0, 2, 1}};
	struct pp_made_job m;

	pp_made_begin(&m, 4, 1, 0, 10);
	for (size_t s = 0; s < 10; s++) {
		pp_made_begin_all(&m, s);
		for (size_t k = 0; k < sizeof(round) / sizeof(round[0]); k++) {
			pp_made_work_all(&m, HOST, 2 * MS);
			for (size_t i = 0; i < 4; i += 2) {
				const int slow = round[k][i] == from && (all || round[k][i + 1] == to);

				pp_made_message(&m, round[k][i], round[k][i + 1], 0, 1000, slow ? 5100 * US : 100 * US, 1);
			}
			pp_made_collective(&m, 1, "MPI_Barrier", 0, TRANSFER);
		}
		pp_made_end_all(&m);
	}
	return finish(&m);
}

/* No rank works longer. All wait for rank 2 in the barrier. */
TEST(test_slow_link)
{
	struct result r = slow_links(1, 2, 0);
	struct pp_row_finding first;

	CHECK_INT(rows(&r)->reason, PP_REASON_LINK);
	CHECK_INT(rows(&r)->worker, 2);
	CHECK_INT(rows(&r)->peer, 1);
	CHECK_INT(rows(&r)->steps, 10);
	CHECK(rows(&r)->blame_ns > (int64_t)10 * 3 * 5 * MS - MS);
	pp_dataset_take_tables(&r.d, r.table);
	CHECK(findings_of(&r.d, &first, 1) > 0);
	CHECK_INT(first.kind, PP_FINDING_LINK);
	CHECK_STR(first.who, "link from rank 1 (host h1) to rank 2 (host h2)");
	CHECK(r.table[PP_TABLE_blame].rows < 2 || (rows(&r)[1].peer == -1 && rows(&r)[1].blame_ns * 20 < rows(&r)->blame_ns));
	release(&r);
}

/* A host's port: no one of its links is the cause. */
TEST(test_slow_port)
{
	struct result r = slow_links(1, 0, 1);
	struct pp_row_finding first;

	pp_dataset_take_tables(&r.d, r.table);
	CHECK(findings_of(&r.d, &first, 1) > 0);
	CHECK_INT(first.kind, PP_FINDING_LINK);
	CHECK_STR(first.who, "the 3 slow links of host h1");
	CHECK_STR(first.finding_host_list, "h1");
	CHECK_INT(first.finding_gain_ns / MS, 15);
	release(&r);
}

int main(void)
{
	for (int c = 1; c <= PP_CATEGORIES; c++)
		test_category(c);
	test_end_of_step(0);
	test_end_of_step(1);
	test_two_communicators(0);
	test_two_communicators(TRANSFER);
	test_messages(0);
	test_messages(1);
	test_late_receiver();
	test_two_and_rotating();
	test_shares();
	test_hidden();
	test_unknown();
	for (int i = 0; i < 300; i++) {
		test_random(0);
		test_random(1);
		test_damaged();
	}
	test_doubled();
	test_slow_link();
	test_slow_port();
	return test_end();
}
