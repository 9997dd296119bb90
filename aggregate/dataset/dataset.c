/* Looks up rows of a dataset, and derives values from its tables; see dataset.h. */
#include "aggregate/dataset/dataset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/base/rank_list.h"
#include "core/base/wrap.h"

struct pp_row_channel *pp_dataset_channel(const struct pp_dataset *d, int32_t source, int32_t destination)
{
	const size_t at = PP_PARTITION(d->channels, i,
	                               d->channel[i].source < source ||
	                                       (d->channel[i].source == source && d->channel[i].destination < destination));

	return at < d->channels && d->channel[at].source == source && d->channel[at].destination == destination ? &d->channel[at]
	                                                                                                        : NULL;
}

const struct pp_row_communicator *pp_dataset_communicator(const struct pp_dataset *d, uint64_t id)
{
	const size_t low = PP_PARTITION(d->communicators, at, d->communicator[at].id < id);

	return low < d->communicators && d->communicator[low].id == id ? &d->communicator[low] : NULL;
}

size_t pp_dataset_worker(const struct pp_dataset *d, int32_t rank)
{
	size_t low;

	/* Mostly ranks have no gaps. */
	if (rank >= 0 && (size_t)rank < d->workers && d->worker[rank].rank == rank)
		return (size_t)rank;
	low = PP_PARTITION(d->workers, at, d->worker[at].rank < rank);
	return low < d->workers && d->worker[low].rank == rank ? low : SIZE_MAX;
}

struct clock_group {
	const struct pp_row_worker *worker;
	size_t group;
};

static int compare_clock(const struct pp_row_worker *x, const struct pp_row_worker *y)
{
	int order = strcmp(x->clock, y->clock);

	if (order || x->clock[0])
		return order;
	return (x->domain > y->domain) - (x->domain < y->domain);
}

PP_COMPARE(compare_group, struct clock_group, compare_clock(x->worker, y->worker) ?: PP_UP(worker))

PP_COMPARE(compare_host, char *const, strcmp(*x, *y))

/* Without memory some hosts count more than once: those whose ranks do not follow each other. */
size_t pp_dataset_hosts(const struct pp_dataset *d)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a host */
	const char **host = calloc(d->workers + 1, sizeof(*host)), *before = "";
	size_t hosts = 0, n = 0;

	for (size_t i = 0; i < d->workers; i++) {
		if (!d->worker[i].host[0] || !strcmp(before, d->worker[i].host))
			continue;
		before = d->worker[i].host;
		n++;
		if (host)
			host[n - 1] = before;
	}
	if (!host)
		return n;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the pointers */
	qsort(host, n, sizeof(*host), compare_host);
	for (size_t i = 0; i < n; i++)
		hosts += !i || strcmp(host[i - 1], host[i]) != 0;
	/* NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): the pointers, not what they point to */
	free(host);
	return hosts;
}

int32_t pp_dataset_domains(const struct pp_dataset *d)
{
	int32_t domains = 0;

	for (size_t w = 0; w < d->workers; w++)
		if (!pp_worker_is_missing(&d->worker[w]) && d->worker[w].domain >= domains && d->worker[w].domain < INT32_MAX)
			domains = d->worker[w].domain + 1;
	return domains;
}

struct peers {
	int32_t domain;
	int known;
	size_t worker;
};

PP_COMPARE_BY(compare_peers, struct peers, domain)

size_t pp_dataset_peers(const struct pp_dataset *d, size_t worker)
{
	size_t peers = 0;

	for (size_t w = 0; w < d->workers && worker < d->workers; w++)
		peers += w != worker && !pp_worker_is_missing(&d->worker[w]) &&
		         (d->device_between_clocks || d->worker[w].domain == d->worker[worker].domain);
	return peers;
}

