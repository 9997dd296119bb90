/* Tables of pod.h5: collective, channel, communicator, quality. Called by hdf5.c. */
#include "aggregate/write/h5/hdf5_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/h5/table_write.h"
#include "core/ring/intern.h"
#include "core/source/mpi_call.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

static void put_index(struct pp_h5 *h, const char *dim, size_t n)
{
	int64_t *index = malloc((n + 1) * sizeof(*index));

	if (!index) {
		if (!h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", dim);
		return;
	}
	for (size_t i = 0; i < n; i++)
		index[i] = (int64_t)i;
	pp_h5_put(h, dim, index);
	free(index);
}

static const char *operation_text(const void *context, size_t i)
{
	return pp_mpi_call_info(((const struct pp_dataset *)context)->collective[i].call)->name;
}

static const char *no_text(const void *context, size_t i)
{
	(void)context;
	(void)i;
	return "";
}

static void write_collective(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_collective *c = d->collective;
	size_t n = d->collectives;

	pp_h5_group_begin(h, "collective");
	pp_h5_dim(h, "event", n);
	pp_h5_dim(h, "row", d->rows);
	put_index(h, "event", n);
	put_index(h, "row", d->rows);
	MEMBER(h, "communicator", n, c, comm);
	pp_h5_put_texts(h, "operation", n, operation_text, d);
	MEMBER(h, "sequence", n, c, sequence);
	MEMBER(h, "step", n, c, step);
	MEMBER(h, "bytes", n, c, bytes);
	MEMBER(h, "ranks", n, c, ranks);
	MEMBER(h, "root", n, c, root);
	pp_h5_put_texts(h, "algorithm", n, no_text, d);
	MEMBER(h, "first_ns", n, c, first_ns);
	MEMBER(h, "last_ns", n, c, last_ns);
	MEMBER(h, "end_ns", n, c, end_ns);
	MEMBER(h, "last_worker", n, c, last_worker);
	MEMBER(h, "wait_ns", n, c, wait_ns);
	MEMBER(h, "transfer_ns", n, c, transfer_ns);
	MEMBER(h, "algbw", n, c, algbw);
	MEMBER(h, "busbw", n, c, busbw);
	MEMBER(h, "bound_ns", n, c, bound_ns);
	MEMBER(h, "row_first", n, c, row_first);
	MEMBER(h, "row_count", n, c, row_count);
	MEMBER(h, "worker", d->rows, d->row, worker);
	MEMBER(h, "arrival_ns", d->rows, d->row, arrival_ns);
	MEMBER(h, "exit_ns", d->rows, d->row, exit_ns);
	pp_h5_group_end(h);
}

static const char *communicator_name(const void *context, size_t i)
{
	const struct pp_dataset *d = context;

	return pp_intern_text(d->names, d->communicator[i].name, NULL);
}

static const char *communicator_role(const void *context, size_t i)
{
	return ((const struct pp_dataset *)context)->communicator[i].role;
}

static size_t members_known(const struct pp_communicator *c)
{
	return c->member ? c->size : 0;
}

static void put_members(struct pp_h5 *h, const struct pp_dataset *d, size_t members)
{
	uint64_t *first = malloc((d->communicators + 1) * sizeof(*first));
	uint32_t *count = malloc((d->communicators + 1) * sizeof(*count));
	int32_t *member = malloc((members + 1) * sizeof(*member));
	size_t at = 0;

	if (!first || !count || !member) {
		if (!h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for the members of communicators");
		goto free_columns;
	}
	for (size_t i = 0; i < d->communicators; i++) {
		size_t n = members_known(&d->communicator[i]);

		first[i] = at;
		count[i] = (uint32_t)n;
		if (n)
			memcpy(member + at, d->communicator[i].member, n * sizeof(*member));
		at += n;
	}
	pp_h5_put(h, "member_first", first);
	pp_h5_put(h, "member_count", count);
	pp_h5_put(h, "members", member);
free_columns:
	free(member);
	free(count);
	free(first);
}

static void write_communicator(struct pp_h5 *h, const struct pp_dataset *d)
{
	size_t n = d->communicators, members = 0;

	for (size_t i = 0; i < n; i++)
		members += members_known(&d->communicator[i]);
	pp_h5_group_begin(h, "communicator");
	pp_h5_dim(h, "communicator", n);
	pp_h5_dim(h, "member", members);
	MEMBER(h, "communicator", n, d->communicator, id);
	put_index(h, "member", members);
	MEMBER(h, "id", n, d->communicator, id);
	pp_h5_put_texts(h, "name", n, communicator_name, d);
	MEMBER(h, "size", n, d->communicator, size);
	pp_h5_put_texts(h, "role", n, communicator_role, d);
	put_members(h, d, members);
	pp_h5_group_end(h);
}

static int has_input(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].loader_samples)
			return 1;
	return 0;
}

