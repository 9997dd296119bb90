/* Waiting that only the graph shows: late progress, interior ranks of trees, calls with unknown needs. */
#pragma once

#include "aggregate/graph/graph.h"

/* Adds it to the cells, rows, operations and /budget of the dataset that the graph was made of, as far as these hold so much
 * exposed communication; what becomes waiting was transfer, or not split, before. Returns the ns that it added. Once a
 * dataset. */
int64_t pp_graph_add_waits(const struct pp_graph *g, struct pp_dataset *d);
/* Waiting of a node in the dataset: of its rows, or of its lone call. */
int64_t pp_graph_exposed(const struct pp_graph *g, uint32_t node);
/* What a rank waits for others in blocking collective calls of files that count as Input, or as Output: no file is slow then. Of
 * the steps that `which` [steps] names; NULL: of all. */
int64_t pp_graph_file_wait(const struct pp_graph *g, size_t worker, int category, const uint8_t *which);
