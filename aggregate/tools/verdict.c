/* Computes the verdict: waiting first, then the largest category. See verdict.h. */
#include "aggregate/tools/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"
#include "core/base/compare.h"
#include "core/base/units.h"
#include "core/base/wrap.h"

struct worker_sum {
	int64_t exclusive_ns[PP_CATEGORIES + 1]; /* by category; 10 and 3 together less waiting; [UNSPLIT] a part of these */
	int64_t step_ns, wait_ns, transfer_ns, point_to_point_ns;
	int64_t steps;
};

enum { UNSPLIT = 0 }; /* beside the categories: communication that is neither waiting nor transfer */
enum { SMALL_WAIT_PERCENT = 5, ONE_RANK_PERCENT = 50 };
#define LOADER_BUSY 0.9
enum { SLICE_NS = 4000000 }; /* about what losing the core costs, by Linux's time slice */

static void sum_worker(const struct pp_dataset *d, size_t w, struct worker_sum *sum)
{
	*sum = (struct worker_sum){0};
	for (size_t s = 0; s < d->steps; s++) {
		const struct pp_row_cell *cell = &d->cell[s * d->workers + w];

		if (!cell->present)
			continue;
		for (int c = 1; c <= PP_CATEGORIES; c++)
			pp_wrap_add(&sum->exclusive_ns[c], cell->exclusive_ns[c]);
		pp_wrap_add(&sum->step_ns, cell->step_ns);
		pp_wrap_add(&sum->wait_ns, cell->wait_ns);
		pp_wrap_add(&sum->transfer_ns, cell->transfer_ns);
		pp_wrap_add(&sum->point_to_point_ns, cell->point_to_point_ns);
		sum->steps++;
	}
	sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] =
	        pp_wrap_minus(sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION], sum->wait_ns);
	if (sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] < 0) { /* the rest of the waiting is on the device */
		pp_wrap_add(&sum->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE], sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
		sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = 0;
	}
	sum->exclusive_ns[UNSPLIT] = pp_wrap_minus(
	        pp_wrap_plus(sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION], sum->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE]),
	        sum->transfer_ns);
}

/* Per step, median over the other workers. */
static int64_t median_of_others(const struct worker_sum *sum, size_t workers, size_t but, int category, int64_t *work)
{
	size_t n = 0;

	for (size_t w = 0; w < workers; w++)
		if (w != but && sum[w].steps)
			work[n++] = sum[w].exclusive_ns[category] / sum[w].steps;
	if (!n)
		return 0;
	qsort(work, n, sizeof(*work), pp_compare_int64);
	return n % 2 ? work[n / 2] : pp_wrap_plus(work[n / 2 - 1], work[n / 2]) / 2;
}

/* Per step: one worker's excess over the median of the others. */
static int64_t more_than_others(const struct worker_sum *sum, size_t workers, size_t who, int category, int64_t *work)
{
	return pp_wrap_minus(sum[who].exclusive_ns[category] / sum[who].steps, median_of_others(sum, workers, who, category, work));
}

/* The base of a percentage: the steps, or what stands for the only one. */
static const char *whole(const struct pp_dataset *d)
{
	return d->steps == 1 && !strncmp(d->step_rule, "window", 6) ? pp_coverage_base(d) : "the step";
}

/* Behind a time: of a mean step, or of the only one. */
static const char *per_step(const struct pp_dataset *d)
{
	return d->steps != 1 ? " per step" : "";
}

static const char *explain(int category)
{
	return category == PP_CATEGORY_OTHER ? " (sleep, Python, unmarked code)" : "";
}

/* The rank that most waiting goes back to: by the blame, which follows waits from rank to rank; without it by late[0]. */
struct culprit {
	int32_t rank;
	size_t who;                /* its worker */
	int64_t wait_ns, error_ns; /* sums over the steps and the other ranks */
	int is_blamed;
	int8_t reason; /* of the blame, its largest */
};

