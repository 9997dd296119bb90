/* Holds what all wrappers share; see pmpi_collector.h. */
#include "mpi/pmpi_collector.h"

#include <errno.h>

struct pp_mpi_wiped pp_mpi_wiped;
const struct podprof_collector *pp_mpi_collector;
const _Atomic uint32_t *pp_mpi_recording;
static const _Atomic uint32_t no_pattern;
const _Atomic uint32_t *pp_mpi_pattern = &no_pattern;
const _Atomic uint32_t *pp_mpi_bell = &no_pattern, *pp_mpi_acknowledged = &no_pattern;
struct pp_mpi_names pp_mpi_names;
int pp_tick_kind; /* this library's copy of the collector's */

void pp_mpi_thread_init(struct pp_mpi_thread *t)
{
	int saved = errno;

	t->where = pp_mpi_collector->where();
	t->cursor = pp_mpi_collector->cursor();
	errno = saved;
}

void pp_mpi_pass_message(uint16_t call, int32_t peer, int32_t tag, uint64_t bytes)
{
	int saved = errno;

	pp_mpi_collector->message(call, peer, tag, bytes);
	errno = saved;
}

void pp_mpi_put(const struct pp_record *record, const void *rest, uint32_t rest_length)
{
	int saved = errno;

	pp_mpi_collector->put(record, rest, rest_length);
	errno = saved;
}
