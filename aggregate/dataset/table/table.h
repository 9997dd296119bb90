/* Tables of the dataset, each from one description: structs for code of one table, columns for code that handles any.
 * In: descriptions (table_list.def) and rows. Out: merged rows, bytes, columns of 64-bit values, text. One thread. A table owns its
 * rows; texts are the interner's. Errors: 0 or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/ring/intern.h"

enum {
	PP_TABLE_KEYS = 16,
	PP_TABLE_COLUMNS = 64,
	PP_TABLE_BATCH = 1024, /* rows */
	PP_TABLE_WORD = 63
};
#define PP_TABLE_TIME_MAX ((int64_t)1 << 55) /* a year: sums of a few stay in int64 */

enum pp_type {
#define PP_TYPE(name, c_type, sum_type, h5) PP_TYPE_##name,
#define PP_MAYBE(name, type, unknown) PP_TYPE_##name = PP_TYPE_##type,
#include "aggregate/dataset/table/type.def"
};
enum pp_maybe { PP_ALWAYS_KNOWN, PP_MAYBE_LEAST, PP_MAYBE_LARGEST }; /* which value of the type stands for unknown */
enum {
#define PP_TYPE(name, c_type, sum_type, h5) PP_IS_MAYBE_##name = PP_ALWAYS_KNOWN,
#define PP_MAYBE(name, type, unknown) PP_IS_MAYBE_##name = PP_MAYBE_##unknown,
#include "aggregate/dataset/table/type.def"
};
#define PP_TYPE(name, c_type, sum_type, h5) typedef c_type pp_c_##name;
#define PP_MAYBE(name, type, unknown) typedef pp_c_##type pp_c_##name;
#include "aggregate/dataset/table/type.def"

enum pp_rule {
	PP_RULE_INDEX,
	PP_RULE_GROUP,
	PP_RULE_KEY,
	PP_RULE_PART,
	PP_RULE_SUM,
	PP_RULE_MAX,
	PP_RULE_MIN,
	PP_RULE_FIRST,
	PP_RULE_CALL,
	PP_RULE_OWN,
	PP_RULE_LATE,
	PP_RULE_IN
};
enum pp_made { PP_MADE_HOST, PP_MADE_SIDE, PP_MADE_JOINED, PP_MADE_PACKED, PP_MADE_POD };

struct pp_column {
	const char *name, *dim, *unit, *what; /* dim: of an array */
	const char *words;                    /* of a CODE */
	size_t offset;
	uint32_t count; /* values per row, bytes of CHARS; 0: INDEX, GROUP, SHOWN, LABEL, AXIS and IN, which are in no row */
	uint8_t type, size, is_maybe; /* is_maybe: enum pp_maybe: a value can be unknown */
	uint8_t rule, is_scalar, is_alias, is_axis, may_grow;
	/* BY(): merges the other row into `to`. Associative; it runs before any other column of the row is merged. */
	void (*by)(const struct pp_column *c, void *to, const void *from);
	/* NAMED: text of a number, "" of one that has none. Else NULL. */
	const char *(*word)(int number);
	/* SHOWN: text of a row, of which a file has PP_TABLE_WORD bytes at most. Else NULL. */
	const char *(*text)(const void *row, const struct pp_intern *names, size_t *ret_length);
	uint32_t label; /* LABEL: word(0) to word(label - 1) */
};

struct pp_table_desc {
	const char *name, *group, *dim, *absent;
	enum pp_made made;
	size_t row_size;
	const char *(*check)(const void *row); /* fault of a row from elsewhere; NULL: none */
	size_t columns, keys;
	size_t once; /* columns before the second INDEX: they have a value for each combination of their keys; 0: no columns */
	const struct pp_column *column;
};

struct pp_table {
	const struct pp_table_desc *desc;
	void *row; /* struct pp_row_NAME [rows] */
	size_t rows, room;
	/* Of a dense grid from a file: steps' numbers and ranks, to print it. Else NULL. */
	int64_t *axis[2];
	size_t workers;
};

/* Completes a static description once: counts its keys. Returns `desc`. */
const struct pp_table_desc *pp_table_describe(struct pp_table_desc *desc, const struct pp_column *column, size_t columns);
/* Changes with every name, type and rule of the tables that hosts send: equal numbers mean equal bytes. */
uint32_t pp_table_schema(const struct pp_table_desc *(*desc)(int id), int tables);

