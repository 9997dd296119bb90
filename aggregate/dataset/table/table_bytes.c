/* Tables to bytes and back, by columns in batches of 1024 rows; see table_bytes.h. Called by block.c, which deflates them.
 * A batch has a byte for its form, the least value, and the values' differences to it, low bytes of all first. So a batch needs
 * one check of its bounds, its loops are vectorised, and a constant column takes three bytes. */
#include "aggregate/dataset/table/table_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/wrap.h"

enum { WIDTH = 15, DELTA = 16 };

struct bytes {
	struct pp_table *table; /* all of them */
	const struct pp_prediction *prediction;
	size_t predictions;
	uint32_t *local, locals; /* written: [names] number in this block; read: [locals] id here */
	uint32_t *rank;          /* [names] order of texts; read: number in this block, which is their order */
};

static unsigned width_of(uint64_t v)
{
	return v ? (71 - (unsigned)__builtin_clzll(v)) / 8 : 0;
}

static void put_batch(struct pp_block_io *io, const int64_t *v, size_t n, int64_t before)
{
	int64_t low = v[0], high = v[0], low_d = (int64_t)((uint64_t)v[0] - (uint64_t)before), high_d = low_d, base;
	uint64_t more[PP_TABLE_BATCH];
	unsigned width, width_d, how;
	uint8_t *p;

	for (size_t i = 1; i < n; i++) {
		int64_t d = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);

		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
		low_d = d < low_d ? d : low_d;
		high_d = d > high_d ? d : high_d;
	}
	width = width_of((uint64_t)high - (uint64_t)low);
	width_d = width_of((uint64_t)high_d - (uint64_t)low_d);
	how = width_d < width ? DELTA | width_d : width;
	width = how & WIDTH;
	base = how & DELTA ? low_d : low;
	if ((p = pp_block_take(io, 1)))
		*p = (uint8_t)how;
	pp_block_s(io, &base);
	p = pp_block_take(io, n * width);
	more[0] = (uint64_t)v[0] - (how & DELTA ? (uint64_t)before : 0) - (uint64_t)base;
	for (size_t i = 1; i < n; i++)
		more[i] = (uint64_t)v[i] - (how & DELTA ? (uint64_t)v[i - 1] : 0) - (uint64_t)base;
	for (unsigned k = 0; p && k < width; k++, p += n)
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)(more[i] >> 8 * k);
}

