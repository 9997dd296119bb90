/* Traffic, names and samples of several hosts in one dataset; see merge.h. Called by merge.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/merge_part.h"
#include "aggregate/dataset/order.h"
#include "core/base/wrap.h"

/* One table of all parts: parts' rows one after the other. */
static int gather(const struct pp_merge *m, size_t rows_at, size_t array_at, size_t row_size)
{
	size_t all = 0, at = 0;
	char *rows, *const to = (char *)m->d;

	for (size_t p = 0; p < m->parts; p++) {
		size_t n;

		memcpy(&n, (const char *)m->part[p] + rows_at, sizeof(n));
		all += n;
	}
	rows = calloc(all + 1, row_size);
	if (!rows)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++) {
		const void *from;
		size_t n;

		memcpy(&n, (const char *)m->part[p] + rows_at, sizeof(n));
		memcpy(&from, (const char *)m->part[p] + array_at, sizeof(from));
		if (n)
			memcpy(rows + at * row_size, from, n * row_size);
		at += n;
	}
	memcpy(to + rows_at, &all, sizeof(all));
	memcpy(to + array_at, &rows, sizeof(rows));
	return 0;
}

#define GATHER(m, rows, array)                                                                                                     \
	gather(m, offsetof(struct pp_dataset, rows), offsetof(struct pp_dataset, array), sizeof(*(m)->d->array))

static int merge_communicators(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	int rc = GATHER(m, communicators, communicator), failed = 0;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_communicator *c = &d->communicator[i];
		int32_t *copy = c->member ? malloc(c->size * sizeof(*copy) + 1) : NULL;

		failed |= c->member && !copy;
		if (copy)
			memcpy(copy, c->member, c->size * sizeof(*copy));
		c->member = copy;
	}
	if (failed)
		return -ENOMEM;
	pp_communicators_fold(d);
	return 0;
}

static int compare_name(const void *a, const void *b)
{
	const struct pp_attr_default *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

static int merge_defaults(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	size_t kept = 0;
	int rc = GATHER(m, defaults, by_default);

	if (rc < 0)
		return rc;
	qsort(d->by_default, d->defaults, sizeof(*d->by_default), compare_name);
	for (size_t i = 0; i < d->defaults; i++) {
		if (kept && d->by_default[kept - 1].name == d->by_default[i].name)
			d->by_default[kept - 1].ns = pp_wrap_plus(d->by_default[kept - 1].ns, d->by_default[i].ns);
		else
			d->by_default[kept++] = d->by_default[i];
	}
	d->defaults = kept;
	pp_defaults_sort(d);
	return 0;
}

static int has_warning(const struct pp_dataset *d, const char *text)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (!strcmp(d->warning[i].text, text))
			return 1;
	return 0;
}

static int has_worker(const void *context, size_t part, int32_t rank)
{
	return pp_merge_has(context, part, rank);
}

/* A copy of a part's rows, in the order of the numbers that its hosts have in the whole. */
static int renumber(const struct pp_merge *m, size_t p, const struct pp_column *host, const struct pp_table *from,
                    struct pp_table *ret_rows)
{
	struct pp_table t = {.desc = from->desc};

	for (size_t i = 0; i < from->rows; i++) {
		int64_t at, number;
		void *row;

		pp_column_load(host, from, i, 1, 0, &at);
		number = (int64_t)m->host_of[p][at] - 1;
		if (number < 0)
			continue;
		row = pp_table_add(&t);
		if (!row) {
			free(t.row);
			return -ENOMEM;
		}
		memcpy(row, (const char *)from->row + i * t.desc->row_size, t.desc->row_size);
		(void)pp_column_store(host, &t, t.rows - 1, 1, 0, &number);
	}
	if (pp_table_seal(&t, NULL)) {
		free(t.row);
		return -ENOMEM;
	}
	*ret_rows = t;
	return 0;
}

static int merge_of_hosts(const struct pp_merge *m, const struct pp_table_merge *how, struct pp_table *part, struct pp_table *to)
{
	const struct pp_column *host = &to->desc->column[1];
	size_t made = 0;
	int rc = 0;

	for (; made < m->parts && !rc; made += !rc)
		rc = renumber(m, made, host, &part[made], &part[made]);
	if (!rc)
		rc = pp_table_merge(part, m->parts, how, to);
	while (made-- > 0)
		free(part[made].row);
	return rc;
}

/* Tables with a description that hosts made. */
static int merge_described(struct pp_merge *m)
{
	struct pp_table_merge how = {.shift = m->shift, .has = has_worker, .context = m};
	struct pp_table to[PP_TABLES], all[PP_TABLES], *part = calloc(m->parts, sizeof(*part));
	uint32_t *rank = pp_names_rank(m->d->names);
	int rc = part && rank ? 0 : -ENOMEM;

	how.rank = rank;
	pp_dataset_tables(m->d, to);
	for (int id = 0; id < PP_TABLES && rc == 0; id++) {
		if (to[id].desc->made != PP_MADE_HOST)
			continue;
		for (size_t p = 0; p < m->parts; p++) {
			pp_dataset_tables(m->part[p], all);
			part[p] = all[id];
		}
		if (to[id].desc->columns > 1 && to[id].desc->column[1].type == PP_TYPE_HOST)
			rc = merge_of_hosts(m, &how, part, &to[id]);
		else
			rc = pp_table_merge(part, m->parts, &how, &to[id]);
	}
	pp_dataset_take_tables(m->d, to);
	free(rank);
	free(part);
	return rc ? rc : pp_dataset_link_clocks(m->d);
}

int pp_merge_tables(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	int rc = merge_described(m);

	if (rc == 0)
		rc = merge_communicators(m);
	if (rc == 0)
		rc = merge_defaults(m);
	for (size_t p = 0; p < m->parts; p++)
		for (size_t i = 0; i < m->part[p]->warnings && rc == 0; i++)
			if (!has_warning(d, m->part[p]->warning[i].text))
				rc = pp_dataset_warn(d, "%s", m->part[p]->warning[i].text);
	return rc;
}
