/* Runs every tool of tool_list.def on a finished dataset; see tools.h. Called by the session. */
#include "aggregate/tools/tools.h"

#include <stdlib.h>

#include "aggregate/analyze/straggler.h"
#include "aggregate/analyze/unseen.h"
#include "aggregate/graph/link.h"
#include "aggregate/graph/wait.h"
#include "aggregate/graph/whole.h"
#include "aggregate/tools/step_parts.h"

/* The graph that the tools read, and the waiting that only it shows. */
static int make_graph(struct pp_dataset *d, struct pp_graph *g)
{
	int rc = pp_graph_whole(g, d);

	if (!rc)
		pp_links_write(g, d);
	if (rc || pp_graph_add_waits(g, d) <= 0)
		return rc;
	rc = pp_dataset_late(d);
	return rc ? rc : pp_dataset_straggler(d);
}

int pp_tools_run(struct pp_dataset *d, struct pp_err *err)
{
	static int (*const tool[])(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err) = {
#define PP_TOOL(name) pp_tool_##name,
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL
	        NULL};
	struct pp_table table[PP_TABLES];
	struct pp_graph graph = {.d = NULL};
	int rc = make_graph(d, &graph);

	pp_dataset_mark_unseen(d);
	if (rc) {
		pp_graph_release(&graph);
		return pp_err_set(err, rc, "no memory for the graph of %zu operations", d->arrivals);
	}
	d->graph = &graph;
	pp_dataset_tables(d, table);
	for (size_t i = 0; tool[i] && !rc; i++)
		rc = tool[i](d, table, err);
	pp_dataset_take_tables(d, table);
	pp_dataset_mark_unmeasured(d);
	pp_step_parts(d, d->step_parts, sizeof(d->step_parts));
	d->graph = NULL;
	pp_graph_release(&graph);
	return rc;
}
