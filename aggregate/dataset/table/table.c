/* Operations on any table in memory: rows, columns, order, merging; see table.h. */
#include "aggregate/dataset/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/huge.h"
#include "core/base/known.h"

int pp_table_is_grid(const struct pp_table_desc *d)
{
	return strchr(d->dim, ' ') != NULL;
}

const char *pp_table_group(const struct pp_table_desc *d, size_t i, const char **ret_absent)
{
	*ret_absent = d->absent;
	if (!i)
		return d->group;
	for (size_t k = 0; k < d->columns; k++) {
		if (d->column[k].rule != PP_RULE_IN || --i)
			continue;
		*ret_absent = d->column[k].what;
		return d->column[k].name;
	}
	return NULL;
}

int pp_table_is_in(const struct pp_table_desc *d, const char *group)
{
	const char *one, *absent;

	for (size_t i = 0; (one = pp_table_group(d, i, &absent)); i++)
		if (!strcmp(one, group))
			return 1;
	return 0;
}

const char *pp_column_group(const struct pp_table_desc *d, const struct pp_column *c)
{
	for (; c >= d->column; c--)
		if (c->rule == PP_RULE_IN)
			return c->name;
	return d->group;
}

const struct pp_table_desc *pp_table_describe(struct pp_table_desc *d, const struct pp_column *column, size_t columns)
{
	if (d->column)
		return d;
	for (size_t i = 0; i < columns; i++) {
		d->keys += column[i].rule == PP_RULE_KEY || column[i].rule == PP_RULE_PART;
		if (column[i].rule == PP_RULE_INDEX && i)
			d->once = i;
	}
	d->columns = columns;
	d->column = column;
	return d;
}

uint32_t pp_table_schema(const struct pp_table_desc *(*desc)(int id), int tables)
{
	uint32_t hash = 0x811c9dc5;
	char text[256];

	for (int id = 0; id < tables; id++) {
		const struct pp_table_desc *d = desc(id);

		for (size_t i = 0; d->made < PP_MADE_POD && i < d->columns; i++) {
			const struct pp_column *c = &d->column[i];

			if (c->rule >= PP_RULE_LATE)
				continue;
			snprintf(text, sizeof(text), "%s.%s %u%s %u %u %s;", d->name, c->name, (unsigned)c->type,
			         c->is_maybe == PP_MAYBE_LARGEST ? "!"
			         : c->is_maybe                   ? "?"
			                                         : "",
			         (unsigned)c->count, (unsigned)c->rule, c->words);
			for (const char *p = text; *p; p++)
				hash = (hash ^ (uint8_t)*p) * 0x01000193u;
		}
	}
	return hash;
}

int pp_tables_have(const struct pp_table *table, size_t tables, const char *group)
{
	for (size_t i = 0; i < tables; i++)
		if (table[i].rows && table[i].desc->dim[0] && pp_table_is_in(table[i].desc, group))
			return 1;
	return 0;
}

int pp_table_room(struct pp_table *t, size_t rows)
{
	const size_t size = t->desc->row_size;
	void *row = rows < SIZE_MAX / 2 / size ? realloc(t->row, (rows + 1) * size) : NULL;

	if (!row)
		return -ENOMEM;
	pp_huge_advise(row, rows * size);
	t->row = row;
	t->room = rows;
	return 0;
}

/* Bits of a double that is NAN. */
static int is_no_number(int64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return isnan(value);
}

void pp_table_release(struct pp_table *t)
{
	free(t->axis[0]);
	free(t->axis[1]);
	free(t->row);
	*t = (struct pp_table){.desc = t->desc};
}

int64_t pp_column_unknown(const struct pp_column *c)
{
	const double no_number = (double)NAN;
	int64_t bits = c->is_maybe == PP_MAYBE_LARGEST ? INT64_MAX : c->is_maybe ? PP_UNKNOWN : 0;

	if (c->is_maybe && c->type == PP_TYPE_F64)
		memcpy(&bits, &no_number, sizeof(bits));
	return bits;
}

void pp_column_clear(const struct pp_column *c, void *value)
{
	const int64_t unknown = pp_column_unknown(c);

	memset(value, 0, (size_t)c->size * c->count);
	for (size_t k = 0; c->is_maybe && k < c->count; k++)
		memcpy((char *)value + k * c->size, &unknown, c->size);
}

