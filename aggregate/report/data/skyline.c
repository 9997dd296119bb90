/* Writes the memory skyline: memory of all ranks at the same instants, their sum and their largest, and of each rank its
 * peak, its limit and its growth. Of processes, of what PyTorch's allocator holds, and of each allocator. Called by report.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/page.h"
#include "core/base/compare.h"
#include "core/ring/intern.h"

enum { MOST_INSTANTS = 240, MOST_ALLOCATORS = 8, MOST_DEVICES = 1 << 16, LEAST_POINTS = 4 };
static const double NEAR = 0.95; /* of a rank's own peak */

struct point {
	int64_t series; /* worker's index, and device */
	size_t order;   /* of the rows of one instant the last counts */
	double x, bytes;
};

enum { SUM, MOST, MOST_RANK, CLOSE, CHANGING, KNOWN, INSTANT, LINES };
enum { RANK, DEVICE, PEAK, PEAK_AT, LEAST, FIRST, LAST, LIMIT, SLOPE, FIT, OF };

struct sky {
	struct pp_page *p;
	struct point *point;
	size_t points, room, series, instants;
	int is_held; /* values hold until the next, else for the longest gap of their series */
	double low, high;
	double *of[OF];      /* [series] */
	double *line[LINES]; /* [instants] */
	int64_t (*limit_of)(const struct sky *s, size_t worker, int64_t device);
	uint32_t name; /* of an allocator */
};

static void add(struct sky *s, int32_t rank, int64_t device, int64_t x, uint64_t bytes)
{
	const size_t w = pp_dataset_worker(&s->p->d, rank);

	if (w == SIZE_MAX || device < 0 || device >= MOST_DEVICES || s->points == s->room)
		return;
	s->point[s->points] = (struct point){(int64_t)w * MOST_DEVICES + device, s->points, (double)x, (double)bytes};
	s->points++;
}

PP_COMPARE_BY_3(by_place, struct point, series, x, order)

/* Growth per unit of x by least squares, and how much of the change it explains, 0 to 1. */
static void fit(const struct point *p, size_t n, double *ret_slope, double *ret_fit)
{
	double x = 0, y = 0, xx = 0, xy = 0, yy = 0;

	*ret_slope = *ret_fit = 0;
	for (size_t i = 0; i < n; i++) {
		x += p[i].x / (double)n;
		y += p[i].bytes / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (p[i].x - x) * (p[i].x - x);
		xy += (p[i].x - x) * (p[i].bytes - y);
		yy += (p[i].bytes - y) * (p[i].bytes - y);
	}
	if (n < LEAST_POINTS || xx <= 0 || yy <= 0)
		return;
	*ret_slope = xy / xx;
	*ret_fit = xy * xy / (xx * yy);
}

static void describe(struct sky *s, const struct point *p, size_t n, size_t at)
{
	const size_t w = (size_t)(p->series / MOST_DEVICES);
	const int64_t device = p->series % MOST_DEVICES, limit = s->limit_of ? s->limit_of(s, w, device) : -1;
	size_t peak = 0, least = 0;

	for (size_t i = 1; i < n; i++) {
		peak = p[i].bytes > p[peak].bytes ? i : peak;
		least = p[i].bytes < p[least].bytes ? i : least;
	}
	s->of[RANK][at] = s->p->d.worker[w].rank;
	s->of[DEVICE][at] = (double)device;
	s->of[PEAK][at] = p[peak].bytes;
	s->of[PEAK_AT][at] = p[peak].x;
	s->of[LEAST][at] = p[least].bytes;
	s->of[FIRST][at] = p[0].bytes;
	s->of[LAST][at] = p[n - 1].bytes;
	s->of[LIMIT][at] = limit > 0 ? (double)limit : -1;
	fit(p, n, &s->of[SLOPE][at], &s->of[FIT][at]);
}

