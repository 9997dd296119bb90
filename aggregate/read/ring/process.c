/* What the process has used at the edges of steps. In: PROCESS records. Out: pp_rank.usage. */
#include <stddef.h>
#include <stdlib.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/rows.h"
#include "aggregate/read/ring/track.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

enum { USAGES_MOST = 1 << 18 }; /* hours at ten a second */

struct process { /* of a ring */
	struct pp_usage *usage;
	size_t usages, room;
};

static int is_bad(const struct pp_record *r)
{
	return r->process.user_ns > PP_TICK_MOST || r->process.system_ns > PP_TICK_MOST;
}

/* Drops the oldest where there are too many. */
static void take(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	const struct pp_record_process *u = &r->process;
	struct process *p = pp_pair_state(track->pair, PP_READER_PROCESS, sizeof(*p));
	struct pp_usage *more = p ? pp_rows_grow(p->usage, &p->usages, &p->room, sizeof(*more), USAGES_MOST, NULL) : NULL;

	(void)text;
	(void)length;
	if (!more) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	p->usage = more;
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

static void drop_between(struct pp_pair *pair, int64_t from, int64_t to)
{
	struct process *p = pair->state[PP_READER_PROCESS];

	if (p)
		pp_rows_drop(p->usage, &p->usages, sizeof(*p->usage), offsetof(struct pp_usage, time), from, to);
}

static int finish(struct pp_pair *pair, struct pp_rank *rank, size_t first_thread)
{
	const struct process *p = pair->state[PP_READER_PROCESS];

	(void)first_thread;
	return p ? pp_side_append(rank, PP_SIDE_ID_usage, p->usage, p->usages) : 0;
}

static void release(struct pp_pair *pair)
{
	struct process *p = pair->state[PP_READER_PROCESS];

	if (p)
		free(p->usage);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_PROCESS, .is_bad = is_bad, .take = take},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_process = {
        .name = "process",
        .kinds = kinds,
        .drop_between = drop_between,
        .finish = finish,
        .release = release,
};
