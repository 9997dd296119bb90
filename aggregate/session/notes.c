/* What the headers of the rings say against the capture; see notes.h. Called by close.c. */
#include "aggregate/session/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/tools/verdict.h"

void pp_notes_add(struct pp_notes *n, const char *fmt, ...)
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

static struct pp_rank *find_rank(struct pp_capture *c, int32_t rank)
{
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].rank == rank)
			return &c->rank[i];
	return NULL;
}

static void note_differences(const struct pp_capture *c, struct pp_notes *n)
{
	for (size_t i = 1; i < c->ranks; i++)
		if (strcmp(c->rank[i].version, c->rank[0].version)) {
			pp_notes_add(n, "ranks have different versions of podprof: rank %d %.40s, rank %d %.40s", c->rank[0].rank,
			             c->rank[0].version, c->rank[i].rank, c->rank[i].version);
			break;
		}
	for (size_t i = 1; i < c->ranks; i++)
		if (strcmp(c->rank[i].options, c->rank[0].options)) {
			pp_notes_add(n, "ranks have different options: rank %d '%.80s', rank %d '%.80s'", c->rank[0].rank,
			             c->rank[0].options, c->rank[i].rank, c->rank[i].options);
			break;
		}
}

static void note_several_rings(const struct pp_rings *r, struct pp_capture *c, struct pp_notes *n)
{
	for (size_t k = 0; k < c->ranks; k++) {
		int rings = 0;

		for (size_t i = 0; i < pp_rings_count(r); i++)
			rings += pp_rings_header(r, i)->rank == c->rank[k].rank && !pp_rings_is_excluded(r, i);
		if (rings > 1)
			pp_notes_add(n, "rank %d was claimed by %d processes, one after the other", c->rank[k].rank, rings);
	}
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_rings_is_excluded(r, i))
			pp_notes_add(n, "process %d is not one of the ranks: what it recorded is left out",
			             pp_rings_header(r, i)->pid);
}

/* The last ring of the rank counts: the claim passed on to it. */
static void set_status(const struct pp_rings *r, struct pp_capture *c, pp_status_of *status_of)
{
	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		struct pp_rank *rank = find_rank(c, h->rank);

		if (rank && rank->pid == h->pid && !pp_rings_is_excluded(r, i))
			snprintf(rank->status, sizeof(rank->status), "%s", status_of(h, rank));
	}
}

static void note_other_mpi(const struct pp_rings *r, struct pp_notes *n)
{
	size_t ranks = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		ranks += pp_ring_mpi_state(pp_rings_header(r, i)) >= PP_MPI_OTHER_RUNS;
	if (ranks)
		pp_notes_add(n,
		             "MPI calls of %zu rank%s are not recorded: " PP_MPI_UNSEEN ". Their time counts as that "
		             "of the ranges around them",
		             ranks, ranks == 1 ? "" : "s");
}

/* Calls of the program that could not be followed. */
static void note_program(const struct pp_rings *r, struct pp_notes *n)
{
	uint64_t strays = 0, refused = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++) {
		strays += pp_ring_api_strays(pp_rings_header(r, i));
		refused += pp_ring_api_refused(pp_rings_header(r, i));
	}
	if (strays)
		pp_notes_add(n, "%llu calls of podprof_window_stop() without a start, on all ranks", (unsigned long long)strays);
	if (refused)
		pp_notes_add(n, "%llu calls of podprof_profile_steps() were refused, on all ranks", (unsigned long long)refused);
}

void pp_notes_of_rings(const struct pp_rings *r, struct pp_capture *c, pp_status_of *status_of, struct pp_notes *n)
{
	note_differences(c, n);
	note_several_rings(r, c, n);
	note_program(r, n);
	note_other_mpi(r, n);
	set_status(r, c, status_of);
}
