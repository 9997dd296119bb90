/* Wrappers of matched probes and receives: a message remembers its communicator and source from the probe that took it.
 * Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_message.h"

/* A message's handle is an object of its own while it lives, as a request's is: one table holds both. Always remembered: it may be
 * received while recording is on. */
static void remember(struct pp_mpi_scope *scope, MPI_Message message, const MPI_Status *status,
                     const struct pp_record_message_half *half)
{
	struct pp_request r;

	pp_mpi_source(scope, status);
	if (status->MPI_SOURCE == MPI_PROC_NULL) /* all such messages share one handle */
		return;
	r = pp_correlation_request(scope, PP_KEY(message), 1);
	r.half = *half;
	pp_request_add(&r);
}

static void recall(struct pp_mpi_scope *scope, const MPI_Message *message, struct pp_request *ret_known)
{
	pp_request_find(message ? PP_KEY(*message) : 0, ret_known);
	if (!ret_known->key)
		return;
	pp_mpi_on(scope, ret_known->comm, ret_known->life, ret_known->peer);
	scope->flags |= ret_known->flags;
	/* before MPI may give the handle to another thread's message */
	pp_request_remove(ret_known);
}

/* The message was not received if its handle is still there. */
static void put_back(struct pp_request *known, const MPI_Message *message)
{
	if (known->key && PP_KEY(*message) == known->key)
		pp_request_add(known);
}

/* A probe takes its message as a receive does. */
static void begin(const struct pp_mpi_scope *s, int source, int tag, struct pp_message_wild *ret_wild)
{
	ret_wild->is_pending = 0;
	if (s->comm && source != MPI_PROC_NULL)
		pp_message_post_wild(s->comm, source, tag, ret_wild);
}

static void finish(const struct pp_mpi_scope *s, int rc, int flag, const MPI_Status *status, struct pp_message_wild *wild,
                   struct pp_record_message_half *ret_half)
{
	*ret_half = (struct pp_record_message_half){.peer = -1};
	if (!wild->is_pending)
		return;
	if (rc != MPI_SUCCESS)
		pp_message_lose_wild(s->comm, wild);
	else if (flag)
		pp_message_end_wild(s->comm, wild, status->MPI_SOURCE, status->MPI_TAG, ret_half);
	else
		pp_message_drop_wild(s->comm, wild);
}

PP_ENTRIES(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
           (source, tag, comm, message, status))
{
	struct pp_record_message_half half;
	struct pp_message_wild wild;
	MPI_Status own;

	PP_HEAD(Mprobe, (source, tag, comm, message, status))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Mprobe, PP_KEY(comm), source, 0);
	if (status == MPI_STATUS_IGNORE)
		status = &own;
	begin(&scope, source, tag, &wild);
	rc = real(source, tag, comm, message, status);
	end = pp_mpi_end(&scope);
	finish(&scope, rc, 1, status, &wild, &half);
	if (rc == MPI_SUCCESS) {
		pp_mpi_adopt(&scope, comm, source, 0);
		remember(&scope, *message, status, &half);
	}
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}

PP_ENTRIES(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
           (source, tag, comm, flag, message, status))
{
	struct pp_record_message_half half;
	struct pp_message_wild wild;
	MPI_Status own;

	PP_HEAD(Improbe, (source, tag, comm, flag, message, status))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Improbe, PP_KEY(comm), source, 0);
	if (status == MPI_STATUS_IGNORE)
		status = &own;
	begin(&scope, source, tag, &wild);
	rc = real(source, tag, comm, flag, message, status);
	end = pp_mpi_end(&scope);
	finish(&scope, rc, rc == MPI_SUCCESS && *flag, status, &wild, &half);
	if (rc == MPI_SUCCESS) {
		pp_mpi_adopt(&scope, comm, source, 0);
		if (*flag)
			remember(&scope, *message, status, &half);
	}
	if (scope.recording && rc == MPI_SUCCESS && !*flag)
		pp_poll(&scope, end);
	else if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}

#define PP_MRECV(symbol, count_type)                                                                                               \
	PP_ENTRIES(symbol, (void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),             \
	           (buf, count, type, message, status))                                                                            \
	{                                                                                                                          \
		struct pp_request known;                                                                                           \
		MPI_Status own;                                                                                                    \
		PP_HEAD(symbol, (buf, count, type, message, status))                                                               \
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, 0, PP_NO_PEER, 0);                                              \
		recall(&scope, message, &known);                                                                                   \
		if (scope.recording && status == MPI_STATUS_IGNORE)                                                                \
			status = &own;                                                                                             \
		rc = real(buf, count, type, message, status);                                                                      \
		end = pp_mpi_end(&scope);                                                                                          \
		if (rc != MPI_SUCCESS)                                                                                             \
			put_back(&known, message);                                                                                 \
		if (scope.recording && rc == MPI_SUCCESS && known.key)                                                             \
			pp_message_record(&scope, NULL, &known.half);                                                              \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, 0, rc == MPI_SUCCESS ? pp_status_bytes(status) : 0, 0);                     \
		PP_TAIL                                                                                                            \
	}

PP_MRECV(Mrecv, int)
PP_MRECV(Mrecv_c, MPI_Count)

#define PP_IMRECV(symbol, count_type)                                                                                              \
	PP_ENTRIES(symbol, (void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),           \
	           (buf, count, type, message, request))                                                                           \
	{                                                                                                                          \
		struct pp_request known;                                                                                           \
		PP_HEAD(symbol, (buf, count, type, message, request))                                                              \
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, 0, PP_NO_PEER, 0);                                              \
		recall(&scope, message, &known);                                                                                   \
		rc = real(buf, count, type, message, request);                                                                     \
		end = pp_mpi_end(&scope);                                                                                          \
		if (rc != MPI_SUCCESS)                                                                                             \
			put_back(&known, message);                                                                                 \
		if (scope.recording && rc == MPI_SUCCESS && known.key)                                                             \
			pp_message_record(&scope, NULL, &known.half);                                                              \
		if (scope.recording)                                                                                               \
			pp_correlation_record(&scope, end, rc, 0, 0, request, 1, scope.peer);                                      \
		PP_TAIL                                                                                                            \
	}

PP_IMRECV(Imrecv, int)
PP_IMRECV(Imrecv_c, MPI_Count)
