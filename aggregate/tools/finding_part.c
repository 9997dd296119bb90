/* What the usual step consists of, and what of it stalls all ranks; see finding.h. Called by finding.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/unseen.h"
#include "aggregate/dataset/status.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/graph/wait.h"
#include "aggregate/tools/finding.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/sums.h"
#include "core/base/known.h"
#include "core/base/select.h"
#include "core/base/units.h"

enum { SMALL_PERCENT = 5, STALL_PERCENT = 20 }; /* the second one is from where xprof calls a job highly input-bound */
#define LOADER_BUSY 0.9

struct parts {                         /* of all ranks in their usual steps */
	int64_t ns[PP_CATEGORIES + 1]; /* by category; communication less waiting */
	int64_t step, wait, transfer, unsplit, point_to_point;
	int64_t between; /* of step, which is to the begin of the next: behind the end, where no category is known */
	int64_t cells;
};

static struct parts sum_up(const struct pp_finding_search *f)
{
	const struct pp_dataset *d = f->d;
	struct parts p = {.step = 0};
	int64_t *host = &p.ns[PP_CATEGORY_HOST_COMMUNICATION], *device = &p.ns[PP_CATEGORY_DEVICE_COLLECTIVE];

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *cell = &d->cell[i];

		if (!cell->present || !f->usual.is_usual[i / d->workers])
			continue;
		for (int c = 1; c <= PP_CATEGORIES; c++)
			pp_wrap_add(&p.ns[c], cell->exclusive_ns[c]);
		pp_wrap_add(&p.step, pp_usual_steps_time(d, i / d->workers, i % d->workers));
		pp_wrap_add(&p.between, cell->step_ns);
		pp_known_add(&p.wait, cell->wait_ns);
		pp_known_add(&p.transfer, cell->transfer_ns);
		pp_wrap_add(&p.point_to_point, cell->point_to_point_ns);
		p.cells++;
	}
	p.between = pp_wrap_minus(p.step, p.between);
	*host = pp_wrap_minus(*host, p.wait);
	if (*host < 0) { /* the rest of the waiting is on the device */
		pp_wrap_add(device, *host);
		*host = 0;
	}
	p.unsplit = d->workers > 1 ? pp_wrap_minus(pp_wrap_plus(*host, *device), p.transfer) : 0;
	p.unsplit = p.unsplit > 0 ? p.unsplit : 0;
	return p;
}

/* Mean time per step that the rank takes input in between its steps. Where devices work meanwhile, nothing tells that they wait for
 * it, but for steps that end with the devices' work. */
static int64_t input_between(const struct pp_dataset *d, size_t worker)
{
	if (d->kernels && strncmp(d->step_rule, "xspace: line", 12) != 0 && strncmp(d->step_rule, "xspace: device", 14) != 0)
		return 0;
	for (size_t i = 0; i < d->input_betweens; i++)
		if (pp_dataset_worker(d, d->input_between[i].worker) == worker && d->input_between[i].gaps)
			return d->input_between[i].input_ns / d->input_between[i].gaps;
	return 0;
}

struct stall {
	int64_t sum;    /* of all ranks and usual steps */
	int64_t median; /* lower median over ranks of their mean per usual step, without waiting for others */
	int64_t most;   /* the largest mean */
	size_t worst;   /* the rank that has it */
};

static struct stall stall_of(const struct pp_finding_search *f, int category)
{
	const struct pp_dataset *d = f->d;
	struct stall all = {.most = -1};
	int64_t *mean = calloc(d->workers + 1, sizeof(*mean));
	size_t n = 0;

	for (size_t w = 0; mean && w < d->workers; w++) {
		int64_t sum = 0, steps = 0;

		for (size_t s = 0; s < d->steps; s++)
			if (f->usual.is_usual[s] && d->cell[s * d->workers + w].present) {
				pp_wrap_add(&sum, d->cell[s * d->workers + w].exclusive_ns[category]);
				steps++;
			}
		sum = pp_graph_since(pp_graph_file_wait(f->g, w, category, f->usual.is_usual), sum);
		if (category == PP_CATEGORY_INPUT)
			pp_wrap_add(&sum, steps * input_between(d, w));
		pp_wrap_add(&all.sum, sum);
		if (steps && sum / steps > all.most)
			all.worst = w;
		if (steps)
			mean[n++] = sum / steps;
		all.most = steps && sum / steps > all.most ? sum / steps : all.most;
	}
	all.median = n ? pp_select_int64(mean, n, (n - 1) / 2) : 0;
	free(mean);
	return all;
}

