/* Reduces datasets to series of steps for comparison; see run.h. */
#include "aggregate/diff/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_rank(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int is_in_all(const struct pp_dataset *const *d, size_t runs, int32_t rank)
{
	for (size_t r = 0; r < runs; r++) {
		size_t w = pp_dataset_worker(d[r], rank);

		if (w == SIZE_MAX || pp_worker_is_missing(&d[r]->worker[w]))
			return 0;
	}
	return 1;
}

static int32_t role_of(const struct pp_dataset *d, int32_t rank)
{
	size_t w = pp_dataset_worker(d, rank);
	int32_t role = w == SIZE_MAX ? -1 : d->worker[w].role;

	return role >= 0 && (size_t)role < d->roles ? role : -1;
}

static int is_in(const struct pp_diff_shared *s, size_t rank, uint32_t group)
{
	return !group || s->group_of[rank] == group;
}

/* "0-3, 8" */
static void put_ranks(const struct pp_diff_shared *s, uint32_t group, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ranks; i++) {
		size_t last = i;
		char text[32];

		if (!is_in(s, i, group))
			continue;
		while (last + 1 < s->ranks && is_in(s, last + 1, group) && s->rank[last + 1] == s->rank[last] + 1)
			last++;
		snprintf(text, sizeof(text), last > i ? "%s%d-%d" : "%s%d", n ? ", " : "", s->rank[i], s->rank[last]);
		if (n + strlen(text) + 5 > size) {
			snprintf(to + n, size - n, ", ..");
			return;
		}
		n += (size_t)snprintf(to + n, size - n, "%s", text);
		i = last;
	}
}

/* Index of the role's group, which may be a new one; `groups`: there is no room, or it has none. */
static size_t group_of_role(const struct pp_dataset *d, struct pp_diff_shared *s, int32_t role, int32_t rank)
{
	size_t g = 1;

	while (role >= 0 && g < s->groups && s->group[g].role != role)
		g++;
	if (role < 0 || g > PP_DIFF_ROLES_MOST)
		return SIZE_MAX;
	if (g == s->groups) {
		s->group[g] = (struct pp_diff_group){.role = role, .first = rank};
		snprintf(s->group[g].why, sizeof(s->group[g].why), "%s", d->role[role].why);
		s->groups++;
	}
	return g;
}

/* All ranks, then roles in order of their lowest shared rank. One role is all ranks. */
static void make_groups(const struct pp_dataset *d, struct pp_diff_shared *s)
{
	s->group[0] = (struct pp_diff_group){.role = -1, .first = s->ranks ? s->rank[0] : 0, .ranks = (uint32_t)s->ranks};
	s->groups = 1;
	for (size_t i = 0; i < s->ranks; i++) {
		size_t g = group_of_role(d, s, role_of(d, s->rank[i]), s->rank[i]);

		s->group_of[i] = g == SIZE_MAX ? UINT32_MAX : (uint32_t)g;
		s->ranks_left += g == SIZE_MAX;
		if (g != SIZE_MAX)
			s->group[g].ranks++;
	}
	if (s->groups <= 2 && (s->groups == 1 || !s->ranks_left)) {
		memset(s->group_of, 0, s->ranks * sizeof(*s->group_of));
		s->groups = 1;
		s->ranks_left = 0;
	}
	for (size_t i = 0; i < s->ranks; i++)
		if (s->group_of[i] == UINT32_MAX)
			s->group_of[i] = (uint32_t)s->groups;
	for (uint32_t g = 0; g < s->groups; g++)
		put_ranks(s, g, s->group[g].ranks_text, sizeof(s->group[g].ranks_text));
}

int pp_diff_share(const struct pp_dataset *const *d, size_t runs, struct pp_diff_shared *ret_shared)
{
	struct pp_diff_shared s = {.rank = calloc(d[0]->workers + 1, sizeof(*s.rank)),
	                           .group_of = calloc(d[0]->workers + 1, sizeof(*s.group_of)),
	                           .group = calloc(PP_DIFF_ROLES_MOST + 1, sizeof(*s.group))};
	size_t n = 0;

	if (!s.rank || !s.group_of || !s.group) {
		pp_diff_shared_release(&s);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d[0]->workers; w++)
		if (is_in_all(d, runs, d[0]->worker[w].rank))
			s.rank[n++] = d[0]->worker[w].rank;
	qsort(s.rank, n, sizeof(*s.rank), by_rank);
	for (size_t i = 0; i < n; i++)
		if (!s.ranks || s.rank[i] != s.rank[s.ranks - 1])
			s.rank[s.ranks++] = s.rank[i];
	make_groups(d[0], &s);
	*ret_shared = s;
	return 0;
}

void pp_diff_shared_release(struct pp_diff_shared *shared)
{
	free(shared->group);
	free(shared->group_of);
	free(shared->rank);
}

struct pp_noise_series pp_diff_series(const struct pp_diff_run *run, size_t group, int quantity)
{
	return (struct pp_noise_series){run->series + (group * PP_DIFF_QUANTITIES + (size_t)quantity) * run->d.steps,
	                                run->group_steps[group]};
}

const char *pp_diff_quantity_name(int quantity)
{
	return quantity == PP_DIFF_STEP       ? "step"
	       : quantity == PP_DIFF_WAIT     ? "wait"
	       : quantity == PP_DIFF_TRANSFER ? "transfer"
	                                      : pp_category_name(quantity);
}

