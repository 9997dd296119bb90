/* The close of a window: from rings to a session. In: drained rings and two readings of the clock. Out: files and message. */
#ifndef PP_KEEPER_CLOSE_H
#define PP_KEEPER_CLOSE_H

#include "aggregate/keeper/host/sample.h"
#include "aggregate/keeper/spool.h"
#include "aggregate/session/session.h"

struct pp_close_range { /* ticks that one rank's window has */
	int32_t rank;
	int64_t from, to;
	int keep;   /* --keep: all before `from` was recorded too, and let go */
	int passed; /* the rank itself has said that it is past `to`: what became of it later is not this window's */
};

struct pp_close {
	struct pp_spool_view *view;
	const struct pp_clock_pair *first;        /* NULL: both readings are taken now (salvage) */
	const struct pp_session_options *options; /* `warning` is filled from view->notes */
	struct pp_sampler *sampler;               /* NULL: nobody looked at the processes */
	char *message;
	size_t message_size;
	const struct pp_close_range *range; /* one of several windows: its ticks; NULL: all is the window's */
	size_t ranges;
};

/* The tick of the first ring: what all clocks of this keeper are read with. */
enum pp_tick_kind pp_close_tick_kind(const struct pp_rings *r);
int pp_close_session(const struct pp_close *c, struct pp_err *err);

#endif
