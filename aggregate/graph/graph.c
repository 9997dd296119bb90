/* The graph's memory; see graph.h. Called by what makes one. */
#include "aggregate/graph/graph.h"

#include <stdlib.h>

void pp_graph_release(struct pp_graph *g)
{
	free(g->operation);
	free(g->post);
	free(g->done);
	free(g->step);
	free(g->kind);
	free(g->node);
	free(g->track);
	free(g->of_node);
	free(g->cell);
	free(g->by_cell);
	free(g->turn);
	free(g->link);
	free(g->slow);
	*g = (struct pp_graph){.d = NULL};
}
