/* Rows of the program's windows, read by the keeper while a program goes through all of them: never another window's ticks. */
#include <pthread.h>
#include <stdlib.h>

#include "aggregate/keeper/capture/windows.h"
#include "core/window/api_windows.h"
#include "tests/test.h"

enum { WINDOWS = 3000000 };

static struct pp_ring_header *header;
static _Atomic int done;

static pp_tick begin_of(uint64_t place)
{
	return 1000 + 10 * (place + 1);
}

static void *program(void *arg)
{
	struct pp_api_windows b;

	pp_api_windows_init(&b, header);
	for (uint64_t i = 0; i < WINDOWS; i++) {
		pp_api_windows_start(&b, "window", begin_of(i));
		pp_api_windows_stop(&b, begin_of(i) + 5);
	}
	atomic_store(&done, 1);
	return arg;
}

TEST(rows_are_overtaken)
{
	static struct pp_windows w;
	int64_t from = 0, to = 0;
	int torn = 0;
	pthread_t thread;

	header = calloc(1, PP_RING_HEADER_BYTES);
	CHECK(header != NULL);
	pthread_create(&thread, NULL, program, NULL);
	while (!atomic_load(&done)) {
		uint64_t count = atomic_load(&header->api_windows);

		w.api_next = count > PP_WINDOW_ROWS ? count - PP_WINDOW_ROWS : 0;
		from = pp_windows_api_needs(&w, header);
		torn += from < INT64_MAX && from < (int64_t)begin_of(w.api_next);
		if (pp_job_api_ticks(header, &w.api_next, &from, &to))
			torn += from != (int64_t)begin_of(w.api_next) || (to < INT64_MAX && to != from + 5);
	}
	pthread_join(thread, NULL);
	CHECK_INT(torn, 0);
	w.api_next = WINDOWS - PP_WINDOW_ROWS;
	CHECK_INT(pp_windows_api_needs(&w, header), (int64_t)begin_of(w.api_next));
	free(header);
}

int main(void)
{
	rows_are_overtaken();
	return test_end();
}