/* Adds a series to the instants at which it is known. */
static void stand(struct sky *s, const struct point *p, size_t n, size_t at)
{
	const int changes = s->of[LEAST][at] < NEAR * s->of[PEAK][at]; /* else it is always near its peak */
	double gap = s->is_held ? INFINITY : 0;
	size_t i = 0;

	for (size_t k = 1; k < n; k++)
		gap = p[k].x - p[k - 1].x > gap ? p[k].x - p[k - 1].x : gap;
	for (size_t k = 0; k < s->instants; k++) {
		const double x = s->line[INSTANT][k];

		while (i + 1 < n && p[i + 1].x <= x)
			i++;
		if (x < p[0].x || x > p[n - 1].x + gap)
			continue;
		s->line[SUM][k] += p[i].bytes;
		s->line[KNOWN][k]++;
		s->line[CHANGING][k] += changes;
		s->line[CLOSE][k] += changes && p[i].bytes >= NEAR * s->of[PEAK][at];
		if (s->line[MOST_RANK][k] < 0 || p[i].bytes > s->line[MOST][k]) {
			s->line[MOST][k] = p[i].bytes;
			s->line[MOST_RANK][k] = s->of[RANK][at];
		}
	}
}

static int make(struct sky *s)
{
	size_t at = 0;

	qsort(s->point, s->points, sizeof(*s->point), by_place);
	s->low = s->high = s->point[0].x;
	for (size_t i = 0; i < s->points; i++) {
		s->series += !i || s->point[i].series != s->point[i - 1].series;
		s->low = s->point[i].x < s->low ? s->point[i].x : s->low;
		s->high = s->point[i].x > s->high ? s->point[i].x : s->high;
	}
	s->instants = MOST_INSTANTS;
	if (s->high - s->low < MOST_INSTANTS) /* steps */
		s->instants = (size_t)(s->high - s->low) + 1;
	for (size_t i = 0; i < OF; i++)
		if (!(s->of[i] = calloc(s->series + 1, sizeof(double))))
			return -ENOMEM;
	for (size_t i = 0; i < LINES; i++)
		if (!(s->line[i] = calloc(s->instants + 1, sizeof(double))))
			return -ENOMEM;
	for (size_t k = 0; k < s->instants; k++) {
		s->line[INSTANT][k] =
		        s->instants > 1 ? s->low + (s->high - s->low) * (double)k / (double)(s->instants - 1) : s->low;
		s->line[MOST_RANK][k] = -1;
	}
	for (size_t i = 0, n; i < s->points; i += n, at++) {
		for (n = 1; i + n < s->points && s->point[i + n].series == s->point[i].series; n++)
			;
		describe(s, &s->point[i], n, at);
		stand(s, &s->point[i], n, at);
	}
	return 0;
}

static void put_reals(struct sky *s, const char *key, int first, const double *v, size_t n)
{
	pp_page_key(s->p, key, first);
	if (pp_json_reals(s->p->to, v, n) && !s->p->code)
		s->p->code = pp_err_set(s->p->err, -ENOMEM, "no memory for the memory of the report");
}

static void put(struct sky *s, const char *kind, const char *name, int *count)
{
	static const char *const of[] = {"rank", "device", "peak", "peak_at", "least", "first", "last", "limit", "slope", "fit"};
	static const char *const line[] = {"sum", "most", "most_rank", "near", "changing", "known", "at"};
	const int code = s->points ? make(s) : 0;

	if (code && !s->p->code)
		s->p->code = pp_err_set(s->p->err, code, "no memory for the memory of the report");
	if (s->points && !s->p->code) {
		fputs((*count)++ ? ",{" : "{", s->p->to);
		pp_page_key(s->p, "kind", 1);
		pp_json_text(s->p->to, kind);
		pp_page_key(s->p, "name", 0);
		pp_json_text(s->p->to, name);
		for (size_t i = 0; i < LINES; i++)
			put_reals(s, line[i], 0, s->line[i], s->instants);
		pp_page_key(s->p, "series", 0);
		fputc('{', s->p->to);
		for (size_t i = 0; i < OF; i++)
			put_reals(s, of[i], !i, s->of[i], s->series);
		fputs("}}", s->p->to);
	}
	for (size_t i = 0; i < OF; i++)
		free(s->of[i]);
	for (size_t i = 0; i < LINES; i++)
		free(s->line[i]);
	free(s->point);
}

