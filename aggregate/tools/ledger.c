/* Lists of rows of the ledger by operation and by rank; see ledger.h. Called by blame.c. */
#include "aggregate/tools/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/partition.h"

enum { BLOCK = 16 }; /* keys that are sorted by insertion */

static int is_less(const struct pp_ledger_key *a, const struct pp_ledger_key *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->row < b->row;
}

static int is_sorted(const struct pp_ledger_key *key, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (is_less(&key[i], &key[i - 1]))
			return 0;
	return 1;
}

static void insert(struct pp_ledger_key *key, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct pp_ledger_key one = key[i];
		size_t to = i;

		for (; to && is_less(&one, &key[to - 1]); to--)
			key[to] = key[to - 1];
		key[to] = one;
	}
}

/* How many of n keys are not behind `one`. */
static size_t count_until(const struct pp_ledger_key *key, size_t n, const struct pp_ledger_key *one)
{
	return PP_PARTITION(n, at, !is_less(one, &key[at]));
}

/* Two sorted parts that stand together become one: only what overlaps is moved. */
static void merge(struct pp_ledger_key *a, size_t as, size_t bs, struct pp_ledger_key *spare)
{
	struct pp_ledger_key *b = a + as, *to;
	size_t skip, i = 0, k = 0;

	if (!is_less(b, b - 1))
		return;
	skip = count_until(a, as, b);
	bs = count_until(b, bs, b - 1);
	to = a + skip;
	as -= skip;
	memcpy(spare, to, as * sizeof(*spare));
	while (i < as && k < bs)
		*to++ = is_less(&b[k], &spare[i]) ? b[k++] : spare[i++];
	memcpy(to, spare + i, (as - i) * sizeof(*spare));
}

int pp_ledger_sort(struct pp_ledger_key *key, size_t n)
{
	struct pp_ledger_key *spare;

	if (is_sorted(key, n))
		return 0;
	spare = malloc(n * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += BLOCK)
		insert(key + i, n - i < BLOCK ? n - i : BLOCK);
	for (size_t size = BLOCK; size < n; size *= 2)
		for (size_t i = 0; i < n - size; i += 2 * size)
			merge(key + i, size, n - i - size < size ? n - i - size : size, spare);
	free(spare);
	return 0;
}

uint64_t pp_ledger_rows(const struct pp_dataset *d, size_t operation, uint64_t *left, uint64_t *ret_first)
{
	uint64_t first = d->collective[operation].row_first, count = d->collective[operation].row_count;

	if (count > *left || first > d->arrivals - count)
		return 0;
	*left -= count;
	*ret_first = first;
	return count;
}

/* Gives rows their operation, and their worker as their place for now. Marks workers whose rows are not in the order of arrival:
 * is_odd[worker] is 1. */
static void find_operations(struct pp_ledger *l, int64_t *last, uint8_t *is_odd)
{
	const struct pp_dataset *d = l->d;
	uint64_t left = d->arrivals, first = 0;

	memset(l->operation, 0xff, d->arrivals * sizeof(*l->operation));
	for (size_t w = 0; w < d->workers; w++)
		last[w] = INT64_MIN;
	for (size_t c = 0; c < d->collectives; c++) {
		uint64_t count = pp_ledger_rows(d, c, &left, &first);

		for (uint64_t i = first; i < first + count; i++) {
			const struct pp_row_arrival *row = &d->arrival[i];
			size_t worker = l->operation[i] == PP_LEDGER_NONE ? pp_ledger_worker(l, row->worker) : SIZE_MAX;

			if (worker == SIZE_MAX)
				continue;
			l->operation[i] = (uint32_t)c;
			l->at[i] = (uint32_t)worker;
			l->first[worker + 1]++;
			is_odd[worker] |= row->arrival_ns < last[worker];
			last[worker] = row->arrival_ns;
		}
	}
	for (size_t w = 0; w < d->workers; w++)
		l->first[w + 1] += l->first[w];
}

