/* Decides which operations this rank issues on podprof's communicator, and their values: pure states, no MPI, no lock. Driven by
 * coord_mpi.c. In: numbers of requests and the step of this rank. Out: values of the next operation; from its result the step
 * all agreed on.
 *
 * An operation is one nonblocking maximum over all ranks of four numbers. MPI matches a rank's n-th operation with the n-th of
 * every other rank, so an operation belongs to no request: a rank that issues one joins the next. The results, which are equal
 * everywhere, alone decide which requests are over, so the ranks stay in the same order:
 * - A rank has at most one operation pending. It issues the next one for a request that is newer than all answered ones, and not
 * older than the newest that any rank wanted so far (`floor`).
 * - The first two numbers are request and -request. Where maximum and minimum are equal, every rank has sent its step for this
 * very request, and the maximum of the third number is the answer, on all ranks.
 * - Where they differ, the keeper rang again while an operation was pending: some ranks wanted the older request, some the
 * newer. That is no answer. All of them join again for the newer one, each as soon as it learns of it, with its step at that
 * time. A request that is no longer wanted leaves an operation pending on the ranks that knew of it, until the next request.
 * - The fourth is 1 from a rank in MPI_Finalize. It joins the operation that the others may have pending; the result has the 1
 * on all ranks, none issues another one, and every request without an answer is over.
 *
 * So all ranks issue the same number of operations, whenever each of them learned of a request. */
#pragma once

#include <stdint.h>

enum { PP_AGREE_VALUES = 4 };

struct pp_agree {
	uint32_t answered; /* newest request with an answer, 0: none */
	int64_t step;      /* its answer */
	uint32_t floor;
	uint32_t asked; /* request of the pending operation; 0: closing */
	int pending;
	int over;
};

/* Request `number`, by a rank in `step`. 1: issue the operation with these values, then call pp_agree_end(); 0: nothing to
 * issue. */
int pp_agree_begin(struct pp_agree *a, uint32_t number, int64_t step, int64_t ret_values[PP_AGREE_VALUES]);
/* The same for MPI_Finalize. */
int pp_agree_close(struct pp_agree *a, int64_t ret_values[PP_AGREE_VALUES]);
/* Takes the result of the pending operation. */
void pp_agree_end(struct pp_agree *a, const int64_t result[PP_AGREE_VALUES]);
/* 1: *ret_step is the answer; 0: not yet, or a newer request has replaced it; -EAGAIN: begin again with the current step;
 * -EPIPE: there will be no answer. */
int pp_agree_answer(const struct pp_agree *a, uint32_t number, int64_t *ret_step);
