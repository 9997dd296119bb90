/* Places in the tree of clocks, as hosts come and go. Called by pod_tree.c; pure. In: the hosts, and whose clock each claims to
 * share. Out: a parent for each. A place that is still good is kept: a host that moves loses its measurements. */
#pragma once

#include <stddef.h>

enum { PP_TREE_ROOT = -1, PP_TREE_NONE = -2 };

struct pp_tree_row { /* a host; the root has no row */
	int live;
	int like; /* in and out: row of a domain whose clock it claims to share, PP_TREE_ROOT: the root's, PP_TREE_NONE: its own */
	int shy;  /* must not be a parent: its port is not known yet, or it does not answer */
	int rooted; /* it could not reach a parent other than the root */
	int parent; /* in and out. PP_TREE_NONE: new, gone, or waits for its parent */
	int hub;    /* in and out; 0: new */
};

/* Domains are the root's children up to `star` of them, then hubs' (tree.h). A host that shares a domain's clock is the child of
 * that domain. */
void pp_tree_place(struct pp_tree_row *row, size_t rows, size_t star);
/* From a row to the root's clock: 0 for a host that shares it. */
int pp_tree_hops(const struct pp_tree_row *row, size_t i);
