/* Fills /quality: time by the default rule, absent sources, losses, clocks, steps. Called by build.c, last. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/clock_text.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/ledger_text.h"
#include "aggregate/dataset/order.h"
#include "aggregate/dataset/status.h"
#include "core/base/known.h"
#include "core/base/rank_list.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

static void warn_c10d(struct pp_dataset *d)
{
	const struct pp_c10d_count *n = &d->c10d;

	if (n->recorder_off)
		pp_dataset_warn(d,
		                "%" PRIu64 " of %" PRIu64
		                " torch.distributed calls could not be matched with other ranks: PyTorch's flight "
		                "recorder is off (TORCH_FR_BUFFER_SIZE) or does not support this backend",
		                n->recorder_off, n->calls);
	if (n->unannotated > n->recorder_off)
		pp_dataset_warn(d,
		                "%" PRIu64 " of %" PRIu64
		                " torch.distributed calls could not be matched with other ranks: PyTorch's "
		                "flight recorder had dropped them, or the wall clock was set",
		                n->unannotated - n->recorder_off, n->calls);
	if (n->unended)
		pp_dataset_warn(d, "the end of %" PRIu64 " of %" PRIu64 " torch.distributed calls was not recorded", n->unended,
		                n->calls);
	if (n->enqueued)
		pp_dataset_warn(d,
		                "%" PRIu64 " of %" PRIu64
		                " torch.distributed calls run on a device: only the time of their enqueueing is known",
		                n->enqueued, n->calls);
	if (n->rootless)
		pp_dataset_warn(d,
		                "PyTorch does not report the root of %" PRIu64
		                " torch.distributed calls: their time is not split into wait and transfer",
		                n->rootless);
}

static int is_recorded(const struct pp_dataset *d, int32_t rank)
{
	size_t w = pp_dataset_worker(d, rank);

	return w != SIZE_MAX && !pp_worker_is_missing(&d->worker[w]);
}

/* Names the largest communicator whose members are not all recorded. */
static void warn_groups(struct pp_dataset *d)
{
	const struct pp_row_communicator *worst = NULL;
	uint32_t missing = 0, others = 0;

	for (size_t i = 0; i < d->communicators; i++) {
		const struct pp_row_communicator *c = &d->communicator[i];
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
		                " ranks of the group '%.*s' are not recorded%s: its waiting covers the other ranks only",
		                missing, worst->size, pp_utf8_fit(name, 60), name, others ? " (other groups lack ranks too)" : "");
	}
}

struct reason { /* what a rank says of itself: one of its remarks, or the text there in its row */
	const char *text;
	size_t offset; /* 0: its remarks */
};

static size_t digits_of(const char *text)
{
	return strspn(text, "0123456789");
}

/* Do two texts say the same, whatever their numbers are? */
static int is_alike(const char *a, const char *b)
{
	while (*a && *b) {
		const size_t x = digits_of(a), y = digits_of(b);

		if (!x != !y || (!x && *a != *b))
			return 0;
		a += x ? x : 1;
		b += x ? y : 1;
	}
	return *a == *b;
}

/* NULL: the rank says nothing alike. */
static const char *alike_of(const struct pp_row_worker *w, const struct reason *r)
{
	const char *text = (const char *)w + r->offset;

	if (r->offset)
		return is_alike(text, r->text) ? text : NULL;
	for (uint32_t i = 0; i < PP_REMARKS && i < w->remarks; i++)
		if (is_alike(w->remark[i], r->text))
			return w->remark[i];
	return NULL;
}

static int has_reason(const struct pp_row_worker *w, const void *reason)
{
	return alike_of(w, reason) != NULL;
}

/* One sentence for all ranks that say the same, by the first of them, `rank`. Where what they count at its begin differs, it is
 * added up; of other numbers that differ those of the first rank are shown. */
