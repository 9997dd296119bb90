/* Tests of core/capture/thread.c: which spans passes visit. */

#include <stdlib.h>

#include "core/capture/thread.h"
#include "tests/test.h"

enum { CALLS = PP_SPAN_BIT(PP_SPAN_MPI), RANGES = PP_SPAN_BIT(PP_SPAN_RANGE) };

static struct pp_span span[] = {{.kind = PP_SPAN_RANGE}, {.kind = PP_SPAN_MPI}, {.kind = PP_SPAN_RANGE}, {.kind = PP_SPAN_STEP}};

static void without_a_list_all_are_visited(void)
{
	const struct pp_thread thread = {.span = span, .spans = 4, .kinds = CALLS | RANGES};

	CHECK_INT(pp_thread_others(&thread, CALLS), 4);
	CHECK_INT(pp_thread_other(&thread, 2), 2);
}

static void a_list_has_all_but_ranges(void)
{
	struct pp_thread thread = {.span = span, .spans = 4};

	pp_thread_list_others(&thread);
	CHECK_INT(pp_thread_others(&thread, CALLS), 2);
	CHECK_INT(pp_thread_other(&thread, 0), 1);
	CHECK_INT(pp_thread_other(&thread, 1), 3);
	free(thread.other);
}

static void kinds_that_a_thread_lacks_are_not_visited(void)
{
	struct pp_thread thread = {.span = span, .spans = 4, .kinds = CALLS | RANGES};

	pp_thread_list_others(&thread);
	CHECK_INT(pp_thread_others(&thread, PP_SPAN_BIT(PP_SPAN_COUNTER)), 0);
	free(thread.other);
}

static void listing_again_follows_the_spans(void)
{
	struct pp_span own[] = {span[0], span[1], span[2]};
	struct pp_thread thread = {.span = own, .spans = 3};

	pp_thread_list_others(&thread);
	own[2].kind = PP_SPAN_MPI;
	pp_thread_list_others(&thread);
	CHECK_INT(pp_thread_others(&thread, CALLS), 2);
	CHECK_INT(pp_thread_other(&thread, 1), 2);
	free(thread.other);
}

int main(void)
{
	without_a_list_all_are_visited();
	a_list_has_all_but_ranges();
	kinds_that_a_thread_lacks_are_not_visited();
	listing_again_follows_the_spans();
	return test_end();
}
