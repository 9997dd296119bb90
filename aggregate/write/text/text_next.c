/* Writes the line of summary.txt that says what to do next: one per verdict, with the section that explains it. Called by
 * text.c. */
#include <inttypes.h>

#include "aggregate/write/text/text.h"

#define READ "docs/reading-a-report.md#"

/* One rank delays the others: what to compare with theirs. */
static void after_rank(int32_t rank, int category, FILE *to)
{
	switch (category) {
	case PP_CATEGORY_INPUT:
		fprintf(to, "compare rank %" PRId32 "'s files, shard and workers with the others'; " READ "input\n", rank);
		break;
	case PP_CATEGORY_OUTPUT:
		fprintf(to, "compare what rank %" PRId32 " writes, and where to, with the others; " READ "step-time\n", rank);
		break;
	case PP_CATEGORY_OTHER:
		fprintf(to,
		        "mark what rank %" PRId32 " does there: podprof.h, NVTX, podprof.range(). Record again; " READ
		        "step-time\n",
		        rank);
		break;
	default:
		fprintf(to,
		        "pin rank %" PRId32 " in report.html; its ranges in the trace say what it does longer; " READ
		        "pod-viewer\n",
		        rank);
	}
}

/* No rank delays the others: what is worth shortening, or naming. */
static void after_largest(int category, FILE *to)
{
	switch (category) {
	case PP_CATEGORY_INPUT:
		fputs("the input pipeline is slower than the step: read ahead, or with more workers; " READ "input\n", to);
		break;
	case PP_CATEGORY_OUTPUT:
		fputs("write less often, or beside the step; " READ "step-time\n", to);
		break;
	case PP_CATEGORY_HOST_COMMUNICATION:
		fputs("see which operations and channels of report.html move most; " READ "who-waited-for-whom\n", to);
		break;
	case PP_CATEGORY_OTHER:
		fputs("mark what the ranks do there: podprof.h, NVTX, podprof.range(). Record again; " READ "step-time\n", to);
		break;
	default:
		fputs("look at the longest ranges of one step in the trace; " READ "step-time\n", to);
	}
}

void pp_text_next(const struct pp_verdict_what *what, FILE *to)
{
	fputs("  Next      ", to);
	switch (what->kind) {
	case PP_VERDICT_RANK:
		after_rank(what->rank, what->category, to);
		break;
	case PP_VERDICT_LARGEST:
		after_largest(what->category, to);
		break;
	case PP_VERDICT_STARTUP:
		fputs("record a longer run, or mark its steps by podprof.h, NVTX, podprof.step(); " READ "verdict\n", to);
		break;
	case PP_VERDICT_WAITING:
		fputs("see which rank comes last, operation by operation, in report.html; " READ "who-waited-for-whom\n", to);
		break;
	case PP_VERDICT_TIE:
		fputs("see how well the hosts' clocks compare: 'podprof doctor --clock' under mpirun; " READ "clock\n", to);
		break;
	case PP_VERDICT_UNEXPLAINED:
		fprintf(to,
		        "compare rank %" PRId32 " with the others in the trace, just before they wait; " READ
		        "who-waited-for-whom\n",
		        what->rank);
		break;
	case PP_VERDICT_SHARED:
		fprintf(to, "see which cores rank %" PRId32 " may use: 'mpirun --report-bindings'; " READ "who-waited-for-whom\n",
		        what->rank);
		break;
	case PP_VERDICT_CHAIN:
		fprintf(to, "look at rank %" PRId32 " first: rank %" PRId32 " waited for it; " READ "who-waited-for-whom\n",
		        what->behind, what->rank);
		break;
	case PP_VERDICT_UNSPLIT:
		fputs("see which calls take longest, and between which ranks, in report.html; " READ "who-waited-for-whom\n", to);
		break;
	case PP_VERDICT_UNSEEN:
		fputs("run it with Open MPI 4 or 5, or mark communication by podprof_range_push_as(); " READ "verdict\n", to);
		break;
	default:
		fputs("see the status of the ranks, and if the steps asked for were reached; " READ "quality\n", to);
	}
}