static struct culprit find_culprit(const struct pp_dataset *d)
{
	struct culprit c = {.rank = d->late[0].rank, .wait_ns = d->late[0].wait_ns, .error_ns = d->late[0].error_ns};
	int64_t *ns = d->blames ? calloc(d->workers + 1, sizeof(*ns)) : NULL;

	for (size_t i = 0; ns && i < d->blames; i++) {
		size_t w = pp_dataset_worker(d, d->blame[i].worker);

		if (w == SIZE_MAX || d->blame[i].blame_ns < 0)
			continue;
		ns[w] = pp_wrap_plus(ns[w], d->blame[i].blame_ns);
		if (c.is_blamed && ns[w] <= c.wait_ns)
			continue;
		c.rank = d->blame[i].worker;
		c.wait_ns = ns[w];
		c.is_blamed = 1;
	}
	c.who = pp_dataset_worker(d, c.rank);
	c.who = c.who == SIZE_MAX ? d->workers : c.who;
	if (c.is_blamed)
		c.error_ns = 0;
	for (size_t i = d->blames; c.is_blamed && i--;) /* the largest reason is first */
		if (d->blame[i].worker == c.rank) {
			c.reason = d->blame[i].reason;
			c.error_ns = pp_wrap_plus(c.error_ns, d->blame[i].error_ns);
		}
	free(ns);
	return c;
}

/* Did the late rank wait for another one long enough to be late because of it? */
static int is_behind(const struct pp_dataset *d, int64_t late_ns, int64_t steps)
{
	const struct pp_straggler *s = &d->straggler;

	return s->waited_for >= 0 && s->waited_for != d->late[0].rank && s->waited_ns / steps * 4 >= late_ns;
}

static const char *the_others(const struct pp_dataset *d, size_t who)
{
	return pp_dataset_peers(d, who) == 1 ? "the other rank" : "the median of the other ranks";
}

struct cause { /* causes of one rank's lateness, per step */
	struct culprit by;
	int64_t late_ns;    /* one other rank's wait for it */
	int64_t most_ns;    /* its largest excess over the others in one category; 0: none that explains late_ns */
	int64_t work_ns;    /* the same, also where it explains little */
	int64_t unsplit_ns; /* the same for communication that is not split */
	int64_t waited_ns;  /* its own wait for another rank, which made it late */
	int category;       /* of most_ns */
};

static struct cause cause_of(const struct pp_dataset *d, const struct worker_sum *sum, const struct culprit *by, int64_t *work)
{
	size_t who = by->who;
	struct cause c = {.by = *by, .late_ns = pp_sums_per_step(d, who, by->wait_ns)};

	for (int k = 1; k < PP_CATEGORY_HOST_COMMUNICATION; k++) { /* time inside communication is no cause of its own */
		int64_t more = more_than_others(sum, d->workers, who, k, work);

		/* The blame knows what the rank did while others waited, the sums do not. */
		if (more > c.most_ns && (!pp_reason_is_work(by->reason) || k == by->reason)) {
			c.most_ns = more;
			c.category = k;
		}
	}
	c.work_ns = c.most_ns;
	if (c.most_ns * 4 < c.late_ns || (d->worker[who].bound_ns != PP_BOUND_UNKNOWN && c.most_ns <= d->worker[who].bound_ns))
		c.most_ns = 0;
	c.unsplit_ns = more_than_others(sum, d->workers, who, UNSPLIT, work);
	if (c.unsplit_ns * 4 < c.late_ns)
		c.unsplit_ns = 0;
	if (!by->is_blamed && is_behind(d, c.late_ns, sum[who].steps))
		c.waited_ns = d->straggler.waited_ns / sum[who].steps;
	return c;
}

/* Evidence that the rank lacked a core while it worked, and so lost a quarter of `ns` or more per step; "": none. A rank that
 * polls in communication goes to the run queue, and its sched_yield counts as an involuntary switch: that time is subtracted
 * first, and switches count only where the run queue is unknown and the rank was hardly in communication. */