static void write_input(struct pp_h5 *h, const struct pp_dataset *d)
{
	pp_h5_group_begin(h, "input");
	pp_h5_dim(h, "worker", d->workers);
	MEMBER(h, "worker", d->workers, d->worker, rank);
	MEMBER(h, "loader_samples", d->workers, d->worker, loader_samples);
	MEMBER(h, "loader_busy", d->workers, d->worker, loader_busy);
	pp_h5_group_end(h);
}

struct absent {
	const char *group, *why;
};

struct quality { /* what the texts of /quality come from */
	const struct pp_dataset *d;
	struct pp_table table[PP_TABLES];
	struct absent absent[16 + PP_TABLES];
	size_t absents;
	int32_t *missing; /* ranks */
	const char **why;
	size_t missings;
};

static size_t absent_tables(const struct quality *q, int id, int end, struct absent *a)
{
	size_t n = 0;

	for (; id < end; id++)
		if (q->table[id].desc->absent[0] && !pp_tables_have(q->table, PP_TABLES, q->table[id].desc->group))
			a[n++] = (struct absent){q->table[id].desc->group,
			                         id == PP_TABLE_op && pp_dataset_ops_cut(q->d)
			                                 ? "no range is whole: none was seen both to begin and to end in the window"
			                                 : q->table[id].desc->absent};
	return n;
}

static void find_absent(struct quality *q)
{
	const struct pp_dataset *d = q->d;
	struct absent *a = q->absent;
	size_t n = 0;

	if (!d->workers) {
		a[n++] = (struct absent){"worker", "no rank delivered anything"};
		a[n++] = (struct absent){"clock", "no rank delivered anything"};
	}
	if (!d->workers || !d->steps) {
		a[n++] = (struct absent){"step", "no step is complete on the ranks of this session"};
		a[n++] = (struct absent){"breakdown", "no step is complete on the ranks of this session"};
	}
	if (!d->collectives)
		a[n++] = (struct absent){"collective", "no collective operation was recorded"};
	n += absent_tables(q, 0, PP_TABLE_file, a + n);
	if (!d->communicators)
		a[n++] = (struct absent){"communicator", "no communicator was recorded"};
	n += absent_tables(q, PP_TABLE_file, PP_TABLES, a + n);
	a[n++] = (struct absent){"kernel", "no source of device kernels in this version"};
	if (!has_input(d))
		a[n++] = (struct absent){
		        "input",
		        "nothing was recorded of a data loader's workers; time that steps wait for input is in /breakdown"};
	q->absents = n;
}

/* Ranks that were asked for and have no worker, or one whose status says missing. */
static int find_missing(struct quality *q)
{
	const struct pp_dataset *d = q->d;
	size_t asked = d->ranks_asked > 0 ? (size_t)d->ranks_asked : 0, most = asked + d->workers, w = 0;

	q->missing = malloc((most + 1) * sizeof(*q->missing));
	q->why = malloc((most + 1) * sizeof(*q->why));
	if (!q->missing || !q->why)
		return -ENOMEM;
	for (size_t r = 0; r < asked || w < d->workers; r++) {
		int here = w < d->workers && d->worker[w].rank <= (int64_t)r;
		const char *status = here ? d->worker[w].status : "missing: nothing of it was found";

		if (!strncmp(status, "missing", 7)) {
			q->missing[q->missings] = (int32_t)r;
			q->why[q->missings++] = status + (strncmp(status, "missing: ", 9) ? 0 : 9);
		}
		w += (size_t)here;
		if (!here && r >= asked && w < d->workers && d->worker[w].rank > (int64_t)r)
			r = (size_t)d->worker[w].rank - 1;
	}
	return 0;
}

static const char *cause_text(const void *context, size_t i)
{
	static const char *const name[] = {
#define PP_LOSS(symbol, column, what) #column,
#include "core/ring/loss.def"
#undef PP_LOSS
	};

	(void)context;
	return name[i];
}

static const char *unclassified_text(const void *context, size_t i)
{
	const struct pp_dataset *d = ((const struct quality *)context)->d;

	return pp_intern_text(d->names, d->by_default[i].name, NULL);
}