static void warn_alike(struct pp_dataset *d, size_t rank, const char *text, struct reason *reason)
{
	const size_t digits = digits_of(text);
	size_t numbers = 0, others = 0;
	uint64_t sum = 0;
	char ranks[96], number[24] = "", whose[48] = "";

	reason->text = text;
	for (size_t w = 0; w < d->workers && text[0]; w++) {
		const char *other = alike_of(&d->worker[w], reason);

		if (!other)
			continue;
		if (w < rank)
			return;
		sum += strtoull(other, NULL, 10);
		numbers += strncmp(other, text, digits + 1) != 0;
		others += strcmp(other + digits_of(other), text + digits) != 0;
	}
	if (!text[0])
		return;
	pp_dataset_list_ranks(d, has_reason, reason, ",", ranks, sizeof(ranks));
	if (digits && numbers)
		snprintf(number, sizeof(number), "%" PRIu64, sum);
	if (others)
		snprintf(whose, sizeof(whose), " (numbers of rank %d)", (int)d->worker[rank].rank);
	pp_dataset_warn(d, "%s%s: %s%s%s", ranks, number[0] ? " together" : "", number, number[0] ? text + digits : text, whose);
}

/* Adds the sentences of ranks about themselves, each once, with its ranks. */
static void warn_remarks(struct pp_dataset *d)
{
	uint64_t more = 0;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		more += one->remarks > PP_REMARKS ? one->remarks - PP_REMARKS : 0;
		for (uint32_t i = 0; i < PP_REMARKS && i < one->remarks; i++)
			warn_alike(d, w, one->remark[i], &(struct reason){.offset = 0});
	}
	if (more)
		pp_dataset_warn(d, "%" PRIu64 " more remarks of ranks were dropped", more);
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

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MARK)) && !found; k++) {
				const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

				found = span->kind == PP_SPAN_MARK && span->source == PP_SOURCE_MPI && is_name(j, span->name, name);
			}
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

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)); k++) {
				const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

				if (span->kind == PP_SPAN_COUNTER && is_name(j, span->name, name))
					sum += (uint64_t)span->value;
			}
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
	j->d->uncorrelated = counted(j, "MPI requests not tied");
	j->d->paused = ranks_that(j, "MPI_Pcontrol(0)");
	j->d->ranks_spawned = (uint64_t)has_parent(j);
}

/* Every rank that has one counts it. */
static size_t unknown_communicators(const struct pp_dataset *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->communicators; i++)
		n += d->communicator[i].kind == PP_COMM_UNKNOWN;
	return n;
}

static size_t worlds_of_one(const struct pp_dataset *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->communicators; i++)
		n += d->communicator[i].size == 1 &&
		     !strcmp(pp_intern_text(d->names, d->communicator[i].name, NULL), "MPI_COMM_WORLD");
	return n;
}

static void warn_mpi(struct pp_dataset *d)
{
	size_t unknown = unknown_communicators(d), alone = worlds_of_one(d);

	if (alone && d->workers > 1)
		pp_dataset_warn(
		        d, "%zu of %zu ranks are alone in their MPI_COMM_WORLD: they were not started by the launcher of their MPI",
		        alone, d->workers);

	if (unknown)
		pp_dataset_warn(d,
		                "%zu communicators were created by calls that podprof does not record: waiting on them is unknown",
		                unknown);
	if (d->spawned)
		pp_dataset_warn(d,
		                "%" PRIu64 " processes started by MPI_Comm_spawn are not in this session: they have their "
		                "own MPI_COMM_WORLD. Spawn 'podprof run -- PROGRAM' to record them",
		                d->spawned);
	if (d->ranks_spawned)
		pp_dataset_warn(d, "MPI_Comm_spawn started this job: the processes that called it are not in this session");
	if (d->paused)
		pp_dataset_warn(d, "MPI_Pcontrol(0) paused the recording on %" PRIu64 " ranks: that time is not in this session",
		                d->paused);
	if (d->uncorrelated)
		pp_dataset_warn(
		        d, "the completion of %" PRIu64 " nonblocking operations was not recorded: too many were pending at once",
		        d->uncorrelated);
}

static int compare_time(const void *a, const void *b, void *names)
{
	const struct pp_row_unclassified *x = a, *y = b;

	if (x->unclassified_ns != y->unclassified_ns)
		return x->unclassified_ns < y->unclassified_ns ? 1 : -1;
	return strcmp(pp_intern_text(names, x->unclassified, NULL), pp_intern_text(names, y->unclassified, NULL));
}

