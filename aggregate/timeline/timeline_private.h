/* What the parts of a timeline's making share. In: a session read back. Out: a timeline. Internal to aggregate/timeline. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/timeline/timeline.h"
#include "core/capture/capture.h"
#include "core/step/attr_flat.h"

struct pp_timeline_range { /* of time in which a rank's events count */
	int64_t begin, end;
};

struct pp_timeline_mark { /* a step of one rank */
	int64_t begin, end;
	uint32_t step; /* index */
};

struct pp_timeline_maker {
	const struct pp_timeline_options *options;
	struct pp_timeline *t;
	struct pp_dataset *d;      /* of the session: its names are not the timeline's */
	struct pp_capture capture; /* job ns, the names of `t`; also ranks that are not shown, for whom others wait */
	struct pp_name_cache categories;
	size_t track_room, event_room, detail_room, flow_room, counter_room, sample_room;
	size_t launch_from, launches;    /* of the rank at hand: its first one in the timeline, and how many */
	int64_t from_ns;                 /* events before it are left out */
	struct pp_timeline_range *range; /* [ranks of the capture] */
	uint32_t ***event;               /* [ranks][threads][spans] event of a span; UINT32_MAX: it is not in the timeline */
	struct pp_timeline_mark *mark;   /* steps of the rank at hand, by begin */
	size_t marks;
};

/* Is it one of the ranks that are shown? */
static inline int pp_timeline_wants(const struct pp_timeline_maker *m, int32_t rank)
{
	return !m->options->ranks || pp_rank_list_has(m->options->ranks, rank);
}

/* load.c: reads the event files into the capture; the timeline has its ranks already. */
int pp_timeline_files(struct pp_timeline_maker *m, const char *pod, struct pp_err *err);

/* load.c: takes the ranks of `options->capture`, whose names the timeline has. */
void pp_timeline_take(struct pp_timeline_maker *m);

/* session.c: ranks, steps and capture are there, and become the rest of the timeline. 0 or -ENOMEM. */
int pp_timeline_make(struct pp_timeline_maker *m);
/* Releases all but the timeline and the dataset. */
void pp_timeline_maker_release(struct pp_timeline_maker *m);

/* build.c, flow.c, flow_message.c, counter.c: 0 or -ENOMEM. */
int pp_timeline_tracks(struct pp_timeline_maker *m);
int pp_timeline_flows(struct pp_timeline_maker *m);
int pp_timeline_messages(struct pp_timeline_maker *m);
/* flow_wait.c: the waiting of events, and its arrows. 0 or -ENOMEM. */
int pp_timeline_waits(struct pp_timeline_maker *m);
/* An arrow; none where an end is UINT32_MAX: not in the timeline. flow.c: 0 or -ENOMEM. */
int pp_timeline_add_flow(struct pp_timeline_maker *m, uint32_t from, uint32_t to, enum pp_timeline_flow_kind kind);

/* load.c: the id of a text in the timeline's names; 0: no memory. */
uint32_t pp_timeline_name(struct pp_timeline_maker *m, const char *text);
