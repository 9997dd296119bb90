/* What a process has used, at the edges of its steps. Called by pair.c. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"

enum { MOST = 1 << 18 }; /* hours at ten a second */

static int make_room(struct pp_pair *p)
{
	size_t room = p->usages_room ? p->usages_room * 2 : 64;
	struct pp_usage *usage;

	if (p->usages < p->usages_room)
		return 0;
	if (p->usages >= MOST) {
		p->usages = MOST / 2;
		memmove(p->usage, p->usage + MOST / 2, (MOST / 2) * sizeof(*p->usage));
		return 0;
	}
	usage = realloc(p->usage, room * sizeof(*usage));
	if (!usage)
		return -1;
	p->usage = usage;
	p->usages_room = room;
	return 0;
}

void pp_pair_usage(struct pp_pair *p, const struct pp_record *r)
{
	const struct pp_record_process *u = &r->process;

	if (make_room(p)) {
		p->lost[PP_LOSS_EVICTED]++;
		return;
	}
	p->usage[p->usages++] = (struct pp_usage){
	        .time = (int64_t)r->tick,
	        .number = u->number,
	        .user_ns = u->user_ns,
	        .system_ns = u->system_ns,
	        .peak_bytes = (uint64_t)u->peak_kib * 1024,
	        .minor_faults = u->minor_faults,
	        .major_faults = u->major_faults,
	        .voluntary = u->voluntary,
	        .involuntary = u->involuntary,
	        .sequence = u->sequence_flags >> 1,
	        .is_end = (u->sequence_flags & 1) != 0,
	};
}