int pp_dataset_count_peers(const struct pp_dataset *d, size_t *ret_peers)
{
	struct peers *one = calloc(d->workers + 1, sizeof(*one));
	size_t known = 0;

	if (!one)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		one[w] =
		        (struct peers){d->device_between_clocks ? 0 : d->worker[w].domain, !pp_worker_is_missing(&d->worker[w]), w};
	qsort(one, d->workers, sizeof(*one), compare_peers);
	for (size_t i = 0, n; i < d->workers; i += n) {
		known = 0;
		for (n = 0; i + n < d->workers && one[i + n].domain == one[i].domain; n++)
			known += (size_t)one[i + n].known;
		for (size_t k = i; k < i + n; k++)
			ret_peers[one[k].worker] = known - (size_t)one[k].known;
	}
	free(one);
	return 0;
}

/* Error of its times against job time: that of its own line, and that of its host's clock comparison. */
static int64_t bound_of(const struct pp_dataset *d, const struct pp_row_worker *w)
{
	int64_t bound;

	if (!w->host_clock)
		return w->own_bound_ns;
	return __builtin_add_overflow(w->own_bound_ns, d->host_clock[w->host_clock - 1].host_bound_ns, &bound) ? PP_BOUND_UNKNOWN
	                                                                                                       : bound;
}

int pp_dataset_clocks(struct pp_dataset *d)
{
	struct clock_group *one = calloc(d->workers + 1, sizeof(*one));
	int32_t *domain = calloc(d->workers + 1, sizeof(*domain)), *of_group = calloc(d->workers + 1, sizeof(*of_group)),
	        domains = 0;
	const struct pp_row_worker *first = NULL;

	if (!one || !domain || !of_group) {
		free(one);
		free(domain);
		free(of_group);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d->workers; w++)
		one[w].worker = &d->worker[w];
	qsort(one, d->workers, sizeof(*one), compare_group);
	for (size_t i = 1; i < d->workers; i++)
		one[i].group = one[i - 1].group + (compare_clock(one[i - 1].worker, one[i].worker) != 0);
	for (size_t i = 0; i < d->workers; i++)
		domain[one[i].worker - d->worker] = (int32_t)one[i].group;
	for (size_t w = 0; w < d->workers; w++) {
		int32_t *number = &of_group[domain[w]];

		if (d->worker[w].domain < 0)
			continue;
		if (!*number)
			*number = ++domains;
		d->worker[w].domain = *number - 1;
	}
	free(one);
	free(domain);
	free(of_group);
	for (size_t w = 0; w < d->workers; w++) {
		struct pp_row_worker *worker = &d->worker[w];

		if (worker->domain < 0)
			continue;
		if (!first && !pp_worker_is_missing(worker))
			first = worker;
		worker->bound_ns = first && worker->domain == first->domain ? bound_of(d, worker) : PP_BOUND_UNKNOWN;
	}
	return 0;
}

int64_t pp_dataset_bound(const struct pp_dataset *d)
{
	int64_t bound = 0;

	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].bound_ns != PP_BOUND_UNKNOWN && d->worker[w].bound_ns > bound)
			bound = d->worker[w].bound_ns;
	return bound;
}

PP_COMPARE(compare_late, struct pp_late, PP_DOWN(wait_ns) ?: PP_UP(rank))

/* An operation that is known by the lengths of its kernels has no times on the job's clock. */
int pp_arrival_waits(const struct pp_row_arrival *row, int64_t *ret_begin, int64_t *ret_until)
{
	const int on_device = row->device_end_ns > row->device_begin_ns;
	const int64_t waited = row->waited_ns > row->device_wait_ns ? row->waited_ns : row->device_wait_ns;

	*ret_begin = on_device ? row->device_begin_ns : row->arrival_ns;
	*ret_until = pp_wrap_plus(*ret_begin, waited);
	return waited > 0 && (on_device || !row->device_how);
}

size_t pp_dataset_step(const struct pp_dataset *d, int64_t number)
{
	const size_t low = PP_PARTITION(d->steps, at, d->step[at].number < number);

	return low < d->steps && d->step[low].number == number ? low : SIZE_MAX;
}

