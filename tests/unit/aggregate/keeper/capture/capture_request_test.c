/* The line of a request: both ways, and what is no such line. */
#include <errno.h>
#include <stdio.h>

#include "aggregate/keeper/capture/capture_request.h"
#include "aggregate/keeper/live.h"
#include "tests/test.h"

static void both_ways(const struct pp_capture_request *w)
{
	char line[PP_CAPTURE_REQUEST_LINE];
	struct pp_capture_request back;
	int n = pp_capture_request_line(w, line, sizeof(line));

	CHECK(n > 0 && line[n - 1] == '\n');
	line[n - 1] = '\0';
	CHECK_INT(pp_capture_request_parse(line, &back, NULL), 0);
	CHECK(back.kind == w->kind && back.amount == w->amount && back.level == w->level && !strcmp(back.ranks, w->ranks));
}

TEST(lines)
{
	both_ways(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_STEPS, .amount = 5});
	both_ways(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_DURATION, .amount = 2000000000, .ranks = "0,3-5"});
	both_ways(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_LAST, .amount = 1});
	both_ways(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_STEPS, .amount = 5, .level = 10 << 2 | 3, .ranks = "1"});
	both_ways(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_STATUS});
}

TEST(no_lines)
{
	static const char *const bad[] = {"",
	                                  "capture 5",
	                                  "podprof 2 capture steps=5",
	                                  "podprof 1 ",
	                                  "podprof 1 capture",
	                                  "podprof 1 capture steps=0",
	                                  "podprof 1 capture steps=-1",
	                                  "podprof 1 capture steps=5 last=3",
	                                  "podprof 1 capture steps=5 ranks=5-",
	                                  "podprof 1 capture steps=5 level=all",
	                                  "podprof 1 capture steps=5x",
	                                  "podprof 1 capture span=5",
	                                  "podprof 1 capture steps=99999999999999999999",
	                                  "podprof 1 capture steps=9000000000000000000",
	                                  "podprof 1 status 5",
	                                  "podprof 1 release"};
	struct pp_err err = {""};
	struct pp_capture_request w;
	char line[2 * PP_CAPTURE_REQUEST_LINE];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(pp_capture_request_parse(bad[i], &w, &err), -EINVAL);
		CHECK(err.text[0]);
	}
	snprintf(line, sizeof(line), "podprof 1 capture steps=5 ranks=%0*d", PP_CAPTURE_REQUEST_RANKS + 8, 1);
	CHECK_INT(pp_capture_request_parse(line, &w, NULL), -EINVAL);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "podprof 1 ", 10);
	CHECK_INT(pp_capture_request_parse(line, &w, NULL), -EINVAL);
}

TEST(texts)
{
	char text[64];

	CHECK_STR(pp_capture_request_text(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_STEPS, .amount = 5}, text,
	                                  sizeof(text)),
	          "--steps +5");
	CHECK_STR(pp_capture_request_text(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_LAST, .amount = 10000000000},
	                                  text, sizeof(text)),
	          "--last 10s");
	CHECK_STR(pp_capture_request_text(&(struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_DURATION, .amount = 1500000000},
	                                  text, sizeof(text)),
	          "--duration 1500ms");
}

TEST(list_of_ranks)
{
	struct pp_live_rank r = {.rank = 3,
	                         .size = 8,
	                         .pid = 77,
	                         .host = "a host\n",
	                         .state = PP_LIVE_RUNNING,
	                         .marks = 1,
	                         .step = INT64_MIN,
	                         .step_ns = 5,
	                         .call = "MPI_Allreduce",
	                         .comm = 0xfedcba9876543210,
	                         .sequence = 9,
	                         .peer = -1};
	struct pp_live_rank back;
	char line[512];

	CHECK(pp_live_put(&r, line, sizeof(line)) > 0);
	CHECK_INT(pp_live_get(line, &back), 0);
	CHECK(back.rank == 3 && back.step == INT64_MIN && back.comm == r.comm && back.peer == -1);
	CHECK_STR(back.host, "a_host_");
	CHECK_STR(back.call, r.call);
	r.call[0] = '\0';
	pp_live_put(&r, line, sizeof(line));
	CHECK_INT(pp_live_get(line, &back), 0);
	CHECK_STR(back.call, "");
	CHECK_INT(pp_live_get("rank 1 2 3", &back), -EINVAL);
	CHECK_INT(pp_live_get("done", &back), -EINVAL);
}

int main(void)
{
	lines();
	no_lines();
	texts();
	list_of_ranks();
	return test_end();
}
