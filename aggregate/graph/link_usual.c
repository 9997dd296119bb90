/* Compares links with each other; see link_usual.h. Called by link.c. */
#include "aggregate/graph/link_usual.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/select.h"

#define SIGMA_OF_MEDIAN 1.4826
#define CHANCE 0.001
#define NS_PER_S 1e9

enum { SURE = 4, TIMES = 2, FEW = 16, SIZES = 64 };

struct entry { /* a size with a time; those of a kind and class stand together, by time */
	uint32_t kind_class, size;
	int64_t ns;
};

struct usual {
	struct pp_link_times *t;
	struct entry *entry;
	size_t entries;
	size_t *place;  /* [sizes] index of its entry */
	int64_t *ns;    /* [entries] */
	uint64_t *over; /* [links] samples beyond the limit, and all that were compared */
	uint64_t *all;
};

PP_COMPARE_BY_3(by_time, struct entry, kind_class, ns, size)

static void list_entries(struct usual *u)
{
	const struct pp_link_times *t = u->t;

	for (uint32_t i = 0; i < t->sizes; i++) {
		const struct pp_link_size *s = &t->size[i];

		if (s->time_ns < 0)
			continue;
		u->entry[u->entries++] =
		        (struct entry){(uint32_t)t->g->link[s->link].between_hosts * 128 + s->class, i, s->time_ns};
	}
	if (u->entries)
		qsort(u->entry, u->entries, sizeof(*u->entry), by_time);
	for (size_t i = 0; i < u->entries; i++)
		u->place[u->entry[i].size] = i;
}

/* Entry of the same class on the way back; SIZE_MAX: none. */
static size_t way_back(const struct usual *u, const struct pp_link_size *s)
{
	const struct pp_link_times *t = u->t;
	const struct pp_link *l = &t->g->link[s->link];
	const uint32_t back = pp_link_times_find(u->t, l->destination, l->source);

	for (uint32_t at = back == PP_GRAPH_NONE ? 0 : t->first[back]; at; at = t->size[at - 1].next)
		if (t->size[at - 1].class == s->class && t->size[at - 1].time_ns >= 0)
			return u->place[at - 1];
	return SIZE_MAX;
}

/* Median of entries [first, next) but two; -1: there are no others. */
static int64_t median_of_others(const struct usual *u, size_t first, size_t next, size_t a, size_t b)
{
	const size_t low = a < b ? a : b, high = a < b ? b : a;
	size_t n = next - first - 1 - (b != SIZE_MAX), at;

	if (!n)
		return -1;
	at = first + (n - 1) / 2;
	at += at >= low;
	at += at >= high && b != SIZE_MAX;
	return u->entry[at].ns;
}

static double deviation(struct usual *u, size_t first, size_t next, size_t a, size_t b, int64_t usual_ns)
{
	size_t n = 0;

	for (size_t i = first; i < next; i++)
		if (i != a && i != b)
			u->ns[n++] = llabs(u->entry[i].ns - usual_ns);
	return n ? SIGMA_OF_MEDIAN * (double)pp_select_int64(u->ns, n, n / 2) : 0;
}

static void count_over(struct usual *u, const struct pp_link_size *s, double limit)
{
	for (uint32_t i = 0; i < s->samples; i++)
		u->over[s->link] += (double)s->sample[i] > limit;
	u->all[s->link] += s->samples;
}

/* Entries of one kind and class. Many links have the deviation of all of them. */
static void compare_group(struct usual *u, size_t first, size_t next)
{
	const double all = deviation(u, first, next, SIZE_MAX, SIZE_MAX, u->entry[first + (next - first - 1) / 2].ns);

	for (size_t i = first; i < next; i++) {
		struct pp_link_size *s = &u->t->size[u->entry[i].size];
		const size_t back = way_back(u, s);
		double sigma;

		s->usual_ns = median_of_others(u, first, next, i, back);
		if (s->usual_ns < 0)
			continue;
		sigma = next - first > FEW ? all : deviation(u, first, next, i, back, s->usual_ns);
		count_over(u, s,
		           (double)TIMES * (double)s->usual_ns + SURE * sigma + TIMES * (double)u->t->g->link[s->link].error_ns);
	}
}

/* Logarithm of a bound of the chance that k of n are over, where a part `p` of all are (Chernoff). */
static double log_chance(double k, double n, double p)
{
	const double part = k / n;

	if (part <= p)
		return 0;
	return -n * (part * log(part / p) + (part < 1 ? (1 - part) * log((1 - part) / (1 - p)) : 0));
}

