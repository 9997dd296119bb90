/* Columns of a pod.h5 in memory; see pod_column.h. Called by readers of columns. */
#include "aggregate/read/h5/pod_column.h"

#include <stdlib.h>

void pp_pod_file_release(struct pp_pod_file_column *c)
{
	for (size_t i = 0; c->kind == PP_POD_FILE_TEXT && c->data.text && i < c->n; i++)
		free(c->data.text[i]);
	free(c->data.any);
	c->data.any = NULL;
	c->n = 0;
}

const char *pp_pod_file_text(const struct pp_pod_file_column *c, size_t i)
{
	return c->kind == PP_POD_FILE_TEXT && i < c->n && c->data.text[i] ? c->data.text[i] : "";
}
