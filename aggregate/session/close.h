/* The close of a window: from rings to a session. In: drained rings and two readings of the clock. Out: files and message. */
#pragma once

#include "aggregate/session/notes.h"
#include "aggregate/session/session.h"

struct pp_close_range { /* ticks that one rank's window has */
	int32_t rank;
	int64_t from, to;
	int keep;   /* --keep: all before `from` was recorded too, and let go */
	int passed; /* the rank itself has said that it is past `to`: what became of it later is not this window's */
};

struct pp_sampler; /* the keeper's */

struct pp_close {
	struct pp_rings *rings;
	size_t refused;         /* rings that cannot be read; the first note says why */
	struct pp_notes *notes; /* so far: the headers' are added */
	pp_status_of *status_of;
	const struct pp_clock_pair *first;        /* NULL: both readings are taken now (salvage) */
	const struct pp_session_options *options; /* `warning` is filled from notes */
	struct pp_sampler *sampler;               /* NULL: nobody looked at the processes; else its samples are given by this: */
	void (*give_samples)(struct pp_sampler *sampler, const struct pp_rings *r, struct pp_capture *c);
	struct pp_host_clock *wall; /* NULL, or this host's wall clock, pair[] and change[] in ticks: they are taken */
	char *message;
	size_t message_size;
	const struct pp_close_range *range; /* one of several windows: its ticks; NULL: all is the window's */
	size_t ranges;
};

/* The tick of the first ring: what all clocks of this keeper are read with. */
enum pp_tick_kind pp_close_tick_kind(const struct pp_rings *r);
int pp_close_session(const struct pp_close *c, struct pp_err *err);
