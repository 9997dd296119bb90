/* Does this rank take part in what all ranks of MPI_COMM_WORLD do together? Equal on all of them, without a message, for who
 * waits in a collective for a rank without podprof waits for ever. Called by coord_mpi.c before and after the real MPI_Init.
 *
 *   one host      every rank has put its mark into a page of the spool before its MPI_Init, and whoever comes back first from
 *                 MPI_Init writes into that page whether all marks are there; the others take his word.
 *   several hosts mpirun has one application context, whose command is podprof run itself: the launcher's variables say so,
 *                 and say the same to all ranks. Not where a shell stands between the two, for it may start something else on
 *                 some ranks.
 *   otherwise     nobody does. */
#pragma once

#include <stdint.h>

struct pp_part_page { /* <spool>/mpi-<hash of the world's name>, mapped by its ranks of this spool */
	_Atomic uint32_t size;
	_Atomic uint32_t verdict; /* 0: none yet; PP_PART_YES, PP_PART_NO */
	_Atomic uint8_t here[];   /* by rank */
};

enum { PP_PART_YES = 1, PP_PART_NO = 2 };

struct pp_part {
	int one_host;    /* by the launcher's word */
	int rank, size;  /* by the launcher's word; -1 unknown */
	const char *why; /* the reason why not that the environment gives; NULL: none, on several hosts that is a yes */
	struct pp_part_page *page;
	int again; /* this rank's mark was there already: an earlier process of the rank has called MPI_Init */
};

/* Before MPI_Init. spool: NULL or a directory. */
void pp_part_mark(struct pp_part *p, const char *spool);
/* After it; world_size: as MPI has it. NULL: this rank takes part, and all others do; else the reason, at most 95 bytes. */
const char *pp_part_why_not(const struct pp_part *p, int world_size);
/* No rank below this one has this spool. */
int pp_part_is_first(const struct pp_part *p);
