/* libpodprof-mpi.so: what is preloaded into every process of a job. It exports the names of MPI's calls, and sends each to the
 * wrappers that were compiled for the ABI of the MPI library in this process. Called by entry.S.
 *
 * Which library that is can be known only when a call is made: the program may load it. The choice needs no lock: threads that
 * make it at one time make the same one. */
#include "mpi/dispatch/dispatch.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mpi/dispatch/library.h"
#include "mpi/dispatch/loaded.h"
#include "mpi/dispatch/next.h"
#include "mpi/dispatch/object.h"
#include "mpi/dispatch/other.h"
#include "mpi/dispatch/thread.h"

__thread struct pp_mpi_thread pp_mpi_thread;
_Atomic uintptr_t pp_dispatch_slot[PP_DISPATCH_ROWS][2]; /* 0: pp_dispatch() knows */

/* No pointers, which the dynamic linker would have to write in every process. */
static const char names[PP_DISPATCH_ROWS][40] = {
#define PP_MPI(symbol, ...) [PP_DISPATCH_##symbol] = "PMPI_" #symbol,
#include "core/call/mpi_call.def"
#undef PP_MPI
};

static _Atomic(const struct pp_mpi_object *) chosen; /* NULL: none yet, or an MPI without one */
static _Atomic int is_chosen;
static _Atomic(void *) library; /* a function of the MPI library that it was chosen for */

/* A call that no library has: as MPI fails. */
static int fail(void)
{
	return 1;
}

/* Beside this library. It stays loaded. */
static const struct pp_mpi_object *load(const char *abi)
{
	const struct pp_mpi_object *o = NULL;
	char path[PATH_MAX];
	const char *slash;
	Dl_info ours;
	void *handle;

	if (!dladdr((void *)load, &ours) || !(slash = strrchr(ours.dli_fname, '/')) ||
	    snprintf(path, sizeof path, "%.*s/libpodprof-mpi-%s.so", (int)(slash - ours.dli_fname), ours.dli_fname, abi) >=
	            (int)sizeof path)
		return NULL;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		o = dlsym(handle, PP_MPI_OBJECT);
	if (o && (o->size != sizeof *o || o->rows != PP_DISPATCH_ROWS || strcmp(o->version, PODPROF_VERSION) != 0))
		o = NULL;
	/* cppcheck-suppress resourceLeak ; it stays loaded */
	return o;
}

/* MPI begins: another library may have come in the place of one that was unloaded, with the plugin that brought it. */
static int is_renewed(void)
{
	void *now = pp_mpi_real("PMPI_Init"), *had = atomic_exchange(&library, now);

	return had && had != now;
}

/* Every MPI_Init comes here, so these are never entered. An MPI without an object has its own look-up of each. */
static int is_begin(uint32_t row)
{
	return row == PP_DISPATCH_Init || row == PP_DISPATCH_Init_thread;
}

static void enter(const struct pp_mpi_object *o)
{
	for (uint32_t row = 0; row < PP_DISPATCH_ROWS; row++)
		for (int by = 0; by < 2 && !is_begin(row); by++)
			atomic_store_explicit(&pp_dispatch_slot[row][by], o ? (uintptr_t)o->entry[row][by] : 0,
			                      memory_order_release);
}

static void choose(void)
{
	const struct pp_mpi_object *o, *had = atomic_load(&chosen);
	const char *abi = pp_library_abi();
	int renewed;

	if (!abi) /* a call before there is an MPI */
		return;
	renewed = is_renewed();
	if (!renewed && atomic_load(&is_chosen))
		return;
	o = *abi ? load(abi) : NULL;
	if (renewed && had)
		had->renew();
	if (o)
		o->start();
	atomic_store(&chosen, o);
	atomic_store(&is_chosen, 1);
	if (o != had || renewed)
		enter(o);
}

/* The function of the library, or of another one that wraps it. */
static void *beyond(uint32_t row, int by_pmpi, const void *caller)
{
	void *real = pp_mpi_next(names[row] + !by_pmpi, caller),
	     *first = real ? pp_other_entry((enum pp_dispatch_row)row, real) : NULL;

	if (!real)
		return (void *)fail;
	if (!first && atomic_load(&is_chosen))
		atomic_store_explicit(&pp_dispatch_slot[row][by_pmpi], (uintptr_t)real, memory_order_release);
	return first ? first : real;
}

void *pp_dispatch(uint32_t index, const void *caller)
{
	uint32_t row = index / 2, by_pmpi = index % 2;
	const struct pp_mpi_object *o;
	int saved = errno;
	void *to;

	if (is_begin(row) || !atomic_load(&is_chosen))
		choose();
	o = atomic_load(&chosen);
	to = o ? o->entry[row][by_pmpi] : beyond(row, (int)by_pmpi, caller);
	errno = saved;
	return to;
}

/* A program of sessions may call no exported name before MPI begins: where its library has them, the object is loaded at once.
 * Programs without MPI are left alone: a search that finds nothing allocates. */
__attribute__((constructor)) static void loaded(void)
{
	int saved = errno;

	if (!pp_loaded_mpi())
		return;
	if (dlsym(RTLD_NEXT, "PMPI_Session_init") || dlsym(RTLD_NEXT, "PMPI_Send_c"))
		choose();
	dlerror(); /* what was not found here is no failure of the program's, which may ask before it loads anything */
	errno = saved;
}
