/* Which ranks share a clock. Called by finish.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/rings_private.h"

/* A processor's counter: the boot id; RAW: the time namespace too. */
static int same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return a->tick_kind == b->tick_kind && !strncmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) &&
	       (a->tick_kind != PP_TICK_RAW || !strncmp(a->timens_ns, b->timens_ns, sizeof(a->timens_ns)));
}

/* What same_clock() compares, in words that other keepers have too. A ring without a boot id is like no other host's. */
void pp_rings_name_clock(const char *boot_id, const char *timens, uint32_t tick_kind, char *name, size_t size)
{
	const struct pp_ring_header *h = NULL;

	if (boot_id[0])
		snprintf(name, size, "%.*s %s%s%.*s", (int)sizeof(h->boot_id), boot_id,
		         tick_kind == PP_TICK_RAW ? "raw" : "counter", tick_kind == PP_TICK_RAW ? " " : "",
		         tick_kind == PP_TICK_RAW ? (int)sizeof(h->timens_ns) : 0, timens);
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
				pp_rings_name_clock(pp_rings_header(r, i)->boot_id, pp_rings_header(r, i)->timens_ns,
				                    pp_rings_header(r, i)->tick_kind, c->rank[k].clock, sizeof(c->rank[k].clock));
				c->rank[k].counts_other = pp_rings_header(r, i)->tick_kind != pp_rings_header(r, 0)->tick_kind;
			}
	}
	free(domain);
	return 0;
}