static const char *warning_text(const void *context, size_t i)
{
	return ((const struct quality *)context)->d->warning[i].text;
}

static const char *missing_text(const void *context, size_t i)
{
	return ((const struct quality *)context)->why[i];
}

static const char *absent_group(const void *context, size_t i)
{
	return ((const struct quality *)context)->absent[i].group;
}

static const char *absent_why(const void *context, size_t i)
{
	return ((const struct quality *)context)->absent[i].why;
}

static void put_dropped(struct pp_h5 *h, const struct pp_dataset *d)
{
	uint64_t *lost = malloc((d->workers + 1) * PP_LOSSES * sizeof(*lost));

	if (!lost) {
		if (!h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for the table of lost records");
		return;
	}
	for (size_t i = 0; i < d->workers; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): where there are workers, there is d->worker */
		memcpy(lost + i * PP_LOSSES, d->worker[i].lost, sizeof(d->worker[i].lost));
	pp_h5_put(h, "dropped", lost);
	free(lost);
}

static void write_quality(struct pp_h5 *h, const struct pp_dataset *d)
{
	struct quality q = {.d = d};

	pp_dataset_tables(d, q.table);
	find_absent(&q);
	if (find_missing(&q) && !h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the missing ranks");
	pp_h5_group_begin(h, "quality");
	pp_h5_dim(h, "worker", d->workers);
	pp_h5_dim(h, "cause", PP_LOSSES);
	pp_h5_dim(h, "unclassified", d->defaults);
	pp_h5_dim(h, "missing", q.missings);
	pp_h5_dim(h, "absent", q.absents);
	pp_h5_dim(h, "warning", d->warnings);
	MEMBER(h, "worker", d->workers, d->worker, rank);
	pp_h5_put_texts(h, "cause", PP_LOSSES, cause_text, NULL);
	pp_h5_put_texts(h, "unclassified", d->defaults, unclassified_text, &q);
	pp_h5_put(h, "missing", q.missing);
	pp_h5_put_texts(h, "absent", q.absents, absent_group, &q);
	put_dropped(h, d);
	MEMBER(h, "records", d->workers, d->worker, records);
	MEMBER(h, "unclassified_ns", d->defaults, d->by_default, ns);
	pp_h5_put_texts(h, "missing_reason", q.missings, missing_text, &q);
	pp_h5_put_texts(h, "absent_reason", q.absents, absent_why, &q);
	pp_h5_put_texts(h, "warning", d->warnings, warning_text, &q);
	pp_h5_put(h, "keeper_cpu_ns", &d->keeper_cpu_ns);
	pp_h5_put(h, "keeper_rss_bytes", &d->keeper_rss_bytes);
	pp_h5_put(h, "crossed", &d->crossed);
	pp_h5_put(h, "violations", &d->violations);
	pp_h5_put(h, "startup_ns", &d->startup_ns);
	pp_h5_put(h, "pair_bound_ns", &d->pair_bound_ns);
	pp_h5_put(h, "causality_pairs", &d->causality.pairs);
	pp_h5_put(h, "causality_inverted", &d->causality.inverted);
	pp_h5_put(h, "causality_violated", &d->causality.violated);
	pp_h5_put(h, "causality_worst_ns", &d->causality.worst_ns);
	pp_h5_put(h, "straggler_waited_for", &d->straggler.waited_for);
	pp_h5_put(h, "straggler_waited_ns", &d->straggler.waited_ns);
	pp_h5_put(h, "straggler_involuntary", &d->straggler.involuntary);
	pp_h5_put(h, "straggler_run_queue_ns", &d->straggler.run_queue_ns);
	pp_h5_group_end(h);
	free(q.why);
	free(q.missing);
}

void pp_h5_write_tables(struct pp_h5 *h, const struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	if (d->collectives)
		write_collective(h, d);
	pp_h5_write_groups(h, table, PP_TABLE_memory, d);
	if (d->communicators)
		write_communicator(h, d);
	if (d->memories) {
		pp_h5_group_begin(h, "memory");
		pp_h5_put_tables(h, table, PP_TABLES, d);
		pp_h5_put(h, "period_ns", &d->memory_period_ns);
		pp_h5_group_end(h);
	}
	pp_h5_write_groups(h, table, PP_TABLES, d);
	if (has_input(d))
		write_input(h, d);
	write_quality(h, d);
}
