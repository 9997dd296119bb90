/* The table of requests under way, without MPI: found until removed, reused handles, full shards counted, threads. */
#include "mpi/pmpi_request.h"

#include <pthread.h>

#include "mpi/dispatch/thread.h"
#include "tests/test.h"

__thread struct pp_mpi_thread pp_mpi_thread;

static uint64_t handle(uint64_t n)
{
	return 0x10000 + n * 0xa0;
}

TEST(test_find_and_remove)
{
	static struct pp_request r[2000];
	struct pp_request found;

	for (unsigned i = 0; i < 2000; i++) {
		r[i] = (struct pp_request){.key = handle(i), .peer = (int32_t)i, .receives = i & 1};
		CHECK(pp_request_add(&r[i]) != 0);
	}
	CHECK_INT(pp_request_live, 2000);
	/* every third one out: the others are still found */
	for (unsigned i = 0; i < 2000; i += 3)
		pp_request_remove(&r[i]);
	for (unsigned i = 0; i < 2000; i++) {
		pp_request_find(handle(i), &found);
		CHECK_INT(found.number, i % 3 ? r[i].number : 0);
		if (i % 3)
			CHECK_INT(found.peer, i);
	}
	for (unsigned i = 0; i < 2000; i++)
		pp_request_remove(&r[i]);
	CHECK_INT(pp_request_live, 0);
	CHECK_INT(pp_request_uncorrelated(), 0);
}

TEST(test_reused)
{
	struct pp_request first = {.key = handle(1), .peer = 1}, second = {.key = handle(1), .peer = 2}, found;

	pp_request_add(&first);
	pp_request_find(handle(1), &found);
	pp_request_add(&second);
	/* who saw the first one end may not take the second one out */
	pp_request_remove(&found);
	CHECK_INT(pp_request_live, 1);
	pp_request_find(handle(1), &found);
	CHECK_INT(found.peer, 2);
	pp_request_remove(&found);
	CHECK_INT(pp_request_live, 0);
}

TEST(test_full)
{
	static struct pp_request r[40000];
	unsigned in = 0, out = 0;

	for (unsigned i = 0; i < 40000; i++) {
		r[i] = (struct pp_request){.key = handle(i)};
		if (pp_request_add(&r[i]))
			in++;
		else
			out++;
	}
	CHECK_INT(in, 64 * 256);
	CHECK_INT(pp_request_uncorrelated(), out);
	for (unsigned i = 0; i < 40000; i++)
		pp_request_remove(&r[i]);
	CHECK_INT(pp_request_live, 0);
}

static void *churn(void *arg)
{
	uintptr_t base = *(unsigned *)arg * 100000u;
	intptr_t bad = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct pp_request r = {.key = handle(base + i % 50), .peer = (int32_t)i}, found;

		bad += !pp_request_add(&r);
		pp_request_find(r.key, &found);
		bad += found.number != r.number || found.peer != (int32_t)i;
		pp_request_remove(&found);
	}
	return (void *)bad;
}

TEST(test_threads)
{
	pthread_t t[4];
	unsigned n[4] = {1, 2, 3, 4};
	void *bad;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, &n[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		CHECK(bad == NULL);
	}
	CHECK_INT(pp_request_live, 0);
}

int main(void)
{
	test_find_and_remove();
	test_reused();
	test_full();
	test_threads();
	return test_end();
}
