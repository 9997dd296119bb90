/* How long a rank has stood in one place of the program: the same MPI call, or the same code between two calls. In: the where-am-I
 * lines of its ring (struct pp_where), read again and again. Out: the line, and since when it has not changed. A rank that polls
 * (MPI_Test, MPI_Iprobe) stands where it polls. Called by keeper.c, live.c and the keepers' messages. */
#pragma once

#include "aggregate/spool/view.h"

struct pp_still {
	struct pp_where where; /* of the thread that is in MPI, the main thread first; else of the main thread */
	int64_t since_ms;      /* of pp_now_ms(): first seen like that; 0: never looked */
	int64_t process_ms;
	char process; /* state as in /proc: R, S, D, T; 0 unknown */
};

/* One look, some 50 ns: accurate to the distance of two looks. */
void pp_still_check(struct pp_still *s, const struct pp_ring_header *h, int64_t now_ms);
/* Looks at all ranks of the view; a rank that it has not seen before begins now. At most one look per `pause_ms`. */
void pp_still_check_all(struct pp_spool_view *v, int64_t now_ms, int64_t pause_ms);
/* NULL: not looked at so far. */
struct pp_still *pp_still_of(const struct pp_spool_view *v, size_t ring);
/* State of its process, read at most once a second; 0: unknown. */
char pp_still_process(struct pp_still *s, const struct pp_watch *w, int64_t now_ms);
/* 1: a call that asks again and again; 1 + row as in struct pp_where. */
int pp_still_polls(unsigned call);
