/* Joins collectives by their order; see analyze_order.h. Called by analyze_merge.c. */
#include "aggregate/session/analyze_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/order.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/ring/record.h"

enum { OPPOSED_SHARE = 2 };

struct place { /* a rank's part */
	int32_t rank;
	struct pp_dataset *part;
};

struct one { /* a rank's communicator */
	struct pp_dataset *part;
	const struct pp_row_communicator *communicator;
};

struct call {
	uint32_t sequence;
	uint16_t operation;
	uint64_t bytes;
	int64_t begin, end; /* since 1970 where the file has a date */
	int is_common;      /* nobody leaves it before all have entered */
};

struct calls {
	struct call *call;
	size_t calls;
};

PP_COMPARE_BY(compare_place, struct place, rank)

PP_COMPARE_BY(compare_call, struct call, sequence)

/* A file of one rank, of another profiler. */
static int is_candidate(const struct pp_dataset *d)
{
	return d->workers == 1 && d->trace_files == 1 && d->worker[0].joined_by == PP_JOINED_BY_NOTHING;
}

static const struct pp_row_communicator *by_id(const struct pp_dataset *d, uint64_t id)
{
	for (size_t i = 0; i < d->communicators; i++)
		if (d->communicator[i].id == id)
			return &d->communicator[i];
	return NULL;
}

static int is_same_group(const struct pp_row_communicator *a, const struct pp_row_communicator *b)
{
	return a->name == b->name && a->size == b->size && a->kind == b->kind && b->member &&
	       !memcmp(a->member, b->member, a->size * sizeof(*a->member));
}

/* The part's communicator for that group, which `from` does not have by its id. NULL: none, or several. */
static const struct pp_row_communicator *match(const struct pp_dataset *d, const struct one *from)
{
	const struct pp_row_communicator *found = NULL;

	if (by_id(d, from->communicator->id))
		return NULL;
	for (size_t i = 0; i < d->communicators; i++) {
		const struct pp_row_communicator *c = &d->communicator[i];

		if (!is_same_group(from->communicator, c) || by_id(from->part, c->id))
			continue;
		if (found)
			return NULL;
		found = c;
	}
	return found;
}

/* Those of all members that have files, the first being `from`. Returns how many; 0: they do not match. */
static size_t gather(const struct place *place, size_t places, const struct one *from, struct one *list)
{
	const struct pp_row_communicator *c = from->communicator;
	size_t n = 0;

	for (uint32_t m = 0; m < c->size; m++) {
		size_t at = PP_PARTITION(places, i, place[i].rank < c->member[m]);
		struct pp_dataset *d = at < places && place[at].rank == c->member[m] ? place[at].part : NULL;

		if (!d)
			continue;
		if (!is_candidate(d) || (!n && d != from->part))
			return 0;
		list[n] = (struct one){d, n ? match(d, from) : c};
		if (!list[n].communicator)
			return 0;
		n++;
	}
	return n;
}

static int is_common(const struct pp_row_collective *c)
{
	return pp_mpi_call_info(c->operation)->class == PP_MPI_ALL && pp_mpi_call_is_collective(c->operation) &&
	       !pp_mpi_call_is_exchange(c->operation);
}

/* In the order of their numbers. -ENOMEM. */
static int list_calls(const struct one *one, struct calls *ret_calls)
{
	const struct pp_dataset *d = one->part;
	struct calls list = {.call = calloc(d->collectives + 1, sizeof(*list.call))};

	if (!list.call)
		return -ENOMEM;
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		const struct pp_row_arrival *a = &d->arrival[c->row_first];
		struct call *to = &list.call[list.calls];

		if (c->communicator != one->communicator->id || c->message || c->row_count != 1)
			continue;
		*to = (struct call){.sequence = c->sequence, .operation = c->operation, .bytes = c->bytes};
		if (a->device_end_ns > a->device_begin_ns && is_common(c)) {
			to->is_common = 1;
			to->begin = pp_wrap_plus(a->device_begin_ns, d->epoch_realtime_ns);
			to->end = pp_wrap_plus(a->device_end_ns, d->epoch_realtime_ns);
		}
		list.calls++;
	}
	if (list.calls)
		qsort(list.call, list.calls, sizeof(*list.call), compare_call);
	*ret_calls = list;
	return 0;
}

