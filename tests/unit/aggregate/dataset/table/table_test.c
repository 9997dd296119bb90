/* What every table must do, whatever its columns: rows thrown by dice to bytes and back, to a file and back, merged in any
 * grouping, bytes that nobody wrote, files of older and newer versions. */
#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregate/dataset/table/table_bytes.h"
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/read/h5/table_read.h"
#include "aggregate/write/h5/table_write.h"
#include "core/base/known.h"
#include "tests/test.h"
#include "tests/unit/aggregate/dataset/table_same.h"

#undef PP_TABLE_LIST
#define PP_TABLE_LIST "tests/unit/aggregate/dataset/table/table_test.def"
#define PP_TABLE_DESC test_desc
#include "aggregate/dataset/table/rows.h"

enum {
#define PP_TABLE(name, rows, group, dimension, made, check, absent) TABLE_##name,
#include "tests/unit/aggregate/dataset/table/table_test.def"
	TABLES,
	RANKS = 6
};

static const char *check_rich(const void *row)
{
	return ((const struct pp_row_rich *)row)->busy < 0 ? "a share" : NULL;
}

static void by_larger(const struct pp_column *c, void *to, const void *from)
{
	struct pp_row_rich *x = to;
	const struct pp_row_rich *y = from;

	(void)c;
	x->busy = y->busy > x->busy ? y->busy : x->busy;
}

static const char *first_letters(const void *row, const struct pp_intern *names, size_t *ret_length)
{
	const char *name = pp_intern_text(names, ((const struct pp_row_grouped *)row)->name, ret_length);

	*ret_length = *ret_length > 3 ? 3 : *ret_length;
	return name;
}

static const char *colour_of(int number)
{
	return number == 1 ? "red" : number == 2 ? "dark red" : "";
}

static const char *shade_of(int place)
{
	return place == 0 ? "light" : place == 1 ? "very, \"dark\"" : "dark";
}

const struct pp_table_desc *test_desc(int id);
#include "aggregate/dataset/table/describe.h"

static uint64_t chance(uint64_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static int64_t some_value(const struct pp_column *c, struct pp_intern *names)
{
	static const uint64_t most[] = {2, 10, 1000, (uint64_t)1 << 40};
	double real = (double)chance(1000) / 1000;
	int64_t v = (int64_t)chance(most[chance(4)]);
	char text[32];

	if (c->is_maybe && !chance(3))
		return pp_column_unknown(c);
	switch (c->type) {
	case PP_TYPE_TEXT:
		snprintf(text, sizeof(text), "n\xc3\xa4me, \"%d\"", (int)chance(30));
		return chance(10) ? (int64_t)pp_intern_put(names, text, strlen(text)) : 0;
	case PP_TYPE_F64:
		memcpy(&v, &real, sizeof(v));
		return v;
	case PP_TYPE_CODE:
		return (int64_t)chance(3);
	case PP_TYPE_WORKER:
		return (int64_t)chance(RANKS);
	case PP_TYPE_I8:
	case PP_TYPE_FLAG:
		return (int64_t)chance(2) + (c->word != NULL);
	default:
		if (c->rule == PP_RULE_KEY)
			return (int64_t)chance(12) - (c->type == PP_TYPE_I32 ? 6 : 0);
		v = c->size == 4 ? v & INT32_MAX : v;
		return c->type != PP_TYPE_U32 && c->type != PP_TYPE_U64 && chance(2) ? -v : v;
	}
}

static void begin(struct pp_table *t)
{
	for (int id = 0; id < TABLES; id++)
		t[id] = (struct pp_table){.desc = test_desc(id)};
}

static void release(struct pp_table *t)
{
	for (int id = 0; id < TABLES; id++)
		free(t[id].row);
	begin(t);
}

static void seal(struct pp_table *t, const struct pp_intern *names)
{
	uint32_t *rank = pp_names_rank(names);

	for (int id = 0; id < TABLES; id++)
		CHECK(!pp_table_seal(&t[id], rank) && pp_table_is_sealed(&t[id], rank) == 1);
	free(rank);
}

/* worker < 0: of any rank. */
static void make(struct pp_table *t, struct pp_intern *names, size_t rows, int worker)
{
	begin(t);
	for (int id = 0; id < TABLES; id++) {
		for (size_t r = 0, n = chance(rows + 1); r < n; r++) {
			CHECK(pp_table_add(&t[id]));
			for (size_t i = 0; i < t[id].desc->columns; i++) {
				const struct pp_column *c = &t[id].desc->column[i];

				if (c->type == PP_TYPE_CHARS)
					snprintf(pp_column_at(c, &t[id], r), c->count, "%.*s", (int)chance(12), "a, \"bc\" def");
				for (size_t k = 0; k < c->count && c->rule != PP_RULE_LATE && c->type != PP_TYPE_CHARS; k++) {
					int64_t v = c->is_scalar                               ? 5
					            : c->type == PP_TYPE_WORKER && worker >= 0 ? worker
					                                                       : some_value(c, names);

					CHECK(!pp_column_store(c, &t[id], r, 1, k, &v));
				}
			}
		}
	}
	seal(t, names);
}

static char *csv(const struct pp_table *t, int all, const struct pp_intern *names)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int id = 0; id < TABLES; id++)
		if (all || t[id].desc->made <= PP_MADE_SIDE)
			pp_table_csv(&t[id], names, f);
	fclose(f);
	return text;
}

