/* Merges traffic, names and samples of several hosts; see merge.h. Called by merge.c. */
#include "aggregate/dataset/merge_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/order.h"
#include "core/base/wrap.h"

/* All parts' rows one after the other, with members of their own, then one a communicator. */
static int merge_communicators(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	size_t all = 0;

	for (size_t p = 0; p < m->parts; p++)
		all += m->part[p]->communicators;
	d->communicator = calloc(all + 1, sizeof(*d->communicator));
	if (!d->communicator)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++) {
		for (size_t i = 0; i < m->part[p]->communicators; i++) {
			const struct pp_row_communicator *from = &m->part[p]->communicator[i];
			struct pp_row_communicator *c = &d->communicator[d->communicators++];

			*c = *from;
			c->member = from->member ? malloc(c->size * sizeof(*c->member) + 1) : NULL;
			if (from->member && !c->member)
				return -ENOMEM;
			if (c->member)
				memcpy(c->member, from->member, c->size * sizeof(*c->member));
		}
	}
	pp_communicators_fold(d);
	return 0;
}

/* The number of a warning whose numbers are added, *ret_rest: what is behind it; 0: it is none. */
static uint64_t added_number(const char *text, char **ret_rest)
{
	const uint64_t n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, ret_rest, 10) : 0;

	return n && !strncmp(*ret_rest, PP_WARNING_ADDS, strlen(PP_WARNING_ADDS)) ? n : 0;
}

/* Is it there, or could its number be added to one that is there? */
static int has_warning(struct pp_dataset *d, const char *text)
{
	char *rest, *other, sum[sizeof(d->warning->warning)];
	const uint64_t more = added_number(text, &rest);

	for (size_t i = 0; i < d->warnings; i++) {
		char *own = d->warning[i].warning;
		const uint64_t n = more ? added_number(own, &other) : 0;

		if (n && !strcmp(other, rest)) {
			snprintf(sum, sizeof(sum), "%" PRIu64 "%s", n + more, rest);
			memcpy(own, sum, sizeof(sum));
			return 1;
		}
		if (!more && !strcmp(own, text))
			return 1;
	}
	return 0;
}

static int has_worker(const void *context, size_t part, int32_t rank)
{
	return ((const struct pp_merge *)context)->whole[part] || pp_merge_has(context, part, rank);
}

/* A copy of a part's rows, in the order of its hosts' numbers in the merged dataset. */
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

static void spend(const struct pp_merge *m, int id)
{
	struct pp_table all[PP_TABLES];

	for (size_t p = 0; m->spent && p < m->parts; p++) {
		pp_dataset_tables(m->spent[p], all);
		free(all[id].row);
		all[id].row = NULL;
		all[id].rows = 0;
		pp_dataset_take_tables(m->spent[p], all);
	}
}

/* Tables that hosts made. */
static int merge_described(struct pp_merge *m)
{
	struct pp_table_merge how = {.shift = m->shift, .has = has_worker, .context = m};
	struct pp_table to[PP_TABLES], all[PP_TABLES], *part = calloc(m->parts, sizeof(*part));
	uint32_t *rank = pp_names_rank(m->d->names);
	int rc = part && rank ? 0 : -ENOMEM;

	how.rank = rank;
	pp_dataset_tables(m->d, to);
	for (int id = 0; id < PP_TABLES && rc == 0; id++) {
		if (to[id].desc->made > PP_MADE_SIDE)
			continue;
		for (size_t p = 0; p < m->parts; p++) {
			pp_dataset_tables(m->part[p], all);
			part[p] = all[id];
		}
		if (to[id].desc->columns > 1 && to[id].desc->column[1].type == PP_TYPE_HOST)
			rc = merge_of_hosts(m, &how, part, &to[id]);
		else
			rc = pp_table_merge(part, m->parts, &how, &to[id]);
		spend(m, id);
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
	for (size_t p = 0; p < m->parts; p++)
		for (size_t i = 0; i < m->part[p]->warnings && rc == 0; i++)
			if (!has_warning(d, m->part[p]->warning[i].warning))
				rc = pp_dataset_warn(d, "%s", m->part[p]->warning[i].warning);
	return rc;
}
