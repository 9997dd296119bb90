/* Arrows of messages. Their records have neither tag nor order, so none is certain: they are counted. Called by load.c. */
#include "aggregate/timeline/timeline_private.h"
#include "core/source/mpi_call.h"

static int is_message(const struct pp_span *s)
{
	enum pp_mpi_class class = s->kind == PP_SPAN_MPI ? pp_mpi_call_info(s->mpi.call)->class : PP_MPI_LOCAL;

	return class == PP_MPI_SEND || class == PP_MPI_RECV || class == PP_MPI_SENDRECV || class == PP_MPI_START;
}

int pp_timeline_messages(struct pp_timeline_maker *m)
{
	for (size_t r = 0; r < m->capture.ranks; r++)
		for (size_t t = 0; t < m->capture.rank[r].threads; t++) {
			const struct pp_thread *thread = &m->capture.rank[r].thread[t];

			for (size_t i = 0; pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MPI)) && i < thread->spans; i++)
				m->t->left.unmatched_messages += m->event[r][t][i] != UINT32_MAX && is_message(&thread->span[i]);
		}
	return 0;
}