static void set_states(struct usual *u)
{
	struct pp_graph *g = u->t->g;
	uint64_t over[2] = {0}, all[2] = {0}, links[2] = {0};

	for (size_t i = 0; i < g->links; i++) {
		over[g->link[i].between_hosts] += u->over[i];
		all[g->link[i].between_hosts] += u->all[i];
		links[g->link[i].between_hosts]++;
	}
	for (size_t i = 0; i < g->links; i++) {
		struct pp_link *l = &g->link[i];
		const int kind = l->between_hosts;
		const double k = (double)u->over[i], n = (double)u->all[i];
		const double p = ((double)over[kind] - k + 1) / ((double)all[kind] - n + 2);

		if (!l->seen)
			l->state = PP_LINK_UNKNOWN;
		else if (!u->all[i])
			l->state = PP_LINK_ALONE;
		else
			l->state =
			        2 * k > n && log_chance(k, n, p) < log(CHANCE / (double)links[kind]) ? PP_LINK_SLOW : PP_LINK_USUAL;
	}
}

/* Standard error of a size's median. */
static double error_of(struct pp_link_size *s)
{
	int64_t off[PP_LINK_SAMPLES];

	for (uint32_t i = 0; i < s->samples; i++)
		off[i] = llabs(s->sample[i] - s->time_ns);
	return SIGMA_OF_MEDIAN * (double)pp_select_int64(off, s->samples, s->samples / 2) / sqrt(s->samples);
}

struct point { /* of a size */
	double bytes, ns;
};

/* The median of the slopes between each two sizes, ns per byte. */
static double slope_of(const struct point *p, size_t n)
{
	double slope[SIZES * SIZES / 2];
	size_t slopes = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			slope[slopes++] = (p[i].ns - p[k].ns) / (p[i].bytes - p[k].bytes);
	/* cppcheck-suppress uninitvar ; there are two points at least */
	qsort(slope, slopes, sizeof(*slope), pp_compare_double);
	return slope[(slopes - 1) / 2];
}

/* Latency and bandwidth from times that rise with the size by more than their errors; else what is known without. */
static void fit(struct pp_link_times *t, uint32_t link)
{
	struct pp_link *l = &t->g->link[link];
	struct pp_link_size *low = NULL, *high = NULL;
	struct point point[SIZES];
	double rest[SIZES], slope;
	size_t n = 0;

	for (uint32_t at = t->first[link]; at && n < SIZES; at = t->size[at - 1].next) {
		struct pp_link_size *s = &t->size[at - 1];

		if (s->time_ns < 0)
			continue;
		point[n++] = (struct point){(double)s->bytes / (double)s->seen, (double)s->time_ns};
		low = !low || s->class < low->class ? s : low;
		high = !high || s->class > high->class ? s : high;
	}
	if (low && !low->class)
		l->latency_ns = low->time_ns;
	if (n < 2 || (double)(high->time_ns - low->time_ns) <= 2 * (error_of(high) + error_of(low)))
		return;
	slope = slope_of(point, n);
	if (slope <= 0)
		return;
	for (size_t i = 0; i < n; i++)
		rest[i] = point[i].ns - slope * point[i].bytes;
	qsort(rest, n, sizeof(*rest), pp_compare_double);
	l->bandwidth = NS_PER_S / slope;
	l->latency_ns = rest[(n - 1) / 2] > 0 ? (int64_t)rest[(n - 1) / 2] : 0;
}

static void describe(struct pp_link_times *t, uint32_t link)
{
	struct pp_link *l = &t->g->link[link];
	const struct pp_link_size *most = NULL;

	l->latency_ns = l->time_ns = l->usual_ns = -1;
	l->bandwidth = -1;
	for (uint32_t at = t->first[link]; at; at = t->size[at - 1].next) {
		const struct pp_link_size *s = &t->size[at - 1];

		l->seen += s->seen;
		if (s->seen && (!most || s->seen > most->seen))
			most = s;
	}
	if (!most)
		return;
	l->time_ns = most->time_ns;
	l->usual_ns = most->usual_ns;
	l->bytes = most->bytes / most->seen;
	fit(t, link);
}

int pp_link_usual_set(struct pp_link_times *t)
{
	const size_t links = t->g->links;
	struct usual u = {.t = t,
	                  .entry = malloc((t->sizes + 1) * sizeof(*u.entry)),
	                  .place = malloc((t->sizes + 1) * sizeof(*u.place)),
	                  .ns = malloc((t->sizes + 1) * sizeof(*u.ns)),
	                  .over = calloc(links + 1, sizeof(*u.over)),
	                  .all = calloc(links + 1, sizeof(*u.all))};
	const int rc = u.entry && u.place && u.ns && u.over && u.all ? 0 : -ENOMEM;

	if (!rc) {
		list_entries(&u);
		for (size_t i = 0, next; i < u.entries; i = next) {
			next = i;
			while (next < u.entries && u.entry[next].kind_class == u.entry[i].kind_class)
				next++;
			compare_group(&u, i, next);
		}
		for (uint32_t i = 0; i < links; i++)
			describe(t, i);
		set_states(&u);
	}
	free(u.entry);
	free(u.place);
	free(u.ns);
	free(u.over);
	free(u.all);
	return rc;
}