static int say_shared(const struct pp_dataset *d, const struct worker_sum *sum, int64_t ns, char *text, size_t size)
{
	int64_t talked =
	        sum->wait_ns + sum->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] + sum->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE];
	double switches = (double)d->straggler.involuntary / (double)sum->steps;
	int slept = d->straggler.voluntary * 2 >= sum->steps; /* a rank that sleeps loses its core too, but for no other rank */
	char shown[PP_TEXT_UNIT];

	text[0] = '\0';
	if (d->straggler.run_queue_ns >= 0) {
		if ((d->straggler.run_queue_ns - talked) / sum->steps * 4 >= ns && d->straggler.run_queue_ns > talked)
			snprintf(text, size, "rank %d shares its cores: it was ready to run, without a core, for %s%s",
			         (int)d->late[0].rank, pp_text_time(shown, d->straggler.run_queue_ns / sum->steps), per_step(d));
	} else if (!slept && switches >= 1 && switches * SLICE_NS * 4 >= (double)ns && talked / sum->steps * 4 < ns) {
		snprintf(text, size, "rank %d shares its cores: it had %.1f involuntary context switches%s", (int)d->late[0].rank,
		         switches, per_step(d));
	}
	return text[0] != '\0';
}

/* Waiting for one rank that does no more than the others: tells what is known of it, and no guess. */
static struct pp_verdict_what say_unexplained(const struct pp_dataset *d, const struct worker_sum *sum, const struct cause *c,
                                              double share, char *text, size_t size)
{
	const struct pp_straggler *s = &d->straggler;
	const int rank = (int)c->by.rank;
	int length = snprintf(text, size, "waiting for other ranks, %.0f %% of %s, mostly for rank %d", share, whole(d), rank);
	size_t at = length > 0 && (size_t)length < size ? (size_t)length : 0;
	char shown[PP_TEXT_UNIT], shared[128];

	if (c->unsplit_ns > c->waited_ns) {
		snprintf(text + at, size - at,
		         ". Rank %d spends %s%s more than the median of the other ranks in %s, where wait and transfer are not "
		         "separated",
		         rank, pp_text_time(shown, c->unsplit_ns), per_step(d),
		         sum->point_to_point_ns > sum->exclusive_ns[UNSPLIT] / 2 ? "point-to-point calls" : "communication");
		return (struct pp_verdict_what){.kind = PP_VERDICT_UNSPLIT};
	}
	if (c->waited_ns) {
		snprintf(text + at, size - at, ". Rank %d itself waits %s%s for rank %d", rank, pp_text_time(shown, c->waited_ns),
		         per_step(d), (int)s->waited_for);
		return (struct pp_verdict_what){.kind = PP_VERDICT_CHAIN, .rank = rank, .behind = s->waited_for};
	}
	if (c->work_ns > 0)
		snprintf(text + at, size - at, ", although rank %d works only %s%s more than %s", rank,
		         pp_text_time(shown, c->work_ns), per_step(d), the_others(d, pp_dataset_worker(d, rank)));
	else
		snprintf(text + at, size - at, ", although rank %d does no more work than the others", rank);
	if (rank == d->late[0].rank && say_shared(d, sum, c->late_ns, shared, sizeof(shared))) {
		at = strlen(text);
		snprintf(text + at, size - at, ". Likely cause: %s", shared);
		return (struct pp_verdict_what){.kind = PP_VERDICT_SHARED, .rank = rank};
	}
	return (struct pp_verdict_what){.kind = PP_VERDICT_UNEXPLAINED, .rank = rank};
}

/* Names the rank with most waiting, and the one that it waited for itself. */
static void say_no_one(const struct pp_dataset *d, const struct worker_sum *sum, const struct culprit *late, int64_t wait,
                       double share, char *text, size_t size)
{
	size_t who = late->who;
	char behind[64] = "";

	if (!late->is_blamed && who < d->workers && sum[who].steps &&
	    is_behind(d, pp_sums_per_step(d, who, late->wait_ns), sum[who].steps))
		snprintf(behind, sizeof(behind), ", which itself waits for rank %d", (int)d->straggler.waited_for);
	snprintf(text, size,
	         "waiting for other ranks, %.0f %% of %s, for no single rank: rank %d causes the largest part, %.0f %% of all "
	         "waiting%s",
	         share, whole(d), (int)late->rank, 100.0 * (double)late->wait_ns / (double)wait, behind);
}

