/* Fills /quality: time by the default rule, absent sources, losses, clocks, steps. Called by build.c, last. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/clock_text.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/order.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "core/ring/utf8.h"

static void warn_c10d(struct pp_dataset *d)
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

/* Names the largest communicator whose members are not all recorded. */
static void warn_groups(struct pp_dataset *d)
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

/* Adds the sentences of ranks about themselves, each once, with its ranks. */
static void warn_remarks(struct pp_dataset *d)
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

static int is_name(const struct pp_join *j, uint32_t id, const char *name)
{
	size_t length = 0;
	const char *text = pp_intern_text(j->in->capture->names, id, &length);

	return text && length == strlen(name) && memcmp(text, name, length) == 0;
}

/* Number of ranks that put a mark of this name. */
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

/* Sum of a counter of libpodprof-mpi.so; few spans are counters, and few of those are its. */
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

static void count_mpi(struct pp_join *j)
{
	for (size_t r = 0; r < j->in->capture->ranks; r++)
		pp_c10d_add(&j->d->c10d, &j->in->capture->rank[r].c10d);
	j->d->spawned = counted(j, "MPI processes spawned");
	j->d->untied = counted(j, "MPI requests not tied");
	j->d->paused = ranks_that(j, "MPI_Pcontrol(0)");
	j->d->parented = (uint64_t)has_parent(j);
}

/* Every rank that has one counts it. */
static size_t unknown_communicators(const struct pp_dataset *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->communicators; i++)
		n += d->communicator[i].kind == PP_COMM_UNKNOWN;
	return n;
}

static void warn_mpi(struct pp_dataset *d)
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

static int merge_defaults(struct pp_join *j)
{
	struct pp_dataset *d = j->d;
	uint32_t names = pp_intern_count(d->names);
	int64_t *ns = calloc((size_t)names + 1, sizeof(*ns));
	size_t n = 0;

	if (!ns)
		return -ENOMEM;
	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		for (size_t i = 0; i < j->in->attr[r].defaults; i++) {
			const struct pp_attr_default *one = &j->in->attr[r].by_default[i];

			if (one->name < names) {
				n += !ns[one->name];
				ns[one->name] += one->ns;
			}
		}
	}
	d->by_default = calloc(n + 1, sizeof(*d->by_default));
	for (uint32_t i = 0; i < names && d->by_default; i++)
		if (ns[i])
			d->by_default[d->defaults++] = (struct pp_attr_default){i, ns[i]};
	free(ns);
	if (!d->by_default)
		return -ENOMEM;
	pp_defaults_sort(d);
	return 0;
}

static void warn_losses(struct pp_dataset *d)
{
	static const char *const why[PP_LOSSES] = {
#define PP_LOSS(symbol, column, what) [PP_LOSS_##symbol] = (what),
#include "core/ring/loss.def"
#undef PP_LOSS
	};

	for (int i = 0; i < PP_LOSSES; i++) {
		uint64_t lost = 0;
		size_t ranks = 0;

		for (size_t w = 0; w < d->workers; w++) {
			lost += d->worker[w].lost[i];
			ranks += d->worker[w].lost[i] > 0;
		}
		if (lost)
			pp_dataset_warn(d, "%" PRIu64 " records of %zu ranks are missing: %s", lost, ranks, why[i]);
	}
}

static void warn_ranks(struct pp_dataset *d)
{
	size_t shown = 0, missing = 0, differ = 0;
	const struct pp_worker *first = NULL;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_worker *one = &d->worker[w];

		if (pp_worker_is_missing(one)) {
			missing++;
			continue;
		}
		if (strcmp(one->status, "delivered") != 0 && shown++ < 8)
			pp_dataset_warn(d, "rank %d: %s", (int)one->rank, one->status);
		if (!first)
			first = one;
		differ += strcmp(one->options, first->options) != 0 || strcmp(one->version, first->version) != 0;
	}
	if (shown > 8)
		pp_dataset_warn(d, "%zu more ranks are not whole: /worker status", shown - 8);
	if (missing)
		pp_dataset_warn(d, "%zu of %zu ranks are missing: waiting and lateness are of the others only", missing,
		                d->workers);
	if (differ)
		pp_dataset_warn(d, "%zu ranks have another podprof version or other options than rank %d", differ,
		                (int)first->rank);
}

/* "ranks 0-3,8", as far as there is room. */
static void list_domain(const struct pp_dataset *d, int32_t domain, char *text, size_t size)
{
	const char *before = text[0] ? "; ranks " : "ranks ";

	for (size_t w = 0, end; w < d->workers; w = end + 1) {
		size_t length = strlen(text);

		end = w;
		if (d->worker[w].domain != domain)
			continue;
		while (end + 1 < d->workers && d->worker[end + 1].domain == domain)
			end++;
		if (length + 40 > size) {
			snprintf(text + length, size - length, "%s", strcmp(text + length - 3, "...") != 0 ? "..." : "");
			return;
		}
		length += (size_t)snprintf(text + length, size - length, "%s%d", before, (int)d->worker[w].rank);
		if (end > w)
			snprintf(text + length, size - length, "-%d", (int)d->worker[end].rank);
		before = ",";
	}
}

static void warn_domains(struct pp_dataset *d)
{
	int32_t domains = pp_dataset_domains(d);
	char list[110] = "";

	for (int32_t i = 0; i < domains && domains > 1; i++)
		list_domain(d, i, list, sizeof(list));
	if (domains > 1)
		pp_dataset_warn(d,
		                "%d clock domains, not joined (%s): nobody is said to wait for a rank of another one; times "
		                "between them are as wrong as the hosts' dates",
		                (int)domains, list);
}

