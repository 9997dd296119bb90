/* Communicators: their id (equal on all ranks without a message), their members, the number of their collectives. In: handles of
 * the application. Out: struct pp_comm for pmpi_source.h, COMM records. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/comm_id.h"
#include "mpi/abi.h"
#include "mpi/pmpi_comm_state.h"

/* What the id of a communicator is made of, besides its members: things that all of them know without a message. */
enum pp_comm_by {
	PP_COMM_BY_NAME,       /* `number` alone: the communicators that MPI makes */
	PP_COMM_BY_SEQUENCE,   /* the number of the collective of `from` that made it: MPI orders those, whatever threads do */
	PP_COMM_BY_TAG,        /* a collective of its own members only: `from`, the tag `number`, and the n-th with these */
	PP_COMM_BY_RENDEZVOUS, /* two groups that do not know each other's communicators: the tag, and the n-th with it */
	PP_COMM_BY_NOBODY,     /* first seen in use: it is unknown which of the other ranks' it is, so it matches none */
};

struct pp_comm_birth {
	enum pp_comm_by by;
	uint64_t from; /* id */
	uint32_t number, sequence;
};

extern _Atomic uint32_t pp_comm_gen __attribute__((visibility("hidden"))); /* changes when a handle gets or loses its meaning */

extern MPI_Group pp_comm_world_group __attribute__((visibility("hidden")));
/* Once, inside MPI_Init. 0 or -1 (then nothing is recorded). */
int pp_comm_start(void);
/* The same inside MPI_Session_init: there are ranks, and no communicator yet. */
int pp_comm_start_session(pp_session session);
/* After it, and after the claim: this process is `rank` of its session. That is another number than MPI's where its launcher has
 * not started its MPI: then each process is a world of its own. 0 or -1 (then nothing is recorded). */
int pp_comm_place(int rank, int by_session);
/* A rank of MPI_COMM_WORLD as a rank of the session. */
int pp_comm_rank_of(int world);
/* MPI_COMM_WORLD as rank (of the session from pp_comm_place() on) and size; -1 before pp_comm_start(). */
int pp_comm_world_rank(void);
int pp_comm_world_size(void);
/* The intercommunicator to the world that spawned this one; NULL: not spawned. */
struct pp_comm *pp_comm_parent(void);
/* By the key of its handle. NULL: unknown. Any thread; locks only on a miss. */
struct pp_comm *pp_comm_find(uint64_t key);
/* Asks MPI for the members; NULL where that fails. Calls MPI, so without a lock. */
struct pp_comm *pp_comm_add(MPI_Comm handle, const struct pp_comm_birth *birth);
/* Takes the members of another one, without asking MPI: for a duplicate that is not complete yet. */
struct pp_comm *pp_comm_add_like(uint64_t key, const struct pp_comm *like, const struct pp_comm_birth *birth);
/* A window or file with the communicator's members and an id of its own. path: of a file, else NULL. */
struct pp_comm *pp_comm_add_kind(uint64_t key, const struct pp_comm *like, enum pp_comm_kind kind, const char *path,
                                 const struct pp_comm_birth *birth);
/* Removes the handle; then pp_comm_release() frees the memory or pp_comm_relink() restores the handle. */
void pp_comm_unlink(struct pp_comm *c);
void pp_comm_relink(struct pp_comm *c, uint64_t key);
void pp_comm_release(struct pp_comm *c);
