/* Computes places in the tree of clocks; see clock_tree.h. Called by pod_tree.c. */
#include "aggregate/keeper/clock/clock_tree.h"

#include "core/clock/tree.h"

static int is_domain(const struct pp_tree_row *r)
{
	return r->live && r->like == PP_TREE_NONE;
}

static int is_good_hub(const struct pp_tree_row *r)
{
	return is_domain(r) && r->hub && !r->shy && r->parent == PP_TREE_ROOT;
}

/* Drops places that are no longer valid. Returns the number of domains. */
static size_t let_go(struct pp_tree_row *row, size_t rows)
{
	size_t domains = 0;

	for (size_t i = 0; i < rows; i++) {
		if (row[i].rooted) /* its claim about its clock cannot be verified */
			row[i].like = PP_TREE_NONE;
		if (!is_domain(&row[i]) || row[i].shy)
			row[i].hub = 0;
		if (!is_domain(&row[i]))
			row[i].parent = PP_TREE_NONE;
		domains += is_domain(&row[i]) != 0;
	}
	for (size_t i = 0; i < rows; i++) {
		if (is_domain(&row[i]) && row[i].parent >= 0 && !is_good_hub(&row[row[i].parent]))
			row[i].parent = PP_TREE_NONE;
		if (is_domain(&row[i]) && row[i].rooted)
			row[i].parent = PP_TREE_ROOT;
	}
	return domains;
}

/* The row that loses least by becoming a hub: the root's child, then one without a parent, then another hub's child; the first
 * of each. */
static int next_hub(const struct pp_tree_row *row, size_t rows)
{
	int best = PP_TREE_NONE, best_rank = 3;

	for (size_t i = 0; i < rows; i++) {
		int rank = row[i].parent == PP_TREE_ROOT ? 0 : row[i].parent == PP_TREE_NONE ? 1 : 2;

		if (!is_domain(&row[i]) || row[i].shy || row[i].hub || rank >= best_rank)
			continue;
		best = (int)i;
		best_rank = rank;
	}
	return best;
}

static size_t children_of(const struct pp_tree_row *row, size_t rows, int hub)
{
	size_t n = 0;

	for (size_t i = 0; i < rows; i++)
		n += is_domain(&row[i]) && row[i].parent == hub;
	return n;
}

static int emptiest_hub(const struct pp_tree_row *row, size_t rows)
{
	int best = PP_TREE_ROOT;
	size_t least = 0;

	for (size_t i = 0; i < rows; i++) {
		size_t n = is_good_hub(&row[i]) ? children_of(row, rows, (int)i) : 0;

		if (!is_good_hub(&row[i]) || (best >= 0 && n >= least))
			continue;
		best = (int)i;
		least = n;
	}
	return best;
}

void pp_tree_place(struct pp_tree_row *row, size_t rows, size_t star)
{
	size_t wanted = pp_tree_hubs_of(let_go(row, rows), star), hubs = 0;

	for (size_t i = 0; i < rows; i++)
		hubs += is_good_hub(&row[i]) != 0;
	for (int i; hubs < wanted && (i = next_hub(row, rows)) >= 0; hubs++) {
		row[i].hub = 1;
		row[i].parent = PP_TREE_ROOT;
	}
	for (size_t i = 0; i < rows; i++) {
		struct pp_tree_row *r = &row[i];

		if (is_domain(r) && !r->hub && !r->rooted && (r->parent == PP_TREE_NONE || (r->parent == PP_TREE_ROOT && wanted)))
			r->parent = wanted ? emptiest_hub(row, rows) : PP_TREE_ROOT;
	}
	for (size_t i = 0; i < rows; i++) {
		int like = row[i].like;

		if (row[i].live && like != PP_TREE_NONE)
			row[i].parent = like == PP_TREE_ROOT || (row[like].live && !row[like].shy) ? like : PP_TREE_NONE;
	}
}

int pp_tree_hops(const struct pp_tree_row *row, size_t i)
{
	int at = row[i].like >= 0 ? row[i].like : (int)i, hops = 0;

	if (row[i].like == PP_TREE_ROOT)
		return 0;
	for (; at >= 0 && hops < 3; hops++)
		at = row[at].parent;
	return hops;
}
