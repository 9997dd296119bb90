/* Decides whether this rank takes part in podprof's collectives on MPI_COMM_WORLD. All ranks decide alike and without a message,
 * since a collective with a rank that lacks podprof would wait for ever. Called by coord_mpi.c before and after the real
 * MPI_Init.
 *
 * one host: every rank puts its mark into a page of the spool before MPI_Init; the first rank back from MPI_Init writes into
 * that page whether all marks are there, and the others follow it.
 * several hosts: mpirun has one application context, whose command is podprof run itself; the launcher's variables say so on all
 * ranks. Not with a shell between the two, which may start something else on some ranks.
 * MPICH and Intel MPI: on one host only, where the ranks are children of the launcher's process.
 * otherwise: no rank takes part. */
#pragma once

#include <stdint.h>

struct pp_part_page { /* <spool>/mpi-<hash of the world's name>, mapped by its ranks of this spool */
	_Atomic uint32_t size;
	_Atomic uint32_t verdict; /* 0: none yet; PP_PART_YES, PP_PART_NO */
	_Atomic uint8_t here[];   /* by rank */
};

enum { PP_PART_YES = 1, PP_PART_NO = 2 };

struct pp_part {
	int one_host;    /* by the launcher's variable */
	int rank, size;  /* by the launcher's variable; -1 unknown */
	const char *why; /* the reason against it in the environment; NULL: none, which on several hosts means yes */
	struct pp_part_page *page;
	int again; /* this rank's mark was there before: an earlier process of the rank has called MPI_Init */
};

/* Before MPI_Init. spool: NULL or a directory. */
void pp_part_mark(struct pp_part *p, const char *spool);
/* After MPI_Init; world_size: MPI's. NULL: this rank takes part, and so do all others; else the reason, at most 95 bytes. */
const char *pp_part_why_not(const struct pp_part *p, int world_size);
/* No lower rank has this spool. */
int pp_part_is_first(const struct pp_part *p);
