/* Separates the runs of a spool by the headers of its rings and the times of their records; see runs.h. */
#include "aggregate/keeper/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP_NS INT64_C(60000000000)

enum { NO_RUN = UINT32_MAX };

/* A life is the time from a ring's begin to its last record. Rings whose lives overlap, directly or through others, are a group. */
struct finder {
	const struct pp_rings *r;
	size_t rings;
	size_t *group; /* [rings] lowest ring of its group; SIZE_MAX: excluded */
	int64_t *last; /* [rings] tick */
	uint32_t *run; /* [rings] */
	uint32_t runs;
};

static const struct pp_ring_header *head(const struct finder *f, size_t ring)
{
	return pp_rings_header(f->r, ring);
}

static int same_boot(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

static int same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return same_boot(a, b) && a->tick_kind == b->tick_kind && !memcmp(a->timens_ns, b->timens_ns, sizeof(a->timens_ns));
}

static int same_process(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return same_boot(a, b) && a->pid == b->pid && a->pid_space == b->pid_space && a->start_time == b->start_time;
}

/* Of one spool: other spools may be of hosts that have one name. */
static int same_host(const struct finder *f, size_t a, size_t b)
{
	const char *x = pp_rings_path(f->r, a), *y = pp_rings_path(f->r, b);
	size_t spool = (size_t)(strrchr(x, '/') - x);

	return (size_t)(strrchr(y, '/') - y) == spool && !memcmp(x, y, spool) &&
	       !strncmp(head(f, a)->host, head(f, b)->host, sizeof(head(f, a)->host));
}

/* A host does not boot during a job, nor get another podprof. */
static int is_other_install(const struct finder *f, size_t a, size_t b)
{
	const struct pp_ring_header *x = head(f, a), *y = head(f, b);

	return same_host(f, a, b) &&
	       (!same_boot(x, y) || strncmp(x->podprof_version, y->podprof_version, sizeof(x->podprof_version)) != 0);
}

static int lives_overlap(const struct finder *f, size_t a, size_t b)
{
	const struct pp_ring_header *x = head(f, a), *y = head(f, b);

	return same_clock(x, y) && !is_other_install(f, a, b) && (int64_t)x->open_tick <= f->last[b] &&
	       (int64_t)y->open_tick <= f->last[a];
}

static void join_groups(struct finder *f, size_t a, size_t b)
{
	size_t keep = a < b ? a : b, drop = a < b ? b : a;

	for (size_t i = 0; keep != drop && i < f->rings; i++)
		if (f->group[i] == drop)
			f->group[i] = keep;
}

static int make_groups(struct finder *f, struct pp_err *err)
{
	for (size_t i = 0; i < f->rings; i++) {
		f->last[i] = pp_rings_last_tick(f->r, i);
		if (f->last[i] < (int64_t)head(f, i)->open_tick)
			f->last[i] = (int64_t)head(f, i)->open_tick;
		f->group[i] = pp_rings_is_excluded(f->r, i) ? SIZE_MAX : i;
	}
	for (size_t i = 0; i < f->rings; i++)
		for (size_t k = 0; k < i && f->group[i] != SIZE_MAX; k++) {
			int same = same_process(head(f, i), head(f, k));

			if (f->group[k] == SIZE_MAX || (!same && !lives_overlap(f, i, k)))
				continue;
			if (!same && head(f, i)->rank == head(f, k)->rank)
				return pp_err_set(err, -EEXIST,
				                  "processes %d and %d were rank %d at the same time, so it holds the rings of two "
				                  "jobs. Move those of one of them (rank-*.ring) into another directory",
				                  head(f, k)->pid, head(f, i)->pid, head(f, i)->rank);
			join_groups(f, f->group[i], f->group[k]);
		}
	return 0;
}

/* May the group of `ring` belong to the run? Then *ret_gap is how long after that, or before it, the group began. */
static int fits(const struct finder *f, size_t ring, uint32_t run, int64_t *ret_gap)
{
	int64_t gap = INT64_MAX;
	int is_known = 0;

	for (size_t i = 0; i < f->rings; i++)
		for (size_t k = 0; k < f->rings && f->group[i] == f->group[ring]; k++) {
			int64_t between = head(f, i)->open_realtime_ns - head(f, k)->open_realtime_ns;

			if (f->run[k] != run)
				continue;
			if (head(f, i)->rank == head(f, k)->rank || is_other_install(f, i, k))
				return 0;
			between = between < 0 ? -between : between;
			gap = between < gap ? between : gap;
			is_known |= same_clock(head(f, i), head(f, k));
		}
	*ret_gap = gap;
	return !is_known || gap < GAP_NS;
}

static void place(struct finder *f, size_t ring)
{
	uint32_t best = f->runs;
	int64_t least = INT64_MAX, gap;

	for (uint32_t run = 0; run < f->runs; run++)
		if (fits(f, ring, run, &gap) && gap <= least) {
			best = run;
			least = gap;
		}
	for (size_t i = 0; i < f->rings; i++)
		if (f->group[i] == f->group[ring])
			f->run[i] = best;
	f->runs += best == f->runs;
}

/* The first ring that has no run yet; SIZE_MAX: all have one. */
static size_t next_ring(const struct finder *f)
{
	size_t next = SIZE_MAX;

	for (size_t i = 0; i < f->rings; i++)
		if (f->group[i] != SIZE_MAX && f->run[i] == NO_RUN &&
		    (next == SIZE_MAX || head(f, i)->open_realtime_ns < head(f, next)->open_realtime_ns))
			next = i;
	return next;
}

static int find(struct finder *f, struct pp_err *err)
{
	size_t ring;
	int rc = make_groups(f, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < f->rings; i++)
		f->run[i] = NO_RUN;
	while ((ring = next_ring(f)) != SIZE_MAX)
		place(f, ring);
	for (size_t i = 0; i < f->rings; i++)
		if (f->run[i] == NO_RUN)
			f->run[i] = f->runs ? f->runs - 1 : 0;
	return (int)f->runs;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): find() writes it */
int pp_runs_find(const struct pp_rings *r, uint32_t *run, struct pp_err *err)
{
	struct finder f = {.r = r, .rings = pp_rings_count(r), .run = run};
	int rc;

	f.group = calloc(f.rings + 1, sizeof(*f.group));
	f.last = calloc(f.rings + 1, sizeof(*f.last));
	rc = f.group && f.last ? find(&f, err) : pp_err_set(err, -ENOMEM, "no memory for %zu rings", f.rings);
	free(f.group);
	free(f.last);
	return rc;
}

static size_t count(const struct pp_rings *r, const uint32_t *run, uint32_t which)
{
	size_t ranks = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		ranks += run[i] == which && !pp_rings_is_excluded(r, i);
	return ranks;
}

uint32_t pp_runs_best(const struct pp_rings *r, const uint32_t *run, uint32_t runs)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < runs; i++)
		if (count(r, run, i) >= count(r, run, best))
			best = i;
	return best;
}