/* What the rank did itself: waiting for others is taken out of its communication. */
static void add_own(const struct pp_row_cell *c, double peers, struct pp_diff_rank_part *part)
{
	double wait = (double)c->wait_ns;

	for (int k = 1; k <= PP_CATEGORIES; k++) {
		double own = (double)c->exclusive_ns[k];

		if (k == PP_CATEGORY_HOST_COMMUNICATION || k == PP_CATEGORY_DEVICE_COLLECTIVE) {
			double waited = wait < own ? wait : own;

			own -= waited;
			wait -= waited;
		}
		part->sum[k] += own;
	}
	part->sum[PP_DIFF_STEP] += (double)c->step_ns;
	part->sum[PP_DIFF_LATE] += (double)c->late_ns / peers;
	part->steps++;
}

/* Sums over the shared ranks of one step, by group. */
struct step_sums {
	double (*sum)[PP_DIFF_QUANTITIES]; /* [groups] */
	uint32_t *ranks;                   /* [groups]: that have the step */
};

static void add_cell(const struct pp_row_cell *c, double *sum)
{
	sum[PP_DIFF_STEP] += (double)c->step_ns;
	for (int k = 1; k <= PP_CATEGORIES; k++)
		sum[k] += (double)c->exclusive_ns[k];
	sum[PP_DIFF_WAIT] += (double)c->wait_ns;
	sum[PP_DIFF_TRANSFER] += (double)c->transfer_ns;
}

/* Of one step, if a shared rank has it. */
static void add_step(struct pp_diff_run *run, size_t step, const struct pp_diff_shared *s, const size_t *worker,
                     struct step_sums *sums)
{
	double longest = -1, peers = s->ranks > 1 ? (double)(s->ranks - 1) : 1;

	memset(sums->sum, 0, s->groups * sizeof(*sums->sum));
	memset(sums->ranks, 0, s->groups * sizeof(*sums->ranks));
	for (size_t i = 0; i < s->ranks; i++) {
		const struct pp_row_cell *c = &run->d.cell[step * run->d.workers + (worker[i] == SIZE_MAX ? 0 : worker[i])];
		uint32_t g = s->group_of[i];

		if (worker[i] == SIZE_MAX || !c->present || c->step_ns < 0) /* SIZE_MAX: the file was replaced meanwhile */
			continue;
		run->rank_steps++;
		if ((double)c->step_ns > longest)
			longest = (double)c->step_ns;
		add_own(c, peers, &run->part[i * PP_DIFF_PARTS + step * PP_DIFF_PARTS / run->d.steps]);
		sums->ranks[0]++;
		add_cell(c, sums->sum[0]);
		if (g && g < s->groups) {
			sums->ranks[g]++;
			add_cell(c, sums->sum[g]);
		}
	}
	if (longest < 0)
		return;
	run->slowest[run->steps++] = longest;
	for (size_t g = 0; g < s->groups; g++) {
		if (!sums->ranks[g])
			continue;
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++)
			run->series[(g * PP_DIFF_QUANTITIES + (size_t)q) * run->d.steps + run->group_steps[g]] =
			        sums->sum[g][q] / sums->ranks[g];
		run->group_steps[g]++;
	}
}

static int reduce(struct pp_diff_run *run, const struct pp_diff_shared *s)
{
	size_t *worker = calloc(s->ranks + 1, sizeof(*worker));
	struct step_sums sums = {calloc(s->groups + 1, sizeof(*sums.sum)), calloc(s->groups + 1, sizeof(*sums.ranks))};
	int rc = worker && sums.sum && sums.ranks ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < s->ranks; i++)
		worker[i] = pp_dataset_worker(&run->d, s->rank[i]);
	for (size_t step = 0; !rc && step < run->d.steps; step++)
		add_step(run, step, s, worker, &sums);
	free(sums.ranks);
	free(sums.sum);
	free(worker);
	return rc;
}

/* Rows are by rank and time. */
static double queue_of(const struct pp_dataset *d)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0, last; i < d->process_samples; i = last + 1) {
		const struct pp_row_process_sample *a = &d->process_sample[i], *b;

		for (last = i; last + 1 < d->process_samples && d->process_sample[last + 1].sample_worker == a->sample_worker;)
			last++;
		b = &d->process_sample[last];
		if (!b->sample_run_queue_ns || b->sample_time_ns <= a->sample_time_ns ||
		    b->sample_run_queue_ns < a->sample_run_queue_ns)
			continue;
		sum += fmin(1, (double)(b->sample_run_queue_ns - a->sample_run_queue_ns) /
		                       ((double)b->sample_time_ns - (double)a->sample_time_ns));
		known++;
	}
	return known ? sum / (double)known : -1;
}

int pp_diff_run_init(struct pp_diff_run *run, const char *given, struct pp_dataset *d, const struct pp_diff_shared *shared)
{
	size_t groups = shared->groups;
	int rc = -ENOMEM;

	*run = (struct pp_diff_run){.given = given, .d = *d, .queue = queue_of(d)};
	run->slowest = calloc(d->steps + 1, sizeof(*run->slowest));
	run->series = calloc(groups * PP_DIFF_QUANTITIES * d->steps + 1, sizeof(*run->series));
	run->group_steps = calloc(groups + 1, sizeof(*run->group_steps));
	run->part = calloc(shared->ranks * PP_DIFF_PARTS + 1, sizeof(*run->part));
	if (run->slowest && run->series && run->group_steps && run->part)
		rc = reduce(run, shared);
	free(run->d.cell);
	run->d.cell = NULL;
	if (rc)
		pp_diff_run_release(run);
	return rc;
}

void pp_diff_run_release(struct pp_diff_run *run)
{
	free(run->part);
	free(run->group_steps);
	free(run->series);
	free(run->slowest);
	pp_dataset_release(&run->d);
}