/* A row a name and rank, which pp_dataset_seal() makes one a name. */
static int fill_unclassified(struct pp_join *j)
{
	struct pp_table t = {.desc = pp_table_desc(PP_TABLE_unclassified)};
	struct pp_row_unclassified *row;
	int rc = 0;

	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		for (size_t i = 0; i < j->in->attr[r].defaults && rc == 0; i++) {
			row = pp_table_add(&t);
			if (row)
				*row = (struct pp_row_unclassified){.unclassified = j->in->attr[r].by_default[i].name,
				                                    .unclassified_ns = j->in->attr[r].by_default[i].ns};
			else
				rc = -ENOMEM;
		}
	}
	for (uint32_t i = 0; j->unclassified && i < j->names && rc == 0; i++) {
		if (!j->unclassified[i])
			continue;
		row = pp_table_add(&t);
		if (row)
			*row = (struct pp_row_unclassified){.unclassified = i, .unclassified_calls = j->unclassified[i]};
		else
			rc = -ENOMEM;
	}
	j->d->unclassified = t.row;
	j->d->unclassifieds = t.rows;
	return rc;
}

static int fill_evidence(struct pp_join *j)
{
	struct pp_table t = {.desc = pp_table_desc(PP_TABLE_evidence)};
	int rc = 0;

	for (int by = 1; by < PP_GROUNDS && rc == 0; by++) {
		struct pp_row_evidence one = {.evidence = (int8_t)by}, *row;

		for (size_t r = 0; r < j->in->capture->ranks; r++)
			one.evidence_ns = pp_wrap_plus(one.evidence_ns, j->in->attr[r].evidence_ns[by]);
		if (!one.evidence_ns)
			continue;
		row = pp_table_add(&t);
		if (row)
			*row = one;
		else
			rc = -ENOMEM;
	}
	j->d->evidence = t.row;
	j->d->evidences = t.rows;
	return rc;
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
			lost += d->worker[w].dropped[i];
			ranks += d->worker[w].dropped[i] > 0;
		}
		if (lost)
			pp_dataset_warn(d, "%" PRIu64 " records of %zu ranks were lost: %s", lost, ranks, why[i]);
	}
}

static void warn_ranks(struct pp_dataset *d)
{
	size_t shown = 0, missing = 0, differ = 0;
	const struct pp_row_worker *first = NULL;
	char text[200], place[384];

	while (shown < 8 && pp_status_sentence(d, shown, text, sizeof(text))) {
		pp_dataset_warn(d, "%s", text);
		shown++;
	}
	if (shown == 8 && pp_status_sentence(d, shown, text, sizeof(text)))
		pp_dataset_warn(d, "more ranks are partial: /worker status has the reason of each");
	for (shown = 0; shown < 8 && pp_status_place(d, shown, place, sizeof(place)); shown++)
		pp_dataset_warn(d, "%s", place);
	if (shown == 8 && pp_status_place(d, shown, place, sizeof(place)))
		pp_dataset_warn(d, "more ranks ended elsewhere: /worker last_place has the place of each");

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		if (pp_worker_is_missing(one)) {
			missing++;
			continue;
		}
		if (!first)
			first = one;
		differ += strcmp(one->options, first->options) != 0 || strcmp(one->version, first->version) != 0;
	}
	if (missing)
		pp_dataset_warn(d, "%zu of %zu ranks are missing: waiting covers the other ranks only", missing, d->workers);
	if (differ)
		pp_dataset_warn(d, "the podprof version or the options of %zu ranks differ from those of rank %d", differ,
		                (int)first->rank);
}

/* "ranks 0-3; rank 4", as far as there is room. */
static void list_domains(const struct pp_dataset *d, int32_t domains, char *text, size_t size)
{
	size_t n = 0;

	for (int32_t i = 0; i < domains; i++) {
		char ranks[64] = "";
		struct pp_rank_text one = {.to = ranks, .size = sizeof(ranks)};
		size_t in;

		for (size_t w = 0; w < d->workers; w++)
			if (d->worker[w].domain == i)
				pp_rank_text_add(&one, d->worker[w].rank);
		in = pp_rank_text_end(&one);
		if (n + sizeof("; ranks ") + sizeof(ranks) > size) {
			snprintf(text + n, size - n, "; and %d more", (int)(domains - i));
			return;
		}
		n += (size_t)snprintf(text + n, size - n, "%srank%s %s", n ? "; " : "", in > 1 ? "s" : "", ranks);
	}
}

