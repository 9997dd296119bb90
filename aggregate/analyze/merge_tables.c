/* Collectives, traffic, names and samples of several hosts in one dataset; see merge.h. Called by merge.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/join.h"
#include "aggregate/analyze/merge_part.h"

struct piece { /* a part's rows of a collective */
	const struct pp_collective *c;
	size_t part;
};

static int compare_piece(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->c->comm != y->c->comm)
		return x->c->comm < y->c->comm ? -1 : 1;
	if (x->c->sequence != y->c->sequence)
		return x->c->sequence < y->c->sequence ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static int compare_row(const void *a, const void *b)
{
	const struct pp_collective_row *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->arrival_ns > y->arrival_ns) - (x->arrival_ns < y->arrival_ns);
}

static int compare_first(const void *a, const void *b)
{
	const struct pp_collective *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->row_first > y->row_first) - (x->row_first < y->row_first);
}

static void take_rows(struct pp_merge *m, const struct piece *piece, struct pp_collective *c)
{
	const struct pp_dataset *from = m->part[piece->part];

	for (uint32_t i = 0; i < piece->c->row_count; i++) {
		struct pp_collective_row row = from->row[piece->c->row_first + i];

		if (!pp_merge_has(m, piece->part, row.worker))
			continue;
		row.arrival_ns = pp_merge_plus(row.arrival_ns, m->shift[piece->part]);
		row.exit_ns = pp_merge_plus(row.exit_ns, m->shift[piece->part]);
		m->d->row[m->d->rows++] = row;
		c->row_count++;
	}
}

/* Its own host's, with what was said of it there. */
static void take_one(struct pp_merge *m, const struct piece *piece, struct pp_collective *c)
{
	*c = *piece->c;
	c->row_first = m->d->rows;
	c->row_count = 0;
	c->first_ns = pp_merge_plus(c->first_ns, m->shift[piece->part]);
	c->last_ns = pp_merge_plus(c->last_ns, m->shift[piece->part]);
	c->end_ns = pp_merge_plus(c->end_ns, m->shift[piece->part]);
	take_rows(m, piece, c);
}

/* Of several hosts, whose clocks are not joined: who came and left when, by its own clock; nobody waits, all of it is transfer. */
static void join_pieces(struct pp_merge *m, const struct piece *piece, size_t n, struct pp_collective *c)
{
	struct pp_collective_row *row = &m->d->row[m->d->rows];
	int64_t latest = INT64_MIN;

	*c = *piece[0].c;
	c->row_first = m->d->rows;
	c->row_count = 0;
	c->wait_ns = c->transfer_ns = 0;
	c->algbw = c->busbw = 0;
	c->bound_ns = PP_BOUND_UNKNOWN;
	c->last_worker = -1;
	for (size_t i = 0; i < n; i++) {
		const struct pp_collective *one = piece[i].c;
		int64_t last = pp_merge_plus(one->last_ns, m->shift[piece[i].part]);

		if (one->bytes > c->bytes)
			c->bytes = one->bytes;
		if (one->root >= 0)
			c->root = one->root;
		if (one->step != INT64_MIN && (c->step == INT64_MIN || last > latest)) {
			c->step = one->step;
			latest = last;
		}
		take_rows(m, &piece[i], c);
	}
	qsort(row, c->row_count, sizeof(*row), compare_row);
	for (uint32_t i = 0; i < c->row_count; i++) {
		if (i == 0 || row[i].arrival_ns < c->first_ns)
			c->first_ns = row[i].arrival_ns;
		if (i == 0 || row[i].exit_ns > c->end_ns)
			c->end_ns = row[i].exit_ns;
		if (i == 0 || row[i].arrival_ns > c->last_ns)
			c->last_ns = row[i].arrival_ns;
		c->transfer_ns = pp_merge_plus(c->transfer_ns, pp_merge_minus(row[i].exit_ns, row[i].arrival_ns));
	}
	c->ranks = (int32_t)c->row_count;
}

