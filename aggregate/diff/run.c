/* Reduces datasets to series of steps for comparison; see run.h. */
#include "aggregate/diff/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/rank_list.h"

static int has(const struct pp_dataset *d, int32_t rank)
{
	const size_t w = pp_dataset_worker(d, rank);

	return w != SIZE_MAX && !pp_worker_is_missing(&d->worker[w]);
}

static int is_in_all(const struct pp_dataset *const *d, size_t runs, int32_t rank, int64_t other)
{
	int is_in = other >= INT32_MIN && other <= INT32_MAX && has(d[0], rank);

	for (size_t r = 1; r < runs && is_in; r++)
		is_in = has(d[r], (int32_t)other);
	return is_in;
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

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the text */
static void put_ranks(const struct pp_diff_shared *s, uint32_t group, char *to, size_t size)
{
	struct pp_rank_text text = {.to = to, .size = size};

	for (size_t i = 0; i < s->ranks; i++)
		if (is_in(s, i, group))
			pp_rank_text_add(&text, s->rank[i]);
	pp_rank_text_end(&text);
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

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the text */
static void put_left(const struct pp_dataset *d, const struct pp_diff_shared *s, int is_first, char *to)
{
	struct pp_rank_text text = {.to = to, .size = PP_DIFF_LIST};

	for (size_t w = 0; w < d->workers; w++)
		if (pp_diff_shared_find(s, is_first, d->worker[w].rank) == SIZE_MAX)
			pp_rank_text_add(&text, d->worker[w].rank);
	pp_rank_text_end(&text);
}

int pp_diff_share(const struct pp_dataset *const *d, size_t runs, const struct pp_diff_map *map, struct pp_diff_shared *ret_shared)
{
	struct pp_diff_shared s = {.rank = calloc(d[0]->workers + 1, sizeof(*s.rank)),
	                           .other = calloc(d[0]->workers + 1, sizeof(*s.other)),
	                           .group_of = calloc(d[0]->workers + 1, sizeof(*s.group_of)),
	                           .group = calloc(PP_DIFF_ROLES_MOST + 1, sizeof(*s.group)),
	                           .map = map};

	if (!s.rank || !s.other || !s.group_of || !s.group) {
		pp_diff_shared_release(&s);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d[0]->workers; w++) {
		const int32_t rank = d[0]->worker[w].rank;
		const int64_t other = pp_diff_map_rank(map, rank);

		if (!is_in_all(d, runs, rank, other) || (s.ranks && rank <= s.rank[s.ranks - 1])) /* a damaged file's order */
			continue;
		s.rank[s.ranks] = rank;
		s.other[s.ranks++] = (int32_t)other;
	}
	make_groups(d[0], &s);
	put_left(d[0], &s, 1, s.left[0]);
	put_left(d[runs - 1], &s, 0, s.left[1]);
	*ret_shared = s;
	return 0;
}

void pp_diff_shared_release(struct pp_diff_shared *shared)
{
	free(shared->group);
	free(shared->group_of);
	free(shared->other);
	free(shared->rank);
}

size_t pp_diff_shared_find(const struct pp_diff_shared *shared, int is_first, int32_t rank)
{
	const int is_sorted = is_first || !shared->map->ranges;
	const int32_t *at = NULL;

	if (shared->ranks && is_sorted)
		at = bsearch(&rank, shared->rank, shared->ranks, sizeof(rank), pp_compare_int32);
	for (size_t i = 0; i < shared->ranks && !is_sorted; i++)
		if (shared->other[i] == rank)
			return i;
	return at ? (size_t)(at - shared->rank) : SIZE_MAX;
}

int pp_diff_run_is_same(const struct pp_diff_run *a, const struct pp_diff_run *b)
{
	const struct pp_dataset *x = &a->d, *y = &b->d;

	return x->session[0] && !strcmp(x->session, y->session) && x->epoch_realtime_ns == y->epoch_realtime_ns &&
	       x->window_begin_ns == y->window_begin_ns && x->window_end_ns == y->window_end_ns && x->workers == y->workers;
}

const char *pp_diff_quantity_name(int quantity)
{
	return quantity == PP_DIFF_STEP       ? "step"
	       : quantity == PP_DIFF_WAIT     ? "wait"
	       : quantity == PP_DIFF_TRANSFER ? "transfer"
	                                      : pp_category_name(quantity);
}

/* What the rank did itself: waiting for others is taken out of its communication. Where waiting is unknown, so is the rest. */
static void put_own(const struct pp_row_cell *c, double peers, double *own)
{
	double wait = pp_known_real(c->wait_ns);

	own[0] = (double)c->step_ns;
	for (int k = 1; k <= PP_CATEGORIES; k++) {
		double value = (double)c->exclusive_ns[k];

		if (k == PP_CATEGORY_HOST_COMMUNICATION || k == PP_CATEGORY_DEVICE_COLLECTIVE) {
			const double waited = value > 0 && !(wait > value) ? wait : value;

			value -= waited;
			wait -= waited;
		}
		own[k] = value;
	}
	own[PP_DIFF_LATE] = pp_known_real(c->late_ns) / peers;
	own[PP_DIFF_WAITED] = pp_known_real(c->wait_ns);
}

static int is_there(const struct pp_row_cell *c)
{
	return c->present && c->step_ns >= 0;
}

struct reduction {
	struct pp_diff_run *run;
	const struct pp_diff_shared *shared;
	size_t *worker;  /* [ranks] of the run; SIZE_MAX: the file was replaced meanwhile */
	uint32_t *group; /* [workers]: of the shared rank; 0: none */
	struct {
		double sum[PP_DIFF_QUANTITIES];     /* over the ranks of one step */
		uint32_t ranks[PP_DIFF_QUANTITIES]; /* that have the step, and of which this is known */
	} * of;                                     /* [groups] */
	double *room;                               /* [max(3, PP_DIFF_OWN + 1) * steps] */
};

static void add_cell(struct reduction *r, uint32_t group, const struct pp_row_cell *c)
{
	double value[PP_DIFF_QUANTITIES] = {[PP_DIFF_STEP] = (double)c->step_ns,
	                                    [PP_DIFF_WAIT] = pp_known_real(c->wait_ns),
	                                    [PP_DIFF_TRANSFER] = pp_known_real(c->transfer_ns)};

	for (int k = 1; k <= PP_CATEGORIES; k++)
		value[k] = (double)c->exclusive_ns[k];
	for (int q = 0; q < PP_DIFF_QUANTITIES; q++) {
		if (isnan(value[q]))
			continue;
		r->of[group].sum[q] += value[q];
		r->of[group].ranks[q]++;
	}
}

/* Lists the step, if a rank has it. */
static void add_step(struct reduction *r, size_t step)
{
	struct pp_diff_run *run = r->run;
	const size_t groups = r->shared->groups, all = run->d.steps;
	double longest = -1;

	memset(r->of, 0, groups * sizeof(*r->of));
	for (size_t w = 0; w < run->d.workers; w++) {
		const struct pp_row_cell *c = &run->d.cell[step * run->d.workers + w];

		if (!is_there(c))
			continue;
		run->rank_steps++;
		longest = fmax(longest, (double)c->step_ns);
		add_cell(r, 0, c);
		if (r->group[w] && r->group[w] < groups)
			add_cell(r, r->group[w], c);
	}
	if (longest < 0)
		return;
	run->step[run->steps] = step;
	run->series[groups * PP_DIFF_QUANTITIES * all + run->steps] = longest;
	for (size_t g = 0; g < groups; g++)
		for (size_t q = 0; q < PP_DIFF_QUANTITIES; q++)
			run->series[(g * PP_DIFF_QUANTITIES + q) * all + run->steps] =
			        r->of[g].ranks[q] ? r->of[g].sum[q] / r->of[g].ranks[q] : (double)NAN;
	run->steps++;
}

/* The usual steps are those after the last change that are not exceptional. */
static void find_usual(struct reduction *r)
{
	struct pp_diff_run *run = r->run;
	const size_t n = run->steps;
	const double *slowest = run->series + r->shared->groups * PP_DIFF_QUANTITIES * run->d.steps;
	struct pp_series *s = &run->course;

	pp_series_of(slowest, n, 0, r->room, run->is_usual, s);
	run->is_ending = n > 1 && run->is_usual[n - 1] && run->is_usual[n - 2];
	for (size_t i = 0; i < n; i++) {
		const int is_short = s->rare == PP_RARE_PERIODIC && s->period <= 4 && i % s->period == s->first_rare % s->period;

		run->is_usual[i] = (uint8_t)(i < s->onset        ? PP_DIFF_NOT_USUAL
		                             : !run->is_usual[i] ? PP_DIFF_USUAL
		                             : is_short          ? PP_DIFF_SHORT
		                                                 : PP_DIFF_NOT_USUAL);
		run->usual += run->is_usual[i] == PP_DIFF_USUAL;
	}
}

/* Own times of a shared rank in usual steps. */
static void find_own(struct reduction *r, size_t rank)
{
	struct pp_diff_run *run = r->run;
	const size_t all = run->d.steps, w = r->worker[rank];
	const double peers = run->d.workers > 1 ? (double)(run->d.workers - 1) : 1;
	double *series = r->room + all, own[PP_DIFF_OWN];
	size_t n[PP_DIFF_OWN] = {0};

	for (size_t i = 0; i < run->steps && w != SIZE_MAX; i++) {
		const struct pp_row_cell *c = &run->d.cell[run->step[i] * run->d.workers + w];

		if (run->is_usual[i] != PP_DIFF_USUAL || !is_there(c))
			continue;
		put_own(c, peers, own);
		for (size_t q = 0; q < PP_DIFF_OWN; q++)
			if (!isnan(own[q]))
				series[q * all + n[q]++] = own[q];
	}
	for (size_t q = 0; q < PP_DIFF_OWN; q++)
		pp_noise_middle((struct pp_noise_series){series + q * all, n[q]}, r->room, &run->own[rank][q]);
}

static int reduce(struct pp_diff_run *run, const struct pp_diff_shared *s, int is_first)
{
	struct reduction r = {.run = run,
	                      .shared = s,
	                      .worker = calloc(s->ranks + 1, sizeof(*r.worker)),
	                      .group = calloc(run->d.workers + 1, sizeof(*r.group)),
	                      .of = calloc(s->groups + 1, sizeof(*r.of)),
	                      .room = calloc((PP_DIFF_OWN + 1) * run->d.steps + 1, sizeof(*r.room))};
	const int rc = r.worker && r.group && r.of && r.room ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < s->ranks; i++) {
		r.worker[i] = pp_dataset_worker(&run->d, is_first ? s->rank[i] : s->other[i]);
		if (r.worker[i] != SIZE_MAX)
			r.group[r.worker[i]] = s->group_of[i];
	}
	for (size_t step = 0; !rc && step < run->d.steps; step++)
		add_step(&r, step);
	if (!rc)
		find_usual(&r);
	for (size_t i = 0; !rc && i < s->ranks; i++)
		find_own(&r, i);
	free(r.room);
	free(r.of);
	free(r.group);
	free(r.worker);
	return rc;
}

void pp_diff_middle(const struct pp_diff_run *run, size_t group, int quantity, enum pp_diff_usual least,
                    void (*find)(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle), double *room,
                    struct pp_noise_middle *ret_middle)
{
	const double *value = run->series + (group * PP_DIFF_QUANTITIES + (size_t)quantity) * run->d.steps;
	size_t n = 0;

	for (size_t i = 0; i < run->steps; i++)
		if (run->is_usual[i] >= least && !isnan(value[i]))
			room[n++] = value[i];
	find((struct pp_noise_series){room, n}, room + run->steps, ret_middle);
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
		if (a->sample_run_queue_ns <= 0 || b->sample_time_ns <= a->sample_time_ns ||
		    b->sample_run_queue_ns < a->sample_run_queue_ns)
			continue;
		sum += fmin(1, (double)(b->sample_run_queue_ns - a->sample_run_queue_ns) /
		                       ((double)b->sample_time_ns - (double)a->sample_time_ns));
		known++;
	}
	return known ? sum / (double)known : -1;
}

int pp_diff_run_init(struct pp_diff_run *run, const char *given, struct pp_dataset *d, const struct pp_diff_shared *shared,
                     int is_first)
{
	int rc = -ENOMEM;

	*run = (struct pp_diff_run){.given = given, .d = *d, .queue = queue_of(d)};
	run->step = calloc(d->steps + 1, sizeof(*run->step));
	run->is_usual = calloc(d->steps + 1, sizeof(*run->is_usual));
	run->series = calloc((shared->groups * PP_DIFF_QUANTITIES + 1) * d->steps + 1, sizeof(*run->series));
	run->own = calloc(shared->ranks + 1, sizeof(*run->own));
	if (run->step && run->is_usual && run->series && run->own)
		rc = reduce(run, shared, is_first);
	free(run->d.cell);
	run->d.cell = NULL;
	if (rc)
		pp_diff_run_release(run);
	return rc;
}

void pp_diff_run_release(struct pp_diff_run *run)
{
	free(run->own);
	free(run->series);
	free(run->is_usual);
	free(run->step);
	pp_dataset_release(&run->d);
}