static void same(const struct pp_table *a, const struct pp_intern *names_a, const struct pp_table *b,
                 const struct pp_intern *names_b, int all)
{
	char *x = csv(a, all, names_a), *y = csv(b, all, names_b);

	CHECK(x && y && !strcmp(x, y));
	CHECK(!all || (x && strstr(x, "wide,id") == NULL &&
	               strstr(x, "\nid,text,tries,spent light,\"spent very, \"\"dark\"\"\",spent dark\n")));
	free(x);
	free(y);
}

TEST(descriptions_hold_the_rules)
{
	struct pp_table t[TABLES];

	for (int id = 0; id < TABLES; id++) {
		const struct pp_table_desc *d = test_desc(id);

		CHECK(!d->keys == !d->dim[0] && d->keys <= PP_TABLE_KEYS && d->columns <= PP_TABLE_COLUMNS);
	}
	CHECK(pp_table_schema(test_desc, 1) != pp_table_schema(test_desc, 2));
	CHECK(pp_table_schema(test_desc, 2) == pp_table_schema(test_desc, 3)); /* by_step is in no block */
	begin(t);
	CHECK(pp_table_add(&t[TABLE_extra]) && pp_tables_have(t, TABLES, "rich") && !pp_tables_have(t, TABLES, "plain"));
	release(t);
}

static int decode(const uint8_t *bytes, size_t size, struct pp_intern *names, struct pp_table *ret)
{
	struct pp_block_io io = {
	        .reads = 1, .bytes = (uint8_t *)bytes, .size = size, .interned = names, .budget = PP_BLOCK_MEMORY(size)};

	begin(ret);
	pp_tables_bytes(&io, ret, TABLES, NULL, 0);
	return io.fault;
}

TEST(bytes_come_back)
{
	for (int round = 0; round < 60 && !test_failures; round++) {
		struct pp_intern *here = pp_intern_new(), *there = pp_intern_new();
		struct pp_table t[TABLES], back[TABLES];
		struct pp_block_io io = {.names = here};

		pp_intern_put(there, "other", 5);
		make(t, here, round < 50 ? 50 : 5000, -1);
		pp_tables_bytes(&io, t, TABLES, NULL, 0);
		CHECK_INT(io.fault, 0);
		CHECK_INT(decode(io.bytes, io.at, there, back), 0);
		same(t, here, back, there, 0);
		for (int id = 0; id < TABLES; id++)
			CHECK_STR(id == TABLE_by_step ? "" : first_difference(&t[id], here, &back[id], there), "");
		CHECK_INT(back[TABLE_by_step].rows, 0);
		release(back);
		for (size_t cut = 0; round < 3 && cut < io.at; cut++) { /* cut anywhere: refused */
			uint8_t *bytes = malloc(cut + 1);

			memcpy(bytes, io.bytes, cut);
			CHECK_INT(decode(bytes, cut, there, back), -EBADMSG);
			release(back);
			free(bytes);
		}
		release(t);
		free(io.bytes);
		pp_intern_free(here);
		pp_intern_free(there);
	}
}

static int64_t predict_end(const struct pp_table *table, size_t row)
{
	const struct pp_row_packed *p = (const struct pp_row_packed *)table[TABLE_packed].row + row;

	return (row ? p[-1].end_ns : 0) + p->length_ns;
}

