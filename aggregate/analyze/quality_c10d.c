/* What /quality says about a framework: its collectives that are not whole here, and what its shim remarks. Called by quality.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/analyze/join.h"
#include "core/ring/intern.h"
#include "core/ring/utf8.h"

void pp_quality_warn_c10d(struct pp_dataset *d)
{
	const struct pp_c10d_count *n = &d->c10d;

	if (n->mute)
		pp_dataset_warn(d,
		                "%" PRIu64 " of %" PRIu64
		                " calls of torch.distributed are joined with no other rank: PyTorch's flight recorder is off "
		                "(TORCH_FR_BUFFER_SIZE), or this PyTorch has none for this backend",
		                n->mute, n->calls);
	if (n->untold > n->mute)
		pp_dataset_warn(
		        d,
		        "%" PRIu64 " of %" PRIu64
		        " calls of torch.distributed are joined with no other rank: PyTorch's flight recorder no longer had "
		        "them, or the date was set",
		        n->untold - n->mute, n->calls);
	if (n->unended)
		pp_dataset_warn(d, "%" PRIu64 " of %" PRIu64 " calls of torch.distributed were not seen to end", n->unended,
		                n->calls);
	if (n->enqueued)
		pp_dataset_warn(d,
		                "%" PRIu64 " of %" PRIu64 " calls of torch.distributed end on a device: only when they were "
		                "enqueued is known",
		                n->enqueued, n->calls);
	if (n->rootless)
		pp_dataset_warn(
		        d,
		        "%" PRIu64
		        " calls of torch.distributed have a root that PyTorch does not tell: nobody is said to wait in them",
		        n->rootless);
}

static int is_recorded(const struct pp_dataset *d, int32_t rank)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].rank == rank)
			return !pp_worker_is_missing(&d->worker[w]);
	return 0;
}

/* Of communicators whose members are not all recorded the largest. */
void pp_quality_warn_groups(struct pp_dataset *d)
{
	const struct pp_communicator *worst = NULL;
	uint32_t missing = 0, others = 0;

	for (size_t i = 0; i < d->communicators; i++) {
		const struct pp_communicator *c = &d->communicator[i];
		uint32_t absent = 0;

		for (uint32_t m = 0; c->member && m < c->size; m++)
			absent += !is_recorded(d, c->member[m]);
		if (!absent)
			continue;
		others += worst != NULL;
		if (!worst || c->size > worst->size) {
			worst = c;
			missing = absent;
		}
	}
	if (worst) {
		const char *name = pp_intern_text(d->names, worst->name, NULL);

		pp_dataset_warn(d,
		                "%" PRIu32 " of %" PRIu32
		                " ranks of the group '%.*s' are not recorded%s: who waited there is known of the others only",
		                missing, worst->size, pp_utf8_fit(name, 60), name, others ? ", nor all of other groups" : "");
	}
}

static int has_remark(const struct pp_worker *w, const char *text)
{
	for (uint32_t i = 0; i < PP_REMARKS && i < w->remarks; i++)
		if (!strcmp(w->remark[i], text))
			return 1;
	return 0;
}

/* "rank 3", "ranks 0-3,8"; cut with dots where there is no room. */
static void list_ranks(const struct pp_dataset *d, const char *text, char *to, size_t size)
{
	size_t used = 0, many = 0;

	for (size_t w = 0; w < d->workers; w++)
		many += (size_t)has_remark(&d->worker[w], text);
	used = (size_t)snprintf(to, size, many > 1 ? "ranks" : "rank");
	for (size_t w = 0, end; w < d->workers; w = end + 1) {
		end = w;
		if (!has_remark(&d->worker[w], text))
			continue;
		while (end + 1 < d->workers && has_remark(&d->worker[end + 1], text))
			end++;
		if (used + 32 > size) {
			snprintf(to + used, size - used, ",...");
			return;
		}
		used += (size_t)snprintf(to + used, size - used, "%s%d", used > 5 ? "," : " ", (int)d->worker[w].rank);
		if (end > w)
			used += (size_t)snprintf(to + used, size - used, "-%d", (int)d->worker[end].rank);
	}
}

void pp_quality_warn_remarks(struct pp_dataset *d)
{
	uint64_t more = 0;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_worker *one = &d->worker[w];

		more += one->remarks > PP_REMARKS ? one->remarks - PP_REMARKS : 0;
		for (uint32_t i = 0; i < PP_REMARKS && i < one->remarks; i++) {
			size_t before = 0;
			char ranks[80];

			while (before < w && !has_remark(&d->worker[before], one->remark[i]))
				before++;
			if (before < w)
				continue;
			list_ranks(d, one->remark[i], ranks, sizeof(ranks));
			pp_dataset_warn(d, "%s: %s", ranks, one->remark[i]);
		}
	}
	if (more)
		pp_dataset_warn(d, "%" PRIu64 " more remarks of ranks were not kept", more);
}