/* Mean step of the ranks that wait for this one. */
static double step_of_others(const struct pp_dataset *d, const struct worker_sum *sum, size_t who)
{
	int64_t ns = 0, steps = 0;

	for (size_t w = 0; w < d->workers; w++) {
		if (w == who || d->worker[w].domain != d->worker[who].domain)
			continue;
		pp_wrap_add(&ns, sum[w].step_ns);
		steps += sum[w].steps;
	}
	return steps ? (double)ns / (double)steps : 0;
}

/* "The other ranks wait 4.2 ms per step for it (95 % of their step)" */
static void say_kept(const struct pp_dataset *d, const struct worker_sum *sum, const struct cause *c, char *text, size_t size)
{
	int one = pp_dataset_peers(d, c->by.who) == 1;
	double step = step_of_others(d, sum, c->by.who);
	char kept[PP_TEXT_UNIT], through[48] = "for it";

	if (c->by.is_blamed && c->by.rank != d->late[0].rank)
		snprintf(through, sizeof(through), "because of it, mostly for rank %d", (int)d->late[0].rank);
	else if (c->by.is_blamed && c->by.wait_ns > d->late[0].wait_ns + d->late[0].wait_ns / 10)
		snprintf(through, sizeof(through),
		         "for it, directly or through other ranks"); /* the straggler line has direct waits */
	snprintf(text, size, "%s %s%s %s (%.0f %% of %s)", one ? "The other rank waits" : "The other ranks wait",
	         pp_text_time(kept, c->late_ns), per_step(d), through, step > 0 ? 100.0 * (double)c->late_ns / step : 0,
	         d->steps != 1 ? one ? "its step" : "their step" : whole(d));
}

/* The rank does not do more than the others over all steps, or does it outside of them: late in some steps, or before them. */
static struct pp_verdict_what say_blamed(const struct pp_dataset *d, const struct worker_sum *sum, const struct cause *c,
                                         char *text, size_t size)
{
	int between = c->by.reason == PP_REASON_BETWEEN_STEPS;
	char kept[160];

	say_kept(d, sum, c, kept, sizeof(kept));
	snprintf(text, size, "rank %d, %s%s. %s", (int)c->by.rank,
	         between ? "time between its steps" : pp_category_name(c->by.reason), between ? "" : explain(c->by.reason), kept);
	return (struct pp_verdict_what){
	        .kind = PP_VERDICT_RANK, .rank = c->by.rank, .category = between ? PP_CATEGORY_OTHER : c->by.reason};
}

static struct pp_verdict_what say_rank(const struct pp_dataset *d, const struct worker_sum *sum, const struct cause *c, char *text,
                                       size_t size)
{
	const struct worker_sum *own = &sum[c->by.who];
	char more[PP_TEXT_UNIT], kept[160], shared[128];
	struct pp_verdict_what what = {.kind = PP_VERDICT_RANK,
	                               .rank = c->by.rank,
	                               .category = c->category,
	                               .gain_ns = c->most_ns < c->late_ns ? c->most_ns : c->late_ns};

	say_kept(d, sum, c, kept, sizeof(kept));
	snprintf(text, size, "rank %d, %s%s: %s%s more than %s (%.0f %% of %s). %s", (int)c->by.rank, pp_category_name(c->category),
	         explain(c->category), pp_text_time(more, c->most_ns), per_step(d), the_others(d, c->by.who),
	         100.0 * (double)c->most_ns / ((double)own->step_ns / (double)own->steps), d->steps != 1 ? "its step" : whole(d),
	         kept);
	if (c->by.rank == d->late[0].rank && say_shared(d, own, c->most_ns, shared, sizeof(shared))) {
		size_t at = strlen(text);

		snprintf(text + at, size - at, ". %c%s", shared[0] - 'a' + 'A', shared + 1);
		what.kind = PP_VERDICT_SHARED;
	}
	return what;
}

