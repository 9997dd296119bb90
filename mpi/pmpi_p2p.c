/* Wrappers of point-to-point calls, one form per family of the table. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_message.h"
#include "mpi/pmpi_type.h"

#define PP_CALL_ON(args, on, rank)                                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS)                                                                                                     \
		pp_mpi_adopt(&scope, on, rank, 0);

#define PP_PASS_SEND(rank, tag_, sent_)                                                                                            \
	if (pp_mpi_feeds_messages(&scope) && rc == MPI_SUCCESS)                                                                    \
		pp_mpi_pass_message(scope.call, scope.peer, tag_, rank != MPI_PROC_NULL ? (uint64_t)(sent_) : 0);

#define PP_PASS_RECEIVE                                                                                                            \
	if (pp_mpi_feeds_messages(&scope) && rc == MPI_SUCCESS)                                                                    \
		pp_mpi_pass_message(scope.call, -1, 0, 0);

/* A send, numbered. */
#define PP_MESSAGE_SENT(args, on, rank)                                                                                            \
	struct pp_message sends;                                                                                                   \
	pp_message_begin(&sends, scope.comm, PP_MESSAGE_SEND, rank, tag);                                                          \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	pp_message_end(&sends, scope.comm, PP_MESSAGE_SEND, rc);                                                                   \
	if (scope.recording)                                                                                                       \
		pp_message_record(&scope, &sends.half, NULL);

#define PP_WRAP_SEND(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_MESSAGE_SENT(args, on, rank)                                                                                            \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0, 0, 0);                    \
	PP_PASS_SEND(rank, tag, sent_)                                                                                             \
	PP_CLOSE(symbol)

#define PP_WRAP_ISEND(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_MESSAGE_SENT(args, on, rank)                                                                                            \
	if (scope.recording)                                                                                                       \
		pp_correlation_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0, 0, request, 0,    \
		                      scope.peer);                                                                                 \
	PP_PASS_SEND(rank, tag, sent_)                                                                                             \
	PP_CLOSE(symbol)

#define PP_WRAP_IRECV(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	struct pp_message receives;                                                                                                \
	pp_message_begin(&receives, scope.comm, PP_MESSAGE_RECEIVE, rank, tag);                                                    \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	pp_message_end(&receives, scope.comm, PP_MESSAGE_RECEIVE, rc);                                                             \
	if (scope.recording)                                                                                                       \
		pp_message_record(&scope, NULL, &receives.half);                                                                   \
	if (receives.wild.is_pending)                                                                                              \
		pp_correlation_wild(&scope, end, rc, request, &receives.wild);                                                     \
	else if (scope.recording)                                                                                                  \
		pp_correlation_record(&scope, end, rc, 0, 0, request, 1, scope.peer);                                              \
	PP_PASS_RECEIVE                                                                                                            \
	PP_CLOSE(symbol)

/* An application that ignores the status does not see that ours is filled. */
#define PP_WRAP_RECV(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	MPI_Status own;                                                                                                            \
	struct pp_message receives = {.slot = NULL};                                                                               \
	if (PP_MPI_CALL_##symbol != PP_MPI_CALL_Probe)                                                                             \
		pp_message_begin(&receives, scope.comm, PP_MESSAGE_RECEIVE, rank, tag);                                            \
	if ((scope.recording || receives.wild.is_pending) && status == MPI_STATUS_IGNORE)                                          \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	pp_message_received(&receives, scope.comm, rc, status);                                                                    \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS)                                                                                             \
			pp_mpi_source(&scope, status);                                                                             \
		pp_message_record(&scope, NULL, &receives.half);                                                                   \
		pp_mpi_record(&scope, end, rc, 0, rc == MPI_SUCCESS ? (received_) : 0, 0);                                         \
	}                                                                                                                          \
	if (PP_MPI_CALL_##symbol != PP_MPI_CALL_Probe) {                                                                           \
		PP_PASS_RECEIVE                                                                                                    \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#define PP_WRAP_IPROBE(symbol, params, args, on, rank, sent_, received_)                                                           \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	MPI_Status own;                                                                                                            \
	if (scope.recording && status == MPI_STATUS_IGNORE)                                                                        \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS && !*flag) {                                                                                 \
			pp_poll(&scope, end);                                                                                      \
		} else {                                                                                                           \
			if (rc == MPI_SUCCESS)                                                                                     \
				pp_mpi_source(&scope, status);                                                                     \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		}                                                                                                                  \
	}                                                                                                                          \
	PP_CLOSE(symbol)

/* The other end of a Sendrecv: the source. */
static inline void show_source(const struct pp_mpi_scope *s, int source)
{
	struct pp_where *w = s->where;
	uint16_t flags = 0;
	int32_t peer = source == MPI_PROC_NULL ? -1 : pp_mpi_peer(s->comm, source, &flags);

	w->peer_of[0] = peer;
	w->peers = peer >= 0 && !flags;
	w->peers_more = peer == -2 || flags;
}

/* The call's own record has one peer: the destination; the source where nothing is sent. */
#define PP_WRAP_SENDRECV(symbol, params, args, on, rank, sent_, received_)                                                         \
	PP_OPEN(symbol, params, args, on, rank == MPI_PROC_NULL ? source : rank, 0)                                                \
	MPI_Status own;                                                                                                            \
	struct pp_message sends, receives;                                                                                         \
	show_source(&scope, source);                                                                                               \
	pp_message_begin(&sends, scope.comm, PP_MESSAGE_SEND, rank, sendtag);                                                      \
	pp_message_begin(&receives, scope.comm, PP_MESSAGE_RECEIVE, source, recvtag);                                              \
	if ((scope.recording || receives.wild.is_pending) && status == MPI_STATUS_IGNORE)                                          \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank == MPI_PROC_NULL ? source : rank)                                                                \
	pp_message_end(&sends, scope.comm, PP_MESSAGE_SEND, rc);                                                                   \
	pp_message_received(&receives, scope.comm, rc, status);                                                                    \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS && rank == MPI_PROC_NULL)                                                                    \
			pp_mpi_source(&scope, status);                                                                             \
		if (rank == MPI_PROC_NULL)                                                                                         \
			scope.flags |= PP_MPI_RECEIVES;                                                                            \
		pp_message_record(&scope, &sends.half, &receives.half);                                                            \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0,                           \
		              rc == MPI_SUCCESS ? (received_) : 0, 0);                                                             \
	}                                                                                                                          \
	if (rank == MPI_PROC_NULL) {                                                                                               \
		PP_PASS_RECEIVE                                                                                                    \
	} else {                                                                                                                   \
		PP_PASS_SEND(rank, sendtag, sent_)                                                                                 \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"
