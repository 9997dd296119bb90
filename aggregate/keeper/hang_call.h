/* What a call waits for. In: its name, as in struct pp_live_rank. Out: its class, and for whom it waits. Pure. Called by hang.c,
 * hang_graph.c and the text of `podprof hang`. */
#pragma once

#include "core/call/mpi_call.h"

struct pp_hang_call {
	enum pp_mpi_class class;
	int known;   /* the name is of a call that podprof records */
	int joins;   /* it waits for the members of its communicator */
	int is_c10d; /* one of torch.distributed */
};

/* A name that is not known gives 0 in all members. */
struct pp_hang_call pp_hang_call_of(const char *name);
/* 1: a call of torch.distributed. */
int pp_hang_is_c10d(const char *call);
/* 1: it takes a number on its communicator. */
int pp_hang_is_numbered(const char *call);
/* 1: it returns at once, and programs ask again and again. */
int pp_hang_is_poll(const char *call);
/* 1: a collective that also waits for processes outside of its communicator: another group, or another program. */
int pp_hang_waits_beyond(const char *call);
