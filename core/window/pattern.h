/* Finds steps of a job that marks none, while it runs: the pattern of collectives on MPI_COMM_WORLD, or of this rank's messages,
 * drives the window. In: calls of libpodprof-mpi.so, by podprof_collector.collective and .message. Out: step edges, STEP_BEGIN
 * records with that origin. Only with --steps. With --step-rule auto a program that has ranges keeps them, which are trusted more:
 * all is recorded then, and the steps are found at the end. Only MPI_COMM_WORLD: MPI orders no calls between communicators. The
 * first pattern counts: of collectives, or of messages if it came 16 times without a collective. The first real mark switches it
 * off for good. MPI allows one collective at a time on a communicator; two threads inside at once switch it off too, or only
 * messages. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum pp_pattern_calls { PP_PATTERN_COLLECTIVES = 1, PP_PATTERN_MESSAGES = 2 };

/* Calls that are wanted: 0, or bits of enum pp_pattern_calls. */
extern _Atomic uint32_t pp_pattern_on __attribute__((visibility("hidden")));

/* At the claim, with --steps. after_ranges: not if the program has ranges, as with --step-rule auto. */
void pp_pattern_start(int after_ranges);
/* The program has marked a step: for good; any thread, async-signal-safe. The windows begin again, if none has passed. */
void pp_pattern_marked(void);
/* The program, or a library of it, has ranges; before or after the start, any thread, async-signal-safe. */
void pp_pattern_range(void);
/* A collective on MPI_COMM_WORLD has returned. call: row of core/call/mpi_call.def. root: -1 none. bytes: max(sent, received).
 * sent: messages of this thread since its last one. */
void pp_pattern_collective(uint16_t call, int32_t root, uint64_t bytes, uint32_t sent, int failed);
/* A send has returned; a receive with peer -1, tag and bytes 0. */
void pp_pattern_message(uint16_t call, int32_t peer, int32_t tag, uint64_t bytes);