void pp_row_clear(const struct pp_table_desc *d, void *row)
{
	memset(row, 0, d->row_size);
	for (size_t i = 0; i < d->columns; i++)
		if (d->column[i].is_maybe)
			pp_column_clear(&d->column[i], (char *)row + d->column[i].offset);
}

int pp_column_is_unknown(const struct pp_column *c, int64_t value)
{
	return c->is_maybe && (c->type == PP_TYPE_F64 ? is_no_number(value) : value == pp_column_unknown(c));
}

void *pp_table_add(struct pp_table *t)
{
	if (t->rows == t->room && pp_table_room(t, t->room ? 2 * t->room : 64))
		return NULL;
	pp_row_clear(t->desc, (char *)t->row + t->rows * t->desc->row_size);
	return (char *)t->row + t->rows++ * t->desc->row_size;
}

/* Bits of a double, and of integers their value. */
#define TO_BITS(c_type, value, to)                                                                                                 \
	_Generic((c_type)0, double : memcpy(to, &(value), sizeof(value)), default : (void)(*(to) = (int64_t)(value)))
#define FROM_BITS(c_type, value, from)                                                                                             \
	_Generic((c_type)0, double : memcpy(&(value), from, sizeof(value)), default : (void)((value) = (c_type) * (from)))

void pp_column_load(const struct pp_column *c, const struct pp_table *t, size_t first, size_t n, size_t k, int64_t *to)
{
	const size_t stride = t->desc->row_size;
	const char *from = (const char *)t->row + first * stride + c->offset + k * c->size;

	switch (c->type) {
#define PP_TYPE(name, c_type, sum_type, h5)                                                                                        \
	case PP_TYPE_##name:                                                                                                       \
		for (size_t i = 0; i < n; i++, from += stride) {                                                                   \
			c_type value;                                                                                              \
			memcpy(&value, from, sizeof(value));                                                                       \
			TO_BITS(c_type, value, &to[i]);                                                                            \
		}                                                                                                                  \
		return;
#include "aggregate/dataset/table/type.def"
	}
}

/* A coordinate of the table's group, which its other groups share. */
static int is_first_axis(const struct pp_table_desc *d, const struct pp_column *c)
{
	return pp_column_group(d, c) == d->group;
}

uint32_t pp_column_shown(const struct pp_table_desc *d, const struct pp_column *c)
{
	if (c->rule == PP_RULE_PART || c->is_alias || (c->is_axis && !is_first_axis(d, c)) || !pp_column_group(d, c)[0])
		return 0;
	return pp_column_values(c) + (c->text || c->is_axis);
}

const char *pp_column_word(const struct pp_column *c, int64_t code, int *ret_length)
{
	const char *word = c->words;

	for (int64_t i = 0; i < code && *word; i++) {
		word += strcspn(word, " ");
		word += *word == ' ';
	}
	*ret_length = code < 0 ? 0 : (int)strcspn(word, " ");
	return code < 0 ? "" : word;
}

int pp_column_is_good(const struct pp_column *c, size_t n, const int64_t *value)
{
	int64_t bad = 0;
	int length, words = 0;

	switch (c->type) {
	case PP_TYPE_FLAG:
		for (size_t i = 0; i < n; i++)
			bad |= value[i] & ~(int64_t)1;
		break;
	case PP_TYPE_NS:
	case PP_TYPE_TIME:
		for (size_t i = 0; i < n; i++)
			bad |= (value[i] > PP_TABLE_TIME_MAX || value[i] < -PP_TABLE_TIME_MAX) &&
			       ((c->type == PP_TYPE_NS && !c->is_maybe) || value[i] != INT64_MIN);
		break;
	case PP_TYPE_F64: /* infinities and NaN have all bits of the exponent */
		for (size_t i = 0; i < n; i++)
			bad |= (value[i] >> 52 & 0x7ff) == 0x7ff && !pp_column_is_unknown(c, value[i]);
		break;
	case PP_TYPE_CODE:
		while (*pp_column_word(c, words, &length))
			words++;
		for (size_t i = 0; i < n; i++)
			bad |= value[i] < 0 || value[i] >= words;
		break;
	default:
		break;
	}
	return !bad;
}

