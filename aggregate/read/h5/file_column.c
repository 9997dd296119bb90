/* Columns of a pod.h5 in memory; see file_column.h. Called by readers of columns. */
#include "aggregate/read/h5/file_column.h"

#include <math.h>
#include <stdlib.h>

void pp_h5_file_release(struct pp_h5_file_column *c)
{
	for (size_t i = 0; c->kind == PP_H5_FILE_TEXT && c->data.text && i < c->n; i++)
		free(c->data.text[i]);
	free(c->data.any);
	c->data.any = NULL;
	c->n = 0;
}

int pp_h5_file_is_unknown(const struct pp_h5_file_column *c, size_t i)
{
	return c->is_maybe && (c->kind == PP_H5_FILE_REAL ? isnan(c->data.real[i]) : c->data.i[i] == c->unknown);
}

const char *pp_h5_file_text(const struct pp_h5_file_column *c, size_t i)
{
	return c->kind == PP_H5_FILE_TEXT && i < c->n && c->data.text[i] ? c->data.text[i] : "";
}
