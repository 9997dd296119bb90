/* What this process is: is it the rank, which one, in which spool. In: what collector.c found at the claim. Out: the answers, for
 * windows, sources and the end of the rank, which need nothing else of the collector. */
#pragma once

#include <sys/types.h>

#include "core/coord/claim.h"
#include "core/ring/ring_file.h"
#include "core/ring/wiped.h"

struct pp_self { /* written by collector.c, under its claim, and in a forked child; valid once pp_self_is_rank() */
	struct pp_claim claim;
	char spool[384];
	const struct pp_control *control; /* as mapped at the claim: at exit the process may no longer be allowed to open files */
	pid_t birth;                      /* process that loaded the library; 0: not known yet */
	pid_t owner;                      /* pid of the rank; 0: a child of it, or it has ended */
	int is_speaker;                   /* prints although it is not rank 0, which has no podprof */
};

extern struct pp_self pp_self __attribute__((visibility("hidden")));

/* Is this process the rank, with a ring file? 0 in each forked child, however it was forked. Any thread; async-signal-safe. */
static inline int pp_self_is_rank(void)
{
	return (int)atomic_load_explicit(&pp_wiped.is_rank, memory_order_acquire);
}

/* The directory that the rank shares with its keeper; "" before the claim. Lives as long as the process. */
const char *pp_self_spool(void);
/* The keeper's control page, mapped by the first call, at the claim; NULL: it was missing then, or is another podprof's. */
const struct pp_control *pp_self_control(void);
/* 0: nobody will drain records any more. Any thread; no system call. */
int pp_self_has_keeper(void);
/* Was this process forked by the one that loaded the library? The first call may come before the constructor. */
int pp_self_is_forked(void);
/* One line on stderr, "podprof: " in front, cut at 640 bytes; from rank 0 only, or from the rank that speaks for it. */
void pp_self_print(const char *text);
