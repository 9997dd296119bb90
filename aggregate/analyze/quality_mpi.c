/* What /quality says about MPI: worlds beside this one, requests that found no room. Called by quality.c. */
#include <inttypes.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/order.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

static int is_name(const struct pp_join *j, uint32_t id, const char *name)
{
	size_t length = 0;
	const char *text = pp_intern_text(j->in->capture->names, id, &length);

	return text && length == strlen(name) && memcmp(text, name, length) == 0;
}

/* Ranks that said a mark of this name. */
static size_t ranks_that(const struct pp_join *j, const char *name)
{
	size_t ranks = 0;

	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		int found = 0;

		for (size_t t = 0; t < j->in->capture->rank[r].threads && !found; t++) {
			const struct pp_thread *thread = &j->in->capture->rank[r].thread[t];

			if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MARK)))
				continue;
			for (size_t i = 0; i < thread->spans && !found; i++)
				found = thread->span[i].kind == PP_SPAN_MARK && thread->span[i].source == PP_SOURCE_MPI &&
				        is_name(j, thread->span[i].name, name);
		}
		ranks += (size_t)found;
	}
	return ranks;
}

/* The sum of a counter that libpodprof-mpi.so put; few spans are counters, and of those few are its. */
static uint64_t counted(const struct pp_join *j, const char *name)
{
	uint64_t sum = 0;

	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		for (size_t t = 0; t < j->in->capture->rank[r].threads; t++) {
			const struct pp_thread *thread = &j->in->capture->rank[r].thread[t];

			if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)))
				continue;
			for (size_t i = 0; i < thread->spans; i++)
				if (thread->span[i].kind == PP_SPAN_COUNTER && is_name(j, thread->span[i].name, name))
					sum += (uint64_t)thread->span[i].value;
		}
	}
	return sum;
}

static int has_parent(const struct pp_join *j)
{
	for (size_t r = 0; r < j->in->capture->ranks; r++)
		for (size_t c = 0; c < j->in->capture->rank[r].comms; c++)
			if (is_name(j, j->in->capture->rank[r].comm[c].name, "MPI_COMM_PARENT"))
				return 1;
	return 0;
}

void pp_quality_count_mpi(struct pp_join *j)
{
	for (size_t r = 0; r < j->in->capture->ranks; r++)
		pp_c10d_add(&j->d->c10d, &j->in->capture->rank[r].c10d);
	j->d->spawned = counted(j, "MPI processes spawned");
	j->d->untied = counted(j, "MPI requests not tied");
	j->d->paused = ranks_that(j, "MPI_Pcontrol(0)");
	j->d->parented = (uint64_t)has_parent(j);
}

/* Each rank that has one counts it. */
static size_t unknown_communicators(const struct pp_dataset *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->communicators; i++)
		n += d->communicator[i].kind == PP_COMM_UNKNOWN;
	return n;
}

void pp_quality_warn_mpi(struct pp_dataset *d)
{
	size_t unknown = unknown_communicators(d);

	if (unknown)
		pp_dataset_warn(
		        d,
		        "%zu communicators (of all ranks) were made by calls that podprof does not see: who waits for whom on "
		        "them is not known",
		        unknown);
	if (d->spawned)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " processes were spawned by MPI_Comm_spawn: another MPI_COMM_WORLD, in no row of this session. "
		                "Spawn 'podprof run -- PROGRAM' for a session of their own",
		                d->spawned);
	if (d->parented)
		pp_dataset_warn(d, "this MPI_COMM_WORLD was spawned by another one, which is in no row of this session");
	if (d->paused)
		pp_dataset_warn(
		        d, "MPI_Pcontrol(0) stopped recording on %" PRIu64 " ranks for a while: what they did then is in no row",
		        d->paused);
	if (d->untied)
		pp_dataset_warn(d, "%" PRIu64 " nonblocking operations are not tied to their end: too many were under way at once",
		                d->untied);
}