static struct pp_verdict_what say_late(const struct pp_dataset *d, const struct worker_sum *sum, int64_t *work, int64_t wait,
                                       int64_t step_ns, char *text, size_t size)
{
	const struct culprit found = find_culprit(d), *late = &found;
	double share = 100.0 * (double)wait / (double)step_ns;
	size_t who = late->who;
	struct cause c;

	if (late->wait_ns <= late->error_ns) {
		snprintf(text, size,
		         "waiting for other ranks, %.0f %% of %s. The late rank cannot be identified: the differences are smaller "
		         "than the clock error",
		         share, whole(d));
		return (struct pp_verdict_what){.kind = PP_VERDICT_TIE};
	}
	if (pp_sums_percent(late->wait_ns, wait) < ONE_RANK_PERCENT || who == d->workers || !sum[who].steps) {
		say_no_one(d, sum, late, wait, share, text, size);
		return (struct pp_verdict_what){.kind = PP_VERDICT_WAITING};
	}
	c = cause_of(d, sum, late, work);
	if (late->is_blamed && !c.most_ns && (pp_reason_is_work(late->reason) || late->reason == PP_REASON_BETWEEN_STEPS))
		return say_blamed(d, sum, &c, text, size);
	if (!c.most_ns || c.waited_ns > c.most_ns || (!late->is_blamed && c.unsplit_ns > c.most_ns))
		return say_unexplained(d, &sum[who], &c, share, text, size);
	return say_rank(d, sum, &c, text, size);
}

/* The largest part of a run that is one step: 0 is starting MPI up and shutting it down, which is no communication of the job. */
static int largest_of(const struct pp_dataset *d, const struct worker_sum *sum, int64_t *all)
{
	int best = 0;

	memset(all, 0, (PP_CATEGORIES + 1) * sizeof(*all));
	all[0] = d->startup_ns;
	for (size_t w = 0; w < d->workers; w++)
		for (int c = 1; c <= PP_CATEGORIES; c++)
			pp_wrap_add(&all[c], sum[w].exclusive_ns[c]);
	all[PP_CATEGORY_HOST_COMMUNICATION] -=
	        d->startup_ns < all[PP_CATEGORY_HOST_COMMUNICATION] ? d->startup_ns : all[PP_CATEGORY_HOST_COMMUNICATION];
	for (int c = 1; c <= PP_CATEGORIES; c++)
		if (all[c] > all[best])
			best = c;
	return best;
}

static void say_startup(const struct pp_dataset *d, int64_t step_ns, char *text, size_t size)
{
	char kept[PP_COVERAGE_TEXT];
	int cut = pp_coverage_text(d, kept, sizeof(kept));

	snprintf(text, size, "%s take %.0f %% of %s; %s", cut ? "start-up and shutdown" : "MPI_Init and MPI_Finalize",
	         100.0 * (double)d->startup_ns / (double)step_ns, whole(d),
	         cut ? "the time before is not in this session" : "record a longer run, or only steady-state steps");
}

struct communication { /* of all ranks and steps, less start-up */
	int64_t wait, transfer, unsplit, point_to_point;
};

static struct communication communication_of(const struct pp_dataset *d, const struct worker_sum *sum)
{
	struct communication c = {.unsplit = -d->startup_ns};

	for (size_t w = 0; w < d->workers; w++) {
		pp_wrap_add(&c.wait, sum[w].wait_ns);
		pp_wrap_add(&c.transfer, sum[w].transfer_ns);
		pp_wrap_add(&c.point_to_point, sum[w].point_to_point_ns);
		pp_wrap_add(&c.unsplit, sum[w].exclusive_ns[UNSPLIT]);
	}
	if (c.unsplit < 0 || d->workers < 2)
		c.unsplit = 0;
	return c;
}

static int most_is_unsplit(const struct communication *c)
{
	return c->unsplit > c->wait && c->unsplit - c->wait > c->transfer;
}