const char *pp_table_fault(const struct pp_table *t)
{
	const struct pp_table_desc *d = t->desc;
	int64_t v = 0;

	for (size_t r = 0; r < t->rows && d->check; r++) {
		const char *wrong = d->check((const char *)t->row + r * d->row_size);

		if (wrong)
			return wrong;
	}
	for (size_t i = 0; i < d->columns && d->made <= PP_MADE_SIDE; i++) {
		const struct pp_column *c = &d->column[i];

		for (size_t r = 0; r < t->rows && c->word && c->size; r++) {
			pp_column_load(c, t, r, 1, 0, &v);
			if (v < 0 || v > INT32_MAX || !*c->word((int)v))
				return c->name;
		}
	}
	return NULL;
}

int pp_column_store(const struct pp_column *c, struct pp_table *t, size_t first, size_t n, size_t k, const int64_t *from)
{
	const size_t stride = t->desc->row_size;
	char *to = (char *)t->row + first * stride + c->offset + k * c->size;
	int64_t bad = 0;

	switch (c->type) {
#define PP_TYPE(name, c_type, sum_type, h5)                                                                                        \
	case PP_TYPE_##name:                                                                                                       \
		for (size_t i = 0; i < n; i++, to += stride) {                                                                     \
			c_type value;                                                                                              \
			int64_t again;                                                                                             \
			FROM_BITS(c_type, value, &from[i]);                                                                        \
			TO_BITS(c_type, value, &again);                                                                            \
			bad |= again ^ from[i];                                                                                    \
			memcpy(to, &value, sizeof(value));                                                                         \
		}                                                                                                                  \
		break;
#include "aggregate/dataset/table/type.def"
	}
	return bad != 0;
}

static int compare_texts(const void *a, const void *b, void *names)
{
	return strcmp(pp_intern_text(names, *(const uint32_t *)a, NULL), pp_intern_text(names, *(const uint32_t *)b, NULL));
}

uint32_t *pp_names_rank(const struct pp_intern *names)
{
	const uint32_t n = pp_intern_count(names);
	uint32_t *order = malloc((n + 1) * sizeof(*order)), *rank = malloc((n + 1) * sizeof(*rank));

	if (!order || !rank) {
		free(rank);
		rank = NULL;
		goto free_order;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), compare_texts, (void *)names);
	for (uint32_t i = 0; i < n; i++)
		rank[order[i]] = i;
free_order:
	free(order);
	return rank;
}

static int is_signed(const struct pp_column *c)
{
	return c->type != PP_TYPE_U16 && c->type != PP_TYPE_U32 && c->type != PP_TYPE_U64 && c->type != PP_TYPE_TEXT;
}

/* Keys of all rows as unsigned numbers in their order: [rows][keys]. NULL: no memory. */
static uint64_t *keys_of(const struct pp_table *t, const uint32_t *rank, int64_t shift)
{
	const size_t keys = t->desc->keys;
	uint64_t *all = calloc(t->rows * keys + 1, sizeof(*all)), *to;
	int64_t value[PP_TABLE_BATCH] = {0};
	size_t k = 0;

	for (size_t i = 0; all && i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];

		if (c->rule != PP_RULE_KEY && c->rule != PP_RULE_PART)
			continue;
		to = all + k++;
		for (size_t at = 0, n; at < t->rows; at += n) {
			n = t->rows - at < PP_TABLE_BATCH ? t->rows - at : PP_TABLE_BATCH;
			pp_column_load(c, t, at, n, 0, value);
			for (size_t j = 0; j < n; j++, to += keys) {
				uint64_t v = (uint64_t)value[j];

				if (c->type == PP_TYPE_TIME && value[j] != INT64_MIN)
					v += (uint64_t)shift;
				*to = c->type == PP_TYPE_TEXT ? rank[v] : v ^ (uint64_t)is_signed(c) << 63;
			}
		}
	}
	return all;
}

static int compare_keys(const uint64_t *x, const uint64_t *y, size_t keys)
{
	for (size_t k = 0; k < keys; k++)
		if (x[k] != y[k])
			return x[k] < y[k] ? -1 : 1;
	return 0;
}

