/* Calls between collector.c, lifecycle.c, window and sources. Hidden; any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/coord/evidence.h"
#include "core/ring/ring_file.h"
#include "core/ring/wiped.h"

enum pp_phase {
	PP_PHASE_UNDECIDED, /* no evidence yet: each source call tries to claim */
	PP_PHASE_DECIDED,   /* claimed, or known not to be the rank */
	PP_PHASE_EXITING,   /* the exit handler ran: records are counted as lost */
};

/* Returns 1 if this process is the rank and has a ring file. */
int pp_collector_claim(enum pp_evidence evidence, int rank, int size);
/* The same for rank `rank` of a framework's process group of `size`; `own`: the program itself started this process, which is
 * then a rank although its parent is one. A process that is the rank already gets the new number. */
int pp_collector_claim_group(int rank, int size, int own);
/* This process begins: in the constructor, and in a forked child. */
void pp_collector_born(void);
int pp_collector_is_rank(void);
int pp_collector_rank(void);
const char *pp_collector_spool(void);
/* This thread's line of struct pp_where; a shared dummy where it has none. */
struct pp_where *pp_collector_where(void);
/* Switches recording, from the next record of every thread on. */
void pp_collector_record(int on);
/* Pause by the application, inside windows; 0 ends it. */
void pp_collector_pause(int paused);
/* One line on stderr, from rank 0 only. */
void pp_collector_say(const char *text);
/* From now on this rank prints, although it is not rank 0, which has no podprof. */
void pp_collector_speak(void);

/* The keeper's control page, mapped for life; NULL: it was missing at the claim, or is another podprof's. */
const struct pp_control *pp_collector_control(void);
/* The same for a spool without a claim. */
const struct pp_control *pp_collector_control_in(const char *spool);

/* lifecycle.c: pid in which the library was loaded; handlers of a rank. */
int pp_lifecycle_is_forked(void);
void pp_lifecycle_start(void);
/* 0: nobody will drain records any more. */
int pp_lifecycle_has_keeper(void);
/* This process is no longer the rank: it is a child of it. */
void pp_lifecycle_abandon(void);
/* The process ends without running exit handlers. */
void pp_lifecycle_end(int status);
/* In a forked child: from now on this process is not the rank. */
void pp_collector_abandon(void);
/* Is MPI initialised and not finalised? */
int pp_collector_mpi_runs(void);
/* At exit: no record is written after it. */
void pp_collector_finish(int status);
