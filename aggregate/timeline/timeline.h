/* The timeline of a session: every event of its ranks on the job's clock, as the page draws it and `podprof export` writes it.
 * In: event files of a session (load.c), or a capture. Out: tracks of events, flows between events, counters, and counts of what is
 * not in it. One thread. A timeline owns its memory, the names too. All times are job ns: ns after the job's epoch. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/rank_list.h"
#include "core/ring/intern.h"
#include "core/step/category.h"

struct pp_capture;

enum pp_timeline_of {                       /* what a track shows */
	              PP_TIMELINE_STEPS,    /* the steps of a rank in the window: its first track */
	              PP_TIMELINE_THREAD,   /* nested events of a thread */
	              PP_TIMELINE_STREAM,   /* of a stream of a device */
	              PP_TIMELINE_REQUESTS, /* nonblocking operations, until seen complete: `depth` counts those at once */
	              PP_TIMELINE_ASYNC,    /* ranges that overlap: `depth` counts those at once */
};

struct pp_timeline_rank { /* ordered by rank; of ranks without events too, with the reason */
	int32_t rank;
	char host[72];
	char missing[160];          /* why it has no events: "filtered by --ranks", "no event file ..."; "": it has some */
	int64_t bound_ns;           /* |clock error| of its times against job time; PP_BOUND_UNKNOWN: its clock is not joined */
	int32_t domain;             /* clock domain: times of ranks of different domains are comparable to bound_ns only */
	uint32_t pid;               /* 0: unknown */
	uint32_t track, tracks;     /* first, number: the tracks of a rank follow each other */
	uint32_t counter, counters; /* the same for counters */
};

struct pp_timeline_track {
	uint32_t rank;        /* index */
	uint32_t name;        /* of the thread, stream or line: "main", "Stream 7"; 0: none */
	uint32_t tid;         /* thread or stream; 0: none */
	uint32_t device;      /* number + 1; 0: the host */
	uint32_t device_name; /* model; 0: unknown */
	uint8_t of;           /* enum pp_timeline_of */
	uint8_t is_main;
	uint16_t depths;        /* largest depth + 1 */
	uint32_t event, events; /* first, number: the events of a track follow each other, by begin, then end descending */
};

/* Of a track's events a nested one ends at the latest where the one around it does. */
struct pp_timeline_event {
	int64_t begin_ns, end_ns; /* equal: an instant */
	int64_t self_ns;          /* less the events directly nested in it */
	uint32_t name;            /* pp_intern id; of a call the call's name, of a step "step 12" */
	uint32_t track;
	uint32_t step;   /* index + 1 of the step in which it begins; 0: none */
	uint32_t detail; /* index + 1; 0: it has none */
	union {
		uint32_t launch; /* DEVICE: how a kernel was launched, index + 1; 0: unknown */
		uint32_t dims;   /* RANGE: dimensions of an operator's inputs, pp_intern id; 0: unknown */
	};
	uint32_t correlation; /* of a kernel, copy or set with its launch; 0: unknown */
	uint32_t op;          /* of these: the operator that launched it, pp_intern id; 0: unknown */
	uint16_t depth;       /* 0: nothing is around it */
	uint8_t kind;         /* enum pp_span_kind, never COUNTER */
	uint8_t category;     /* enum pp_category, which gives the colour; 0: none (steps, marks) */
	uint8_t flags;        /* PP_SPAN_CUT_BEGIN, PP_SPAN_CUT_END, PP_SPAN_FAILED, PP_SPAN_POLLS of enum pp_span_flags */
	uint8_t reserved[3];
};

struct pp_timeline_launch { /* 0: unknown */
	uint32_t grid[3], block[3], registers;
	uint64_t shared; /* bytes of a block, static and dynamic */
};

enum pp_timeline_has { /* which members of a detail hold */
	               PP_TIMELINE_HAS_SEQUENCE = 1,
	               PP_TIMELINE_HAS_WAIT = 2, /* until_ns, last, bound_ns */
	               PP_TIMELINE_HAS_TAG = 4,
};

struct pp_timeline_detail {      /* of a call, a request, work of a device */
	uint64_t comm;           /* communicator id; 0: none */
	uint64_t sent, received; /* bytes; of a copy or set of a device `sent` */
	int64_t until_ns;        /* it waited until then, then transferred; its begin: it did not wait; never after its end */
	int64_t bound_ns;        /* |clock error| of until_ns against its own begin; a shorter wait is a tie */
	uint32_t sequence;       /* of the collective on comm */
	uint32_t request;        /* this rank's request; 0: none */
	int32_t peer;            /* world rank of the peer or root; -1: none or unknown, -2: any */
	int32_t last;            /* world rank that it waited for: the last to arrive of those that it needs; -1: for none */
	int32_t tag;
	uint32_t has; /* enum pp_timeline_has */
};

