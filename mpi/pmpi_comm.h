/* Communicators: their id (equal on all ranks without a message), their members, the number of their collectives. In: handles of
 * the application. Out: struct pp_comm for pmpi_source.h, COMM records. */
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/comm_id.h"

enum { PP_COMM_SAID_NOTHING, PP_COMM_SAID_MEMBERS, PP_COMM_SAID_ALL };

enum pp_comm_kind { PP_COMM_IS_PLAIN, PP_COMM_IS_WINDOW, PP_COMM_IS_FILE };

struct ompi_instance_t;

struct pp_comm { /* memory stays a pp_comm for ever: a late reader of a freed one reads another one */
	_Atomic(MPI_Comm) handle;
	_Atomic(struct pp_comm *) next; /* of its bucket */
	uint64_t id;
	_Atomic uint32_t sequence; /* collectives this rank has begun on it */
	/* receives, as mpi/pmpi_message.h counts them: posted so far; of any source or tag: pending, posted, ended so far, and not
	 * in the order in which they were posted; inside the call that posts them */
	_Atomic uint32_t posts, wild, wilds, wild_ended, wild_jumped, posting;
	_Atomic uint32_t announced; /* bits of its COMM records that were put */
	_Atomic uint32_t life;      /* changes when the memory gets another communicator */
	int32_t rank, size;         /* of this process; of the own group */
	int32_t peers;              /* number of ranks that "peer" may name: size, or the remote group's */
	int32_t inter;
	uint16_t flags;   /* flags of all its records: the side of an intercommunicator */
	int32_t *world;   /* world rank of each peer, -1 unknown; NULL: the same number */
	int32_t *members; /* as they go into the record and the id */
	int32_t member_count, capacity;
	struct pp_topo *topo; /* asked at the first use; NULL: not asked or none (mpi/pmpi_topo.h) */
	char name[64];
	enum pp_comm_kind kind;
	int32_t is_unknown;      /* PP_COMM_BY_NOBODY */
	int32_t to_file;         /* FILE: opened for writing */
	int32_t started, posted; /* WINDOW: world rank of the one member of the epoch's group, -1: none or more */
	char *path;              /* FILE: its name */
	size_t path_room;
};

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
int pp_comm_start_session(struct ompi_instance_t *session);
/* MPI_COMM_WORLD as rank and size; -1 before pp_comm_start(). */
int pp_comm_world_rank(void);
int pp_comm_world_size(void);
/* The intercommunicator to the world that spawned this one; NULL: not spawned. */
struct pp_comm *pp_comm_parent(void);
/* NULL: unknown. Any thread; locks only on a miss. */
struct pp_comm *pp_comm_find(MPI_Comm handle);
/* Asks MPI for the members; NULL where that fails. Calls MPI, so without a lock. */
struct pp_comm *pp_comm_add(MPI_Comm handle, const struct pp_comm_birth *birth);
/* Takes the members of another one, without asking MPI: for a duplicate that is not complete yet. */
struct pp_comm *pp_comm_add_like(MPI_Comm handle, const struct pp_comm *like, const struct pp_comm_birth *birth);
/* A window or file with the communicator's members and an id of its own. Handles of both are pointers too. path: of a file, else
 * NULL. */
struct pp_comm *pp_comm_add_kind(const void *handle, const struct pp_comm *like, enum pp_comm_kind kind, const char *path,
                                 const struct pp_comm_birth *birth);
/* Removes the handle; then pp_comm_release() frees the memory or pp_comm_relink() restores the handle. */
void pp_comm_unlink(struct pp_comm *c);
void pp_comm_relink(struct pp_comm *c, MPI_Comm handle);
void pp_comm_release(struct pp_comm *c);
void pp_comm_set_name(struct pp_comm *c, const char *name);
/* Describes it in the ring's header, where readers of a hung job find it. */
void pp_comm_describe(const struct pp_comm *c);
/* Puts the COMM records that are due. */
void pp_comm_announce(struct pp_comm *c);
/* Puts that of the n world ranks from which this one receives in neighbourhood collectives. */
void pp_comm_announce_near(const struct pp_comm *c, const int32_t *world, uint32_t n);