/* A column of a PACKED table travels by its row in the description alone; rows stay in their order, predicted or not. */
TEST(columns_of_packed_tables_travel)
{
	const struct pp_prediction predicted[] = {{TABLE_packed, offsetof(struct pp_row_packed, end_ns), predict_end}};
	struct pp_intern *here = pp_intern_new(), *there = pp_intern_new();
	struct pp_table t[TABLES], back[TABLES];
	size_t size[2];

	pp_intern_put(there, "other", 5);
	begin(t);
	for (int64_t i = 0, at = 0; i < 3000; i++) {
		struct pp_row_packed *p = pp_table_add(&t[TABLE_packed]);

		*p = (struct pp_row_packed){.id = (int32_t)chance(9), .length_ns = (int64_t)chance(1 << 20), .share = 0.5};
		p->end_ns = at += p->length_ns;
		p->name = pp_intern_put(here, chance(2) ? "one" : "two", 3);
		p->part[chance(3)] = (uint32_t)chance(1000);
		snprintf(p->text, sizeof(p->text), "%d", (int)chance(5));
	}
	for (size_t with = 0; with < 2; with++) {
		struct pp_block_io io = {.names = here}, in = {.reads = 1, .interned = there, .budget = 1 << 24};

		pp_tables_bytes(&io, t, TABLES, predicted, with);
		CHECK_INT(io.fault, 0);
		in.bytes = io.bytes;
		in.size = size[with] = io.at;
		begin(back);
		pp_tables_bytes(&in, back, TABLES, predicted, with);
		CHECK_INT(in.fault, 0);
		CHECK_STR(first_difference(&t[TABLE_packed], here, &back[TABLE_packed], there), "");
		((struct pp_row_packed *)back[TABLE_packed].row)[2000].part[2]++;
		CHECK_STR(first_difference(&t[TABLE_packed], here, &back[TABLE_packed], there), "packed.part");
		release(back);
		free(io.bytes);
	}
	CHECK(size[1] < size[0]);
	release(t);
	pp_intern_free(here);
	pp_intern_free(there);
}

/* Values that no reader may take: the writer refuses them too. */
TEST(ranges_are_checked)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES], back[TABLES];
	int64_t value = PP_TABLE_TIME_MAX + 1;
	struct pp_row_rich *rich;

	begin(t);
	CHECK(pp_column_store(&t[TABLE_plain].desc->column[5], &t[TABLE_plain], 0, 0, 0, NULL) == 0);
	CHECK(!pp_column_is_good(&t[TABLE_plain].desc->column[5], 1, &value));
	value = 3;
	CHECK(!pp_column_is_good(&t[TABLE_rich].desc->column[5], 1, &value));
	for (int bad = 0; bad < 3; bad++) {
		struct pp_block_io io = {.names = names};

		rich = pp_table_add(&t[TABLE_rich]);
		rich->busy = bad == 0 ? -0.5 : 0.5;
		rich->kind = bad == 1 ? 3 : 1;
		rich->at_ns = bad == 2 ? INT64_MIN + 1 : INT64_MIN;
		pp_tables_bytes(&io, t, TABLES, NULL, 0);
		CHECK_INT(io.fault, bad == 0 ? 0 : -EBADMSG);
		if (!io.fault) { /* what only the table's own check knows */
			CHECK_INT(decode(io.bytes, io.at, names, back), -EBADMSG);
			release(back);
		}
		free(io.bytes);
		release(t);
	}
	pp_intern_free(names);
}

TEST(hostile_bytes_are_refused)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES], back[TABLES];
	struct pp_block_io io = {.names = names};

	make(t, names, 40, -1);
	pp_tables_bytes(&io, t, TABLES, NULL, 0);
	for (int i = 0; i < 20000; i++) {
		struct pp_intern *there = pp_intern_new();
		size_t length = i & 1 ? io.at : 1 + chance(200), kept = length < io.at ? length : io.at;
		uint8_t *bytes = malloc(length); /* its own size: ASan sees what is read behind it */

		memcpy(bytes, io.bytes, kept);
		for (size_t k = chance(20); !(i & 1) && k < length; k++)
			bytes[k] = (uint8_t)(chance(3) ? chance(8) : chance(256));
		for (uint64_t k = chance(4) + 1; i & 1 && k; k--)
			bytes[chance(length)] = (uint8_t)chance(256);
		if (!decode(bytes, length, there, back)) { /* what is taken is whole, in order and in range */
			struct pp_block_io again = {.names = there};

			pp_tables_bytes(&again, back, TABLES, NULL, 0);
			CHECK_INT(again.fault, 0);
			free(again.bytes);
		}
		release(back);
		free(bytes);
		pp_intern_free(there);
	}
	release(t);
	free(io.bytes);
	pp_intern_free(names);
}