/* Returns 1 if all of them are 0. */
static int get_batch(struct pp_block_io *io, int64_t *v, size_t n, int64_t before)
{
	const uint8_t *p = pp_block_take(io, 1);
	const unsigned how = p ? *p : 0, width = how & WIDTH;
	uint64_t sum = (uint64_t)before, out[PP_TABLE_BATCH];
	int64_t base = 0;

	pp_block_s(io, &base);
	if (how & ~(unsigned)(WIDTH | DELTA) || width > sizeof(*out))
		pp_block_fault(io, -EBADMSG, "how a column is written");
	p = pp_block_take(io, n * width);
	if (!p || (!width && !base && !(how & DELTA))) {
		memset(v, 0, n * sizeof(*v));
		return 1;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (uint64_t)base;
	for (unsigned k = 0; k < width; k++, p += n)
		for (size_t i = 0; i < n; i++)
			out[i] += (uint64_t)p[i] << 8 * k;
	for (size_t i = 0; how & DELTA && i < n; i++)
		out[i] = sum += out[i];
	memcpy(v, out, n * sizeof(*out));
	return 0;
}

/* A text equal to the previous row's takes a byte. */
static void do_chars(struct pp_block_io *io, const struct pp_table *t, const struct pp_column *c)
{
	for (size_t i = 0; i < t->rows && !io->fault; i++) {
		char *text = pp_column_at(c, t, i), *before = i ? text - t->desc->row_size : text;
		uint64_t is_same = i && !strcmp(text, before);

		pp_block_u(io, &is_same);
		if (!is_same)
			pp_block_text(io, text, c->count);
		else if (io->reads)
			memcpy(text, before, i ? c->count : 0);
	}
}

static const struct pp_prediction *prediction_of(const struct bytes *x, const struct pp_table *t, size_t offset)
{
	for (size_t i = 0; i < x->predictions; i++)
		if (&x->table[x->prediction[i].table] == t && x->prediction[i].offset == offset)
			return &x->prediction[i];
	return NULL;
}

/* One value of each row of a table. */
struct values {
	struct pp_table *t;
	const struct pp_column *c;
	size_t k;
	const struct pp_prediction *prediction;
	const uint32_t *local; /* of texts, else NULL */
	int64_t before;        /* the last one that was sent */
};

static void put_values(struct pp_block_io *io, const struct bytes *x, struct values *a, size_t at, size_t n)
{
	int64_t v[PP_TABLE_BATCH];

	pp_column_load(a->c, a->t, at, n, a->k, v);
	if (!pp_column_is_good(a->c, n, v)) {
		pp_block_fault(io, -EBADMSG, a->c->name);
		return;
	}
	for (size_t i = 0; a->prediction && i < n; i++)
		v[i] = pp_wrap_minus(v[i], a->prediction->predict(x->table, at + i));
	for (size_t i = 0; a->local && i < n; i++)
		v[i] = a->local[v[i]];
	put_batch(io, v, n, a->before);
	a->before = v[n - 1];
}

/* Rows are zero before. */
static void get_values(struct pp_block_io *io, const struct bytes *x, struct values *a, size_t at, size_t n)
{
	int64_t v[PP_TABLE_BATCH];
	int is_zero = get_batch(io, v, n, a->before), bad = 0;

	a->before = v[n - 1];
	if (io->fault || (is_zero && !a->prediction && !a->local))
		return;
	for (size_t i = 0; a->local && i < n; i++) {
		bad |= (uint64_t)v[i] >= x->locals;
		v[i] = bad ? 0 : a->local[v[i]];
	}
	for (size_t i = 0; a->prediction && i < n; i++) { /* one by one, as it may need the row before */
		v[i] = pp_wrap_plus(v[i], a->prediction->predict(x->table, at + i));
		bad |= pp_column_store(a->c, a->t, at + i, 1, a->k, &v[i]);
	}
	if (!a->prediction)
		bad |= pp_column_store(a->c, a->t, at, n, a->k, v);
	if (bad || !pp_column_is_good(a->c, n, v))
		pp_block_fault(io, -EBADMSG, a->c->name);
}

static void do_column(struct pp_block_io *io, const struct bytes *x, struct pp_table *t, const struct pp_column *c, size_t k)
{
	struct values a = {.t = t, .c = c, .k = k, .local = c->type == PP_TYPE_TEXT ? x->local : NULL};

	if (c->type == PP_TYPE_CHARS) {
		do_chars(io, t, c);
		return;
	}
	if (c->type == PP_TYPE_TEXT && !a.local)
		pp_block_fault(io, -EBADMSG, c->name);
	a.prediction = prediction_of(x, t, c->offset + k * c->size);
	for (size_t at = 0, n; at < t->rows && !io->fault; at += n) {
		n = t->rows - at < PP_TABLE_BATCH ? t->rows - at : PP_TABLE_BATCH;
		(io->reads ? get_values : put_values)(io, x, &a, at, n);
	}
}

static void do_rows(struct pp_block_io *io, struct bytes *x, struct pp_table *t)
{
	const struct pp_table_desc *d = t->desc;
	const char *wrong;

	for (size_t i = d->columns; i-- > 0;)
		for (size_t k = 0; d->column[i].rule < PP_RULE_LATE && k < pp_column_values(&d->column[i]); k++)
			do_column(io, x, t, &d->column[i], k);
	if (io->reads && !io->fault && (wrong = pp_table_fault(t)))
		pp_block_fault(io, -EBADMSG, wrong);
}

static void do_table(struct pp_block_io *io, struct bytes *x, struct pp_table *t)
{
	const struct pp_table_desc *d = t->desc;
	uint64_t rows = t->rows;
	int sealed;

	pp_block_u(io, &rows);
	if (io->reads) {
		t->row = pp_block_room(io, (size_t)rows, d->row_size);
		t->rows = t->room = t->row ? (size_t)rows : 0;
	}
	do_rows(io, x, t);
	sealed = io->fault || d->made == PP_MADE_PACKED || !d->keys ? 1 : pp_table_is_sealed(t, x->rank);
	if (sealed < 1)
		pp_block_fault(io, sealed < 0 ? -ENOMEM : -EBADMSG, "the order of rows");
}

static void mark_texts(const struct pp_table *t, uint8_t *used)
{
	int64_t name[PP_TABLE_BATCH];

	for (size_t i = 0; i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];

		for (size_t at = 0, n; c->type == PP_TYPE_TEXT && c->rule < PP_RULE_LATE && at < t->rows; at += n) {
			n = t->rows - at < PP_TABLE_BATCH ? t->rows - at : PP_TABLE_BATCH;
			pp_column_load(c, t, at, n, 0, name);
			for (size_t k = 0; k < n; k++)
				used[name[k]] = 1;
		}
	}
}

