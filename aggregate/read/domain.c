/* Which ranks share a clock. Called by finish.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/rings_private.h"

/* A processor's counter: the boot id; RAW: the time namespace too. */
static int same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return a->tick_kind == b->tick_kind && !strncmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) &&
	       (a->tick_kind != PP_TICK_RAW || !strncmp(a->timens_ns, b->timens_ns, sizeof(a->timens_ns)));
}

int pp_rings_domains(const struct pp_rings *r, struct pp_capture *c)
{
	int32_t domains = 0, *domain = calloc(r->rings + 1, sizeof(*domain));

	if (!domain)
		return -ENOMEM;
	for (size_t i = 0; i < r->rings; i++) {
		size_t like = 0;

		while (like < i && !same_clock(pp_rings_header(r, like), pp_rings_header(r, i)))
			like++;
		domain[i] = like < i ? domain[like] : domains++;
		for (size_t k = 0; k < c->ranks; k++)
			if (c->rank[k].rank == pp_rings_header(r, i)->rank) {
				c->rank[k].domain = domain[i];
				c->rank[k].counts_other = pp_rings_header(r, i)->tick_kind != pp_rings_header(r, 0)->tick_kind;
			}
	}
	free(domain);
	return 0;
}
