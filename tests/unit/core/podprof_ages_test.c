/* podprof.h against collectors of other ages: this program is the collector, and hands out tables that are shorter or longer
 * than the header's. What a table lacks does nothing; what is too short for the first functions is no table. */
#include "core/podprof.h"

#include "tests/test.h"

static int steps, starts, stops, asked;

static void step_begin(int64_t number)
{
	(void)number;
	steps++;
}

static void window_start(const char *name)
{
	(void)name;
	starts++;
}

static void window_stop(void)
{
	stops++;
}

static void profile_steps(int64_t first, int64_t last)
{
	asked += last > first;
}

static int recording(void)
{
	return 1;
}

static struct {
	struct podprof_api table;
	char later[64]; /* functions that this header does not know */
} mine = {.table = {.step_begin = step_begin,
                    .recording = recording,
                    .window_start = window_start,
                    .window_stop = window_stop,
                    .profile_steps = profile_steps}};

__attribute__((visibility("default"))) const struct podprof_api *podprof_api(void);

const struct podprof_api *podprof_api(void)
{
	return &mine.table;
}

/* Every function that a program may call, with a table of `size` bytes. */
static void call_all(uint64_t size)
{
	steps = starts = stops = asked = 0;
	mine.table.size = size;
	podprof_table_ = &podprof_unknown_;
	podprof_step_begin(1);
	podprof_window_start("a");
	{
		PODPROF_WINDOW("b");
		PODPROF_WINDOW(NULL);
	}
	podprof_window_stop();
	podprof_profile_steps(3, 4);
}

TEST(of_this_age)
{
	call_all(sizeof(struct podprof_api));
	CHECK(steps == 1 && starts == 3 && stops == 3 && asked == 1 && podprof_recording());
}

TEST(newer)
{
	call_all(sizeof(mine));
	CHECK(steps == 1 && starts == 3 && stops == 3 && asked == 1 && podprof_recording());
}

TEST(older)
{
	call_all(offsetof(struct podprof_api, window_start));
	CHECK(steps == 1 && !starts && !stops && !asked && podprof_recording());
	call_all(offsetof(struct podprof_api, window_stop));
	CHECK(steps == 1 && starts == 3 && !stops && !asked);
	call_all(offsetof(struct podprof_api, profile_steps));
	CHECK(starts == 3 && stops == 3 && !asked);
	call_all(offsetof(struct podprof_api, profile_steps) + 4);
	CHECK(!asked);
}

TEST(no_table)
{
	call_all(offsetof(struct podprof_api, recording));
	CHECK(!steps && !starts && !podprof_recording());
	call_all(0);
	CHECK(!steps && !starts && !podprof_recording());
}

int main(void)
{
	of_this_age();
	newer();
	older();
	no_table();
	return test_end();
}