/* Numbers rise with time on every rank; absent cells are skipped downwards. */
size_t pp_dataset_step_after(const struct pp_dataset *d, size_t worker, int64_t time, size_t hint)
{
	const struct pp_row_cell *cell = d->cell + worker;
	size_t low = 0, high = d->steps, width = d->workers;

	if (hint < high && cell[hint * width].present && cell[hint * width].begin_ns <= time)
		low = hint;
	while (low < high) {
		size_t middle = low == hint ? low : low + (high - low) / 2, at = middle;

		while (at > low && !cell[at * width].present)
			at--;
		if (!cell[at * width].present || cell[at * width].end_ns <= time)
			low = middle + 1;
		else
			high = at;
	}
	return low;
}

size_t pp_dataset_list_ranks(const struct pp_dataset *d, int (*is_one)(const struct pp_row_worker *w, const void *context),
                             const void *context, const char *between, char *to, size_t size)
{
	struct pp_rank_text text = {.between = between};
	size_t many = 0, used;

	for (size_t w = 0; w < d->workers; w++)
		many += is_one(&d->worker[w], context) != 0;
	used = (size_t)snprintf(to, size, many > 1 ? "ranks " : many ? "rank " : "rank");
	text.to = to + used;
	text.size = size - used;
	for (size_t w = 0; w < d->workers; w++)
		if (is_one(&d->worker[w], context))
			pp_rank_text_add(&text, d->worker[w].rank);
	pp_rank_text_end(&text);
	return many;
}

int pp_dataset_late(struct pp_dataset *d)
{
	free(d->late);
	d->late = calloc(d->workers + 1, sizeof(*d->late));
	if (!d->late)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		d->late[w].rank = d->worker[w].rank;
	for (size_t s = 0; s < d->steps; s++) {
		const struct pp_row_cell *row = &d->cell[s * d->workers];
		size_t most = 0;

		for (size_t w = 0; w < d->workers; w++) {
			pp_known_add(&d->late[w].wait_ns, row[w].late_ns);
			pp_wrap_add(&d->late[w].error_ns, pp_known_or(row[w].late_error_ns, 0));
			if (row[w].late_ns > row[most].late_ns)
				most = w;
		}
		if (d->workers && row[most].late_ns > 0)
			d->late[most].steps++;
	}
	qsort(d->late, d->workers, sizeof(*d->late), compare_late);
	return 0;
}

