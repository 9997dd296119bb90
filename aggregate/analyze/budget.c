/* Sums the time of calls by operation and communicator; see budget.h. Called by exposed.c and finish.c. */
#include "aggregate/analyze/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/wrap.h"

static uint64_t hash_of(const void *row)
{
	const struct pp_row_budget *key = row;
	uint64_t hash = pp_hash(PP_HASH_BEGIN, &key->communicator, sizeof(key->communicator));

	hash = pp_hash(hash, &key->step, sizeof(key->step));
	return pp_hash(hash, &key->operation, sizeof(key->operation));
}

static int is_same(const void *a, const void *b)
{
	const struct pp_row_budget *row = a, *key = b;

	return row->operation == key->operation && row->communicator == key->communicator && row->step == key->step;
}

static struct pp_row_budget *row_of(struct pp_budget *b, uint16_t operation, uint64_t communicator, int64_t step)
{
	struct pp_row_budget key = {.operation = operation, .communicator = communicator, .step = b->by_step ? step : 0}, *grown;
	uint32_t *place = pp_map_place(&b->map, b->row, b->rows, sizeof(key), &key, hash_of, is_same);

	if (place && !*place) {
		grown = pp_grow(b->row, b->rows, &b->room, sizeof(*grown));
		if (!grown)
			return NULL;
		b->row = grown;
		grown[b->rows] = key;
		*place = (uint32_t)++b->rows;
	}
	return place ? &b->row[*place - 1] : NULL;
}

/* Rows of parts become rows of the job, without those of steps that were dropped. */
static int take_rows(struct pp_budget *b)
{
	for (size_t i = 0; i < b->d->budgets; i++) {
		const struct pp_row_budget *from = &b->d->budget[i];
		struct pp_row_budget *to;

		if (!b->by_step && pp_dataset_step(b->d, from->step) == SIZE_MAX)
			continue;
		to = row_of(b, from->operation, from->communicator, from->step);
		if (!to)
			return -ENOMEM;
		pp_row_fold(pp_table_desc(PP_TABLE_budget), to, from);
	}
	return 0;
}

int pp_budget_init(struct pp_budget *b, struct pp_dataset *d, int by_step)
{
	*b = (struct pp_budget){.d = d, .by_step = by_step};
	b->step_of = calloc(d->workers + 1, sizeof(*b->step_of));
	return b->step_of ? take_rows(b) : -ENOMEM;
}

int pp_budget_count(struct pp_budget *b, const struct pp_budget_call *c, uint32_t worker)
{
	const struct pp_dataset *d = b->d;
	int counted = 0;

	if (c->end <= c->begin)
		return 0;
	b->step_of[worker] = (uint32_t)pp_dataset_step_after(d, worker, c->begin, b->step_of[worker]);
	for (size_t s = b->step_of[worker]; s < d->steps; s++) {
		const struct pp_row_cell *cell = &d->cell[s * d->workers + worker];
		int64_t begin = c->begin > cell->begin_ns ? c->begin : cell->begin_ns;
		int64_t end = c->end < cell->end_ns ? c->end : cell->end_ns;
		struct pp_row_budget *row;

		if (!cell->present)
			continue;
		if (cell->begin_ns >= c->end)
			break;
		if (end <= begin)
			continue;
		row = row_of(b, c->operation, c->communicator, d->step[s].number);
		if (!row)
			return -ENOMEM;
		row->calls += !counted;
		counted = 1;
		row->time_ns = pp_wrap_plus(row->time_ns, pp_wrap_minus(end, begin));
		row->hidden_ns = pp_wrap_plus(row->hidden_ns, pp_wrap_minus(end, begin));
	}
	return 0;
}

/* What of the segment lies in the counted time of the call was counted as hidden; the rest is time that nobody counted. */
int pp_budget_charge(struct pp_budget *b, const struct pp_budget_call *c, const struct pp_budget_segment *s)
{
	struct pp_row_budget *row = row_of(b, c->operation, c->communicator, b->d->step[s->step].number);
	int64_t begin = s->begin > c->begin ? s->begin : c->begin, end = s->end < c->end ? s->end : c->end;
	int64_t all = pp_wrap_minus(s->end, s->begin), counted = end > begin ? pp_wrap_minus(end, begin) : 0;
	int64_t *blocks;

	if (!row)
		return -ENOMEM;
	row->time_ns = pp_wrap_plus(row->time_ns, pp_wrap_minus(all, counted));
	row->hidden_ns = pp_wrap_minus(row->hidden_ns, counted);
	if (s->wait_ns == PP_BUDGET_UNSPLIT) {
		row->unsplit_ns = pp_wrap_plus(row->unsplit_ns, all);
	} else {
		row->wait_ns = pp_wrap_plus(row->wait_ns, s->wait_ns);
		row->transfer_ns = pp_wrap_plus(row->transfer_ns, pp_wrap_minus(all, s->wait_ns));
	}
	blocks = s->blocks == PP_BUDGET_BLOCKS   ? &row->blocking_ns
	         : s->blocks == PP_BUDGET_BESIDE ? &row->not_blocking_ns
	                                         : &row->blocking_unknown_ns;
	*blocks = pp_wrap_plus(*blocks, all);
	return 0;
}

int pp_budget_finish(struct pp_budget *b)
{
	struct pp_table table[PP_TABLES];
	int rc;

	/* Hosts that name one operation differently counted its calls under another name than they are charged to. */
	for (size_t i = 0; i < b->rows; i++)
		if (b->row[i].hidden_ns < 0) {
			b->row[i].time_ns = pp_wrap_minus(b->row[i].time_ns, b->row[i].hidden_ns);
			b->row[i].hidden_ns = 0;
		}
	pp_dataset_tables(b->d, table);
	pp_table_release(&table[PP_TABLE_budget]);
	table[PP_TABLE_budget].row = b->row;
	table[PP_TABLE_budget].rows = b->rows;
	table[PP_TABLE_budget].room = b->room;
	b->row = NULL;
	b->rows = 0;
	rc = pp_table_seal(&table[PP_TABLE_budget], NULL);
	pp_dataset_take_tables(b->d, table);
	return rc;
}

void pp_budget_release(struct pp_budget *b)
{
	free(b->row);
	free(b->map.place);
	free(b->step_of);
	*b = (struct pp_budget){.d = NULL};
}