static int begin(struct sky *s, struct pp_page *p, size_t room)
{
	*s = (struct sky){.p = p, .room = room, .point = malloc((room + 1) * sizeof(*s->point))};
	if (!s->point && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the memory of the report");
	return s->point != NULL;
}

/* By CUPTI: the total of a rank's device. */
static int64_t device_limit(const struct sky *s, size_t worker, int64_t device)
{
	const struct pp_dataset *d = &s->p->d;
	char name[24];

	snprintf(name, sizeof(name), "GPU_%d", (int)device);
	for (size_t i = 0; i < d->allocators; i++)
		if (d->allocator[i].worker == d->worker[worker].rank &&
		    !strcmp(pp_intern_text(d->names, d->allocator[i].allocator, NULL), name))
			return d->allocator[i].device_bytes;
	return -1;
}

static int64_t allocator_limit(const struct sky *s, size_t worker, int64_t device)
{
	const struct pp_dataset *d = &s->p->d;

	(void)device;
	for (size_t i = 0; i < d->allocators; i++)
		if (d->allocator[i].worker == d->worker[worker].rank && d->allocator[i].allocator == s->name)
			return d->allocator[i].capacity_bytes > 0 ? d->allocator[i].capacity_bytes : d->allocator[i].device_bytes;
	return -1;
}

static void put_processes(struct pp_page *p, int *count)
{
	struct sky s;

	if (!p->d.memories || !begin(&s, p, p->d.memories))
		return;
	for (size_t i = 0; i < p->d.memories; i++)
		add(&s, p->d.memory[i].worker, 0, p->d.memory[i].time_ns,
		    p->d.memory[i].rss_bytes + p->d.memory[i].children_rss_bytes);
	put(&s, "process", "Resident memory of processes and their children", count);
}

static void put_torch(struct pp_page *p, int *count)
{
	struct sky s;

	if (!p->d.torch_memories || !begin(&s, p, p->d.torch_memories))
		return;
	s.limit_of = device_limit;
	for (size_t i = 0; i < p->d.torch_memories; i++)
		add(&s, p->d.torch_memory[i].worker, p->d.torch_memory[i].device, p->d.torch_memory[i].step,
		    p->d.torch_memory[i].reserved_bytes);
	put(&s, "torch", "Held by PyTorch's allocator, by device", count);
}

static void put_allocator(struct pp_page *p, uint32_t name, int *count)
{
	struct sky s;

	if (!begin(&s, p, p->d.memory_timelines))
		return;
	s.limit_of = allocator_limit;
	s.is_held = 1;
	s.name = name;
	for (size_t i = 0; i < p->d.memory_timelines; i++)
		if (p->d.memory_timeline[i].allocator == name && p->d.memory_timeline[i].in_use_bytes >= 0)
			add(&s, p->d.memory_timeline[i].worker, 0, p->d.memory_timeline[i].time_ns,
			    (uint64_t)p->d.memory_timeline[i].in_use_bytes);
	put(&s, "allocator", pp_intern_text(p->d.names, name, NULL), count);
}

void pp_page_skyline(struct pp_page *p)
{
	uint32_t name[MOST_ALLOCATORS];
	size_t names = 0, k;
	int count = 0;

	pp_page_key(p, "skyline", 0);
	fputc('[', p->to);
	put_processes(p, &count);
	put_torch(p, &count);
	for (size_t i = 0; i < p->d.memory_timelines; i++) {
		for (k = 0; k < names && name[k] != p->d.memory_timeline[i].allocator; k++)
			;
		if (k < names)
			continue;
		if (names == MOST_ALLOCATORS) {
			pp_page_note(p, "The memory skyline has the first %d allocators. pod.h5 has all.", MOST_ALLOCATORS);
			break;
		}
		name[names++] = p->d.memory_timeline[i].allocator;
		put_allocator(p, p->d.memory_timeline[i].allocator, &count);
	}
	fputc(']', p->to);
}
