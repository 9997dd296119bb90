/* Wrappers that make, name and free communicators. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_made.h"
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_type.h"

#define PP_WRAP_MAKE(symbol, params, args, on, collective, tag_, received_)                                                        \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, collective)                                                                  \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS) {                                                                                                   \
		pp_mpi_adopt(&scope, on, PP_NO_PEER, collective);                                                                  \
		pp_mpi_made(&scope, *made_, tag_);                                                                                 \
	}                                                                                                                          \
	PP_CLOSE_PLAIN(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"

/* The duplicate has a handle now and its members later: they are its parent's. */
PP_ENTRIES(Comm_idup, (MPI_Comm comm, MPI_Comm *made_, MPI_Request *request), (comm, made_, request))
{
	struct pp_comm_birth birth;
	struct pp_comm *c = NULL;

	PP_HEAD(Comm_idup, (comm, made_, request))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Comm_idup, PP_KEY(comm), PP_NO_PEER, 1);
	rc = real(comm, made_, request);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS) {
		pp_mpi_adopt(&scope, comm, PP_NO_PEER, 1);
		birth = pp_mpi_birth(&scope, -1);
		if (scope.comm && pp_comm_is_one(*made_))
			c = pp_comm_add_like(PP_KEY(*made_), scope.comm, &birth);
	}
	if (scope.recording) {
		if (c)
			pp_comm_announce(c);
		pp_correlation_record(&scope, end, rc, 0, 0, request, 0, -1);
	}
	PP_TAIL
}

/* Callbacks of the application free communicators too, inside an attribute or another MPI_Comm_free: the table must learn of
 * them. */
static int inside(const struct pp_mpi_thread *t)
{
	return t->depth && atomic_load_explicit(&pp_mpi_wiped.active, memory_order_acquire);
}

static int free_inside(int (*real)(MPI_Comm *), MPI_Comm *comm)
{
	uint64_t key = comm ? PP_KEY(*comm) : 0;
	struct pp_comm *c = key ? pp_comm_find(key) : NULL;
	int rc;

	if (c)
		pp_comm_unlink(c);
	rc = real(comm);
	if (c && rc == MPI_SUCCESS)
		pp_comm_release(c);
	else if (c)
		pp_comm_relink(c, key);
	return rc;
}

/* The handle leaves the table before MPI may give it to another thread's new communicator. */
#define PP_WRAP_FREE(symbol)                                                                                                       \
	PP_ENTRIES(symbol, (MPI_Comm * comm), (comm))                                                                              \
	{                                                                                                                          \
		struct pp_mpi_thread *thread = &pp_mpi_thread;                                                                     \
		struct pp_mpi_scope scope;                                                                                         \
		uint64_t key;                                                                                                      \
		pp_tick end;                                                                                                       \
		int rc;                                                                                                            \
		PP_REAL(symbol)                                                                                                    \
		if (!pp_mpi_seen(thread))                                                                                          \
			return inside(thread) ? free_inside(real, comm) : real(comm);                                              \
		key = comm ? PP_KEY(*comm) : 0; /* read only now: another MPI's handle may be narrower */                          \
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, key, PP_NO_PEER, 0);                                            \
		if (scope.comm)                                                                                                    \
			pp_comm_unlink(scope.comm);                                                                                \
		PP_CALL((comm))                                                                                                    \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		if (scope.comm) {                                                                                                  \
			if (rc == MPI_SUCCESS)                                                                                     \
				pp_comm_release(scope.comm);                                                                       \
			else                                                                                                       \
				pp_comm_relink(scope.comm, key);                                                                   \
		}                                                                                                                  \
		PP_TAIL                                                                                                            \
	}

PP_WRAP_FREE(Comm_free)
PP_WRAP_FREE(Comm_disconnect)

PP_ENTRIES(Comm_set_name, (MPI_Comm comm, const char *name), (comm, name))
{
	PP_HEAD(Comm_set_name, (comm, name))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Comm_set_name, PP_KEY(comm), PP_NO_PEER, 0);
	rc = real(comm, name);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS) {
		pp_mpi_adopt(&scope, comm, PP_NO_PEER, 0);
		if (scope.comm)
			pp_comm_set_name(scope.comm, name);
	}
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
