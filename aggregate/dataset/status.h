/* The status of a rank, /worker status: delivered, salvaged, or one of the words below and why. Made by the keeper. */
#pragma once

#include <stddef.h>

struct pp_dataset;

#define PP_STATUS_DELIVERED "delivered"
#define PP_STATUS_SALVAGED "salvaged"
/* Its process lived when its ring was salvaged. */
#define PP_STATUS_SALVAGED_ALIVE PP_STATUS_SALVAGED " while it ran"
#define PP_STATUS_PARTIAL "partial: "
#define PP_STATUS_KILLED "killed: "
#define PP_STATUS_MISSING "missing: "
#define PP_STATUS_ABORTED PP_STATUS_PARTIAL "called MPI_Abort"
/* By a signal that launchers send to the ranks of a job that they end. */
#define PP_STATUS_ENDED PP_STATUS_PARTIAL "ended by signal "
/* Of a requested rank of which nothing is known. */
#define PP_STATUS_NOTHING_CAME PP_STATUS_MISSING "no record of it arrived"

/* A part of the warning that names ranks whose MPI calls were not recorded. */
#define PP_STATUS_MPI_UNSEEN "podprof has no wrappers for their MPI library"
/* Does a warning name such ranks? */
int pp_status_mpi_is_unseen(const struct pp_dataset *d);

/* Where ranks were killed or called MPI_Abort: says of those that were ended then that it was the launcher. */
void pp_status_join(struct pp_dataset *d);

/* The n-th sentence about ranks that delivered a part only, each status once: "rank 2 was killed: signal 9 (SIGKILL)". 0: there
 * are no more. */
int pp_status_sentence(const struct pp_dataset *d, size_t n, char *text, size_t size);
/* The n-th sentence about where ranks were that did not end by themselves: "rank 2 ended in step 19 and
 * in MPI_Barrier number 3 of MPI_COMM_WORLD"; "was" instead of "ended" for one that was salvaged while it ran. */
int pp_status_place(const struct pp_dataset *d, size_t n, char *text, size_t size);
/* The same of ranks of which nothing arrived: "ranks 4-5 are missing: host b did not answer". */
int pp_status_missing(const struct pp_dataset *d, size_t n, char *text, size_t size);
