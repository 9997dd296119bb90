/* Finds the MPI library's own functions and objects, and holds what all wrappers share; see pmpi_collector.h. */
#include "mpi/pmpi_collector.h"

#include <dlfcn.h>
#include <errno.h>

__thread struct pp_mpi_thread pp_mpi_thread;
struct pp_mpi_wiped pp_mpi_wiped;
const struct podprof_collector *pp_mpi_collector, *pp_mpi_other;
const _Atomic uint32_t *pp_mpi_recording;
static const _Atomic uint32_t no_pattern;
const _Atomic uint32_t *pp_mpi_pattern = &no_pattern;
const _Atomic uint32_t *pp_mpi_bell = &no_pattern, *pp_mpi_acknowledged = &no_pattern;
struct pp_mpi_names pp_mpi_names;
int pp_tick_kind; /* this library's copy of the collector's */

/* Libraries that a plugin may have loaded RTLD_LOCAL (mpi4py's wheel does): not in the scope that RTLD_NEXT searches. */
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};

static void *in_library(const char *symbol)
{
	for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		void *found = handle ? dlsym(handle, symbol) : NULL;

		if (handle)
			dlclose(handle);
		if (found)
			return found;
	}
	return NULL;
}

void *pp_mpi_real(const char *symbol)
{
	int saved = errno;
	void *found = dlsym(RTLD_NEXT, symbol);

	if (!found)
		found = in_library(symbol);
	errno = saved;
	return found;
}

/* The executable may hold the live copy of a library's variable (copy relocation): ask the global scope first. */
void *pp_mpi_object(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);

	return found ? found : in_library(symbol);
}

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
