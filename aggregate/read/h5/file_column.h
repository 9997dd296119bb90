/* A column of a pod.h5 in memory. In: what file.c reads, or aggregate/write/h5 would write. Out: values for pages and tables. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_H5_FILE_NAME = 64, PP_H5_FILE_DIMS = 3 };

enum pp_h5_file_kind { PP_H5_FILE_INT, PP_H5_FILE_UINT, PP_H5_FILE_REAL, PP_H5_FILE_TEXT };

struct pp_h5_file_column {
	char name[PP_H5_FILE_NAME], unit[PP_H5_FILE_NAME], what[160];
	enum pp_h5_file_kind kind; /* integers of any width are read as 64 bit, text of fixed length without its fill */
	size_t dims, extent[PP_H5_FILE_DIMS];
	char dim[PP_H5_FILE_DIMS][PP_H5_FILE_NAME];
	size_t n; /* values; 1 of a scalar */
	union {
		int64_t *i;
		uint64_t *u;
		double *real;
		char **text; /* each of its own */
		void *any;
	} data;
	size_t width;    /* bytes of a value once read */
	int is_maybe;    /* values can be unknown: it has `_FillValue`. Columns of format 2 have none */
	int64_t unknown; /* of integers: that value */
};

/* Frees the values, not the struct, which then has none. */
void pp_h5_file_release(struct pp_h5_file_column *column);
int pp_h5_file_is_unknown(const struct pp_h5_file_column *column, size_t i);
const char *pp_h5_file_text(const struct pp_h5_file_column *column, size_t i); /* "" where it is no text */
