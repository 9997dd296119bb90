/* Which operations this rank issues on podprof's communicator, and what they say: pure states, no MPI, no lock. Driven by
 * coord_mpi.c. In: numbers of requests and the step of this rank. Out: values of the next operation; from its result the step
 * all agreed on.
 *
 * An operation is one nonblocking maximum over all ranks of four numbers. MPI matches the n-th of a rank with the n-th of
 * every other, so an operation belongs to no request: to issue one is to join the next. What keeps the ranks in the same order
 * is that nothing but the results, which are equal everywhere, says which requests are over:
 *
 *   - A rank has one operation pending at most. It issues the next one for a request that is newer than all that have an
 *     answer, and not older than the newest that any rank was heard to want (`floor`).
 *   - The first two numbers are request and -request. Where maximum and minimum are the same, every rank has said its step for
 *     this very request, and the maximum of the third is the answer, on all ranks.
 *   - Where they are not, the keeper rang again while an operation was pending: some ranks wanted the older request, some the
 *     newer. That is no answer. All of them join on for the newer one, each as soon as it hears of it, with the step it is in
 *     then. A request that nobody wants any more leaves an operation pending on those who had heard of it, until the next
 *     request.
 *   - The fourth is 1 from a rank that is in MPI_Finalize. It joins the operation that the others may have pending; the result
 *     has the 1 on all ranks, none issues another one, and every request without an answer is over.
 *
 * So all ranks issue the same number of operations, whatever they had heard when. */
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

/* Request `number`, by a rank in `step`. 1: issue the operation with these values, then say pp_agree_end(); 0: there is
 * nothing to issue. */
int pp_agree_begin(struct pp_agree *a, uint32_t number, int64_t step, int64_t ret_values[PP_AGREE_VALUES]);
/* The same for MPI_Finalize. */
int pp_agree_close(struct pp_agree *a, int64_t ret_values[PP_AGREE_VALUES]);
/* The pending operation has this result. */
void pp_agree_end(struct pp_agree *a, const int64_t result[PP_AGREE_VALUES]);
/* 1: *ret_step is the answer; 0: it is on its way, or a newer request has taken its place; -EAGAIN: begin with the step of now;
 * -EPIPE: it will not come. */
int pp_agree_answer(const struct pp_agree *a, uint32_t number, int64_t *ret_step);