/* Calls that are not split may have waited for another rank than the known waiting: no rank is named. */
static void say_unsplit(const struct pp_dataset *d, const struct communication *c, int64_t step_ns, char *text, size_t size)
{
	double all = (double)c->unsplit + (double)c->wait + (double)c->transfer;
	char share[48] = "most of it";

	if (!most_is_unsplit(c))
		snprintf(share, sizeof(share), "%.0f %% of it", 100.0 * (double)c->unsplit / all);
	snprintf(text, size, "communication, %.0f %% of %s. For %s%s, wait and transfer are not separated",
	         100.0 * all / (double)step_ns, whole(d), share,
	         c->point_to_point > c->unsplit / 2 ? ", point-to-point calls" : "");
}

static void say_largest(const struct pp_dataset *d, const int64_t *all, int best, int64_t step_ns, const struct communication *c,
                        char *text, size_t size)
{
	snprintf(text, size, "%s%s, %.0f %% of %s. %s", pp_category_name(best), explain(best),
	         100.0 * (double)all[best] / (double)step_ns, whole(d),
	         d->workers <= 1 ? "There is only one rank"
	         : d->trace_files && (size_t)pp_dataset_domains(d) == d->workers
	                 ? "Whether ranks wait for each other is unknown: their clocks were not compared"
	         : most_is_unsplit(c) && pp_sums_percent(c->unsplit, step_ns) > SMALL_WAIT_PERCENT
	                 ? "Waiting in point-to-point and one-sided calls is not measured"
	         : pp_dataset_domains(d) > 1
	                 ? "No rank waits long for a rank of its clock domain; waiting between the domains is unknown"
	                 : "No rank waits long for another one");
}

/* Input or Output that stalls every rank longer than ranks wait for each other, by the median of the ranks besides the straggler:
 * to cure the straggler alone would leave most of it. 0: none. */