static int sort_worker(struct pp_ledger *l, size_t worker)
{
	uint32_t *list = l->list + l->first[worker];
	size_t n = l->first[worker + 1] - l->first[worker];
	struct pp_ledger_key *key = malloc((n + 1) * sizeof(*key));
	int rc;

	if (!key)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		key[i] = (struct pp_ledger_key){l->d->arrival[list[i]].arrival_ns, list[i], 0};
	rc = pp_ledger_sort(key, n);
	for (size_t i = 0; i < n; i++) {
		list[i] = key[i].row;
		l->at[list[i]] = (uint32_t)(l->first[worker] + i);
	}
	free(key);
	return rc;
}

/* Operations are in order of their first arrival, so a rank's rows are nearly in the order of its own. */
static void list_rows(struct pp_ledger *l, size_t *next)
{
	uint64_t left = l->d->arrivals, first = 0;

	memcpy(next, l->first, l->d->workers * sizeof(*next));
	for (size_t c = 0; c < l->d->collectives; c++) {
		uint64_t count = pp_ledger_rows(l->d, c, &left, &first);

		for (uint64_t i = first; i < first + count; i++)
			if (l->operation[i] == c) {
				size_t at = next[l->at[i]]++;

				l->list[at] = (uint32_t)i;
				l->at[i] = (uint32_t)at;
			}
	}
}

static int fill(struct pp_ledger *l)
{
	int64_t *last = malloc((l->d->workers + 1) * sizeof(*last));
	size_t *next = malloc((l->d->workers + 1) * sizeof(*next));
	uint8_t *is_odd = calloc(l->d->workers + 1, 1);
	int rc = last && next && is_odd ? 0 : -ENOMEM;

	if (!rc) {
		find_operations(l, last, is_odd);
		list_rows(l, next);
	}
	for (size_t w = 0; w < l->d->workers && !rc; w++)
		rc = is_odd[w] ? sort_worker(l, w) : 0;
	free(last);
	free(next);
	free(is_odd);
	return rc;
}

int pp_ledger_init(struct pp_ledger *l, const struct pp_dataset *d)
{
	int rc;

	*l = (struct pp_ledger){.d = d, .is_dense = 1};
	for (size_t w = 0; w < d->workers; w++)
		l->is_dense &= d->worker[w].rank == (int64_t)w;
	if (d->arrivals >= UINT32_MAX || d->collectives >= UINT32_MAX)
		return -EOVERFLOW;
	l->operation = malloc((d->arrivals + 1) * sizeof(*l->operation));
	l->at = malloc((d->arrivals + 1) * sizeof(*l->at));
	l->list = malloc((d->arrivals + 1) * sizeof(*l->list));
	l->first = calloc(d->workers + 2, sizeof(*l->first));
	rc = l->operation && l->at && l->list && l->first ? 0 : -ENOMEM;
	if (!rc)
		rc = fill(l);
	if (rc)
		pp_ledger_release(l);
	return rc;
}

void pp_ledger_release(struct pp_ledger *l)
{
	free(l->operation);
	free(l->at);
	free(l->list);
	free(l->first);
	*l = (struct pp_ledger){.d = NULL};
}

uint32_t pp_ledger_find(const struct pp_ledger *l, uint32_t operation, int32_t rank)
{
	const struct pp_row_collective *op = &l->d->collective[operation];
	const struct pp_row_arrival *row = &l->d->arrival[op->row_first];
	size_t low;

	if (op->row_count == l->d->workers && l->is_dense && rank >= 0 && (size_t)rank < l->d->workers && row[rank].worker == rank)
		low = (size_t)rank;
	else
		low = PP_PARTITION(op->row_count, at, row[at].worker < rank);
	return low < op->row_count && row[low].worker == rank && l->operation[op->row_first + low] == operation
	               ? (uint32_t)(op->row_first + low)
	               : PP_LEDGER_NONE;
}
