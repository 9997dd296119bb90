/* Marks as no careful program makes them, one kind per mode: odd_marks MODE [COUNT]. Run by bad_input.py. */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "tests/guest/marks.h"

static void tiny_step(int64_t number)
{
	podprof_step_begin(number);
	podprof_range_push("work");
	sleep_ms(1);
	podprof_range_pop();
	podprof_step_end();
}

static void long_names(void)
{
	static char name[10241], huge[300001];
	memset(name, 'n', sizeof name - 1);
	memset(huge, 'h', sizeof huge - 1);
	podprof_step_begin(0);
	for (int i = 0; i < 20; i++) {
		name[5000] = (char)('a' + i);
		podprof_range_push(name);
		podprof_range_pop();
	}
	podprof_range_push(huge);
	podprof_mark(huge);
	podprof_counter(huge, 1);
	podprof_range_pop();
	podprof_step_end();
}

static void no_utf8(void)
{
	podprof_step_begin(0);
	podprof_range_push("caf\xe9 \xff\xfe");
	podprof_range_push("\xc3");
	podprof_range_push("\xed\xa0\x80 half a surrogate \xf8\x88\x80\x80\x80");
	podprof_mark("control \x01\x02\x1b[31m \n newline");
	sleep_ms(1);
	podprof_range_pop();
	podprof_range_pop();
	podprof_range_pop();
	podprof_range_push("");
	podprof_range_pop();
	podprof_range_push(NULL);
	podprof_range_pop();
	podprof_mark(NULL);
	podprof_step_end();
}

static void deep(void)
{
	podprof_step_begin(0);
	for (int i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof name, "level %d", i);
		podprof_range_push(name);
	}
	sleep_ms(2);
	for (int i = 0; i < 1000; i++)
		podprof_range_pop();
	podprof_step_end();
}

static void unbalanced(void)
{
	podprof_range_pop();
	podprof_step_end();
	podprof_step_begin(0);
	podprof_range_pop();
	podprof_range_push("never popped");
	podprof_range_push("never popped either");
	podprof_step_end();
	podprof_step_end();
	podprof_step_begin(1);
	podprof_step_begin(2);
	podprof_range_push("work");
	sleep_ms(1);
	podprof_range_pop();
	podprof_step_end();
	podprof_range_push("open at the end");
}

static void backwards(void)
{
	static const int64_t number[] = {5, 6, 7, 3, 4, 5, INT64_MIN, INT64_MAX, -1, 0};
	for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
		tiny_step(number[i]);
}

static void many(long count)
{
	podprof_step_begin(0);
	for (long i = 0; i < count; i++) {
		podprof_range_push("one of many");
		podprof_range_pop();
	}
	podprof_step_end();
}

static void bad_categories(void)
{
	podprof_step_begin(0);
	podprof_range_push_as("below", (enum podprof_category) - 1);
	podprof_range_push_as("above", (enum podprof_category)11);
	podprof_range_push_as("far above", (enum podprof_category)INT_MAX);
	for (int i = 0; i < 3; i++)
		podprof_range_pop();
	podprof_counter("not a number", 0.0 / 0.0);
	podprof_counter("infinite", 1e308 * 10);
	podprof_step_end();
}

/* What a setenv() of another thread does at the worst moment. */
static void environment(const char *how)
{
	static char *broken[] = {(char *)16, NULL};

	if (!strcmp(how, "clear"))
		environ = NULL;
	tiny_step(1);
	if (!strcmp(how, "broken"))
		environ = broken;
	puts("marked");
	exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (!strcmp(mode, "long_names"))
		long_names();
	else if (!strcmp(mode, "no_utf8"))
		no_utf8();
	else if (!strcmp(mode, "environment"))
		environment(argc > 2 ? argv[2] : "");
	else if (!strcmp(mode, "deep"))
		deep();
	else if (!strcmp(mode, "unbalanced"))
		unbalanced();
	else if (!strcmp(mode, "backwards"))
		backwards();
	else if (!strcmp(mode, "many"))
		many(count);
	else if (!strcmp(mode, "bad_categories"))
		bad_categories();
	else if (!strcmp(mode, "steps"))
		for (long i = 0; i < count; i++)
			tiny_step(i);
	else if (!strcmp(mode, "some_steps")) /* rank 1 marks none */
		for (long i = 0; i < count && world_rank() != 1; i++)
			tiny_step(i);
	else if (strcmp(mode, "nothing"))
		return 2;
	say("is done");
	return 0;
}