static void merge(const struct pp_table *const *part, size_t parts, const struct pp_table_merge *how, struct pp_table *to)
{
	for (int id = 0; id < TABLES; id++) {
		struct pp_table one[8];

		for (size_t p = 0; p < parts; p++)
			one[p] = part[p][id];
		CHECK_INT(pp_table_merge(one, parts, how, &to[id]), 0);
		CHECK_INT(pp_table_is_sealed(&to[id], how->rank), 1);
	}
}

TEST(merging_is_associative)
{
	for (int round = 0; round < 100 && !test_failures; round++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_table t[5][TABLES], all[TABLES], left[TABLES], right[TABLES], both[TABLES];
		struct pp_table_merge how = {0};
		uint32_t *rank;

		for (int i = 0; i < 5; i++)
			make(t[i], names, round % 10 ? 60 : 3, -1);
		how.rank = rank = pp_names_rank(names);
		merge((const struct pp_table *[]){t[0], t[1], t[2], t[3], t[4]}, 5, &how, all);
		merge((const struct pp_table *[]){t[0], t[1]}, 2, &how, left);
		merge((const struct pp_table *[]){t[2], t[3], t[4]}, 3, &how, right);
		merge((const struct pp_table *[]){left, right}, 2, &how, both);
		same(all, names, both, names, 1);
		for (int i = 0; i < 5; i++)
			release(t[i]);
		release(all);
		release(left);
		release(right);
		release(both);
		free(rank);
		pp_intern_free(names);
	}
}

/* Part p has rank p; rows of others in it are another part's. */
static int has(const void *context, size_t part, int32_t worker)
{
	(void)context;
	return worker == (int32_t)part;
}

TEST(parts_move_and_keep_their_ranks)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_table a[TABLES], b[TABLES], to[TABLES];
	const int64_t shift[] = {0, 1000};
	struct pp_table_merge how = {.shift = shift, .has = has};
	struct pp_row_rich *row;
	uint32_t *rank = pp_names_rank(names);

	begin(a);
	begin(b);
	how.rank = rank;
	for (int32_t w = 0; w < 2; w++) {
		*(struct pp_row_rich *)pp_table_add(&a[TABLE_rich]) = (struct pp_row_rich){.worker = w, .at_ns = 5};
		*(struct pp_row_rich *)pp_table_add(&b[TABLE_rich]) = (struct pp_row_rich){.worker = w, .at_ns = w ? 7 : INT64_MIN};
	}
	merge((const struct pp_table *[]){a, b}, 2, &how, to);
	row = to[TABLE_rich].row;
	CHECK_INT(to[TABLE_rich].rows, 2);
	CHECK(row[0].worker == 0 && row[0].at_ns == 5 && row[1].worker == 1 && row[1].at_ns == 1007);
	release(a);
	release(b);
	release(to);
	free(rank);
	pp_intern_free(names);
}

/* `without` is left out: `old` and `later` have the same columns. */
static void save(const char *path, const struct pp_table *t, const struct pp_intern *names, int without)
{
	struct pp_row_step step[12];
	struct pp_row_worker worker[RANKS];
	struct pp_dataset d = {.names = names, .step = step, .steps = 12, .worker = worker, .workers = RANKS};
	struct pp_table some[TABLES];
	struct pp_err err = {""};
	struct pp_h5 h;
	size_t n = 0;

	for (int i = 0; i < 12; i++)
		step[i].number = i;
	for (int32_t i = 0; i < RANKS; i++)
		worker[i].rank = i;

	CHECK_INT(pp_h5_create(&h, path, &err), 0);
	pp_h5_attribute_text(&h, "format", "podprof pod dataset");
	pp_h5_attribute_int(&h, "format_version", PP_H5_FORMAT_VERSION);
	for (int id = 0; id < TABLES; id++)
		if (id != without)
			some[n++] = t[id];
	pp_h5_write_groups(&h, some, n, &d);
	CHECK_INT(pp_h5_close(&h), 0);
	CHECK_STR(err.text, "");
}

