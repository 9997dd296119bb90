/* What every export has of a timeline, in whatever format: args of events, names of tracks, flows of events, when time begins.
 * In: a timeline. Out: plain values. */
#pragma once

#include "aggregate/timeline/timeline.h"

enum pp_arg_id { /* PP_ARG_IDS: how many */
	         PP_ARG_NONE,
#define PP_ARG(symbol, name) PP_ARG_##symbol,
#include "aggregate/write/export/arg.def"
#undef PP_ARG
	         PP_ARG_IDS
};

enum pp_arg_type { PP_ARG_IS_YES, PP_ARG_IS_NUMBER, PP_ARG_IS_ID, PP_ARG_IS_COMM, PP_ARG_IS_NAME };

struct pp_arg {
	enum pp_arg_id id;
	enum pp_arg_type type;
	int64_t value; /* COMM: index in the timeline's comms; NAME: pp_intern id of its names */
};

enum { PP_EXPORT_PID = 1000000 }; /* rank 0; numbers of processes of several hosts may be equal, these are not */

struct pp_outline {
	const struct pp_timeline *t;
	int64_t base_ns;      /* job ns of time 0 of the export: 0, or the first time if that is less */
	int64_t date_ns;      /* date of job ns 0; 0: unknown */
	uint32_t *flow_at;    /* [events + 1] first flow in `flow` of each event */
	uint64_t *flow;       /* (flow + 1) << 1, and 1 where it ends at the event: it goes from the earlier event to the later */
	uint32_t *depth_at;   /* [tracks + 1] number of the first depth of each track, over all */
	uint32_t *comm_order; /* indexes of comms by id */
};

/* Fails without memory, and where the timeline contradicts itself. pp_outline_release() also after a failure. */
int pp_outline_init(struct pp_outline *s, const struct pp_timeline *t, struct pp_err *err);
void pp_outline_release(struct pp_outline *s);
const char *pp_arg_name(enum pp_arg_id id);
/* The args of an event, in the order of enum pp_arg_id; how many. */
size_t pp_outline_args(const struct pp_outline *s, const struct pp_timeline_event *e, struct pp_arg arg[PP_ARG_IDS]);
/* "main", "requests", "requests 2": as pp_timeline_track_name() without the rank, valid UTF-8. */
void pp_outline_track(const struct pp_outline *s, const struct pp_timeline_track *track, uint32_t depth, char *name, size_t size);
/* "rank 3 (node001)". */
void pp_outline_rank(const struct pp_timeline_rank *r, char *name, size_t size);
enum { PP_OUTLINE_LABELS = 5 };
/* What else there is to say of a rank: host, pid, clock error, why it has no events, that its device is simulated. */
size_t pp_outline_labels(const struct pp_outline *s, const struct pp_timeline_rank *r, char label[PP_OUTLINE_LABELS][256]);
/* How many tracks of the export it becomes: where events overlap, one for each depth. */
uint32_t pp_outline_depths(const struct pp_timeline_track *track);
/* Its events overlap, but not those of one depth. */
int pp_outline_overlaps(const struct pp_timeline_track *track);
/* Is the innermost of `open` events over when the next one begins? A mark at the very end of an event may still be in it. */
static inline int pp_outline_is_over(const struct pp_timeline_event *innermost, size_t open, const struct pp_timeline_event *next)
{
	return innermost->end_ns < next->begin_ns ||
	       (innermost->end_ns == next->begin_ns && (next->end_ns > next->begin_ns || next->depth < open));
}
/* "steps", "marks", or the category; NULL: none. */
const char *pp_outline_category(const struct pp_timeline_event *e);
/* Copies text with what is no valid UTF-8 replaced. */
void pp_outline_text(char *to, size_t size, const char *text);