enum pp_timeline_flow_kind {
	PP_FLOW_COLLECTIVE, /* from a call that waited to the call of the rank that it waited for */
	PP_FLOW_MESSAGE,    /* from the call that sends to the one that receives */
	PP_FLOW_LAUNCH,     /* from a call of the host to what it made a device do */
	PP_FLOW_REQUEST,    /* from the call that began an operation to the one that saw it complete */
	PP_FLOW_KINDS
};

struct pp_timeline_flow {  /* ordered by `from`, then `to` */
	uint32_t from, to; /* events */
	uint32_t kind;     /* enum pp_timeline_flow_kind */
};

struct pp_timeline_sample {
	int64_t time_ns;
	double value;
};

struct pp_timeline_counter { /* a value over time: memory, CPU, counters of the program, allocators */
	uint32_t rank;       /* index */
	uint32_t name;
	char unit[8]; /* "byte", "core", "1" */
	uint32_t sample, samples;
};

struct pp_timeline_step {
	int64_t number;
	int64_t begin_ns, end_ns; /* first begin to last end, of all ranks in it */
};

struct pp_timeline_comm {
	uint64_t id;
	uint32_t name; /* 0: none */
	uint32_t size;
};

struct pp_timeline_left {                          /* events that are not in it, by reason */
	uint64_t by_steps, by_time, by_categories; /* options; of the ranks that they select */
	uint64_t by_ranks;                         /* ranks that the options do not select */
	uint64_t damaged, untimed;                 /* of event files */
	uint64_t ranks;                            /* without a readable event file */
	uint64_t crossed;               /* in it, but cut: ranges that overlap another one of their thread without lying in it */
	uint64_t unmatched_collectives; /* calls for which nothing tells whom they wait for */
	uint64_t unmatched_waits;       /* calls that waited, of which no call of the late rank is known */
	uint64_t between_polls;         /* waits that are in part between polls */
	uint64_t unmatched_messages;    /* sends and receives whose other end is not recorded, or not certain */
	uint64_t unmatched_launches;    /* work of devices without its call */
};

struct pp_timeline {
	struct pp_intern *names;
	char session[160], job[256];
	char clock[256];           /* one sentence about the clock error of the ranks */
	char source[64];           /* "podprof", or what made the files: "XSpace", "Kineto" */
	int is_replay;             /* a stand-in of the device's library gave device records */
	int64_t epoch_realtime_ns; /* date of job ns 0; 0: unknown */
	int64_t begin_ns, end_ns;  /* of all events; 0, 0: there are none */
	struct pp_timeline_rank *rank;
	size_t ranks;
	struct pp_timeline_track *track;
	size_t tracks;
	struct pp_timeline_event *event;
	size_t events;
	struct pp_timeline_detail *detail;
	size_t details;
	struct pp_timeline_launch *launch;
	size_t launches;
	struct pp_timeline_flow *flow;
	size_t flows;
	struct pp_timeline_counter *counter;
	size_t counters;
	struct pp_timeline_sample *sample;
	size_t samples;
	struct pp_timeline_step *step; /* by number */
	size_t steps;
	struct pp_timeline_comm *comm;
	size_t comms;
	struct pp_timeline_left left;
};

struct pp_timeline_options {              /* zeroed: everything */
	int64_t steps_first, steps_last;  /* steps steps_first to steps_last - 1; last <= first: all */
	const struct pp_rank_list *ranks; /* NULL: all */
	int64_t last_ns;                  /* only the last that many ns of the session; 0: all */
	uint32_t categories;              /* bit 1 << enum pp_category; 0: all. Steps and marks are always in */
	struct pp_capture *capture;       /* NULL, or what the event files were made of: taken over, and they are not read */
};

/* The lines that users must see of what is not in it, one sentence each with its number; "" where nothing is missing. */
void pp_timeline_left_text(const struct pp_timeline *t, char *text, size_t size);
void pp_timeline_release(struct pp_timeline *t);
/* "rank 3 main": unique in the timeline. */
void pp_timeline_track_name(const struct pp_timeline *t, const struct pp_timeline_track *track, char *name, size_t size);
/* The index of the timeline's rank of this number; SIZE_MAX: none. */
size_t pp_timeline_rank_at(const struct pp_timeline *t, int32_t rank);