static uint64_t load(const char *path, int id, struct pp_intern *names, struct pp_table *ret)
{
	struct pp_err err = {""};
	struct pp_h5_file *h5;
	uint64_t missing = 0;

	*ret = (struct pp_table){.desc = test_desc(id)};
	CHECK_INT(pp_h5_file_open(path, &h5, &err), 0);
	CHECK_INT(pp_h5_file_table(h5, test_desc(id), names, ret, &missing, &err), 0);
	CHECK_STR(err.text, "");
	pp_h5_file_close(h5);
	return missing;
}

/* CF conventions: readers of netCDF show words for a code. */
static void check_words(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), a = H5Aopen_by_name(file, "rich/kind", "flag_meanings", 0, 0),
	      type;
	int8_t value[3] = {-1, -1, -1};
	char words[32] = "";

	type = H5Aget_type(a);
	CHECK(H5Tget_size(type) < sizeof(words) && H5Aread(a, type, words) >= 0);
	CHECK_STR(words, "none read write");
	H5Tclose(type);
	H5Aclose(a);
	a = H5Aopen_by_name(file, "rich/kind", "flag_values", 0, 0);
	CHECK(H5Aget_storage_size(a) == sizeof(value) && H5Aread(a, H5T_NATIVE_INT8, value) >= 0);
	CHECK(value[0] == 0 && value[1] == 1 && value[2] == 2);
	H5Aclose(a);
	H5Fclose(file);
}

/* Rows that differ in a key of parts alone are one in a file: they are merged before. */
static void join_parts(struct pp_table *t, const struct pp_intern *names)
{
	struct pp_row_plain *row = t[TABLE_plain].row;

	for (size_t i = 0; i < t[TABLE_plain].rows; i++)
		row[i].part = 0;
	seal(t, names);
}

TEST(file_comes_back)
{
	char path[] = "/tmp/podprof-table-XXXXXX";
	struct pp_intern *names = pp_intern_new(), *other = pp_intern_new();
	struct pp_table t[TABLES], back[TABLES];

	close(mkstemp(path));
	make(t, names, 3000, -1);
	join_parts(t, names);
	for (size_t i = 0; i < t[TABLE_grid].rows; i++) /* a cell of zeros comes back as none */
		((struct pp_row_grid *)t[TABLE_grid].row)[i].present = 1;
	for (size_t i = 0; i < t[TABLE_rich].rows; i++)
		((struct pp_row_rich *)t[TABLE_rich].row)[i].held_by = (int32_t)i;
	save(path, t, names, TABLE_later);
	check_words(path);
	for (int id = 0; id < TABLES; id++)
		if (id != TABLE_later)
			CHECK_INT(load(path, id, other, &back[id]), 0);
	free(t[TABLE_later].row);
	t[TABLE_later] = back[TABLE_later] = (struct pp_table){.desc = test_desc(TABLE_later)};
	same(t, names, back, other, 1);
	release(back);
	release(t);
	pp_intern_free(names);
	pp_intern_free(other);
	unlink(path);
}

/* Readers of netCDF leave these values out; a column that is always known keeps its type there. */
static void check_fill(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), a = H5Aopen_by_name(file, "measured/sum_ns", "_FillValue", 0, 0),
	      set = H5Dopen2(file, "measured/sum_ns", H5P_DEFAULT), type = H5Aget_type(a), of = H5Dget_type(set);
	double no_number = 0;
	int64_t unknown = 0;

	CHECK(H5Tequal(type, of) > 0 && H5Aread(a, H5T_NATIVE_INT64, &unknown) >= 0 && unknown == INT64_MIN);
	H5Tclose(type);
	H5Tclose(of);
	H5Dclose(set);
	H5Aclose(a);
	a = H5Aopen_by_name(file, "measured/most", "_FillValue", 0, 0);
	CHECK(H5Aread(a, H5T_NATIVE_DOUBLE, &no_number) >= 0 && isnan(no_number));
	H5Aclose(a);
	a = H5Aopen_by_name(file, "measured/bound", "_FillValue", 0, 0);
	CHECK(H5Aread(a, H5T_NATIVE_INT64, &unknown) >= 0 && unknown == INT64_MAX);
	H5Aclose(a);
	CHECK(H5Aexists_by_name(file, "grid/cpu_ns", "_FillValue", H5P_DEFAULT) == 0);
	H5Fclose(file);
}

