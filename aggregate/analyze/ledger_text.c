/* Warnings about the ledger; see ledger_text.h. Called by quality.c. */
#include "aggregate/analyze/ledger_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/dataset/communicator_text.h"
#include "core/call/mpi_call.h"

enum { LONE_PERCENT = 1 }; /* messages at the window's edges have one end only, and are few */

/* "MPI_Allreduce 17 on communicator of ranks 0-7 (step 12; rank 3 makes another call)" */
static void name_one(const struct pp_dataset *d, const struct pp_row_collective *c, char *to, size_t size)
{
	char step[40] = "", rank[48] = "", where[PP_COMMUNICATOR_TEXT];

	if (c->step != INT64_MIN)
		snprintf(step, sizeof(step), "step %" PRId64, c->step);
	for (uint32_t i = 0; i < c->row_count && !rank[0] && c->mismatch == PP_MISMATCH_CALL; i++)
		if (d->arrival[c->row_first + i].needs == PP_ROW_OTHER_CALL)
			snprintf(rank, sizeof(rank), "rank %d makes another call", (int)d->arrival[c->row_first + i].worker);
	snprintf(to, size, "%s %" PRIu32 " on %s%s%s%s%s%s", pp_mpi_call_info(c->operation)->name, c->sequence,
	         pp_communicator_text(d, c->communicator, where), step[0] || rank[0] ? " (" : "", step,
	         step[0] && rank[0] ? "; " : "", rank, step[0] || rank[0] ? ")" : "");
}

/* How many collectives differ in this way, and the name of the first. */
static uint64_t find_mismatch(const struct pp_dataset *d, enum pp_row_mismatch mismatch, char *to, size_t size)
{
	uint64_t n = 0;

	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];

		if (c->message || c->mismatch != (int8_t)mismatch)
			continue;
		if (!n++)
			name_one(d, c, to, size);
	}
	return n;
}

static void warn_mismatches(struct pp_dataset *d)
{
	char first[160] = "";
	uint64_t n;

	find_mismatch(d, PP_MISMATCH_TWICE, first, sizeof(first));
	if (d->doubled)
		pp_dataset_warn(d,
		                "%" PRIu64 " collectives have two calls of one rank: podprof took two "
		                "communicators for one. Their time is not split into wait and transfer%s%s",
		                d->doubled, first[0] ? ". The first: " : "", first);
	first[0] = '\0';
	find_mismatch(d, PP_MISMATCH_CALL, first, sizeof(first));
	if (d->mixed)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " collectives have calls of different names: ranks called in different orders, or podprof "
		                "took two communicators for one. Their time is not split into wait and transfer%s%s",
		                d->mixed, first[0] ? ". The first: " : "", first);
	n = find_mismatch(d, PP_MISMATCH_BYTES, first, sizeof(first));
	if (n)
		pp_dataset_warn(d,
		                "%" PRIu64 " collectives have ranks with different numbers of bytes, which MPI does not allow. The "
		                "first: %s",
		                n, first);
}

static void warn_messages(struct pp_dataset *d)
{
	uint64_t messages = 0, other_bytes = 0;

	for (size_t i = 0; i < d->collectives; i++) {
		messages += d->collective[i].message != 0;
		other_bytes += d->collective[i].message && d->collective[i].mismatch == PP_MISMATCH_BYTES;
	}
	if (other_bytes)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " messages have other bytes at the receiver than at the sender: podprof took two messages for "
		                "one. Their time is not split into wait and transfer",
		                other_bytes);
	if ((d->messages_lone + d->messages_uncertain) * 100 > messages * LONE_PERCENT &&
	    d->messages_lone + d->messages_uncertain > 0)
		pp_dataset_warn(d,
		                "of %" PRIu64 " messages one end is not recorded, and %" PRIu64
		                " sends and receives do not tell for certain which message they are: their time is not split into "
		                "wait and transfer",
		                d->messages_lone, d->messages_uncertain);
}

void pp_quality_warn_ledger(struct pp_dataset *d)
{
	if (d->violations)
		pp_dataset_warn(
		        d,
		        "%" PRIu64
		        " collectives or messages ended on a rank before the last rank arrived: the clock or the record is wrong",
		        d->violations);
	if (d->unsplit)
		pp_dataset_warn(
		        d,
		        "%" PRIu64
		        " collective calls got data from unknown ranks only: their time is not split into wait and transfer",
		        d->unsplit);
	warn_mismatches(d);
	warn_messages(d);
	if (d->lone_calls_left_out)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " probes, polls and one-sided calls are not in /lone_call: a rank has more of them than it takes",
		                d->lone_calls_left_out);
}