int pp_dataset_add_missing(struct pp_dataset *d, int32_t rank, const char *host, const char *status)
{
	struct pp_row_worker *worker = realloc(d->worker, (d->workers + 1) * sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	d->worker = worker;
	worker += d->workers++;
	pp_worker_begin(worker, rank, status);
	snprintf(worker->host, sizeof(worker->host), "%s", host);
	return 0;
}

PP_COMPARE_BY(by_rank, struct pp_row_worker, rank)

void pp_dataset_sort_workers(struct pp_dataset *d)
{
	if (d->workers)
		qsort(d->worker, d->workers, sizeof(*d->worker), by_rank);
}

int pp_dataset_warn(struct pp_dataset *d, const char *fmt, ...)
{
	struct pp_row_warning *more;
	va_list arguments;

	if (PP_RESIZE(d->warning, d->warnings + 1))
		return -ENOMEM;
	more = memset(&d->warning[d->warnings++], 0, sizeof(*more));
	va_start(arguments, fmt);
	vsnprintf(more->warning, sizeof(more->warning), fmt, arguments);
	va_end(arguments);
	return 0;
}

void pp_window_metadata_release(struct pp_window_metadata *metadata)
{
	free(metadata->rank);
	*metadata = (struct pp_window_metadata){0};
}

void pp_dataset_tables(const struct pp_dataset *d, struct pp_table ret_table[PP_TABLES])
{
#define PP_TABLE(name, rows_of, group, dimension, made, check, absent)                                                             \
	ret_table[PP_TABLE_##name] = (struct pp_table){.desc = pp_table_desc(PP_TABLE_##name), .row = d->name, .rows = d->rows_of};
#include "aggregate/dataset/table/table_list.def"
	ret_table[PP_TABLE_cell].rows = d->cell ? d->steps * d->workers : 0;
	for (int id = 0; id < PP_TABLES; id++)
		ret_table[id].room = ret_table[id].rows;
}

void pp_dataset_take_tables(struct pp_dataset *d, const struct pp_table table[PP_TABLES])
{
#define PP_TABLE(name, rows_of, group, dimension, made, check, absent)                                                             \
	d->name = table[PP_TABLE_##name].row;                                                                                      \
	d->rows_of = table[PP_TABLE_##name].rows;
#include "aggregate/dataset/table/table_list.def"
}

int pp_dataset_seal(struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];
	uint32_t *rank = pp_names_rank(d->names);
	int rc = rank ? 0 : -ENOMEM;

	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES && rc == 0; id++)
		if (table[id].desc->made <= PP_MADE_SIDE)
			rc = pp_table_seal(&table[id], rank);
	pp_dataset_take_tables(d, table);
	free(rank);
	return rc ? rc : pp_dataset_link_clocks(d); /* their rows may have moved */
}

#define LINK(d, list, n, table, rows, whose)                                                                                       \
	for (size_t i = 0; i < (d)->rows; i++) {                                                                                   \
		int32_t host = (d)->table[i].whose;                                                                                \
		if (host < (i ? (d)->table[i - 1].whose : 0) || (size_t)host >= (d)->host_clocks)                                  \
			return -EINVAL;                                                                                            \
		if (!(d)->host_clock[host].n++)                                                                                    \
			(d)->host_clock[host].list = &(d)->table[i];                                                               \
	}

int pp_dataset_link_clocks(struct pp_dataset *d)
{
	for (size_t i = 0; i < d->host_clocks; i++) {
		struct pp_row_host_clock *c = &d->host_clock[i];

		c->samples = c->stretches = c->pairs = c->changes = 0;
	}
	LINK(d, sample, samples, clock_sample, clock_samples, sample_host);
	LINK(d, stretch, stretches, clock_stretch, clock_stretches, stretch_host);
	LINK(d, pair, pairs, clock_wall, clock_walls, wall_host);
	LINK(d, change, changes, clock_change, clock_changes, change_host);
	return 0;
}

static int add_rows(struct pp_table *t, const void *row, size_t rows, int32_t host)
{
	const struct pp_column *whose = &t->desc->column[1];

	for (size_t i = 0; i < rows; i++) {
		void *to = pp_table_add(t);

		if (!to)
			return -ENOMEM;
		memcpy(to, (const char *)row + i * t->desc->row_size, t->desc->row_size);
		memcpy(pp_column_at(whose, t, t->rows - 1), &host, sizeof(host));
	}
	return 0;
}

int pp_dataset_add_clock(struct pp_dataset *d, const struct pp_row_host_clock *c)
{
	struct pp_row_host_clock *more = realloc(d->host_clock, (d->host_clocks + 1) * sizeof(*more));
	const int32_t host = (int32_t)d->host_clocks;
	struct pp_table table[PP_TABLES];
	int rc;

	if (!more)
		return -ENOMEM;
	d->host_clock = more;
	more[host] = *c;
	pp_dataset_tables(d, table);
	rc = add_rows(&table[PP_TABLE_clock_sample], c->sample, c->samples, host);
	rc = rc ? rc : add_rows(&table[PP_TABLE_clock_stretch], c->stretch, c->stretches, host);
	rc = rc ? rc : add_rows(&table[PP_TABLE_clock_wall], c->pair, c->pairs, host);
	rc = rc ? rc : add_rows(&table[PP_TABLE_clock_change], c->change, c->changes, host);
	pp_dataset_take_tables(d, table);
	if (rc)
		return rc;
	d->host_clocks++;
	return pp_dataset_link_clocks(d);
}

void pp_dataset_release(struct pp_dataset *d)
{
	for (size_t i = 0; i < d->communicators; i++)
		free(d->communicator[i].member);
	free(d->exposed);
#define PP_TABLE(name, rows, group, dimension, made, check, absent) free(d->name);
#include "aggregate/dataset/table/table_list.def"
	free(d->late);
	memset(d, 0, sizeof(*d));
}
