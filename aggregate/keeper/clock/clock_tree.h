/* Places in the tree of clocks, as hosts come and go. Called by pod_tree.c; pure. In: who is there and whose clock it says it has.
 * Out: a parent each. A place that is still good is kept: who moves loses what it measured. */
#pragma once

#include <stddef.h>

enum { PP_TREE_ROOT = -1, PP_TREE_NONE = -2 };

struct pp_tree_row { /* a host; the root has no row */
	int live;
	int like;   /* in and out: row of a domain whose clock it says it has, PP_TREE_ROOT: the root's, PP_TREE_NONE: its own */
	int shy;    /* nobody's parent: where its stamps go is not known yet, or it does not answer */
	int rooted; /* a parent that is not the root was not reached */
	int parent; /* in and out. PP_TREE_NONE: of who is new, is gone, or has to wait for its parent */
	int hub;    /* in and out; 0 of who is new */
};

/* Domains are the root's children as long as they are at most `star`, then hubs' (tree.h). Who shares a domain's clock is that
 * one's child. */
void pp_tree_place(struct pp_tree_row *row, size_t rows, size_t star);
/* From a row to the root's clock: 0 for who has it. */
int pp_tree_hops(const struct pp_tree_row *row, size_t i);
