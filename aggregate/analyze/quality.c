/* What /quality says: time by the default rule, absent sources, losses, clocks, steps. Called by build.c, last. */
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
#include "core/ring/utf8.h"

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

/* One sentence for each reason, by the first rank that has it. */
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
	if (!d->ops && d->ops_cut)
		pp_dataset_warn(d, "/op is absent: no range is whole, %" PRIu64 " were not seen to begin or to end in the window",
		                d->ops_cut);
	else if (!d->ops)
		pp_dataset_warn(d, "/op is absent: no range and no MPI call began in the window's steps");
	if (d->ops_rest)
		pp_dataset_warn(d, "%" PRIu64 " names of operators are left out of /op: a worker has at most %d rows", d->ops_rest,
		                PP_OPS_MOST);
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

	/* What is missing comes first. */
	d->warning = NULL;
	d->warnings = 0;
	warn_losses(d);
	warn_ranks(d);
	pp_quality_warn_groups(d);
	warn_domains(d);
	pp_quality_warn_clocks(d);
	pp_quality_warn_mpi(d);
	pp_quality_warn_c10d(d);
	for (size_t i = 0; i < n; i++)
		pp_dataset_warn(d, "%s", said[i].text);
	free(said);
	pp_quality_warn_remarks(d);
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

/* They are not in the trace: JSON, which readers make of it, has no such numbers. */
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
	pp_quality_count_mpi(j);
	warn_counters(j);
	if (j->in->steps->note[0])
		pp_dataset_warn(d, "%s", j->in->steps->note);
	if (!j->in->partial)
		pp_dataset_quality(d);
	return 0;
}