/* Sums, minima and maxima are of what is known. An error without a bound is the largest. */
static void fold_column(const struct pp_column *c, char *to, const char *from)
{
	const int is_less = c->is_maybe == PP_MAYBE_LEAST;

	if (c->type == PP_TYPE_CHARS) { /* FIRST */
		if (!*to)
			memcpy(to, from, c->count);
		return;
	}
	switch (c->type) {
#define PP_TYPE(name, c_type, sum_type, h5)                                                                                        \
	case PP_TYPE_##name:                                                                                                       \
		for (size_t k = 0; k < c->count; k++, to += sizeof(c_type), from += sizeof(c_type)) {                              \
			c_type x, y;                                                                                               \
			int64_t x_bits, y_bits;                                                                                    \
			memcpy(&x, to, sizeof(x));                                                                                 \
			memcpy(&y, from, sizeof(y));                                                                               \
			TO_BITS(c_type, x, &x_bits);                                                                               \
			TO_BITS(c_type, y, &y_bits);                                                                               \
			if (is_less && pp_column_is_unknown(c, x_bits))                                                            \
				x = y;                                                                                             \
			else if (is_less && pp_column_is_unknown(c, y_bits))                                                       \
				;                                                                                                  \
			else if (c->rule == PP_RULE_SUM)                                                                           \
				x = (c_type)((sum_type)x + (sum_type)y);                                                           \
			else if (c->rule == PP_RULE_FIRST ? x == 0 : c->rule == PP_RULE_MAX ? y > x : y < x)                       \
				x = y;                                                                                             \
			memcpy(to, &x, sizeof(x));                                                                                 \
		}                                                                                                                  \
		return;
#include "aggregate/dataset/table/type.def"
	}
}

/* Functions first: they may read columns that are merged after them. */
void pp_row_fold(const struct pp_table_desc *d, void *to, const void *from)
{
	for (size_t i = 0; i < d->columns; i++)
		if (d->column[i].by)
			d->column[i].by(&d->column[i], to, from);
	for (size_t i = 0; i < d->columns; i++)
		if (d->column[i].rule >= PP_RULE_SUM && d->column[i].rule <= PP_RULE_FIRST)
			fold_column(&d->column[i], (char *)to + d->column[i].offset, (const char *)from + d->column[i].offset);
}

struct order {
	const uint64_t *key;
	size_t keys;
};

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const int order = compare_keys(o->key + x * o->keys, o->key + y * o->keys, o->keys);

	return order ? order : (x > y) - (x < y);
}

static int in_order(const uint64_t *key, size_t rows, size_t keys)
{
	for (size_t i = 1; i < rows; i++)
		if (compare_keys(key + (i - 1) * keys, key + i * keys, keys) >= 0)
			return 0;
	return 1;
}

int pp_table_is_sealed(const struct pp_table *t, const uint32_t *rank)
{
	uint64_t *key = keys_of(t, rank, 0);
	int good = key ? in_order(key, t->rows, t->desc->keys) : -ENOMEM;

	free(key);
	return good;
}

int pp_table_seal(struct pp_table *t, const uint32_t *rank)
{
	const size_t size = t->desc->row_size, keys = t->desc->keys;
	struct order order = {keys_of(t, rank, 0), keys};
	size_t *index = NULL, n = 0;
	char *row = NULL;
	int rc = -ENOMEM;

	if (!order.key || in_order(order.key, t->rows, keys)) {
		rc = order.key ? 0 : rc;
		goto free_all;
	}
	index = malloc(t->rows * sizeof(*index));
	row = calloc(t->rows + 1, size);
	if (!index || !row)
		goto free_all;
	for (size_t i = 0; i < t->rows; i++)
		index[i] = i;
	qsort_r(index, t->rows, sizeof(*index), compare_rows, &order);
	for (size_t i = 0; i < t->rows; i++) {
		const char *from = (const char *)t->row + index[i] * size;

		if (n && !compare_keys(order.key + index[i - 1] * keys, order.key + index[i] * keys, keys))
			pp_row_fold(t->desc, row + (n - 1) * size, from);
		else
			memcpy(row + n++ * size, from, size);
	}
	free(t->row);
	*t = (struct pp_table){t->desc, row, n, t->rows};
	row = NULL;
	rc = 0;
free_all:
	free(row);
	free(index);
	free((void *)order.key);
	return rc;
}

struct cursor { /* a part's next row */
	uint64_t *keys;
	size_t part, at;
};

struct merge {
	const struct pp_table *part;
	const struct pp_table_merge *how;
	const struct pp_column *worker; /* NULL: no row belongs to a rank */
	struct cursor *heap;            /* the least key first; of equal ones, the first part's */
	size_t n, keys;
};