static int stall_of(const struct pp_dataset *d, const struct worker_sum *sum, int64_t wait, int64_t *work)
{
	static const int stall[] = {PP_CATEGORY_INPUT, PP_CATEGORY_OUTPUT};
	size_t who = d->late ? pp_dataset_worker(d, d->late[0].rank) : SIZE_MAX;
	int64_t steps = 0, most_ns = 0;
	int best = 0;

	for (size_t w = 0; w < d->workers; w++)
		steps += sum[w].steps;
	for (size_t i = 0; i < sizeof(stall) / sizeof(stall[0]) && steps; i++) {
		int64_t ns = median_of_others(sum, d->workers, who, stall[i], work);

		if (ns > wait / steps && ns > most_ns) {
			most_ns = ns;
			best = stall[i];
		}
	}
	return best;
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

static int is_unseen(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (strstr(d->warning[i].warning, PP_MPI_UNSEEN))
			return 1;
	return 0;
}

/* Unrecorded waiting need not be small. */
static void say_unseen(const struct pp_dataset *d, const int64_t *all, int best, int64_t step_ns, char *text, size_t size)
{
	snprintf(text, size,
	         "unknown: MPI calls were not recorded, so communication and waiting are unknown. Most time is in %s (%sMPI's "
	         "calls), %.0f %% of %s",
	         pp_category_name(best), best == PP_CATEGORY_OTHER ? "sleep, Python, unmarked code, " : "with ",
	         100.0 * (double)all[best] / (double)step_ns, whole(d));
}

const char *pp_verdict_word(enum pp_verdict_kind kind)
{
	static const char *const word[] = {
	        [PP_VERDICT_NONE] = "none",
	        [PP_VERDICT_STARTUP] = "startup",
	        [PP_VERDICT_RANK] = "rank",
	        [PP_VERDICT_WAITING] = "waiting",
	        [PP_VERDICT_TIE] = "tie",
	        [PP_VERDICT_UNEXPLAINED] = "unexplained",
	        [PP_VERDICT_SHARED] = "shared_cores",
	        [PP_VERDICT_CHAIN] = "chain",
	        [PP_VERDICT_UNSPLIT] = "unsplit",
	        [PP_VERDICT_LARGEST] = "largest_category",
	        [PP_VERDICT_UNSEEN] = "mpi_not_recorded",
	};

	return word[kind];
}

struct pp_verdict_what pp_verdict(const struct pp_dataset *d, char *text, size_t size)
{
	struct pp_verdict_what what = {.kind = PP_VERDICT_NONE};
	struct worker_sum *sum = calloc(d->workers + 1, sizeof(*sum));
	int64_t *work = calloc(d->workers + 1, sizeof(*work));
	int64_t step_ns = 0, wait = 0, all[PP_CATEGORIES + 1];
	struct communication c;
	int best, stall;
	double busy;

	snprintf(text, size, "unknown: no complete step was recorded");
	if (!sum || !work)
		goto out;
	for (size_t w = 0; w < d->workers; w++) {
		sum_worker(d, w, &sum[w]);
		pp_wrap_add(&step_ns, sum[w].step_ns);
		pp_wrap_add(&wait, sum[w].wait_ns);
	}
	if (step_ns <= 0)
		goto out;
	best = largest_of(d, sum, all);
	c = communication_of(d, sum);
	if (!best && d->startup_ns > wait) {
		say_startup(d, step_ns, text, size);
		what.kind = PP_VERDICT_STARTUP;
	} else if (c.unsplit > wait && (pp_sums_percent(wait, step_ns) > SMALL_WAIT_PERCENT ||
	                                (best == PP_CATEGORY_HOST_COMMUNICATION && most_is_unsplit(&c)))) {
		say_unsplit(d, &c, step_ns, text, size);
		what.kind = PP_VERDICT_UNSPLIT;
	} else if (pp_sums_percent(all[PP_CATEGORY_INPUT], step_ns) > SMALL_WAIT_PERCENT && (busy = loaders_busy(d)) > 0) {
		snprintf(text, size, "Input, %.0f %% of %s. The data-loader workers of all ranks are busy %.0f %% of the time",
		         100.0 * (double)all[PP_CATEGORY_INPUT] / (double)step_ns, whole(d), busy);
		what = (struct pp_verdict_what){.kind = PP_VERDICT_LARGEST, .category = PP_CATEGORY_INPUT};
	} else if (pp_sums_percent(wait, step_ns) > SMALL_WAIT_PERCENT && (stall = stall_of(d, sum, wait, work))) {
		snprintf(text, size,
		         "%s, %.0f %% of %s. It stalls all ranks for longer than they wait for each other (%.0f %% of %s)",
		         pp_category_name(stall), 100.0 * (double)all[stall] / (double)step_ns, whole(d),
		         100.0 * (double)wait / (double)step_ns, whole(d));
		what = (struct pp_verdict_what){.kind = PP_VERDICT_LARGEST, .category = stall};
	} else if (pp_sums_percent(wait, step_ns) > SMALL_WAIT_PERCENT) {
		what = say_late(d, sum, work, wait, step_ns, text, size);
		if (what.kind == PP_VERDICT_UNEXPLAINED && c.transfer > wait) { /* who comes last then is a matter of the network */
			snprintf(text, size, "transfer between ranks, %.0f %% of %s. Ranks wait %.0f %% of %s for each other",
			         100.0 * (double)c.transfer / (double)step_ns, whole(d), 100.0 * (double)wait / (double)step_ns,
			         whole(d));
			what = (struct pp_verdict_what){.kind = PP_VERDICT_LARGEST, .category = PP_CATEGORY_HOST_COMMUNICATION};
		}
	} else if (is_unseen(d)) {
		say_unseen(d, all, best, step_ns, text, size);
		what = (struct pp_verdict_what){.kind = PP_VERDICT_UNSEEN, .category = best};
	} else {
		say_largest(d, all, best, step_ns, &c, text, size);
		what = (struct pp_verdict_what){.kind = PP_VERDICT_LARGEST, .category = best};
	}
out:
	free(sum);
	free(work);
	return what;
}