/* The i-th group of a file with columns of the table, NULL past the last; and why that one is absent. */
const char *pp_table_group(const struct pp_table_desc *d, size_t i, const char **ret_absent);
int pp_table_is_in(const struct pp_table_desc *d, const char *group);
const char *pp_column_group(const struct pp_table_desc *d, const struct pp_column *c);
/* Two dimensions, step and worker; its keys are these, or it is dense. In a file every step and worker of the dataset has a value,
 * cells without a row are unknown where the column can be, else 0. */
int pp_table_is_grid(const struct pp_table_desc *d);
/* Has any table of the group a row? Scalars alone make no group. */
int pp_tables_have(const struct pp_table *table, size_t tables, const char *group);
void pp_table_release(struct pp_table *t);
/* A new row of zeros, unknown where a column can be; valid until the next one. NULL: no memory. */
void *pp_table_add(struct pp_table *t);
int pp_table_room(struct pp_table *t, size_t rows);
/* What a row has of a column, or of all, that nobody set: 0, or unknown where that can be. */
void pp_column_clear(const struct pp_column *c, void *value);
void pp_row_clear(const struct pp_table_desc *d, void *row);
/* Of a value as pp_column_load() gives it; and that value, 0 of a column that is always known. */
int64_t pp_column_unknown(const struct pp_column *c);
int pp_column_is_unknown(const struct pp_column *c, int64_t value);

/* Element k of a column of n rows as 64 bits, and back. Store: not 0 for a value that the bits of the column's type
 * do not hold. */
void pp_column_load(const struct pp_column *c, const struct pp_table *t, size_t first, size_t n, size_t k, int64_t *to);
int pp_column_store(const struct pp_column *c, struct pp_table *t, size_t first, size_t n, size_t k, const int64_t *from);
/* Are the values in the range of their type, beyond what its bits hold? */
int pp_column_is_good(const struct pp_column *c, size_t n, const int64_t *value);
/* What is wrong in a row from elsewhere, NULL: nothing. Of a host's table every number with a name has one: tools count by it. */
const char *pp_table_fault(const struct pp_table *t);
/* Place of a row's value in memory: of CHARS the text. */
static inline void *pp_column_at(const struct pp_column *c, const struct pp_table *t, size_t row)
{
	return (char *)t->row + row * t->desc->row_size + c->offset;
}
/* Values per row for readers: CHARS are one. */
static inline uint32_t pp_column_values(const struct pp_column *c)
{
	return c->type == PP_TYPE_CHARS ? 1 : c->count;
}
/* Values shown of a row: not keys of parts, repeated names, and columns of no file. */
uint32_t pp_column_shown(const struct pp_table_desc *d, const struct pp_column *c);
/* Word number `code` of a CODE, and its length; "" where there is none. */
const char *pp_column_word(const struct pp_column *c, int64_t code, int *ret_length);

/* Rank of each text in sorted order, by which keys are compared. NULL: no memory. The caller frees it. */
uint32_t *pp_names_rank(const struct pp_intern *names);
/* Sorts by key and merges rows of equal keys: once, before a table is sent or merged. */
int pp_table_seal(struct pp_table *t, const uint32_t *rank);
/* 1, 0 or -ENOMEM. */
int pp_table_is_sealed(const struct pp_table *t, const uint32_t *rank);

/* Merges one row into another of the same key, by the columns' rules. */
void pp_row_fold(const struct pp_table_desc *d, void *to, const void *from);

struct pp_table_merge {
	const uint32_t *rank; /* pp_names_rank() */
	const int64_t *shift; /* [parts] added to TIME; NULL: none */
	/* Whether a WORKER is this part's: other rows are left out. NULL: all are. */
	int (*has)(const void *context, size_t part, int32_t worker);
	const void *context;
};
/* Merges sealed parts into one sealed table, in one pass. Associative; only FIRST and BY() depend on the order of parts. */
int pp_table_merge(const struct pp_table *part, size_t parts, const struct pp_table_merge *how, struct pp_table *ret_table);