static void warn_domains(struct pp_dataset *d)
{
	int32_t domains = pp_dataset_domains(d);
	char list[200] = "";

	if (domains <= 1)
		return;
	list_domains(d, domains, list, sizeof(list));
	pp_dataset_warn(d,
	                "%d clock domains whose clocks could not be compared (%s): waiting across these clocks is "
	                "unknown; their timestamps differ by the error of the hosts' wall clocks",
	                (int)domains, list);
}

/* One sentence per reason. offset: of the text in a row of /worker. */
static void warn_missing(struct pp_dataset *d, size_t offset)
{
	for (size_t r = 0; r < d->workers; r++)
		warn_alike(d, r, (const char *)&d->worker[r] + offset, &(struct reason){.offset = offset});
}

static void warn_default(struct pp_dataset *d)
{
	int64_t all = 0, by_default = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++)
		all += d->cell[i].step_ns;
	for (size_t i = 0; i < d->unclassifieds; i++)
		by_default += d->unclassified[i].unclassified_ns;
	if (all > 0 && by_default > 0) {
		const char *name = pp_intern_text(d->names, d->unclassified[0].unclassified, NULL);

		pp_dataset_warn(
		        d, "%.1f %% of step time is in ranges of unknown category, counted as Host compute; most of it in '%.*s'",
		        100.0 * (double)by_default / (double)all, pp_utf8_fit(name, 100), name);
	}
}

static int has_no_device_clock(const struct pp_row_worker *w, const void *unused)
{
	(void)unused;
	return w->devices && pp_is_known(w->device_least_ns) && !pp_is_known(w->device_shift_ns);
}

static int has_shifted_devices(const struct pp_row_worker *w, const void *unused)
{
	(void)unused;
	return pp_is_known(w->device_shift_ns) && w->device_shift_ns != 0;
}

/* By the order of launches, of what they ran and of calls that wait. */
static void warn_device_clocks(struct pp_dataset *d)
{
	int64_t most = 0;
	size_t without = 0;
	char ranks[80];

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		without += has_no_device_clock(one, NULL) != 0;
		if (has_shifted_devices(one, NULL) && llabs(one->device_shift_ns) > llabs(most))
			most = one->device_shift_ns;
	}
	if (without) {
		pp_dataset_list_ranks(d, has_no_device_clock, NULL, ",", ranks, sizeof(ranks));
		pp_dataset_warn(d,
		                "%s: clock of the device not usable: what runs begins before its launch and ends after a call that "
		                "waited for it. Its times beside the host's are wrong",
		                ranks);
	}
	if (!most)
		return;
	pp_dataset_list_ranks(d, has_shifted_devices, NULL, ",", ranks, sizeof(ranks));
	pp_dataset_warn(
	        d,
	        "%s: times of devices were up to %.1f us too %s beside the host's, by the order of launches and waits: corrected",
	        ranks, (double)llabs(most) / 1000, most > 0 ? "early" : "late");
}

static int compare_device(const void *a, const void *b)
{
	return strcmp((*(const struct pp_row_worker *const *)a)->device_uuid,
	              (*(const struct pp_row_worker *const *)b)->device_uuid);
}

/* Two ranks on one device wait for each other's kernels, and a slice shares what is not divided. */
static void warn_shared_devices(struct pp_dataset *d)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are sorted */
	const struct pp_row_worker **by = calloc(d->workers + 1, sizeof(by[0])), *first = NULL, *second = NULL;
	size_t shared = 0, slices = 0;

	for (size_t i = 0; by && i < d->workers; i++) {
		by[i] = &d->worker[i];
		slices += !strncmp(d->worker[i].device_uuid, "MIG-", 4);
	}
	if (by)
		qsort(by, d->workers, sizeof(by[0]), compare_device); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0, n; by && i < d->workers; i += n) {
		for (n = 1; i + n < d->workers && !compare_device(&by[i], &by[i + n]); n++)
			;
		if (n == 1 || !by[i]->device_uuid[0])
			continue;
		shared += n;
		if (!first || by[i]->rank < first->rank) {
			first = by[i];
			second = by[i + 1];
		}
	}
	free(by);
	if (shared)
		pp_dataset_warn(
		        d,
		        "%zu ranks share a GPU with another rank, for example ranks %d and %d %s%s%s%s: kernels of one wait for "
		        "those of the other",
		        shared, (int)first->rank, (int)second->rank, first->device_uuid, first->device_pci[0] ? " (PCI " : "",
		        first->device_pci, first->device_pci[0] ? ")" : "");
	if (slices)
		pp_dataset_warn(d,
		                "%zu ranks run on slices of GPUs (MIG): slices of one GPU share its power, clock and temperature",
		                slices);
}