static int has_one_clock(const struct pp_dataset *a, const struct pp_dataset *b)
{
	return a->epoch_realtime_ns && b->epoch_realtime_ns && a->trace_file[0].says_host && b->trace_file[0].says_host &&
	       !strcmp(a->worker[0].host, b->worker[0].host);
}

/* As many, and each the same. On one host most must overlap: else one file begins later, and the n-th is another one. */
static int is_alike(const struct one *a, const struct calls *x, const struct one *b, const struct calls *y)
{
	const int one_clock = has_one_clock(a->part, b->part);
	size_t compared = 0, opposed = 0;

	if (!x->calls || x->calls != y->calls)
		return 0;
	for (size_t i = 0; i < x->calls; i++) {
		const struct call *c = &x->call[i], *d = &y->call[i];

		if (c->sequence != d->sequence || c->operation != d->operation || c->bytes != d->bytes)
			return 0;
		if (!one_clock || !c->is_common || !d->is_common)
			continue;
		compared++;
		opposed += c->begin > d->end || d->begin > c->end;
	}
	return opposed * OPPOSED_SHARE <= compared;
}

/* 1: they are alike on all ranks; -ENOMEM. */
static int compare(const struct one *list, size_t n)
{
	struct calls first = {.call = NULL}, other;
	int rc = list_calls(&list[0], &first) ? -ENOMEM : 1;

	for (size_t i = 1; i < n && rc > 0; i++) {
		if (list_calls(&list[i], &other))
			rc = -ENOMEM;
		if (rc > 0) {
			rc = is_alike(&list[0], &first, &list[i], &other);
			free(other.call);
		}
	}
	free(first.call);
	return rc;
}

static void replace(struct pp_dataset *d, uint64_t from, uint64_t to)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		for (size_t c = 0; c < table[id].desc->columns; c++) {
			const struct pp_column *column = &table[id].desc->column[c];

			if (column->type != PP_TYPE_U64 || !column->count ||
			    strcmp(column->name, id == PP_TABLE_communicator ? "id" : "communicator") != 0)
				continue;
			for (size_t r = 0; r < table[id].rows; r++) {
				uint64_t *value = pp_column_at(column, &table[id], r);

				*value = *value == from ? to : *value;
			}
		}
}

/* 1: the group was joined; -ENOMEM. */
static int join_group(const struct place *place, size_t places, const struct one *from)
{
	const uint64_t id = from->communicator->id;
	struct one *list = calloc(from->communicator->size, sizeof(*list));
	size_t n;
	int rc = 0;

	if (!list)
		return -ENOMEM;
	n = gather(place, places, from, list);
	if (n > 1)
		rc = compare(list, n);
	for (size_t i = 1; i < n && rc > 0; i++)
		replace(list[i].part, list[i].communicator->id, id);
	free(list);
	return rc;
}

int pp_analyze_order_join(struct pp_dataset *part, size_t parts, size_t *ret_groups)
{
	struct place *place;
	size_t places = 0;
	int rc = 0;

	*ret_groups = 0;
	for (size_t p = 0; p < parts; p++)
		places += part[p].workers;
	place = calloc(places + 1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	places = 0;
	for (size_t p = 0; p < parts; p++)
		for (size_t w = 0; w < part[p].workers; w++)
			place[places++] = (struct place){part[p].worker[w].rank, &part[p]};
	qsort(place, places, sizeof(*place), compare_place);
	for (size_t p = 0; p < parts && rc >= 0; p++)
		for (size_t i = 0; i < part[p].communicators && is_candidate(&part[p]) && rc >= 0; i++) {
			const struct one from = {&part[p], &part[p].communicator[i]};

			if (from.communicator->kind != PP_COMM_MEMBERS || !from.communicator->member || from.communicator->size < 2)
				continue;
			rc = join_group(place, places, &from);
			*ret_groups += rc > 0;
		}
	for (size_t p = 0; p < parts && *ret_groups; p++)
		pp_communicators_fold(&part[p]);
	free(place);
	return rc < 0 ? rc : 0;
}
