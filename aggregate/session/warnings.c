/* Warnings from the rings' headers about the capture; see notes.h. Called by close.c. */
#include "aggregate/session/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/status.h"
#include "core/base/libc.h"
#include "core/capture/capture.h"

void pp_warnings_add(struct pp_warnings *n, const char *fmt, ...)
{
	va_list args;

	if (n->count == PP_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(n->text[n->count], sizeof(n->text[0]), fmt, args);
	va_end(args);
	n->list[n->count] = n->text[n->count];
	n->count++;
}

static void warn_of_differences(const struct pp_capture *c, struct pp_warnings *n)
{
	for (size_t i = 1; i < c->ranks; i++)
		if (strcmp(c->rank[i].version, c->rank[0].version)) {
			pp_warnings_add(n, "ranks have different versions of podprof: rank %d %.40s, rank %d %.40s",
			                c->rank[0].rank, c->rank[0].version, c->rank[i].rank, c->rank[i].version);
			break;
		}
	for (size_t i = 1; i < c->ranks; i++)
		if (strcmp(c->rank[i].options, c->rank[0].options)) {
			pp_warnings_add(n, "ranks have different options: rank %d '%.80s', rank %d '%.80s'", c->rank[0].rank,
			                c->rank[0].options, c->rank[i].rank, c->rank[i].options);
			break;
		}
}

static void warn_of_several_rings(const struct pp_rings *r, struct pp_capture *c, struct pp_warnings *n)
{
	for (size_t k = 0; k < c->ranks; k++) {
		int rings = 0;

		for (size_t i = 0; i < pp_rings_count(r); i++)
			rings += pp_rings_header(r, i)->rank == c->rank[k].rank && !pp_rings_is_excluded(r, i);
		if (rings > 1)
			pp_warnings_add(n, "%d processes were rank %d, one after the other", rings, c->rank[k].rank);
	}
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_rings_is_excluded(r, i))
			pp_warnings_add(n, "process %d is not a rank: its records are dropped", pp_rings_header(r, i)->pid);
}

static void warn_of_other_mpi(const struct pp_rings *r, struct pp_warnings *n)
{
	size_t ranks = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		ranks += pp_ring_mpi_state(pp_rings_header(r, i)) >= PP_MPI_OTHER_RUNS;
	if (ranks)
		pp_warnings_add(n,
		                "MPI calls of %zu rank%s are not recorded: " PP_STATUS_MPI_UNSEEN
		                ". Their time counts for the ranges around them",
		                ranks, ranks == 1 ? "" : "s");
}

/* API calls without effect. */
static void warn_of_program(const struct pp_rings *r, struct pp_warnings *n)
{
	uint64_t strays = 0, refused = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++) {
		strays += pp_ring_api_strays(pp_rings_header(r, i));
		refused += pp_ring_api_refused(pp_rings_header(r, i));
	}
	if (strays)
		pp_warnings_add(n, "%llu calls of podprof_window_stop() had no podprof_window_start() before them",
		                (unsigned long long)strays);
	if (refused)
		pp_warnings_add(n, "%llu calls of podprof_profile_steps() were refused", (unsigned long long)refused);
}

static void warn_of_exits(const struct pp_rings *r, struct pp_warnings *n)
{
	const struct pp_ring_header *first = NULL;
	size_t ranks = 0;

	for (size_t i = pp_rings_count(r); i-- > 0;) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		int status = pp_ring_state(h) == PP_RANK_ENDING ? pp_ring_exit_status(h) : 0;

		if (!status || status == PP_EXIT_STATUS_UNKNOWN || pp_rings_is_excluded(r, i))
			continue;
		first = h;
		ranks++;
	}
	if (ranks > 1)
		pp_warnings_add(n, "%zu ranks exited with a status other than 0: rank %d with status %d", ranks, first->rank,
		                pp_ring_exit_status(first));
	else if (ranks)
		pp_warnings_add(n, "rank %d exited with status %d", first->rank, pp_ring_exit_status(first));
}

void pp_warnings_of_rings(const struct pp_rings *r, struct pp_capture *c, struct pp_warnings *n)
{
	warn_of_differences(c, n);
	warn_of_several_rings(r, c, n);
	warn_of_program(r, n);
	warn_of_other_mpi(r, n);
	warn_of_exits(r, n);
}