/* Mean share of the time that data-loader workers are busy, in percent, where those of every rank have hardly a pause; else 0. Such
 * ranks are limited by their input also where one that waits for another finds its next batch ready. */
static double loaders_busy(const struct pp_dataset *d)
{
	double sum = 0;
	size_t ranks = 0;

	for (size_t w = 0; w < d->workers; w++) {
		if (pp_worker_is_missing(&d->worker[w]))
			continue;
		if (!d->worker[w].loader_samples || d->worker[w].loader_busy < LOADER_BUSY)
			return 0;
		sum += 100 * d->worker[w].loader_busy;
		ranks++;
	}
	return ranks ? sum / (double)ranks : 0;
}

/* Input or output that takes longer on all ranks than repaired ranks would save, by the median of the ranks: who is late then only
 * decides which of them shows it. */
static int add_stall(struct pp_finding_search *f, const struct parts *p, int category, int64_t gain_ns)
{
	const struct stall all = stall_of(f, category);
	const int64_t ns = all.median;
	const double busy = category == PP_CATEGORY_INPUT ? loaders_busy(f->d) : 0, share = pp_sums_percent(all.sum, p->step);
	struct pp_row_finding *row;
	char most[PP_TEXT_UNIT];

	if (share <= (busy > 0 ? SMALL_PERCENT : STALL_PERCENT) || (ns <= gain_ns && busy <= 0))
		return 0;
	row = pp_finding_add(f, category == PP_CATEGORY_INPUT ? PP_FINDING_INPUT : PP_FINDING_OUTPUT, category,
	                     busy > 0 && ns <= gain_ns ? gain_ns + 1 : ns);
	if (!row)
		return -ENOMEM;
	snprintf(row->who, sizeof(row->who), f->d->workers > 1 ? "all ranks" : "the rank");
	if (busy > 0)
		snprintf(row->finding, sizeof(row->finding),
		         "Input, %.0f %% of %s. The data-loader workers of all ranks are busy %.0f %% of the time", share,
		         pp_usual_steps_name(f->d), busy);
	else if (all.most / 2 > ns)
		snprintf(row->finding, sizeof(row->finding), "%s, %.0f %% of %s. It stalls rank %" PRId32 " most, %s per step",
		         pp_category_name(category), share, pp_usual_steps_name(f->d), f->d->worker[all.worst].rank,
		         pp_text_time(most, all.most));
	else
		snprintf(row->finding, sizeof(row->finding), "%s, %.0f %% of %s. It stalls %s", pp_category_name(category), share,
		         pp_usual_steps_name(f->d), f->d->workers > 1 ? "all ranks" : "the only rank");
	return 0;
}

/* Time of operations in usual steps after the last recorded arrival: others may come later. */
static int64_t with_missing(const struct pp_finding_search *f)
{
	int64_t sum = 0;

	for (size_t i = 0; i < f->d->collectives; i++) {
		const struct pp_row_collective *c = &f->d->collective[i];
		const size_t s = c->mismatch == PP_MISMATCH_MISSING ? pp_dataset_step(f->d, c->step) : SIZE_MAX;

		if (s != SIZE_MAX && f->usual.is_usual[s])
			pp_known_add(&sum, c->transfer_ns);
	}
	return sum;
}

static const char *about_waiting(const struct pp_finding_search *f, const struct parts *p)
{
	const struct pp_dataset *d = f->d;
	const int domains = pp_dataset_domains(d) > 1 && !d->device_between_clocks;

	if (d->workers <= 1 && pp_wrap_minus(p->ns[PP_CATEGORY_DEVICE_COLLECTIVE], p->transfer) > p->step / 100 * SMALL_PERCENT)
		return "How much of the communication is waiting is unknown: only one rank is recorded";
	if (d->workers <= 1)
		return d->ranks_asked > 1 ? "Only one rank is recorded" : "There is only one rank";
	if (d->trace_files && domains && (size_t)pp_dataset_domains(d) == d->workers)
		return "Whether ranks wait for each other is unknown: their clocks were not compared";
	if (!pp_dataset_sees_communication(d))
		return "No communication between ranks is recorded";
	if (d->uncompared && pp_sums_percent(p->unsplit, p->step) > SMALL_PERCENT)
		return "How much of the communication is waiting is unknown: the clocks of the ranks are not joined";
	if (pp_sums_percent(p->unsplit, p->step) > SMALL_PERCENT)
		return "How much of the communication is waiting is unknown";
	if (pp_sums_percent(with_missing(f), p->step) > SMALL_PERCENT)
		return "How much of the communication is waiting is unknown: ranks that take part in it were not recorded";
	if (domains)
		return "No rank waits long for a rank of its clock domain; waiting between the domains is unknown";
	if (pp_sums_percent(p->wait, p->step) > SMALL_PERCENT && p->cells && d->pair_bound_ns >= p->wait / p->cells)
		return "Ranks wait for each other. The late rank cannot be identified: the differences are smaller than the clock "
		       "error";
	return pp_sums_percent(p->wait, p->step) > SMALL_PERCENT
	               ? "Ranks wait for each other, and none is late more often than by chance"
	               : PP_FINDING_NO_WAIT;
}

