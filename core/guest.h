/* The guest's own calls between collector.c, lifecycle.c, window and sources. Hidden; any thread. */
#ifndef PP_GUEST_H
#define PP_GUEST_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/coord/evidence.h"
#include "core/ring/ring_file.h"
#include "core/ring/wiped.h"

enum pp_phase {
	PP_PHASE_UNSETTLED, /* no evidence yet: the next source call tries to claim */
	PP_PHASE_SETTLED,   /* claimed, or known not to be the rank */
	PP_PHASE_EXITING,   /* the exit handler ran: records are counted as lost */
};

/* 1 if this process is the rank and has a ring file. */
int pp_guest_claim(enum pp_evidence evidence, int rank, int size);
/* The same for rank `rank` of a framework's process group of `size`; `own`: this process was started by the program itself. A child
 * of a rank is one of its own then, and a process that is the rank already gets that number. */
int pp_guest_claim_group(int rank, int size, int own);
/* This process begins: in the constructor, and in a forked child. */
void pp_guest_born(void);
int pp_guest_is_rank(void);
int pp_guest_rank(void);
const char *pp_guest_spool(void);
/* This thread's where-am-I line; a shared stand-in where it has none. */
struct pp_where *pp_guest_where(void);
/* Recording on or off, from the next record of every thread. */
void pp_guest_record(int on);
/* The application's own pause, inside windows; 0 ends it. */
void pp_guest_pause(int paused);
/* One line on stderr, from rank 0 only. */
void pp_guest_say(const char *text);
/* From now on it prints, though it is not rank 0, which has no podprof. */
void pp_guest_speak(void);

/* The keeper's page, mapped for life; NULL: it was not there, or is another podprof's. At the claim. */
const struct pp_control *pp_guest_control(void);
/* The same of a spool that is not claimed in. */
const struct pp_control *pp_guest_control_in(const char *spool);

/* lifecycle.c: pid in which the library was loaded; handlers of a rank. */
int pp_lifecycle_is_forked(void);
void pp_lifecycle_start(void);
/* 0: what is recorded now nobody will drain. */
int pp_lifecycle_has_keeper(void);
/* This process is not the rank any more: it is a child of it. */
void pp_lifecycle_abandon(void);
/* The process ends in a way that runs no exit handlers. */
void pp_lifecycle_end(int status);
/* In a forked child: from now on this process is not the rank. */
void pp_guest_abandon(void);
/* MPI is initialised and not finalised. */
int pp_guest_mpi_runs(void);
/* At exit: no record is written any more. */
void pp_guest_finish(int status);

#endif