/* One sentence per reason, by the first rank that has it. */
static void warn_memory(struct pp_dataset *d)
{
	for (size_t r = 0; r < d->workers; r++) {
		const char *note = d->worker[r].memory_note;
		size_t same = 0, before = 0;

		for (size_t i = 0; i < d->workers && note[0] && !before; i++) {
			int equal = !strcmp(d->worker[i].memory_note, note);

			before += equal && i < r;
			same += (size_t)equal;
		}
		if (note[0] && !before)
			pp_dataset_warn(d, "rank %d%s: %s", (int)d->worker[r].rank, same > 1 ? " and others" : "", note);
	}
}

static void warn_default(struct pp_dataset *d)
{
	int64_t all = 0, by_default = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++)
		all += d->cell[i].step_ns;
	for (size_t i = 0; i < d->defaults; i++)
		by_default += d->by_default[i].ns;
	if (all > 0 && by_default > 0) {
		const char *name = pp_intern_text(d->names, d->by_default[0].name, NULL);

		pp_dataset_warn(d, "%.1f %% of step time is Host compute only by the default rule, most of it in '%.*s'",
		                100.0 * (double)by_default / (double)all, pp_utf8_fit(name, 100), name);
	}
}

static void warn_absent(struct pp_dataset *d)
{
	pp_dataset_warn(d, "/kernel is absent: no device source in this session");
	if (!d->ops && pp_dataset_ops_cut(d))
		pp_dataset_warn(d, "/op is absent: no range is whole, %" PRIu64 " were not seen to begin or to end in the window",
		                pp_dataset_ops_cut(d));
	else if (!d->ops)
		pp_dataset_warn(d, "/op is absent: no range and no MPI call began in the window's steps");
	if (d->op_left_outs && d->op_left_out->rest)
		pp_dataset_warn(d, "%" PRIu64 " names of operators are left out of /op: a worker has at most %d rows",
		                d->op_left_out->rest, PP_OPS_MOST);
	if (!d->memories)
		pp_dataset_warn(d, "/memory is absent: no process was looked at while it recorded");
	if (!d->collectives)
		pp_dataset_warn(d, "/collective is absent: no collective call was recorded");
	if (!d->channels)
		pp_dataset_warn(d, "/channel is absent: no point-to-point call was recorded");
}

void pp_dataset_quality(struct pp_dataset *d)
{
	struct pp_warning *said = d->warning;
	size_t n = d->warnings;

	/* Missing ranks come first. */
	d->warning = NULL;
	d->warnings = 0;
	warn_losses(d);
	warn_ranks(d);
	warn_groups(d);
	warn_domains(d);
	pp_quality_warn_clocks(d);
	warn_mpi(d);
	warn_c10d(d);
	for (size_t i = 0; i < n; i++)
		pp_dataset_warn(d, "%s", said[i].text);
	free(said);
	warn_remarks(d);
	warn_memory(d);
	if (d->violations)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " collectives ended on a rank before the last rank came: the clock or the record is wrong there",
		                d->violations);
	if (d->unsplit)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " calls of collectives got data from some ranks only, and their records do not say from which: "
		                "they count neither as wait nor as transfer",
		                d->unsplit);
	if (d->doubled)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " collectives hold two calls of one rank: two communicators were taken for one. Their time "
		                "counts neither as wait nor as transfer",
		                d->doubled);
	if (d->mixed)
		pp_dataset_warn(d,
		                "%" PRIu64
		                " collectives hold calls of different names: ranks made their calls in different orders, or two "
		                "communicators were taken for one. Their time counts neither as wait nor as transfer",
		                d->mixed);
	if (d->crossed)
		pp_dataset_warn(d, "%" PRIu64 " ranges of one thread overlap without nesting: the one begun last has the time",
		                d->crossed);
	warn_default(d);
	warn_absent(d);
}

/* Those counters are not in the trace: JSON, to which readers convert it, cannot hold such numbers. */
static void warn_counters(struct pp_join *j)
{
	const struct pp_capture *c = j->in->capture;
	const char *first = NULL;
	uint64_t bad = 0;
	int32_t rank = 0;

	for (size_t r = 0; r < c->ranks; r++) {
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			const struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t i = 0; pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)) && i < thread->spans; i++) {
				if (thread->span[i].kind != PP_SPAN_COUNTER || isfinite(thread->span[i].value))
					continue;
				if (!bad++) {
					first = pp_intern_text(c->names, thread->span[i].name, NULL);
					rank = c->rank[r].rank;
				}
			}
		}
	}
	if (bad)
		pp_dataset_warn(j->d,
		                "%" PRIu64
		                " values of counters are NaN or infinite, the first in '%.*s' of rank %d: the trace leaves "
		                "them out",
		                bad, pp_utf8_fit(first, 100), first, (int)rank);
}

int pp_join_quality(struct pp_join *j)
{
	struct pp_dataset *d = j->d;

	if (merge_defaults(j) < 0)
		return -ENOMEM;
	count_mpi(j);
	warn_counters(j);
	if (j->in->steps->note[0])
		pp_dataset_warn(d, "%s", j->in->steps->note);
	if (!j->in->partial)
		pp_dataset_quality(d);
	return 0;
}