int pp_merge_collectives(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	size_t all = 0, rows = 0, at = 0;
	struct piece *piece;

	for (size_t p = 0; p < m->parts; p++) {
		all += m->part[p]->collectives;
		for (size_t i = 0; i < m->part[p]->collectives; i++)
			rows += m->part[p]->collective[i].row_count;
	}
	piece = calloc(all + 1, sizeof(*piece));
	d->collective = calloc(all + 1, sizeof(*d->collective));
	d->row = calloc(rows + 1, sizeof(*d->row));
	if (!piece || !d->collective || !d->row) {
		free(piece);
		return -ENOMEM;
	}
	for (size_t p = 0; p < m->parts; p++)
		for (size_t i = 0; i < m->part[p]->collectives; i++)
			piece[at++] = (struct piece){&m->part[p]->collective[i], p};
	qsort(piece, all, sizeof(*piece), compare_piece);
	for (size_t i = 0, n; i < all; i += n) {
		struct pp_collective *c = &d->collective[d->collectives];

		for (n = 1; i + n < all; n++)
			if (piece[i + n].c->comm != piece[i].c->comm || piece[i + n].c->sequence != piece[i].c->sequence)
				break;
		if (n == 1)
			take_one(m, &piece[i], c);
		else
			join_pieces(m, &piece[i], n, c);
		d->collectives += c->row_count > 0;
	}
	free(piece);
	qsort(d->collective, d->collectives, sizeof(*d->collective), compare_first);
	return 0;
}

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

static int compare_ns(const void *a, const void *b)
{
	const struct pp_attr_default *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return compare_name(a, b);
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
			d->by_default[kept - 1].ns = pp_merge_plus(d->by_default[kept - 1].ns, d->by_default[i].ns);
		else
			d->by_default[kept++] = d->by_default[i];
	}
	d->defaults = kept;
	qsort(d->by_default, d->defaults, sizeof(*d->by_default), compare_ns);
	return 0;
}

static int compare_file(const void *a, const void *b)
{
	const struct pp_file_use *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->worker > y->worker) - (x->worker < y->worker);
}

static int compare_memory(const void *a, const void *b)
{
	const struct pp_memory_row *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->m.time > y->m.time) - (x->m.time < y->m.time);
}

/* Rows of ranks, but of those that are another part's. */
static int merge_by_rank(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	size_t files = 0, memories = 0, file = 0, memory = 0;
	int rc = GATHER(m, files, file);

	if (rc == 0)
		rc = GATHER(m, memories, memory);
	if (rc < 0)
		return rc;
	for (size_t p = 0; p < m->parts; p++) {
		for (size_t i = 0; i < m->part[p]->files; i++, file++)
			if (pp_merge_has(m, p, d->file[file].worker))
				d->file[files++] = d->file[file];
		for (size_t i = 0; i < m->part[p]->memories; i++, memory++) {
			if (!pp_merge_has(m, p, d->memory[memory].worker))
				continue;
			d->memory[memories] = d->memory[memory];
			d->memory[memories].m.time = pp_merge_plus(d->memory[memories].m.time, m->shift[p]);
			memories++;
		}
	}
	d->files = files;
	d->memories = memories;
	qsort(d->file, files, sizeof(*d->file), compare_file);
	qsort(d->memory, memories, sizeof(*d->memory), compare_memory);
	return 0;
}

static int has_warning(const struct pp_dataset *d, const char *text)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (!strcmp(d->warning[i].text, text))
			return 1;
	return 0;
}

int pp_merge_tables(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	int rc = GATHER(m, channels, channel);

	if (rc == 0)
		rc = GATHER(m, unseens, unseen);
	if (rc < 0)
		return rc;
	pp_channels_fold(d->channel, &d->channels);
	pp_channels_fold(d->unseen, &d->unseens);
	rc = merge_communicators(m);
	if (rc == 0)
		rc = merge_defaults(m);
	if (rc == 0)
		rc = merge_by_rank(m);
	for (size_t p = 0; p < m->parts; p++)
		for (size_t i = 0; i < m->part[p]->warnings && rc == 0; i++)
			if (!has_warning(d, m->part[p]->warning[i].text))
				rc = pp_dataset_warn(d, "%s", m->part[p]->warning[i].text);
	return rc;
}
