/* What exports say of a timeline in whatever format: notes of events, names of tracks, flows of events, when time begins.
 * In: a timeline. Out: plain values. */
#pragma once

#include "aggregate/timeline/timeline.h"

enum pp_note_id { /* PP_NOTE_IDS: how many */
	          PP_NOTE_NONE,
#define PP_NOTE(symbol, name) PP_NOTE_##symbol,
#include "aggregate/write/export/note.def"
#undef PP_NOTE
	          PP_NOTE_IDS
};

enum pp_note_type { PP_NOTE_IS_YES, PP_NOTE_IS_NUMBER, PP_NOTE_IS_ID, PP_NOTE_IS_COMM };

struct pp_note {
	enum pp_note_id id;
	enum pp_note_type type;
	int64_t value; /* COMM: index in the timeline's comms */
};

enum { PP_EXPORT_PID = 1000000 }; /* rank 0; numbers of processes of several hosts may be equal, these are not */

struct pp_said {
	const struct pp_timeline *t;
	int64_t base_ns;      /* job ns of time 0 of the export: 0, or the first time if that is less */
	int64_t date_ns;      /* date of job ns 0; 0: unknown */
	uint32_t *flow_at;    /* [events + 1] first flow in `flow` of each event */
	uint64_t *flow;       /* (flow + 1) << 1, and 1 where it ends at the event: it goes from the earlier event to the later */
	uint32_t *depth_at;   /* [tracks + 1] number of the first depth of each track, over all */
	uint32_t *comm_order; /* indexes of comms by id */
};

/* Fails without memory, and where the timeline contradicts itself. pp_said_release() also after a failure. */
int pp_said_init(struct pp_said *s, const struct pp_timeline *t, struct pp_err *err);
void pp_said_release(struct pp_said *s);
const char *pp_note_name(enum pp_note_id id);
/* The notes of an event, in the order of enum pp_note_id; how many. */
size_t pp_said_notes(const struct pp_said *s, const struct pp_timeline_event *e, struct pp_note note[PP_NOTE_IDS]);
/* "main", "requests", "requests 2": as pp_timeline_track_name() without the rank, valid UTF-8. */
void pp_said_track(const struct pp_said *s, const struct pp_timeline_track *track, uint32_t depth, char *name, size_t size);
/* "rank 3 (node001)". */
void pp_said_rank(const struct pp_timeline_rank *r, char *name, size_t size);
enum { PP_SAID_LABELS = 5 };
/* What else there is to say of a rank: host, pid, clock error, why it has no events, that its device is simulated. */
size_t pp_said_labels(const struct pp_said *s, const struct pp_timeline_rank *r, char label[PP_SAID_LABELS][256]);
/* How many tracks of the export it becomes: where events overlap, one for each depth. */
uint32_t pp_said_depths(const struct pp_timeline_track *track);
/* Its events overlap, but not those of one depth. */
int pp_said_overlaps(const struct pp_timeline_track *track);
/* Is the innermost of `open` events over when the next one begins? A mark at the very end of an event may still be in it. */
static inline int pp_said_is_over(const struct pp_timeline_event *innermost, size_t open, const struct pp_timeline_event *next)
{
	return innermost->end_ns < next->begin_ns ||
	       (innermost->end_ns == next->begin_ns && (next->end_ns > next->begin_ns || next->depth < open));
}
/* "steps", "marks", or the category; NULL: none. */
const char *pp_said_category(const struct pp_timeline_event *e);
/* Copies text with what is no valid UTF-8 replaced. */
void pp_said_text(char *to, size_t size, const char *text);
