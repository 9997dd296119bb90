/* What a call or a request sent and received, of its rank's messages. */
#pragma once

#include "core/capture/rank.h"
#include "core/capture/side.h"
#include "core/capture/span.h"

/* NULL: no record has a tag or a number for it. */
static inline const struct pp_span_message *pp_message_of(const struct pp_rank *rank, const struct pp_span *s)
{
	if ((s->kind != PP_SPAN_MPI && s->kind != PP_SPAN_REQUEST) || !(s->mpi.flags & PP_MPI_HAS_MESSAGE))
		return NULL;
	return s->mpi.sequence && s->mpi.sequence <= rank->messages ? &rank->message[s->mpi.sequence - 1] : NULL;
}