static int is_communication(int category)
{
	return category == PP_CATEGORY_HOST_COMMUNICATION || category == PP_CATEGORY_DEVICE_COLLECTIVE;
}

/* The largest part, as far as it is known. */
static int add_largest(struct pp_finding_search *f, const struct parts *p)
{
	const struct pp_dataset *d = f->d;
	const int is_only = !f->to->rows; /* the others say more of the waiting */
	struct pp_row_finding *row;
	int best = PP_CATEGORY_OTHER;

	for (int c = 1; c <= PP_CATEGORIES; c++)
		best = p->ns[c] > p->ns[best] ? c : best;
	if (pp_status_mpi_is_unseen(d)) {
		row = pp_finding_add(f, PP_FINDING_NOT_RECORDED, best, PP_UNKNOWN);
		if (row)
			snprintf(row->finding, sizeof(row->finding),
			         "unknown: MPI calls were not recorded, so communication and waiting are unknown. Most time is "
			         "in %s (%sMPI's calls), %.0f %% of %s",
			         pp_category_name(best), best == PP_CATEGORY_OTHER ? "sleep, Python, unmarked code, " : "with ",
			         pp_sums_percent(p->ns[best], p->step), pp_usual_steps_name(d));
	} else if (p->unsplit > p->wait && p->unsplit - p->wait > p->transfer && is_communication(best)) {
		row = pp_finding_add(f, PP_FINDING_UNSPLIT, best, PP_UNKNOWN);
		if (row)
			snprintf(row->finding, sizeof(row->finding),
			         "communication, %.0f %% of %s. For most of it%s, wait and transfer are not separated",
			         pp_sums_percent(p->unsplit + p->wait + p->transfer, p->step), pp_usual_steps_name(d),
			         p->point_to_point > p->unsplit / 2 ? ", point-to-point calls" : "");
	} else if (p->between > p->ns[best]) {
		row = pp_finding_add(f, PP_FINDING_CATEGORY, PP_REASON_BETWEEN_STEPS, PP_UNKNOWN);
		if (row)
			snprintf(row->finding, sizeof(row->finding), "%s, %.0f %% of %s%s%s",
			         pp_reason_name(PP_REASON_BETWEEN_STEPS), pp_sums_percent(p->between, p->step),
			         pp_usual_steps_name(d), is_only ? ". " : "", is_only ? about_waiting(f, p) : "");
	} else {
		row = pp_finding_add(f, PP_FINDING_CATEGORY, best, PP_UNKNOWN);
		if (row)
			snprintf(row->finding, sizeof(row->finding), "%s%s, %.0f %% of %s%s%s",
			         !is_communication(best)          ? pp_category_name(best)
			         : p->transfer >= p->ns[best] / 2 ? "transfer between ranks"
			                                          : "communication",
			         best == PP_CATEGORY_OTHER ? " (sleep, Python, unmarked code)" : "",
			         pp_sums_percent(p->ns[best], p->step), pp_usual_steps_name(d), is_only ? ". " : "",
			         is_only ? about_waiting(f, p) : "");
	}
	return row ? 0 : -ENOMEM;
}

int pp_finding_part_add(struct pp_finding_search *f, int64_t gain_ns)
{
	const struct parts p = sum_up(f);
	int rc;

	if (p.step <= 0)
		return 0;
	rc = add_stall(f, &p, PP_CATEGORY_INPUT, gain_ns);
	if (!rc)
		rc = add_stall(f, &p, PP_CATEGORY_OUTPUT, gain_ns);
	return rc ? rc : add_largest(f, &p);
}
