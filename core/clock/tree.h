/* Who compares its clock with whom: a star around domain 0, and above PP_TREE_STAR domains two levels. Called by the keeper
 * (clock_tree.c); pp_tree_parent() is for who knows all domains at once. Two levels and no more: each hop adds its half round trip
 * to the bound (docs/clock.md). */
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

static inline size_t pp_tree_hubs(size_t domains)
{
	return pp_tree_hubs_of(domains, PP_TREE_STAR);
}

/* Of domain 1 or higher. Children of a hub are hubs apart: parent + hubs, parent + 2 hubs. */
static inline size_t pp_tree_parent(size_t domain, size_t domains)
{
	size_t hubs = pp_tree_hubs(domains);

	return domain <= hubs || !hubs ? 0 : 1 + (domain - 1) % hubs;
}
