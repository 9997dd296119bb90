/* How long the keeper may leave the rings alone. In: what the last round drained, the rings' sizes, the keeper's age. Out: ms until
 * the next round. Called by keeper.c. */
#pragma once

#include <stdint.h>

#include "aggregate/read/ring/rings.h"

enum {
	PP_PACE_LEAST_MS = 1,
	PP_PACE_MOST_MS = 100,
	PP_PACE_BATCH = 500, /* records of all ranks in a round: they stay in the caches of the threads that write them */
};

struct pp_pace {
	int64_t last_ms; /* when the last round was; CLOCK_MONOTONIC */
	int ms;          /* the last pause */
};

/* ms in which a thread at full speed fills the smallest ring: four per MiB. */
int64_t pp_pace_room(const struct pp_rings *rings);
/* A round has drained `records` at `now_ms`. Pauses become shorter at once, and at most twice as long. A pause is never longer than
 * `room_ms`, or 20 ms while no rank writes, if that is more. It is never more than a hundredth of the keeper's age, from 4 ms on:
 * the end of a short job is seen early. */
int pp_pace_next(struct pp_pace *p, uint64_t records, int64_t room_ms, int64_t now_ms, int64_t age_ms);
