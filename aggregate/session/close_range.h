/* The part of what the rings hold that a session is made of. Used by close.c and who calls it. */
#pragma once

#include <stdint.h>

struct pp_close_range { /* range of ticks of one rank's window */
	int32_t rank;
	int64_t from, to;
	int keep;   /* --keep: what lies before `from` was recorded too, and evicted */
	int passed; /* the rank has reported that it is past `to`: its later fate does not concern this window */
};