/* What nobody set is unknown, in rows, in cells of a grid without a row, and in sums of nothing that is known. */
TEST(unknown_is_not_zero)
{
	char path[] = "/tmp/podprof-table-XXXXXX", *text = NULL;
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES], back;
	struct pp_row_measured *row;
	struct pp_row_grid *cell;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	close(mkstemp(path));
	begin(t);
	for (int32_t i = 0; i < 4; i++) {
		row = pp_table_add(&t[TABLE_measured]);
		CHECK(row->sum_ns == PP_UNKNOWN && isnan(row->most) && row->least[1] == PP_UNKNOWN && row->id == 0);
		CHECK(row->bound == INT64_MAX);
		row->id = i / 2;
	}
	row = t[TABLE_measured].row;
	row[0].sum_ns = 5;
	row[1].most = 0.5;
	row[0].least[0] = row[1].least[0] = 7;
	row[1].first = 0;
	row[0].bound = 3; /* that of row 1 is unknown */
	row[2].bound = 4;
	row[3].bound = 5;
	cell = pp_table_add(&t[TABLE_grid]);
	cell->step = 3;
	cell->cpu_ns = 1;
	seal(t, names);
	save(path, t, names, TABLE_later);
	check_fill(path);
	CHECK_INT(load(path, TABLE_measured, names, &back), 0);
	pp_table_csv(&back, names, f);
	pp_table_json(&back, names, f);
	fclose(f);
	CHECK_STR(text,
	          "id,sum_ns,most,least_0,least_1,first,bound\n0,5,0.5,7,,0,\n1,,,,,,5\n"
	          "{\"table\":\"measured\",\"rows\":2,\"columns\":[\n"
	          "{\"name\":\"id\",\"unit\":\"\",\"what\":\"a key\",\"data\":[0,1]},\n"
	          "{\"name\":\"sum_ns\",\"unit\":\"ns\",\"what\":\"the sum of what is known\",\"data\":[5,null]},\n"
	          "{\"name\":\"most\",\"unit\":\"1\",\"what\":\"the largest of what is known\",\"data\":[0.5,null]},\n"
	          "{\"name\":\"least\",\"unit\":\"\",\"what\":\"the smallest of what is known\",\"data\":[7,null,null,null]},\n"
	          "{\"name\":\"first\",\"unit\":\"\",\"what\":\"the first that is known\",\"data\":[0,null]},\n"
	          "{\"name\":\"bound\",\"unit\":\"\",\"what\":\"the largest error\",\"data\":[null,5]}]}\n");
	free(back.row);
	CHECK_INT(load(path, TABLE_grid, names, &back), 0);
	cell = back.row;
	CHECK(back.rows == 1 && cell->cpu_ns == 1 && cell->waited_ns == PP_UNKNOWN);
	free(back.row);
	free(text);
	release(t);
	pp_intern_free(names);
	unlink(path);
}

/* A name that a spreadsheet would run: text only, and only in CSV for spreadsheets. */
TEST(no_text_is_a_formula)
{
	static const char *const name[] = {"=1+2", "+x", "-3", "@a", "\tb", "\rc", "a=b", ""};
	enum { NAMES = sizeof(name) / sizeof(name[0]) };
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES];
	char *text[2] = {NULL, NULL};
	size_t size[2];

	begin(t);
	for (int i = 0; i < NAMES; i++) {
		struct pp_row_wide *row = pp_table_add(&t[TABLE_wide]);

		row->id = -1 - i;
		snprintf(row->text, sizeof(row->text), "%s", name[i]);
	}
	for (int raw = 0; raw < 2; raw++) {
		FILE *f = open_memstream(&text[raw], &size[raw]);

		(raw ? pp_table_csv : pp_table_sheet)(&t[TABLE_wide], names, f);
		fclose(f);
		for (int i = 0; i < NAMES; i++) {
			char want[32];

			snprintf(want, sizeof(want), "\n%d,\"%s%s\",", -1 - i, i < 6 && !raw ? "'" : "", name[i]);
			CHECK(strstr(text[raw], want));
		}
		free(text[raw]);
	}
	release(t);
	pp_intern_free(names);
}

/* How a column is added: a file of before lacks it, it is 0 or unknown, and reported; a file of after has one that nobody looks at.
 * -1 was unknown in files of before. */
