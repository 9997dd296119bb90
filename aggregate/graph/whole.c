/* Puts the parts of the graph together; see whole.h. Called by the tools. */
#include "aggregate/graph/whole.h"

#include "aggregate/graph/infer.h"
#include "aggregate/graph/learn.h"
#include "aggregate/graph/link.h"
#include "aggregate/graph/make.h"
#include "aggregate/graph/usual.h"

int pp_graph_whole(struct pp_graph *g, const struct pp_dataset *d)
{
	int rc = pp_graph_make(g, d);

	if (!rc)
		rc = pp_learn_needs(g);
	if (!rc)
		rc = pp_infer_needs(g);
	if (!rc)
		rc = pp_usual_find(g);
	if (!rc)
		rc = pp_links_find(g);
	if (rc)
		pp_graph_release(g);
	return rc;
}