static int is_before(const struct merge *m, const struct cursor *a, const struct cursor *b)
{
	int order = compare_keys(a->keys + a->at * m->keys, b->keys + b->at * m->keys, m->keys);

	return order ? order < 0 : a->part < b->part;
}

static void sift(struct merge *m, size_t i)
{
	for (size_t least; (least = 2 * i + 1) < m->n; i = least) {
		struct cursor c = m->heap[i];

		if (least + 1 < m->n && is_before(m, &m->heap[least + 1], &m->heap[least]))
			least++;
		if (!is_before(m, &m->heap[least], &c))
			return;
		m->heap[i] = m->heap[least];
		m->heap[least] = c;
	}
}

/* Advances to the part's next row of its own. 0: there is none. */
static int skip_others(const struct merge *m, struct cursor *c)
{
	const struct pp_table *t = &m->part[c->part];

	while (m->worker && m->how->has && c->at < t->rows) {
		int64_t worker = 0;

		pp_column_load(m->worker, t, c->at, 1, 0, &worker);
		if (m->how->has(m->how->context, c->part, (int32_t)worker))
			break;
		c->at++;
	}
	return c->at < t->rows;
}

static void shift_row(struct pp_table *t, size_t row, int64_t shift)
{
	for (size_t i = 0; i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];

		for (size_t k = 0; c->type == PP_TYPE_TIME && c->rule != PP_RULE_LATE && k < c->count; k++) {
			int64_t value;

			pp_column_load(c, t, row, 1, k, &value);
			if (value != INT64_MIN)
				value = (int64_t)((uint64_t)value + (uint64_t)shift);
			(void)pp_column_store(c, t, row, 1, k, &value);
		}
	}
}

/* Appends rows in the order of the heap; `last` is the key of the last one. */
static void merge_rows(struct merge *m, struct pp_table *to)
{
	const struct pp_table_desc *d = to->desc;
	const uint64_t *last = NULL;

	while (m->n) {
		struct cursor *c = &m->heap[0];
		const uint64_t *key = c->keys + c->at * m->keys;
		char *row = (char *)to->row + to->rows * d->row_size;

		memcpy(row, (const char *)m->part[c->part].row + c->at * d->row_size, d->row_size);
		if (m->how->shift && m->how->shift[c->part])
			shift_row(to, to->rows, m->how->shift[c->part]);
		if (last && !compare_keys(last, key, m->keys)) {
			pp_row_fold(d, row - d->row_size, row);
		} else {
			to->rows++;
			last = key;
		}
		c->at++;
		if (!skip_others(m, c))
			*c = m->heap[--m->n];
		sift(m, 0);
	}
}

int pp_table_merge(const struct pp_table *part, size_t parts, const struct pp_table_merge *how, struct pp_table *ret_table)
{
	const struct pp_table_desc *d = part[0].desc;
	struct merge m = {.part = part, .how = how, .keys = d->keys};
	uint64_t **keys = calloc(parts, sizeof(*keys)); /* NOLINT(bugprone-sizeof-expression): an array of pointers, one a part */
	struct pp_table t = {.desc = d};
	int rc = -ENOMEM;

	m.heap = calloc(parts, sizeof(*m.heap));
	for (size_t i = 0; i < d->columns; i++)
		if (d->column[i].type == PP_TYPE_WORKER && d->column[i].rule != PP_RULE_LATE && !m.worker)
			m.worker = &d->column[i];
	for (size_t p = 0; p < parts; p++)
		t.room += part[p].rows;
	t.row = pp_huge_calloc(t.room + 1, d->row_size);
	if (!keys || !m.heap || !t.row)
		goto free_all;
	for (size_t p = 0; p < parts; p++) {
		keys[p] = keys_of(&part[p], how->rank, how->shift ? how->shift[p] : 0);
		if (!keys[p])
			goto free_all;
		m.heap[m.n] = (struct cursor){keys[p], p, 0};
		m.n += (size_t)skip_others(&m, &m.heap[m.n]);
	}
	for (size_t i = m.n; i-- > 0;)
		sift(&m, i);
	merge_rows(&m, &t);
	*ret_table = t;
	t.row = NULL;
	rc = 0;
free_all:
	for (size_t p = 0; keys && p < parts; p++)
		free(keys[p]);
	free(keys);
	free(m.heap);
	free(t.row);
	return rc;
}