TEST(versions_read_each_other)
{
	char path[] = "/tmp/podprof-table-XXXXXX";
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES], back;
	struct pp_row_later *later;
	struct pp_row_old *old;

	close(mkstemp(path));
	begin(t);
	for (int32_t i = 0; i < 3; i++)
		*(struct pp_row_old *)pp_table_add(&t[TABLE_old]) = (struct pp_row_old){i, 7, i - 1};
	save(path, t, names, TABLE_later);
	CHECK_INT(load(path, TABLE_later, names, &back), 1 << 2 | 1 << 4);
	later = back.row;
	CHECK_INT(back.rows, 3);
	CHECK(back.rows == 3 && later[2].id == 2 && later[2].more == 0 && isnan(later[2].rate));
	CHECK(back.rows == 3 && later[0].known == PP_UNKNOWN && later[1].known == 0 && later[2].known == 1);
	free(back.row);
	release(t);
	for (int32_t i = 0; i < 2; i++)
		*(struct pp_row_later *)pp_table_add(&t[TABLE_later]) = (struct pp_row_later){i, 9, -1, 0};
	save(path, t, names, TABLE_old);
	CHECK_INT(load(path, TABLE_old, names, &back), 1 << 2);
	old = back.row;
	CHECK(back.rows == 2 && old[1].id == 1 && old[1].gone == 0);
	free(back.row);
	CHECK_INT(load(path, TABLE_plain, names, &back), 0x1fe - (1 << 3)); /* a group that is not there lacks all columns */
	CHECK_INT(back.rows, 0);
	free(back.row);
	release(t);
	pp_intern_free(names);
	unlink(path);
}

TEST(text_is_quoted)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_table t[TABLES];
	char *text = NULL, *json = NULL;
	size_t size;
	FILE *f = open_memstream(&json, &size);

	begin(t);
	*(struct pp_row_rich *)pp_table_add(&t[TABLE_rich]) = (struct pp_row_rich){.name = pp_intern_put(names, "a \"<b>\", c", 10),
	                                                                           .worker = 3,
	                                                                           .at_ns = (int64_t)1 << 54,
	                                                                           .kind = 2,
	                                                                           .busy = 0.5,
	                                                                           .lost = {1, 2, UINT64_MAX},
	                                                                           .held_by = 4};
	text = csv(t, 0, names);
	CHECK(strstr(text, "name,worker,at_ns,note,kind,busy,lost_0,lost_1,lost_2,held_by\n"
	                   "\"a \"\"<b>\"\", c\",3,18014398509481984,\"\",\"write\",0.5,1,2,18446744073709551615,4\n"));
	pp_table_json(&t[TABLE_rich], names, f);
	fclose(f);
	CHECK_STR(json, "{\"table\":\"rich\",\"rows\":1,\"columns\":[\n"
	                "{\"name\":\"name\",\"unit\":\"\",\"what\":\"a text for a key\",\"data\":[\"a "
	                "\\u0022\\u003cb\\u003e\\u0022, c\"]},\n"
	                "{\"name\":\"worker\",\"unit\":\"\",\"what\":\"rank\",\"data\":[3]},\n"
	                "{\"name\":\"at_ns\",\"unit\":\"ns\",\"what\":\"a time for a key\",\"data\":[\"18014398509481984\"]},\n"
	                "{\"name\":\"note\",\"unit\":\"\",\"what\":\"the first text\",\"data\":[\"\"]},\n"
	                "{\"name\":\"kind\",\"unit\":\"\",\"what\":\"the first code\",\"data\":[\"write\"]},\n"
	                "{\"name\":\"busy\",\"unit\":\"1\",\"what\":\"the larger number\",\"data\":[0.5]},\n"
	                "{\"name\":\"lost\",\"unit\":\"\",\"what\":\"three sums\",\"data\":[1,2,\"18446744073709551615\"]},\n"
	                "{\"name\":\"held_by\",\"unit\":\"\",\"what\":\"known when all parts are in\",\"data\":[4]}]}\n");
	free(json);
	free(text);
	release(t);
	pp_intern_free(names);
}

int main(void)
{
	descriptions_hold_the_rules();
	bytes_come_back();
	columns_of_packed_tables_travel();
	ranges_are_checked();
	hostile_bytes_are_refused();
	merging_is_associative();
	parts_move_and_keep_their_ranks();
	file_comes_back();
	unknown_is_not_zero();
	versions_read_each_other();
	text_is_quoted();
	no_text_is_a_formula();
	return test_end();
}