/* Texts of the rows, each once and sorted: a text's number is its index. */
static void put_texts(struct pp_block_io *io, struct bytes *x, const struct pp_table *table, size_t tables)
{
	const uint32_t all = pp_intern_count(io->names);
	uint32_t *id_of = malloc((all + 1) * sizeof(*id_of));
	uint8_t *used = calloc(all + 1, 1);
	uint64_t n = 0;

	x->rank = pp_names_rank(io->names);
	x->local = calloc(all + 1, sizeof(*x->local));
	if (!id_of || !used || !x->rank || !x->local) {
		pp_block_fault(io, -ENOMEM, "no memory");
		goto free_all;
	}
	for (uint32_t i = 0; i < all; i++)
		id_of[x->rank[i]] = i;
	for (size_t i = 0; i < tables; i++)
		if (table[i].desc->made < PP_MADE_POD)
			mark_texts(&table[i], used);
	for (uint32_t i = 0; i < all; i++)
		if (used[id_of[i]])
			x->local[id_of[i]] = (uint32_t)n++;
	pp_block_u(io, &n);
	for (uint32_t i = 0; i < all; i++)
		if (used[id_of[i]])
			pp_block_name(io, &id_of[i]);
free_all:
	free(id_of);
	free(used);
}

static void get_texts(struct pp_block_io *io, struct bytes *x)
{
	const char *before = "";
	uint64_t n = 0;

	pp_block_u(io, &n);
	if (!io->fault && n > io->size - io->at)
		pp_block_fault(io, -EBADMSG, "more names than there are bytes");
	if (io->fault)
		return;
	x->local = malloc((n + 1) * sizeof(*x->local));
	if (!x->local) {
		pp_block_fault(io, -ENOMEM, "no memory");
		return;
	}
	for (x->locals = 0; !io->fault && x->locals < n; x->locals++) {
		const char *text;

		pp_block_name(io, &x->local[x->locals]);
		text = pp_intern_text(io->interned, x->local[x->locals], NULL);
		if (!io->fault && x->locals && strcmp(before, text) >= 0)
			pp_block_fault(io, -EBADMSG, "the order of names");
		before = text;
	}
	x->rank = calloc(pp_intern_count(io->interned) + 1, sizeof(*x->rank));
	if (!x->rank)
		pp_block_fault(io, -ENOMEM, "no memory");
	for (uint32_t i = 0; x->rank && !io->fault && i < x->locals; i++)
		x->rank[x->local[i]] = i;
}

void pp_tables_bytes(struct pp_block_io *io, struct pp_table *table, size_t tables, const struct pp_prediction *prediction,
                     size_t predictions)
{
	struct bytes x = {.table = table, .prediction = prediction, .predictions = predictions};

	if (io->reads)
		get_texts(io, &x);
	else
		put_texts(io, &x, table, tables);
	for (size_t i = 0; i < tables && !io->fault; i++)
		if (table[i].desc->made < PP_MADE_POD)
			do_table(io, &x, &table[i]);
	free(x.rank);
	free(x.local);
}

void pp_record_bytes(struct pp_block_io *io, struct pp_table *record)
{
	do_rows(io, &(struct bytes){0}, record);
}
