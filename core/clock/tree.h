/* Which host compares its clock with which: a star around domain 0, and above PP_TREE_STAR domains two levels. Called by the
 * keeper (clock_tree.c); pp_tree_parent() needs the number of all domains. Two levels at most: each hop adds half its round
 * trip to the bound (docs/clock.md). */
#pragma once

#include <stddef.h>

enum { PP_TREE_STAR = 64 };

/* Domains that serve others, root not counted: 1 to hubs; 0 in a star. */
static inline size_t pp_tree_hubs_of(size_t domains, size_t star)
{
	size_t hubs = 1;

	if (domains <= star)
		return 0;
	while (hubs * hubs < domains - 1)
		hubs++;
	return hubs;
}

/* The same where PP_TREE_STAR domains are still a star. */
static inline size_t pp_tree_hubs(size_t domains)
{
	return pp_tree_hubs_of(domains, PP_TREE_STAR);
}

/* For domain 1 or higher. A hub's children are `hubs` numbers apart: parent + hubs, parent + 2 hubs. */
static inline size_t pp_tree_parent(size_t domain, size_t domains)
{
	size_t hubs = pp_tree_hubs(domains);

	return domain <= hubs || !hubs ? 0 : 1 + (domain - 1) % hubs;
}