/* Of live jobs. */
static void warn_devices(struct pp_dataset *d)
{
	const struct pp_row_kernel_left_out *k = d->kernel_left_outs ? d->kernel_left_out : NULL;

	if (k && k->unlaunched)
		pp_dataset_warn(d,
		                "the calls that launched %" PRIu64
		                " kernels, copies or sets are not in the recording: their operators are unknown",
		                k->unlaunched);
	if (k && k->unrun)
		pp_dataset_warn(d, "no kernel was recorded of %" PRIu64 " calls that launch kernels", k->unrun);
}

static void warn_absent(struct pp_dataset *d)
{
	if (!d->kernels)
		pp_dataset_warn(d, "/kernel is absent: no kernel was recorded");
	if (d->kernel_left_outs && d->kernel_left_out->rest)
		pp_dataset_warn(d, "/kernel lacks %" PRIu64 " rows: it has at most %d per rank", d->kernel_left_out->rest,
		                PP_KERNELS_MOST);
	if (!d->ops && pp_dataset_ops_cut(d))
		pp_dataset_warn(d, "/op is absent: all %" PRIu64 " ranges cross the window's edge", pp_dataset_ops_cut(d));
	else if (!d->ops)
		pp_dataset_warn(d, "/op is absent: no range and no MPI call began in the window's steps");
	if (d->op_left_outs && d->op_left_out->rest)
		pp_dataset_warn(d, "/op lacks %" PRIu64 " operators: it has at most %d rows per rank", d->op_left_out->rest,
		                PP_OPS_MOST);
	if (!d->memories)
		pp_dataset_warn(d, "/memory is absent: no process was sampled while it recorded");
	if (!d->collectives)
		pp_dataset_warn(d, "/collective is absent: %s", pp_table_desc(PP_TABLE_collective)->absent);
	if (!d->channels)
		pp_dataset_warn(d, "/channel is absent: no point-to-point call was recorded");
}

void pp_dataset_quality(struct pp_dataset *d)
{
	struct pp_row_warning *said = d->warning;
	size_t n = d->warnings;

	if (d->unclassifieds)
		qsort_r(d->unclassified, d->unclassifieds, sizeof(*d->unclassified), compare_time, (void *)d->names);
	/* Missing ranks come first. */
	d->warning = NULL;
	d->warnings = 0;
	pp_status_join(d);
	warn_losses(d);
	warn_ranks(d);
	warn_groups(d);
	warn_domains(d);
	pp_quality_warn_clocks(d);
	warn_mpi(d);
	warn_c10d(d);
	for (size_t i = 0; i < n; i++)
		pp_dataset_warn(d, "%s", said[i].warning);
	free(said);
	warn_remarks(d);
	warn_missing(d, offsetof(struct pp_row_worker, memory_note));
	warn_missing(d, offsetof(struct pp_row_worker, state_why));
	pp_quality_warn_ledger(d);
	if (d->crossed)
		pp_dataset_warn(d,
		                "%" PRIu64 " range%s another range of the same thread without "
		                "nesting: the time counts for the one that began last",
		                d->crossed, d->crossed == 1 ? " overlaps" : "s overlap");
	warn_default(d);
	warn_shared_devices(d);
	warn_devices(d);
	warn_device_clocks(d);
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

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)); k++) {
				const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];

				if (span->kind != PP_SPAN_COUNTER || isfinite(span->value))
					continue;
				if (!bad++) {
					first = pp_intern_text(c->names, span->name, NULL);
					rank = c->rank[r].rank;
				}
			}
		}
	}
	if (bad)
		pp_dataset_warn(j->d,
		                "%" PRIu64
		                " counter values are NaN or infinite, the first in '%.*s' of rank %d: the trace does not show them",
		                bad, pp_utf8_fit(first, 100), first, (int)rank);
}

int pp_join_quality(struct pp_join *j)
{
	struct pp_dataset *d = j->d;

	if (fill_unclassified(j) < 0 || fill_evidence(j) < 0)
		return -ENOMEM;
	count_mpi(j);
	warn_counters(j);
	if (j->in->steps->remark[0])
		pp_dataset_warn(d, "%s", j->in->steps->remark);
	return 0;
}
