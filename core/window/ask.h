/* The keeper's capture request on this rank: pure states, no lock, no clock, no call out. Driven by trigger.c, under its lock.
 * In: the keeper's control page, steps with their ticks, the ranks' agreement. Out: recording or not, this rank's state in its
 * header. */
#pragma once

#include <stdint.h>

#include "core/ring/ring_file.h"
#include "core/window/window.h"

enum pp_ask_phase {
	PP_ASK_IDLE,
	PP_ASK_DEFERRED, /* steps, received between two marks: the next mark decides whether they have begun */
	PP_ASK_AGREEING, /* ranks are agreeing on the first step */
	PP_ASK_LIVE,     /* steps that are to come, or being recorded */
	PP_ASK_ON,       /* records until the next request */
};

struct pp_ask {
	const struct pp_control *control; /* NULL: there is no keeper that could ask */
	struct pp_ring_header *header;
	enum pp_ask_phase phase;
	uint32_t number;       /* of the current request */
	uint32_t level;        /* that it requests: pp_level_code(); 0: none */
	int64_t count, margin; /* AGREEING: number of steps, and how far behind the highest step they begin */
	struct pp_window window;
	enum pp_request_state state; /* of this rank for request `number` */
	uint64_t reported;           /* as last written to the header */
};

/* At the claim. Keeps both pointers; control: NULL without a keeper. */
void pp_ask_init(struct pp_ask *a, const struct pp_control *control, struct pp_ring_header *header);
/* Reads the keeper's request, if it has changed. at_mark: step `number` begins now, and pp_ask_begin() was not called for it
 * yet. */
void pp_ask_receive(struct pp_ask *a, int at_mark, int64_t number, pp_tick tick);
/* Result of the agreement on request `number`: 1 all ranks agreed on `highest`, 0 and -EAGAIN not yet, else no agreement.
 * `here`: the step that this rank is in. */
void pp_ask_agreed(struct pp_ask *a, uint32_t number, int rc, int64_t highest, int64_t here);
/* Step `number` begins; the current one ends. */
void pp_ask_begin(struct pp_ask *a, int64_t number, pp_tick tick);
void pp_ask_end(struct pp_ask *a, pp_tick tick);
/* The mark of step `number` was not seen in time: a window can no longer begin with it. */
void pp_ask_overtaken(struct pp_ask *a, int64_t number);

static inline int pp_ask_is_decided(const struct pp_ask *a)
{
	return a->phase != PP_ASK_AGREEING;
}

static inline int pp_ask_recording(const struct pp_ask *a)
{
	return a->phase == PP_ASK_ON || (a->phase == PP_ASK_LIVE && a->window.recording);
}

/* Marks of steps below this one change nothing. INT64_MIN: every mark may. */
int64_t pp_ask_next_edge(const struct pp_ask *a);
/* Writes the state to the header; call it after the records before it. */
void pp_ask_report(struct pp_ask *a);
