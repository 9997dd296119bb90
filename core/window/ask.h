/* The keeper's request on this rank: pure states, no lock, no clock, no call out. Driven by trigger.c, under its lock.
 * In: the keeper's page, steps with their ticks, what ranks agreed on. Out: recording or not, this rank's word in its header. */
#pragma once

#include <stdint.h>

#include "core/ring/ring_file.h"
#include "core/window/window.h"

enum pp_ask_phase {
	PP_ASK_IDLE,
	PP_ASK_DEFERRED, /* steps, heard between two marks: the next mark says whether they have begun */
	PP_ASK_AGREEING, /* ranks are to fix the first step: not settled */
	PP_ASK_LIVE,     /* steps that are to come, or go on */
	PP_ASK_ON,       /* records until another word */
};

struct pp_ask {
	const struct pp_control *control; /* NULL: nobody can ask */
	struct pp_ring_header *header;
	enum pp_ask_phase phase;
	uint32_t number;       /* of the request that this is about */
	int64_t count, margin; /* AGREEING: steps, and how far behind the highest they begin */
	struct pp_window window;
	enum pp_request_state state; /* of this rank about `number` */
	uint64_t reported;           /* as the header has it */
};

void pp_ask_init(struct pp_ask *a, const struct pp_control *control, struct pp_ring_header *header);
/* The keeper's word, if it has changed. at_mark: step `number` begins just now, and is not looked at yet. */
void pp_ask_receive(struct pp_ask *a, int at_mark, int64_t number, pp_tick tick);
/* Of request `number`, after the first request of an agreement: 1 all ranks agreed on `highest`, 0 and -EAGAIN not yet, else there
 * is no agreement. `here`: the step that this rank is in. */
void pp_ask_agreed(struct pp_ask *a, uint32_t number, int rc, int64_t highest, int64_t here);
/* Step `number` begins; the current one ends. */
void pp_ask_begin(struct pp_ask *a, int64_t number, pp_tick tick);
void pp_ask_end(struct pp_ask *a, pp_tick tick);
/* A mark of this step was not seen in time: what should begin with it can not any more. */
void pp_ask_overtaken(struct pp_ask *a, int64_t number);

static inline int pp_ask_is_decided(const struct pp_ask *a)
{
	return a->phase != PP_ASK_AGREEING;
}

static inline int pp_ask_recording(const struct pp_ask *a)
{
	return a->phase == PP_ASK_ON || (a->phase == PP_ASK_LIVE && a->window.recording);
}

/* Steps below this one change nothing. INT64_MIN: every mark is to be looked at. */
int64_t pp_ask_next_edge(const struct pp_ask *a);
/* Say the word; after what was recorded before it. */
void pp_ask_report(struct pp_ask *a);
